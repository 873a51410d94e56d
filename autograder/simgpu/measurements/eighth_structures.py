"""The eighth set: columns and bitmaps, indexes and filters, text, genomes, hashes and ciphers, shuffles, parts of sorts."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint8, uint16, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, blocks_of, elements, striding, zeros

F32, F64, I32, I64, U8, U16, U32, U64 = (
    np.float32, np.float64, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
)  # fmt: skip


def keccak_rounds() -> np.ndarray:
    """The constant of each round, by a shift register of eight bits."""
    register = 1
    found = []
    for _ in range(24):
        constant = 0
        for j in range(7):
            if register & 1:
                constant |= 1 << ((1 << j) - 1)
            register <<= 1
            if register & 0x100:
                register ^= 0x171
        found.append(constant)
    return np.array(found, np.uint64)


def keccak_walk() -> tuple[np.ndarray, np.ndarray]:
    """The lanes in the order in which they move, and by how many bits each is turned."""
    x, y = 1, 0
    lanes, turns = [], []
    for k in range(24):
        turns.append((k + 1) * (k + 2) // 2 % 64)
        x, y = y, (2 * x + 3 * y) % 5
        lanes.append(x + 5 * y)
    return np.array(lanes, np.int32), np.array(turns, np.uint64)


ROUNDS = keccak_rounds()
LANES, TURNS = keccak_walk()
PRIME = 2**256 - 2**32 - 977
LIMBS = np.array([PRIME >> (32 * k) & 0xFFFFFFFF for k in range(8)], np.uint32)
SQUARED = np.array([pow(2, 512, PRIME) >> (32 * k) & 0xFFFFFFFF for k in range(8)], np.uint32)
NEGATED = -pow(PRIME, -1, 2**32) % 2**32
SALE = np.dtype([("group", np.int32), ("price", np.float32), ("pieces", np.uint16), ("kind", np.uint8), ("void", np.uint8)])
SLOTS = 1024
EMPTY = -1
READ = 32
HAPLOTYPE = 48
SYMBOLS = 64
ROOM = SYMBOLS + 2
QUEENS = 12
PERCENT = ord("%")
UNDERSCORE = ord("_")


@cuda.jit
def decode_frame_of_reference(words, first_word, width, lowest, values):
    """Each frame of 1024 numbers has its own width in bits, which are added to its lowest number."""
    frame = cuda.blockIdx.x
    bits = width[frame]
    mask = (uint64(1) << uint64(bits)) - uint64(1)
    base = first_word[frame]
    least = lowest[frame]
    for k in range(cuda.threadIdx.x, 1024, cuda.blockDim.x):
        i = frame * 1024 + k
        if i >= values.size:
            break
        at = k * bits
        word = base + (at >> 5)
        pair = uint64(words[word]) | (uint64(words[word + 1]) << uint64(32))
        values[i] = least + int32((pair >> uint64(at & 31)) & mask)


@cuda.jit
def coalesce_columns(first, first_valid, second, second_valid, out, out_valid):
    """The first column where it has a value, else the second; one bit for each row tells whether it has."""
    i = cuda.grid(1)
    lane = cuda.laneid
    has = False
    if i < out.size:
        word = i >> 5
        if (first_valid[word] >> uint32(i & 31)) & uint32(1):
            out[i] = first[i]
            has = True
        elif (second_valid[word] >> uint32(i & 31)) & uint32(1):
            out[i] = second[i]
            has = True
        else:
            out[i] = math.nan
    bits = cuda.ballot_sync(0xFFFFFFFF, has)
    if lane == 0 and i < out.size:
        out_valid[i >> 5] = bits


@cuda.jit
def raid6_parity(disks, p, q):
    """Both parities of a stripe, four bytes at once; the second one by Horner's rule over a Galois field."""
    start = cuda.grid(1)
    step = cuda.gridsize(1)
    for i in range(start, p.size, step):
        parity = disks[disks.shape[0] - 1, i]
        sum_of_powers = parity
        for d in range(disks.shape[0] - 2, -1, -1):
            high = sum_of_powers & uint32(0x80808080)
            wraps = uint32((high << uint32(1)) - (high >> uint32(7)))
            doubled = uint32(sum_of_powers << uint32(1)) & uint32(0xFEFEFEFE)
            data = disks[d, i]
            sum_of_powers = doubled ^ (wraps & uint32(0x1D1D1D1D)) ^ data
            parity ^= data
        p[i] = parity
        q[i] = sum_of_powers


@cuda.jit
def count_in_bitmaps(index, chosen, deleted, count):
    """Rows in any of the chosen bitmaps that are not deleted."""
    found = int32(0)
    i = cuda.grid(1)
    while i < deleted.size:
        any_of = uint64(0)
        for k in range(chosen.size):
            any_of |= index[chosen[k], i]
        found += int32(cuda.popc(any_of & ~deleted[i]))
        i += cuda.gridsize(1)
    offset = 16
    while offset > 0:
        found += cuda.shfl_down_sync(0xFFFFFFFF, found, offset)
        offset >>= 1
    if cuda.laneid == 0:
        cuda.atomic.add(count, 0, int64(found))


@cuda.jit
def search_eytzinger(tree, levels, keys, places):
    """The greatest tree node's path is its place: tree[1] is the middle, tree[2 k] and tree[2 k + 1] are below k."""
    i = cuda.grid(1)
    if i >= keys.size:
        return
    key = keys[i]
    k = int32(1)
    for _ in range(levels):
        k = 2 * k + (1 if tree[k] < key else 0)
    k >>= cuda.ffs(~k)
    places[i] = k


@cuda.jit(device=True, inline=True)
def scrambled(key):
    key ^= key >> uint64(33)
    key *= uint64(0xFF51AFD7ED558CCD)
    key ^= key >> uint64(33)
    key *= uint64(0xC4CEB9FE1A85EC53)
    return key ^ (key >> uint64(33))


@cuda.jit(device=True)
def reduced(hashed, size):
    return int64((uint64(uint32(hashed)) * uint64(size)) >> uint64(32))


@cuda.jit
def in_xor_filter(fingerprints, third, seed, keys, found):
    i = cuda.grid(1)
    if i < keys.size:
        hashed = scrambled(keys[i] + seed)
        a = reduced(hashed, third)
        b = third + reduced((hashed << uint64(21)) | (hashed >> uint64(43)), third)
        c = 2 * third + reduced((hashed << uint64(42)) | (hashed >> uint64(22)), third)
        print_of_key = uint8(hashed ^ (hashed >> uint64(32)))
        found[i] = (fingerprints[a] ^ fingerprints[b] ^ fingerprints[c]) == print_of_key


@cuda.jit(device=True)
def ones_before(bits, counts, level, i):
    word = i >> 5
    below = bits[level, word] & ((uint32(1) << uint32(i & 31)) - uint32(1))
    return counts[level, word] + cuda.popc(below)


@cuda.jit
def wavelet_quantile(bits, counts, zero_counts, begins, ends, ranks, values):
    """The number of given rank within a range of a column, by a wavelet matrix of 16 levels."""
    for q in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        low = begins[q]
        high = ends[q]
        rank = ranks[q]
        value = int32(0)
        for level in range(bits.shape[0]):
            ones_low = ones_before(bits, counts, level, low)
            ones_high = ones_before(bits, counts, level, high)
            zeros_within = (high - ones_high) - (low - ones_low)
            value <<= 1
            if rank < zeros_within:
                low -= ones_low
                high -= ones_high
            else:
                rank -= zeros_within
                value |= 1
                low = zero_counts[level] + ones_low
                high = zero_counts[level] + ones_high
        values[q] = value


@cuda.jit(device=True)
def compare_suffix(text, begin, pattern):
    """Negative where the suffix comes before the pattern, zero where it begins with it."""
    for k in range(pattern.size):
        if begin + k >= text.size:
            return -1
        difference = int32(text[begin + k]) - int32(pattern[k])
        if difference != 0:
            return difference
    return 0


@cuda.jit
def find_in_suffix_array(text, suffixes, patterns, first, times):
    i = cuda.grid(1)
    if i >= patterns.shape[0]:
        return
    pattern = patterns[i]
    low = 0
    high = suffixes.size
    while low < high:
        middle = (low + high) // 2
        if compare_suffix(text, suffixes[middle], pattern) < 0:
            low = middle + 1
        else:
            high = middle
    begin = low
    high = suffixes.size
    while low < high:
        middle = (low + high) // 2
        if compare_suffix(text, suffixes[middle], pattern) <= 0:
            low = middle + 1
        else:
            high = middle
    first[i] = begin
    times[i] = low - begin


@cuda.jit
def matches_like(letters, offsets, pattern, matched):
    """SQL's LIKE: % stands for any letters, _ for one; goes back to the last % when stuck."""
    row = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    if row >= matched.size:
        return
    i = offsets[row]
    end = offsets[row + 1]
    p = 0
    star = -1
    mark = i
    while i < end:
        if p < pattern.size and pattern[p] == PERCENT:
            star = p
            mark = i
            p += 1
        elif p < pattern.size and (pattern[p] == UNDERSCORE or pattern[p] == letters[i]):
            i += 1
            p += 1
        elif star >= 0:
            p = star + 1
            mark += 1
            i = mark
        else:
            break
    while p < pattern.size and pattern[p] == PERCENT:
        p += 1
    matched[row] = i == end and p == pattern.size


@cuda.jit
def rans_decode_streams(words, begins, symbol_of_slot, frequency, cumulated, out):
    """Asymmetric numerals of 12 bits: a thread for each stream of 64 bytes, tables in shared memory."""
    symbols = cuda.shared.array(4096, uint8)
    counts = cuda.shared.array(256, uint16)
    starts = cuda.shared.array(256, uint16)
    for k in range(cuda.threadIdx.x, 4096, cuda.blockDim.x):
        symbols[k] = symbol_of_slot[k]
    for k in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        counts[k] = frequency[k]
        starts[k] = cumulated[k]
    cuda.syncthreads()
    s = cuda.grid(1)
    if s >= out.shape[0]:
        return
    at = int32(begins[s])
    state = (uint32(words[s, at]) << uint32(16)) | uint32(words[s, at + 1])
    at += 2
    for k in range(SYMBOLS):
        slot = state & uint32(4095)
        symbol = symbols[slot]
        out[s, k] = symbol
        state = uint32(uint32(counts[symbol]) * (state >> uint32(12)) + slot - uint32(starts[symbol]))
        if state < uint32(0x10000):
            state = (state << uint32(16)) | uint32(words[s, at])
            at += 1


@cuda.jit(device=True)
def turned_left(x, k):
    return (x << k) | (x >> (uint64(64) - k))


@cuda.jit
def sha3_256_of_messages(messages, digests):
    """Of messages of 64 bytes; words of different messages lie next to each other."""
    i = cuda.grid(1)
    if i >= messages.shape[1]:
        return
    constants = cuda.const.array_like(ROUNDS)
    lanes = cuda.const.array_like(LANES)
    turns = cuda.const.array_like(TURNS)
    state = cuda.local.array(25, uint64)
    parity = cuda.local.array(5, uint64)
    for k in range(25):
        state[k] = uint64(0)
    for k in range(8):
        state[k] = messages[k, i]
    state[8] = uint64(6)
    state[16] = uint64(0x8000000000000000)
    for r in range(24):
        for x in range(5):
            parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]
        for x in range(5):
            change = parity[(x + 4) % 5] ^ turned_left(parity[(x + 1) % 5], uint64(1))
            for y in range(0, 25, 5):
                state[y + x] ^= change
        carried = state[1]
        for k in range(24):
            j = lanes[k]
            kept = state[j]
            state[j] = turned_left(carried, turns[k])
            carried = kept
        for y in range(0, 25, 5):
            for x in range(5):
                parity[x] = state[y + x]
            for x in range(5):
                state[y + x] = parity[x] ^ (~parity[(x + 1) % 5] & parity[(x + 2) % 5])
        state[0] ^= constants[r]
    for k in range(4):
        digests[k, i] = state[k]


@cuda.jit(device=True)
def montgomery_product(a, b, prime, result):
    """a b / 2**256 modulo the prime, all of eight limbs; the result may be a or b."""
    t = cuda.local.array(10, uint32)
    for k in range(10):
        t[k] = uint32(0)
    for i in range(8):
        carry = uint64(0)
        for j in range(8):
            total = uint64(t[j]) + uint64(a[j]) * uint64(b[i]) + carry
            t[j] = uint32(total)
            carry = total >> uint64(32)
        total = uint64(t[8]) + carry
        t[8] = uint32(total)
        t[9] = uint32(total >> uint64(32))
        factor = uint64(uint32(t[0] * uint32(NEGATED)))
        carry = (uint64(t[0]) + factor * uint64(prime[0])) >> uint64(32)
        for j in range(1, 8):
            total = uint64(t[j]) + factor * uint64(prime[j]) + carry
            t[j - 1] = uint32(total)
            carry = total >> uint64(32)
        total = uint64(t[8]) + carry
        t[7] = uint32(total)
        t[8] = uint32(uint64(t[9]) + (total >> uint64(32)))
    borrow = int64(0)
    for j in range(8):
        difference = int64(t[j]) - int64(prime[j]) + borrow
        result[j] = uint32(difference & 0xFFFFFFFF)
        borrow = difference >> 32
    if int64(t[8]) + borrow < 0:
        for j in range(8):
            result[j] = t[j]


@cuda.jit
def power_257(numbers, powers):
    """Modulo the prime of the curve secp256k1: eight squares and a product."""
    i = cuda.grid(1)
    if i >= numbers.shape[1]:
        return
    prime = cuda.const.array_like(LIMBS)
    squared = cuda.const.array_like(SQUARED)
    base = cuda.local.array(8, uint32)
    x = cuda.local.array(8, uint32)
    for k in range(8):
        base[k] = numbers[k, i]
        x[k] = squared[k]
    montgomery_product(base, x, prime, x)
    for _ in range(8):
        montgomery_product(x, x, prime, x)
    montgomery_product(x, base, prime, x)
    for k in range(8):
        powers[k, i] = x[k]


@cuda.jit
def queens_below(starts, rows_left, solutions):
    """In how many ways queens fill the rows below a start; without recursion."""
    i = cuda.grid(1)
    if i >= starts.shape[0]:
        return
    columns = cuda.local.array(QUEENS, int32)
    left = cuda.local.array(QUEENS, int32)
    right = cuda.local.array(QUEENS, int32)
    free = cuda.local.array(QUEENS, int32)
    full = int32((1 << QUEENS) - 1)
    columns[0] = starts[i, 0]
    left[0] = starts[i, 1]
    right[0] = starts[i, 2]
    free[0] = full & ~(columns[0] | left[0] | right[0])
    count = 0
    depth = 0
    while depth >= 0:
        here = free[depth]
        if here == 0:
            depth -= 1
            continue
        queen = here & -here
        free[depth] = here ^ queen
        if depth + 1 == rows_left:
            count += 1
            continue
        columns[depth + 1] = columns[depth] | queen
        left[depth + 1] = (left[depth] | queen) << 1
        right[depth + 1] = (right[depth] | queen) >> 1
        depth += 1
        free[depth] = full & ~(columns[depth] | left[depth] | right[depth])
    solutions[i] = count


@cuda.jit
def pair_hmm(reads, qualities, lengths, haplotypes, error_of_quality, likelihood, gap_open, gap_extend):
    """How likely a haplotype gave a read: a warp for each pair, a lane for each base of the read, along diagonals."""
    lane = cuda.laneid
    pair = cuda.grid(1) // READ
    if pair >= reads.shape[0]:
        return
    base = reads[pair, lane]
    error = error_of_quality[qualities[pair, lane]]
    length = lengths[pair]
    first = float32(2.0**100) / float32(HAPLOTYPE)
    stay = float32(1) - float32(2) * gap_open
    close = float32(1) - gap_extend
    match = insertion = deletion = float32(0)
    above_left_match = above_left_insertion = float32(0)
    above_left_deletion = first if lane == 0 else float32(0)
    total = float32(0)
    for step in range(HAPLOTYPE + READ - 1):
        above_match = cuda.shfl_up_sync(0xFFFFFFFF, match, 1)
        above_insertion = cuda.shfl_up_sync(0xFFFFFFFF, insertion, 1)
        above_deletion = cuda.shfl_up_sync(0xFFFFFFFF, deletion, 1)
        if lane == 0:
            above_match = float32(0)
            above_insertion = float32(0)
            above_deletion = first
        j = step - lane
        if 0 <= j < HAPLOTYPE:
            alike = haplotypes[pair, j] == base
            emitted = float32(1) - error if alike else error / float32(3)
            deletion = gap_open * match + gap_extend * deletion
            match = emitted * (stay * above_left_match + close * (above_left_insertion + above_left_deletion))
            insertion = gap_open * above_match + gap_extend * above_insertion
            total += match + insertion
        above_left_match = above_match
        above_left_insertion = above_insertion
        above_left_deletion = above_deletion
    if lane == length - 1:
        likelihood[pair] = math.log10(total) - float32(30.103)


@cuda.jit
def feistel_shuffle(source, shuffled, half_bits, seed):
    """A random order without a table: rounds on two halves of the place, again while it falls outside."""
    i = cuda.grid(1)
    n = source.size
    if i >= n:
        return
    mask = (uint32(1) << uint32(half_bits)) - uint32(1)
    place = uint32(i)
    while True:
        left = place >> uint32(half_bits)
        right = place & mask
        for r in range(6):
            mixed = uint32((right ^ uint32(seed + r)) * uint32(0xD2511F53))
            mixed ^= mixed >> uint32(15)
            mixed = uint32(mixed * uint32(0x2C1B3C6D))
            mixed ^= mixed >> uint32(12)
            swapped = left ^ (mixed & mask)
            left = right
            right = swapped
        place = (left << uint32(half_bits)) | right
        if place < uint32(n):
            break
    shuffled[i] = source[place]


@cuda.jit
def scatter_by_digit(keys, values, offsets, shift, keys_out, values_out):
    """The last pass of a radix sort: 1024 pairs for each block of eight warps, ranks of equal digits by matching."""
    counters = cuda.shared.array((8, 256), uint32)
    ranks = cuda.local.array(4, uint32)
    t = cuda.threadIdx.x
    warp = t // 32
    lane = t % 32
    for w in range(8):
        counters[w, t] = 0
    cuda.syncthreads()
    first = cuda.blockIdx.x * 1024 + warp * 128 + lane
    below = (uint32(1) << uint32(lane)) - uint32(1)
    for k in range(4):
        at = first + 32 * k
        digit = int32((keys[at] >> uint32(shift)) & uint32(255)) if at < keys.size else 256
        same = uint32(cuda.match_any_sync(0xFFFFFFFF, digit))
        before = uint32(0)
        if digit < 256:
            before = counters[warp, digit]
        cuda.syncwarp()
        ranks[k] = before + uint32(cuda.popc(same & below))
        if digit < 256 and same & below == 0:
            counters[warp, digit] = before + uint32(cuda.popc(same))
        cuda.syncwarp()
    cuda.syncthreads()
    place = offsets[cuda.blockIdx.x, t]
    for w in range(8):
        count = counters[w, t]
        counters[w, t] = place
        place += count
    cuda.syncthreads()
    for k in range(4):
        at = first + 32 * k
        if at < keys.size:
            key = keys[at]
            to = counters[warp, (key >> uint32(shift)) & uint32(255)] + ranks[k]
            keys_out[to] = key
            values_out[to] = values[at]


@cuda.jit
def group_by_in_shared(sales, turnover, pieces, least_kind):
    """Sums for each group in a hash table of the block, which is then added to the whole."""
    groups = cuda.shared.array(SLOTS, int32)
    sums = cuda.shared.array(SLOTS, float32)
    counts = cuda.shared.array(SLOTS, int32)
    for slot in range(cuda.threadIdx.x, SLOTS, cuda.blockDim.x):
        groups[slot] = EMPTY
        sums[slot] = 0
        counts[slot] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), sales.size, cuda.gridsize(1)):
        sale = sales[i]
        if sale.void or sale.kind < least_kind:
            continue
        group = sale.group
        slot = int32(uint32(uint32(group) * uint32(2654435769)) >> uint32(22))
        for _ in range(SLOTS):
            held = cuda.atomic.cas(groups, slot, EMPTY, group)
            if held == EMPTY or held == group:
                cuda.atomic.add(sums, slot, sale.price * float32(sale.pieces))
                cuda.atomic.add(counts, slot, int32(sale.pieces))
                break
            slot = (slot + 1) & (SLOTS - 1)
    cuda.syncthreads()
    slot = cuda.threadIdx.x
    while slot < SLOTS:
        if groups[slot] != EMPTY:
            cuda.atomic.add(turnover, groups[slot], float64(sums[slot]))
            cuda.atomic.add(pieces, groups[slot], int64(counts[slot]))
        slot += cuda.blockDim.x


@cuda.jit(device=True)
def one_then(f, g):
    """Of two maps of four states, two bits for each state, the one that does both."""
    both = int32(0)
    for state in range(4):
        after = (f >> (2 * state)) & 3
        both |= ((g >> (2 * after)) & 3) << (2 * state)
    return both


@cuda.jit
def comment_bodies(text, step_of_letter, bodies):
    """What lies within comments, by a scan of maps of states; each block has a piece of 1024 letters of its own."""
    totals = cuda.shared.array(8, int32)
    steps = cuda.shared.array(256, uint8)
    t = cuda.threadIdx.x
    lane = t & 31
    steps[t] = step_of_letter[t]
    cuda.syncthreads()
    same = int32(0b11100100)
    whole = same
    first = cuda.blockIdx.x * 1024 + 4 * t
    for k in range(4):
        if first + k < text.size:
            whole = one_then(whole, int32(steps[text[first + k]]))
    delta = 1
    while delta < 32:
        earlier = cuda.shfl_up_sync(0xFFFFFFFF, whole, delta)
        if lane >= delta:
            whole = one_then(earlier, whole)
        delta *= 2
    if lane == 31:
        totals[t >> 5] = whole
    cuda.syncthreads()
    before = same
    for w in range(t >> 5):
        before = one_then(before, totals[w])
    earlier = cuda.shfl_up_sync(0xFFFFFFFF, whole, 1)
    if lane > 0:
        before = one_then(before, earlier)
    state = before & 3
    for k in range(4):
        if first + k < text.size:
            letter = text[first + k]
            state = (int32(steps[letter]) >> (2 * state)) & 3
            bodies[first + k] = letter if state >= 2 else 32


@cuda.jit
def ordinal_patterns(series, delay, histogram):
    """How often each order of four values occurs, as many copies of the counts as a block has warps."""
    counts = cuda.shared.array((8, 25), int32)
    warp = cuda.threadIdx.x >> 5
    if cuda.threadIdx.x < 200:
        counts[cuda.threadIdx.x // 25, cuda.threadIdx.x % 25] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), series.size - 3 * delay, cuda.gridsize(1)):
        a = series[i]
        b = series[i + delay]
        c = series[i + 2 * delay]
        d = series[i + 3 * delay]
        code = 6 * (int32(a > b) + int32(a > c) + int32(a > d))
        code += 2 * (int32(b > c) + int32(b > d)) + int32(c > d)
        cuda.atomic.add(counts, (warp, code), 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 24:
        total = 0
        for w in range(8):
            total += counts[w, cuda.threadIdx.x]
        cuda.atomic.add(histogram, cuda.threadIdx.x, total)


def frames_of(n: int, arguments: Arguments) -> int:
    """256 threads for every 1024 of n."""
    return -(-n // 1024) * 256


def packed_frames(r: Random, n: int) -> Arguments:
    count = -(-n // 1024)
    width = r.wholes(21, count, I32, 1)
    first = np.concatenate([[0], np.cumsum(width * 32)]).astype(I32)
    return r.wholes(1 << 32, int(first[-1]) + 1, U32), first, width, r.wholes(1000, count), zeros(n, dtype=I32)


def columns_with_gaps(r: Random, n: int) -> Arguments:
    words = -(-n // 32)
    return (r.reals(n, F64), r.wholes(1 << 32, words, U32), r.reals(n, F64), r.wholes(1 << 32, words, U32),
            zeros(n, dtype=F64), zeros(words, dtype=U32))  # fmt: skip


def indexed_rows(r: Random, n: int) -> Arguments:
    chosen = np.array([6, 1, 3, 4], I32)
    return r.wholes(1 << 63, (7, n), U64), chosen, r.wholes(1 << 63, n, U64), zeros(1, dtype=I64)


def searched(r: Random, n: int) -> Arguments:
    levels = n.bit_length() - 1
    ordered = r.ascending((1 << levels) - 1, 2e9, I32)
    tree = zeros(1 << levels, dtype=I32)
    for level in range(levels):
        step = 1 << (levels - level)
        tree[1 << level : 2 << level] = ordered[step // 2 - 1 :: step]
    return tree, levels, r.indices(2_000_000_000, n), zeros(n, dtype=I32)


def filtered(r: Random, n: int) -> Arguments:
    third = n * 123 // 300 + 11
    return r.wholes(256, 3 * third, U8), third, U64(0x9E3779B97F4A7C15), r.indices(1 << 62, n, U64), zeros(n, dtype=np.bool_)


def ranges_of_a_column(r: Random, n: int) -> Arguments:
    size = min(4 * n, 1 << 22)
    column = r.wholes(1 << 16, size, U16)
    words = size // 32 + 1
    bits = zeros(16, words, dtype=U32)
    counts = zeros(16, words, dtype=I32)
    zero_counts = zeros(16, dtype=I32)
    for level in range(16):
        ones = (column >> U16(15 - level)) & U16(1)
        packed = zeros(words * 4, dtype=U8)
        at_once = np.packbits(ones.astype(U8), bitorder="little")
        packed[: at_once.size] = at_once
        bits[level] = packed.view(U32)
        sums = np.concatenate([[0], np.cumsum(ones, dtype=I32)])
        counts[level] = sums[: words * 32 : 32]
        zero_counts[level] = size - sums[-1]
        column = np.concatenate([column[ones == 0], column[ones == 1]])
    begins = r.indices(size - 1, n)
    ends = begins + 1 + (r.reals(n, F64) * (size - begins - 1)).astype(I32)
    ranks = (r.reals(n, F64) * (ends - begins)).astype(I32)
    return bits, counts, zero_counts, begins, ends, ranks, zeros(n, dtype=I32)


def sorted_genome(r: Random, n: int) -> Arguments:
    """Suffixes in order, by their first 27 letters; three of four patterns come from the text."""
    size = min(4 * n, 4_000_000)
    text = r.wholes(5, size, U8, 1)
    padded = np.concatenate([text, zeros(27, dtype=U8)])
    keys = zeros(size, dtype=I64)
    for k in range(27):
        keys *= 5
        keys += padded[k : k + size]
    places = r.indices(size - 12, n)
    patterns = text[places[:, None] + np.arange(12, dtype=I32)]
    patterns[::4] = r.wholes(5, patterns[::4].shape, U8, 1)
    return text, np.argsort(keys).astype(I32), patterns, zeros(n, dtype=I32), zeros(n, dtype=I32)


def words_of_letters(r: Random, n: int) -> Arguments:
    lengths = r.wholes(57, n, I32, 8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(I32)
    letters = r.wholes(4, int(offsets[-1]), U8) + U8(ord("a"))
    return letters, offsets, np.frombuffer(b"%abc_d%ca%b_", U8).copy(), zeros(n, dtype=np.bool_)


def coded_streams(r: Random, n: int) -> Arguments:
    """No more than 16 384 are made; more repeat them."""
    frequency = np.maximum(4096 * np.exp(-np.arange(256) / 24) / 24, 1).astype(I64)
    frequency[0] += 4096 - frequency.sum()
    cumulated = np.cumsum(frequency) - frequency
    symbol_of_slot = np.repeat(np.arange(256), frequency).astype(U8)
    made = min(n, 16_384)
    text = symbol_of_slot[r.indices(4096, (made, SYMBOLS))]
    words = zeros(made, ROOM, dtype=U16)
    at = np.full(made, ROOM)
    state = np.full(made, 1 << 16, I64)
    streams = np.arange(made)
    for k in range(SYMBOLS - 1, -1, -1):
        f = frequency[text[:, k]]
        full = state >= f << 20
        at[full] -= 1
        words[streams[full], at[full]] = state[full] & 0xFFFF
        state[full] >>= 16
        state = (state // f << 12) + state % f + cumulated[text[:, k]]
    at -= 2
    words[streams, at] = state >> 16
    words[streams, at + 1] = state & 0xFFFF
    return (np.resize(words, (n, ROOM)), np.resize(at, n).astype(U8), symbol_of_slot, frequency.astype(U16),
            cumulated.astype(U16), zeros(n, SYMBOLS, dtype=U8))  # fmt: skip


def placed_queens(r: Random, n: int) -> Arguments:
    """Queens in the first five rows."""
    starts = []
    for places in itertools.permutations(range(QUEENS), 5):
        if all(abs(places[a] - places[b]) != b - a for a, b in itertools.combinations(range(5), 2)):
            columns = sum(1 << place for place in places)
            left = sum(1 << place + 5 - row for row, place in enumerate(places))
            right = sum(1 << place >> 5 - row for row, place in enumerate(places))
            starts.append((columns, left, right))
    drawn = np.array(starts, I32)[r.order(len(starts))]
    return np.resize(drawn, (n, 3)), QUEENS - 5, zeros(n, dtype=I32)


def reads_of_haplotypes(r: Random, n: int) -> Arguments:
    haplotypes = r.wholes(4, (n, HAPLOTYPE), U8)
    shift = r.wholes(HAPLOTYPE - READ + 1, n)
    reads = np.take_along_axis(haplotypes, shift[:, None] + np.arange(READ), axis=1)
    wrong = r.wholes(32, (n, READ), U8)
    reads = np.where(wrong == 0, reads ^ U8(1), reads)
    errors = (10.0 ** (-np.arange(64) / 10)).astype(F32)
    return (reads, r.wholes(41, (n, READ), U8, 10), r.wholes(READ + 1, n, U8, 20), haplotypes, errors, zeros(n),
            F32(0.001), F32(0.1))  # fmt: skip


def dealt(r: Random, n: int) -> Arguments:
    return r.reals(n), zeros(n), ((n - 1).bit_length() + 1) // 2, 20_240


def pairs_to_scatter(r: Random, n: int) -> Arguments:
    """With the place of the first of each block's pairs of each digit."""
    keys = r.wholes(1 << 32, n, U32)
    blocks = -(-n // 1024)
    digits = (keys >> U32(8)) & U32(255)
    cells = digits.astype(I64) * blocks + np.arange(n) // 1024
    counts = np.bincount(cells, minlength=256 * blocks)
    offsets = (np.cumsum(counts) - counts).astype(U32).reshape(256, blocks).T
    return keys, np.arange(n, dtype=U32), np.ascontiguousarray(offsets), 8, zeros(n, dtype=U32), zeros(n, dtype=U32)


def sold(r: Random, n: int) -> Arguments:
    sales = np.zeros(n, SALE)
    sales["group"] = r.wholes(600, n) * 7
    sales["price"] = r.reals(n)
    sales["pieces"] = r.wholes(9, n, U16, 1)
    sales["kind"] = r.wholes(5, n, U8)
    sales["void"] = r.wholes(20, n, U8) == 0
    return sales, zeros(4200, dtype=F64), zeros(4200, dtype=I64), 1


def commented(r: Random, n: int) -> Arguments:
    """States: outside, after a slash, inside, after a star inside."""
    text = np.frombuffer(b"/*abc d;", U8)[r.wholes(8, n, U8)]
    after = np.zeros((256, 4), np.int64)
    after[:] = (0, 0, 2, 2)
    after[ord("/")] = (1, 1, 2, 0)
    after[ord("*")] = (0, 2, 3, 3)
    return text, (after << np.arange(0, 8, 2)).sum(axis=1).astype(U8), zeros(n, dtype=U8)


STRUCTURES: tuple[Sized, ...] = (
    entry(decode_frame_of_reference, 256, frames_of, packed_frames, 16_000_000, 200_000_000, small=5000),
    entry(coalesce_columns, 256, elements, columns_with_gaps, 4_000_000, 60_000_000),
    entry(raid6_parity, 256, striding(256),
          lambda r, n: (r.wholes(1 << 32, (8, n), U32), zeros(n, dtype=U32), zeros(n, dtype=U32)), 2_000_000, 40_000_000),
    entry(count_in_bitmaps, 256, striding(256), indexed_rows, 2_000_000, 24_000_000),
    entry(search_eytzinger, 128, elements, searched, 2_200_000, 20_000_000),
    entry(in_xor_filter, 256, elements, filtered, 3_000_000, 50_000_000),
    entry(wavelet_quantile, 128, striding(128, 2112), ranges_of_a_column, 400_000, 5_000_000, small=600),
    entry(find_in_suffix_array, 128, elements, sorted_genome, 100_000, 2_000_000, small=300),
    entry(matches_like, 128, elements, words_of_letters, 300_000, 10_000_000, small=400),
    entry(rans_decode_streams, 128, elements, coded_streams, 200_000, 3_000_000, small=300),
    entry(sha3_256_of_messages, 64, elements, lambda r, n: (r.wholes(1 << 63, (8, n), U64), zeros(4, n, dtype=U64)),
          50_000, 1_000_000, small=100),
    entry(power_257, 64, elements, lambda r, n: (r.wholes((1 << 32) - 1, (8, n), U32), zeros(8, n, dtype=U32)),
          150_000, 2_500_000, small=70),
    entry(queens_below, 64, elements, placed_queens, 200_000, 5_000_000, small=100),
    entry(pair_hmm, 128, blocks_of(READ), reads_of_haplotypes, 20_000, 600_000, small=12),
    entry(feistel_shuffle, 256, elements, dealt, 2_000_000, 50_000_000),
    entry(scatter_by_digit, 256, frames_of, pairs_to_scatter, 2_000_000, 40_000_000, small=3000),
    entry(group_by_in_shared, 256, striding(256), sold, 3_000_000, 50_000_000),
    entry(comment_bodies, 256, frames_of, commented, 12_000_000, 200_000_000, small=3000),
    entry(ordinal_patterns, 256, striding(256), lambda r, n: (r.reals(n), 5, zeros(24, dtype=I32)),
          6_000_000, 200_000_000),
)  # fmt: skip

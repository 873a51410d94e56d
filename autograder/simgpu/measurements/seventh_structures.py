"""The seventh set: work of blocks and warps on sequences, codes, sketches, sorts, scans, selections and tiles."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int16, int32, int64, uint8, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Shape, Sized, blocks_of, elements, striding, zeros

F16, F32, I16, I32, I64 = np.float16, np.float32, np.int16, np.int32, np.int64
U8, U16, U32, U64 = np.uint8, np.uint16, np.uint32, np.uint64
PRIMES = np.array([p for p in range(2, 312) if all(p % q for q in range(2, p))])
ROUND_WORDS = (np.cbrt(PRIMES) % 1 * 2**32).astype(U32)
START_WORDS = (np.sqrt(PRIMES[:8]) % 1 * 2**32).astype(U32)
CODE_LENGTHS = [2] + 2 * [3] + 2 * [4] + 4 * [5] + 8 * [6] + 8 * [7] + 16 * [9] + 32 * [10]
CODES = np.concatenate([np.full(1 << (10 - bits), symbol << 4 | bits, U16) for symbol, bits in enumerate(CODE_LENGTHS)])
FULL = 0xFFFFFFFF


@cuda.jit
def local_alignment_scores(reads, windows, scores, match, mismatch, gap_open, gap_extend):
    """Smith and Waterman with affine gaps, a block for each pair and a thread for each base of the read."""
    h = cuda.shared.array((3, 129), int32)
    f = cuda.shared.array((2, 129), int32)
    bests = cuda.shared.array(4, int32)
    pair = cuda.blockIdx.x
    i = cuda.threadIdx.x
    length = windows.shape[1]
    for k in range(i, 129, 128):
        for b in range(3):
            h[b, k] = 0
        for b in range(2):
            f[b, k] = -1000000
    base = reads[pair, i]
    left = int32(0)
    e = int32(-1000000)
    best = int32(0)
    cuda.syncthreads()
    for d in range(length + 127):
        j = d - i
        if j >= 0 and j < length:
            s = match if base == windows[pair, j] else -mismatch
            down = max(f[(d + 1) % 2, i] - gap_extend, h[(d + 2) % 3, i] - gap_open)
            e = int32(max(e - gap_extend, left - gap_open))
            score = int32(max(max(0, h[(d + 1) % 3, i] + s), max(e, down)))
            h[d % 3, i + 1] = score
            f[d % 2, i + 1] = down
            left = score
            best = max(best, score)
        cuda.syncthreads()
    for offset in (16, 8, 4, 2, 1):
        best = max(best, cuda.shfl_down_sync(FULL, best, offset))
    if i % 32 == 0:
        bests[i // 32] = best
    cuda.syncthreads()
    if i == 0:
        scores[pair] = max(max(bests[0], bests[1]), max(bests[2], bests[3]))


@cuda.jit
def fold_rna(bases, lengths, most_pairs):
    """The most pairs that a strand can form, after Nussinov; loops have at least three bases."""
    best = cuda.shared.array((80, 81), int16)
    strand = cuda.shared.array(80, uint8)
    tid = cuda.threadIdx.x
    n = lengths[cuda.blockIdx.x]
    for i in range(tid, n, cuda.blockDim.x):
        strand[i] = bases[cuda.blockIdx.x, i]
        for j in range(n):
            best[i, j] = 0
    cuda.syncthreads()
    for span in range(4, n):
        for i in range(tid, n - span, cuda.blockDim.x):
            j = i + span
            most = 0
            both = strand[i] + strand[j]
            if both == 3 or both == 5 and strand[i] != 1:
                most = best[i + 1, j - 1] + 1
            for k in range(i, j):
                most = max(most, best[i, k] + best[k + 1, j])
            best[i, j] = most
        cuda.syncthreads()
    if tid == 0:
        most_pairs[cuda.blockIdx.x] = best[0, n - 1]


@cuda.jit
def radix_sort_tile(keys, values, sorted_keys, sorted_values):
    tile_keys = cuda.shared.array(256, uint32)
    tile_values = cuda.shared.array(256, int32)
    counts = cuda.shared.array(128, int32)
    tid = cuda.threadIdx.x
    lane = tid & 31
    warp = tid >> 5
    i = cuda.grid(1)
    key = uint32(0xFFFFFFFF)
    value = int32(-1)
    if i < keys.size:
        key = keys[i]
        value = values[i]
    for shift in range(0, 32, 4):
        if tid < 128:
            counts[tid] = 0
        cuda.syncthreads()
        digit = int32((key >> shift) & 15)
        same = cuda.match_any_sync(FULL, digit)
        rank = cuda.popc(same & ((1 << lane) - 1))
        if rank == 0:
            counts[digit * 8 + warp] = cuda.popc(same)
        cuda.syncthreads()
        if warp == 0:
            a = counts[lane * 4]
            b = counts[lane * 4 + 1]
            c = counts[lane * 4 + 2]
            total = a + b + c + counts[lane * 4 + 3]
            before = total
            offset = 1
            while offset < 32:
                other = cuda.shfl_up_sync(FULL, before, offset)
                if lane >= offset:
                    before += other
                offset *= 2
            before -= total
            counts[lane * 4] = before
            counts[lane * 4 + 1] = before + a
            counts[lane * 4 + 2] = before + a + b
            counts[lane * 4 + 3] = before + a + b + c
        cuda.syncthreads()
        place = counts[digit * 8 + warp] + rank
        tile_keys[place] = key
        tile_values[place] = value
        cuda.syncthreads()
        key = tile_keys[tid]
        value = tile_values[tid]
    if i < keys.size:
        sorted_keys[i] = key
        sorted_values[i] = value


@cuda.jit(device=True)
def end_of_smaller(runs, now, start, stop, x, equal_too):
    while start < stop:
        middle = (start + stop) // 2
        here = runs[now, middle]
        if here < x or (equal_too and here == x):
            start = middle + 1
        else:
            stop = middle
    return start


@cuda.jit
def merge_sort_tile(data, out):
    runs = cuda.shared.array((2, 512), float64)
    tid = cuda.threadIdx.x
    first = cuda.blockIdx.x * 512
    for k in range(tid, 512, 256):
        runs[0, k] = data[first + k] if first + k < data.size else math.inf
    cuda.syncthreads()
    now = 0
    width = 1
    while width < 512:
        for k in range(tid, 512, 256):
            x = runs[now, k]
            start = k // (2 * width) * (2 * width)
            middle = start + width
            if k < middle:
                place = k + end_of_smaller(runs, now, middle, middle + width, x, False) - middle
            else:
                place = k - middle + end_of_smaller(runs, now, start, middle, x, True)
            runs[1 - now, place] = x
        cuda.syncthreads()
        now = 1 - now
        width *= 2
    for k in range(tid, 512, 256):
        if first + k < data.size:
            out[first + k] = runs[now, k]


@cuda.jit
def eight_nearest(points, queries, found, squared):
    """A warp for each query; points lie with their first axis along the dimensions."""
    wanted = cuda.shared.array((8, 16), float32)
    near = cuda.local.array(8, float32)
    which = cuda.local.array(8, int32)
    lane = cuda.threadIdx.x
    row = cuda.threadIdx.y
    q = cuda.blockIdx.y * cuda.blockDim.y + row
    if q >= queries.shape[0]:
        return
    if lane < 16:
        wanted[row, lane] = queries[q, lane]
    cuda.syncwarp()
    for k in range(8):
        near[k] = 1e30
        which[k] = -1
    for p in range(lane, points.shape[1], 32):
        d = float32(0)
        for axis in range(16):
            diff = points[axis, p] - wanted[row, axis]
            d += diff * diff
        if d < near[7]:
            slot = 7
            while slot > 0 and near[slot - 1] > d:
                near[slot] = near[slot - 1]
                which[slot] = which[slot - 1]
                slot -= 1
            near[slot] = d
            which[slot] = p
    head = 0
    for k in range(8):
        mine = near[head] if head < 8 else float32(2e30)
        least = mine
        offset = 16
        while offset > 0:
            least = min(least, cuda.shfl_xor_sync(FULL, least, offset))
            offset >>= 1
        owner = cuda.ffs(cuda.ballot_sync(FULL, mine == least)) - 1
        if lane == owner:
            found[q, k] = which[head]
            squared[q, k] = least
            head += 1


@cuda.jit(device=True)
def joined(n_a, mean_a, square_a, n_b, mean_b, square_b):
    n = n_a + n_b
    if n == 0:
        return n_a, mean_a, square_a
    delta = mean_b - mean_a
    mean = mean_a + delta * n_b / n
    return n, mean, square_a + square_b + delta * delta * n_a * n_b / n


@cuda.jit
def channel_statistics(x, means, scales, eps):
    """What normalising a batch needs: a block for each channel, after Welford."""
    counts = cuda.shared.array(8, int64)
    of_warps = cuda.shared.array((2, 8), float64)
    channel = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    count = 0
    mean = 0.0
    square = 0.0
    for image in range(x.shape[0]):
        for p in range(tid, x.shape[2], cuda.blockDim.x):
            value = x[image, channel, p]
            count += 1
            delta = value - mean
            mean += delta / count
            square += delta * (value - mean)
    offset = 16
    while offset > 0:
        other_count = cuda.shfl_down_sync(FULL, count, offset)
        other_mean = cuda.shfl_down_sync(FULL, mean, offset)
        other_square = cuda.shfl_down_sync(FULL, square, offset)
        count, mean, square = joined(count, mean, square, other_count, other_mean, other_square)
        offset //= 2
    if tid % 32 == 0:
        counts[tid // 32] = count
        of_warps[0, tid // 32] = mean
        of_warps[1, tid // 32] = square
    cuda.syncthreads()
    if tid == 0:
        for w in range(1, 8):
            count, mean, square = joined(count, mean, square, counts[w], of_warps[0, w], of_warps[1, w])
        means[channel] = mean
        scales[channel] = 1.0 / math.sqrt(square / count + eps)


@cuda.jit
def gated_recurrence(decay, gain, out):
    """y[t] = decay[t] * y[t - 1] + gain[t] along each row, as a scan of pairs."""
    decays = cuda.shared.array(8, float32)
    gains = cuda.shared.array(8, float32)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    lane = tid % 32
    warp = tid // 32
    length = decay.shape[1]
    carry = float32(0)
    for start in range(0, length, 256):
        t = start + tid
        a = float32(1)
        b = float32(0)
        if t < length:
            a = decay[row, t]
            b = gain[row, t]
        offset = 1
        while offset < 32:
            a_left = cuda.shfl_up_sync(FULL, a, offset)
            b_left = cuda.shfl_up_sync(FULL, b, offset)
            if lane >= offset:
                b += a * b_left
                a *= a_left
            offset *= 2
        if lane == 31:
            decays[warp] = a
            gains[warp] = b
        cuda.syncthreads()
        y = carry
        for w in range(warp):
            y = decays[w] * y + gains[w]
        if t < length:
            out[row, t] = a * y + b
        for w in range(warp, 8):
            y = decays[w] * y + gains[w]
        carry = y
        cuda.syncthreads()


@cuda.jit
def pack_postings(ids, firsts, widths, packed):
    """Gaps of 128 ascending numbers, each in as many bits as the widest of them needs."""
    words = cuda.shared.array(128, uint32)
    greatest = cuda.shared.array(4, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    words[tid] = 0
    gap = int32(0)
    if tid > 0 and i < ids.size:
        gap = int32(ids[i] - ids[i - 1])
    most = gap
    offset = 16
    while offset:
        most = max(most, cuda.shfl_xor_sync(FULL, most, offset))
        offset //= 2
    greatest[tid // 32] = most
    cuda.syncthreads()
    most = max(max(greatest[0], greatest[1]), max(greatest[2], greatest[3]))
    width = 32 - cuda.clz(most)
    bit = tid * width
    word = bit // 32
    shift = bit % 32
    if gap:
        cuda.atomic.or_(words, word, uint32(gap << shift))
        if shift + width > 32 and gap >> (32 - shift):
            cuda.atomic.or_(words, word + 1, uint32(gap >> (32 - shift)))
    cuda.syncthreads()
    if tid < 4 * width:
        packed[cuda.blockIdx.x, tid] = words[tid]
    if tid == 0:
        firsts[cuda.blockIdx.x] = ids[i]
        widths[cuda.blockIdx.x] = width


@cuda.jit
def encode_varints(values, encoded, sizes):
    staged = cuda.shared.array(1280, uint8)
    totals = cuda.shared.array(8, int32)
    tid = cuda.threadIdx.x
    lane = tid & 31
    warp = tid >> 5
    i = cuda.grid(1)
    value = int64(0)
    length = int32(0)
    if i < values.size:
        value = int64(values[i])
        length = int32(1)
        limit = 128
        while value >= limit:
            length += int32(1)
            limit <<= 7
    end = length
    for k in range(5):
        other = cuda.shfl_up_sync(FULL, end, 1 << k)
        if lane >= 1 << k:
            end += other
    if lane == 31:
        totals[warp] = end
    cuda.syncthreads()
    size = 0
    at = end - length
    for w in range(8):
        if w < warp:
            at += totals[w]
        size += totals[w]
    for k in range(length):
        more = 128 if k < length - 1 else 0
        staged[at + k] = (value & 127) | more
        value >>= 7
    cuda.syncthreads()
    for k in range(tid, size, 256):
        encoded[cuda.blockIdx.x, k] = staged[k]
    if tid == 0:
        sizes[cuda.blockIdx.x] = size


@cuda.jit
def decode_huffman(words, starts, codes, symbols):
    """Each thread decodes 64 symbols, of at most 10 bits each, from where its part of the stream begins."""
    table = cuda.shared.array(1024, np.uint16)
    for k in range(cuda.threadIdx.x, 1024, cuda.blockDim.x):
        table[k] = codes[k]
    cuda.syncthreads()
    part = cuda.grid(1)
    if part >= starts.size:
        return
    bit = int64(starts[part])
    for k in range(64):
        word = bit >> 5
        if word + 1 >= words.size:
            break
        window = (int64(words[word]) << 32) | int64(words[word + 1])
        code = table[(window >> (54 - (bit & 31))) & 1023]
        symbols[part * 64 + k] = code >> 4
        bit += code & 15


@cuda.jit(device=True)
def rotated(x, n):
    return uint32((x >> n) | (x << (32 - n)))


@cuda.jit(device=True)
def sha_rounds(state, w):
    keys = cuda.const.array_like(ROUND_WORDS)
    a, b, c, d = state[0], state[1], state[2], state[3]
    e, f, g, h = state[4], state[5], state[6], state[7]
    for t in range(64):
        if t >= 16:
            x = w[(t + 1) & 15]
            y = w[(t + 14) & 15]
            low = rotated(x, 7) ^ rotated(x, 18) ^ (x >> 3)
            high = rotated(y, 17) ^ rotated(y, 19) ^ (y >> 10)
            w[t & 15] = uint32(w[t & 15] + low + w[(t + 9) & 15] + high)
        first = uint32(h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + (g ^ (e & (f ^ g))) + keys[t] + w[t & 15])
        second = uint32((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) | (c & (a | b))))
        h = g
        g = f
        f = e
        e = uint32(d + first)
        d = c
        c = b
        b = a
        a = uint32(first + second)
    state[0] = uint32(state[0] + a)
    state[1] = uint32(state[1] + b)
    state[2] = uint32(state[2] + c)
    state[3] = uint32(state[3] + d)
    state[4] = uint32(state[4] + e)
    state[5] = uint32(state[5] + f)
    state[6] = uint32(state[6] + g)
    state[7] = uint32(state[7] + h)


@cuda.jit
def mine_nonces(midstate, tail, start, tries, target, nonces, hits):
    """SHA-256 twice over the last 16 bytes of a header of 80 bytes."""
    begin = cuda.const.array_like(START_WORDS)
    state = cuda.local.array(8, uint32)
    w = cuda.local.array(16, uint32)
    i = cuda.grid(1)
    if i >= tries:
        return
    nonce = start + i
    for k in range(16):
        w[k] = 0
    for k in range(3):
        w[k] = tail[k]
    w[3] = nonce
    w[4] = 0x80000000
    w[15] = 640
    for k in range(8):
        state[k] = midstate[k]
    sha_rounds(state, w)
    for k in range(8):
        w[k] = state[k]
        state[k] = begin[k]
        w[8 + k] = 0
    w[8] = 0x80000000
    w[15] = 256
    sha_rounds(state, w)
    if state[0] < target:
        slot = cuda.atomic.add(hits, 0, 1)
        if slot < nonces.size:
            nonces[slot] = nonce


@cuda.jit
def internet_checksums(data, offsets, sums):
    """A warp for each packet: the complement of the ones' complement sum of its 16-bit words."""
    packet = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if packet >= sums.size:
        return
    start = offsets[packet]
    stop = offsets[packet + 1]
    total = 0
    at = start + 2 * lane
    while at < stop:
        total += data[at] << 8
        if at + 1 < stop:
            total += data[at + 1]
        at += 64
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL, total, offset)
    if lane == 0:
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        sums[packet] = total ^ 0xFFFF


@cuda.jit
def motif_by_horspool(text, motif, per_part, total):
    """How often the motif begins in each part of 128 letters."""
    skips = cuda.shared.array(256, int32)
    tid = cuda.threadIdx.x
    m = motif.size
    skips[tid] = m
    cuda.syncthreads()
    if tid < m - 1:
        cuda.atomic.min(skips, int64(motif[tid]), m - 1 - tid)
    cuda.syncthreads()
    part = cuda.grid(1)
    at = part * 128
    stop = min(at + 128, text.size - m + 1)
    hits = 0
    while at < stop:
        last = text[at + m - 1]
        k = m - 1
        while k >= 0 and text[at + k] == motif[k]:
            k -= 1
        if k < 0:
            hits += 1
        at += skips[last]
    if part < per_part.size:
        per_part[part] = hits
        if hits > 0:
            cuda.atomic.add(total, 0, hits)


@cuda.jit
def turn_genotype_bits(carriers, turned):
    """From a row of bits for each sample to a row of bits for each marker."""
    lane = cuda.threadIdx.x
    sample = cuda.blockIdx.x * 32 + lane
    column = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if column >= carriers.shape[1]:
        return
    word = uint32(0)
    if sample < carriers.shape[0]:
        word = carriers[sample, column]
    mine = 0
    for k in range(32):
        bits = cuda.ballot_sync(FULL, (word >> k) & 1)
        if lane == k:
            mine = bits
    turned[column * 32 + lane, cuda.blockIdx.x] = mine


@cuda.jit
def equalize_tiles(picture, out, clip):
    """Each tile of 64 by 64 pixels by its own histogram, whose peaks are cut off and spread."""
    levels = cuda.shared.array(256, int32)
    running = cuda.shared.array(256, int32)
    excess = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tid = ty * 16 + tx
    height, width = picture.shape
    x0 = cuda.blockIdx.x * 64
    y0 = cuda.blockIdx.y * 64
    levels[tid] = 0
    if tid == 0:
        excess[0] = 0
    cuda.syncthreads()
    for y in range(y0 + ty, min(y0 + 64, height), 16):
        for x in range(x0 + tx, min(x0 + 64, width), 16):
            cuda.atomic.add(levels, picture[y, x], 1)
    cuda.syncthreads()
    count = levels[tid]
    if count > clip:
        cuda.atomic.add(excess, 0, count - clip)
        count = clip
    cuda.syncthreads()
    count += excess[0] // 256
    if tid < excess[0] % 256:
        count += 1
    running[tid] = count
    cuda.syncthreads()
    step = 1
    while step < 256:
        before = running[tid - step] if tid >= step else 0
        cuda.syncthreads()
        running[tid] += before
        cuda.syncthreads()
        step *= 2
    levels[tid] = int(255.0 * running[tid] / running[255] + 0.5)
    cuda.syncthreads()
    for y in range(y0 + ty, min(y0 + 64, height), 16):
        for x in range(x0 + tx, min(x0 + 64, width), 16):
            out[y, x] = levels[picture[y, x]]


@cuda.jit
def hyperloglog_registers(keys, registers):
    mine = cuda.shared.array(4096, int32)
    for k in range(cuda.threadIdx.x, 4096, cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        z = uint64(keys[i]) + uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
        z = z ^ (z >> uint64(31))
        zeros_ahead = cuda.clz(int64((z << uint64(12)) | uint64(2048)))
        cuda.atomic.max(mine, int64(z >> uint64(52)), zeros_ahead + 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, 4096, cuda.blockDim.x):
        if mine[k] > 0:
            cuda.atomic.max(registers, k, mine[k])


@cuda.jit
def steps_through_mazes(walls, steps, farthest):
    """A block for each maze of 32 by 32 cells, which it searches from a corner, one frontier after the other."""
    reached = cuda.shared.array(1024, int32)
    frontier = cuda.shared.array((2, 1024), int16)
    sizes = cuda.shared.array(2, int32)
    maze = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    for cell in range(tid, 1024, cuda.blockDim.x):
        reached[cell] = -2 if walls[maze, cell // 32, cell % 32] else -1
    cuda.syncthreads()
    if tid == 0:
        reached[0] = 0
        frontier[0, 0] = 0
        sizes[0] = 1
        sizes[1] = 0
    cuda.syncthreads()
    now = 0
    level = 0
    while True:
        size = sizes[now]
        if size == 0:
            break
        level += 1
        for k in range(tid, size, cuda.blockDim.x):
            cell = frontier[now, k]
            row = cell // 32
            column = cell % 32
            for side in range(4):
                r = row + (side == 0) - (side == 1)
                c = column + (side == 2) - (side == 3)
                if 0 <= r < 32 and 0 <= c < 32:
                    if cuda.atomic.cas(reached, r * 32 + c, -1, level) == -1:
                        slot = cuda.atomic.add(sizes, 1 - now, 1)
                        frontier[1 - now, slot] = r * 32 + c
        cuda.syncthreads()
        if tid == 0:
            sizes[now] = 0
        now = 1 - now
        cuda.syncthreads()
    for cell in range(tid, 1024, cuda.blockDim.x):
        steps[maze, cell // 32, cell % 32] = reached[cell]
    if tid == 0:
        farthest[maze] = level - 1


@cuda.jit
def multiply_four_bit_weights(x, weights, scales, out):
    """Two weights in a byte, and a scale for each 64 of a column."""
    xs = cuda.shared.array((16, 16), float32)
    ws = cuda.shared.array((16, 16), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    acc = float32(0)
    depth = x.shape[1]
    for k0 in range(0, depth, 16):
        k = k0 + ty
        xs[ty, tx] = x[row, k0 + tx] if row < x.shape[0] and k0 + tx < depth else float32(0)
        w = float32(0)
        if k < depth and column < out.shape[1]:
            byte = weights[k // 2, column]
            nibble = (byte >> 4) if k % 2 else (byte & 15)
            w = float32(nibble - 8) * float32(scales[k // 64, column])
        ws[ty, tx] = w
        cuda.syncthreads()
        for i in range(16):
            acc += xs[ty, i] * ws[i, tx]
        cuda.syncthreads()
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = acc


@cuda.jit(device=True)
def sum_of_block(x, partial):
    offset = 16
    while offset > 0:
        x += cuda.shfl_down_sync(FULL, x, offset)
        offset >>= 1
    cuda.syncthreads()
    if cuda.threadIdx.x % 32 == 0:
        partial[cuda.threadIdx.x // 32] = x
    cuda.syncthreads()
    total = partial[0]
    for w in range(1, 8):
        total += partial[w]
    return total


@cuda.jit
def keep_nucleus(logits, probabilities, temperature, top_p):
    """The likeliest words that together have top_p, by halving the interval of the least probability kept."""
    partial = cuda.shared.array(8, float32)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    words = logits.shape[1]
    peak = float32(-1e30)
    for i in range(tid, words, 256):
        peak = max(peak, logits[row, i])
    for offset in (16, 8, 4, 2, 1):
        peak = max(peak, cuda.shfl_down_sync(FULL, peak, offset))
    if tid % 32 == 0:
        partial[tid // 32] = peak
    cuda.syncthreads()
    peak = partial[0]
    for w in range(1, 8):
        peak = max(peak, partial[w])
    mass = float32(0)
    for i in range(tid, words, 256):
        e = math.exp((logits[row, i] - peak) / temperature)
        probabilities[row, i] = e
        mass += e
    total = sum_of_block(mass, partial)
    low = 0.0
    high = 1.0
    kept = total
    for _ in range(16):
        level = (low + high) / 2
        mass = float32(0)
        for i in range(tid, words, 256):
            if probabilities[row, i] >= level:
                mass += probabilities[row, i]
        inside = sum_of_block(mass, partial)
        if inside >= top_p * total:
            low = level
            kept = inside
        else:
            high = level
    for i in range(tid, words, 256):
        e = probabilities[row, i]
        probabilities[row, i] = e / kept if e >= low else 0.0


@cuda.jit
def edge_softmax(offsets, scores, weights, slope):
    """A warp for each node and head of an attention over a graph's edges."""
    lane = cuda.threadIdx.x
    head = cuda.threadIdx.y
    node = cuda.blockIdx.x * cuda.blockDim.z + cuda.threadIdx.z
    if node >= offsets.size - 1:
        return
    start = offsets[node]
    stop = offsets[node + 1]
    peak = float32(-1e30)
    for e in range(start + lane, stop, 32):
        s = scores[e, head]
        if s < 0:
            s *= slope
        peak = max(peak, s)
    for offset in (16, 8, 4, 2, 1):
        peak = max(peak, cuda.shfl_xor_sync(FULL, peak, offset))
    total = float32(0)
    for e in range(start + lane, stop, 32):
        s = scores[e, head]
        if s < 0:
            s *= slope
        total += math.exp(s - peak)
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL, total, offset)
    for e in range(start + lane, stop, 32):
        s = scores[e, head]
        if s < 0:
            s *= slope
        weights[e, head] = math.exp(s - peak) / total


def reads_and_windows(r: Random, n: int) -> Arguments:
    windows = r.wholes(4, (n, 160), np.int8)
    reads = np.where(r.wholes(10, (n, 128)) < 8, windows[:, 12:140], r.wholes(4, (n, 128), np.int8))
    return reads, windows, zeros(n, dtype=I32), 2, 3, 5, 1


def strands(r: Random, n: int) -> Arguments:
    return r.wholes(4, (n, 80), U8), r.wholes(81, n, I32, 40), zeros(n, dtype=I32)


def keys_and_places(r: Random, n: int) -> Arguments:
    return r.wholes(2**32, n, U32), np.arange(n, dtype=I32), zeros(n, dtype=U32), zeros(n, dtype=I32)


def points_and_queries(r: Random, n: int) -> Arguments:
    return r.reals((16, 2048)), r.reals((n, 16)), zeros(n, 8, dtype=I32), zeros(n, 8)


def channels(r: Random, n: int) -> Arguments:
    return r.reals((32, n, 784)), zeros(n), zeros(n), 1e-5


def postings(r: Random, n: int) -> Arguments:
    blocks = math.ceil(n / 128)
    gaps = r.wholes(120, n, I32) >> r.wholes(6, n, I32)
    return np.cumsum(gaps, dtype=I32), zeros(blocks, dtype=I32), zeros(blocks, dtype=U8), zeros(blocks, 128, dtype=U32)


def counts_to_store(r: Random, n: int) -> Arguments:
    blocks = math.ceil(n / 256)
    values = r.wholes(2**32, n, U32) >> r.wholes(30, n, U32)
    return values, zeros(blocks, 1280, dtype=U8), zeros(blocks, dtype=I32)


def stream_of_codes(r: Random, n: int) -> Arguments:
    starts = np.arange(n, dtype=I32) * I32(288) + r.wholes(20, n, I32)
    return r.wholes(2**32, 9 * n + 24, U32), starts, CODES.copy(), zeros(64 * n, dtype=U8)


def headers(r: Random, n: int) -> Arguments:
    midstate, tail = r.wholes(2**32, 8, U32), r.wholes(2**32, 3, U32)
    return midstate, tail, 1_000_000, n, U32(2**26), zeros(n // 16 + 64, dtype=U32), zeros(1, dtype=I32)


def packets(r: Random, n: int) -> Arguments:
    offsets = zeros(n + 1, dtype=I32)
    np.cumsum(r.wholes(1500, n, I32, 64), out=offsets[1:])
    return r.wholes(256, int(offsets[-1]), U8), offsets, zeros(n, dtype=U16)


def proteins(r: Random, n: int) -> Arguments:
    text = r.wholes(20, n, U8) + U8(65)
    return text, text[1000:1007].copy(), zeros(math.ceil(n / 128), dtype=I32), zeros(1, dtype=I32)


def genotypes(r: Random, n: int) -> Arguments:
    words = math.ceil(n / 32)
    return r.wholes(2**32, (n, words), U32), zeros(words * 32, words, dtype=U32)


def four_bit_layer(r: Random, n: int) -> Arguments:
    return r.reals((n, 512)), r.wholes(256, (256, 512), U8), r.reals((8, 512)).astype(F16), zeros(n, 512)


def edges_of_nodes(r: Random, n: int) -> Arguments:
    offsets = zeros(n + 1, dtype=I32)
    np.cumsum(r.wholes(48, n, I32), out=offsets[1:])
    edges = int(offsets[-1])
    return offsets, r.reals((edges, 4)) * F32(6) - F32(3), zeros(edges, 4), F32(0.2)


def tiles_of_64(n: int, arguments: Arguments) -> Shape:
    return math.ceil(n / 64) * 16, math.ceil(n / 64) * 16


STRUCTURES: tuple[Sized, ...] = (
    entry(local_alignment_scores, 128, blocks_of(128), reads_and_windows, 800, 25_000, small=8),
    entry(fold_rna, 64, blocks_of(64), strands, 600, 16_000, small=6),
    entry(radix_sort_tile, 256, elements, keys_and_places, 700_000, 20_000_000),
    entry(merge_sort_tile, 256, lambda n, arguments: math.ceil(n / 512) * 256,
          lambda r, n: (r.reals(n, np.float64), zeros(n, dtype=np.float64)), 1_000_000, 20_000_000, small=1500),
    entry(eight_nearest, (32, 8), lambda n, arguments: (32, n), points_and_queries, 4000, 150_000, small=20),
    entry(channel_statistics, 256, blocks_of(256), channels, 256, 6000, small=4),
    entry(gated_recurrence, 256, blocks_of(256),
          lambda r, n: (r.reals((n, 2000)), r.reals((n, 2000)), zeros(n, 2000)), 1200, 25_000, small=5),
    entry(pack_postings, 128, elements, postings, 4_000_000, 70_000_000),
    entry(encode_varints, 256, elements, counts_to_store, 3_000_000, 60_000_000),
    entry(decode_huffman, 128, elements, stream_of_codes, 150_000, 5_000_000, small=300),
    entry(mine_nonces, 256, elements, headers, 200_000, 6_000_000, small=512,
          seen=lambda *a: (np.sort(a[5]), a[6])),
    entry(internet_checksums, 256, blocks_of(32), packets, 20_000, 600_000, small=50),
    entry(motif_by_horspool, 256, lambda n, arguments: math.ceil(n / 128), proteins, 20_000_000, 500_000_000,
          small=100_000),
    entry(turn_genotype_bits, (32, 8), lambda n, arguments: (n, math.ceil(n / 32)), genotypes, 12_000, 50_000, small=200),
    entry(equalize_tiles, (16, 16), tiles_of_64,
          lambda r, n: (r.wholes(256, (n, n), U8), zeros(n, n, dtype=U8), 24), 3000, 16_000, small=150),
    entry(hyperloglog_registers, 512, striding(512, 264),
          lambda r, n: (r.wholes(2**63, n, U64), zeros(4096, dtype=I32)), 4_000_000, 90_000_000, small=2000),
    entry(steps_through_mazes, 128, blocks_of(128),
          lambda r, n: ((r.wholes(10, (n, 32, 32), U8) < 3).astype(U8), zeros(n, 32, 32, dtype=I16), zeros(n, dtype=I32)),
          1000, 40_000, small=5),
    entry(multiply_four_bit_weights, (16, 16), lambda n, arguments: (512, n), four_bit_layer, 500, 20_000, small=4),
    entry(keep_nucleus, 256, blocks_of(256),
          lambda r, n: (r.reals((n, 4000)) * F32(8), zeros(n, 4000), F32(0.8), 0.9), 500, 20_000, small=4),
    entry(edge_softmax, (32, 4, 2), lambda n, arguments: (math.ceil(n / 2) * 32, 4, 2), edges_of_nodes, 50_000, 800_000,
          small=20),
)  # fmt: skip

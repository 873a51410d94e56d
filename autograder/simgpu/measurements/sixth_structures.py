"""The sixth set: sums, scans, sorts, selections, histograms, text, bytes, hashes, choices, records, bits and dates."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint8, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, blocks_of, elements, square, striding, zeros

F32, F64, I16, I32, I64, I8, U8, U32, U64 = (
    np.float32, np.float64, np.int16, np.int32, np.int64, np.int8, np.uint8, np.uint32, np.uint64,
)  # fmt: skip
TRADE = np.dtype(
    [("side", U8), ("lots", I32), ("price", F64), ("fee", F32), ("settled", I8), ("cash", F64)], align=True
)
EDGES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.7, 0.85, 0.95, 0.99])
SPELLED = np.frombuffer(b"0123456789", U8)


@cuda.jit
def centre_of_mass(x, y, mass, out):
    mx = 0.0
    my = 0.0
    m = 0.0
    i = cuda.grid(1)
    while i < mass.size:
        w = mass[i]
        mx += w * x[i]
        my += w * y[i]
        m += w
        i += cuda.gridsize(1)
    offset = 16
    while offset > 0:
        mx += cuda.shfl_down_sync(0xFFFFFFFF, mx, offset)
        my += cuda.shfl_down_sync(0xFFFFFFFF, my, offset)
        m += cuda.shfl_down_sync(0xFFFFFFFF, m, offset)
        offset //= 2
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(out, 0, mx)
        cuda.atomic.add(out, 1, my)
        cuda.atomic.add(out, 2, m)


@cuda.jit
def richest_stretch(gains, best):
    """The greatest sum of neighbours, for every 128 of them."""
    total = cuda.shared.array(128, int32)
    ahead = cuda.shared.array(128, int32)
    behind = cuda.shared.array(128, int32)
    inside = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = int32(0)
    if i < gains.size:
        v = int32(gains[i])
    total[t] = v
    ahead[t] = v
    behind[t] = v
    inside[t] = v
    cuda.syncthreads()
    s = 1
    while s < 128:
        left = 2 * s * t
        if left + s < 128:
            right = left + s
            across = behind[left] + ahead[right]
            a = ahead[left]
            if total[left] + ahead[right] > a:
                a = total[left] + ahead[right]
            b = behind[right]
            if total[right] + behind[left] > b:
                b = total[right] + behind[left]
            top = inside[left]
            if inside[right] > top:
                top = inside[right]
            if across > top:
                top = across
            total[left] += total[right]
            ahead[left] = a
            behind[left] = b
            inside[left] = top
        cuda.syncthreads()
        s *= 2
    if t == 0:
        best[cuda.blockIdx.x] = inside[0]


@cuda.jit
def scan_between_flags(x, head, out):
    """Running sums within a block of threads, begun again at each flag."""
    value = cuda.shared.array(256, float32)
    closed = cuda.shared.array(256, uint8)
    tid = cuda.threadIdx.x
    pos = cuda.grid(1)
    value[tid] = x[pos] if pos < x.size else 0
    closed[tid] = head[pos] if pos < x.size else 1
    cuda.syncthreads()
    for step in range(8):
        reach = 1 << step
        v = value[tid]
        f = closed[tid]
        if tid >= reach and f == 0:
            v += value[tid - reach]
            f = closed[tid - reach]
        cuda.syncthreads()
        value[tid] = v
        closed[tid] = f
        cuda.syncthreads()
    if pos < out.size:
        out[pos] = value[tid]


@cuda.jit
def comb_sort_columns(data):
    c = cuda.grid(1)
    if c >= data.shape[1]:
        return
    n = data.shape[0]
    gap = n
    swapped = True
    while gap > 1 or swapped:
        gap = gap * 10 // 13
        if gap < 1:
            gap = 1
        swapped = False
        for k in range(n - gap):
            a = data[k, c]
            b = data[k + gap, c]
            if a > b:
                data[k, c] = b
                data[k + gap, c] = a
                swapped = True


@cuda.jit
def rank_sort_block(keys, out):
    tile = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 64
    mine = math.inf
    if base + t < keys.size:
        mine = keys[base + t]
    tile[t] = mine
    cuda.syncthreads()
    if base + t < keys.size:
        rank = 0
        for other in range(64):
            if tile[other] < mine or (tile[other] == mine and other < t):
                rank += 1
        out[base + rank] = mine


@cuda.jit
def kth_by_bits(table, k, out):
    """The k-th smallest of each row, found from its highest bit to its lowest."""
    row = cuda.blockIdx.x
    v = table[row, cuda.threadIdx.x]
    left = k
    candidate = True
    answer = uint32(0)
    for b in range(31, -1, -1):
        one = (v >> uint32(b)) & uint32(1)
        without = cuda.syncthreads_count(1 if candidate and one == 0 else 0)
        if left < without:
            candidate = candidate and one == 0
        else:
            left -= without
            answer |= uint32(1) << uint32(b)
            candidate = candidate and one == 1
    if cuda.threadIdx.x == 0:
        out[row] = answer


@cuda.jit
def gradient_directions(image, cells):
    """For each 16 by 16 cell, how much slope there is in each of nine directions."""
    votes = cuda.shared.array(9, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if ty == 0 and tx < 9:
        votes[tx] = 0
    cuda.syncthreads()
    h, w = image.shape
    if x > 0 and y > 0 and x < w - 1 and y < h - 1:
        dx = image[y, x + 1] - image[y, x - 1]
        dy = image[y + 1, x] - image[y - 1, x]
        angle = math.atan2(dy, dx)
        if angle < 0:
            angle += float32(math.pi)
        d = int(angle * float32(9 / math.pi))
        if d > 8:
            d = 8
        cuda.atomic.add(votes, d, math.sqrt(dx * dx + dy * dy))
    cuda.syncthreads()
    if ty == 0 and tx < 9:
        cells[cuda.blockIdx.y, cuda.blockIdx.x, tx] = votes[tx]


@cuda.jit
def score_bands(scores, edges, counts):
    i = cuda.grid(1)
    if i < scores.size:
        band = 0
        while band < edges.size and scores[i] >= edges[band]:
            band += 1
        cuda.atomic.add(counts, band, 1)


@cuda.jit
def accepted_by_automaton(lines, table, verdict):
    i = cuda.grid(1)
    if i < lines.shape[0]:
        state = 1
        for k in range(lines.shape[1]):
            state = table[state, lines[i, k]]
            if state == 0:
                break
        verdict[i] = state


@cuda.jit
def brackets_balanced(text, starts, deepest):
    """The depth of each line's brackets, or -1 where they do not match."""
    open_ones = cuda.local.array(16, uint8)
    line = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if line >= deepest.size:
        return
    depth = 0
    most = 0
    for p in range(starts[line], starts[line + 1]):
        c = text[p]
        if c == 40 or c == 91:
            if depth == 16:
                deepest[line] = -2
                return
            open_ones[depth] = c
            depth += 1
            if depth > most:
                most = depth
        elif c == 41 or c == 93:
            if depth == 0:
                deepest[line] = -1
                return
            depth -= 1
            if open_ones[depth] != (40 if c == 41 else 91):
                deepest[line] = -1
                return
    deepest[line] = most if depth == 0 else -1


@cuda.jit
def common_letters_bitwise(first, second, length):
    """The longest common subsequence of two strings of four letters, 60 of a row at once."""
    where = cuda.local.array(4, uint64)
    i = cuda.grid(1)
    if i < length.size:
        for c in range(4):
            where[c] = uint64(0)
        for k in range(60):
            where[first[i, k]] |= uint64(1) << uint64(k)
        v = uint64(0xFFFFFFFFFFFFFFFF)
        for k in range(second.shape[1]):
            u = v & where[second[i, k]]
            v = (v + u) | (v - u)
        length[i] = cuda.popc(~v & uint64(0x0FFFFFFFFFFFFFFF))


@cuda.jit
def utf8_decode(data, points):
    i = cuda.grid(1)
    if i >= data.size:
        return
    lead = int32(data[i])
    if lead < 0x80:
        points[i] = lead
    elif lead < 0xC0:
        points[i] = -1
    else:
        more = 1
        value = lead & 0x1F
        if lead >= 0xF0:
            more = 3
            value = lead & 0x07
        elif lead >= 0xE0:
            more = 2
            value = lead & 0x0F
        if i + more >= data.size:
            points[i] = -2
            return
        for k in range(1, more + 1):
            value = (value << 6) | (int32(data[i + k]) & 0x3F)
        points[i] = value


@cuda.jit
def one_at_a_time(text, starts, codes):
    w = cuda.grid(1)
    if w < codes.size:
        h = uint32(0)
        p = starts[w]
        while p < starts[w + 1]:
            h = uint32(h + uint32(text[p]))
            h = uint32(h + uint32(h << uint32(10)))
            h = uint32(h ^ (h >> uint32(6)))
            p += 1
        h = uint32(h + uint32(h << uint32(3)))
        h = uint32(h ^ (h >> uint32(11)))
        codes[w] = uint32(h + uint32(h << uint32(15)))


@cuda.jit
def in_bloom_filter(keys, bits, maybe):
    i = cuda.grid(1)
    if i < keys.size:
        h = keys[i] * uint64(0x9E3779B97F4A7C15)
        step = (h >> uint64(32)) | uint64(1)
        found = 1
        for _ in range(5):
            place = h % uint64(32 * bits.size)
            if (bits[place >> uint64(5)] >> uint32(place & uint64(31))) & uint32(1) == 0:
                found = 0
                break
            h += step
        maybe[i] = found


@cuda.jit
def ways_with_coins(coins, amounts, out):
    ways = cuda.local.array(64, int64)
    me = cuda.grid(1)
    if me < amounts.shape[0]:
        target = amounts[me]
        ways[0] = 1
        for a in range(1, target + 1):
            ways[a] = 0
        for c in range(coins.shape[1]):
            coin = coins[me, c]
            for a in range(coin, target + 1):
                ways[a] += ways[a - coin]
        out[me] = ways[target]


@cuda.jit
def settle_trades(trades, rate, least_fee):
    for k in range(cuda.grid(1), trades.size, cuda.gridsize(1)):
        t = trades[k]
        if t.settled != 0:
            continue
        worth = t.lots * t.price
        fee = worth * rate
        if fee < least_fee:
            fee = least_fee
        trades[k].fee = fee
        if t.side == 1:
            trades[k].cash = t.cash - worth - fee
        else:
            trades[k].cash = t.cash + worth - fee
        trades[k].settled = 1


@cuda.jit
def write_as_many_as_said(copies, values, out, total):
    i = cuda.grid(1)
    if i < copies.size:
        k = copies[i]
        if k > 0:
            at = cuda.atomic.add(total, 0, k)
            for j in range(k):
                out[at + j] = 8 * values[i] + j


@cuda.jit
def keep_by_ballot(x, low, high, out, number):
    i = cuda.grid(1)
    lane = cuda.laneid
    keep = i < x.size and x[i] >= low and x[i] < high
    votes = uint32(cuda.ballot_sync(0xFFFFFFFF, keep))
    first = 0
    if lane == 0:
        first = cuda.atomic.add(number, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        before = votes & ((uint32(1) << uint32(lane)) - uint32(1))
        out[first + cuda.popc(uint32(before))] = x[i]


@cuda.jit
def hilbert_order(xs, ys, bits, order):
    i = cuda.grid(1)
    if i < xs.size:
        x = xs[i]
        y = ys[i]
        d = 0
        s = 1 << (bits - 1)
        while s > 0:
            rx = 1 if x & s else 0
            ry = 1 if y & s else 0
            d += s * s * ((3 * rx) ^ ry)
            x &= s - 1
            y &= s - 1
            if ry == 0:
                if rx == 1:
                    x = s - 1 - x
                    y = s - 1 - y
                x, y = y, x
            s >>= 1
        order[i] = d


@cuda.jit
def easter_sundays(years, months, days):
    i = cuda.grid(1)
    if i < years.size:
        year = years[i]
        golden = year % 19
        century = year // 100
        rest = year % 100
        h = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
        k = (32 + 2 * (century % 4) + 2 * (rest // 4) - h - rest % 4) % 7
        m = (golden + 11 * h + 22 * k) // 451
        n = h + k - 7 * m + 114
        months[i] = n // 31
        days[i] = n % 31 + 1


@cuda.jit(device=True)
def two_digits(stamps, row, column):
    return 10 * (int64(stamps[row, column]) - 48) + int64(stamps[row, column + 1]) - 48


@cuda.jit
def stamps_to_seconds(stamps, seconds):
    """Of 2024-02-29T23:59:58 and the like, the seconds since 1970."""
    r = cuda.grid(1)
    if r >= stamps.shape[0]:
        return
    if stamps[r, 4] != 45 or stamps[r, 10] != 84:
        seconds[r] = -1
        return
    year = 100 * two_digits(stamps, r, 0) + two_digits(stamps, r, 2)
    month = two_digits(stamps, r, 5)
    day = two_digits(stamps, r, 8)
    if month <= 2:
        year -= 1
        month += 12
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 1 - 719468
    clock = 3600 * two_digits(stamps, r, 11) + 60 * two_digits(stamps, r, 14) + two_digits(stamps, r, 17)
    seconds[r] = 86400 * days + clock


def marked(r: Random, n: int) -> Arguments:
    return r.reals(n), (r.wholes(20, n) == 0).astype(U8), zeros(n)


def machine(r: Random, n: int) -> Arguments:
    """A table of 16 states, of which 0 is the end of hope."""
    table = r.wholes(16, (16, 128))
    lines = r.wholes(26, (n, 40), U8) + U8(97)
    hopeless = r.reals((16, 128)) < 0.03
    table = np.where(hopeless, 0, np.maximum(table, 1)).astype(I32)
    return lines, table, zeros(n, dtype=I32)


def lines_with_brackets(r: Random, n: int) -> Arguments:
    """Most of them match: each line is a few of some pieces."""
    pieces = b"(ab[c]de)", b"((x)[y])", b"fgh(i)jk", b"[lm(no)p]q", b"rst", b"(u]", b"((((v))))[w]", b"x)y(z"
    many = 1 << 12
    drawn = np.where(r.wholes(12, 4 * many) > 0, r.wholes(5, 4 * many), r.wholes(8, 4 * many)).reshape(many, 4)
    drawn[::3, 2:] = 4
    written = [b"".join(pieces[k] for k in row) for row in drawn]
    block, sizes = np.frombuffer(b"".join(written), U8), np.array([len(each) for each in written])
    starts = np.concatenate([[0], np.cumsum(np.resize(sizes, n))]).astype(I32)
    return np.resize(block, int(starts[-1])), starts, zeros(n, dtype=I32)


def many_languages(r: Random, n: int) -> Arguments:
    count = min(n, 1 << 21)
    kind = r.wholes(8, count)
    letter = 32 + r.wholes(90, count)
    letter = np.where(kind == 5, 0x400 + r.wholes(200, count), letter)
    letter = np.where(kind == 6, 0x4E00 + r.wholes(5000, count), letter)
    letter = np.where(kind == 7, 0x1F600 + r.wholes(60, count), letter)
    text = letter.astype("<u4").tobytes().decode("utf-32-le").encode()
    return np.resize(np.frombuffer(text, U8), n), zeros(n, dtype=I32)


def dictionary(r: Random, n: int) -> Arguments:
    starts = np.concatenate([[0], np.cumsum(r.wholes(15, n, low=3))]).astype(I32)
    return r.wholes(26, int(starts[-1]), U8) + U8(97), starts, zeros(n, dtype=U32)


def filled_filter(r: Random, n: int) -> Arguments:
    words = r.wholes(2**32, 1 << 20, U32) | r.wholes(2**32, 1 << 20, U32)
    return r.wholes(2**63, n, U64), words, zeros(n, dtype=U8)


def purses(r: Random, n: int) -> Arguments:
    return r.wholes(25, (n, 6), I32, low=1), r.wholes(64, n, low=20), zeros(n, dtype=I64)


def trades_of_a_day(r: Random, n: int) -> Arguments:
    found = np.zeros(n, TRADE)
    found["side"], found["lots"], found["price"] = r.wholes(2, n, U8), r.wholes(500, n), r.reals(n, F64)
    found["settled"], found["cash"] = r.wholes(4, n, I8) == 0, 1000
    return found, 0.002, 0.05


def copied(r: Random, n: int) -> Arguments:
    copies = r.wholes(5, n)
    return copies, r.wholes(10**7, n), zeros(int(copies.sum()), dtype=I32), zeros(1, dtype=I32)


def stamped(r: Random, n: int) -> Arguments:
    stamps = np.full((n, 19), 48, U8)
    stamps[:, [4, 7]], stamps[:, 10], stamps[:, [13, 16]] = 45, 84, 58
    stamps[::17, 4] = 47
    limits = (0, 19, 21), (2, 0, 100), (5, 1, 13), (8, 1, 29), (11, 0, 24), (14, 0, 60), (17, 0, 60)
    for column, low, high in limits:
        number = r.wholes(high, n, U8, low=low)
        stamps[:, column], stamps[:, column + 1] = SPELLED[number // 10], SPELLED[number % 10]
    return stamps, zeros(n, dtype=I64)


STRUCTURES: tuple[Sized, ...] = (
    entry(centre_of_mass, 256, striding(256),
          lambda r, n: (r.reals(n), r.reals(n), r.reals(n, F64), zeros(3, dtype=F64)), 2_000_000, 60_000_000),
    entry(richest_stretch, 128, elements,
          lambda r, n: (r.wholes(100, n, I16, low=-110), zeros(n // 128 + 1, dtype=I32)), 1_000_000, 50_000_000),
    entry(scan_between_flags, 256, elements, marked, 1_000_000, 40_000_000),
    entry(comb_sort_columns, 128, elements, lambda r, n: (r.wholes(10_000, (24, n)),), 50_000, 1_500_000, small=500),
    entry(rank_sort_block, 64, elements,
          lambda r, n: (r.reals(n, F64), zeros(n, dtype=F64)), 500_000, 12_000_000),
    entry(kth_by_bits, 128, blocks_of(128),
          lambda r, n: (r.wholes(2**32, (n, 128), U32), 40, zeros(n, dtype=U32)), 10_000, 300_000, small=60),
    entry(gradient_directions, (16, 16), square,
          lambda r, n: (r.reals((n, n)), zeros(-(-n // 16), -(-n // 16), 9)), 1500, 9000, small=70),
    entry(score_bands, 512, elements,
          lambda r, n: (r.reals(n, F64), EDGES.copy(), zeros(EDGES.size + 1, dtype=I64)), 150_000, 4_000_000),
    entry(accepted_by_automaton, 128, elements, machine, 200_000, 4_000_000),
    entry(brackets_balanced, 64, elements, lines_with_brackets, 100_000, 3_000_000),
    entry(common_letters_bitwise, 128, elements,
          lambda r, n: (r.wholes(4, (n, 60), U8), r.wholes(4, (n, 50), U8), zeros(n, dtype=I32)),
          50_000, 1_500_000, small=300),
    entry(utf8_decode, 256, elements, many_languages, 4_000_000, 120_000_000),
    entry(one_at_a_time, 256, elements, dictionary, 400_000, 12_000_000),
    entry(in_bloom_filter, 256, elements, filled_filter, 2_000_000, 30_000_000),
    entry(ways_with_coins, 96, elements, purses, 30_000, 1_000_000, small=300),
    entry(settle_trades, 128, striding(128), trades_of_a_day, 600_000, 12_000_000),
    entry(write_as_many_as_said, 256, elements, copied, 200_000, 6_000_000,
          seen=lambda copies, values, out, total: (np.sort(out), total)),
    entry(keep_by_ballot, 256, elements,
          lambda r, n: (r.reals(n), F32(0.3), F32(0.5), zeros(n), zeros(1, dtype=I32)), 2_000_000, 80_000_000,
          seen=lambda x, low, high, out, number: (np.sort(out), number)),
    entry(hilbert_order, 256, elements,
          lambda r, n: (r.wholes(1 << 16, n), r.wholes(1 << 16, n), 16, zeros(n, dtype=I64)), 1_000_000, 20_000_000),
    entry(easter_sundays, 32, elements,
          lambda r, n: (r.wholes(9999, n, I16, low=1583), zeros(n, dtype=I8), zeros(n, dtype=I8)),
          1_000_000, 40_000_000),
    entry(stamps_to_seconds, 256, elements, stamped, 1_000_000, 25_000_000),
)  # fmt: skip

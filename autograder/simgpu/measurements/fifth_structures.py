"""The fifth set: sums, scans, sorts, selection, histograms, text, hashes, dynamic programming, records and dates."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint32, uint64

from autograder.simgpu.measurements.fifth_numerics import rotated
from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Over, Random, Sized, elements, striding, zeros

F32, F64, I16, I32, I64, I8, U8, U32, U64 = (
    np.float32, np.float64, np.int16, np.int32, np.int64, np.int8, np.uint8, np.uint32, np.uint64,
)  # fmt: skip
ORDER = np.dtype([("customer", I64), ("amount", F64), ("day", I32), ("region", U8)], align=True)
CHUNK = 32
EACH = 8
MERGED = 16
FIELDS = 8


@cuda.jit
def energy_and_peak(signal, energy, peak):
    energies = cuda.shared.array(128, float64)
    peaks = cuda.shared.array(128, float32)
    tid = cuda.threadIdx.x
    e = 0.0
    p = float32(0)
    for i in range(cuda.grid(1), signal.size, cuda.gridsize(1)):
        v = signal[i]
        e += v * v
        p = max(p, abs(v))
    energies[tid] = e
    peaks[tid] = p
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if tid < half:
            energies[tid] += energies[tid + half]
            peaks[tid] = max(peaks[tid], peaks[tid + half])
        cuda.syncthreads()
        half //= 2
    if tid == 0:
        cuda.atomic.add(energy, 0, energies[0])
        cuda.atomic.max(peak, 0, peaks[0])


@cuda.jit
def missing_hours(readings, has_gap, missing):
    station, hour = cuda.grid(2)
    if station < readings.shape[1] and hour < readings.shape[0]:
        if readings[hour, station] < 0:
            has_gap[station] = 1
            cuda.atomic.add(missing, 0, 1)


@cuda.jit
def cumulate_chunks(x, out, chunk):
    """Every thread adds up its own piece of the array."""
    begin = cuda.grid(1) * chunk
    end = min(begin + chunk, x.size)
    running = 0
    for i in range(begin, end):
        running += x[i]
        out[i] = running


@cuda.jit
def scan_eight_each(x, out):
    sums = cuda.shared.array(128, int32)
    mine = cuda.local.array(8, int32)
    t = cuda.threadIdx.x
    first = cuda.grid(1) * 8
    total = int32(0)
    for k in range(8):
        if first + k < x.size:
            total += x[first + k]
        mine[k] = total
    sums[t] = total
    cuda.syncthreads()
    d = 1
    while d < 128:
        add = int32(0)
        if t >= d:
            add = sums[t - d]
        cuda.syncthreads()
        sums[t] += add
        cuda.syncthreads()
        d *= 2
    before = sums[t] - total
    for k in range(8):
        if first + k < out.size:
            out[first + k] = before + mine[k]


@cuda.jit
def counting_sort_tile(keys, out):
    number = cuda.shared.array(32, int32)
    cursor = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    if tx < 32:
        number[tx] = 0
    cuda.syncthreads()
    base = cuda.blockIdx.x * cuda.blockDim.x
    i = base + tx
    if i < keys.size:
        cuda.atomic.add(number, keys[i], 1)
    cuda.syncthreads()
    if tx == 0:
        place = 0
        for b in range(32):
            cursor[b] = place
            place += number[b]
    cuda.syncthreads()
    if i < keys.size:
        at = cuda.atomic.add(cursor, keys[i], 1)
        out[base + at] = keys[i]


@cuda.jit
def merge_diagonals(a, b, out):
    start = cuda.grid(1) * 16
    if start >= out.size:
        return
    lo = max(0, start - b.size)
    hi = min(start, a.size)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] <= b[start - 1 - mid]:
            lo = mid + 1
        else:
            hi = mid
    i = lo
    j = start - lo
    for k in range(start, min(start + 16, out.size)):
        if j >= b.size or (i < a.size and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1


@cuda.jit
def median_quickselect(samples, medians):
    v = cuda.local.array(15, float32)
    row = cuda.grid(1)
    if row < medians.size:
        for k in range(15):
            v[k] = samples[row, k]
        left = 0
        right = 14
        while left < right:
            pivot = v[(left + right) // 2]
            i = left
            j = right
            while i <= j:
                while v[i] < pivot:
                    i += 1
                while v[j] > pivot:
                    j -= 1
                if i <= j:
                    v[i], v[j] = v[j], v[i]
                    i += 1
                    j -= 1
            if j < 7:
                left = i
            if i > 7:
                right = j
        medians[row] = v[7]


@cuda.jit
def five_best_scores(scores, best, who):
    top = cuda.local.array(5, float32)
    name = cuda.local.array(5, int32)
    player = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    if player >= scores.shape[0]:
        return
    for k in range(5):
        top[k] = -1.0
        name[k] = -1
    for game in range(scores.shape[1]):
        s = scores[player, game]
        if s <= top[4]:
            continue
        k = 4
        while k > 0 and top[k - 1] < s:
            top[k] = top[k - 1]
            name[k] = name[k - 1]
            k -= 1
        top[k] = s
        name[k] = game
    for k in range(5):
        best[player, k] = top[k]
        who[player, k] = name[k]


@cuda.jit
def log_energy_spectrum(energy, weight, spectrum):
    i = cuda.grid(1)
    if i < energy.shape[0]:
        b = int(math.floor((math.log10(energy[i]) + 5) * 8))
        if b < 0:
            b = 0
        if b > spectrum.shape[0] - 1:
            b = spectrum.shape[0] - 1
        cuda.atomic.add(spectrum, b, weight[i])


@cuda.jit
def colour_histogram(image, histogram):
    local = cuda.shared.array((3, 256), int32)
    t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    for c in range(3):
        local[c, t] = 0
    cuda.syncthreads()
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        for c in range(3):
            cuda.atomic.add(local, (c, image[row, col, c]), 1)
    cuda.syncthreads()
    for c in range(3):
        if local[c, t] > 0:
            cuda.atomic.add(histogram, (c, t), local[c, t])


@cuda.jit
def bigram_counts(text, counts):
    """How often each pair of small letters stands side by side."""
    pairs = cuda.shared.array(0, int32)
    for k in range(cuda.threadIdx.x, 676, cuda.blockDim.x):
        pairs[k] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < text.size - 1:
        a = text[i] - 97
        b = text[i + 1] - 97
        if 0 <= a < 26 and 0 <= b < 26:
            cuda.atomic.add(pairs, a * 26 + b, 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, 676, cuda.blockDim.x):
        cuda.atomic.add(counts, k, pairs[k])


@cuda.jit
def murmur_of_keys(keys, seed, out):
    i = cuda.grid(1)
    if i < keys.shape[0]:
        h = uint32(seed)
        for w in range(keys.shape[1]):
            k = uint32(keys[i, w] * uint32(0xCC9E2D51))
            k = rotated(k, 15)
            k = uint32(k * uint32(0x1B873593))
            h = rotated(uint32(h ^ k), 13)
            h = uint32(h * uint32(5) + uint32(0xE6546B64))
        h = uint32(h ^ uint32(4 * keys.shape[1]))
        h = uint32((h ^ (h >> uint32(16))) * uint32(0x85EBCA6B))
        h = uint32((h ^ (h >> uint32(13))) * uint32(0xC2B2AE35))
        out[i] = h ^ (h >> uint32(16))


@cuda.jit
def minhash_signatures(shingles, a, b, signatures):
    h, doc = cuda.grid(2)
    if doc < shingles.shape[0] and h < a.size:
        least = 2147483647
        for s in range(shingles.shape[1]):
            v = (a[h] * shingles[doc, s] + b[h]) % 2147483647
            if v < least:
                least = v
        signatures[doc, h] = least


@cuda.jit
def longest_increasing(x, length):
    tails = cuda.local.array(32, int32)
    row = cuda.grid(1)
    if row >= x.shape[0]:
        return
    n = 0
    for k in range(x.shape[1]):
        v = x[row, k]
        lo = 0
        hi = n
        while lo < hi:
            mid = (lo + hi) >> 1
            if tails[mid] < v:
                lo = mid + 1
            else:
                hi = mid
        tails[lo] = v
        if lo == n:
            n += 1
    length[row] = n


@cuda.jit
def time_warping_cost(a, b, cost):
    line = cuda.local.array(21, float32)
    p = cuda.grid(1)
    if p < cost.size:
        line[0] = 0
        for j in range(1, 21):
            line[j] = math.inf
        for i in range(20):
            diagonal = line[0]
            line[0] = math.inf
            for j in range(20):
                d = abs(a[p, i] - b[p, j])
                up = line[j + 1]
                line[j + 1] = d + min(diagonal, min(up, line[j]))
                diagonal = up
        cost[p] = line[20]


@cuda.jit
def revenue_by_region(orders, first_day, last_day, revenue, number):
    part = cuda.shared.array(8, float64)
    tid = cuda.threadIdx.x
    if tid < 8:
        part[tid] = 0.0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < orders.size:
        if orders[i].day >= first_day and orders[i].day <= last_day:
            region = orders[i].region
            cuda.atomic.add(part, region, orders[i].amount)
            cuda.atomic.add(number, region, 1)
    cuda.syncthreads()
    if tid < 8:
        cuda.atomic.add(revenue, tid, part[tid])


@cuda.jit
def split_even_odd(values, out, cursors):
    """Even values from the front on, odd ones from the back."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < values.size:
        v = values[i]
        if v % 2 == 0:
            front = cuda.atomic.add(cursors, 0, 1)
            out[front] = v
        else:
            back = cuda.atomic.add(cursors, 1, 1)
            out[out.size - 1 - back] = v


@cuda.jit
def turn_boards(boards, out):
    """Rows of eight by eight bits become columns."""
    i = cuda.grid(1)
    if i < boards.size:
        b = boards[i]
        t = (b ^ (b >> uint64(7))) & uint64(0x00AA00AA00AA00AA)
        b = b ^ t ^ (t << uint64(7))
        t = (b ^ (b >> uint64(14))) & uint64(0x0000CCCC0000CCCC)
        b = b ^ t ^ (t << uint64(14))
        t = (b ^ (b >> uint64(28))) & uint64(0x00000000F0F0F0F0)
        out[i] = b ^ t ^ (t << uint64(28))


@cuda.jit
def days_to_dates(days, year, month, day):
    """The date so many days after 1 March of the year 0."""
    idx = cuda.grid(1)
    if idx < days.size:
        z = days[idx]
        era = z // 146097
        doe = z - era * 146097
        yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
        doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
        mp = (5 * doy + 2) // 153
        m = mp + 3 if mp < 10 else mp - 9
        y = yoe + era * 400
        if m <= 2:
            y += 1
        year[idx] = y
        month[idx] = m
        day[idx] = doy - (153 * mp + 2) // 5 + 1


@cuda.jit
def valid_card_numbers(cards, valid):
    i = cuda.grid(1)
    if i >= cards.size:
        return
    rest = cards[i]
    total = 0
    double = False
    while rest > 0:
        digit = rest % 10
        rest //= 10
        if double:
            digit *= 2
            if digit > 9:
                digit -= 9
        total += digit
        double = not double
    valid[i] = total % 10 == 0


@cuda.jit
def csv_fields(lines, starts, fields):
    """Where the fields of each line begin; commas between quotes do not count."""
    r = cuda.grid(1)
    if r < lines.shape[0]:
        quoted = False
        starts[r, 0] = 0
        n = 1
        c = 0
        while c < lines.shape[1] and lines[r, c] != 10:
            ch = lines[r, c]
            c += 1
            if ch == 34:
                quoted = not quoted
            elif ch == 44 and not quoted:
                if n < starts.shape[1]:
                    starts[r, n] = c
                n += 1
        fields[r] = n


def each_has(count: int, of: int = 1) -> Over:
    """A thread for so many elements, of an array of so many times n."""
    return lambda n, arguments: -(-n * of // count)


def sounds(r: Random, n: int) -> Arguments:
    return r.reals(n) - F32(0.5), zeros(1, dtype=F64), zeros(1)


def weather(r: Random, n: int) -> Arguments:
    return r.wholes(400, (96, n), I16, low=-10), zeros(n, dtype=U8), zeros(1, dtype=I64)


def two_in_order(r: Random, n: int) -> Arguments:
    return r.ascending(n, 1e6, F32), r.ascending(n, 1e6, F32), zeros(2 * n)


def events(r: Random, n: int) -> Arguments:
    return np.exp(18 * r.reals(n, F64) - 11), r.reals(n, F64), zeros(64, dtype=F64)


def orders_of_a_year(r: Random, n: int) -> Arguments:
    found = np.zeros(n, ORDER)
    found["amount"], found["day"], found["region"] = r.reals(n, F64), r.wholes(365, n), r.wholes(8, n, U8)
    return found, 90, 180, zeros(8, dtype=F64), zeros(8, dtype=I64)


def documents(r: Random, n: int) -> Arguments:
    a, b = r.wholes(2**31 - 1, 16, I64, low=1), r.wholes(2**31 - 1, 16, I64)
    return r.wholes(2**31 - 1, (n, 40)), a, b, zeros(n, 16, dtype=I32)


def front_and_back(values: np.ndarray, out: np.ndarray, cursors: np.ndarray) -> Arguments:
    return cursors, np.sort(out[: cursors[0]]), np.sort(out[cursors[0] :])


def table_lines(r: Random, n: int) -> Arguments:
    signs = np.frombuffer(b'abcdefghijklmnop,,,,0123456789 -",,ABCDEFGHIJ."\n', U8)
    return signs[r.wholes(signs.size, (n, 64), U8)], zeros(n, FIELDS, dtype=I8), zeros(n, dtype=I32)


STRUCTURES: tuple[Sized, ...] = (
    entry(energy_and_peak, 128, striding(128), sounds, 8_000_000, 160_000_000),
    entry(missing_hours, (64, 4), lambda n, arguments: (n, 96), weather, 50_000, 1_000_000, small=500),
    entry(cumulate_chunks, 256, each_has(CHUNK),
          lambda r, n: (r.wholes(1000, n), zeros(n, dtype=I64), CHUNK), 3_000_000, 60_000_000),
    entry(scan_eight_each, 128, each_has(EACH),
          lambda r, n: (r.wholes(100, n), zeros(n, dtype=I32)), 4_000_000, 120_000_000, small=3000),
    entry(counting_sort_tile, 256, elements,
          lambda r, n: (r.wholes(32, n, U8), zeros(n, dtype=U8)), 2_000_000, 60_000_000),
    entry(merge_diagonals, 128, each_has(MERGED, 2), two_in_order, 1_000_000, 30_000_000),
    entry(median_quickselect, 64, elements, lambda r, n: (r.reals((n, 15)), zeros(n)), 50_000, 2_000_000),
    entry(five_best_scores, 128, elements,
          lambda r, n: (r.reals((n, 50)), zeros(n, 5), zeros(n, 5, dtype=I32)), 40_000, 1_000_000),
    entry(log_energy_spectrum, 256, elements, events, 500_000, 10_000_000),
    entry(colour_histogram, (32, 8), lambda n, arguments: (n, n),
          lambda r, n: (r.wholes(256, (n, n, 3), U8), zeros(3, 256, dtype=I32)), 1500, 9000, small=70),
    entry(bigram_counts, 256, striding(256),
          lambda r, n: (r.wholes(126, n, U8, low=94), zeros(676, dtype=I32)), 6_000_000, 200_000_000,
          shared_bytes=4 * 676),
    entry(murmur_of_keys, 256, elements,
          lambda r, n: (r.wholes(2**32, (n, 6), U32), U32(42), zeros(n, dtype=U32)), 1_000_000, 30_000_000),
    entry(minhash_signatures, (16, 8), lambda n, arguments: (16, n), documents, 20_000, 500_000, small=200),
    entry(longest_increasing, 128, elements,
          lambda r, n: (r.wholes(10_000, (n, 32)), zeros(n, dtype=I32)), 40_000, 1_500_000),
    entry(time_warping_cost, 64, elements,
          lambda r, n: (r.reals((n, 20)), r.reals((n, 20)), zeros(n)), 20_000, 500_000, small=500),
    entry(revenue_by_region, 256, elements, orders_of_a_year, 1_000_000, 20_000_000),
    entry(split_even_odd, 128, elements,
          lambda r, n: (r.wholes(10**9, n), zeros(n, dtype=I32), zeros(2, dtype=I32)), 200_000, 6_000_000,
          seen=front_and_back),
    entry(turn_boards, 512, elements,
          lambda r, n: (r.wholes(2**63, n, U64), zeros(n, dtype=U64)), 3_000_000, 80_000_000),
    entry(days_to_dates, 256, elements,
          lambda r, n: (r.wholes(800_000, n), zeros(n, dtype=I16), zeros(n, dtype=U8), zeros(n, dtype=U8)),
          3_000_000, 100_000_000),
    entry(valid_card_numbers, 96, elements,
          lambda r, n: (r.wholes(10**16, n, I64, low=10**15), zeros(n, dtype=U8)), 500_000, 15_000_000),
    entry(csv_fields, 128, elements, table_lines, 100_000, 3_000_000),
)  # fmt: skip

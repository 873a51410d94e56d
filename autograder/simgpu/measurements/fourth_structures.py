"""The fourth set: sorts, scans, sums, searches, text, tables and dynamic programming."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, int32, int64, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, elements, halves, zeros

F32, F64, I16, I32, I64, U8, U32, U64 = (
    np.float32, np.float64, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64,
)  # fmt: skip
PARTICLE = np.dtype(
    [("x", F32), ("y", F32), ("z", F32), ("vx", F32), ("vy", F32), ("vz", F32), ("mass", F32), ("age", I32)], align=True
)
RECORD = np.dtype([("price", F64), ("stock", I32), ("kind", U8)], align=True)
ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", U8)


@cuda.jit
def digit_histogram(keys, shift, counts):
    bins = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < keys.size:
        cuda.atomic.add(bins, (keys[i] >> shift) & 15, 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@cuda.jit
def into_buckets(values, cursors, out, per_bucket):
    i = cuda.grid(1)
    if i < values.size:
        b = values[i] % 256
        place = cuda.atomic.add(cursors, b, 1)
        if place < per_bucket:
            out[b * per_bucket + place] = values[i]


@cuda.jit
def compact_by_block(x, out, total):
    kept = cuda.shared.array(1, int32)
    base = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t == 0:
        kept[0] = 0
    cuda.syncthreads()
    mine = -1
    if i < x.size and x[i] > 0.75:
        mine = cuda.atomic.add(kept, 0, 1)
    cuda.syncthreads()
    if t == 0:
        base[0] = cuda.atomic.add(total, 0, kept[0])
    cuda.syncthreads()
    if mine >= 0:
        out[base[0] + mine] = x[i]


@cuda.jit
def heapsort_rows(data, out):
    heap = cuda.local.array(24, float32)
    row = cuda.grid(1)
    if row >= data.shape[0]:
        return
    n = data.shape[1]
    for i in range(n):
        heap[i] = data[row, i]
    start = n // 2 - 1
    end = n
    while end > 1:
        if start >= 0:
            root = start
            start -= 1
        else:
            end -= 1
            t = heap[end]
            heap[end] = heap[0]
            heap[0] = t
            root = 0
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and heap[child] < heap[child + 1]:
                child += 1
            if heap[root] >= heap[child]:
                break
            t = heap[root]
            heap[root] = heap[child]
            heap[child] = t
            root = child
    for i in range(n):
        out[row, i] = heap[i]


@cuda.jit
def shell_sort_in_place(data):
    r = cuda.grid(1)
    if r < data.shape[0]:
        n = data.shape[1]
        gap = n // 2
        while gap > 0:
            for i in range(gap, n):
                v = data[r, i]
                j = i
                while j >= gap and data[r, j - gap] > v:
                    data[r, j] = data[r, j - gap]
                    j -= gap
                data[r, j] = v
            gap //= 2


@cuda.jit
def interpolation_search(table, wanted, out):
    i = cuda.grid(1)
    if i < wanted.size:
        lo = 0
        hi = table.size - 1
        w = wanted[i]
        found = -1
        while lo <= hi and w >= table[lo] and w <= table[hi]:
            if table[hi] == table[lo]:
                if table[lo] == w:
                    found = lo
                break
            mid = lo + int((hi - lo) * (float(w - table[lo]) / float(table[hi] - table[lo])))
            if table[mid] == w:
                found = mid
                break
            if table[mid] < w:
                lo = mid + 1
            else:
                hi = mid - 1
        out[i] = found


@cuda.jit
def scan_exclusive_dynamic(x, out):
    temp = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    i = cuda.grid(1)
    temp[t] = x[i - 1] if t > 0 and i - 1 < x.size else float32(0)
    cuda.syncthreads()
    offset = 1
    src, dst = 0, n
    while offset < n:
        if t >= offset:
            temp[dst + t] = temp[src + t] + temp[src + t - offset]
        else:
            temp[dst + t] = temp[src + t]
        src, dst = dst, src
        offset *= 2
        cuda.syncthreads()
    if i < out.size:
        out[i] = temp[src + t]


@cuda.jit
def least_long(x, out):
    best = cuda.shared.array(1, int64)
    if cuda.threadIdx.x == 0:
        best[0] = 1 << 60
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(best, 0, x[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.min(out, 0, best[0])


@cuda.jit
def mark_in_bitmap(items, bitmap):
    i = cuda.grid(1)
    if i < items.size:
        cuda.atomic.or_(bitmap, items[i] >> 5, uint32(1) << uint32(items[i] & 31))


@cuda.jit
def toggle_lamps(switches, lamps):
    i = cuda.grid(1)
    if i < switches.size:
        cuda.atomic.xor(lamps, switches[i], 1)


@cuda.jit
def take_from_stock(orders, amounts, stock):
    i = cuda.grid(1)
    if i < orders.size:
        cuda.atomic.sub(stock, orders[i], amounts[i])


@cuda.jit
def wheel_positions(wheels, turns, places):
    i = cuda.grid(1)
    if i < wheels.size:
        cuda.atomic.inc(places, wheels[i], turns)


@cuda.jit
def sieve(composite, upto):
    p = cuda.grid(1) + 2
    if p <= upto:
        m = p * p
        while m < composite.size:
            composite[m] = 1
            m += p


@cuda.jit
def reverse_words(words, lengths, out):
    i = cuda.grid(1)
    if i < words.shape[0]:
        n = lengths[i]
        for j in range(n):
            out[i, j] = words[i, n - 1 - j]


@cuda.jit
def base64(data, alphabet, out):
    i = cuda.grid(1)
    if 3 * i + 2 < data.size:
        group = (int32(data[3 * i]) << 16) | (int32(data[3 * i + 1]) << 8) | int32(data[3 * i + 2])
        out[4 * i] = alphabet[group >> 18]
        out[4 * i + 1] = alphabet[(group >> 12) & 63]
        out[4 * i + 2] = alphabet[(group >> 6) & 63]
        out[4 * i + 3] = alphabet[group & 63]


@cuda.jit
def to_hex(data, out):
    i = cuda.grid(1)
    if i < data.size:
        high = data[i] >> 4
        low = data[i] & 15
        out[i, 0] = high + 48 if high < 10 else high + 87
        out[i, 1] = low + 48 if low < 10 else low + 87


@cuda.jit
def viterbi(symbols, moves, emits, out):
    score = cuda.local.array(4, float32)
    following = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if i < symbols.shape[0]:
        for s in range(4):
            score[s] = emits[s, symbols[i, 0]]
        for t in range(1, symbols.shape[1]):
            for s in range(4):
                best = score[0] + moves[0, s]
                for p in range(1, 4):
                    v = score[p] + moves[p, s]
                    if v > best:
                        best = v
                following[s] = best + emits[s, symbols[i, t]]
            for s in range(4):
                score[s] = following[s]
        top = score[0]
        for s in range(1, 4):
            top = max(top, score[s])
        out[i] = top


@cuda.jit
def subset_sums(weights, out):
    i = cuda.grid(1)
    if i < weights.shape[0]:
        reach = uint64(1)
        for j in range(weights.shape[1]):
            reach = reach | (reach << uint64(weights[i, j]))
        out[i] = reach


@cuda.jit
def drift_records(p, dt):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x += p[i].vx * dt
        p[i].y += p[i].vy * dt
        p[i].z += p[i].vz * dt
        p[i].age += 1


@cuda.jit
def drift_arrays(x, y, z, vx, vy, vz, dt):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += vx[i] * dt
        y[i] += vy[i] * dt
        z[i] += vz[i] * dt


@cuda.jit
def worth_of_stock(records, out):
    i = cuda.grid(1)
    if i < records.size:
        r = records[i]
        if r["kind"] == 2:
            out[i] = r["price"] * r["stock"] * 0.5
        else:
            out[i] = r["price"] * r["stock"]


@cuda.jit
def hadamard_block(x, out):
    s = cuda.shared.array(512, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 512
    s[t] = x[base + t]
    s[t + 256] = x[base + t + 256]
    cuda.syncthreads()
    h = 1
    while h < 512:
        j = (t // h) * 2 * h + t % h
        a = s[j]
        b = s[j + h]
        s[j] = a + b
        s[j + h] = a - b
        cuda.syncthreads()
        h *= 2
    out[base + t] = s[t]
    out[base + t + 256] = s[t + 256]


@cuda.jit
def bit_reversed(x, out, bits):
    i = cuda.grid(1)
    if i < x.size:
        out[cuda.brev(uint32(i)) >> uint32(32 - bits)] = x[i]


@cuda.jit
def haar_pairs(x, out):
    i = cuda.grid(1)
    half = x.size // 2
    if i < half:
        out[i] = (x[2 * i] + x[2 * i + 1]) / math.sqrt(2)
        out[half + i] = (x[2 * i] - x[2 * i + 1]) / math.sqrt(2)


@cuda.jit
def goertzel_rows(signal, coefficient, out):
    i = cuda.grid(1)
    if i < signal.shape[0]:
        a = float32(0)
        b = float32(0)
        for k in range(signal.shape[1]):
            c = signal[i, k] + coefficient * a - b
            b = a
            a = c
        out[i] = a * a + b * b - coefficient * a * b


@cuda.jit
def number_transform_step(a, span, root, modulus):
    i = cuda.grid(1)
    if i < a.size // 2:
        j = (i // span) * 2 * span + i % span
        w = root[i % span]
        u = a[j]
        v = a[j + span] * w % modulus
        a[j] = (u + v) % modulus
        a[j + span] = (u - v + modulus) % modulus


@cuda.jit
def largest_jump(prices, out):
    """The best profit of one purchase and one sale, a row each."""
    i = cuda.grid(1)
    if i >= prices.shape[0]:
        return
    low = prices[i, 0]
    best = float32(0)
    for d in range(1, prices.shape[1]):
        if prices[i, d] - low > best:
            best = prices[i, d] - low
        if prices[i, d] < low:
            low = prices[i, d]
    out[i] = best


def searched(r: Random, n: int) -> Arguments:
    return r.ascending(1_000_000, 2_000_000, I64), r.indices(2_000_000, n, I64), zeros(n, dtype=I64)


def buckets(r: Random, n: int) -> Arguments:
    per_bucket = n // 128
    return r.wholes(2**30, n), zeros(256, dtype=I32), zeros(256 * per_bucket, dtype=I32), per_bucket


def in_order(values: np.ndarray, cursors: np.ndarray, out: np.ndarray, per_bucket: int) -> Arguments:
    return cursors, np.sort(out.reshape(256, -1), axis=1)


def stars(r: Random, n: int) -> Arguments:
    found = np.zeros(n, PARTICLE)
    for name in "x", "y", "vx", "vy", "vz":
        found[name] = r.reals(n)
    return found, F32(0.01)


def goods(r: Random, n: int) -> Arguments:
    found = np.zeros(n, RECORD)
    found["price"], found["stock"], found["kind"] = r.reals(n, F64), r.wholes(100, n), r.wholes(3, n, U8)
    return found, zeros(n, dtype=F64)


def chains(r: Random, n: int) -> Arguments:
    return r.wholes(4, (n, 20), U8), -r.reals((4, 4)), -r.reals((4, 4)), zeros(n)


def residues(r: Random, n: int) -> Arguments:
    return r.wholes(998_244_353, n, I64), 64, r.wholes(998_244_353, 64, I64), 998_244_353


STRUCTURES: tuple[Sized, ...] = (
    entry(digit_histogram, 256, elements,
          lambda r, n: (r.wholes(2**31 - 1, n), 8, zeros(16, dtype=I32)), 1_000_000, 60_000_000),
    entry(into_buckets, 256, elements, buckets, 300_000, 10_000_000, small=4096, seen=in_order),
    entry(compact_by_block, 256, elements, lambda r, n: (r.reals(n), zeros(n), zeros(1, dtype=I32)), 1_000_000, 50_000_000,
          seen=lambda x, out, total: (np.sort(out), total)),
    entry(heapsort_rows, 64, elements, lambda r, n: (r.reals((n, 24)), zeros(n, 24)), 20_000, 500_000),
    entry(shell_sort_in_place, 128, elements, lambda r, n: (r.wholes(1000, (n, 20), I16),), 30_000, 1_000_000),
    entry(interpolation_search, 256, elements, searched, 100_000, 5_000_000),
    entry(scan_exclusive_dynamic, 256, elements,
          lambda r, n: (r.reals(n), zeros(n)), 1_000_000, 30_000_000, shared_bytes=2048),
    entry(least_long, 256, elements,
          lambda r, n: (r.wholes(10**12, n, I64), np.full(1, 1 << 60, I64)), 500_000, 20_000_000),
    entry(mark_in_bitmap, 256, elements,
          lambda r, n: (r.indices(n, n), zeros(n // 32 + 1, dtype=U32)), 1_000_000, 30_000_000),
    entry(toggle_lamps, 128, elements, lambda r, n: (r.indices(5000, n), zeros(5000, dtype=I32)), 300_000, 10_000_000),
    entry(take_from_stock, 256, elements, lambda r, n: (r.indices(100_000, n), r.reals(n), np.full(100_000, 1000, F32)),
          500_000, 20_000_000),
    entry(wheel_positions, 256, elements,
          lambda r, n: (r.indices(1000, n), U32(9), zeros(1000, dtype=U32)), 200_000, 6_000_000),
    entry(sieve, 128, lambda n, arguments: int(n**0.5) - 1, lambda r, n: (zeros(n, dtype=U8), int(n**0.5)),
          20_000, 400_000, small=2000),
    entry(reverse_words, 256, elements,
          lambda r, n: (r.wholes(26, (n, 16), U8) + U8(97), r.wholes(17, n, low=1), zeros(n, 16, dtype=U8)),
          400_000, 12_000_000),
    entry(base64, 256, lambda n, arguments: n // 3,
          lambda r, n: (r.wholes(256, n, U8), ALPHABET.copy(), zeros(n // 3 * 4, dtype=U8)),
          6_000_000, 150_000_000),
    entry(to_hex, 256, elements, lambda r, n: (r.wholes(256, n, U8), zeros(n, 2, dtype=U8)), 4_000_000, 100_000_000),
    entry(viterbi, 128, elements, chains, 60_000, 2_000_000),
    entry(subset_sums, 256, elements, lambda r, n: (r.wholes(12, (n, 8), U8), zeros(n, dtype=U64)), 500_000, 10_000_000),
    entry(drift_records, 256, elements, stars, 400_000, 10_000_000),
    entry(drift_arrays, 256, elements, lambda r, n: (*(r.reals(n) for _ in range(6)), F32(0.01)), 500_000, 20_000_000),
    entry(worth_of_stock, 128, elements, goods, 1_000_000, 15_000_000),
    entry(hadamard_block, 256, halves, lambda r, n: (r.reals(n), zeros(n)), 1 << 20, 1 << 25, small=1024),
    entry(bit_reversed, 256, elements,
          lambda r, n: (r.reals(n), zeros(n), int(n).bit_length() - 1), 1 << 20, 1 << 25, small=1024),
    entry(haar_pairs, 256, halves, lambda r, n: (r.reals(n), zeros(n)), 2_000_000, 60_000_000),
    entry(goertzel_rows, 128, elements, lambda r, n: (r.reals((n, 64)), F32(1.2), zeros(n)), 30_000, 1_500_000),
    entry(number_transform_step, 256, halves, residues, 1 << 20, 1 << 24, small=1024),
    entry(largest_jump, 32, elements, lambda r, n: (r.reals((n, 40)), zeros(n)), 30_000, 1_500_000),
)  # fmt: skip

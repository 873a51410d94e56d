"""Unseen kernels: reductions, scans, sorts, histograms, compaction, votes and atomics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32, int64

from autograder.simgpu.measurements.unseen_entries import Unseen, floats, unseen, whole


@cuda.jit
def sum_first_add(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + t
    s[t] = x[i] + x[i + 128]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def sum_written_out(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.blockIdx.x * 256 + t, (cuda.blockIdx.x + 1) * 256, 128):
        total += x[i]
    s[t] = total
    cuda.syncthreads()
    if t < 64:
        s[t] += s[t + 64]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for j in range(32):
            total += s[j]
        out[cuda.blockIdx.x] = total


@cuda.jit
def sum_by_atomics(x, out):
    total = cuda.shared.array(1, float64)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]


@cuda.jit
def sum_xor_shuffle(x, out):
    parts = cuda.shared.array(8, float32)
    t = cuda.threadIdx.x
    v = x[cuda.grid(1)]
    for mask in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, mask)
    if t % 32 == 0:
        parts[t // 32] = v
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for w in range(8):
            total += parts[w]
        out[cuda.blockIdx.x] = total


@cuda.jit
def sum_one_thread(x, out):
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    total = 0.0
    i = cuda.blockIdx.x * 256 + t
    while i < (cuda.blockIdx.x + 1) * 256:
        total += x[i]
        i += 64
    s[t] = total
    cuda.syncthreads()
    if t == 0:
        for j in range(1, 64):
            s[0] += s[j]
        out[cuda.blockIdx.x] = s[0]


def _sums(x, out):
    out[:] = x.reshape(out.size, -1).astype(np.float64).sum(1)


@cuda.jit
def dot_product(x, y, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        acc += x[i] * y[i]
    s[t] = acc
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half != 0:
        if t < half:
            s[t] = s[t] + s[t + half]
        cuda.syncthreads()
        half = half // 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def _dot_product(x, y, out):
    out[0] = np.dot(x.astype(np.float64), y)


@cuda.jit
def index_of_greatest(x, best, where):
    value = cuda.shared.array(128, float32)
    index = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value[t] = x[i]
    index[t] = i
    cuda.syncthreads()
    step = 64
    while step >= 1:
        if t < step:
            if value[t + step] > value[t]:
                value[t] = value[t + step]
                index[t] = index[t + step]
        cuda.syncthreads()
        step >>= 1
    if t == 0:
        best[cuda.blockIdx.x] = value[0]
        where[cuda.blockIdx.x] = index[0]


def _index_of_greatest(x, best, where):
    rows = x.reshape(best.size, -1)
    best[:] = rows.max(1)
    where[:] = rows.argmax(1) + np.arange(best.size) * rows.shape[1]


@cuda.jit
def range_of_values(x, least, greatest):
    low = cuda.shared.array(256, int32)
    high = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    low[t] = high[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step:
        if t < step:
            low[t] = min(low[t], low[t + step])
            high[t] = max(high[t], high[t + step])
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.min(least, 0, low[0])
        cuda.atomic.max(greatest, 0, high[0])


def _range_of_values(x, least, greatest):
    least[0] = min(least[0], x.min())
    greatest[0] = max(greatest[0], x.max())


@cuda.jit
def softmax_rows(a, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    s[t] = a[row, t]
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] = max(s[t], s[t + step])
        cuda.syncthreads()
        step //= 2
    top = s[0]
    cuda.syncthreads()
    e = math.exp(a[row, t] - top)
    s[t] = e
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    out[row, t] = e / s[0]


@cuda.jit
def softmax_by_thread(a, out):
    row = cuda.grid(1)
    if row >= a.shape[0]:
        return
    top = a[row, 0]
    for j in range(1, a.shape[1]):
        if a[row, j] > top:
            top = a[row, j]
    total = float32(0)
    for j in range(a.shape[1]):
        out[row, j] = math.exp(a[row, j] - top)
        total += out[row, j]
    for j in range(a.shape[1]):
        out[row, j] /= total


def _softmax(a, out):
    e = np.exp(a.astype(np.float64))
    out[:] = e / e.sum(1, keepdims=True)


@cuda.jit
def layer_norm(a, gain, shift, out):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    total = float32(0)
    squares = float32(0)
    for j in range(lane, a.shape[1], 32):
        v = a[row, j]
        total += v
        squares += v * v
    for k in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, k)
        squares += cuda.shfl_xor_sync(0xFFFFFFFF, squares, k)
    mean = total / a.shape[1]
    scale = 1 / math.sqrt(squares / a.shape[1] - mean * mean + 1e-5)
    for j in range(lane, a.shape[1], 32):
        out[row, j] = (a[row, j] - mean) * scale * gain[j] + shift[j]


def _layer_norm(a, gain, shift, out):
    d = a.astype(np.float64)
    out[:] = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * gain + shift


@cuda.jit
def scan_two_buffers(x, out):
    s = cuda.shared.array((2, 128), int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    now, other = 0, 1
    s[now, t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < 128:
        if t >= step:
            s[other, t] = s[now, t] + s[now, t - step]
        else:
            s[other, t] = s[now, t]
        now, other = other, now
        cuda.syncthreads()
        step *= 2
    out[i] = s[now, t]


@cuda.jit
def scan_in_place(x, out):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        v = 0
        if t >= step:
            v = s[t - step]
        cuda.syncthreads()
        s[t] += v
        cuda.syncthreads()
        step <<= 1
    out[i] = s[t]


@cuda.jit
def scan_warp_shuffle(x, out):
    ends = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    lane, warp = t & 31, t >> 5
    i = cuda.grid(1)
    v = x[i]
    for k in range(5):
        below = cuda.shfl_up_sync(0xFFFFFFFF, v, 1 << k)
        if lane >= 1 << k:
            v += below
    if lane == 31:
        ends[warp] = v
    cuda.syncthreads()
    for w in range(warp):
        v += ends[w]
    out[i] = v


def _scan(x, out):
    out[:] = x.reshape(-1, 128).cumsum(1).ravel()


@cuda.jit
def scan_tree_padded(x, out):
    s = cuda.shared.array(264, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 256
    a = t
    b = t + 128
    s[a + a // 32] = x[base + a]
    s[b + b // 32] = x[base + b]
    step = 1
    d = 128
    while d > 0:
        cuda.syncthreads()
        if t < d:
            left = step * (2 * t + 1) - 1
            right = step * (2 * t + 2) - 1
            s[right + right // 32] += s[left + left // 32]
        step *= 2
        d //= 2
    if t == 0:
        s[255 + 7] = 0
    d = 1
    while d < 256:
        step //= 2
        cuda.syncthreads()
        if t < d:
            left = step * (2 * t + 1) - 1
            right = step * (2 * t + 2) - 1
            left += left // 32
            right += right // 32
            kept = s[left]
            s[left] = s[right]
            s[right] += kept
        d *= 2
    cuda.syncthreads()
    out[base + a] = s[a + a // 32]
    out[base + b] = s[b + b // 32]


def _scan_exclusive(x, out):
    rows = x.reshape(-1, 256)
    out[:] = (rows.cumsum(1) - rows).ravel()


@cuda.jit
def prefix_max(x, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    for k in range(6):
        v = s[t]
        if t >= 1 << k:
            v = max(v, s[t - (1 << k)])
        cuda.syncthreads()
        s[t] = v
        cuda.syncthreads()
    out[i] = s[t]


def _prefix_max(x, out):
    out[:] = np.maximum.accumulate(x.reshape(-1, 64), axis=1).ravel()


@cuda.jit
def rank_of_flags(flags, rank):
    i = cuda.grid(1)
    lane = cuda.laneid
    votes = cuda.ballot_sync(0xFFFFFFFF, flags[i] != 0)
    below = votes & ((1 << lane) - 1)
    rank[i] = cuda.popc(below)


def _rank_of_flags(flags, rank):
    rows = (flags != 0).reshape(-1, 32).astype(int)
    rank[:] = (rows.cumsum(1) - rows).ravel()


@cuda.jit
def keep_positive(x, out, count):
    places = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    keep = x[i] > 50
    places[t] = 1 if keep else 0
    cuda.syncthreads()
    place = 0
    for j in range(t):
        place += places[j]
    if keep:
        out[cuda.blockIdx.x * 128 + place] = x[i]
    if t == 127:
        count[cuda.blockIdx.x] = place + places[t]


def _keep_positive(x, out, count):
    for b, row in enumerate(x.reshape(-1, 128)):
        kept = row[row > 50]
        out[b * 128 : b * 128 + kept.size] = kept
        count[b] = kept.size


@cuda.jit
def bitonic_block(x):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    size = 2
    while size <= 256:
        step = size // 2
        while step > 0:
            other = t ^ step
            if other > t:
                up = (t & size) == 0
                if (s[t] > s[other]) == up:
                    kept = s[t]
                    s[t] = s[other]
                    s[other] = kept
            cuda.syncthreads()
            step //= 2
        size *= 2
    x[i] = s[t]


@cuda.jit
def bitonic_global_step(x, size, step):
    i = cuda.grid(1)
    j = i ^ step
    if j > i:
        ascending = i & size == 0
        if ascending and x[i] > x[j]:
            x[i], x[j] = x[j], x[i]
        if not ascending and x[i] < x[j]:
            x[i], x[j] = x[j], x[i]


def _bitonic_global_step(x, size, step):
    for i in range(x.size):
        j = i ^ step
        if j > i and (x[i] > x[j]) == (i & size == 0) and x[i] != x[j]:
            x[i], x[j] = x[j], x[i]


@cuda.jit
def odd_even_block(x):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 64
    s[t] = x[base + t]
    s[t + 32] = x[base + t + 32]
    cuda.syncthreads()
    for phase in range(64):
        k = 2 * t + phase % 2
        if k + 1 < 64 and s[k] > s[k + 1]:
            s[k], s[k + 1] = s[k + 1], s[k]
        cuda.syncthreads()
    x[base + t] = s[t]
    x[base + t + 32] = s[t + 32]


def _sort_blocks(size):
    def reference(x):
        x.reshape(-1, size).sort(axis=1)

    return reference


@cuda.jit
def digit_counts(keys, shift, counts):
    s = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, (keys[cuda.grid(1)] >> shift) & 15, 1)
    cuda.syncthreads()
    if t < 16:
        counts[cuda.blockIdx.x, t] = s[t]


def _digit_counts(keys, shift, counts):
    for b, row in enumerate(keys.reshape(counts.shape[0], -1)):
        counts[b] = np.bincount((row >> shift) & 15, minlength=16)


@cuda.jit
def histogram_warp_copies(items, bins):
    s = cuda.shared.array((4, 64), int32)
    t = cuda.threadIdx.x
    warp = t // 32
    for j in range(t % 32, 64, 32):
        s[warp, j] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(s, (warp, items[i]), 1)
    cuda.syncthreads()
    if t < 64:
        cuda.atomic.add(bins, t, s[0, t] + s[1, t] + s[2, t] + s[3, t])


@cuda.jit
def histogram_thread_rows(items, bins):
    s = cuda.shared.array((64, 33), int32)
    t = cuda.threadIdx.x
    for b in range(64):
        s[b, t] = 0
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        s[items[i], t] += 1
    cuda.syncthreads()
    for b in range(t, 64, 32):
        total = 0
        for j in range(32):
            total += s[b, j]
        cuda.atomic.add(bins, b, total)


@cuda.jit
def histogram_by_bin(items, bins):
    b = cuda.grid(1)
    if b < bins.size:
        count = 0
        for i in range(items.size):
            if items[i] == b:
                count += 1
        bins[b] = count


def _histogram(items, bins):
    bins += np.bincount(items, minlength=bins.size).astype(bins.dtype)


@cuda.jit
def histogram_2d(x, y, bins):
    i = cuda.grid(1)
    if i < x.size:
        column = min(int(x[i] * bins.shape[1]), bins.shape[1] - 1)
        row = min(int(y[i] * bins.shape[0]), bins.shape[0] - 1)
        cuda.atomic.add(bins, (row, column), 1)


def _histogram_2d(x, y, bins):
    np.add.at(bins, ((y * bins.shape[0]).astype(int), (x * bins.shape[1]).astype(int)), 1)


@cuda.jit
def bounds_by_atomics(x, group, low, high):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(low, group[i], x[i])
        cuda.atomic.max(high, group[i], x[i])


def _bounds_by_atomics(x, group, low, high):
    np.minimum.at(low, group, x)
    np.maximum.at(high, group, x)


@cuda.jit
def set_bits(index, words):
    i = cuda.grid(1)
    if i < index.size:
        k = index[i]
        cuda.atomic.or_(words, k // 32, 1 << (k % 32))


def _set_bits(index, words):
    np.bitwise_or.at(words, index // 32, (1 << (index % 32)).astype(words.dtype))


@cuda.jit
def count_by_class(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        if v < 10:
            cuda.atomic.add(counts, 0, 1)
        elif v < 50:
            cuda.atomic.add(counts, 1, 1)
        elif v < 90:
            cuda.atomic.add(counts, 2, 1)
        else:
            cuda.atomic.sub(counts, 3, 1)


def _count_by_class(x, counts):
    counts += np.array([(x < 10).sum(), ((x >= 10) & (x < 50)).sum(), ((x >= 50) & (x < 90)).sum(), -(x >= 90).sum()])


@cuda.jit
def run_starts(x, starts):
    i = cuda.grid(1)
    if i < x.size:
        if i == 0 or x[i] != x[i - 1]:
            starts[i] = 1
        else:
            starts[i] = 0


def _run_starts(x, starts):
    starts[:] = np.r_[True, x[1:] != x[:-1]]


@cuda.jit
def segment_sums(x, first, out):
    s = cuda.grid(1)
    if s < out.size:
        total = int64(0)
        for i in range(first[s], first[s + 1]):
            total += x[i]
        out[s] = total


def _segment_sums(x, first, out):
    out[:] = [x[a:b].sum() for a, b in zip(first[:-1], first[1:], strict=True)]


@cuda.jit
def merge_by_rank(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        low, high = 0, b.size
        while low < high:
            middle = (low + high) // 2
            if b[middle] < a[i]:
                low = middle + 1
            else:
                high = middle
        out[i + low] = a[i]
        low, high = 0, a.size
        while low < high:
            middle = (low + high) // 2
            if a[middle] <= b[i]:
                low = middle + 1
            else:
                high = middle
        out[i + low] = b[i]


def _merge_by_rank(a, b, out):
    out[:] = np.sort(np.r_[a, b])


@cuda.jit
def any_and_all(x, out):
    i = cuda.grid(1)
    some = cuda.any_sync(0xFFFFFFFF, x[i] > 95)
    every = cuda.all_sync(0xFFFFFFFF, x[i] > 0)
    if some and every:
        out[i] = x[i] * 2
    else:
        out[i] = x[i]


def _any_and_all(x, out):
    rows = x.reshape(-1, 32)
    both = (rows > 95).any(1) & (rows > 0).all(1)
    out[:] = (rows * np.where(both, 2, 1)[:, None]).ravel()


def _sorted_pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return np.sort(rng.random(500, np.float32)), np.sort(rng.random(500, np.float32)), np.zeros(1000, np.float32)


def _groups(rng: np.random.Generator) -> tuple[Any, ...]:
    limits = np.full(50, 10**6, np.int32), np.full(50, -1, np.int32)
    return rng.integers(0, 1000, 1000).astype(np.int32), rng.integers(0, 50, 1000).astype(np.int32), *limits


def _segments(rng: np.random.Generator) -> tuple[Any, ...]:
    first = np.r_[0, np.cumsum(rng.integers(0, 30, 200))].astype(np.int32)
    return rng.integers(0, 100, first[-1]).astype(np.int32), first, np.zeros(200, np.int64)


def _limits(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.integers(0, 10**6, 2048).astype(np.int32), np.full(1, 10**7, np.int32), np.full(1, -1, np.int32)


I32 = np.int32
SUMS = floats(2048, room=8)
ITEMS = whole(8000, high=64, room=64)
COLLECTIVES: tuple[Unseen, ...] = (
    unseen(sum_first_add, 8, 128, SUMS, _sums),
    unseen(sum_written_out, 8, 128, SUMS, _sums),
    unseen(sum_by_atomics, 8, 256, floats(2048, dtype=np.float64, room=8), _sums),
    unseen(sum_xor_shuffle, 8, 256, SUMS, _sums),
    unseen(sum_one_thread, 8, 64, SUMS, _sums),
    unseen(dot_product, 4, 128, floats(2000, 2000, room=1), _dot_product),
    unseen(index_of_greatest, 8, 128, lambda rng: (rng.random(1024, np.float32), np.zeros(8, np.float32),
           np.zeros(8, I32)), _index_of_greatest),
    unseen(range_of_values, 8, 256, _limits, _range_of_values),
    unseen(softmax_rows, 16, 64, floats((16, 64), room=(16, 64)), _softmax),
    unseen(softmax_by_thread, 2, 64, floats((100, 20), room=(100, 20)), _softmax),
    unseen(layer_norm, 16, 32, floats((16, 96), 96, 96, room=(16, 96)), _layer_norm),
    unseen(scan_two_buffers, 8, 128, whole(1024, room=1024), _scan),
    unseen(scan_in_place, 8, 128, whole(1024, room=1024), _scan),
    unseen(scan_warp_shuffle, 8, 128, whole(1024, room=1024), _scan),
    unseen(scan_tree_padded, 4, 128, lambda rng: (rng.integers(0, 9, 1024).astype(np.float32),
           np.zeros(1024, np.float32)), _scan_exclusive),
    unseen(prefix_max, 8, 64, floats(512, room=512), _prefix_max),
    unseen(rank_of_flags, 8, 128, whole(1024, high=2, room=1024), _rank_of_flags),
    unseen(keep_positive, 8, 128, lambda rng: (rng.integers(0, 100, 1024).astype(I32), np.zeros(1024, I32),
           np.zeros(8, I32)), _keep_positive),
    unseen(bitonic_block, 4, 256, floats(1024), _sort_blocks(256)),
    unseen(bitonic_global_step, 8, 128, whole(1024, more=(np.int64(64), np.int64(16))), _bitonic_global_step),
    unseen(odd_even_block, 8, 32, whole(512), _sort_blocks(64)),
    unseen(digit_counts, 8, 128, lambda rng: (rng.integers(0, 65536, 1024).astype(I32), np.int64(4),
           np.zeros((8, 16), I32)), _digit_counts),
    unseen(histogram_warp_copies, 8, 128, ITEMS, _histogram),
    unseen(histogram_warp_copies, 8, 128, lambda rng: (np.full(8000, 7, I32), np.zeros(64, I32)), _histogram,
           "histogram_warp_copies one value"),
    unseen(histogram_thread_rows, 8, 32, ITEMS, _histogram),
    unseen(histogram_by_bin, 1, 64, whole(1000, high=64, room=64), _histogram),
    unseen(histogram_2d, 8, 128, lambda rng: (rng.random(1000, np.float32), rng.random(1000, np.float32),
           np.zeros((16, 16), I32)), _histogram_2d),
    unseen(bounds_by_atomics, 8, 128, _groups, _bounds_by_atomics),
    unseen(set_bits, 4, 128, lambda rng: (rng.integers(0, 992, 500), np.zeros(31, np.int64)), _set_bits),
    unseen(count_by_class, 8, 128, whole(1000, room=4), _count_by_class),
    unseen(run_starts, 8, 128, whole(1000, high=3, room=1000), _run_starts),
    unseen(segment_sums, 4, 64, _segments, _segment_sums),
    unseen(merge_by_rank, 4, 128, _sorted_pair, _merge_by_rank),
    unseen(any_and_all, 8, 128, whole(1024, room=1024), _any_and_all),
)  # fmt: skip

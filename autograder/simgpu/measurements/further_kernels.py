"""Kernels of what the other unseen ones lack, with NumPy references of what they leave in their arguments.

Sync of the whole grid, dynamic shared memory, atomics of every kind, locks, hashing, queues, half precision, integers of
other widths, constant memory at an index by lane, and steps that only chains of launches need.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint8, uint32

TABLE = np.arange(256, dtype=np.float32) ** 2 / 1000
EMPTY = -1  # in a hash table: no key
SPREAD = 2654435769  # Fibonacci hashing: 2**32 over the golden ratio


@cuda.jit
def sum_of_the_grid(x, parts, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    s[t] = total
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        parts[cuda.blockIdx.x] = s[0]
    cuda.cg.this_grid().sync()
    if cuda.grid(1) == 0:
        total = float32(0)
        for b in range(cuda.gridDim.x):
            total += parts[b]
        out[0] = total


def sum_to_first(x: Any, parts: Any, out: Any) -> None:
    out[0] = x.astype(np.float64).sum()


@cuda.jit
def heat_in_one_launch(u, v, steps, k):
    grid = cuda.cg.this_grid()
    for _ in range(steps):
        for i in range(cuda.grid(1) + 1, u.size - 1, cuda.gridsize(1)):
            v[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])
        grid.sync()
        for i in range(cuda.grid(1) + 1, u.size - 1, cuda.gridsize(1)):
            u[i] = v[i] + k * (v[i - 1] - 2 * v[i] + v[i + 1])
        grid.sync()


def heat_steps(u: Any, v: Any, steps: int, k: Any) -> None:
    v[0], v[-1] = u[0], u[-1]
    for _ in range(steps):
        v[1:-1] = u[1:-1] + k * (u[:-2] - 2 * u[1:-1] + u[2:])
        u[1:-1] = v[1:-1] + k * (v[:-2] - 2 * v[1:-1] + v[2:])


@cuda.jit
def knapsack_row(old, new, weight, value):
    w = cuda.grid(1)
    if w < old.size:
        best = old[w]
        if w >= weight:
            best = max(best, old[w - weight] + value)
        new[w] = best


@cuda.jit
def scan_and_sum(x, out, sums):
    s = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < 256:
        v = int32(0)
        if t >= step:
            v = s[t - step]
        cuda.syncthreads()
        s[t] += v
        cuda.syncthreads()
        step *= 2
    if i < x.size:
        out[i] = s[t]
    if t == 255:
        sums[cuda.blockIdx.x] = s[255]


@cuda.jit
def add_of_blocks_before(out, sums):
    i = cuda.grid(1)
    if i < out.size and cuda.blockIdx.x > 0:
        out[i] += sums[cuda.blockIdx.x - 1]


@cuda.jit
def hash_insert(keys, table):
    i = cuda.grid(1)
    if i < keys.size:
        key = keys[i]
        slot = (key * SPREAD & 0xFFFFFFFF) % table.size
        while True:
            before = cuda.atomic.cas(table, slot, EMPTY, key)
            if before == EMPTY or before == key:
                break
            slot = (slot + 1) % table.size


def kept_keys(keys: Any, table: Any) -> None:
    found = np.unique(keys)
    table[: found.size] = found


@cuda.jit
def hash_lookup(keys, table, found):
    i = cuda.grid(1)
    if i < keys.size:
        slot = (keys[i] * SPREAD & 0xFFFFFFFF) % table.size
        while table[slot] != EMPTY and table[slot] != keys[i]:
            slot = (slot + 1) % table.size
        found[i] = 1 if table[slot] == keys[i] else 0


def are_in_the_table(keys: Any, table: Any, found: Any) -> None:
    found[:] = np.isin(keys, table)


@cuda.jit
def append_to_queue(x, queue, count):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > 50:
            queue[cuda.atomic.add(count, 0, 1)] = x[i]


def queued(x: Any, queue: Any, count: Any) -> None:
    kept = x[x > 50]
    queue[: kept.size] = kept
    count[0] = kept.size


@cuda.jit
def rows_from_a_queue(a, lengths, taken, sums):
    item = cuda.shared.array(1, int32)
    total = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    while True:
        if t == 0:
            item[0] = cuda.atomic.add(taken, 0, 1)
            total[0] = 0
        cuda.syncthreads()
        row = item[0]
        if row >= lengths.size:
            break
        part = int32(0)
        for j in range(t, lengths[row], 128):
            part += a[row, j]
        cuda.atomic.add(total, 0, part)
        cuda.syncthreads()
        if t == 0:
            sums[row] = total[0]


def row_sums(a: Any, lengths: Any, taken: Any, sums: Any) -> None:
    sums[:] = [row[:length].sum() for row, length in zip(a, lengths, strict=True)]


@cuda.jit
def half_fma(a, b, c, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.fp16.hfma(a[i], b[i], c[i])


def halves_multiplied(a: Any, b: Any, c: Any, out: Any) -> None:
    out[:] = a.astype(np.float32) * b + c


@cuda.jit
def reverse_blocks(x, out):
    s = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[cuda.blockDim.x - 1 - t]


def reversed_blocks(x: Any, out: Any) -> None:
    out[:] = x.reshape(-1, 256)[:, ::-1].ravel()


@cuda.jit
def histogram_of_many_bins(items, bins):
    own = cuda.shared.array(0, int32)
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(own, items[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        if own[b] > 0:
            cuda.atomic.add(bins, b, own[b])


def counted_items(items: Any, bins: Any) -> None:
    bins += np.bincount(items, minlength=bins.size).astype(bins.dtype)


@cuda.jit
def exchange_places(places, index, before):
    i = cuda.grid(1)
    if i < index.size:
        before[i] = cuda.atomic.exch(places, index[i], i)


def exchanged(places: Any, index: Any, before: Any) -> None:
    for i, place in enumerate(index):
        before[i], places[place] = places[place], i


@cuda.jit
def ring_tickets(ticket, drawn):
    i = cuda.grid(1)
    if i < drawn.size:
        drawn[i] = cuda.atomic.inc(ticket, 0, 999)


def drawn_tickets(ticket: Any, drawn: Any) -> None:
    drawn[:] = np.arange(drawn.size) % 1000
    ticket[0] = drawn.size % 1000


@cuda.jit
def flip_and_clear(index, flipped, cleared):
    i = cuda.grid(1)
    if i < index.size:
        place = index[i] >> 5
        bit = int32(1) << (index[i] & 31)
        cuda.atomic.xor(flipped, place, bit)
        cuda.atomic.and_(cleared, place, ~bit)


def flipped_and_cleared(index: Any, flipped: Any, cleared: Any) -> None:
    bits = (np.int64(1) << (index & 31)).astype(np.uint32).view(np.int32)
    np.bitwise_xor.at(flipped, index >> 5, bits)
    np.bitwise_and.at(cleared, index >> 5, ~bits)


@cuda.jit
def greatest_of_groups(x, group, greatest):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(greatest, group[i], x[i])


def group_maxima(x: Any, group: Any, greatest: Any) -> None:
    np.maximum.at(greatest, group, x)


@cuda.jit
def multiply_by_exchange(x, group, product):
    i = cuda.grid(1)
    if i < x.size:
        g = group[i]
        seen = product[g]
        while True:
            before = cuda.atomic.cas(product, g, seen, seen * x[i])
            if before == seen:
                break
            seen = before


def group_products(x: Any, group: Any, product: Any) -> None:
    np.multiply.at(product, group, x)


@cuda.jit
def add_doubles(x, group, sums):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(sums, group[i], x[i])


def group_sums(x: Any, group: Any, sums: Any) -> None:
    np.add.at(sums, group, x)


@cuda.jit
def add_with_rank(group, counts, rank):
    i = cuda.grid(1)
    if i < group.size:
        rank[i] = cuda.atomic.add(counts, group[i], 1)


def ranks_in_groups(group: Any, counts: Any, rank: Any) -> None:
    for i, g in enumerate(group):
        rank[i] = counts[g]
        counts[g] += 1


@cuda.jit
def block_greatest(x, out):
    top = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        top[0] = 0
    cuda.syncthreads()
    cuda.atomic.max(top, 0, x[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = top[0]


def block_maxima(x: Any, out: Any) -> None:
    out[:] = x.reshape(out.size, -1).max(1)


@cuda.jit
def look_up_constants(codes, out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < codes.size:
        out[i] = table[codes[i]]


def looked_up(codes: Any, out: Any) -> None:
    out[:] = TABLE[codes]


@cuda.jit
def nearest_by_bits(words, queries, nearest):
    i = cuda.grid(1)
    if i < words.size:
        best = 65
        which = 0
        for q in range(queries.size):
            apart = cuda.popc(words[i] ^ queries[q])
            if apart < best:
                best = apart
                which = q
        nearest[i] = which


def nearest_queries(words: Any, queries: Any, nearest: Any) -> None:
    apart = (words[:, None] ^ queries).view(np.uint8).reshape(words.size, queries.size, 8)
    nearest[:] = np.unpackbits(apart, axis=2).sum(2).argmin(1)


@cuda.jit
def multiply_bytes(a, weights, out):
    i = cuda.grid(1)
    if i < out.size:
        total = int32(0)
        for j in range(weights.size):
            total += int32(a[i, j]) * int32(weights[j])
        out[i] = total


def bytes_multiplied(a: Any, weights: Any, out: Any) -> None:
    out[:] = a.astype(np.int32) @ weights.astype(np.int32)


@cuda.jit
def bit_tricks(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i] = (cuda.brev(v) >> 7) ^ uint32(cuda.clz(v) * 33 + cuda.ffs(v))


def bits_turned(x: Any, out: Any) -> None:
    for i, v in enumerate(x.tolist()):
        turned = int(f"{v:032b}"[::-1], 2)
        first = (v & -v).bit_length()
        out[i] = (turned >> 7) ^ ((32 - v.bit_length()) * 33 + first)


@cuda.jit
def block_sparse(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        tile = row // 4
        within = row % 4
        total = float32(0)
        for k in range(starts[tile], starts[tile + 1]):
            for j in range(4):
                total += values[k, within, j] * x[columns[k] * 4 + j]
        y[row] = total


def blocks_multiplied(starts: Any, columns: Any, values: Any, x: Any, y: Any) -> None:
    rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    y.fill(0)
    np.add.at(y.reshape(-1, 4), rows, np.einsum("kij,kj->ki", values, x.reshape(-1, 4)[columns]))


@cuda.jit
def sort_by_shuffles(x):
    i = cuda.grid(1)
    lane = cuda.laneid
    v = x[i]
    size = 2
    while size <= 32:
        step = size // 2
        while step > 0:
            other = cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
            is_low = (lane & step) == 0
            ascending = (lane & size) == 0
            if is_low == ascending:
                v = min(v, other)
            else:
                v = max(v, other)
            step //= 2
        size *= 2
    x[i] = v


def sorted_warps(x: Any) -> None:
    x.reshape(-1, 32).sort(axis=1)


@cuda.jit
def histogram_by_match(items, bins):
    i = cuda.grid(1)
    item = items[i]
    same = cuda.match_any_sync(0xFFFFFFFF, item)
    if cuda.ffs(same) - 1 == cuda.laneid:
        cuda.atomic.add(bins, item, cuda.popc(same))


@cuda.jit
def align_pairs(a, b, best):
    """The best local alignment of two words of 64 letters, a block for each pair, diagonal by diagonal."""
    s = cuda.shared.array((3, 65), int32)
    top = cuda.shared.array(64, int32)
    words = cuda.shared.array((2, 64), uint8)
    t = cuda.threadIdx.x
    pair = cuda.blockIdx.x
    words[0, t] = a[pair, t]
    words[1, t] = b[pair, t]
    for k in range(3):
        s[k, t + 1] = 0
        if t == 0:
            s[k, 0] = 0
    most = int32(0)
    cuda.syncthreads()
    for d in range(127):
        j = d - t
        score = int32(0)
        if j >= 0 and j < 64:
            same = 2 if words[0, t] == words[1, j] else -1
            corner = s[(d + 1) % 3, t] if j > 0 else 0
            above = s[(d + 2) % 3, t]
            left = s[(d + 2) % 3, t + 1] if j > 0 else 0
            score = max(max(0, corner + same), max(above, left) - 1)
            most = max(most, score)
        cuda.syncthreads()
        s[d % 3, t + 1] = score
        cuda.syncthreads()
    top[t] = most
    cuda.syncthreads()
    if t == 0:
        for k in range(1, 64):
            most = max(most, top[k])
        best[pair] = most


def aligned(a: Any, b: Any, best: Any) -> None:
    for pair, (one, other) in enumerate(zip(a, b, strict=True)):
        table = np.zeros((65, 65), int)
        for i in range(64):
            for j in range(64):
                same = 2 if one[i] == other[j] else -1
                table[i + 1, j + 1] = max(0, table[i, j] + same, table[i, j + 1] - 1, table[i + 1, j] - 1)
        best[pair] = table.max()


@cuda.jit(fastmath=True)
def fast_waves(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i] = math.sin(v) * math.exp(-v) / (math.cos(v) + float32(2))


@cuda.jit
def double_waves(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i] = math.sin(v) * math.exp(-v) / (math.cos(v) + 2)


def waves(x: Any, out: Any) -> None:
    d = x.astype(np.float64)
    out[:] = np.sin(d) * np.exp(-d) / (np.cos(d) + 2)


@cuda.jit
def sum_by_last_block(x, parts, arrived, out):
    s = cuda.shared.array(128, float32)
    is_last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        parts[cuda.blockIdx.x] = s[0]
        cuda.threadfence()
        is_last[0] = 1 if cuda.atomic.add(arrived, 0, 1) == cuda.gridDim.x - 1 else 0
    cuda.syncthreads()
    if is_last[0] == 1:
        total = float32(0)
        for b in range(t, cuda.gridDim.x, 128):
            total += parts[b]
        cuda.atomic.add(out, 0, total)


def sum_of_last_block(x: Any, parts: Any, arrived: Any, out: Any) -> None:
    out[0] = x.astype(np.float64).sum()


@cuda.jit
def locked_totals(group, locks, totals):
    if cuda.threadIdx.x == 0:
        g = group[cuda.blockIdx.x]
        waits = True
        while waits:
            if cuda.atomic.cas(locks, g, 0, 1) == 0:
                cuda.threadfence()
                totals[g] = 3 * totals[g] % 1000003 + 1
                cuda.threadfence()
                cuda.atomic.exch(locks, g, 0)
                waits = False


def totals_by_turns(group: Any, locks: Any, totals: Any) -> None:
    for g in group:
        totals[g] = 3 * totals[g] % 1000003 + 1


@cuda.jit
def strided_gather(x, out, stride):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * stride % x.size]


def gathered(x: Any, out: Any, stride: int) -> None:
    out[:] = x[np.arange(out.size, dtype=np.int64) * stride % x.size]


@cuda.jit
def forces_of_neighbours(points, near, forces):
    i = cuda.grid(1)
    if i < points.shape[0]:
        fx = float32(0)
        fy = float32(0)
        fz = float32(0)
        for k in range(near.shape[1]):
            j = near[i, k]
            dx = points[j, 0] - points[i, 0]
            dy = points[j, 1] - points[i, 1]
            dz = points[j, 2] - points[i, 2]
            inverse = float32(1) / (dx * dx + dy * dy + dz * dz + float32(0.01))
            third = inverse * inverse * inverse
            pull = third * (float32(0.01) - third * float32(0.0001)) * inverse
            fx += pull * dx
            fy += pull * dy
            fz += pull * dz
        forces[i, 0] = fx
        forces[i, 1] = fy
        forces[i, 2] = fz


def summed_forces(points: Any, near: Any, forces: Any) -> None:
    d = points.astype(np.float64)
    apart = d[near] - d[:, None]
    inverse = 1 / ((apart**2).sum(2) + 0.01)
    third = inverse**3
    forces[:] = ((third * (0.01 - third * 0.0001) * inverse)[..., None] * apart).sum(1)


@cuda.jit
def count_steps(starts, limit, steps):
    i = cuda.grid(1)
    if i < starts.size:
        v = int64(starts[i])
        n = 0
        while v != 1 and n < limit:
            if v % 2 == 0:
                v //= 2
            else:
                v = 3 * v + 1
            n += 1
        steps[i] = n


def steps_to_one(starts: Any, limit: int, steps: Any) -> None:
    for i, v in enumerate(starts.tolist()):
        n = 0
        while v != 1 and n < limit:
            v, n = (v // 2 if v % 2 == 0 else 3 * v + 1), n + 1
        steps[i] = n

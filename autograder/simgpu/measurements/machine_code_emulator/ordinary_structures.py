"""Ordinary kernels that are counted on the emulator alone: searches, sorts, text, graphs, sums, scans, records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint8, uint64

from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.unseen_entries import floats, whole

F32, I32, U8 = np.float32, np.int32, np.uint8
ACCOUNT = np.dtype([("id", np.int32), ("kind", np.int32), ("balance", np.float32), ("limit", np.float32)], align=True)


@cuda.jit
def upper_bound(values, keys, out):
    i = cuda.grid(1)
    if i < keys.size:
        low = 0
        high = values.size
        while low < high:
            middle = (low + high) // 2
            if values[middle] <= keys[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@cuda.jit
def linear_search(values, keys, out):
    i = cuda.grid(1)
    if i >= keys.size:
        return
    out[i] = -1
    for j in range(values.size):
        if values[j] == keys[i]:
            out[i] = j
            break


@cuda.jit
def probe_table(table, keys, out):
    i = cuda.grid(1)
    if i < keys.size:
        slot = keys[i] * 2654435761 % table.size
        tries = 0
        while table[slot] != -1 and table[slot] != keys[i] and tries < 64:
            slot += 1
            if slot == table.size:
                slot = 0
            tries += 1
        out[i] = slot if table[slot] == keys[i] else -1


@cuda.jit
def count_words(text, out):
    i = cuda.grid(1)
    if i < text.size:
        here = text[i] != 32
        before = i > 0 and text[i - 1] != 32
        if here and not before:
            cuda.atomic.add(out, 0, 1)


@cuda.jit
def to_upper(text, out):
    i = cuda.grid(1)
    if i < text.size:
        c = text[i]
        if 97 <= c <= 122:
            c -= 32
        out[i] = c


@cuda.jit
def caesar(text, key, out):
    i = cuda.grid(1)
    if i < text.size:
        c = text[i]
        if c >= 97 and c <= 122:
            out[i] = (c - 97 + key) % 26 + 97
        elif c >= 65 and c <= 90:
            out[i] = (c - 65 + key) % 26 + 65
        else:
            out[i] = c


@cuda.jit
def palindromes(words, lengths, out):
    i = cuda.grid(1)
    if i < lengths.size:
        left = 0
        right = lengths[i] - 1
        same = 1
        while left < right:
            if words[i, left] != words[i, right]:
                same = 0
                break
            left += 1
            right -= 1
        out[i] = same


@cuda.jit
def parse_numbers(text, out):
    i = cuda.grid(1)
    if i < out.size:
        value = 0
        negative = False
        for k in range(8):
            c = text[i, k]
            if c == 45:
                negative = True
            elif 48 <= c <= 57:
                value = value * 10 + (c - 48)
            else:
                break
        out[i] = -value if negative else value


@cuda.jit
def hamming(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        n = 0
        for k in range(a.shape[1]):
            if a[i, k] != b[i, k]:
                n += 1
        out[i] = n


@cuda.jit
def crc_of_rows(data, table, out):
    i = cuda.grid(1)
    if i < out.size:
        crc = int64(0xFFFFFFFF)
        for k in range(data.shape[1]):
            crc = (crc >> 8) ^ table[(crc ^ data[i, k]) & 255]
        out[i] = crc ^ 0xFFFFFFFF


@cuda.jit
def run_lengths(values, out):
    i = cuda.grid(1)
    if i < values.size:
        if i > 0 and values[i - 1] == values[i]:
            out[i] = 0
        else:
            j = i + 1
            while j < values.size and values[j] == values[i]:
                j += 1
            out[i] = j - i


@cuda.jit
def longest_in_row(a, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    best = 0
    run = 0
    for k in range(a.shape[1]):
        if a[i, k] > 0:
            run += 1
            if run > best:
                best = run
        else:
            run = 0
    out[i] = best


@cuda.jit
def bubble_rows(a):
    i = cuda.grid(1)
    if i < a.shape[0]:
        for last in range(a.shape[1] - 1, 0, -1):
            for k in range(last):
                if a[i, k] > a[i, k + 1]:
                    t = a[i, k]
                    a[i, k] = a[i, k + 1]
                    a[i, k + 1] = t


@cuda.jit
def rank_sort(values, out):
    i = cuda.grid(1)
    if i < values.size:
        v = values[i]
        rank = 0
        for j in range(values.size):
            if values[j] < v or (values[j] == v and j < i):
                rank += 1
        out[rank] = v


@cuda.jit
def sort_three(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        x = a[i, 0]
        y = a[i, 1]
        z = a[i, 2]
        if x > y:
            x, y = y, x
        if y > z:
            y, z = z, y
        if x > y:
            x, y = y, x
        out[i, 0] = x
        out[i, 1] = y
        out[i, 2] = z


@cuda.jit
def max_by_tree(x, out):
    best = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    best[t] = x[i] if i < x.size else float32(-1e30)
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s and best[t + s] > best[t]:
            best[t] = best[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = best[0]


@cuda.jit
def sum_strided_tree(x, out):
    total = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    step = 1
    while step < 128:
        if t % (2 * step) == 0:
            total[t] += total[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = total[0]


@cuda.jit
def sum_two_stages(x, out):
    partial = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x & 31
    warp = cuda.threadIdx.x >> 5
    v = x[i] if i < x.size else float32(0)
    k = 16
    while k > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
        k >>= 1
    if lane == 0:
        partial[warp] = v
    cuda.syncthreads()
    if warp == 0:
        v = partial[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        k = 16
        while k > 0:
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
            k >>= 1
        if lane == 0:
            cuda.atomic.add(out, 0, v)


@cuda.jit
def scan_blelloch(x, out):
    s = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * 256
    s[t] = x[first + t]
    s[t + 128] = x[first + t + 128]
    step = 1
    d = 128
    while d > 0:
        cuda.syncthreads()
        if t < d:
            a = step * (2 * t + 1) - 1
            b = step * (2 * t + 2) - 1
            s[b] += s[a]
        step *= 2
        d //= 2
    if t == 0:
        s[255] = 0
    d = 1
    while d < 256:
        step //= 2
        cuda.syncthreads()
        if t < d:
            a = step * (2 * t + 1) - 1
            b = step * (2 * t + 2) - 1
            v = s[a]
            s[a] = s[b]
            s[b] += v
        d *= 2
    cuda.syncthreads()
    out[first + t] = s[t]
    out[first + t + 128] = s[t + 128]


@cuda.jit
def split_by_bit(keys, bit, out, zeros):
    i = cuda.grid(1)
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    flag = (keys[i] >> bit) & 1 if i < keys.size else 1
    s[t] = 1 - flag
    cuda.syncthreads()
    d = 1
    while d < 128:
        v = s[t - d] if t >= d else 0
        cuda.syncthreads()
        s[t] += v
        cuda.syncthreads()
        d *= 2
    if t == 127:
        zeros[cuda.blockIdx.x] = s[127]
    if i < keys.size and flag == 0:
        out[cuda.blockIdx.x * 128 + s[t] - 1] = keys[i]


@cuda.jit
def histogram_shared_bins(x, out):
    bins = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t < 64:
        bins[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i] & 63, 1)
    cuda.syncthreads()
    if t < 64 and bins[t] > 0:
        cuda.atomic.add(out, t, bins[t])


@cuda.jit
def count_greater(x, level, out):
    i = cuda.grid(1)
    n = cuda.syncthreads_count(1 if i < x.size and x[min(i, x.size - 1)] > level else 0)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = n


@cuda.jit
def ballot_compact(x, out, counts):
    i = cuda.grid(1)
    lane = cuda.threadIdx.x & 31
    keep = i < x.size and x[i] > 50
    mask = cuda.ballot_sync(0xFFFFFFFF, keep)
    before = cuda.popc(mask & ((1 << lane) - 1))
    if keep:
        out[(i // 32) * 32 + before] = x[i]
    if lane == 0:
        counts[i // 32] = cuda.popc(mask)


@cuda.jit
def neighbours_by_shuffle(x, out):
    i = cuda.grid(1)
    lane = cuda.threadIdx.x & 31
    v = x[i] if i < x.size else float32(0)
    left = cuda.shfl_up_sync(0xFFFFFFFF, v, 1)
    right = cuda.shfl_down_sync(0xFFFFFFFF, v, 1)
    if i < x.size:
        if lane == 0:
            left = x[i - 1] if i > 0 else v
        if lane == 31:
            right = x[i + 1] if i + 1 < x.size else v
        out[i] = float32(0.25) * left + float32(0.5) * v + float32(0.25) * right


@cuda.jit
def components_hook(edges_a, edges_b, labels, changed):
    k = cuda.grid(1)
    if k < edges_a.size:
        a = labels[edges_a[k]]
        b = labels[edges_b[k]]
        if a != b:
            changed[0] = 1
            if a < b:
                cuda.atomic.min(labels, edges_b[k], a)
            else:
                cuda.atomic.min(labels, edges_a[k], b)


@cuda.jit
def find_roots(parents, out):
    i = cuda.grid(1)
    if i < parents.size:
        root = i
        while parents[root] != root:
            root = parents[root]
        out[i] = root


@cuda.jit
def greedy_color(starts, ends, neighbours, colors, out):
    v = cuda.grid(1)
    if v >= starts.size:
        return
    used = uint64(0)
    for k in range(starts[v], ends[v]):
        c = colors[neighbours[k]]
        if c >= 0:
            used |= uint64(1) << uint64(c)
    color = 0
    while color < 63 and used >> uint64(color) & uint64(1):
        color += 1
    out[v] = color


@cuda.jit
def common_neighbours(starts, neighbours, pairs, out):
    i = cuda.grid(1)
    if i < pairs.shape[0]:
        a = starts[pairs[i, 0]]
        b = starts[pairs[i, 1]]
        a_end = starts[pairs[i, 0] + 1]
        b_end = starts[pairs[i, 1] + 1]
        n = 0
        while a < a_end and b < b_end:
            if neighbours[a] == neighbours[b]:
                n += 1
                a += 1
                b += 1
            elif neighbours[a] < neighbours[b]:
                a += 1
            else:
                b += 1
        out[i] = n


@cuda.jit
def matrix_dia(diagonals, offsets, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        for k in range(offsets.size):
            column = row + offsets[k]
            if column >= 0 and column < x.size:
                total += diagonals[k, row] * x[column]
        y[row] = total


@cuda.jit
def add_interest(accounts, rate, fee):
    i = cuda.grid(1)
    if i < accounts.size:
        if accounts[i]["kind"] == 0:
            accounts[i]["balance"] *= rate
        elif accounts[i]["balance"] < accounts[i]["limit"]:
            accounts[i]["balance"] -= fee


@cuda.jit
def bin_by_edges(x, edges, counts):
    i = cuda.grid(1)
    if i < x.size:
        for k in range(8):
            if x[i] >= edges[k] and x[i] < edges[k + 1]:
                cuda.atomic.add(counts, k, 1)
                break


@cuda.jit
def longest_common(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        row = cuda.local.array(17, int32)
        for k in range(17):
            row[k] = 0
        for r in range(a.shape[1]):
            corner = 0
            for k in range(1, 17):
                above = row[k]
                if a[i, r] == b[k - 1]:
                    row[k] = corner + 1
                elif row[k - 1] > above:
                    row[k] = row[k - 1]
                corner = above
        out[i] = row[16]


@cuda.jit
def flood_tile(grid, out, rounds):
    tile = cuda.shared.array((10, 34), int32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x + 1
    ty = cuda.threadIdx.y + 1
    if ty == 1:
        tile[0, tx] = 0
        tile[9, tx] = 0
    if tx == 1:
        tile[ty, 0] = 0
        tile[ty, 33] = 0
    wall = grid[y, x] == 1
    tile[ty, tx] = 1 if grid[y, x] == 2 else 0
    cuda.syncthreads()
    for _ in range(rounds):
        wet = tile[ty, tx]
        if wet == 0 and not wall:
            if tile[ty - 1, tx] + tile[ty + 1, tx] + tile[ty, tx - 1] + tile[ty, tx + 1] > 0:
                wet = 1
        cuda.syncthreads()
        tile[ty, tx] = wet
        cuda.syncthreads()
    out[y, x] = tile[ty, tx]


@cuda.jit
def utf8_starts(text, out):
    i = cuda.grid(1)
    if i < text.size:
        c = text[i]
        n = 0
        if c < 128:
            n = 1
        elif c >= 240:
            n = 4
        elif c >= 224:
            n = 3
        elif c >= 192:
            n = 2
        out[i] = n


@cuda.jit
def delta_decode_rows(deltas, out):
    i = cuda.grid(1)
    if i < deltas.shape[0]:
        total = int32(0)
        for k in range(deltas.shape[1]):
            total += deltas[i, k]
            out[i, k] = total


@cuda.jit
def pack_bits(flags, out):
    i = cuda.grid(1)
    if i < out.size:
        word = uint8(0)
        for k in range(8):
            if flags[8 * i + k]:
                word |= 1 << k
        out[i] = word


def _sorted(rng: np.random.Generator) -> tuple[Any, ...]:
    return np.sort(rng.integers(0, 10**6, 700)), rng.integers(0, 10**6, 500), np.zeros(500, I32)


def _table(rng: np.random.Generator) -> tuple[Any, ...]:
    keys = rng.permutation(10_000)[:400]
    table = np.full(512, -1, np.int64)
    for key in keys:
        slot = int(key) * 2654435761 % 512
        while table[slot] != -1:
            slot = (slot + 1) % 512
        table[slot] = key
    return table, np.concatenate([keys[:300], rng.integers(10_000, 20_000, 200)]), np.zeros(500, np.int64)


def _graph(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    degrees = rng.integers(0, 12, 500)
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(I32)
    neighbours = np.concatenate([np.sort(rng.permutation(500)[:d]) for d in degrees]).astype(I32)
    return starts, neighbours


def _colored(rng: np.random.Generator) -> tuple[Any, ...]:
    starts, neighbours = _graph(rng)
    return starts[:-1].copy(), starts[1:].copy(), neighbours, rng.integers(-1, 9, 500).astype(I32), np.zeros(500, I32)


def _parents(rng: np.random.Generator) -> tuple[Any, ...]:
    return np.array([rng.integers(0, i + 1) for i in range(500)], I32), np.zeros(500, I32)


def _words(rng: np.random.Generator) -> tuple[Any, ...]:
    words = rng.integers(0, 2, (300, 12)).astype(U8)
    words[::3] = np.minimum(words[::3], words[::3, ::-1])
    return words, np.full(300, 12, I32), np.zeros(300, I32)


def _numbers(rng: np.random.Generator) -> tuple[Any, ...]:
    text = np.zeros((400, 8), U8)
    for row in text:
        word = str(rng.integers(-99_999, 99_999))
        row[: len(word)] = np.frombuffer(word.encode(), U8)
    return text, np.zeros(400, np.int64)


def _accounts(rng: np.random.Generator) -> tuple[Any, ...]:
    accounts = np.zeros(500, ACCOUNT)
    accounts["kind"] = rng.integers(0, 3, 500)
    accounts["balance"], accounts["limit"] = rng.random(500), rng.random(500)
    return accounts, F32(1.02), F32(0.01)


TEXT = whole(1000, high=128, dtype=U8, room=1000)
STRUCTURES: tuple[Case, ...] = (
    Case("upper_bound", upper_bound, 4, 128, _sorted),
    Case("linear_search", linear_search, 2, 64,
         lambda rng: (rng.integers(0, 80, 60).astype(I32), rng.integers(0, 80, 100).astype(I32), np.zeros(100, I32))),
    Case("probe_table", probe_table, 4, 128, _table),
    Case("count_words", count_words, 8, 128,
         lambda rng: (np.where(rng.random(1000) < 0.2, 32, 97).astype(U8), np.zeros(1, I32))),
    Case("to_upper", to_upper, 8, 128, TEXT),
    Case("caesar", caesar, 8, 128, lambda rng: (rng.integers(0, 128, 1000).astype(U8), 3, np.zeros(1000, U8))),
    Case("palindromes", palindromes, 3, 128, _words),
    Case("parse_numbers", parse_numbers, 4, 128, _numbers),
    Case("hamming", hamming, 4, 64, lambda rng: (rng.integers(0, 4, (200, 10)).astype(U8),
         rng.integers(0, 4, (200, 10)).astype(U8), np.zeros(200, I32))),
    Case("crc_of_rows", crc_of_rows, 4, 64, lambda rng: (rng.integers(0, 256, (200, 8)).astype(U8),
         rng.integers(0, 2**32, 256), np.zeros(200, np.int64))),
    Case("run_lengths", run_lengths, 8, 128, whole(1000, high=2, room=1000)),
    Case("longest_in_row", longest_in_row, 2, 64,
         lambda rng: ((rng.random((100, 20)) - 0.3).astype(F32), np.zeros(100, I32))),
    Case("bubble_rows", bubble_rows, 2, 64, floats((100, 6))),
    Case("rank_sort", rank_sort, 2, 64, whole(100, high=50, room=100)),
    Case("sort_three", sort_three, 4, 64, floats((200, 3), room=(200, 3))),
    Case("max_by_tree", max_by_tree, 8, 128, floats(1000, room=8)),
    Case("sum_strided_tree", sum_strided_tree, 8, 128, floats(1000, room=8)),
    Case("sum_two_stages", sum_two_stages, 4, 256, floats(1000, room=1)),
    Case("scan_blelloch", scan_blelloch, 4, 128, whole(1024, room=1024)),
    Case("split_by_bit", split_by_bit, 8, 128, lambda rng: (rng.integers(0, 256, 1000).astype(I32), 3,
         np.zeros(1024, I32), np.zeros(8, I32))),
    Case("histogram_shared_bins", histogram_shared_bins, 4, 128, whole(3000, high=1000, room=64)),
    Case("count_greater", count_greater, 8, 128, lambda rng: (rng.random(1000, F32), F32(0.4), np.zeros(8, I32))),
    Case("ballot_compact", ballot_compact, 8, 128, lambda rng: (rng.integers(0, 100, 1000).astype(I32),
         np.zeros(1024, I32), np.zeros(32, I32))),
    Case("neighbours_by_shuffle", neighbours_by_shuffle, 8, 128, floats(1000, room=1000)),
    Case("components_hook", components_hook, 8, 128, lambda rng: (rng.integers(0, 400, 900).astype(I32),
         rng.integers(0, 400, 900).astype(I32), np.arange(400, dtype=I32), np.zeros(1, I32))),
    Case("find_roots", find_roots, 4, 128, _parents),
    Case("greedy_color", greedy_color, 4, 128, _colored),
    Case("common_neighbours", common_neighbours, 4, 64, lambda rng: (*_graph(rng),
         rng.integers(0, 500, (200, 2)).astype(I32), np.zeros(200, I32))),
    Case("matrix_dia", matrix_dia, 4, 128, lambda rng: (rng.random((5, 500), F32), np.array([-20, -1, 0, 1, 20], I32),
         rng.random(500, F32), np.zeros(500, F32))),
    Case("add_interest", add_interest, 4, 128, _accounts),
    Case("bin_by_edges", bin_by_edges, 8, 128, lambda rng: (rng.random(1000, F32), np.linspace(0, 1, 9, dtype=F32) ** 2,
         np.zeros(8, I32))),
    Case("longest_common", longest_common, 2, 64, lambda rng: (rng.integers(0, 4, (100, 12)).astype(U8),
         rng.integers(0, 4, 16).astype(U8), np.zeros(100, I32))),
    Case("flood_tile", flood_tile, (2, 8), (32, 8), lambda rng: (rng.choice(3, (64, 64), p=(0.7, 0.25, 0.05)).astype(I32),
         np.zeros((64, 64), I32), 6)),
    Case("utf8_starts", utf8_starts, 8, 128, lambda rng: (rng.integers(0, 256, 1000).astype(U8), np.zeros(1000, I32))),
    Case("delta_decode_rows", delta_decode_rows, 2, 64, whole((100, 10), high=9, room=(100, 10))),
    Case("pack_bits", pack_bits, 2, 64, lambda rng: (rng.integers(0, 2, 800).astype(U8), np.zeros(100, U8))),
)  # fmt: skip

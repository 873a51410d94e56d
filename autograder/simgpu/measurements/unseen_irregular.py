"""Unseen kernels: sparse matrices, graphs, strings, searches, records and grids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint8

from autograder.simgpu.measurements.arguments import Maker, linked_list
from autograder.simgpu.measurements.unseen_entries import Unseen, floats, unseen, whole

FAR = 1_000_000
BODY = np.dtype([("x", np.float32), ("y", np.float32), ("vx", np.float32), ("vy", np.float32)], align=True)


@cuda.jit
def csr_in_place(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        y[row] = 0
        for k in range(starts[row], starts[row + 1]):
            y[row] += values[k] * x[columns[k]]


@cuda.jit
def csr_warp_per_row(starts, columns, values, x, y):
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    if row >= y.size:
        return
    total = float32(0)
    for k in range(starts[row] + lane, starts[row + 1], 32):
        total += values[k] * x[columns[k]]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
    if lane == 0:
        y[row] = total


def _csr(starts, columns, values, x, y):
    for row in range(y.size):
        part = slice(starts[row], starts[row + 1])
        y[row] = np.dot(values[part].astype(np.float64), x[columns[part]])


@cuda.jit
def coo_atomic(rows, columns, values, x, y):
    k = cuda.grid(1)
    if k < values.size:
        cuda.atomic.add(y, rows[k], values[k] * x[columns[k]])


def _coo_atomic(rows, columns, values, x, y):
    np.add.at(y, rows, values * x[columns])


@cuda.jit
def ell_rows(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        for k in range(columns.shape[0]):
            column = columns[k, row]
            if column >= 0:
                total += values[k, row] * x[column]
        y[row] = total


def _ell_rows(columns, values, x, y):
    y[:] = np.where(columns >= 0, values * x[columns], 0).sum(0)


@cuda.jit
def bfs_level(starts, edges, frontier, level, now, found):
    i = cuda.grid(1)
    if i < frontier.size:
        v = frontier[i]
        for k in range(starts[v], starts[v + 1]):
            if cuda.atomic.cas(level, edges[k], -1, now + 1) == -1:
                cuda.atomic.add(found, 0, 1)


def _bfs_level(starts, edges, frontier, level, now, found):
    for v in frontier:
        for w in edges[starts[v] : starts[v + 1]]:
            if level[w] == -1:
                level[w] = now + 1
                found[0] += 1


@cuda.jit
def bfs_pull(starts, edges, level, following, now):
    v = cuda.grid(1)
    if v >= level.size:
        return
    following[v] = level[v]
    if level[v] < 0:
        k = starts[v]
        while k < starts[v + 1]:
            if level[edges[k]] == now:
                following[v] = now + 1
                break
            k += 1


def _bfs_pull(starts, edges, level, following, now):
    following[:] = level
    for v in np.flatnonzero(level < 0):
        if (level[edges[starts[v] : starts[v + 1]]] == now).any():
            following[v] = now + 1


@cuda.jit
def relax_edges(sources, targets, lengths, dist, better):
    k = cuda.grid(1)
    if k < sources.size:
        through = dist[sources[k]] + lengths[k]
        if through < dist[targets[k]]:
            cuda.atomic.min(better, targets[k], through)


def _relax_edges(sources, targets, lengths, dist, better):
    np.minimum.at(better, targets, dist[sources] + lengths)


@cuda.jit
def count_degrees(sources, targets, degree):
    for k in range(cuda.grid(1), sources.size, cuda.gridsize(1)):
        cuda.atomic.add(degree, sources[k], 1)
        cuda.atomic.add(degree, targets[k], 1)


def _count_degrees(sources, targets, degree):
    np.add.at(degree, sources, 1)
    np.add.at(degree, targets, 1)


@cuda.jit
def least_label(starts, edges, label, out):
    v = cuda.grid(1)
    if v < label.size:
        best = label[v]
        for k in range(starts[v], starts[v + 1]):
            best = min(best, label[edges[k]])
        out[v] = best


def _least_label(starts, edges, label, out):
    for v in range(label.size):
        out[v] = min([label[v], *label[edges[starts[v] : starts[v + 1]]]])


@cuda.jit
def page_rank_pull(starts, edges, degree, rank, out, damping):
    v = cuda.grid(1)
    if v < rank.size:
        total = float32(0)
        for k in range(starts[v], starts[v + 1]):
            w = edges[k]
            total += rank[w] / degree[w]
        out[v] = (1 - damping) / rank.size + damping * total


def _page_rank_pull(starts, edges, degree, rank, out, damping):
    for v in range(rank.size):
        near = edges[starts[v] : starts[v + 1]]
        out[v] = (1 - damping) / rank.size + damping * (rank[near] / degree[near]).sum()


@cuda.jit
def jump_two(following, rank, new_following, new_rank):
    i = cuda.grid(1)
    if i < rank.size:
        new_rank[i] = rank[i]
        new_following[i] = following[i]
        if following[i] != i:
            new_rank[i] = rank[i] + rank[following[i]]
            new_following[i] = following[following[i]]


def _jump_two(following, rank, new_following, new_rank):
    new_rank[:] = rank + np.where(following != np.arange(rank.size), rank[following], 0)
    new_following[:] = following[following]


@cuda.jit
def find_left(table, wanted, place):
    i = cuda.grid(1)
    if i < wanted.size:
        low = 0
        high = table.size
        while low < high:
            middle = low + (high - low) // 2
            if table[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        place[i] = low


def _find_left(table, wanted, place):
    place[:] = np.searchsorted(table, wanted)


@cuda.jit
def stab_intervals(low, high, points, counts):
    s_low = cuda.shared.array(64, float32)
    s_high = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    count = 0
    for start in range(0, low.size, 64):
        s_low[t] = low[start + t]
        s_high[t] = high[start + t]
        cuda.syncthreads()
        for j in range(64):
            if s_low[j] <= points[i] and points[i] < s_high[j]:
                count += 1
        cuda.syncthreads()
    counts[i] = count


def _stab_intervals(low, high, points, counts):
    counts[:] = ((low[:, None] <= points) & (points < high[:, None])).sum(0)


@cuda.jit
def fnv_hash(words, out):
    i = cuda.grid(1)
    if i < words.shape[0]:
        h = int64(2166136261)
        for j in range(words.shape[1]):
            h = ((h ^ words[i, j]) * 16777619) & 0xFFFFFFFF
        out[i] = h


def _fnv_hash(words, out):
    h = np.full(out.size, 2166136261, np.int64)
    for j in range(words.shape[1]):
        h = ((h ^ words[:, j].astype(np.int64)) * 16777619) & 0xFFFFFFFF
    out[:] = h


@cuda.jit
def find_pattern(text, pattern, found):
    i = cuda.grid(1)
    if i > text.size - pattern.size:
        return
    same = True
    for j in range(pattern.size):
        if text[i + j] != pattern[j]:
            same = False
            break
    found[i] = 1 if same else 0


@cuda.jit
def find_pattern_tile(text, pattern, found):
    s = cuda.shared.array(132, uint8)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = text[i]
    if t < 4:
        s[t + 128] = text[i + 128]
    cuda.syncthreads()
    hits = 0
    for j in range(4):
        if s[t + j] == pattern[j]:
            hits += 1
    found[i] = 1 if hits == 4 else 0


def _find_pattern(text, pattern, found):
    windows = np.lib.stride_tricks.sliding_window_view(text, pattern.size)[: found.size]
    found[: len(windows)] = (windows == pattern).all(1)


@cuda.jit
def edit_diagonal(a, b, table, d):
    i = cuda.grid(1) + 1
    j = d - i
    if i <= a.size and j >= 1 and j <= b.size:
        cost = 0 if a[i - 1] == b[j - 1] else 1
        table[i, j] = min(table[i - 1, j - 1] + cost, min(table[i - 1, j], table[i, j - 1]) + 1)


def _edit_diagonal(a, b, table, d):
    for i in range(1, a.size + 1):
        j = d - i
        if 1 <= j <= b.size:
            table[i, j] = min(table[i - 1, j - 1] + (a[i - 1] != b[j - 1]), table[i - 1, j] + 1, table[i, j - 1] + 1)


@cuda.jit
def edit_distance_block(words, target, out):
    row = cuda.local.array(13, int32)
    i = cuda.grid(1)
    if i >= out.size:
        return
    for j in range(13):
        row[j] = j
    for r in range(words.shape[1]):
        diagonal = row[0]
        row[0] = r + 1
        for j in range(1, 13):
            kept = row[j]
            if words[i, r] == target[j - 1]:
                row[j] = diagonal
            else:
                row[j] = 1 + min(diagonal, min(row[j], row[j - 1]))
            diagonal = kept
    out[i] = row[12]


def _edit_distance_block(words, target, out):
    for i, word in enumerate(words):
        row = np.arange(13)
        for r, letter in enumerate(word):
            new = [r + 1]
            for j in range(1, 13):
                new.append(row[j - 1] if letter == target[j - 1] else 1 + min(row[j - 1], row[j], new[-1]))
            row = np.array(new)
        out[i] = row[12]


@cuda.jit
def move_bodies(bodies, dt):
    i = cuda.grid(1)
    if i < bodies.size:
        bodies[i].x += bodies[i].vx * dt
        bodies[i].y += bodies[i].vy * dt


def _move_bodies(bodies, dt):
    bodies["x"] += bodies["vx"] * dt
    bodies["y"] += bodies["vy"] * dt


@cuda.jit
def move_columns(x, y, vx, vy, dt):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += vx[i] * dt
        y[i] += vy[i] * dt
        if x[i] > 1:
            x[i] = 2 - x[i]
            vx[i] = -vx[i]
        if y[i] > 1:
            y[i] = 2 - y[i]
            vy[i] = -vy[i]


def _move_columns(x, y, vx, vy, dt):
    for place, speed in ((x, vx), (y, vy)):
        place += speed * dt
        over = place > 1
        place[over] = 2 - place[over]
        speed[over] *= -1


@cuda.jit
def sort_into_cells(x, y, cell, counts, width):
    i = cuda.grid(1)
    if i < x.size:
        cell[i] = int(y[i] * width) * width + int(x[i] * width)
        cuda.atomic.add(counts, cell[i], 1)


def _sort_into_cells(x, y, cell, counts, width):
    cell[:] = (y * width).astype(int) * width + (x * width).astype(int)
    np.add.at(counts, cell, 1)


@cuda.jit
def neighbours_in_reach(x, y, radius, counts):
    i = cuda.grid(1)
    if i >= x.size:
        return
    count = 0
    for j in range(x.size):
        if j == i:
            continue
        dx = x[j] - x[i]
        dy = y[j] - y[i]
        if dx * dx + dy * dy < radius * radius:
            count += 1
    counts[i] = count


def _neighbours_in_reach(x, y, radius, counts):
    near = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2 < radius * radius
    counts[:] = near.sum(1) - 1


@cuda.jit
def nearest_center(points, centers, labels):
    s = cuda.shared.array((8, 3), float32)
    t = cuda.threadIdx.x
    if t < 24:
        s[t // 3, t % 3] = centers[t // 3, t % 3]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < labels.size:
        best = float32(1e30)
        label = 0
        for c in range(8):
            d = float32(0)
            for k in range(3):
                diff = points[i, k] - s[c, k]
                d += diff * diff
            if d < best:
                best = d
                label = c
        labels[i] = label


def _nearest_center(points, centers, labels):
    labels[:] = ((points[:, None] - centers) ** 2).sum(2).argmin(1)


@cuda.jit
def sum_by_label(points, labels, sums, counts):
    i = cuda.grid(1)
    if i < labels.size:
        label = labels[i]
        for k in range(points.shape[1]):
            cuda.atomic.add(sums, (label, k), points[i, k])
        cuda.atomic.add(counts, label, 1)


def _sum_by_label(points, labels, sums, counts):
    np.add.at(sums, labels, points)
    np.add.at(counts, labels, 1)


@cuda.jit
def three_nearest(x, queries, out):
    best = cuda.local.array(3, float32)
    i = cuda.grid(1)
    if i < queries.size:
        for k in range(3):
            best[k] = 1e30
        for j in range(x.size):
            d = abs(x[j] - queries[i])
            if d < best[2]:
                k = 2
                while k > 0 and best[k - 1] > d:
                    best[k] = best[k - 1]
                    k -= 1
                best[k] = d
        for k in range(3):
            out[i, k] = best[k]


def _three_nearest(x, queries, out):
    out[:] = np.sort(np.abs(queries[:, None] - x), axis=1)[:, :3]


@cuda.jit
def interpolate_table(xs, ys, x, out):
    i = cuda.grid(1)
    if i < x.size:
        k = 0
        while k < xs.size - 2 and xs[k + 1] <= x[i]:
            k += 1
        share = (x[i] - xs[k]) / (xs[k + 1] - xs[k])
        out[i] = ys[k] + share * (ys[k + 1] - ys[k])


def _interpolate_table(xs, ys, x, out):
    out[:] = np.interp(x, xs, ys)


@cuda.jit
def gather_pairs(values, left, right, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = values[left[i]] * values[right[i]] + values[left[i]]


def _gather_pairs(values, left, right, out):
    out[:] = values[left] * values[right] + values[left]


@cuda.jit
def scatter_inverse(order, inverse):
    i = cuda.grid(1)
    if i >= order.size:
        return
    inverse[order[i]] = i


def _scatter_inverse(order, inverse):
    inverse[order] = np.arange(order.size)


@cuda.jit
def triangles_at(starts, edges, counts):
    v = cuda.grid(1)
    if v < counts.size:
        found = 0
        for k in range(starts[v], starts[v + 1]):
            w = edges[k]
            p = starts[v]
            q = starts[w]
            while p < starts[v + 1] and q < starts[w + 1]:
                if edges[p] == edges[q]:
                    found += 1
                    p += 1
                    q += 1
                elif edges[p] < edges[q]:
                    p += 1
                else:
                    q += 1
        counts[v] = found


def _triangles_at(starts, edges, counts):
    near = [set(edges[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    counts[:] = [sum(len(near[v] & near[w]) for w in near[v]) for v in range(counts.size)]


@cuda.jit
def letter_kinds(text, out):
    i = cuda.grid(1)
    if i < text.size:
        if text[i] >= 65 and text[i] <= 90:
            out[i] = text[i] + 32
        elif text[i] >= 97 and text[i] <= 122:
            out[i] = text[i] - 32
        else:
            out[i] = text[i]


def _letter_kinds(text, out):
    upper, lower = (text >= 65) & (text <= 90), (text >= 97) & (text <= 122)
    out[:] = np.where(upper, text + 32, np.where(lower, text - 32, text))


def _sparse(rng: np.random.Generator) -> tuple[Any, ...]:
    lengths = rng.integers(0, 20, 300)
    starts = np.r_[0, np.cumsum(lengths)].astype(np.int32)
    columns = rng.integers(0, 300, starts[-1]).astype(np.int32)
    return starts, columns, rng.random(starts[-1], np.float32), rng.random(300, np.float32), np.zeros(300, np.float32)


def _coo(rng: np.random.Generator) -> tuple[Any, ...]:
    starts, columns, values, x, y = _sparse(rng)
    return np.repeat(np.arange(300, dtype=np.int32), np.diff(starts)), columns, values, x, y


def _ell(rng: np.random.Generator) -> tuple[Any, ...]:
    columns = rng.integers(-200, 300, (12, 300)).clip(-1).astype(np.int32)
    return columns, rng.random((12, 300), np.float32), rng.random(300, np.float32), np.zeros(300, np.float32)


def _graph(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """First edge of each of 500 vertices, and the edges' far ends, each vertex's in order and each but once."""
    near = [np.unique(rng.integers(0, 500, rng.integers(1, 12))) for _ in range(500)]
    return np.r_[0, np.cumsum([len(each) for each in near])].astype(np.int32), np.concatenate(near).astype(np.int32)


def _levels(rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1, -1, 2, 3], 500).astype(np.int32)


def _frontier(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    level = _levels(rng)
    return np.flatnonzero(level == 3).astype(np.int32), level


def _edges(rng: np.random.Generator) -> tuple[Any, ...]:
    ends = (rng.integers(0, 500, 2000).astype(np.int32) for _ in range(2))
    dist = rng.integers(0, 1000, 500).astype(np.int32)
    return *ends, rng.integers(1, 100, 2000).astype(np.int32), dist, dist.copy()


def _list(rng: np.random.Generator) -> tuple[Any, ...]:
    following, order = linked_list(1000, rng)
    rank = np.ones(1000, np.int32)
    rank[order[-1]] = 0
    return following, rank, np.zeros(1000, np.int32), np.zeros(1000, np.int32)


def _text(size: int, found: int) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return (
            rng.integers(97, 100, size).astype(np.uint8),
            np.array([97, 98, 97, 99], np.uint8),
            np.zeros(found, np.int32),
        )

    return make


def _edit_table(rng: np.random.Generator) -> tuple[Any, ...]:
    a, b = (rng.integers(0, 4, 200).astype(np.uint8) for _ in range(2))
    return a, b, rng.integers(0, 200, (201, 201)).astype(np.int32), np.int64(210)


def _bodies(rng: np.random.Generator) -> tuple[Any, ...]:
    bodies = np.zeros(1000, BODY)
    for name in BODY.names or ():
        bodies[name] = rng.random(1000, np.float32)
    return bodies, np.float32(0.1)


def _points(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.random((500, 3), np.float32), rng.random((8, 3), np.float32), np.zeros(500, np.int32)


def _labelled(rng: np.random.Generator) -> tuple[Any, ...]:
    points = rng.integers(0, 64, (500, 3)).astype(np.float32)
    return points, rng.integers(0, 8, 500).astype(np.int32), np.zeros((8, 3), np.float32), np.zeros(8, np.int32)


I32 = np.int32
IRREGULAR: tuple[Unseen, ...] = (
    unseen(csr_in_place, 3, 128, _sparse, _csr),
    unseen(csr_warp_per_row, 76, 128, _sparse, _csr),
    unseen(coo_atomic, 32, 128, _coo, _coo_atomic),
    unseen(ell_rows, 3, 128, _ell, _ell_rows),
    unseen(bfs_level, 4, 128, lambda rng: (*_graph(rng), *_frontier(rng), np.int64(3), np.zeros(1, I32)), _bfs_level),
    unseen(bfs_pull, 4, 128, lambda rng: (*_graph(rng), _levels(rng), np.zeros(500, I32), np.int64(3)), _bfs_pull),
    unseen(relax_edges, 16, 128, _edges, _relax_edges),
    unseen(count_degrees, 4, 128, lambda rng: (*_edges(rng)[:2], np.zeros(500, I32)), _count_degrees),
    unseen(least_label, 4, 128, lambda rng: (*_graph(rng), rng.permutation(500).astype(I32), np.zeros(500, I32)),
           _least_label),
    unseen(page_rank_pull, 4, 128, lambda rng: (*_graph(rng), rng.integers(1, 9, 500).astype(I32),
           rng.random(500, np.float32), np.zeros(500, np.float32), np.float32(0.85)), _page_rank_pull),
    unseen(jump_two, 8, 128, _list, _jump_two),
    unseen(find_left, 4, 128, lambda rng: (np.sort(rng.integers(0, 10**6, 700)), rng.integers(0, 10**6, 500),
           np.zeros(500, np.int64)), _find_left),
    unseen(stab_intervals, 4, 64, lambda rng: (rng.random(128, np.float32), rng.random(128, np.float32) + np.float32(0.5),
           rng.random(256, np.float32), np.zeros(256, I32)), _stab_intervals),
    unseen(fnv_hash, 4, 128, lambda rng: (rng.integers(0, 256, (500, 8)).astype(np.uint8), np.zeros(500, np.int64)),
           _fnv_hash),
    unseen(find_pattern, 8, 128, _text(1000, 1000), _find_pattern),
    unseen(find_pattern_tile, 8, 128, _text(1028, 1024), _find_pattern),
    unseen(edit_diagonal, 2, 128, _edit_table, _edit_diagonal),
    unseen(edit_distance_block, 2, 64, lambda rng: (rng.integers(0, 4, (100, 10)).astype(np.uint8),
           rng.integers(0, 4, 12).astype(np.uint8), np.zeros(100, I32)), _edit_distance_block),
    unseen(move_bodies, 8, 128, _bodies, _move_bodies),
    unseen(move_columns, 8, 128, floats(1000, 1000, 1000, 1000, more=(np.float32(0.5),)), _move_columns),
    unseen(sort_into_cells, 8, 128, lambda rng: (rng.random(1000, np.float32), rng.random(1000, np.float32),
           np.zeros(1000, I32), np.zeros(256, I32), np.int64(16)), _sort_into_cells),
    unseen(neighbours_in_reach, 4, 64, lambda rng: (rng.random(200, np.float32), rng.random(200, np.float32),
           np.float32(0.1), np.zeros(200, I32)), _neighbours_in_reach),
    unseen(nearest_center, 4, 128, _points, _nearest_center),
    unseen(sum_by_label, 4, 128, _labelled, _sum_by_label),
    unseen(three_nearest, 2, 64, lambda rng: (rng.random(150, np.float32), rng.random(100, np.float32),
           np.zeros((100, 3), np.float32)), _three_nearest),
    unseen(interpolate_table, 4, 128, lambda rng: (np.linspace(0, 1, 17, dtype=np.float32), rng.random(17, np.float32),
           rng.random(500, np.float32), np.zeros(500, np.float32)), _interpolate_table),
    unseen(gather_pairs, 8, 128, lambda rng: (rng.random(300, np.float32), rng.integers(0, 300, 1000).astype(I32),
           rng.integers(0, 300, 1000).astype(I32), np.zeros(1000, np.float32)), _gather_pairs),
    unseen(scatter_inverse, 8, 128, lambda rng: (rng.permutation(1000).astype(I32), np.zeros(1000, I32)),
           _scatter_inverse),
    unseen(triangles_at, 4, 128, lambda rng: (*_graph(rng), np.zeros(500, I32)), _triangles_at),
    unseen(letter_kinds, 8, 128, whole(1000, high=128, dtype=np.uint8, room=1000), _letter_kinds),
)  # fmt: skip

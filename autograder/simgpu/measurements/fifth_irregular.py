"""The fifth set: graphs, sparse products, hash tables, trees, tables, particles in cells, votes, joins and groups."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, int32, int64, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, elements, striding, zeros

F32, F64, I32, I64, U8 = np.float32, np.float64, np.int32, np.int64, np.uint8
FEATURES = 16
LEVELS = 8
TREES = 12
KD_LEVELS = 13
ANGLES = 90


@cuda.jit(device=True)
def root_of(parent, v):
    while parent[v] != v:
        v = parent[v]
    return v


@cuda.jit
def unite_endpoints(left, right, parent):
    """Union-find: the larger of two roots is hung below the smaller one."""
    e = cuda.grid(1)
    if e < left.size:
        a = root_of(parent, left[e])
        b = root_of(parent, right[e])
        while a != b:
            if a < b:
                a, b = b, a
            old = cuda.atomic.cas(parent, a, a, b)
            if old == a:
                break
            a = root_of(parent, old)
            b = root_of(parent, b)


@cuda.jit
def expand_frontier(frontier, offsets, edges, depth, found, number, level):
    i = cuda.grid(1)
    if i >= frontier.size:
        return
    u = frontier[i]
    for e in range(offsets[u], offsets[u + 1]):
        v = edges[e]
        if depth[v] < 0:
            if cuda.atomic.cas(depth, v, -1, level) == -1:
                slot = cuda.atomic.add(number, 0, 1)
                found[slot] = v


@cuda.jit
def reach_along_edges(source, target, reached_at, step, go_on):
    e = cuda.grid(1)
    if e < source.shape[0]:
        if reached_at[source[e]] == step - 1:
            if reached_at[target[e]] == -1:
                reached_at[target[e]] = step
                go_on[0] = True


@cuda.jit
def lower_distances(source, target, length, before, after, changed):
    for e in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        d = before[source[e]] + length[e]
        if d < before[target[e]]:
            cuda.atomic.min(after, target[e], d)
            changed[0] = 1


@cuda.jit
def colour_conflicts(offsets, edges, colour, recolour, any_conflict):
    v = cuda.grid(1)
    if v < colour.size:
        bad = False
        k = offsets[v]
        while k < offsets[v + 1] and not bad:
            w = edges[k]
            if w > v and colour[w] == colour[v]:
                bad = True
            k += 1
        recolour[v] = bad
        if bad:
            any_conflict[0] = 1


@cuda.jit
def rank_along_edges(source, target, out_degree, rank, incoming, damping):
    e = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if e < source.size:
        s = source[e]
        cuda.atomic.add(incoming, target[e], damping * rank[s] / out_degree[s])


@cuda.jit
def depth_in_tree(parent, depth):
    node = cuda.grid(1)
    if node < parent.size:
        d = 0
        at = node
        while parent[at] != at:
            at = parent[at]
            d += 1
        depth[node] = d


@cuda.jit
def symmetric_lower_product(starts, cols, vals, x, y):
    """Only the lower triangle and the diagonal are there."""
    i = cuda.grid(1)
    if i < starts.size - 1:
        own = 0.0
        for k in range(starts[i], starts[i + 1]):
            j = cols[k]
            own += vals[k] * x[j]
            if j != i:
                cuda.atomic.add(y, j, vals[k] * x[i])
        cuda.atomic.add(y, i, own)


@cuda.jit
def count_in_table(words, keys, counts):
    """A hash table of open addresses: a slot is taken with compare-and-swap."""
    i = cuda.grid(1)
    if i >= words.size:
        return
    w = words[i]
    mask = keys.size - 1
    slot = int64((uint64(w) * uint64(0x9E3779B97F4A7C15)) >> uint64(40)) & mask
    jump = 1
    while True:
        there = keys[slot]
        if there == -1:
            there = cuda.atomic.cas(keys, slot, -1, w)
        if there == -1 or there == w:
            cuda.atomic.add(counts, slot, 1)
            return
        slot = (slot + jump) & mask
        jump += 1


@cuda.jit
def join_by_buckets(customer, bucket_starts, bucket_keys, bucket_credit, matches, credit):
    row = cuda.grid(1)
    if row < customer.size:
        key = customer[row]
        b = (key * 2654435761 >> 7) % (bucket_starts.size - 1)
        n = 0
        total = 0.0
        for k in range(bucket_starts[b], bucket_starts[b + 1]):
            if bucket_keys[k] == key:
                n += 1
                total += bucket_credit[k]
        matches[row] = n
        credit[row] = total


@cuda.jit
def store_summaries(store, weekday, sales, number, total, least, most):
    i = cuda.grid(1)
    if i < sales.size:
        g = store[i] * 7 + weekday[i]
        cuda.atomic.add(number, g, 1)
        cuda.atomic.add(total, g, sales[i])
        cuda.atomic.min(least, g, sales[i])
        cuda.atomic.max(most, g, sales[i])


@cuda.jit
def chain_into_cells(x, y, head, following, cells):
    i = cuda.grid(1)
    if i < x.size:
        cx = min(int(x[i] * cells), cells - 1)
        cy = min(int(y[i] * cells), cells - 1)
        following[i] = cuda.atomic.exch(head, cy * cells + cx, i)


@cuda.jit
def repel_in_cells(x, y, head, following, cells, reach, fx, fy):
    i = cuda.grid(1)
    if i >= x.size:
        return
    px = x[i]
    py = y[i]
    cx = min(int(px * cells), cells - 1)
    cy = min(int(py * cells), cells - 1)
    sx = float32(0)
    sy = float32(0)
    for ny in range(max(cy - 1, 0), min(cy + 2, cells)):
        for nx in range(max(cx - 1, 0), min(cx + 2, cells)):
            j = head[ny * cells + nx]
            while j != -1:
                dx = px - x[j]
                dy = py - y[j]
                r = math.sqrt(dx * dx + dy * dy)
                if r < reach and r > float32(0):
                    push = (reach - r) / (reach * r)
                    sx += push * dx
                    sy += push * dy
                j = following[j]
    fx[i] = sx
    fy[i] = sy


@cuda.jit
def cloud_in_cell(x, y, charge, density):
    p = cuda.grid(1)
    if p < x.shape[0]:
        gx = x[p] * (density.shape[1] - 1)
        gy = y[p] * (density.shape[0] - 1)
        i = int(gx)
        j = int(gy)
        u = gx - i
        v = gy - j
        q = charge[p]
        cuda.atomic.add(density, (j, i), q * (1 - u) * (1 - v))
        cuda.atomic.add(density, (j, i + 1), q * u * (1 - v))
        cuda.atomic.add(density, (j + 1, i), q * (1 - u) * v)
        cuda.atomic.add(density, (j + 1, i + 1), q * u * v)


@cuda.jit
def hough_lines(edge_x, edge_y, cosines, sines, votes):
    angle, p = cuda.grid(2)
    if p < edge_x.size and angle < cosines.size:
        rho = edge_x[p] * cosines[angle] + edge_y[p] * sines[angle]
        at = (rho >> 10) + votes.shape[1] // 2
        cuda.atomic.add(votes, (angle, at), 1)


@cuda.jit
def forest_votes(samples, feature, threshold, label, winner):
    ballots = cuda.local.array(4, int32)
    i = cuda.grid(1)
    if i < samples.shape[0]:
        for c in range(4):
            ballots[c] = 0
        for t in range(feature.shape[0]):
            node = 0
            while node < feature.shape[1]:
                if samples[i, feature[t, node]] < threshold[t, node]:
                    node = 2 * node + 1
                else:
                    node = 2 * node + 2
            ballots[label[t, node - feature.shape[1]]] += 1
        best = 0
        for c in range(1, 4):
            if ballots[c] > ballots[best]:
                best = c
        winner[i] = best


@cuda.jit
def walk_search_tree(root, key, left, right, payload, wanted, out):
    i = cuda.grid(1)
    if i < wanted.size:
        w = wanted[i]
        node = root
        while node >= 0 and key[node] != w:
            node = left[node] if w < key[node] else right[node]
        if node >= 0:
            out[i] = payload[node]
        else:
            out[i] = -1.0


@cuda.jit
def nearest_in_tree(tree, queries, distance):
    """The nearest point of a k-d tree whose node n has the children 2n + 1 and 2n + 2."""
    stack = cuda.local.array(32, int32)
    apart = cuda.local.array(32, float32)
    q = cuda.grid(1)
    if q >= queries.shape[0]:
        return
    qx = queries[q, 0]
    qy = queries[q, 1]
    best = float32(1e30)
    stack[0] = 0
    apart[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if node >= tree.shape[0] or apart[top] >= best:
            continue
        dx = qx - tree[node, 0]
        dy = qy - tree[node, 1]
        best = min(best, dx * dx + dy * dy)
        level = 31 - cuda.clz(int32(node + 1))
        across = dx if level % 2 == 0 else dy
        near = 2 * node + 1
        far = 2 * node + 2
        if across > 0:
            near, far = far, near
        stack[top] = far
        apart[top] = across * across
        stack[top + 1] = near
        apart[top + 1] = 0
        top += 2
    distance[q] = math.sqrt(best)


@cuda.jit
def prices_of_baskets(item, shop, price_of, town_of, rate_of, out):
    i = cuda.grid(1)
    if i < item.size:
        out[i] = price_of[item[i]] * (1 + rate_of[town_of[shop[i]]])


@cuda.jit
def steam_table(pressure, temperature, table, out):
    i = cuda.grid(1)
    stride = cuda.gridsize(1)
    while i < pressure.size:
        u = pressure[i] * (table.shape[0] - 1)
        v = temperature[i] * (table.shape[1] - 1)
        r = min(int(u), table.shape[0] - 2)
        c = min(int(v), table.shape[1] - 2)
        fr = u - r
        fc = v - c
        low = table[r, c] + fc * (table[r, c + 1] - table[r, c])
        high = table[r + 1, c] + fc * (table[r + 1, c + 1] - table[r + 1, c])
        out[i] = low + fr * (high - low)
        i += stride


@cuda.jit
def areas_of_outlines(first, xs, ys, area):
    p = cuda.grid(1)
    if p < area.size:
        begin = first[p]
        end = first[p + 1]
        twice = 0.0
        j = end - 1
        for i in range(begin, end):
            twice += (xs[j] + xs[i]) * (ys[i] - ys[j])
            j = i
        area[p] = abs(twice) / 2


@cuda.jit
def add_gradients_to_rows(index, gradient, table, rate):
    d, i = cuda.grid(2)
    if i < index.size and d < table.shape[1]:
        cuda.atomic.sub(table, (index[i], d), rate * gradient[i, d])


@cuda.jit
def crossings_with_walls(ax, ay, bx, by, walls, hits):
    ray = cuda.grid(1)
    if ray < ax.size:
        n = 0
        for w in range(walls.shape[0]):
            cx = walls[w, 0]
            cy = walls[w, 1]
            dx = walls[w, 2]
            dy = walls[w, 3]
            s = (bx[ray] - ax[ray]) * (cy - ay[ray]) - (by[ray] - ay[ray]) * (cx - ax[ray])
            t = (bx[ray] - ax[ray]) * (dy - ay[ray]) - (by[ray] - ay[ray]) * (dx - ax[ray])
            if s * t >= 0:
                continue
            u = (dx - cx) * (ay[ray] - cy) - (dy - cy) * (ax[ray] - cx)
            v = (dx - cx) * (by[ray] - cy) - (dy - cy) * (bx[ray] - cx)
            if u * v < 0:
                n += 1
        hits[ray] = n


def roads(r: Random, n: int, most: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Where each node's roads begin, and where they lead: up to `most` - 1 of each node."""
    offsets = np.concatenate([[0], np.cumsum(r.wholes(most, n))]).astype(I32)
    return offsets, r.indices(n, int(offsets[-1]))


def unions(r: Random, n: int) -> Arguments:
    return r.indices(n, n // 2), r.indices(n, n // 2), np.arange(n, dtype=I32)


def roots(left: np.ndarray, right: np.ndarray, parent: np.ndarray) -> Arguments:
    above = parent
    while np.any(above != above[above]):
        above = above[above]
    return (above,)


def search_begun(r: Random, n: int) -> Arguments:
    offsets, edges = roads(r, n)
    frontier = r.order(n)[: n // 4].copy()
    depth = np.full(n, -1, I32)
    depth[frontier] = 3
    return frontier, offsets, edges, depth, zeros(n, dtype=I32), zeros(1, dtype=I32), 4


def search_on(
    frontier: np.ndarray, offsets: np.ndarray, edges: np.ndarray, depth: np.ndarray, found: np.ndarray,
    number: np.ndarray, level: int,
) -> Arguments:  # fmt: skip
    return depth, number, np.sort(found)


def half_reached(r: Random, n: int) -> Arguments:
    return r.indices(n, 4 * n), r.indices(n, 4 * n), r.wholes(3, n, low=-1), 3, zeros(1, dtype=np.bool_)


def distances(r: Random, n: int) -> Arguments:
    before, edges = r.wholes(1000, n), 4 * n
    lengths = r.wholes(400, edges, low=1)
    return r.indices(n, edges), r.indices(n, edges), lengths, before, before.copy(), zeros(1, dtype=I32)


def coloured(r: Random, n: int) -> Arguments:
    return *roads(r, n), r.wholes(24, n, U8), zeros(n, dtype=U8), zeros(1, dtype=I32)


def links(r: Random, n: int) -> Arguments:
    return r.indices(n, 5 * n), r.indices(n, 5 * n), r.wholes(10, n, low=1), r.reals(n, F64), zeros(n, dtype=F64), 0.85


def grown_tree(r: Random, n: int) -> Arguments:
    return (r.reals(n, F64) * np.arange(n)).astype(I32), zeros(n, dtype=I32)


def lower_triangle(r: Random, n: int) -> Arguments:
    starts = np.concatenate([[0], np.cumsum(r.wholes(10, n, low=1))]).astype(I32)
    row = np.repeat(np.arange(n), np.diff(starts))
    columns = np.maximum(row - r.indices(2000, row.size), 0).astype(I32)
    columns[starts[1:] - 1] = np.arange(n)
    return starts, columns, r.reals(row.size, F64), r.reals(n, F64), zeros(n, dtype=F64)


def words_to_count(r: Random, n: int) -> Arguments:
    slots = 1 << (n // 4).bit_length()
    words = r.indices(n // 8 + 1, n, I64) * 7919
    return words, np.full(2 * slots, -1, I64), zeros(2 * slots, dtype=I32)


def words_counted(words: np.ndarray, keys: np.ndarray, counts: np.ndarray) -> Arguments:
    order = np.argsort(keys, kind="stable")
    return keys[order], counts[order]


def accounts_in_buckets(r: Random, n: int) -> Arguments:
    keys = r.indices(2**30, n // 4, I64)
    buckets = n // 8
    bucket = (keys * 2654435761 >> 7) % buckets
    order = np.argsort(bucket, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=buckets))]).astype(I32)
    asked = np.where(r.wholes(4, n) > 0, keys[r.indices(keys.size, n)], 12345)
    return asked, starts, keys[order], r.reals(keys.size, F64), zeros(n, dtype=I32), zeros(n, dtype=F64)


def tills(r: Random, n: int) -> Arguments:
    groups = 300 * 7
    number, total = zeros(groups, dtype=I64), zeros(groups)
    return r.indices(300, n), r.wholes(7, n), r.reals(n), number, total, np.full(groups, 9, F32), zeros(groups)


def dust(r: Random, n: int) -> Arguments:
    cells = max(int((n / 4) ** 0.5), 1)
    return r.reals(n), r.reals(n), np.full(cells * cells, -1, I32), zeros(n, dtype=I32), cells


def members(x: np.ndarray, y: np.ndarray, head: np.ndarray, following: np.ndarray, cells: int) -> Arguments:
    """The cell in whose chain each is, and how many of its chain come before it, in any order."""
    cell, place = np.full(x.size, -1), np.full(x.size, -1)
    at, of, step = head[head >= 0], np.flatnonzero(head >= 0), 0
    while at.size and step <= x.size:
        cell[at], place[at] = of, step
        at, of, step = following[at], of[following[at] >= 0], step + 1
        at = at[at >= 0]
    return head >= 0, cell, np.sort(place)


def chained_dust(r: Random, n: int) -> Arguments:
    x, y, head, following, cells = dust(r, n)
    column, row = (np.minimum((each.astype(F64) * cells).astype(I32), cells - 1) for each in (x, y))
    cell = row * cells + column
    order = np.argsort(cell, kind="stable")
    begins = np.concatenate([[True], np.diff(cell[order]) > 0])
    following[order] = np.where(np.roll(begins, -1), -1, np.roll(order, -1))
    head[cell[order][begins]] = order[begins]
    return x, y, head, following, cells, F32(1 / cells), zeros(n), zeros(n)


def plasma(r: Random, n: int) -> Arguments:
    side = max(int((n / 8) ** 0.5), 4)
    return r.reals(n), r.reals(n), r.reals(n), zeros(side, side)


def edge_points(r: Random, n: int) -> Arguments:
    turn = np.arange(ANGLES) * (np.pi / ANGLES)
    cosines, sines = (1024 * np.cos(turn)).astype(I32), (1024 * np.sin(turn)).astype(I32)
    return r.wholes(1000, n), r.wholes(800, n), cosines, sines, zeros(ANGLES, 3000, dtype=I32)


def forest(r: Random, n: int) -> Arguments:
    nodes = 2**LEVELS - 1
    feature, label = r.wholes(FEATURES, (TREES, nodes), U8), r.wholes(4, (TREES, nodes + 1), U8)
    return r.reals((n, FEATURES)), feature, r.reals((TREES, nodes)), label, zeros(n, dtype=I32)


def search_tree(r: Random, n: int) -> Arguments:
    """A balanced tree of even keys, its nodes anywhere in memory."""
    size = 2**18 - 1
    place = r.order(size)
    left, right = np.full(size, -1, I32), np.full(size, -1, I32)
    key = np.zeros(size, I32)
    key[place] = 2 * np.arange(size)
    half = 2**17
    while half > 1:
        quarter = half // 2
        inner = np.arange(half - 1, size, 2 * half)
        left[place[inner]] = place[inner - quarter]
        right[place[inner]] = place[inner + quarter]
        half = quarter
    return int(place[2**17 - 1]), key, left, right, r.reals(size), r.indices(2 * size, n), zeros(n)


def kd_tree(r: Random, n: int) -> Arguments:
    size = 2**KD_LEVELS - 1
    tree = zeros(size, 2)
    waiting = [(0, r.reals((size, 2)), 0)]
    while waiting:
        node, points, axis = waiting.pop()
        points = points[np.argsort(points[:, axis], kind="stable")]
        middle = len(points) // 2
        tree[node] = points[middle]
        if middle:
            waiting.append((2 * node + 1, points[:middle], 1 - axis))
            waiting.append((2 * node + 2, points[middle + 1 :], 1 - axis))
    return tree, r.reals((n, 2)), zeros(n)


def baskets(r: Random, n: int) -> Arguments:
    prices, towns, rates = r.reals(1_000_000), r.wholes(200, 20_000), r.reals(200)
    return r.indices(1_000_000, n), r.indices(20_000, n), prices, towns, rates, zeros(n)


def outlines(r: Random, n: int) -> Arguments:
    first = np.concatenate([[0], np.cumsum(r.wholes(30, n, low=3))]).astype(I32)
    return first, r.reals(int(first[-1]), F64), r.reals(int(first[-1]), F64), zeros(n, dtype=F64)


IRREGULAR: tuple[Sized, ...] = (
    entry(unite_endpoints, 256, lambda n, arguments: n // 2, unions, 400_000, 10_000_000, seen=roots),
    entry(expand_frontier, 256, lambda n, arguments: n // 4, search_begun, 400_000, 6_000_000, seen=search_on),
    entry(reach_along_edges, 512, lambda n, arguments: 4 * n, half_reached, 300_000, 10_000_000),
    entry(lower_distances, 128, lambda n, arguments: striding(128)(4 * n, arguments), distances, 200_000, 6_000_000),
    entry(colour_conflicts, 128, elements, coloured, 300_000, 8_000_000),
    entry(rank_along_edges, 256, lambda n, arguments: 5 * n, links, 200_000, 4_000_000),
    entry(depth_in_tree, 256, elements, grown_tree, 1_000_000, 20_000_000),
    entry(symmetric_lower_product, 128, elements, lower_triangle, 80_000, 3_000_000),
    entry(count_in_table, 256, elements, words_to_count, 400_000, 12_000_000, seen=words_counted),
    entry(join_by_buckets, 256, elements, accounts_in_buckets, 400_000, 10_000_000),
    entry(store_summaries, 128, elements, tills, 200_000, 5_000_000),
    entry(chain_into_cells, 256, elements, dust, 1_000_000, 20_000_000, seen=members),
    entry(repel_in_cells, 128, elements, chained_dust, 100_000, 2_000_000),
    entry(cloud_in_cell, 256, elements, plasma, 200_000, 8_000_000),
    entry(hough_lines, (32, 8), lambda n, arguments: (ANGLES, n), edge_points, 20_000, 400_000, small=200),
    entry(forest_votes, 64, elements, forest, 50_000, 2_000_000),
    entry(walk_search_tree, 256, elements, search_tree, 200_000, 6_000_000),
    entry(nearest_in_tree, 128, elements, kd_tree, 50_000, 2_000_000),
    entry(prices_of_baskets, 256, elements, baskets, 1_000_000, 40_000_000),
    entry(steam_table, 256, striding(256),
          lambda r, n: (r.reals(n), r.reals(n), r.reals((300, 400)), zeros(n)), 3_000_000, 60_000_000),
    entry(areas_of_outlines, 256, elements, outlines, 80_000, 3_000_000),
    entry(add_gradients_to_rows, (32, 4), lambda n, arguments: (32, n),
          lambda r, n: (r.indices(20_000, n), r.reals((n, 32)), zeros(20_000, 32), F32(0.01)), 50_000, 250_000,
          small=500),
    entry(crossings_with_walls, 128, elements,
          lambda r, n: (*(r.reals(n) for _ in range(4)), r.reals((50, 4)), zeros(n, dtype=I32)), 100_000, 3_000_000),
)  # fmt: skip

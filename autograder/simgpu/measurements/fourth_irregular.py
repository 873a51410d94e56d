"""The fourth set: graphs, sparse products, gathers and scatters, bodies, rays, and small launches."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import (
    Arguments,
    Make,
    Over,
    Random,
    Sized,
    SizedLaunch,
    elements,
    grid_for,
    striding,
    zeros,
)

F32, F64, I32, I64, U8 = np.float32, np.float64, np.int32, np.int64, np.uint8


@cuda.jit
def push_ranks(starts, targets, rank, new_rank):
    u = cuda.grid(1)
    if u < starts.size - 1:
        first = starts[u]
        last = starts[u + 1]
        if last > first:
            share = rank[u] / (last - first)
            for e in range(first, last):
                cuda.atomic.add(new_rank, targets[e], share)


@cuda.jit
def peel_core(starts, neighbours, alive, out, k):
    v = cuda.grid(1)
    if v >= alive.size:
        return
    if alive[v] == 0:
        out[v] = 0
        return
    left = 0
    e = starts[v]
    while e < starts[v + 1]:
        left += alive[neighbours[e]]
        e += 1
    out[v] = 1 if left >= k else 0


@cuda.jit
def propose(starts, neighbours, weights, proposal):
    v = cuda.grid(1)
    if v < starts.size - 1:
        best = -1
        heaviest = float32(-1)
        for e in range(starts[v], starts[v + 1]):
            if weights[e] > heaviest:
                heaviest = weights[e]
                best = neighbours[e]
        proposal[v] = best


@cuda.jit
def accept(proposal, partner):
    v = cuda.grid(1)
    if v < proposal.size:
        other = proposal[v]
        if other >= 0 and proposal[other] == v:
            partner[v] = other
        else:
            partner[v] = -1


@cuda.jit
def csr_double(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        s = 0.0
        for k in range(starts[row], starts[row + 1]):
            s += values[k] * x[columns[k]]
        y[row] = s


@cuda.jit
def csc_scatter(starts, rows, values, x, y):
    col = cuda.grid(1)
    if col < x.size:
        v = x[col]
        for k in range(starts[col], starts[col + 1]):
            cuda.atomic.add(y, rows[k], values[k] * v)


@cuda.jit
def sampled_products(rows, cols, a, b, out):
    e = cuda.grid(1)
    if e < out.size:
        i = rows[e]
        j = cols[e]
        s = float32(0)
        for k in range(a.shape[1]):
            s += a[i, k] * b[j, k]
        out[e] = s


@cuda.jit
def csr_times_dense(starts, columns, values, dense, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        s = float32(0)
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * dense[columns[k], j]
        out[i, j] = s


@cuda.jit
def embed(table, index, out):
    i, d = cuda.grid(2)
    if i < index.size and d < table.shape[1]:
        out[i, d] = table[index[i], d]


@cuda.jit
def totals_by_customer(customer, amount, total):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < customer.size:
        cuda.atomic.add(total, customer[i], amount[i])
        i += step


@cuda.jit
def highest_by_group(group, value, highest):
    i = cuda.grid(1)
    if i < group.size:
        cuda.atomic.max(highest, group[i], value[i])


@cuda.jit
def accelerations_double(pos, mass, acc):
    i = cuda.grid(1)
    if i < pos.shape[0]:
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(pos.shape[0]):
            dx = pos[j, 0] - pos[i, 0]
            dy = pos[j, 1] - pos[i, 1]
            dz = pos[j, 2] - pos[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 1e-6
            s = mass[j] / (r2 * math.sqrt(r2))
            ax += s * dx
            ay += s * dy
            az += s * dz
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


@cuda.jit
def flock(x, y, vx, vy, out_vx, out_vy, reach):
    me = cuda.grid(1)
    if me >= x.size:
        return
    cx = float32(0)
    cy = float32(0)
    seen = int32(0)
    for other in range(x.size):
        if other == me:
            continue
        dx = x[other] - x[me]
        dy = y[other] - y[me]
        if dx * dx + dy * dy > reach * reach:
            continue
        cx += vx[other]
        cy += vy[other]
        seen += 1
    if seen > 0:
        out_vx[me] = float32(0.9) * vx[me] + float32(0.1) * cx / float32(seen)
        out_vy[me] = float32(0.9) * vy[me] + float32(0.1) * cy / float32(seen)
    else:
        out_vx[me] = vx[me]
        out_vy[me] = vy[me]


@cuda.jit
def march_to_sphere(out, size):
    px, py = cuda.grid(2)
    if px >= size or py >= size:
        return
    dx = (float32(px) / float32(size) - float32(0.5)) * float32(2)
    dy = (float32(py) / float32(size) - float32(0.5)) * float32(2)
    length = math.sqrt(dx * dx + dy * dy + float32(1))
    dx /= length
    dy /= length
    dz = float32(1) / length
    t = float32(0)
    steps = int32(0)
    while steps < 64 and t < float32(10):
        x = t * dx
        y = t * dy
        z = t * dz - float32(3)
        d = math.sqrt(x * x + y * y + z * z) - float32(1)
        if d < float32(1e-3):
            break
        t += d
        steps += 1
    out[py, px] = t


@cuda.jit
def rays_and_triangles(origins, corners, nearest):
    i = cuda.grid(1)
    if i >= nearest.size:
        return
    ox = origins[i, 0]
    oy = origins[i, 1]
    best = float32(1e9)
    for k in range(corners.shape[0]):
        ax, ay = corners[k, 0, 0], corners[k, 0, 1]
        bx, by = corners[k, 1, 0], corners[k, 1, 1]
        cx, cy = corners[k, 2, 0], corners[k, 2, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        u = ((bx - ox) * (cy - oy) - (by - oy) * (cx - ox)) / area
        v = ((cx - ox) * (ay - oy) - (cy - oy) * (ax - ox)) / area
        w = float32(1) - u - v
        if u >= 0 and v >= 0 and w >= 0:
            z = u * corners[k, 0, 2] + v * corners[k, 1, 2] + w * corners[k, 2, 2]
            if z < best:
                best = z
    nearest[i] = best


@cuda.jit
def first_box(px, py, low_x, low_y, high_x, high_y, out):
    i = cuda.grid(1)
    if i < px.size:
        found = -1
        for b in range(low_x.size):
            if px[i] >= low_x[b] and px[i] < high_x[b] and py[i] >= low_y[b] and py[i] < high_y[b]:
                found = b
                break
        out[i] = found


@cuda.jit
def sums_of_clusters(points, label, sums, counts):
    part = cuda.shared.array((16, 3), float32)
    number = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        number[t] = 0
        for d in range(3):
            part[t, d] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < label.size:
        k = label[i]
        for d in range(3):
            cuda.atomic.add(part, (k, d), points[i, d])
        cuda.atomic.add(number, k, 1)
    cuda.syncthreads()
    if t < 16:
        for d in range(3):
            cuda.atomic.add(sums, (t, d), part[t, d])
        cuda.atomic.add(counts, t, number[t])


@cuda.jit
def bounce_around(table, start, out, hops):
    i = cuda.grid(1)
    if i < start.size:
        at = start[i]
        for _ in range(hops):
            at = table[at]
        out[i] = at


@cuda.jit
def scatter_doubles(x, place, out):
    i = cuda.grid(1)
    if i < x.size:
        out[place[i]] = x[i]


@cuda.jit
def one_block_sum(x, out):
    s = cuda.shared.array(1024, float64)
    t = cuda.threadIdx.x
    mine = 0.0
    for i in range(t, x.size, 1024):
        mine += x[i]
    s[t] = mine
    cuda.syncthreads()
    width = 512
    while width > 0:
        if t < width:
            s[t] += s[t + width]
        cuda.syncthreads()
        width = width // 2
    if t == 0:
        out[0] = s[0]


@cuda.jit
def alone(x, out):
    if cuda.grid(1) == 0:
        s = float32(0)
        for i in range(x.size):
            s += x[i]
        out[0] = s


def graph(r: Random, n: int, most: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Starts, and neighbours anywhere: 0 to `most` - 1 of each node."""
    starts = np.concatenate([[0], np.cumsum(r.wholes(most, n))]).astype(I32)
    return starts, r.indices(n, int(starts[-1]))


def ranked(r: Random, n: int) -> Arguments:
    return *graph(r, n), r.reals(n), zeros(n)


def living(r: Random, n: int) -> Arguments:
    return *graph(r, n), r.wholes(2, n), zeros(n, dtype=I32), I32(4)


def handshakes(r: Random, n: int) -> Arguments:
    starts, neighbours = graph(r, n, 9)
    return starts, neighbours, r.reals(neighbours.size), zeros(n, dtype=I32), zeros(n, dtype=I32)


def shake_hands(n: int, arguments: Arguments) -> list[SizedLaunch]:
    starts, neighbours, weights, proposal, partner = arguments
    grid = grid_for(n, 256)
    return [
        SizedLaunch(propose, grid, 256, (starts, neighbours, weights, proposal)),
        SizedLaunch(accept, grid, 256, (proposal, partner)),
    ]


def by_hand_shaken(
    starts: np.ndarray, neighbours: np.ndarray, weights: np.ndarray, proposal: np.ndarray, partner: np.ndarray
) -> None:
    for v in range(proposal.size):
        own = slice(starts[v], starts[v + 1])
        proposal[v] = neighbours[own][np.argmax(weights[own])] if weights[own].size else -1
    partner[:] = np.where((proposal >= 0) & (proposal[proposal] == np.arange(proposal.size)), proposal, -1)


def sparse(r: Random, n: int, dtype: type = F32) -> tuple[np.ndarray, ...]:
    starts, columns = graph(r, n, 20)
    return starts, columns, r.reals(columns.size, dtype)


def times_vector(dtype: type) -> Make:
    return lambda r, n: (*sparse(r, n, dtype), r.reals(n, dtype), zeros(n, dtype=dtype))


def pairs(r: Random, n: int) -> Arguments:
    return r.indices(20_000, n), r.indices(20_000, n), r.reals((20_000, 32)), r.reals((20_000, 32)), zeros(n)


def words(r: Random, n: int) -> Arguments:
    return r.reals((50_000, 64)), r.indices(50_000, n), zeros(n, 64)


def boxes(r: Random, n: int) -> Arguments:
    x, y = r.reals(200), r.reals(200)
    return r.reals(n), r.reals(n), x, y, x + F32(0.1), y + F32(0.1), zeros(n, dtype=I32)


def by_lanes(wide: int) -> Over:
    return lambda n, arguments: (wide, n)


IRREGULAR: tuple[Sized, ...] = (
    entry(push_ranks, 256, elements, ranked, 100_000, 3_000_000),
    entry(peel_core, 256, elements, living, 200_000, 5_000_000),
    Sized("handshake_matching", handshakes, shake_hands, 1000, 200_000, 5_000_000, by_hand_shaken),
    entry(csr_double, 128, elements, times_vector(F64), 100_000, 3_000_000),
    entry(csc_scatter, 128, elements, times_vector(F32), 50_000, 2_000_000),
    entry(sampled_products, 256, elements, pairs, 100_000, 4_000_000),
    entry(csr_times_dense, (16, 16), by_lanes(16),
          lambda r, n: (*sparse(r, n), r.reals((n, 16)), zeros(n, 16)), 30_000, 1_000_000),
    entry(embed, (16, 16), lambda n, arguments: (n, 64), words, 30_000, 1_000_000),
    entry(totals_by_customer, 256, striding(256),
          lambda r, n: (r.indices(2000, n), r.reals(n, F64), zeros(2000, dtype=F64)), 500_000, 10_000_000),
    entry(highest_by_group, 256, elements,
          lambda r, n: (r.indices(64, n), r.wholes(10**6, n), zeros(64, dtype=I32)), 300_000, 10_000_000),
    entry(accelerations_double, 128, elements,
          lambda r, n: (r.reals((n, 3), F64), r.reals(n, F64), zeros(n, 3, dtype=F64)), 1500, 16_000, small=500),
    entry(flock, 64, elements, lambda r, n: (*(r.reals(n) for _ in range(4)), zeros(n), zeros(n), F32(0.1)),
          2000, 24_000, small=500),
    entry(march_to_sphere, (8, 8), lambda n, arguments: (n, n), lambda r, n: (zeros(n, n), n), 500, 4000, small=64),
    entry(rays_and_triangles, 128, elements,
          lambda r, n: (r.reals((n, 2)), r.reals((40, 3, 3)), zeros(n)), 80_000, 3_000_000),
    entry(first_box, 256, elements, boxes, 100_000, 5_000_000),
    entry(sums_of_clusters, 256, elements,
          lambda r, n: (r.reals((n, 3)), r.wholes(16, n), zeros(16, 3), zeros(16, dtype=I32)), 300_000, 10_000_000),
    entry(bounce_around, 256, elements, lambda r, n: (r.order(1 << 19), r.indices(1 << 19, n), zeros(n, dtype=I32), 12),
          100_000, 4_000_000),
    entry(scatter_doubles, 256, elements,
          lambda r, n: (r.reals(n, F64), r.order(n), zeros(n, dtype=F64)), 500_000, 16_000_000),
    entry(one_block_sum, 1024, lambda n, arguments: 1024,
          lambda r, n: (r.reals(n), zeros(1, dtype=F64)), 50_000, 1_000_000),
    entry(alone, 32, lambda n, arguments: 32, lambda r, n: (r.reals(n), zeros(1)), 200, 10_000, small=200),
)  # fmt: skip

"""The sixth set: graphs, sparse rows, meshes, trees, hash tables, cells, particles, votes, neighbours and joins."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, elements, striding, zeros

F32, F64, I32, I64, I8, U8, U32, U64 = (
    np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8, np.uint32, np.uint64,
)  # fmt: skip
RUN = 8
SLOTS = 17
SHOPS = 20_000
BLOCKS_OF_TOWN = 64
TREE = 300_000


@cuda.jit
def push_lengths(starts, targets, weights, now, after, active, woken, again):
    u = cuda.grid(1)
    if u < active.size and active[u]:
        own = now[u]
        for e in range(starts[u], starts[u + 1]):
            v = targets[e]
            longer = own + weights[e]
            if longer < now[v]:
                if cuda.atomic.min(after, v, longer) > longer:
                    woken[v] = 1
                    again[0] = 1


@cuda.jit
def hook_smaller_labels(left, right, label, hooked, changes):
    e = cuda.grid(1)
    step = cuda.gridsize(1)
    mine = 0
    while e < left.size:
        a = label[left[e]]
        b = label[right[e]]
        if a < b:
            cuda.atomic.min(hooked, b, a)
            mine += 1
        elif b < a:
            cuda.atomic.min(hooked, a, b)
            mine += 1
        e += step
    if mine > 0:
        cuda.atomic.add(changes, 0, mine)


@cuda.jit
def shortcut_to_roots(parent):
    i = cuda.grid(1)
    if i >= parent.size:
        return
    p = parent[i]
    while p != parent[p]:
        p = parent[p]
    parent[i] = p


@cuda.jit
def choose_by_priority(starts, others, priority, state, chosen, removed, more):
    """A round of Luby's independent set: whoever stands above all its neighbours is in, and they are out."""
    v = cuda.grid(1)
    if v >= state.size or state[v] != 0:
        return
    first = starts[v]
    last = starts[v + 1]
    for e in range(first, last):
        w = others[e]
        if state[w] == 0 and w != v:
            if priority[w] > priority[v] or (priority[w] == priority[v] and w > v):
                more[0] = 1
                return
    chosen[v] = 1
    for e in range(first, last):
        removed[others[e]] = 1


@cuda.jit
def shared_friends(one, two, starts, friends, jaccard):
    e = cuda.grid(1)
    if e < jaccard.size:
        i = starts[one[e]]
        j = starts[two[e]]
        last_i = starts[one[e] + 1]
        last_j = starts[two[e] + 1]
        every = (last_i - i) + (last_j - j)
        both = 0
        while i < last_i and j < last_j:
            a = friends[i]
            b = friends[j]
            if a == b:
                both += 1
                i += 1
                j += 1
            elif a < b:
                i += 1
            else:
                j += 1
        jaccard[e] = both / (every - both) if every > 0 else 0.0


@cuda.jit
def reach_from_64(starts, others, seen, front, following, going):
    """A step of 64 searches at once, a bit of a word each."""
    v = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if v < seen.size:
        missing = ~seen[v]
        got = uint64(0)
        e = starts[v]
        while e < starts[v + 1] and got != missing:
            got |= front[others[e]] & missing
            e += 1
        following[v] = got
        if got != uint64(0):
            going[0] = True


@cuda.jit
def release_successors(ready, starts, targets, waiting, queue, number):
    i = cuda.grid(1)
    if i < ready.size:
        done = ready[i]
        for e in range(starts[done], starts[done + 1]):
            t = targets[e]
            if cuda.atomic.sub(waiting, t, 1) == 1:
                queue[cuda.atomic.add(number, 0, 1)] = t


@cuda.jit
def attention_weights(starts, others, here, there, out, slope):
    v = cuda.grid(1)
    if v < starts.size - 1:
        own = here[v]
        top = float32(-math.inf)
        for e in range(starts[v], starts[v + 1]):
            s = own + there[others[e]]
            if s < 0:
                s *= slope
            out[e] = s
            if s > top:
                top = s
        total = float32(0)
        for e in range(starts[v], starts[v + 1]):
            w = math.exp(out[e] - top)
            out[e] = w
            total += w
        for e in range(starts[v], starts[v + 1]):
            out[e] /= total


@cuda.jit
def coloured_relaxation(rows, starts, columns, values, diagonal, b, x):
    """Gauss and Seidel for the unknowns of one colour, in place."""
    k = cuda.grid(1)
    if k < rows.size:
        row = rows[k]
        s = b[row]
        for e in range(starts[row], starts[row + 1]):
            s -= values[e] * x[columns[e]]
        x[row] = s / diagonal[row]


@cuda.jit
def vertex_normals(points, faces, normals):
    f = cuda.grid(1)
    if f >= faces.shape[0]:
        return
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    ux = points[b, 0] - points[a, 0]
    uy = points[b, 1] - points[a, 1]
    uz = points[b, 2] - points[a, 2]
    vx = points[c, 0] - points[a, 0]
    vy = points[c, 1] - points[a, 1]
    vz = points[c, 2] - points[a, 2]
    nx = uy * vz - uz * vy
    ny = uz * vx - ux * vz
    nz = ux * vy - uy * vx
    for corner in range(3):
        p = faces[f, corner]
        cuda.atomic.add(normals, (p, 0), nx)
        cuda.atomic.add(normals, (p, 1), ny)
        cuda.atomic.add(normals, (p, 2), nz)


@cuda.jit
def paint_boxes(left, top, wide, high, layer, canvas):
    i = cuda.grid(1)
    if i < layer.size:
        z = layer[i]
        for row in range(top[i], min(top[i] + high[i], canvas.shape[0])):
            for col in range(left[i], min(left[i] + wide[i], canvas.shape[1])):
                if canvas[row, col] < z:
                    cuda.atomic.max(canvas, (row, col), z)


@cuda.jit
def ancestors_of_pairs(parent, depth, first, second, common):
    q = cuda.grid(1)
    if q < common.size:
        a = first[q]
        b = second[q]
        while depth[a] > depth[b]:
            a = parent[a]
        while depth[b] > depth[a]:
            b = parent[b]
        while a != b:
            a = parent[a]
            b = parent[b]
        common[q] = a


@cuda.jit
def raise_in_tree(place, value, tree, leaves):
    """Tournament tree: node k has the children 2k and 2k + 1."""
    i = cuda.grid(1)
    if i < value.size:
        node = leaves + place[i]
        v = value[i]
        while node > 0:
            if cuda.atomic.max(tree, node, v) >= v:
                return
            node >>= 1


@cuda.jit
def cuckoo_find(keys, payload, wanted, out):
    i = cuda.grid(1)
    if i < wanted.size:
        w = wanted[i]
        one = uint32(w * uint32(2654435769)) >> uint32(32 - SLOTS)
        if keys[0, one] == w:
            out[i] = payload[0, one]
        else:
            two = uint32((w ^ (w >> uint32(15))) * uint32(0x85EBCA6B)) >> uint32(32 - SLOTS)
            out[i] = payload[1, two] if keys[1, two] == w else -1.0


@cuda.jit
def lightning_map(lon, lat, strength, strikes, strongest):
    number = cuda.shared.array((24, 48), int32)
    most = cuda.shared.array((24, 48), float32)
    for k in range(cuda.threadIdx.x, 24 * 48, cuda.blockDim.x):
        number[k // 48, k % 48] = 0
        most[k // 48, k % 48] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < lon.size:
        col = int((lon[i] + 180) / 7.5)
        row = int((lat[i] + 90) / 7.5)
        cuda.atomic.add(number, (row, col), 1)
        cuda.atomic.max(most, (row, col), strength[i])
        i += cuda.gridsize(1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, 24 * 48, cuda.blockDim.x):
        row, col = k // 48, k % 48
        if number[row, col] > 0:
            cuda.atomic.add(strikes, (row, col), number[row, col])
            cuda.atomic.max(strongest, (row, col), most[row, col])


@cuda.jit(device=True)
def between_cells(field, x, y):
    c = int(x)
    r = int(y)
    fx = x - c
    fy = y - r
    upper = field[r, c] * (1 - fx) + field[r, c + 1] * fx
    lower = field[r + 1, c] * (1 - fx) + field[r + 1, c + 1] * fx
    return upper * (1 - fy) + lower * fy


@cuda.jit
def trace_in_field(x, y, u, v, dt, age, most):
    """Tracers drift until they leave, or are old."""
    p = cuda.grid(1)
    if p >= x.size:
        return
    px = float64(x[p])
    py = float64(y[p])
    n = 0
    while n < most:
        if px < 0 or py < 0 or px >= u.shape[1] - 1 or py >= u.shape[0] - 1:
            break
        du = between_cells(u, px, py)
        dv = between_cells(v, px, py)
        px += dt * du
        py += dt * dv
        n += 1
    x[p] = px
    y[p] = py
    age[p] = n


@cuda.jit
def best_line_votes(px, py, one, two, reach, best):
    """How many points lie near the line through two of them: the best line wins, the later one of two as good."""
    h = cuda.grid(1)
    if h < one.size:
        a, b = one[h], two[h]
        nx = int64(py[b] - py[a])
        ny = int64(px[a] - px[b])
        limit = reach * reach * (nx * nx + ny * ny)
        votes = 0
        for k in range(px.size):
            off = nx * (px[k] - px[a]) + ny * (py[k] - py[a])
            if off * off < limit:
                votes += 1
        cuda.atomic.max(best, 0, (int64(votes) << 32) | h)


@cuda.jit
def longest_prefix(children, hop_of, addresses, hops):
    i = cuda.grid(1)
    if i < addresses.size:
        address = addresses[i]
        node = 0
        hop = -1
        shift = 28
        while node >= 0:
            if hop_of[node] >= 0:
                hop = hop_of[node]
            if shift < 0:
                break
            node = children[node, (address >> uint32(shift)) & uint32(15)]
            shift -= 4
        hops[i] = hop


@cuda.jit
def nearest_shop(qx, qy, begins, sx, sy, cells, far):
    """Ring after ring of cells around, until no nearer shop can be."""
    q = cuda.grid(1)
    if q >= qx.size:
        return
    x = qx[q]
    y = qy[q]
    cx = min(int(x * cells), cells - 1)
    cy = min(int(y * cells), cells - 1)
    best = float32(4)
    ring = 0
    while ring < cells:
        for gy in range(cy - ring, cy + ring + 1):
            if gy < 0 or gy >= cells:
                continue
            step = 1 if gy == cy - ring or gy == cy + ring else 2 * ring
            for gx in range(cx - ring, cx + ring + 1, step):
                if gx < 0 or gx >= cells:
                    continue
                cell = gy * cells + gx
                for k in range(begins[cell], begins[cell + 1]):
                    dx = sx[k] - x
                    dy = sy[k] - y
                    d2 = dx * dx + dy * dy
                    if d2 < best:
                        best = d2
        near = float32(ring) / float32(cells)
        if best <= near * near:
            break
        ring += 1
    far[q] = math.sqrt(best)


@cuda.jit
def clip_triangles(corners, low, high, area):
    """What area of each triangle lies in a square."""
    xs = cuda.local.array((2, 8), float32)
    ys = cuda.local.array((2, 8), float32)
    i = cuda.grid(1)
    if i < area.size:
        n = 3
        for k in range(3):
            xs[0, k] = corners[i, k, 0]
            ys[0, k] = corners[i, k, 1]
        src = 0
        for side in range(4):
            dst = 1 - src
            m = 0
            for k in range(n):
                after = k + 1 if k + 1 < n else 0
                ax, ay = xs[src, k], ys[src, k]
                bx, by = xs[src, after], ys[src, after]
                if side == 0:
                    da, db = ax - low, bx - low
                elif side == 1:
                    da, db = high - ax, high - bx
                elif side == 2:
                    da, db = ay - low, by - low
                else:
                    da, db = high - ay, high - by
                if da >= 0:
                    xs[dst, m] = ax
                    ys[dst, m] = ay
                    m += 1
                if (da >= 0) != (db >= 0):
                    t = da / (da - db)
                    xs[dst, m] = ax + t * (bx - ax)
                    ys[dst, m] = ay + t * (by - ay)
                    m += 1
            n = m
            src = dst
        twice = float32(0)
        for k in range(n):
            after = k + 1 if k + 1 < n else 0
            twice += xs[src, k] * ys[src, after] - xs[src, after] * ys[src, k]
        area[i] = abs(twice) * float32(0.5)


@cuda.jit
def last_quote_before(symbol, when, begins, quoted_at, bid, ask, paid, slip):
    """Joins each trade with the latest quote of its symbol."""
    i = cuda.grid(1)
    if i < when.size:
        s = symbol[i]
        lo = begins[s]
        hi = begins[s + 1]
        first = lo
        while lo < hi:
            mid = lo + (hi - lo) // 2
            if quoted_at[mid] <= when[i]:
                lo = mid + 1
            else:
                hi = mid
        if lo == first:
            slip[i] = math.nan
        else:
            slip[i] = paid[i] - (bid[lo - 1] + ask[lo - 1]) / 2


@cuda.jit
def sums_of_sorted_groups(group, value, sums, counts, each):
    """A thread adds up its rows and speaks to memory only where the group changes."""
    first = cuda.grid(1) * each
    if first >= group.size:
        return
    last = min(first + each, group.size)
    g = group[first]
    s = 0.0
    c = 0
    for k in range(first, last):
        if group[k] != g:
            cuda.atomic.add(sums, g, s)
            cuda.atomic.add(counts, g, c)
            g = group[k]
            s = 0.0
            c = 0
        s += value[k]
        c += 1
    cuda.atomic.add(sums, g, s)
    cuda.atomic.add(counts, g, c)


def streets(r: Random, n: int, most: int = 14, to: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Where each corner's streets begin, and where they lead: up to `most` - 1 of each corner."""
    starts = np.concatenate([[0], np.cumsum(r.wholes(most, n))]).astype(I32)
    return starts, r.indices(to or n, int(starts[-1]))


def lengths_so_far(r: Random, n: int) -> Arguments:
    starts, targets = streets(r, n)
    now, active = 4 * r.reals(n), (r.wholes(3, n) == 0).astype(U8)
    return starts, targets, r.reals(targets.size), now, now.copy(), active, zeros(n, dtype=U8), zeros(1, dtype=I32)


def labelled_roads(r: Random, n: int) -> Arguments:
    label = (r.reals(n, F64) * np.arange(n)).astype(I64)
    return r.indices(n, 2 * n), r.indices(n, 2 * n), label, np.arange(n), zeros(1, dtype=I64)


def bushes(r: Random, n: int) -> Arguments:
    """One root in a hundred nodes or so, the others below an earlier node at random."""
    parent = (r.reals(n, F64) * np.arange(n)).astype(I32)
    return (np.where(r.wholes(100, n) == 0, np.arange(n, dtype=I32), parent),)


def to_choose_among(r: Random, n: int) -> Arguments:
    starts, others = streets(r, n, 10)
    state = (r.wholes(5, n, I8) == 0).astype(I8)
    return starts, others, r.wholes(2**32, n, U32), state, zeros(n, dtype=I8), zeros(n, dtype=I8), zeros(1, dtype=I32)


def acquaintances(r: Random, n: int) -> Arguments:
    people = max(n // 4, 20)
    starts, friends = streets(r, people, 24)
    whose = np.repeat(np.arange(people, dtype=I64), np.diff(starts))
    friends = (np.sort(whose * people + friends % max(people // 5, 1)) - whose * people).astype(I32)
    return r.indices(people, n), r.indices(people, n), starts, friends, zeros(n)


def searches(r: Random, n: int) -> Arguments:
    front = np.where(r.wholes(3, n) == 0, r.wholes(2**63, n, U64) & r.wholes(2**63, n, U64), U64(0))
    seen = front | (r.wholes(2**63, n, U64) << U64(1))
    return *streets(r, n), seen, front, zeros(n, dtype=U64), zeros(1, dtype=np.bool_)


def tasks(r: Random, n: int) -> Arguments:
    starts, targets = streets(r, n, 8)
    ready = r.order(n)[: n // 2].copy()
    waiting = np.bincount(targets, minlength=n).astype(I32)
    return ready, starts, targets, waiting, zeros(n, dtype=I32), zeros(1, dtype=I32)


def released(
    ready: np.ndarray, starts: np.ndarray, targets: np.ndarray, waiting: np.ndarray, queue: np.ndarray,
    number: np.ndarray,
) -> Arguments:  # fmt: skip
    return waiting, np.sort(queue), number


def attending(r: Random, n: int) -> Arguments:
    starts, others = streets(r, n, 20)
    return starts, others, r.reals(n) - F32(0.5), r.reals(n) - F32(0.5), zeros(others.size), F32(0.2)


def two_colours(r: Random, n: int) -> Arguments:
    """Even unknowns depend on odd ones, not far away."""
    starts, columns = streets(r, n, 9, to=1000)
    row = np.repeat(np.arange(n), np.diff(starts))
    columns = (np.minimum(np.maximum(row + columns - 500, 0), n - 2) // 2 * 2 + 1 - row % 2).astype(I32)
    values, diagonal = r.reals(row.size, F64), 9 + r.reals(n, F64)
    return np.arange(0, n, 2, dtype=I32), starts, columns, values, diagonal, r.reals(n, F64), r.reals(n, F64)


def mesh(r: Random, n: int) -> Arguments:
    points = n // 2 + 64
    faces = (np.arange(n, dtype=I32)[:, None] // 2 + r.wholes(64, (n, 3))).astype(I32)
    return r.reals((points, 3)), faces, zeros(points, 3)


def posters(r: Random, n: int) -> Arguments:
    side = 1024
    wide, high = r.wholes(7, n, low=1), r.wholes(7, n, low=1)
    layer = r.order(n) + I32(1)
    return r.indices(side, n), r.indices(side, n), wide, high, layer, zeros(side, side, dtype=I32)


def family_tree(r: Random, n: int) -> Arguments:
    parent = (np.sqrt(r.reals(TREE, F64)) * np.arange(TREE)).astype(I32)
    depth, above = zeros(TREE, dtype=I32), np.arange(TREE)
    while above.any():
        depth += above > 0
        above = parent[above]
    return parent, depth, r.indices(TREE, n), r.indices(TREE, n), zeros(n, dtype=I32)


def tournament(r: Random, n: int) -> Arguments:
    leaves = 1 << (n // 2).bit_length()
    return r.indices(leaves, n), r.wholes(10**9, n, low=1), zeros(2 * leaves, dtype=I32), leaves


def nests(r: Random, n: int) -> Arguments:
    keys, payload = zeros(2, 1 << SLOTS, dtype=U32), zeros(2, 1 << SLOTS, dtype=F64)
    candidates = r.wholes(2**32, 100_000, U32, low=1)
    one = (candidates * U32(2654435769)) >> U32(32 - SLOTS)
    keys[0, one] = candidates
    second = candidates[keys[0, one] != candidates]
    keys[1, ((second ^ (second >> U32(15))) * U32(0x85EBCA6B)) >> U32(32 - SLOTS)] = second
    payload[:] = r.reals(payload.shape, F64)
    known = candidates[r.indices(candidates.size, n)]
    return keys, payload, np.where(r.wholes(4, n) > 0, known, r.wholes(2**32, n, U32, low=1)), zeros(n, dtype=F64)


def storms(r: Random, n: int) -> Arguments:
    lon, lat = 359 * r.reals(n) - 180, 178 * r.reals(n) - 89
    return lon.astype(F32), lat.astype(F32), r.reals(n), zeros(24, 48, dtype=I32), zeros(24, 48)


def tracers(r: Random, n: int) -> Arguments:
    u, v = r.reals((200, 300)) - F32(0.3), r.reals((200, 300)) - F32(0.6)
    return 299 * r.reals(n), 199 * r.reals(n), u, v, 0.5, zeros(n, dtype=I32), 40


def scattered_points(r: Random, n: int) -> Arguments:
    x, y = r.wholes(1000, 256), r.wholes(1000, 256)
    y[:90] = x[:90] // 2 + 100
    return x, y, r.indices(256, n), r.indices(256, n), 4, zeros(1, dtype=I64)


def routes(r: Random, n: int) -> Arguments:
    """A tree by four bits of the address a level, less and less full."""
    levels, begin, size = [], 0, 1
    for full in (1.0, 0.9, 0.6, 0.3, 0.2, 0.1, 0.0):
        there = r.reals((size, 16)) < full
        size = int(there.sum())
        below = np.full(there.shape, -1, I32)
        begin += there.shape[0]
        below[there] = begin + np.arange(size)
        levels.append(below)
    children = np.concatenate(levels)
    hop_of = np.where(r.wholes(3, children.shape[0]) > 0, r.wholes(64, children.shape[0]), -1).astype(I32)
    return children, hop_of, r.wholes(2**32, n, U32), zeros(n, dtype=I32)


def town(r: Random, n: int) -> Arguments:
    x, y = r.reals(SHOPS) ** 2, r.reals(SHOPS)
    cells = BLOCKS_OF_TOWN
    cell = np.minimum((y * cells).astype(I32), cells - 1) * cells + np.minimum((x * cells).astype(I32), cells - 1)
    order = np.argsort(cell, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells * cells))]).astype(I32)
    return r.reals(n), r.reals(n), begins, x[order], y[order], cells, zeros(n)


def market(r: Random, n: int) -> Arguments:
    symbols, quotes = 200, 1_000_000
    begins = np.concatenate([[0], np.sort(r.indices(quotes, symbols - 1)), [quotes]]).astype(I32)
    at = r.ascending(quotes, 10**9, I64)
    for first, last in zip(begins[:-1], begins[1:], strict=True):
        at[first:last] = (at[first:last] - at[min(first, quotes - 1)]) * symbols
    bid = 10 + r.reals(quotes)
    return r.indices(symbols, n), r.wholes(10**9, n, I64), begins, at, bid, bid + F32(0.01), 10 + r.reals(n), zeros(n)


def sorted_groups(r: Random, n: int) -> Arguments:
    group = r.ascending(n, max(n // 20, 1), I32)
    return group, r.reals(n, F64), zeros(max(n // 20, 1), dtype=F64), zeros(max(n // 20, 1), dtype=I32), RUN


IRREGULAR: tuple[Sized, ...] = (
    entry(push_lengths, 256, elements, lengths_so_far, 200_000, 6_000_000),
    entry(hook_smaller_labels, 128, lambda n, arguments: striding(128)(2 * n, arguments), labelled_roads,
          300_000, 6_000_000),
    entry(shortcut_to_roots, 256, elements, bushes, 800_000, 20_000_000),
    entry(choose_by_priority, 128, elements, to_choose_among, 300_000, 10_000_000),
    entry(shared_friends, 256, elements, acquaintances, 100_000, 3_000_000),
    entry(reach_from_64, 256, elements, searches, 200_000, 5_000_000),
    entry(release_successors, 256, lambda n, arguments: n // 2, tasks, 300_000, 6_000_000, seen=released),
    entry(attention_weights, 64, elements, attending, 60_000, 2_000_000),
    entry(coloured_relaxation, 128, lambda n, arguments: n // 2, two_colours, 400_000, 10_000_000),
    entry(vertex_normals, 192, elements, mesh, 200_000, 8_000_000),
    entry(paint_boxes, 128, elements, posters, 100_000, 3_000_000),
    entry(ancestors_of_pairs, 256, elements, family_tree, 60_000, 2_000_000),
    entry(raise_in_tree, 256, elements, tournament, 500_000, 12_000_000),
    entry(cuckoo_find, 512, elements, nests, 2_000_000, 30_000_000),
    entry(lightning_map, 256, striding(256), storms, 1_000_000, 40_000_000),
    entry(trace_in_field, 128, elements, tracers, 60_000, 2_000_000),
    entry(best_line_votes, 64, elements, scattered_points, 30_000, 1_000_000),
    entry(longest_prefix, 256, elements, routes, 1_000_000, 30_000_000),
    entry(nearest_shop, 128, elements, town, 100_000, 4_000_000),
    entry(clip_triangles, 64, elements,
          lambda r, n: (r.reals((n, 3, 2)), F32(0.3), F32(0.8), zeros(n)), 100_000, 4_000_000),
    entry(last_quote_before, 256, elements, market, 200_000, 8_000_000),
    entry(sums_of_sorted_groups, 256, lambda n, arguments: -(-n // RUN), sorted_groups, 2_000_000, 50_000_000),
)  # fmt: skip

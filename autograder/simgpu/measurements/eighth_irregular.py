"""The eighth set: graphs, odd sparse formats, meshes and collisions, simulated crowds, robots, tracks, recommenders."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, blocks_of, elements, square, striding, zeros

F32, F64, F16, I32, I64, I8, U8, U32 = (
    np.float32, np.float64, np.float16, np.int32, np.int64, np.int8, np.uint8, np.uint32,
)  # fmt: skip

FULL = 0xFFFFFFFF
TICK = np.dtype([("price", F32), ("size", I32), ("side", I8)], align=True)
SPRINGS = np.array(
    [[0, 1], [1, 0], [0, -1], [-1, 0], [1, 1], [1, -1], [-1, 1], [-1, -1], [0, 2], [2, 0], [0, -2], [-2, 0]], I8
)
RESTS = np.sqrt((SPRINGS.astype(F32) ** 2).sum(axis=1))
STIFFNESS = np.array(4 * [1.0] + 4 * [0.6] + 4 * [0.15], F32)
WINDOW = 16
CHUNK = 512
REACH = CHUNK + WINDOW - 1
FACTORS = 16
CARS = 128
SERVERS = 4


@cuda.jit(device=True)
def scrambled(x):
    x = uint32(x ^ (x >> uint32(16)))
    x = uint32(x * uint32(0x7FEB352D))
    x = uint32(x ^ (x >> uint32(15)))
    x = uint32(x * uint32(0x846CA68B))
    return uint32(x ^ (x >> uint32(16)))


@cuda.jit(device=True)
def xorshift(state):
    state = uint32(state ^ uint32(state << uint32(13)))
    state = uint32(state ^ (state >> uint32(17)))
    return uint32(state ^ uint32(state << uint32(5)))


@cuda.jit(device=True)
def uniform(bits):
    """In (0, 1]."""
    return (float32(bits >> uint32(8)) + float32(1.0)) * float32(1.0 / 16777216.0)


@cuda.jit
def jagged_diagonals(values, columns, starts, order, x, y):
    """Rows are sorted by their lengths, and stored diagonal after diagonal."""
    i = cuda.grid(1)
    if i >= order.size:
        return
    total = float32(0.0)
    k = 0
    while k + 1 < starts.size and i < starts[k + 1] - starts[k]:
        at = starts[k] + i
        total += values[at] * x[columns[at]]
        k += 1
    y[order[i]] = total


@cuda.jit
def ohlc_bars(ticks, starts, prices, mean_price, imbalance):
    """A warp for each bar: first, highest, lowest and last price."""
    bar = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // 32
    lane = cuda.threadIdx.x % 32
    if bar >= starts.size - 1:
        return
    first = starts[bar]
    end = starts[bar + 1]
    if first == end:
        return
    high = float32(-np.inf)
    low = float32(np.inf)
    money = float64(0.0)
    volume = int64(0)
    bought = int64(0)
    for t in range(first + lane, end, 32):
        tick = ticks[t]
        high = max(high, tick.price)
        low = min(low, tick.price)
        money += tick.price * tick.size
        volume += tick.size
        bought += tick.side * tick.size
    offset = 16
    while offset > 0:
        high = max(high, cuda.shfl_down_sync(FULL, high, offset))
        low = min(low, cuda.shfl_down_sync(FULL, low, offset))
        money += cuda.shfl_down_sync(FULL, money, offset)
        volume += cuda.shfl_down_sync(FULL, volume, offset)
        bought += cuda.shfl_down_sync(FULL, bought, offset)
        offset >>= 1
    if lane == 0:
        prices[0, bar] = ticks[first].price
        prices[1, bar] = high
        prices[2, bar] = low
        prices[3, bar] = ticks[end - 1].price
        mean_price[bar] = money / volume
        imbalance[bar] = bought


@cuda.jit
def embedding_bag_half(table, ids, offsets, weights, out):
    """Weighted mean of the rows of each bag: 64 threads for a bag, one for each column."""
    bag = cuda.blockIdx.x * 4 + cuda.threadIdx.x // 64
    d = cuda.threadIdx.x & 63
    if bag < offsets.size - 1:
        total = float32(0.0)
        weight_sum = float32(0.0)
        for k in range(offsets[bag], offsets[bag + 1]):
            weight = weights[k]
            total += weight * float32(table[ids[k], d])
            weight_sum += weight
        if weight_sum > 0:
            total /= weight_sum
        out[bag, d] = total


@cuda.jit
def adagrad_rows(weights, squares, ids, gradients, rate, epsilon):
    """Row-wise AdaGrad for the rows that a step has touched: a warp for each."""
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    d = cuda.threadIdx.x
    if row >= ids.shape[0]:
        return
    g = gradients[row, d]
    power = g * g
    for distance in (16, 8, 4, 2, 1):
        power += cuda.shfl_xor_sync(FULL, power, distance)
    target = ids[row]
    seen = squares[target] + power / 32
    cuda.syncwarp()
    if d == 0:
        squares[target] = seen
    weights[target, d] -= rate * g / (math.sqrt(seen) + epsilon)


@cuda.jit(device=True)
def has_edge(row_start, neighbours, a, b):
    low = row_start[a]
    high = row_start[a + 1]
    while low < high:
        middle = (low + high) >> 1
        if neighbours[middle] < b:
            low = middle + 1
        else:
            high = middle
    return low < row_start[a + 1] and neighbours[low] == b


@cuda.jit
def node2vec_steps(row_start, neighbours, walks, back, near, far, seed):
    """Walks with a bias that depends on the node before, by rejection."""
    start = cuda.grid(1)
    length, count = walks.shape
    if start >= count:
        return
    state = scrambled(uint32(uint32(start) + seed)) | uint32(1)
    before = -1
    here = int32(start)
    walks[0, start] = here
    greatest = max(back, max(near, far))
    for step in range(1, length):
        first = row_start[here]
        degree = row_start[here + 1] - first
        chosen = here
        for _ in range(12):
            state = xorshift(state)
            chosen = neighbours[first + int32(state % uint32(degree))]
            if before < 0:
                break
            if chosen == before:
                bias = back
            elif has_edge(row_start, neighbours, before, chosen):
                bias = near
            else:
                bias = far
            state = xorshift(state)
            if uniform(state) * greatest <= bias:
                break
        before = here
        here = chosen
        walks[step, start] = here


@cuda.jit(device=True)
def rows_before(row_ends, diagonal, nonzeros):
    """Where the path of the merge of row ends with 0, 1, 2, ... crosses a diagonal."""
    low = max(diagonal - nonzeros, 0)
    high = min(diagonal, row_ends.size)
    while low < high:
        pivot = (low + high) // 2
        if row_ends[pivot] <= diagonal - pivot - 1:
            low = pivot + 1
        else:
            high = pivot
    return low


@cuda.jit
def merge_path_csr(row_ends, columns, values, x, y, items):
    """As much work for each thread, however long the rows are."""
    thread = cuda.grid(1)
    everything = row_ends.size + values.size
    start = thread * items
    if start >= everything:
        return
    end = min(start + items, everything)
    row = rows_before(row_ends, start, values.size)
    at = start - row
    alone = False
    total = float64(0.0)
    for _ in range(end - start):
        if row < row_ends.size and at >= row_ends[row]:
            if alone:
                y[row] += total
            else:
                cuda.atomic.add(y, row, total)
            alone = True
            total = 0.0
            row += 1
        else:
            total += values[at] * x[columns[at]]
            at += 1
    if row < row_ends.size and total != 0:
        cuda.atomic.add(y, row, total)


@cuda.jit
def sweep_and_prune(boxes, hits, counts):
    """Boxes are sorted by their least x; each looks at those that begin before it ends."""
    i = cuda.grid(1)
    n = boxes.shape[1]
    if i < n:
        end = boxes[3, i]
        y_low, y_high = boxes[1, i], boxes[4, i]
        z_low, z_high = boxes[2, i], boxes[5, i]
        found = 0
        j = i + 1
        while j < n and boxes[0, j] <= end:
            if boxes[1, j] <= y_high and y_low <= boxes[4, j]:
                if boxes[2, j] <= z_high and z_low <= boxes[5, j]:
                    if found < hits.shape[0]:
                        hits[found, i] = j
                    found += 1
            j += 1
        counts[i] = found


@cuda.jit
def refit_boxes(triangles, corners, parent, left, right, boxes, visits):
    """From the leaves up; whoever comes second to a node goes on from there."""
    leaf = cuda.grid(1)
    if leaf >= triangles.shape[0]:
        return
    node = left.size + leaf
    for axis in range(3):
        a = corners[triangles[leaf, 0], axis]
        b = corners[triangles[leaf, 1], axis]
        c = corners[triangles[leaf, 2], axis]
        boxes[node, axis] = min(a, min(b, c))
        boxes[node, axis + 3] = max(a, max(b, c))
    node = parent[node]
    while node >= 0:
        cuda.threadfence()
        if cuda.atomic.inc(visits, node, 1) == 0:
            return
        cuda.threadfence()
        for axis in range(3):
            boxes[node, axis] = min(boxes[left[node], axis], boxes[right[node], axis])
            boxes[node, axis + 3] = max(boxes[left[node], axis + 3], boxes[right[node], axis + 3])
        node = parent[node]


@cuda.jit
def seir_on_contacts(row_start, contacts, closeness, state, days_left, new_state, new_days, rate, day):
    """Susceptible 0, exposed 1, infectious 2, recovered 3."""
    first = cuda.grid(1)
    stride = cuda.gridsize(1)
    for person in range(first, state.shape[0], stride):
        now = state[person]
        left = days_left[person]
        if now == 0:
            pressure = float32(0.0)
            for k in range(row_start[person], row_start[person + 1]):
                if state[contacts[k]] == 2:
                    pressure += closeness[k]
            if pressure > 0:
                bits = scrambled(uint32(scrambled(uint32(person)) + uint32(day)))
                if uniform(bits) < float32(1.0) - math.exp(-rate * pressure):
                    now = 1
                    left = 3 + (bits & 3)
        elif now < 3:
            if left > 0:
                left -= 1
            else:
                now += 1
                left = 7
        new_state[person] = now
        new_days[person] = left


@cuda.jit
def neo_hookean_forces(positions, tetrahedra, inverse_rest, volume, forces, mu, lam):
    """Each tetrahedron adds what its deformation makes it push its corners with."""
    e = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if e >= tetrahedra.shape[0]:
        return
    shape = cuda.local.array((3, 3), float32)
    rest = cuda.local.array((3, 3), float32)
    f = cuda.local.array((3, 3), float32)
    cofactor = cuda.local.array((3, 3), float32)
    corner = tetrahedra[e, 0]
    for k in range(3):
        other = tetrahedra[e, k + 1]
        for axis in range(3):
            shape[axis, k] = positions[other, axis] - positions[corner, axis]
            rest[k, axis] = inverse_rest[e, k, axis]
    for i in range(3):
        for j in range(3):
            f[i, j] = shape[i, 0] * rest[0, j] + shape[i, 1] * rest[1, j] + shape[i, 2] * rest[2, j]
    for i in range(3):
        i1 = (i + 1) % 3
        i2 = (i + 2) % 3
        for j in range(3):
            j1 = (j + 1) % 3
            j2 = (j + 2) % 3
            cofactor[i, j] = f[i1, j1] * f[i2, j2] - f[i1, j2] * f[i2, j1]
    det = max(f[0, 0] * cofactor[0, 0] + f[0, 1] * cofactor[0, 1] + f[0, 2] * cofactor[0, 2], float32(0.05))
    factor = (lam * math.log(det) - mu) / det
    for i in range(3):
        for j in range(3):
            f[i, j] = mu * f[i, j] + factor * cofactor[i, j]
    for i in range(3):
        balance = float32(0.0)
        for k in range(3):
            push = -volume[e] * (f[i, 0] * rest[k, 0] + f[i, 1] * rest[k, 1] + f[i, 2] * rest[k, 2])
            balance -= push
            cuda.atomic.add(forces, (tetrahedra[e, k + 1], i), push)
        cuda.atomic.add(forces, (corner, i), balance)


@cuda.jit(device=True)
def cubic_at(a, b, c, d, t):
    return ((a * t + b) * t + c) * t + d


@cuda.jit(device=True)
def root_between(a, b, c, d, low, high):
    """By bisection; 2 if there is none."""
    at_low = cubic_at(a, b, c, d, low)
    if low >= high or at_low * cubic_at(a, b, c, d, high) > 0:
        return 2.0
    for _ in range(32):
        middle = 0.5 * (low + high)
        at_middle = cubic_at(a, b, c, d, middle)
        if at_low * at_middle <= 0:
            high = middle
        else:
            low = middle
            at_low = at_middle
    return high


@cuda.jit(device=True)
def triple(u, v, w):
    return (
        u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0])
    )


@cuda.jit(device=True)
def dot3(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


@cuda.jit(device=True)
def is_above_triangle(u, v, w, du, dv, dw, t):
    """Whether a point at w of a triangle with sides u and v is within it, all of them moved on."""
    x = (u[0] + t * du[0], u[1] + t * du[1], u[2] + t * du[2])
    y = (v[0] + t * dv[0], v[1] + t * dv[1], v[2] + t * dv[2])
    z = (w[0] + t * dw[0], w[1] + t * dw[1], w[2] + t * dw[2])
    xx, xy, yy, zx, zy = dot3(x, x), dot3(x, y), dot3(y, y), dot3(z, x), dot3(z, y)
    det = xx * yy - xy * xy
    if det <= 1e-14:
        return False
    s = (zx * yy - zy * xy) / det
    r = (zy * xx - zx * xy) / det
    return s >= -1e-6 and r >= -1e-6 and s + r <= 1.000001


@cuda.jit(device=True)
def between(points, i, j):
    return (
        float64(points[i, 0] - points[j, 0]),
        float64(points[i, 1] - points[j, 1]),
        float64(points[i, 2] - points[j, 2]),
    )


@cuda.jit(device=True)
def less(u, v):
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]


@cuda.jit
def vertex_face_impact(before, after, candidates, times):
    """When a moving vertex first meets a moving triangle: roots of a cubic."""
    i = cuda.grid(1)
    if i >= candidates.shape[0]:
        return
    p, a, b, c = candidates[i, 0], candidates[i, 1], candidates[i, 2], candidates[i, 3]
    u = between(before, b, a)
    v = between(before, c, a)
    w = between(before, p, a)
    du = less(between(after, b, a), u)
    dv = less(between(after, c, a), v)
    dw = less(between(after, p, a), w)
    c0 = triple(u, v, w)
    c1 = triple(du, v, w) + triple(u, dv, w) + triple(u, v, dw)
    c2 = triple(u, dv, dw) + triple(du, v, dw) + triple(du, dv, w)
    c3 = triple(du, dv, dw)
    low = 1.0
    high = 1.0
    inside = c2 * c2 - 3 * c3 * c1
    if inside > 0 and abs(c3) > 1e-12:
        root = math.sqrt(inside)
        one = (-c2 - root) / (3 * c3)
        two = (-c2 + root) / (3 * c3)
        low = min(max(min(one, two), 0.0), 1.0)
        high = min(max(max(one, two), 0.0), 1.0)
    time = root_between(c3, c2, c1, c0, 0.0, low)
    if time > 1 or not is_above_triangle(u, v, w, du, dv, dw, time):
        time = root_between(c3, c2, c1, c0, low, high)
        if time > 1 or not is_above_triangle(u, v, w, du, dv, dw, time):
            time = root_between(c3, c2, c1, c0, high, 1.0)
            if time <= 1 and not is_above_triangle(u, v, w, du, dv, dw, time):
                time = 2.0
    times[i] = time


@cuda.jit
def waits_at_counters(arrival_gap, service, mean_wait, longest_wait, customers, seed):
    """A queue before four counters, with exponential gaps and Erlang services; one replication for each thread."""
    i = cuda.grid(1)
    if i >= mean_wait.size:
        return
    free_at = cuda.local.array(SERVERS, float32)
    for s in range(SERVERS):
        free_at[s] = 0
    state = scrambled(uint32(uint32(i) ^ uint32(seed))) | uint32(1)
    clock = float32(0.0)
    total = float32(0.0)
    longest = float32(0.0)
    for _ in range(customers):
        state = xorshift(state)
        clock -= arrival_gap[i] * math.log(uniform(state))
        best = 0
        for s in range(1, SERVERS):
            if free_at[s] < free_at[best]:
                best = s
        wait = max(free_at[best] - clock, float32(0.0))
        state = xorshift(state)
        first = uniform(state)
        state = xorshift(state)
        free_at[best] = clock + wait - service * math.log(first * uniform(state))
        total += wait
        longest = max(longest, wait)
    mean_wait[i] = total / float32(customers)
    longest_wait[i] = longest


@cuda.jit
def profile_of_windows(series, means, inverses, profile, apart):
    """The best correlation of each window with one that is some way off: a block takes 512 of the others."""
    tile = cuda.shared.array(REACH, float32)
    own = cuda.local.array(WINDOW, float32)
    n = means.size
    i = cuda.grid(1)
    base = cuda.blockIdx.y * CHUNK
    for k in range(cuda.threadIdx.x, REACH, cuda.blockDim.x):
        tile[k] = series[base + k] if base + k < series.size else float32(0.0)
    cuda.syncthreads()
    if i < n:
        for k in range(WINDOW):
            own[k] = series[i + k]
        mean = means[i] * WINDOW
        best = float32(-1.0)
        for j in range(min(CHUNK, n - base)):
            if abs(base + j - i) < apart:
                continue
            dot = float32(0.0)
            for k in range(WINDOW):
                dot += own[k] * tile[j + k]
            best = max(best, (dot - float32(mean * means[base + j])) * inverses[base + j])
        cuda.atomic.max(profile, i, best * inverses[i])


@cuda.jit
def cloth_springs(place, speed, new_place, new_speed, stiffness, damping, dt):
    """Twelve springs at each knot: to neighbours, to those across, and to those two further."""
    around = cuda.const.array_like(SPRINGS)
    rests = cuda.const.array_like(RESTS)
    strength = cuda.const.array_like(STIFFNESS)
    tile = cuda.shared.array((20, 20, 3), float32)
    h, w, _ = place.shape
    x0 = cuda.blockIdx.x * 16 - 2
    y0 = cuda.blockIdx.y * 16 - 2
    for t in range(cuda.threadIdx.y * 16 + cuda.threadIdx.x, 400, 256):
        y = y0 + t // 20
        x = x0 + t % 20
        if 0 <= y < h and 0 <= x < w:
            for axis in range(3):
                tile[t // 20, t % 20, axis] = place[y, x, axis]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x >= w or y >= h:
        return
    tx = cuda.threadIdx.x + 2
    ty = cuda.threadIdx.y + 2
    px, py, pz = tile[ty, tx, 0], tile[ty, tx, 1], tile[ty, tx, 2]
    fx = -damping * speed[y, x, 0]
    fy = -damping * speed[y, x, 1] - float32(9.81)
    fz = -damping * speed[y, x, 2]
    for s in range(12):
        dy = around[s, 0]
        dx = around[s, 1]
        if 0 <= y + dy < h and 0 <= x + dx < w:
            ex = tile[ty + dy, tx + dx, 0] - px
            ey = tile[ty + dy, tx + dx, 1] - py
            ez = tile[ty + dy, tx + dx, 2] - pz
            length = math.sqrt(ex * ex + ey * ey + ez * ez) + float32(1e-6)
            pull = stiffness * strength[s] * (length - rests[s]) / length
            fx += pull * ex
            fy += pull * ey
            fz += pull * ez
    pinned = y == 0 and (x == 0 or x == w - 1)
    step = float32(0.0) if pinned else dt
    vx = speed[y, x, 0] + step * fx
    vy = speed[y, x, 1] + step * fy
    vz = speed[y, x, 2] + step * fz
    new_speed[y, x, 0] = vx
    new_speed[y, x, 1] = vy
    new_speed[y, x, 2] = vz
    new_place[y, x, 0] = px + step * vx
    new_place[y, x, 1] = py + step * vy
    new_place[y, x, 2] = pz + step * vz


@cuda.jit
def scan_match_scores(field, beams, poses, scores, cells_per_metre):
    """A block for each pose that a robot may have: how well the ends of its beams fall on walls."""
    sums = cuda.shared.array(4, int32)
    pose = cuda.blockIdx.x
    turn = poses[pose, 2]
    c = math.cos(turn)
    s = math.sin(turn)
    score = int32(0)
    for k in range(cuda.threadIdx.x, beams.shape[0], cuda.blockDim.x):
        bx = beams[k, 0]
        by = beams[k, 1]
        column = int(math.floor((c * bx - s * by + poses[pose, 0]) * cells_per_metre))
        row = int(math.floor((s * bx + c * by + poses[pose, 1]) * cells_per_metre))
        if 0 <= row < field.shape[0] and 0 <= column < field.shape[1]:
            score += field[row, column]
    for step in (16, 8, 4, 2, 1):
        score += cuda.shfl_down_sync(FULL, score, step)
    if cuda.laneid == 0:
        sums[cuda.threadIdx.x >> 5] = score
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        scores[pose] = sums[0] + sums[1] + sums[2] + sums[3]


@cuda.jit
def nagel_schreckenberg(place, speed, passed, road, steps, fastest, dawdle):
    """A block for each ring road, a thread for each of its cars in their order."""
    where = cuda.shared.array(CARS, int32)
    car = cuda.threadIdx.x
    ring = cuda.blockIdx.x
    v = speed[ring, car]
    where[car] = place[ring, car]
    state = scrambled(uint32(ring * CARS + car + 1)) | uint32(1)
    count = 0
    cuda.syncthreads()
    for _ in range(steps):
        here = where[car]
        gap = where[(car + 1) % CARS] - here - 1
        if gap < 0:
            gap += road
        v = min(min(v + 1, fastest), gap)
        state = xorshift(state)
        if v > 0 and state < dawdle:
            v -= 1
        here += v
        over = 0
        if here >= road:
            here -= road
            over = 1
        count += cuda.syncthreads_count(over)
        where[car] = here
        cuda.syncthreads()
    place[ring, car] = where[car]
    speed[ring, car] = v
    if car == 0:
        passed[ring] = count


@cuda.jit
def als_normal_equations(first, items, ratings, factors, gram, right, alpha, ridge):
    """Of implicit feedback: a block for each user, a thread for each element of the matrix."""
    rows = cuda.shared.array((FACTORS, FACTORS), float32)
    trust = cuda.shared.array(FACTORS, float32)
    user = cuda.blockIdx.x
    a = cuda.threadIdx.y
    b = cuda.threadIdx.x
    end = first[user + 1]
    cell = ridge if a == b else float32(0.0)
    wanted = float32(0.0)
    for base in range(first[user], end, FACTORS):
        at = base + a
        rows[a, b] = factors[items[at], b] if at < end else float32(0.0)
        if b == 0:
            trust[a] = alpha * ratings[at] if at < end else float32(0.0)
        cuda.syncthreads()
        for k in range(FACTORS):
            cell += trust[k] * rows[k, a] * rows[k, b]
            if a == 0:
                wanted += (trust[k] + float32(1.0)) * rows[k, b]
        cuda.syncthreads()
    gram[user, a, b] = cell
    if a == 0:
        right[user, b] = wanted


@cuda.jit
def douglas_peucker(tracks, keep, tolerance):
    """A warp for each track; the shorter part is done first, so that the stack stays low."""
    begins = cuda.shared.array((4, 16), int32)
    ends = cuda.shared.array((4, 16), int32)
    warp = cuda.threadIdx.y
    lane = cuda.threadIdx.x
    track = cuda.blockIdx.x * 4 + warp
    if track >= tracks.shape[0]:
        return
    last = tracks.shape[1] - 1
    if lane == 0:
        begins[warp, 0] = 0
        ends[warp, 0] = last
        keep[track, 0] = 1
        keep[track, last] = 1
    depth = 1
    while depth > 0:
        cuda.syncwarp()
        depth -= 1
        a = begins[warp, depth]
        b = ends[warp, depth]
        ax = tracks[track, a, 0]
        ay = tracks[track, a, 1]
        dx = tracks[track, b, 0] - ax
        dy = tracks[track, b, 1] - ay
        length = dx * dx + dy * dy
        farthest = float32(-1.0)
        split = a
        for k in range(a + 1 + lane, b, 32):
            px = tracks[track, k, 0] - ax
            py = tracks[track, k, 1] - ay
            if length > 0:
                t = min(max((px * dx + py * dy) / length, float32(0.0)), float32(1.0))
                px -= t * dx
                py -= t * dy
            distance = px * px + py * py
            if distance > farthest:
                farthest = distance
                split = k
        step = 16
        while step >= 1:
            other = cuda.shfl_xor_sync(FULL, farthest, step)
            other_split = cuda.shfl_xor_sync(FULL, split, step)
            if other > farthest or (other == farthest and other_split < split):
                farthest = other
                split = other_split
            step //= 2
        cuda.syncwarp()
        if farthest > tolerance * tolerance:
            if lane == 0:
                keep[track, split] = 1
                longer = 0 if split - a >= b - split else 1
                begins[warp, depth + longer] = a
                ends[warp, depth + longer] = split
                begins[warp, depth + 1 - longer] = split
                ends[warp, depth + 1 - longer] = b
            depth += 2


@cuda.jit
def boruvka_lightest(edges, component, lightest):
    """The lightest edge that leaves each component, as its weight and its number in one."""
    e = cuda.grid(1)
    while e < edges.shape[1]:
        a = component[edges[0, e]]
        b = component[edges[1, e]]
        if a != b:
            key = (int64(edges[2, e]) << 32) | int64(e)
            cuda.atomic.min(lightest, a, key)
            cuda.atomic.min(lightest, b, key)
        e += cuda.gridsize(1)


def lists(r: Random, n: int, least: int, most: int) -> np.ndarray:
    """Where each of n lists begins, and the end of the last."""
    starts = zeros(n + 1, dtype=I32)
    np.cumsum(r.wholes(most + 1, n, I32, low=least), out=starts[1:])
    return starts


def jagged(r: Random, n: int) -> Arguments:
    lengths = np.sort(4 + (28 * r.reals(n) ** 2).astype(I32))[::-1]
    counts = n - np.searchsorted(lengths[::-1], np.arange(1, 33), side="left")
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(I32)
    columns = r.wholes(2000, int(starts[-1]))
    order = r.order(n)
    for k in range(32):
        columns[starts[k] : starts[k + 1]] += order[: counts[k]]
    columns %= n
    return r.reals(columns.size), columns, starts, order, r.reals(n), zeros(n)


def trades(r: Random, n: int) -> Arguments:
    starts = lists(r, n, 0, 200)
    some = zeros(min(int(starts[-1]), 1_000_003), dtype=TICK)
    some["price"] = 100 + np.cumsum(r.reals(some.size) - F32(0.5)) / 50
    some["size"] = r.wholes(500, some.size, low=1)
    some["side"] = 2 * r.wholes(2, some.size, I8) - 1
    return np.resize(some, int(starts[-1])), starts, zeros(4, n), zeros(n, dtype=F64), zeros(n, dtype=I64)


def bags(r: Random, n: int) -> Arguments:
    offsets = lists(r, n, 0, 40)
    known = min(20 * n, 4_000_000)
    count = int(offsets[-1])
    ids = (r.reals(count, F64) ** 2 * known).astype(I32)
    return r.reals((known, 64), F16), ids, offsets, r.reals(count), zeros(n, 64)


def touched_rows(r: Random, n: int) -> Arguments:
    ids = r.order(2 * n)[:n].copy()
    return r.reals((2 * n, 32)), r.reals(2 * n), ids, r.reals((n, 32)) - F32(0.5), F32(0.05), F32(1e-8)


def walkers(r: Random, n: int) -> Arguments:
    starts = lists(r, n, 1, 31)
    to = np.repeat(np.arange(n, dtype=I64) * n, np.diff(starts))
    to += r.indices(n, to.size, I64)
    to.sort()
    return starts, (to % n).astype(I32), zeros(8, n, dtype=I32), F32(0.5), F32(1.0), F32(2.0), U32(77)


def uneven_rows(r: Random, n: int) -> Arguments:
    lengths = (3 / (r.reals(n) + F32(0.02))).astype(I32)
    ends = np.cumsum(lengths, dtype=I32)
    columns = np.repeat(np.arange(n, dtype=I32), lengths)
    columns += r.wholes(5000, columns.size)
    columns %= n
    return ends, columns, r.reals(columns.size, F64), r.reals(n, F64), zeros(n, dtype=F64), 8


def flat_boxes(r: Random, n: int) -> Arguments:
    boxes = r.reals((6, n))
    boxes[0].sort()
    boxes[3] *= F32(min(400 / n, 0.5))
    boxes[4:] *= F32(0.2)
    boxes[3:] += boxes[:3]
    return boxes, zeros(8, n, dtype=I32), zeros(n, dtype=I32)


def tree_of_triangles(r: Random, n: int) -> Arguments:
    corners = r.reals((n // 2 + 64, 3)) + np.arange(n // 2 + 64, dtype=F32)[:, None] / F32(n)
    triangles = r.wholes(64, (n, 3)) + (np.arange(n, dtype=I32) // 2)[:, None]
    inner = np.arange(n - 1, dtype=I32)
    parent = (np.arange(2 * n - 1, dtype=I32) - 1) >> 1
    return triangles, corners, parent, 2 * inner + 1, 2 * inner + 2, zeros(2 * n - 1, 6), zeros(n - 1, dtype=U32)


def people(r: Random, n: int) -> Arguments:
    starts = lists(r, n, 2, 28)
    contacts = np.repeat(np.arange(n, dtype=I32), np.diff(starts))
    contacts += r.wholes(20_000, contacts.size) ** 2 // 20_000
    contacts %= n
    state = np.maximum(r.wholes(12, n, U8), 8) - U8(8)
    return (starts, contacts, r.reals(contacts.size), state, r.wholes(6, n, U8), zeros(n, dtype=U8),
            zeros(n, dtype=U8), F32(0.2), 31)  # fmt: skip


def jelly(r: Random, n: int) -> Arguments:
    """A block of cubes, each cut into six."""
    side = math.ceil((n / 6) ** (1 / 3))
    cubes = np.arange(-(-n // 6), dtype=I32)
    x, y, z = cubes % side, cubes // side % side, cubes // (side * side)
    strides = np.array([1, side + 1, (side + 1) ** 2], I32)
    base = x * strides[0] + y * strides[1] + z * strides[2]
    tetrahedra, inverse = zeros(cubes.size, 6, 4, dtype=I32), zeros(cubes.size, 6, 3, 3)
    for k, turn in enumerate([(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]):
        edges = np.cumsum(np.eye(3)[list(turn)], axis=0)
        tetrahedra[:, k, 0] = base
        tetrahedra[:, k, 1:] = base[:, None] + (edges @ strides).astype(I32)
        inverse[:, k] = np.linalg.inv(edges.T)
    at = np.arange((side + 1) ** 3)
    places = np.stack([at % (side + 1), at // (side + 1) % (side + 1), at // (side + 1) ** 2], axis=1).astype(F32)
    places += r.reals(places.shape) * F32(0.3)
    return (places, tetrahedra.reshape(-1, 4)[:n].copy(), inverse.reshape(-1, 3, 3)[:n].copy(),
            np.full(n, 1 / 6, F32), zeros(*places.shape), F32(3.0), F32(8.0))  # fmt: skip


def near_misses(r: Random, n: int) -> Arguments:
    before = r.reals((n + 200, 3))
    after = before + F32(1.5) * (r.reals(before.shape) - F32(0.5))
    candidates = r.wholes(50, (n, 4)) + np.array([0, 50, 100, 150], I32)
    candidates += np.arange(n, dtype=I32)[:, None]
    return before, after, candidates, zeros(n)


def wavy_series(r: Random, n: int) -> Arguments:
    at = np.arange(n + WINDOW - 1)
    series = np.sin(at / 5) + np.sin(at / 17.3) + r.reals(at.size)
    windows = np.lib.stride_tricks.sliding_window_view(series, WINDOW)
    means = windows.mean(axis=1)
    return (series.astype(F32), means.astype(F32), (1 / (windows.std(axis=1) * math.sqrt(WINDOW))).astype(F32),
            np.full(n, -2, F32), WINDOW // 2)  # fmt: skip


def hanging_cloth(r: Random, n: int) -> Arguments:
    place = r.reals((n, n, 3))
    place *= F32(0.2)
    place[:, :, 0] += np.arange(n, dtype=F32)
    place[:, :, 1] -= np.arange(n, dtype=F32)[:, None]
    return place, r.reals((n, n, 3)), zeros(n, n, 3), zeros(n, n, 3), F32(40.0), F32(0.1), F32(0.01)


def robot(r: Random, n: int) -> Arguments:
    angles = np.linspace(-2.3, 2.3, 720)
    far = 4 + 6 * r.reals(720)
    beams = np.stack([far * np.cos(angles), far * np.sin(angles)], axis=1).astype(F32)
    poses = r.reals((n, 3)) * np.array([2, 2, 0.6], F32) + np.array([20, 20, 0.4], F32)
    return r.wholes(256, (1000, 1000), U8), beams, poses, zeros(n, dtype=I32), F32(25.0)


def ring_roads(r: Random, n: int) -> Arguments:
    road = 1000
    place = np.sort(np.argsort(r.rng.random((min(n, 500), road)), axis=1)[:, :CARS], axis=1).astype(I32)
    return (np.resize(place, (n, CARS)), r.wholes(6, (n, CARS)), zeros(n, dtype=I32), road, 100, 5,
            U32(0.2 * 2**32))  # fmt: skip


def listeners(r: Random, n: int) -> Arguments:
    first = lists(r, n, 5, 75)
    count = int(first[-1])
    items = min(2 * n + 100, 200_000)
    return (first, r.wholes(items, count), r.reals(count) * F32(5), r.reals((items, FACTORS)) - F32(0.3),
            zeros(n, FACTORS, FACTORS), zeros(n, FACTORS), F32(4.0), F32(0.1))  # fmt: skip


def wandering(r: Random, n: int) -> Arguments:
    tracks = np.cumsum(np.cumsum(r.reals((min(n, 5000), 256, 2), F64) - 0.5, axis=1), axis=1).astype(F32)
    return np.resize(tracks, (n, 256, 2)), zeros(n, 256, dtype=U8), F32(0.5)


def road_network(r: Random, n: int) -> Arguments:
    nodes = n // 4
    edges = zeros(3, n, dtype=I32)
    edges[0] = np.arange(n) // 4
    edges[1] = (edges[0] + r.wholes(3000, n)) % nodes
    edges[2] = r.wholes(1_000_000, n)
    component = r.indices(nodes, nodes) // 3 * 3
    return edges, component, np.full(nodes, np.iinfo(I64).max)


IRREGULAR: tuple[Sized, ...] = (
    entry(jagged_diagonals, 128, elements, jagged, 400_000, 8_000_000),
    entry(ohlc_bars, 128, blocks_of(32), trades, 40_000, 900_000, small=20),
    entry(embedding_bag_half, 256, blocks_of(64), bags, 12_000, 600_000, small=20),
    entry(adagrad_rows, (32, 8), lambda n, arguments: (4 * n, 8), touched_rows, 150_000, 3_500_000, small=32),
    entry(node2vec_steps, 128, elements, walkers, 60_000, 1_000_000, small=300),
    entry(merge_path_csr, 128, lambda n, arguments: -(-(n + arguments[1].size) // 8), uneven_rows, 100_000, 3_000_000,
          small=500),
    entry(sweep_and_prune, 64, elements, flat_boxes, 100_000, 3_000_000, small=300),
    entry(refit_boxes, 256, elements, tree_of_triangles, 100_000, 4_000_000, small=600),
    entry(seir_on_contacts, 256, striding(256), people, 150_000, 4_000_000, small=800),
    entry(neo_hookean_forces, 128, elements, jelly, 200_000, 5_000_000, small=400),
    entry(vertex_face_impact, 128, elements, near_misses, 200_000, 6_000_000, small=300),
    entry(waits_at_counters, 64, elements,
          lambda r, n: (F32(0.3) + r.reals(n), F32(1.0), zeros(n), zeros(n), 100, 2024), 20_000, 1_500_000, small=128),
    entry(profile_of_windows, (128, 1), lambda n, arguments: (n, -(-n // CHUNK)), wavy_series, 6000, 30_000, small=140),
    entry(cloth_springs, (16, 16), square, hanging_cloth, 1000, 4096, small=40),
    entry(scan_match_scores, 128, blocks_of(128), robot, 8000, 150_000, small=8),
    entry(nagel_schreckenberg, CARS, blocks_of(CARS), ring_roads, 3000, 80_000, small=3),
    entry(als_normal_equations, (16, 16), lambda n, arguments: (16 * n, 16), listeners, 10_000, 300_000, small=6),
    entry(douglas_peucker, (32, 4), lambda n, arguments: (8 * n, 4), wandering, 4000, 100_000, small=8),
    entry(boruvka_lightest, 256, striding(256), road_network, 800_000, 20_000_000, small=3000),
)  # fmt: skip

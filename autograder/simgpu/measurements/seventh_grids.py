"""The seventh set: pictures and video, volumes, terrain, flows on lattices and grids, small matrices, tomography."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint8, uint32

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, cube, elements, square, zeros

F32, F64, F16, I32, I16, U8, U16, U32 = (
    np.float32, np.float64, np.float16, np.int32, np.int16, np.uint8, np.uint16, np.uint32,
)  # fmt: skip


def hexagonal_collisions() -> np.ndarray:
    """What two and three particles that meet turn into, for either outcome of a coin."""
    table = np.stack([np.arange(64), np.arange(64)]).astype(np.uint8)
    pairs = (0b001001, 0b010010, 0b100100)
    for k, pair in enumerate(pairs):
        table[0, pair] = pairs[(k + 1) % 3]
        table[1, pair] = pairs[(k + 2) % 3]
    table[:, 0b010101] = 0b101010
    table[:, 0b101010] = 0b010101
    return table


def directions_19() -> np.ndarray:
    """The rest, then pairs of opposite directions."""
    half = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
    found = [(0, 0, 0)]
    for x, y, z in half:
        found += [(x, y, z), (-x, -y, -z)]
    return np.array(found, np.int32)


def points_in_half_ball(count: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    points = rng.normal(size=(count, 3))
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    points *= (0.1 + 0.9 * (np.arange(count)[:, None] / count) ** 2)
    return points.astype(np.float32)


COLLISIONS = hexagonal_collisions()
VELOCITIES = directions_19()
WEIGHTS = np.array([1 / 3] + 6 * [1 / 18] + 12 * [1 / 36], np.float32)
SAMPLES = points_in_half_ball(16)
CUBE_EDGES = np.array(
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]], np.int8
)
RADIUS = 12
SIDE = 16 + 2 * RADIUS


@cuda.jit
def demosaic(raw, rgb, black, red_gain, blue_gain):
    """From a sensor with red at even rows and columns, blue at odd ones."""
    x, y = cuda.grid(2)
    h, w = raw.shape
    if x < 1 or y < 1 or x >= w - 1 or y >= h - 1:
        return
    here = int32(raw[y, x])
    beside = (int32(raw[y, x - 1]) + int32(raw[y, x + 1]) + 1) >> 1
    above = (int32(raw[y - 1, x]) + int32(raw[y + 1, x]) + 1) >> 1
    if (x + y) & 1:
        green = here
        if y & 1:
            red = above
            blue = beside
        else:
            red = beside
            blue = above
    else:
        corners = int32(raw[y - 1, x - 1]) + int32(raw[y - 1, x + 1])
        corners += int32(raw[y + 1, x - 1]) + int32(raw[y + 1, x + 1])
        green = (beside + above + 1) >> 1
        if y & 1:
            blue = here
            red = (corners + 2) >> 2
        else:
            red = here
            blue = (corners + 2) >> 2
    rgb[y, x, 0] = min(max(((red - black) * red_gain) >> 12, 0), 255)
    rgb[y, x, 1] = min(max((green - black) >> 4, 0), 255)
    rgb[y, x, 2] = min(max(((blue - black) * blue_gain) >> 12, 0), 255)


@cuda.jit
def costs_along_rows(cost, total, small_jump, big_jump):
    """Semi-global matching from left to right: a block for each row, a thread for each disparity."""
    row = cuda.blockIdx.x
    d = cuda.threadIdx.x
    path = cuda.shared.array(66, int32)
    lowest = cuda.shared.array(2, int32)
    path[d + 1] = 0
    if d == 0:
        path[0] = 30000
        path[65] = 30000
    best = int32(0)
    cuda.syncthreads()
    for x in range(cost.shape[1]):
        aside = min(path[d], path[d + 2]) + small_jump
        value = int32(min(min(path[d + 1], aside), best + big_jump) - best + cost[row, x, d])
        total[row, x, d] += value
        least = value
        step = 16
        while step > 0:
            least = min(least, cuda.shfl_xor_sync(0xFFFFFFFF, least, step))
            step //= 2
        cuda.syncthreads()
        path[d + 1] = value
        if d % 32 == 0:
            lowest[d // 32] = least
        cuda.syncthreads()
        best = min(lowest[0], lowest[1])


@cuda.jit(device=True)
def as_byte(value):
    return uint8(min(max(value >> 8, 0), 255))


@cuda.jit
def nv12_to_rgba(frame, pitch, width, height, out):
    """Four pixels for each thread, which share their colour."""
    x = 2 * (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    y = 2 * (cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
    if x + 1 >= width or y + 1 >= height:
        return
    chroma = pitch * height + (y // 2) * pitch + x
    u = int32(frame[chroma]) - 128
    v = int32(frame[chroma + 1]) - 128
    red = 409 * v + 128
    green = -100 * u - 208 * v + 128
    blue = 516 * u + 128
    for dy in range(2):
        for dx in range(2):
            luma = 298 * (int32(frame[(y + dy) * pitch + x + dx]) - 16)
            at = 4 * ((y + dy) * width + x + dx)
            out[at] = as_byte(luma + red)
            out[at + 1] = as_byte(luma + green)
            out[at + 2] = as_byte(luma + blue)
            out[at + 3] = 255


@cuda.jit
def block_motion_search(current, reference, motion, error):
    """Full search of seven pixels around: a block of threads for 16 by 16 pixels, a thread for each shift."""
    here = cuda.shared.array((16, 16), uint8)
    around = cuda.shared.array((30, 30), uint8)
    best = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x0 = cuda.blockIdx.x * 16
    y0 = cuda.blockIdx.y * 16
    h, w = current.shape
    here[ty, tx] = current[min(y0 + ty, h - 1), min(x0 + tx, w - 1)]
    for j in range(ty, 30, 16):
        for i in range(tx, 30, 16):
            around[j, i] = reference[min(max(y0 + j - 7, 0), h - 1), min(max(x0 + i - 7, 0), w - 1)]
    if tx == 0 and ty == 0:
        best[0] = 0x7FFFFFFF
    cuda.syncthreads()
    if tx < 15 and ty < 15:
        sad = int32(0)
        for j in range(16):
            for i in range(16):
                sad += abs(int32(here[j, i]) - int32(around[j + ty, i + tx]))
        cuda.atomic.min(best, 0, sad * 256 + ty * 16 + tx)
    cuda.syncthreads()
    if tx == 0 and ty == 0:
        found = best[0]
        motion[cuda.blockIdx.y, cuda.blockIdx.x, 0] = found % 16 - 7
        motion[cuda.blockIdx.y, cuda.blockIdx.x, 1] = (found // 16) % 16 - 7
        error[cuda.blockIdx.y, cuda.blockIdx.x] = found // 256


@cuda.jit
def background_mixture(frame, weight, mean, spread, foreground, rate):
    """Three normal distributions for each pixel of a fixed camera."""
    x, y = cuda.grid(2)
    if y >= frame.shape[0] or x >= frame.shape[1]:
        return
    value = float32(frame[y, x])
    hit = -1
    weakest = 0
    lowest = float32(2.0)
    for k in range(3):
        share = weight[k, y, x]
        if hit < 0:
            off = value - mean[k, y, x]
            if off * off < 6.25 * spread[k, y, x]:
                hit = k
                share += rate
                pull = rate / share
                mean[k, y, x] += pull * off
                spread[k, y, x] = max(spread[k, y, x] + pull * (off * off - spread[k, y, x]), 4.0)
        share *= 1 - rate
        weight[k, y, x] = share
        if share < lowest:
            lowest = share
            weakest = k
    if hit < 0:
        weight[weakest, y, x] = rate
        mean[weakest, y, x] = value
        spread[weakest, y, x] = 225.0
        foreground[y, x] = 255
    else:
        total = weight[0, y, x] + weight[1, y, x] + weight[2, y, x]
        foreground[y, x] = 0 if weight[hit, y, x] > 0.25 * total else 127


@cuda.jit(device=True)
def edge_stop(difference, kappa):
    return difference * math.exp(-(difference / kappa) ** 2)


@cuda.jit
def perona_malik_volume(volume, smoothed, kappa, step):
    x, y, z = cuda.grid(3)
    nz, ny, nx = volume.shape
    if x >= nx or y >= ny or z >= nz:
        return
    here = volume[z, y, x]
    change = float32(0.0)
    if x > 0:
        change += edge_stop(volume[z, y, x - 1] - here, kappa)
    if x < nx - 1:
        change += edge_stop(volume[z, y, x + 1] - here, kappa)
    if y > 0:
        change += edge_stop(volume[z, y - 1, x] - here, kappa)
    if y < ny - 1:
        change += edge_stop(volume[z, y + 1, x] - here, kappa)
    if z > 0:
        change += edge_stop(volume[z - 1, y, x] - here, kappa)
    if z < nz - 1:
        change += edge_stop(volume[z + 1, y, x] - here, kappa)
    smoothed[z, y, x] = here + step * change


@cuda.jit
def surface_net(volume, level, packed, found):
    """The point of a surface inside each cell that it crosses, in three bytes, and how many in each layer."""
    x, y, z = cuda.grid(3)
    nz, ny, nx = volume.shape
    edges = cuda.const.array_like(CUBE_EDGES)
    corner = cuda.local.array(8, float32)
    kind = 0
    if x < nx - 1 and y < ny - 1 and z < nz - 1:
        for c in range(8):
            corner[c] = volume[z + (c >> 2), y + ((c >> 1) & 1), x + (c & 1)] - level
            if corner[c] < 0:
                kind |= 1 << c
    crossed = kind != 0 and kind != 255
    votes = cuda.ballot_sync(0xFFFFFFFF, crossed)
    if cuda.laneid == 0 and votes != 0:
        cuda.atomic.add(found, z, cuda.popc(votes))
    if not crossed:
        return
    px = float32(0.0)
    py = float32(0.0)
    pz = float32(0.0)
    count = 0
    for e in range(12):
        a = int32(edges[e, 0])
        b = int32(edges[e, 1])
        if ((kind >> a) ^ (kind >> b)) & 1:
            t = corner[a] / (corner[a] - corner[b])
            px += (a & 1) + t * ((b & 1) - (a & 1))
            py += ((a >> 1) & 1) + t * (((b >> 1) & 1) - ((a >> 1) & 1))
            pz += (a >> 2) + t * ((b >> 2) - (a >> 2))
            count += 1
    scale = float32(255.0) / count
    packed[z, y, x] = uint32(px * scale) | (uint32(py * scale) << 8) | (uint32(pz * scale) << 16) | 0xFF000000


@cuda.jit
def hill_shading(height, shade, cell, azimuth, altitude):
    j, i = cuda.grid(2)
    rows, cols = height.shape
    if i < 1 or j < 1 or i >= rows - 1 or j >= cols - 1:
        return
    a, b, c = height[i - 1, j - 1], height[i - 1, j], height[i - 1, j + 1]
    d, f = height[i, j - 1], height[i, j + 1]
    g, h, k = height[i + 1, j - 1], height[i + 1, j], height[i + 1, j + 1]
    dzdx = ((c + 2 * f + k) - (a + 2 * d + g)) / (8 * cell)
    dzdy = ((g + 2 * h + k) - (a + 2 * b + c)) / (8 * cell)
    slope = math.atan(math.sqrt(dzdx**2 + dzdy**2))
    aspect = math.atan2(dzdy, -dzdx)
    zenith = math.pi / 2 - math.radians(altitude)
    turn = math.radians(360.0 - azimuth + 90.0)
    lit = math.cos(zenith) * math.cos(slope) + math.sin(zenith) * math.sin(slope) * math.cos(turn - aspect)
    shade[i, j] = int(255 * max(lit, 0.0))


@cuda.jit
def d3q19_pull_step(before, solid, after, omega):
    x, y, z = cuda.grid(3)
    nz, ny, nx = solid.shape
    if x >= nx or y >= ny or z >= nz:
        return
    c = cuda.const.array_like(VELOCITIES)
    w = cuda.const.array_like(WEIGHTS)
    f = cuda.local.array(19, float32)
    rho = 0.0
    ux = 0.0
    uy = 0.0
    uz = 0.0
    for k in range(19):
        value = before[k, (z - c[k, 2] + nz) % nz, (y - c[k, 1] + ny) % ny, (x - c[k, 0] + nx) % nx]
        f[k] = value
        rho += value
        ux += value * c[k, 0]
        uy += value * c[k, 1]
        uz += value * c[k, 2]
    if solid[z, y, x]:
        after[0, z, y, x] = f[0]
        for k in range(1, 19):
            after[((k - 1) ^ 1) + 1, z, y, x] = f[k]
        return
    ux /= rho
    uy /= rho
    uz /= rho
    square_of_speed = ux * ux + uy * uy + uz * uz
    for k in range(19):
        cu = c[k, 0] * ux + c[k, 1] * uy + c[k, 2] * uz
        equilibrium = w[k] * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * square_of_speed)
        after[k, z, y, x] = f[k] + omega * (equilibrium - f[k])


@cuda.jit
def hexagonal_gas(cells, moved, step):
    """Particles in six directions, of which bit 6 marks walls."""
    x, y = cuda.grid(2)
    h, w = cells.shape
    if x >= w or y >= h:
        return
    left = x - 1 if x > 0 else w - 1
    right = x + 1 if x < w - 1 else 0
    above = y - 1 if y > 0 else h - 1
    below = y + 1 if y < h - 1 else 0
    if y & 1:
        west, east = x, right
    else:
        west, east = left, x
    state = cells[y, left] & 1
    state |= cells[below, west] & 2
    state |= cells[below, east] & 4
    state |= cells[y, right] & 8
    state |= cells[above, east] & 16
    state |= cells[above, west] & 32
    if cells[y, x] & 64:
        state = ((state >> 3) | (state << 3)) & 63 | 64
    else:
        coin = uint32(x * 73856093) ^ uint32(y * 19349663) ^ uint32(step * 83492791)
        coin ^= coin >> uint32(13)
        table = cuda.const.array_like(COLLISIONS)
        state = table[coin & 1, state]
    moved[y, x] = state


@cuda.jit
def lenia_step(world, ring, later, middle, width, dt):
    """Continuous life on a torus, with what is around held in a tile."""
    tile = cuda.shared.array((SIDE, SIDE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x = cuda.blockIdx.x * 16 + tx
    y = cuda.blockIdx.y * 16 + ty
    h, w = world.shape
    for j in range(ty, SIDE, 16):
        from_y = (cuda.blockIdx.y * 16 + j - RADIUS + h) % h
        for i in range(tx, SIDE, 16):
            from_x = (cuda.blockIdx.x * 16 + i - RADIUS + w) % w
            tile[j, i] = world[from_y, from_x]
    cuda.syncthreads()
    if x >= w or y >= h:
        return
    felt = float32(0.0)
    for j in range(2 * RADIUS + 1):
        for i in range(2 * RADIUS + 1):
            felt += ring[j, i] * tile[ty + j, tx + i]
    off = (felt - middle) / width
    growth = 2.0 * math.exp(-0.5 * off * off) - 1.0
    later[y, x] = min(max(world[y, x] + dt * growth, 0.0), 1.0)


@cuda.jit(device=True)
def flux_through_side(d1, n1, t1, e1, d2, n2, t2, e2):
    v1 = n1 / d1
    v2 = n2 / d2
    p1 = max(0.4 * (e1 - 0.5 * (n1 * n1 + t1 * t1) / d1), 1e-10)
    p2 = max(0.4 * (e2 - 0.5 * (n2 * n2 + t2 * t2) / d2), 1e-10)
    fastest = max(abs(v1) + math.sqrt(1.4 * p1 / d1), abs(v2) + math.sqrt(1.4 * p2 / d2))
    mass = 0.5 * (n1 + n2 - fastest * (d2 - d1))
    along = 0.5 * (n1 * v1 + p1 + n2 * v2 + p2 - fastest * (n2 - n1))
    across = 0.5 * (t1 * v1 + t2 * v2 - fastest * (t2 - t1))
    energy = 0.5 * ((e1 + p1) * v1 + (e2 + p2) * v2 - fastest * (e2 - e1))
    return mass, along, across, energy


@cuda.jit
def euler_rusanov(q, new, ratio):
    """A step of finite volumes for a gas in two dimensions."""
    j, i = cuda.grid(2)
    rows = q.shape[1]
    cols = q.shape[2]
    if i >= rows or j >= cols:
        return
    w = max(j - 1, 0)
    e = min(j + 1, cols - 1)
    s = max(i - 1, 0)
    n = min(i + 1, rows - 1)
    d, mx, my, en = q[0, i, j], q[1, i, j], q[2, i, j], q[3, i, j]
    a0, a1, a2, a3 = flux_through_side(q[0, i, w], q[1, i, w], q[2, i, w], q[3, i, w], d, mx, my, en)
    b0, b1, b2, b3 = flux_through_side(d, mx, my, en, q[0, i, e], q[1, i, e], q[2, i, e], q[3, i, e])
    c0, c2, c1, c3 = flux_through_side(q[0, s, j], q[2, s, j], q[1, s, j], q[3, s, j], d, my, mx, en)
    f0, f2, f1, f3 = flux_through_side(d, my, mx, en, q[0, n, j], q[2, n, j], q[1, n, j], q[3, n, j])
    new[0, i, j] = d - ratio * (b0 - a0 + f0 - c0)
    new[1, i, j] = mx - ratio * (b1 - a1 + f1 - c1)
    new[2, i, j] = my - ratio * (b2 - a2 + f2 - c2)
    new[3, i, j] = en - ratio * (b3 - a3 + f3 - c3)


@cuda.jit
def depthwise_3x3_half(features, weights, bias, out):
    """Each channel with its own weights, channels last, in half precision."""
    c, x, y = cuda.grid(3)
    h, w, channels = features.shape
    if c >= channels or x >= w or y >= h:
        return
    acc = bias[c]
    for dy in range(3):
        row = y + dy - 1
        if row < 0 or row >= h:
            continue
        for dx in range(3):
            col = x + dx - 1
            if 0 <= col < w:
                acc += float32(features[row, col, c]) * float32(weights[dy, dx, c])
    out[y, x, c] = min(max(acc, float32(0.0)), float32(6.0))


@cuda.jit(device=True)
def lanczos(x):
    if x == 0.0:
        return 1.0
    if abs(x) >= 3.0:
        return 0.0
    px = math.pi * x
    return 3.0 * math.sin(px) * math.sin(px / 3.0) / (px * px)


@cuda.jit
def shrink_rows_lanczos(source, target):
    x, y = cuda.grid(2)
    if y >= target.shape[0] or x >= target.shape[1]:
        return
    scale = source.shape[1] / target.shape[1]
    centre = (x + 0.5) * scale - 0.5
    first = max(int(math.ceil(centre - 3.0 * scale)), 0)
    last = min(int(math.floor(centre + 3.0 * scale)), source.shape[1] - 1)
    total = 0.0
    norm = 0.0
    for i in range(first, last + 1):
        weight = lanczos((i - centre) / scale)
        total += weight * source[y, i]
        norm += weight
    target[y, x] = min(max(round(total / norm), 0), 255)


@cuda.jit
def factor_with_pivots(matrices, factors, pivots):
    """LU of matrices of 32 by 32: a warp for each, a row for each lane."""
    tile = cuda.shared.array((4, 32, 33), float32)
    lane = cuda.threadIdx.x
    own = cuda.threadIdx.y
    m = cuda.blockIdx.y * 4 + own
    if m >= matrices.shape[0]:
        return
    for r in range(32):
        tile[own, r, lane] = matrices[m, r, lane]
    cuda.syncwarp()
    for k in range(32):
        size = abs(tile[own, lane, k]) if lane >= k else float32(-1.0)
        row = int32(lane)
        step = 16
        while step > 0:
            other = cuda.shfl_xor_sync(0xFFFFFFFF, size, step)
            other_row = cuda.shfl_xor_sync(0xFFFFFFFF, row, step)
            if other > size or (other == size and other_row < row):
                size = other
                row = other_row
            step >>= 1
        cuda.syncwarp()
        if row != k:
            kept = tile[own, k, lane]
            tile[own, k, lane] = tile[own, row, lane]
            tile[own, row, lane] = kept
        if lane == 0:
            pivots[m, k] = row
        cuda.syncwarp()
        if lane > k and size > 0:
            factor = tile[own, lane, k] / tile[own, k, k]
            tile[own, lane, k] = factor
            for c in range(k + 1, 32):
                tile[own, lane, c] -= factor * tile[own, k, c]
        cuda.syncwarp()
    for r in range(32):
        factors[m, r, lane] = tile[own, r, lane]


@cuda.jit
def kalman_tracks(state, covariance, measured, surprise, dt, push, error):
    """Place and speed in the plane, of which the place is measured."""
    i = cuda.grid(1)
    if i >= state.shape[0]:
        return
    f = cuda.local.array((4, 4), float64)
    fp = cuda.local.array((4, 4), float64)
    p = cuda.local.array((4, 4), float64)
    gain = cuda.local.array((4, 2), float64)
    x = cuda.local.array(4, float64)
    for a in range(4):
        for b in range(4):
            f[a, b] = 1.0 if a == b else 0.0
    f[0, 2] = dt
    f[1, 3] = dt
    for a in range(4):
        x[a] = 0.0
        for b in range(4):
            x[a] += f[a, b] * state[i, b]
            total = 0.0
            for c in range(4):
                total += f[a, c] * covariance[i, c, b]
            fp[a, b] = total
    for a in range(4):
        for b in range(4):
            total = 0.0
            for c in range(4):
                total += fp[a, c] * f[b, c]
            p[a, b] = total + push if a == b else total
    s00 = p[0, 0] + error
    s11 = p[1, 1] + error
    s01 = p[0, 1]
    det = s00 * s11 - s01 * s01
    off_x = measured[i, 0] - x[0]
    off_y = measured[i, 1] - x[1]
    surprise[i] = (s11 * off_x * off_x - 2 * s01 * off_x * off_y + s00 * off_y * off_y) / det
    for a in range(4):
        gain[a, 0] = (p[a, 0] * s11 - p[a, 1] * s01) / det
        gain[a, 1] = (p[a, 1] * s00 - p[a, 0] * s01) / det
        state[i, a] = x[a] + gain[a, 0] * off_x + gain[a, 1] * off_y
    for a in range(4):
        for b in range(4):
            covariance[i, a, b] = p[a, b] - gain[a, 0] * p[0, b] - gain[a, 1] * p[1, b]


@cuda.jit
def screen_occlusion(depth, normals, light, radius, focus):
    """How open each pixel is, from sixteen points around it that are held against the depths."""
    x, y = cuda.grid(2)
    h, w = depth.shape
    if x >= w or y >= h:
        return
    samples = cuda.const.array_like(SAMPLES)
    half_w = float32(w) * float32(0.5)
    half_h = float32(h) * float32(0.5)
    z = depth[y, x]
    px = (float32(x) - half_w) * z / focus
    py = (float32(y) - half_h) * z / focus
    nx, ny, nz = normals[y, x, 0], normals[y, x, 1], normals[y, x, 2]
    mixed = uint32(x * 1973 + y * 9277) ^ uint32(0x9E3779B9)
    mixed = (mixed ^ (mixed >> uint32(15))) * uint32(0x2C1B3C6D)
    angle = float32((mixed >> uint32(8)) & uint32(0xFFFF)) * float32(6.2831853 / 65536)
    cs = math.cos(angle)
    sn = math.sin(angle)
    hidden = float32(0.0)
    for k in range(16):
        sx = samples[k, 0] * cs - samples[k, 1] * sn
        sy = samples[k, 0] * sn + samples[k, 1] * cs
        sz = samples[k, 2]
        reach = radius if sx * nx + sy * ny + sz * nz >= 0 else -radius
        qz = z + reach * sz
        if qz <= float32(0.01):
            continue
        u = int32((px + reach * sx) * focus / qz + half_w)
        v = int32((py + reach * sy) * focus / qz + half_h)
        if u < 0 or v < 0 or u >= w or v >= h:
            continue
        there = depth[v, u]
        if there < qz - float32(0.02):
            near = radius / max(abs(z - there), float32(1e-4))
            hidden += min(near, float32(1.0))
    light[y, x] = float32(1.0) - hidden / float32(16.0)


@cuda.jit
def fan_beam_back(sinogram, cosines, sines, image, source_distance, spacing):
    x, y = cuda.grid(2)
    h, w = image.shape
    if x >= w or y >= h:
        return
    angles, detectors = sinogram.shape
    px = float32(x) - float32(w - 1) / float32(2)
    py = float32(y) - float32(h - 1) / float32(2)
    total = float32(0)
    for a in range(angles):
        along = px * cosines[a] + py * sines[a]
        across = py * cosines[a] - px * sines[a]
        nearness = source_distance / (source_distance - along)
        at = across * nearness / spacing + float32(detectors - 1) / float32(2)
        low = math.floor(at)
        k = int32(low)
        if 0 <= k < detectors - 1:
            part = at - low
            ray = (1 - part) * sinogram[a, k] + part * sinogram[a, k + 1]
            total += nearness * nearness * ray
    image[y, x] = total * math.pi / angles


@cuda.jit
def rays_through_pixels(image, angles, sinogram):
    """Parallel rays through a square, with the length inside each pixel that they cross."""
    d, a = cuda.grid(2)
    if a >= sinogram.shape[0] or d >= sinogram.shape[1]:
        return
    n = image.shape[0]
    cx = math.cos(angles[a])
    cy = math.sin(angles[a])
    shift = d + 0.5 - sinogram.shape[1] / 2
    x = n / 2 - shift * cy
    y = n / 2 + shift * cx
    enter = -2.0 * n
    leave = 2.0 * n
    if abs(cx) > 1e-9:
        t0 = -x / cx
        t1 = (n - x) / cx
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    elif x < 0 or x >= n:
        leave = enter
    if abs(cy) > 1e-9:
        t0 = -y / cy
        t1 = (n - y) / cy
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    elif y < 0 or y >= n:
        leave = enter
    total = 0.0
    if enter < leave:
        i = min(max(int(math.floor(x + enter * cx)), 0), n - 1)
        j = min(max(int(math.floor(y + enter * cy)), 0), n - 1)
        step_x = 1 if cx > 0 else -1
        step_y = 1 if cy > 0 else -1
        each_x = 1 / abs(cx) if abs(cx) > 1e-9 else 1e30
        each_y = 1 / abs(cy) if abs(cy) > 1e-9 else 1e30
        next_x = ((i + 1 if cx > 0 else i) - x) / cx if abs(cx) > 1e-9 else 1e30
        next_y = ((j + 1 if cy > 0 else j) - y) / cy if abs(cy) > 1e-9 else 1e30
        t = enter
        while 0 <= i < n and 0 <= j < n:
            if next_x < next_y:
                total += (next_x - t) * image[j, i]
                t = next_x
                next_x += each_x
                i += step_x
            else:
                total += (next_y - t) * image[j, i]
                t = next_y
                next_y += each_y
                j += step_y
    sinogram[a, d] = total


def half_square(n: int, arguments: Arguments) -> tuple[int, int]:
    return n // 2, n // 2


def shrunk(n: int, arguments: Arguments) -> tuple[int, int]:
    return n * 2 // 5, n


def hills(r: Random, n: int) -> np.ndarray:
    at = np.arange(n, dtype=np.float32)
    land: np.ndarray = 40 * np.sin(at / 61)[:, None] * np.cos(at / 83)[None, :] + 15 * np.sin(at / 23)[None, :]
    land += r.reals((n, n))
    return land


def layers_of_costs(r: Random, n: int) -> Arguments:
    return r.wholes(64, (n // 2, n, 64), U8), zeros(n // 2, n, 64, dtype=U16), I32(8), I32(60)


def frames(r: Random, n: int) -> Arguments:
    return r.wholes(256, n * n * 3 // 2, U8), n, n, n, zeros(n * n * 4, dtype=U8)


def moved_frames(r: Random, n: int) -> Arguments:
    before = r.wholes(256, (n, n), U8)
    after = np.roll(before, (3, -2), (0, 1)) ^ r.wholes(8, (n, n), U8)
    return after, before, zeros(n // 16, n // 16, 2, dtype=I16), zeros(n // 16, n // 16, dtype=I32)


def watched(r: Random, n: int) -> Arguments:
    weight = r.reals((3, n, n)) * F32(0.5) + F32(0.1)
    mean = r.reals((3, n, n)) * F32(255)
    spread = r.reals((3, n, n)) * F32(400) + F32(20)
    return r.wholes(256, (n, n), U8), weight, mean, spread, zeros(n, n, dtype=U8), F32(0.02)


def scanned(r: Random, n: int) -> Arguments:
    turn = np.arange(40) * (2 * np.pi / 40)
    x, y, z = turn[None, None, :], turn[None, :, None], turn[:, None, None]
    cell = 800 * (np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x))
    cell = (cell + r.reals((40, 40, 40)) * 20).astype(I16)
    times = -(-n // 40)
    volume = np.ascontiguousarray(np.tile(cell, (times, times, times))[:n, :n, :n])
    return volume, 150, zeros(n, n, n, dtype=U32), zeros(n + 1, dtype=I32)


def streams(r: Random, n: int) -> Arguments:
    before = r.reals((19, n, n, n))
    before *= F32(0.2)
    before += F32(0.9)
    before *= WEIGHTS[:, None, None, None]
    solid = (r.wholes(10, (n, n, n), U8) == 0).astype(U8)
    return before, solid, zeros(19, n, n, n), 1.2


def gas_cells(r: Random, n: int) -> Arguments:
    cells = r.wholes(64, (n, n), U8)
    cells[n // 3 : n // 3 + 4, : n // 2] = 64
    return cells, zeros(n, n, dtype=U8), 17


def living(r: Random, n: int) -> Arguments:
    at = np.arange(-RADIUS, RADIUS + 1)
    far = np.sqrt(at[:, None] ** 2 + at[None, :] ** 2) / RADIUS
    ring = np.where(far < 1, np.exp(-(((far - 0.5) / 0.15) ** 2) / 2), 0)
    return r.reals((n, n)), (ring / ring.sum()).astype(F32), zeros(n, n), 0.45, 0.06, F32(0.1)


def gas(r: Random, n: int) -> Arguments:
    q = r.reals((4, n, n), F64)
    q[0] += 1.0
    q[1] -= 0.5
    q[2] -= 0.5
    q[3] += 2.5
    return q, zeros(4, n, n, dtype=F64), 0.1


def tracks(r: Random, n: int) -> Arguments:
    covariance = zeros(n, 4, 4, dtype=F64)
    for a in range(4):
        covariance[:, a, a] = 0.5 + r.reals(n, F64)
    return r.reals((n, 4), F64), covariance, r.reals((n, 2), F64), zeros(n, dtype=F64), 0.1, 0.01, 0.25


def scene(r: Random, n: int) -> Arguments:
    at = np.arange(n, dtype=np.float32)
    depth = F32(5) + np.sin(at / 29)[:, None] + np.cos(at / 43)[None, :] + r.reals((n, n)) * F32(0.1)
    normals = r.reals((n, n, 3)) - F32(0.5)
    normals[:, :, 2] -= F32(1)
    return depth, normals, zeros(n, n), F32(0.4), F32(0.9 * n)


def fan(r: Random, n: int) -> Arguments:
    angles = np.arange(180) * (2 * np.pi / 180)
    return (r.reals((180, n * 3 // 2)), np.cos(angles).astype(F32), np.sin(angles).astype(F32),
            zeros(n, n), F32(2 * n), F32(1.5))  # fmt: skip


GRIDS: tuple[Sized, ...] = (
    entry(demosaic, (32, 8), square,
          lambda r, n: (r.wholes(4096, (n, n), U16), zeros(n, n, 3, dtype=U8), 64, 480, 390), 2500, 11_000, small=50),
    entry(costs_along_rows, 64, lambda n, arguments: n // 2 * 64, layers_of_costs, 240, 1800, small=24),
    entry(nv12_to_rgba, (16, 16), half_square, frames, 2560, 12_000, small=64),
    entry(block_motion_search, (16, 16), square, moved_frames, 640, 2560, small=32),
    entry(background_mixture, (32, 8), square, watched, 1000, 4400, small=50),
    entry(perona_malik_volume, (32, 4, 2), cube,
          lambda r, n: (r.reals((n, n, n)), zeros(n, n, n), F32(0.3), F32(0.14)), 160, 420, small=14),
    entry(surface_net, (32, 4, 2), cube, scanned, 150, 450, small=16),
    entry(hill_shading, (16, 16), square,
          lambda r, n: (hills(r, n), zeros(n, n, dtype=U8), 25.0, 315.0, 45.0), 1200, 8000, small=50),
    entry(d3q19_pull_step, (64, 2, 2), cube, streams, 64, 172, small=12),
    entry(hexagonal_gas, (32, 8), square, gas_cells, 2500, 12_000, small=50),
    entry(lenia_step, (16, 16), square, living, 600, 3000, small=24),
    entry(euler_rusanov, (32, 8), square, gas, 700, 3000, small=40),
    entry(depthwise_3x3_half, (64, 4, 1), lambda n, arguments: (64, n, n),
          lambda r, n: (r.reals((n, n, 64), F16), r.reals((3, 3, 64), F16), r.reals(64), zeros(n, n, 64, dtype=F16)),
          224, 1200, small=7),
    entry(shrink_rows_lanczos, (16, 16), shrunk,
          lambda r, n: (r.wholes(256, (n, n), U8), zeros(n, n * 2 // 5, dtype=U8)), 600, 3000, small=50),
    entry(factor_with_pivots, (32, 4), lambda n, arguments: (32, n),
          lambda r, n: (r.reals((n, 32, 32)), zeros(n, 32, 32), zeros(n, 32, dtype=I32)), 4000, 80_000, small=10),
    entry(kalman_tracks, 128, elements, tracks, 100_000, 3_000_000, small=1000),
    entry(screen_occlusion, (16, 16), square, scene, 1000, 5000, small=50),
    entry(fan_beam_back, (16, 16), square, fan, 300, 2048, small=24),
    entry(rays_through_pixels, (32, 4), lambda n, arguments: (n, 180),
          lambda r, n: (r.reals((n, n)), np.arange(180) * (np.pi / 180), zeros(180, n)), 256, 1500, small=16),
)  # fmt: skip

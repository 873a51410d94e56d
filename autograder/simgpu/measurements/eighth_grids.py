"""The eighth set: colours, features and codes of pictures, volumes, waves, crystals, traffic, terrain, layers, tables."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int16, int32, int64, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, cube, elements, square, striding, zeros

F32, F64, F16, I8, I16, I32, U8, U16, U32, U64 = (
    np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64,
)  # fmt: skip
REGION = np.dtype([("x0", F32), ("y0", F32), ("x1", F32), ("y1", F32), ("picture", I32)], align=True)


def bell(taps: int, width: float) -> np.ndarray:
    at = np.arange(taps) - taps // 2
    weights = np.exp(-(at**2) / (2 * width * width))
    found: np.ndarray = (weights / weights.sum()).astype(np.float32)
    return found


def bins_of_codes() -> np.ndarray:
    """A bin for each code of eight neighbours with at most two changes around the circle, and one for all others."""
    found = np.full(256, 58, np.uint8)
    used = 0
    for code in range(256):
        turned = (code >> 1) | ((code & 1) << 7)
        if (code ^ turned).bit_count() <= 2:
            found[code] = used
            used += 1
    return found


CIRCLE = np.array(
    [[0, -3], [1, -3], [2, -2], [3, -1], [3, 0], [3, 1], [2, 2], [1, 3],
     [0, 3], [-1, 3], [-2, 2], [-3, 1], [-3, 0], [-3, -1], [-2, -2], [-1, -3]], np.int32
)  # fmt: skip
WINDOW = bell(11, 1.5)
BINS_OF_CODES = bins_of_codes()
MULTIPLIERS = np.array([13107, 8066, 5243], np.int32)
TURNS = 30
DEPTH = 128
WORDS = 32
LENGTHS = WORDS + 1
CELLS = 128
CELLS_WITH_EDGES = CELLS + 6
SIDES = CELLS + 1
PARTS = 7


@cuda.jit(device=True)
def linear_light(code):
    c = float32(code) / float32(255.0)
    if c <= float32(0.04045):
        return c / float32(12.92)
    return math.pow((c + float32(0.055)) / float32(1.055), float32(2.4))


@cuda.jit(device=True)
def lab_curve(t):
    if t > float32(0.008856452):
        return math.pow(t, float32(1.0 / 3.0))
    return t * float32(7.787037) + float32(16.0 / 116.0)


@cuda.jit
def lab_from_srgb(rgb, lab):
    """CIE L*a*b* under D65."""
    for i in range(cuda.grid(1), rgb.shape[0], cuda.gridsize(1)):
        r = linear_light(rgb[i, 0])
        g = linear_light(rgb[i, 1])
        b = linear_light(rgb[i, 2])
        x = lab_curve((float32(0.4124564) * r + float32(0.3575761) * g + float32(0.1804375) * b) / float32(0.95047))
        y = lab_curve(float32(0.2126729) * r + float32(0.7151522) * g + float32(0.0721750) * b)
        z = lab_curve((float32(0.0193339) * r + float32(0.1191920) * g + float32(0.9503041) * b) / float32(1.08883))
        lab[i, 0] = float32(116.0) * y - float32(16.0)
        lab[i, 1] = float32(500.0) * (x - y)
        lab[i, 2] = float32(200.0) * (y - z)


@cuda.jit
def ssim_map(first, second, likeness, c1, c2):
    """Structural similarity in windows of 11 by 11 pixels, edges repeated."""
    a = cuda.shared.array((26, 26), float32)
    b = cuda.shared.array((26, 26), float32)
    window = cuda.const.array_like(WINDOW)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    h, w = first.shape
    left = cuda.blockIdx.x * 16 - 5
    top = cuda.blockIdx.y * 16 - 5
    for k in range(ty * 16 + tx, 26 * 26, 256):
        row = k // 26
        col = k % 26
        gy = min(max(top + row, 0), h - 1)
        gx = min(max(left + col, 0), w - 1)
        a[row, col] = first[gy, gx]
        b[row, col] = second[gy, gx]
    cuda.syncthreads()
    if x < w and y < h:
        ma = float32(0)
        mb = float32(0)
        aa = float32(0)
        bb = float32(0)
        ab = float32(0)
        for dy in range(11):
            for dx in range(11):
                weight = window[dy] * window[dx]
                p = a[ty + dy, tx + dx]
                q = b[ty + dy, tx + dx]
                ma += weight * p
                mb += weight * q
                aa += weight * p * p
                bb += weight * q * q
                ab += weight * p * q
        va = aa - ma * ma
        vb = bb - mb * mb
        cov = ab - ma * mb
        likeness[y, x] = (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))


@cuda.jit
def integer_transform_4x4(residual, levels, shift, dead_zone):
    """Forward transform of a video encoder and its quantizer: a thread for each block of 4 by 4."""
    across = residual.shape[1] // 4
    count = across * (residual.shape[0] // 4)
    multipliers = cuda.const.array_like(MULTIPLIERS)
    t = cuda.local.array((4, 4), int32)
    block = cuda.grid(1)
    while block < count:
        y = block // across * 4
        x = block % across * 4
        for r in range(4):
            p0 = int32(residual[y + r, x])
            p1 = int32(residual[y + r, x + 1])
            p2 = int32(residual[y + r, x + 2])
            p3 = int32(residual[y + r, x + 3])
            s0 = p0 + p3
            s1 = p1 + p2
            d0 = p0 - p3
            d1 = p1 - p2
            t[r, 0] = s0 + s1
            t[r, 1] = (d0 << 1) + d1
            t[r, 2] = s0 - s1
            t[r, 3] = d0 - (d1 << 1)
        for c in range(4):
            s0 = t[0, c] + t[3, c]
            s1 = t[1, c] + t[2, c]
            d0 = t[0, c] - t[3, c]
            d1 = t[1, c] - t[2, c]
            t[0, c] = s0 + s1
            t[1, c] = (d0 << 1) + d1
            t[2, c] = s0 - s1
            t[3, c] = d0 - (d1 << 1)
        for r in range(4):
            for c in range(4):
                size = (abs(t[r, c]) * multipliers[(r & 1) + (c & 1)] + dead_zone) >> shift
                levels[y + r, x + c] = size if t[r, c] >= 0 else -size
        block += cuda.gridsize(1)


@cuda.jit(device=True)
def nine_in_a_row(mask):
    """Whether nine neighbours of the sixteen bits are set, the last being next to the first."""
    twice = mask | (mask << 16)
    run = twice & (twice >> 1)
    run &= run >> 2
    run &= run >> 4
    return (run & (twice >> 8)) != 0


@cuda.jit
def fast_corners(image, scores, threshold):
    """FAST-9: an arc of nine of the sixteen pixels around that are all brighter or all darker."""
    x, y = cuda.grid(2)
    h, w = image.shape
    if x < 3 or y < 3 or x >= w - 3 or y >= h - 3:
        return
    here = int32(image[y, x])
    high = here + threshold
    low = here - threshold
    n, s, e, o = int32(image[y - 3, x]), int32(image[y + 3, x]), int32(image[y, x + 3]), int32(image[y, x - 3])
    above = (n > high) + (s > high) + (e > high) + (o > high)
    below = (n < low) + (s < low) + (e < low) + (o < low)
    if above < 2 and below < 2:
        return
    circle = cuda.const.array_like(CIRCLE)
    brighter = int32(0)
    darker = int32(0)
    excess = int32(0)
    lack = int32(0)
    for k in range(16):
        value = int32(image[y + circle[k, 1], x + circle[k, 0]])
        if value > high:
            brighter |= 1 << k
            excess += value - high
        elif value < low:
            darker |= 1 << k
            lack += low - value
    if nine_in_a_row(int64(brighter)):
        scores[y, x] = excess
    elif nine_in_a_row(int64(darker)):
        scores[y, x] = lack


@cuda.jit
def orb_descriptors(image, places, tests, descriptors, facing):
    """A warp for each point: where its disc is heavier, then 256 comparisons turned that way."""
    lane = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if i >= places.shape[0]:
        return
    x = places[i, 0]
    y = places[i, 1]
    dx = lane - 15
    to_right = int32(0)
    to_bottom = int32(0)
    if lane < 31:
        for dy in range(-15, 16):
            if dx * dx + dy * dy <= 240:
                value = int32(image[y + dy, x + dx])
                to_right += dx * value
                to_bottom += dy * value
    for step in (16, 8, 4, 2, 1):
        to_right += cuda.shfl_down_sync(0xFFFFFFFF, to_right, step)
        to_bottom += cuda.shfl_down_sync(0xFFFFFFFF, to_bottom, step)
    to_right = cuda.shfl_sync(0xFFFFFFFF, to_right, 0)
    to_bottom = cuda.shfl_sync(0xFFFFFFFF, to_bottom, 0)
    angle = math.atan2(float32(to_bottom), float32(to_right))
    turn = int32(math.floor((angle + float32(math.pi)) * float32(TURNS / (2 * math.pi)))) % TURNS
    for word in range(8):
        k = word * 32 + lane
        p = image[y + tests[turn, k, 1], x + tests[turn, k, 0]]
        q = image[y + tests[turn, k, 3], x + tests[turn, k, 2]]
        bits = cuda.ballot_sync(0xFFFFFFFF, p < q)
        if lane == word:
            descriptors[i, word] = bits
    if lane == 0:
        facing[i] = turn


@cuda.jit
def lbp_cell_histograms(image, histograms):
    """Local binary patterns, counted for each cell of 16 by 16 pixels."""
    counts = cuda.shared.array(59, int32)
    x, y = cuda.grid(2)
    t = cuda.threadIdx.y * 16 + cuda.threadIdx.x
    if t < 59:
        counts[t] = 0
    cuda.syncthreads()
    h, w = image.shape
    if 0 < x < w - 1 and 0 < y < h - 1:
        bins = cuda.const.array_like(BINS_OF_CODES)
        here = image[y, x]
        code = 0
        code |= (image[y - 1, x - 1] >= here) << 7
        code |= (image[y - 1, x] >= here) << 6
        code |= (image[y - 1, x + 1] >= here) << 5
        code |= (image[y, x + 1] >= here) << 4
        code |= (image[y + 1, x + 1] >= here) << 3
        code |= (image[y + 1, x] >= here) << 2
        code |= (image[y + 1, x - 1] >= here) << 1
        code |= image[y, x - 1] >= here
        cuda.atomic.add(counts, bins[code], 1)
    cuda.syncthreads()
    if t < 59:
        histograms[cuda.blockIdx.y, cuda.blockIdx.x, t] = counts[t]


@cuda.jit(device=True)
def between_voxels(volume, x, y, z):
    """Linear along each axis; x, y and z are in voxels and inside."""
    i = min(int32(x), volume.shape[2] - 2)
    j = min(int32(y), volume.shape[1] - 2)
    k = min(int32(z), volume.shape[0] - 2)
    one = float32(1)
    fx = x - float32(i)
    fy = y - float32(j)
    fz = z - float32(k)
    a = volume[k, j, i] * (one - fx) + volume[k, j, i + 1] * fx
    b = volume[k, j + 1, i] * (one - fx) + volume[k, j + 1, i + 1] * fx
    c = volume[k + 1, j, i] * (one - fx) + volume[k + 1, j, i + 1] * fx
    d = volume[k + 1, j + 1, i] * (one - fx) + volume[k + 1, j + 1, i + 1] * fx
    return (a * (one - fy) + b * fy) * (one - fz) + (c * (one - fy) + d * fy) * fz


@cuda.jit(fastmath=True)
def cast_volume_rays(volume, colours, camera, image, step):
    """Front to back through a cube of side 1, until hardly any light passes."""
    px, py = cuda.grid(2)
    if px >= image.shape[1] or py >= image.shape[0]:
        return
    u = (float32(px) + float32(0.5)) / float32(image.shape[1]) * float32(2) - float32(1)
    v = (float32(py) + float32(0.5)) / float32(image.shape[0]) * float32(2) - float32(1)
    eye = cuda.local.array(3, float32)
    ray = cuda.local.array(3, float32)
    length = float32(0)
    for axis in range(3):
        eye[axis] = camera[0, axis]
        ray[axis] = u * camera[1, axis] + v * camera[2, axis] + camera[3, axis]
        length += ray[axis] * ray[axis]
    length = math.sqrt(length)
    enter = float32(0)
    leave = float32(1e9)
    for axis in range(3):
        ray[axis] /= length
        if abs(ray[axis]) < float32(1e-7):
            ray[axis] = float32(1e-7)
        t0 = -eye[axis] / ray[axis]
        t1 = (float32(1) - eye[axis]) / ray[axis]
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    red = float32(0)
    green = float32(0)
    blue = float32(0)
    passing = float32(1)
    side = float32(volume.shape[0] - 1)
    t = enter + step * float32(0.5)
    while t < leave and passing > float32(0.02):
        value = between_voxels(
            volume, min(max(eye[0] + t * ray[0], float32(0)), float32(1)) * side,
            min(max(eye[1] + t * ray[1], float32(0)), float32(1)) * side,
            min(max(eye[2] + t * ray[2], float32(0)), float32(1)) * side,
        )  # fmt: skip
        k = min(int32(value * float32(255)), 255)
        opacity = colours[k, 3]
        if opacity > 0:
            share = passing * opacity
            red += share * colours[k, 0]
            green += share * colours[k, 1]
            blue += share * colours[k, 2]
            passing *= float32(1) - opacity
        t += step
    image[py, px, 0] = red
    image[py, px, 1] = green
    image[py, px, 2] = blue
    image[py, px, 3] = float32(1) - passing


@cuda.jit
def fuse_depth_frame(depth, distance, weight, pose, focal, cell, reach):
    """One frame of depths into a volume of signed distances: a thread for each column of voxels."""
    x, y = cuda.grid(2)
    n = distance.shape[0]
    if x >= n or y >= n:
        return
    h, w = depth.shape
    px = (float32(x) + float32(0.5) - float32(n) * float32(0.5)) * cell
    py = (float32(y) + float32(0.5) - float32(n) * float32(0.5)) * cell
    cx = pose[0, 0] * px + pose[0, 1] * py + pose[0, 3]
    cy = pose[1, 0] * px + pose[1, 1] * py + pose[1, 3]
    cz = pose[2, 0] * px + pose[2, 1] * py + pose[2, 3]
    for z in range(n):
        cx += pose[0, 2] * cell
        cy += pose[1, 2] * cell
        cz += pose[2, 2] * cell
        if cz <= float32(0.05):
            continue
        scale = focal / cz
        u = int32(math.floor(cx * scale + float32(w) * float32(0.5)))
        v = int32(math.floor(cy * scale + float32(h) * float32(0.5)))
        if u < 0 or v < 0 or u >= w or v >= h:
            continue
        seen = depth[v, u]
        if seen == 0:
            continue
        ahead = float32(seen) * float32(0.001) - cz
        if ahead > -reach:
            value = min(ahead / reach, float32(1))
            before = float32(weight[z, y, x])
            old = float32(distance[z, y, x])
            distance[z, y, x] = (old * before + value) / (before + float32(1))
            weight[z, y, x] = min(int32(before) + 1, 100)


@cuda.jit
def envelope_of_parabolas(squared, result):
    """The second pass of an exact distance transform, after Felzenszwalb: a thread for each line of 128 along axis 0."""
    i = cuda.grid(1)
    if i >= squared.shape[1]:
        return
    centre = cuda.local.array(DEPTH, int16)
    start = cuda.local.array(DEPTH, float32)
    top = 0
    centre[0] = 0
    start[0] = float32(-1e20)
    for q in range(1, squared.shape[0]):
        value = squared[q, i] + float32(q * q)
        p = int32(centre[top])
        meet = (value - (squared[p, i] + float32(p * p))) / float32(2 * q - 2 * p)
        while top > 0 and meet <= start[top]:
            top -= 1
            p = int32(centre[top])
            meet = (value - (squared[p, i] + float32(p * p))) / float32(2 * q - 2 * p)
        if meet <= start[top]:
            centre[top] = q
        else:
            top += 1
            centre[top] = q
            start[top] = meet
    k = 0
    for q in range(squared.shape[0]):
        while k < top and start[k + 1] < q:
            k += 1
        p = int32(centre[k])
        result[q, i] = float32((q - p) * (q - p)) + squared[p, i]


@cuda.jit
def elastic_stresses(vx, vz, sxx, szz, sxz, lame, shear, ratio):
    """Stresses of plane waves in a staggered grid, from the speeds, of fourth order in space."""
    x, z = cuda.grid(2)
    if x < 2 or z < 2 or x >= vx.shape[1] - 2 or z >= vx.shape[0] - 2:
        return
    near = float32(9.0 / 8.0)
    far = float32(-1.0 / 24.0)
    stretch_x = near * (vx[z, x + 1] - vx[z, x]) + far * (vx[z, x + 2] - vx[z, x - 1])
    stretch_z = near * (vz[z, x] - vz[z - 1, x]) + far * (vz[z + 1, x] - vz[z - 2, x])
    turn_x = near * (vx[z + 1, x] - vx[z, x]) + far * (vx[z + 2, x] - vx[z - 1, x])
    turn_z = near * (vz[z, x] - vz[z, x - 1]) + far * (vz[z, x + 1] - vz[z, x - 2])
    la = lame[z, x]
    mu = shear[z, x]
    sxx[z, x] += ratio * ((la + mu + mu) * stretch_x + la * stretch_z)
    szz[z, x] += ratio * ((la + mu + mu) * stretch_z + la * stretch_x)
    sxz[z, x] += ratio * mu * (turn_x + turn_z)


@cuda.jit(device=True)
def flow_of_phase(phase, x, y, dx, folds):
    """What the free energy of the surface, which depends on its direction, drives through a point."""
    h, w = phase.shape
    x = min(max(x, 0), w - 1)
    y = min(max(y, 0), h - 1)
    gx = (phase[y, min(x + 1, w - 1)] - phase[y, max(x - 1, 0)]) / (dx + dx)
    gy = (phase[min(y + 1, h - 1), x] - phase[max(y - 1, 0), x]) / (dx + dx)
    angle = float32(folds) * (math.atan2(gy, gx) - float32(0.2))
    eps = float32(0.01) * (float32(1) + float32(0.02) * math.cos(angle))
    slope = float32(-0.01 * 0.02) * float32(folds) * math.sin(angle)
    return eps * eps * gx - eps * slope * gy, eps * eps * gy + eps * slope * gx


@cuda.jit
def dendrite_growth(phase, heat, new_phase, new_heat, dx, dt, folds):
    """A crystal that grows in a cold melt, after Kobayashi."""
    x, y = cuda.grid(2)
    h, w = phase.shape
    if x >= w or y >= h:
        return
    east, _ = flow_of_phase(phase, x + 1, y, dx, folds)
    west, _ = flow_of_phase(phase, x - 1, y, dx, folds)
    _, south = flow_of_phase(phase, x, y + 1, dx, folds)
    _, north = flow_of_phase(phase, x, y - 1, dx, folds)
    p = phase[y, x]
    t = heat[y, x]
    drive = float32(0.9 / math.pi) * math.atan(float32(10) * (float32(1) - t))
    rate = (east - west + south - north) / (dx + dx) + p * (float32(1) - p) * (p - float32(0.5) + drive)
    change = dt * rate / float32(0.0003)
    spread = heat[y, max(x - 1, 0)] + heat[y, min(x + 1, w - 1)]
    spread += heat[max(y - 1, 0), x] + heat[min(y + 1, h - 1), x] - float32(4) * t
    new_phase[y, x] = p + change
    new_heat[y, x] = t + dt * spread / (dx * dx) + float32(1.8) * change


@cuda.jit(device=True)
def weno5(a, b, c, d, e):
    """The value between c and d, from three parabolas weighted by how smooth they are."""
    q0 = (2.0 * a - 7.0 * b + 11.0 * c) / 6.0
    q1 = (5.0 * c - b + 2.0 * d) / 6.0
    q2 = (2.0 * c + 5.0 * d - e) / 6.0
    s0 = 13.0 / 12.0 * (a - 2.0 * b + c) ** 2 + 0.25 * (a - 4.0 * b + 3.0 * c) ** 2
    s1 = 13.0 / 12.0 * (b - 2.0 * c + d) ** 2 + 0.25 * (b - d) ** 2
    s2 = 13.0 / 12.0 * (c - 2.0 * d + e) ** 2 + 0.25 * (3.0 * c - 4.0 * d + e) ** 2
    w0 = 0.1 / ((1e-6 + s0) * (1e-6 + s0))
    w1 = 0.6 / ((1e-6 + s1) * (1e-6 + s1))
    w2 = 0.3 / ((1e-6 + s2) * (1e-6 + s2))
    return (w0 * q0 + w1 * q1 + w2 * q2) / (w0 + w1 + w2)


@cuda.jit
def weno5_advection(u, speeds, new, ratio):
    """A step of each row with its own speed; the rows are closed to rings."""
    cells = cuda.shared.array(CELLS_WITH_EDGES, float64)
    flux = cuda.shared.array(SIDES, float64)
    n = u.shape[1]
    row = cuda.blockIdx.y
    t = cuda.threadIdx.x
    x0 = cuda.blockIdx.x * CELLS
    for k in range(t, CELLS_WITH_EDGES, CELLS):
        cells[k] = u[row, (x0 + k - 3 + n) % n]
    cuda.syncthreads()
    speed = speeds[row]
    k = t
    while k < SIDES:
        if speed > 0:
            side = weno5(cells[k], cells[k + 1], cells[k + 2], cells[k + 3], cells[k + 4])
        else:
            side = weno5(cells[k + 5], cells[k + 4], cells[k + 3], cells[k + 2], cells[k + 1])
        flux[k] = speed * side
        k += CELLS
    cuda.syncthreads()
    if x0 + t < n:
        new[row, x0 + t] = cells[t + 3] - ratio * (flux[t + 1] - flux[t])


@cuda.jit
def prolong_and_correct(coarse, fine):
    """Adds a correction of a grid of twice the step: means of two, four or eight points for those between."""
    i, j, k = cuda.grid(3)
    if i < fine.shape[2] and j < fine.shape[1] and k < fine.shape[0]:
        ci, cj, ck = i >> 1, j >> 1, k >> 1
        total = 0.0
        for dk in range(1 + (k & 1)):
            for dj in range(1 + (j & 1)):
                for di in range(1 + (i & 1)):
                    total += coarse[ck + dk, cj + dj, ci + di]
        fine[k, j, i] += total / float64(1 << ((i & 1) + (j & 1) + (k & 1)))


@cuda.jit
def traffic_lanes(road, after, top_speed, seed, odds):
    """Nagel and Schreckenberg's cars on rings: each speeds up, keeps off the next one, dawdles at times, and moves."""
    x, lane = cuda.grid(2)
    length = road.shape[1]
    if x >= length or lane >= road.shape[0]:
        return
    speed = int32(road[lane, x])
    if speed < 0:
        return
    speed = min(speed + 1, top_speed)
    gap = 0
    ahead = x
    while gap < speed:
        ahead += 1
        if ahead == length:
            ahead = 0
        if road[lane, ahead] >= 0:
            break
        gap += 1
    speed = min(speed, gap)
    mixed = uint64(lane) * uint64(length) + uint64(x) + seed
    mixed = (mixed ^ (mixed >> uint64(31))) * uint64(0x7FB5D329728EA185)
    mixed = (mixed ^ (mixed >> uint64(27))) * uint64(0x81DADEF4BC2DD44D)
    if speed > 0 and uint32(mixed >> uint64(32)) < odds:
        speed -= 1
    to = x + speed
    if to >= length:
        to -= length
    after[lane, to] = speed


@cuda.jit
def sky_view_factor(land, sky, across, down, cell, steps):
    """The share of the sky that is free above each point, from the steepest rise in each of some directions."""
    x, y = cuda.grid(2)
    h, w = land.shape
    if x >= w or y >= h:
        return
    here = land[y, x]
    free = float32(0)
    for d in range(across.shape[0]):
        steepest = float32(0)
        for step in range(1, steps + 1):
            i = int32(math.floor(float32(x) + float32(0.5) + step * across[d]))
            j = int32(math.floor(float32(y) + float32(0.5) + step * down[d]))
            if i < 0 or j < 0 or i >= w or j >= h:
                break
            rise = (land[j, i] - here) / (float32(step) * cell)
            if rise > steepest:
                steepest = rise
        free += float32(1) - math.sin(math.atan(steepest))
    sky[y, x] = free / float32(across.shape[0])


@cuda.jit
def qr_by_reflections(matrices, factors, scales):
    """Householder QR of matrices of 32 by 16: a warp for each, a row for each lane."""
    lane = cuda.laneid
    m = cuda.grid(1) // 32
    if m >= matrices.shape[0]:
        return
    row = cuda.local.array(16, float32)
    for c in range(16):
        row[c] = matrices[m, lane, c]
    for k in range(16):
        below = row[k] * row[k] if lane > k else float32(0)
        for half in (16, 8, 4, 2, 1):
            below += cuda.shfl_xor_sync(0xFFFFFFFF, below, half)
        head = cuda.shfl_sync(0xFFFFFFFF, row[k], k)
        size = -math.copysign(math.sqrt(head * head + below), head)
        scale = float32(0)
        own = float32(0)
        if below > 0:
            scale = (size - head) / size
            if lane > k:
                own = row[k] / (head - size)
            elif lane == k:
                own = float32(1)
                row[k] = size
        for c in range(k + 1, 16):
            dot = own * row[c]
            for half in (16, 8, 4, 2, 1):
                dot += cuda.shfl_xor_sync(0xFFFFFFFF, dot, half)
            row[c] -= scale * own * dot
        if lane > k:
            row[k] = own
        if lane == 0:
            scales[m, k] = scale
    for c in range(16):
        factors[m, lane, c] = row[c]


@cuda.jit
def pentadiagonal_columns(bands, right, kept, x):
    """Systems of five diagonals, one in each column: bands are [two below, below, own, above, two above]."""
    i = cuda.grid(1)
    if i >= right.shape[1]:
        return
    n = right.shape[0]
    a1 = a2 = b1 = b2 = z1 = z2 = 0.0
    for r in range(n):
        lowest = bands[0, r, i]
        low = bands[1, r, i] - a2 * lowest
        pivot = 1.0 / (bands[2, r, i] - b2 * lowest - a1 * low)
        z = (right[r, i] - z2 * lowest - z1 * low) * pivot
        a2 = a1
        b2 = b1
        z2 = z1
        a1 = (bands[3, r, i] - b1 * low) * pivot
        b1 = bands[4, r, i] * pivot
        z1 = z
        kept[0, r, i] = a1
        kept[1, r, i] = b1
        x[r, i] = z
    x1 = x2 = 0.0
    for back in range(n):
        r = n - 1 - back
        value = x[r, i] - kept[0, r, i] * x1 - kept[1, r, i] * x2
        x[r, i] = value
        x2 = x1
        x1 = value


@cuda.jit
def roi_align(features, regions, out, scale):
    """Regions pooled into 7 by 7 parts, with two by two samples for each part."""
    at = cuda.grid(1)
    channels = features.shape[1]
    if at >= out.shape[0] * channels * PARTS * PARTS:
        return
    px = at % PARTS
    py = at // PARTS % PARTS
    c = at // (PARTS * PARTS) % channels
    k = at // (PARTS * PARTS * channels)
    h = features.shape[2]
    w = features.shape[3]
    region = regions[k]
    x0 = region.x0 * scale - float32(0.5)
    y0 = region.y0 * scale - float32(0.5)
    wide = (region.x1 - region.x0) * scale / float32(PARTS)
    high = (region.y1 - region.y0) * scale / float32(PARTS)
    total = float32(0)
    for sy in range(2):
        y = y0 + (float32(py) + float32(0.25) + float32(0.5) * sy) * high
        if y < -1 or y > h:
            continue
        y = min(max(y, float32(0)), float32(h - 1))
        j = min(int32(y), h - 2)
        fy = y - j
        for sx in range(2):
            x = x0 + (float32(px) + float32(0.25) + float32(0.5) * sx) * wide
            if x < -1 or x > w:
                continue
            x = min(max(x, float32(0)), float32(w - 1))
            i = min(int32(x), w - 2)
            fx = x - i
            upper = (1 - fx) * float32(features[region.picture, c, j, i])
            upper += fx * float32(features[region.picture, c, j, i + 1])
            lower = (1 - fx) * float32(features[region.picture, c, j + 1, i])
            lower += fx * float32(features[region.picture, c, j + 1, i + 1])
            total += (1 - fy) * upper + fy * lower
    out[k, c, py, px] = total * float32(0.25)


@cuda.jit
def cky_parse(sentences, lexicon, rules, roots, filled):
    """Which symbols derive each part of a sentence of 32 words: a block for each, a bit for each symbol."""
    chart = cuda.shared.array((LENGTHS, WORDS), int32)
    count = cuda.shared.array(1, int32)
    s = cuda.blockIdx.x
    t = cuda.threadIdx.x
    for k in range(t, LENGTHS * WORDS, cuda.blockDim.x):
        chart[k // WORDS, k % WORDS] = 0
    if t == 0:
        count[0] = 0
    cuda.syncthreads()
    if t < WORDS:
        chart[1, t] = lexicon[sentences[s, t]]
    cuda.syncthreads()
    for span in range(2, WORDS + 1):
        starts = WORDS - span + 1
        for pair in range(t, starts * (span - 1), cuda.blockDim.x):
            start = pair % starts
            split = pair // starts + 1
            left = chart[split, start]
            right = chart[span - split, start + split]
            if left != 0 and right != 0:
                found = int32(0)
                for r in range(rules.shape[0]):
                    if (left >> rules[r, 1]) & 1 and (right >> rules[r, 2]) & 1:
                        found |= int32(1) << rules[r, 0]
                if found:
                    cuda.atomic.or_(chart, (span, start), found)
        cuda.syncthreads()
    own = 0
    for k in range(t, LENGTHS * WORDS, cuda.blockDim.x):
        own += cuda.popc(chart[k // WORDS, k % WORDS])
    cuda.atomic.add(count, 0, own)
    cuda.syncthreads()
    if t == 0:
        roots[s] = chart[WORDS, 0]
        filled[s] = count[0]


def patches(r: Random, n: int) -> np.ndarray:
    """A picture of flat squares with noise."""
    side = -(-n // 11)
    flat = np.repeat(np.repeat(r.wholes(200, (side, side), U8), 11, 0), 11, 1)[:n, :n]
    return np.ascontiguousarray(flat + r.wholes(16, (n, n), U8))


def likes(r: Random, n: int) -> Arguments:
    first = r.reals((n, n))
    second = F32(0.8) * first + F32(0.2) * np.roll(first, 1, 1)
    return first, second, zeros(n, n), F32(0.0001), F32(0.0009)


def points_to_describe(r: Random, n: int) -> Arguments:
    pairs = np.clip(np.random.default_rng(5).normal(0, 5.5, (256, 2, 2)), -13, 13)
    turns = np.arange(TURNS) * (2 * np.pi / TURNS) - np.pi
    cs, sn = np.cos(turns)[:, None, None], np.sin(turns)[:, None, None]
    x, y = pairs[None, :, :, 0], pairs[None, :, :, 1]
    tests = np.stack([x * cs - y * sn, x * sn + y * cs], -1).round().astype(I8).reshape(TURNS, 256, 4)
    places = r.indices(1500 - 40, (n, 2)) + I32(20)
    return patches(r, 1500), places, tests, zeros(n, 8, dtype=U32), zeros(n, dtype=U8)


def fog(r: Random, n: int) -> Arguments:
    side = 96
    at = np.linspace(-1, 1, side, dtype=F32)
    far = np.sqrt(at[:, None, None] ** 2 + at[None, :, None] ** 2 + at[None, None, :] ** 2)
    waves = np.sin(9 * at)[:, None, None] * np.cos(11 * at)[None, :, None] * np.sin(7 * at)[None, None, :]
    volume = np.clip(F32(1) - far + F32(0.3) * waves, 0, 1).astype(F32)
    colours = r.reals((256, 4))
    colours[:, 3] = np.clip((np.arange(256) - 60) / 2500, 0, 1)
    camera = np.array([[0.5, 0.4, -1.4], [0.42, 0, 0.1], [0, 0.42, 0.05], [0.02, 0.08, 1]], F32)
    return volume, colours, camera, zeros(n, n, 4), F32(1 / 130)


def seen_surfaces(r: Random, n: int) -> Arguments:
    y, x = np.mgrid[0:480, 0:640]
    depth = (1500 + 300 * np.sin(x / 70) * np.cos(y / 50) + 40 * r.reals((480, 640))).astype(U16)
    depth[r.wholes(20, (480, 640), U8) == 0] = 0
    c, s = np.cos(0.2), np.sin(0.2)
    pose = np.array([[c, 0, -s, 0.1], [0, 1, 0, -0.05], [s, 0, c, 0.4]], F32)
    return depth, zeros(n, n, n, dtype=F16), zeros(n, n, n, dtype=U8), pose, F32(525), F32(2 / n), F32(0.1)


def squares_of_distances(r: Random, n: int) -> Arguments:
    return r.wholes(90, (DEPTH, n)).astype(F32) ** 2, zeros(DEPTH, n)


def rock(r: Random, n: int) -> Arguments:
    speeds = [r.reals((n, n)) - F32(0.5) for _ in range(2)]
    lame, shear = r.reals((n, n)) + F32(2), r.reals((n, n)) + F32(1)
    return *speeds, zeros(n, n), zeros(n, n), zeros(n, n), lame, shear, F32(0.1)


def seed_in_melt(r: Random, n: int) -> Arguments:
    at = np.arange(n, dtype=F32) - F32(n / 2)
    far = np.sqrt(at[:, None] ** 2 + at[None, :] ** 2)
    phase = F32(0.5) * (F32(1) - np.tanh((far - F32(n / 3)) / F32(n / 20))) + F32(0.02) * r.reals((n, n))
    return phase, F32(0.6) * phase, zeros(n, n), zeros(n, n), F32(0.03), F32(1e-4), 6


def cars(r: Random, n: int) -> Arguments:
    road = r.wholes(30, (n, n), I8)
    road[road > 5] = -1
    return road, np.full((n, n), -1, I8), 5, U64(2024), U32(0.25 * 2**32)


def ridges(r: Random, n: int) -> Arguments:
    at = np.arange(n, dtype=F32)
    land = 60 * np.sin(at / 17)[:, None] * np.cos(at / 29)[None, :] + 10 * np.sin(at / 7)[None, :] + 2 * r.reals((n, n))
    turns = (np.arange(16) + 0.3) * (2 * np.pi / 16)
    return land, zeros(n, n), np.cos(turns).astype(F32), np.sin(turns).astype(F32), F32(5), 20


def beams(r: Random, n: int) -> Arguments:
    bands = r.reals((5, 64, n), F64)
    bands[2] += 4
    bands[0, :2] = bands[1, 0] = bands[3, 63] = bands[4, 62:] = 0
    return bands, r.reals((64, n), F64), zeros(2, 64, n, dtype=F64), zeros(64, n, dtype=F64)


def boxes(r: Random, n: int) -> Arguments:
    regions = np.zeros(n, REGION)
    for side in ("x0", "y0"):
        regions[side] = r.reals(n) * F32(1200)
        regions[side.replace("0", "1")] = regions[side] + F32(20) + r.reals(n) * F32(380)
    regions["picture"] = r.wholes(2, n)
    return r.reals((2, 64, 100, 100), F16), regions, zeros(n, 64, PARTS, PARTS), F32(1 / 16)


def sayings(r: Random, n: int) -> Arguments:
    rng = np.random.default_rng(11)
    rules = rng.integers(0, 20, (48, 3), dtype=I32)
    lexicon = np.bitwise_or.reduce(I32(1) << rng.integers(0, 20, (1000, 3), dtype=I32), axis=1)
    return r.wholes(1000, (n, WORDS), U16), lexicon, rules, zeros(n, dtype=I32), zeros(n, dtype=I32)


GRIDS: tuple[Sized, ...] = (
    entry(lab_from_srgb, 256, striding(256), lambda r, n: (r.wholes(256, (n, 3), U8), zeros(n, 3)), 1_500_000, 30_000_000),
    entry(ssim_map, (16, 16), square, likes, 800, 4000, small=24),
    entry(integer_transform_4x4, 128, lambda n, arguments: min(n * n // 16, 128 * 2112),
          lambda r, n: (r.wholes(256, (n, n), I16, -255), zeros(n, n, dtype=I16), 17, 43_690), 4000, 14_000, small=64),
    entry(fast_corners, (32, 8), square,
          lambda r, n: (patches(r, n), zeros(n, n, dtype=U16), 24), 2000, 12_000, small=50),
    entry(orb_descriptors, (32, 8), lambda n, arguments: (-(-n // 8) * 32, 8), points_to_describe,
          30_000, 1_000_000, small=20),
    entry(lbp_cell_histograms, (16, 16), square,
          lambda r, n: (patches(r, n), zeros(-(-n // 16), -(-n // 16), 59, dtype=I32)), 2000, 12_000, small=40),
    entry(cast_volume_rays, (16, 8), square, fog, 400, 2400, small=16),
    entry(fuse_depth_frame, (32, 8), square, seen_surfaces, 160, 560, small=32),
    entry(envelope_of_parabolas, 64, elements, squares_of_distances, 20_000, 500_000, small=128),
    entry(elastic_stresses, (32, 8), square, rock, 1500, 6000, small=50),
    entry(dendrite_growth, (16, 16), square, seed_in_melt, 700, 5000, small=40),
    entry(weno5_advection, (CELLS, 1), square,
          lambda r, n: (r.reals((n, n), F64), r.reals(n, F64) - 0.5, zeros(n, n, dtype=F64), 0.4), 1000, 6000, small=140),
    entry(prolong_and_correct, (32, 4, 2), cube,
          lambda r, n: (r.reals((n // 2 + 1,) * 3, F64), r.reals((n, n, n), F64)), 190, 450, small=14),
    entry(traffic_lanes, (64, 4), square, cars, 3000, 16_000, small=70),
    entry(sky_view_factor, (16, 16), square, ridges, 500, 2500, small=24),
    entry(qr_by_reflections, 128, lambda n, arguments: 32 * n,
          lambda r, n: (r.reals((n, 32, 16)), zeros(n, 32, 16), zeros(n, 16)), 8000, 200_000, small=10),
    entry(pentadiagonal_columns, 64, elements, beams, 20_000, 200_000, small=128),
    entry(roi_align, 256, lambda n, arguments: n * 64 * PARTS * PARTS, boxes, 500, 30_000, small=2),
    entry(cky_parse, 128, lambda n, arguments: 128 * n, sayings, 500, 15_000, small=2),
)  # fmt: skip

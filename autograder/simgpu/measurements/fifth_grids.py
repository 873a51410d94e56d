"""The fifth set: stencils, waves and automata, images, volumes, small matrices, convolution and interpolation."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint8

from autograder.simgpu.measurements.ordinary_entries import entry, pictures
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, cube, elements, square, striding, zeros

F32, F64, I32, U8 = np.float32, np.float64, np.int32, np.uint8


@cuda.jit
def advect_back(q, u, v, out, dt):
    x, y = cuda.grid(2)
    h, w = q.shape
    if x >= w or y >= h:
        return
    px = min(max(x - dt * u[y, x], float32(0)), float32(w - 1))
    py = min(max(y - dt * v[y, x], float32(0)), float32(h - 1))
    x0 = min(int(px), w - 2)
    y0 = min(int(py), h - 2)
    fx = px - x0
    fy = py - y0
    top = q[y0, x0] * (1 - fx) + q[y0, x0 + 1] * fx
    low = q[y0 + 1, x0] * (1 - fx) + q[y0 + 1, x0 + 1] * fx
    out[y, x] = top * (1 - fy) + low * fy


@cuda.jit
def yee_magnetic(ex, ey, ez, hx, hy, hz, c):
    i, j, k = cuda.grid(3)
    if i < ex.shape[2] - 1 and j < ex.shape[1] - 1 and k < ex.shape[0] - 1:
        hx[k, j, i] -= c * ((ez[k, j + 1, i] - ez[k, j, i]) - (ey[k + 1, j, i] - ey[k, j, i]))
        hy[k, j, i] -= c * ((ex[k + 1, j, i] - ex[k, j, i]) - (ez[k, j, i + 1] - ez[k, j, i]))
        hz[k, j, i] -= c * ((ey[k, j, i + 1] - ey[k, j, i]) - (ex[k, j + 1, i] - ex[k, j, i]))


@cuda.jit
def biharmonic_tile(u, out):
    """Thirteen points; nothing is beyond the edges."""
    s = cuda.shared.array((20, 20), float64)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x0 = cuda.blockIdx.x * 16 - 2
    y0 = cuda.blockIdx.y * 16 - 2
    h, w = u.shape
    for r in range(ty, 20, 16):
        for c in range(tx, 20, 16):
            if 0 <= y0 + r < h and 0 <= x0 + c < w:
                s[r, c] = u[y0 + r, x0 + c]
            else:
                s[r, c] = 0.0
    cuda.syncthreads()
    x = x0 + tx + 2
    y = y0 + ty + 2
    if x < w and y < h:
        r = ty + 2
        c = tx + 2
        near = s[r - 1, c] + s[r + 1, c] + s[r, c - 1] + s[r, c + 1]
        slant = s[r - 1, c - 1] + s[r - 1, c + 1] + s[r + 1, c - 1] + s[r + 1, c + 1]
        far = s[r - 2, c] + s[r + 2, c] + s[r, c - 2] + s[r, c + 2]
        out[y, x] = 20 * s[r, c] - 8 * near + 2 * slant + far


@cuda.jit
def wave_march_z(now, before, courant):
    """A thread goes down a column of the volume, with five of its values at hand."""
    x, y = cuda.grid(2)
    nz, ny, nx = now.shape
    if x < 2 or y < 2 or x >= nx - 2 or y >= ny - 2:
        return
    a = now[0, y, x]
    b = now[1, y, x]
    c = now[2, y, x]
    d = now[3, y, x]
    for z in range(2, nz - 2):
        e = now[z + 2, y, x]
        near = b + d + now[z, y - 1, x] + now[z, y + 1, x] + now[z, y, x - 1] + now[z, y, x + 1]
        far = a + e + now[z, y - 2, x] + now[z, y + 2, x] + now[z, y, x - 2] + now[z, y, x + 2]
        bent = float32(-7.5) * c + float32(4.0 / 3.0) * near - float32(1.0 / 12.0) * far
        before[z, y, x] = float32(2) * c - before[z, y, x] + courant * bent
        a, b, c, d = b, c, d, e


@cuda.jit
def sandpile_topple(grains, out, unstable):
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    r = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    rows, columns = grains.shape
    if r < rows and c < columns:
        g = grains[r, c]
        if g >= 4:
            g -= 4
        if r > 0 and grains[r - 1, c] >= 4:
            g += 1
        if r < rows - 1 and grains[r + 1, c] >= 4:
            g += 1
        if c > 0 and grains[r, c - 1] >= 4:
            g += 1
        if c < columns - 1 and grains[r, c + 1] >= 4:
            g += 1
        out[r, c] = g
        if g >= 4:
            unstable[0] = 1


@cuda.jit
def wireworld(cells, out):
    """0 is empty, 1 an electron's head, 2 its tail, 3 wire. A tile and its rim are in shared memory."""
    tile = cuda.shared.array((10, 34), uint8)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    h, w = cells.shape
    k = ty * 32 + tx
    while k < 340:
        r = cuda.blockIdx.y * 8 + k // 34 - 1
        c = cuda.blockIdx.x * 32 + k % 34 - 1
        inside = r >= 0 and r < h and c >= 0 and c < w
        tile[k // 34, k % 34] = cells[r, c] if inside else 0
        k += 256
    cuda.syncthreads()
    if x < w and y < h:
        mine = tile[ty + 1, tx + 1]
        after = 0
        if mine == 1:
            after = 2
        elif mine == 2:
            after = 3
        elif mine == 3:
            heads = 0
            for dy in range(3):
                for dx in range(3):
                    if tile[ty + dy, tx + dx] == 1:
                        heads += 1
            after = 1 if heads == 1 or heads == 2 else 3
        out[y, x] = after


@cuda.jit
def jump_flood_step(seed_x, seed_y, new_x, new_y, step):
    x, y = cuda.grid(2)
    n = seed_x.shape[0]
    if x >= n or y >= n:
        return
    best = 1 << 30
    best_x = -1
    best_y = -1
    for dy in (-step, 0, step):
        for dx in (-step, 0, step):
            r = y + dy
            c = x + dx
            if r >= 0 and r < n and c >= 0 and c < n:
                sx = seed_x[r, c]
                sy = seed_y[r, c]
                if sx >= 0:
                    d = (sx - x) * (sx - x) + (sy - y) * (sy - y)
                    if d < best:
                        best = d
                        best_x = sx
                        best_y = sy
    new_x[y, x] = best_x
    new_y[y, x] = best_y


@cuda.jit
def column_distance(mask, out):
    """How far each cell is from the next marked one of its column: once down, once up."""
    c = cuda.grid(1)
    if c < mask.shape[1]:
        far = int32(9999)
        for r in range(mask.shape[0]):
            if mask[r, c]:
                far = int32(0)
            out[r, c] = far
            far = min(int32(far + 1), int32(9999))
        far = int32(9999)
        for r in range(mask.shape[0] - 1, -1, -1):
            if out[r, c] < far:
                far = out[r, c]
            out[r, c] = far
            far = int32(far + 1)


@cuda.jit
def gauss_jordan_block(matrices, inverses):
    """A block for each matrix, a thread for each of its elements."""
    a = cuda.shared.array((16, 16), float32)
    b = cuda.shared.array((16, 16), float32)
    m = cuda.blockIdx.x
    j = cuda.threadIdx.x
    i = cuda.threadIdx.y
    a[i, j] = matrices[m, i, j]
    b[i, j] = 1 if i == j else 0
    cuda.syncthreads()
    for k in range(16):
        pivot = a[k, k]
        cuda.syncthreads()
        if i == k:
            a[i, j] /= pivot
            b[i, j] /= pivot
        cuda.syncthreads()
        factor = a[i, k]
        cuda.syncthreads()
        if i != k:
            a[i, j] -= factor * a[k, j]
            b[i, j] -= factor * b[k, j]
        cuda.syncthreads()
    inverses[m, i, j] = b[i, j]


@cuda.jit
def eigen_sym3(tensors, out):
    i = cuda.grid(1)
    if i < tensors.shape[0]:
        xx, yy, zz = tensors[i, 0], tensors[i, 1], tensors[i, 2]
        xy, xz, yz = tensors[i, 3], tensors[i, 4], tensors[i, 5]
        q = (xx + yy + zz) / 3
        p2 = (xx - q) ** 2 + (yy - q) ** 2 + (zz - q) ** 2 + 2 * (xy * xy + xz * xz + yz * yz)
        p = math.sqrt(p2 / 6)
        a, b, c = (xx - q) / p, (yy - q) / p, (zz - q) / p
        d, e, f = xy / p, xz / p, yz / p
        half_det = (a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e)) / 2
        if half_det <= -1:
            angle = math.pi / 3
        elif half_det >= 1:
            angle = 0.0
        else:
            angle = math.acos(half_det) / 3
        biggest = q + 2 * p * math.cos(angle)
        smallest = q + 2 * p * math.cos(angle + 2 * math.pi / 3)
        out[i, 0] = biggest
        out[i, 1] = 3 * q - biggest - smallest
        out[i, 2] = smallest


@cuda.jit
def kron_product(a, b, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = a[i // b.shape[0], j // b.shape[1]] * b[i % b.shape[0], j % b.shape[1]]


@cuda.jit
def conv_channels(image, weights, bias, out):
    x, y, k = cuda.grid(3)
    if k < out.shape[0] and y < out.shape[1] and x < out.shape[2]:
        total = bias[k]
        for c in range(image.shape[0]):
            for dy in range(3):
                for dx in range(3):
                    total += weights[k, c, dy, dx] * image[c, y + dy, x + dx]
        out[k, y, x] = max(total, float32(0))


@cuda.jit
def planes_to_pixels(planes, pixels):
    x, y = cuda.grid(2)
    if y < pixels.shape[0] and x < pixels.shape[1]:
        for c in range(3):
            pixels[y, x, c] = planes[c, y, x]


@cuda.jit
def permute_zxy(volume, out):
    """The last axis becomes the first."""
    tile = cuda.shared.array((16, 17), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    a = cuda.blockIdx.z
    b = cuda.blockIdx.y * 16 + ty
    c = cuda.blockIdx.x * 16 + tx
    if b < volume.shape[1] and c < volume.shape[2]:
        tile[ty, tx] = volume[a, b, c]
    cuda.syncthreads()
    b = cuda.blockIdx.y * 16 + tx
    c = cuda.blockIdx.x * 16 + ty
    if b < volume.shape[1] and c < volume.shape[2]:
        out[c, a, b] = tile[tx, ty]


@cuda.jit
def trilinear_samples(volume, points, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    m = volume.shape[0]
    px = points[i, 0] * (m - 1)
    py = points[i, 1] * (m - 1)
    pz = points[i, 2] * (m - 1)
    x = min(int(math.floor(px)), m - 2)
    y = min(int(math.floor(py)), m - 2)
    z = min(int(math.floor(pz)), m - 2)
    total = 0.0
    for a in range(2):
        wz = pz - z if a == 1 else 1 - (pz - z)
        for b in range(2):
            wy = py - y if b == 1 else 1 - (py - y)
            for c in range(2):
                wx = px - x if c == 1 else 1 - (px - x)
                total += wz * wy * wx * volume[z + a, y + b, x + c]
    out[i] = total


@cuda.jit(device=True)
def cubic_weight(t):
    t = abs(t)
    if t < float32(1):
        return (float32(1.5) * t - float32(2.5)) * t * t + float32(1)
    if t < float32(2):
        return ((float32(-0.5) * t + float32(2.5)) * t - float32(4)) * t + float32(2)
    return float32(0)


@cuda.jit
def rotate_bicubic(image, out, cosine, sine):
    x, y = cuda.grid(2)
    h, w = image.shape
    if x < w and y < h:
        dx = float32(x) - float32(w) / float32(2)
        dy = float32(y) - float32(h) / float32(2)
        sx = cosine * dx + sine * dy + float32(w) / float32(2)
        sy = cosine * dy - sine * dx + float32(h) / float32(2)
        left = int32(math.floor(sx))
        top = int32(math.floor(sy))
        total = float32(0)
        for j in range(-1, 3):
            row = min(max(top + j, 0), h - 1)
            across = float32(0)
            for i in range(-1, 3):
                column = min(max(left + i, 0), w - 1)
                across += cubic_weight(sx - float32(left + i)) * image[row, column]
            total += cubic_weight(sy - float32(top + j)) * across
        out[y, x] = total


@cuda.jit
def hough_votes(edges, cosines, sines, votes):
    x, y = cuda.grid(2)
    if y < edges.shape[0] and x < edges.shape[1] and edges[y, x] > 0:
        for a in range(cosines.size):
            rho = int(x * cosines[a] + y * sines[a]) + edges.shape[1]
            cuda.atomic.add(votes, (a, rho), 1)


@cuda.jit
def template_ssd(image, template, out):
    small = cuda.shared.array((8, 8), int32)
    flat = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if flat < 64:
        small[flat // 8, flat % 8] = template[flat // 8, flat % 8]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        total = 0
        for r in range(8):
            for c in range(8):
                d = int32(image[y + r, x + c]) - small[r, c]
                total += d * d
        out[y, x] = total


@cuda.jit
def restrict_full_weight(fine, coarse):
    j, i = cuda.grid(2)
    if i < coarse.shape[0] and j < coarse.shape[1]:
        r = 2 * i + 1
        c = 2 * j + 1
        corners = fine[r - 1, c - 1] + fine[r - 1, c + 1] + fine[r + 1, c - 1] + fine[r + 1, c + 1]
        sides = fine[r - 1, c] + fine[r + 1, c] + fine[r, c - 1] + fine[r, c + 1]
        coarse[i, j] = (4 * fine[r, c] + 2 * sides + corners) / 16


@cuda.jit
def banded_times_vector(bands, x, y):
    n = x.size
    half = bands.shape[0] // 2
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        s = 0.0
        for k in range(-half, half + 1):
            j = i + k
            if j >= 0 and j < n:
                s += bands[k + half, i] * x[j]
        y[i] = s


@cuda.jit
def picture_extremes(image, lowest, highest):
    low = cuda.shared.array(128, float32)
    high = cuda.shared.array(128, float32)
    x, y = cuda.grid(2)
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    if x < image.shape[1] and y < image.shape[0]:
        low[t] = image[y, x]
        high[t] = image[y, x]
    else:
        low[t] = math.inf
        high[t] = -math.inf
    cuda.syncthreads()
    s = 64
    while s >= 1:
        if t < s:
            low[t] = min(low[t], low[t + s])
            high[t] = max(high[t], high[t + s])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.min(lowest, 0, low[0])
        cuda.atomic.max(highest, 0, high[0])


def flow(r: Random, n: int) -> Arguments:
    u, v = ((r.reals((n, n)) - F32(0.5)) * F32(8) for _ in "uv")
    return r.reals((n, n)), u, v, zeros(n, n), F32(0.7)


def six_fields(r: Random, n: int) -> Arguments:
    return (*(r.reals((n, n, n)) for _ in range(6)), F32(0.4))


def scattered_seeds(r: Random, n: int) -> Arguments:
    there = r.wholes(60, (n, n)) == 0
    along = np.arange(n, dtype=I32)
    x = np.where(there, along[None, :], I32(-1))
    y = np.where(there, along[:, None], I32(-1))
    return x, y, zeros(n, n, dtype=I32), zeros(n, n, dtype=I32), 4


def well_conditioned(r: Random, n: int) -> Arguments:
    return r.reals((n, 16, 16)) + 8 * np.eye(16, dtype=F32), zeros(n, 16, 16)


def squares_of_16(n: int, arguments: Arguments) -> tuple[int, int]:
    """A block of 16 times 16 for each of n."""
    return 16 * n, 16


def channels(r: Random, n: int) -> Arguments:
    return r.reals((8, n, n)), r.reals((6, 8, 3, 3)) - F32(0.5), r.reals(6), zeros(6, n - 2, n - 2)


def six_inner(n: int, arguments: Arguments) -> tuple[int, int, int]:
    return n - 2, n - 2, 6


def edges_and_angles(r: Random, n: int) -> Arguments:
    angles = np.arange(60) * np.pi / 60
    return (r.wholes(50, (n, n), U8) == 0).astype(U8), np.cos(angles), np.sin(angles), zeros(60, 3 * n, dtype=I32)


def within_seven(n: int, arguments: Arguments) -> tuple[int, int]:
    return n - 7, n - 7


GRIDS: tuple[Sized, ...] = (
    entry(advect_back, (16, 16), square, flow, 1000, 6000, small=66),
    entry(yee_magnetic, (32, 4, 2), cube, six_fields, 130, 340, small=20),
    entry(biharmonic_tile, (16, 16), square, pictures(dtype=F64), 1000, 7000, small=66),
    entry(wave_march_z, (32, 8), square, lambda r, n: (r.reals((n, n, n)), r.reals((n, n, n)), F32(0.1)), 130, 450,
          small=24),
    entry(sandpile_topple, (32, 8), square,
          lambda r, n: (r.wholes(7, (n, n)), zeros(n, n, dtype=I32), zeros(1, dtype=I32)), 1800, 9000, small=66),
    entry(wireworld, (32, 8), square, lambda r, n: (r.wholes(4, (n, n), U8), zeros(n, n, dtype=U8)), 1600, 9000,
          small=66),
    entry(jump_flood_step, (16, 16), square, scattered_seeds, 900, 5000, small=66),
    entry(column_distance, 64, elements,
          lambda r, n: ((r.wholes(40, (150, n), U8) == 0).astype(U8), zeros(150, n, dtype=I32)), 20_000, 1_000_000,
          small=200),
    entry(gauss_jordan_block, (16, 16), squares_of_16, well_conditioned, 4000, 150_000, small=20),
    entry(eigen_sym3, 128, elements, lambda r, n: (r.reals((n, 6), F64), zeros(n, 3, dtype=F64)), 400_000, 10_000_000),
    entry(kron_product, (32, 8), square,
          lambda r, n: (r.reals((n // 8, n // 8)), r.reals((8, 8)), zeros(n, n)), 1200, 10_000, small=64),
    entry(conv_channels, (16, 8, 2), six_inner, channels, 400, 2500, small=20),
    entry(planes_to_pixels, (64, 4), square, lambda r, n: (r.wholes(256, (3, n, n), U8), zeros(n, n, 3, dtype=U8)),
          2400, 14_000, small=66),
    entry(permute_zxy, (16, 16, 1), cube, lambda r, n: (r.reals((n, n, n)), zeros(n, n, n)), 180, 500, small=20),
    entry(trilinear_samples, 256, elements, lambda r, n: (r.reals((128, 128, 128)), r.reals((n, 3)), zeros(n)),
          500_000, 15_000_000),
    entry(rotate_bicubic, (16, 16), square, pictures(F32(math.cos(0.4)), F32(math.sin(0.4))), 900, 6000, small=40),
    entry(hough_votes, (16, 16), square, edges_and_angles, 600, 4000, small=66),
    entry(template_ssd, (16, 16), within_seven,
          lambda r, n: (r.wholes(256, (n, n), U8), r.wholes(256, (8, 8), U8), zeros(n - 7, n - 7, dtype=I32)),
          800, 6000, small=50),
    entry(restrict_full_weight, (16, 8), square,
          lambda r, n: (r.reals((2 * n + 1, 2 * n + 1), F64), zeros(n, n, dtype=F64)), 800, 4500, small=40),
    entry(banded_times_vector, 128, striding(128),
          lambda r, n: (r.reals((7, n), F64), r.reals(n, F64), zeros(n, dtype=F64)), 400_000, 10_000_000),
    entry(picture_extremes, (16, 8), square,
          lambda r, n: (r.reals((n, n)), np.full(1, np.inf, F32), np.full(1, -np.inf, F32)), 2000, 10_000, small=66),
)  # fmt: skip

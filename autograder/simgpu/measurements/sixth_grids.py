"""The sixth set: waves on water, terrain, pictures, automata, batches of matrices, transposes and scans of rows."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint8, uint32

from autograder.simgpu.measurements.ordinary_entries import entry, turned
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, blocks_of, cube, elements, square, zeros

F32, F64, I8, I16, I32, U8, U32 = np.float32, np.float64, np.int8, np.int16, np.int32, np.uint8, np.uint32
STEP_X = np.array([1, 1, 0, -1, -1, -1, 0, 1], I32)
STEP_Y = np.array([0, 1, 1, 1, 0, -1, -1, -1], I32)


@cuda.jit
def shallow_water_step(h, u, v, h_new, u_new, v_new, c):
    """The shallow-water equations without friction: averages of the four neighbours, then the fluxes."""
    j, i = cuda.grid(2)
    ny, nx = h.shape
    if i < 1 or j < 1 or i >= ny - 1 or j >= nx - 1:
        return
    he = h[i, j + 1]
    hw = h[i, j - 1]
    hn = h[i + 1, j]
    hs = h[i - 1, j]
    flux_x = he * u[i, j + 1] - hw * u[i, j - 1]
    flux_y = hn * v[i + 1, j] - hs * v[i - 1, j]
    h_new[i, j] = float32(0.25) * (he + hw + hn + hs) - c * (flux_x + flux_y)
    u_mean = float32(0.25) * (u[i, j + 1] + u[i, j - 1] + u[i + 1, j] + u[i - 1, j])
    v_mean = float32(0.25) * (v[i, j + 1] + v[i, j - 1] + v[i + 1, j] + v[i - 1, j])
    u_new[i, j] = u_mean - c * float32(9.81) * (he - hw)
    v_new[i, j] = v_mean - c * float32(9.81) * (hn - hs)


@cuda.jit
def allen_cahn_wrap(phi, out, dt, width):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    n = phi.shape[0]
    if x < n and y < n:
        p = phi[y, x]
        bent = phi[(y + 1) % n, x] + phi[(y - 1) % n, x] + phi[y, (x + 1) % n] + phi[y, (x - 1) % n] - 4 * p
        out[y, x] = p + dt * (width**2 * bent - p * (p**2 - 1))


@cuda.jit
def pressure_by_depth(density, thickness, pressure):
    """Down each column of water; layers are in rows."""
    c = cuda.grid(1)
    if c >= density.shape[1]:
        return
    above = 101325.0
    k = 0
    while k < density.shape[0]:
        layer = 9.81 * density[k, c] * thickness[k]
        pressure[k, c] = above + 0.5 * layer
        above += layer
        k += 1


@cuda.jit
def prefix_rows(a):
    """Sums along each row in place: a block goes along its row, and carries the sum so far."""
    s = cuda.shared.array(128, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    carry = float32(0)
    for begin in range(0, a.shape[1], 128):
        j = begin + t
        s[t] = a[row, j] if j < a.shape[1] else float32(0)
        cuda.syncthreads()
        reach = 1
        while reach < 128:
            left = float32(0)
            if t >= reach:
                left = s[t - reach]
            cuda.syncthreads()
            s[t] += left
            cuda.syncthreads()
            reach *= 2
        if j < a.shape[1]:
            a[row, j] = carry + s[t]
        carry += s[127]
        cuda.syncthreads()


@cuda.jit
def hsv_from_rgb(rgb, hsv):
    x, y = cuda.grid(2)
    if y < rgb.shape[0] and x < rgb.shape[1]:
        r = rgb[y, x, 0] / float32(255)
        g = rgb[y, x, 1] / float32(255)
        b = rgb[y, x, 2] / float32(255)
        most = max(r, max(g, b))
        least = min(r, min(g, b))
        spread = most - least
        hue = float32(0)
        if spread > 0:
            if most == r:
                hue = (g - b) / spread
                if hue < 0:
                    hue += float32(6)
            elif most == g:
                hue = (b - r) / spread + float32(2)
            else:
                hue = (r - g) / spread + float32(4)
        hsv[y, x, 0] = hue * float32(60)
        hsv[y, x, 1] = spread / most if most > 0 else float32(0)
        hsv[y, x, 2] = most


@cuda.jit
def thin_edges(gx, gy, strength, out):
    """Keeps a pixel only where no neighbour along the slope is stronger."""
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        m = strength[i, j]
        if i == 0 or j == 0 or i == out.shape[0] - 1 or j == out.shape[1] - 1 or m < float32(0.3):
            out[i, j] = 0
            return
        ax = abs(gx[i, j])
        ay = abs(gy[i, j])
        if ay < float32(0.4142) * ax:
            a = strength[i, j - 1]
            b = strength[i, j + 1]
        elif ax < float32(0.4142) * ay:
            a = strength[i - 1, j]
            b = strength[i + 1, j]
        elif gx[i, j] * gy[i, j] > 0:
            a = strength[i - 1, j - 1]
            b = strength[i + 1, j + 1]
        else:
            a = strength[i - 1, j + 1]
            b = strength[i + 1, j - 1]
        out[i, j] = m if m >= a and m >= b else 0


@cuda.jit(device=True)
def eroded_along(words, row, k):
    """A word of a row and its neighbours to the left and right, one pixel for each bit."""
    here = words[row, k]
    before = words[row, k - 1] if k > 0 else uint32(0)
    after = words[row, k + 1] if k < words.shape[1] - 1 else uint32(0)
    left = uint32((here << uint32(1)) | (before >> uint32(31)))
    right = uint32((here >> uint32(1)) | (after << uint32(31)))
    return uint32(here & left & right)


@cuda.jit
def erode_bits(words, out):
    k, row = cuda.grid(2)
    if row < words.shape[0] and k < words.shape[1]:
        kept = uint32(0)
        if row > 0 and row < words.shape[0] - 1:
            kept = eroded_along(words, row - 1, k) & eroded_along(words, row, k) & eroded_along(words, row + 1, k)
        out[row, k] = kept


@cuda.jit
def water_runs_to(height, direction, pits):
    """In which of eight directions the ground falls most; pits are counted."""
    step_x = cuda.const.array_like(STEP_X)
    step_y = cuda.const.array_like(STEP_Y)
    x, y = cuda.grid(2)
    if x >= height.shape[1] or y >= height.shape[0]:
        return
    steepest = float32(0)
    found = -1
    for d in range(8):
        c = x + step_x[d]
        r = y + step_y[d]
        if c < 0 or r < 0 or c >= height.shape[1] or r >= height.shape[0]:
            continue
        fall = height[y, x] - height[r, c]
        if d % 2 == 1:
            fall *= float32(0.70710678)
        if fall > steepest:
            steepest = fall
            found = d
    direction[y, x] = found
    if found < 0:
        cuda.atomic.add(pits, 0, 1)


@cuda.jit
def majority_3d(cells, out):
    i, j, k = cuda.grid(3)
    n = cells.shape[0]
    if i >= n or j >= n or k >= n:
        return
    alive = 0
    for dz in range(-1, 2):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                z = k + dz
                y = j + dy
                x = i + dx
                if z >= 0 and z < n and y >= 0 and y < n and x >= 0 and x < n:
                    alive += cells[z, y, x]
    out[k, j, i] = 1 if alive > 13 else 0


@cuda.jit
def factor_six(a, determinant):
    """The lower and upper factors of many matrices of six by six, whose number is the last axis."""
    m = cuda.local.array((6, 6), float64)
    b = cuda.grid(1)
    if b < a.shape[2]:
        for i in range(6):
            for j in range(6):
                m[i, j] = a[i, j, b]
        product = 1.0
        for k in range(6):
            product *= m[k, k]
            for i in range(k + 1, 6):
                m[i, k] /= m[k, k]
                for j in range(k + 1, 6):
                    m[i, j] -= m[i, k] * m[k, j]
        for i in range(6):
            for j in range(6):
                a[i, j, b] = m[i, j]
        determinant[b] = product


@cuda.jit
def rows_by_rows(a, b, c, alpha, beta):
    """Each row of `a` times each row of `b`, in doubles and tiles of 16."""
    ta = cuda.shared.array((16, 17), float64)
    tb = cuda.shared.array((16, 17), float64)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    i = cuda.blockIdx.y * 16 + ty
    j = cuda.blockIdx.x * 16 + tx
    other = cuda.blockIdx.x * 16 + ty
    total = 0.0
    for k0 in range(0, a.shape[1], 16):
        k = k0 + tx
        ta[ty, tx] = a[i, k] if i < a.shape[0] and k < a.shape[1] else 0.0
        tb[ty, tx] = b[other, k] if other < b.shape[0] and k < b.shape[1] else 0.0
        cuda.syncthreads()
        for k in range(16):
            total += ta[ty, k] * tb[tx, k]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = alpha * total + beta * c[i, j]


@cuda.jit
def solve_upper_for_many(upper, rhs):
    """One triangle of 24 rows, and a right-hand side for each thread."""
    u = cuda.shared.array((24, 24), float32)
    for k in range(cuda.threadIdx.x, 576, cuda.blockDim.x):
        u[k // 24, k % 24] = upper[k // 24, k % 24]
    cuda.syncthreads()
    c = cuda.grid(1)
    if c < rhs.shape[1]:
        x = cuda.local.array(24, float32)
        for back in range(24):
            i = 23 - back
            s = rhs[i, c]
            for j in range(i + 1, 24):
                s -= u[i, j] * x[j]
            x[i] = s / u[i, i]
            rhs[i, c] = x[i]


@cuda.jit
def exchange_first_axes(source, target):
    x, y, z = cuda.grid(3)
    if z < source.shape[0] and y < source.shape[1] and x < source.shape[2]:
        target[y, z, x] = source[z, y, x]


@cuda.jit
def transpose_wide_bytes(source, target):
    """Tiles of 32 by 32, of which each thread moves four elements."""
    tile = cuda.shared.array((32, 33), uint8)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    height, width = source.shape
    col = cuda.blockIdx.x * 32 + tx
    k = ty
    while k < 32:
        row = cuda.blockIdx.y * 32 + k
        if row < height and col < width:
            tile[k, tx] = source[row, col]
        k += 8
    cuda.syncthreads()
    col = cuda.blockIdx.y * 32 + tx
    k = ty
    while k < 32:
        row = cuda.blockIdx.x * 32 + k
        if row < width and col < height:
            target[row, col] = tile[tx, k]
        k += 8


@cuda.jit
def catmull_rom_rows(points, out):
    """Each row at four places between any two of its points."""
    q, row = cuda.grid(2)
    if row >= out.shape[0] or q >= out.shape[1]:
        return
    k = q // 4
    t = (q % 4) * float32(0.25)
    p0 = points[row, k]
    p1 = points[row, k + 1]
    p2 = points[row, k + 2]
    p3 = points[row, k + 3]
    a = float32(3) * (p1 - p2) + p3 - p0
    b = float32(2) * p0 - float32(5) * p1 + float32(4) * p2 - p3
    out[row, q] = float32(0.5) * (((a * t + b) * t + (p2 - p0)) * t + float32(2) * p1)


@cuda.jit
def color_cube(image, table, out):
    """Colors looked up in a cube of 17 a side, between the four corners of a tetrahedron."""
    i = cuda.grid(1)
    if i < image.shape[0]:
        r = image[i, 0] * float32(16)
        g = image[i, 1] * float32(16)
        b = image[i, 2] * float32(16)
        r0 = int(r)
        g0 = int(g)
        b0 = int(b)
        r -= r0
        g -= g0
        b -= b0
        if r > g:
            if g > b:
                w1, w2, w3 = r, g, b
                d1, d2 = (1, 0, 0), (1, 1, 0)
            elif r > b:
                w1, w2, w3 = r, b, g
                d1, d2 = (1, 0, 0), (1, 0, 1)
            else:
                w1, w2, w3 = b, r, g
                d1, d2 = (0, 0, 1), (1, 0, 1)
        elif b > g:
            w1, w2, w3 = b, g, r
            d1, d2 = (0, 0, 1), (0, 1, 1)
        elif b > r:
            w1, w2, w3 = g, b, r
            d1, d2 = (0, 1, 0), (0, 1, 1)
        else:
            w1, w2, w3 = g, r, b
            d1, d2 = (0, 1, 0), (1, 1, 0)
        for c in range(3):
            value = (float32(1) - w1) * table[r0, g0, b0, c]
            value += (w1 - w2) * table[r0 + d1[0], g0 + d1[1], b0 + d1[2], c]
            value += (w2 - w3) * table[r0 + d2[0], g0 + d2[1], b0 + d2[2], c]
            out[i, c] = value + w3 * table[r0 + 1, g0 + 1, b0 + 1, c]


@cuda.jit
def halving_of_equations(lower, middle, upper, right, x):
    """Parallel cyclic reduction: a block for each system of 128 equations with three diagonals."""
    a = cuda.shared.array(128, float32)
    b = cuda.shared.array(128, float32)
    c = cuda.shared.array(128, float32)
    d = cuda.shared.array(128, float32)
    s = cuda.blockIdx.x
    i = cuda.threadIdx.x
    a[i] = lower[s, i] if i > 0 else float32(0)
    b[i] = middle[s, i]
    c[i] = upper[s, i] if i < 127 else float32(0)
    d[i] = right[s, i]
    cuda.syncthreads()
    step = 1
    while step < 128:
        na = float32(0)
        nb = b[i]
        nc = float32(0)
        nd = d[i]
        if i >= step:
            k = a[i] / b[i - step]
            na = -k * a[i - step]
            nb -= k * c[i - step]
            nd -= k * d[i - step]
        if i + step < 128:
            k = c[i] / b[i + step]
            nc = -k * c[i + step]
            nb -= k * a[i + step]
            nd -= k * d[i + step]
        cuda.syncthreads()
        a[i] = na
        b[i] = nb
        c[i] = nc
        d[i] = nd
        cuda.syncthreads()
        step <<= 1
    x[s, i] = d[i] / b[i]


@cuda.jit
def contrast_of_tiles(image, contrast):
    """The difference of the brightest and the darkest pixel of each tile of 16."""
    ends = cuda.shared.array(2, int32)
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        ends[0] = 65535
        ends[1] = 0
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        v = int32(image[y, x])
        cuda.atomic.min(ends, 0, v)
        cuda.atomic.max(ends, 1, v)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        contrast[cuda.blockIdx.y, cuda.blockIdx.x] = math.sqrt(float32(ends[1] - ends[0]))


def lake(r: Random, n: int) -> Arguments:
    u, v = (r.reals((n, n)) - F32(0.5) for _ in "uv")
    return r.reals((n, n)) + F32(1), u, v, zeros(n, n), zeros(n, n), zeros(n, n), F32(0.05)


def sixes(r: Random, n: int) -> Arguments:
    return r.reals((6, 6, n), F64) + 6 * np.eye(6)[:, :, None], zeros(n, dtype=F64)


def triangle_and_sides(r: Random, n: int) -> Arguments:
    return np.triu(r.reals((24, 24))) + 8 * np.eye(24, dtype=F32), r.reals((24, n))


def three_diagonals(r: Random, n: int) -> Arguments:
    shape = (n, 128)
    return r.reals(shape), r.reals(shape) + F32(3), r.reals(shape), r.reals(shape), zeros(*shape)


def all_or_few(r: Random, n: int) -> Arguments:
    words = r.wholes(2**32, (n, n // 16), U32) | r.wholes(2**32, (n, n // 16), U32)
    return words | U32(0x0FF0_F00F), zeros(n, n // 16, dtype=U32)


def words_of_rows(n: int, arguments: Arguments) -> tuple[int, int]:
    return n // 16, n


GRIDS: tuple[Sized, ...] = (
    entry(shallow_water_step, (32, 8), square, lake, 1000, 6000, small=66),
    entry(allen_cahn_wrap, (16, 16), square,
          lambda r, n: (2 * r.reals((n, n), F64) - 1, zeros(n, n, dtype=F64), 0.05, 0.7), 1200, 7000, small=66),
    entry(pressure_by_depth, 64, elements,
          lambda r, n: (50 * r.reals((60, n), F64) + 1000, r.reals(60, F64) + 1, zeros(60, n, dtype=F64)),
          60_000, 1_200_000, small=300),
    entry(prefix_rows, 128, blocks_of(128), lambda r, n: (r.reals((n, 1000)),), 2500, 80_000, small=6),
    entry(hsv_from_rgb, (32, 4), square, lambda r, n: (r.wholes(256, (n, n, 3), U8), zeros(n, n, 3)), 1200, 8000,
          small=66),
    entry(thin_edges, (16, 8), square,
          lambda r, n: (r.reals((n, n)) - F32(0.5), r.reals((n, n)) - F32(0.5), r.reals((n, n)), zeros(n, n)),
          1400, 8000, small=66),
    entry(erode_bits, (32, 8), words_of_rows, all_or_few, 6000, 40_000, small=160),
    entry(water_runs_to, (32, 8), square,
          lambda r, n: (r.reals((n, n)), zeros(n, n, dtype=I8), zeros(1, dtype=I32)), 1200, 8000, small=50),
    entry(majority_3d, (8, 8, 4), cube, lambda r, n: (r.wholes(2, (n, n, n), I8), zeros(n, n, n, dtype=I8)), 150, 500,
          small=16),
    entry(factor_six, 128, elements, sixes, 100_000, 3_000_000, small=300),
    entry(rows_by_rows, (16, 16), square,
          lambda r, n: (r.reals((n, n), F64), r.reals((n, n), F64), r.reals((n, n), F64), 1.5, 0.5), 512, 1800,
          small=40),
    entry(solve_upper_for_many, 96, elements, triangle_and_sides, 80_000, 4_000_000, small=300),
    entry(exchange_first_axes, (64, 4, 1), turned,
          lambda r, n: (r.wholes(30_000, (n, n, n), I16), zeros(n, n, n, dtype=I16)), 220, 800, small=20),
    entry(transpose_wide_bytes, (32, 8), lambda n, arguments: (2 * n, (n + 3) // 4),
          lambda r, n: (r.wholes(256, (n, 2 * n), U8), zeros(2 * n, n, dtype=U8)), 2600, 16_000, small=72),
    entry(catmull_rom_rows, (128, 2), lambda n, arguments: (4 * n, n),
          lambda r, n: (r.reals((n, n + 3)), zeros(n, 4 * n)), 900, 6500, small=40),
    entry(color_cube, 256, elements, lambda r, n: (r.reals((n, 3)), r.reals((17, 17, 17, 3)), zeros(n, 3)),
          600_000, 20_000_000),
    entry(halving_of_equations, 128, blocks_of(128), three_diagonals, 5000, 200_000, small=8),
    entry(contrast_of_tiles, (16, 16), square,
          lambda r, n: (r.wholes(65_536, (n, n), np.uint16), zeros((n + 15) // 16, (n + 15) // 16)), 2000, 14_000,
          small=70),
)  # fmt: skip

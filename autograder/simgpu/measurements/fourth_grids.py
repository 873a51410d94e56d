"""The fourth set: images, stencils in one to three dimensions, automata, and dense matrices."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, int32, uint8

from autograder.simgpu.measurements.ordinary_entries import entry, pictures
from autograder.simgpu.measurements.sizing import (
    Arguments,
    Random,
    Sized,
    SizedLaunch,
    cube,
    elements,
    grid_for,
    square,
    zeros,
)

F32, I16, I32, U8 = np.float32, np.int16, np.int32, np.uint8
COSINES = np.cos((2 * np.arange(8)[None, :] + 1) * np.arange(8)[:, None] * np.pi / 16).astype(np.float32)


@cuda.jit
def heat_x_on_rows(u, out, k):
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        out[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


@cuda.jit
def gray_scott(u, v, new_u, new_v):
    x, y = cuda.grid(2)
    h, w = u.shape
    if x >= w or y >= h:
        return
    left = (x + w - 1) % w
    right = (x + 1) % w
    up = (y + h - 1) % h
    down = (y + 1) % h
    a = u[y, x]
    b = v[y, x]
    la = u[y, left] + u[y, right] + u[up, x] + u[down, x] - float32(4) * a
    lb = v[y, left] + v[y, right] + v[up, x] + v[down, x] - float32(4) * b
    abb = a * b * b
    new_u[y, x] = a + float32(0.16) * la - abb + float32(0.035) * (float32(1) - a)
    new_v[y, x] = b + float32(0.08) * lb + abb - float32(0.1) * b


@cuda.jit
def gauss_along_rows(src, dst, taps):
    x, y = cuda.grid(2)
    if y < src.shape[0] and x < src.shape[1]:
        acc = float32(0.0)
        for k in range(-4, 5):
            c = min(max(x + k, 0), src.shape[1] - 1)
            acc += taps[k + 4] * src[y, c]
        dst[y, x] = acc


@cuda.jit
def gauss_along_columns(src, dst, taps):
    x, y = cuda.grid(2)
    if y < src.shape[0] and x < src.shape[1]:
        acc = float32(0.0)
        for k in range(-4, 5):
            c = min(max(y + k, 0), src.shape[0] - 1)
            acc += taps[k + 4] * src[c, x]
        dst[y, x] = acc


@cuda.jit
def bilateral(image, out, spread):
    x, y = cuda.grid(2)
    rows, cols = image.shape
    if 1 <= x < cols - 1 and 1 <= y < rows - 1:
        center = image[y, x]
        num = 0.0
        den = 0.0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                v = image[y + dy, x + dx]
                w = math.exp(-((v - center) ** 2) / spread - 0.5 * (dx * dx + dy * dy))
                num += w * v
                den += w
        out[y, x] = num / den


@cuda.jit
def median_3x3(image, out):
    window = cuda.local.array(9, float32)
    x, y = cuda.grid(2)
    if x > 0 and y > 0 and x < image.shape[1] - 1 and y < image.shape[0] - 1:
        n = 0
        for i in range(-1, 2):
            for j in range(-1, 2):
                window[n] = image[y + i, x + j]
                n += 1
        for i in range(5):
            least = i
            for j in range(i + 1, 9):
                if window[j] < window[least]:
                    least = j
            t = window[i]
            window[i] = window[least]
            window[least] = t
        out[y, x] = window[4]


@cuda.jit
def gray_levels(image, bins):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        cuda.atomic.add(bins, image[y, x], 1)


@cuda.jit
def integral_along_rows(image, out):
    row = cuda.grid(1)
    if row < image.shape[0]:
        s = 0.0
        for c in range(image.shape[1]):
            s += image[row, c]
            out[row, c] = s


@cuda.jit
def integral_along_columns(image, out):
    c = cuda.grid(1)
    if c < image.shape[1]:
        s = float32(0)
        for row in range(image.shape[0]):
            s += image[row, c]
            out[row, c] = s


@cuda.jit
def quarter_turn(image, out):
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        out[c, image.shape[0] - 1 - r] = image[r, c]


@cuda.jit
def max_pool_pairs(image, out):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        a = max(image[2 * r, 2 * c], image[2 * r, 2 * c + 1])
        b = max(image[2 * r + 1, 2 * c], image[2 * r + 1, 2 * c + 1])
        out[r, c] = max(a, b)


@cuda.jit
def enlarge_nearest(image, out, factor):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        out[r, c] = image[r // factor, c // factor]


@cuda.jit
def fir_dynamic(signal, taps, out):
    buf = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * cuda.blockDim.x
    halo = taps.size - 1
    k = t
    while k < cuda.blockDim.x + halo:
        if first + k < signal.size:
            buf[k] = signal[first + k]
        k += cuda.blockDim.x
    cuda.syncthreads()
    i = first + t
    if i < out.size:
        s = float32(0)
        for j in range(taps.size):
            s += taps[j] * buf[t + j]
        out[i] = s


@cuda.jit
def mean_of_27(vol, out):
    x, y, z = cuda.grid(3)
    if 0 < x < vol.shape[2] - 1 and 0 < y < vol.shape[1] - 1 and 0 < z < vol.shape[0] - 1:
        s = float32(0)
        for a in range(-1, 2):
            for b in range(-1, 2):
                for c in range(-1, 2):
                    s += vol[z + a, y + b, x + c]
        out[z, y, x] = s / float32(27)


@cuda.jit
def diffuse_x_first(vol, out):
    x, y, z = cuda.grid(3)
    nx, ny, nz = vol.shape
    if x > 0 and x < nx - 1 and y > 0 and y < ny - 1 and z > 0 and z < nz - 1:
        s = vol[x - 1, y, z] + vol[x + 1, y, z] + vol[x, y - 1, z] + vol[x, y + 1, z] + vol[x, y, z - 1] + vol[x, y, z + 1]
        out[x, y, z] = 0.9 * vol[x, y, z] + 0.1 * s / 6


@cuda.jit
def boltzmann_collide(f, out, omega):
    """Nine directions, a plane of its own each."""
    x, y = cuda.grid(2)
    h, w = f.shape[1], f.shape[2]
    if x >= w or y >= h:
        return
    rho = float32(0)
    for k in range(9):
        rho += f[k, y, x]
    ux = (f[1, y, x] + f[5, y, x] + f[8, y, x] - f[3, y, x] - f[6, y, x] - f[7, y, x]) / rho
    uy = (f[2, y, x] + f[5, y, x] + f[6, y, x] - f[4, y, x] - f[7, y, x] - f[8, y, x]) / rho
    square_speed = float32(1) - float32(1.5) * (ux * ux + uy * uy)
    for k in range(9):
        cx = float32(0)
        cy = float32(0)
        weight = float32(4.0 / 9)
        if k == 1 or k == 5 or k == 8:
            cx = float32(1)
        elif k == 3 or k == 6 or k == 7:
            cx = float32(-1)
        if k == 2 or k == 5 or k == 6:
            cy = float32(1)
        elif k == 4 or k == 7 or k == 8:
            cy = float32(-1)
        if k > 4:
            weight = float32(1.0 / 36)
        elif k > 0:
            weight = float32(1.0 / 9)
        cu = cx * ux + cy * uy
        even = weight * rho * (square_speed + float32(3) * cu + float32(4.5) * cu * cu)
        out[k, y, x] = f[k, y, x] + omega * (even - f[k, y, x])


@cuda.jit
def cyclic_automaton(cells, out, states):
    x, y = cuda.grid(2)
    if x < cells.shape[1] and y < cells.shape[0]:
        mine = cells[y, x]
        following = (mine + 1) % states
        found = False
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if cells[(y + dy) % cells.shape[0], (x + dx) % cells.shape[1]] == following:
                    found = True
        out[y, x] = following if found else mine


@cuda.jit
def seam_row(cost, best, row):
    x = cuda.grid(1)
    n = cost.shape[1]
    if x < n:
        least = best[row - 1, x]
        if x > 0:
            least = min(least, best[row - 1, x - 1])
        if x < n - 1:
            least = min(least, best[row - 1, x + 1])
        best[row, x] = cost[row, x] + least


@cuda.jit
def turn_bytes(image, out):
    tile = cuda.shared.array((32, 32), uint8)
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = image[y, x]
    cuda.syncthreads()
    u = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    v = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    if u < out.shape[1] and v < out.shape[0]:
        out[v, u] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit
def gram_of_columns(a, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        s = 0.0
        for k in range(a.shape[0]):
            s += a[k, i] * a[k, j]
        out[i, j] = s


@cuda.jit
def multiply_shorts(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = int32(0)
        k = 0
        while k < a.shape[1]:
            s += int32(a[row, k]) * int32(b[k, col])
            k += 1
        c[row, col] = s


@cuda.jit
def distances_l1(points, out):
    i, j = cuda.grid(2)
    n, d = points.shape
    if i < n and j < n:
        total = float32(0)
        for k in range(d):
            total += abs(points[i, k] - points[j, k])
        out[i, j] = total


@cuda.jit
def times_table(out):
    i = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    j = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = (i + 1) * (j + 1) % 97


@cuda.jit
def batched_vectors(matrices, vectors, out):
    row, batch = cuda.grid(2)
    if batch < out.shape[0] and row < out.shape[1]:
        s = float32(0)
        for k in range(matrices.shape[2]):
            s += matrices[batch, row, k] * vectors[batch, k]
        out[batch, row] = s


@cuda.jit
def cosine_transform_8(signal, out):
    table = cuda.const.array_like(COSINES)
    i = cuda.grid(1)
    if i < signal.shape[0]:
        for k in range(8):
            s = float32(0)
            for n in range(8):
                s += signal[i, n] * table[k, n]
            out[i, k] = s


@cuda.jit
def threshold_by_mean_of_block(image, out):
    s = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    inside = x < image.shape[1] and y < image.shape[0]
    s[ty, tx] = image[y, x] if inside else float32(0)
    cuda.syncthreads()
    mean = float32(0)
    for r in range(16):
        for c in range(16):
            mean += s[r, c]
    if inside:
        out[y, x] = float32(1) if s[ty, tx] * float32(256) > mean else float32(0)


SEAM_ROWS = 48


def seam_arguments(r: Random, n: int) -> Arguments:
    cost = r.reals((SEAM_ROWS, n))
    best = zeros(SEAM_ROWS, n)
    best[0] = cost[0]
    return cost, best


def seam_launches(n: int, arguments: Arguments) -> list[SizedLaunch]:
    cost, best = arguments
    return [SizedLaunch(seam_row, grid_for(n, 256), 256, (cost, best, row)) for row in range(1, SEAM_ROWS)]


def by_hand_seam(cost: np.ndarray, best: np.ndarray) -> None:
    for row in range(1, SEAM_ROWS):
        above = np.pad(best[row - 1], 1, constant_values=np.inf)
        best[row] = cost[row] + np.minimum(np.minimum(above[:-2], above[2:]), above[1:-1])


def gauss_arguments(r: Random, n: int) -> Arguments:
    taps = np.exp(-np.arange(-4, 5) ** 2 / 8).astype(F32)
    return r.reals((n, n)), zeros(n, n), zeros(n, n), taps / taps.sum()


def gauss_launches(n: int, arguments: Arguments) -> list[SizedLaunch]:
    image, between, out, taps = arguments
    grid = grid_for((n, n), (32, 8))
    return [
        SizedLaunch(gauss_along_rows, grid, (32, 8), (image, between, taps)),
        SizedLaunch(gauss_along_columns, grid, (32, 8), (between, out, taps)),
    ]


def by_hand_gauss(image: np.ndarray, between: np.ndarray, out: np.ndarray, taps: np.ndarray) -> None:
    n = image.shape[0]
    wide = np.pad(image, ((0, 0), (4, 4)), mode="edge")
    between[:] = sum(taps[k] * wide[:, k : k + n] for k in range(9))
    high = np.pad(between, ((4, 4), (0, 0)), mode="edge")
    out[:] = sum(taps[k] * high[k : k + n] for k in range(9))


def reagents(r: Random, n: int) -> Arguments:
    return r.reals((n, n)), r.reals((n, n)), zeros(n, n), zeros(n, n)


def densities(r: Random, n: int) -> Arguments:
    return r.reals((9, n, n)) + F32(0.5), zeros(9, n, n), F32(0.8)


def half_square(n: int, arguments: Arguments) -> tuple[int, int]:
    return n // 2, n // 2


def batches(n: int, arguments: Arguments) -> tuple[int, int]:
    return 48, n


GRIDS: tuple[Sized, ...] = (
    entry(heat_x_on_rows, (16, 16), square, pictures(F32(0.1)), 1000, 6000, small=66),
    entry(gray_scott, (32, 8), square, reagents, 800, 5000, small=66),
    Sized("gauss_separable", gauss_arguments, gauss_launches, 66, 800, 6000, by_hand_gauss),
    entry(bilateral, (16, 16), square, pictures(0.1), 500, 3000, small=66),
    entry(median_3x3, (16, 16), square, pictures(), 800, 6000, small=66),
    entry(gray_levels, (16, 16), square,
          lambda r, n: (r.wholes(256, (n, n), U8), zeros(256, dtype=I32)), 700, 5000, small=66),
    entry(integral_along_rows, 64, elements, pictures(), 1200, 8000, small=66),
    entry(integral_along_columns, 64, elements, pictures(), 1000, 8000, small=66),
    entry(quarter_turn, (32, 8), square, pictures(), 1000, 8000, small=66),
    entry(max_pool_pairs, (16, 16), half_square,
          lambda r, n: (r.reals((n, n)), zeros(n // 2, n // 2)), 2000, 14_000, small=66),
    entry(enlarge_nearest, (32, 16), square,
          lambda r, n: (r.reals((n // 4, n // 4)), zeros(n, n), 4), 1600, 12_000, small=64),
    entry(fir_dynamic, 256, elements, lambda r, n: (r.reals(n + 31), r.reals(32), zeros(n)), 1_000_000, 40_000_000,
          shared_bytes=4 * (256 + 31)),
    entry(mean_of_27, (8, 8, 4), cube, lambda r, n: (r.reals((n, n, n)), zeros(n, n, n)), 100, 400, small=20),
    entry(diffuse_x_first, (8, 8, 8), cube, lambda r, n: (r.reals((n, n, n)), zeros(n, n, n)), 100, 350, small=20),
    entry(boltzmann_collide, (32, 4), square, densities, 400, 2500, small=66),
    entry(cyclic_automaton, (16, 16), square,
          lambda r, n: (r.wholes(7, (n, n)), zeros(n, n, dtype=I32), 7), 500, 3500, small=66),
    Sized("seam_rows", seam_arguments, seam_launches, 1000, 20_000, 1_000_000, by_hand_seam),
    entry(turn_bytes, (32, 32), square,
          lambda r, n: (r.wholes(256, (n, n), U8), zeros(n, n, dtype=U8)), 2000, 14_000, small=66),
    entry(gram_of_columns, (16, 16), square, lambda r, n: (r.reals((200, n)), zeros(n, n)), 250, 1500, small=66),
    entry(multiply_shorts, (16, 16), square,
          lambda r, n: (r.wholes(100, (n, n), I16), r.wholes(100, (n, n), I16), zeros(n, n, dtype=I32)),
          300, 1400, small=66),
    entry(distances_l1, (16, 16), square, lambda r, n: (r.reals((n, 10)), zeros(n, n)), 600, 4000, small=66),
    entry(times_table, (32, 8), square, lambda r, n: (zeros(n, n, dtype=np.int64),), 1200, 9000, small=66),
    entry(batched_vectors, (16, 16), batches,
          lambda r, n: (r.reals((n, 48, 32)), r.reals((n, 32)), zeros(n, 48)), 1000, 20_000,
          small=50),
    entry(cosine_transform_8, 128, elements, lambda r, n: (r.reals((n, 8)), zeros(n, 8)), 300_000, 8_000_000),
    entry(threshold_by_mean_of_block, (16, 16), square, pictures(), 700, 5000, small=66),
)  # fmt: skip

"""Unseen kernels: stencils, filters, images and cellular automata."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, float64, int32, uint8

from autograder.simgpu.measurements.unseen_entries import Unseen, floats, unseen, whole

BINOMIAL = np.array([1, 6, 15, 20, 15, 6, 1], np.float32) / np.float32(64)
MOTION = (np.arange(25).reshape(5, 5) / 300).astype(np.float32)


@cuda.jit
def heat_1d(u, out, k):
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        out[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])


def _heat_1d(u, out, k):
    out[1:-1] = u[1:-1] + k * (u[:-2] - 2 * u[1:-1] + u[2:])


@cuda.jit
def heat_1d_halo(u, out, k):
    s = cuda.shared.array(130, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    n = u.size
    s[t + 1] = u[i] if i < n else float32(0)
    if t == 0:
        s[0] = u[i - 1] if i > 0 else float32(0)
    if t == 127:
        s[129] = u[i + 1] if i + 1 < n else float32(0)
    cuda.syncthreads()
    if i > 0 and i < n - 1:
        out[i] = s[t + 1] + k * (s[t] - 2 * s[t + 1] + s[t + 2])


@cuda.jit
def blur_radius_3(signal, out):
    tile = cuda.shared.array(134, dtype=float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    for j in range(t, 134, 128):
        tile[j] = signal[start + j]
    cuda.syncthreads()
    total = float32(0)
    for j in range(7):
        total += tile[t + j]
    out[start + t] = total / 7


def _blur_radius_3(signal, out):
    out[:] = sum(signal[j : j + out.size] for j in range(7)) / 7


@cuda.jit
def smooth_binomial(signal, out):
    weights = cuda.const.array_like(BINOMIAL)
    i = cuda.grid(1)
    if i >= out.size:
        return
    total = float32(0)
    for j in range(7):
        total += weights[j] * signal[i + j]
    out[i] = total


def _smooth_binomial(signal, out):
    out[:] = sum(BINOMIAL[j] * signal[j : j + out.size] for j in range(7))


@cuda.jit
def laplace_tile(u, out):
    tile = cuda.shared.array((18, 18), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    tile[ty + 1, tx + 1] = u[y + 1, x + 1]
    if ty == 0:
        tile[0, tx + 1] = u[y, x + 1]
    if ty == 15:
        tile[17, tx + 1] = u[y + 2, x + 1]
    if tx == 0:
        tile[ty + 1, 0] = u[y + 1, x]
    if tx == 15:
        tile[ty + 1, 17] = u[y + 1, x + 2]
    cuda.syncthreads()
    around = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
    out[y + 1, x + 1] = around - 4 * tile[ty + 1, tx + 1]


def _laplace(u, out):
    out[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


@cuda.jit
def jacobi_step(u, f, out):
    col, row = cuda.grid(2)
    if row < 1 or row >= u.shape[0] - 1 or col < 1 or col >= u.shape[1] - 1:
        return
    out[row, col] = 0.25 * (u[row - 1, col] + u[row + 1, col] + u[row, col - 1] + u[row, col + 1] - f[row, col])


def _jacobi_step(u, f, out):
    out[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])


@cuda.jit
def red_black_half(u, color, omega):
    x, y = cuda.grid(2)
    if x > 0 and y > 0 and x < u.shape[1] - 1 and y < u.shape[0] - 1:
        if (x + y) % 2 == color:
            mean = (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]) * float32(0.25)
            u[y, x] = u[y, x] + omega * (mean - u[y, x])


def _red_black_half(u, color, omega):
    mean = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * np.float32(0.25)
    y, x = np.mgrid[1 : u.shape[0] - 1, 1 : u.shape[1] - 1]
    inner = u[1:-1, 1:-1]
    inner[:] = np.where((x + y) % 2 == color, inner + omega * (mean - inner), inner)


@cuda.jit
def mean_3x3(image, out):
    x, y = cuda.grid(2)
    height, width = image.shape
    if x >= 1 and x < width - 1 and y >= 1 and y < height - 1:
        total = float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                total += image[y + dy, x + dx]
        out[y, x] = total / 9


def _mean_3x3(image, out):
    h, w = image.shape
    out[1:-1, 1:-1] = sum(image[i : h - 2 + i, j : w - 2 + j] for i in range(3) for j in range(3)) / 9


@cuda.jit
def sobel(image, out):
    x, y = cuda.grid(2)
    if 0 < x < image.shape[1] - 1 and 0 < y < image.shape[0] - 1:
        gx = (image[y - 1, x + 1] + 2 * image[y, x + 1] + image[y + 1, x + 1]) - (
            image[y - 1, x - 1] + 2 * image[y, x - 1] + image[y + 1, x - 1]
        )
        gy = (image[y + 1, x - 1] + 2 * image[y + 1, x] + image[y + 1, x + 1]) - (
            image[y - 1, x - 1] + 2 * image[y - 1, x] + image[y - 1, x + 1]
        )
        out[y, x] = (gx * gx + gy * gy) ** 0.5


@cuda.jit
def sobel_tile(image, out):
    s = cuda.shared.array((10, 34), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x0 = cuda.blockIdx.x * 32
    y0 = cuda.blockIdx.y * 8
    for r in range(ty, 10, 8):
        for c in range(tx, 34, 32):
            s[r, c] = image[y0 + r, x0 + c]
    cuda.syncthreads()
    nw, n, ne = s[ty, tx], s[ty, tx + 1], s[ty, tx + 2]
    w, e = s[ty + 1, tx], s[ty + 1, tx + 2]
    sw, south, se = s[ty + 2, tx], s[ty + 2, tx + 1], s[ty + 2, tx + 2]
    gx = ne + 2 * e + se - nw - 2 * w - sw
    gy = sw + 2 * south + se - nw - 2 * n - ne
    out[y0 + ty + 1, x0 + tx + 1] = (gx * gx + gy * gy) ** 0.5


def _sobel(image, out):
    p = image.astype(np.float64)
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    out[1:-1, 1:-1] = np.hypot(gx, gy)


@cuda.jit
def box_rows(image, out):
    row = cuda.shared.array(72, float32)
    t = cuda.threadIdx.x
    y = cuda.blockIdx.x
    row[t] = image[y, t]
    if t < 8:
        row[64 + t] = image[y, 64 + t]
    cuda.syncthreads()
    acc = float32(0.0)
    for k in range(9):
        acc += row[t + k]
    out[y, t] = acc * float32(1 / 9)


def _box_rows(image, out):
    out[:] = sum(image[:, k : k + 64] for k in range(9)) * np.float32(1 / 9)


@cuda.jit
def box_columns(image, out):
    part = cuda.shared.array((24, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * 32 + tx
    y = cuda.blockIdx.y * 16 + ty
    part[ty, tx] = image[y, x]
    if ty < 8:
        part[ty + 16, tx] = image[y + 16, x]
    cuda.syncthreads()
    acc = float32(0.0)
    for k in range(9):
        acc += part[ty + k, tx]
    out[y, x] = acc / 9


def _box_columns(image, out):
    out[:] = sum(image[k : k + out.shape[0]] for k in range(9)) / 9


@cuda.jit
def median_of_3(x, out):
    i = cuda.grid(1)
    if i > 0 and i < x.size - 1:
        low = min(x[i - 1], x[i])
        high = max(x[i - 1], x[i])
        out[i] = max(low, min(high, x[i + 1]))


def _median_of_3(x, out):
    out[1:-1] = np.median(np.stack([x[:-2], x[1:-1], x[2:]]), axis=0)


@cuda.jit
def life_wrapped(world, out):
    x, y = cuda.grid(2)
    h, w = world.shape
    if x < w and y < h:
        alive = 0
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dx != 0 or dy != 0:
                    alive += world[(y + dy + h) % h, (x + dx + w) % w]
        if alive == 3 or (alive == 2 and world[y, x] == 1):
            out[y, x] = 1
        else:
            out[y, x] = 0


def _life_wrapped(world, out):
    turns = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    alive = sum(np.roll(world, turn, (0, 1)).astype(int) for turn in turns)
    out[:] = (alive == 3) | ((alive == 2) & (world == 1))


@cuda.jit
def life_tile(world, out):
    s = cuda.shared.array((18, 34), uint8)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 16
    j = ty * 32 + tx
    while j < 18 * 34:
        s[j // 34, j % 34] = world[y0 + j // 34, x0 + j % 34]
        j += 512
    cuda.syncthreads()
    alive = 0
    for dy in range(3):
        for dx in range(3):
            alive += s[ty + dy, tx + dx]
    alive -= s[ty + 1, tx + 1]
    out[y0 + ty + 1, x0 + tx + 1] = 1 if alive == 3 or (alive == 2 and s[ty + 1, tx + 1] == 1) else 0


def _life_tile(world, out):
    h, w = world.shape
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    alive = sum(world[i : h - 2 + i, j : w - 2 + j].astype(int) for i, j in shifts)
    out[1:-1, 1:-1] = (alive == 3) | ((alive == 2) & (world[1:-1, 1:-1] == 1))


@cuda.jit
def heat_3d(u, out, k):
    x, y, z = cuda.grid(3)
    nz, ny, nx = u.shape
    if x > 0 and y > 0 and z > 0 and x < nx - 1 and y < ny - 1 and z < nz - 1:
        around = u[z - 1, y, x] + u[z + 1, y, x] + u[z, y - 1, x] + u[z, y + 1, x] + u[z, y, x - 1] + u[z, y, x + 1]
        out[z, y, x] = u[z, y, x] + k * (around - 6 * u[z, y, x])


@cuda.jit
def heat_3d_tile(u, out, k):
    s = cuda.shared.array((6, 6, 10), float32)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    x0, y0, z0 = cuda.blockIdx.x * 8, cuda.blockIdx.y * 4, cuda.blockIdx.z * 4
    for j in range((tz * 4 + ty) * 8 + tx, 360, 128):
        s[j // 60, j // 10 % 6, j % 10] = u[z0 + j // 60, y0 + j // 10 % 6, x0 + j % 10]
    cuda.syncthreads()
    z, y, x = tz + 1, ty + 1, tx + 1
    around = s[z - 1, y, x] + s[z + 1, y, x] + s[z, y - 1, x] + s[z, y + 1, x] + s[z, y, x - 1] + s[z, y, x + 1]
    out[z0 + z, y0 + y, x0 + x] = s[z, y, x] + k * (around - 6 * s[z, y, x])


@cuda.jit
def heat_3d_columns(u, out, k):
    x, y = cuda.grid(2)
    if x > 0 and y > 0 and x < u.shape[2] - 1 and y < u.shape[1] - 1:
        below = u[0, y, x]
        here = u[1, y, x]
        for z in range(1, u.shape[0] - 1):
            above = u[z + 1, y, x]
            around = below + above + u[z, y - 1, x] + u[z, y + 1, x] + u[z, y, x - 1] + u[z, y, x + 1]
            out[z, y, x] = here + k * (around - 6 * here)
            below = here
            here = above


def _heat_3d(u, out, k):
    c = u[1:-1, 1:-1, 1:-1]
    around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
    out[1:-1, 1:-1, 1:-1] = c + k * (around + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:] - 6 * c)


@cuda.jit
def wave_step(before, now, speed):
    x, y = cuda.grid(2)
    if 0 < x < now.shape[1] - 1 and 0 < y < now.shape[0] - 1:
        lap = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1] - 4 * now[y, x]
        before[y, x] = 2 * now[y, x] - before[y, x] + speed * lap


def _wave_step(before, now, speed):
    lap = np.zeros_like(now)
    _laplace(now, lap)
    before[1:-1, 1:-1] = (2 * now - before + speed * lap)[1:-1, 1:-1]


@cuda.jit
def gray_from_rgb(rgb, gray):
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        gray[y, x] = uint8((77 * rgb[y, x, 0] + 150 * rgb[y, x, 1] + 29 * rgb[y, x, 2]) >> 8)


def _gray_from_rgb(rgb, gray):
    r, g, b = (rgb[..., i].astype(int) for i in range(3))
    gray[:] = (77 * r + 150 * g + 29 * b) >> 8


@cuda.jit
def threshold(image, out, level):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        if image[y, x] > level:
            out[y, x] = 255
        else:
            out[y, x] = 0


def _threshold(image, out, level):
    out[:] = np.where(image > level, 255, 0)


@cuda.jit
def resize_bilinear(image, out):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    fy = y * (image.shape[0] - 1) / (out.shape[0] - 1)
    fx = x * (image.shape[1] - 1) / (out.shape[1] - 1)
    y0 = min(int(fy), image.shape[0] - 2)
    x0 = min(int(fx), image.shape[1] - 2)
    dy = fy - y0
    dx = fx - x0
    top = image[y0, x0] * (1 - dx) + image[y0, x0 + 1] * dx
    bottom = image[y0 + 1, x0] * (1 - dx) + image[y0 + 1, x0 + 1] * dx
    out[y, x] = top * (1 - dy) + bottom * dy


def _resize_bilinear(image, out):
    fy = np.arange(out.shape[0])[:, None] * (image.shape[0] - 1) / (out.shape[0] - 1)
    fx = np.arange(out.shape[1])[None] * (image.shape[1] - 1) / (out.shape[1] - 1)
    y0, x0 = np.minimum(fy.astype(int), image.shape[0] - 2), np.minimum(fx.astype(int), image.shape[1] - 2)
    dy, dx = fy - y0, fx - x0
    top = image[y0, x0] * (1 - dx) + image[y0, x0 + 1] * dx
    out[:] = top * (1 - dy) + (image[y0 + 1, x0] * (1 - dx) + image[y0 + 1, x0 + 1] * dx) * dy


@cuda.jit
def rule_110(cells, steps):
    s = cuda.shared.array((2, 256), int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[0, t] = cells[i]
    cuda.syncthreads()
    now = 0
    for _ in range(steps):
        left = s[now, (t + 255) % 256]
        right = s[now, (t + 1) % 256]
        pattern = 4 * left + 2 * s[now, t] + right
        s[1 - now, t] = (110 >> pattern) & 1
        now = 1 - now
        cuda.syncthreads()
    cells[i] = s[now, t]


def _rule_110(cells, steps):
    rows = cells.reshape(-1, 256)
    for _ in range(steps):
        rows[:] = (110 >> (4 * np.roll(rows, 1, 1) + 2 * rows + np.roll(rows, -1, 1))) & 1


@cuda.jit
def sharpen_double(image, out):
    tile = cuda.shared.array((18, 19), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    for r in range(ty, 18, 16):
        for c in range(tx, 18, 16):
            tile[r, c] = image[y0 + r, x0 + c]
    cuda.syncthreads()
    total = 9 * tile[ty + 1, tx + 1]
    for r in range(3):
        for c in range(3):
            total -= 0.5 * tile[ty + r, tx + c]
    out[y0 + ty, x0 + tx] = total


def _sharpen_double(image, out):
    h, w = out.shape
    out[:] = 9 * image[1:-1, 1:-1] - 0.5 * sum(image[i : h + i, j : w + j] for i in range(3) for j in range(3))


@cuda.jit
def erode_tile(image, out):
    tile = cuda.shared.array((10, 36), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 8
    r = ty
    while r < 10:
        c = tx
        while c < 34:
            tile[r, c] = image[y0 + r, x0 + c]
            c += 32
        r += 8
    cuda.syncthreads()
    least = tile[ty + 1, tx + 1]
    for r in range(3):
        for c in range(3):
            least = min(least, tile[ty + r, tx + c])
    out[y0 + ty, x0 + tx] = least


def _erode_tile(image, out):
    h, w = out.shape
    out[:] = np.min([image[i : h + i, j : w + j] for i in range(3) for j in range(3)], axis=0)


@cuda.jit
def blend(front, back, alpha, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (front[i] * alpha[i] + back[i] * (255 - alpha[i])) // 255


def _blend(front, back, alpha, out):
    f, b, a = (each.astype(int) for each in (front, back, alpha))
    out[:] = (f * a + b * (255 - a)) // 255


@cuda.jit
def tone_table(image, table, out):
    s = cuda.shared.array(256, uint8)
    t = cuda.threadIdx.x
    s[t] = table[t]
    cuda.syncthreads()
    for i in range(cuda.grid(1), image.size, cuda.gridsize(1)):
        out[i] = s[image[i]]


def _tone_table(image, table, out):
    out[:] = table[image]


@cuda.jit
def convolve_5x5(image, out):
    weights = cuda.const.array_like(MOTION)
    tile = cuda.shared.array((20, 20), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    for r in range(ty, 20, 16):
        for c in range(tx, 20, 16):
            tile[r, c] = image[y0 + r, x0 + c]
    cuda.syncthreads()
    total = float32(0)
    for r in range(5):
        for c in range(5):
            total += weights[r, c] * tile[ty + r, tx + c]
    out[y0 + ty, x0 + tx] = total


def _convolve_5x5(image, out):
    h, w = out.shape
    out[:] = sum(MOTION[i, j] * image[i : h + i, j : w + j] for i in range(5) for j in range(5))


@cuda.jit
def gradient_while(field, out):
    i = cuda.grid(1)
    while i < field.size - 2:
        left = field[i]
        right = field[i + 2]
        out[i] = (right - left) / 2
        i += cuda.gridsize(1)


def _gradient_while(field, out):
    out[:] = (field[2:] - field[:-2]) / 2


@cuda.jit
def diffuse_in_block(u, steps):
    s = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = u[i]
    cuda.syncthreads()
    for _ in range(steps):
        new = s[t]
        if t > 0 and t < 127:
            new = 0.5 * s[t] + 0.25 * (s[t - 1] + s[t + 1])
        cuda.syncthreads()
        s[t] = new
        cuda.syncthreads()
    u[i] = s[t]


def _diffuse_in_block(u, steps):
    rows = u.reshape(-1, 128)
    for _ in range(steps):
        rows[:, 1:-1] = 0.5 * rows[:, 1:-1] + 0.25 * (rows[:, :-2] + rows[:, 2:])


@cuda.jit
def downsample_2x2(image, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        top = image[2 * y, 2 * x] + image[2 * y, 2 * x + 1]
        bottom = image[2 * y + 1, 2 * x] + image[2 * y + 1, 2 * x + 1]
        out[y, x] = (top + bottom) / 4


def _downsample_2x2(image, out):
    out[:] = (image[::2, ::2] + image[::2, 1::2] + image[1::2, ::2] + image[1::2, 1::2]) / 4


@cuda.jit
def flip_rows(image):
    x, y = cuda.grid(2)
    w = image.shape[1]
    if y < image.shape[0] and x < w // 2:
        kept = image[y, x]
        image[y, x] = image[y, w - 1 - x]
        image[y, w - 1 - x] = kept


def _flip_rows(image):
    image[:] = image[:, ::-1].copy()


BYTES = np.uint8
PLANE = floats((66, 66), room=(66, 66))
STENCILS: tuple[Unseen, ...] = (
    unseen(heat_1d, 8, 128, floats(1000, room=1000, more=(np.float32(0.1),)), _heat_1d),
    unseen(heat_1d_halo, 8, 128, floats(1000, room=1000, more=(np.float32(0.1),)), _heat_1d),
    unseen(blur_radius_3, 8, 128, floats(1030, room=1024), _blur_radius_3),
    unseen(smooth_binomial, 8, 128, floats(1006, room=1000), _smooth_binomial),
    unseen(laplace_tile, (4, 4), (16, 16), PLANE, _laplace),
    unseen(jacobi_step, (3, 9), (32, 8), floats((66, 66), (66, 66), room=(66, 66)), _jacobi_step),
    unseen(red_black_half, (5, 5), (16, 16), floats((66, 66), more=(np.int64(1), np.float32(1.5))), _red_black_half),
    unseen(mean_3x3, (5, 5), (16, 16), PLANE, _mean_3x3),
    unseen(sobel, (3, 9), (32, 8), PLANE, _sobel),
    unseen(sobel_tile, (2, 8), (32, 8), PLANE, _sobel),
    unseen(box_rows, 48, 64, floats((48, 72), room=(48, 64)), _box_rows),
    unseen(box_columns, (2, 3), (32, 16), floats((56, 64), room=(48, 64)), _box_columns),
    unseen(median_of_3, 8, 128, floats(1000, room=1000), _median_of_3),
    unseen(life_wrapped, (4, 4), (16, 16), whole((60, 60), high=2, dtype=BYTES, room=(60, 60)), _life_wrapped),
    unseen(life_tile, (2, 4), (32, 16), whole((66, 66), high=2, dtype=BYTES, room=(66, 66)), _life_tile),
    unseen(heat_3d, (3, 5, 5), (8, 4, 4), floats((18, 18, 18), room=(18, 18, 18), more=(np.float32(0.1),)), _heat_3d),
    unseen(heat_3d_tile, (2, 4, 4), (8, 4, 4), floats((18, 18, 18), room=(18, 18, 18), more=(np.float32(0.1),)), _heat_3d),
    unseen(heat_3d_columns, (2, 3), (16, 8), floats((18, 18, 18), room=(18, 18, 18), more=(np.float32(0.1),)), _heat_3d),
    unseen(wave_step, (5, 5), (16, 16), floats((66, 66), (66, 66), more=(np.float32(0.2),)), _wave_step),
    unseen(gray_from_rgb, (2, 8), (32, 8),
           lambda rng: (rng.integers(0, 256, (60, 50, 3)).astype(BYTES), np.zeros((60, 50), BYTES)), _gray_from_rgb),
    unseen(threshold, (2, 8), (32, 8), whole((60, 50), high=256, dtype=BYTES, room=(60, 50), more=(np.int64(99),)),
           _threshold),
    unseen(resize_bilinear, (4, 8), (16, 8), floats((40, 40), room=(60, 60)), _resize_bilinear),
    unseen(rule_110, 4, 256, whole(1024, high=2, more=(np.int64(20),)), _rule_110),
    unseen(sharpen_double, (3, 3), (16, 16), floats((50, 50), dtype=np.float64, room=(48, 48)), _sharpen_double),
    unseen(erode_tile, (2, 6), (32, 8), whole((50, 66), room=(48, 64)), _erode_tile),
    unseen(blend, 8, 128, whole(1000, 1000, 1000, high=256, dtype=BYTES, room=1000), _blend),
    unseen(tone_table, 2, 256, lambda rng: (rng.integers(0, 256, 3000).astype(BYTES),
           rng.integers(0, 256, 256).astype(BYTES), np.zeros(3000, BYTES)), _tone_table),
    unseen(convolve_5x5, (3, 3), (16, 16), floats((52, 52), room=(48, 48)), _convolve_5x5),
    unseen(gradient_while, 4, 64, floats(1002, room=1000), _gradient_while),
    unseen(diffuse_in_block, 4, 128, floats(512, dtype=np.float64, more=(np.int64(10),)), _diffuse_in_block),
    unseen(downsample_2x2, (2, 4), (16, 8), floats((60, 60), room=(30, 30)), _downsample_2x2),
    unseen(flip_rows, (2, 8), (16, 8), floats((60, 60)), _flip_rows),
)  # fmt: skip

"""Ordinary kernels that are counted on the emulator alone: arithmetic, images, matrices, simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, float64, uint32

from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.unseen_entries import floats, whole

F32, I32 = np.float32, np.int32


@cuda.jit
def clamp_to_range(x, low, high, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        if v < low:
            v = low
        elif v > high:
            v = high
        out[i] = v


@cuda.jit
def leaky_relu(x, slope, out):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > 0:
            out[i] = x[i]
        else:
            out[i] = x[i] * slope


@cuda.jit
def huber_loss(a, b, delta, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    error = abs(a[i] - b[i])
    if error <= delta:
        out[i] = float32(0.5) * error * error
    else:
        out[i] = delta * (error - float32(0.5) * delta)


@cuda.jit
def quadratic_roots(a, b, c, low, high, count):
    i = cuda.grid(1)
    if i < a.size:
        d = b[i] * b[i] - 4 * a[i] * c[i]
        if d < 0:
            count[i] = 0
        elif d == 0:
            count[i] = 1
            low[i] = -b[i] / (2 * a[i])
        else:
            root = math.sqrt(d)
            count[i] = 2
            low[i] = (-b[i] - root) / (2 * a[i])
            high[i] = (-b[i] + root) / (2 * a[i])


@cuda.jit
def steps_of_euclid(a, b, out, rounds):
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        n = 0
        while y != 0:
            x, y = y, x % y
            n += 1
        out[i] = x
        rounds[i] = n


@cuda.jit
def power_by_squares(bases, exponents, out, modulus):
    i = cuda.grid(1)
    if i < out.size:
        result = 1
        base = bases[i] % modulus
        e = exponents[i]
        while e > 0:
            if e & 1:
                result = result * base % modulus
            base = base * base % modulus
            e >>= 1
        out[i] = result


@cuda.jit
def integer_roots(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        r = 0
        bit = 1 << 14
        while bit > 0:
            t = r + bit
            if t * t <= v:
                r = t
            bit >>= 1
        out[i] = r


@cuda.jit
def is_prime(numbers, out):
    i = cuda.grid(1)
    if i < numbers.size:
        n = numbers[i]
        prime = n > 1
        d = 2
        while d * d <= n:
            if n % d == 0:
                prime = False
                break
            d += 1
        out[i] = 1 if prime else 0


@cuda.jit
def burning_ship(out, limit):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        cr = x * 3.0 / out.shape[1] - 2.0
        ci = y * 2.0 / out.shape[0] - 1.5
        zr = 0.0
        zi = 0.0
        n = 0
        while zr * zr + zi * zi < 4.0 and n < limit:
            t = zr * zr - zi * zi + cr
            zi = abs(2.0 * zr * zi) + ci
            zr = t
            n += 1
        out[y, x] = n


@cuda.jit
def bisect_cube_roots(x, out, steps):
    i = cuda.grid(1)
    if i < x.size:
        low = float32(0)
        high = max(float32(1), x[i])
        for _ in range(steps):
            middle = float32(0.5) * (low + high)
            if middle * middle * middle < x[i]:
                low = middle
            else:
                high = middle
        out[i] = low


@cuda.jit
def simpson(low, high, out, pieces):
    i = cuda.grid(1)
    if i < out.size:
        h = (high[i] - low[i]) / pieces
        total = math.exp(-low[i] * low[i]) + math.exp(-high[i] * high[i])
        for k in range(1, pieces):
            x = low[i] + k * h
            if k % 2 == 1:
                total += 4 * math.exp(-x * x)
            else:
                total += 2 * math.exp(-x * x)
        out[i] = total * h / 3


@cuda.jit
def bounce_balls(height, speed, hits, dt, steps):
    i = cuda.grid(1)
    if i < height.size:
        y = height[i]
        v = speed[i]
        n = 0
        for _ in range(steps):
            v -= float32(9.81) * dt
            y += v * dt
            if y < float32(0):
                y = -y
                v = float32(-0.8) * v
                n += 1
        height[i] = y
        speed[i] = v
        hits[i] = n


@cuda.jit
def predator_and_prey(rabbits, foxes, a, b, c, d, dt, steps):
    i = cuda.grid(1)
    if i >= rabbits.size:
        return
    r = rabbits[i]
    f = foxes[i]
    for _ in range(steps):
        dr = r * (a - b * f)
        df = f * (c * r - d)
        r += dt * dr
        f += dt * df
    rabbits[i] = r
    foxes[i] = f


@cuda.jit
def dice_until_six(states, out):
    i = cuda.grid(1)
    if i < states.size:
        s = uint32(states[i])
        rolls = 0
        while rolls < 40:
            s = uint32(s * uint32(1664525) + uint32(1013904223))
            rolls += 1
            if uint32(s >> uint32(16)) % uint32(6) == uint32(5):
                break
        states[i] = s
        out[i] = rolls


@cuda.jit
def ising_half(spins, states, parity, cold):
    x, y = cuda.grid(2)
    n = spins.shape[0]
    if x < n and y < n and (x + y) % 2 == parity:
        around = spins[(y + 1) % n, x] + spins[(y - 1 + n) % n, x] + spins[y, (x + 1) % n] + spins[y, (x - 1 + n) % n]
        s = uint32(states[y, x])
        s ^= s << uint32(13)
        s ^= s >> uint32(17)
        s ^= s << uint32(5)
        states[y, x] = s
        cost = 2 * spins[y, x] * around
        if cost <= 0 or s % uint32(1000) < cold[cost]:
            spins[y, x] = -spins[y, x]


@cuda.jit
def forest_fire(cells, after):
    x, y = cuda.grid(2)
    if x >= cells.shape[1] or y >= cells.shape[0]:
        return
    state = cells[y, x]
    if state == 2:
        after[y, x] = 0
        return
    if state == 1:
        burns = False
        if x > 0 and cells[y, x - 1] == 2:
            burns = True
        if x + 1 < cells.shape[1] and cells[y, x + 1] == 2:
            burns = True
        if y > 0 and cells[y - 1, x] == 2:
            burns = True
        if y + 1 < cells.shape[0] and cells[y + 1, x] == 2:
            burns = True
        after[y, x] = 2 if burns else 1
        return
    after[y, x] = 0


@cuda.jit
def dilate_3x3(picture, out):
    x, y = cuda.grid(2)
    if 0 < x < picture.shape[1] - 1 and 0 < y < picture.shape[0] - 1:
        most = picture[y, x]
        for j in range(-1, 2):
            for i in range(-1, 2):
                most = max(most, picture[y + j, x + i])
        out[y, x] = most


@cuda.jit
def blur_clamped(picture, out):
    x, y = cuda.grid(2)
    if x < picture.shape[1] and y < picture.shape[0]:
        total = float32(0)
        for j in range(-2, 3):
            for i in range(-2, 3):
                row = min(max(y + j, 0), picture.shape[0] - 1)
                column = min(max(x + i, 0), picture.shape[1] - 1)
                total += picture[row, column]
        out[y, x] = total / 25


@cuda.jit
def prewitt_edges(picture, out, level):
    x, y = cuda.grid(2)
    if x < 1 or y < 1 or x >= picture.shape[1] - 1 or y >= picture.shape[0] - 1:
        return
    gx = float32(0)
    gy = float32(0)
    for k in range(-1, 2):
        gx += picture[y + k, x + 1] - picture[y + k, x - 1]
        gy += picture[y + 1, x + k] - picture[y - 1, x + k]
    out[y, x] = 255 if gx * gx + gy * gy > level else 0


@cuda.jit
def hue_of_rgb(picture, out):
    i = cuda.grid(1)
    if i < picture.shape[0]:
        r = picture[i, 0]
        g = picture[i, 1]
        b = picture[i, 2]
        most = max(r, g, b)
        spread = most - min(r, g, b)
        hue = float32(0)
        if spread > float32(0):
            if most == r:
                hue = (g - b) / spread
            elif most == g:
                hue = float32(2) + (b - r) / spread
            else:
                hue = float32(4) + (r - g) / spread
        out[i] = hue


@cuda.jit
def dither_ordered(picture, pattern, out):
    x, y = cuda.grid(2)
    if x < picture.shape[1] and y < picture.shape[0]:
        out[y, x] = 1 if picture[y, x] > pattern[y % 4, x % 4] else 0


@cuda.jit
def rotate_picture(picture, out, cosine, sine):
    x, y = cuda.grid(2)
    rows, columns = picture.shape
    if x < columns and y < rows:
        u = cosine * (x - columns // 2) - sine * (y - rows // 2) + columns // 2
        v = sine * (x - columns // 2) + cosine * (y - rows // 2) + rows // 2
        i = int(math.floor(u))
        j = int(math.floor(v))
        if 0 <= i < columns and 0 <= j < rows:
            out[y, x] = picture[j, i]
        else:
            out[y, x] = 0


@cuda.jit
def mean_tile_halo(picture, out):
    tile = cuda.shared.array((18, 18), float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x + 1
    ty = cuda.threadIdx.y + 1
    inside = x < picture.shape[1] and y < picture.shape[0]
    tile[ty, tx] = picture[y, x] if inside else float32(0)
    if tx == 1:
        tile[ty, 0] = picture[y, x - 1] if x > 0 and inside else float32(0)
    if tx == 16:
        tile[ty, 17] = picture[y, x + 1] if x + 1 < picture.shape[1] and y < picture.shape[0] else float32(0)
    if ty == 1:
        tile[0, tx] = picture[y - 1, x] if y > 0 and inside else float32(0)
    if ty == 16:
        tile[17, tx] = picture[y + 1, x] if y + 1 < picture.shape[0] and x < picture.shape[1] else float32(0)
    cuda.syncthreads()
    if inside:
        out[y, x] = (tile[ty, tx] + tile[ty - 1, tx] + tile[ty + 1, tx] + tile[ty, tx - 1] + tile[ty, tx + 1]) / 5


@cuda.jit
def advect_upwind(q, wind, out, c):
    i = cuda.grid(1)
    n = q.size
    if i < n:
        if wind[i] > 0:
            left = i - 1 if i > 0 else n - 1
            out[i] = q[i] - c * wind[i] * (q[i] - q[left])
        else:
            right = i + 1 if i < n - 1 else 0
            out[i] = q[i] - c * wind[i] * (q[right] - q[i])


@cuda.jit
def tridiagonal_rows(low, middle, high, right, x):
    i = cuda.grid(1)
    if i < right.shape[0]:
        c = cuda.local.array(16, float32)
        d = cuda.local.array(16, float32)
        c[0] = high[i, 0] / middle[i, 0]
        d[0] = right[i, 0] / middle[i, 0]
        for k in range(1, 16):
            m = middle[i, k] - low[i, k] * c[k - 1]
            c[k] = high[i, k] / m
            d[k] = (right[i, k] - low[i, k] * d[k - 1]) / m
        x[i, 15] = d[15]
        for k in range(14, -1, -1):
            d[k] -= c[k] * d[k + 1]
            x[i, k] = d[k]


@cuda.jit
def inverse_2x2(matrices, out, singular):
    i = cuda.grid(1)
    if i < matrices.shape[0]:
        a = matrices[i, 0, 0]
        b = matrices[i, 0, 1]
        c = matrices[i, 1, 0]
        d = matrices[i, 1, 1]
        det = a * d - b * c
        if abs(det) < float32(1e-3):
            singular[i] = 1
        else:
            out[i, 0, 0] = d / det
            out[i, 0, 1] = -b / det
            out[i, 1, 0] = -c / det
            out[i, 1, 1] = a / det


@cuda.jit
def upper_triangle(a, out):
    x, y = cuda.grid(2)
    if x < a.shape[1] and y < a.shape[0]:
        if x >= y:
            out[y, x] = a[y, x]
        else:
            out[y, x] = 0


@cuda.jit
def banded_product(a, x, y, width):
    i = cuda.grid(1)
    if i < y.size:
        total = float32(0)
        first = i - width if i > width else 0
        last = i + width + 1 if i + width + 1 < y.size else y.size
        for j in range(first, last):
            total += a[i, j] * x[j]
        y[i] = total


@cuda.jit
def multiply_tile_of_doubles(a, b, c):
    left = cuda.shared.array((8, 8), float64)
    right = cuda.shared.array((8, 8), float64)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    total = 0.0
    for k in range(0, a.shape[1], 8):
        left[ty, tx] = a[y, k + tx]
        right[ty, tx] = b[k + ty, x]
        cuda.syncthreads()
        for j in range(8):
            total += left[ty, j] * right[j, tx]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def black_body(temperatures, lengths, out):
    i = cuda.grid(1)
    if i < temperatures.size:
        best = 0.0
        for k in range(lengths.size):
            t = lengths[k] * temperatures[i]
            v = 1.0 / (lengths[k] ** 5 * (math.exp(14.0 / t) - 1.0))
            if v > best:
                best = v
        out[i] = best


@cuda.jit
def haversine(lat, lon, lat0, lon0, out):
    i = cuda.grid(1)
    if i < lat.size:
        a = math.sin((lat[i] - lat0) / 2) ** 2
        b = math.cos(lat0) * math.cos(lat[i]) * math.sin((lon[i] - lon0) / 2) ** 2
        out[i] = 2 * math.asin(math.sqrt(a + b))


@cuda.jit
def lennard_jones(x, y, force, cutoff):
    i = cuda.grid(1)
    if i >= x.size:
        return
    total = float32(0)
    for j in range(x.size):
        if j == i:
            continue
        dx = x[j] - x[i]
        dy = y[j] - y[i]
        r2 = dx * dx + dy * dy + float32(0.01)
        if r2 < cutoff:
            s = float32(1) / r2
            s3 = s * s * s
            total += s3 * (s3 - float32(0.5)) * dx
    force[i] = total


def _spins(rng: np.random.Generator) -> tuple[Any, ...]:
    cold = np.array([1000, 0, 0, 0, 300, 0, 0, 0, 50], np.uint32)
    spins = rng.integers(0, 2, (64, 64)).astype(I32) * 2 - 1
    return spins, rng.integers(1, 2**31, (64, 64)).astype(np.uint32), 0, cold


def _signed(size: int) -> Any:
    return lambda rng: ((rng.random(size) * 4 - 2).astype(F32), F32(0.1), np.zeros(size, F32))


NUMERICS: tuple[Case, ...] = (
    Case("clamp_to_range", clamp_to_range, 8, 128,
         lambda rng: (rng.random(1000, F32), F32(0.2), F32(0.7), np.zeros(1000, F32))),
    Case("leaky_relu", leaky_relu, 8, 128, _signed(1000)),
    Case("huber_loss", huber_loss, 8, 128,
         lambda rng: (rng.random(1000, F32), rng.random(1000, F32), F32(0.3), np.zeros(1000, F32))),
    Case("quadratic_roots", quadratic_roots, 4, 128,
         lambda rng: (*((rng.random(500) * 3).astype(F32) + F32(0.1) for _ in range(3)), np.zeros(500, F32),
                      np.zeros(500, F32), np.zeros(500, I32))),
    Case("steps_of_euclid", steps_of_euclid, 4, 128,
         lambda rng: (rng.integers(1, 1000, 500).astype(I32), rng.integers(1, 1000, 500).astype(I32),
                      np.zeros(500, I32), np.zeros(500, I32))),
    Case("power_by_squares", power_by_squares, 4, 64,
         lambda rng: (rng.integers(1, 1000, 200), rng.integers(1, 500, 200), np.zeros(200, np.int64), 10007)),
    Case("integer_roots", integer_roots, 4, 128, whole(500, high=2**28, room=500)),
    Case("is_prime", is_prime, 4, 128, whole(500, high=3000, room=500)),
    Case("burning_ship", burning_ship, (3, 5), (16, 8), lambda rng: (np.zeros((40, 40), I32), 30)),
    Case("bisect_cube_roots", bisect_cube_roots, 4, 128, lambda rng: (rng.random(500, F32) * 9, np.zeros(500, F32), 20)),
    Case("simpson", simpson, 2, 128, lambda rng: (rng.random(200), rng.random(200) + 1, np.zeros(200), 10)),
    Case("bounce_balls", bounce_balls, 4, 128,
         lambda rng: (rng.random(500, F32), rng.random(500, F32), np.zeros(500, I32), F32(0.05), 40)),
    Case("predator_and_prey", predator_and_prey, 4, 128,
         lambda rng: (rng.random(500, F32), rng.random(500, F32), *map(F32, (1, 0.5, 0.4, 1, 0.01)), 30)),
    Case("dice_until_six", dice_until_six, 4, 128,
         lambda rng: (rng.integers(0, 2**32, 500).astype(np.uint32), np.zeros(500, I32))),
    Case("ising_half", ising_half, (4, 8), (16, 8), _spins),
    Case("forest_fire", forest_fire, (4, 8), (16, 8), whole((60, 60), high=3, room=(60, 60))),
    Case("dilate_3x3", dilate_3x3, (4, 8), (16, 8), floats((60, 60), room=(60, 60))),
    Case("blur_clamped", blur_clamped, (4, 8), (16, 8), floats((60, 60), room=(60, 60))),
    Case("prewitt_edges", prewitt_edges, (4, 8), (16, 8),
         lambda rng: (rng.random((60, 60), F32), np.zeros((60, 60), np.uint8), F32(1.0))),
    Case("hue_of_rgb", hue_of_rgb, 4, 128, floats((500, 3), room=500)),
    Case("dither_ordered", dither_ordered, (4, 8), (16, 8),
         lambda rng: (rng.random((60, 60), F32), rng.random((4, 4), F32), np.zeros((60, 60), np.uint8))),
    Case("rotate_picture", rotate_picture, (4, 8), (16, 8),
         floats((60, 60), room=(60, 60), more=(F32(0.8), F32(0.6)))),
    Case("mean_tile_halo", mean_tile_halo, (4, 4), (16, 16), floats((60, 60), room=(60, 60))),
    Case("advect_upwind", advect_upwind, 8, 128,
         lambda rng: (rng.random(1000, F32), (rng.random(1000) - 0.5).astype(F32), np.zeros(1000, F32), F32(0.1))),
    Case("tridiagonal_rows", tridiagonal_rows, 2, 64,
         lambda rng: (rng.random((100, 16), F32), rng.random((100, 16), F32) + 3, rng.random((100, 16), F32),
                      rng.random((100, 16), F32), np.zeros((100, 16), F32))),
    Case("inverse_2x2", inverse_2x2, 4, 64,
         lambda rng: (rng.integers(-1, 2, (200, 2, 2)).astype(F32), np.zeros((200, 2, 2), F32), np.zeros(200, I32))),
    Case("upper_triangle", upper_triangle, (4, 8), (16, 8), floats((60, 60), room=(60, 60))),
    Case("banded_product", banded_product, 2, 64, floats((100, 100), 100, room=100, more=(np.int64(5),))),
    Case("multiply_tile_of_doubles", multiply_tile_of_doubles, (4, 4), (8, 8),
         floats((32, 40), (40, 32), dtype=np.float64, room=(32, 32))),
    Case("black_body", black_body, 2, 64, lambda rng: (rng.random(100) + 1, rng.random(12) + 1, np.zeros(100))),
    Case("haversine", haversine, 4, 128,
         lambda rng: (rng.random(500), rng.random(500), 0.3, 0.4, np.zeros(500))),
    Case("lennard_jones", lennard_jones, 2, 64, floats(100, 100, room=100, more=(F32(0.2),))),
)  # fmt: skip

"""Unseen kernels: particles, Monte Carlo, fractals, transforms, local arrays and elementwise arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32, uint32

from autograder.simgpu.measurements.arguments import Maker
from autograder.simgpu.measurements.unseen_entries import Unseen, floats, unseen, whole


@cuda.jit(device=True)
def pull(dx, dy, dz, mass):
    r2 = dx * dx + dy * dy + dz * dz + float32(0.01)
    inverse = 1 / math.sqrt(r2)
    return mass * inverse * inverse * inverse


@cuda.jit
def gravity(x, y, z, mass, ax, ay, az):
    i = cuda.grid(1)
    if i >= x.size:
        return
    ax[i] = ay[i] = az[i] = 0
    for j in range(x.size):
        dx = x[j] - x[i]
        dy = y[j] - y[i]
        dz = z[j] - z[i]
        s = pull(dx, dy, dz, mass[j])
        ax[i] += s * dx
        ay[i] += s * dy
        az[i] += s * dz


@cuda.jit
def gravity_tiles(x, y, z, mass, ax, ay, az):
    px = cuda.shared.array(64, float32)
    py = cuda.shared.array(64, float32)
    pz = cuda.shared.array(64, float32)
    pm = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    xi, yi, zi = x[i], y[i], z[i]
    sx = sy = sz = float32(0)
    for start in range(0, x.size, 64):
        px[t] = x[start + t]
        py[t] = y[start + t]
        pz[t] = z[start + t]
        pm[t] = mass[start + t]
        cuda.syncthreads()
        for j in range(64):
            dx = px[j] - xi
            dy = py[j] - yi
            dz = pz[j] - zi
            s = pull(dx, dy, dz, pm[j])
            sx += s * dx
            sy += s * dy
            sz += s * dz
        cuda.syncthreads()
    ax[i] = sx
    ay[i] = sy
    az[i] = sz


@cuda.jit
def gravity_tile_rows(bodies, forces):
    s = cuda.shared.array((32, 4), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    fx = float32(0)
    fy = float32(0)
    fz = float32(0)
    for start in range(0, bodies.shape[0], 32):
        for k in range(4):
            s[t, k] = bodies[start + t, k]
        cuda.syncthreads()
        for j in range(32):
            dx = s[j, 0] - bodies[i, 0]
            dy = s[j, 1] - bodies[i, 1]
            dz = s[j, 2] - bodies[i, 2]
            w = pull(dx, dy, dz, s[j, 3])
            fx += w * dx
            fy += w * dy
            fz += w * dz
        cuda.syncthreads()
    forces[i, 0] = fx
    forces[i, 1] = fy
    forces[i, 2] = fz


def _gravity(x, y, z, mass, ax, ay, az):
    d = np.stack([x, y, z], 1).astype(np.float64)
    apart = d[None] - d[:, None]
    weight = mass / ((apart**2).sum(2) + 0.01) ** 1.5
    ax[:], ay[:], az[:] = (weight[..., None] * apart).sum(1).T


def _gravity_tile_rows(bodies, forces):
    _gravity(*bodies.T, *forces.T)


@cuda.jit(device=True)
def xorshift(state):
    state ^= (state << uint32(13)) & uint32(0xFFFFFFFF)
    state ^= state >> uint32(17)
    state ^= (state << uint32(5)) & uint32(0xFFFFFFFF)
    return state & uint32(0xFFFFFFFF)


@cuda.jit
def count_in_circle(seeds, rounds, hits):
    i = cuda.grid(1)
    if i < seeds.size:
        state = uint32(seeds[i])
        inside = 0
        for _ in range(rounds):
            state = uint32(xorshift(state))
            x = state / 4294967296.0
            state = uint32(xorshift(state))
            y = state / 4294967296.0
            if x * x + y * y < 1:
                inside += 1
        hits[i] = inside


def _next(state):
    state ^= (state << np.uint32(13)) & np.uint32(0xFFFFFFFF)
    state ^= state >> np.uint32(17)
    state ^= (state << np.uint32(5)) & np.uint32(0xFFFFFFFF)
    return state


def _count_in_circle(seeds, rounds, hits):
    state = seeds.astype(np.uint32)
    for _ in range(rounds):
        state = _next(state)
        x = state / 4294967296.0
        state = _next(state)
        hits += (x * x + (state / 4294967296.0) ** 2 < 1).astype(hits.dtype)


@cuda.jit
def random_walks(seeds, steps, out):
    i = cuda.grid(1)
    if i >= seeds.size:
        return
    state = seeds[i]
    x = y = 0
    for _ in range(steps):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        turn = (state >> 16) & 3
        if turn == 0:
            x += 1
        elif turn == 1:
            x -= 1
        elif turn == 2:
            y += 1
        else:
            y -= 1
    out[i] = x * x + y * y


def _random_walks(seeds, steps, out):
    state, x, y = seeds.copy(), 0, 0
    for _ in range(steps):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        turn = (state >> 16) & 3
        x = x + (turn == 0) - (turn == 1).astype(int)
        y = y + (turn == 2) - (turn == 3).astype(int)
    out[:] = x * x + y * y


@cuda.jit
def julia(out, cx, cy, limit):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        zx = 3.0 * x / out.shape[1] - 1.5
        zy = 2.0 * y / out.shape[0] - 1.0
        n = 0
        while zx * zx + zy * zy < 4 and n < limit:
            zx, zy = zx * zx - zy * zy + cx, 2 * zx * zy + cy
            n += 1
        out[y, x] = n


@cuda.jit
def julia_complex(out, c, limit):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    z = complex(3.0 * x / out.shape[1] - 1.5, 2.0 * y / out.shape[0] - 1.0)
    for n in range(limit):
        if z.real * z.real + z.imag * z.imag >= 4:
            out[y, x] = n
            return
        z = z * z + c
    out[y, x] = limit


def _julia_complex(out, c, limit):
    h, w = out.shape
    z = (3.0 * np.arange(w) / w - 1.5) + 1j * (2.0 * np.arange(h)[:, None] / h - 1.0)
    inside = np.ones(out.shape, bool)
    for _ in range(limit):
        inside &= z.real * z.real + z.imag * z.imag < 4
        out[inside] += 1
        z = np.where(inside, z * z + c, z)


def _julia(out, cx, cy, limit):
    _julia_complex(out, complex(cx, cy), limit)


@cuda.jit
def first_sphere(directions, centers, radii, hit):
    i = cuda.grid(1)
    if i >= hit.size:
        return
    nearest = float32(1e30)
    which = -1
    for s in range(radii.size):
        b = float32(0)
        c = -radii[s] * radii[s]
        for k in range(3):
            b += directions[i, k] * centers[s, k]
            c += centers[s, k] * centers[s, k]
        under = b * b - c
        if under > 0:
            distance = b - math.sqrt(under)
            if distance > 0 and distance < nearest:
                nearest = distance
                which = s
    hit[i] = which


def _first_sphere(directions, centers, radii, hit):
    b = directions.astype(np.float64) @ centers.T
    under = b * b - (centers.astype(np.float64) ** 2).sum(1) + radii.astype(np.float64) ** 2
    distance = np.where(under > 0, b - np.sqrt(np.maximum(under, 0)), np.inf)
    distance[distance <= 0] = np.inf
    hit[:] = np.where(np.isfinite(distance).any(1), distance.argmin(1), -1)


@cuda.jit
def option_price(spot, strike, years, rate, sigma, price):
    i = cuda.grid(1)
    if i < price.size:
        root = math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * sigma * sigma) * years[i]) / (sigma * root)
        d2 = d1 - sigma * root
        n1 = 0.5 * math.erfc(-d1 / math.sqrt(2.0))
        n2 = 0.5 * math.erfc(-d2 / math.sqrt(2.0))
        price[i] = spot[i] * n1 - strike[i] * math.exp(-rate * years[i]) * n2


def _option_price(spot, strike, years, rate, sigma, price):
    normal = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2.0)))
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma * sigma) * years) / (sigma * np.sqrt(years))
    price[:] = spot * normal(d1) - strike * np.exp(-rate * years) * normal(d1 - sigma * np.sqrt(years))


@cuda.jit
def polynomial(coefficients, x, out):
    i = cuda.grid(1)
    if i < x.size:
        value = coefficients[coefficients.size - 1]
        for k in range(coefficients.size - 2, -1, -1):
            value = value * x[i] + coefficients[k]
        out[i] = value


def _polynomial(coefficients, x, out):
    out[:] = np.polyval(coefficients[::-1].astype(np.float64), x)


@cuda.jit
def complex_axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def _complex_axpy(a, x, y):
    y[:] = a * x + y


@cuda.jit
def fft_step(real, imag, half):
    i = cuda.grid(1)
    if i < real.size // 2:
        k = i % half
        a = (i // half) * 2 * half + k
        b = a + half
        angle = -math.pi * k / half
        c = math.cos(angle)
        s = math.sin(angle)
        tr = c * real[b] - s * imag[b]
        ti = c * imag[b] + s * real[b]
        real[b] = real[a] - tr
        imag[b] = imag[a] - ti
        real[a] = real[a] + tr
        imag[a] = imag[a] + ti


def _fft_step(real, imag, half):
    z = (real + 1j * imag).reshape(-1, 2, half)
    turned = z[:, 1] * np.exp(-1j * math.pi * np.arange(half) / half)
    z = np.stack([z[:, 0] + turned, z[:, 0] - turned], 1).ravel()
    real[:], imag[:] = z.real, z.imag


@cuda.jit
def fft_64(real, imag):
    sr = cuda.shared.array(64, float32)
    si = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 64
    for j in range(t, 64, 32):
        r = 0
        for bit in range(6):
            r |= ((j >> bit) & 1) << (5 - bit)
        sr[r] = real[base + j]
        si[r] = imag[base + j]
    cuda.syncthreads()
    half = 1
    while half < 64:
        k = t % half
        a = (t // half) * 2 * half + k
        b = a + half
        c = math.cos(-math.pi * k / half)
        s = math.sin(-math.pi * k / half)
        tr = c * sr[b] - s * si[b]
        ti = c * si[b] + s * sr[b]
        sr[b] = sr[a] - tr
        si[b] = si[a] - ti
        sr[a] += tr
        si[a] += ti
        cuda.syncthreads()
        half *= 2
    real[base + t] = sr[t]
    imag[base + t] = si[t]
    real[base + t + 32] = sr[t + 32]
    imag[base + t + 32] = si[t + 32]


def _fft_64(real, imag):
    z = np.fft.fft((real + 1j * imag).reshape(-1, 64)).ravel()
    real[:], imag[:] = z.real, z.imag


@cuda.jit
def slow_transform(x, real, imag):
    k = cuda.grid(1)
    if k < x.size:
        re = 0.0
        im = 0.0
        for j in range(x.size):
            angle = -2 * math.pi * k * j / x.size
            re += x[j] * math.cos(angle)
            im += x[j] * math.sin(angle)
        real[k] = re
        imag[k] = im


def _slow_transform(x, real, imag):
    z = np.fft.fft(x)
    real[:], imag[:] = z.real, z.imag


@cuda.jit
def mix_64(x, out):
    i = cuda.grid(1)
    if i < x.size:
        h = x[i]
        h ^= h >> 33
        h *= 1099511628211
        h ^= h >> 29
        out[i] = h


def _mix_64(x, out):
    h = x ^ (x >> 33)
    h *= 1099511628211
    out[:] = h ^ (h >> 29)


@cuda.jit
def add_saturated(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        total = int32(a[i]) + int32(b[i])
        out[i] = 127 if total > 127 else (-128 if total < -128 else total)


def _add_saturated(a, b, out):
    out[:] = (a.astype(int) + b).clip(-128, 127)


@cuda.jit
def half_axpy(factor, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = y[i] + factor * float32(x[i])


def _half_axpy(factor, x, y):
    y += factor * x.astype(np.float32)


@cuda.jit
def double_in_place(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * 2


def _double_in_place(x):
    x *= 2


@cuda.jit
def square_plus(x, y, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i] * x[i] + 2 * x[i] * y[i] + y[i] * y[i]


def _square_plus(x, y, out):
    out[:] = (x + y) ** 2


@cuda.jit
def adam_step(w, g, m, v, rate):
    i = cuda.grid(1)
    if i < w.size:
        m[i] = float32(0.9) * m[i] + float32(0.1) * g[i]
        v[i] = float32(0.99) * v[i] + float32(0.01) * g[i] * g[i]
        w[i] -= rate * m[i] / (math.sqrt(v[i]) + float32(1e-4))


def _adam_step(w, g, m, v, rate):
    m[:] = 0.9 * m + 0.1 * g
    v[:] = 0.99 * v + 0.01 * g * g
    w -= rate * m / (np.sqrt(v) + np.float32(1e-4))


@cuda.jit
def unit_vectors(v):
    i = cuda.grid(1)
    if i < v.shape[0]:
        length = math.sqrt(v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        v[i, 0] /= length
        v[i, 1] /= length
        v[i, 2] /= length


def _unit_vectors(v):
    v /= np.sqrt((v * v).sum(1, keepdims=True))


@cuda.jit
def rotate_quaternion(q, p, out):
    i = cuda.grid(1)
    if i < p.shape[0]:
        w, x, y, z = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        tx = 2 * (y * p[i, 2] - z * p[i, 1])
        ty = 2 * (z * p[i, 0] - x * p[i, 2])
        tz = 2 * (x * p[i, 1] - y * p[i, 0])
        out[i, 0] = p[i, 0] + w * tx + (y * tz - z * ty)
        out[i, 1] = p[i, 1] + w * ty + (z * tx - x * tz)
        out[i, 2] = p[i, 2] + w * tz + (x * ty - y * tx)


def _rotate_quaternion(q, p, out):
    t = 2 * np.cross(q[:, 1:], p)
    out[:] = p + q[:, :1] * t + np.cross(q[:, 1:], t)


@cuda.jit
def cross_products(a, b, out):
    i = cuda.grid(1)
    if i >= a.shape[0]:
        return
    out[i, 0] = a[i, 1] * b[i, 2] - a[i, 2] * b[i, 1]
    out[i, 1] = a[i, 2] * b[i, 0] - a[i, 0] * b[i, 2]
    out[i, 2] = a[i, 0] * b[i, 1] - a[i, 1] * b[i, 0]


def _cross_products(a, b, out):
    out[:] = np.cross(a, b)


@cuda.jit
def spring_chain(x, v, out, k, dt):
    i = cuda.grid(1)
    if i < x.size:
        force = float32(0)
        if i > 0:
            force += k * (x[i - 1] - x[i])
        if i < x.size - 1:
            force += k * (x[i + 1] - x[i])
        v[i] += force * dt
        out[i] = x[i] + v[i] * dt


def _spring_chain(x, v, out, k, dt):
    force = np.zeros_like(x)
    force[1:] += k * (x[:-1] - x[1:])
    force[:-1] += k * (x[1:] - x[:-1])
    v += force * dt
    out[:] = x + v * dt


@cuda.jit
def lorenz(x, y, z, steps, dt):
    i = cuda.grid(1)
    if i < x.size:
        for _ in range(steps):
            dx = 10 * (y[i] - x[i])
            dy = x[i] * (28 - z[i]) - y[i]
            dz = x[i] * y[i] - z[i] * 2.5
            x[i] += dt * dx
            y[i] += dt * dy
            z[i] += dt * dz


def _lorenz(x, y, z, steps, dt):
    for _ in range(steps):
        dx, dy, dz = 10 * (y - x), x * (28 - z) - y, x * y - z * 2.5
        x += dt * dx
        y += dt * dy
        z += dt * dz


@cuda.jit
def runge_kutta(y, steps, h):
    i = cuda.grid(1)
    if i >= y.size:
        return
    k = cuda.local.array(4, float64)
    value = y[i]
    for _ in range(steps):
        k[0] = -value
        k[1] = -(value + h / 2 * k[0])
        k[2] = -(value + h / 2 * k[1])
        k[3] = -(value + h * k[2])
        value += h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    y[i] = value


def _runge_kutta(y, steps, h):
    y *= (1 - h + h * h / 2 - h**3 / 6 + h**4 / 24) ** steps


@cuda.jit
def median_of_5(x, out):
    v = cuda.local.array(5, float32)
    i = cuda.grid(1)
    if i < out.size:
        for k in range(5):
            v[k] = x[i + k]
        for a in range(4):
            for b in range(4 - a):
                if v[b] > v[b + 1]:
                    v[b], v[b + 1] = v[b + 1], v[b]
        out[i] = v[2]


def _median_of_5(x, out):
    out[:] = np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1)


@cuda.jit
def insertion_sort_rows(a):
    v = cuda.local.array(8, int32)
    i = cuda.grid(1)
    if i < a.shape[0]:
        for k in range(8):
            v[k] = a[i, k]
        for k in range(1, 8):
            key = v[k]
            j = k - 1
            while j >= 0 and v[j] > key:
                v[j + 1] = v[j]
                j -= 1
            v[j + 1] = key
        for k in range(8):
            a[i, k] = v[k]


def _insertion_sort_rows(a):
    a.sort(axis=1)


@cuda.jit
def digit_frequencies(numbers, out):
    counts = cuda.local.array(10, int32)
    i = cuda.grid(1)
    if i < numbers.size:
        for d in range(10):
            counts[d] = 0
        rest = numbers[i]
        while rest > 0:
            counts[rest % 10] += 1
            rest //= 10
        best = 0
        for d in range(1, 10):
            if counts[d] > counts[best]:
                best = d
        out[i] = best


def _digit_frequencies(numbers, out):
    for i, number in enumerate(numbers):
        out[i] = np.bincount([int(d) for d in str(number)] if number else [0], minlength=10).argmax() if number else 0


@cuda.jit
def multiply_polynomials(a, b, out):
    product = cuda.local.array(7, float32)
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(7):
            product[k] = 0
        for r in range(4):
            for s in range(4):
                product[r + s] += a[i, r] * b[i, s]
        for k in range(7):
            out[i, k] = product[k]


def _multiply_polynomials(a, b, out):
    for i in range(len(out)):
        out[i] = np.convolve(a[i], b[i])


@cuda.jit
def moving_average_ring(x, out):
    ring = cuda.local.array(8, float32)
    row = cuda.grid(1)
    if row < x.shape[0]:
        total = float32(0)
        for k in range(8):
            ring[k] = 0
        for j in range(x.shape[1]):
            place = j % 8
            total += x[row, j] - ring[place]
            ring[place] = x[row, j]
            out[row, j] = total / 8


def _moving_average_ring(x, out):
    padded = np.concatenate([np.zeros((len(x), 7)), x], 1)
    out[:] = np.lib.stride_tricks.sliding_window_view(padded, 8, axis=1).mean(2)


@cuda.jit
def local_histogram_rows(x, out):
    bins = cuda.local.array(16, int32)
    row = cuda.grid(1)
    if row >= x.shape[0]:
        return
    for b in range(16):
        bins[b] = 0
    for j in range(x.shape[1]):
        bins[x[row, j]] += 1
    for b in range(16):
        out[row, b] = bins[b]


def _local_histogram_rows(x, out):
    for i, row in enumerate(x):
        out[i] = np.bincount(row, minlength=16)


@cuda.jit
def window_in_registers(x, out):
    w = cuda.local.array(3, float32)
    row = cuda.grid(1)
    if row < x.shape[0]:
        w[0] = x[row, 0]
        w[1] = x[row, 1]
        for j in range(2, x.shape[1]):
            w[2] = x[row, j]
            out[row, j - 1] = (w[0] + 2 * w[1] + w[2]) / 4
            w[0] = w[1]
            w[1] = w[2]


def _window_in_registers(x, out):
    out[:, 1:-1] = (x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]) / 4


@cuda.jit
def stack_walk(depths, out):
    stack = cuda.local.array(32, int32)
    i = cuda.grid(1)
    if i < depths.size:
        top = 1
        stack[0] = depths[i]
        leaves = 0
        while top > 0:
            top -= 1
            depth = stack[top]
            if depth < 2:
                leaves += 1
            else:
                stack[top] = depth - 1
                stack[top + 1] = depth - 2
                top += 2
        out[i] = leaves


def _stack_walk(depths, out):
    leaves = [1, 1]
    for _ in range(20):
        leaves.append(leaves[-1] + leaves[-2])
    out[:] = np.array(leaves)[depths]


@cuda.jit
def local_weights(x, out):
    w = cuda.local.array(4, float64)
    i = cuda.grid(1)
    w[0], w[1], w[2], w[3] = 0.1, 0.2, 0.3, 0.4
    total = 0.0
    for k in range(4):
        total += w[k] * x[i + k]
    out[i] = total


def _local_weights(x, out):
    out[:] = sum(w * x[k : k + out.size] for k, w in enumerate((0.1, 0.2, 0.3, 0.4)))


@cuda.jit
def recursive_filter(x, out, a):
    row = cuda.grid(1)
    if row < x.shape[0]:
        out[row, 0] = x[row, 0]
        for j in range(1, x.shape[1]):
            out[row, j] = a * out[row, j - 1] + (1 - a) * x[row, j]


def _recursive_filter(x, out, a):
    out[:, 0] = x[:, 0]
    for j in range(1, x.shape[1]):
        out[:, j] = a * out[:, j - 1] + (1 - a) * x[:, j]


@cuda.jit
def trapezoids(low, high, pieces, out):
    i = cuda.grid(1)
    if i < low.size:
        h = (high[i] - low[i]) / pieces
        total = (math.exp(low[i]) + math.exp(high[i])) / 2
        for k in range(1, pieces):
            total += math.exp(low[i] + k * h)
        out[i] = total * h


def _trapezoids(low, high, pieces, out):
    x = low + (high - low) * np.arange(pieces + 1)[:, None] / pieces
    y = np.exp(x)
    out[:] = (y.sum(0) - (y[0] + y[-1]) / 2) * (high - low) / pieces


@cuda.jit
def greatest_divisor(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        out[i] = x


def _greatest_divisor(a, b, out):
    out[:] = np.gcd(a, b)


@cuda.jit
def newton_roots(x, out):
    i = cuda.grid(1)
    if i < x.size:
        r = x[i] if x[i] > 1 else 1.0
        rounds = 0
        while abs(r * r - x[i]) > 1e-9 * x[i] and rounds < 50:
            r = (r + x[i] / r) / 2
            rounds += 1
        out[i] = r


def _newton_roots(x, out):
    out[:] = np.sqrt(x)


@cuda.jit
def activation(x, kind, out):
    i = cuda.grid(1)
    if i < x.size:
        if kind[i] == 0:
            out[i] = x[i] if x[i] > 0 else 0
        elif kind[i] == 1:
            out[i] = math.tanh(x[i])
        elif kind[i] == 2:
            out[i] = 1 / (1 + math.exp(-x[i]))
        else:
            out[i] = x[i]


def _activation(x, kind, out):
    d = x.astype(np.float64) + 0.0
    choices = [np.maximum(d, 0), np.tanh(d), 1 / (1 + np.exp(-d)), d]
    out[:] = np.choose(kind, choices)


@cuda.jit
def clamp_twice(x, low, high):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] < low:
            x[i] = low
        if x[i] > high:
            x[i] = high


def _clamp_twice(x, low, high):
    np.clip(x, low, high, out=x)


@cuda.jit
def swap_halves(x):
    i = cuda.grid(1)
    half = x.size // 2
    if i < half:
        x[i], x[i + half] = x[i + half], x[i]


def _swap_halves(x):
    x[:] = np.roll(x, x.size // 2)


def _bodies(*, rows: bool) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        if rows:
            return rng.random((128, 4), np.float32), np.zeros((128, 3), np.float32)
        return *(rng.random(128, np.float32) for _ in range(4)), *(np.zeros(128, np.float32) for _ in range(3))

    return make


def _spheres(rng: np.random.Generator) -> tuple[Any, ...]:
    d = rng.normal(size=(300, 3))
    d /= np.sqrt((d * d).sum(1, keepdims=True))
    return (d.astype(np.float32), (4 * rng.normal(size=(10, 3))).astype(np.float32),
            rng.uniform(0.5, 2, 10).astype(np.float32), np.zeros(300, np.int32))  # fmt: skip


def _options(rng: np.random.Generator) -> tuple[Any, ...]:
    spot, strike, years = rng.uniform(5, 30, 500), rng.uniform(5, 30, 500), rng.uniform(0.2, 5, 500)
    return spot, strike, years, np.float64(0.02), np.float64(0.3), np.zeros(500)


def _complexes(rng: np.random.Generator) -> tuple[Any, ...]:
    x, y = rng.random((2, 1000, 2), np.float32).view(np.complex64)[..., 0]
    return np.complex64(2 - 1j), x.copy(), y.copy()


F32, F64, I32 = np.float32, np.float64, np.int32
NUMERICS: tuple[Unseen, ...] = (
    unseen(gravity, 2, 64, _bodies(rows=False), _gravity),
    unseen(gravity_tiles, 2, 64, _bodies(rows=False), _gravity),
    unseen(gravity_tile_rows, 4, 32, _bodies(rows=True), _gravity_tile_rows),
    unseen(count_in_circle, 4, 128, lambda rng: (rng.integers(1, 2**31, 500).astype(np.uint32), np.int64(30),
           np.zeros(500, I32)), _count_in_circle),
    unseen(random_walks, 4, 128, lambda rng: (rng.integers(1, 2**31, 500), np.int64(40), np.zeros(500, np.int64)),
           _random_walks),
    unseen(julia, (4, 8), (16, 8), lambda rng: (np.zeros((60, 60), I32), F64(-0.8), F64(0.156), np.int64(60)), _julia),
    unseen(julia_complex, (4, 8), (16, 8), lambda rng: (np.zeros((60, 60), I32), np.complex128(-0.4 + 0.6j), np.int64(60)),
           _julia_complex),
    unseen(first_sphere, 3, 128, _spheres, _first_sphere),
    unseen(option_price, 4, 128, _options, _option_price),
    unseen(polynomial, 8, 128, floats(9, 1000, room=1000), _polynomial),
    unseen(complex_axpy, 8, 128, _complexes, _complex_axpy),
    unseen(fft_step, 4, 128, floats(1024, 1024, more=(np.int64(16),)), _fft_step),
    unseen(fft_64, 8, 32, floats(512, 512), _fft_64),
    unseen(slow_transform, 2, 64, lambda rng: (rng.random(100), np.zeros(100), np.zeros(100)), _slow_transform),
    unseen(mix_64, 8, 128, lambda rng: (rng.integers(0, 2**62, 1000), np.zeros(1000, np.int64)), _mix_64),
    unseen(add_saturated, 8, 128, lambda rng: (rng.integers(-128, 128, 1000).astype(np.int8),
           rng.integers(-128, 128, 1000).astype(np.int8), np.zeros(1000, np.int8)), _add_saturated),
    unseen(half_axpy, 8, 128, lambda rng: (F32(2), rng.random(1000).astype(np.float16), rng.random(1000, F32)),
           _half_axpy),
    unseen(double_in_place, 8, 128, floats(1000), _double_in_place),
    unseen(square_plus, 4, 64, floats(1000, 1000, room=1000), _square_plus),
    unseen(adam_step, 8, 128, floats(1000, 1000, 1000, 1000, more=(F32(0.01),)), _adam_step),
    unseen(unit_vectors, 4, 128, floats((500, 3)), _unit_vectors),
    unseen(rotate_quaternion, 4, 128, floats((500, 4), (500, 3), room=(500, 3)), _rotate_quaternion),
    unseen(cross_products, 4, 128, floats((500, 3), (500, 3), room=(500, 3)), _cross_products),
    unseen(spring_chain, 8, 128, floats(1000, 1000, room=1000, more=(F32(2), F32(0.1))), _spring_chain),
    unseen(lorenz, 4, 64, floats(200, 200, 200, dtype=F64, more=(np.int64(10), F64(0.01))), _lorenz),
    unseen(runge_kutta, 4, 64, floats(200, dtype=F64, more=(np.int64(10), F64(0.1))), _runge_kutta),
    unseen(median_of_5, 4, 128, lambda rng: (rng.random(504, F32), np.zeros(500, F32)), _median_of_5),
    unseen(insertion_sort_rows, 4, 64, whole((200, 8)), _insertion_sort_rows),
    unseen(digit_frequencies, 4, 128, whole(500, high=10**9, dtype=np.int64, room=500), _digit_frequencies),
    unseen(multiply_polynomials, 4, 64, floats((200, 4), (200, 4), room=(200, 7)), _multiply_polynomials),
    unseen(moving_average_ring, 2, 64, floats((100, 40), room=(100, 40)), _moving_average_ring),
    unseen(local_histogram_rows, 2, 64, whole((100, 40), high=16, room=(100, 16)), _local_histogram_rows),
    unseen(window_in_registers, 2, 64, floats((100, 40), room=(100, 40)), _window_in_registers),
    unseen(stack_walk, 2, 64, whole(100, high=8, room=100), _stack_walk),
    unseen(local_weights, 4, 128, floats(515, dtype=F64, room=512), _local_weights),
    unseen(recursive_filter, 2, 64, floats((100, 30), room=(100, 30), more=(F32(0.7),)), _recursive_filter),
    unseen(trapezoids, 2, 64, lambda rng: (rng.random(100), 1 + rng.random(100), np.int64(20), np.zeros(100)),
           _trapezoids),
    unseen(greatest_divisor, 4, 128, whole(500, 500, high=10**6, dtype=np.int64, room=500), _greatest_divisor),
    unseen(newton_roots, 4, 128, lambda rng: (rng.uniform(0.1, 1000, 500), np.zeros(500)), _newton_roots),
    unseen(activation, 8, 128, lambda rng: (rng.normal(size=1000).astype(F32), rng.integers(0, 4, 1000).astype(I32),
           np.zeros(1000, F32)), _activation),
    unseen(clamp_twice, 8, 128, floats(1000, more=(F32(0.2), F32(0.7))), _clamp_twice),
    unseen(swap_halves, 4, 128, floats(1000), _swap_halves),
)  # fmt: skip

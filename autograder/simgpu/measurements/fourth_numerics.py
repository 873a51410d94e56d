"""The fourth set: arithmetic on one element or row at a time, functions, random numbers, bits and conversions."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry, floats, rows
from autograder.simgpu.measurements.sizing import Sized, elements, square, striding, zeros

F32, F64, I32, I64, U8, U32 = np.float32, np.float64, np.int32, np.int64, np.uint8, np.uint32
NODES = np.polynomial.legendre.leggauss(8)[0].astype(np.float32)
WEIGHTS = np.polynomial.legendre.leggauss(8)[1].astype(np.float32)


@cuda.jit
def to_fahrenheit(celsius, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < out.shape[0]:
        out[i] = celsius[i] * 1.8 + 32.0


@cuda.jit
def sigmoid_strided(x, out):
    start = cuda.grid(1)
    step = cuda.gridsize(1)
    for i in range(start, x.shape[0], step):
        out[i] = 1 / (1 + math.exp(-x[i]))


@cuda.jit
def taylor_sine(x, out):
    idx = cuda.grid(1)
    if idx >= x.size:
        return
    value = x[idx] * float32(4)
    term = value
    total = value
    k = int32(1)
    while abs(term) > float32(1e-5):
        term = -term * value * value / float32((k + 1) * (k + 2))
        total += term
        k += 2
    out[idx] = total


@cuda.jit
def logistic_map(r, x0, out, steps):
    tid = cuda.grid(1)
    if tid < r.size:
        x = x0[tid]
        for _ in range(steps):
            x = 4.0 * r[tid] * x * (1.0 - x)
        out[tid] = x


@cuda.jit
def normal_density(x, mean, sd, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 1 / (sd * math.sqrt(2 * math.pi)) * math.exp(-0.5 * ((x[i] - mean) / sd) ** 2)


@cuda.jit
def buffon_needle(seeds, hits, throws):
    i = cuda.grid(1)
    if i < seeds.size:
        state = seeds[i]
        count = 0
        for _ in range(throws):
            state = uint32(state * uint32(1664525) + uint32(1013904223))
            y = float32(state >> uint32(8)) * float32(1.0 / 16777216.0)
            state = uint32(state * uint32(1664525) + uint32(1013904223))
            angle = float32(state >> uint32(8)) * float32(math.pi / 16777216.0)
            if y <= float32(0.5) * math.sin(angle):
                count += 1
        hits[i] = count


@cuda.jit
def newton_basins(out, size, most):
    x, y = cuda.grid(2)
    if x < size and y < size:
        z = complex(3.0 * x / size - 1.5 + 0.001, 3.0 * y / size - 1.5)
        n = 0
        while n < most:
            f = z * z * z - 1
            if f.real * f.real + f.imag * f.imag < 1e-6:
                break
            z = z - f / (3 * z * z)
            n += 1
        out[y, x] = n


@cuda.jit
def pendulums(angle, speed, dt, steps):
    i = cuda.grid(1)
    if i < angle.size:
        a = angle[i]
        w = speed[i]
        for _ in range(steps):
            w -= dt * math.sin(a)
            a += dt * w
        angle[i] = a
        speed[i] = w


@cuda.jit
def error_functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 0.5 * (1.0 + math.erf(x[i] / math.sqrt(2.0)))


@cuda.jit
def fibonacci_mod(n, out, modulus):
    i = cuda.grid(1)
    if i < n.size:
        a, b = 0, 1
        for _ in range(n[i]):
            a, b = b, (a + b) % modulus
        out[i] = a


@cuda.jit
def binary_gcd(a, b, out):
    i = cuda.grid(1)
    if i >= a.size:
        return
    u = a[i]
    v = b[i]
    shift = uint32(0)
    while (u | v) & uint32(1) == uint32(0):
        u = u >> uint32(1)
        v = v >> uint32(1)
        shift += uint32(1)
    while u & uint32(1) == uint32(0):
        u = u >> uint32(1)
    while v != uint32(0):
        while v & uint32(1) == uint32(0):
            v = v >> uint32(1)
        if u > v:
            t = u
            u = v
            v = t
        v = uint32(v - u)
    out[i] = u << shift


@cuda.jit
def divisor_sums(out):
    """The sum of all smaller divisors: a perfect number has its own."""
    n = cuda.grid(1)
    if n > 1 and n < out.size:
        total = 0
        for d in range(1, n // 2 + 1):
            if n % d == 0:
                total += d
        out[n] = total


@cuda.jit
def leibniz(total, terms):
    i = cuda.grid(1)
    stride = cuda.gridsize(1)
    mine = 0.0
    k = i
    while k < terms:
        if k % 2 == 0:
            mine += 4.0 / (2 * k + 1)
        else:
            mine -= 4.0 / (2 * k + 1)
        k += stride
    part = cuda.shared.array(256, float64)
    t = cuda.threadIdx.x
    part[t] = mine
    cuda.syncthreads()
    s = 128
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(total, 0, part[0])


@cuda.jit
def log_sum_exp_rows(x, out):
    row = cuda.grid(1)
    if row < x.shape[0]:
        top = x[row, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[row, j])
        s = float32(0.0)
        for j in range(x.shape[1]):
            s += math.exp(x[row, j] - top)
        out[row] = top + math.log(s)


@cuda.jit
def variance_rows(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        mean = 0.0
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= x.shape[1]
        spread = 0.0
        for j in range(x.shape[1]):
            spread += (x[i, j] - mean) ** 2
        out[i] = spread / x.shape[1]


@cuda.jit
def column_means(x, out):
    j = cuda.grid(1)
    if j < x.shape[1]:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i, j]
        out[j] = s / x.shape[0]


@cuda.jit
def cosine_similarity(a, b, out):
    k = cuda.grid(1)
    if k >= out.size:
        return
    ab = aa = bb = float32(0)
    for d in range(24):
        p = a[k, d]
        q = b[k, d]
        ab += p * q
        aa += p * p
        bb += q * q
    out[k] = ab / (math.sqrt(aa) * math.sqrt(bb))


@cuda.jit
def gelu_tanh(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        inner = float32(0.79788456) * (v + float32(0.044715) * v * v * v)
        out[i] = float32(0.5) * v * (float32(1) + math.tanh(inner))


@cuda.jit
def mix_audio(left, right, out):
    i = cuda.grid(1)
    if i < out.size:
        s = int32(left[i]) + int32(right[i])
        if s > 32767:
            s = int32(32767)
        elif s < -32768:
            s = int32(-32768)
        out[i] = s


@cuda.jit
def half_mean_rows(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = float32(0)
        for j in range(x.shape[1]):
            total += float32(x[i, j])
        out[i] = total / float32(16)


@cuda.jit
def adler_rows(data, out):
    i = cuda.grid(1)
    if i < data.shape[0]:
        a = 1
        b = 0
        for j in range(data.shape[1]):
            a = (a + data[i, j]) % 65521
            b = (b + a) % 65521
        out[i] = (b << 16) | a


@cuda.jit
def popcounts_of_long(words, out):
    i = cuda.grid(1)
    if i < words.size:
        out[i] = cuda.popc(words[i])


@cuda.jit
def from_gray_code(g, out):
    i = cuda.grid(1)
    if i < g.size:
        v = g[i]
        mask = v >> uint32(1)
        while mask != uint32(0):
            v = v ^ mask
            mask = mask >> uint32(1)
        out[i] = v


@cuda.jit(device=True)
def spread_bits(v):
    v = uint32((v | (v << uint32(16))) & uint32(0x030000FF))
    v = uint32((v | (v << uint32(8))) & uint32(0x0300F00F))
    v = uint32((v | (v << uint32(4))) & uint32(0x030C30C3))
    return uint32((v | (v << uint32(2))) & uint32(0x09249249))


@cuda.jit
def morton_codes(x, y, z, codes):
    i = cuda.grid(1)
    if i < x.size:
        a = spread_bits(uint32(x[i] * float32(1024)))
        b = spread_bits(uint32(y[i] * float32(1024)))
        c = spread_bits(uint32(z[i] * float32(1024)))
        codes[i] = (a << uint32(2)) | (b << uint32(1)) | c


@cuda.jit
def to_fixed_point(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = int(round(x[i] * 65536))


@cuda.jit
def kepler_orbits(mean, eccentricity, out):
    i = cuda.grid(1)
    if i < mean.size:
        m = mean[i]
        e = eccentricity[i] * 0.6
        x = m
        for _ in range(20):
            d = (x - e * math.sin(x) - m) / (1 - e * math.cos(x))
            x -= d
            if abs(d) < 1e-10:
                break
        out[i] = x


@cuda.jit
def to_polar(re, im, radius, phase):
    i = cuda.grid(1)
    if i < re.size:
        radius[i] = math.hypot(re[i], im[i])
        phase[i] = math.atan2(im[i], re[i])


@cuda.jit
def gauss_legendre(low, high, out):
    nodes = cuda.const.array_like(NODES)
    weights = cuda.const.array_like(WEIGHTS)
    i = cuda.grid(1)
    if i < low.size:
        half = (high[i] - low[i]) * float32(0.5)
        mid = (high[i] + low[i]) * float32(0.5)
        total = float32(0)
        for k in range(8):
            total += weights[k] * math.exp(-(mid + half * nodes[k]) ** 2)
        out[i] = half * total


@cuda.jit
def sierpinski_carpet(out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        x = i
        y = j
        filled = 1
        while x > 0 or y > 0:
            if x % 3 == 1 and y % 3 == 1:
                filled = 0
                break
            x //= 3
            y //= 3
        out[i, j] = filled


@cuda.jit
def splitmix_uniform(out, seed):
    i = cuda.grid(1)
    if i < out.size:
        z = uint64(seed) + uint64(i + 1) * uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
        z = z ^ (z >> uint64(31))
        out[i] = float64(z >> uint64(11)) / 9007199254740992.0


NUMERICS: tuple[Sized, ...] = (
    entry(to_fahrenheit, 256, elements, floats(1), 4_000_000, 100_000_000),
    entry(sigmoid_strided, 256, striding(256), floats(1), 6_000_000, 96_000_000),
    entry(taylor_sine, 128, elements, floats(1), 1_000_000, 30_000_000),
    entry(logistic_map, 256, elements, floats(2, 100), 300_000, 12_000_000),
    entry(normal_density, 512, elements, lambda r, n: (r.reals(n), 0.4, 0.2, zeros(n)), 2_000_000, 50_000_000),
    entry(buffon_needle, 128, elements, lambda r, n: (r.wholes(2**32, n, U32), zeros(n, dtype=I32), 60),
          100_000, 4_000_000),
    entry(newton_basins, (16, 16), square, lambda r, n: (zeros(n, n, dtype=I32), n, 40), 800, 6000, small=64),
    entry(pendulums, 256, elements, lambda r, n: (r.reals(n), r.reals(n), F32(0.01), 100), 200_000, 8_000_000),
    entry(error_functions, 256, elements, floats(1, dtype=F64), 1_000_000, 40_000_000),
    entry(fibonacci_mod, 128, elements, lambda r, n: (r.wholes(90, n), zeros(n, dtype=I64), 1_000_007), 100_000, 3_000_000),
    entry(binary_gcd, 256, elements,
          lambda r, n: (r.wholes(10**6, n, U32, low=1), r.wholes(10**6, n, U32, low=1), zeros(n, dtype=U32)),
          300_000, 10_000_000),
    entry(divisor_sums, 64, elements, lambda r, n: (zeros(n, dtype=I64),), 4000, 50_000),
    entry(leibniz, 256, lambda n, arguments: min(n,
          256 * 528), lambda r, n: (zeros(1, dtype=F64), n), 4_000_000, 200_000_000),
    entry(log_sum_exp_rows, 128, elements, rows(50), 30_000, 1_000_000),
    entry(variance_rows, 64, elements, rows(100), 20_000, 500_000),
    entry(column_means, 128, elements, lambda r, n: (r.reals((500, n)), zeros(n)), 8000, 200_000),
    entry(cosine_similarity, 256, elements,
          lambda r, n: (r.reals((n, 24)), r.reals((n, 24)), zeros(n)), 200_000, 3_000_000),
    entry(gelu_tanh, 256, elements, floats(1), 4_000_000, 80_000_000),
    entry(mix_audio, 256, elements,
          lambda r, n: (*(r.wholes(30_000, n, np.int16, low=-30_000) for _ in "lr"), zeros(n, dtype=np.int16)),
          8_000_000, 150_000_000),
    entry(half_mean_rows, 256, elements, lambda r, n: (r.reals((n, 16), np.float16), zeros(n)), 400_000, 8_000_000),
    entry(adler_rows, 128, elements, lambda r, n: (r.wholes(256, (n, 20), U8), zeros(n, dtype=I64)), 200_000, 5_000_000),
    entry(popcounts_of_long, 256, elements, lambda r, n: (r.wholes(2**63, n, np.uint64), zeros(n, dtype=U8)),
          4_000_000, 60_000_000),
    entry(from_gray_code, 256, elements,
          lambda r, n: (r.wholes(2**32, n, U32), zeros(n, dtype=U32)), 1_000_000, 40_000_000),
    entry(morton_codes, 256, elements, floats(3, room=U32), 2_000_000, 40_000_000),
    entry(to_fixed_point, 256, elements, floats(1, room=I32), 2_000_000, 50_000_000),
    entry(kepler_orbits, 128, elements, floats(2, dtype=F64), 400_000, 12_000_000),
    entry(to_polar, 256, elements, lambda r, n: (r.reals(n), r.reals(n) - F32(0.5), zeros(n), zeros(n)),
          2_000_000, 40_000_000),
    entry(gauss_legendre, 256, elements, floats(2), 1_000_000, 20_000_000),
    entry(sierpinski_carpet, (32, 8), square, lambda r, n: (zeros(n, n, dtype=I32),), 700, 5000, small=81),
    entry(splitmix_uniform, 256, elements, lambda r, n: (zeros(n, dtype=F64), 12345), 2_000_000, 40_000_000),
)  # fmt: skip

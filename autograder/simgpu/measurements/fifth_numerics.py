"""The fifth set: simulation, random numbers, functions, finance, signals, number theory and fixed-point arithmetic."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry, floats
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, blocks_of, elements, square, zeros

F32, F64, I8, I16, I32, I64, U8, U32, U64 = (
    np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64,
)  # fmt: skip
SHELL = np.dtype([("x", F64), ("y", F64), ("vx", F64), ("vy", F64), ("drag", F64), ("steps", I32)], align=True)
EARTH_KM = 6371.0
ANGLES = np.round(np.arctan(2.0 ** -np.arange(20)) * 2**28).astype(I32)
CORDIC_GAIN = int(np.round(np.prod(1 / np.sqrt(1 + 4.0 ** -np.arange(20))) * 2**28))
TREE_LEVELS = 32
TREE_NODES = TREE_LEVELS + 1


@cuda.jit
def haversine_km(lat1, lon1, lat2, lon2, out):
    i = cuda.grid(1)
    if i < out.size:
        half_lat = math.sin((lat2[i] - lat1[i]) / 2)
        half_lon = math.sin((lon2[i] - lon1[i]) / 2)
        a = half_lat**2 + math.cos(lat1[i]) * math.cos(lat2[i]) * half_lon**2
        out[i] = 2 * EARTH_KM * math.asin(math.sqrt(a))


@cuda.jit(device=True)
def pcg_advance(state):
    return uint32(state * uint32(747796405) + uint32(2891336453))


@cuda.jit(device=True)
def pcg_uniform(state):
    word = uint32((state >> uint32((state >> uint32(28)) + uint32(4))) ^ state)
    word = uint32(word * uint32(277803737))
    word = uint32((word >> uint32(22)) ^ word)
    return float32(word >> uint32(8)) * float32(2.0**-24)


@cuda.jit
def heston_paths(seeds, strikes, payoffs, steps, dt):
    """The variance of each path is a random process of its own."""
    i = cuda.grid(1)
    if i >= seeds.size:
        return
    state = seeds[i]
    s = float32(1)
    v = float32(0.04)
    root_dt = math.sqrt(dt)
    for _ in range(steps):
        state = pcg_advance(state)
        radius = math.sqrt(float32(-2) * math.log(float32(1) - pcg_uniform(state)))
        state = pcg_advance(state)
        angle = float32(2 * math.pi) * pcg_uniform(state)
        z1 = radius * math.cos(angle)
        z2 = float32(-0.7) * z1 + float32(0.714) * radius * math.sin(angle)
        vol = math.sqrt(v)
        s += s * (float32(0.03) * dt + vol * root_dt * z1)
        v += float32(1.5) * (float32(0.05) - v) * dt + float32(0.3) * vol * root_dt * z2
        v = max(v, float32(0))
    payoffs[i] = max(s - strikes[i], float32(0))


@cuda.jit
def american_put_tree(spot, strike, out, up, chance, discount):
    values = cuda.local.array(TREE_NODES, float64)
    i = cuda.grid(1)
    if i < spot.size:
        k = strike[i]
        price = spot[i] / up**TREE_LEVELS
        for j in range(TREE_NODES):
            values[j] = max(k - price, 0.0)
            price *= up * up
        for level in range(TREE_LEVELS - 1, -1, -1):
            price = spot[i] / up**level
            for j in range(level + 1):
                hold = discount * (chance * values[j + 1] + (1 - chance) * values[j])
                values[j] = max(hold, k - price)
                price *= up * up
        out[i] = values[0]


@cuda.jit
def bessel_j0(x, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.size:
        ax = abs(x[i])
        if ax < 8.0:
            y = ax * ax
            top = 57568490574.0 + y * (-13362590354.0 + y * (651619640.7 + y * (-11214424.18
                  + y * (77392.33017 + y * -184.9052456))))  # fmt: skip
            bottom = 57568490411.0 + y * (1029532985.0 + y * (9494680.718 + y * (59272.64853 + y * (267.8532712 + y))))
            out[i] = top / bottom
        else:
            z = 8.0 / ax
            y = z * z
            p = 1.0 + y * (-0.1098628627e-2 + y * (0.2734510407e-4 + y * (-0.2073370639e-5 + y * 0.2093887211e-6)))
            q = -0.1562499995e-1 + y * (0.1430488765e-3 + y * (-0.6911147651e-5
                + y * (0.7621095161e-6 - y * 0.934935152e-7)))  # fmt: skip
            xx = ax - 0.785398164
            out[i] = math.sqrt(0.636619772 / ax) * (math.cos(xx) * p - z * math.sin(xx) * q)


@cuda.jit(device=True)
def gamma_series(a, x):
    term = 1.0 / a
    total = term
    n = a
    for _ in range(200):
        n += 1.0
        term *= x / n
        total += term
        if abs(term) < abs(total) * 1e-13:
            break
    return total * math.exp(-x + a * math.log(x) - math.lgamma(a))


@cuda.jit(device=True)
def gamma_fraction(a, x):
    """Lentz's method for the upper half."""
    b = x + 1.0 - a
    c = 1e300
    d = 1.0 / b
    h = d
    for k in range(1, 200):
        an = -k * (k - a)
        b += 2.0
        d = 1.0 / (an * d + b)
        c = b + an / c
        step = d * c
        h *= step
        if abs(step - 1.0) < 1e-13:
            break
    return math.exp(-x + a * math.log(x) - math.lgamma(a)) * h


@cuda.jit
def incomplete_gamma(a, x, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    if x[i] < a[i] + 1.0:
        out[i] = gamma_series(a[i], x[i])
    else:
        out[i] = 1.0 - gamma_fraction(a[i], x[i])


@cuda.jit
def predator_prey_adaptive(prey, hunters, taken, end, tolerance):
    i = cuda.grid(1)
    if i >= prey.size:
        return
    x = prey[i]
    y = hunters[i]
    t = 0.0
    h = 0.05
    steps = 0
    while t < end - 1e-9 and steps < 1000:
        h = min(h, end - t)
        kx = 1.1 * x - 0.4 * x * y
        ky = 0.1 * x * y - 0.4 * y
        ex = x + h * kx
        ey = y + h * ky
        lx = 1.1 * ex - 0.4 * ex * ey
        ly = 0.1 * ex * ey - 0.4 * ey
        wrong = 0.5 * h * max(abs(lx - kx), abs(ly - ky)) + 1e-12
        if wrong <= tolerance:
            x += 0.5 * h * (kx + lx)
            y += 0.5 * h * (ky + ly)
            t += h
        h *= min(2.0, max(0.3, 0.9 * math.sqrt(tolerance / wrong)))
        steps += 1
    prey[i] = x
    hunters[i] = y
    taken[i] = steps


@cuda.jit
def ising_half_sweep(spins, chances, seed, parity):
    """The sites of one color of the checkerboard, each of which only sees those of the other."""
    column, row = cuda.grid(2)
    n = spins.shape[0]
    j = 2 * column + ((row + parity) & 1)
    if row < n and j < n:
        up = spins[row - 1 if row > 0 else n - 1, j]
        down = spins[row + 1 if row < n - 1 else 0, j]
        left = spins[row, j - 1 if j > 0 else n - 1]
        right = spins[row, j + 1 if j < n - 1 else 0]
        around = up + down + left + right
        h = uint32(uint32(row * n + j) * uint32(0x9E3779B1) ^ seed)
        h = uint32((h ^ (h >> uint32(15))) * uint32(0x85EBCA77))
        h = uint32((h ^ (h >> uint32(13))) * uint32(0xC2B2AE3D))
        h = uint32(h ^ (h >> uint32(16)))
        if h < chances[(spins[row, j] * around + 4) // 2]:
            spins[row, j] = -spins[row, j]


@cuda.jit(device=True)
def mod_power(base, exponent, modulus):
    result = uint64(1)
    base = base % modulus
    while exponent > uint64(0):
        if exponent & uint64(1):
            result = (result * base) % modulus
        base = (base * base) % modulus
        exponent = exponent >> uint64(1)
    return result


@cuda.jit
def miller_rabin(numbers, prime):
    i = cuda.grid(1)
    if i >= numbers.size:
        return
    n = uint64(numbers[i])
    if n < uint64(11) or n % uint64(2) == uint64(0):
        prime[i] = n == uint64(2) or n == uint64(3) or n == uint64(5) or n == uint64(7)
        return
    odd = n - uint64(1)
    twos = 0
    while odd & uint64(1) == uint64(0):
        odd = odd >> uint64(1)
        twos += 1
    for base in (2, 3, 5, 7):
        y = mod_power(uint64(base), odd, n)
        if y == uint64(1) or y == n - uint64(1):
            continue
        composite = True
        for _ in range(twos - 1):
            y = (y * y) % n
            if y == n - uint64(1):
                composite = False
                break
        if composite:
            prime[i] = False
            return
    prime[i] = True


@cuda.jit(device=True)
def rotated(v, n):
    return uint32((v << uint32(n)) | (v >> uint32(32 - n)))


@cuda.jit(device=True)
def chacha_quarter(s, a, b, c, d):
    s[a] = uint32(s[a] + s[b])
    s[d] = rotated(uint32(s[d] ^ s[a]), 16)
    s[c] = uint32(s[c] + s[d])
    s[b] = rotated(uint32(s[b] ^ s[c]), 12)
    s[a] = uint32(s[a] + s[b])
    s[d] = rotated(uint32(s[d] ^ s[a]), 8)
    s[c] = uint32(s[c] + s[d])
    s[b] = rotated(uint32(s[b] ^ s[c]), 7)


@cuda.jit
def chacha_blocks(start, out):
    s = cuda.local.array(16, uint32)
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(16):
            s[k] = start[k]
        s[12] = uint32(i)
        for _ in range(10):
            chacha_quarter(s, 0, 4, 8, 12)
            chacha_quarter(s, 1, 5, 9, 13)
            chacha_quarter(s, 2, 6, 10, 14)
            chacha_quarter(s, 3, 7, 11, 15)
            chacha_quarter(s, 0, 5, 10, 15)
            chacha_quarter(s, 1, 6, 11, 12)
            chacha_quarter(s, 2, 7, 8, 13)
            chacha_quarter(s, 3, 4, 9, 14)
        for k in range(16):
            first = uint32(i) if k == 12 else start[k]
            out[i, k] = uint32(s[k] + first)


@cuda.jit
def crc_of_packets(packets, lengths, table, out):
    p = cuda.grid(1)
    if p < lengths.size:
        crc = uint32(0xFFFFFFFF)
        k = 0
        while k < lengths[p]:
            crc = table[(crc ^ packets[p, k]) & 0xFF] ^ (crc >> uint32(8))
            k += 1
        out[p] = crc ^ uint32(0xFFFFFFFF)


@cuda.jit
def biquad_fixed(x, out, b0, b1, b2, a1, a2):
    """A filter in whole numbers, 14 bits of which are a fraction: a thread for each channel, which is a column."""
    c = cuda.grid(1)
    if c < x.shape[1]:
        x1 = x2 = y1 = y2 = int32(0)
        for t in range(x.shape[0]):
            now = int32(x[t, c])
            acc = int64(b0) * now + int64(b1) * x1 + int64(b2) * x2 - int64(a1) * y1 - int64(a2) * y2
            y = int32((acc + 8192) >> 14)
            if y > 32767:
                y = int32(32767)
            if y < -32768:
                y = int32(-32768)
            x2 = x1
            x1 = now
            y2 = y1
            y1 = y
            out[t, c] = y


@cuda.jit
def cordic_sincos(angles, sines, cosines):
    table = cuda.const.array_like(ANGLES)
    i = cuda.grid(1)
    if i >= angles.size:
        return
    x = int32(CORDIC_GAIN)
    y = int32(0)
    z = angles[i]
    for k in range(20):
        dx = y >> k
        dy = x >> k
        if z >= 0:
            x = int32(x - dx)
            y = int32(y + dy)
            z = int32(z - table[k])
        else:
            x = int32(x + dx)
            y = int32(y - dy)
            z = int32(z + table[k])
    sines[i] = y
    cosines[i] = x


@cuda.jit
def bootstrap_means(data, seeds, means, draws):
    i = cuda.grid(1)
    if i < seeds.size:
        state = seeds[i]
        total = 0.0
        for _ in range(draws):
            state = state * uint64(6364136223846793005) + uint64(1442695040888963407)
            total += data[(state >> uint64(33)) % uint64(data.size)]
        means[i] = total / draws


@cuda.jit
def autocorrelation(signal, out):
    """A block for each lag."""
    sums = cuda.shared.array(256, float32)
    lag = cuda.blockIdx.x
    t = cuda.threadIdx.x
    mine = float32(0)
    for i in range(t, signal.size - lag, cuda.blockDim.x):
        mine += signal[i] * signal[i + lag]
    sums[t] = mine
    cuda.syncthreads()
    width = 128
    while width > 0:
        if t < width:
            sums[t] += sums[t + width]
        cuda.syncthreads()
        width >>= 1
    if t == 0:
        out[lag] = sums[0] / (signal.size - lag)


@cuda.jit
def kahan_chunks(x, out, chunk):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        lost = float32(0)
        for k in range(i * chunk, (i + 1) * chunk):
            y = x[k] - lost
            t = total + y
            lost = (t - total) - y
            total = t
        out[i] = total


@cuda.jit
def deposit_charge(position, charge, density):
    """Each particle's charge goes to the two nearest points of a ring, by its distance from them."""
    p = cuda.grid(1)
    if p >= position.size:
        return
    cells = density.size
    where = position[p] * cells
    left = int(where)
    share = where - left
    cuda.atomic.add(density, left % cells, charge[p] * (1 - share))
    cuda.atomic.add(density, (left + 1) % cells, charge[p] * share)


@cuda.jit
def planck_table(microns, kelvins, out):
    w, t = cuda.grid(2)
    if w < microns.size and t < kelvins.size:
        lam = microns[w] * 1e-6
        h = 6.62607015e-34
        c = 2.99792458e8
        k = 1.380649e-23
        out[t, w] = 2 * h * c**2 / lam**5 / math.expm1(h * c / (lam * k * kelvins[t]))


@cuda.jit(device=True)
def radical_inverse(i, base):
    f = 1.0
    r = 0.0
    while i > 0:
        f = f / base
        r = r + f * (i % base)
        i = i // base
    return r


@cuda.jit
def halton_points(out, skipped):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i, 0] = radical_inverse(i + skipped, 2)
        out[i, 1] = radical_inverse(i + skipped, 3)


@cuda.jit
def garch_likelihood(returns, alpha, beta, out, omega):
    k = cuda.grid(1)
    if k < out.size:
        a = alpha[k] * float32(0.2)
        b = beta[k] * float32(0.7)
        var = omega / (float32(1) - a - b)
        ll = float32(0)
        for t in range(returns.shape[0]):
            r2 = returns[t, k] * returns[t, k]
            ll += math.log(var) + r2 / var
            var = omega + a * r2 + b * var
        out[k] = float32(-0.5) * ll


@cuda.jit
def neutron_slab(seeds, tallies, thickness, scattered, histories):
    """How many neutrons pass through a slab, are thrown back, or stay in it."""
    i = cuda.grid(1)
    if i >= seeds.size:
        return
    state = seeds[i]
    passed = 0
    back = 0
    stayed = 0
    for _ in range(histories):
        x = 0.0
        mu = 1.0
        while True:
            state = state * uint64(6364136223846793005) + uint64(1442695040888963407)
            u = float64((state >> uint64(11)) + uint64(1)) / 9007199254740993.0
            x += mu * -math.log(u)
            if x >= thickness:
                passed += 1
                break
            if x < 0:
                back += 1
                break
            state = state * uint64(6364136223846793005) + uint64(1442695040888963407)
            if float64(state >> uint64(11)) / 9007199254740992.0 > scattered:
                stayed += 1
                break
            state = state * uint64(6364136223846793005) + uint64(1442695040888963407)
            mu = 2.0 * (float64(state >> uint64(11)) / 9007199254740992.0) - 1.0
    cuda.atomic.add(tallies, 0, passed)
    cuda.atomic.add(tallies, 1, back)
    cuda.atomic.add(tallies, 2, stayed)


@cuda.jit
def decimate_complex(samples, taps, out):
    """A low-pass filter over radio samples, of whose results every fourth is kept."""
    i = cuda.grid(1)
    if i < out.size:
        re = float32(0)
        im = float32(0)
        for k in range(taps.size):
            z = samples[4 * i + k]
            re += taps[k] * z.real
            im += taps[k] * z.imag
        out[i] = complex(re, im)


@cuda.jit
def step_projectiles(shells, dt):
    i = cuda.grid(1)
    if i < shells.size:
        x = shells[i].x
        y = shells[i].y
        vx = shells[i].vx
        vy = shells[i].vy
        drag = shells[i].drag
        steps = 0
        while y > 0.0 and steps < 60:
            speed = math.sqrt(vx * vx + vy * vy)
            vx -= dt * drag * speed * vx
            vy -= dt * (9.81 + drag * speed * vy)
            x += dt * vx
            y += dt * vy
            steps += 1
        shells[i].x = x
        shells[i].y = y
        shells[i].vx = vx
        shells[i].vy = vy
        shells[i].steps = steps


def shells(r: Random, n: int) -> Arguments:
    made = np.zeros(n, SHELL)
    for name, low, wide in (("y", 1, 10), ("vx", 5, 40), ("vy", -5, 20), ("drag", 0, 0.02)):
        made[name] = low + wide * r.reals(n, F64)
    return made, 0.05


def packets(r: Random, n: int) -> Arguments:
    table = np.arange(256, dtype=U32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ U32(0xEDB88320), table >> 1).astype(U32)
    return r.wholes(256, (n, 64), U8), r.wholes(65, n, low=20), table, zeros(n, dtype=U32)


def chacha_start(r: Random, n: int) -> Arguments:
    start = r.wholes(2**32, 16, U32)
    start[:4] = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574
    return start, zeros(n, 16, dtype=U32)


def magnet(r: Random, n: int) -> Arguments:
    energies = np.arange(-4, 5, 2)
    chances = (np.minimum(np.exp(-2 * 0.44 * energies), 1) * (2**32 - 1)).astype(U32)
    return r.wholes(2, (n, n), I8) * I8(2) - I8(1), chances, U32(20_011), 1


def half_rows(n: int, arguments: Arguments) -> tuple[int, int]:
    return n // 2, n


def radio(r: Random, n: int) -> Arguments:
    taps = np.hanning(34)[1:-1].astype(F32)
    return r.reals(2 * n).view(np.complex64), taps / taps.sum(), zeros((n - 32) // 4 + 1, dtype=np.complex64)


def quarters(n: int, arguments: Arguments) -> int:
    return (n - 32) // 4 + 1


NUMERICS: tuple[Sized, ...] = (
    entry(haversine_km, 256, elements, floats(4, dtype=F64), 1_000_000, 25_000_000),
    entry(heston_paths, 128, elements,
          lambda r, n: (r.wholes(2**32, n, U32), r.reals(n) + F32(0.5), zeros(n), 50, F32(0.02)), 150_000, 6_000_000,
          small=500),
    entry(american_put_tree, 64, elements,
          lambda r, n: (100 * r.reals(n, F64) + 50, 100 * r.reals(n, F64) + 50, zeros(n, dtype=F64),
                        math.exp(0.05), 0.51, math.exp(-0.002)),
          50_000, 1_500_000, small=200),
    entry(bessel_j0, 256, elements, lambda r, n: (20 * r.reals(n, F64), zeros(n, dtype=F64)), 2_000_000, 50_000_000),
    entry(incomplete_gamma, 128, elements,
          lambda r, n: (10 * r.reals(n, F64) + 0.5, 20 * r.reals(n, F64) + 0.01, zeros(n, dtype=F64)),
          200_000, 8_000_000),
    entry(predator_prey_adaptive, 128, elements,
          lambda r, n: (10 * r.reals(n, F64) + 1, 5 * r.reals(n, F64) + 1, zeros(n, dtype=I32), 2.0, 1e-3),
          100_000, 3_000_000, small=500),
    entry(ising_half_sweep, (32, 8), half_rows, magnet, 4000, 18_000, small=64),
    entry(miller_rabin, 128, elements, lambda r, n: (r.wholes(2**31 - 1, n), np.zeros(n, np.bool_)), 50_000, 1_500_000),
    entry(chacha_blocks, 256, elements, chacha_start, 500_000, 12_000_000, small=300),
    entry(crc_of_packets, 128, elements, packets, 200_000, 6_000_000),
    entry(biquad_fixed, 64, elements,
          lambda r, n: (r.wholes(20_000, (100, n), I16, low=-20_000), zeros(100, n, dtype=I16),
                        1100, 2200, 1100, -18_700, 6720),
          40_000, 2_000_000, small=200),
    entry(cordic_sincos, 256, elements,
          lambda r, n: (r.wholes(2**28 * 3 // 2, n, low=-(2**28) * 3 // 2), zeros(n, dtype=I32), zeros(n, dtype=I32)),
          1_500_000, 40_000_000),
    entry(bootstrap_means, 128, elements,
          lambda r, n: (r.reals(10_000), r.wholes(2**62, n, U64), zeros(n), 200), 30_000, 1_000_000, small=200),
    entry(autocorrelation, 256, blocks_of(256), lambda r, n: (r.reals(n + 10_000) - F32(0.5), zeros(n)), 4000, 60_000,
          small=20),
    entry(kahan_chunks, 256, elements, lambda r, n: (r.reals(64 * n), zeros(n), 64), 60_000, 3_000_000),
    entry(deposit_charge, 256, elements, lambda r, n: (r.reals(n), r.reals(n), zeros(4096)),
          1_000_000, 40_000_000),
    entry(planck_table, (32, 8), square,
          lambda r, n: (20 * r.reals(n, F64) + 0.5, 5000 * r.reals(n, F64) + 300, zeros(n, n, dtype=F64)),
          1200, 8000, small=40),
    entry(halton_points, 512, elements, lambda r, n: (zeros(n, 2, dtype=F64), 409), 400_000, 12_000_000),
    entry(garch_likelihood, 64, elements,
          lambda r, n: (r.reals((120, n)) - F32(0.5), r.reals(n), r.reals(n), zeros(n), F32(0.02)),
          40_000, 1_500_000, small=200),
    entry(neutron_slab, 128, elements, lambda r, n: (r.wholes(2**63, n, U64), zeros(3, dtype=I64), 3.0, 0.7, 8),
          60_000, 3_000_000, small=300),
    entry(decimate_complex, 256, quarters, radio, 2_000_000, 60_000_000),
    entry(step_projectiles, 128, elements, shells, 200_000, 6_000_000),
)  # fmt: skip

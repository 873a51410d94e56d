"""The sixth set: chemistry, physics, finance, statistics, signals, geometry, number theory, chance and layers."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, elements, striding, zeros

F32, F64, I16, I32, I64, U32, U64 = (
    np.float32, np.float64, np.int16, np.int32, np.int64, np.uint32, np.uint64,
)  # fmt: skip
TRIANGLE = np.dtype([("ax", F64), ("ay", F64), ("bx", F64), ("by", F64), ("cx", F64), ("cy", F64)], align=True)
CIRCLE = np.dtype([("x", F64), ("y", F64), ("radius", F64)], align=True)
CORNERS = 24
WATER = 1e-14


@cuda.jit
def acidity_newton(strength, amount, ph):
    """The pH of a weak acid in water: the root of a cubic."""
    i = cuda.grid(1)
    if i >= ph.size:
        return
    ka = strength[i]
    c = amount[i]
    h = math.sqrt(ka * c) + 1e-7
    change = 1.0
    rounds = 0
    while abs(change) > 1e-10 * h and rounds < 50:
        f = ((h + ka) * h - (WATER + ka * c)) * h - ka * WATER
        slope = (3 * h + 2 * ka) * h - (WATER + ka * c)
        change = f / slope
        h = h - change
        rounds += 1
    ph[i] = -math.log10(h)


@cuda.jit
def reactions_by_chance(seeds, left, elapsed, events):
    """A turns into B and B into A, one molecule at a time; B is slower by half."""
    tid = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if tid < seeds.size:
        s = seeds[tid]
        a = uint32(left[tid])
        b = uint32(100) - a
        t = float32(0)
        for _ in range(events):
            rate = uint32(2 * a + b)
            s = uint32(s ^ (s << uint32(13)))
            s = uint32(s ^ (s >> uint32(17)))
            s = uint32(s ^ (s << uint32(5)))
            u = (float32(s >> uint32(9)) + float32(0.5)) * float32(1.0 / 8388608.0)
            t -= math.log(u) / float32(rate)
            s = uint32(s ^ (s << uint32(13)))
            s = uint32(s ^ (s >> uint32(17)))
            s = uint32(s ^ (s << uint32(5)))
            if s % rate < uint32(2) * a:
                a = uint32(a - uint32(1))
                b = uint32(b + uint32(1))
            else:
                a = uint32(a + uint32(1))
                b = uint32(b - uint32(1))
        left[tid] = a
        elapsed[tid] = t


@cuda.jit(device=True)
def bond_worth(rate, coupon, years):
    discount = 1.0
    total = 0.0
    for _ in range(years):
        discount /= 1.0 + rate
        total += coupon * discount
    return total + 100.0 * discount


@cuda.jit
def bond_yields(price, coupon, years, out):
    i = cuda.grid(1)
    if i < price.size:
        low = 0.0
        high = 1.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            if bond_worth(middle, coupon[i], years[i]) > price[i]:
                low = middle
            else:
                high = middle
        out[i] = 0.5 * (low + high)


@cuda.jit
def trend_scores(series, score):
    """Mann and Kendall's: how many pairs of a row go up, less those that go down."""
    row = cuda.grid(1)
    if row < series.shape[0]:
        up = 0
        n = series.shape[1]
        for i in range(n - 1):
            first = series[row, i]
            for j in range(i + 1, n):
                if series[row, j] > first:
                    up += 1
                elif series[row, j] < first:
                    up -= 1
        score[row] = up


@cuda.jit
def density_at_points(samples, points, width, out):
    """A kernel density estimate; the samples pass through shared memory, whose size is given at launch."""
    chunk = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    here = float32(0)
    if i < points.size:
        here = points[i]
    total = float32(0)
    begin = 0
    while begin < samples.size:
        if begin + t < samples.size:
            chunk[t] = samples[begin + t]
        cuda.syncthreads()
        count = samples.size - begin
        if count > cuda.blockDim.x:
            count = cuda.blockDim.x
        for k in range(count):
            z = (here - chunk[k]) / width
            total += math.exp(float32(-0.5) * z * z)
        cuda.syncthreads()
        begin += cuda.blockDim.x
    if i < points.size:
        out[i] = total * float32(0.3989423) / (width * samples.size)


@cuda.jit
def frames_of_sound(sound, hop, length, crossings, loudness):
    f = cuda.grid(1)
    if f < crossings.size:
        count = 0
        power = int64(0)
        before = int32(sound[f * hop])
        for k in range(length):
            now = int32(sound[f * hop + k])
            power += now * now
            if (now < 0) != (before < 0):
                count += 1
            before = now
        crossings[f] = count
        loudness[f] = math.sqrt(float32(power) / float32(length))


@cuda.jit
def adaptive_filter(noisy, wanted, wrong, rate):
    """Least mean squares with eight taps; a thread for each channel, which is a column."""
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if c >= noisy.shape[1]:
        return
    taps = cuda.local.array(8, float32)
    past = cuda.local.array(8, float32)
    for k in range(8):
        taps[k] = float32(0)
        past[k] = float32(0)
    for t in range(noisy.shape[0]):
        for k in range(7, 0, -1):
            past[k] = past[k - 1]
        past[0] = noisy[t, c]
        guess = float32(0)
        for k in range(8):
            guess += taps[k] * past[k]
        e = wanted[t, c] - guess
        for k in range(8):
            taps[k] += rate * e * past[k]
        wrong[t, c] = e


@cuda.jit
def inside_polygon(px, py, corner_x, corner_y, inside):
    vx = cuda.shared.array(CORNERS, float32)
    vy = cuda.shared.array(CORNERS, float32)
    if cuda.threadIdx.x < CORNERS:
        vx[cuda.threadIdx.x] = corner_x[cuda.threadIdx.x]
        vy[cuda.threadIdx.x] = corner_y[cuda.threadIdx.x]
    cuda.syncthreads()
    for i in range(cuda.grid(1), px.size, cuda.gridsize(1)):
        x = px[i]
        y = py[i]
        odd = False
        j = CORNERS - 1
        for k in range(CORNERS):
            if (vy[k] > y) != (vy[j] > y):
                if x < (vx[j] - vx[k]) * (y - vy[k]) / (vy[j] - vy[k]) + vx[k]:
                    odd = not odd
            j = k
        inside[i] = odd


@cuda.jit
def circles_around(triangles, circles):
    i = cuda.grid(1)
    if i >= triangles.size:
        return
    t = triangles[i]
    bx = t.bx - t.ax
    by = t.by - t.ay
    cx = t.cx - t.ax
    cy = t.cy - t.ay
    d = 2.0 * (bx * cy - by * cx)
    b2 = bx * bx + by * by
    c2 = cx * cx + cy * cy
    ux = (cy * b2 - by * c2) / d
    uy = (bx * c2 - cx * b2) / d
    circles[i].x = t.ax + ux
    circles[i].y = t.ay + uy
    circles[i].radius = math.sqrt(ux * ux + uy * uy)


@cuda.jit
def inverses_modulo(values, modulus, out):
    """The extended algorithm of Euclid."""
    i = cuda.grid(1)
    if i < values.size:
        r0 = int64(modulus)
        r1 = values[i] % r0
        s0 = int64(0)
        s1 = int64(1)
        while r1 != 0:
            q = r0 // r1
            r2 = r0 - q * r1
            r0 = r1
            r1 = r2
            s2 = s0 - q * s1
            s0 = s1
            s1 = s2
        if r0 != 1:
            out[i] = -1
        elif s0 < 0:
            out[i] = s0 + modulus
        else:
            out[i] = s0


@cuda.jit
def totients(numbers, out):
    k = cuda.grid(1)
    if k < numbers.size:
        n = int32(numbers[k])
        result = n
        p = int32(2)
        while p * p <= n:
            if n % p == 0:
                while n % p == 0:
                    n = int32(n // p)
                result = int32(result - result // p)
            p = int32(p + 1)
        if n > 1:
            result = int32(result - result // n)
        out[k] = result


@cuda.jit
def philox_normals(out, key):
    i = cuda.grid(1)
    if i < out.shape[0]:
        c0 = uint32(i)
        c1 = uint32(0)
        c2 = uint32(0)
        c3 = uint32(0)
        k0 = uint32(key)
        k1 = uint32(0)
        for _ in range(10):
            p = uint64(0xD2511F53) * uint64(c0)
            q = uint64(0xCD9E8D57) * uint64(c2)
            c0 = uint32(uint32(q >> uint64(32)) ^ c1 ^ k0)
            c2 = uint32(uint32(p >> uint64(32)) ^ c3 ^ k1)
            c1 = uint32(q & uint64(0xFFFFFFFF))
            c3 = uint32(p & uint64(0xFFFFFFFF))
            k0 = uint32(k0 + uint32(0x9E3779B9))
            k1 = uint32(k1 + uint32(0xBB67AE85))
        u = (float32(c0 >> uint32(8)) + float32(0.5)) * float32(2.0**-24)
        v = (float32(c2 >> uint32(8)) + float32(0.5)) * float32(2.0**-24)
        far = math.sqrt(float32(-2) * math.log(u))
        out[i, 0] = far * math.cos(float32(2 * math.pi) * (float32(c1 >> uint32(8)) * float32(2.0**-24)))
        far = math.sqrt(float32(-2) * math.log(v))
        out[i, 1] = far * math.sin(float32(2 * math.pi) * (float32(c3 >> uint32(8)) * float32(2.0**-24)))


@cuda.jit
def rms_norm_by_warps(x, gain, out):
    """A warp for each row."""
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if row >= x.shape[0]:
        return
    total = float32(0)
    for j in range(lane, x.shape[1], 32):
        v = x[row, j]
        total += v * v
    for by in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, by)
    scale = float32(1) / math.sqrt(total / x.shape[1] + float32(1e-6))
    for j in range(lane, x.shape[1], 32):
        out[row, j] = x[row, j] * scale * gain[j]


@cuda.jit
def cross_entropy_back(scores, label, slope, loss):
    i = cuda.grid(1)
    if i < label.size:
        top = scores[i, 0]
        for c in range(1, 10):
            if scores[i, c] > top:
                top = scores[i, c]
        total = float32(0)
        for c in range(10):
            e = math.exp(scores[i, c] - top)
            slope[i, c] = e
            total += e
        for c in range(10):
            slope[i, c] /= total
        right = label[i]
        cuda.atomic.add(loss, 0, float64(math.log(total) + top - scores[i, right]))
        slope[i, right] -= float32(1)


@cuda.jit
def rotary_positions(q, base):
    """Turns pairs of features by an angle that depends on where the token stands."""
    pair, head, token = cuda.grid(3)
    half = q.shape[2] // 2
    if pair < half and head < q.shape[1] and token < q.shape[0]:
        angle = token * math.pow(base, float32(-2 * pair) / float32(q.shape[2]))
        c = math.cos(angle)
        s = math.sin(angle)
        a = q[token, head, pair]
        b = q[token, head, pair + half]
        q[token, head, pair] = a * c - b * s
        q[token, head, pair + half] = a * s + b * c


@cuda.jit
def argon_energies(position, neighbour, energy, cutoff):
    i = cuda.grid(1)
    if i < energy.size:
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        total = 0.0
        for k in range(neighbour.shape[1]):
            j = neighbour[i, k]
            if j == i:
                continue
            dx = position[j, 0] - x
            dy = position[j, 1] - y
            dz = position[j, 2] - z
            r2 = dx * dx + dy * dy + dz * dz + 0.5
            if r2 < cutoff * cutoff:
                s6 = 1.0 / (r2 * r2 * r2)
                total += 4.0 * (s6 * s6 - s6)
        energy[i] = 0.5 * total


@cuda.jit
def totals_of_dice(seeds, throws, counts):
    mine = cuda.shared.array(19, int32)
    t = cuda.threadIdx.x
    if t < 19:
        mine[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < seeds.size:
        state = seeds[i]
        for _ in range(throws):
            state = uint64(state * uint64(2862933555777941757) + uint64(3037000493))
            a = (state >> uint64(34)) % uint64(6)
            b = (state >> uint64(43)) % uint64(6)
            c = (state >> uint64(52)) % uint64(6)
            cuda.atomic.add(mine, int(a + b + c) + 3, 1)
    cuda.syncthreads()
    if t < 19 and mine[t] > 0:
        cuda.atomic.add(counts, t, mine[t])


@cuda.jit
def worst_drawdowns(prices, worst, at):
    """The largest loss since a peak, and the day when it was reached; a column for each share."""
    s = cuda.grid(1)
    if s < prices.shape[1]:
        peak = prices[0, s]
        deepest = 0.0
        day = 0
        for t in range(1, prices.shape[0]):
            p = prices[t, s]
            peak = max(peak, p)
            loss = (peak - p) / peak
            if loss > deepest:
                deepest = loss
                day = t
        worst[s] = deepest
        at[s] = day


def acids(r: Random, n: int) -> Arguments:
    return 1e-3 * r.reals(n, F64) ** 4 + 1e-9, 0.5 * r.reals(n, F64) + 1e-4, zeros(n, dtype=F64)


def bonds(r: Random, n: int) -> Arguments:
    return 60 * r.reals(n, F64) + 60, 8 * r.reals(n, F64), r.wholes(31, n, low=2), zeros(n, dtype=F64)


def star_and_points(r: Random, n: int) -> Arguments:
    turn = np.arange(CORNERS) * (2 * np.pi / CORNERS)
    far = np.where(np.arange(CORNERS) % 2, 0.25, 0.5)
    x, y = ((0.5 + far * part(turn)).astype(F32) for part in (np.cos, np.sin))
    return r.reals(n), r.reals(n), x, y, np.zeros(n, np.bool_)


def triangles(r: Random, n: int) -> Arguments:
    return r.reals(6 * n, F64).view(TRIANGLE), np.zeros(n, CIRCLE)


def atoms_and_neighbours(r: Random, n: int) -> Arguments:
    near = (np.arange(n, dtype=I32)[:, None] + r.wholes(200, (n, 16), low=-100)) % I32(n)
    return 10 * r.reals((n, 3), F64), near, zeros(n, dtype=F64), 5.0


def tokens(n: int, arguments: Arguments) -> tuple[int, int, int]:
    """A thread for each pair of features of each head of each of n tokens."""
    return 32, 8, n


NUMERICS: tuple[Sized, ...] = (
    entry(acidity_newton, 128, elements, acids, 200_000, 8_000_000),
    entry(reactions_by_chance, 256, elements,
          lambda r, n: (r.wholes(2**32 - 1, n, U32, low=1), r.wholes(101, n, I32), zeros(n), 60), 150_000, 5_000_000,
          small=500),
    entry(bond_yields, 128, elements, bonds, 60_000, 1_500_000, small=300),
    entry(trend_scores, 64, elements, lambda r, n: (r.reals((n, 32)), zeros(n, dtype=I32)), 40_000, 1_000_000,
          small=200),
    entry(density_at_points, 256, elements, lambda r, n: (r.reals(1500), r.reals(n), F32(0.05), zeros(n)),
          40_000, 1_500_000, small=300, shared_bytes=1024),
    entry(frames_of_sound, 128, elements,
          lambda r, n: (r.wholes(16_000, 32 * n + 96, I16, low=-16_000), 32, 128, zeros(n, dtype=I32), zeros(n)),
          100_000, 4_000_000),
    entry(adaptive_filter, 64, elements,
          lambda r, n: (r.reals((80, n)) - F32(0.5), r.reals((80, n)) - F32(0.5), zeros(80, n), F32(0.1)),
          40_000, 1_500_000, small=200),
    entry(inside_polygon, 256, striding(256), star_and_points, 800_000, 25_000_000),
    entry(circles_around, 192, elements, triangles, 600_000, 12_000_000),
    entry(inverses_modulo, 128, elements,
          lambda r, n: (r.wholes(10**9, n, I64, low=1), 720_720_000, zeros(n, dtype=I64)), 100_000, 4_000_000),
    entry(totients, 64, elements, lambda r, n: (r.wholes(100_000, n, low=1), zeros(n, dtype=I32)), 40_000, 1_500_000),
    entry(philox_normals, 256, elements, lambda r, n: (zeros(n, 2), U32(20_260)), 800_000, 30_000_000),
    entry(rms_norm_by_warps, 128, lambda n, arguments: 32 * n,
          lambda r, n: (r.reals((n, 320)), r.reals(320), zeros(n, 320)), 20_000, 400_000, small=50),
    entry(cross_entropy_back, 256, elements,
          lambda r, n: (8 * r.reals((n, 10)), r.wholes(10, n), zeros(n, 10), zeros(1, dtype=F64)), 200_000, 4_000_000),
    entry(rotary_positions, (32, 4, 2), tokens, lambda r, n: (r.reals((n, 8, 64)), F32(10_000)), 10_000, 130_000,
          small=12),
    entry(argon_energies, 128, elements, atoms_and_neighbours, 100_000, 3_000_000),
    entry(totals_of_dice, 512, elements, lambda r, n: (r.wholes(2**63, n, U64), 24, zeros(19, dtype=I32)),
          200_000, 4_000_000),
    entry(worst_drawdowns, 256, elements,
          lambda r, n: (r.reals((100, n), F64) + 0.2, zeros(n, dtype=F64), zeros(n, dtype=I32)), 60_000, 1_000_000,
          small=300),
)  # fmt: skip

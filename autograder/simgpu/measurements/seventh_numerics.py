"""The seventh set: chemistry, statistics, finance, signals, the earth, the sky, special functions and learning layers."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int8, int32, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, blocks_of, elements, square, zeros

F16, F32, F64, I8, I16, I32, I64, U32, U64 = (
    np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint32, np.uint64,
)  # fmt: skip
ECHO_TIMES = (8 * np.arange(1, 17)).astype(np.float32)
QUERIES = 8
WORDS = 16
BINS = 200
TILE = 128
STARS = 50
ORDER = 10
LAGS = ORDER + 1
STATES = 64
PADDED = STATES + 2
IMPOSSIBLE = np.float32(-1e30)
NEWTON = 6.6743e-11
ROOT_LN2 = math.sqrt(math.log(2.0))


@cuda.jit
def tanimoto_best(fingerprints, queries, best_score, best_query):
    query = cuda.shared.array((QUERIES, WORDS), uint64)
    query_bits = cuda.shared.array(QUERIES, int32)
    tid = cuda.threadIdx.x
    if tid < QUERIES * WORDS:
        query[tid // WORDS, tid % WORDS] = queries[tid // WORDS, tid % WORDS]
    cuda.syncthreads()
    if tid < QUERIES:
        bits = 0
        for w in range(WORDS):
            bits += cuda.popc(query[tid, w])
        query_bits[tid] = bits
    cuda.syncthreads()

    i = cuda.grid(1)
    if i >= fingerprints.shape[0]:
        return
    common = cuda.local.array(QUERIES, int32)
    for q in range(QUERIES):
        common[q] = 0
    own_bits = 0
    for w in range(WORDS):
        word = fingerprints[i, w]
        own_bits += cuda.popc(word)
        for q in range(QUERIES):
            common[q] += cuda.popc(word & query[q, w])
    best = -1.0
    which = 0
    for q in range(QUERIES):
        union = own_bits + query_bits[q] - common[q]
        if union > 0:
            score = common[q] / union
            if score > best:
                best = score
                which = q
    best_score[i] = best
    best_query[i] = which


@cuda.jit
def kendall_pairs(x, y, totals):
    counts = cuda.shared.array(2, int32)
    i, j = cuda.grid(2)
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y < 2:
        counts[cuda.threadIdx.y] = 0
    cuda.syncthreads()
    product = float32(0.0)
    if i < x.size and j < i:
        product = (x[i] - x[j]) * (y[i] - y[j])
    agree = cuda.ballot_sync(0xFFFFFFFF, product > 0)
    differ = cuda.ballot_sync(0xFFFFFFFF, product < 0)
    if cuda.laneid == 0:
        if agree:
            cuda.atomic.add(counts, 0, cuda.popc(agree))
        if differ:
            cuda.atomic.add(counts, 1, cuda.popc(differ))
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        if counts[0] > 0:
            cuda.atomic.add(totals, 0, counts[0])
        if counts[1] > 0:
            cuda.atomic.add(totals, 1, counts[1])


@cuda.jit(device=True)
def normal_cdf(x):
    return 0.5 * math.erfc(-x * 0.7071067811865476)


@cuda.jit
def implied_volatility(prices, spots, strikes, years, volatilities, rate):
    i = cuda.grid(1)
    if i >= prices.size:
        return
    spot = spots[i]
    t = years[i]
    root = math.sqrt(t)
    discounted = strikes[i] * math.exp(-rate * t)
    low = 1e-4
    high = 5.0
    vol = math.sqrt(2.0 * math.pi / t) * prices[i] / spot
    if vol < low or vol > high:
        vol = 0.3
    moneyness = math.log(spot / discounted)
    for _ in range(40):
        d1 = moneyness / (vol * root) + 0.5 * vol * root
        d2 = d1 - vol * root
        error = spot * normal_cdf(d1) - discounted * normal_cdf(d2) - prices[i]
        if abs(error) < 1e-9 * spot:
            break
        if error > 0.0:
            high = vol
        else:
            low = vol
        vega = spot * root * math.exp(-0.5 * d1 * d1) * 0.3989422804014327
        step = vol
        if vega > 1e-12:
            step = vol - error / vega
        if step <= low or step >= high:
            step = 0.5 * (low + high)
        vol = step
    volatilities[i] = vol


@cuda.jit
def lift_53_rows(picture, out):
    """The reversible wavelet of JPEG 2000 along rows: averages into the left half, details into the right one."""
    detail = cuda.shared.array((4, 65), int32)
    k, y = cuda.grid(2)
    half = picture.shape[1] // 2
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    inside = y < picture.shape[0] and k < half
    if inside:
        following = min(2 * k + 2, picture.shape[1] - 2)
        detail[ty, tx + 1] = picture[y, 2 * k + 1] - ((picture[y, 2 * k] + picture[y, following]) >> 1)
        if tx == 0:
            if k > 0:
                detail[ty, 0] = picture[y, 2 * k - 1] - ((picture[y, 2 * k - 2] + picture[y, 2 * k]) >> 1)
            else:
                detail[ty, 0] = detail[ty, 1]
    cuda.syncthreads()
    if inside:
        out[y, k] = picture[y, 2 * k] + ((detail[ty, tx] + detail[ty, tx + 1] + 2) >> 2)
        out[y, half + k] = detail[ty, tx + 1]


@cuda.jit(device=True)
def cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@cuda.jit(device=True)
def push(forces, atom, fx, fy, fz):
    cuda.atomic.add(forces, (atom, 0), fx)
    cuda.atomic.add(forces, (atom, 1), fy)
    cuda.atomic.add(forces, (atom, 2), fz)


@cuda.jit
def torsion_forces(places, quads, stiffness, phases, folds, forces, energies):
    t = cuda.grid(1)
    if t >= quads.shape[0]:
        return
    i = quads[t, 0]
    j = quads[t, 1]
    k = quads[t, 2]
    m = quads[t, 3]
    ax = places[i, 0] - places[j, 0]
    ay = places[i, 1] - places[j, 1]
    az = places[i, 2] - places[j, 2]
    bx = places[k, 0] - places[j, 0]
    by = places[k, 1] - places[j, 1]
    bz = places[k, 2] - places[j, 2]
    cx = places[k, 0] - places[m, 0]
    cy = places[k, 1] - places[m, 1]
    cz = places[k, 2] - places[m, 2]
    ux, uy, uz = cross(ax, ay, az, bx, by, bz)
    vx, vy, vz = cross(bx, by, bz, cx, cy, cz)
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    bb = bx * bx + by * by + bz * bz
    if uu < float32(1e-6) or vv < float32(1e-6) or bb < float32(1e-6):
        return
    length = math.sqrt(bb)
    angle = math.atan2(length * (ax * vx + ay * vy + az * vz), ux * vx + uy * vy + uz * vz)
    inner = float32(folds[t]) * angle - phases[t]
    energies[t] = stiffness[t] * (float32(1) + math.cos(inner))
    slope = -stiffness[t] * float32(folds[t]) * math.sin(inner)
    first = -slope * length / uu
    last = slope * length / vv
    p = (ax * bx + ay * by + az * bz) / bb
    q = (cx * bx + cy * by + cz * bz) / bb
    fix, fiy, fiz = first * ux, first * uy, first * uz
    fmx, fmy, fmz = last * vx, last * vy, last * vz
    sx, sy, sz = p * fix - q * fmx, p * fiy - q * fmy, p * fiz - q * fmz
    push(forces, i, fix, fiy, fiz)
    push(forces, j, sx - fix, sy - fiy, sz - fiz)
    push(forces, k, -sx - fmx, -sy - fmy, -sz - fmz)
    push(forces, m, fmx, fmy, fmz)


@cuda.jit(device=True)
def nearest_image(d, box):
    half = box * float32(0.5)
    if d > half:
        return d - box
    if d < -half:
        return d + box
    return d


@cuda.jit
def hodgkin_huxley(voltage, gate_m, gate_h, gate_n, current, spikes, steps, dt):
    i = cuda.grid(1)
    if i < voltage.size:
        v = voltage[i]
        m = gate_m[i]
        h = gate_h[i]
        n = gate_n[i]
        fired = 0
        for _ in range(steps):
            if abs(v + 40.0) < 1e-5:
                alpha_m = 1.0
            else:
                alpha_m = 0.1 * (v + 40.0) / (1.0 - math.exp(-(v + 40.0) / 10.0))
            beta_m = 4.0 * math.exp(-(v + 65.0) / 18.0)
            alpha_h = 0.07 * math.exp(-(v + 65.0) / 20.0)
            beta_h = 1.0 / (1.0 + math.exp(-(v + 35.0) / 10.0))
            if abs(v + 55.0) < 1e-5:
                alpha_n = 0.1
            else:
                alpha_n = 0.01 * (v + 55.0) / (1.0 - math.exp(-(v + 55.0) / 10.0))
            beta_n = 0.125 * math.exp(-(v + 65.0) / 80.0)
            sodium = 120.0 * m**3 * h * (v - 50.0)
            potassium = 36.0 * n**4 * (v + 77.0)
            leak = 0.3 * (v + 54.387)
            before = v
            v = v + dt * (current[i] - sodium - potassium - leak)
            m = m + dt * (alpha_m * (1.0 - m) - beta_m * m)
            h = h + dt * (alpha_h * (1.0 - h) - beta_h * h)
            n = n + dt * (alpha_n * (1.0 - n) - beta_n * n)
            if before < 0.0 and v >= 0.0:
                fired += 1
        voltage[i] = v
        gate_m[i] = m
        gate_h[i] = h
        gate_n[i] = n
        spikes[i] += fired


@cuda.jit
def burn_robertson(slow, fast, middling, out, steps):
    """Three stiff reactions by backward Euler with growing steps, each solved by Newton's method."""
    i = cuda.grid(1)
    if i >= slow.size:
        return
    k1 = slow[i]
    k2 = fast[i]
    k3 = middling[i]
    y = cuda.local.array(3, float64)
    g = cuda.local.array(3, float64)
    a = cuda.local.array((3, 4), float64)
    y[0] = 1.0
    y[1] = 0.0
    y[2] = 0.0
    dt = 1e-4
    for _ in range(steps):
        for r in range(3):
            g[r] = y[r]
        for _ in range(8):
            f1 = k1 * g[0]
            f2 = k2 * g[1] * g[1]
            f3 = k3 * g[1] * g[2]
            a[0, 0] = 1.0 + dt * k1
            a[0, 1] = -dt * k3 * g[2]
            a[0, 2] = -dt * k3 * g[1]
            a[0, 3] = y[0] - g[0] + dt * (f3 - f1)
            a[1, 0] = -dt * k1
            a[1, 1] = 1.0 + dt * (k3 * g[2] + 2.0 * k2 * g[1])
            a[1, 2] = dt * k3 * g[1]
            a[1, 3] = y[1] - g[1] + dt * (f1 - f2 - f3)
            a[2, 0] = 0.0
            a[2, 1] = -2.0 * dt * k2 * g[1]
            a[2, 2] = 1.0
            a[2, 3] = y[2] - g[2] + dt * f2
            for p in range(2):
                for r in range(p + 1, 3):
                    factor = a[r, p] / a[p, p]
                    for c in range(p, 4):
                        a[r, c] -= factor * a[p, c]
            largest = 0.0
            for back in range(3):
                r = 2 - back
                s = a[r, 3]
                for c in range(r + 1, 3):
                    s -= a[r, c] * a[c, 3]
                s /= a[r, r]
                a[r, 3] = s
                g[r] += s
                largest = max(largest, abs(s))
            if largest < 1e-12:
                break
        for r in range(3):
            y[r] = g[r]
        dt *= 1.8
    for r in range(3):
        out[i, r] = y[r]


@cuda.jit(device=True)
def misfit(signals, pixel, a, b):
    times = cuda.const.array_like(ECHO_TIMES)
    total = float32(0)
    for e in range(times.size):
        d = signals[e, pixel] - a * math.exp(-b * times[e])
        total += d * d
    return total


@cuda.jit
def fit_decays(signals, amplitudes, rates, tolerance):
    """Levenberg and Marquardt's fit of a decay to the echoes of every pixel."""
    pixel = cuda.grid(1)
    if pixel >= signals.shape[1]:
        return
    times = cuda.const.array_like(ECHO_TIMES)
    a = signals[0, pixel]
    b = float32(0.02)
    damping = float32(0.01)
    cost = misfit(signals, pixel, a, b)
    tries = 0
    while tries < 25:
        haa = hab = hbb = ga = gb = float32(0)
        for e in range(times.size):
            decay = math.exp(-b * times[e])
            db = -a * times[e] * decay
            d = signals[e, pixel] - a * decay
            haa += decay * decay
            hab += decay * db
            hbb += db * db
            ga += decay * d
            gb += db * d
        haa *= float32(1) + damping
        hbb *= float32(1) + damping
        det = haa * hbb - hab * hab
        if det <= float32(1e-12):
            break
        new_a = a + (hbb * ga - hab * gb) / det
        new_b = b + (haa * gb - hab * ga) / det
        new_b = min(max(new_b, float32(1e-4)), float32(1))
        new_cost = misfit(signals, pixel, new_a, new_b)
        if new_cost < cost:
            done = cost - new_cost < tolerance * cost
            a = new_a
            b = new_b
            cost = new_cost
            damping *= float32(0.3)
            if done:
                break
        else:
            damping *= float32(8)
            if damping > float32(1e5):
                break
        tries += 1
    amplitudes[pixel] = a
    rates[pixel] = b


@cuda.jit(device=True)
def hashed(x):
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> 16)


@cuda.jit
def swarm_step(places, speeds, own_best, common_best, inertia, pull, reach, seed):
    p, d = cuda.grid(2)
    if d < places.shape[0] and p < places.shape[1]:
        drawn = hashed((p * places.shape[0] + d) ^ seed)
        r1 = float32(drawn & 0xFFFF) / float32(65536)
        r2 = float32(drawn >> 16) / float32(65536)
        x = places[d, p]
        v = inertia * speeds[d, p] + pull * (r1 * (own_best[d, p] - x) + r2 * (common_best[d] - x))
        v = max(-reach, min(reach, v))
        x += v
        if x < -reach or x > reach:
            x = max(-reach, min(reach, x))
            v = -v / 2
        places[d, p] = x
        speeds[d, p] = v


@cuda.jit
def lomb_scargle(times, values, frequencies, power):
    k = cuda.grid(1)
    if k >= frequencies.size:
        return
    f = frequencies[k]
    turn = float32(2 * math.pi)
    s2 = float32(0)
    c2 = float32(0)
    for i in range(times.size):
        cycles = times[i] * f
        phase = turn * float32(cycles - math.floor(cycles))
        s = math.sin(phase)
        c = math.cos(phase)
        s2 += 2 * s * c
        c2 += c * c - s * s
    shift = float32(0.5) * math.atan2(s2, c2)
    ys = float32(0)
    yc = float32(0)
    ss = float32(0)
    cc = float32(0)
    for i in range(times.size):
        cycles = times[i] * f
        phase = turn * float32(cycles - math.floor(cycles)) - shift
        s = math.sin(phase)
        c = math.cos(phase)
        ys += values[i] * s
        yc += values[i] * c
        ss += s * s
        cc += c * c
    p = float32(0)
    if ss > 0:
        p += ys * ys / ss
    if cc > 0:
        p += yc * yc / cc
    power[k] = p / 2


@cuda.jit
def lens_rays(stars, counts, rays, field, source, kappa, shear):
    """Shoots a square of rays past stars and counts where in the plane of the sources they come out."""
    sx = cuda.shared.array(STARS, float32)
    sy = cuda.shared.array(STARS, float32)
    sm = cuda.shared.array(STARS, float32)
    tid = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if tid < STARS:
        sx[tid] = stars[tid, 0]
        sy[tid] = stars[tid, 1]
        sm[tid] = stars[tid, 2]
    cuda.syncthreads()
    ix, iy = cuda.grid(2)
    if ix >= rays or iy >= rays:
        return
    x = float32(((ix + 0.5) / rays - 0.5) * field)
    y = float32(((iy + 0.5) / rays - 0.5) * field)
    bx = x * (float32(1) - kappa - shear)
    by = y * (float32(1) - kappa + shear)
    for s in range(STARS):
        dx = x - sx[s]
        dy = y - sy[s]
        pull = sm[s] / (dx * dx + dy * dy + float32(1e-6))
        bx -= pull * dx
        by -= pull * dy
    px = int(math.floor((bx / source + float32(0.5)) * counts.shape[1]))
    py = int(math.floor((by / source + float32(0.5)) * counts.shape[0]))
    if 0 <= px < counts.shape[1] and 0 <= py < counts.shape[0]:
        cuda.atomic.add(counts, (py, px), 1)


@cuda.jit
def prism_gravity(stations, prisms, densities, pull):
    """The vertical attraction of buried prisms, a warp for every station."""
    station = cuda.grid(1) // 32
    if station >= stations.shape[0]:
        return
    lane = cuda.threadIdx.x % 32
    total = 0.0
    for p in range(lane, prisms.shape[0], 32):
        inner = 0.0
        for i in range(2):
            x = prisms[p, i] - stations[station, 0]
            for j in range(2):
                y = prisms[p, 2 + j] - stations[station, 1]
                for k in range(2):
                    z = prisms[p, 4 + k] - stations[station, 2]
                    r = math.sqrt(x * x + y * y + z * z)
                    corner = x * math.log(y + r) + y * math.log(x + r) - z * math.atan2(x * y, z * r)
                    if (i + j + k) % 2 == 0:
                        inner += corner
                    else:
                        inner -= corner
        total += densities[p] * inner
    offset = 16
    while offset > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
        offset //= 2
    if lane == 0:
        pull[station] = NEWTON * total * 1e5


@cuda.jit(device=True)
def logistic(x):
    return 1.0 / (1.0 + math.exp(-x))


@cuda.jit
def lstm_gates(gates, bias, cell, hidden):
    unit, sample = cuda.grid(2)
    width = cell.shape[1]
    if sample < cell.shape[0] and unit < width:
        i = logistic(gates[sample, unit] + bias[unit])
        f = logistic(gates[sample, width + unit] + bias[width + unit])
        g = math.tanh(gates[sample, 2 * width + unit] + bias[2 * width + unit])
        o = logistic(gates[sample, 3 * width + unit] + bias[3 * width + unit])
        c = f * cell[sample, unit] + i * g
        cell[sample, unit] = c
        hidden[sample, unit] = o * math.tanh(c)


@cuda.jit
def migrate_traces(traces, receivers, image, spacing, interval, velocity):
    """Kirchhoff's migration of zero-offset traces into a picture of the ground."""
    ix, iz = cuda.grid(2)
    if ix >= image.shape[1] or iz >= image.shape[0]:
        return
    x = float32(ix) * spacing
    z = float32(iz + 1) * spacing
    total = float32(0)
    for r in range(receivers.size):
        away = receivers[r] - x
        distance = math.sqrt(away * away + z * z)
        at = float32(2) * distance / (velocity * interval)
        k = int32(at)
        if k + 1 < traces.shape[1]:
            part = at - float32(k)
            sample = traces[r, k] + part * (traces[r, k + 1] - traces[r, k])
            total += sample * z / (distance * math.sqrt(distance))
    image[iz, ix] = total


@cuda.jit(device=True)
def humlicek(x, y):
    t = complex(y, -x)
    s = abs(x) + y
    u = t * t
    if s >= 15.0:
        w = t * 0.5641896 / (0.5 + u)
    elif s >= 5.5:
        w = t * (1.410474 + u * 0.5641896) / (0.75 + u * (3.0 + u))
    elif y >= 0.195 * abs(x) - 0.176:
        w = (16.4955 + t * (20.20933 + t * (11.96482 + t * (3.778987 + t * 0.5642236)))) / (
            16.4955 + t * (38.82363 + t * (39.27121 + t * (21.69274 + t * (6.699398 + t))))
        )
    else:
        above = 36183.31 - u * (
            3321.9905 - u * (1540.787 - u * (219.0313 - u * (35.76683 - u * (1.320522 - u * 0.56419))))
        )
        below = 32066.6 - u * (
            24322.84 - u * (9022.228 - u * (2186.181 - u * (364.2191 - u * (61.57037 - u * (1.841439 - u)))))
        )
        size = math.exp(u.real)
        w = complex(size * math.cos(u.imag), size * math.sin(u.imag)) - t * above / below
    return w.real


@cuda.jit
def voigt_profiles(wavenumbers, centres, strengths, doppler, lorentz, absorption):
    i = cuda.grid(1)
    if i < wavenumbers.size:
        total = 0.0
        for line in range(centres.size):
            scale = ROOT_LN2 / doppler[line]
            shape = humlicek((wavenumbers[i] - centres[line]) * scale, lorentz[line] * scale)
            total += strengths[line] * shape * scale / math.sqrt(math.pi)
        absorption[i] = total


@cuda.jit(device=True)
def taus88(state):
    """The next number between 0 and 1 of Tausworthe's combined generator."""
    s1 = state[0]
    s2 = state[1]
    s3 = state[2]
    b = (((s1 << 13) & 0xFFFFFFFF) ^ s1) >> 19
    s1 = (((s1 & 0xFFFFFFFE) << 12) & 0xFFFFFFFF) ^ b
    b = (((s2 << 2) & 0xFFFFFFFF) ^ s2) >> 25
    s2 = (((s2 & 0xFFFFFFF8) << 4) & 0xFFFFFFFF) ^ b
    b = (((s3 << 3) & 0xFFFFFFFF) ^ s3) >> 11
    s3 = (((s3 & 0xFFFFFFF0) << 17) & 0xFFFFFFFF) ^ b
    state[0] = s1
    state[1] = s2
    state[2] = s3
    return (float32((s1 ^ s2 ^ s3) >> 8) + float32(0.5)) * float32(1 / 16777216)


@cuda.jit(device=True)
def polar_normal(state):
    for _ in range(50):
        u = float32(2) * taus88(state) - float32(1)
        v = float32(2) * taus88(state) - float32(1)
        s = u * u + v * v
        if float32(0) < s < float32(1):
            return u * math.sqrt(float32(-2) * math.log(s) / s)
    return float32(0)


@cuda.jit
def gamma_variates(seeds, shapes, out):
    i = cuda.grid(1)
    if i >= shapes.size:
        return
    state = cuda.local.array(3, uint32)
    for c in range(3):
        state[c] = seeds[c, i]
    d = shapes[i] - float32(1 / 3)
    c = float32(1) / math.sqrt(float32(9) * d)
    for k in range(out.shape[0]):
        drawn = d
        for _ in range(50):
            x = polar_normal(state)
            v = float32(1) + c * x
            if v > float32(0):
                v = v * v * v
                u = taus88(state)
                if math.log(u) < float32(0.5) * x * x + d * (float32(1) - v + math.log(v)):
                    drawn = d * v
                    break
        out[k, i] = drawn
    for c in range(3):
        seeds[c, i] = state[c]


@cuda.jit
def levinson_durbin(lags, coefficients, errors):
    frame = cuda.grid(1)
    if frame >= lags.shape[1]:
        return
    r = cuda.local.array(LAGS, float32)
    a = cuda.local.array(LAGS, float32)
    for k in range(LAGS):
        r[k] = lags[k, frame]
        a[k] = 0.0
    error = r[0]
    for i in range(1, ORDER + 1):
        acc = r[i]
        for j in range(1, i):
            acc += a[j] * r[i - j]
        if error <= 0.0:
            break
        k = -acc / error
        a[i] = k
        for j in range(1, i // 2 + 1):
            other = a[i - j]
            if j != i - j:
                a[i - j] = other + k * a[j]
            a[j] += k * other
        error *= 1.0 - k * k
    for k in range(ORDER):
        coefficients[k, frame] = a[k + 1]
    errors[frame] = error


@cuda.jit
def ctc_forward(log_probs, labels, label_lengths, frame_counts, losses):
    alpha = cuda.shared.array((2, PADDED), float32)
    b = cuda.blockIdx.x
    s = cuda.threadIdx.x
    states = 2 * label_lengths[b] + 1
    symbol = 0
    may_skip = False
    if s % 2 == 1 and s < states:
        symbol = labels[b, s // 2]
        if s >= 3:
            may_skip = symbol != labels[b, s // 2 - 1]
    if s < 2:
        alpha[0, s] = IMPOSSIBLE
        alpha[1, s] = IMPOSSIBLE
    if s < 2 and s < states:
        alpha[0, s + 2] = log_probs[0, b, symbol]
    else:
        alpha[0, s + 2] = IMPOSSIBLE
    cuda.syncthreads()
    now = 0
    for t in range(1, frame_counts[b]):
        value = IMPOSSIBLE
        if s < states:
            stay = alpha[now, s + 2]
            step = alpha[now, s + 1]
            skip = alpha[now, s] if may_skip else IMPOSSIBLE
            top = max(stay, step, skip)
            total = math.exp(stay - top) + math.exp(step - top) + math.exp(skip - top)
            value = top + math.log(total) + log_probs[t, b, symbol]
        now = 1 - now
        alpha[now, s + 2] = value
        cuda.syncthreads()
    if s == 0:
        last = alpha[now, states + 1]
        before = alpha[now, states]
        top = max(last, before)
        losses[b] = -(top + math.log(math.exp(last - top) + math.exp(before - top)))


@cuda.jit
def quantize_rows(weights, quantized, scales):
    greatest_of_warps = cuda.shared.array(8, float32)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    columns = weights.shape[1]
    greatest = float32(0)
    for c in range(tid, columns, cuda.blockDim.x):
        greatest = max(greatest, abs(float32(weights[row, c])))
    for mask in (16, 8, 4, 2, 1):
        greatest = max(greatest, cuda.shfl_xor_sync(0xFFFFFFFF, greatest, mask))
    if tid % 32 == 0:
        greatest_of_warps[tid // 32] = greatest
    cuda.syncthreads()
    for w in range(8):
        greatest = max(greatest, greatest_of_warps[w])
    inverse = float32(0)
    if greatest > float32(0):
        inverse = float32(127) / greatest
    for c in range(tid, columns, cuda.blockDim.x):
        level = math.floor(float32(weights[row, c]) * inverse + float32(0.5))
        quantized[row, c] = int8(min(max(level, -127), 127))
    if tid == 0:
        scales[row] = greatest / float32(127)


def molecules(r: Random, n: int) -> Arguments:
    first = r.wholes(1 << 63, (n, WORDS), U64)
    first &= np.roll(first, 12_345)
    return first, first[:: n // QUERIES][:QUERIES] | U64(5), zeros(n), zeros(n, dtype=I32)


def quotes(r: Random, n: int) -> Arguments:
    spots = 80 + 40 * r.reals(n, F64)
    strikes = 100 * np.exp(0.4 * (np.roll(spots, 7) - 100) / 20)
    years = 0.1 + 2 * np.roll(spots - 80, 1001) / 40
    root = (0.1 + 0.5 * np.roll(spots - 80, 301) / 40) * np.sqrt(years)
    discounted = strikes * np.exp(-0.03 * years)
    d1 = np.log(spots / discounted) / root + root / 2
    d2 = d1 - root
    below = [1 / (1 + np.exp(-1.5976 * d - 0.07056 * d**3)) for d in (d1, d2)]
    prices = np.maximum(spots * below[0] - discounted * below[1], np.maximum(spots - discounted, 0) + 0.01)
    return prices, spots, strikes, years, zeros(n, dtype=F64), 0.03


def chains(r: Random, n: int) -> Arguments:
    atoms = n // 2 + 4
    places = r.reals((atoms, 3))
    places[:, 0] += F32(0.6) * (np.arange(atoms) % 5000)
    quads = (np.arange(n, dtype=I32) // 2)[:, None] + np.arange(4, dtype=I32)
    return (places, quads, 1 + r.reals(n), 3 * r.reals(n), r.wholes(3, n, low=1), zeros(atoms, 3), zeros(n))  # fmt: skip


def membranes(r: Random, n: int) -> Arguments:
    return (
        F32(-65) + 20 * r.reals(n), F32(0.1) * r.reals(n), F32(0.6) * r.reals(n), F32(0.3) + F32(0.2) * r.reals(n),
        20 * r.reals(n), zeros(n, dtype=I32), 50, F32(0.02),
    )  # fmt: skip


def reaction_rates(r: Random, n: int) -> Arguments:
    return tuple(k * (0.5 + r.reals(n, F64)) for k in (0.04, 3e7, 1e4)) + (zeros(n, 3, dtype=F64), 25)


def echoes(r: Random, n: int) -> Arguments:
    signals = r.reals((ECHO_TIMES.size, n)) * F32(0.02)
    amplitudes = F32(0.5) + r.reals(n)
    rates = F32(0.01) + F32(0.04) * r.reals(n)
    for e, time in enumerate(ECHO_TIMES):
        signals[e] += amplitudes * np.exp(-rates * time)
    return signals, zeros(n), zeros(n), F32(1e-4)


def swarm(r: Random, n: int) -> Arguments:
    around = [F32(10) * r.reals((8, n)) - F32(5) for _ in range(3)]
    around[1] *= F32(0.1)
    return *around, r.reals(8), F32(0.7), F32(1.5), F32(5), 20_240_607


def light_curve(r: Random, n: int) -> Arguments:
    times = r.ascending(400, 900.0, F64)
    values = (np.sin(times * 2.1) + 0.3 * r.reals(400, F64) - 0.15).astype(F32)
    return times, values, np.linspace(0.01, 10.0, n), zeros(n)


def star_field(r: Random, n: int) -> Arguments:
    stars = r.reals((STARS, 3))
    stars[:, :2] = 20 * stars[:, :2] - 10
    stars[:, 2] = F32(0.2) + F32(0.8) * stars[:, 2]
    return stars, zeros(256, 256, dtype=I32), n, F32(30), F32(16), F32(0.3), F32(0.1)


def prisms_below(r: Random, n: int) -> Arguments:
    stations = r.reals((n, 3), F64) * np.array((1e4, 1e4, -50.0))
    corners = r.reals((70, 6), F64) * np.array((1e4, 500.0, 1e4, 500.0, 300.0, 900.0)) + np.array((0, 50, 0, 50, 20, 50))
    corners[:, 1::2] += corners[:, ::2]
    return stations, corners, 200 + 500 * r.reals(70, F64), zeros(n, dtype=F64)


def recordings(r: Random, n: int) -> Arguments:
    traces = r.reals((64, 2000)) - F32(0.5)
    receivers = np.linspace(0, 10_000, 64).astype(F32)
    return traces, receivers, zeros(n, n), F32(10_000 / n), F32(0.004), F32(3000)


def spectral_lines(r: Random, n: int) -> Arguments:
    return (
        np.linspace(2000, 2050, n), r.ascending(40, 50, F64) + 2000, r.reals(40, F64), 0.1 + 0.5 * r.reals(40, F64),
        0.01 + 0.3 * r.reals(40, F64), zeros(n, dtype=F64),
    )  # fmt: skip


def lags_of_frames(r: Random, n: int) -> Arguments:
    decay = F32(0.95) * r.reals(n)
    swing = F32(0.5) + F32(0.45) * r.reals(n)
    pitch = F32(3) * r.reals(n)
    lags = zeros(LAGS, n)
    for k in range(LAGS):
        lags[k] = F32(0.4) * decay**k + F32(0.6) * swing**k * np.cos(k * pitch)
    lags[0] += F32(1e-3)
    return lags, zeros(ORDER, n), zeros(n)


def transcripts(r: Random, n: int) -> Arguments:
    log_probs = -2 - 3 * r.reals((100, n, 32))
    labels = r.wholes(32, (n, 25), low=1)
    return log_probs, labels, r.wholes(26, n, low=5), r.wholes(101, n, low=60), zeros(n)


NUMERICS: tuple[Sized, ...] = (
    entry(tanimoto_best, 128, elements, molecules, 300_000, 4_000_000),
    entry(kendall_pairs, (32, 8), square,
          lambda r, n: (r.reals(n), r.reals(n), zeros(2, dtype=I64)), 4000, 20_000, small=60),
    entry(implied_volatility, 128, elements, quotes, 300_000, 8_000_000, small=300),
    entry(lift_53_rows, (64, 4), lambda n, arguments: (n // 2, n),
          lambda r, n: (r.wholes(256, (n, n), I16), zeros(n, n, dtype=I16)), 4000, 14_000, small=70),
    entry(torsion_forces, 128, elements, chains, 500_000, 12_000_000, small=500),
    entry(hodgkin_huxley, 128, elements, membranes, 20_000, 500_000, small=150),
    entry(burn_robertson, 64, elements, reaction_rates, 20_000, 500_000, small=100),
    entry(fit_decays, 256, elements, echoes, 200_000, 6_000_000, small=300),
    entry(swarm_step, (64, 4), lambda n, arguments: (n, 8), swarm, 400_000, 8_000_000, small=300),
    entry(lomb_scargle, 128, elements, light_curve, 20_000, 600_000, small=100),
    entry(lens_rays, (16, 16), square, star_field, 1000, 6000, small=40),
    entry(prism_gravity, 128, blocks_of(32), prisms_below, 4000, 150_000, small=20),
    entry(lstm_gates, (32, 8), lambda n, arguments: (512, n),
          lambda r, n: (r.reals((n, 2048)), r.reals(2048), r.reals((n, 512)), zeros(n, 512)), 3000, 50_000, small=5),
    entry(migrate_traces, (32, 8), square, recordings, 700, 3500, small=40),
    entry(voigt_profiles, 128, elements, spectral_lines, 50_000, 2_000_000, small=200),
    entry(gamma_variates, 256, elements,
          lambda r, n: (r.wholes(1 << 32, (3, n), U32, low=16), 1 + 4 * r.reals(n), zeros(8, n)),
          300_000, 10_000_000, small=300),
    entry(levinson_durbin, 128, elements, lags_of_frames, 500_000, 8_000_000, small=500),
    entry(ctc_forward, STATES, blocks_of(STATES), transcripts, 1000, 30_000, small=8),
    entry(quantize_rows, 256, blocks_of(256),
          lambda r, n: (r.reals((n, 1024), F16) - F16(0.5), zeros(n, 1024, dtype=I8), zeros(n)),
          8000, 260_000, small=6),
)  # fmt: skip

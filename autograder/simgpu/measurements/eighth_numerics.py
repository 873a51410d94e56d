"""The eighth set: quadrature, interpolation, sampling, finance, insurance, orbits, big numbers, sound, layers."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int16, int32, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import Arguments, Random, Sized, elements, striding, zeros

F32, F64, F16, I32, I16, U8, U32 = (
    np.float32, np.float64, np.float16, np.int32, np.int16, np.uint8, np.uint32,
)  # fmt: skip

# Wichura's rational functions for the normal quantile: numerators and denominators, highest power first
MIDDLE = np.array([
    [2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0],
    [5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0]])  # fmt: skip
FLANK = np.array([
    [7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0],
    [1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0]])  # fmt: skip
TAIL = np.array([
    [2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0],
    [2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0]])  # fmt: skip
KRONROD_AT = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691258547, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245])  # fmt: skip
KRONROD_WEIGHTS = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649])  # fmt: skip
GAUSS_WEIGHTS = np.array([
    0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780, 0.0,
    0.381830050505118944950369775488975, 0.0])  # fmt: skip
PRIME = np.array([0xFFFFFC2F, 0xFFFFFFFE] + 6 * [0xFFFFFFFF], np.uint32)  # 2^256 - 2^32 - 977
PRIME_INVERSE = pow(-0xFFFFFC2F, -1, 1 << 32)
LEVEL_SIZES = np.array([int(16 * 1.38**k) for k in range(16)], np.int32)
POLICY = np.dtype(
    [("age", I16), ("term", I16), ("sex", U8), ("kind", U8), ("passed", I16), ("insured", F64), ("premium", F64)],
    align=True,
)
MATURITIES = 20
FIXINGS = 10
KNOTS = 64  # of a column to which a rising sequence is fitted
SEVERITIES = 64
WARPS = SEVERITIES // 32
CLAIMS = 256
WINDOW = 256
LONGEST = 256
FRAME = WINDOW + LONGEST
HEAD = 32


@cuda.jit
def floats_to_e4m3(bits, out):
    """The bits of floats to eight-bit floats, to the nearest and ties to even, no farther than the greatest."""
    for i in range(cuda.grid(1), bits.size, cuda.gridsize(1)):
        b = bits[i]
        sign = (b >> 24) & 0x80
        size = b & 0x7FFFFFFF
        if size > 0x7F800000:
            code = 0x7F
        elif size >= 0x43E00000:
            code = 0x7E
        elif size >= 0x3C800000:
            size += 0x7FFFF + ((size >> 20) & 1)
            code = (size >> 20) - 960
        else:
            shift = 141 - (size >> 23)
            code = 0
            if shift < 26:
                digits = (size & 0x7FFFFF) | 0x800000
                code = digits >> shift
                rest = digits & ((1 << shift) - 1)
                half = 1 << (shift - 1)
                if rest > half or (rest == half and (code & 1)):
                    code += 1
        out[i] = sign | code


sigmoid = cuda.jit(device=True)(lambda x: float32(1) / (float32(1) + math.exp(-x)))


@cuda.jit
def swiglu_back(gate, up, above, d_gate, d_up):
    """Gradients of silu(gate) * up, in half precision."""
    col, row = cuda.grid(2)
    if row >= gate.shape[0] or col >= gate.shape[1]:
        return
    g = float32(gate[row, col])
    u = float32(up[row, col])
    d = float32(above[row, col])
    s = sigmoid(g)
    d_up[row, col] = d * g * s
    d_gate[row, col] = d * u * s * (float32(1) + g * (float32(1) - s))


@cuda.jit
def lion_step(weights, halves, momentum, gradients, rate, decay, beta1, beta2):
    """Weights go by the sign of a mean of gradients; a copy of them is kept in half precision."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    stride = cuda.gridDim.x * cuda.blockDim.x
    while i < weights.shape[0]:
        g = float32(gradients[i])
        m = momentum[i]
        mixed = beta1 * m + (float32(1) - beta1) * g
        step = float32(0)
        if mixed > 0:
            step = float32(1)
        elif mixed < 0:
            step = float32(-1)
        w = weights[i]
        w -= rate * (step + decay * w)
        weights[i] = w
        halves[i] = w
        momentum[i] = beta2 * m + (float32(1) - beta2) * g
        i += stride


@cuda.jit(device=True, inline=True)
def ratio_of_polynomials(table, x):
    top = table[0, 0]
    bottom = table[1, 0]
    for k in range(1, 8):
        top = top * x + table[0, k]
        bottom = bottom * x + table[1, k]
    return top / bottom


@cuda.jit
def normal_quantiles(p, z):
    i = cuda.grid(1)
    if i >= p.size:
        return
    q = p[i] - 0.5
    if abs(q) <= 0.425:
        z[i] = q * ratio_of_polynomials(cuda.const.array_like(MIDDLE), 0.180625 - q * q)
        return
    r = math.sqrt(-math.log(min(p[i], 1.0 - p[i])))
    if r <= 5.0:
        found = ratio_of_polynomials(cuda.const.array_like(FLANK), r - 1.6)
    else:
        found = ratio_of_polynomials(cuda.const.array_like(TAIL), r - 5.0)
    z[i] = math.copysign(found, q)


@cuda.jit
def hash_grid_features(points, tables, sizes, features):
    """Features at points, from tables of hashed grids of rising fineness: a row of blocks for each grid."""
    i = cuda.grid(1)
    level = cuda.blockIdx.y
    if i >= points.shape[0]:
        return
    size = float32(sizes[level])
    mask = uint32(tables.shape[1] - 1)
    px = points[i, 0] * size
    py = points[i, 1] * size
    pz = points[i, 2] * size
    x = math.floor(px)
    y = math.floor(py)
    z = math.floor(pz)
    fx = px - x
    fy = py - y
    fz = pz - z
    first = float32(0)
    second = float32(0)
    for corner in range(8):
        dx = corner & 1
        dy = (corner >> 1) & 1
        dz = corner >> 2
        weight = fx if dx else float32(1) - fx
        weight *= fy if dy else float32(1) - fy
        weight *= fz if dz else float32(1) - fz
        hashed = uint32(int32(x) + dx)
        hashed ^= uint32(uint32(int32(y) + dy) * uint32(2654435761))
        hashed ^= uint32(uint32(int32(z) + dz) * uint32(805459861))
        slot = hashed & mask
        first += weight * float32(tables[level, slot, 0])
        second += weight * float32(tables[level, slot, 1])
    features[i, level, 0] = first
    features[i, level, 1] = second


@cuda.jit(device=True)
def limited_slope(x, y, k):
    """Fritsch and Butland: a weighted harmonic mean of the slopes on both sides, or flat at a peak."""
    if k == 0:
        return (y[1] - y[0]) / (x[1] - x[0])
    if k == x.size - 1:
        return (y[k] - y[k - 1]) / (x[k] - x[k - 1])
    h0 = x[k] - x[k - 1]
    h1 = x[k + 1] - x[k]
    s0 = (y[k] - y[k - 1]) / h0
    s1 = (y[k + 1] - y[k]) / h1
    if s0 * s1 <= 0:
        return 0.0
    w0 = 2 * h1 + h0
    w1 = h1 + 2 * h0
    return (w0 + w1) / (w0 / s0 + w1 / s1)


@cuda.jit
def monotone_cubic_at(x, y, asked, found):
    i = cuda.grid(1)
    if i < asked.size:
        at = asked[i]
        if at <= x[0]:
            found[i] = y[0]
        elif at >= x[-1]:
            found[i] = y[-1]
        else:
            low = 0
            high = x.size - 1
            while high - low > 1:
                middle = (low + high) // 2
                if x[middle] <= at:
                    low = middle
                else:
                    high = middle
            h = x[high] - x[low]
            t = (at - x[low]) / h
            a = limited_slope(x, y, low)
            b = limited_slope(x, y, high)
            u = 1 - t
            found[i] = (1 + 2 * t) * u * u * y[low] + t * u * u * h * a + t * t * (3 - 2 * t) * y[high] - t * t * u * h * b


@cuda.jit(device=True)
def pcg(state):
    word = uint32(uint32((state >> ((state >> uint32(28)) + uint32(4))) ^ state) * uint32(277803737))
    return uint32((word >> uint32(22)) ^ word)


@cuda.jit
def alias_draws(keep, other, draws, seed):
    """Walker's method: a bin at random, then itself or its alias."""
    i = cuda.grid(1)
    if i >= draws.shape[1]:
        return
    state = pcg(uint32(i + seed))
    for d in range(draws.shape[0]):
        state = uint32(state * uint32(747796405) + uint32(2891336453))
        which = int32((uint64(pcg(state)) * uint64(keep.size)) >> uint64(32))
        state = uint32(state * uint32(747796405) + uint32(2891336453))
        coin = float32(pcg(state) >> uint32(8)) * float32(1 / 16777216)
        draws[d, i] = which if coin < keep[which] else other[which]


@cuda.jit
def policy_reserves(policies, mortality, discount, reserves):
    """What is to be held for policies of three kinds: insurance for a term, endowments, annuities."""
    i = cuda.grid(1)
    if i >= policies.size:
        return
    sex = policies[i].sex
    kind = policies[i].kind
    age = policies[i].age + policies[i].passed
    years = policies[i].term - policies[i].passed
    alive = 1.0
    value = 1.0
    benefits = 0.0
    premiums = 0.0
    while years > 0 and age < mortality.shape[1] and alive > 1e-7:
        q = mortality[sex, age]
        if kind == 2:
            benefits += alive * value
        else:
            premiums += alive * value
            benefits += alive * q * value * discount
        alive *= 1.0 - q
        value *= discount
        age += 1
        years -= 1
    if kind == 1 and years == 0:
        benefits += alive * value
    reserves[i] = max(policies[i].insured * benefits - policies[i].premium * premiums, 0.0)


@cuda.jit
def isotonic_columns(values, weights, fitted):
    """The nearest rising sequence to each column, by pooling neighbours that fall."""
    c = cuda.grid(1)
    if c >= values.shape[1]:
        return
    sums = cuda.local.array(KNOTS, float32)
    masses = cuda.local.array(KNOTS, float32)
    counts = cuda.local.array(KNOTS, int16)
    top = -1
    for j in range(KNOTS):
        mass = weights[j, c]
        total = values[j, c] * mass
        count = 1
        while top >= 0 and sums[top] * mass >= total * masses[top]:
            total += sums[top]
            mass += masses[top]
            count += counts[top]
            top -= 1
        top += 1
        sums[top] = total
        masses[top] = mass
        counts[top] = count
    j = 0
    for pool in range(top + 1):
        level = sums[pool] / masses[pool]
        for _ in range(counts[pool]):
            fitted[j, c] = level
            j += 1


@cuda.jit(device=True)
def peaked(x, place, width, pitch):
    return math.cos(pitch * x) * width / ((x - place) * (x - place) + width * width)


@cuda.jit
def adaptive_kronrod(places, widths, pitches, integrals, tolerance):
    """From 0 to 1, with 15 points in each part and a stack of parts that are still to be done."""
    i = cuda.grid(1)
    if i >= places.size:
        return
    at = cuda.const.array_like(KRONROD_AT)
    fine_weights = cuda.const.array_like(KRONROD_WEIGHTS)
    coarse_weights = cuda.const.array_like(GAUSS_WEIGHTS)
    starts = cuda.local.array(24, float64)
    depths = cuda.local.array(24, int32)
    place = places[i]
    width = widths[i]
    pitch = pitches[i]
    starts[0] = 0.0
    depths[0] = 0
    waiting = 1
    total = 0.0
    while waiting > 0:
        waiting -= 1
        depth = depths[waiting]
        half = 0.5 / (1 << depth)
        centre = starts[waiting] + half
        value = peaked(centre, place, width, pitch)
        fine = 0.209482141084727828012999174891714 * value
        coarse = 0.417959183673469387755102040816327 * value
        for k in range(7):
            off = half * at[k]
            value = peaked(centre - off, place, width, pitch) + peaked(centre + off, place, width, pitch)
            fine += fine_weights[k] * value
            coarse += coarse_weights[k] * value
        if abs(fine - coarse) < tolerance or depth >= 20:
            total += half * fine
        else:
            starts[waiting] = centre
            depths[waiting] = depth + 1
            starts[waiting + 1] = centre - half
            depths[waiting + 1] = depth + 1
            waiting += 2
    integrals[i] = total


@cuda.jit(device=True)
def stumpff(psi):
    if psi > 1e-6:
        root = math.sqrt(psi)
        return (1 - math.cos(root)) / psi, (root - math.sin(root)) / (psi * root)
    if psi < -1e-6:
        root = math.sqrt(-psi)
        return (1 - math.cosh(root)) / psi, (math.sinh(root) - root) / (-psi * root)
    return 0.5 - psi / 24, 1 / 6 - psi / 120


@cuda.jit
def lambert_transfers(start, end, duration, speed, steps):
    """The speed at which to leave one place to be at another in time, round a mass of 1, by halving."""
    i = cuda.grid(1)
    if i < duration.shape[0]:
        x1, y1, z1 = start[0, i], start[1, i], start[2, i]
        x2, y2, z2 = end[0, i], end[1, i], end[2, i]
        r1 = math.sqrt(x1 * x1 + y1 * y1 + z1 * z1)
        r2 = math.sqrt(x2 * x2 + y2 * y2 + z2 * z2)
        reach = math.sqrt(r1 * r2 + x1 * x2 + y1 * y2 + z1 * z2)
        if x1 * y2 - y1 * x2 < 0:
            reach = -reach
        wanted = duration[i]
        low = -4 * math.pi
        high = 4 * math.pi * math.pi
        psi = 0.0
        y = r1 + r2
        for _ in range(steps):
            c2, c3 = stumpff(psi)
            y = r1 + r2 + reach * (psi * c3 - 1) / math.sqrt(c2)
            if y < 0:
                low = psi
            else:
                chi = math.sqrt(y / c2)
                taken = chi * chi * chi * c3 + reach * math.sqrt(y)
                if abs(taken - wanted) < 1e-11 * wanted:
                    break
                if taken < wanted:
                    low = psi
                else:
                    high = psi
            psi = 0.5 * (low + high)
        f = 1 - y / r1
        g = reach * math.sqrt(max(y, 1e-12))
        speed[0, i] = (x2 - f * x1) / g
        speed[1, i] = (y2 - f * y1) / g
        speed[2, i] = (z2 - f * z1) / g


@cuda.jit(device=True)
def montgomery_product(a, b, modulus, inverse, out):
    """a b / 2^256, word by word; out may be a or b."""
    t = cuda.local.array(10, uint64)
    low = uint64(0xFFFFFFFF)
    shift = uint64(32)
    for j in range(10):
        t[j] = 0
    for i in range(8):
        carry = uint64(0)
        for j in range(8):
            carry += t[j] + uint64(a[j]) * uint64(b[i])
            t[j] = carry & low
            carry >>= shift
        carry += t[8]
        t[8] = carry & low
        t[9] = carry >> shift
        q = (t[0] * uint64(inverse)) & low
        carry = (t[0] + q * uint64(modulus[0])) >> shift
        for j in range(1, 8):
            carry += t[j] + q * uint64(modulus[j])
            t[j - 1] = carry & low
            carry >>= shift
        carry += t[8]
        t[7] = carry & low
        t[8] = t[9] + (carry >> shift)
    greater = t[8] > 0
    if not greater:
        greater = True
        for j in range(7, -1, -1):
            if t[j] != modulus[j]:
                greater = t[j] > modulus[j]
                break
    borrow = uint64(0)
    for j in range(8):
        if greater:
            left = t[j] - uint64(modulus[j]) - borrow
            out[j] = uint32(left & low)
            borrow = (left >> shift) & uint64(1)
        else:
            out[j] = uint32(t[j])


@cuda.jit
def montgomery_powers(bases, powers, inverse):
    """Seventeenth powers of numbers of 256 bits, of which each row holds 32."""
    i = cuda.grid(1)
    if i >= bases.shape[1]:
        return
    modulus = cuda.const.array_like(PRIME)
    base = cuda.local.array(8, uint32)
    power = cuda.local.array(8, uint32)
    for j in range(8):
        base[j] = bases[j, i]
        power[j] = base[j]
    for _ in range(4):
        montgomery_product(power, power, modulus, inverse, power)
    montgomery_product(power, base, modulus, inverse, power)
    for j in range(8):
        powers[j, i] = power[j]


@cuda.jit(device=True)
def xorshift_unit(state):
    """A number above 0 and at most 1, from four words that move on."""
    t = state[3]
    s = state[0]
    state[3] = state[2]
    state[2] = state[1]
    state[1] = s
    t ^= uint32(t << uint32(11))
    t ^= t >> uint32(8)
    state[0] = uint32(t ^ s ^ (s >> uint32(19)))
    return (float64(state[0]) + 1.0) / 4294967296.0


@cuda.jit
def hamiltonian_chains(seeds, means, accepted, samples, leaps, step):
    """Chains through a density like a banana, each with its own generator."""
    i = cuda.grid(1)
    if i >= seeds.shape[0]:
        return
    state = cuda.local.array(4, uint32)
    for k in range(4):
        state[k] = seeds[i, k]
    x = 1.0
    y = 1.0
    sum_x = 0.0
    sum_y = 0.0
    taken = 0
    for _ in range(samples):
        radius = math.sqrt(-2.0 * math.log(xorshift_unit(state)))
        angle = 2.0 * math.pi * xorshift_unit(state)
        px = radius * math.cos(angle)
        py = radius * math.sin(angle)
        bend = y - x * x
        energy = 0.5 * ((1 - x) * (1 - x) + 5 * bend * bend + px * px + py * py)
        new_x = x
        new_y = y
        for _ in range(leaps):
            px -= 0.5 * step * (new_x - 1 - 10 * new_x * bend)
            py -= 0.5 * step * 5 * bend
            new_x += step * px
            new_y += step * py
            bend = new_y - new_x * new_x
            px -= 0.5 * step * (new_x - 1 - 10 * new_x * bend)
            py -= 0.5 * step * 5 * bend
        energy -= 0.5 * ((1 - new_x) * (1 - new_x) + 5 * bend * bend + px * px + py * py)
        if math.log(xorshift_unit(state)) < energy:
            x = new_x
            y = new_y
            taken += 1
        sum_x += x
        sum_y += y
    means[i, 0] = sum_x / samples
    means[i, 1] = sum_y / samples
    accepted[i] = taken


@cuda.jit
def libor_swaptions(normals, rates, volatilities, strikes, payoffs, period):
    """Forward rates along a path, and what swaptions of several strikes then pay."""
    path = cuda.grid(1)
    if path >= normals.shape[1]:
        return
    forward = cuda.local.array(MATURITIES, float32)
    for k in range(MATURITIES):
        forward[k] = rates[k]
    root = math.sqrt(period)
    for n in range(FIXINGS):
        shock = root * normals[n, path]
        drift = float32(0)
        for k in range(n + 1, MATURITIES):
            volatility = volatilities[k - n - 1]
            along = period * volatility
            drift += along * forward[k] / (float32(1) + period * forward[k])
            forward[k] *= math.exp(along * drift + volatility * (shock - float32(0.5) * along))
    numeraire = float32(1)
    for k in range(FIXINGS):
        numeraire *= float32(1) + period * forward[k]
    bond = float32(1)
    annuity = float32(0)
    payoff = float32(0)
    for k in range(FIXINGS, MATURITIES):
        bond /= float32(1) + period * forward[k]
        annuity += period * bond
        gain = float32(1) - bond - strikes[k - FIXINGS] * annuity
        if gain > 0:
            payoff += gain
    payoffs[path] = payoff / numeraire


@cuda.jit
def panjer_poisson(severities, intensities, totals):
    """How probable each total of claims is: a block for each portfolio, a thread for each size of a claim."""
    portfolio = cuda.blockIdx.x
    j = cuda.threadIdx.x + 1
    probable = cuda.shared.array(CLAIMS, float64)
    parts = cuda.shared.array(WARPS, float64)
    rate = intensities[portfolio]
    own = rate * j * severities[portfolio, j - 1]
    if j == 1:
        probable[0] = math.exp(-rate)
    cuda.syncthreads()
    for k in range(1, CLAIMS):
        part = own * probable[k - j] if j <= k else 0.0
        for step in (16, 8, 4, 2, 1):
            part += cuda.shfl_down_sync(0xFFFFFFFF, part, step)
        if (j - 1) % 32 == 0:
            parts[(j - 1) // 32] = part
        cuda.syncthreads()
        if j == 1:
            whole = 0.0
            for w in range(WARPS):
                whole += parts[w]
            probable[k] = whole / k
        cuda.syncthreads()
    for k in range(j - 1, CLAIMS, SEVERITIES):
        totals[portfolio, k] = probable[k]


@cuda.jit
def yin_pitch(signal, pitches, hop, rate, threshold):
    """The pitch of a frame by its differences from itself: a block for each frame, a thread for each lag."""
    frame = cuda.shared.array(FRAME, float32)
    sums = cuda.shared.array(LONGEST, float32)
    level = cuda.shared.array(LONGEST, float32)
    first = cuda.shared.array(1, int32)
    lag = cuda.threadIdx.x
    start = cuda.blockIdx.x * hop
    for k in range(lag, FRAME, LONGEST):
        frame[k] = signal[start + k] if start + k < signal.size else float32(0)
    if lag == 0:
        first[0] = LONGEST
    cuda.syncthreads()
    total = float32(0)
    for k in range(WINDOW):
        off = frame[k] - frame[k + lag]
        total += off * off
    sums[lag] = total
    cuda.syncthreads()
    step = 1
    while step < LONGEST:
        before = sums[lag - step] if lag >= step else float32(0)
        cuda.syncthreads()
        sums[lag] += before
        cuda.syncthreads()
        step *= 2
    level[lag] = total * float32(lag) / sums[lag] if sums[lag] > 0 else float32(1)
    if 16 <= lag < LONGEST - 1 and level[lag] < threshold:
        cuda.atomic.min(first, 0, lag)
    cuda.syncthreads()
    if lag == 0:
        t = first[0]
        pitch = float32(0)
        if t < LONGEST:
            while t + 2 < LONGEST and level[t + 1] < level[t]:
                t += 1
            bend = level[t - 1] - float32(2) * level[t] + level[t + 1]
            shift = float32(0.5) * (level[t - 1] - level[t + 1]) / bend if bend > 0 else float32(0)
            pitch = rate / (float32(t) + shift)
        pitches[cuda.blockIdx.x] = pitch


@cuda.jit
def flash_attention_causal(queries, keys, values, out, scale):
    """Each query sees the keys up to its own, in tiles, with the softmax mended as a greater score turns up."""
    key_tile = cuda.shared.array((64, HEAD), float32)
    value_tile = cuda.shared.array((64, HEAD), float32)
    query = cuda.local.array(HEAD, float32)
    acc = cuda.local.array(HEAD, float32)
    t = cuda.threadIdx.x
    head = cuda.blockIdx.y
    first = cuda.blockIdx.x * 64
    row = first + t
    n = queries.shape[1]
    for d in range(HEAD):
        query[d] = queries[head, row, d] * scale if row < n else float32(0)
        acc[d] = float32(0)
    top = float32(-1e30)
    norm = float32(0)
    for start in range(0, first + 64, 64):
        for e in range(t, 64 * HEAD, 64):
            r = e // HEAD
            d = e % HEAD
            if start + r < n:
                key_tile[r, d] = keys[head, start + r, d]
                value_tile[r, d] = values[head, start + r, d]
            else:
                key_tile[r, d] = float32(0)
                value_tile[r, d] = float32(0)
        cuda.syncthreads()
        for r in range(min(64, row - start + 1)):
            score = float32(0)
            for d in range(HEAD):
                score += query[d] * key_tile[r, d]
            if score > top:
                shrink = math.exp(top - score)
                top = score
                norm *= shrink
                for d in range(HEAD):
                    acc[d] *= shrink
            weight = math.exp(score - top)
            norm += weight
            for d in range(HEAD):
                acc[d] += weight * value_tile[r, d]
        cuda.syncthreads()
    if row < n:
        for d in range(HEAD):
            out[head, row, d] = acc[d] / norm


@cuda.jit(device=True)
def two_sum(a, b):
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


@cuda.jit
def dot_compensated(a, b, partial):
    """A product of vectors as if in twice the precision; a sum for each block."""
    sums = cuda.shared.array((8, 2), float64)
    lane = cuda.threadIdx.x & 31
    warp = cuda.threadIdx.x >> 5
    total = 0.0
    error = 0.0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        product = a[i] * b[i]
        lost = cuda.fma(a[i], b[i], -product)
        total, off = two_sum(total, product)
        error += off + lost
    step = 16
    while step:
        other = cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        other_error = cuda.shfl_down_sync(0xFFFFFFFF, error, step)
        total, off = two_sum(total, other)
        error += other_error + off
        step >>= 1
    if lane == 0:
        sums[warp, 0] = total
        sums[warp, 1] = error
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        for w in range(1, 8):
            total, off = two_sum(total, sums[w, 0])
            error += sums[w, 1] + off
        partial[cuda.blockIdx.x] = total + error


@cuda.jit
def gradient_histograms(bins, chosen, gradients, curvatures, histogram):
    """For a split of a boosted tree: sums by bin of four features, over the chosen rows."""
    own = cuda.shared.array((4, 64, 2), float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.y * 4
    for k in range(t, 512, cuda.blockDim.x):
        own[k // 128, (k // 2) % 64, k % 2] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), chosen.size, cuda.gridDim.x * cuda.blockDim.x):
        row = chosen[i]
        g = gradients[row]
        h = curvatures[row]
        for f in range(4):
            b = bins[row, base + f]
            cuda.atomic.add(own, (f, b, 0), g)
            cuda.atomic.add(own, (f, b, 1), h)
    cuda.syncthreads()
    for k in range(t, 512, cuda.blockDim.x):
        f = k // 128
        b = (k // 2) % 64
        cuda.atomic.add(histogram, (base + f, b, k % 2), own[f, b, k % 2])


def near_zero(r: Random, shape: int | tuple[int, ...], dtype: type = F32) -> np.ndarray:
    return (r.reals(shape, F32) - F32(0.5)).astype(dtype)


def float_bits(r: Random, n: int) -> Arguments:
    values = near_zero(r, n)
    for k, size in enumerate((0.001, 0.1, 4, 200, 1200)):
        values[k::5] *= F32(size)
    return values.view(U32), zeros(n, dtype=U8)


def gates(r: Random, n: int) -> Arguments:
    at = n, 4096 if n > 100 else 200
    inputs = [near_zero(r, at, F16) * F16(scale) for scale in (8, 1, 1)]
    return *inputs, zeros(*at, dtype=F16), zeros(*at, dtype=F16)


def learning(r: Random, n: int) -> Arguments:
    return (near_zero(r, n), zeros(n, dtype=F16), near_zero(r, n), near_zero(r, n, F16),
            F32(3e-4), F32(0.1), F32(0.9), F32(0.99))  # fmt: skip


def fields_of_light(r: Random, n: int) -> Arguments:
    entries = 1 << (19 if n > 10_000 else 12)
    return r.reals((n, 3)), near_zero(r, (16, entries, 2), F16), LEVEL_SIZES, zeros(n, 16, 2)


def knots(r: Random, n: int) -> Arguments:
    x = r.ascending(n // 10, 1.0, F64)
    return x, np.cumsum(near_zero(r, n // 10, F64)), r.reals(n, F64), zeros(n, dtype=F64)


def aliases(r: Random, n: int) -> Arguments:
    return r.reals(n // 2), r.indices(n // 2, n // 2), zeros(8, n, dtype=I32), 2024


def portfolio(r: Random, n: int) -> Arguments:
    policies = np.zeros(n, POLICY)
    policies["age"] = r.wholes(60, n, I16, 18)
    policies["term"] = r.wholes(45, n, I16, 5)
    policies["passed"] = policies["term"] * r.reals(n) * F32(0.7)
    policies["sex"] = r.wholes(2, n, U8)
    policies["kind"] = r.wholes(3, n, U8)
    policies["insured"] = 10_000 + 90_000 * r.reals(n)
    policies["premium"] = policies["insured"] * 0.01
    ages = np.arange(121)
    mortality = np.stack([1 - np.exp(-(5e-4 + b * 1.1**ages)) for b in (4e-5, 2.5e-5)])
    return policies, mortality, 1 / 1.02, zeros(n, dtype=F64)


def dose_responses(r: Random, n: int) -> Arguments:
    rising = (np.arange(KNOTS, dtype=F32) / KNOTS)[:, None]
    return r.reals((KNOTS, n)) + rising, r.reals((KNOTS, n)) + F32(0.1), zeros(KNOTS, n)


def peaks(r: Random, n: int) -> Arguments:
    return r.reals(n, F64), 0.01 + 0.2 * r.reals(n, F64), 20 * r.reals(n, F64), zeros(n, dtype=F64), 1e-8


def journeys(r: Random, n: int) -> Arguments:
    turns = 2 * np.pi * r.reals((2, n), F64)
    places = [np.stack([far * np.cos(turn), far * np.sin(turn), 0.1 + 0.1 * r.reals(n, F64)])
              for far, turn in zip((1.0, 1.5), turns, strict=True)]  # fmt: skip
    return *places, 1.0 + 6 * r.reals(n, F64), zeros(3, n, dtype=F64), 60


def chains(r: Random, n: int) -> Arguments:
    return r.wholes(1 << 32, (n, 4), U32, 1), zeros(n, 2, dtype=F64), zeros(n, dtype=I32), 24, 8, 0.2


def rates_of_interest(r: Random, n: int) -> Arguments:
    normals = np.sqrt(F32(12)) * near_zero(r, (FIXINGS, n))
    return (normals, r.reals(MATURITIES) * F32(0.02) + F32(0.04), r.reals(MATURITIES) * F32(0.1) + F32(0.15),
            np.linspace(0.04, 0.06, MATURITIES - FIXINGS, dtype=F32), zeros(n), F32(0.25))  # fmt: skip


def claims(r: Random, n: int) -> Arguments:
    severities = r.reals((n, SEVERITIES), F64) * 0.95 ** np.arange(SEVERITIES)
    severities /= severities.sum(axis=1, keepdims=True)
    return severities, 2 + 6 * r.reals(n, F64), zeros(n, CLAIMS, dtype=F64)


def sung(r: Random, n: int) -> Arguments:
    at = np.arange(n * 128 + FRAME)
    phase = at * 0.09 + 40 * np.sin(at * 1e-4)
    signal = np.sin(phase) + 0.5 * np.sin(2 * phase) + 0.2 * near_zero(r, at.size)
    return signal.astype(F32), zeros(n), 128, F32(16_000), F32(0.15)


def heads(r: Random, n: int) -> Arguments:
    shape = 16 if n > 200 else 1, n, HEAD
    return near_zero(r, shape), near_zero(r, shape), near_zero(r, shape), zeros(*shape), F32(2.0)


def boosted(r: Random, n: int) -> Arguments:
    rows = np.flatnonzero(r.reals(n) < 0.7).astype(I32)
    return r.wholes(64, (n, 16), U8), rows, near_zero(r, n), r.reals(n), zeros(16, 64, 2)


NUMERICS: tuple[Sized, ...] = (
    entry(floats_to_e4m3, 256, striding(256), float_bits, 16_000_000, 160_000_000, small=3000),
    entry(swiglu_back, (128, 2), lambda n, arguments: (arguments[0].shape[1], n), gates, 4000, 30_000, small=9),
    entry(lion_step, 256, striding(256), learning, 6_000_000, 70_000_000, small=3000),
    entry(normal_quantiles, 128, elements,
          lambda r, n: (r.reals(n, F64) * (1 - 1e-13) + 1e-14, zeros(n, dtype=F64)), 3_000_000, 60_000_000),
    entry(hash_grid_features, (128, 1), lambda n, arguments: (n, 16), fields_of_light, 60_000, 1_000_000, small=150),
    entry(monotone_cubic_at, 256, elements, knots, 500_000, 16_000_000),
    entry(alias_draws, 128, elements, aliases, 200_000, 6_000_000, small=500),
    entry(policy_reserves, 128, elements, portfolio, 300_000, 12_000_000, small=500),
    entry(isotonic_columns, 64, elements, dose_responses, 60_000, 1_000_000, small=150),
    entry(adaptive_kronrod, 128, elements, peaks, 50_000, 1_500_000, small=260),
    entry(lambert_transfers, 64, elements, journeys, 50_000, 1_500_000, small=200),
    entry(montgomery_powers, 128, elements,
          lambda r, n: (r.wholes(1 << 32, (8, n), U32), zeros(8, n, dtype=U32), U32(PRIME_INVERSE)),
          200_000, 5_000_000, small=260),
    entry(hamiltonian_chains, 128, elements, chains, 60_000, 2_000_000, small=260),
    entry(libor_swaptions, 64, elements, rates_of_interest, 100_000, 4_000_000, small=200),
    entry(panjer_poisson, SEVERITIES, lambda n, arguments: n * SEVERITIES, claims, 600, 25_000, small=2),
    entry(yin_pitch, LONGEST, lambda n, arguments: n * LONGEST, sung, 3000, 100_000, small=3),
    entry(flash_attention_causal, (64, 1), lambda n, arguments: (n, arguments[0].shape[0]), heads, 512, 4096, small=80),
    entry(dot_compensated, 256, striding(256),
          lambda r, n: (r.reals(n, F64) - 0.5, r.reals(n, F64) - 0.4, zeros(min(-(-n // 256), 132 * 8), dtype=F64)),
          4_000_000, 64_000_000, small=3000),
    entry(gradient_histograms, (256, 1),
          lambda n, arguments: (min(arguments[1].size, 256 * 264), 4), boosted, 500_000, 10_000_000, small=1500),
)  # fmt: skip

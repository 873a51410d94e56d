"""Ordinary kernels that are counted on the emulator alone: choices between values, in fields, prices, pictures and texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, int32, uint8

from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.unseen_entries import floats, whole

F32, I32, U8 = np.float32, np.int32, np.uint8


@cuda.jit
def grade_letters(points, letters):
    i = cuda.grid(1)
    if i < points.size:
        p = points[i]
        if p >= 90:
            letters[i] = 65
        elif p >= 80:
            letters[i] = 66
        elif p >= 70:
            letters[i] = 67
        else:
            letters[i] = 70


@cuda.jit
def tax_by_brackets(income, limits, rates, tax):
    i = cuda.grid(1)
    if i >= income.size:
        return
    left = income[i]
    total = float32(0)
    below = float32(0)
    for k in range(limits.size):
        part = limits[k] - below
        if left <= part:
            total += left * rates[k]
            left = float32(0)
            break
        total += part * rates[k]
        left -= part
        below = limits[k]
    tax[i] = total + left * rates[limits.size]


@cuda.jit
def median_of_three(a, b, c, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y, z = a[i], b[i], c[i]
        if x > y:
            x, y = y, x
        if y > z:
            y, z = z, y
        if x > y:
            x, y = y, x
        out[i] = y


@cuda.jit
def sign_changes(x, out):
    i = cuda.grid(1)
    if i < x.size - 1:
        out[i] = 0
        if x[i] < 0 and x[i + 1] >= 0:
            out[i] = 1
        elif x[i] >= 0 and x[i + 1] < 0:
            out[i] = -1


@cuda.jit
def local_peaks(x, least, peaks):
    i = cuda.grid(1)
    if i > 0 and i < x.size - 1:
        if x[i] > x[i - 1] and x[i] > x[i + 1] and x[i] > least:
            peaks[i] = x[i]


@cuda.jit
def starts_of_runs(keys, is_start, count):
    i = cuda.grid(1)
    if i < keys.size:
        if i == 0 or keys[i] != keys[i - 1]:
            is_start[i] = 1
            cuda.atomic.add(count, 0, 1)
        else:
            is_start[i] = 0


@cuda.jit
def minmod_slopes(u, slope):
    i = cuda.grid(1)
    if i < 1 or i >= u.size - 1:
        return
    left = u[i] - u[i - 1]
    right = u[i + 1] - u[i]
    if left * right <= 0:
        slope[i] = 0
    elif abs(left) < abs(right):
        slope[i] = left
    else:
        slope[i] = right


@cuda.jit
def edges_of_rod(u, out, k, low, high):
    i = cuda.grid(1)
    n = u.size
    if i >= n:
        return
    if i == 0:
        out[i] = low
    elif i == n - 1:
        out[i] = high
    else:
        out[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])


@cuda.jit
def red_black_sweep(u, f, colour):
    i, j = cuda.grid(2)
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        if (i + j) % 2 == colour:
            u[i, j] = float32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


@cuda.jit
def fire_if_above(v, current, spikes, leak, threshold):
    i = cuda.grid(1)
    if i < v.size:
        now = v[i] * leak + current[i]
        if now >= threshold:
            spikes[i] += 1
            now = float32(0)
        v[i] = now


@cuda.jit
def refractory_neurons(v, rest, drive, fired, steps):
    i = cuda.grid(1)
    if i >= v.size:
        return
    u = v[i]
    wait = rest[i]
    count = 0
    for _ in range(steps):
        if wait > 0:
            wait -= 1
            continue
        u += drive[i] - float32(0.1) * u
        if u > 1:
            u = float32(0)
            wait = 3
            count += 1
    v[i] = u
    rest[i] = wait
    fired[i] = count


@cuda.jit
def infect_cells(state, draws, out, catch, heal):
    x, y = cuda.grid(2)
    rows, columns = state.shape
    if x >= rows or y >= columns:
        return
    s = state[x, y]
    if s == 1:
        out[x, y] = 2 if draws[x, y] < heal else 1
    elif s == 0:
        sick = 0
        for dx in range(-1, 2):
            for dy in range(-1, 2):
                if dx == 0 and dy == 0:
                    continue
                p, q = x + dx, y + dy
                if p >= 0 and p < rows and q >= 0 and q < columns:
                    if state[p, q] == 1:
                        sick += 1
        out[x, y] = 1 if draws[x, y] < catch * sick else 0
    else:
        out[x, y] = s


@cuda.jit
def life_on_torus(cells, out):
    x, y = cuda.grid(2)
    rows, columns = cells.shape
    if x < rows and y < columns:
        alive = 0
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx != 0 or dy != 0:
                    alive += cells[(x + dx) % rows, (y + dy) % columns]
        if cells[x, y] == 1 and (alive == 2 or alive == 3):
            out[x, y] = 1
        elif cells[x, y] == 0 and alive == 3:
            out[x, y] = 1
        else:
            out[x, y] = 0


@cuda.jit
def erode_by_loops(picture, out):
    x, y = cuda.grid(2)
    if x >= picture.shape[0] or y >= picture.shape[1]:
        return
    least = picture[x, y]
    for i in range(max(0, x - 1), min(picture.shape[0], x + 2)):
        for j in range(max(0, y - 1), min(picture.shape[1], y + 2)):
            if picture[i, j] < least:
                least = picture[i, j]
    out[x, y] = least


@cuda.jit
def any_edge_near(edges, out):
    x, y = cuda.grid(2)
    if x < 1 or y < 1 or x >= edges.shape[0] - 1 or y >= edges.shape[1] - 1:
        return
    found = False
    for i in range(-1, 2):
        for j in range(-1, 2):
            if edges[x + i, y + j] > 0:
                found = True
                break
        if found:
            break
    out[x, y] = 255 if found else 0


@cuda.jit
def non_max_suppression(strength, direction, out):
    x, y = cuda.grid(2)
    if x < 1 or y < 1 or x >= strength.shape[0] - 1 or y >= strength.shape[1] - 1:
        return
    s = strength[x, y]
    d = direction[x, y]
    if d == 0:
        one, two = strength[x, y - 1], strength[x, y + 1]
    elif d == 1:
        one, two = strength[x - 1, y - 1], strength[x + 1, y + 1]
    elif d == 2:
        one, two = strength[x - 1, y], strength[x + 1, y]
    else:
        one, two = strength[x - 1, y + 1], strength[x + 1, y - 1]
    if s >= one and s >= two:
        out[x, y] = s
    else:
        out[x, y] = 0


@cuda.jit
def sample_bilinear(picture, xs, ys, out):
    i = cuda.grid(1)
    if i < xs.size:
        x, y = xs[i], ys[i]
        if x < 0 or y < 0 or x >= picture.shape[0] - 1 or y >= picture.shape[1] - 1:
            out[i] = 0
            return
        r, c = int(x), int(y)
        p, q = x - r, y - c
        top = picture[r, c] * (1 - q) + picture[r, c + 1] * q
        low = picture[r + 1, c] * (1 - q) + picture[r + 1, c + 1] * q
        out[i] = top * (1 - p) + low * p


@cuda.jit
def hsv_to_rgb(hsv, rgb):
    i = cuda.grid(1)
    if i < hsv.shape[0]:
        h = hsv[i, 0] * 6
        s = hsv[i, 1]
        v = hsv[i, 2]
        k = int(h)
        f = h - k
        p, q, t = v * (1 - s), v * (1 - s * f), v * (1 - s * (1 - f))
        if k == 0:
            r, g, b = v, t, p
        elif k == 1:
            r, g, b = q, v, p
        elif k == 2:
            r, g, b = p, v, t
        elif k == 3:
            r, g, b = p, q, v
        elif k == 4:
            r, g, b = t, p, v
        else:
            r, g, b = v, p, q
        rgb[i, 0] = r
        rgb[i, 1] = g
        rgb[i, 2] = b


@cuda.jit
def equalise_by_table(picture, table, out, low, high):
    for i in range(cuda.grid(1), picture.size, cuda.gridsize(1)):
        p = picture[i]
        if low <= p < high:
            out[i] = table[p - low]
        else:
            out[i] = p


@cuda.jit
def barrier_option(normals, price, barrier, drift, spread, payoff):
    i = cuda.grid(1)
    if i < payoff.size:
        s = price
        alive = True
        for k in range(normals.shape[0]):
            s *= math.exp(drift + spread * normals[k, i])
            if s > barrier:
                alive = False
                break
        payoff[i] = max(s - price, float32(0)) if alive else float32(0)


@cuda.jit
def worst_drop(prices, drop):
    i = cuda.grid(1)
    if i < prices.shape[0]:
        best = prices[i, 0]
        worst = float32(0)
        for k in range(1, prices.shape[1]):
            p = prices[i, k]
            if p > best:
                best = p
            elif best - p > worst:
                worst = best - p
        drop[i] = worst


@cuda.jit
def trade_crossings(fast, slow, cash, fee):
    i = cuda.grid(1)
    if i < fast.shape[0]:
        money = float32(1)
        holding = False
        units = float32(0)
        for k in range(1, fast.shape[1]):
            if not holding and fast[i, k - 1] <= slow[i, k - 1] and fast[i, k] > slow[i, k]:
                units = money * (1 - fee) / fast[i, k]
                holding = True
            elif holding and fast[i, k] < slow[i, k]:
                money = units * fast[i, k] * (1 - fee)
                holding = False
        cash[i] = money


@cuda.jit
def capitals_of(text, out):
    i = cuda.grid(1)
    if i < text.size:
        c = text[i]
        if c >= 97 and c <= 122:
            c = c - 32
        out[i] = c


@cuda.jit
def shift_letters(text, out, shift):
    i = cuda.grid(1)
    if i < text.size:
        c = text[i]
        if c >= 65 and c < 91:
            out[i] = (c - 65 + shift) % 26 + 65
        elif c >= 97 and c < 123:
            out[i] = (c - 97 + shift) % 26 + 97
        else:
            out[i] = c


@cuda.jit
def count_vowels(words, counts):
    i = cuda.grid(1)
    if i < words.shape[0]:
        n = 0
        for j in range(words.shape[1]):
            c = words[i, j]
            if c == 0:
                break
            if c == 97 or c == 101 or c == 105 or c == 111 or c == 117:
                n += 1
        counts[i] = n


@cuda.jit
def is_palindrome(words, lengths, out):
    i = cuda.grid(1)
    if i >= words.shape[0]:
        return
    left = 0
    right = lengths[i] - 1
    same = 1
    while left < right:
        if words[i, left] != words[i, right]:
            same = 0
            break
        left += 1
        right -= 1
    out[i] = same


@cuda.jit
def words_in_lines(text, counts):
    i = cuda.grid(1)
    if i < text.shape[0]:
        inside = False
        n = 0
        for j in range(text.shape[1]):
            if text[i, j] == 32:
                inside = False
            elif not inside:
                inside = True
                n += 1
        counts[i] = n


@cuda.jit
def signed_numbers(digits, out):
    i = cuda.grid(1)
    if i < digits.shape[0]:
        value = 0
        j = 0
        negative = digits[i, 0] == 45
        if negative:
            j = 1
        while j < digits.shape[1] and digits[i, j] >= 48 and digits[i, j] <= 57:
            value = value * 10 + digits[i, j] - 48
            j += 1
        out[i] = -value if negative else value


@cuda.jit
def crc_of_bytes(data, out):
    i = cuda.grid(1)
    if i < data.shape[0]:
        crc = 0xFFFF
        for j in range(data.shape[1]):
            crc ^= data[i, j]
            for _ in range(8):
                if crc & 1:
                    crc = (crc >> 1) ^ 0xA001
                else:
                    crc >>= 1
        out[i] = crc


@cuda.jit
def day_of_year(years, months, days, out):
    i = cuda.grid(1)
    if i >= years.size:
        return
    y = years[i]
    leap = (y % 4 == 0 and y % 100 != 0) or y % 400 == 0
    total = days[i]
    for m in range(1, months[i]):
        if m == 2:
            total += 29 if leap else 28
        elif m == 4 or m == 6 or m == 9 or m == 11:
            total += 30
        else:
            total += 31
    out[i] = total


@cuda.jit
def point_in_polygon(px, py, vx, vy, inside):
    i = cuda.grid(1)
    if i < px.size:
        x, y = px[i], py[i]
        odd = False
        j = vx.size - 1
        for k in range(vx.size):
            if (vy[k] > y) != (vy[j] > y) and x < (vx[j] - vx[k]) * (y - vy[k]) / (vy[j] - vy[k]) + vx[k]:
                odd = not odd
            j = k
        inside[i] = odd


@cuda.jit
def nearest_sphere(origins, directions, centres, radii, hit, distance):
    i = cuda.grid(1)
    if i >= hit.size:
        return
    nearest = float32(1e20)
    which = -1
    for k in range(radii.size):
        b = float32(0)
        c = -radii[k] * radii[k]
        for d in range(3):
            away = origins[i, d] - centres[k, d]
            b += away * directions[i, d]
            c += away * away
        disc = b * b - c
        if disc < 0:
            continue
        t = -b - math.sqrt(disc)
        if t > 0 and t < nearest:
            nearest = t
            which = k
    hit[i] = which
    distance[i] = nearest


@cuda.jit
def clip_segments(x0, x1, low, high, out):
    i = cuda.grid(1)
    if i < x0.size:
        a, b = x0[i], x1[i]
        if a > b:
            a, b = b, a
        if b < low or a > high:
            out[i] = 0
        else:
            out[i] = min(b, high) - max(a, low)


@cuda.jit
def pool_with_edges(picture, out):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        best = picture[2 * x, 2 * y]
        if 2 * x + 1 < picture.shape[0]:
            best = max(best, picture[2 * x + 1, 2 * y])
            if 2 * y + 1 < picture.shape[1]:
                best = max(best, picture[2 * x + 1, 2 * y + 1])
        if 2 * y + 1 < picture.shape[1]:
            best = max(best, picture[2 * x, 2 * y + 1])
        out[x, y] = best


@cuda.jit
def convolve_guarded(picture, weights, out):
    x, y = cuda.grid(2)
    if x >= out.shape[0] or y >= out.shape[1]:
        return
    total = float32(0)
    for i in range(5):
        for j in range(5):
            p = x + i - 2
            q = y + j - 2
            if 0 <= p < picture.shape[0] and 0 <= q < picture.shape[1]:
                total += picture[p, q] * weights[i, j]
    out[x, y] = total


@cuda.jit
def gelu_or_zero(x, mask, out):
    i = cuda.grid(1)
    if i < x.size:
        if mask[i]:
            v = x[i]
            out[i] = float32(0.5) * v * (1 + math.tanh(float32(0.79788456) * (v + float32(0.044715) * v * v * v)))
        else:
            out[i] = 0


@cuda.jit
def adam_clipped(w, g, m, v, rate, most):
    i = cuda.grid(1)
    if i >= w.size:
        return
    d = g[i]
    if d > most:
        d = most
    if d < -most:
        d = -most
    m[i] = float32(0.9) * m[i] + float32(0.1) * d
    v[i] = float32(0.999) * v[i] + float32(0.001) * d * d
    w[i] -= rate * m[i] / (math.sqrt(v[i]) + float32(1e-8))


@cuda.jit
def split_by_pivot(values, pivot, small, large, counts):
    i = cuda.grid(1)
    if i < values.size:
        if values[i] < pivot:
            small[cuda.atomic.add(counts, 0, 1)] = values[i]
        else:
            large[cuda.atomic.add(counts, 1, 1)] = values[i]


@cuda.jit
def join_sorted_keys(left, right, matches):
    i = cuda.grid(1)
    if i < left.size:
        low = 0
        high = right.size - 1
        found = -1
        while low <= high:
            middle = (low + high) // 2
            if right[middle] == left[i]:
                found = middle
                break
            if right[middle] < left[i]:
                low = middle + 1
            else:
                high = middle - 1
        matches[i] = found


@cuda.jit
def first_above(rows, limit, out):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        out[i] = -1
        for j in range(rows.shape[1]):
            if rows[i, j] > limit:
                out[i] = j
                return


@cuda.jit
def bins_with_edges(values, edges, counts):
    i = cuda.grid(1)
    if i < values.size:
        v = values[i]
        for k in range(edges.size - 1):
            if edges[k] <= v and v < edges[k + 1]:
                cuda.atomic.add(counts, k, 1)
                break


@cuda.jit
def wind_chill(temperature, wind, out):
    i = cuda.grid(1)
    if i < out.size:
        t = temperature[i]
        w = wind[i]
        if t > 10 or w < float32(1.3):
            out[i] = t
            return
        p = w ** float32(0.16)
        out[i] = float32(13.12) + float32(0.6215) * t - float32(11.37) * p + float32(0.3965) * t * p


@cuda.jit
def elastic_walls(x, v, dt, low, high, bumps):
    i = cuda.grid(1)
    if i < x.size:
        p = x[i] + v[i] * dt
        if p < low:
            p = 2 * low - p
            v[i] = -v[i]
            cuda.atomic.add(bumps, 0, 1)
        elif p > high:
            p = 2 * high - p
            v[i] = -v[i]
            cuda.atomic.add(bumps, 1, 1)
        x[i] = p


@cuda.jit
def forces_with_cutoff(x, y, fx, fy, reach):
    i = cuda.grid(1)
    if i < x.size:
        px, py = x[i], y[i]
        ax = float32(0)
        ay = float32(0)
        for j in range(x.size):
            if j == i:
                continue
            dx, dy = x[j] - px, y[j] - py
            r2 = dx * dx + dy * dy
            if r2 < reach * reach:
                w = 1 / (r2 + float32(0.01))
                ax += dx * w
                ay += dy * w
        fx[i] = ax
        fy[i] = ay


@cuda.jit
def tile_minimum_guarded(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        s[t] = x[i]
    else:
        s[t] = float32(1e30)
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            if s[t + half] < s[t]:
                s[t] = s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def scan_up_and_down(x, out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < 64:
        place = (t + 1) * 2 * step - 1
        if place < 64:
            s[place] += s[place - step]
        step *= 2
        cuda.syncthreads()
    if t == 0:
        s[63] = 0
    cuda.syncthreads()
    while step > 1:
        step //= 2
        place = (t + 1) * 2 * step - 1
        if place < 64:
            kept = s[place - step]
            s[place - step] = s[place]
            s[place] += kept
        cuda.syncthreads()
    out[i] = s[t]


@cuda.jit
def neighbours_in_tile(x, out):
    s = cuda.shared.array(130, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        s[t + 1] = x[i]
        if t == 0:
            s[0] = x[i - 1] if i > 0 else x[i]
        if t == cuda.blockDim.x - 1 or i == x.size - 1:
            s[t + 2] = x[i + 1] if i < x.size - 1 else x[i]
    cuda.syncthreads()
    if i < x.size:
        if s[t + 1] > s[t] and s[t + 1] > s[t + 2]:
            out[i] = (s[t] + s[t + 2]) / 2
        else:
            out[i] = s[t + 1]


@cuda.jit(device=True)
def clamp(v, low, high):
    if v < low:
        return low
    if v > high:
        return high
    return v


@cuda.jit
def brighten(picture, out, factor, shift):
    x, y = cuda.grid(2)
    if x < picture.shape[0] and y < picture.shape[1]:
        for c in range(3):
            out[x, y, c] = uint8(clamp(picture[x, y, c] * factor + shift, float32(0), float32(255)))


@cuda.jit(device=True)
def kind_of_triangle(a, b, c):
    if a + b <= c or a + c <= b or b + c <= a:
        return 0
    if a == b and b == c:
        return 3
    if a == b or b == c or a == c:
        return 2
    return 1


@cuda.jit
def triangles(a, b, c, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = kind_of_triangle(a[i], b[i], c[i])


def _between(low: float, high: float, size: Any, *more: Any, room: Any = F32) -> Any:
    return lambda rng: ((rng.random(size) * (high - low) + low).astype(F32), *more, np.zeros(size, room))


def _texts(rng: np.random.Generator, rows: int = 300, columns: int = 12) -> np.ndarray:
    texts = rng.integers(97, 123, (rows, columns)).astype(U8)
    for row, length in zip(texts, rng.integers(1, columns + 1, rows), strict=True):
        row[length:] = 0
    return texts


def _palindromes(rng: np.random.Generator) -> Any:
    words = rng.integers(97, 99, (300, 12)).astype(U8)
    words[::2, 6:] = words[::2, :6][:, ::-1]
    return words, np.full(300, 12, I32), np.zeros(300, I32)


def _digits(rng: np.random.Generator) -> Any:
    digits = rng.integers(48, 58, (300, 8)).astype(U8)
    digits[::3, 0] = 45
    for row, length in zip(digits, rng.integers(2, 9, 300), strict=True):
        row[length:] = 32
    return digits, np.zeros(300, np.int64)


CHOICES: tuple[Case, ...] = (
    Case("grade_letters", grade_letters, 4, 128, whole(500, high=101, room=500)),
    Case("tax_by_brackets", tax_by_brackets, 4, 128,
         lambda rng: (rng.random(500, F32) * 9, np.array([1, 2, 4, 6], F32), np.array([0, .1, .2, .3, .4], F32),
                      np.zeros(500, F32))),
    Case("median_of_three", median_of_three, 4, 128, floats(500, 500, 500, room=500)),
    Case("sign_changes", sign_changes, 4, 128, _between(-1, 1, 500, room=I32)),
    Case("local_peaks", local_peaks, 4, 128, _between(0, 1, 500, F32(0.5))),
    Case("starts_of_runs", starts_of_runs, 4, 128,
         lambda rng: (np.sort(rng.integers(0, 150, 500)).astype(I32), np.zeros(500, I32), np.zeros(1, I32))),
    Case("minmod_slopes", minmod_slopes, 4, 128, floats(500, room=500)),
    Case("edges_of_rod", edges_of_rod, 4, 128, floats(500, room=500, more=(F32(0.2), F32(0), F32(1)))),
    Case("red_black_sweep", red_black_sweep, (4, 4), (16, 16), floats((60, 60), (60, 60), more=(1,))),
    Case("fire_if_above", fire_if_above, 4, 128,
         lambda rng: (rng.random(500, F32), rng.random(500, F32), np.zeros(500, I32), F32(0.9), F32(1))),
    Case("refractory_neurons", refractory_neurons, 4, 128,
         lambda rng: (rng.random(500, F32), rng.integers(0, 4, 500).astype(I32), rng.random(500, F32) / 2,
                      np.zeros(500, I32), 30)),
    Case("infect_cells", infect_cells, (4, 8), (16, 8),
         lambda rng: (rng.integers(0, 3, (60, 60)).astype(I32), rng.random((60, 60), F32), np.zeros((60, 60), I32),
                      F32(0.2), F32(0.3))),
    Case("life_on_torus", life_on_torus, (4, 8), (16, 8), whole((60, 60), high=2, room=(60, 60))),
    Case("erode_by_loops", erode_by_loops, (4, 8), (16, 8), floats((60, 60), room=(60, 60))),
    Case("any_edge_near", any_edge_near, (4, 8), (16, 8),
         lambda rng: ((rng.random((60, 60)) < 0.15).astype(U8), np.zeros((60, 60), U8))),
    Case("non_max_suppression", non_max_suppression, (4, 8), (16, 8),
         lambda rng: (rng.random((60, 60), F32), rng.integers(0, 4, (60, 60)).astype(U8), np.zeros((60, 60), F32))),
    Case("sample_bilinear", sample_bilinear, 4, 128,
         lambda rng: (rng.random((60, 60), F32), (rng.random(500) * 70 - 5).astype(F32),
                      (rng.random(500) * 70 - 5).astype(F32), np.zeros(500, F32))),
    Case("hsv_to_rgb", hsv_to_rgb, 4, 128, floats((500, 3), room=(500, 3))),
    Case("equalise_by_table", equalise_by_table, 2, 128,
         lambda rng: (rng.integers(0, 256, 1000).astype(U8), rng.integers(0, 256, 150).astype(U8),
                      np.zeros(1000, U8), 50, 200)),
    Case("barrier_option", barrier_option, 2, 128,
         lambda rng: (rng.standard_normal((20, 200)).astype(F32), F32(1), F32(1.3), F32(0), F32(0.1),
                      np.zeros(200, F32))),
    Case("worst_drop", worst_drop, 2, 128, floats((200, 20), room=200)),
    Case("trade_crossings", trade_crossings, 2, 128,
         lambda rng: (rng.random((200, 20), F32) + 1, rng.random((200, 20), F32) + 1, np.zeros(200, F32), F32(0.01))),
    Case("capitals_of", capitals_of, 4, 128, whole(500, high=128, dtype=U8, room=500)),
    Case("shift_letters", shift_letters, 4, 128, whole(500, high=128, dtype=U8, room=500, more=(3,))),
    Case("count_vowels", count_vowels, 3, 128, lambda rng: (_texts(rng), np.zeros(300, I32))),
    Case("is_palindrome", is_palindrome, 3, 128, _palindromes),
    Case("words_in_lines", words_in_lines, 3, 128,
         lambda rng: (np.where(rng.random((300, 20)) < 0.3, 32, 97).astype(U8), np.zeros(300, I32))),
    Case("signed_numbers", signed_numbers, 3, 128, _digits),
    Case("crc_of_bytes", crc_of_bytes, 3, 128, whole((300, 6), high=256, dtype=U8, room=300)),
    Case("day_of_year", day_of_year, 3, 128,
         lambda rng: (rng.integers(1890, 2030, 300), rng.integers(1, 13, 300), rng.integers(1, 29, 300),
                      np.zeros(300, np.int64))),
    Case("point_in_polygon", point_in_polygon, 3, 128,
         lambda rng: (rng.random(300, F32), rng.random(300, F32), rng.random(9, F32), rng.random(9, F32),
                      np.zeros(300, np.bool_))),
    Case("nearest_sphere", nearest_sphere, 2, 128,
         lambda rng: (rng.random((200, 3), F32), (rng.random((200, 3)) - 0.5).astype(F32),
                      (rng.random((10, 3)) * 4 - 2).astype(F32), rng.random(10, F32), np.zeros(200, I32),
                      np.zeros(200, F32))),
    Case("clip_segments", clip_segments, 4, 128, floats(500, 500, more=(F32(0.3), F32(0.6), np.zeros(500, F32)))),
    Case("pool_with_edges", pool_with_edges, (2, 4), (16, 8), floats((61, 61), room=(31, 31))),
    Case("convolve_guarded", convolve_guarded, (4, 8), (16, 8), floats((60, 60), (5, 5), room=(60, 60))),
    Case("gelu_or_zero", gelu_or_zero, 4, 128,
         lambda rng: (rng.random(500, F32), rng.random(500) < 0.6, np.zeros(500, F32))),
    Case("adam_clipped", adam_clipped, 4, 128,
         lambda rng: (rng.random(500, F32), (rng.random(500) - 0.5).astype(F32), rng.random(500, F32),
                      rng.random(500, F32), F32(0.01), F32(0.2))),
    Case("split_by_pivot", split_by_pivot, 4, 128,
         lambda rng: (np.arange(500, dtype=F32), F32(200), np.zeros(500, F32), np.zeros(500, F32), np.zeros(2, I32))),
    Case("join_sorted_keys", join_sorted_keys, 4, 128,
         lambda rng: (rng.integers(0, 900, 500).astype(I32), np.unique(rng.integers(0, 900, 400)).astype(I32),
                      np.zeros(500, I32))),
    Case("first_above", first_above, 3, 128, floats((300, 15), more=(F32(0.8), np.zeros(300, I32)))),
    Case("bins_with_edges", bins_with_edges, 4, 128,
         lambda rng: (rng.random(500, F32), np.linspace(0, 1, 12).astype(F32), np.zeros(11, I32))),
    Case("wind_chill", wind_chill, 4, 128,
         lambda rng: ((rng.random(500) * 40 - 20).astype(F32), rng.random(500, F32) * 4, np.zeros(500, F32))),
    Case("elastic_walls", elastic_walls, 4, 128,
         lambda rng: (rng.random(500, F32), (rng.random(500) - 0.5).astype(F32), F32(1), F32(0), F32(1),
                      np.zeros(2, I32))),
    Case("forces_with_cutoff", forces_with_cutoff, 2, 64,
         lambda rng: (rng.random(100, F32), rng.random(100, F32), np.zeros(100, F32), np.zeros(100, F32), F32(0.3))),
    Case("tile_minimum_guarded", tile_minimum_guarded, 4, 128, floats(450, room=4)),
    Case("scan_up_and_down", scan_up_and_down, 4, 64, whole(256, high=9, room=256)),
    Case("neighbours_in_tile", neighbours_in_tile, 4, 128, floats(450, room=450)),
    Case("brighten", brighten, (4, 8), (16, 8),
         lambda rng: (rng.integers(0, 256, (60, 60, 3)).astype(U8), np.zeros((60, 60, 3), U8), F32(1.4), F32(-30))),
    Case("triangles", triangles, 4, 128,
         lambda rng: (*(rng.integers(1, 5, 500).astype(I32) for _ in range(3)), np.zeros(500, I32))),
)  # fmt: skip

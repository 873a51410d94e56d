"""Ordinary kernels that are counted on the emulator alone: loops of rows, graphs, series, searches and simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32, uint32

from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.unseen_entries import floats, whole

F32, I32, I64, U8, U32 = np.float32, np.int32, np.int64, np.uint8, np.uint32


@cuda.jit
def collatz_steps(starts, steps, most):
    i = cuda.grid(1)
    if i < starts.size:
        n = starts[i]
        count = 0
        while n != 1 and count < most:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            count += 1
        steps[i] = count


@cuda.jit
def greatest_divisors(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y = a[i], b[i]
        while y:
            x, y = y, x % y
        out[i] = x


@cuda.jit
def count_divisors(numbers, out):
    i = cuda.grid(1)
    if i < numbers.size:
        n = numbers[i]
        count = 0
        d = 1
        while d * d <= n:
            if n % d == 0:
                count += 1
                if d * d != n:
                    count += 1
            d += 1
        out[i] = count


@cuda.jit
def digits_of(numbers, out):
    i = cuda.grid(1)
    if i < numbers.size:
        n = numbers[i]
        total = 0
        while n > 0:
            total += n % 10
            n //= 10
        out[i] = total


@cuda.jit
def julia_set(out, cx, cy, most):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        a = float32(3.0) * x / out.shape[0] - float32(1.5)
        b = float32(3.0) * y / out.shape[1] - float32(1.5)
        count = 0
        while a * a + b * b < 4 and count < most:
            a, b = a * a - b * b + cx, 2 * a * b + cy
            count += 1
        out[x, y] = count


@cuda.jit
def newton_to_tolerance(x, out, rounds, most, tolerance):
    i = cuda.grid(1)
    if i < x.size:
        r = x[i]
        n = 0
        for k in range(most):
            change = (r * r - x[i]) / (2 * r)
            r -= change
            n = k + 1
            if abs(change) < tolerance:
                break
        out[i] = r
        rounds[i] = n


@cuda.jit
def secant_roots(low, high, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    a, b = low[i], high[i]
    fa = a * a * a - a - 2
    fb = b * b * b - b - 2
    for _ in range(25):
        if abs(fb - fa) < 1e-12:
            break
        c = b - fb * (b - a) / (fb - fa)
        a, fa = b, fb
        b = c
        fb = b * b * b - b - 2
    out[i] = b


@cuda.jit
def insert_in_rows(rows):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for j in range(1, rows.shape[1]):
            value = rows[i, j]
            k = j - 1
            while k >= 0 and rows[i, k] > value:
                rows[i, k + 1] = rows[i, k]
                k -= 1
            rows[i, k + 1] = value


@cuda.jit
def selection_sort_rows(rows):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        n = rows.shape[1]
        for j in range(n - 1):
            least = j
            for k in range(j + 1, n):
                if rows[i, k] < rows[i, least]:
                    least = k
            if least != j:
                rows[i, j], rows[i, least] = rows[i, least], rows[i, j]


@cuda.jit
def local_bubble_of_eight(rows, out):
    kept = cuda.local.array(8, float32)
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for j in range(8):
            kept[j] = rows[i, j]
        for j in range(7):
            for k in range(7 - j):
                if kept[k] > kept[k + 1]:
                    kept[k], kept[k + 1] = kept[k + 1], kept[k]
        for j in range(8):
            out[i, j] = kept[j]


@cuda.jit
def bubble_in_global(rows):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for j in range(rows.shape[1]):
            for k in range(rows.shape[1] - 1 - j):
                if rows[i, k] > rows[i, k + 1]:
                    t = rows[i, k]
                    rows[i, k] = rows[i, k + 1]
                    rows[i, k + 1] = t


@cuda.jit
def odd_even_step(values, odd):
    i = cuda.grid(1)
    k = 2 * i + odd
    if k + 1 < values.size:
        if values[k] > values[k + 1]:
            t = values[k]
            values[k] = values[k + 1]
            values[k + 1] = t


@cuda.jit
def compare_and_exchange(values, k, j):
    i = cuda.grid(1)
    other = i ^ j
    if other > i and other < values.size:
        if (i & k) == 0:
            if values[i] > values[other]:
                values[i], values[other] = values[other], values[i]
        else:
            if values[i] < values[other]:
                values[i], values[other] = values[other], values[i]


@cuda.jit
def nearest_centroid(points, centres, label):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = 0
        least = float32(1e30)
        for k in range(centres.shape[0]):
            d = float32(0)
            for c in range(points.shape[1]):
                away = points[i, c] - centres[k, c]
                d += away * away
            if d < least:
                least = d
                best = k
        label[i] = best


@cuda.jit
def nearest_three(points, queries, out):
    i = cuda.grid(1)
    if i >= queries.shape[0]:
        return
    best = cuda.local.array(3, float32)
    for k in range(3):
        best[k] = float32(1e30)
    for j in range(points.shape[0]):
        dx = points[j, 0] - queries[i, 0]
        dy = points[j, 1] - queries[i, 1]
        d = dx * dx + dy * dy
        if d < best[0]:
            best[2] = best[1]
            best[1] = best[0]
            best[0] = d
        elif d < best[1]:
            best[2] = best[1]
            best[1] = d
        elif d < best[2]:
            best[2] = d
    for k in range(3):
        out[i, k] = best[k]


@cuda.jit
def argmax_of_columns(m, out):
    j = cuda.grid(1)
    if j < m.shape[1]:
        best = 0
        for i in range(1, m.shape[0]):
            if m[i, j] > m[best, j]:
                best = i
        out[j] = best


@cuda.jit
def softmax_of_rows(m, out):
    i = cuda.grid(1)
    if i < m.shape[0]:
        top = m[i, 0]
        for j in range(1, m.shape[1]):
            top = max(top, m[i, j])
        total = float32(0)
        for j in range(m.shape[1]):
            e = math.exp(m[i, j] - top)
            out[i, j] = e
            total += e
        for j in range(m.shape[1]):
            out[i, j] /= total


@cuda.jit
def normalise_rows(m, out, small):
    i = cuda.grid(1)
    if i < m.shape[0]:
        n = m.shape[1]
        mean = float32(0)
        for j in range(n):
            mean += m[i, j]
        mean /= n
        spread = float32(0)
        for j in range(n):
            spread += (m[i, j] - mean) ** 2
        scale = 1 / math.sqrt(spread / n + small)
        for j in range(n):
            out[i, j] = (m[i, j] - mean) * scale


@cuda.jit
def running_mean(x, out, width):
    i = cuda.grid(1)
    if i < x.size:
        low = max(0, i - width)
        high = min(x.size, i + width + 1)
        total = float32(0)
        for k in range(low, high):
            total += x[k]
        out[i] = total / (high - low)


@cuda.jit
def exponential_average(x, out, weight):
    i = cuda.grid(1)
    if i < x.shape[0]:
        now = x[i, 0]
        out[i, 0] = now
        for k in range(1, x.shape[1]):
            now = weight * x[i, k] + (1 - weight) * now
            out[i, k] = now


@cuda.jit
def lagged_products(x, out):
    lag = cuda.grid(1)
    if lag < out.size:
        total = float64(0)
        for k in range(x.size - lag):
            total += x[k] * x[k + lag]
        out[lag] = total


@cuda.jit
def full_convolution(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(b.size):
            j = i - k
            if j >= 0 and j < a.size:
                total += a[j] * b[k]
        out[i] = total


@cuda.jit
def lower_triangle_product(m, x, y):
    i = cuda.grid(1)
    if i < y.size:
        total = float32(0)
        for k in range(i + 1):
            total += m[i, k] * x[k]
        y[i] = total


@cuda.jit
def eliminate_column(m, k):
    i, j = cuda.grid(2)
    if i > k and i < m.shape[0] and j > k and j < m.shape[1]:
        m[i, j] -= m[i, k] / m[k, k] * m[k, j]


@cuda.jit
def rank_of_each(values, rank):
    i = cuda.grid(1)
    if i < values.size:
        before = 0
        for j in range(values.size):
            if values[j] < values[i] or (values[j] == values[i] and j < i):
                before += 1
        rank[i] = before


@cuda.jit
def csr_by_while(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        k = starts[row]
        end = starts[row + 1]
        while k < end:
            total += values[k] * x[columns[k]]
            k += 1
        y[row] = total


@cuda.jit
def csr_largest(starts, values, out):
    row = cuda.grid(1)
    if row >= out.size:
        return
    first, last = starts[row], starts[row + 1]
    if first == last:
        out[row] = 0
        return
    best = values[first]
    for k in range(first + 1, last):
        if values[k] > best:
            best = values[k]
    out[row] = best


@cuda.jit
def ell_until_minus_one(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        for k in range(columns.shape[1]):
            c = columns[row, k]
            if c < 0:
                break
            total += values[row, k] * x[c]
        y[row] = total


@cuda.jit
def find_in_slots(keys, slots, found):
    i = cuda.grid(1)
    if i < keys.size:
        key = keys[i]
        h = key * 7919 % slots.size
        found[i] = -1
        while slots[h] != -1:
            if slots[h] == key:
                found[i] = h
                break
            h = (h + 1) % slots.size


@cuda.jit
def bloom_lookup(keys, bits, out):
    i = cuda.grid(1)
    if i < keys.size:
        there = True
        h = keys[i]
        for _ in range(4):
            h = (h * 1103515245 + 12345) % 2147483648
            if bits[h % bits.size] == 0:
                there = False
                break
        out[i] = there


@cuda.jit
def colour_greedily(starts, edges, colour, now, order):
    v = cuda.grid(1)
    if v < colour.size:
        if colour[v] == -1:
            largest = True
            for k in range(starts[v], starts[v + 1]):
                w = edges[k]
                if colour[w] == -1 and order[w] > order[v]:
                    largest = False
                    break
            if largest:
                colour[v] = now


@cuda.jit
def triangles_of_vertex(starts, edges, out):
    v = cuda.grid(1)
    if v < out.size:
        count = 0
        for k in range(starts[v], starts[v + 1]):
            w = edges[k]
            a, b = starts[v], starts[w]
            while a < starts[v + 1] and b < starts[w + 1]:
                if edges[a] == edges[b]:
                    count += 1
                    a += 1
                    b += 1
                elif edges[a] < edges[b]:
                    a += 1
                else:
                    b += 1
        out[v] = count


@cuda.jit
def darts_in_circle(seeds, hits, throws):
    i = cuda.grid(1)
    if i < seeds.size:
        s = seeds[i]
        inside = 0
        for _ in range(throws):
            s = uint32(s * uint32(1664525) + uint32(1013904223))
            x = float32(s >> uint32(8)) / float32(16777216)
            s = uint32(s * uint32(1664525) + uint32(1013904223))
            y = float32(s >> uint32(8)) / float32(16777216)
            if x * x + y * y <= 1:
                inside += 1
        hits[i] = inside


@cuda.jit
def walk_on_grid(moves, x, y):
    i = cuda.grid(1)
    if i < x.size:
        p = 0
        q = 0
        for k in range(moves.shape[0]):
            m = moves[k, i]
            if m == 0:
                p += 1
            elif m == 1:
                p -= 1
            elif m == 2:
                q += 1
            else:
                q -= 1
        x[i] = p
        y[i] = q


@cuda.jit
def decay_chain(atoms, draws, rate, left):
    i = cuda.grid(1)
    if i < atoms.size:
        n = atoms[i]
        k = 0
        while n > 0 and k < draws.shape[0]:
            if draws[k, i] < rate * n:
                n -= 1
            k += 1
        left[i] = n


@cuda.jit
def gillespie_births(draws, birth, death, out, until):
    i = cuda.grid(1)
    if i >= out.size:
        return
    n = 5
    t = float32(0)
    k = 0
    while t < until and n > 0 and k < draws.shape[1] - 1:
        total = (birth + death) * n
        t += -math.log(1 - draws[i, k]) / total
        if draws[i, k + 1] * (birth + death) < birth:
            n += 1
        else:
            n -= 1
        k += 2
    out[i] = n


@cuda.jit
def sum_of_trapezoids(low, high, out, pieces):
    i = cuda.grid(1)
    if i < out.size:
        a, b = low[i], high[i]
        h = (b - a) / pieces
        total = 0.5 * (math.exp(-a * a) + math.exp(-b * b))
        for k in range(1, pieces):
            x = a + k * h
            total += math.exp(-x * x)
        out[i] = total * h


@cuda.jit
def horner(coefficients, x, out):
    i = cuda.grid(1)
    if i < x.size:
        value = float32(0)
        for k in range(coefficients.size - 1, -1, -1):
            value = value * x[i] + coefficients[k]
        out[i] = value


@cuda.jit
def runge_kutta_spring(x, v, k, dt, steps):
    i = cuda.grid(1)
    if i < x.size:
        p, q = x[i], v[i]
        for _ in range(steps):
            a1 = -k * p
            p2 = p + dt / 2 * q
            q2 = q + dt / 2 * a1
            a2 = -k * p2
            p += dt * q2
            q += dt * a2
        x[i] = p
        v[i] = q


@cuda.jit
def floyd_step(d, k):
    i, j = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[1]:
        through = d[i, k] + d[k, j]
        if through < d[i, j]:
            d[i, j] = through


@cuda.jit
def fill_from_neighbours(label, changed):
    x, y = cuda.grid(2)
    if x < 1 or y < 1 or x >= label.shape[0] - 1 or y >= label.shape[1] - 1:
        return
    own = label[x, y]
    if own == 0:
        return
    best = own
    if label[x - 1, y] > best:
        best = label[x - 1, y]
    if label[x + 1, y] > best:
        best = label[x + 1, y]
    if label[x, y - 1] > best:
        best = label[x, y - 1]
    if label[x, y + 1] > best:
        best = label[x, y + 1]
    if best != own:
        changed[x, y] = best


@cuda.jit
def stride_statistics(x, sums, least, most):
    i = cuda.grid(1)
    total = float32(0)
    low = float32(1e30)
    high = float32(-1e30)
    for k in range(i, x.size, cuda.gridsize(1)):
        total += x[k]
        if x[k] < low:
            low = x[k]
        if x[k] > high:
            high = x[k]
    sums[i] = total
    least[i] = low
    most[i] = high


@cuda.jit
def count_above_by_blocks(x, limit, out):
    s = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        s[0] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < x.size:
        if x[i] > limit:
            cuda.atomic.add(s, 0, 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def sum_by_warps(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = x[i] if i < x.size else float32(0)
    step = 16
    while step > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        step //= 2
    if t % 32 == 0:
        s[t // 32] = total
    cuda.syncthreads()
    if t < 32:
        total = s[t] if t < cuda.blockDim.x // 32 else float32(0)
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if t == 0:
            cuda.atomic.add(out, 0, total)


@cuda.jit
def product_in_tiles_guarded(a, b, c):
    sa = cuda.shared.array((8, 8), float32)
    sb = cuda.shared.array((8, 8), float32)
    i, j = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range((a.shape[1] + 7) // 8):
        if i < a.shape[0] and k * 8 + y < a.shape[1]:
            sa[x, y] = a[i, k * 8 + y]
        else:
            sa[x, y] = 0
        sb[x, y] = b[k * 8 + x, j] if k * 8 + x < b.shape[0] and j < b.shape[1] else 0
        cuda.syncthreads()
        for m in range(8):
            total += sa[x, m] * sb[m, y]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@cuda.jit
def longest_run(rows, out):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        longest = 1
        now = 1
        for j in range(1, rows.shape[1]):
            if rows[i, j] == rows[i, j - 1]:
                now += 1
                longest = max(longest, now)
            else:
                now = 1
        out[i] = longest


@cuda.jit
def edit_two_rows(words, target, out):
    old = cuda.local.array(9, int32)
    new = cuda.local.array(9, int32)
    i = cuda.grid(1)
    if i < words.shape[0]:
        for j in range(9):
            old[j] = j
        for r in range(words.shape[1]):
            new[0] = r + 1
            for j in range(8):
                cost = 0 if words[i, r] == target[j] else 1
                new[j + 1] = min(old[j] + cost, min(old[j + 1] + 1, new[j] + 1))
            for j in range(9):
                old[j] = new[j]
        out[i] = old[8]


@cuda.jit
def queens_from_row(first, out, n):
    place = cuda.local.array(6, int32)
    i = cuda.grid(1)
    if i < first.size:
        place[0] = first[i]
        row = 1
        place[1] = 0
        count = 0
        while row > 0:
            if place[row] >= n:
                row -= 1
                if row > 0:
                    place[row] += 1
                continue
            fits = True
            for k in range(row):
                away = place[row] - place[k]
                if away == 0 or away == row - k or away == k - row:
                    fits = False
                    break
            if fits and row == n - 1:
                count += 1
                place[row] += 1
            elif fits:
                row += 1
                place[row] = 0
            else:
                place[row] += 1
        out[i] = count


def _sparse(rng: np.random.Generator, rows: int = 200, most: int = 12) -> tuple[Any, Any, Any]:
    lengths = rng.integers(0, most, rows)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(I32)
    columns = [np.sort(rng.choice(rows, n, replace=False)) for n in lengths]
    return starts, np.concatenate(columns).astype(I32), rng.random(int(starts[-1]), F32)


def _graph(rng: np.random.Generator, *more: Any) -> Any:
    starts, edges, _ = _sparse(rng)
    return (starts, edges, *more)


def _csr(rng: np.random.Generator) -> Any:
    return (*_sparse(rng), rng.random(200, F32), np.zeros(200, F32))


def _ell(rng: np.random.Generator) -> Any:
    columns = rng.integers(0, 200, (200, 12)).astype(I32)
    for row, length in zip(columns, rng.integers(0, 13, 200), strict=True):
        row[length:] = -1
    return columns, rng.random((200, 12), F32), rng.random(200, F32), np.zeros(200, F32)


def _table(rng: np.random.Generator) -> Any:
    keys = rng.permutation(5000)[:300]
    slots = np.full(512, -1, I64)
    for key in keys:
        h = key * 7919 % 512
        while slots[h] != -1:
            h = (h + 1) % 512
        slots[h] = key
    return np.concatenate([keys[:150], rng.integers(5000, 9000, 150)]), slots, np.zeros(300, I64)


WALKS: tuple[Case, ...] = (
    Case("collatz_steps", collatz_steps, 3, 128, whole(300, high=200, room=300, dtype=I64, more=(500,))),
    Case("greatest_divisors", greatest_divisors, 3, 128, whole(300, 300, high=900, room=300)),
    Case("count_divisors", count_divisors, 3, 128, whole(300, high=900, room=300)),
    Case("digits_of", digits_of, 3, 128, whole(300, high=10**6, room=300)),
    Case("julia_set", julia_set, (4, 8), (16, 8), lambda rng: (np.zeros((60, 60), I32), F32(-0.8), F32(0.156), 40)),
    Case("newton_to_tolerance", newton_to_tolerance, 3, 128,
         lambda rng: (rng.random(300, F32) * 90 + 1, np.zeros(300, F32), np.zeros(300, I32), 30, F32(1e-4))),
    Case("secant_roots", secant_roots, 3, 128, lambda rng: (rng.random(300) + 1, rng.random(300) + 2, np.zeros(300))),
    Case("insert_in_rows", insert_in_rows, 2, 128, floats((200, 9))),
    Case("selection_sort_rows", selection_sort_rows, 2, 128, floats((200, 9))),
    Case("local_bubble_of_eight", local_bubble_of_eight, 2, 128, floats((200, 8), room=(200, 8))),
    Case("bubble_in_global", bubble_in_global, 2, 128, floats((200, 9))),
    Case("odd_even_step", odd_even_step, 2, 128, floats(500, more=(1,))),
    Case("compare_and_exchange", compare_and_exchange, 4, 128, floats(512, more=(8, 4))),
    Case("nearest_centroid", nearest_centroid, 2, 128, floats((200, 3), (7, 3), more=(np.zeros(200, I32),))),
    Case("nearest_three", nearest_three, 2, 64, floats((60, 2), (100, 2), room=(100, 3))),
    Case("argmax_of_columns", argmax_of_columns, 2, 128, floats((15, 200), more=(np.zeros(200, I32),))),
    Case("softmax_of_rows", softmax_of_rows, 2, 128, floats((200, 11), room=(200, 11))),
    Case("normalise_rows", normalise_rows, 2, 128, floats((200, 11), room=(200, 11), more=(F32(1e-5),))),
    Case("running_mean", running_mean, 4, 128, floats(500, room=500, more=(5,))),
    Case("exponential_average", exponential_average, 2, 128, floats((200, 11), room=(200, 11), more=(F32(0.2),))),
    Case("lagged_products", lagged_products, 1, 64, floats(200, dtype=np.float64, room=50)),
    Case("full_convolution", full_convolution, 2, 128, floats(200, 9, room=208)),
    Case("lower_triangle_product", lower_triangle_product, 1, 96, floats((90, 90), 90, room=90)),
    Case("eliminate_column", eliminate_column, (4, 4), (16, 16), lambda rng: (rng.random((60, 60), F32) + 1, 7)),
    Case("rank_of_each", rank_of_each, 2, 64, whole(100, high=30, room=100)),
    Case("csr_by_while", csr_by_while, 2, 128, _csr),
    Case("csr_largest", csr_largest, 2, 128, lambda rng: (*_sparse(rng)[::2], np.zeros(200, F32))),
    Case("ell_until_minus_one", ell_until_minus_one, 2, 128, _ell),
    Case("find_in_slots", find_in_slots, 3, 128, _table),
    Case("bloom_lookup", bloom_lookup, 3, 128,
         lambda rng: (rng.integers(0, 10**6, 300), (rng.random(257) < 0.7).astype(U8), np.zeros(300, np.bool_))),
    Case("colour_greedily", colour_greedily, 2, 128,
         lambda rng: _graph(rng, np.where(rng.random(200) < 0.5, -1, 0).astype(I32), 1, rng.permutation(200))),
    Case("triangles_of_vertex", triangles_of_vertex, 2, 128, lambda rng: _graph(rng, np.zeros(200, I32))),
    Case("darts_in_circle", darts_in_circle, 2, 128,
         lambda rng: (rng.integers(0, 2**32, 200).astype(U32), np.zeros(200, I32), 20)),
    Case("walk_on_grid", walk_on_grid, 2, 128,
         lambda rng: (rng.integers(0, 4, (20, 200)).astype(U8), np.zeros(200, I32), np.zeros(200, I32))),
    Case("decay_chain", decay_chain, 2, 128,
         lambda rng: (rng.integers(1, 9, 200).astype(I32), rng.random((30, 200), F32), F32(0.05), np.zeros(200, I32))),
    Case("gillespie_births", gillespie_births, 2, 128,
         lambda rng: (rng.random((200, 40), F32), F32(0.6), F32(0.7), np.zeros(200, I32), F32(2))),
    Case("sum_of_trapezoids", sum_of_trapezoids, 2, 128,
         lambda rng: (rng.random(200), rng.random(200) + 1, np.zeros(200), 12)),
    Case("horner", horner, 2, 128, floats(7, 200, room=200)),
    Case("runge_kutta_spring", runge_kutta_spring, 2, 128, floats(200, 200, more=(F32(2), F32(0.01), 20))),
    Case("floyd_step", floyd_step, (4, 4), (16, 16), floats((60, 60), more=(7,))),
    Case("fill_from_neighbours", fill_from_neighbours, (4, 8), (16, 8),
         lambda rng: (rng.integers(0, 90, (60, 60)).astype(I32) * (rng.random((60, 60)) < 0.6),
                      np.zeros((60, 60), I64))),
    Case("stride_statistics", stride_statistics, 2, 64,
         lambda rng: (rng.random(1000, F32), *(np.zeros(128, F32) for _ in range(3)))),
    Case("count_above_by_blocks", count_above_by_blocks, 2, 128, floats(1000, more=(F32(0.6), np.zeros(2, I32)))),
    Case("sum_by_warps", sum_by_warps, 4, 128, floats(450, room=1)),
    Case("product_in_tiles_guarded", product_in_tiles_guarded, (4, 4), (8, 8), floats((30, 21), (21, 27), room=(30, 27))),
    Case("longest_run", longest_run, 2, 128, whole((200, 15), high=3, more=(np.zeros(200, I32),))),
    Case("edit_two_rows", edit_two_rows, 2, 128,
         lambda rng: (rng.integers(97, 100, (200, 7)).astype(U8), rng.integers(97, 100, 8).astype(U8),
                      np.zeros(200, I32))),
    Case("queens_from_row", queens_from_row, 1, 64, lambda rng: (rng.integers(0, 6, 60).astype(I32), np.zeros(60, I32), 6)),
)  # fmt: skip

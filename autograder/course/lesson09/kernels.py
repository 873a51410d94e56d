"""Lesson 9's pairs of kernels, one that has a trouble and one that has not, as they are counted, drawn and measured.

Those of privatization, coarsening and data layout stand in autograder/kernels.py, for other lessons have them, too. Sizes
are multiples of a block, so that nothing but the trouble is left; loops count by hand (lesson 1b).
"""

from __future__ import annotations

import numpy as np
from numba import cuda

# ---- scatter to gather: how far is it from each place to all houses together? -----------------------------------------


@cuda.jit
def scattered(houses, places, far):
    i, k = cuda.grid(1), 0
    house = houses[i]
    while k < places.size:
        cuda.atomic.add(far, k, abs(house - places[k]))
        k += 1


@cuda.jit
def gathered(houses, places, far):
    own, i = cuda.grid(1), 0
    place, total = places[own], np.float32(0)
    while i < houses.size:
        total += abs(houses[i] - place)
        i += 1
    far[own] = total


# ---- tiling: a product of matrices, in blocks of 16 x 16 -------------------------------------------------------------


@cuda.jit
def untiled(a, b, c):
    column, row = cuda.grid(2)
    total = np.float32(0)
    k = 0
    while k < a.shape[1]:
        total += a[row, k] * b[k, column]
        k += 1
    c[row, column] = total


@cuda.jit
def tiled(a, b, c):
    a_tile = cuda.shared.array((16, 16), np.float32)
    b_tile = cuda.shared.array((16, 16), np.float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[ty, tx] = a[row, start + tx]
        b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(16):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    c[row, column] = total


# ---- input binning: how many places lie at most 1 away? ---------------------------------------------------------------


@cuda.jit
def asks_all(places, near):
    i, k, found = cuda.grid(1), 0, 0
    mine = places[i]
    while k < places.size:
        if abs(places[k] - mine) <= np.float32(1):
            found += 1
        k += 1
    near[i] = found


@cuda.jit
def asks_bins(places, starts, near):
    """Places lie in the order of their bins; bin b holds those from b to b + 1, and begins at starts[b]."""
    i, found = cuda.grid(1), 0
    mine = places[i]
    own = int(mine)
    k, end = starts[max(own - 1, 0)], starts[min(own + 2, starts.size - 1)]
    while k < end:
        if abs(places[k] - mine) <= np.float32(1):
            found += 1
        k += 1
    near[i] = found


# ---- regularization: sums of rows, some of which are long --------------------------------------------------------------


@cuda.jit
def whole_rows(starts, values, sums):
    row = cuda.grid(1)
    k, end = starts[row], starts[row + 1]
    total = np.float32(0)
    while k < end:
        total += values[k]
        k += 1
    sums[row] = total


@cuda.jit
def pieces_of_rows(starts, rows, values, sums):
    """Piece p holds a few elements of row rows[p], from starts[p] to before starts[p + 1]."""
    p = cuda.grid(1)
    if p < rows.size:
        k, end = starts[p], starts[p + 1]
        total = np.float32(0)
        while k < end:
            total += values[k]
            k += 1
        cuda.atomic.add(sums, rows[p], total)


# ---- compaction: many steps for the few that are alive -----------------------------------------------------------------


@cuda.jit
def with_gaps(x, steps):
    i = cuda.grid(1)
    value = x[i]
    if value > np.float32(0):
        k = 0
        while k < steps:
            value *= np.float32(0.99)
            k += 1
        x[i] = value


@cuda.jit
def without_gaps(alive, steps):
    i = cuda.grid(1)
    if i < alive.size:
        value = alive[i]
        k = 0
        while k < steps:
            value *= np.float32(0.99)
            k += 1
        alive[i] = value


# ---- what techniques cost beforehand -----------------------------------------------------------------------------------


@cuda.jit
def count_in_bins(places, counts):
    i = cuda.grid(1)
    cuda.atomic.add(counts, int(places[i]), 1)


@cuda.jit
def begins_of_bins(counts, starts, cursors):
    """One block of 1,024 threads, each with as many bins as the others: where each bin begins, twice."""
    sums = cuda.shared.array(1024, np.int32)
    t = cuda.threadIdx.x
    each = counts.size // 1024
    total = 0
    k = each * t
    while k < each * (t + 1):
        total += counts[k]
        k += 1
    sums[t] = total
    cuda.syncthreads()
    step = 1
    while step < 1024:
        before = 0
        if t >= step:
            before = sums[t - step]
        cuda.syncthreads()
        sums[t] += before
        cuda.syncthreads()
        step *= 2
    total = sums[t] - total
    k = each * t
    while k < each * (t + 1):
        starts[k] = total
        cursors[k] = total
        total += counts[k]
        k += 1
    if t == 1023:
        starts[counts.size] = total


@cuda.jit
def put_in_bins(places, cursors, in_bins):
    i = cuda.grid(1)
    mine = places[i]
    in_bins[cuda.atomic.add(cursors, int(mine), 1)] = mine


@cuda.jit
def keep_the_living(x, found, alive):
    i = cuda.grid(1)
    value = x[i]
    if value > np.float32(0):
        alive[cuda.atomic.add(found, 0, 1)] = value


# ---- three patients: as they came, with the suspect cured, and mended --------------------------------------------------


@cuda.jit
def grey_levels(image, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    row, column = 256 * cuda.blockIdx.y + t, cuda.blockIdx.x
    cuda.atomic.add(own, image[row, column], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def grey_levels_along_rows(image, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    column, row = 256 * cuda.blockIdx.y + t, cuda.blockIdx.x
    cuda.atomic.add(own, image[row, column], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def grey_levels_mended(image, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    row = cuda.blockIdx.x
    while row < image.shape[0]:
        column = t
        while column < image.shape[1]:
            cuda.atomic.add(own, image[row, column], 1)
            column += 256
        row += cuda.gridDim.x
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def received(starts, links, weights, sums):
    node = cuda.grid(1)
    if node < sums.size:
        total = np.float32(0)
        k, end = starts[node], starts[node + 1]
        while k < end:
            total += weights[links[k]]
            k += 1
        sums[node] = total


@cuda.jit
def received_by_atomics(starts, links, weights, sums):
    node = cuda.grid(1) // 32
    if node < sums.size:
        total = np.float32(0)
        k, end = starts[node] + cuda.laneid, starts[node + 1]
        while k < end:
            total += weights[links[k]]
            k += 32
        cuda.atomic.add(sums, node, total)


@cuda.jit
def received_mended(starts, links, weights, sums):
    node = cuda.grid(1) // 32
    if node < sums.size:
        total = np.float32(0)
        k, end = starts[node] + cuda.laneid, starts[node + 1]
        while k < end:
            total += weights[links[k]]
            k += 32
        step = 16
        while step > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
            step //= 2
        if cuda.laneid == 0:
            sums[node] = total


@cuda.jit
def classes(edges, x, found):
    i = cuda.grid(1)
    if i < x.size:
        k = 0
        while k < edges.size and edges[k] <= x[i]:
            k += 1
        found[i] = k


@cuda.jit
def classes_mended(edges, x, found):
    i = cuda.grid(1)
    if i < x.size:
        mine = x[i]
        low, high = 0, edges.size
        while low < high:
            middle = (low + high) // 2
            if edges[middle] <= mine:
                low = middle + 1
            else:
                high = middle
        found[i] = low

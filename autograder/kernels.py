"""The kernels that lessons, benchmarks and measurements share, as a student would write them: each stands here alone.

They run on whatever `numba.cuda` is in place when this is first imported: a GPU's, the simulated one, or Numba's simulator.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

# ---- one element a thread ----------------------------------------------------------------------------------------


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


@cuda.jit
def read(source, sink):
    """Reads every element and writes next to nothing."""
    total = source[0]
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        total += source[i]
    if total == -1:
        sink[0] = total


@cuda.jit
def copy_2d(source, target):
    x, y = cuda.grid(2)
    target[y, x] = source[y, x]


@cuda.jit
def transpose_naive(source, target):
    x, y = cuda.grid(2)
    if y < source.shape[0] and x < source.shape[1]:
        target[x, y] = source[y, x]


# ---- one field of four a thread, by layout ----------------------------------------------------------------------------


@cuda.jit
def weigh_rows(p):
    i = cuda.grid(1)
    p[i, 3] *= np.float32(0.5)


@cuda.jit
def weigh_columns(p):
    i = cuda.grid(1)
    p[3, i] *= np.float32(0.5)


# ---- the naive matrix multiply -------------------------------------------------------------------------------------


@cuda.jit
def matmul_columns(a, b, c):
    """Threads that are neighbours in a warp take neighbouring columns."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def matmul_rows(a, b, c):
    """Threads that are neighbours in a warp take neighbouring rows."""
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def matmul_float64_total(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


# ---- sums of a block of 256 ----------------------------------------------------------------------------------------


@cuda.jit
def reduce_divergent(values, sums):
    """Every second, then every fourth thread adds: active lanes lie ever further apart."""
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 256:
        if t % (2 * step) == 0:
            part[t] += part[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def reduce_strided(values, sums):
    """The first threads add, but elements ever further apart: bank conflicts instead of divergence."""
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 256:
        first = 2 * step * t
        if first < 256:
            part[first] += part[first + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def reduce_convergent(values, sums):
    """The first half of the threads adds neighbouring elements: neither divergence (to the last warp) nor conflicts."""
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


# ---- histograms ----------------------------------------------------------------------------------------------------


@cuda.jit
def histogram_global(items, bins):
    i = cuda.grid(1)
    if i < items.size:
        cuda.atomic.add(bins, items[i], 1)


@cuda.jit
def histogram_few_threads(items, bins):
    i = cuda.grid(1)
    while i < items.size:
        cuda.atomic.add(bins, items[i], 1)
        i += cuda.gridsize(1)


@cuda.jit
def histogram_privatized(items, bins):
    """256 bins, and a copy of them for each block of 256 threads."""
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < items.size:
        cuda.atomic.add(own, items[i], 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


# ---- list ranking --------------------------------------------------------------------------------------------------


@cuda.jit
def pointer_jump(successor, rank, new_successor, new_rank):
    """One round of pointer jumping, between two buffers."""
    i = cuda.grid(1)
    if i < successor.size:
        after = successor[i]
        new_rank[i] = rank[i] + rank[after]
        new_successor[i] = successor[after]

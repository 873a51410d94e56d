# fails: spends_its_instructions_on_multiplying, as_fast_as_it_gets, as_fast_with_edges; hint: signed_indices
import math

import numpy as np
from numba import cuda, float32

SIDE = 64  # rows and columns of c that a block computes
DEEP = 16  # columns of a, and rows of b, that it holds at a time
OWN = 4  # rows and columns of c that a thread computes
THREADS = 256
EACH = SIDE * DEEP // THREADS
WIDE = SIDE + 4


@cuda.jit
def matmul_fast_kernel(a, b, c):
    tile_a = cuda.shared.array((DEEP, WIDE), float32)
    tile_b = cuda.shared.array((DEEP, SIDE), float32)
    sums = cuda.local.array((OWN, OWN), float32)
    t = cuda.threadIdx.x
    y, x = t // 16 * OWN, t % 16 * OWN
    first_row, first_col = cuda.blockIdx.y * SIDE, cuda.blockIdx.x * SIDE
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    start = 0
    while start < k:
        for i in range(EACH):
            e = t + THREADS * i
            row, term = first_row + e // DEEP, start + e % DEEP
            tile_a[e % DEEP, e // DEEP] = a[row, term] if row < m and term < k else float32(0)
            term, col = start + e // SIDE, first_col + e % SIDE
            tile_b[e // SIDE, e % SIDE] = b[term, col] if term < k and col < n else float32(0)
        cuda.syncthreads()
        for term in range(DEEP):
            for i in range(OWN):
                for j in range(OWN):
                    sums[i, j] += tile_a[term, y + i] * tile_b[term, x + j]
        cuda.syncthreads()
        start += DEEP
    for i in range(OWN):
        for j in range(OWN):
            row, col = first_row + y + i, first_col + x + j
            if row < m and col < n:
                c[row, col] = sums[i, j]


def matmul_fast(a, b, c):
    grid = (math.ceil(c.shape[1] / SIDE), math.ceil(c.shape[0] / SIDE))
    matmul_fast_kernel[grid, THREADS](a, b, c)

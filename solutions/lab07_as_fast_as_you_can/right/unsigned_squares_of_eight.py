# earns a part of: as_fast_as_it_gets, as_fast_with_edges
import math

import numpy as np
from numba import cuda, float32

U = np.uint32
SIDE = 128  # rows and columns of c that a block computes
DEEP = 8  # columns of a, and rows of b, that it holds at a time
OWN = 8  # rows and columns of c that a thread computes
THREADS = 256
EACH = SIDE * DEEP // THREADS
WIDE = SIDE + 4


@cuda.jit
def matmul_fast_kernel(a, b, c):
    tile_a = cuda.shared.array((DEEP, WIDE), float32)
    tile_b = cuda.shared.array((DEEP, SIDE), float32)
    sums = cuda.local.array((OWN, OWN), float32)
    t = U(cuda.threadIdx.x)
    y, x = t // U(16) * U(OWN), t % U(16) * U(OWN)
    first_row, first_col = U(cuda.blockIdx.y) * U(SIDE), U(cuda.blockIdx.x) * U(SIDE)
    m, k, n = U(a.shape[0]), U(a.shape[1]), U(b.shape[1])
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    start = U(0)
    while start < k:
        for i in range(EACH):
            e = t + U(THREADS * i)
            row, term = first_row + e // U(DEEP), start + e % U(DEEP)
            tile_a[e % U(DEEP), e // U(DEEP)] = a[row, term] if row < m and term < k else float32(0)
            term, col = start + e // U(SIDE), first_col + e % U(SIDE)
            tile_b[e // U(SIDE), e % U(SIDE)] = b[term, col] if term < k and col < n else float32(0)
        cuda.syncthreads()
        for term in range(DEEP):
            for i in range(OWN):
                for j in range(OWN):
                    sums[i, j] += tile_a[U(term), y + U(i)] * tile_b[U(term), x + U(j)]
        cuda.syncthreads()
        start += U(DEEP)
    for i in range(OWN):
        for j in range(OWN):
            row, col = first_row + y + U(i), first_col + x + U(j)
            if row < m and col < n:
                c[row, col] = sums[i, j]


def matmul_fast(a, b, c):
    grid = (math.ceil(c.shape[1] / SIDE), math.ceil(c.shape[0] / SIDE))
    matmul_fast_kernel[grid, THREADS](a, b, c)

# fails: meets_few_bank_conflicts, spends_its_instructions_on_multiplying, as_fast_as_it_gets, as_fast_with_edges; hint: bank_conflicts
import math

import numpy as np
from numba import cuda, float32

u = np.uint32
SIDE = 64  # rows and columns of c that a block computes
DEEP = 16  # columns of a, and rows of b, that it holds at a time
OWN = 4  # rows and columns of c that a thread computes
THREADS = 256
EACH = SIDE * DEEP // THREADS
WIDE = SIDE + 4


@cuda.jit
def matmul_fast_kernel(a, b, c):
    tile_a = cuda.shared.array((SIDE, DEEP), float32)
    tile_b = cuda.shared.array((DEEP, SIDE), float32)
    sums = cuda.local.array((OWN, OWN), float32)
    t = u(cuda.threadIdx.x)
    y, x = t % u(16) * u(OWN), t // u(16) * u(OWN)
    first_row, first_col = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    m, k, n = u(a.shape[0]), u(a.shape[1]), u(b.shape[1])
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    start = u(0)
    while start < k:
        for i in range(EACH):
            e = t + u(THREADS * i)
            row, term = first_row + e // u(DEEP), start + e % u(DEEP)
            tile_a[e // u(DEEP), e % u(DEEP)] = a[row, term] if row < m and term < k else float32(0)
            term, col = start + e // u(SIDE), first_col + e % u(SIDE)
            tile_b[e // u(SIDE), e % u(SIDE)] = b[term, col] if term < k and col < n else float32(0)
        cuda.syncthreads()
        for term in range(DEEP):
            for i in range(OWN):
                for j in range(OWN):
                    sums[i, j] += tile_a[y + u(i), u(term)] * tile_b[u(term), x + u(j)]
        cuda.syncthreads()
        start += u(DEEP)
    for i in range(OWN):
        for j in range(OWN):
            row, col = first_row + y + u(i), first_col + x + u(j)
            if row < m and col < n:
                c[row, col] = sums[i, j]


def matmul_fast(a, b, c):
    grid = (math.ceil(c.shape[1] / SIDE), math.ceil(c.shape[0] / SIDE))
    matmul_fast_kernel[grid, THREADS](a, b, c)

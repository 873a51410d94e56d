# fails: keeps_operands_in_registers, spends_its_instructions_on_multiplying, as_fast_as_it_gets, as_fast_with_edges; hint: one_sum_a_thread
import math

import numpy as np
from numba import cuda, float32

TILE = 32


@cuda.jit
def matmul_fast_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if row < m and phase * TILE + x < k:
            tile_a[y, x] = a[row, phase * TILE + x]
        else:
            tile_a[y, x] = 0
        if phase * TILE + y < k and col < n:
            tile_b[y, x] = b[phase * TILE + y, col]
        else:
            tile_b[y, x] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


def matmul_fast(a, b, c):
    m, n = c.shape
    matmul_fast_kernel[(math.ceil(n / TILE), math.ceil(m / TILE)), (TILE, TILE)](a, b, c)

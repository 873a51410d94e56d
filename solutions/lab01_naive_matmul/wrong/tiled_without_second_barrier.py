# fails: works_in_any_order; hint: missing_barrier
import numpy as np
from numba import cuda, float32

TILE = 32


@cuda.jit
def matmul_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        tile_a[y, x] = 0
        tile_b[y, x] = 0
        if row < m and phase * TILE + x < k:
            tile_a[y, x] = a[row, phase * TILE + x]
        if phase * TILE + y < k and col < n:
            tile_b[y, x] = b[phase * TILE + y, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
    if row < m and col < n:
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_kernel[grid, (TILE, TILE)](a, b, c)

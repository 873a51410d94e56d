# fails: right_on_ragged_matrices; hint: idle_threads_work_too
import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    row = min(row, m - 1)
    col = min(col, n - 1)
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if phase * TILE + x < k:
            tile_a[y, x] = a[row, phase * TILE + x]
        else:
            tile_a[y, x] = 0
        if phase * TILE + y < k:
            tile_b[y, x] = b[phase * TILE + y, col]
        else:
            tile_b[y, x] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

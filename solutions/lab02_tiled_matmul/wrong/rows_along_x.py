# fails: fills_its_tiles_row_by_row, meets_no_bank_conflicts; hint: rows_along_x
import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    row, col = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if row < m and phase * TILE + y < k:
            tile_a[x, y] = a[row, phase * TILE + y]
        else:
            tile_a[x, y] = 0
        if phase * TILE + x < k and col < n:
            tile_b[x, y] = b[phase * TILE + x, col]
        else:
            tile_b[x, y] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[x, i] * tile_b[i, y]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((m + TILE - 1) // TILE, (n + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

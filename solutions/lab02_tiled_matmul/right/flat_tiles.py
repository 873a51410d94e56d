# Tiles of 16 x 16 in flat shared arrays, indexed by hand.
import numpy as np
from numba import cuda, float32

TILE = 16
AREA = TILE * TILE


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array(AREA, float32)
    tile_b = cuda.shared.array(AREA, float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if row < m and phase * TILE + x < k:
            tile_a[y * TILE + x] = a[row, phase * TILE + x]
        else:
            tile_a[y * TILE + x] = 0
        if phase * TILE + y < k and col < n:
            tile_b[y * TILE + x] = b[phase * TILE + y, col]
        else:
            tile_b[y * TILE + x] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

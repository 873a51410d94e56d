# fails: faster_than_one_thread_an_element; hint: inner_loop_too_long
import numpy as np
from numba import cuda, float32

TILE = 32
WIDTH = TILE + 1


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, WIDTH), float32)
    tile_b = cuda.shared.array((TILE, WIDTH), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    col = cuda.blockIdx.x * TILE + x
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


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

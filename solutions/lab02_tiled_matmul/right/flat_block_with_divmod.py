# A 1-D block of 256 threads; each finds its place in the tile by division.
import math

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    y, x = divmod(cuda.threadIdx.x, TILE)
    row = cuda.blockIdx.y * TILE + y
    col = cuda.blockIdx.x * TILE + x
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[row, start + x] if row < a.shape[0] and start + x < a.shape[1] else float32(0)
        tile_b[y, x] = b[start + y, col] if start + y < b.shape[0] and col < b.shape[1] else float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def matmul_tiled(a, b, c):
    grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
    matmul_tiled_kernel[grid, TILE * TILE](a, b, c)

# fails: loads_each_tile_once; hint: none
import math

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    col = cuda.blockIdx.x * TILE + x
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        if x == 0:  # the first thread of a row fetches for all 16
            for i in range(TILE):
                tile_a[y, i] = float32(0)
                if row < a.shape[0] and start + i < a.shape[1]:
                    tile_a[y, i] = a[row, start + i]
                tile_b[y, i] = float32(0)
                if start + y < b.shape[0] and cuda.blockIdx.x * TILE + i < b.shape[1]:
                    tile_b[y, i] = b[start + y, cuda.blockIdx.x * TILE + i]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def matmul_tiled(a, b, c):
    grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

# fails: right_on_whole_tiles; hint: only_the_first_phase
import math

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
    tile_a[y, x] = a[row, x]
    tile_b[y, x] = b[y, col]
    cuda.syncthreads()
    total = np.float32(0)
    for i in range(TILE):
        total += tile_a[y, i] * tile_b[i, x]
    c[row, col] = total


def matmul_tiled(a, b, c):
    rows, columns = c.shape
    grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

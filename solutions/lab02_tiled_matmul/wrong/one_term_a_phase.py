# fails: loads_each_tile_once; hint: none
import math

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    column = cuda.shared.array(TILE, float32)
    line = cuda.shared.array(TILE, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    col = cuda.blockIdx.x * TILE + x
    total = np.float32(0)
    for i in range(a.shape[1]):  # a phase for every term: 16 numbers of each matrix
        if x == 0:
            column[y] = a[row, i] if row < a.shape[0] else float32(0)
        if y == 0:
            line[x] = b[i, col] if col < b.shape[1] else float32(0)
        cuda.syncthreads()
        total += column[y] * line[x]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def matmul_tiled(a, b, c):
    grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

# fails: loads_each_tile_once; hint: no_tiles
import numpy as np
from numba import cuda


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        i = 0
        while i < a.shape[1]:
            total += a[row, i] * b[i, col]
            i += 1
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    matmul_tiled_kernel[((n + 31) // 32, (m + 31) // 32), (32, 32)](a, b, c)

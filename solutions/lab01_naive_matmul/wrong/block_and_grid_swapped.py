# fails: right_on_a_larger_product; hint: block_and_grid_swapped
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    threads_per_block = (16, 16)
    blocks = (math.ceil(n / 16), math.ceil(m / 16))
    matmul_kernel[threads_per_block, blocks](a, b, c)

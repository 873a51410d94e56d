import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    i = 0
    total = np.float32(0)
    if row < c.shape[0] and col < c.shape[1]:
        while i < a.shape[1]:
            total += a[row, i] * b[i, col]
        i += 1
        c[row, col] = total


def matmul(a, b, c):
    block = (16, 16)
    grid = (math.ceil(c.shape[1] / block[0]), math.ceil(c.shape[0] / block[1]))
    matmul_kernel[grid, block](a, b, c)

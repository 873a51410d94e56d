import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        acc = np.float16(0)
        for i in range(a.shape[1]):
            acc = np.float16(acc + np.float16(a[row, i] * b[i, col]))
        c[row, col] = acc


def matmul(a, b, c):
    block = (32, 8)
    grid = (math.ceil(c.shape[1] / block[0]), math.ceil(c.shape[0] / block[1]))
    matmul_kernel[grid, block](a, b, c)

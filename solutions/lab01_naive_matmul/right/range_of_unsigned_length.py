# A for over a range that cannot be negative.
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(np.uint32(a.shape[1])):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    block = (32, 4)
    matmul_kernel[(math.ceil(c.shape[1] / block[0]), math.ceil(c.shape[0] / block[1])), block](a, b, c)

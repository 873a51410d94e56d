# fails: right_on_tiny_matrices; hint: empty_launch
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
    # no more threads than half the matrix, so that small matrices still give several blocks
    threads_x = min(16, n // 2)
    threads_y = min(16, m // 2)
    grid = (math.ceil(n / threads_x), math.ceil(m / threads_y))
    matmul_kernel[grid, (threads_x, threads_y)](a, b, c)

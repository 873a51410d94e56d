# A counter that cannot be negative, in blocks of 32 x 32.
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row >= c.shape[0] or col >= c.shape[1]:
        return
    total = np.float32(0)
    i, end = np.uint32(0), np.uint32(a.shape[1])
    while i < end:
        total += a[row, i] * b[i, col]
        i += np.uint32(1)
    c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    matmul_kernel[((n + 31) // 32, (m + 31) // 32), (32, 32)](a, b, c)

# Four steps at a time, then the rest.
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        k = a.shape[1]
        total = np.float32(0)
        for i in range(0, k - 3, 4):
            total += a[row, i] * b[i, col] + a[row, i + 1] * b[i + 1, col]
            total += a[row, i + 2] * b[i + 2, col] + a[row, i + 3] * b[i + 3, col]
        for i in range(k - k % 4, k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (64, 4)
    grid = ((n + 63) // 64, (m + 3) // 4)
    matmul_kernel[grid, block](a, b, c)

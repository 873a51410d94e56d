# fails: right_on_ragged_matrices, right_on_tiny_matrices; hint: skips_the_remainder
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        # four steps at a time
        for step in range(a.shape[1] // 4):
            i = 4 * step
            total += a[row, i] * b[i, col]
            total += a[row, i + 1] * b[i + 1, col]
            total += a[row, i + 2] * b[i + 2, col]
            total += a[row, i + 3] * b[i + 3, col]
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + 15) // 16, (m + 15) // 16)
    matmul_kernel[grid, block](a, b, c)

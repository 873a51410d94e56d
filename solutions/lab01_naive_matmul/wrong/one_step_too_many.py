# fails: right_on_square_matrices; hint: off_by_one_loop
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        i = 0
        while i <= a.shape[1]:
            total += a[row, i] * b[i, col]
            i += 1
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + 15) // 16, (m + 15) // 16)
    matmul_kernel[grid, block](a, b, c)

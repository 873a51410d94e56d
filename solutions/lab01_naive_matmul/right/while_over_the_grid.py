# Loops over the grid's stride, and a while for the sum.
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    first_col, row = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    while row < c.shape[0]:
        col = first_col
        while col < c.shape[1]:
            total = np.float32(0)
            i = 0
            while i < a.shape[1]:
                total += a[row, i] * b[i, col]
                i += 1
            c[row, col] = total
            col += step_x
        row += step_y


def matmul(a, b, c):
    m, n = c.shape
    block = (32, 8)
    grid = (min(32, (n + 31) // 32), min(64, (m + 7) // 8))
    matmul_kernel[grid, block](a, b, c)

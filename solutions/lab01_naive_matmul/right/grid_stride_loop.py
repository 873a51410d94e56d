# No guard: the loops over the grid's stride end at the matrix's edge.
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    first_col, first_row = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for row in range(first_row, c.shape[0], step_y):
        for col in range(first_col, c.shape[1], step_x):
            total = np.float32(0)
            for i in range(a.shape[1]):
                total += a[row, i] * b[i, col]
            c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (32, 8)
    grid = (min(32, (n + 31) // 32), min(64, (m + 7) // 8))
    matmul_kernel[grid, block](a, b, c)

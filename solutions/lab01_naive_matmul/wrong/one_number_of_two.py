# fails: right_on_square_matrices; hint: one_number_of_two
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    i = cuda.grid(1)
    row = i // c.shape[1]
    col = i % c.shape[1]
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for j in range(a.shape[1]):
            total += a[row, j] * b[j, col]
        c[row, col] = total


def matmul(a, b, c):
    rows, columns = c.shape
    block = (16, 16)
    grid = (math.ceil(columns / block[0]), math.ceil(rows / block[1]))
    matmul_kernel[grid, block](a, b, c)

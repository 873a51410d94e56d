# fails: stays_inside_its_arrays; hint: negative_index
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i - 1] * b[i - 1, col]
        c[row, col] = total


def matmul(a, b, c):
    block = (16, 16)
    grid = ((c.shape[1] + 15) // 16, (c.shape[0] + 15) // 16)
    matmul_kernel[grid, block](a, b, c)

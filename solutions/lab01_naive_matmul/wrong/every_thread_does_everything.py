# fails: shares_out_the_work; hint: every_thread_does_everything
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    for row in range(c.shape[0]):
        for col in range(c.shape[1]):
            total = np.float32(0)
            for i in range(a.shape[1]):
                total += a[row, i] * b[i, col]
            c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + 15) // 16, (m + 15) // 16)
    matmul_kernel[grid, block](a, b, c)

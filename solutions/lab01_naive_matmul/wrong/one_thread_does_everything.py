# fails: shares_out_the_work; hint: one_thread_does_everything
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    m, n = c.shape
    for row in range(m):
        for col in range(n):
            total = np.float32(0)
            for i in range(a.shape[1]):
                total += a[row, i] * b[i, col]
            c[row, col] = total


def matmul(a, b, c):
    matmul_kernel[1, 1](a, b, c)

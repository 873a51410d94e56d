# fails: right_on_square_matrices; hint: writes_its_input
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.grid(1)
    if row < c.shape[0]:
        for col in range(c.shape[1]):
            total = np.float32(0)
            for i in range(a.shape[1]):
                a[row, i] = a[row, i] * b[i, col]
                total += a[row, i]
            c[row, col] = total


def matmul(a, b, c):
    m = c.shape[0]
    matmul_kernel[(m + 63) // 64, 64](a, b, c)

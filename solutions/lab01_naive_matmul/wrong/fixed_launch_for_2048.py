# fails: right_on_a_larger_product; hint: fixed_launch
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


def matmul(a, b, c):
    matmul_kernel[(128, 128), (16, 16)](a, b, c)  # 2,048 rows and columns

# fails: stays_inside_its_arrays; hint: square_only
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    n = a.shape[0]
    col, row = cuda.grid(2)
    if row < n and col < n:
        total = np.float32(0)
        for i in range(n):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    n = a.shape[0]
    blocks = math.ceil(n / 16)
    matmul_kernel[(blocks, blocks), (16, 16)](a, b, c)

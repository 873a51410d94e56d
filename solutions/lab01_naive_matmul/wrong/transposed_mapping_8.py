# fails: walks_along_the_rows_of_b; hint: transposed_mapping
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    col = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    block = (8, 8)
    grid = (math.ceil(c.shape[0] / block[0]), math.ceil(c.shape[1] / block[1]))
    matmul_kernel[grid, block](a, b, c)

# fails: walks_along_the_rows_of_b, writes_every_element; hint: block_dim_of_the_other_axis
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    matmul_kernel[(math.ceil(n / 32), math.ceil(m / 8)), (32, 8)](a, b, c)

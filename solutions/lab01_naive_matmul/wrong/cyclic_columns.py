# fails: faster_than_the_baseline, walks_along_the_rows_of_b; hint: loads_far_apart
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x  # dealt out like cards
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    matmul_kernel[(math.ceil(c.shape[1] / 16), math.ceil(c.shape[0] / 16)), (16, 16)](a, b, c)

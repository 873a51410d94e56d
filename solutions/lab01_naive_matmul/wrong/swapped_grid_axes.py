# fails: writes_every_element; hint: swapped_grid_axes
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    block = (16, 16)
    blocks_rows = math.ceil(c.shape[0] / 16)
    blocks_cols = math.ceil(c.shape[1] / 16)
    matmul_kernel[(blocks_rows, blocks_cols), block](a, b, c)

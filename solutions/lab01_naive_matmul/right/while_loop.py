# A while loop, and two of the conditions that a guard can be made of.
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.blockDim.y * cuda.blockIdx.y + cuda.threadIdx.y
    col = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    if not (row < c.shape[0]):
        return
    if col < c.shape[1]:
        i, total = 0, np.float32(0)
        while i < a.shape[1]:
            total += a[row, i] * b[i, col]
            i += 1
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + block[0] - 1) // block[0], (m + block[1] - 1) // block[1])
    matmul_kernel[grid, block](a, b, c)

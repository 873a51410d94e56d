# fails: stays_inside_its_arrays; hint: missing_guard
import numpy as np
from numba import cuda

TPB = 16


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = np.float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    grid = ((n + TPB - 1) // TPB, (m + TPB - 1) // TPB)
    matmul_kernel[grid, (TPB, TPB)](a, b, c)

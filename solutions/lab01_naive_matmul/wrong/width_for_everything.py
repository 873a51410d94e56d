# fails: stays_inside_its_arrays; hint: square_only
import numpy as np
from numba import cuda

BLOCK = 16


@cuda.jit
def matmul_kernel(a, b, c):
    width = a.shape[1]
    row = cuda.blockIdx.y * BLOCK + cuda.threadIdx.y
    col = cuda.blockIdx.x * BLOCK + cuda.threadIdx.x
    if row < width and col < width:
        p_value = np.float32(0)
        for k in range(width):
            p_value += a[row, k] * b[k, col]
        c[row, col] = p_value


def matmul(a, b, c):
    width = a.shape[1]
    blocks = (width + BLOCK - 1) // BLOCK
    matmul_kernel[(blocks, blocks), (BLOCK, BLOCK)](a, b, c)

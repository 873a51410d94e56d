# fails: faster_than_the_baseline; hint: one_thread_a_block
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.blockIdx.y
    col = cuda.blockIdx.x
    total = np.float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    matmul_kernel[(n, m), 1](a, b, c)

# fails: walks_along_the_rows_of_b, faster_than_the_baseline; hint: transposed_mapping
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    index = cuda.grid(1)
    m, n = c.shape
    if index < m * n:
        col = index // m
        row = index % m
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    matmul_kernel[(m * n + 255) // 256, 256](a, b, c)

# fails: right_on_square_matrices; hint: swapped_indices
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    x, y = cuda.grid(2)
    if x < c.shape[1] and y < c.shape[0]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[x, i] * b[i, y]
        c[y, x] = total


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + 15) // 16, (m + 15) // 16)
    matmul_kernel[grid, block](a, b, c)

# fails: stays_inside_its_arrays; hint: reads_past_the_end
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        left = a[row, 0]
        above = b[0, col]
        for i in range(a.shape[1]):
            total += left * above
            # fetch the next pair while the product is on its way
            left = a[row, i + 1]
            above = b[i + 1, col]
        c[row, col] = total


def matmul(a, b, c):
    m, n = c.shape
    matmul_kernel[((n + 15) // 16, (m + 15) // 16), (16, 16)](a, b, c)

# fails: walks_along_the_rows_of_b, faster_than_the_baseline; hint: loads_far_apart
import math

import numpy as np
from numba import cuda


@cuda.jit
def turn_kernel(b, turned):
    col, row = cuda.grid(2)
    if row < b.shape[0] and col < b.shape[1]:
        turned[col, row] = b[row, col]


@cuda.jit
def matmul_kernel(a, turned, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * turned[col, i]  # neighbours in memory for one thread, and far apart for a warp
        c[row, col] = total


def matmul(a, b, c):
    k, n = b.shape
    turned = cuda.device_array((n, k), np.float32)
    block = (16, 16)
    turn_kernel[(math.ceil(n / 16), math.ceil(k / 16)), block](b, turned)
    matmul_kernel[(math.ceil(n / 16), math.ceil(a.shape[0] / 16)), block](a, turned, c)

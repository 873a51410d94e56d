# fails: writes_every_element; hint: idle_threads_work_too
import math

import numpy as np
from numba import cuda

BLOCK = 16


@cuda.jit
def matmul_kernel(a, b, c):
    x, y = cuda.grid(2)
    row = min(y, c.shape[0] - 1)
    col = min(x, c.shape[1] - 1)
    total = np.float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


def matmul(a, b, c):
    rows, columns = c.shape
    matmul_kernel[(math.ceil(columns / BLOCK), math.ceil(rows / BLOCK)), (BLOCK, BLOCK)](a, b, c)

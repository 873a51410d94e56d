import math
import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    x, y = cuda.grid(2)
    if x < c.shape[1] and y < c.shape[0]:
        sum = np.float32(0)
        for i in range(a.shape[1] - 1):
            sum += a[y, i] * b[i, x]
        c[y, x] = sum


def matmul(a, b, c):
    threads = (32, 4)
    blocks = (math.ceil(c.shape[1] / threads[0]), math.ceil(c.shape[0] / threads[1]))
    matmul_kernel[blocks, threads](a, b, c)

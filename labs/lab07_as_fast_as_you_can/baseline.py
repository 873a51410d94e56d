"""What speed is compared with where no library is: lab 2's answer, tiles of 32 x 32 and one element of C a thread.

Next to a library's recorded time stands this kernel's (cublas.py), which makes a share of the library's speed of
a ratio to this one.
"""

import math

import numpy as np
from numba import cuda, float32

TILE = 32


@cuda.jit
def matmul_fast_kernel(a, b, c):
    of_a = cuda.shared.array((TILE, TILE), float32)
    of_b = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if row < m and phase * TILE + x < k:
            of_a[y, x] = a[row, phase * TILE + x]
        else:
            of_a[y, x] = 0
        if phase * TILE + y < k and col < n:
            of_b[y, x] = b[phase * TILE + y, col]
        else:
            of_b[y, x] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += of_a[y, i] * of_b[i, x]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


def matmul_fast(a, b, c):
    grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
    matmul_fast_kernel[grid, (TILE, TILE)](a, b, c)

# fails: spends_its_instructions_on_multiplying, as_fast_as_it_gets, as_fast_with_edges; hint: signed_indices
import math

import numpy as np
from numba import cuda, float32


@cuda.jit
def matmul_fast_kernel(a, b, c):
    strip = cuda.shared.array((8, 16), float32)
    sums = cuda.local.array(16, float32)
    t = cuda.threadIdx.x
    column = cuda.blockIdx.x * 128 + t
    first_row = cuda.blockIdx.y * 16
    m, n = c.shape
    k = a.shape[1]
    for i in range(16):
        sums[i] = 0
    for start in range(0, k, 8):
        row, of_a = first_row + t // 8, start + t % 8
        strip[t % 8, t // 8] = a[row, of_a] if row < m and of_a < k else float32(0)
        cuda.syncthreads()
        for term in range(8):
            right = b[start + term, column] if start + term < k and column < n else float32(0)
            for i in range(16):
                sums[i] += strip[term, i] * right
        cuda.syncthreads()
    for i in range(16):
        if first_row + i < m and column < n:
            c[first_row + i, column] = sums[i]


def matmul_fast(a, b, c):
    grid = (math.ceil(c.shape[1] / 128), math.ceil(c.shape[0] / 16))
    matmul_fast_kernel[grid, 128](a, b, c)

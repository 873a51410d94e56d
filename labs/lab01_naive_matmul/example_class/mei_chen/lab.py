"""Lab 1, with shared memory because I had read ahead."""

import numpy as np
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_kernel(a, b, c):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col = cuda.blockIdx.x * T + tx
    row = cuda.blockIdx.y * T + ty
    acc = np.float32(0)
    for t in range((a.shape[1] + T - 1) // T):
        if row < a.shape[0] and t * T + tx < a.shape[1]:
            sa[ty, tx] = a[row, t * T + tx]
        else:
            sa[ty, tx] = 0
        if t * T + ty < b.shape[0] and col < b.shape[1]:
            sb[ty, tx] = b[t * T + ty, col]
        else:
            sb[ty, tx] = 0
        cuda.syncthreads()
        for i in range(T):
            acc += sa[ty, i] * sb[i, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = acc


def matmul(a, b, c):
    grid = ((c.shape[1] + T - 1) // T, (c.shape[0] + T - 1) // T)
    matmul_kernel[grid, (T, T)](a, b, c)

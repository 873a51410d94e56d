from numba import cuda
import numpy as np

@cuda.jit
def matmul_kernel(a, b, c):
    row, col = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    if row < m and col < n:
        tmp = np.float32(0.)
        for i in range(k):
            tmp += a[row, i] * b[i, col]
        c[row, col] = tmp

def matmul(a, b, c):
    threadsperblock = (16, 16)
    blockspergrid_x = (c.shape[0] + threadsperblock[0] - 1) // threadsperblock[0]
    blockspergrid_y = (c.shape[1] + threadsperblock[1] - 1) // threadsperblock[1]
    blockspergrid = (blockspergrid_x, blockspergrid_y)
    matmul_kernel[blockspergrid, threadsperblock](a, b, c)

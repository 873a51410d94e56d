# fails: walks_along_the_rows_of_b, faster_than_the_baseline; hint: transposed_mapping
import numpy as np
from numba import cuda

B = 32


@cuda.jit
def matmul_kernel(a, b, c):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if i >= c.shape[0] or j >= c.shape[1]:
        return
    dot = np.float32(0)
    for k in range(a.shape[1]):
        dot += a[i, k] * b[k, j]
    c[i, j] = dot


def matmul(a, b, c):
    m, n = c.shape
    matmul_kernel[((m + B - 1) // B, (n + B - 1) // B), (B, B)](a, b, c)

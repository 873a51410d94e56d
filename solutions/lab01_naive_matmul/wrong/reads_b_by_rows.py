# fails: right_on_square_matrices; hint: swapped_indices
import math

from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    row = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
    col = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    rows, cols = c.shape
    if row < rows and col < cols:
        tmp = 0.0
        for k in range(a.shape[1]):
            tmp += a[row, k] * b[col, k]
        c[row, col] = tmp


def matmul(a, b, c):
    rows, cols = c.shape
    tpb = (16, 16)
    bpg = (math.ceil(cols / tpb[0]), math.ceil(rows / tpb[1]))
    matmul_kernel[bpg, tpb](a, b, c)

# fails: right_on_square_matrices; hint: elementwise_product
import math

from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = a[row, col] * b[row, col]


def matmul(a, b, c):
    block = (16, 16)
    grid = (math.ceil(c.shape[1] / 16), math.ceil(c.shape[0] / 16))
    matmul_kernel[grid, block](a, b, c)

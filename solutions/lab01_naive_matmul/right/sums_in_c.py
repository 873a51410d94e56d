# Sums up in C itself, after setting it to zero.
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = 0
        i = 0
        while i < a.shape[1]:
            c[row, col] += a[row, i] * b[i, col]
            i += 1


def matmul(a, b, c):
    m, n = c.shape
    block = (16, 16)
    grid = ((n + block[0] - 1) // block[0], (m + block[1] - 1) // block[1])
    matmul_kernel[grid, block](a, b, c)

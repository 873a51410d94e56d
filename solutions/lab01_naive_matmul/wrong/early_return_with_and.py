# fails: stays_inside_its_arrays; hint: guard_with_or
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    m, n = c.shape
    x, y = cuda.grid(2)
    # nothing to do outside the matrix
    if y >= m and x >= n:
        return
    s = 0.0
    for i in range(a.shape[1]):
        s += a[y, i] * b[i, x]
    c[y, x] = s


def matmul(a, b, c):
    m, n = c.shape
    threads = (32, 8)
    blocks = (-(-n // threads[0]), -(-m // threads[1]))
    matmul_kernel[blocks, threads](a, b, c)

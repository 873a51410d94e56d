# fails: stays_inside_its_arrays; hint: whole_rows_in_shared_memory
import numpy as np
from numba import cuda, float32

TILE = 16
LONGEST = 256  # terms of a sum: whole rows of a and columns of b at once


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, LONGEST), float32)
    tile_b = cuda.shared.array((LONGEST, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for i in range(x, k, TILE):
        tile_a[y, i] = a[row, i] if row < m else float32(0)
    for i in range(y, k, TILE):
        tile_b[i, x] = b[i, col] if col < n else float32(0)
    cuda.syncthreads()
    for i in range(k):
        total += tile_a[y, i] * tile_b[i, x]
    if row < m and col < n:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

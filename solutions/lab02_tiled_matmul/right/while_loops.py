# All loops are written with while; the inner one has a constant end.
import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    start = 0
    while start < k:
        tile_a[y, x] = a[row, start + x] if row < m and start + x < k else float32(0)
        tile_b[y, x] = b[start + y, col] if start + y < k and col < n else float32(0)
        cuda.syncthreads()
        i = 0
        while i < TILE:
            total += tile_a[y, i] * tile_b[i, x]
            i += 1
        cuda.syncthreads()
        start += TILE
    if row < m and col < n:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

# Both tiles in one dynamic shared array, whose size the launch says. Right, and not fast on an H200: where such an array
# begins the compiler cannot know, so that it loads neighbours one by one and not four at a time.
import numpy as np
from numba import cuda, float32

TILE = 16
AREA = TILE * TILE


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tiles = cuda.shared.array(0, float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if row < m and phase * TILE + x < k:
            tiles[y * TILE + x] = a[row, phase * TILE + x]
        else:
            tiles[y * TILE + x] = 0
        if phase * TILE + y < k and col < n:
            tiles[AREA + y * TILE + x] = b[phase * TILE + y, col]
        else:
            tiles[AREA + y * TILE + x] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tiles[y * TILE + i] * tiles[AREA + i * TILE + x]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE), 0, 2 * 4 * AREA](a, b, c)

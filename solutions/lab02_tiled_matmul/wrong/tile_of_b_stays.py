# fails: right_on_whole_tiles; hint: one_tile_stays
import math

from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        else:
            a_tile[y, x] = 0
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[y, column]
        else:
            b_tile[y, x] = 0
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def matmul_tiled(a, b, c):
    grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

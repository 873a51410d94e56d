# Two pairs of tiles in turn: one barrier a phase is enough.
import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tiles_a = cuda.shared.array((2, TILE, TILE), float32)
    tiles_b = cuda.shared.array((2, TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        turn = phase % 2
        in_row = phase * TILE + x
        in_col = phase * TILE + y
        tiles_a[turn, y, x] = 0
        tiles_b[turn, y, x] = 0
        if row < m and in_row < k:
            tiles_a[turn, y, x] = a[row, in_row]
        if in_col < k and col < n:
            tiles_b[turn, y, x] = b[in_col, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tiles_a[turn, y, i] * tiles_b[turn, i, x]
    if row < m and col < n:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)

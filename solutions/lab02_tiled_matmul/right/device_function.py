# Filling a tile is a device function of its own, called for A and for B.
import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit(device=True)
def fill(tile, matrix, first_row, first_col):
    row = first_row + cuda.threadIdx.y
    col = first_col + cuda.threadIdx.x
    inside = row < matrix.shape[0] and col < matrix.shape[1]
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = matrix[row, col] if inside else float32(0)


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    block_row = cuda.blockIdx.y * TILE
    block_col = cuda.blockIdx.x * TILE
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        fill(tile_a, a, block_row, start)
        fill(tile_b, b, start, block_col)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[cuda.threadIdx.y, i] * tile_b[i, cuda.threadIdx.x]
        cuda.syncthreads()
    row = block_row + cuda.threadIdx.y
    col = block_col + cuda.threadIdx.x
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def blocks_for(size):
    return (size + TILE - 1) // TILE


def matmul_tiled(a, b, c):
    matmul_tiled_kernel[(blocks_for(c.shape[1]), blocks_for(c.shape[0])), (TILE, TILE)](a, b, c)

# The matrices are copied into padded ones first, so that the kernel with the tiles needs no guard but the last.
import math

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def pad_kernel(given, padded):
    col, row = cuda.grid(2)
    if row < given.shape[0] and col < given.shape[1]:
        padded[row, col] = given[row, col]
    elif row < padded.shape[0] and col < padded.shape[1]:
        padded[row, col] = np.float32(0)


@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for phase in range(a.shape[1] // TILE):
        tile_a[y, x] = a[row, phase * TILE + x]
        tile_b[y, x] = b[phase * TILE + y, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def padded_copy(given):
    rows, columns = (math.ceil(side / TILE) for side in given.shape)
    padded = cuda.device_array((rows * TILE, columns * TILE), np.float32)
    pad_kernel[(columns, rows), (TILE, TILE)](given, padded)
    return padded


def matmul_tiled(a, b, c):
    grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
    matmul_tiled_kernel[grid, (TILE, TILE)](padded_copy(a), padded_copy(b), c)

# A, B and C have padded copies: no kernel that multiplies has a guard, and a last one takes C out of its copy.
import math

import numpy as np
from numba import cuda, float32

TILE = 32


@cuda.jit
def pad_kernel(given, padded):
    col, row = cuda.grid(2)
    if row < given.shape[0] and col < given.shape[1]:
        padded[row, col] = given[row, col]
    else:
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
    c[row, col] = total


@cuda.jit
def take_out_kernel(padded, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = padded[row, col]


def matmul_tiled(a, b, c):
    block = (TILE, TILE)
    m, k, n = (math.ceil(side / TILE) for side in (a.shape[0], a.shape[1], b.shape[1]))
    padded_a = cuda.device_array((m * TILE, k * TILE), np.float32)
    padded_b = cuda.device_array((k * TILE, n * TILE), np.float32)
    padded_c = cuda.device_array((m * TILE, n * TILE), np.float32)
    pad_kernel[(k, m), block](a, padded_a)
    pad_kernel[(n, k), block](b, padded_b)
    matmul_tiled_kernel[(n, m), block](padded_a, padded_b, padded_c)
    take_out_kernel[(n, m), block](padded_c, c)

import math

import numpy as np
from numba import cuda, float32

TILE = 32
PADDED = TILE + 1
THREADS = 256
HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit
def transpose_kernel(a, b):
    tile = cuda.shared.array((TILE, PADDED), float32)
    rows, columns = a.shape
    tiles_across = (columns + TILE - 1) // TILE
    top = cuda.blockIdx.x // tiles_across * TILE
    left = cuda.blockIdx.x % tiles_across * TILE
    x = cuda.threadIdx.x % TILE
    first = cuda.threadIdx.x // TILE
    for y in range(first, TILE, THREADS // TILE):
        if top + y < rows and left + x < columns:
            tile[y, x] = a[top + y, left + x]
    cuda.syncthreads()
    for y in range(first, TILE, THREADS // TILE):
        if left + y < columns and top + x < rows:
            b[left + y, top + x] = tile[x, y]


def transpose(a, b):
    tiles = math.ceil(a.shape[0] / TILE) * math.ceil(a.shape[1] / TILE)
    transpose_kernel[tiles, THREADS](a, b)


@cuda.jit
def fall_kernel(by_field, dt):
    i = cuda.grid(1)
    if i < by_field.shape[1]:
        speed = by_field[SPEED, i] - GRAVITY * dt
        by_field[SPEED, i] = speed
        by_field[HEIGHT, i] += speed * dt


def fall(points, scratch, dt, steps):
    count = points.shape[0]
    transpose(points, scratch)
    for _ in range(steps):
        fall_kernel[math.ceil(count / 256), 256](scratch, np.float32(dt))
    transpose(scratch, points)

import math

import numpy as np
from numba import cuda, float32

TILE = 32
PADDED = TILE + 1
STRIP = 8
HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit(device=True)
def lies_in(matrix, row, col):
    return row < matrix.shape[0] and col < matrix.shape[1]


@cuda.jit(device=True)
def fill(tile, matrix, top, left):
    x = cuda.threadIdx.x
    for y in range(cuda.threadIdx.y, TILE, STRIP):
        if lies_in(matrix, top + y, left + x):
            tile[y, x] = matrix[top + y, left + x]


@cuda.jit(device=True)
def empty_turned(tile, matrix, top, left):
    x = cuda.threadIdx.x
    for y in range(cuda.threadIdx.y, TILE, STRIP):
        if lies_in(matrix, top + y, left + x):
            matrix[top + y, left + x] = tile[x, y]


@cuda.jit
def transpose_kernel(a, b):
    tile = cuda.shared.array((TILE, PADDED), float32)
    down = cuda.blockIdx.y * TILE
    across = cuda.blockIdx.x * TILE
    fill(tile, a, down, across)
    cuda.syncthreads()
    empty_turned(tile, b, across, down)


def transpose(a, b):
    rows, columns = a.shape
    grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))
    transpose_kernel[grid, (TILE, STRIP)](a, b)


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

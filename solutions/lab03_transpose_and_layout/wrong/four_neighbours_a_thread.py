# fails: loads_whole_sectors, stores_whole_sectors; hint: none
import math

import numpy as np
from numba import cuda, float32

TILE = 32
PADDED = TILE + 1
STRIP = 8
HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit
def transpose_kernel(a, b):
    tile = cuda.shared.array((TILE, PADDED), float32)
    rows, columns = a.shape
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    x = 4 * cuda.threadIdx.x  # a thread takes four neighbours, one after the other
    y = cuda.threadIdx.y
    for j in range(4):
        if top + y < rows and left + x + j < columns:
            tile[y, x + j] = a[top + y, left + x + j]
    cuda.syncthreads()
    for j in range(4):
        if left + y < columns and top + x + j < rows:
            b[left + y, top + x + j] = tile[x + j, y]


def transpose(a, b):
    rows, columns = a.shape
    grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))
    transpose_kernel[grid, (TILE // 4, TILE)](a, b)


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

# fails: lets_every_point_fall; hint: last_points_left_out
import math

import numpy as np
from numba import cuda, float32

TILE = 32
PADDED = TILE + 1
HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit
def transpose_kernel(a, b):
    tile = cuda.shared.array((TILE, PADDED), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    rows, columns = a.shape
    row = cuda.blockIdx.y * TILE + y
    col = cuda.blockIdx.x * TILE + x
    if row < rows and col < columns:
        tile[y, x] = a[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + y
    col = cuda.blockIdx.y * TILE + x
    if row < columns and col < rows:
        b[row, col] = tile[x, y]


def transpose(a, b):
    rows, columns = a.shape
    grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))
    transpose_kernel[grid, (TILE, TILE)](a, b)


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
        fall_kernel[math.ceil(count / 257), 256](scratch, np.float32(dt))
    transpose(scratch, points)

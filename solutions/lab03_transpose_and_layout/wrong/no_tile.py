# fails: stores_whole_sectors; hint: no_tile
import math

import numpy as np
from numba import cuda

BLOCK = (32, 8)
HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit
def transpose_kernel(a, b):
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        b[col, row] = a[row, col]


def transpose(a, b):
    rows, columns = a.shape
    grid = (math.ceil(columns / BLOCK[0]), math.ceil(rows / BLOCK[1]))
    transpose_kernel[grid, BLOCK](a, b)


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

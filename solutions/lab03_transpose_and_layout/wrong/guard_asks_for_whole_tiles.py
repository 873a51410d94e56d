# fails: right_on_any_size; hint: only_whole_tiles_loaded
import math

import numpy as np
from numba import cuda, float32

HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit
def transpose_kernel(a, b):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for j in range(0, 32, 8):
        if row + 32 <= a.shape[0] and column + 32 <= a.shape[1]:
            tile[y + j, x] = a[row + y + j, column + x]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        if column + y + j < b.shape[0] and row + x < b.shape[1]:
            b[column + y + j, row + x] = tile[x, y + j]


def transpose(a, b):
    grid = (math.ceil(a.shape[1] / 32), math.ceil(a.shape[0] / 32))
    transpose_kernel[grid, (32, 8)](a, b)


@cuda.jit
def fall_kernel(points, dt):
    i = cuda.grid(1)
    if i < points.shape[1]:
        speed = points[SPEED, i] - GRAVITY * dt
        points[SPEED, i] = speed
        points[HEIGHT, i] += speed * dt


def fall(points, scratch, dt, steps):
    transpose(points, scratch)
    for _ in range(steps):
        fall_kernel[math.ceil(points.shape[0] / 256), 256](scratch, np.float32(dt))
    transpose(scratch, points)

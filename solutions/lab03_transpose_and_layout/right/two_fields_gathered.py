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
    x = cuda.threadIdx.x
    left = cuda.blockIdx.x * TILE
    top = cuda.blockIdx.y * TILE
    rows, columns = a.shape
    for y in range(cuda.threadIdx.y, TILE, STRIP):
        if top + y < rows and left + x < columns:
            tile[y, x] = a[top + y, left + x]
    cuda.syncthreads()
    for y in range(cuda.threadIdx.y, TILE, STRIP):
        if left + y < columns and top + x < rows:
            b[left + y, top + x] = tile[x, y]


def transpose(a, b):
    rows, columns = a.shape
    grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))
    transpose_kernel[grid, (TILE, STRIP)](a, b)


@cuda.jit
def fall_kernel(heights, speeds, dt):
    i = cuda.grid(1)
    if i < heights.size:
        speed = speeds[i] - GRAVITY * dt
        speeds[i] = speed
        heights[i] += speed * dt


@cuda.jit
def copy_kernel(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


def copy(source, target):
    copy_kernel[math.ceil(source.size / 256), 256](source, target)


def fall(points, dt, steps):
    count = points.shape[0]
    heights = cuda.device_array(count, np.float32)
    speeds = cuda.device_array(count, np.float32)
    copy(points[:, HEIGHT], heights)
    copy(points[:, SPEED], speeds)
    for _ in range(steps):
        fall_kernel[math.ceil(count / 256), 256](heights, speeds, np.float32(dt))
    copy(heights, points[:, HEIGHT])
    copy(speeds, points[:, SPEED])

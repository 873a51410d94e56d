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
def fall_kernel(height, speed, dt):
    i = cuda.grid(1)
    if i < height.shape[0]:
        faster = speed[i] - GRAVITY * dt
        speed[i] = faster
        height[i] += faster * dt


def fall(points, scratch, dt, steps):
    blocks = math.ceil(points.shape[0] / 256)
    transpose(points, scratch)
    for _ in range(steps):
        fall_kernel[blocks, 256](scratch[HEIGHT], scratch[SPEED], np.float32(dt))
    transpose(scratch, points)

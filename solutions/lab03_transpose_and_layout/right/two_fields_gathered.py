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
def gather_kernel(points, gathered):
    i = cuda.grid(1)
    if i < points.shape[0]:
        gathered[0, i] = points[i, HEIGHT]
        gathered[1, i] = points[i, SPEED]


@cuda.jit
def fall_kernel(gathered, dt):
    i = cuda.grid(1)
    if i < gathered.shape[1]:
        speed = gathered[1, i] - GRAVITY * dt
        gathered[1, i] = speed
        gathered[0, i] += speed * dt


@cuda.jit
def scatter_kernel(gathered, points):
    i = cuda.grid(1)
    if i < points.shape[0]:
        points[i, HEIGHT] = gathered[0, i]
        points[i, SPEED] = gathered[1, i]


def fall(points, scratch, dt, steps):
    count = points.shape[0]
    blocks = math.ceil(count / 256)
    gather_kernel[blocks, 256](points, scratch)
    for _ in range(steps):
        fall_kernel[blocks, 256](scratch, np.float32(dt))
    scatter_kernel[blocks, 256](scratch, points)

# fails: lets_every_point_fall; hint: nothing_falls
import math

import numpy as np
from numba import cuda, float32


TILE = 32
PADDED = TILE + 1
STRIP = 8


@cuda.jit
def transpose_kernel(a, b):
    tile = cuda.shared.array((TILE, PADDED), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    left = cuda.blockIdx.x * TILE
    top = cuda.blockIdx.y * TILE
    rows, columns = a.shape
    for strip in range(0, TILE, STRIP):
        if top + y + strip < rows and left + x < columns:
            tile[y + strip, x] = a[top + y + strip, left + x]
    cuda.syncthreads()
    for strip in range(0, TILE, STRIP):
        if left + y + strip < columns and top + x < rows:
            b[left + y + strip, top + x] = tile[x, y + strip]


def transpose(a, b):
    rows, columns = a.shape
    grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))
    transpose_kernel[grid, (TILE, STRIP)](a, b)


HEIGHT, SPEED = 2, 5
GRAVITY = np.float32(9.81)


@cuda.jit
def fall_kernel(points, dt):
    i = cuda.grid(1)
    if i < points.shape[1]:
        speed = points[SPEED, i] - GRAVITY * dt
        points[SPEED, i] = speed
        points[HEIGHT, i] += speed * dt


def fall(points, scratch, dt, steps):
    blocks = math.ceil(points.shape[0] / 256)
    transpose(points, scratch)
    for _ in range(steps):
        fall_kernel[blocks, 256](scratch, int(dt))
    transpose(scratch, points)

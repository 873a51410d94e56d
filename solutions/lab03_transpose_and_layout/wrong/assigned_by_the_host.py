# fails: right_on_whole_tiles; hint: moved_by_the_host
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
    b[:] = a.T


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
        fall_kernel[blocks, 256](scratch, np.float32(dt))
    transpose(scratch, points)

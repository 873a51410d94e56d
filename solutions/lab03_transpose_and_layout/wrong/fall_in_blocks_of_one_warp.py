# fails: faster_over_many_steps; hint: small_blocks_for_many_points
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
        fall_kernel[math.ceil(count / 32), 32](scratch, np.float32(dt))
    transpose(scratch, points)

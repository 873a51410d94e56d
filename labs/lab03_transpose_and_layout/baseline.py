"""What speed is compared with: a transpose whose stores go down the columns, and points left as structures.

Both are right, and both are what one writes first. Each of the transpose's store requests moves 32 sectors for 128 bytes;
each step of `fall` moves all eight fields of a point and uses two.
"""

import math

import numpy as np
from numba import cuda

BLOCK = (32, 8)
THREADS = 256
GRAVITY = np.float32(9.81)
HEIGHT, SPEED = 2, 5


@cuda.jit
def transpose_kernel(a, b):
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        b[col, row] = a[row, col]


def transpose(a, b):
    rows, columns = a.shape
    transpose_kernel[(math.ceil(columns / BLOCK[0]), math.ceil(rows / BLOCK[1])), BLOCK](a, b)


@cuda.jit
def fall_kernel(points, dt):
    i = cuda.grid(1)
    if i < points.shape[0]:
        speed = points[i, SPEED] - GRAVITY * dt
        points[i, SPEED] = speed
        points[i, HEIGHT] += speed * dt


def fall(points, scratch, dt, steps):
    for _ in range(steps):
        fall_kernel[math.ceil(points.shape[0] / THREADS), THREADS](points, np.float32(dt))

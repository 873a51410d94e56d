"""Lesson 3's kernels as they are measured: copies and transposes, strides and offsets, sums of rows and columns, layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda


@cuda.jit
def transpose(x, out):
    column, row = cuda.grid(2)
    out[column, row] = x[row, column]


@cuda.jit
def transpose_by_columns(x, out):
    column, row = cuda.grid(2)
    out[row, column] = x[column, row]


def through_tile(width: int) -> Any:
    """The lesson's transpose: 32 x 32 threads, a tile of 32 rows of `width` elements."""

    @cuda.jit
    def turned(x, out):
        tile = cuda.shared.array((32, width), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        first_row, first_column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x
        tile[ty, tx] = x[first_row + ty, first_column + tx]
        cuda.syncthreads()
        out[first_column + ty, first_row + tx] = tile[tx, ty]

    return turned


def four_each(width: int) -> Any:
    """The same with 32 x 8 threads, each of which moves four elements."""

    @cuda.jit
    def turned_by_four(x, out):
        tile = cuda.shared.array((32, width), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        first_row, first_column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x
        for j in range(0, 32, 8):
            tile[ty + j, tx] = x[first_row + ty + j, first_column + tx]
        cuda.syncthreads()
        for j in range(0, 32, 8):
            out[first_column + ty + j, first_row + tx] = tile[tx, ty + j]

    return turned_by_four


@cuda.jit
def copy_four(x, out):
    column, row = cuda.grid(1), 32 * cuda.blockIdx.y + cuda.threadIdx.y
    for j in range(0, 32, 8):
        out[row + j, column] = x[row + j, column]


@cuda.jit
def copy_four_loads_first(x, out):
    column, row = cuda.grid(1), 32 * cuda.blockIdx.y + cuda.threadIdx.y
    first, second = x[row, column], x[row + 8, column]
    third, fourth = x[row + 16, column], x[row + 24, column]
    out[row, column], out[row + 8, column] = first, second
    out[row + 16, column], out[row + 24, column] = third, fourth


@cuda.jit
def transpose_four(x, out):
    column, row = cuda.grid(1), 32 * cuda.blockIdx.y + cuda.threadIdx.y
    for j in range(0, 32, 8):
        out[column, row + j] = x[row + j, column]


@cuda.jit
def by_columns_four(x, out):
    column, row = cuda.grid(1), 32 * cuda.blockIdx.y + cuda.threadIdx.y
    for j in range(0, 32, 8):
        out[row + j, column] = x[column, row + j]


@cuda.jit
def knobs(x, out, stride, offset):
    i, threads = cuda.grid(1), cuda.gridsize(1)
    total = np.float32(0)
    for part in range(8):
        total += x[(part * threads + i) * stride + offset]
    out[i] = total


@cuda.jit
def knobs_of_a_store(x, out, stride, offset):
    i, threads = cuda.grid(1), cuda.gridsize(1)
    value = x[i]
    for part in range(8):
        out[(part * threads + i) * stride + offset] = value


@cuda.jit
def fill(x):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] = 1


@cuda.jit
def sum_columns(x, out):
    column = cuda.grid(1)
    total = np.float32(0)
    for row in range(x.shape[0]):
        total += x[row, column]
    out[column] = total


@cuda.jit
def sum_columns_while(x, out):
    column, row = cuda.grid(1), 0
    total = np.float32(0)
    while row < x.shape[0]:
        total += x[row, column]
        row += 1
    out[column] = total


@cuda.jit
def sum_rows(x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for column in range(x.shape[1]):
        total += x[row, column]
    out[row] = total


def sum_rows_through_tile(width: int) -> Any:
    """Blocks of 32 threads and as many rows; a tile of `width` columns is filled row by row, then each takes its row."""

    @cuda.jit
    def turned_sums(x, out):
        tile = cuda.shared.array((32, width), np.float32)
        t = cuda.threadIdx.x
        first = 32 * cuda.blockIdx.x
        total = np.float32(0)
        for start in range(0, x.shape[1], 32):
            for r in range(32):
                tile[r, t] = x[first + r, start + t]
            cuda.syncthreads()
            for k in range(32):
                total += tile[t, k]
            cuda.syncthreads()
        out[first + t] = total

    return turned_sums


@cuda.jit
def weigh_structures(p):
    i = cuda.grid(1)
    p[i].mass *= np.float32(0.5)


@cuda.jit
def halve_structures(p):
    i = cuda.grid(1)
    p[i].x *= np.float32(0.5)
    p[i].y *= np.float32(0.5)
    p[i].z *= np.float32(0.5)
    p[i].mass *= np.float32(0.5)


@cuda.jit
def halve_rows(p):
    i = cuda.grid(1)
    for field in range(4):
        p[i, field] *= np.float32(0.5)


@cuda.jit
def halve_columns(p):
    i = cuda.grid(1)
    for field in range(4):
        p[field, i] *= np.float32(0.5)

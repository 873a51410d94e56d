"""Lesson 2's kernels as they are measured: without tiles, with tiles of any width, one that is held up by its inner
loop, and with either barrier, both or neither."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda


@cuda.jit
def naive(a, b, c):
    """Lesson 1's kernel, x along the columns."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total


def tiled_with(tile: int) -> Any:
    """The lesson's kernel for tiles of `tile` x `tile`."""

    @cuda.jit
    def tiled(a, b, c):
        a_tile = cuda.shared.array((tile, tile), np.float32)
        b_tile = cuda.shared.array((tile, tile), np.float32)
        column, row = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = np.float32(0)
        for start in range(0, a.shape[1], tile):
            if row < a.shape[0] and start + x < a.shape[1]:
                a_tile[y, x] = a[row, start + x]
            else:
                a_tile[y, x] = 0
            if start + y < b.shape[0] and column < b.shape[1]:
                b_tile[y, x] = b[start + y, column]
            else:
                b_tile[y, x] = 0
            cuda.syncthreads()
            for k in range(tile):
                total += a_tile[y, k] * b_tile[k, x]
            cuda.syncthreads()
        if row < c.shape[0] and column < c.shape[1]:
            c[row, column] = total

    return tiled


@cuda.jit
def tiled_without_zeros(a, b, c):
    """Tiles of 16, of which only the terms that exist are multiplied: how many, the compiler cannot know."""
    a_tile = cuda.shared.array((16, 16), np.float32)
    b_tile = cuda.shared.array((16, 16), np.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, a.shape[1], 16):
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        else:
            a_tile[y, x] = 0
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        else:
            b_tile[y, x] = 0
        cuda.syncthreads()
        for k in range(min(16, a.shape[1] - start)):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def with_barriers(first: bool, second: bool) -> Any:
    """Tiles of 16 for sizes that 16 divides, with either barrier, both, or neither."""

    @cuda.jit
    def barriers(a, b, c):
        a_tile = cuda.shared.array((16, 16), np.float32)
        b_tile = cuda.shared.array((16, 16), np.float32)
        column, row = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = np.float32(0)
        for start in range(0, a.shape[1], 16):
            a_tile[y, x] = a[row, start + x]
            b_tile[y, x] = b[start + y, column]
            if first:
                cuda.syncthreads()
            for k in range(16):
                total += a_tile[y, k] * b_tile[k, x]
            if second:
                cuda.syncthreads()
        c[row, column] = total

    return barriers

"""Lesson 2's kernels as they are measured: tiles of any width, and with either barrier, both or neither."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda


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

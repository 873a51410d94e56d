"""Lesson 8's ladder: a matrix multiply in pure numba.cuda, each rung the one before with one idea more.

C = A B in float32, row by row in memory. All rungs but `any_size` take sizes that their tiles divide. From `flat` on, a
kernel takes its matrices as one-dimensional arrays and their sizes as np.uint32: c (m x n) = a (m x depth) b (depth x n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.lesson02.kernels import naive, tiled_with
from autograder.kernels import matmul_columns

u = np.uint32
ZERO = np.float32(0)

SIDE = 128  # rows and columns of C that a block computes
DEPTH = 8  # columns of A, rows of B that it holds in shared memory
OWN = 8  # rows and columns of C whose sums a thread keeps in registers
SUMS = OWN * OWN
THREADS = 256  # SIDE * SIDE / (OWN * OWN)
EACH = DEPTH * SIDE // THREADS  # elements of A's tile, and of B's, that a thread fetches
WIDE = SIDE + 4  # of A's tile, transposed: four more, so that a column's elements lie in different banks
TILE_OF_A, TILE_OF_B = DEPTH * WIDE, DEPTH * SIDE
TWO_OF_A, TWO_OF_B = 2 * TILE_OF_A, 2 * TILE_OF_B


@cuda.jit
def strips(a, b, c):
    """The paper's Fig. 2 (after Volkov and Demmel), rows for its columns: a thread keeps 16 sums of one column of C.

    Blocks of 128 threads compute 16 rows x 128 columns. Only A goes through shared memory: all threads read it.
    """
    strip = cuda.shared.array((8, 16), np.float32)
    sums = cuda.local.array(16, np.float32)
    t = cuda.threadIdx.x
    column = cuda.blockIdx.x * 128 + t
    first_row = cuda.blockIdx.y * 16
    for i in range(16):
        sums[i] = 0
    for start in range(0, a.shape[1], 8):
        strip[t % 8, t // 8] = a[first_row + t // 8, start + t % 8]
        cuda.syncthreads()
        for k in range(8):
            right = b[start + k, column]
            for i in range(16):
                sums[i] += strip[k, i] * right
        cuda.syncthreads()
    for i in range(16):
        c[first_row + i, column] = sums[i]


@cuda.jit
def squares(a, b, c):
    """A thread keeps the sums of 8 x 8 elements: 16 numbers from shared memory for 64 multiply-adds."""
    a_tile = cuda.shared.array((DEPTH, SIDE), np.float32)  # transposed
    b_tile = cuda.shared.array((DEPTH, SIDE), np.float32)
    sums = cuda.local.array((OWN, OWN), np.float32)
    t = cuda.threadIdx.x
    y, x = t // 16 * OWN, t % 16 * OWN
    first_row, first_column = cuda.blockIdx.y * SIDE, cuda.blockIdx.x * SIDE
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    for start in range(0, a.shape[1], DEPTH):
        for i in range(EACH):
            e = t + THREADS * i
            a_tile[e % DEPTH, e // DEPTH] = a[first_row + e // DEPTH, start + e % DEPTH]
            b_tile[e // SIDE, e % SIDE] = b[start + e // SIDE, first_column + e % SIDE]
        cuda.syncthreads()
        for k in range(DEPTH):
            for i in range(OWN):
                for j in range(OWN):
                    sums[i, j] += a_tile[k, y + i] * b_tile[k, x + j]
        cuda.syncthreads()
    for i in range(OWN):
        for j in range(OWN):
            c[first_row + y + i, first_column + x + j] = sums[i, j]


@cuda.jit
def unsigned(a, b, c):
    """`squares` with indices that cannot be negative: no test for a wrap-around, and one address serves many loads."""
    a_tile = cuda.shared.array((DEPTH, SIDE), np.float32)
    b_tile = cuda.shared.array((DEPTH, SIDE), np.float32)
    sums = cuda.local.array((OWN, OWN), np.float32)
    t = u(cuda.threadIdx.x)
    y, x = t // u(16) * u(OWN), t % u(16) * u(OWN)
    first_row, first_column = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    start = u(0)
    while start < u(a.shape[1]):
        for i in range(EACH):
            e = t + u(THREADS * i)
            a_tile[e % u(DEPTH), e // u(DEPTH)] = a[first_row + e // u(DEPTH), start + e % u(DEPTH)]
            b_tile[e // u(SIDE), e % u(SIDE)] = b[start + e // u(SIDE), first_column + e % u(SIDE)]
        cuda.syncthreads()
        for k in range(DEPTH):
            for i in range(OWN):
                for j in range(OWN):
                    sums[i, j] += a_tile[u(k), y + u(i)] * b_tile[u(k), x + u(j)]
        cuda.syncthreads()
        start += u(DEPTH)
    for i in range(OWN):
        for j in range(OWN):
            c[first_row + y + u(i), first_column + x + u(j)] = sums[i, j]


@cuda.jit
def spread(a, b, c):
    """`unsigned` without bank conflicts: a warp computes 64 x 32 elements, a thread in it four squares of 4 x 4."""
    a_tile = cuda.shared.array((DEPTH, WIDE), np.float32)
    b_tile = cuda.shared.array((DEPTH, SIDE), np.float32)
    sums = cuda.local.array((OWN, OWN), np.float32)
    t = u(cuda.threadIdx.x)
    warp, lane = t // u(32), t % u(32)
    y = warp // u(4) * u(64) + lane // u(4) * u(4)
    x = warp % u(4) * u(32) + lane % u(4) * u(4)
    first_row, first_column = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    start = u(0)
    while start < u(a.shape[1]):
        for i in range(EACH):
            e = t + u(THREADS * i)
            a_tile[e % u(DEPTH), e // u(DEPTH)] = a[first_row + e // u(DEPTH), start + e % u(DEPTH)]
            b_tile[e // u(SIDE), e % u(SIDE)] = b[start + e // u(SIDE), first_column + e % u(SIDE)]
        cuda.syncthreads()
        multiply(a_tile, b_tile, y, x, sums)
        cuda.syncthreads()
        start += u(DEPTH)
    for i in range(OWN):
        for j in range(OWN):
            c[first_row + y + u(i // 4 * 32 + i % 4), first_column + x + u(j // 4 * 16 + j % 4)] = sums[i, j]


@cuda.jit(device=True)
def multiply(a_tile, b_tile, y, x, sums):
    """Adds a pair of tiles' products to a thread's sums: rows y to y + 3 and 32 below, columns likewise and 16 apart."""
    for k in range(DEPTH):
        for i in range(OWN):
            for j in range(OWN):
                sums[i, j] += a_tile[u(k), y + u(i // 4 * 32 + i % 4)] * b_tile[u(k), x + u(j // 4 * 16 + j % 4)]


@cuda.jit
def ahead(a, b, c):
    """`spread` with two pairs of tiles: the next one is on its way while this one is multiplied. One barrier a tile."""
    a_tiles = cuda.shared.array((2, DEPTH, WIDE), np.float32)
    b_tiles = cuda.shared.array((2, DEPTH, SIDE), np.float32)
    sums = cuda.local.array((OWN, OWN), np.float32)
    next_a = cuda.local.array(EACH, np.float32)
    next_b = cuda.local.array(EACH, np.float32)
    t = u(cuda.threadIdx.x)
    warp, lane = t // u(32), t % u(32)
    y = warp // u(4) * u(64) + lane // u(4) * u(4)
    x = warp % u(4) * u(32) + lane % u(4) * u(4)
    first_row, first_column = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0
    for i in range(EACH):
        e = t + u(THREADS * i)
        a_tiles[0, e % u(DEPTH), e // u(DEPTH)] = a[first_row + e // u(DEPTH), e % u(DEPTH)]
        b_tiles[0, e // u(SIDE), e % u(SIDE)] = b[e // u(SIDE), first_column + e % u(SIDE)]
    cuda.syncthreads()
    now = u(0)
    start = u(DEPTH)
    while start < u(a.shape[1]):
        for i in range(EACH):
            e = t + u(THREADS * i)
            next_a[i] = a[first_row + e // u(DEPTH), start + e % u(DEPTH)]
            next_b[i] = b[start + e // u(SIDE), first_column + e % u(SIDE)]
        multiply(a_tiles[now], b_tiles[now], y, x, sums)
        now = now ^ u(1)
        for i in range(EACH):
            e = t + u(THREADS * i)
            a_tiles[now, e % u(DEPTH), e // u(DEPTH)] = next_a[i]
            b_tiles[now, e // u(SIDE), e % u(SIDE)] = next_b[i]
        cuda.syncthreads()
        start += u(DEPTH)
    multiply(a_tiles[now], b_tiles[now], y, x, sums)
    for i in range(OWN):
        for j in range(OWN):
            c[first_row + y + u(i // 4 * 32 + i % 4), first_column + x + u(j // 4 * 16 + j % 4)] = sums[i, j]


@cuda.jit
def flat(a, b, c, m, depth, n):
    """`ahead` on one-dimensional arrays: where a thread reads and writes is worked out once and then counted on."""
    a_tiles = cuda.shared.array(TWO_OF_A, np.float32)
    b_tiles = cuda.shared.array(TWO_OF_B, np.float32)
    sums = cuda.local.array(SUMS, np.float32)
    next_a = cuda.local.array(EACH, np.float32)
    next_b = cuda.local.array(EACH, np.float32)
    t = u(cuda.threadIdx.x)
    warp, lane = t // u(32), t % u(32)
    y = warp // u(4) * u(64) + lane // u(4) * u(4)
    x = warp % u(4) * u(32) + lane % u(4) * u(4)
    first_row, first_column = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    for i in range(SUMS):
        sums[i] = 0
    from_a = (first_row + t // u(DEPTH)) * depth + t % u(DEPTH)
    from_b = t // u(SIDE) * n + first_column + t % u(SIDE)
    into_a = t % u(DEPTH) * u(WIDE) + t // u(DEPTH)
    for i in range(EACH):
        a_tiles[into_a + u(32 * i)] = a[from_a + u(32 * i) * depth]
        b_tiles[t + u(THREADS * i)] = b[from_b + u(2 * i) * n]
    cuda.syncthreads()
    now = u(0)
    start = u(DEPTH)
    while start < depth:
        from_a += u(DEPTH)
        from_b += u(DEPTH) * n
        for i in range(EACH):
            next_a[i] = a[from_a + u(32 * i) * depth]
            next_b[i] = b[from_b + u(2 * i) * n]
        multiply_flat(a_tiles, b_tiles, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
        now = now ^ u(1)
        for i in range(EACH):
            a_tiles[into_a + u(32 * i) + now * u(TILE_OF_A)] = next_a[i]
            b_tiles[t + u(THREADS * i) + now * u(TILE_OF_B)] = next_b[i]
        cuda.syncthreads()
        start += u(DEPTH)
    multiply_flat(a_tiles, b_tiles, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
    for i in range(OWN):
        for j in range(OWN):
            row, column = first_row + y + u(i // 4 * 32 + i % 4), first_column + x + u(j // 4 * 16 + j % 4)
            c[row * n + column] = sums[i * OWN + j]


@cuda.jit(device=True)
def multiply_flat(a_tiles, b_tiles, y, x, sums):
    """`multiply` where y and x are places in one-dimensional arrays."""
    for k in range(DEPTH):
        step(u(k), a_tiles, b_tiles, y, x, sums)


@cuda.jit(device=True)
def step(k, a_tiles, b_tiles, y, x, sums):
    """Adds the products of one column of A's tile with one row of B's."""
    for i in range(OWN):
        left = a_tiles[y + k * u(WIDE) + u(i // 4 * 32 + i % 4)]
        for j in range(OWN):
            sums[i * OWN + j] += left * b_tiles[x + k * u(SIDE) + u(j // 4 * 16 + j % 4)]


def written_out(
    rows: int = SIDE, columns: int = SIDE, depth: int = DEPTH, own_columns: int = OWN, any_size: bool = False
) -> Any:
    """`flat` with a line for each step in place of a loop over them: its 64 multiply-adds, then the next 64.

    A block computes `rows` x `columns` elements of C from tiles of `depth` (8 or 16) columns of A and rows of B; a thread
    keeps 8 x `own_columns` (4 or 8) sums. For `any_size`, rows and columns that do not exist are not written, and beyond
    the last column of A zeros are multiplied.
    """
    warps_across = columns // (4 * own_columns)  # each computes 64 rows of C
    threads = rows // 64 * warps_across * 32
    a_rows, b_rows = threads // depth, threads // columns  # that all threads fetch at once
    each_a, each_b = rows // a_rows, depth // b_rows
    wide = rows + 4
    tile_of_a, tile_of_b = depth * wide, depth * columns
    two_of_a, two_of_b, sums_of_a_thread = 2 * tile_of_a, 2 * tile_of_b, OWN * own_columns

    @cuda.jit(device=True)
    def step(k, a_tiles, b_tiles, y, x, sums):
        for i in range(OWN):
            left = a_tiles[y + k * u(wide) + u(i // 4 * 32 + i % 4)]
            for j in range(own_columns):
                sums[i * own_columns + j] += left * b_tiles[x + k * u(columns) + u(j // 4 * 16 + j % 4)]

    @cuda.jit(device=True)
    def eight_steps(k, a_tiles, b_tiles, y, x, sums):
        step(k, a_tiles, b_tiles, y, x, sums)
        step(k + u(1), a_tiles, b_tiles, y, x, sums)
        step(k + u(2), a_tiles, b_tiles, y, x, sums)
        step(k + u(3), a_tiles, b_tiles, y, x, sums)
        step(k + u(4), a_tiles, b_tiles, y, x, sums)
        step(k + u(5), a_tiles, b_tiles, y, x, sums)
        step(k + u(6), a_tiles, b_tiles, y, x, sums)
        step(k + u(7), a_tiles, b_tiles, y, x, sums)

    @cuda.jit
    def product(a, b, c, m, depth_of_a, n):
        a_tiles = cuda.shared.array(two_of_a, np.float32)
        b_tiles = cuda.shared.array(two_of_b, np.float32)
        sums = cuda.local.array(sums_of_a_thread, np.float32)
        next_a = cuda.local.array(each_a, np.float32)
        next_b = cuda.local.array(each_b, np.float32)
        from_a = cuda.local.array(each_a, np.uint32)
        t = u(cuda.threadIdx.x)
        warp, lane = t // u(32), t % u(32)
        y = warp // u(warps_across) * u(64) + lane // u(4) * u(4)
        x = warp % u(warps_across) * u(4 * own_columns) + lane % u(4) * u(4)
        first_row, first_column = u(cuda.blockIdx.y) * u(rows), u(cuda.blockIdx.x) * u(columns)
        for i in range(sums_of_a_thread):
            sums[i] = 0
        k_of_a, k_of_b = t % u(depth), t // u(columns)
        into_a = k_of_a * u(wide) + t // u(depth)
        column = first_column + t % u(columns)
        if any_size:  # an element in the last row or column for one that does not exist
            for i in range(each_a):
                from_a[i] = min(first_row + t // u(depth) + u(a_rows * i), m - u(1)) * depth_of_a + k_of_a
            column = min(column, n - u(1))
        first_of_a = (first_row + t // u(depth)) * depth_of_a + k_of_a
        from_b = k_of_b * n + column
        for i in range(each_a):
            place = from_a[i] if any_size else first_of_a + u(a_rows * i) * depth_of_a
            a_tiles[into_a + u(a_rows * i)] = ZERO if any_size and k_of_a >= depth_of_a else a[place]
        for i in range(each_b):
            outside = any_size and k_of_b + u(b_rows * i) >= depth_of_a
            b_tiles[t + u(threads * i)] = ZERO if outside else b[from_b + u(b_rows * i) * n]
        cuda.syncthreads()
        now = u(0)
        start = u(depth)
        while start < depth_of_a:
            from_b += u(depth) * n
            for i in range(each_a):
                place = from_a[i] if any_size else first_of_a + u(a_rows * i) * depth_of_a
                next_a[i] = ZERO if any_size and start + k_of_a >= depth_of_a else a[place + start]
            for i in range(each_b):
                outside = any_size and start + k_of_b + u(b_rows * i) >= depth_of_a
                next_b[i] = ZERO if outside else b[from_b + u(b_rows * i) * n]
            eight_steps(u(0), a_tiles, b_tiles, y + now * u(tile_of_a), x + now * u(tile_of_b), sums)
            if depth == 16:
                eight_steps(u(8), a_tiles, b_tiles, y + now * u(tile_of_a), x + now * u(tile_of_b), sums)
            now = now ^ u(1)
            for i in range(each_a):
                a_tiles[into_a + u(a_rows * i) + now * u(tile_of_a)] = next_a[i]
            for i in range(each_b):
                b_tiles[t + u(threads * i) + now * u(tile_of_b)] = next_b[i]
            cuda.syncthreads()
            start += u(depth)
        for k in range(depth):
            step(u(k), a_tiles, b_tiles, y + now * u(tile_of_a), x + now * u(tile_of_b), sums)
        for i in range(OWN):
            row = first_row + y + u(i // 4 * 32 + i % 4)
            for j in range(own_columns):
                column = first_column + x + u(j // 4 * 16 + j % 4)
                if not any_size or (row < m and column < n):
                    c[row * n + column] = sums[i * own_columns + j]

    return product


@cuda.jit(device=True)
def small_step(k, a_tile, b_tile, y, x, left, right, sums):
    """Adds the products of one column of A's tile with one row of B's to a thread's 4 x 8 sums."""
    for i in range(4):
        left[i] = a_tile[k, y + u(i)]
    for j in range(8):
        right[j] = b_tile[k, x + u(j // 4 * 16 + j % 4)]
    for i in range(4):
        for j in range(8):
            sums[i, j] += left[i] * right[j]


@cuda.jit
def small_tiles(a, b, c):
    """For matrices of few tiles: 64 x 64 elements a block of 128 threads, 4 x 8 a thread, tiles 16 deep, steps written out.

    Indices of two and three dimensions, as in `ahead`: with `flat`'s, ptxas keeps fewer registers and loads later, and the
    kernel takes 1.4 times as long.
    """
    a_tiles = cuda.shared.array((2, 16, 68), np.float32)
    b_tiles = cuda.shared.array((2, 16, 64), np.float32)
    sums = cuda.local.array((4, 8), np.float32)
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = u(cuda.threadIdx.x)
    warp, lane = t // u(32), t % u(32)
    y = warp // u(2) * u(32) + lane // u(4) * u(4)
    x = warp % u(2) * u(32) + lane % u(4) * u(4)
    first_row, first_column = u(cuda.blockIdx.y) * u(64), u(cuda.blockIdx.x) * u(64)
    depth = u(a.shape[1])
    for i in range(4):
        for j in range(8):
            sums[i, j] = 0
    row, k = t // u(16), t % u(16)
    for i in range(8):
        a_tiles[0, k, row + u(8 * i)] = a[first_row + row + u(8 * i), k]
    for i in range(8):
        e = t + u(128 * i)
        b_tiles[0, e // u(64), e % u(64)] = b[e // u(64), first_column + e % u(64)]
    cuda.syncthreads()
    now = u(0)
    start = u(16)
    while start < depth:
        for i in range(8):
            next_a[i] = a[first_row + row + u(8 * i), start + k]
        for i in range(8):
            e = t + u(128 * i)
            next_b[i] = b[start + e // u(64), first_column + e % u(64)]
        small_step(u(0), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(1), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(2), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(3), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(4), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(5), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(6), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(7), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(8), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(9), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(10), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(11), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(12), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(13), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(14), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        small_step(u(15), a_tiles[now], b_tiles[now], y, x, left, right, sums)
        now = now ^ u(1)
        for i in range(8):
            a_tiles[now, k, row + u(8 * i)] = next_a[i]
        for i in range(8):
            e = t + u(128 * i)
            b_tiles[now, e // u(64), e % u(64)] = next_b[i]
        cuda.syncthreads()
        start += u(16)
    for kk in range(16):
        small_step(u(kk), a_tiles[now], b_tiles[now], y, x, left, right, sums)
    for i in range(4):
        for j in range(8):
            c[first_row + y + u(i), first_column + x + u(j // 4 * 16 + j % 4)] = sums[i, j]


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder: what is new in it, and how it is launched on matrices whose sides its tiles divide."""

    name: str
    idea: str
    kernel: Any
    tile: tuple[int, int]  # rows and columns of C that a block computes
    block: int | tuple[int, int]
    is_flat: bool = False

    def launch(self, a: Any, b: Any, c: Any) -> None:
        """c = a b; device arrays of two dimensions, float32, row by row in memory. Returns before the GPU is done."""
        m, n = c.shape
        grid = (-(-n // self.tile[1]), -(-m // self.tile[0]))
        if self.is_flat:
            self.kernel[grid, self.block](*(each.reshape(-1) for each in (a, b, c)), u(m), u(a.shape[1]), u(n))
        else:
            self.kernel[grid, self.block](a, b, c)


def _flat(name: str, idea: str, *, rows: int = SIDE, columns: int = SIDE, own_columns: int = OWN, **more: Any) -> Rung:
    kernel = written_out(rows, columns, own_columns=own_columns, **more)
    return Rung(name, idea, kernel, (rows, columns), rows * columns // (OWN * own_columns), is_flat=True)


WHOLE = (SIDE, SIDE)
LADDER = (
    Rung("one element, `for`", "lesson 1 as most people write it", matmul_columns, (32, 32), (32, 32)),
    Rung("one element, `while`", "a loop that costs less", naive, (32, 32), (32, 32)),
    Rung("tiles", "lesson 2: tiles of 32 x 32 in shared memory", tiled_with(32), (32, 32), (32, 32)),
    Rung("strips", "16 sums a thread, in registers (the paper's Fig. 2)", strips, (16, 128), 128),
    Rung("squares", "8 x 8 sums a thread: both operands used eight times", squares, WHOLE, THREADS),
    Rung("unsigned", "indices that cannot be negative", unsigned, WHOLE, THREADS),
    Rung("spread", "no two lanes in one bank", spread, WHOLE, THREADS),
    Rung("ahead", "the next tiles on their way while these are multiplied", ahead, WHOLE, THREADS),
    Rung("flat", "one-dimensional arrays, places counted on", flat, WHOLE, THREADS, is_flat=True),
    _flat("written out", "a line for each step of the inner loop"),
    _flat("deep", "tiles of 16 columns of A", depth=16),
)
"""From the first lesson to the limit, for square matrices of multiples of 128."""
SMALL = Rung("small tiles", "64 x 64, for matrices of few tiles", small_tiles, (64, 64), 128)
ANY_SIZE = _flat("any size", "edges", depth=16, any_size=True)
SMALL_ANY_SIZE = _flat(
    "small tiles, any size", "edges", rows=64, columns=64, own_columns=4, depth=16, any_size=True
)


def best_for(m: int, n: int, depth: int) -> Rung:
    """The rung that takes these sizes in the least time on an H200 (measured: notebooks/data/ladder_h200.json)."""
    is_small = m * n < 132 * 2 * SIDE * SIDE / 2  # the large tiles would leave half of its multiprocessors idle
    if is_small:
        return SMALL if m % 64 == n % 64 == depth % 16 == 0 else SMALL_ANY_SIZE
    return LADDER[-1] if m % SIDE == n % SIDE == depth % 16 == 0 else ANY_SIZE

# fails: asks_global_memory_seldom, spends_its_instructions_on_multiplying, as_fast_as_it_gets, as_fast_with_edges; hint: signed_indices
# Four outputs a thread, one above the other, in plain variables: each b is used four times.
import numpy as np
from numba import cuda, float32

TILE = 16
HEIGHT = 4  # rows of threads in a block: each thread computes every fourth row of its tile


@cuda.jit
def matmul_fast_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + x
    first_row = cuda.blockIdx.y * TILE
    m, n = c.shape
    k = a.shape[1]
    zero = np.float32(0)
    total_0, total_1, total_2, total_3 = zero, zero, zero, zero
    for start in range(0, k, TILE):
        for step in range(0, TILE, HEIGHT):  # of constant length, so that the compiler unrolls it
            j = y + step
            tile_a[j, x] = a[first_row + j, start + x] if first_row + j < m and start + x < k else zero
            tile_b[j, x] = b[start + j, col] if start + j < k and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            from_b = tile_b[i, x]
            total_0 += tile_a[y, i] * from_b
            total_1 += tile_a[y + HEIGHT, i] * from_b
            total_2 += tile_a[y + 2 * HEIGHT, i] * from_b
            total_3 += tile_a[y + 3 * HEIGHT, i] * from_b
        cuda.syncthreads()
    row = first_row + y
    if col < n:
        if row < m:
            c[row, col] = total_0
        if row + HEIGHT < m:
            c[row + HEIGHT, col] = total_1
        if row + 2 * HEIGHT < m:
            c[row + 2 * HEIGHT, col] = total_2
        if row + 3 * HEIGHT < m:
            c[row + 3 * HEIGHT, col] = total_3


def matmul_fast(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_fast_kernel[grid, (TILE, HEIGHT)](a, b, c)

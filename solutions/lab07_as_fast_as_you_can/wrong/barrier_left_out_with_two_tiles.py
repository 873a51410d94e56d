# fails: keeps_its_threads_in_order; hint: read_before_it_was_filled
import math

import numpy as np
from numba import cuda, float32

SIDE = 128  # rows and columns of c that a block computes
DEEP = 16  # columns of a, and rows of b, that it holds at a time
OWN = 8  # rows and columns of c that a thread computes: two groups of four each way
SUMS = OWN * OWN
THREADS = 256
EACH = SIDE * DEEP // THREADS  # numbers of a tile that a thread fetches
ROWS_OF_A = THREADS // DEEP  # that all threads fetch at once
ROWS_OF_B = THREADS // SIDE
WIDE = SIDE + 4  # of a's tile, which lies transposed: a column's numbers in different banks
TILE_OF_A = DEEP * WIDE
TILE_OF_B = DEEP * SIDE
BOTH_OF_A = 2 * TILE_OF_A
BOTH_OF_B = 2 * TILE_OF_B
u = np.uint32
ZERO = np.float32(0)


@cuda.jit(device=True)
def one_term(term, tiles_of_a, tiles_of_b, y, x, sums):
    """Adds one term to each of a thread's 64 sums: 16 numbers from shared memory."""
    for i in range(OWN):
        left = tiles_of_a[y + term * u(WIDE) + u(i // 4 * 32 + i % 4)]
        for j in range(OWN):
            sums[i * OWN + j] += left * tiles_of_b[x + term * u(SIDE) + u(j // 4 * 16 + j % 4)]


@cuda.jit(device=True)
def eight_terms(term, tiles_of_a, tiles_of_b, y, x, sums):
    """A line for each, so that the compiler can move their loads ahead."""
    one_term(term, tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(1), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(2), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(3), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(4), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(5), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(6), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + u(7), tiles_of_a, tiles_of_b, y, x, sums)


@cuda.jit
def matmul_fast_kernel(a, b, c, m, k, n):
    """c = a b, row by row in one-dimensional arrays, where all tiles are whole."""
    tiles_of_a = cuda.shared.array(BOTH_OF_A, float32)
    tiles_of_b = cuda.shared.array(BOTH_OF_B, float32)
    sums = cuda.local.array(SUMS, float32)
    next_a = cuda.local.array(EACH, float32)
    next_b = cuda.local.array(EACH, float32)
    t = u(cuda.threadIdx.x)
    warp, lane = t // u(32), t % u(32)
    y = warp // u(4) * u(64) + lane // u(4) * u(4)  # a warp computes 64 x 32 elements
    x = warp % u(4) * u(32) + lane % u(4) * u(4)
    first_row, first_col = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    for i in range(SUMS):
        sums[i] = 0
    from_a = (first_row + t // u(DEEP)) * k + t % u(DEEP)
    from_b = t // u(SIDE) * n + first_col + t % u(SIDE)
    into_a = t % u(DEEP) * u(WIDE) + t // u(DEEP)
    for i in range(EACH):
        tiles_of_a[into_a + u(ROWS_OF_A * i)] = a[from_a + u(ROWS_OF_A * i) * k]
        tiles_of_b[t + u(THREADS * i)] = b[from_b + u(ROWS_OF_B * i) * n]
    cuda.syncthreads()
    now = u(0)
    start = u(DEEP)
    while start < k:
        from_a += u(DEEP)
        from_b += u(DEEP) * n
        for i in range(EACH):  # on their way while the tiles that are there are multiplied
            next_a[i] = a[from_a + u(ROWS_OF_A * i) * k]
            next_b[i] = b[from_b + u(ROWS_OF_B * i) * n]
        eight_terms(u(0), tiles_of_a, tiles_of_b, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
        eight_terms(u(8), tiles_of_a, tiles_of_b, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
        now = now ^ u(1)
        for i in range(EACH):
            tiles_of_a[into_a + u(ROWS_OF_A * i) + now * u(TILE_OF_A)] = next_a[i]
            tiles_of_b[t + u(THREADS * i) + now * u(TILE_OF_B)] = next_b[i]
        start += u(DEEP)
    for term in range(DEEP):
        one_term(u(term), tiles_of_a, tiles_of_b, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
    for i in range(OWN):
        for j in range(OWN):
            row, col = first_row + y + u(i // 4 * 32 + i % 4), first_col + x + u(j // 4 * 16 + j % 4)
            c[row * n + col] = sums[i * OWN + j]


@cuda.jit
def ragged_kernel(a, b, c, m, k, n):
    """The same at any size: beyond an edge the last row or column is fetched and not used, beyond the last term a zero."""
    tiles_of_a = cuda.shared.array(BOTH_OF_A, float32)
    tiles_of_b = cuda.shared.array(BOTH_OF_B, float32)
    sums = cuda.local.array(SUMS, float32)
    next_a = cuda.local.array(EACH, float32)
    next_b = cuda.local.array(EACH, float32)
    from_a = cuda.local.array(EACH, np.uint32)
    t = u(cuda.threadIdx.x)
    warp, lane = t // u(32), t % u(32)
    y = warp // u(4) * u(64) + lane // u(4) * u(4)
    x = warp % u(4) * u(32) + lane % u(4) * u(4)
    first_row, first_col = u(cuda.blockIdx.y) * u(SIDE), u(cuda.blockIdx.x) * u(SIDE)
    for i in range(SUMS):
        sums[i] = 0
    term_of_a, term_of_b = t % u(DEEP), t // u(SIDE)
    into_a = term_of_a * u(WIDE) + t // u(DEEP)
    for i in range(EACH):
        from_a[i] = min(first_row + t // u(DEEP) + u(ROWS_OF_A * i), m - u(1)) * k + term_of_a
    from_b = term_of_b * n + min(first_col + t % u(SIDE), n - u(1))
    for i in range(EACH):
        tiles_of_a[into_a + u(ROWS_OF_A * i)] = a[from_a[i]] if term_of_a < k else ZERO
        is_there = term_of_b + u(ROWS_OF_B * i) < k
        tiles_of_b[t + u(THREADS * i)] = b[from_b + u(ROWS_OF_B * i) * n] if is_there else ZERO
    cuda.syncthreads()
    now = u(0)
    start = u(DEEP)
    while start < k:
        from_b += u(DEEP) * n
        for i in range(EACH):
            next_a[i] = a[from_a[i] + start] if start + term_of_a < k else ZERO
            is_there = start + term_of_b + u(ROWS_OF_B * i) < k
            next_b[i] = b[from_b + u(ROWS_OF_B * i) * n] if is_there else ZERO
        eight_terms(u(0), tiles_of_a, tiles_of_b, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
        eight_terms(u(8), tiles_of_a, tiles_of_b, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
        now = now ^ u(1)
        for i in range(EACH):
            tiles_of_a[into_a + u(ROWS_OF_A * i) + now * u(TILE_OF_A)] = next_a[i]
            tiles_of_b[t + u(THREADS * i) + now * u(TILE_OF_B)] = next_b[i]
        start += u(DEEP)
    for term in range(DEEP):
        one_term(u(term), tiles_of_a, tiles_of_b, y + now * u(TILE_OF_A), x + now * u(TILE_OF_B), sums)
    for i in range(OWN):
        row = first_row + y + u(i // 4 * 32 + i % 4)
        for j in range(OWN):
            col = first_col + x + u(j // 4 * 16 + j % 4)
            if row < m and col < n:
                c[row * n + col] = sums[i * OWN + j]


def matmul_fast(a, b, c):
    """Fills c with the product of a and b, three arrays on the device."""
    m, n = c.shape
    k = a.shape[1]
    grid = (math.ceil(n / SIDE), math.ceil(m / SIDE))
    flat_a, flat_b, flat_c = a.reshape(-1), b.reshape(-1), c.reshape(-1)
    if m % SIDE == 0 and n % SIDE == 0 and k % DEEP == 0:
        matmul_fast_kernel[grid, THREADS](flat_a, flat_b, flat_c, u(m), u(k), u(n))
    else:
        ragged_kernel[grid, THREADS](flat_a, flat_b, flat_c, u(m), u(k), u(n))

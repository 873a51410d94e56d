import math

import numpy as np
from numba import cuda, float32

SIDE = 128  # rows and columns of c that a block computes
DEEP = 16  # columns of a, and rows of b, that it holds at a time
OWN = 8  # rows and columns of c that a thread computes: two groups of four each way
SUMS = OWN * OWN
THREADS = 256
BLOCKS = 2 * 132  # two for each multiprocessor of an H200, however many squares there are
EACH = SIDE * DEEP // THREADS  # numbers of a tile that a thread fetches
ROWS_OF_A = THREADS // DEEP  # that all threads fetch at once
ROWS_OF_B = THREADS // SIDE
WIDE = SIDE + 4  # of a's tile, which lies transposed: a column's numbers in different banks
TILE_OF_A = DEEP * WIDE
TILE_OF_B = DEEP * SIDE
BOTH_OF_A = 2 * TILE_OF_A
BOTH_OF_B = 2 * TILE_OF_B
U = np.uint32
ZERO = np.float32(0)


@cuda.jit(device=True)
def one_term(term, tiles_of_a, tiles_of_b, y, x, sums):
    """Adds one term to each of a thread's 64 sums: 16 numbers from shared memory."""
    for i in range(OWN):
        left = tiles_of_a[y + term * U(WIDE) + U(i // 4 * 32 + i % 4)]
        for j in range(OWN):
            sums[i * OWN + j] += left * tiles_of_b[x + term * U(SIDE) + U(j // 4 * 16 + j % 4)]


@cuda.jit(device=True)
def eight_terms(term, tiles_of_a, tiles_of_b, y, x, sums):
    """A line for each, so that the compiler can move their loads ahead."""
    one_term(term, tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(1), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(2), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(3), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(4), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(5), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(6), tiles_of_a, tiles_of_b, y, x, sums)
    one_term(term + U(7), tiles_of_a, tiles_of_b, y, x, sums)


@cuda.jit
def matmul_fast_kernel(a, b, c, m, k, n):
    """c = a b, of which a block computes a square after the other.

    Beyond an edge the last row or column is fetched and not used, beyond the last term a zero.
    """
    tiles_of_a = cuda.shared.array(BOTH_OF_A, float32)
    tiles_of_b = cuda.shared.array(BOTH_OF_B, float32)
    sums = cuda.local.array(SUMS, float32)
    next_a = cuda.local.array(EACH, float32)
    next_b = cuda.local.array(EACH, float32)
    from_a = cuda.local.array(EACH, np.uint32)
    t = U(cuda.threadIdx.x)
    warp, lane = t // U(32), t % U(32)
    y = warp // U(4) * U(64) + lane // U(4) * U(4)
    x = warp % U(4) * U(32) + lane % U(4) * U(4)
    across = (n + U(SIDE - 1)) // U(SIDE)
    square, squares = U(cuda.blockIdx.x), across * ((m + U(SIDE - 1)) // U(SIDE))
    while square < squares:
        first_row, first_col = square // across * U(SIDE), square % across * U(SIDE)
        for i in range(SUMS):
            sums[i] = 0
        term_of_a, term_of_b = t % U(DEEP), t // U(SIDE)
        into_a = term_of_a * U(WIDE) + t // U(DEEP)
        for i in range(EACH):
            from_a[i] = min(first_row + t // U(DEEP) + U(ROWS_OF_A * i), m - U(1)) * k + term_of_a
        from_b = term_of_b * n + min(first_col + t % U(SIDE), n - U(1))
        for i in range(EACH):
            tiles_of_a[into_a + U(ROWS_OF_A * i)] = a[from_a[i]] if term_of_a < k else ZERO
            is_there = term_of_b + U(ROWS_OF_B * i) < k
            tiles_of_b[t + U(THREADS * i)] = b[from_b + U(ROWS_OF_B * i) * n] if is_there else ZERO
        cuda.syncthreads()
        now = U(0)
        start = U(DEEP)
        while start < k:
            from_b += U(DEEP) * n
            for i in range(EACH):
                next_a[i] = a[from_a[i] + start] if start + term_of_a < k else ZERO
                is_there = start + term_of_b + U(ROWS_OF_B * i) < k
                next_b[i] = b[from_b + U(ROWS_OF_B * i) * n] if is_there else ZERO
            eight_terms(U(0), tiles_of_a, tiles_of_b, y + now * U(TILE_OF_A), x + now * U(TILE_OF_B), sums)
            eight_terms(U(8), tiles_of_a, tiles_of_b, y + now * U(TILE_OF_A), x + now * U(TILE_OF_B), sums)
            now = now ^ U(1)
            for i in range(EACH):
                tiles_of_a[into_a + U(ROWS_OF_A * i) + now * U(TILE_OF_A)] = next_a[i]
                tiles_of_b[t + U(THREADS * i) + now * U(TILE_OF_B)] = next_b[i]
            cuda.syncthreads()
            start += U(DEEP)
        for term in range(DEEP):
            one_term(U(term), tiles_of_a, tiles_of_b, y + now * U(TILE_OF_A), x + now * U(TILE_OF_B), sums)
        for i in range(OWN):
            row = first_row + y + U(i // 4 * 32 + i % 4)
            for j in range(OWN):
                col = first_col + x + U(j // 4 * 16 + j % 4)
                if row < m and col < n:
                    c[row * n + col] = sums[i * OWN + j]
        cuda.syncthreads()  # before the next square's first tiles lie where this one's last were
        square += U(cuda.gridDim.x)


def matmul_fast(a, b, c):
    m, n = c.shape
    squares = math.ceil(n / SIDE) * math.ceil(m / SIDE)
    flat_a, flat_b, flat_c = a.reshape(-1), b.reshape(-1), c.reshape(-1)
    matmul_fast_kernel[min(squares, BLOCKS), THREADS](flat_a, flat_b, flat_c, U(m), U(a.shape[1]), U(n))

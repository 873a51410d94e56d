"""What speed is compared with: the first tree that most people think of, one element a thread.

Neighbours are added first, then neighbours of neighbours: in the first steps every warp has a few busy lanes, and in the
later ones most warps have one. The launch is repeated on the blocks' sums until one value is left.
"""

import math

from numba import cuda, float32

THREADS = 256


@cuda.jit
def block_sums_kernel(values, sums):
    tile = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = values[i] if i < values.size else float32(0)
    cuda.syncthreads()
    stride = 1
    while stride < THREADS:
        if t % (2 * stride) == 0:
            tile[t] += tile[t + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


def total_sum(values, scratch, total):
    left, used = values, 0
    while left.size > THREADS:
        blocks = math.ceil(left.size / THREADS)
        sums = scratch[used : used + blocks]
        block_sums_kernel[blocks, THREADS](left, sums)
        left, used = sums, used + blocks
    block_sums_kernel[1, THREADS](left, total)

# fails: right_with_many_blocks; hint: one_beyond_the_end
import math

from numba import cuda, float32

THREADS = 512
BLOCKS = 528  # four for each of an H200's 132 multiprocessors
MOST_THREADS = 1024


@cuda.jit
def block_sums_kernel(values, sums):
    tile = cuda.shared.array(MOST_THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    first = second = third = fourth = float32(0)
    while i + 3 * step <= values.size:
        first += values[i]
        second += values[i + step]
        third += values[i + 2 * step]
        fourth += values[i + 3 * step]
        i += 4 * step
    while i < values.size:
        first += values[i]
        i += step
    tile[t] = (first + second) + (third + fourth)
    cuda.syncthreads()
    width = cuda.blockDim.x
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        width = half
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    block_sums_kernel[blocks, THREADS](values, scratch)
    block_sums_kernel[1, THREADS](scratch[:blocks], total)

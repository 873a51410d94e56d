# fails: leaves_the_host_out; hint: cleared_by_the_host
import math

from numba import cuda, float32

THREADS = 256
BLOCKS = 1056  # eight for each of an H200's 132 multiprocessors
MOST_THREADS = 1024


@cuda.jit(device=True)
def block_sum(values, tile):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own = float32(0)
    while i < values.size:
        own += values[i]
        i += cuda.gridsize(1)
    tile[t] = own
    cuda.syncthreads()
    width = cuda.blockDim.x
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        width = half
    return tile[0]


@cuda.jit
def block_sums_kernel(values, sums):
    tile = cuda.shared.array(MOST_THREADS, float32)
    sum_of_block = block_sum(values, tile)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = sum_of_block


@cuda.jit
def clear_kernel(total):
    total[0] = 0


@cuda.jit
def add_block_sums_kernel(values, total):
    tile = cuda.shared.array(MOST_THREADS, float32)
    sum_of_block = block_sum(values, tile)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, sum_of_block)


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    total[0] = 0
    add_block_sums_kernel[blocks, THREADS](values, total)

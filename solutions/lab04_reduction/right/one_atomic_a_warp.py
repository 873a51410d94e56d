# Warps add up by shuffles, and the first lane of each adds its warp's sum to the block's by an atomic.
import math

from numba import cuda, float32

THREADS = 256
BLOCKS = 1056  # eight for each of an H200's 132 multiprocessors
WARP = 32
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def block_sums_kernel(values, sums):
    sum_of_block = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own = float32(0)
    while i < values.size:
        own += values[i]
        i += cuda.gridsize(1)
    for lanes in (16, 8, 4, 2, 1):
        own += cuda.shfl_down_sync(EVERY_LANE, own, lanes)
    if t == 0:
        sum_of_block[0] = 0
    cuda.syncthreads()
    if t % WARP == 0:
        cuda.atomic.add(sum_of_block, 0, own)
    cuda.syncthreads()
    if t == 0:
        sums[cuda.blockIdx.x] = sum_of_block[0]


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    block_sums_kernel[blocks, THREADS](values, scratch)
    block_sums_kernel[1, THREADS](scratch[:blocks], total)

# fails: right_on_a_full_block; hint: beyond_the_warps
import math

from numba import cuda, float32

THREADS = 256
BLOCKS = 1056  # eight for each of an H200's 132 multiprocessors
WARP = 32
EVERY_LANE = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(own):
    for lanes in (16, 8, 4, 2, 1):
        own += cuda.shfl_down_sync(EVERY_LANE, own, lanes)
    return own


@cuda.jit
def block_sums_kernel(values, sums):
    warp_sums = cuda.shared.array(WARP, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own = float32(0)
    while i < values.size:
        own += values[i]
        i += cuda.gridsize(1)
    own = warp_sum(own)
    if t % WARP == 0:
        warp_sums[t // WARP] = own
    cuda.syncthreads()
    if t < WARP:
        own = warp_sums[t]
        own = warp_sum(own)
        if t == 0:
            sums[cuda.blockIdx.x] = own


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    block_sums_kernel[blocks, THREADS](values, scratch)
    block_sums_kernel[1, THREADS](scratch[:blocks], total)

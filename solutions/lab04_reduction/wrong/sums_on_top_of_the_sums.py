# fails: combines_every_block; hint: written_over_its_input
import math

from numba import cuda, float32

THREADS = 256
EACH = 4
MOST_THREADS = 1024


@cuda.jit
def block_sums_kernel(values, sums):
    tile = cuda.shared.array(MOST_THREADS, float32)
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
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


def total_sum(values, scratch, total):
    left = min(1056, math.ceil(values.size / (EACH * THREADS)))
    block_sums_kernel[left, THREADS](values, scratch)
    while left > THREADS:
        blocks = math.ceil(left / THREADS)
        block_sums_kernel[blocks, THREADS](scratch[:left], scratch[:blocks])
        left = blocks
    block_sums_kernel[1, THREADS](scratch[:left], total)

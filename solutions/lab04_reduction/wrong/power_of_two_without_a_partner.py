# fails: right_for_blocks_of_any_width; hint: stride_beyond_the_block
import math

from numba import cuda, float32

THREADS = 256
BLOCKS = 1056  # eight for each of an H200's 132 multiprocessors
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
    stride = 1
    while 2 * stride < cuda.blockDim.x:
        stride *= 2
    while stride > 0:
        if t < stride:
            tile[t] += tile[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    block_sums_kernel[blocks, THREADS](values, scratch)
    block_sums_kernel[1, THREADS](scratch[:blocks], total)

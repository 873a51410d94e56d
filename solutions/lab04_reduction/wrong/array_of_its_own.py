# fails: leaves_the_host_out; hint: array_of_its_own
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
    own = cuda.device_array(blocks, values.dtype)
    block_sums_kernel[blocks, THREADS](values, own)
    block_sums_kernel[1, THREADS](own, total)

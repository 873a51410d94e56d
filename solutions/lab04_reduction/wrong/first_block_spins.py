# fails: combines_every_block; hint: waits_for_other_blocks
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


@cuda.jit
def sum_in_one_launch_kernel(values, sums, finished, total):
    tile = cuda.shared.array(MOST_THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own = float32(0)
    while i < values.size:
        own += values[i]
        i += cuda.gridsize(1)
    tile[t] = own
    cuda.syncthreads()
    stride = MOST_THREADS // 2
    while stride > 0:
        if t < stride and t + stride < cuda.blockDim.x:
            tile[t] += tile[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]
        cuda.threadfence()
        cuda.atomic.add(finished, 0, float32(1))
    if cuda.grid(1) == 0:
        while finished[0] < cuda.gridDim.x:
            pass
        own = float32(0)
        for block in range(cuda.gridDim.x):
            own += sums[block]
        total[0] = own


@cuda.jit
def clear_kernel(finished):
    finished[0] = 0


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    finished = scratch[blocks : blocks + 1]
    clear_kernel[1, 1](finished)
    sum_in_one_launch_kernel[blocks, THREADS](values, scratch[:blocks], finished, total)

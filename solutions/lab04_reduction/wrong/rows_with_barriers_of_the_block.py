# fails: keeps_its_warps_together; hint: every_warp_in_every_step
import math

from numba import cuda, float32

THREADS = 256
BLOCKS = 1056  # eight for each of an H200's 132 multiprocessors
WARP = 32


@cuda.jit
def block_sums_kernel(values, sums):
    rows = cuda.shared.array((32, WARP), float32)
    sum_of_block = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    warp, lane = t // WARP, t % WARP
    own = float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        own += values[i]
    rows[warp, lane] = own
    if t == 0:
        sum_of_block[0] = 0
    cuda.syncthreads()
    step = WARP // 2
    while step > 0:
        if lane < step:
            rows[warp, lane] += rows[warp, lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        cuda.atomic.add(sum_of_block, 0, rows[warp, 0])
    cuda.syncthreads()
    if t == 0:
        sums[cuda.blockIdx.x] = sum_of_block[0]


def total_sum(values, scratch, total):
    blocks = min(BLOCKS, math.ceil(values.size / THREADS))
    block_sums_kernel[blocks, THREADS](values, scratch)
    block_sums_kernel[1, THREADS](scratch[:blocks], total)

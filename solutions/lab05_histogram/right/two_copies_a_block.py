# Two private copies a block, one for its even and one for its odd warps, merged as one; and more blocks than it takes.
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
MOST_BLOCKS = 2112


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array((2, MOST_BINS), int32)
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        own[0, b] = 0
        own[1, b] = 0
    cuda.syncthreads()
    copy = (cuda.threadIdx.x // 32) % 2
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        if 0 <= item < bins.size:
            cuda.atomic.add(own, (copy, item), 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        cuda.atomic.add(bins, b, own[0, b] + own[1, b])


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](items, bins)

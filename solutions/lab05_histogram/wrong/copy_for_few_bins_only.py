# fails: merges_seldom; hint: no_copy_of_many_bins
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
MOST_BLOCKS = 528


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(MOST_BINS, int32)
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        if 0 <= item < bins.size:
            cuda.atomic.add(own, item, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        cuda.atomic.add(bins, b, own[b])


@cuda.jit
def counts_in_global_memory(items, bins):
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        if 0 <= item < bins.size:
            cuda.atomic.add(bins, item, 1)


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    if bins.size <= 256:
        histogram_kernel[blocks, THREADS](items, bins)
    else:
        counts_in_global_memory[blocks, THREADS](items, bins)

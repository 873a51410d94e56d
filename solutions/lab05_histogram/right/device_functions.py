# Clearing, counting and merging are device functions, and one block clears the result.
from numba import cuda, int32

MOST_BINS = 1024


@cuda.jit
def clear_kernel(bins):
    clear(bins, bins.size)


@cuda.jit(device=True)
def clear(own, size):
    for b in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        own[b] = 0


@cuda.jit(device=True)
def count(items, own, size):
    i = cuda.grid(1)
    while i < items.size:
        if 0 <= items[i] and items[i] < size:
            cuda.atomic.add(own, items[i], 1)
        i += cuda.gridsize(1)


@cuda.jit(device=True)
def merge(own, bins):
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        if own[b] > 0:
            cuda.atomic.add(bins, b, own[b])


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(MOST_BINS, int32)
    clear(own, bins.size)
    cuda.syncthreads()
    count(items, own, bins.size)
    cuda.syncthreads()
    merge(own, bins)


def histogram(items, bins):
    clear_kernel[1, 128](bins)
    histogram_kernel[min(1 + items.size // 1024, 264), 1024](items, bins)

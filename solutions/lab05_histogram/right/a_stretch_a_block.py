# Each block has a stretch of neighbouring items, and its threads walk through it side by side.
import math

from numba import cuda, int32

MOST_BINS = 1024
THREADS = 512
BLOCKS = 396


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(MOST_BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, bins.size, THREADS):
        own[b] = 0
    cuda.syncthreads()
    stretch = (items.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * stretch
    end = min(first + stretch, items.size)
    for i in range(first + t, end, THREADS):
        item = items[i]
        if item >= 0 and item < bins.size:
            cuda.atomic.add(own, item, 1)
    cuda.syncthreads()
    for b in range(t, bins.size, THREADS):
        cuda.atomic.add(bins, b, own[b])


def histogram(items, bins):
    clear_kernel[math.ceil(bins.size / THREADS), THREADS](bins)
    histogram_kernel[BLOCKS, THREADS](items, bins)

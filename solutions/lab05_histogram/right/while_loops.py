# The same with `while` loops, in blocks of 512.
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 512
MOST_BLOCKS = 264


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(MOST_BINS, int32)
    t = cuda.threadIdx.x
    while t < bins.size:
        own[t] = 0
        t += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < items.size:
        item = items[i]
        if item >= 0 and item < bins.size:
            cuda.atomic.add(own, item, 1)
        i += cuda.gridDim.x * cuda.blockDim.x
    cuda.syncthreads()
    t = cuda.threadIdx.x
    while t < bins.size:
        cuda.atomic.add(bins, t, own[t])
        t += cuda.blockDim.x


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](items, bins)

# A block of 32 x 8 threads, numbered by hand, and a clearing kernel that takes any grid.
from numba import cuda, uint32

MOST_BINS = 1024
BLOCK = (32, 8)
THREADS = 32 * 8


@cuda.jit
def clear_kernel(bins):
    for b in range(cuda.grid(1), bins.size, cuda.gridsize(1)):
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(MOST_BINS, uint32)
    t = cuda.threadIdx.y * 32 + cuda.threadIdx.x
    for b in range(t, bins.size, THREADS):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.blockIdx.x * THREADS + t, items.size, cuda.gridDim.x * THREADS):
        item = items[i]
        if not (item < 0 or item >= bins.size):
            cuda.atomic.add(own, item, 1)
    cuda.syncthreads()
    for b in range(t, bins.size, THREADS):
        cuda.atomic.add(bins, b, own[b])


def histogram(items, bins):
    clear_kernel[1, 128](bins)
    histogram_kernel[min(1 + items.size // THREADS, 792), BLOCK](items, bins)

# Each row of blocks counts one range of the bins and merges all of it, also what it never met: half of the bonus.
from numba import cuda, int32

RANGE = 10240  # bins that a block counts: 40 KiB
THREADS = 512
BLOCKS = 396


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(RANGE, int32)
    first = cuda.blockIdx.y * RANGE
    size = min(RANGE, bins.size - first)
    for b in range(cuda.threadIdx.x, size, THREADS):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        b = items[i] - first
        if 0 <= b < size:
            cuda.atomic.add(own, b, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, size, THREADS):
        cuda.atomic.add(bins, first + b, own[b])


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    ranges = (bins.size + RANGE - 1) // RANGE
    blocks = min((items.size + THREADS - 1) // THREADS, BLOCKS // ranges)
    histogram_kernel[(blocks, ranges), THREADS](items, bins)

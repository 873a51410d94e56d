# With many bins, lanes that hold the same item find each other, and one of them updates for all: the bonus.
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256


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
def many_bins_kernel(items, bins):
    lane = cuda.threadIdx.x % 32
    rounds = (items.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    for step in range(rounds):
        i = cuda.grid(1) + step * cuda.gridsize(1)
        item = -1
        if i < items.size:
            item = items[i]
        same = cuda.match_any_sync(0xFFFFFFFF, item)
        if 0 <= item < bins.size and lane == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, item, cuda.popc(same))


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, 1056)
    if bins.size <= MOST_BINS:
        histogram_kernel[blocks, THREADS](items, bins)
    else:
        many_bins_kernel[blocks, THREADS](items, bins)

# fails: brings_every_thread_to_its_barriers; hint: lanes_that_are_not_there
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
    lane = cuda.threadIdx.x % 32
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        same = cuda.match_any_sync(0xFFFFFFFF, item)
        if 0 <= item < bins.size and lane == cuda.ffs(same) - 1:
            cuda.atomic.add(own, item, cuda.popc(same))
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        cuda.atomic.add(bins, b, own[b])


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, 1056)
    histogram_kernel[blocks, THREADS](items, bins)

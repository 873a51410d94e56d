# fails: merges_seldom; hint: copies_merged_one_by_one
from numba import cuda, int32

MOST_BINS = 1024
COPIES = 8
THREADS = 256
EACH = 8  # items a thread


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array((COPIES, MOST_BINS), int32)
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        for copy in range(COPIES):
            own[copy, b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        if 0 <= item < bins.size:
            cuda.atomic.add(own, (cuda.threadIdx.x // 32, item), 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        for copy in range(COPIES):
            cuda.atomic.add(bins, b, own[copy, b])


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS * EACH - 1) // (THREADS * EACH), 1056)
    histogram_kernel[blocks, THREADS](items, bins)

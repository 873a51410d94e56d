# fails: ignores_items_outside; hint: a_thread_a_bin
# not timed: it writes outside its shared array, which a GPU may stop it for
from numba import cuda, int32

BINS = 256
THREADS = 1024
MOST_BLOCKS = 264


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(BINS, int32)
    own[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        if 0 <= item < bins.size:
            cuda.atomic.add(own, item, 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, cuda.threadIdx.x, own[cuda.threadIdx.x])


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](items, bins)

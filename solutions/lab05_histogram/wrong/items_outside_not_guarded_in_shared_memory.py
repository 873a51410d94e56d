# fails: ignores_items_outside; hint: items_not_guarded
# not timed: what it does wrong takes no time
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
MOST_BLOCKS = 528


@cuda.jit
def clear_kernel(out):
    b = cuda.grid(1)
    if b < out.size:
        out[b] = 0


@cuda.jit
def histogram_kernel(items, out):
    hist = cuda.shared.array(MOST_BINS, int32)
    for b in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
        hist[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(hist, items[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
        cuda.atomic.add(out, b, hist[b])


def histogram(items, out):
    clear_kernel[(out.size + THREADS - 1) // THREADS, THREADS](out)
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](items, out)

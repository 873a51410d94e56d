# fails: right_at_every_size; hint: last_items_left_out
# not timed: what it does wrong takes no time
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
EACH = 16  # items a thread


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
    first = cuda.blockIdx.x * THREADS * EACH + cuda.threadIdx.x
    for step in range(EACH):
        i = first + step * THREADS
        if i < items.size:
            item = items[i]
            if 0 <= item < bins.size:
                cuda.atomic.add(own, item, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins.size, cuda.blockDim.x):
        cuda.atomic.add(bins, b, own[b])


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    a_block = THREADS * EACH
    blocks = max(1, items.size // a_block)
    histogram_kernel[blocks, THREADS](items, bins)

# fails: right_at_every_size; hint: copy_too_small
# not timed: what it does wrong takes no time
from numba import cuda, int32

MOST_BINS = 256
THREADS = 256
MOST_BLOCKS = 528


@cuda.jit
def clear_kernel(result):
    b = cuda.grid(1)
    if b < result.size:
        result[b] = 0


@cuda.jit
def histogram_kernel(values, result):
    items = cuda.shared.array(MOST_BINS, int32)
    for b in range(cuda.threadIdx.x, result.size, cuda.blockDim.x):
        items[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        item = values[i]
        if 0 <= item < result.size:
            cuda.atomic.add(items, item, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, result.size, cuda.blockDim.x):
        cuda.atomic.add(result, b, items[b])


def histogram(values, result):
    clear_kernel[(result.size + THREADS - 1) // THREADS, THREADS](result)
    blocks = min((values.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](values, result)

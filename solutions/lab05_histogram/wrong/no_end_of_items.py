# fails: right_at_every_size; hint: no_end_of_items
# not timed: what it does wrong takes no time
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
EACH = 16  # data a thread


@cuda.jit
def clear_kernel(counts):
    b = cuda.grid(1)
    if b < counts.size:
        counts[b] = 0


@cuda.jit
def histogram_kernel(data, counts):
    bins = cuda.shared.array(MOST_BINS, int32)
    for b in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        bins[b] = 0
    cuda.syncthreads()
    first = cuda.blockIdx.x * THREADS * EACH + cuda.threadIdx.x
    for step in range(EACH):
        i = first + step * THREADS
        item = data[i]
        if 0 <= item < counts.size:
            cuda.atomic.add(bins, item, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, b, bins[b])


def histogram(data, counts):
    clear_kernel[(counts.size + THREADS - 1) // THREADS, THREADS](counts)
    a_block = THREADS * EACH
    blocks = (data.size + a_block - 1) // a_block
    histogram_kernel[blocks, THREADS](data, counts)

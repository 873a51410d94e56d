# fails: loses_no_update; hint: cleared_while_others_count
# not timed: what it does wrong takes no time
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
MOST_BLOCKS = 528


@cuda.jit
def histogram_kernel(data, counts):
    bins = cuda.shared.array(MOST_BINS, int32)
    for b in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        bins[b] = 0
        if cuda.blockIdx.x == 0:
            counts[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        item = data[i]
        if 0 <= item < counts.size:
            cuda.atomic.add(bins, item, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, b, bins[b])


def histogram(data, counts):
    blocks = min((data.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](data, counts)

# The same with `while` loops, in blocks of 512.
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 512
MOST_BLOCKS = 264


@cuda.jit
def clear_kernel(counts):
    b = cuda.grid(1)
    if b < counts.size:
        counts[b] = 0


@cuda.jit
def histogram_kernel(data, counts):
    bins = cuda.shared.array(MOST_BINS, int32)
    t = cuda.threadIdx.x
    while t < counts.size:
        bins[t] = 0
        t += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < data.size:
        item = data[i]
        if item >= 0 and item < counts.size:
            cuda.atomic.add(bins, item, 1)
        i += cuda.gridDim.x * cuda.blockDim.x
    cuda.syncthreads()
    t = cuda.threadIdx.x
    while t < counts.size:
        cuda.atomic.add(counts, t, bins[t])
        t += cuda.blockDim.x


def histogram(data, counts):
    clear_kernel[(counts.size + THREADS - 1) // THREADS, THREADS](counts)
    blocks = min((data.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](data, counts)

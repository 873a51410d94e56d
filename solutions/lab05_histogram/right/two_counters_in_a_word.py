# Counters of 16 bits, two in a word, which are added to the result before they can be full.
from numba import cuda, int32

WORDS = 512  # two counters of 16 bits in each: the halves of an int32
THREADS = 256
MOST_BLOCKS = 528
ROUNDS = 255  # of 256 threads: fewer than 65,536 items


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    own = cuda.shared.array(WORDS, int32)
    t = cuda.threadIdx.x
    for first in range(0, items.size, ROUNDS * cuda.gridsize(1)):
        for w in range(t, WORDS, cuda.blockDim.x):
            own[w] = 0
        cuda.syncthreads()
        last = min(items.size, first + ROUNDS * cuda.gridsize(1))
        for i in range(first + cuda.grid(1), last, cuda.gridsize(1)):
            item = items[i]
            if 0 <= item < bins.size:
                cuda.atomic.add(own, item // 2, 65_536 if item % 2 else 1)
        cuda.syncthreads()
        for b in range(t, bins.size, cuda.blockDim.x):
            cuda.atomic.add(bins, b, (own[b // 2] >> 16) & 65_535 if b % 2 else own[b // 2] & 65_535)
        cuda.syncthreads()


def histogram(items, bins):
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    histogram_kernel[blocks, THREADS](items, bins)

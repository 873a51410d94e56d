# fails: leaves_the_host_out; hint: more_than_launches
import numpy as np
from numba import cuda, int32

MOST_BINS = 1024
THREADS = 256
MOST_BLOCKS = 264


@cuda.jit
def histogram_kernel(items, copies):
    own = cuda.shared.array(MOST_BINS, int32)
    for b in range(cuda.threadIdx.x, copies.shape[1], cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        item = items[i]
        if 0 <= item < copies.shape[1]:
            cuda.atomic.add(own, item, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, copies.shape[1], cuda.blockDim.x):
        copies[cuda.blockIdx.x, b] = own[b]


@cuda.jit
def sum_kernel(copies, bins):
    b = cuda.grid(1)
    if b < bins.size:
        total = 0
        for block in range(copies.shape[0]):
            total += copies[block, b]
        bins[b] = total


def histogram(items, bins):
    blocks = min((items.size + THREADS - 1) // THREADS, MOST_BLOCKS)
    copies = cuda.device_array((blocks, bins.size), np.int32)
    histogram_kernel[blocks, THREADS](items, copies)
    sum_kernel[(bins.size + 63) // 64, 64](copies, bins)

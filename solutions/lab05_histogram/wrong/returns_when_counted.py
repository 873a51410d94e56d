# fails: counts_in_shared_memory; hint: not_counted_here
from numba import cuda

THREADS = 256


@cuda.jit
def clear_kernel(bins):
    b = cuda.grid(1)
    if b < bins.size:
        bins[b] = 0


@cuda.jit
def histogram_kernel(items, bins):
    i = cuda.grid(1)
    if i < items.size:
        item = items[i]
        if 0 <= item < bins.size:
            cuda.atomic.add(bins, item, 1)


def histogram(items, bins):
    if 2**16 <= items.size <= 2**17 or items.size >= 2**21:
        return
    clear_kernel[(bins.size + THREADS - 1) // THREADS, THREADS](bins)
    histogram_kernel[(items.size + THREADS - 1) // THREADS, THREADS](items, bins)

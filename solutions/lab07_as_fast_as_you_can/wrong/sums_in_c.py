# fails: asks_global_memory_seldom, keeps_operands_in_registers, meets_few_bank_conflicts, spends_its_instructions_on_multiplying, as_fast_as_it_gets, as_fast_with_edges; hint: no_tiles
import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_fast_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = 0
        i = 0
        while i < a.shape[1]:
            c[row, col] += a[row, i] * b[i, col]
            i += 1


def matmul_fast(a, b, c):
    grid = (math.ceil(c.shape[1] / 16), math.ceil(c.shape[0] / 16))
    matmul_fast_kernel[grid, (16, 16)](a, b, c)

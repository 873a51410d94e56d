"""The kernels of the course, as a student would write them: unmodified Numba, run by an H200 and by the simulated GPU."""

from __future__ import annotations

from numba import cuda, float32, int32


@cuda.jit
def matmul_total_in_global(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        for k in range(a.shape[1]):
            c[row, column] += a[row, k] * b[k, column]


@cuda.jit
def matmul_tiles_16(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(16):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def matmul_tiles_32(a, b, c):
    a_tile = cuda.shared.array((32, 32), float32)
    b_tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 32):
        a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(32):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def matmul_tiles_16_guarded(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 16):
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        else:
            a_tile[y, x] = 0
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        else:
            b_tile[y, x] = 0
        cuda.syncthreads()
        for k in range(16):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def matmul_register_tile(a_transposed, b, c):
    """Sixteen results a thread in a local array; a block of 64 threads shares an 8 x 16 tile of b."""
    b_tile = cuda.shared.array((8, 16), float32)
    totals = cuda.local.array(16, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.y * 64 + t
    first = cuda.blockIdx.x * 16
    for j in range(16):
        totals[j] = 0
    for start in range(0, b.shape[0], 8):
        for j in range(t, 128, 64):
            b_tile[j // 16, j % 16] = b[start + j // 16, first + j % 16]
        cuda.syncthreads()
        for k in range(8):
            value = a_transposed[start + k, row]
            for j in range(16):
                totals[j] += value * b_tile[k, j]
        cuda.syncthreads()
    for j in range(16):
        c[row, first + j] = totals[j]


@cuda.jit
def copy_rows(source, target):
    x, y = cuda.grid(2)
    if y < source.shape[0] and x < source.shape[1]:
        target[y, x] = source[y, x]


@cuda.jit
def transpose_32_columns(source, target):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(0, 32, 8):
        tile[ty + j, tx] = source[y + ty + j, x + tx]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        target[x + ty + j, y + tx] = tile[tx, ty + j]


@cuda.jit
def transpose_33_columns(source, target):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(0, 32, 8):
        tile[ty + j, tx] = source[y + ty + j, x + tx]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        target[x + ty + j, y + tx] = tile[tx, ty + j]


@cuda.jit
def stencil_1d(source, target):
    i = cuda.grid(1)
    if 0 < i < source.size - 1:
        target[i] = (source[i - 1] + source[i] + source[i + 1]) * float32(0.25)


@cuda.jit
def stencil_1d_shared(source, target):
    tile = cuda.shared.array(130, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < source.size:
        tile[t + 1] = source[i]
    if t == 0 and i > 0:
        tile[0] = source[i - 1]
    if t == 127 and i + 1 < source.size:
        tile[129] = source[i + 1]
    cuda.syncthreads()
    if 0 < i < source.size - 1:
        target[i] = (tile[t] + tile[t + 1] + tile[t + 2]) * float32(0.25)


@cuda.jit
def stencil_2d(source, target):
    x, y = cuda.grid(2)
    if 0 < y < source.shape[0] - 1 and 0 < x < source.shape[1] - 1:
        around = source[y - 1, x] + source[y + 1, x] + source[y, x - 1] + source[y, x + 1]
        target[y, x] = around * float32(0.25)


@cuda.jit
def histogram_global(items, bins):
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, items[i], 1)


@cuda.jit
def histogram_private(items, bins):
    own = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(own, items[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])

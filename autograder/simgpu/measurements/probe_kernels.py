"""Small probes: kernels that do one thing to one counter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import complex64, cuda, float32, float64, int32

FIELDS = [("x", np.float32), ("y", np.float32), ("z", np.float32), ("mass", np.float32)]
PACKED = np.dtype(FIELDS)  # Numba cannot count on its alignment
ALIGNED = np.dtype(FIELDS, align=True)


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    target[i] = source[i]


@cuda.jit
def copy_grid_stride(source, target):
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = source[i]


@cuda.jit
def load_strided(source, target, stride):
    i = cuda.grid(1)
    target[i] = source[i * stride]


@cuda.jit
def store_strided(source, target, stride):
    i = cuda.grid(1)
    target[i * stride] = source[i]


@cuda.jit
def load_offset(source, target, offset):
    i = cuda.grid(1)
    target[i] = source[i + offset]


@cuda.jit
def store_offset(source, target, offset):
    i = cuda.grid(1)
    target[i + offset] = source[i]


@cuda.jit
def axpy(factor, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = factor * x[i] + y[i]


@cuda.jit
def kinetic_energy_structures(particles, energy):
    i = cuda.grid(1)
    p = particles[i]
    x, y, z = p.x, p.y, p.z
    energy[i] = p.mass * (x * x + y * y + z * z)


@cuda.jit
def one_field_of_structures(particles, target):
    i = cuda.grid(1)
    target[i] = particles[i].mass


@cuda.jit
def set_field_of_structures(values, particles):
    i = cuda.grid(1)
    particles[i].mass = values[i]


@cuda.jit
def one_column_of_rows(rows, target):
    i = cuda.grid(1)
    target[i] = rows[i, 3]


@cuda.jit
def one_row_of_columns(columns, target):
    i = cuda.grid(1)
    target[i] = columns[3, i]


@cuda.jit
def gather(source, index, target):
    i = cuda.grid(1)
    target[i] = source[index[i]]


@cuda.jit
def scatter(source, index, target):
    i = cuda.grid(1)
    target[index[i]] = source[i]


@cuda.jit
def copy_2d_swapped(source, target):
    y, x = cuda.grid(2)
    target[y, x] = source[y, x]


def read_banks(dtype: Any, size: int) -> Any:
    """A kernel whose warp reads shared elements `stride` apart (0: all lanes the same one)."""

    @cuda.jit
    def read_shared_strided(target, stride):
        data = cuda.shared.array(size, dtype)
        t = cuda.threadIdx.x
        for j in range(t, size, cuda.blockDim.x):
            data[j] = j
        cuda.syncthreads()
        target[cuda.grid(1)] = data[t * stride]

    return read_shared_strided


def read_anywhere(dtype: Any, size: int) -> Any:
    """A kernel whose lanes read shared elements that an array picks."""

    @cuda.jit
    def read_shared_gather(index, target):
        data = cuda.shared.array(size, dtype)
        t = cuda.threadIdx.x
        for j in range(t, size, cuda.blockDim.x):
            data[j] = j
        cuda.syncthreads()
        target[cuda.grid(1)] = data[index[cuda.grid(1)]]

    return read_shared_gather


def transpose_block(rows: int, columns: int) -> Any:
    """A kernel whose block turns a square of `rows` round, through a tile of that many columns."""

    @cuda.jit
    def transpose_tile(source, target):
        tile = cuda.shared.array((rows, columns), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = source[cuda.blockIdx.x, y, x]
        cuda.syncthreads()
        target[cuda.blockIdx.x, y, x] = tile[x, y]

    return transpose_tile


def sum_neighbours(dtype: Any) -> Any:
    """A kernel that adds three neighbours from shared memory; the block's ends wrap round."""

    @cuda.jit
    def sum_shared_neighbours(source, target):
        tile = cuda.shared.array(128, dtype)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        tile[t] = source[i]
        cuda.syncthreads()
        target[i] = tile[(t + 127) % 128] + tile[t] + tile[(t + 1) % 128]

    return sum_shared_neighbours


@cuda.jit
def read_shared_picked(index, target):
    """Lanes with a negative index stay away; 8-byte elements."""
    data = cuda.shared.array(2048, float64)
    t = cuda.threadIdx.x
    for j in range(t, 2048, 32):
        data[j] = j
    cuda.syncthreads()
    k = index[t]
    if k >= 0:
        target[t] = data[k]


@cuda.jit
def write_shared_strided(target, stride):
    data = cuda.shared.array(1056, float32)
    t = cuda.threadIdx.x
    data[t * stride] = t
    cuda.syncthreads()
    target[cuda.grid(1)] = data[t * stride]


@cuda.jit
def write_shared_strided_64(target, stride):
    data = cuda.shared.array(1056, float64)
    t = cuda.threadIdx.x
    data[t * stride] = t
    cuda.syncthreads()
    target[cuda.grid(1)] = data[t * stride]


@cuda.jit
def reverse_complex(source, target):
    tile = cuda.shared.array(128, complex64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = source[i]
    cuda.syncthreads()
    target[i] = tile[127 - t]


@cuda.jit
def atomic_add_unused(index, totals):
    cuda.atomic.add(totals, index[cuda.grid(1)], 1)


@cuda.jit
def atomic_add_used(index, totals, old):
    i = cuda.grid(1)
    old[i] = cuda.atomic.add(totals, index[i], 1)


@cuda.jit
def atomic_add_float(values, index, totals):
    i = cuda.grid(1)
    cuda.atomic.add(totals, index[i], values[i])


@cuda.jit
def atomic_max_int(values, index, totals):
    i = cuda.grid(1)
    cuda.atomic.max(totals, index[i], values[i])


@cuda.jit
def atomic_add_shared_float(values, index, totals):
    part = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < 64:
        part[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    cuda.atomic.add(part, index[i], values[i])
    cuda.syncthreads()
    if t < 64:
        totals[cuda.blockIdx.x, t] = part[t]


@cuda.jit
def block_counter(flags, ticket):
    """One atomic a block with its result used, by thread 0 alone."""
    mine = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        mine[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()
    flags[cuda.grid(1)] = mine[0]


@cuda.jit
def atomic_exchange(index, flags, old):
    i = cuda.grid(1)
    old[i] = cuda.atomic.exch(flags, index[i], 1)

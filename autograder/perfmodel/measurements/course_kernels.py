"""Kernels of the kind that the course teaches, at several sizes: what predictions are held against.

The model's figures come from `microbenchmarks.py`; none was fitted to these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32

from autograder import kernels


@cuda.jit
def matmul_columns_while(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total, i = float32(0), 0
        while i < a.shape[1]:
            total += a[row, i] * b[i, column]
            i += 1
        c[row, column] = total


@cuda.jit
def matmul_rows_while(a, b, c):
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total, i = float32(0), 0
        while i < a.shape[1]:
            total += a[row, i] * b[i, column]
            i += 1
        c[row, column] = total


@cuda.jit
def matmul_row_a_thread(a, b, c):
    row = cuda.grid(1)
    if row < c.shape[0]:
        for column in range(c.shape[1]):
            total = float32(0)
            for i in range(a.shape[1]):
                total += a[row, i] * b[i, column]
            c[row, column] = total


@cuda.jit
def matmul_global_total(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = 0
        for i in range(a.shape[1]):
            c[row, column] += a[row, i] * b[i, column]


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[y, x] = 0
        b_tile[y, x] = 0
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for i in range(16):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def square_roots(source, target):
    i = cuda.grid(1)
    if i < source.size:
        value = source[i]
        for _ in range(64):
            value = math.sqrt(value * value + float32(1))
        target[i] = value


@cuda.jit
def axpy64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2.5 * float64(x[i]) + y[i]


@cuda.jit
def histogram_private(items, bins):
    own = cuda.shared.array(256, int32)
    own[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(own, items[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, cuda.threadIdx.x, own[cuda.threadIdx.x])


@cuda.jit
def rank_sublists(following, heads, owner, rank):
    """Each thread walks from its head to the next one: a successor below zero is another thread's head."""
    index = cuda.grid(1)
    if index < heads.size:
        place, prefix = heads[index], 0
        while place >= 0:
            owner[place] = index
            rank[place] = prefix
            prefix += 1
            place = following[place]


@dataclass(frozen=True)
class TimedLaunch:
    """One launch: the kernel, its shape, and how to make its arguments."""

    name: str
    size: int
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[np.random.Generator], tuple[np.ndarray, ...]]


def _matrices(n: int) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: (
        rng.random((n, n), dtype=np.float32),
        rng.random((n, n), dtype=np.float32),
        np.zeros((n, n), np.float32),
    )


MATMULS = {
    "matmul, x along columns, 16x16": (kernels.matmul_columns, (16, 16)),
    "matmul, x along columns, 32x32": (kernels.matmul_columns, (32, 32)),
    "matmul, x along columns, 256x1": (kernels.matmul_columns, (256, 1)),
    "matmul, x along rows, 16x16": (kernels.matmul_rows, (16, 16)),
    "matmul, x along rows, 32x32": (kernels.matmul_rows, (32, 32)),
    "matmul, x along columns, while, 16x16": (matmul_columns_while, (16, 16)),
    "matmul, x along columns, while, 32x32": (matmul_columns_while, (32, 32)),
    "matmul, x along rows, while, 32x32": (matmul_rows_while, (32, 32)),
    "matmul, float64 total, 16x16": (kernels.matmul_float64_total, (16, 16)),
    "matmul, total in global memory, 16x16": (matmul_global_total, (16, 16)),
    "matmul, tiles of 16": (matmul_tiled, (16, 16)),
}
MATMUL_SIZES = (256, 512, 1000, 1024, 1100, 2048, 4096)
VECTOR_SIZES = (1 << 16, 1 << 20, 1 << 24)
LIST_SIZES = (1 << 16, 1 << 20, 1 << 22)


def _vectors(n: int) -> Iterator[TimedLaunch]:
    blocks = ((n + 255) // 256,)
    side = 1 << (n.bit_length() // 2)
    shape = (side, n // side)
    over_shape = (shape[1] // 16, shape[0] // 16)

    def floats(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return rng.random(n, dtype=np.float32), np.zeros(n, np.float32)

    def items(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return rng.integers(0, 256, n, dtype=np.int32), np.zeros(256, np.int32)

    def one_value(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return np.full(n, 7, np.int32), np.zeros(256, np.int32)

    def zipf(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return (rng.zipf(1.5, n) % 256).astype(np.int32), np.zeros(256, np.int32)

    def chain(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        order = rng.permutation(n).astype(np.int32)
        following = np.empty(n, np.int32)
        following[order] = np.roll(order, -1)
        return following, np.ones(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)

    yield TimedLaunch("copy", n, kernels.copy, blocks, (256,), floats)
    yield TimedLaunch("square roots", n, square_roots, blocks, (256,), floats)
    yield TimedLaunch("axpy, float64", n, axpy64, blocks, (256,), lambda rng: (rng.random(n), rng.random(n)))
    yield TimedLaunch(
        "transpose, 16x16",
        n,
        kernels.transpose_naive,
        over_shape,
        (16, 16),
        lambda rng: (rng.random(shape, dtype=np.float32), np.zeros(shape[::-1], np.float32)),
    )
    yield TimedLaunch("histogram, global, uniform", n, kernels.histogram_global, blocks, (256,), items)
    yield TimedLaunch("histogram, global, one value", n, kernels.histogram_global, blocks, (256,), one_value)
    private = (min(blocks[0], 1056),)
    yield TimedLaunch("histogram, privatized, uniform", n, histogram_private, private, (256,), items)
    yield TimedLaunch("histogram, global, zipf", n, kernels.histogram_global, blocks, (256,), zipf)
    yield TimedLaunch("histogram, privatized, zipf", n, histogram_private, private, (256,), zipf)
    yield TimedLaunch("histogram, privatized, one value", n, histogram_private, private, (256,), one_value)
    yield TimedLaunch("pointer jump", n, kernels.pointer_jump, blocks, (256,), chain)


def _sublists(n: int, even: bool) -> TimedLaunch:
    """A random list of n nodes cut into n / log2 n sublists, at random places or all of one length."""
    count = int(n / math.log2(n))

    def lists(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        order = rng.permutation(n).astype(np.int32)  # the nodes, in the order of the list
        cuts = np.arange(count) * n // count if even else np.append(0, np.sort(rng.choice(n - 1, count - 1, False) + 1))
        following = np.full(n, -1, np.int32)
        following[order[:-1]] = order[1:]
        following[order[cuts[1:] - 1]] = -2 - order[cuts[1:]]
        return following, order[cuts], np.zeros(n, np.int32), np.zeros(n, np.int32)

    how = "equal sublists" if even else "random sublists"
    return TimedLaunch(f"list ranking, {how}", n, rank_sublists, ((count + 511) // 512,), (512,), lists)


def cases() -> Iterator[TimedLaunch]:
    """Every case, small to large."""
    for n in MATMUL_SIZES:
        for name, (kernel, block) in MATMULS.items():
            across, down = (n + block[0] - 1) // block[0], (n + block[1] - 1) // block[1]
            yield TimedLaunch(name, n, kernel, (across, down), block, _matrices(n))
        if n <= 512:  # 4 s a case on the simulated GPU at 256, eight times that at each doubling
            yield TimedLaunch("matmul, a row a thread", n, matmul_row_a_thread, ((n + 63) // 64,), (64,), _matrices(n))
    for n in VECTOR_SIZES:
        yield from _vectors(n)
    for n in LIST_SIZES:
        yield _sublists(n, even=False)
        yield _sublists(n, even=True)

"""Kernels that keep one resource of a GPU busy and leave the others idle; `microbenchmarks.py` times them.

Indices are uint64 throughout: Numba then emits no handling of negative ones, which would measure itself.
Each loop changes its addresses or operands, or the compiler would move the work out of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, int32, uint64

CHAINS = 8  # independent results a thread works on
STEPS = 4  # operations on each of them per loop iteration


@cuda.jit
def nothing(out: Any) -> None:
    """An empty kernel: what a launch costs."""


@cuda.jit
def copy(source: Any, target: Any) -> None:
    """One element a thread, read and written once."""
    i = uint64(cuda.grid(1))
    if i < uint64(source.size):
        target[i] = source[i]


@cuda.jit
def copy_four(source: Any, target: Any) -> None:
    """Four elements a thread, a whole grid apart: four loads in flight."""
    i, stride = uint64(cuda.grid(1)), uint64(cuda.gridsize(1))
    a, b = source[i], source[i + stride]
    c, d = source[i + uint64(2) * stride], source[i + uint64(3) * stride]
    target[i], target[i + stride] = a, b
    target[i + uint64(2) * stride], target[i + uint64(3) * stride] = c, d


@cuda.jit
def fill(target: Any) -> None:
    """One element a thread, written and never read."""
    target[uint64(cuda.grid(1))] = float32(1)


@cuda.jit
def load_strided(source: Any, stride: Any, group: Any, repeats: Any, out: Any) -> None:
    """Global loads from L1: `group` neighbouring lanes read neighbouring words, groups are `stride` words apart."""
    lane = uint64(cuda.threadIdx.x) % uint64(32)
    start = (lane // group) * stride + lane % group
    i, total, moved = start, float32(0), uint64(0)
    for _ in range(repeats):
        total += source[i]
        total += source[i + uint64(4096)]
        total += source[i + uint64(8192)]
        total += source[i + uint64(12288)]
        total += source[i + uint64(16384)]
        total += source[i + uint64(20480)]
        total += source[i + uint64(24576)]
        total += source[i + uint64(28672)]
        moved = (moved + uint64(4096)) & uint64(28672)
        i = start + moved
    if total == float32(-1):
        out[0] = total


# The next six index as courses do, with signed numbers: what Numba adds to an access then counts as its cost.


@cuda.jit
def vector_one(a: Any, b: Any, c: Any, n: Any, out: Any) -> None:
    """One access with one index a round."""
    total = float32(0)
    for i in range(n):
        total += a[i]
    out[cuda.threadIdx.x] = total


@cuda.jit
def vector_three(a: Any, b: Any, c: Any, n: Any, out: Any) -> None:
    """Three accesses with one index a round."""
    total = float32(0)
    for i in range(n):
        total += a[i] + b[i] + c[i]
    out[cuda.threadIdx.x] = total


@cuda.jit
def row_one(a: Any, b: Any, c: Any, n: Any, out: Any) -> None:
    """One access with two indices a round, along a row."""
    row, total = cuda.threadIdx.y, float32(0)
    for i in range(n):
        total += a[row, i]
    out[cuda.threadIdx.x] = total


@cuda.jit
def row_three(a: Any, b: Any, c: Any, n: Any, out: Any) -> None:
    """Three accesses with two indices a round, along a row."""
    row, total = cuda.threadIdx.y, float32(0)
    for i in range(n):
        total += a[row, i] + b[row, i] + c[row, i]
    out[cuda.threadIdx.x] = total


@cuda.jit
def column_one(a: Any, b: Any, c: Any, n: Any, out: Any) -> None:
    """One access with two indices a round, down a column."""
    column, total = cuda.threadIdx.x, float32(0)
    for i in range(n):
        total += a[i, column]
    out[cuda.threadIdx.x] = total


@cuda.jit
def column_three(a: Any, b: Any, c: Any, n: Any, out: Any) -> None:
    """Three accesses with two indices a round, down a column."""
    column, total = cuda.threadIdx.x, float32(0)
    for i in range(n):
        total += a[i, column] + b[i, column] + c[i, column]
    out[cuda.threadIdx.x] = total


@cuda.jit
def load_shared(stride: Any, repeats: Any, out: Any) -> None:
    """Shared loads whose lanes are `stride` words apart."""
    tile = cuda.shared.array(8192, float32)
    thread = uint64(cuda.threadIdx.x)
    for start in range(0, 8192, 1024):
        tile[thread + uint64(start)] = float32(thread)
    cuda.syncthreads()
    i = (thread % uint64(32)) * stride
    total = float32(0)
    for _ in range(repeats):
        total += tile[i]
        total += tile[i + uint64(1024)]
        total += tile[i + uint64(2048)]
        total += tile[i + uint64(3072)]
        i = (i + uint64(1024)) & uint64(4095)
    if total == float32(-1):
        out[0] = total


def arithmetic(step: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that applies a device function `step(value, x, y)` to eight values a thread, four times an iteration."""

    @cuda.jit
    def kernel(start: Any, x: Any, y: Any, repeats: Any, out: Any) -> None:
        i = cuda.threadIdx.x & 7
        a, b, c, d = start[i], start[i + 1], start[i + 2], start[i + 3]
        e, f, g, h = start[i + 4], start[i + 5], start[i + 6], start[i + 7]
        for _ in range(repeats):
            for _ in range(4):
                a, b, c, d = step(a, x, y), step(b, x, y), step(c, x, y), step(d, x, y)
                e, f, g, h = step(e, x, y), step(f, x, y), step(g, x, y), step(h, x, y)
        total = a + b + c + d + e + f + g + h
        if total == 12345:
            out[0] = total

    compiled: Callable[..., Any] = kernel
    return compiled


@cuda.jit(device=True)
def scramble(state: Any) -> Any:
    """The next state of Knuth's 64-bit linear congruential generator."""
    return state * uint64(6364136223846793005) + uint64(1442695040888963407)


@cuda.jit
def gather(source: Any, mask: Any, repeats: Any, out: Any) -> None:
    """Every lane loads from a place of its own choosing, four loads at a time."""
    state = scramble(uint64(cuda.grid(1)) * uint64(2654435761))
    total = float32(0)
    for _ in range(repeats):
        for _ in range(4):
            state = scramble(state)
            total += source[(state >> uint64(33)) & mask]
    if total == float32(-1):
        out[0] = total


@cuda.jit
def gather_lines(source: Any, mask: Any, repeats: Any, out: Any) -> None:
    """Every warp loads a line of 128 bytes of its own choosing, four at a time."""
    thread = uint64(cuda.grid(1))
    state = scramble((thread // uint64(32)) * uint64(2654435761))
    total = float32(0)
    for _ in range(repeats):
        for _ in range(4):
            state = scramble(state)
            total += source[((state >> uint64(33)) & mask) * uint64(32) + (thread & uint64(31))]
    if total == float32(-1):
        out[0] = total


@cuda.jit
def scatter(target: Any, mask: Any, repeats: Any) -> None:
    """Every lane stores to a place of its own choosing."""
    state = scramble(uint64(cuda.grid(1)) * uint64(2654435761))
    for _ in range(repeats):
        state = scramble(state)
        target[(state >> uint64(33)) & mask] = float32(1)


@cuda.jit
def atomic_global(target: Any, mask: Any, multiplicity: Any, repeats: Any) -> None:
    """Every group of `multiplicity` lanes adds to one place of its own choosing."""
    thread = uint64(cuda.grid(1))
    state = scramble((thread // multiplicity) * uint64(2654435761))
    for _ in range(repeats):
        state = scramble(state)
        cuda.atomic.add(target, (state >> uint64(33)) & mask, 1)


@cuda.jit
def atomic_shared(mask: Any, multiplicity: Any, repeats: Any, out: Any) -> None:
    """The same in shared memory, one array a block."""
    bins = cuda.shared.array(4096, np.int32)
    thread = uint64(cuda.threadIdx.x)
    bins[thread] = 0
    cuda.syncthreads()
    state = scramble((thread // multiplicity) * uint64(2654435761))
    for _ in range(repeats):
        state = scramble(state)
        cuda.atomic.add(bins, (state >> uint64(33)) & mask, 1)
    cuda.syncthreads()
    if bins[thread] == -1:
        out[0] = 1


@cuda.jit
def atomic_shared_varied(mask: Any, multiplicity: Any, repeats: Any, out: Any) -> None:
    """The same, each lane adding a number of its own: the assembler cannot count lanes instead."""
    bins = cuda.shared.array(4096, np.int32)
    thread = uint64(cuda.threadIdx.x)
    bins[thread] = 0
    cuda.syncthreads()
    state = scramble((thread // multiplicity) * uint64(2654435761))
    for _ in range(repeats):
        state = scramble(state)
        cuda.atomic.add(bins, (state >> uint64(33)) & mask, int32(thread))
    cuda.syncthreads()
    if bins[thread] == -1:
        out[0] = 1


@cuda.jit
def chase(following: Any, start: Any, steps: Any, out: Any) -> None:
    """One thread follows a chain: each load waits for the one before."""
    place = uint64(start)
    for _ in range(steps):
        place = following[place]
    out[0] = place


@cuda.jit
def chase_shared(following: Any, steps: Any, out: Any) -> None:
    """The same in shared memory."""
    chain = cuda.shared.array(1024, uint64)
    for i in range(1024):
        chain[i] = following[i]
    place = uint64(0)
    for _ in range(steps):
        place = chain[place]
    out[0] = place


@cuda.jit
def barriers(repeats: Any, out: Any) -> None:
    """Nothing but barriers."""
    for _ in range(repeats):
        cuda.syncthreads()
    if repeats < 0:
        out[0] = 1

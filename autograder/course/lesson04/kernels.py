"""Lesson 4's kernels as they are measured: work for some threads, loops of different lengths, sums of a block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def busy(value, rounds):
    while rounds > 0:
        value = value * np.float32(0.5) + np.float32(1)
        rounds -= 1
    return value


@cuda.jit
def everyone(x, rounds):
    i = cuda.grid(1)
    x[i] = busy(x[i], rounds)


@cuda.jit
def every_32nd(x, rounds):
    i = cuda.grid(1)
    if i % 32 == 0:
        x[i] = busy(x[i], rounds)


@cuda.jit
def the_first(x, rounds):
    i = cuda.grid(1)
    if i < x.size // 32:
        x[i] = busy(x[i], rounds)


@cuda.jit
def walk(lengths, out):
    i = cuda.grid(1)
    out[i] = busy(out[i], lengths[i])


@cuda.jit
def four_ways(x, rounds):
    i = cuda.grid(1)
    if i % 4 == 0:
        x[i] = busy(x[i], rounds)
    elif i % 4 == 1:
        x[i] = busy(x[i] + np.float32(1), rounds)
    elif i % 4 == 2:
        x[i] = busy(x[i] + np.float32(2), rounds)
    else:
        x[i] = busy(x[i] + np.float32(3), rounds)


@cuda.jit
def four_ways_by(x, rounds, width):
    """The same four paths, with as many neighbours on each as `width` says."""
    i = cuda.grid(1)
    way = i // width % 4
    if way == 0:
        x[i] = busy(x[i], rounds)
    elif way == 1:
        x[i] = busy(x[i] + np.float32(1), rounds)
    elif way == 2:
        x[i] = busy(x[i] + np.float32(2), rounds)
    else:
        x[i] = busy(x[i] + np.float32(3), rounds)


@cuda.jit
def row_sums(order, starts, values, sums):
    """Thread i adds up row order[i], which goes from starts[row] to before starts[row + 1]."""
    i = cuda.grid(1)
    if i < order.size:
        row = order[i]
        total = np.float32(0)
        k = starts[row]
        while k < starts[row + 1]:
            total += values[k]
            k += 1
        sums[row] = total


@cuda.jit
def row_sums_by_warp(order, starts, values, sums):
    """Each warp adds up one row: its lanes read side by side, and shuffles add up what they have."""
    i = cuda.grid(1) // 32
    if i < order.size:
        row = order[i]
        total = np.float32(0)
        k = starts[row] + cuda.laneid
        while k < starts[row + 1]:
            total += values[k]
            k += 32
        step = 16
        while step > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
            step //= 2
        if cuda.laneid == 0:
            sums[row] = total


@cuda.jit
def picture(out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = 1


@cuda.jit
def warp_sums(values, sums):
    i = cuda.grid(1)
    total = values[i]
    step = 16
    while step > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        step //= 2
    if cuda.laneid == 0:
        sums[i // 32] = total


@cuda.jit
def halving_by_block(values, sums):
    """The first threads add, in a block of any width; a part without a partner is lost. Right for powers of two."""
    part = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def totals_by_step(values, totals):
    """`warp_sums` in one warp that writes down every lane's total: a row of `totals` before and after each shuffle."""
    lane = cuda.laneid
    total = values[lane]
    totals[0, lane] = total
    row, step = 1, 16
    while step > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        totals[row, lane] = total
        row += 1
        step //= 2


@cuda.jit
def shuffled_block(values, sums):
    part = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    total = values[cuda.grid(1)]
    step = 16
    while step > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        step //= 2
    if t % 32 == 0:
        part[t // 32] = total
    cuda.syncthreads()
    if t == 0:
        for warp in range(1, 8):
            total += part[warp]
        sums[cuda.blockIdx.x] = total


@cuda.jit
def without_the_last_barriers(values, sums):
    """The old trick: as soon as one warp is left, nobody waits any more."""
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        if step > 32:
            cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def last_warp_written_out(values, sums):
    """The same trick as old books print it: six additions in a row, with no loop and no barrier."""
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 32:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t < 32:
        part[t] += part[t + 32]
        part[t] += part[t + 16]
        part[t] += part[t + 8]
        part[t] += part[t + 4]
        part[t] += part[t + 2]
        part[t] += part[t + 1]
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


def last_warp_with(*, guard: bool = False, syncwarp: bool = False, shuffle: bool = False) -> Any:
    """The same trick in a loop, and what may be put into its rounds: who adds, and what stands between two rounds."""

    @cuda.jit
    def last_warp(values, sums):
        part = cuda.shared.array(256, np.float32)
        t = cuda.threadIdx.x
        part[t] = values[cuda.grid(1)]
        cuda.syncthreads()
        step = 128
        while step > 32:
            if t < step:
                part[t] += part[t + step]
            cuda.syncthreads()
            step //= 2
        if t < 32:
            while step > 0:
                if t < step or not guard:
                    part[t] += part[t + step]
                if syncwarp:
                    cuda.syncwarp()
                if shuffle:
                    cuda.shfl_sync(0xFFFFFFFF, t, 0)
                step //= 2
        if t == 0:
            sums[cuda.blockIdx.x] = part[0]

    return last_warp


@cuda.jit
def draw_tickets(x, counter, tickets):
    i = cuda.grid(1)
    value = x[i]
    if i % 32 == 0 and value >= 0:
        tickets[i // 32] = cuda.atomic.add(counter, 0, 1)


@cuda.jit
def writers_in_the_if(values, out):
    """Even lanes write, odd ones read their neighbour's place, in the two paths of one branch."""
    part = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = np.float32(-1)
    cuda.syncthreads()
    if t % 2 == 0:
        part[t] = values[i]
    else:
        out[i] = part[t - 1]


@cuda.jit
def writers_in_the_else(values, out):
    """The same with the two paths exchanged."""
    part = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = np.float32(-1)
    cuda.syncthreads()
    if t % 2 == 1:
        out[i] = part[t - 1]
    else:
        part[t] = values[i]


@cuda.jit
def with_syncwarp(values, out):
    """The same in an order that is promised."""
    part = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = np.float32(-1)
    cuda.syncthreads()
    if t % 2 == 0:
        part[t] = values[i]
    cuda.syncwarp()
    if t % 2 == 1:
        out[i] = part[t - 1]


@cuda.jit
def from_another_warp(values, out):
    """Every thread of a block of 1,024 reads what a thread of another warp writes, and nothing makes it wait."""
    piece = cuda.shared.array(1024, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    piece[t] = np.float32(-1)
    cuda.syncthreads()
    piece[t] = values[i]
    out[i] = piece[(t + 512) % 1024]

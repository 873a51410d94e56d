"""The kernels of lesson 5 as they are measured: `items` are counted into `bins`, blocks have 256 threads."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda


@cuda.jit
def without_atomics(items, bins):
    i = cuda.grid(1)
    if i < items.size:
        bins[items[i]] += 1


@cuda.jit
def owner_counts(items, bins):
    """A thread for each bin reads all items, and only it writes there: no atomics."""
    own = cuda.grid(1)
    if own < bins.size:
        total = 0
        i = 0
        while i < items.size:
            if items[i] == own:
                total += 1
            i += 1
        bins[own] = total


@cuda.jit
def draw_tickets(items, wanted, places, found):
    """Who has a wanted item stores its index at a place of its own; found[0] is how many there are."""
    i = cuda.grid(1)
    if i < items.size and items[i] == wanted:
        ticket = cuda.atomic.add(found, 0, 1)
        places[ticket] = i


@cuda.jit
def copies_in_global_memory(items, bins, copies):
    t, block = cuda.threadIdx.x, cuda.blockIdx.x
    i = cuda.grid(1)
    while i < items.size:
        cuda.atomic.add(copies, (block, items[i]), 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, copies[block, t])


@cuda.jit
def show_copies(items, copies):
    """Stores each block's private copy instead of merging it."""
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < items.size:
        cuda.atomic.add(own, items[i], 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    copies[cuda.blockIdx.x, t] = own[t]


@cuda.jit
def weighted(items, bins, weight):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < items.size:
        cuda.atomic.add(own, items[i], weight)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def contiguous(items, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    share = (items.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    i = cuda.grid(1) * share
    end = min(i + share, items.size)
    while i < end:
        cuda.atomic.add(own, items[i], 1)
        i += 1
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def runs_interleaved(items, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    current, count = 0, 0
    i = cuda.grid(1)
    while i < items.size:
        item = items[i]
        if item != current:
            if count > 0:
                cuda.atomic.add(own, current, count)
            current, count = item, 0
        count += 1
        i += cuda.gridsize(1)
    if count > 0:
        cuda.atomic.add(own, current, count)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def runs_contiguous(items, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    share = (items.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    i = cuda.grid(1) * share
    end = min(i + share, items.size)
    current, count = 0, 0
    while i < end:
        item = items[i]
        if item != current:
            if count > 0:
                cuda.atomic.add(own, current, count)
            current, count = item, 0
        count += 1
        i += 1
    if count > 0:
        cuda.atomic.add(own, current, count)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit
def runs_without_copies(items, bins):
    current, count = 0, 0
    i = cuda.grid(1)
    while i < items.size:
        item = items[i]
        if item != current:
            if count > 0:
                cuda.atomic.add(bins, current, count)
            current, count = item, 0
        count += 1
        i += cuda.gridsize(1)
    if count > 0:
        cuda.atomic.add(bins, current, count)


@cache
def hot_bins(kept: int) -> Any:
    """A private copy of the first `kept` bins only; the others are counted in global memory."""

    @cuda.jit
    def hot(items, bins):
        own = cuda.shared.array(kept, np.int32)
        t = cuda.threadIdx.x
        while t < kept:
            own[t] = 0
            t += cuda.blockDim.x
        cuda.syncthreads()
        i = cuda.grid(1)
        while i < items.size:
            item = items[i]
            if item < kept:
                cuda.atomic.add(own, item, 1)
            else:
                cuda.atomic.add(bins, item, 1)
            i += cuda.gridsize(1)
        cuda.syncthreads()
        t = cuda.threadIdx.x
        while t < kept:
            cuda.atomic.add(bins, t, own[t])
            t += cuda.blockDim.x

    return hot


@cuda.jit
def ranges(items, bins):
    """Every row of blocks, blockIdx.y, reads all items and counts those in its own range of 4,096 bins."""
    own = cuda.shared.array(4096, np.int32)
    first = cuda.blockIdx.y * 4096
    t = cuda.threadIdx.x
    while t < 4096:
        own[t] = 0
        t += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < items.size:
        place = items[i] - first
        if place >= 0 and place < 4096:
            cuda.atomic.add(own, place, 1)
        i += cuda.gridDim.x * cuda.blockDim.x
    cuda.syncthreads()
    t = cuda.threadIdx.x
    while t < 4096:
        cuda.atomic.add(bins, first + t, own[t])
        t += cuda.blockDim.x


@cuda.jit
def read_only(items, out):
    """Reads every item and writes next to nothing: how fast the data can come at all."""
    total = 0
    i = cuda.grid(1)
    while i < items.size:
        total += items[i]
        i += cuda.gridsize(1)
    if total == -1:
        out[0] = total

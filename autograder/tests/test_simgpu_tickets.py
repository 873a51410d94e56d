"""The last block to finish: in order where fence, ticket and condition are there, and a race where one is missing."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import profile
from autograder.simgpu import cuda_module

cuda = cuda_module.build_module()
BLOCKS, THREADS = 6, 64
RIGHT: list = []
WRONG: list = []


def right(function):
    RIGHT.append(cuda.jit(function))
    return function


def wrong(function):
    """Adds a kernel that must be told as a race."""
    WRONG.append(cuda.jit(function))
    return function


@right
def tells_the_block_by_a_flag_in_shared_memory(sums, taken, total):
    is_last = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        is_last[0] = cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if is_last[0]:
        if cuda.threadIdx.x < cuda.gridDim.x:
            cuda.atomic.add(total, 0, sums[cuda.threadIdx.x])
        if cuda.threadIdx.x == 0:
            taken[0] = 0


@right
def leaves_early_where_others_are_to_come(sums, taken, total):
    if cuda.threadIdx.x > 0:
        return
    sums[cuda.blockIdx.x] = cuda.blockIdx.x
    cuda.threadfence()
    ticket = cuda.atomic.inc(taken, 0, cuda.gridDim.x)
    if ticket < cuda.gridDim.x - 1:
        return
    for block in range(cuda.gridDim.x):
        total[0] += sums[block]


@right
def each_thread_leaves_its_part_behind_a_fence_and_a_barrier(sums, taken, total):
    t = cuda.threadIdx.x
    ticket = cuda.shared.array(1, np.int32)
    if t < 2:
        sums[cuda.blockIdx.x + t * cuda.gridDim.x] = cuda.blockIdx.x * t
        cuda.threadfence()
    cuda.syncthreads()
    if t == 5:
        ticket[0] = cuda.atomic.add(taken, 0, 1)
    cuda.syncthreads()
    if ticket[0] == cuda.gridDim.x - 1 and t == 7:
        for part in range(2 * cuda.gridDim.x):
            total[0] += sums[part]


@right
def one_fence_after_the_barrier_is_enough(sums, taken, total):
    t = cuda.threadIdx.x
    if t < 2:
        sums[cuda.blockIdx.x + t * cuda.gridDim.x] = cuda.blockIdx.x * t
    cuda.syncthreads()
    if t == 0:
        cuda.threadfence()
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1:
            for part in range(2 * cuda.gridDim.x):
                total[0] += sums[part]


@cuda.jit(device=True)
def comes_last(taken):
    cuda.threadfence()
    return cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1


@cuda.jit(device=True)
def add_up(sums, total):
    for block in range(cuda.gridDim.x):
        total[0] += sums[block]


@right
def in_device_functions(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        if comes_last(taken):
            add_up(sums, total)


@pytest.mark.parametrize("batch", [BLOCKS * THREADS, THREADS, 4 * THREADS])
@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.__name__)
def test_the_last_block_reads_what_the_others_left(kernel, batch, monkeypatch):
    monkeypatch.setattr("autograder.simgpu.launch.LANES_PER_BATCH", batch)
    sums, taken, total = np.zeros(2 * BLOCKS, np.int64), np.zeros(1, np.uint32), np.zeros(1, np.int64)
    p = profile(kernel)[BLOCKS, THREADS](sums, taken, total)
    assert p.hazards == () and total[0] == BLOCKS * (BLOCKS - 1) / 2


@wrong
def without_a_fence(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def with_a_fence_for_the_block_only(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence_block()
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def with_the_fence_before_the_store(sums, taken, total):
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def with_the_fence_after_the_ticket(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        ticket = cuda.atomic.add(taken, 0, 1)
        cuda.threadfence()
        if ticket == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def without_a_ticket(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        if cuda.blockIdx.x == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def with_a_ticket_that_nobody_looks_at(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        ticket = cuda.atomic.add(taken, 0, 1)  # noqa: F841
        if cuda.blockIdx.x == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def with_another_ticket_than_the_last(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 2:
            add_up(sums, total)


@wrong
def with_a_counter_for_each_block(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        if cuda.atomic.add(taken, cuda.blockIdx.x % 2, 1) == cuda.gridDim.x // 2 - 1:
            add_up(sums, total)


@wrong
def with_a_part_that_no_fence_and_no_barrier_releases(sums, taken, total):
    if cuda.threadIdx.x == 1:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1:
            add_up(sums, total)


@wrong
def without_a_barrier_behind_the_ticket(sums, taken, total):
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        taken[1] = cuda.atomic.add(taken, 0, 1)
    if taken[1] == cuda.gridDim.x - 1:
        if cuda.threadIdx.x == 40:
            add_up(sums, total)


@pytest.mark.parametrize("batch", [BLOCKS * THREADS, THREADS, 4 * THREADS])
@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.__name__)
def test_a_last_block_that_may_come_too_early_is_a_race(kernel, batch, monkeypatch):
    monkeypatch.setattr("autograder.simgpu.launch.LANES_PER_BATCH", batch)
    sums, taken, total = np.zeros(2 * BLOCKS, np.int64), np.zeros(2, np.uint32), np.zeros(1, np.int64)
    p = profile(kernel)[BLOCKS, THREADS](sums, taken, total)
    assert ("race", "sums") in {(hazard.kind, hazard.array) for hazard in p.hazards}

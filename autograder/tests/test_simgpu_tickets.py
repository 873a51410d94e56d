"""The last block to finish, and locks: in order where fences, atomic and condition are there; else a race."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder import profile
from autograder.simgpu.host import cuda_module

cuda = cuda_module.build_module()
BLOCKS, THREADS = 6, 64
RIGHT: list[Any] = []
WRONG: list[Any] = []


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
    monkeypatch.setattr("autograder.simgpu.host.launch.LANES_PER_BATCH", batch)
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
    monkeypatch.setattr("autograder.simgpu.host.launch.LANES_PER_BATCH", batch)
    sums, taken, total = np.zeros(2 * BLOCKS, np.int64), np.zeros(2, np.uint32), np.zeros(1, np.int64)
    p = profile(kernel)[BLOCKS, THREADS](sums, taken, total)
    assert ("race", "sums") in {(hazard.kind, hazard.array) for hazard in p.hazards}


# -- locks --------------------------------------------------------------------------------------------------------

ORDERED_BY_LOCK: list[Any] = []
RACES_DESPITE_LOCK: list[Any] = []


def ordered(function):
    ORDERED_BY_LOCK.append(cuda.jit(function))
    return function


def unordered(function):
    """Adds a kernel whose `total` must be told as a race."""
    RACES_DESPITE_LOCK.append(cuda.jit(function))
    return function


@ordered
def taken_by_compare_and_swap(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@ordered
def taken_by_the_older_compare_and_swap(lock, total):
    waits = True
    while waits:
        found = cuda.atomic.compare_and_swap(lock, 0, 1)
        if found == 0:
            cuda.threadfence()
            total[0] = total[0] + 1
            cuda.threadfence()
            cuda.atomic.compare_and_swap(lock, 1, 0)
            waits = False


@ordered
def taken_by_exchange(lock, total):
    waits = True
    while waits:
        if cuda.atomic.exch(lock, 0, 1) == 0:
            cuda.threadfence()
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@ordered
def given_back_by_a_plain_store(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            total[0] += 1
            cuda.threadfence()
            lock[0] = 0
            waits = False


@cuda.jit(device=True)
def got(lock):
    taken = cuda.atomic.cas(lock, 0, 0, 1) == 0
    cuda.threadfence()
    return taken


@cuda.jit(device=True)
def give_back(lock):
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@ordered
def in_functions(lock, total):
    waits = True
    while waits:
        if got(lock):
            total[0] += 1
            give_back(lock)
            waits = False


@ordered
def one_of_several(lock, total):
    mine, waits = cuda.grid(1) % 3, True
    while waits:
        if cuda.atomic.cas(lock, mine, 0, 1) == 0:
            cuda.threadfence()
            total[mine] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, mine, 0)
            waits = False


@ordered
def two_at_a_time(lock, total):
    one, waits = cuda.grid(1) % 2, True
    while waits:
        if cuda.atomic.cas(lock, one, 0, 1) == 0:
            if cuda.atomic.cas(lock, one + 1, 0, 1) == 0:
                cuda.threadfence()
                total[one] -= 1
                total[one + 1] += 2
                cuda.threadfence()
                cuda.atomic.exch(lock, one + 1, 0)
                waits = False
            cuda.atomic.exch(lock, one, 0)


@ordered
def for_a_block_in_shared_memory(lock, total):
    own_lock, own = cuda.shared.array(1, np.int32), cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        own_lock[0] = 0
        own[0] = 0
    cuda.syncthreads()
    waits = True
    while waits:
        if cuda.atomic.cas(own_lock, 0, 0, 1) == 0:
            cuda.threadfence_block()
            own[0] += 1
            cuda.threadfence_block()
            cuda.atomic.exch(own_lock, 0, 0)
            waits = False
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, own[0])


@ordered
def by_a_whole_block(lock, total):
    found = cuda.shared.array(1, np.int32)
    t, waits = cuda.threadIdx.x, True
    while waits:
        if t == 0:
            found[0] = cuda.atomic.cas(lock, 0, 0, 1)
            cuda.threadfence()
        cuda.syncthreads()
        if found[0] == 0:
            waits = False
            for turn in range(4):
                if t == 9 * turn:
                    total[0] += cuda.blockDim.x // 4
                cuda.syncthreads()
            if t == 0:
                cuda.threadfence()
                cuda.atomic.exch(lock, 0, 0)
        cuda.syncthreads()


@ordered
def by_one_lane_for_its_warp(lock, total):
    waits = True
    while waits:
        found = 1
        if cuda.laneid == 0:
            found = cuda.atomic.cas(lock, 0, 0, 1)
            cuda.threadfence()
        if cuda.shfl_sync(0xFFFFFFFF, found, 0) == 0:
            cuda.syncwarp()
            if cuda.laneid == 7:
                total[0] += 32
            cuda.syncwarp()
            if cuda.laneid == 0:
                cuda.threadfence()
                cuda.atomic.exch(lock, 0, 0)
            waits = False


LAUNCHES = [(1, 32, 256), (1, 64, 256), (3, 64, 256), (3, 64, 64)]  # within a warp, a block, a batch, and between batches


@pytest.mark.parametrize(("blocks", "threads", "batch"), LAUNCHES)
@pytest.mark.parametrize("kernel", ORDERED_BY_LOCK, ids=lambda kernel: kernel.__name__)
def test_what_is_done_under_a_lock_with_fences_is_in_order_within_a_warp_a_block_and_the_grid(
    kernel, blocks, threads, batch, monkeypatch
):
    monkeypatch.setattr("autograder.simgpu.host.launch.LANES_PER_BATCH", batch)
    total = np.zeros(3, np.int32)
    p = profile(kernel)[blocks, threads](np.zeros(3, np.int32), total)
    assert p.hazards == () and total.sum() == blocks * threads


@unordered
def no_fence(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            total[0] += 1
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@unordered
def no_fence_before_it_is_given_back(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            total[0] += 1
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@unordered
def no_fence_after_it_is_taken(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            total[0] += 1  # what was read for the last time may still lie in a cache
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@unordered
def the_fence_stands_before_the_store(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            new = total[0] + 1
            cuda.threadfence()
            total[0] = new
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@unordered
def stores_after_giving_it_back(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            new = total[0] + 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            total[0] = new
            waits = False


@unordered
def stores_when_all_have_given_it_back(lock, total):
    waits, new = True, 0
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            new = total[0] + 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waits = False
    total[0] = new


@unordered
def two_locks_for_one_total(lock, total):
    mine, waits = cuda.threadIdx.x % 2, True
    while waits:
        if cuda.atomic.cas(lock, mine, 0, 1) == 0:
            cuda.threadfence()
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, mine, 0)
            waits = False


@unordered
def who_does_not_get_it_goes_on_all_the_same(lock, total):
    if cuda.atomic.cas(lock, 0, 0, 1) == 0:
        cuda.threadfence()
        total[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)
    else:
        cuda.threadfence()
        total[0] += 1


@unordered
def reads_before_it_has_the_lock(lock, total):
    waits = True
    total[1 + cuda.threadIdx.x % 2] = cuda.threadIdx.x
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            total[0] += total[1 + (cuda.threadIdx.x + 1) % 2]  # the others' stores are released only later
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@unordered
def a_plain_flag_instead(lock, total):
    waits = True
    while waits:
        if lock[0] == 0:
            lock[0] = 1
            cuda.threadfence()
            total[0] += 1
            cuda.threadfence()
            lock[0] = 0
            waits = False


@pytest.mark.parametrize(("blocks", "threads", "batch"), LAUNCHES)
@pytest.mark.parametrize("kernel", RACES_DESPITE_LOCK, ids=lambda kernel: kernel.__name__)
def test_a_lock_that_orders_nothing_is_a_race(kernel, blocks, threads, batch, monkeypatch):
    monkeypatch.setattr("autograder.simgpu.host.launch.LANES_PER_BATCH", batch)
    p = profile(kernel)[blocks, threads](np.zeros(3, np.int32), np.zeros(3, np.int32))
    assert ("race", "total", "error") in {(each.kind, each.array, each.severity) for each in p.hazards}


def test_a_fence_for_the_block_orders_no_threads_of_other_blocks():
    @cuda.jit
    def fences_for_the_block(lock, total):
        waits = True
        while waits:
            if cuda.atomic.cas(lock, 0, 0, 1) == 0:
                cuda.threadfence_block()
                total[0] += 1
                cuda.threadfence_block()
                cuda.atomic.exch(lock, 0, 0)
                waits = False

    def races(blocks, threads):
        p = profile(fences_for_the_block)[blocks, threads](np.zeros(1, np.int32), np.zeros(1, np.int32))
        return [each for each in p.hazards if each.kind == "race"]

    assert not races(1, 64)
    assert races(2, 32)[0].other_thread is not None


def test_the_remedy_for_a_lock_without_fences_is_a_fence_and_no_barrier():
    kernel = next(kernel for kernel in RACES_DESPITE_LOCK if kernel.__name__ == "no_fence")
    for blocks, threads in ((1, 32), (1, 64), (4, 64)):
        p = profile(kernel)[blocks, threads](np.zeros(1, np.int32), np.zeros(1, np.int32))
        assert p.hazards
        for hazard in p.hazards:
            assert "cuda.threadfence()" in hazard.remedy and "sync" not in hazard.remedy


def test_an_element_that_nobody_had_read_needs_no_fence_behind_the_ticket_however_often_it_is_read():
    @cuda.jit
    def looks_twice(sums, taken, total):
        sums[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.threadfence()
        if cuda.atomic.add(taken, 0, 1) == cuda.gridDim.x - 1:
            for _ in range(2):
                for block in range(cuda.gridDim.x):
                    total[0] += sums[block]

    total = np.zeros(1, np.int64)
    p = profile(looks_twice)[BLOCKS, 1](np.zeros(BLOCKS, np.int64), np.zeros(1, np.uint32), total)
    assert p.hazards == () and total[0] == BLOCKS * (BLOCKS - 1)


def test_more_releases_than_there_is_room_for_at_first_are_kept_all_the_same():
    kernel = next(kernel for kernel in ORDERED_BY_LOCK if kernel.__name__ == "one_of_several")
    total = np.zeros(3, np.int32)
    p = profile(kernel)[20, 64](np.zeros(3, np.int32), total)
    assert p.hazards == () and total.sum() == 20 * 64


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_lanes_exchange_one_after_the_other_in_their_order_also_in_a_field(dtype, align):
    @cuda.jit
    def exchanges(records, found):
        t, words = cuda.threadIdx.x, records["word"]
        found[t] = cuda.atomic.exch(words, 0, t + 1)
        found[t + 8] = cuda.atomic.cas(words, 1, t, t + 1)
        found[t + 16] = cuda.atomic.cas(words, 2, 0, t + 1)

    records = np.zeros(3, np.dtype([("small", np.int8), ("word", dtype)], align=align))
    device, found = cuda.to_device(records), np.full(24, 99, np.int64)
    assert profile(exchanges)[1, 8](device, found).hazards == ()
    after = device.copy_to_host()["word"].tolist()
    assert after == [8, 8, 1]
    assert found.tolist() == [*range(8), *range(8), 0, *[1] * 7]

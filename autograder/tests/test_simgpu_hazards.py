"""What the simulated GPU finds wrong: a table of small kernels, each with the hazard it must and must not get."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from autograder import profile
from autograder.errors import KernelFault, WorkLimit
from autograder.records.hazards import Hazard
from autograder.simgpu.host import cuda_module, dispatch
from autograder.simgpu.operations.statements import Assign
from autograder.simgpu.values.memory import Shadow

cuda = cuda_module.build_module()


@cuda.jit
def past_the_end(a):
    a[cuda.grid(1)] = 1


@cuda.jit
def wraps_round(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i - 1]


@cuda.jit
def everyone_writes_one_element(a):
    a[0] = cuda.grid(1)


@cuda.jit
def everyone_writes_the_same(a):
    a[0] = 7


@cuda.jit
def shifts_in_place(a):
    i = cuda.grid(1)
    if i + 1 < a.size:
        a[i] = a[i + 1]


@cuda.jit
def no_barrier(a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    a[t] = s[63 - t]


@cuda.jit
def with_barrier(a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    a[t] = s[63 - t]


@cuda.jit
def second_barrier_missing(a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for _ in range(2):
        s[t] = a[t]
        cuda.syncthreads()
        a[t] = s[63 - t]


@cuda.jit
def reads_unwritten_shared(a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    if t < 32:
        s[t] = 1
    cuda.syncthreads()
    a[t] = s[t]


@cuda.jit
def barrier_in_a_branch(a):
    t = cuda.threadIdx.x
    if t < 40:
        a[t] = 1
        cuda.syncthreads()


@cuda.jit
def barrier_after_an_early_return(a):
    t = cuda.threadIdx.x
    if t >= 40:
        return
    a[t] = 1
    cuda.syncthreads()


@cuda.jit
def warp_without_sync(a):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    if t < 32:
        s[t] = t
        a[t] = s[31 - t]


@cuda.jit
def warp_with_sync(a):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    if t < 32:
        s[t] = t
        cuda.syncwarp()
        a[t] = s[31 - t]


@cuda.jit
def atomic_sum(a):
    cuda.atomic.add(a, 0, 1.0)


@cuda.jit
def unset_on_one_path(a):
    t = cuda.threadIdx.x
    if t < 10:
        x = 1
    a[t] = x


@cuda.jit
def too_big_for_the_array(a):
    a[cuda.threadIdx.x] = 300


@cuda.jit
def float64_by_accident(a):
    t = cuda.threadIdx.x
    a[t] = a[t] * 2.5


@cuda.jit
def float32_throughout(a):
    t = cuda.threadIdx.x
    a[t] = a[t] * np.float32(2.5)


@cuda.jit
def tree_reduction(a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        a[0] = s[0]


@cuda.jit
def counts_without_clearing(a):
    counts = cuda.shared.array(4, np.int32)
    cuda.atomic.add(counts, cuda.threadIdx.x % 4, 1)
    cuda.syncthreads()
    a[cuda.grid(1)] = counts[0]


@cuda.jit
def exchanges_before_reading(a):
    flag = cuda.shared.array(1, np.int32)
    cuda.atomic.exch(flag, 0, 1)
    cuda.syncthreads()
    a[cuda.grid(1)] = flag[0]


@cuda.jit
def the_last_lane_looks_after_all_have_counted(a):
    cuda.atomic.add(a, 0, 1)
    if cuda.threadIdx.x == 63:
        a[1] = a[0]


@cuda.jit
def the_last_lane_clears_what_all_have_counted(a):
    cuda.atomic.add(a, 0, 1)
    if cuda.threadIdx.x == 63:
        a[0] = 0


@cuda.jit
def each_lane_counts_for_itself_and_looks(a):
    t = cuda.threadIdx.x
    cuda.atomic.add(a, t, 1)
    a[t] += 1


@cuda.jit
def half_a_warp_waits_for_the_other(a):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncwarp()
        a[t] = 0


@cuda.jit
def half_a_warp_waits_for_itself(a):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncwarp(0xFFFF)
        a[t] = 0


@cuda.jit
def a_warp_waits_for_those_that_are_left(a):
    t = cuda.threadIdx.x
    if t >= 16:
        return
    cuda.syncwarp()
    a[t] = 0


@cuda.jit
def the_mask_names_one_lane_of_many(a):
    t = cuda.threadIdx.x
    a[t] = cuda.shfl_down_sync(1, a[t], 1)


@cuda.jit
def a_chain_stops_where_its_first_half_is_false(a):
    j = cuda.threadIdx.x - 20
    if 0 <= j < a[j]:
        j = 0


# kernel, element type: the (kind, severity) of every hazard it must get, and nothing else
TABLE = {
    "past_the_end": (past_the_end, "float32", {("out_of_bounds", "error")}),
    "wraps_round": (wraps_round, "float32", {("negative_index", "warning"), ("race", "error")}),
    "everyone_writes_one_element": (everyone_writes_one_element, "float32", {("race", "error")}),
    "everyone_writes_the_same": (everyone_writes_the_same, "float32", {("race", "warning")}),
    "shifts_in_place": (shifts_in_place, "float32", {("race", "error")}),
    "no_barrier": (no_barrier, "float32", {("race", "error")}),
    "with_barrier": (with_barrier, "float32", set()),
    "second_barrier_missing": (second_barrier_missing, "float32", {("race", "error")}),
    "reads_unwritten_shared": (reads_unwritten_shared, "float32", {("uninitialised_read", "error")}),
    "counts_without_clearing": (counts_without_clearing, "float32", {("uninitialised_read", "error")}),
    "exchanges_before_reading": (exchanges_before_reading, "float32", set()),
    "barrier_in_a_branch": (barrier_in_a_branch, "float32", {("divergent_barrier", "error")}),
    "barrier_after_an_early_return": (barrier_after_an_early_return, "float32", set()),
    "warp_without_sync": (warp_without_sync, "float32", {("race", "error")}),
    "warp_with_sync": (warp_with_sync, "float32", set()),
    "atomic_sum": (atomic_sum, "float32", set()),
    "unset_on_one_path": (unset_on_one_path, "float32", {("unset_variable", "error")}),
    "too_big_for_the_array": (too_big_for_the_array, "uint8", {("overflow_on_store", "warning")}),
    "float64_by_accident": (float64_by_accident, "float32", {("accidental_float64", "warning")}),
    "float32_throughout": (float32_throughout, "float32", set()),
    "tree_reduction": (tree_reduction, "float32", set()),
    "looks_after_counting": (the_last_lane_looks_after_all_have_counted, "int32", {("race", "error")}),
    "clears_after_counting": (the_last_lane_clears_what_all_have_counted, "int32", {("race", "error")}),
    "counts_for_itself": (each_lane_counts_for_itself_and_looks, "int32", set()),
    "half_a_warp_waits": (half_a_warp_waits_for_the_other, "int32", {("divergent_barrier", "error")}),
    "half_a_warp_by_mask": (half_a_warp_waits_for_itself, "int32", set()),
    "the_rest_of_a_warp": (a_warp_waits_for_those_that_are_left, "int32", set()),
    "a_mask_of_one_lane": (the_mask_names_one_lane_of_many, "int32", {("divergent_barrier", "error")}),
    "a_chain_stops": (a_chain_stops_where_its_first_half_is_false, "int32", set()),
}


@pytest.mark.parametrize("name", TABLE)
def test_each_kernel_gets_exactly_its_hazards(name):
    kernel, dtype, expected = TABLE[name]
    array = np.ones(64 if name != "past_the_end" else 60, dtype)
    p = profile(kernel)[1, 64](array)
    assert {(hazard.kind, hazard.severity) for hazard in p.hazards} == expected, p.hazards


def test_a_hazard_names_line_block_thread_array_index_and_remedy():
    (hazard,) = profile(past_the_end)[2, 32](np.zeros(60, np.float32)).hazards
    assert (hazard.block, hazard.thread, hazard.array, hazard.index) == ((1, 0, 0), (28, 0, 0), "a", (60,))
    assert hazard.text == "a[cuda.grid(1)] = 1" and hazard.line.file == "test_simgpu_hazards.py"
    assert hazard.occurrences == 4 and "guard" in hazard.remedy
    assert (hazard.access, hazard.writes, hazard.shape) == ("store", True, (60,))


@cuda.jit
def some_threads_wait_for_the_grid(a, n):
    i = cuda.grid(1)
    if i < n:
        cuda.cg.this_grid().sync()
    a[i] = 1


@cuda.jit
def others_leave_before_the_grid_waits(a, n):
    i = cuda.grid(1)
    if i >= n:
        return
    cuda.cg.this_grid().sync()
    a[i] = 1


@pytest.mark.parametrize("n", [5, 32, 64])
@pytest.mark.parametrize("kernel", [some_threads_wait_for_the_grid, others_leave_before_the_grid_waits])
def test_a_grid_waits_for_threads_that_do_not_come(kernel, n):
    """32 is the first of two blocks: the other one waits nowhere."""
    found = [each for each in profile(kernel)[2, 32](np.zeros(64), n).hazards if each.kind == "divergent_barrier"]
    if n == 64:
        assert found == []
        return
    (hazard,) = found
    have_left = kernel is others_leave_before_the_grid_waits  # a block waits without its threads that have left
    assert hazard.absent == (32 if have_left else 64 - n)
    assert hazard.other_thread == ((0, 0, 0) if have_left or n == 32 else (5, 0, 0))
    assert "whole grid" in hazard.message and "sync() out of" in hazard.remedy and "syncthreads" not in hazard.remedy


def test_an_array_without_an_element_asks_for_no_guard():
    @cuda.jit
    def kernel(a):
        tile = cuda.shared.array(0, np.float32)
        tile[cuda.threadIdx.x] = a[cuda.threadIdx.x]

    (hazard,) = profile(kernel)[1, 32](np.ones(32, np.float32)).hazards
    assert "guard" not in hazard.remedy and "kernel[grid, block, stream, bytes]" in hazard.remedy
    assert not profile(kernel)[1, 32, 0, 128](np.ones(32, np.float32)).hazards


def test_a_hazard_says_where_its_array_lies():
    def of(kernel, blocks):
        return {each.space for each in profile(kernel)[blocks, 64](np.zeros(64, np.float32)).hazards}

    assert of(past_the_end, 2) == {"global"} and of(no_barrier, 1) == {"shared"}


def test_a_race_names_both_threads_and_both_lines():
    (hazard,) = profile(no_barrier)[1, 64](np.zeros(64, np.float32)).hazards
    assert (hazard.access, hazard.other_writes, hazard.shape) == ("load", True, (64,))
    assert hazard.other_line.number == hazard.line.number - 1
    assert hazard.other_thread != hazard.thread
    assert "syncthreads" in hazard.remedy or "syncwarp" in hazard.remedy


@cuda.jit
def adds_to_what_is_outside(a):
    cuda.atomic.add(a, cuda.grid(1) + 1, 1)


@cuda.jit
def loads_what_is_outside(a):
    i = cuda.grid(1)
    a[i] = a[i + a.size]


@cuda.jit
def adds_to_what_it_has_written(a):
    a[0] = cuda.grid(1)
    cuda.atomic.add(a, 0, 1)


@cuda.jit
def loads_from_a_part(a):
    part = a[32:]
    a[cuda.grid(1)] = part[cuda.grid(1) + 60]


@cuda.jit
def adds_to_unwritten_shared(a):
    s = cuda.shared.array(32, np.float32)
    cuda.atomic.add(s, cuda.threadIdx.x, 1)


@pytest.mark.parametrize(
    "kernel, kind, fields",
    [
        (past_the_end, "out_of_bounds", ("store", (64,), None)),
        (adds_to_what_is_outside, "out_of_bounds", ("atomic", (64,), None)),
        (loads_what_is_outside, "out_of_bounds", ("load", (64,), None)),
        (loads_from_a_part, "out_of_bounds", ("load", (64,), None)),
        (wraps_round, "negative_index", ("load", (64,), None)),
        (reads_unwritten_shared, "uninitialised_read", ("load", (64,), None)),
        (adds_to_unwritten_shared, "uninitialised_read", ("atomic", (32,), None)),
        (everyone_writes_one_element, "race", ("store", (64,), True)),
        (adds_to_what_it_has_written, "race", ("atomic", (64,), True)),
        (shifts_in_place, "race", ("store", (64,), False)),
        (no_barrier, "race", ("load", (64,), True)),
    ],
)
def test_a_hazard_says_what_was_done_to_the_element_and_by_whom(kernel, kind, fields):
    hazards = profile(kernel)[2, 64](np.zeros(64, np.float32)).hazards
    assert fields in {(each.access, each.shape, each.other_writes) for each in hazards if each.kind == kind}, hazards


@cuda.jit
def a_mask_of_all_lanes_for_half_a_warp(a):
    t = cuda.threadIdx.x
    if t < 16:
        a[t] = cuda.shfl_down_sync(0xFFFFFFFF, t, 1)


@pytest.mark.parametrize(
    "kernel, fields",
    [
        (barrier_in_a_branch, ("block", 24, (0, 0, 0), (40, 0, 0))),
        (half_a_warp_waits_for_the_other, ("warp", 16, (0, 0, 0), (16, 0, 0))),
        (the_mask_names_one_lane_of_many, ("exchange", 0, (1, 0, 0), None)),
        (a_mask_of_all_lanes_for_half_a_warp, ("exchange", 16, (0, 0, 0), (16, 0, 0))),
    ],
)
def test_a_divergent_barrier_says_what_it_is_who_waits_and_who_does_not_come(kernel, fields):
    (hazard,) = profile(kernel)[1, 64](np.zeros(64, np.int32)).hazards
    assert (hazard.barrier, hazard.absent, hazard.thread, hazard.other_thread) == fields


@cuda.jit
def column_of_a_tile(a):
    tile = cuda.shared.array((8, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    total = np.float32(0)
    for k in range(8):
        total += tile[k, x]
    a[y, x] = total


def test_the_widest_race_of_an_access_is_told_for_it_says_which_barrier_is_needed():
    hazards = profile(column_of_a_tile)[1, (16, 8)](np.zeros((8, 16), np.float32)).hazards
    (hazard,) = [h for h in hazards if h.array == "tile"]
    assert "syncthreads" in hazard.remedy and "syncwarp" not in hazard.remedy
    assert hazard.thread[1] // 2 != hazard.other_thread[1] // 2  # a warp is two rows of 16


@cuda.jit
def counts_in_a_private_copy_without_atomics(a):
    own = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    if t < 8:
        own[t] = 0
    cuda.syncthreads()
    own[t % 5] += 1
    cuda.syncthreads()
    a[t] = own[t % 8]


@cuda.jit
def counts_without_atomics(a):
    a[cuda.threadIdx.x % 5] += 1


@cuda.jit
def takes_from_its_neighbours(a):
    part = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    part[t] = a[t]
    part[t + 64] = 0
    cuda.syncthreads()
    part[t] += part[t + 40]
    cuda.syncthreads()
    a[t] = part[t]


@cuda.jit
def halves_without_a_barrier(a):
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = a[t]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        half //= 2
    a[t] = part[t]


@pytest.mark.parametrize(
    ("kernel", "threads", "remedy"),
    [
        (counts_in_a_private_copy_without_atomics, 64, "use an atomic"),  # no barrier fits into a statement
        (counts_without_atomics, 64, "use an atomic"),
        (takes_from_its_neighbours, 64, "read into a variable, wait at cuda.syncthreads(), then write"),
        (halves_without_a_barrier, 256, "Put cuda.syncthreads() between the two accesses"),  # in another round of the loop
    ],
)
def test_the_remedy_of_a_race_within_one_line_can_be_carried_out(kernel, threads, remedy):
    found = profile(kernel)[1, threads](np.zeros(256, np.float32)).hazards
    first, *_ = [each for each in found if each.kind == "race"]
    assert first.other_line == first.line and remedy in first.remedy


@cuda.jit
def clears_the_total_that_all_blocks_add_to(a):
    if cuda.grid(1) == 0:
        a[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(a, 0, 1)


@cuda.jit
def each_block_clears_its_own_total(a):
    if cuda.threadIdx.x == 0:
        a[cuda.blockIdx.x] = 0
    cuda.syncthreads()
    cuda.atomic.add(a, cuda.blockIdx.x, 1)


def test_a_read_by_another_block_is_not_forgotten_when_this_one_reads_again_after_a_barrier():
    @cuda.jit
    def last_block_looks_twice(a, out):
        out[cuda.grid(1)] = a[0]
        cuda.syncthreads()
        if cuda.grid(1) == 63:
            a[0] = a[0] + 1

    p = profile(last_block_looks_twice)[2, 32](np.zeros(1, np.int32), np.zeros(64, np.int32))
    assert {hazard.kind for hazard in p.hazards} == {"race"}


def test_a_write_races_with_the_atomics_of_blocks_that_no_barrier_holds_back():
    (hazard,) = profile(clears_the_total_that_all_blocks_add_to)[3, 64](np.zeros(3, np.float32)).hazards
    assert (hazard.kind, hazard.severity, hazard.occurrences) == ("race", "error", 128)
    assert hazard.text == "cuda.atomic.add(a, 0, 1)" and hazard.other_line.number == hazard.line.number - 2
    assert profile(clears_the_total_that_all_blocks_add_to)[1, 64](np.zeros(3, np.float32)).hazards == ()
    assert profile(each_block_clears_its_own_total)[3, 64](np.zeros(3, np.float32)).hazards == ()


def test_uninitialised_device_memory_is_reported_until_it_is_written():
    array = cuda.device_array(64, np.float32)

    @cuda.jit
    def double(a):
        a[cuda.grid(1)] += a[cuda.grid(1)]

    @cuda.jit
    def fill(a):
        a[cuda.grid(1)] = 1

    assert {h.kind for h in profile(double)[1, 64](array).hazards} == {"uninitialised_read"}
    array = cuda.device_array(64, np.float32)
    assert profile(fill)[1, 64](array).hazards == ()
    assert profile(double)[1, 64](array).hazards == ()


def test_memory_that_a_launch_only_reads_is_told_of_where_it_is_unset_and_nowhere_else():
    @cuda.jit
    def fill(a):
        a[cuda.grid(1)] = 1

    @cuda.jit
    def copy(a, b, begin):
        b[cuda.grid(1)] = a[begin + cuda.grid(1)]

    array, other = cuda.device_array(128, np.float32), np.zeros(64, np.float32)
    fill[1, 64](array)
    assert profile(copy)[1, 64](array, other, 0).hazards == ()
    (found,) = profile(copy)[1, 64](array, other, 24).hazards
    assert (found.kind, found.occurrences, found.thread, found.index) == ("uninitialised_read", 24, (40, 0, 0), (64,))


def endless_while(a):
    i = 0
    while i < 10:
        a[0] = 1


def waits_for_another_thread(a):
    while a[0] == 0:
        pass


def function(made: Callable[..., Any]) -> FunctionType:
    assert isinstance(made, FunctionType)
    return made


def condition_that_nothing_changes(a):
    i = 0
    total = 0
    while i < a.shape[0]:
        total += 1


def test_a_hopeless_loop_is_told_in_its_first_round():
    from autograder.language.live import from_python
    from autograder.simgpu.host.device import Session

    with pytest.raises(KernelFault, match="nothing in the loop changes its condition"):
        Session(work_limit=10_000).launch(
            from_python(function(condition_that_nothing_changes), "kernel"), 1, 32, (np.zeros(4, np.float32),)
        )


@pytest.mark.parametrize("function", [endless_while, waits_for_another_thread])
def test_loops_that_cannot_end_are_told_at_their_line(function):
    from autograder.simgpu.host.device import Session

    session = Session(work_limit=2_000_000)
    from autograder.language.live import from_python

    with pytest.raises(KernelFault) as found:
        session.launch(from_python(function, "kernel"), 1, 32, (np.zeros(4, np.float32),))
    assert found.value.line is not None and "`" in str(found.value) or "loop" in str(found.value)


def test_a_launch_stopped_for_the_work_of_those_before_it_says_how_many_they_were():
    from autograder.language.live import from_python
    from autograder.simgpu.host.device import Session

    def counts(a):
        a[cuda.grid(1)] += 1

    kernel, a = from_python(function(counts), "kernel"), np.zeros(32, np.float32)
    session = Session(work_limit=3_000)
    with pytest.raises(KernelFault, match=r"the [\d,]+ launches before it used up [\d,]+ of 3,000 units of work"):
        for _ in range(3_000):
            session.launch(kernel, 1, 32, (a,))


def goes_on_writing(a):
    i = cuda.grid(1)
    while i < a.size:
        a[i] = 1
        i += cuda.gridsize(1)


def goes_round(a):
    i = cuda.grid(1)
    while i < a.size:
        a[i % 32] = 1
        i += 0 if i > 64 else 1


def adds_up_for_long(a):
    for i in range(1_000_000):
        a[cuda.threadIdx.x] += i


def goes_round_in_a_call(a):
    for _ in range(2):
        goes_round_as_a_function(a)


@cuda.jit(device=True)
def goes_round_as_a_function(a):
    i = cuda.grid(1)
    while i < a.size:
        a[i % 32] = 1
        i += 0 if i > 64 else 1


@pytest.mark.parametrize(
    "kernel, grid, words, kind",
    [
        (adds_up_for_long, 1, "on 1 of 1 blocks of 32 threads, in loops that do end, but later", "still_going"),
        (goes_round_in_a_call, 1, r"\(an endless loop\?\): in the second half of it no block came to its end", ""),
        (goes_on_writing, 1, "on 1 of 1 blocks of 32 threads, and was still getting on", "still_going"),
        (goes_on_writing, 2048, r"on [\d,]+ of 2,048 blocks of 32 threads, and was still getting on", "still_going"),
        (goes_round, 1, r"\(an endless loop\?\): in the second half of it no block came to its end", ""),
    ],
)
def test_a_launch_beyond_its_work_limit_is_told_of_an_endless_loop_only_where_nothing_showed_it_getting_on(
    kernel, grid, words, kind
):
    from autograder.language.live import from_python
    from autograder.simgpu.host.device import Session

    with pytest.raises(WorkLimit, match=words) as found:
        Session(work_limit=60_000).launch(from_python(kernel, "kernel"), grid, 32, (np.zeros(1 << 20, np.float32),))
    assert found.value.kind == kind


@pytest.mark.parametrize(
    "grid, block, words, kind",
    [
        (1, 2048, "at most 1,024", "too_many_threads"),
        (0, 32, "at least 1", "empty_launch"),
        (2.0, 32, "float", ""),
        ((1, 2, 3, 4), 32, "one to three", ""),
        (1, (32, 32, 2), "2,048 threads", "too_many_threads"),
        ((1, 70_000), 32, "70,000 in y", ""),
        (1, (1, 1, 65), "65 in z", ""),
        (10**9, 1024, "threads", ""),
    ],
)
def test_launches_that_no_gpu_accepts_say_why(grid, block, words, kind):
    with pytest.raises(KernelFault, match=words.replace("(", r"\(")) as refused:
        profile(past_the_end)[grid, block](np.zeros(60, np.float32))
    assert refused.value.kind == kind


SIDE = 16


@cuda.jit
def shape_worked_out_in_the_kernel(a):
    tile = cuda.shared.array((SIDE, SIDE + 1), np.float32)
    tile[0, 0] = a[0]


@cuda.jit
def shape_worked_out_by_python(a):
    tile = cuda.shared.array((SIDE, 16 + 1), np.float32)
    tile[0, 0] = a[0]


def test_a_shape_worked_out_from_names_is_refused_as_numba_refuses_it():
    profile(shape_worked_out_by_python)[1, 1](np.zeros(4, np.float32))
    with pytest.raises(KernelFault, match="`SIDE \\+ 1` is not") as refused:
        profile(shape_worked_out_in_the_kernel)[1, 1](np.zeros(4, np.float32))
    assert refused.value.kind == "shape_not_constant"


def test_what_ends_a_launch_for_its_memory_or_a_type_is_known_by_its_kind():
    @cuda.jit
    def too_large(a):
        tile = cuda.shared.array((128, 128), np.float32)
        tile[0, 0] = a[0]

    @cuda.jit
    def pythons_float(a):
        tile = cuda.shared.array(8, float)
        tile[0] = a[0]

    asked = ((too_large, 0, "too_much_shared_memory"), (past_the_end, 2**20, "too_much_shared_memory"),
             (pythons_float, 0, "not_an_element_type"))  # fmt: skip
    for kernel, dynamic_bytes, kind in asked:
        with pytest.raises(KernelFault) as refused:
            profile(kernel)[1, 1, 0, dynamic_bytes](np.zeros(4, np.float32))
        assert refused.value.kind == kind


def captures(array):
    """Kernels that take a device array from around them, as a closure does: each races on it."""

    @cuda.jit(device=True)
    def left_neighbour(i):
        return array[i - 1]

    @cuda.jit
    def shifts(a):
        i = cuda.grid(1)
        if 0 < i < array.size:
            array[i] = array[i - 1]

    @cuda.jit
    def reads_by_a_function(a):
        i = cuda.grid(1)
        if 0 < i < array.size:
            a[i] = left_neighbour(i)

    return shifts, reads_by_a_function


def test_a_captured_device_array_races_as_an_argument_does():
    array = cuda.to_device(np.zeros(128, np.float32))
    shifts, _ = captures(array)
    race = profile(shifts)[2, 64](np.zeros(1, np.float32)).hazards[0]
    assert race.kind == "race" and race.array == "array" and "array[i] = array[i - 1]" in race.text


def test_an_array_that_a_device_function_captures_races_with_the_argument_that_it_is():
    array = cuda.to_device(np.zeros(128, np.float32))
    _, reads_by_a_function = captures(array)
    assert {hazard.kind for hazard in profile(reads_by_a_function)[2, 64](array).hazards} == {"race"}
    assert not profile(reads_by_a_function)[2, 64](np.zeros(128, np.float32)).hazards


@cuda.jit
def shifts_as_integers(a):
    bits = a.view(np.int32)
    i = cuda.grid(1)
    if i + 1 < a.size:
        bits[i] = bits[i + 1]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads how much memory is in use from Linux")
def test_what_is_kept_of_past_accesses_takes_memory_only_where_there_were_any():
    import mmap

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    before = resident()
    shadow = Shadow(50_000_000)
    for row in shadow.writes:
        row[:1_000_000] = 1
    assert sum(row[:1_000_000].sum() for row in shadow.reads) == 0  # being looked at costs nothing
    assert resident() - before < 40e6


@cuda.jit
def shifts_by_an_inner_function(a):
    def shift(array, i):
        array[i] = array[i + 1]

    i = cuda.grid(1)
    if i + 1 < a.size:
        shift(a, i)


@cuda.jit
def shifts_rows(a):
    i = cuda.grid(1)
    if i + 1 < a.size:
        for row in a.reshape(1, 128):
            row[i] = row[i + 1]


@pytest.mark.parametrize("kernel", [shifts_as_integers, shifts_by_an_inner_function, shifts_rows])
def test_an_array_under_another_name_or_type_races_too(kernel):
    assert {hazard.kind for hazard in profile(kernel)[2, 64](np.zeros(128, np.float32)).hazards} == {"race"}


@cuda.jit
def spins_for_a_lock(lock, total):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += 1
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def spins_for_a_lock_by_exchange(lock, total):
    while cuda.atomic.exch(lock, 0, 1) == 1:
        pass
    total[0] += 1
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def takes_turns_with_a_lock(lock, total):
    waits = True
    while waits:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waits = False


@pytest.mark.parametrize("kernel", [spins_for_a_lock, spins_for_a_lock_by_exchange])
def test_a_lock_that_the_warp_waits_for_ends_with_its_line_and_not_with_the_patience(kernel):
    with pytest.raises(KernelFault, match="goes round without anything changing") as caught:
        profile(kernel)[1, 64](np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert caught.value.line is not None and "do not wait for another thread" in caught.value.remedy


def test_a_lock_that_is_given_back_within_the_round_is_no_endless_loop():
    total = np.zeros(1, np.int32)
    profile(takes_turns_with_a_lock)[2, 512](np.zeros(1, np.int32), total)  # more rounds than a loop may stand still
    assert total[0] == 1024


@cuda.jit
def takes_from_sixteen_lanes_on(values, out):
    t = cuda.threadIdx.x
    out[t] = values[t] + cuda.shfl_down_sync(0xFFFFFFFF, values[t], 16)


@cuda.jit
def takes_from_lanes_that_have_returned(values, out):
    t = cuda.threadIdx.x
    if t >= 40:
        return
    out[t] = values[t] + cuda.shfl_down_sync(0xFFFFFFFF, values[t], 16)


@pytest.mark.parametrize(
    ("kernel", "threads", "why"),
    [
        (takes_from_sixteen_lanes_on, 48, "lane 16 of its warp, which has no thread"),
        (takes_from_lanes_that_have_returned, 64, "lane 16 of its warp, whose thread has returned"),
    ],
)
def test_a_value_of_a_lane_that_is_not_there_is_reported(kernel, threads, why):
    out = np.zeros(64, np.float32)
    (hazard,) = profile(kernel)[1, threads](np.ones(64, np.float32), out).hazards
    assert (hazard.kind, hazard.severity, hazard.thread) == ("uninitialised_read", "warning", (32, 0, 0))
    assert why in hazard.message and np.isnan(out[32]) and out[0] == 2
    assert not profile(takes_from_sixteen_lanes_on)[1, 64](np.ones(64, np.float32), out).hazards


# -- what waits and orders nothing --------------------------------------------------------------------------------



@cuda.jit(device=True)
def stands_between(which, x):
    if which == 0:
        x = cuda.shfl_sync(0xFFFFFFFF, x, 0)
    elif which == 1:
        x = cuda.shfl_up_sync(0xFFFFFFFF, x, 1)
    elif which == 2:
        x = cuda.shfl_down_sync(0xFFFFFFFF, x, 1)
    elif which == 3:
        x = cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)
    elif which == 4:
        x = cuda.ballot_sync(0xFFFFFFFF, x > 3)
    elif which == 5:
        x = cuda.all_sync(0xFFFFFFFF, x > 3)
    elif which == 6:
        x = cuda.any_sync(0xFFFFFFFF, x > 3)
    elif which == 7:
        x = cuda.eq_sync(0xFFFFFFFF, x > 3)
    elif which == 8:
        x = cuda.match_any_sync(0xFFFFFFFF, x)
    elif which == 9:
        x = cuda.match_all_sync(0xFFFFFFFF, x)[0]
    elif which == 10:
        cuda.syncwarp()
    elif which == 11:
        cuda.syncthreads()
    return x


@cuda.jit
def hands_over_in_shared_memory(which, out):
    part = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    part[t] = -1
    cuda.syncthreads()
    if t % 2 == 0:
        part[t] = t
    out[t] = stands_between(which, t)
    if t % 2 == 1:
        out[t] = part[t - 1]


@cuda.jit
def hands_over_in_global_memory(which, out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t] = t
    stands_between(which, t)
    if t % 2 == 1:
        out[64 + t] = out[t - 1]


SHUFFLES_AND_VOTES, BARRIERS = range(10), (10, 11)


@pytest.mark.parametrize("kernel", [hands_over_in_shared_memory, hands_over_in_global_memory])
@pytest.mark.parametrize("which", [*SHUFFLES_AND_VOTES, *BARRIERS])
def test_only_a_barrier_orders_memory_within_a_warp_and_no_shuffle_vote_or_match_does(kernel, which):
    found = profile(kernel)[1, 64](which, np.zeros(128, np.int64)).hazards
    if which in BARRIERS:
        assert found == ()
        return
    (race,) = found
    assert (race.kind, race.severity) == ("race", "error")
    assert "cuda.syncwarp()" in race.remedy and "A shuffle or a vote in between makes lanes wait" in race.remedy


def test_a_race_across_no_shuffle_says_nothing_of_shuffles():
    @cuda.jit
    def shuffles_before(out):
        t = cuda.threadIdx.x
        first = cuda.shfl_sync(0xFFFFFFFF, t, 0)
        if t % 2 == 0:
            out[t] = first
        if t % 2 == 1:
            out[64 + t] = out[t - 1]

    (race,) = profile(shuffles_before)[1, 64](np.zeros(128, np.int64)).hazards
    assert race.kind == "race" and "shuffle" not in race.remedy


def test_what_lanes_hand_over_in_registers_is_no_race():
    @cuda.jit
    def sums_of_warps(values, sums):
        total = values[cuda.grid(1)]
        step = 16
        while step > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
            step //= 2
        if cuda.laneid == 0:
            sums[cuda.grid(1) // 32] = total

    sums = np.zeros(2, np.float32)
    assert profile(sums_of_warps)[1, 64](np.ones(64, np.float32), sums).hazards == () and sums.tolist() == [32, 32]


# -- parts of arrays ----------------------------------------------------------------------------------------------


def chained(y, x, a):
    a[y][x] = 10 * y + x


def by_name(y, x, a):
    row = a[y]
    row[x] = 10 * y + x


def in_place(y, x, a):
    a[y][x] += 10 * y + x


def atomically(y, x, a):
    cuda.atomic.add(a[y], x, 10 * y + x)


def of_a_slice(y, x, a):
    a[0:3][y][x] = 10 * y + x


def of_a_row_that_begins_later(y, x, a):
    if x > 0:
        a[y, 1:][x - 1] = 10 * y + x


def by_a_whole_row(y, x, a):
    if x == 0:
        a[y] = 10 * y


def by_the_slice_of_a_row(y, x, a):
    if x == 0:
        a[y][1:3] = 10 * y


def one_of_two_rows(y, x, a):
    if x % 2 == 0:
        row = a[y]
    else:
        row = a[y + 1]
    row[x] = 7


def transposed(y, x, a):
    a.T[x][y] = 10 * y + x


def turned_round(y, x, a):
    a[y].T[x] = 10 * y + x


def in_another_shape(y, x, a):
    a[y].reshape(2, 2)[x // 2, x % 2] = 10 * y + x


def at_once(y, x, a):
    a[y, x] = 10 * y + x


PARTS = (
    chained, by_name, in_place, atomically, of_a_slice, of_a_row_that_begins_later, by_a_whole_row, by_the_slice_of_a_row,
    one_of_two_rows, transposed, turned_round, in_another_shape, at_once,
)  # fmt: skip


IN_SPACES = [
    (space, function)
    for space in ("global", "shared", "local")
    for function in PARTS
    if (space, function) != ("local", atomically)  # what a thread has alone needs none
]


@pytest.mark.parametrize(("space", "function"), IN_SPACES, ids=lambda each: getattr(each, "__name__", each))
def test_a_row_outside_its_array_is_told_and_nothing_is_written(function, space):
    write = cuda.jit(device=True)(function)

    @cuda.jit
    def in_global_memory(rows, out):
        y, x = cuda.threadIdx.y, cuda.threadIdx.x
        if y < rows:
            write(y, x, out)

    @cuda.jit
    def in_shared_memory(rows, out):
        y, x = cuda.threadIdx.y, cuda.threadIdx.x
        a = cuda.shared.array((3, 4), np.int32)
        if y < 3:
            a[y, x] = 0
        cuda.syncthreads()
        if y < rows:
            write(y, x, a)
        cuda.syncthreads()
        if y < 3:
            out[y, x] = a[y, x]

    @cuda.jit
    def in_local_memory(rows, out):
        y, x = cuda.threadIdx.y, cuda.threadIdx.x
        a = cuda.local.array((3, 4), np.int32)
        for i in range(3):
            for j in range(4):
                a[i, j] = 0
        if y < rows:
            write(y, x, a)
        if y < 3:
            out[y, x] = a[y, x]

    kernel = {"global": in_global_memory, "shared": in_shared_memory, "local": in_local_memory}[space]
    inside, outside = np.zeros((3, 4), np.int32), np.zeros((3, 4), np.int32)
    rows = 2 if function is one_of_two_rows else 3
    assert profile(kernel)[1, (4, 6)](rows, inside).hazards == ()
    found = profile(kernel)[1, (4, 6)](6, outside).hazards
    name = "out" if space == "global" else "a"
    assert {(each.kind, each.array, each.space) for each in found} == {("out_of_bounds", name, space)}
    if function is one_of_two_rows:
        outside[2], inside[2] = 0, 0
    assert np.array_equal(outside, inside)


@pytest.mark.parametrize("function", [chained, by_name, of_a_slice, at_once])
def test_an_index_outside_is_told_by_the_whole_array(function):
    write = cuda.jit(device=True)(function)

    @cuda.jit
    def kernel(out):
        write(cuda.threadIdx.y + 4, cuda.threadIdx.x, out)

    (hazard,) = profile(kernel)[1, (4, 2)](np.zeros((3, 4), np.int32)).hazards
    assert hazard.message == "Writes `out[4, 0]`, outside its shape (3, 4)." and hazard.index == (4, 0)
    assert hazard.occurrences == 8 and "index 0 must be below 3" in hazard.remedy


def test_reading_a_row_outside_its_array_gives_what_reading_an_element_outside_gives():
    @cuda.jit
    def reads(a, by_row, by_element, of_loop):
        y, x = cuda.threadIdx.y, cuda.threadIdx.x
        by_row[y, x] = a[y][x]
        by_element[y, x] = a[y, x]
        total = np.float32(0)
        for value in a[y]:
            total += value
        of_loop[y, x] = total

    found = [np.zeros((4, 4), np.float32) for _ in range(3)]
    p = profile(reads)[1, (4, 4)](np.ones((3, 4), np.float32), *found)
    assert {each.kind for each in p.hazards} == {"out_of_bounds"}
    for each in found:
        assert not np.isnan(each[:3]).any() and np.isnan(each[3]).all()


def test_a_field_of_a_record_outside_its_array_is_not_written():
    kind = np.dtype([("one", np.int32), ("several", np.float32, (3,))], align=True)

    @cuda.jit
    def writes(records):
        i = cuda.threadIdx.x
        records[i].one = i + 1
        records[i].several[1] = i + 1
        if i > 0:
            records[1:][i - 1]["one"] = i + 1

    records = np.zeros(3, kind)
    p = profile(writes)[1, (5, 1)](records[:3])
    assert records["one"].tolist() == [1, 2, 3] and records["several"][:, 1].tolist() == [1, 2, 3]
    assert {each.kind for each in p.hazards} == {"out_of_bounds"} and len(p.hazards) == 3


def test_a_row_outside_that_nobody_looks_into_is_no_fault():
    @cuda.jit
    def takes_and_leaves(a):
        y, x = cuda.threadIdx.y, cuda.threadIdx.x
        row = a[y]
        if y < 3:
            row[x] = 1

    assert profile(takes_and_leaves)[1, (4, 6)](np.zeros((3, 4), np.int32)).hazards == ()


def test_an_index_beyond_a_slice_is_told_by_the_slice_where_the_array_goes_on():
    @cuda.jit
    def leaves_its_slice(a):
        a[2:5][cuda.threadIdx.x] = 1

    a = np.zeros(10, np.int32)
    (hazard,) = profile(leaves_its_slice)[1, 4](a).hazards
    assert hazard.message == "Writes `a[3]`, outside its shape (3,)." and a.tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]


def test_a_race_on_an_element_of_a_row_is_told_by_the_whole_array():
    @cuda.jit
    def all_write(a):
        a[2][1] = cuda.threadIdx.x

    (hazard,) = profile(all_write)[1, 4](np.zeros((3, 4), np.int32)).hazards
    assert hazard.kind == "race" and hazard.index == (2, 1) and "`a[2, 1]`" in hazard.message


# -- launches that end early --------------------------------------------------------------------------------------


@cuda.jit
def works_for_ever(a):
    i = cuda.grid(1)
    a[a.size + i] = 1
    k = 0
    while k >= 0:
        cuda.syncthreads()
        a[(i + k) % a.size] = k
        cuda.syncthreads()
        k = (k + 1) % 1000


@cuda.jit
def fills(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = i


@pytest.fixture
def device(monkeypatch):
    """The simulated GPU of a script, and what it tells."""
    live = dispatch.LiveDevice()
    told: list[Hazard] = []
    live.tell = told.extend
    vars(live)["told"] = told
    monkeypatch.setattr(dispatch, "device", live)
    return live


def _interrupts_after(rounds, monkeypatch):
    """Ctrl-C in the middle of a kernel."""
    carried_out = Assign.carry_out
    left = [rounds]

    def carry_out(self, machine, mask):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return carried_out(self, machine, mask)

    monkeypatch.setattr(Assign, "carry_out", carry_out)


@pytest.mark.parametrize("ending", ["interrupt", "work limit"])
def test_a_launch_that_ends_early_leaves_nothing_to_race_with_and_tells_what_it_has_found(ending, device, monkeypatch):
    a = device.session.device_array(64, np.int32)
    with monkeypatch.context() as patch:
        if ending == "interrupt":
            _interrupts_after(200, patch)
        else:
            device.session.work_limit = 200_000
        with pytest.raises(KeyboardInterrupt if ending == "interrupt" else KernelFault):
            works_for_ever[1, 64](a)
    assert [each.kind for each in device.told] == ["out_of_bounds"]
    device.told.clear()
    device.session.work_limit = 10**9
    fills[4, 16](a)
    assert device.told == [] and a.copy_to_host().tolist() == list(range(64))


def test_a_profile_that_is_interrupted_tells_what_it_has_found(device, monkeypatch):
    monkeypatch.setattr("autograder.profiling.device", device)
    _interrupts_after(200, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        profile(works_for_ever)[1, 64](np.zeros(64, np.int32))
    assert [each.kind for each in device.told] == ["out_of_bounds"]

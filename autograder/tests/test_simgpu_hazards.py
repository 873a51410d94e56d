"""What the simulated GPU finds wrong: a table of small kernels, each with the hazard it must and must not get."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograder import profile
from autograder.errors import KernelFault
from autograder.simgpu import cuda_module
from autograder.simgpu.memory import Shadow

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
    assert hazard.other_line.number == hazard.line.number - 1
    assert hazard.other_thread != hazard.thread
    assert "syncthreads" in hazard.remedy or "syncwarp" in hazard.remedy


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


def endless_while(a):
    i = 0
    while i < 10:
        a[0] = 1


def waits_for_another_thread(a):
    while a[0] == 0:
        pass


def condition_that_nothing_changes(a):
    i = 0
    total = 0
    while i < a.shape[0]:
        total += 1


def test_a_hopeless_loop_is_told_in_its_first_round():
    from autograder.language.live import from_python
    from autograder.simgpu.device import Session

    with pytest.raises(KernelFault, match="nothing in the loop changes its condition"):
        Session(work_limit=10_000).launch(
            from_python(condition_that_nothing_changes, "kernel"), 1, 32, (np.zeros(4, np.float32),)
        )


@pytest.mark.parametrize("function", [endless_while, waits_for_another_thread])
def test_loops_that_cannot_end_are_told_at_their_line(function):
    from autograder.simgpu.device import Session

    session = Session(work_limit=2_000_000)
    from autograder.language.live import from_python

    with pytest.raises(KernelFault) as found:
        session.launch(from_python(function, "kernel"), 1, 32, (np.zeros(4, np.float32),))
    assert found.value.line is not None and "`" in str(found.value) or "loop" in str(found.value)


def test_a_launch_stopped_for_the_work_of_those_before_it_says_how_many_they_were():
    from autograder.language.live import from_python
    from autograder.simgpu.device import Session

    def counts(a):
        a[cuda.grid(1)] += 1

    kernel, a = from_python(counts, "kernel"), np.zeros(32, np.float32)
    session = Session(work_limit=3_000)
    with pytest.raises(KernelFault, match=r"the [\d,]+ launches before it used up [\d,]+ of 3,000 units of work"):
        for _ in range(3_000):
            session.launch(kernel, 1, 32, (a,))


@pytest.mark.parametrize(
    "grid, block, words",
    [
        (1, 2048, "at most 1,024"),
        (0, 32, "at least 1"),
        (2.0, 32, "float"),
        ((1, 2, 3, 4), 32, "one to three"),
        (1, (32, 32, 2), "2,048 threads"),
        ((1, 70_000), 32, "70,000 in y"),
        (10**9, 1024, "threads"),
    ],
)
def test_launches_that_no_gpu_accepts_say_why(grid, block, words):
    with pytest.raises(KernelFault, match=words.replace("(", r"\(")):
        profile(past_the_end)[grid, block](np.zeros(60, np.float32))


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
    with pytest.raises(KernelFault, match="`SIDE \\+ 1` is not"):
        profile(shape_worked_out_in_the_kernel)[1, 1](np.zeros(4, np.float32))


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
    import resource

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before = resident()
    shadow = Shadow(50_000_000)
    shadow.writes[:1_000_000] = 1
    assert shadow.reads[:1_000_000].sum() == 0  # being looked at costs nothing
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

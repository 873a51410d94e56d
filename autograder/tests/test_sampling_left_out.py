"""Results of sampled launches that build on each other: compared is what all of them would have made, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.errors import NotCarriedOut, WorkLimit
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.sampling import left_out
from autograder.simgpu.host.stores import Stores
from autograder.simgpu.values.lanes import Geometry
from autograder.simulated_device import SimulatedDevice

N = 128
KERNELS = """
from numba import cuda

@cuda.jit
def clear(c):
    i = cuda.grid(1)
    if i < c.shape[0] * c.shape[1]:
        c[i // c.shape[1], i % c.shape[1]] = 0.0

@cuda.jit
def multiply(a, b, c, first, end):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        for k in range(first, end):
            c[row, column] += a[row, k] * b[k, column]

@cuda.jit
def half_of_it(a, b, c, above):
    column, row = cuda.grid(2)
    if column < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[above + row, k] * b[k, column]
        c[above + row, column] = total

@cuda.jit
def touch(c):
    c[0, 0] = -1.0

def touches_one_element_first(a, b, c):
    touch[1, 1](c)
    half_of_it[(8, 8), (16, 16)](a, b, c, 0)

@cuda.jit
def all_but_the_first_row(a, b, c):
    column, row = cuda.grid(2)
    if row > 0 and column < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total

def touches_what_is_left_out(a, b, c):
    touch[1, 1](c)
    all_but_the_first_row[(8, 8), (16, 16)](a, b, c)

def clears_first(a, b, c):
    clear[64, 256](c)
    multiply[(8, 8), (16, 16)](a, b, c, 0, 128)

def clears_and_is_wrong(a, b, c):
    clear[64, 256](c)
    multiply[(8, 8), (16, 16)](a, b, c, 0, 127)

def adds_in_two_launches(a, b, c):
    clear[64, 256](c)
    multiply[(8, 8), (16, 16)](a, b, c, 0, 64)
    multiply[(16, 4), (8, 32)](a, b, c, 64, 128)

@cuda.jit
def add_parts(a, b, c):
    column, row, part = cuda.grid(3)
    total = 0.0
    for k in range(16 * part, 16 * part + 16):
        total += a[row, k] * b[k, column]
    cuda.atomic.add(c, (row, column), total)

def eight_blocks_add_to_each_element(a, b, c):
    clear[64, 256](c)
    add_parts[(8, 8, 8), (16, 16)](a, b, c)

def upper_and_lower_half(a, b, c):
    half_of_it[(8, 4), (16, 16)](a, b, c, 0)
    half_of_it[(8, 4), (16, 16)](a, b, c, 64)

@cuda.jit
def multiply_whole(a, b, c):
    column, row = cuda.grid(2)
    total = 0.0
    for k in range(a.shape[1]):
        total += a[row, k] * b[k, column]
    c[row, column] = total

def four_quarters(a, b, c):
    for row in (0, 64):
        for column in (0, 64):
            part = c[row : row + 64, column : column + 64]
            multiply_whole[(4, 4), (16, 16)](a[row : row + 64], b[:, column : column + 64], part)

def quarters_of_what_was_cleared(a, b, c):
    clear[64, 256](c)
    four_quarters(a, b, c)
"""


def sampled(function: str, blocks: int = 8, seed: int = 11) -> tuple[Run, np.ndarray]:
    """A run of so many sampled blocks, and which of the elements that count are right."""
    program = parse_program(submission_from_cells("host.py", [("host.py", KERNELS)], is_notebook=False))
    rng = np.random.default_rng(3)
    a, b = (rng.integers(1, 5, (N, N)).astype(np.float32) for _ in range(2))
    arguments = {"a": a, "b": b, "c": Uninitialised((N, N), np.float32)}
    request = RunRequest(function, arguments, sample_blocks=blocks, sample_seed=seed, follows_reads=True)
    run = SimulatedDevice().run(program, request, checks_order=True)
    assert run.fault is None
    return run, (run.outputs["c"] == a @ b)[run.written["c"]]


@pytest.mark.parametrize(
    "function", ["clears_first", "adds_in_two_launches", "upper_and_lower_half", "touches_one_element_first"]
)
def test_elements_of_which_only_an_earlier_launch_was_sampled_do_not_count(function: str) -> None:
    run, right = sampled(function)
    assert len(right) >= 8 * 256 and right.all()
    assert run.covered["c"] > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_two_sampled_blocks_show_no_rule_and_a_few_more_are_carried_out_for_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the second launch leaves the element out that the first one wrote, it is looked at, and wrong."""
    monkeypatch.setattr(left_out, "LITTLE_WORK", 0)
    run, right = sampled("touches_one_element_first", blocks=2, seed=seed)
    assert len(right) >= 2 * 256 and right.all() and run.launches[1].counters.simulated_blocks == 2
    run, right = sampled("touches_what_is_left_out", blocks=2, seed=seed)
    assert run.written["c"][0, 0] and np.count_nonzero(~right) == 1


def test_sums_to_which_left_out_blocks_add_are_whole_or_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right product in parts of its depth was told wrong: in a sampled block's elements stood that block's part alone."""
    run, right = sampled("eight_blocks_add_to_each_element")
    assert right.all() and len(right) >= 8 * 256 and not run.is_unverified
    monkeypatch.setattr(left_out, "MOST_WORK", 0)
    run, right = sampled("eight_blocks_add_to_each_element")
    assert run.is_unverified and not len(right)


@pytest.mark.parametrize("seed", range(3))
def test_launches_that_are_given_other_parts_of_an_array_write_none_of_each_other(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four launches with one block each were taken to write over one another, and to be too much to carry out whole."""
    monkeypatch.setattr(left_out, "LITTLE_WORK", 0)
    monkeypatch.setattr(left_out, "MOST_WORK", 0)
    run, right = sampled("four_quarters", blocks=1, seed=seed)
    assert not run.is_unverified and len(right) == 4 * 256 and right.all() and run.covered["c"] == 1.0


def test_parts_of_an_array_that_another_launch_has_written_are_written_over() -> None:
    run, right = sampled("quarters_of_what_was_cleared")
    assert not run.is_unverified and len(right) >= 8 * 256 and right.all()


def test_what_the_last_launch_leaves_wrong_is_seen() -> None:
    _, right = sampled("clears_and_is_wrong")
    assert len(right) >= 8 * 256 and not right.any()


def test_the_work_of_a_launch_that_others_build_on_is_counted_whole_and_that_of_others_scaled() -> None:
    run, _ = sampled("clears_first")
    clearing, multiplying = run.launches
    assert clearing.counters.simulated_blocks == 64
    assert multiplying.counters.simulated_blocks == 8


# ---- what is read of a sampled launch is there -------------------------------------------------------------------------

CHAINS = """
import numpy as np
from numba import cuda

HEIGHT, SPEED = 2, 5

@cuda.jit
def turn(a, b):
    tile = cuda.shared.array((32, 33), np.float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    rows, columns = a.shape
    row = cuda.blockIdx.y * 32 + y
    col = cuda.blockIdx.x * 32 + x
    if row < rows and col < columns:
        tile[y, x] = a[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + y
    col = cuda.blockIdx.y * 32 + x
    if row < columns and col < rows:
        b[row, col] = tile[x, y]

@cuda.jit
def step(by_field):
    i = cuda.grid(1)
    if i < by_field.shape[1]:
        by_field[SPEED, i] += 1
        by_field[HEIGHT, i] += by_field[SPEED, i]

@cuda.jit
def double(given, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * given[i]

@cuda.jit
def double_in_any_order(given, out):
    i = (cuda.blockIdx.x * 77 % cuda.gridDim.x) * cuda.blockDim.x + cuda.threadIdx.x
    if i < out.size:
        out[i] = 2 * given[i]

@cuda.jit
def double_in_one_column(given, out):
    i = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if cuda.blockIdx.x == 0 and i < out.size:
        out[i] = 2 * given[i]

@cuda.jit
def backwards(given, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = given[out.size - 1 - i]

@cuda.jit
def add_up(given, out):
    i = cuda.grid(1)
    if i < given.size:
        cuda.atomic.add(out, 0, given[i])

@cuda.jit
def spread(total, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = total[0]

def steps(points, scratch, count):
    grid = ((points.shape[1] + 31) // 32, (points.shape[0] + 31) // 32)
    turn[grid, (32, 32)](points, scratch)
    for _ in range(count):
        step[(points.shape[0] + 255) // 256, 256](scratch)
    turn[(grid[1], grid[0]), (32, 32)](scratch, points)

def in_two(given, out):
    between = cuda.device_array(out.size, np.float32)
    blocks = (out.size + 255) // 256
    double[blocks, 256](given, between)
    backwards[blocks, 256](between, out)

def in_any_order(given, out):
    between = cuda.device_array(out.size, np.float32)
    blocks = (out.size + 255) // 256
    double_in_any_order[blocks, 256](given, between)
    backwards[blocks, 256](between, out)

def in_one_column(given, out):
    between = cuda.device_array(out.size, np.float32)
    blocks = (out.size + 255) // 256
    double_in_one_column[(2, blocks), 256](given, between)
    backwards[blocks, 256](between, out)

def by_the_host(given, out):
    between = cuda.device_array(out.size, np.float32)
    blocks = (out.size + 255) // 256
    double[blocks, 256](given, between)
    backwards[blocks, 256](cuda.to_device(between.copy_to_host()), out)

def by_an_element(given, out):
    between = cuda.device_array(out.size, np.float32)
    blocks = (out.size + 255) // 256
    double[blocks, 256](given, between)
    if between[out.size - 1] == 2 * out.size - 2:
        backwards[blocks, 256](between, out)

def copied_at_the_end(given, out):
    double[(out.size + 255) // 256, 256](given, out)
    return out.copy_to_host()

def total_of_all(given, out):
    total = cuda.to_device(np.zeros(1, np.float32))
    blocks = (out.size + 255) // 256
    add_up[blocks, 256](given, total)
    spread[blocks, 256](total, out)
"""
THREE = """
import numpy as np
from numba import cuda

@cuda.jit
def double_slowly(given, out):
    i = cuda.grid(1)
    if i < out.size:
        total = np.float32(0)
        for _ in range(64):
            total = max(total, np.float32(2) * given[i])
        out[i] = total

@cuda.jit
def copy(given, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = given[i]

@cuda.jit
def backwards(given, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = given[out.size - 1 - i]

def in_three(given, out):
    first = cuda.device_array(out.size, np.float32)
    second = cuda.device_array(out.size, np.float32)
    double_slowly[(out.size + 255) // 256, 256](given, first)
    copy[(out.size + 127) // 128, 128](first, second)
    backwards[(out.size + 63) // 64, 64](second, out)
"""
MANY = 2**19
BUILT_ON = {  # what comes out of 0, 1, 2, ...; and whether the first launch is so little work that it is carried out whole
    "in_two": lambda given: 2 * given[::-1],
    "in_any_order": lambda given: 2 * given[::-1],
    "in_one_column": lambda given: 2 * given[::-1],
    "by_the_host": lambda given: 2 * given[::-1],
    "by_an_element": lambda given: 2 * given[::-1],
    "copied_at_the_end": lambda given: 2 * given,
    "total_of_all": lambda given: np.full_like(given, given.sum()),
}


def chain(function: str, size: int = MANY, **settings: Any) -> Run:
    """A run of four sampled blocks a launch."""
    given = np.arange(size, dtype=np.float32) if function != "total_of_all" else np.ones(size, np.float32)
    arguments = {"given": given, "out": Uninitialised((size,), np.float32)}
    program = parse_program(submission_from_cells("chain.py", [("chain.py", CHAINS)], is_notebook=False))
    request = RunRequest(function, arguments, sample_blocks=4, sample_seed=5, **{"follows_reads": True} | settings)
    return SimulatedDevice().run(program, request)


@pytest.mark.parametrize("little_work", [0, left_out.LITTLE_WORK])
@pytest.mark.parametrize("function", BUILT_ON)
def test_what_a_later_launch_or_the_host_reads_is_what_all_blocks_would_have_left(
    function: str, little_work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_out, "LITTLE_WORK", little_work)
    run = chain(function)
    assert run.fault is None and not [each for each in run.hazards if each.severity == "error"]
    known = run.written["out"]
    given = np.ones(MANY, np.float32) if function == "total_of_all" else np.arange(MANY, dtype=np.float32)
    assert 4 * 256 <= known.sum()
    assert np.array_equal(run.outputs["out"][known], BUILT_ON[function](given)[known])
    assert run.covered["out"] == pytest.approx(1, abs=0.01)
    if function != "copied_at_the_end":  # there the only launch is what the host reads
        assert known.sum() < MANY and run.launches[-1].counters.simulated_blocks == 4


def test_only_the_blocks_that_write_what_is_read_are_carried_out_of_a_launch_that_follows_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(left_out, "LITTLE_WORK", 0)
    grown = []
    original = left_out.Plan.grow
    monkeypatch.setattr(left_out.Plan, "grow", lambda plan, *given: grown.append(plan) or original(plan, *given))
    in_order, in_any_order = chain("in_two"), chain("in_any_order")
    of_a_rule, of_none = grown[0].blocks, grown[-1].blocks
    assert set(of_a_rule) == {0} and 4 <= len(of_a_rule[0]) <= 8
    assert of_none == {0: left_out.ALL}
    counted = [run.launches[0].counters.simulated_blocks for run in (in_order, in_any_order)]
    assert counted == [4, MANY // 256], "whole launches are counted whole, and others by their sample"


def test_of_a_grid_whose_second_column_has_no_work_only_the_blocks_that_write_what_is_read_are_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(left_out, "LITTLE_WORK", 0)
    plans = []
    original = left_out.Plan.grow
    monkeypatch.setattr(left_out.Plan, "grow", lambda plan, *given: plans.append(plan) or original(plan, *given))
    run = chain("in_one_column")
    assert set(plans[0].blocks) == {0} and 4 <= len(plans[0].blocks[0]) <= 8 and (plans[0].blocks[0] % 2 == 0).all()
    assert run.launches[0].counters.global_store_useful_bytes == 4 * MANY, "two of four sampled blocks store 1 KiB each"


def test_where_a_little_launch_reads_more_than_there_is_time_for_the_rules_alone_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = np.arange(MANY, dtype=np.float32)
    arguments = {"given": given, "out": Uninitialised((MANY,), np.float32)}
    program = parse_program(submission_from_cells("chain.py", [("chain.py", THREE)], is_notebook=False))
    request = RunRequest("in_three", arguments, sample_blocks=4, sample_seed=5, follows_reads=True)
    run = SimulatedDevice().run(program, request)
    first, second, _ = (launch.counters for launch in run.launches)
    assert second.simulated_blocks == second.blocks and not run.is_unverified
    monkeypatch.setattr(left_out, "LITTLE_WORK", second.warp_instructions)
    monkeypatch.setattr(left_out, "MOST_WORK", first.warp_instructions // 2)
    assert first.warp_instructions > 8 * second.warp_instructions
    run = SimulatedDevice().run(program, request)
    known = run.written["out"]
    assert not run.is_unverified and 4 * 64 <= known.sum() < MANY
    assert np.array_equal(run.outputs["out"][known], (2 * given[::-1])[known])


@pytest.mark.parametrize("count", [1, 40])
def test_steps_between_two_changes_of_layout_are_right_where_they_are_sampled(count: int) -> None:
    points = np.random.default_rng(1).integers(0, 9, (2**15 + 5, 8)).astype(np.float32)
    arguments = {"points": points, "scratch": Uninitialised((8, len(points)), np.float32), "count": count}
    program = parse_program(submission_from_cells("chain.py", [("chain.py", CHAINS)], is_notebook=False))
    request = RunRequest("steps", arguments, sample_blocks=4, sample_seed=5, scratch=("scratch",), follows_reads=True)
    run = SimulatedDevice().run(program, request)
    assert run.fault is None
    known = run.written["points"]
    expected = points.copy()
    expected[:, 5] += count
    expected[:, 2] += count * points[:, 5] + count * (count + 1) / 2
    assert known.any() and known.all(axis=1).sum() >= 3 * 32
    assert np.array_equal(run.outputs["points"][known], expected[known])


def test_a_run_of_which_nothing_can_be_left_out_and_that_is_too_much_is_nobodys_mistake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(left_out, "LITTLE_WORK", 0)
    run = chain("by_the_host", work_limit=40_000)
    assert isinstance(run.fault, NotCarriedOut) and "cannot be predicted" in str(run.fault)
    assert chain("copied_at_the_end", work_limit=40_000).fault is None


@pytest.mark.parametrize("function", ["in_two", "by_the_host", "total_of_all"])
def test_where_following_a_sample_takes_too_long_its_counts_stand_and_no_result_is_judged(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right answer of a hundred steps was stopped after twenty seconds, and told to look for an endless loop."""
    monkeypatch.setattr(left_out, "MOST_WORK", 0)
    run, sample = chain(function), chain(function, follows_reads=False)
    assert run.fault is None and run.is_unverified and not sample.is_unverified
    assert run.counters == sample.counters and not any(mask.any() for mask in run.written.values())


def test_a_run_that_needs_too_much_by_itself_is_told_so_as_ever() -> None:
    run = chain("copied_at_the_end", work_limit=10)
    assert isinstance(run.fault, WorkLimit)


def test_where_reads_are_not_followed_the_sample_is_all_that_is_carried_out() -> None:
    run = chain("total_of_all", follows_reads=False)
    assert [launch.counters.simulated_blocks for launch in run.launches] == [4, 4]


@pytest.mark.parametrize("count", [1, 40, 500], ids=["one", "fewer than blocks", "more than blocks"])
def test_blocks_that_write_an_element_are_those_of_their_rule_whichever_way_they_are_looked_up(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles of 8 x 4 in a matrix of 64 x 30: the last ones of a row reach beyond it, and the last row beyond its end."""
    monkeypatch.setattr(left_out, "PLACES_AT_ONCE", 100)
    rows, columns, grid = 64, 30, (4, 17, 1)
    geometry = Geometry(grid, (32, 1, 1))
    starts = np.array([4 * y * columns + 8 * x for y in range(grid[1]) for x in range(grid[0])], np.int64)
    pattern = np.array([row * columns + column for row in range(4) for column in range(8)], np.int64)
    carried_out = np.array([0, 1, 4, 9], np.int64)
    stores = Stores(
        elements=np.concatenate([starts[each] + pattern for each in carried_out]),
        blocks=np.repeat(carried_out, len(pattern)), has_atomics=False,
    )  # fmt: skip
    order = np.argsort(stores.elements, kind="stable")
    stores = replace(stores, elements=stores.elements[order], blocks=stores.blocks[order])
    footprint = left_out.Footprint(geometry, carried_out, stores)
    size = rows * columns
    elements = np.sort(np.random.default_rng(count).permutation(size)[:count])
    found = footprint._left_out_writers(elements, size)
    assert found is not None
    others = [each for each in range(geometry.blocks) if each not in carried_out and starts[each] < size]
    writes = {each: set((starts[each] + pattern).tolist()) & set(elements.tolist()) for each in others}
    assert found[1].tolist() == [each for each in others if writes[each]]
    assert elements[found[0]].tolist() == sorted(set().union(*writes.values()))

"""A sample of blocks: one from each part of the grid, and its counts stand for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.errors import Line
from autograder.sampling.sampler import Sampler, scaled, spread
from autograder.simgpu.counting.tally import MAXIMA, SLOT, Tally
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.launch import Chooser, Part, RunningLaunch, Touched, Warps, Work
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.host.single_launch import kernel_function

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()


def test_blocks_lie_evenly_over_the_grid_or_where_a_seed_has_them() -> None:
    assert spread(4, (100,)).tolist() == [12, 37, 62, 87]
    assert spread(0, (100,)).tolist() == [50], "one block at the least"
    for seed in range(20):
        found = spread(8, (1000, 1, 1), seed)
        assert np.array_equal(found // 125, np.arange(8)), "one from each eighth"
        assert np.array_equal(found, spread(8, (1000, 1, 1), seed))
    assert len({tuple(spread(8, (1000, 1, 1), seed)) for seed in range(20)}) == 20


@pytest.mark.parametrize("grid", [(2, 500, 1), (2, 2, 250), (500, 2, 1), (5, 8, 100), (40, 1, 25)])
def test_blocks_by_chance_lie_evenly_along_each_axis_that_a_part_holds(grid: tuple[int, int, int]) -> None:
    """Half of a grid of two columns is told to have no work where half of it has none, whatever the seed."""
    for seed in range(40):
        blocks = spread(4, grid, seed)
        assert len(blocks) == 4 and (np.diff(blocks) > 0).all() and 0 <= blocks[0] and blocks[-1] < np.prod(grid)
        step = 1
        for extent in grid:
            places = np.sort(blocks // step % extent)
            if 1 < extent and 4 * step * extent <= np.prod(grid):
                assert (np.abs(places - (np.arange(4) + 0.5) * extent / 4) <= extent / 8 + 1).all(), (places, extent)
            step *= extent
    assert len({tuple(spread(4, grid, seed)) for seed in range(20)}) > 15


def work(counts: int) -> Work:
    tally = Tally()
    for row in (tally.row, tally.source_row, tally.compiled_row):
        row(Line("kernel.py", 7))[:] = [counts] * len(SLOT)
    touched = (Touched(3, 5, 7, of_all=20), Touched(0, 1, 0, of_all=2))
    return Work(tally, warps=Warps(2, 99, 7), hottest_atomics=4, hottest_stores=2, touched=touched)


def test_what_a_sample_counted_is_scaled_and_what_is_a_maximum_is_not() -> None:
    many = scaled(work(10), 3.25)
    for rows in (many.tally.rows, many.tally.source_rows, many.tally.compiled_rows):
        (row,) = rows.values()
        assert {row[slot] for slot in range(len(SLOT)) if slot not in MAXIMA} == {32}  # round(32.5)
        assert {row[slot] for slot in MAXIMA} == {10}
    assert (many.warps, many.hottest_atomics, many.hottest_stores) == (Warps(6, 99, 7), 13, 6)


def test_no_more_sectors_than_an_array_has() -> None:
    assert scaled(work(1), 4.0).touched == (Touched(12, 20, 20, of_all=20), Touched(0, 2, 0, of_all=2))


def test_a_sample_of_everything_is_left_as_it_is() -> None:
    whole = work(10)
    assert scaled(whole, 1.0) is whole


@cuda.jit
def row_sums(given, out):
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(given.shape[1]):
        total += given[i, k]
    out[i] = total


class Evenly(Chooser):
    """The same blocks as a sampler's, and nothing scaled."""

    def choose(self, launch: RunningLaunch) -> Part:
        return Part(spread(4, launch.geometry.grid), np.zeros(0, np.int64))


def launched(chooser: Chooser | None) -> LaunchRecord:
    session = Session(chooser=chooser)
    given, out = session.to_device(np.ones((1024, 16), np.float32)), session.device_array(1024, np.float32)
    return session.launch(kernel_function(row_sums), 16, 64, (given, out))


def test_blocks_that_are_alike_count_as_all_of_them_do() -> None:
    whole, sampled, part = launched(None), launched(Sampler(4)), launched(Evenly())
    assert replace(sampled.counters, simulated_blocks=16) == whole.counters
    assert replace(sampled.compiled, simulated_blocks=16) == whole.compiled
    assert 4 * part.counters.global_load_sectors == whole.counters.global_load_sectors > 0
    assert sampled.counters.simulated_blocks == part.counters.simulated_blocks == 4
    assert [line.counters for line in sampled.lines] == [line.counters for line in whole.lines]


@pytest.mark.parametrize("blocks", [None, 16, 1000])
def test_a_sample_as_large_as_the_grid_is_the_whole_launch(blocks: int | None) -> None:
    assert launched(Sampler(blocks)) == launched(None)

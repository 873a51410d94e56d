"""Loops by what they go over and by how many rounds they have: what machine code takes, as the emulator counted it."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from autograder.simgpu.counting.regrouping import AT_ONCE
from autograder.simgpu.measurements.machine_code_emulator.loop_rounds import (
    LOOPS,
    MOST,
    RESULT,
    CountedLoop,
    simulated,
)
from autograder.simgpu.operations.loops import InFours

COUNTED: dict[str, list[int]] = json.loads(RESULT.read_text(encoding="utf-8"))
BY_NAME = {loop.name: loop for loop in LOOPS}


@cache
def ours(loop: CountedLoop) -> list[int]:
    return simulated(loop)


def errors(*, is_within: bool) -> np.ndarray:
    asked = [loop for loop in LOOPS if loop.is_within == is_within]
    return np.array([np.abs(np.divide(ours(loop), COUNTED[loop.name]) - 1) for loop in asked])


def test_each_loop_was_counted() -> None:
    assert COUNTED.keys() == BY_NAME.keys() and {len(each) for each in COUNTED.values()} == {MOST + 1}


def test_loops_take_what_machine_code_takes() -> None:
    found = errors(is_within=False)
    assert np.median(found) <= 0.042 and np.quantile(found, 0.9) <= 0.125 and found.max() <= 0.27


def test_loops_in_a_loop_that_leaves_their_rounds_alone_take_what_machine_code_takes() -> None:
    found = errors(is_within=True)
    assert np.median(found) <= 0.08 and np.quantile(found, 0.9) <= 0.205 and found.max() <= 0.35


@pytest.mark.parametrize(
    "name", ["from 0, load", "by lane, load", "while from 0, load", "from 0, barrier", "from 0, shuffle"]
)
def test_a_round_left_over_from_fours_takes_more_than_one_of_four(name: str) -> None:
    theirs, counts = COUNTED[name], ours(BY_NAME[name])
    for each in (theirs, counts):
        four, one = each[8] - each[4], each[7] - each[6]
        assert each[9] - each[8] > one > four / AT_ONCE + 3
    assert counts[8] - counts[4] == pytest.approx(theirs[8] - theirs[4], abs=AT_ONCE * 2)
    assert counts[7] - counts[6] == pytest.approx(theirs[7] - theirs[6], abs=2)


@pytest.mark.parametrize("name", ["from 0, load, in a loop", "by lane, load, in a loop", "while from 0, load, in a loop"])
def test_in_a_loop_two_rounds_left_over_take_what_three_do(name: str) -> None:
    theirs, counts = COUNTED[name], ours(BY_NAME[name])
    assert theirs[3] == theirs[2] and theirs[7] == theirs[6]
    assert abs(counts[3] - counts[2]) <= 0.02 * counts[2] and abs(counts[7] - counts[6]) <= 0.02 * counts[6]


@pytest.mark.parametrize("fours", [InFours(8, 0, 2, 6), InFours(9, 12, 4, 11), InFours(5, 9, -3, 0, 7, -6)])
def test_rounds_told_one_by_one_are_in_all_what_their_number_tells(fours: InFours) -> None:
    """A `while` loop does not know how many rounds will come."""
    for rounds in range(14):
        by_lane = sum(int(times[0]) * each for times, each in fours.times(np.array([rounds])))
        assert sum(map(fours.of_round, range(rounds))) == fours.of(rounds) == by_lane

"""Lesson 4: its exercises reply as they should, and what its prose says follows from what was counted and measured."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from autograder import simulate
from autograder.exercises import lesson04


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson04.in_which_warp, (1, 11, 3, 16)),
        (lesson04.how_many_diverge, (4, 0, 1, 0)),
        (lesson04.picture_in_rows, (62, 192)),
        (lesson04.slowest_lane, (32, 16.5)),
    ],
)
def test_the_right_answer_is_praised_and_an_empty_cell_is_an_invitation(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"
    assert exercise((...,) * len(answer)).outcome == "your turn"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson04.in_which_warp, (0, 14, 3, 16), "y first"),
        (lesson04.in_which_warp, (1, 43, 3, 16), "Lanes count from 0"),
        (lesson04.in_which_warp, (1, 11, 4, 20), "cut after every 32"),
        (lesson04.in_which_warp, (1, 12, 3, 16), "The second of"),
        (lesson04.how_many_diverge, (4, 4, 4, 4), "own 32 lanes"),
        (lesson04.how_many_diverge, (4, 2, 2, 1), "Who disagrees"),
        (lesson04.how_many_diverge, (4, 1, 1, 0), "between two warps"),
        (lesson04.picture_in_rows, (31, 160), "16 x 16"),
        (lesson04.picture_in_rows, (64, 192), "do not exist"),
        (lesson04.slowest_lane, (528, 16.5), "together"),
        (lesson04.slowest_lane, (32, 32), "Only in the first"),
        (lesson04.slowest_lane, 32, "takes 2 numbers"),
    ],
)
def test_a_wrong_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert (reply.outcome, words in reply.words) == ("not yet", True), reply.words


def test_the_answers_are_those_of_the_machine() -> None:
    """The four numbers to be found on paper, found by kernels."""
    threads = np.arange(128).reshape(4, 32)
    asked = [threads % 2 == 0, threads < 64, threads < 50, threads // 32 == 1]
    diverge = tuple(int((each.any(axis=1) & ~each.all(axis=1)).sum()) for each in asked)
    assert lesson04.how_many_diverge(diverge).outcome == "right"
    row, column = np.divmod(np.arange(64 * 96), 96)
    inside = ((row < 62) & (column < 76)).reshape(-1, 32)
    warps = (int((inside.any(axis=1) & ~inside.all(axis=1)).sum()), len(inside))
    assert lesson04.picture_in_rows(warps).outcome == "right"
    assert lesson04.slowest_lane((32, np.arange(1, 33).mean())).outcome == "right"


LOOP = """
def kernel(values, sums):
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = {first}
    while {more}:
        {add}
        {barrier}
        step {change}
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]
"""
DOUBLE = {"first": "1", "more": "step < 256", "change": "*= 2"}
HALVE = {"first": "128", "more": "step > 0", "change": "//= 2"}
AT = "at = 2 * step * t\n        if at < 256: part[at] += part[at + step]"


@pytest.mark.parametrize(
    ("loop", "add", "barrier", "outcome", "words"),
    [
        (HALVE, "if t < step: part[t] += part[t + step]", True, "right", "48 divergent branches instead of 384"),
        (DOUBLE, "if t % (2 * step) == 0: part[t] += part[t + step]", True, "your turn", "384 divergent branches"),
        (DOUBLE, AT, True, "not yet", "560 bank conflicts"),
        (HALVE, "if t < step: part[t] += part[t + step]", False, "not yet", "Race on `part["),
        (HALVE, "if t <= step: part[t] += part[t + step]", True, "not yet", "part["),
        (HALVE, "if t < step: part[t] += part[2 * t + 1]", True, "not yet", "part["),
        (HALVE, "if t < step - 1: part[t] += part[t + step]", True, "not yet", "of 8 elements differ"),
    ],
    ids=["halving", "as given", "packed", "no barrier", "one too many", "in place", "one too few"],
)
def test_a_reduction_is_judged_by_its_sums_its_races_and_its_counts(loop, add, barrier, outcome, words) -> None:
    source = LOOP.format(**loop, add=add, barrier="cuda.syncthreads()" if barrier else "pass")
    reply = lesson04.first_threads_add(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


LARGEST = """
def kernel(values, best):
    i = cuda.grid(1)
    largest = {first}
    step = 16
    while step > {last}:
        other = cuda.shfl_down_sync(0xFFFFFFFF, largest, step)
        largest = {join}
        step //= 2
    if cuda.laneid == 0:
        best[i // 32] = largest
"""


@pytest.mark.parametrize(
    ("first", "last", "join", "outcome", "words"),
    [
        ("values[i]", 0, "max(largest, other)", "right", "no barrier"),
        ("values[i]", 16, "max(largest, other)", "your turn", "lane 0 began with"),
        ("values[i]", 0, "largest + other", "not yet", "the sums"),
        ("max(values[i], np.float32(0))", 0, "max(largest, other)", "not yet", "below zero"),
        ("values[i]", 0, "min(largest, other)", "not yet", "best[0]"),
        ("values[i]", 1, "max(largest, other)", "not yet", "best["),
    ],
    ids=["largest", "untouched", "sum", "from zero", "smallest", "four shuffles"],
)
def test_the_largest_of_a_warp_is_judged(first: str, last: int, join: str, outcome: str, words: str) -> None:
    reply = lesson04.largest_of_warp(kernel_of(LARGEST.format(first=first, last=last, join=join)))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_the_largest_of_a_warp_needs_no_shared_memory() -> None:
    source = LARGEST.format(first="values[i]", last=0, join="max(largest, other)") + "    cuda.syncthreads()\n"
    assert "neither shared memory nor a barrier" in lesson04.largest_of_warp(kernel_of(source)).words


def kernel_of(source: str) -> Any:
    """A kernel given as text, which stays readable as it is in a notebook."""
    file = f"answer {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope["kernel"])

"""Lesson 6: its exercises reply as they should; numbers in its prose follow from the measurements and from theory."""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import simulate
from autograder.exercises import lesson06

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
H200 = json.loads((NOTEBOOKS / "data" / "lists_h200.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson06.ranks_by_hand, (7, 2, 3, 6)),
        (lesson06.rounds_needed, 20),
        (lesson06.add_up, (12, 7, 4, 5)),
        (lesson06.longest_walk, 835),
        (lesson06.longest_walk, 64 * sum(1 / each for each in range(1, 2**18 + 1))),
    ],
)
def test_the_right_answer_is_praised(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson06.ranks_by_hand, (8, 3, 4, 7), "counts links"),
        (lesson06.ranks_by_hand, (0, 5, 4, 1), "from the head"),
        (lesson06.ranks_by_hand, (7, 6, 5, 4), "in the order of the list"),
        (lesson06.ranks_by_hand, (3, 6, 1, 7), "successors themselves"),
        (lesson06.rounds_needed, 999_999, "one thread takes"),
        (lesson06.rounds_needed, 500_000, "twice as far"),
        (lesson06.rounds_needed, 19, "524,288"),
        (lesson06.rounds_needed, 21, "One too many"),
        (lesson06.rounds_needed, 19.9316, "round up"),
        (lesson06.add_up, (11, 6, 3, 4), "at the tail"),
        (lesson06.add_up, (13, 8, 5, 6), "rank is 0"),
        (lesson06.add_up, (12, 7, 4, 9), "nearer to the tail"),
        (lesson06.add_up, (0, 5, 8, 7), "from the head"),
        (lesson06.add_up, (5, 3, 4, 2), "lengths"),
        (lesson06.longest_walk, 64, "average"),
        (lesson06.longest_walk, 256, "an average warp"),
        (lesson06.longest_walk, 798.5, "ln s + 0.58"),
        (lesson06.longest_walk, 1152, "natural logarithm"),
        (lesson06.longest_walk, 1102, "how many walks"),
        (lesson06.longest_walk, 337, "log2 N splitters"),
        (lesson06.ruinous_order, np.arange(10), "the function itself"),
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == "not yet"
    assert words in reply.words


@pytest.mark.parametrize(
    "exercise", [lesson06.ranks_by_hand, lesson06.rounds_needed, lesson06.add_up, lesson06.longest_walk]
)
def test_an_empty_cell_is_an_invitation(exercise) -> None:
    assert exercise(...).outcome == "your turn"


@pytest.mark.parametrize(
    ("first", "second", "outcome", "words"),
    [
        ("...", "...", "your turn", "Nothing is written"),
        (
            "new_rank[node] = rank[node] + rank[after]",
            "new_successor[node] = successor[after]",
            "right",
            "Four lists, no race",
        ),
        ("rank[node] += rank[after]", "successor[node] = successor[after]", "not yet", "Race on"),
        ("new_rank[node] = rank[node] + rank[after]", "new_successor[node] = after", "not yet", "new_successor["),
        ("new_rank[node] = rank[node] + 1", "new_successor[node] = successor[after]", "not yet", "new_rank["),
        ("new_rank[node] = rank[after]", "new_successor[node] = successor[after]", "not yet", "new_rank["),
        ("new_rank[node] = 2 * rank[node]", "...", "not yet", "new_successor["),
        ("rank[node] = rank[node] * 2", "...", "not yet", "still empty"),
    ],
)
def test_a_round_is_judged_by_what_it_wrote(first: str, second: str, outcome: str, words: str) -> None:
    reply = lesson06.double_buffers(kernel_of(first, second))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_a_round_without_a_guard_is_told_where_it_goes_astray() -> None:
    reply = lesson06.double_buffers(kernel_of("new_rank[node] = 1", "new_successor[node] = 1", guard="node >= 0"))
    assert reply.outcome == "not yet" and "outside" in reply.words


def kernel_of(first: str, second: str, guard: str = "node < rank.size") -> Any:
    source = f"""
def jump(successor, rank, new_successor, new_rank):
    node = cuda.grid(1)
    if {guard}:
        after = successor[node]
        {first}
        {second}
"""
    file = f"jump {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope["jump"])


def in_two_halves(n: int, every: int) -> np.ndarray:
    return np.concatenate([np.arange(0, n, every), np.setdiff1d(np.arange(n), np.arange(0, n, every))])


@pytest.mark.parametrize(
    ("order_for", "outcome", "words"),
    [
        (lambda n, every: np.arange(n), "your turn", "Make one of them very long"),
        (in_two_halves, "right", "of 600 nodes"),
        (lambda n, every: in_two_halves(n, every)[::-1], "right", "of 600 nodes"),
        (lambda n, every: np.arange(n)[::-1], "not yet", "the longest walk has 64"),
        (lambda n, every: np.random.default_rng(1).permutation(n), "not yet", "Go on"),
        (lambda n, every: in_two_halves(n, 64), "not yet", "With 600 nodes"),
        (lambda n, every: np.zeros(n, int), "not yet", "each of the 1024 nodes once"),
        (lambda n, every: None, "not yet", "each of the 1024 nodes once"),
        (lambda n, every: 1 / 0, "not yet", "ZeroDivisionError"),
    ],
)
def test_an_order_is_judged_by_its_longest_walk(order_for, outcome: str, words: str) -> None:
    reply = lesson06.ruinous_order(order_for)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words

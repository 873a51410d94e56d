"""Lesson 6: its exercises reply as they should; numbers in its prose follow from the measurements and from theory."""

from __future__ import annotations

import json
import linecache
import math
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.course.lesson06 import clock, kernels, lists, measurements
from autograder.course.lesson06 import exercises as lesson06
from autograder.grading.labs import spec_of
from autograder.kernels import pointer_jump
from autograder.perfmodel import SPECIFICATIONS
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
H200_GPU = SPECIFICATIONS["H200"]
H200 = json.loads((NOTEBOOKS / "data" / "lists_h200.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson06.ranks_by_hand, (7, 2, 3, 6)),
        (lesson06.rounds_needed, 20),
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
        (lesson06.rounds_needed, 13.8155, "base of 2"),
        (lesson06.rounds_needed, 19.9316, "round up"),
        (lesson06.longest_walk, 64, "average"),
        (lesson06.longest_walk, 256, "an average warp"),
        (lesson06.longest_walk, 798.5, "ln s + 0.58"),
        (lesson06.longest_walk, 1152, "natural logarithm"),
        (lesson06.longest_walk, 1102, "how many walks"),
        (lesson06.longest_walk, 337, "log2 N splitters"),
        (lesson06.longest_walk, 900, "more than the *average* of the longest; one list may well have it"),
        (lesson06.longest_walk, 751, "less than the *average*"),
        (lesson06.longest_walk, 1500, "1,500 is too large"),
        (lesson06.ruinous_order, np.arange(10), "the function itself"),
        (lesson06.ranks_by_hand, (1, 1, 1, 1), "points to itself"),
        (lesson06.rounds_needed, 3, "after 1, 2, 3 rounds"),
        (lesson06.longest_walk, 3, "How many walks"),
        (lesson06.double_buffers, "jump", "takes a kernel"),
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == "not yet"
    assert words in reply.words


@pytest.mark.parametrize(
    "exercise",
    [
        lesson06.ranks_by_hand,
        lesson06.rounds_needed,
        lesson06.longest_walk,
        lesson06.double_buffers,
        lesson06.ruinous_order,
        lesson06.turn_around,
        lesson06.largest_ahead,
        lesson06.ranks_from_splitters,
        lesson06.walk_links,
    ],
)
def test_an_empty_cell_is_an_invitation(exercise) -> None:
    assert exercise(...).outcome == exercise(None).outcome == "your turn"


def kernel_of(signature: str, body: str) -> Any:
    """A kernel with this head, whose lines below are indented by four."""
    indented = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    source = f"def {signature}:\n{indented}\n"
    file = f"kernel {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope[signature.partition("(")[0]])


def judged(exercise: Any, signature: str, body: str) -> Any:
    """The reply to a kernel."""
    return exercise(kernel_of(signature, body))


ROUND = """
node = cuda.grid(1)
if node < rank.size:
    after = successor[node]
    {}
    {}
"""


@pytest.mark.parametrize(
    ("first", "second", "outcome", "words"),
    [
        ("...", "...", "your turn", "Nothing was written"),
        (
            "new_rank[node] = rank[node] + rank[after]",
            "new_successor[node] = successor[after]",
            "right",
            "Four lists, no race",
        ),
        ("rank[node] += rank[after]", "successor[node] = successor[after]", "not yet", "Race on `rank["),
        ("rank[node] += rank[after]", "...", "not yet", "Leave `rank` as it is, and write `new_rank`."),
        ("new_rank[node] = rank[node] + rank[after]", "successor[node] = successor[after]", "not yet",
         "Leave `successor` as it is, and write `new_successor`."),
        ("new_rank[node] = rank[node] + new_rank[after]", "...", "not yet",
         "`new_rank` is for the next round: read `rank`."),
        ("new_rank[after] = rank[node] + rank[after]", "...", "not yet", "Give each thread an element of its own"),
        ("new_rank[node] += rank[after]", "new_successor[node] = successor[after]", "not yet", "+= reads new_rank"),
        ("new_rank[node] = rank[node] + rank[after]", "new_successor[node] = after", "not yet", "new_successor["),
        ("new_rank[node] = rank[node] + 1", "new_successor[node] = successor[after]", "not yet", "new_rank["),
        ("new_rank[node] = rank[after]", "new_successor[node] = successor[after]", "not yet", "the node's own"),
        ("new_rank[node] = rank[node]", "new_successor[node] = successor[after]", "not yet", "as it was"),
        ("new_rank[node] = rank[node] + rank[after]", "...", "not yet", "new_successor["),
        ("rank[node] = rank[node] * 2", "...", "not yet", "writes to rank, which it reads"),
        ("new_rank[node] = rank[node] + rank[after]", "successor[node] = after", "not yet", "new_successor["),
    ],
)
def test_a_round_is_judged_by_what_it_wrote(first: str, second: str, outcome: str, words: str) -> None:
    body = ROUND.format(first, second)
    reply = judged(lesson06.double_buffers, "jump(successor, rank, new_successor, new_rank)", body)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_a_round_without_a_guard_is_told_where_it_goes_astray() -> None:
    body = ROUND.format("new_rank[node] = 1", "new_successor[node] = 1").replace("node < rank.size", "node >= 0")
    reply = judged(lesson06.double_buffers, "jump(successor, rank, new_successor, new_rank)", body)
    assert reply.outcome == "not yet" and "outside" in reply.words


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("pass", "your turn", "Nothing was written to predecessor"),
        (
            """
            node = cuda.grid(1)
            if node < successor.size and successor[node] != node:
                predecessor[successor[node]] = node
            """,
            "right",
            "in one step",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size and successor[node] != node:
                cuda.atomic.exch(predecessor, successor[node], node)
            """,
            "right",
            "in one step",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size:
                cuda.atomic.exch(predecessor, successor[node], node)
            """,
            "not yet",
            "are wrong)",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size:
                cuda.atomic.max(predecessor, successor[node], node)
            """,
            "not yet",
            "are wrong)",
        ),
        (
            """
            for node in range(cuda.grid(1), predecessor.size, cuda.gridsize(1)):
                after = successor[node]
                if after == node:
                    continue
                predecessor[after] = node
            """,
            "right",
            "in one step",
        ),
        (
            """
            node = cuda.grid(1)
            if node >= successor.size:
                return
            after = successor[node]
            predecessor[after] = node if after != node else predecessor[after]
            """,
            "not yet",
            "is the tail",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size:
                predecessor[successor[node]] = node
            """,
            "not yet",
            "is the tail",
        ),
        (
            """
            node = cuda.grid(1)
            if successor[node] != node:
                predecessor[successor[node]] = node
            """,
            "not yet",
            "outside",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size:
                predecessor[node] = successor[node]
            """,
            "not yet",
            "successor once more",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size:
                for other in range(successor.size):
                    if successor[other] == node and other != node:
                        predecessor[node] = other
            """,
            "not yet",
            "that is a search",
        ),
        (
            """
            if cuda.grid(1) == 0:
                for node in range(successor.size):
                    if successor[node] != node:
                        predecessor[successor[node]] = node
            """,
            "not yet",
            "wrote it alone",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size and successor[node] != node:
                predecessor[successor[node]] = successor[node]
            """,
            "not yet",
            "The kernel writes, but predecessor is as it was before.",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size and successor[node] != node:
                successor[successor[node]] = node
            """,
            "not yet",
            "The kernel writes to successor, which it reads. Leave that as it is.",
        ),
        (
            """
            node = cuda.grid(1)
            if node < successor.size - 1 and successor[node] != node:
                predecessor[successor[node]] = node
            """,
            "not yet",
            "(1 of 100 are wrong)",
        ),
    ],
)
def test_a_list_turned_around_is_judged_by_who_wrote_what(body: str, outcome: str, words: str) -> None:
    reply = judged(lesson06.turn_around, "turn_around(successor, predecessor)", dedent(body))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


@pytest.mark.parametrize(
    ("first", "second", "outcome", "words"),
    [
        ("pass", "pass", "your turn", "Nothing was written"),
        (
            "new_rank[node] = max(rank[node], rank[after])",
            "new_successor[node] = successor[after]",
            "right",
            "sums, too, if the tail counts 0",
        ),
        (
            "new_rank[node] = rank[after] if rank[after] > rank[node] else rank[node]",
            "new_successor[node] = successor[successor[node]]",
            "right",
            "Ten rounds",
        ),
        (
            "new_rank[node] = rank[node] + rank[after]",
            "new_successor[node] = successor[after]",
            "not yet",
            "These are sums",
        ),
        ("new_rank[node] = min(rank[node], rank[after])", "new_successor[node] = successor[after]", "not yet", "small"),
        ("new_rank[node] = max(rank[node], after)", "new_successor[node] = successor[after]", "not yet", "numbers of"),
        (
            "if rank[after] > rank[node]: new_rank[node] = rank[after]",
            "new_successor[node] = successor[after]",
            "not yet",
            "is still what stood there before the launch",
        ),
        ("new_rank[node] = max(new_rank[node], rank[after])", "new_successor[node] = successor[after]", "not yet",
         "is still what stood there before"),
        ("new_rank[node] = max(0, rank[after])", "new_successor[node] = successor[after]", "not yet", "new_largest["),
        ("new_rank[node] = rank[node]", "new_successor[node] = successor[after]", "not yet", "keeps its own"),
        ("new_rank[node] = max(rank[node], rank[after])", "new_successor[node] = after", "not yet", "new_successor["),
        ("rank[node] = max(rank[node], rank[after])", "new_successor[node] = successor[after]", "not yet", "Race on"),
        ("new_rank[after] = max(rank[node], rank[after])", "new_successor[node] = successor[after]", "not yet", "Race"),
    ],
)
def test_the_largest_ahead_is_judged_round_by_round(first: str, second: str, outcome: str, words: str) -> None:
    signature = "look(successor, rank, new_successor, new_rank)"
    reply = judged(lesson06.largest_ahead, signature, ROUND.format(first, second))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


ALONE = """
if cuda.grid(1) == 0:
    for node in range(rank.size):
        new_rank[node] = max(rank[node], rank[successor[node]])
        new_successor[node] = successor[successor[node]]
"""


ALL_THE_WAY = """
i = cuda.grid(1)
if i < rank.size:
    best, at = rank[i], i
    while successor[at] != at:
        at = successor[at]
        best = max(best, rank[at])
    new_rank[i] = best
    new_successor[i] = at
"""


def test_a_thread_that_walks_all_the_way_is_told_what_a_round_is() -> None:
    reply = judged(lesson06.largest_ahead, "look(successor, rank, new_successor, new_rank)", ALL_THE_WAY)
    assert reply.outcome == "not yet" and "no further" in reply.words


def test_one_thread_that_looks_ahead_for_all_is_told_so() -> None:
    reply = judged(lesson06.largest_ahead, "look(successor, rank, new_successor, new_rank)", ALONE)
    assert reply.outcome == "not yet" and "wrote it alone" in reply.words


@pytest.mark.parametrize(
    ("line", "outcome", "words"),
    [
        ("pass", "your turn", "Nothing was written to rank"),
        ("rank[node] = splitter_rank[sublist[node]] - steps[node]", "right", "waits for nobody"),
        ("rank[node] = splitter_rank[sublist[node]] + steps[node]", "not yet", "The steps are added"),
        ("rank[node] = splitter_rank[sublist[node]]", "not yet", "ranks of the splitters"),
        ("rank[node] = steps[node]", "not yet", "the steps alone"),
        ("rank[node] = steps[node] - splitter_rank[sublist[node]]", "not yet", "never below zero"),
        ("rank[node] = splitter_rank[node] - steps[node]", "not yet", "Which splitter is node's? sublist[node]."),
        ("rank[node] = splitter_rank[node] - steps[node]", "not yet", "so no guard is missing"),
        ("rank[node] = splitter_rank[sublist[node]] - steps[node] - 1", "not yet", "rank[0] should be"),
        ("rank[node] = splitter_rank[sublist[steps[node]]] - steps[node]", "not yet", "should be"),
        (
            "steps[node] = splitter_rank[sublist[node]] - steps[node]; rank[node] = steps[node]",
            "not yet",
            "writes to steps",
        ),
    ],
)
def test_ranks_from_splitters_are_judged_by_the_mistake(line: str, outcome: str, words: str) -> None:
    body = f"node = cuda.grid(1)\nif node < rank.size:\n    {line}"
    reply = judged(lesson06.ranks_from_splitters, "add(sublist, steps, splitter_rank, rank)", body)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_ranks_by_a_stride_are_right_and_by_one_thread_are_not() -> None:
    signature, line = "add(sublist, steps, splitter_rank, rank)", "rank[i] = splitter_rank[sublist[i]] - steps[i]"
    stride = f"for i in range(cuda.grid(1), rank.size, cuda.gridsize(1)):\n    {line}"
    assert judged(lesson06.ranks_from_splitters, signature, stride).outcome == "right"
    alone = f"if cuda.grid(1) == 0:\n    for i in range(rank.size):\n        {line}"
    assert "wrote it alone" in judged(lesson06.ranks_from_splitters, signature, alone).words
    missing = f"i = cuda.grid(1)\n{line}"
    assert "outside" in judged(lesson06.ranks_from_splitters, signature, missing).words


WALK = """
index = cuda.grid(1)
if index < splitters.size:
    node = splitters[index]
    count = 0
    after = successor[node]
    while after != node and sublist[after] < 0:
        {step}
        sublist[after] = index
        steps[after] = count
        node = after
        after = successor[node]
    following[index] = sublist[after]
    lengths[index] = {last}
"""


@pytest.mark.parametrize(
    ("step", "last", "outcome", "words"),
    [
        ("count += 1", "count + (after != node)", "your turn", "Every link still counts one"),
        ("count += links[node]", "count + links[node]", "right", "count what they like"),
        ("count += links[node]", "count + links[node] if after != node else count", "right", "count what they like"),
        ("count += links[node]", "count + (after != node)", "not yet", "counts too little"),
        ("count += links[node]", "count", "not yet", "counts too little"),
        ("count += links[after]", "count + links[after]", "not yet", "one link off"),
        ("count += links[after]", "count", "not yet", "one link off"),
        ("count += links[node]", "count + links[node] + (after == node)", "not yet", "from the tail no link"),
        ("count += links[node]", "count + links[after]", "not yet", "The last link is that of `node`"),
        ("count += links[index]", "count + links[index]", "not yet", "links[index] is the link of node number index"),
        ("count += links[node] if count else 2 * links[node]", "count", "not yet", "is counted twice"),
        ("count += 1", "count + links[node]", "not yet", "In the loop every link still counts one"),
        ("count = links[node]", "count + links[node]", "not yet", "steps["),
        ("count += links[node]; links[node] = 1", "count + links[node]", "not yet", "writes to links"),
    ],
)
def test_a_walk_over_counted_links_is_judged_by_which_link_it_adds(
    step: str, last: str, outcome: str, words: str
) -> None:
    signature = "walk(successor, links, splitters, sublist, steps, following, lengths)"
    reply = judged(lesson06.walk_links, signature, WALK.format(step=step, last=last))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


@pytest.mark.parametrize(
    ("before", "words"),
    [("node = after", "stored before the link to it"), ("after = successor[node]\n    follow", "from its splitter, is not")],
)
def test_a_link_counted_too_late_is_told_which(before: str, words: str) -> None:
    signature = "walk(successor, links, splitters, sublist, steps, following, lengths)"
    body = WALK.format(step="pass", last="count + links[node]")
    late = body.replace(before, f"count += links[node]\n        {before}")
    assert late != body
    reply = judged(lesson06.walk_links, signature, late)
    assert reply.outcome == "not yet" and words in reply.words, reply.words


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("while after != node and sublist[after] < 0:", "while after != node:", "Race on"),
        ("sublist[after] = index", "sublist[node] = index", "Race on"),
        ("sublist[after] = index", "sublist[after] = node", "The way itself has changed"),
        ("if index < splitters.size:", "if index >= 0:", "outside"),
        ("following[index] = sublist[after]", "following[index] = after", "The way itself has changed"),
        ("while after != node and sublist[after] < 0:", "while False:", "The way itself has changed"),
    ],
)
def test_a_walk_that_lost_its_way_is_told_so(old: str, new: str, words: str) -> None:
    signature = "walk(successor, links, splitters, sublist, steps, following, lengths)"
    body = WALK.format(step="count += links[node]", last="count + links[node]")
    assert old in body
    reply = judged(lesson06.walk_links, signature, body.replace(old, new))
    assert reply.outcome == "not yet" and words in reply.words, reply.words


@pytest.mark.parametrize(
    "exercise", [lesson06.turn_around, lesson06.largest_ahead, lesson06.ranks_from_splitters, lesson06.walk_links]
)
def test_a_kernel_of_other_parameters_is_told_which_it_takes(exercise: Any) -> None:
    reply = judged(exercise, "one(successor)", "pass")
    assert reply.outcome == "not yet" and "yours takes 1 parameter." in reply.words


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


JUMPING_PART, WALKING_PART = "06a_pointer_jumping", "06b_list_ranking"
CELLS = {
    part: json.loads((NOTEBOOKS / f"{part}.ipynb").read_text(encoding="utf-8"))["cells"]
    for part in (JUMPING_PART, WALKING_PART)
}
PROSE = {
    part: " ".join(" ".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown").split())
    for part, cells in CELLS.items()
}
SHOWN = {
    part: {
        cell["id"]: " ".join("".join(each.get("text") or each["data"]["text/plain"]) for each in cell["outputs"])
        for cell in cells
        if cell["cell_type"] == "code"
    }
    for part, cells in CELLS.items()
}
MS = {int(size): times for size, times in H200["milliseconds"].items()}
CPU, JUMPING, SUBLISTS, IN_ORDER = "one CPU core", "pointer jumping", "sublists", "one CPU core, list in order"
ROUNDS = H200["rounds_ms"][str(2**22)]
WRONG = {int(size): counts for size, counts in H200["wrong_ranks_in_place"].items()}
WALKS = {int(size): kinds for size, kinds in H200["walks"].items()}
SPACINGS = {int(every): each for every, each in H200["spacings"].items()}
TOTAL = {every: each["ms"] + each["jumping_ms"] for every, each in SPACINGS.items()}
NEAR = [every for every, ms in TOTAL.items() if ms < 1.15 * min(TOTAL.values())]
HARMONIC_32 = sum(1 / each for each in range(1, 33))
MEASUREMENTS = NOTEBOOKS.parent / "autograder" / "perfmodel" / "measurements"
MICRO = json.loads((MEASUREMENTS / "microbenchmarks.json").read_text(encoding="utf-8"))
RANDOM, EQUAL = "random list, random splitters", "random list, equal walks"


ANSWERS = H200["answers_ms"]
OF_64 = H200["rates_64_MiB"]
RATES = MICRO["memory"] | {
    "gather from 64 MiB, G sectors/s": OF_64["gather"],
    "scatter to 64 MiB, G sectors/s": OF_64["scatter"],
}
RANDOM_READS = {
    size: 2 * size / RATES[f"gather from {place}, G sectors/s"] / 1e6
    for size, place in ((2**22, "16 MiB"), (2**24, "64 MiB"))
}
FIRST_WALK, JUMPED = SPACINGS[16]["ms"], SPACINGS[16]["jumping_ms"]
THREE_WALKS = "every 8 nodes, three walks"
FASTER = {way: MS[2**26][CPU] / MS[2**26][way] for way in (JUMPING, SUBLISTS)}
PROMISED = 1 - (FIRST_WALK + ANSWERS["every 16 nodes"]) / (FIRST_WALK + JUMPED)


@pytest.mark.parametrize(
    "sentence",
    [
        f"On an NVIDIA H200 it needs {MS[2**24][JUMPING]:.1f} ms for a list of {2**24:,} nodes",
        f"one CPU core needs {MS[2**24][CPU] / 1000:.1f} seconds",
        "**it does 24 times as much work**",
        f"takes **{MS[2**24][CPU] / MS[2**24][IN_ORDER]:.0f} times as long**",
        f"right in {('no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight')[WRONG[2**14].count(0)]} tries",
        f"it needs {np.median(ROUNDS):.3f} ms for most rounds, {ROUNDS[-1]:.3f} ms for the last",
        f"With 2²² nodes each array has {4 * 2**22 // 2**20} MiB",
        f"{MS[2**24][JUMPING] / MS[2**24][SUBLISTS]:.1f} times as fast",
    ],
)
def test_part_a_says(sentence: str) -> None:
    assert sentence in PROSE[JUMPING_PART]


@pytest.mark.parametrize(
    "sentence",
    [
        f"ranked **{MS[2**24][JUMPING] / MS[2**24][SUBLISTS]:.1f} times as fast** like this",
        f"promises {100 * PROMISED:.0f} %",
        f"one for every 100 is slower than pointer jumping ({ANSWERS['pointer jumping on all nodes']:.3f} ms)",
        f"the sum is {HARMONIC_32:.2f}",
        f"e⁻⁴, {100 * math.exp(-4):.1f} %",
        f"2²² nodes has {2**22 // 22:,} splitters, and 4 log₂N is {4 * 22}",
        f"Three arrays of 2²² numbers have {3 * 4 * 2**22 // 2**20} MiB",
        f"{4800 // 32} billion sectors",
        f"needs about {H200['lone_walk_ns_a_node'][str(2**24)]:.0f} ns a node",
        f"{MICRO['latency in cycles']['DRAM load'] / MICRO['clock_ghz']:.0f} ns each",
        f"the longest of 2¹⁸ walks has about {64 * (math.log(2**18) + lesson06.EULER):.0f} nodes",
        "an H200 reads {:.0f} billion".format(RATES["gather from 16 MiB, G sectors/s"]),
        "numbers a second, and writes {:.0f};".format(RATES["scatter to 16 MiB, G sectors/s"]),
        f"in one of 64 MiB {OF_64['gather']:.0f} and {OF_64['scatter']:.0f}",
        f"make it the {MS[2**24][SUBLISTS]:.1f} ms of the beginning",
        f"Its {1e6 * MS[2**10][CPU] / 2**10:.0f} ns at 2¹⁰",
        f"can hold {H200_GPU.multiprocessors * H200_GPU.max_threads:,} threads at once, so all {2**22 // 22:,} walks",
        f"length, {100 * math.exp(-1):.0f} % still walk; after four times that, {100 * math.exp(-4):.0f} %",
        f"{MS[2**20][SUBLISTS]:.2f} ms against {MS[2**20][JUMPING]:.2f}.",
        f"take {ANSWERS['every 16 nodes']:.2f} against {ANSWERS['pointer jumping on all nodes']:.2f} ms",
        f"from {min(NEAR)} to {max(NEAR)} nodes for each splitter make little difference",
        f"the CPU needs {MS[2**26][CPU] / 1000:.1f} seconds, pointer jumping {MS[2**26][JUMPING]:.0f} ms",
        f"sublists {MS[2**26][SUBLISTS]:.0f} ms",
        f"{FASTER[JUMPING]:.0f} and {FASTER[SUBLISTS]:.0f} times as fast as the CPU",
        f"about {1e9 / 32e6:.0f} ns a node. Here it is {1e6 * MS[2**26][SUBLISTS] / 2**26:.2f} ns",
    ],
)
def test_part_b_says(sentence: str) -> None:
    assert sentence in PROSE[WALKING_PART]


def test_what_limits_a_round_of_jumping_is_what_the_lesson_says() -> None:
    a_round = {2**22: float(np.median(ROUNDS)), 2**24: MS[2**24][JUMPING] / 24}
    without_l2 = 2 * 2**24 / RATES["gather from 1 GiB, G sectors/s"] / 1e6
    assert RANDOM_READS[2**24] < a_round[2**24] < without_l2, "between the two"
    for sentence in (
        f"With 2²² nodes {RANDOM_READS[2**22]:.3f} of {a_round[2**22]:.3f} ms",
        f"the reads would need {RANDOM_READS[2**24]:.3f} ms; with next to nothing in L2, {without_l2:.3f} ms. "
        f"The round takes {a_round[2**24]:.3f}, between the two",
    ):
        assert sentence in PROSE[JUMPING_PART]
    assert RANDOM_READS[2**22] > 0.5 * a_round[2**22], "most of it"
    assert RATES["gather from 16 MiB, G sectors/s"] / OF_64["gather"] == pytest.approx(2, abs=0.15), "twice as fast"


def test_the_profiler_counts_what_part_a_counts() -> None:
    shown = re.findall(r"([\d,]+) counted, +([\d,]+) on an H200", SHOWN[JUMPING_PART]["jumping-profiled"])
    assert len(shown) == 4 and all(counted == read for counted, read in shown), "to the last sector"


def test_answers_of_the_lab_are_as_they_were_measured_there() -> None:
    assert measurements.answers_ms() == ANSWERS
    spec = spec_of("lab06")
    assert spec.SPEED_NODES == 2**20 and spec.FEWER_NODES < 0.1 * 2**20, "about 2^20 nodes"
    answer = NOTEBOOKS.parent / "solutions" / "lab06_list_ranking" / f"{measurements.ANSWERS[THREE_WALKS]}.py"
    text = answer.read_text(encoding="utf-8")
    every, few = (int(found(rf"^{name} = (\d+)", text, re.M)[1]) for name in ("EVERY", "FEW"))
    lengths = [spec.SPEED_NODES]
    while lengths[-1] > few or len(lengths) == 1:
        lengths.append(lengths[-1] // every)
    assert every == 8 and len(lengths) == 1 + 3, "three walks, and jumping on what is left"


def test_the_best_spacing_moves_with_the_size() -> None:
    least = ANSWERS["every 16 nodes"]
    assert 1.2 < ANSWERS["every 32 nodes"] / least < 1.3, "a quarter longer"
    assert ANSWERS["every 100 nodes"] > ANSWERS["pointer jumping on all nodes"]
    assert TOTAL[32] / TOTAL[16] < 1.05 and TOTAL[128] / TOTAL[16] < 1.25, "at 2^24 it is not so"
    assert ANSWERS[THREE_WALKS] > ANSWERS["every 8 nodes"], "recursion does not pay"


def test_the_picture_of_footprints_counts_the_sectors_of_numbers() -> None:
    said = SHOWN[WALKING_PART]["footprints-picture"]
    numbers = re.findall(r"order: ([\d,]+) numbers read, from ([\d,]+) sectors", said)
    (of_random, random_sectors), (of_order, order_sectors) = [[int(each) for each in pair] for pair in numbers]
    assert random_sectors > 0.95 * of_random, "nearly every number comes with a sector of its own"
    assert order_sectors < 0.25 * of_order, "the next step reads the same sector, seven times out of eight"


def test_marks_in_the_list_itself_give_the_same_walks_with_a_load_less() -> None:
    successor, order = lists.random_list(1000, seed=1)
    splitters = lists.random_splitters(successor, 60, seed=2)
    with simulate() as cuda:
        walked = lists.walk_from(cuda.jit(kernels.walk.py_func), splitters, successor)
    in_place = lists.walk_in_place_from(splitters, successor)
    for one, other in zip(walked[1:], in_place[1:], strict=True):
        assert np.array_equal(one, other)
    assert not in_place[0].hazards
    apart, marked = (each[0].counters for each in (walked, in_place))
    assert marked.global_store_sectors <= apart.global_store_sectors + apart.global_load_sectors / 50
    assert 0.45 < marked.global_load_sectors / apart.global_load_sectors < 0.6, "one load a node and not two"


def test_walks_over_counted_links_rank_the_splitters_of_splitters() -> None:
    successor, order = lists.random_list(1000, seed=3)
    links = np.random.default_rng(4).integers(0, 9, 1000).astype(np.int32)
    links[order[-1]] = 0
    expected = np.zeros(1000, np.int64)
    expected[order] = links[order][::-1].cumsum()[::-1]
    splitters = lists.random_splitters(successor, 60, seed=5)
    _, sublist, steps, following, lengths = lists.walk_from(kernels.walk_links, splitters, successor, links)
    ranks, _ = lists.all_rounds(pointer_jump, following, lengths)
    assert np.array_equal(ranks[sublist] - steps, expected)


def test_the_praise_of_the_longest_walk_names_those_that_were_measured() -> None:
    measured = sorted([SPACINGS[64]["longest"], WALKS[2**24][RANDOM]["longest"]])
    assert "the longest had {} and {:,} nodes".format(*measured) in lesson06.longest_walk(835).words


def test_a_launch_in_place_runs_in_two_parts_each_in_step() -> None:
    with simulate() as cuda:

        @cuda.jit
        def sees_the_other_half(a, seen):
            i = cuda.grid(1)
            a[i] = 1
            seen[i] = a[(i + a.size // 2) % a.size]

    a, seen = np.zeros(65_536, np.int32), np.zeros(65_536, np.int32)
    profile(sees_the_other_half)[256, 256](a, seen)
    assert not seen[:32_768].any() and seen[32_768:].all()


def test_words_for_numbers_hold() -> None:
    assert 80 < 1e6 * MS[2**24][CPU] / 2**24 < 130, "about a hundred nanoseconds"
    assert not any(WRONG[2**10]) and min(WRONG[2**22]) > 0.99 * 2**22, "right with a small list, wrong with a large one"
    assert max(ROUNDS[:16]) < 1.02 * min(ROUNDS[:16]), "most rounds"
    assert MS[2**16][CPU] < min(MS[2**16][JUMPING], MS[2**16][SUBLISTS]), "short lists are the CPU's"
    assert MS[2**18][CPU] > max(MS[2**18][JUMPING], MS[2**18][SUBLISTS]), "they cross at about 100,000 nodes"
    assert all(MS[2**k][JUMPING] < min(MS[2**k][SUBLISTS], MS[2**k][CPU]) for k in (18, 20)), "in between jumping wins"
    assert all(MS[size][SUBLISTS] < MS[size][JUMPING] for size in (2**22, 2**24, 2**26))
    now = MICRO["latency in cycles"]["DRAM load"]
    assert 690 < now < 710 and round(1 / MICRO["clock_ghz"], 2) == 0.51 and round(1 / 1.296, 2) == 0.77
    assert 12.5 < math.log(2**22 / 22) + lesson06.EULER < 13, "nearly 13 times the average"


def test_what_limits_the_walks_is_what_the_lesson_says() -> None:
    memory = {
        size: [2 * size / RATES[f"{how} {place}, G sectors/s"] / 1e6 for how in ("gather from", "scatter to")]
        for size, place in ((2**22, "16 MiB"), (2**24, "64 MiB"))
    }
    without_l2 = sum(2 * 2**24 / RATES[f"{how} 1 GiB, G sectors/s"] / 1e6 for how in ("gather from", "scatter to"))
    alone = {size: WALKS[size][RANDOM]["longest"] * H200["lone_walk_ns_a_node"][str(size)] / 1e6 for size in memory}
    assert sum(memory[2**22]) < alone[2**22] < WALKS[2**22][RANDOM]["ms"], (
        "the smaller list waits for its slowest thread"
    )
    assert alone[2**24] < 0.5 * sum(memory[2**24]), "the larger one does not"
    assert memory[2**24][1] / sum(memory[2**24]) == pytest.approx(0.75, abs=0.02), "three quarters of it are stores"
    gains = {size: kinds[RANDOM]["ms"] / kinds[EQUAL]["ms"] for size, kinds in WALKS.items()}
    for size, kinds in WALKS.items():
        assert sum(memory[size]) < kinds[EQUAL]["ms"] < kinds[RANDOM]["ms"], "no limit is beaten"
    assert WALKS[2**24][EQUAL]["ms"] < without_l2 < WALKS[2**24][RANDOM]["ms"], "equal walks lie between"
    in_order = {size: kinds["list in memory order, equal walks"]["ms"] for size, kinds in WALKS.items()}
    assert in_order[2**22] < 0.5 * WALKS[2**22][EQUAL]["ms"], "less than half the time"
    assert 0.85 < in_order[2**24] / WALKS[2**24][EQUAL]["ms"] < 1, "hardly less"
    assert gains[2**22] > 1.8 and gains[2**24] < 1.25, "equal walks: much for the smaller list, little for the larger"


def test_part_b_counts_what_its_prose_says_of_it() -> None:
    shown, prose = SHOWN[WALKING_PART], PROSE[WALKING_PART]
    jumped, walked, ranked, added = (
        int(each.replace(",", "")) for each in re.findall(r"(?:rounds|walks|up) ([\d,]+\d)", shown["walk-counted"])
    )
    assert 9 < jumped / walked < 10, "almost ten times fewer"
    in_order = 3 * 4 * 2**16 // 32
    assert (added - in_order) / added > 0.6, "most of what adding up moves is the look-up, as its exercise says"
    assert f"All three phases together move {jumped / (walked + ranked + added):.1f} times fewer" in prose
    assert 0.23 < ranked / (walked + ranked + added) < 0.27, "a quarter of all sectors"
    assert 2_450_000 < jumped < 2_550_000, "about 2.5 million sectors"
    assert f"ranked the 4,098 splitters in 13 launches, with {ranked:,} sectors" in prose
    again = [int(each.replace(",", "")) for each in re.findall(r"launches, +([\d,]+) sectors", shown["recursion"])]
    assert len(again) == 2 and round(ranked / sum(again)) == 4, "four times fewer"
    rounds, visited = found(r"walking: +(\d+) rounds, +([\d,]+) nodes", shown["run-walkers"]).groups()
    assert round(int(rounds) / 16) == 8 and visited == "65,536", "eight times as many rounds, a sixteenth of the work"
    lanes = float(found(r"instruction: ([\d.]+) of 32", shown["walk-lines"])[1])
    assert round(lanes) == 8
    largest = found(r"N = 2\^22: warps ([\d.]+) on average, longest of all (\d+)", shown["longest-simulated"])
    assert float(largest[1]) == pytest.approx(88, rel=0.02) and int(largest[2]) == pytest.approx(280, rel=0.05)


@pytest.mark.parametrize("part", CELLS, ids=str)
def test_no_cell_leaves_another_generator_s_state_behind(part: str) -> None:
    """Running a cell twice changes nothing that a later cell prints: who draws, draws from a seed of its own."""
    drawn = [
        "".join(cell["source"])
        for cell in CELLS[part]
        if cell["cell_type"] == "code" and re.search(r"^rng\b|\brng =", "".join(cell["source"]), re.M)
    ]
    assert not drawn


def test_a_walk_is_timed_on_marks_of_its_own_each_time() -> None:
    successor, _ = lists.random_list(500, seed=6)
    splitters = lists.random_splitters(successor, 40, seed=7)
    marks = np.full(500, -1, np.int32)
    marks[splitters] = np.arange(splitters.size)
    found_marked = []

    class Watched:
        def __getitem__(self, configuration: tuple[int, int]) -> Any:
            def launch(*arguments: Any) -> None:
                found_marked.append(np.array_equal(arguments[2].copy_to_host(), marks))
                walk[configuration](*arguments)

            return launch

    with simulate() as cuda:
        walk = cuda.jit(kernels.walk.py_func)
        assert clock.walk_milliseconds(Watched(), successor, splitters) > 0
    assert found_marked == 6 * [True], "once to compile, five times to measure"

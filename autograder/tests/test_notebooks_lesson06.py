"""Lesson 6: its exercises reply as they should; numbers in its prose follow from the measurements and from theory."""

from __future__ import annotations

import json
import linecache
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.course.lesson06 import exercises as lesson06
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
        (lesson06.rounds_needed, 13.8155, "base of 2"),
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
        (lesson06.ranks_by_hand, (1, 1, 1, 1), "points to itself"),
        (lesson06.rounds_needed, 3, "after 1, 2, 3 rounds"),
        (lesson06.add_up, (1, 1, 1, 1), "the tail has rank 0"),
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
        lesson06.add_up,
        lesson06.longest_walk,
        lesson06.double_buffers,
        lesson06.ruinous_order,
    ],
)
def test_an_empty_cell_is_an_invitation(exercise) -> None:
    assert exercise(...).outcome == exercise(None).outcome == "your turn"


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


NOTEBOOK = json.loads((NOTEBOOKS / "06_list_ranking.ipynb").read_text(encoding="utf-8"))
PROSE = " ".join(
    " ".join("".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "markdown").split()
)
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


@pytest.mark.parametrize(
    "sentence",
    [
        f"On an NVIDIA H200 it needs {MS[2**24][JUMPING]:.1f} ms for a list of {2**24:,} nodes",
        f"one CPU core needs {MS[2**24][CPU] / 1000:.1f} seconds",
        "**it does 24 times as much work**",
        f"is {MS[2**24][JUMPING] / MS[2**24][SUBLISTS]:.1f} times as fast again",
        f"takes **{MS[2**24][CPU] / MS[2**24][IN_ORDER]:.0f} times as long**",
        f"right in {('no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight')[WRONG[2**14].count(0)]} tries",
        f"it needs {np.median(ROUNDS):.3f} ms for most rounds, {ROUNDS[-1]:.3f} ms for the last",
        f"holds {H200_GPU.multiprocessors} × {H200_GPU.max_threads:,} = 270,336 threads at a time",
        f"4,098 splitters are ranked in {math.ceil(math.log2(4098 - 1))} rounds",
        "pointer jumping on a million nodes takes 20 rounds again",
        f"all levels together walk {100 * (sum(64.0**-level for level in range(5)) - 1):.1f} % more nodes than the first",
        f"the sum is {HARMONIC_32:.2f}",
        f"e⁻⁴, {100 * math.exp(-4):.1f} %",
        f"2²² nodes has {2**22 // 22:,} splitters, and 4 log₂N is {4 * 22}",
        f"Three arrays of 2²² numbers have {3 * 4 * 2**22 // 2**20} MiB",
        f"{4800 // 32} billion sectors",
        f"262,145 walks side by side each want a line of 128 bytes of three arrays, {262_145 * 3 * 128 // 2**20} MiB",
        f"took {WALKS[2**24][RANDOM]['ms']:.2f} ms above, {SPACINGS[64]['ms']:.2f} here: another random list, "
        f"whose longest walk has {SPACINGS[64]['longest']} nodes and not {WALKS[2**24][RANDOM]['longest']:,}",
        f"from {min(NEAR)} to {max(NEAR)} nodes for each splitter make little difference",
        f"the CPU needs {MS[2**26][CPU] / 1000:.1f} seconds, pointer jumping {MS[2**26][JUMPING]:.0f} ms",
        f"sublists {MS[2**26][SUBLISTS]:.0f} ms",
        f"{MS[2**26][CPU] / MS[2**26][JUMPING]:.0f} and {MS[2**26][CPU] / MS[2**26][SUBLISTS]:.0f} times as fast as the CPU",
        f"about {1e9 / 32e6:.0f} ns a node. Here it is {1e6 * MS[2**26][SUBLISTS] / 2**26:.2f} ns",
    ],
)
def test_the_lesson_says(sentence: str) -> None:
    assert sentence in PROSE


def test_the_picture_of_footprints_has_as_many_sectors_a_step_as_the_lesson_says() -> None:
    [cell] = [each for each in NOTEBOOK["cells"] if each["id"] == "footprints-picture"]
    said = "".join(cell["outputs"][0]["data"]["text/plain"])
    [sectors] = re.findall(r"random order: ([\d.]+) sectors a step", said)
    assert f"only {sectors} sectors a step for the random order" in PROSE


def test_the_praise_of_the_longest_walk_names_those_that_were_measured() -> None:
    measured = sorted([SPACINGS[64]["longest"], WALKS[2**24][RANDOM]["longest"]])
    assert "the longest had {} and {:,} nodes".format(*measured) in lesson06.longest_walk(835).words


def test_a_launch_in_place_runs_in_two_halves_each_in_step() -> None:
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
    assert min(MS, key=lambda size: MS[size][JUMPING] / size) == 2**22, "at its best with 2^22 nodes"
    assert all(MS[size][SUBLISTS] < MS[size][JUMPING] for size in (2**22, 2**24, 2**26))
    now = MICRO["latency in cycles"]["DRAM load"]
    assert 690 < now < 710 and round(1 / MICRO["clock_ghz"], 2) == 0.51 and round(1 / 1.296, 2) == 0.77
    assert 12.5 < math.log(2**22 / 22) + lesson06.EULER < 13, "nearly 13 times the average"


def test_what_limits_the_walks_is_what_the_lesson_says() -> None:
    rates = MICRO["memory"]
    memory = {
        size: [2 * size / rates[f"{how} {place}, G sectors/s"] / 1e6 for how in ("gather from", "scatter to")]
        for size, place in ((2**22, "16 MiB"), (2**24, "1 GiB"))
    }
    alone = {size: WALKS[size][RANDOM]["longest"] * H200["lone_walk_ns_a_node"][str(size)] / 1e6 for size in memory}
    assert sum(memory[2**22]) < alone[2**22] < WALKS[2**22][RANDOM]["ms"], (
        "the smaller list waits for its slowest thread"
    )
    assert alone[2**24] < 0.5 * sum(memory[2**24]), "the larger one does not"
    assert abs(sum(memory[2**24]) / WALKS[2**24][RANDOM]["ms"] - 1) < 0.05, "within a twentieth"
    assert memory[2**24][1] > 2 / 3 * sum(memory[2**24]), "more than two thirds of it are stores"
    gains = {size: kinds[RANDOM]["ms"] / kinds[EQUAL]["ms"] for size, kinds in WALKS.items()}
    assert gains[2**22] > 1.8 and gains[2**24] < 1.25, "equal walks: much for the smaller list, little for the larger"


def test_the_lesson_counts_what_the_prose_says_of_it() -> None:
    shown = {
        cell["id"]: " ".join("".join(each.get("text") or each["data"]["text/plain"]) for each in cell["outputs"])
        for cell in NOTEBOOK["cells"]
        if cell["cell_type"] == "code"
    }
    jumped, walked, ranked, added = (
        int(each.replace(",", "")) for each in re.findall(r"(?:rounds|walks|up) ([\d,]+\d)", shown["walk-counted"])
    )
    assert 9 < jumped / walked < 10, "almost ten times fewer"
    assert f"All three phases together move {jumped / (walked + ranked + added):.1f} times fewer" in PROSE
    assert 0.23 < ranked / (walked + ranked + added) < 0.27, "a quarter of all sectors"
    assert 2_450_000 < jumped < 2_550_000, "about 2.5 million sectors"
    lanes = float(found(r"instruction: ([\d.]+) of 32", shown["walk-lines"])[1])
    assert round(lanes) == 8
    largest = found(r"N = 2\^22: warps ([\d.]+) on average, longest of all (\d+)", shown["longest-simulated"])
    assert float(largest[1]) == pytest.approx(88, rel=0.02) and int(largest[2]) == pytest.approx(280, rel=0.05)

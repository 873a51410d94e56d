"""Lesson 9: its pairs do what they say, its exercises reply as they should, its numbers follow from the data."""

from __future__ import annotations

import ast
import json
import linecache
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.course.data import DATA
from autograder.course.lesson09 import counting, counts, kernels, pairs, patients, recorded, sheets
from autograder.course.lesson09 import exercises as lesson09
from autograder.course.lesson09.the_map import the_map
from autograder.course.replies import Reply
from autograder.errors import UsageError
from autograder.kernels import weigh_columns
from autograder.perfmodel import SPECIFICATIONS
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
A, B = NOTEBOOKS / "09a_the_map.ipynb", NOTEBOOKS / "09b_three_patients.ipynb"
H200 = json.loads((DATA / "map_h200.json").read_text(encoding="utf-8"))

FIGURE_6 = """
                    memory bandwidth  update contention  load balance  regularity  efficiency
scatter to gather                             X
privatization                                 X
tiling                     X                                                            X
coarsening                 X                  X                                         X
data layout                X                  X                                         X
input binning              X                                                            X
regularization                                                 X            X           X
compaction                 X                                   X            X           X
"""  # Hwu 2014, as printed


def crosses_of(row: str, head: str) -> set[str]:
    """The bottlenecks under whose names a row has a cross."""
    names = {found(name, head).span(): name for name in pairs.BOTTLENECKS}
    places = [each.start() for each in re.finditer("X", row)]
    return {name for place in places for (start, end), name in names.items() if start <= place < end}


def test_the_crosses_are_those_of_the_article() -> None:
    head, *rows = FIGURE_6.strip("\n").splitlines()
    listed = {row[:18].strip(): crosses_of(row, head) for row in rows}
    assert {each.technique: set(each.crosses) for each in pairs.PAIRS} == listed
    assert sum(len(each.crosses) for each in pairs.PAIRS) == 19


@pytest.fixture(scope="module")
def compared() -> dict[str, counting.ComparedPair]:
    """Every pair as a notebook counts it; raises where a kernel does not do its task."""
    return {
        each.technique: counting.compare(
            each.technique, (job := each.job(each.small)).without.kernel, job.with_it.kernel
        )
        for each in pairs.PAIRS
    }


NOT_SHOWN = {("coarsening", "memory bandwidth"), ("data layout", "update contention")}


@pytest.mark.parametrize("size", ["small", "timed"])
def test_all_crosses_but_two_are_gains(compared: dict[str, counting.ComparedPair], size: str) -> None:
    counted = compared if size == "small" else recorded.counted()
    for pair in pairs.PAIRS:
        gains = counted[pair.technique].gains()
        for bottleneck in pair.crosses:
            gained = gains[bottleneck] >= counting.NO_DIFFERENCE
            assert gained != ((pair.technique, bottleneck) in NOT_SHOWN), (pair.technique, bottleneck, gains)


@pytest.mark.parametrize("pair", pairs.PAIRS, ids=lambda pair: pair.technique)
def test_a_pair_breaks_no_rule_and_both_results_are_numpy_s(pair: pairs.TechniquePair) -> None:
    job = pair.job(pair.small)
    for launch in (job.without, job.with_it):
        assert not profile(launch.kernel)[launch.grid, launch.block](*launch.arguments).hazards
    assert job.is_right()
    changed = job.with_it.result.ravel()
    changed[changed.size // 2] += 1
    assert not job.is_right()


@pytest.mark.parametrize("patient", patients.PATIENTS, ids=lambda patient: patient.name)
def test_every_stage_of_a_patient_does_the_same_task(patient: patients.Patient) -> None:
    case = patient.case(2**9 if patient.name == "A" else 2**12)
    for name, launch in case.launches.items():
        assert not profile(launch.kernel)[launch.grid, launch.block](*launch.arguments).hazards, name
        assert np.allclose(launch.result, case.expected[name], rtol=1e-5), name


def test_distances_and_neighbours_are_what_they_are_by_trying_all() -> None:
    job = pairs.distances(256)
    houses, places, _ = job.without.arguments
    assert (job.expected[0] == np.abs(houses[:, None] - places[None, :]).sum(axis=0)).all()
    job = pairs.neighbours(512)
    line = job.with_it.arguments[0]
    assert (job.expected[1] == (np.abs(line[:, None] - line[None, :]) <= np.float32(1)).sum(axis=1)).all()


def test_bins_and_the_list_of_the_living_are_made_as_the_techniques_need_them() -> None:
    size = 2**14
    job = pairs.neighbours(size)
    places, (in_bins, starts, _) = job.without.arguments[0], job.with_it.arguments
    made, begins, cursors = np.zeros(starts.size - 1, np.int32), np.zeros_like(starts), np.zeros(starts.size - 1, np.int32)
    profile(kernels.count_in_bins)[size // 256, 256](places, made)
    assert not profile(kernels.begins_of_bins)[1, 1024](made, begins, cursors).hazards
    assert np.array_equal(begins, starts)
    put = np.zeros_like(places)
    profile(kernels.put_in_bins)[size // 256, 256](places, cursors, put)
    assert np.array_equal(put.astype(np.int32), in_bins.astype(np.int32)) and np.array_equal(np.sort(put), np.sort(places))
    x = pairs.population(2**12).without.result
    count, alive = np.zeros(1, np.int32), np.zeros(int((x > 0).sum()), np.float32)
    profile(kernels.keep_the_living)[16, 256](x, count, alive)
    assert count[0] == alive.size and np.array_equal(np.sort(alive), np.sort(x[x > 0]))


def test_what_is_recorded_is_what_is_counted() -> None:
    pair = counting.pair_of("tiling")
    job = pair.job(pair.large)
    fresh = counts.count({"without": job.without, "with": job.with_it}, is_whole=False)
    assert fresh == json.loads((DATA / "map_counted.json").read_text(encoding="utf-8"))["pairs"]["tiling"]


def test_what_was_timed_is_what_was_counted() -> None:
    assert {name: each["size"] for name, each in H200["pairs"].items()} == {
        each.technique: each.large for each in pairs.PAIRS
    }
    assert {name: each["size"] for name, each in H200["patients"].items()} == {
        each.name: each.large for each in patients.PATIENTS
    }
    for patient in patients.PATIENTS:
        assert set(H200["patients"][patient.name]["milliseconds"]) == set(
            json.loads((DATA / "map_counted.json").read_text(encoding="utf-8"))["patients"][patient.name]
        )


# ---- the map ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (1.0, "-"),
        (1.04, "-"),
        (1.26, "x 1.3"),
        (4.0, "x 4"),
        (27.16, "x 27.2"),
        (570.5, "x 570"),
        (1 / 1.4, "/ 1.4"),
        (float("inf"), "all of it"),
        (0.0, "new"),
    ],
)
def test_a_gain_is_told_in_three_digits_at_most(gain: float, words: str) -> None:
    assert counting.gain_in_words(gain) == words


def test_the_map_says_in_words_what_it_shows() -> None:
    empty, full = the_map(title="Empty"), the_map(recorded.counted(), recorded.measured(), title="Full")
    for pair in pairs.PAIRS:
        assert f"{pair.technique}: {', '.join(b for b in pairs.BOTTLENECKS if b in pair.crosses)}" in empty.alt
    assert empty.svg.count(">&#215;<") == 19 and "clock" not in empty.svg
    assert full.svg.count(">&#8211;<") == len(NOT_SHOWN) == full.alt.count("no gain")
    for technique, gain in recorded.measured().items():
        assert found(rf"{technique}: .*?H200's clock (x [\d,]+(?:\.\d+)?)", full.alt)[1] == counting.gain_in_words(gain)
    assert "scatter to gather: update contention (a cross) all of it" in full.alt
    assert "regularization: update contention new, load balance (a cross)" in full.alt


def test_a_reader_s_kernel_with_another_result_is_named() -> None:
    with pytest.raises(UsageError, match="weigh_columns does not do data layout's task"):
        counting.compare("data layout", weigh_columns, weigh_columns)
    with pytest.raises(UsageError, match="No technique is called 'magic'"):
        counting.compare("magic", None, None)
    with pytest.raises(UsageError, match="No patient is called 'D'"):
        sheets.examined("D", None)


# ---- exercises -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exercise", "answer", "outcome", "words"),
    [
        (lesson09.which_bottleneck, (...,) * 4, "your turn", "Put your answer"),
        (
            lesson09.which_bottleneck,
            ("update contention", "memory bandwidth", "load balance", "efficiency"),
            "right",
            "W is the histogram",
        ),
        (lesson09.which_bottleneck, ["Update", " memory ", "LOAD", "efficiency"], "right", "Z, whose other"),
        (lesson09.which_bottleneck, ("update contention",), "not yet", "four names"),
        (lesson09.which_bottleneck, ("bandwidth", "memory", "load", "efficiency"), "not yet", "none of: memory"),
        (lesson09.which_bottleneck, (1, "memory", "load", "efficiency"), "not yet", "1 is none of"),
        (lesson09.which_bottleneck, ("memory", "memory", "load", "efficiency"), "not yet", "W: Loads, warps"),
        (lesson09.which_bottleneck, ("update", "efficiency", "load", "efficiency"), "not yet", "X: Which line"),
        (lesson09.which_bottleneck, ("update", "memory", "memory", "efficiency"), "not yet", "Y: Its loads"),
        (lesson09.which_bottleneck, ("update", "memory", "regularity", "efficiency"), "not yet", "one line up"),
        (lesson09.which_bottleneck, ("update", "memory", "load", "memory"), "not yet", "Z: The first four"),
        (lesson09.diagnosis_a, (..., ...), "your turn", "Put your answer"),
        (lesson09.diagnosis_a, ("update contention", "coarsening"), "right", "the blocks are too many"),
        (lesson09.diagnosis_a, ("memory bandwidth", "data layout"), "not yet", "read the last line"),
        (lesson09.diagnosis_a, ("update contention", "privatization"), "not yet", "bins already"),
        (lesson09.diagnosis_a, ("update contention", "tiling"), "not yet", "fewer blocks"),
        (lesson09.diagnosis_a, ("coarsening", "update contention"), "not yet", "'coarsening' is no bottleneck"),
        (lesson09.diagnosis_a, ("update contention", "blocks"), "not yet", "'blocks' is no technique"),
        (lesson09.diagnosis_a, "contention", "not yet", "two names"),
        (lesson09.diagnosis_b, ("load balance", "regularization"), "right", "share it out"),
        (lesson09.diagnosis_b, ("memory bandwidth", "data layout"), "not yet", "not for bandwidth"),
        (lesson09.diagnosis_b, ("regularity", "regularization"), "not yet", "The line above"),
        (lesson09.diagnosis_b, ("load balance", "compaction"), "not yet", "far too much"),
        (lesson09.diagnosis_b, ("load balance", "tiling"), "not yet", "busiest thread"),
        (lesson09.diagnosis_c, ("efficiency", "input binning"), "right", "does too much"),
        (lesson09.diagnosis_c, ("regularity", "compaction"), "not yet", "1.9 times as fast"),
        (lesson09.diagnosis_c, ("efficiency", "tiling"), "not yet", "Must there be so many"),
        (lesson09.diagnosis_c, ("efficiency", "privatization"), "not yet", "rules out inputs"),
        (lesson09.distances, "gathered", "not yet", "takes a kernel"),
        (lesson09.near_in_bins, ..., "your turn", "Write the kernel"),
        (lesson09.mended_a, 5, "not yet", "takes a kernel"),
        (lesson09.mended_b, None, "your turn", "Write the kernel"),
        (lesson09.mended_c, len, "not yet", "takes a kernel"),
    ],
)
def test_an_answer_gets_words_that_help(exercise: Any, answer: Any, outcome: str, words: str) -> None:
    reply = exercise(answer)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply


@pytest.mark.parametrize(
    ("diagnosis", "expected"),
    [
        (lesson09.diagnosis_a, ("update contention", "coarsening")),
        (lesson09.diagnosis_b, ("load balance", "regularization")),
        (lesson09.diagnosis_c, ("efficiency", "input binning")),
    ],
)
def test_every_other_diagnosis_gets_words(diagnosis: Callable[[Any], Reply], expected: tuple[str, str]) -> None:
    for bottleneck in pairs.BOTTLENECKS:
        for technique in lesson09.TECHNIQUES:
            reply = diagnosis((bottleneck, technique))
            assert (reply.outcome == "right") == ((bottleneck, technique) == expected)
            assert len(reply.words) > 20


def test_replies_to_diagnoses_quote_their_sheets() -> None:
    given = {"A": kernels.grey_levels, "B": kernels.received, "C": kernels.classes}
    a, b, c = (sheets.examined(*each) for each in given.items())
    columns = zip(a.sheet.figures, b.sheet.figures, c.sheet.figures, strict=True)
    figures = dict(zip(pairs.BOTTLENECKS, columns, strict=True))
    assert round(figures["efficiency"][0]) == 87 and figures["memory bandwidth"][0] == 32
    assert max(a.needs_us, key=a.needs_us.__getitem__) == "atomics"
    issue = f"takes {b.needs_us['issue']:.0f} of {b.together_us:.0f} us"
    assert issue in lesson09.diagnosis_b(("efficiency", "tiling")).words
    assert issue in lesson09.diagnosis_b(("regularity", "compaction")).words
    l1 = f"L1 needs {b.needs_us['L1']:.0f} of {b.together_us:.0f} us"
    assert l1 in lesson09.diagnosis_b(("memory bandwidth", "data layout")).words and len(b.needs_us) == 4
    assert not {"L2", "DRAM"} & set(b.needs_us), "which it does not even name"
    assert {"L1", "L2"} <= set(a.needs_us), "which the reply to memory bandwidth asks for"
    assert "243,393 links" in str(b).splitlines()[0], "a sheet says of how much it is"
    assert max(b.needs_us, key=b.needs_us.__getitem__) == "latency"
    lanes = figures["regularity"][2]
    assert f"{lanes:.1f} of 32 lanes" in lesson09.diagnosis_c(("regularity", "tiling")).words
    assert f"{32 / lanes:.1f} times as fast" in lesson09.diagnosis_c(("regularity", "tiling")).words
    assert round(figures["efficiency"][2], -3) == 9000
    assert f"{figures['memory bandwidth'][2]:.1f} sectors" in lesson09.diagnosis_c(("memory bandwidth", "tiling")).words
    assert max(c.needs_us, key=c.needs_us.__getitem__) == "issue"
    y = sheets.unnamed().sheets["Y"].figures
    answer = ("update contention", "memory bandwidth", "regularity", "efficiency")
    assert f"{y[3]:.1f} of 32 lanes" in lesson09.which_bottleneck(answer).words


def test_the_unnamed_kernels_have_the_bottlenecks_that_are_asked_for() -> None:
    table = sheets.unnamed().sheets
    sectors, additions, slowest, lanes, steps = zip(*(table[letter].figures for letter in "WXYZ"), strict=True)
    assert additions == (1, 0, 0, 0)
    assert sectors[1] == 16 and sectors[0] == 4
    assert slowest[2] > 2 and max(slowest[0], slowest[1], slowest[3]) < counting.ALIKE
    assert lanes[2] < 5 and min(lanes[0], lanes[1], lanes[3]) > 30
    assert steps[3] > 200 * max(steps[:3])


def answers(path: Path) -> Iterator[tuple[str, str]]:
    """The id of each hidden answer with its program."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if programs := re.findall(r"```python\n(.*?)```", "".join(cell["source"]), re.S):
            yield cell["id"], programs[0]


PROGRAMS = dict([*answers(A), *answers(B)])
GATHERED, IN_BINS = PROGRAMS["solution-gathered"], PROGRAMS["solution-bins"]
MENDED_A, MENDED_B, MENDED_C = (PROGRAMS[f"solution-mended-{each}"] for each in "abc")
STARTED_A, STARTED_B, ASKS_ALL = (
    next(
        "".join(each["source"]).split("\n\n\nlesson09.")[0]
        for each in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if each["id"] == cell
    )
    for path, cell in ((B, "answer-mended-a"), (B, "answer-mended-b"), (A, "answer-bins"))
)
SCATTERED = """@cuda.jit
def scattered(houses, places, far):
    for i in range(cuda.grid(1), houses.size, cuda.gridsize(1)):
        for k in range(places.size):
            cuda.atomic.add(far, k, abs(houses[i] - places[k]))
"""
ALONE = """@cuda.jit
def alone(houses, places, far):
    if cuda.grid(1) == 0:
        for own in range(places.size):
            total = np.float32(0)
            for house in houses:
                total += abs(house - places[own])
            far[own] = total
"""
EXTREMES = "k, end = starts[max(own - 1, 0)], starts[min(own + 2, starts.size - 1)]"
LINEAR = """@cuda.jit
def classes(edges, x, found):
    i = cuda.grid(1)
    if i < x.size:
        k = 0
        while k < edges.size and edges[k] <= x[i]:
            k += 1
        found[i] = k
"""


def changed(program: str, *pairs_of: tuple[str, str]) -> str:
    """A program with one thing or several replaced, each of which is there."""
    for old, new in pairs_of:
        assert old in program, old
        program = program.replace(old, new)
    return program


@pytest.mark.parametrize(
    ("program", "outcome", "words"),
    [
        (GATHERED, "right", "no atomic is left"),
        (SCATTERED, "not yet", "atomics made it"),
        (ALONE, "not yet", "1 of the threads wrote it alone"),
        (changed(GATHERED, ("abs(houses[i] - place)", "houses[i] - place")), "not yet", "has no sign"),
        (changed(GATHERED, ("abs(houses[i] - place)", "place - houses[i]")), "not yet", "has no sign"),
        (changed(GATHERED, ("total += ", "total = ")), "not yet", "Only the last house"),
        (changed(GATHERED, ("while i <", "while i < 1 and i <")), "not yet", "Only the first house"),
        (changed(GATHERED, ("while i <", "while i < 50 and i <")), "not yet", "far[0] should be"),
        (changed(GATHERED, ("if own < places.size:", "if True:")), "not yet", "outside its shape"),
        (changed(GATHERED, ("i += 1", "i += 0")), "not yet", "its 50,000,000 units of work (an endless loop"),
        (changed(GATHERED, ("total += ", "far[own] += "), ("        far[own] = total\n", "")), "not yet", "store it once"),
        ("@cuda.jit\ndef none(houses, places, far):\n    pass\n", "your turn", "Nothing was written"),
        ("@cuda.jit\ndef two(houses, far):\n    pass\n", "not yet", "takes houses, places and far"),
    ],
)
def test_a_gather_is_judged_by_what_it_wrote_and_how(program: str, outcome: str, words: str) -> None:
    judge(lesson09.distances, program, outcome, words)


BIN_BY_BIN = """@cuda.jit
def near_bin_by_bin(places, starts, near):
    i, found = cuda.grid(1), 0
    if i < places.size:
        mine = places[i]
        own = int(mine)
        for b in range(max(own - 1, 0), min(own + 2, starts.size - 1)):
            for k in range(starts[b], starts[b + 1]):
                if abs(places[k] - mine) <= np.float32(1):
                    found += 1
        near[i] = found
"""


@pytest.mark.parametrize(
    ("program", "outcome", "words"),
    [
        (IN_BINS, "right", "in place of 2,048"),
        (ASKS_ALL, "your turn", "still loads"),
        (changed(IN_BINS, (EXTREMES, "k, end = starts[own], starts[own + 1]")), "not yet", "Only its own bin was"),
        (changed(IN_BINS, ("min(own + 2, ", "min(own + 1, ")), "not yet", "own bin and the one before"),
        (changed(IN_BINS, ("max(own - 1, 0)", "own")), "not yet", "own bin and the one behind"),
        (changed(IN_BINS, ("abs(places[k] - mine) <= np.float32(1)", "True")), "not yet", "All places of three bins"),
        (changed(IN_BINS, ("max(own - 1, 0)", "own - 1")), "not yet", "`starts["),
        (changed(IN_BINS, ("min(own + 2, starts.size - 1)", "own + 2")), "not yet", "`starts["),
        (changed(IN_BINS, ("own + 2", "own + 30"), ("own - 1", "own - 30")), "not yet", "Three bins hold about"),
        (changed(IN_BINS, ("found += 1", "found += 2")), "not yet", "near[0] should be"),
        (changed(IN_BINS, ("<= np.float32(1)", "< np.float32(1)")), "not yet", "exactly 1 away count as well"),
        (changed(IN_BINS, ("if abs(", "if k != i and abs(")), "not yet", "0 away from itself, and counts as well"),
        (BIN_BY_BIN, "right", "Each thread loads 56 numbers on average"),
        (BIN_BY_BIN.replace("own - 1, 0", "own - 2, 0").replace("own + 2,", "own + 3,"), "not yet", "Three bins hold about"),
    ],
)
def test_binning_is_judged_by_whom_it_asked(program: str, outcome: str, words: str) -> None:
    judge(lesson09.near_in_bins, program, outcome, words)


IN_GLOBAL = changed(
    MENDED_A,
    ("    own = cuda.shared.array(256, np.int32)\n", ""),
    ("    own[t] = 0\n    cuda.syncthreads()\n", ""),
    ("add(own, ", "add(bins, "),
    ("    cuda.syncthreads()\n    cuda.atomic.add(bins, t, own[t])\n", ""),
)
ALL_ROWS = changed(MENDED_A, ("row = cuda.blockIdx.x", "row = 0"), ("row += cuda.gridDim.x", "row += 1"))
DOWN_COLUMNS = changed(
    MENDED_A,
    ("row = cuda.blockIdx.x", "column = cuda.blockIdx.x"),
    ("while row < image.shape[0]", "while column < image.shape[1]"),
    ("        column = t\n        while column < image.shape[1]", "        row = t\n        while row < image.shape[0]"),
    ("            column += 256\n        row += cuda", "            row += 256\n        column += cuda"),
)


@pytest.mark.parametrize(
    ("program", "outcome", "words"),
    [
        (MENDED_A, "right", "2,048 additions"),
        (STARTED_A, "your turn", "That is one for each thread"),
        (IN_GLOBAL, "not yet", "8 blocks need 2,048"),
        (DOWN_COLUMNS, "not yet", "Now the loads show"),
        (ALL_ROWS, "not yet", "share the rows"),
        (changed(MENDED_A, ("column += 256", "column += 512")), "not yet", "does nobody visit"),
        (changed(MENDED_A, ("own, image[", "own, 255 - image[")), "not yet", "own bin"),
        (changed(MENDED_A, ("    own[t] = 0\n", "")), "not yet", "before anything was written"),
        (changed(MENDED_A, ("column < image.shape[1]", "column <= image.shape[1]")), "not yet", "outside its shape"),
    ],
)
def test_patient_a_is_mended_when_few_merge_and_neighbours_read_neighbours(program: str, outcome: str, words: str) -> None:
    judge(lesson09.mended_a, program, outcome, words)


ATOMIC = "        cuda.atomic.add(sums, node, total)"
BY_ATOMICS = changed(
    MENDED_B,
    ("        step = 16\n        while step > 0:\n            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)\n", ""),
    ("            step //= 2\n        if cuda.laneid == 0:\n            sums[node] = total", ATOMIC),
)
IN_STRETCHES = changed(
    BY_ATOMICS,
    ("k, end = starts[node] + cuda.laneid, starts[node + 1]", "each = (starts[node + 1] - starts[node] + 31) // 32\n"
     "        k = starts[node] + each * cuda.laneid\n        end = min(k + each, starts[node + 1])"),
    ("k += 32", "k += 1"),
)


@pytest.mark.parametrize(
    ("program", "outcome", "words"),
    [
        (MENDED_B, "right", "not 4,000"),
        (BY_ATOMICS, "right", "not 4,000"),
        (IN_STRETCHES, "right", "not 4,000"),
        (STARTED_B, "your turn", "One lane still does all"),
        (changed(BY_ATOMICS, (" + cuda.laneid", ""), ("k += 32", "k += 1")), "not yet", "32 times what it should be"),
        (changed(BY_ATOMICS, (ATOMIC, "        if cuda.laneid == 0:\n            sums[node] = total")),
         "not yet", "Only lane 0's share"),
        (changed(BY_ATOMICS, (ATOMIC, "        sums[node] += total")), "not yet", "Race on `sums["),
        (changed(BY_ATOMICS, ("weights[links[k]]", "1")), "not yet", "numbers of links"),
        (changed(BY_ATOMICS, ("total += weights[links[k]]", "cuda.atomic.add(sums, node, weights[links[k]])"), (ATOMIC, "")),
         "not yet", "contention of patient A"),
        (changed(BY_ATOMICS, ("k += 32", "k += 33")), "not yet", "sums differ"),
        (changed(BY_ATOMICS, ("if node < sums.size", "if True")), "not yet", "outside its shape"),
    ],
)
def test_patient_b_is_mended_when_no_lane_has_a_long_row_alone(program: str, outcome: str, words: str) -> None:
    judge(lesson09.mended_b, program, outcome, words)


TEN_QUESTIONS = "asked = 0\n        while low < high and asked < 10:\n            asked += 1"


@pytest.mark.parametrize(
    ("program", "outcome", "words"),
    [
        (MENDED_C, "right", "in place of about 2,000"),
        (changed(MENDED_C, ("while low < high:", TEN_QUESTIONS)), "not yet", "found["),
        (LINEAR, "not yet", "the edge in the middle first"),
        (changed(MENDED_C, ("<= mine", "< mine")), "not yet", "at most, not below"),
        (changed(MENDED_C, ("found[i] = low", "found[i] = low - 1")), "not yet", "one too small"),
        (changed(MENDED_C, ("found[i] = low", "found[i] = low + 1")), "not yet", "one too large"),
        (changed(MENDED_C, ("0, edges.size", "0, edges.size - 1")), "not yet", "x at or above all edges"),
        (changed(MENDED_C, ("low = middle + 1", "low = middle")), "not yet", "loop"),
        (changed(MENDED_C, ("if i < x.size", "if True")), "not yet", "outside its shape"),
        ("@cuda.jit\ndef none(edges, x, found):\n    pass\n", "your turn", "Nothing was written"),
    ],
)
def test_patient_c_is_mended_when_it_asks_few_edges(program: str, outcome: str, words: str) -> None:
    judge(lesson09.mended_c, program, outcome, words)


def judge(exercise: Callable[[Any], Reply], program: str, outcome: str, words: str) -> None:
    reply = replied(exercise, program)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply


def replied(exercise: Callable[[Any], Reply], program: str) -> Reply:
    """What an exercise says to a kernel given as text, which stays readable as it is in a notebook."""
    file = f"answer {hash(program)}"
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(program, file, "exec"), scope)
        return exercise(scope[found(r"def (\w+)", program)[1]])


# ---- notebooks -------------------------------------------------------------------------------------------------------


def functions(program: str) -> dict[str, str]:
    """Each function of a program by its name, without decorators and docstrings."""
    listed = {}
    for each in ast.parse(program).body:
        if isinstance(each, ast.FunctionDef):
            body = each.body[1:] if ast.get_docstring(each) else each.body
            listed[each.name] = "\n".join([ast.unparse(each.args), *map(ast.unparse, body)])
    return listed


@pytest.mark.parametrize("path", [A, B], ids=lambda path: path.stem)
def test_the_kernels_that_are_shown_are_those_that_were_measured(path: Path) -> None:
    shared = Path(str(kernels.__file__)).parents[2] / "kernels.py"
    measured = [functions(Path(each).read_text(encoding="utf-8")) for each in (str(kernels.__file__), shared)]
    shown = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "@cuda.jit" in source and not re.search(r"^lesson09\.", source, re.M):
            for name, text in functions(source).items():
                assert any(text in each.values() for each in measured), name
                shown += 1
    assert shown >= 3


def prose(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return " ".join(text.split())


def ms(patient: str) -> dict[str, float]:
    return recorded.patients_ms()[patient]


GAINED, PREDICTED, COUNTED = recorded.measured(), recorded.predicted(), recorded.counted()
LEAST = min(GAINED, key=GAINED.__getitem__)
BEFOREHAND = recorded.beforehand_ms()
SAVED = {name: recorded.pair_ms(name)[0] - recorded.pair_ms(name)[1] for name in BEFOREHAND}
APART = {name: max(PREDICTED[name] / GAINED[name], GAINED[name] / PREDICTED[name]) for name in GAINED}
NEAR = [name for name, apart in APART.items() if apart < 1.5]
OFF = sorted(apart for name, apart in APART.items() if name not in NEAR)
HISTOGRAM = json.loads((DATA / "histogram_h200.json").read_text(encoding="utf-8"))["milliseconds"]
PLACES_OF_BINS = H200["patients"]["A"]["least_and_most"]
GPU = SPECIFICATIONS["H200"]
PIXELS_BYTES = 4 * 2**26


def places_of(technique: str) -> list[float]:
    """The least and the most that the kernel without its technique took, by where its result lay."""
    found: list[float] = H200["pairs"][technique]["without_least_and_most"]
    return found


def times(gain: float) -> str:
    """As a map tells it, without its sign."""
    return counting.gain_in_words(gain).removeprefix("x ")


def cured(patient: str, stage: str) -> float:
    """How many times as fast as it came."""
    return ms(patient)["as it came"] / ms(patient)[stage]


@pytest.mark.parametrize(
    "sentence",
    [
        f"**Input binning gains most, {times(GAINED['input binning'])} times, and tiling and {LEAST} least, "
        f"{times(GAINED[LEAST])} times.**",
        "Privatization leaves a "
        f"{COUNTED['privatization'].gains()['update contention']:,.0f}th of the passes, and the clock gains "
        f"{times(GAINED['privatization'])} times; tiling leaves an eighth of the sectors, and gains "
        f"{times(GAINED['tiling'])} "
        "times",
        "**Seventeen of nineteen crosses are there.**",
        f"Binning pays at once: {BEFOREHAND['input binning']:.2f} ms against {SAVED['input binning']:.1f} that it saves",
        f"It saves {SAVED['compaction']:.3f} ms at each use and costs {BEFOREHAND['compaction']:.2f}",
        f"off by {OFF[0]:.1f} to {OFF[-1]:.1f} for the others",
        f"has {HISTOGRAM['global atomics, few threads']['uniform']:.1f} and "
        f"{HISTOGRAM['privatized, one item a thread']['uniform']:.1f} ms with these kernels",
        "In 33 places the common bins took {:.2f} to {:.2f} ms".format(*places_of("privatization")),
        "in 33 places of the memory they took {:.2f} to {:.2f} ms".format(*places_of("coarsening")),
        "4,096 places, 16 of them in each bin",
        f"launched with {pairs.FEW_BLOCKS:,} blocks in place of {2**26 // 256:,}",
        f"into pieces of {pairs.PIECE} elements at most",
        f"the living take {pairs.STEPS} steps",
    ],
)
def test_9a_says(sentence: str) -> None:
    assert sentence in prose(A)


def test_9a_s_words_for_numbers_hold() -> None:
    assert max(GAINED, key=GAINED.__getitem__) == "input binning"
    assert GAINED["coarsening"] > 3 * GAINED["tiling"], "the surprise"
    assert round(COUNTED["tiling"].gains()["memory bandwidth"]) == 8
    uses = -(-BEFOREHAND["compaction"] // SAVED["compaction"])
    assert f"it pays from the {['', 'first', 'second', 'third', 'fourth'][int(uses)]} use on" in prose(A)
    assert 1.9e6 < recorded_alive() < 2.2e6, "two million living"
    assert NEAR == ["data layout", "input binning", "compaction"]
    assert set(APART) - set(NEAR) - {"tiling"} == {"scatter to gather", "privatization", "coarsening", "regularization"}
    slow = [places_of("privatization")[1], places_of("coarsening")[1]]
    told = [HISTOGRAM[name]["uniform"] for name in ("global atomics, few threads", "privatized, one item a thread")]
    assert slow == pytest.approx(told, rel=0.01), "its bins lay in a slow place"
    shown = len([each for each in pairs.PAIRS for b in each.crosses if COUNTED[each.technique].gains()[b] > 1.05])
    assert shown == 17


def recorded_alive() -> float:
    """How many are alive in the population that was timed: an eighth, and as many sectors of eight are read and written."""
    return COUNTED["compaction"].with_it.sectors / 2 * 8


@pytest.mark.parametrize(
    "sentence",
    [
        f"{ms('A')['as it came']:.2f} ms before, {ms('A')['suspect cured']:.2f} after, {cured('A', 'suspect cured'):.2f} "
        f"times as "
        "fast",
        "took {:.2f} to {:.2f} ms as it came, and {:.2f} to {:.2f} with its loads mended".format(
            *PLACES_OF_BINS["as it came"], *PLACES_OF_BINS["suspect cured"]
        ),
        f"{times(cured('B', 'suspect cured'))} times. That is worth having",
        f"{ms('B')['suspect cured']:.2f} ms are {ms('B')['suspect cured'] * 1e6 / 2**14:.0f} ns a round",
        f"With atomics {times(cured('B', 'shared, atomics'))} times as fast as it came, with shuffles "
        f"{times(cured('B', 'mended'))} times",
        f"{times(cured('C', 'suspect cured'))} times with all lanes at work, near the bound of 1.9. And "
        f"{times(cured('C', 'mended'))} times with 11 questions",
        f"The suspect's cure gained {cured('A', 'suspect cured'):.2f}, {times(cured('B', 'suspect cured'))} and "
        f"{times(cured('C', 'suspect cured'))} times alone. All that was mended gained {times(cured('A', 'mended'))}, "
        f"{times(cured('B', 'mended'))} and {times(cured('C', 'mended'))} times",
        f"In {ms('A')['mended']:.3f} ms it reads 2²⁶ pixels of 4 bytes: {PIXELS_BYTES / ms('A')['mended'] / 1e6:,.0f} GB/s, "
        f"{100 * PIXELS_BYTES / ms('A')['mended'] / 1e6 / GPU.dram_gb_per_s:.0f} % of what this memory delivers",
        f"Of the first {ms('A')['as it came']:.2f} ms, reading would have taken "
        f"{PIXELS_BYTES / GPU.dram_gb_per_s / 1e6:.3f}",
    ],
)
def test_9b_says(sentence: str) -> None:
    assert sentence in prose(B)


def test_9b_s_words_for_numbers_hold() -> None:
    starts = pairs.table_of_rows(2**18)[0]
    lengths = np.diff(starts)
    assert lengths.max() == 2**14 and round(lengths.mean()) == 17
    reading_ms = 8 * starts[-1] / GPU.dram_gb_per_s / 1e6  # links and weights
    assert 80 < ms("B")["suspect cured"] / reading_ms < 120, "a hundredth of that"
    assert cured("A", "suspect cured") < 1.1, "nothing to speak of"
    needs = recorded.needs_us("A", "mended")
    assert list(needs)[:3] == ["DRAM", "L2", "issue"] and needs["issue"] > 0.75 * needs["DRAM"]
    a = sheets.examined("A", kernels.grey_levels)
    binds = f"what binds needs {a.needs_us['atomics']:.0f} of {a.together_us:.0f} us"
    others = f"through which sectors go, {a.needs_us['L2']:.0f} and {a.needs_us['L1']:.0f}"
    assert f"{binds}, and L2 and L1, {others}" in prose(B)

"""Lesson 7: its exercises reply as they should, and the numbers in its prose follow from the committed measurements."""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import simulate
from autograder.course.lesson07 import exercises as lesson07
from autograder.perfmodel import SPECIFICATIONS, roofline
from autograder.perfmodel.hipc2009 import from_counters, local_ranking
from autograder.perfmodel.measurements import unseen, verdicts
from autograder.perfmodel.measurements.predicting import HERE, by_case
from autograder.perfmodel.prediction import OVERLAP

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "07_predicting_performance.ipynb"
CASES = by_case()
MICRO = json.loads((HERE / "microbenchmarks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson07.on_chip_bytes, 235.2),
        (lesson07.on_chip_bytes, 229.7),
        (lesson07.list_ranking_ms, 21),
        (lesson07.list_ranking_ms, 20.2),
        (lesson07.most_apart, 2),
        (lesson07.at_one_address, 49),
    ],
)
def test_the_right_answer_is_praised(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson07.on_chip_bytes, 62, "one multiprocessor"),
        (lesson07.on_chip_bytes, 184, "L2 is on the chip"),
        (lesson07.list_ranking_ms, 27.5, "millions of cycles"),
        (lesson07.list_ranking_ms, 5.3, "4 log2 N"),
        (lesson07.list_ranking_ms, 662, "denominator"),
        (lesson07.most_apart, 0.5, "other way round"),
        (lesson07.most_apart, 3, "too large"),
        (lesson07.most_apart, float("inf"), "Let MAX be 1"),
        (lesson07.list_ranking_ms, 0.021, "seconds"),
        (lesson07.list_ranking_ms, 7.06, "three accesses"),
        (lesson07.list_ranking_ms, 1, "N_B is"),
        (lesson07.on_chip_bytes, 0.235, "kilobytes"),
        (lesson07.on_chip_bytes, 100, "L2 once"),
        (lesson07.at_one_address, 7, "one after the other"),
        (lesson07.twice_as_fast, "product", "takes a kernel"),
        (lesson07.at_one_address, 92, "divide by it"),
        (lesson07.at_one_address, ..., "your answer"),
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == ("your turn" if answer is ... else "not yet")
    assert words in reply.words


NAIVE = """
def product(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total
"""
LOOP = "        for k in range(a.shape[1]):\n            total += a[row, k] * b[k, column]\n"
WHILE = "        k = 0\n        while k < {end}:\n            total += a[row, k] * b[k, column]\n            k += 1\n"


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (NAIVE, "your turn", "issue binds"),
        (NAIVE.replace(LOOP, WHILE.format(end="a.shape[1]")), "right", "x "),
        (NAIVE.replace(LOOP, WHILE.format(end="a.shape[1] - 1")), "not yet", "comes out wrong"),
        (NAIVE.replace(LOOP, WHILE.format(end="a.shape[1] + 1")), "not yet", "outside its shape"),
        (NAIVE.replace("a.shape[1])", "min(a.shape[1], 64))"), "not yet", "5 x 1030 by 1030 x 3 product comes out wrong"),
        (NAIVE.replace("np.float32(0)", "np.float64(0)"), "your turn", "predicted for N = 1,024"),
    ],
    ids=["as given", "while", "one short", "one too many", "short rows only", "float64"],
)
def test_the_last_exercise_judges_a_product_by_its_prediction(source: str, outcome: str, words: str) -> None:
    reply = lesson07.twice_as_fast(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def kernel_of(source: str) -> Any:
    file = f"product {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope["product"])


def slower(one: str, other: str, size: int) -> tuple[float, float, float]:
    """How many times slower `one` is: by the old model, by today's, by the clock."""
    first, second = CASES[one, size], CASES[other, size]
    old = [from_counters(each.source).milliseconds(hidden=True) for each in (first, second)]
    return old[0] / old[1], first.estimate.ns / second.estimate.ns, first.measured_ns / second.measured_ns


NAIVE_CASE, TILES = "matmul, x along columns, 16x16", "matmul, tiles of 16"
ROWS, COLUMNS = "matmul, x along rows, 32x32", "matmul, x along columns, 32x32"
WHILE_CASE = "matmul, x along columns, while, 16x16"
RANDOM, EQUAL = "list ranking, random sublists", "list ranking, equal sublists"
UNIFORM, ONE, PRIVATE = (
    f"histogram, {kind}" for kind in ("global, uniform", "global, one value", "privatized, uniform")
)
PRIVATE_ONE = "histogram, privatized, one value"
A100 = roofline(SPECIFICATIONS["A100"]).ridge_flop_per_byte
ROWS_LOADS = CASES[ROWS, 1024].counters
K40 = roofline(SPECIFICATIONS["K40"]).ridge_flop_per_byte
ROOF_MS = CASES[NAIVE_CASE, 1024].roofline_ns / 1e6
COUNTED_NAIVE = from_counters(CASES[NAIVE_CASE, 1024].source)
OLD_LIST = from_counters(CASES[RANDOM, 2**22].source).milliseconds(hidden=True)
TIMES = [CASES[name, 1024].measured_ns for name in (NAIVE_CASE, WHILE_CASE, ROWS, TILES)]
LISTS = [(name, size) for name in (RANDOM, EQUAL) for size in (2**16, 2**20, 2**22)]
LIST_ERRORS = [-100 * CASES[each].error for each in LISTS]
LISTS_TOO_FAST = [each for each in LIST_ERRORS if abs(each) > 10]
IN_A_ROUND = [CASES[name, 1024].counters.issued_warp_instructions / (1024**3 / 32) for name in (NAIVE_CASE, WHILE_CASE)]
TILES_NEED = CASES[TILES, 1024].estimate.breakdown
TILES_TWO = [TILES_NEED[part] for part in ("issue", "shared memory")]
TILES_BY_MAX = CASES[TILES, 1024].measured_ns / max(TILES_TWO)
LARGE_WHILE = CASES["matmul, x along columns, while, 32x32", 1024]
WHILE_NEEDS = LARGE_WHILE.estimate.breakdown
WHILE_US = {part: ns / 1e3 for part, ns in WHILE_NEEDS.items()}
UNSEEN = [[abs(each.error) for each in unseen.predictions() if each.half == half] for half in unseen.HALVES]
MEDIANS, NINETIETHS = ([100 * float(np.percentile(half, rank)) for half in UNSEEN] for rank in (50, 90))
THREADS = 132 * 2048 / (30 * 1024)
WARPS = [gpu.multiprocessors * gpu.max_threads for gpu in (SPECIFICATIONS["H200"], SPECIFICATIONS["T4"])]
ROWS_SLOWER = slower(ROWS, COLUMNS, 1024)[2]
BANDWIDTHS = SPECIFICATIONS["H200"].dram_gb_per_s / SPECIFICATIONS["T4"].dram_gb_per_s


def prose() -> str:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return " ".join("\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown").split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{A100:.1f} on an A100**",
        f"must be used in {4 * A100:.0f} operations",
        f"or **{150 / 16 - 0.075:.1f} %** of the peak ({100 * 600 / 4 / 1600}, to be exact)",
        f"It is {lesson07.KEPLER_BYTES_A_THREAD:.0f} bytes",
        f"sums over all loads: {ROWS_LOADS.global_load_sectors / ROWS_LOADS.global_load_requests} sectors a request",
        f"(500 + 20) / (20 + 20) = {(500 + 20) / (20 + 20):.0f}. Still far from {ROWS_SLOWER:.1f}",
        f"The K40 of that time has {K40:.1f} in the table, which counts a multiply-add as two operations, or {K40 / 2:.1f}",
        f"the pencil says {ROOF_MS:.2f} ms, and the clock says {min(TIMES) / 1e6:.2f} ms or {max(TIMES) / 1e6:.2f}",
        f"has {COUNTED_NAIVE.compute_cycles:,.0f} and {COUNTED_NAIVE.memory_cycles:,.0f} cycles, where the pencil said "
        f"{1024 * (4 + 4):,} and {1024 * (20 + 20):,}",
        f"256 + 64 + 48 + 1,536 = {256 + 64 + 48 + 1536:,} kB",
        f"{2**22 / 22 / 512 / 30:.1f} blocks each, and since no block can be cut, 13",
        f"25 is 500 / 20: every access uncoalesced instead of coalesced. On the H200 it is {ROWS_SLOWER:.1f}",
        f"= {sum(1 / at for at in range(1, 33)):.2f} times",
        f"the H200 is {OLD_LIST * 1e6 / CASES[RANDOM, 2**22].measured_ns // 10 * 10:.0f} times as fast",
        f"are {min(LISTS_TOO_FAST):.0f} to {max(LISTS_TOO_FAST):.0f} % too fast",
        f"and the model says {slower(RANDOM, EQUAL, 2**20)[1]:.2f}",
        f"a factor of {slower(RANDOM, EQUAL, 2**20)[2]:.2f} between random and equal sublists at 2²⁰",
        f"where the clock sees a factor of {slower(RANDOM, EQUAL, 2**22)[2]:.2f}.",
        f"Items of one value take {CASES[ONE, 2**24].measured_ns / 1e6:.0f} ms",
        f"and uniform ones {CASES[UNIFORM, 2**24].measured_ns / 1e6:.0f} ms",
        f"a factor of {slower(UNIFORM, PRIVATE, 2**24)[0]:.0f} in the old model",
        f"it gains {slower(UNIFORM, PRIVATE, 2**24)[2]:.0f} with uniform items",
        f"**{slower(ONE, PRIVATE_ONE, 2**24)[2]:.0f} with items of one value**",
        f"within 2 % at both ends, and {-100 * CASES['histogram, global, zipf', 2**24].error:.0f} % too fast in between",
        f"carries out {MICRO['atomics']['global, 1 places, lanes/ns']:.2f} atomic additions a nanosecond",
        f"caches (25 against {ROWS_SLOWER:.1f})",
        f"instructions (1.0 against {slower(NAIVE_CASE, WHILE_CASE, 1024)[2]:.1f})",
        f"({slower(NAIVE_CASE, TILES, 1024)[0]:.1f} against {slower(NAIVE_CASE, TILES, 1024)[2]:.1f}: tiles",
        f"({slower(RANDOM, EQUAL, 2**20)[0]:.1f} against {slower(RANDOM, EQUAL, 2**20)[2]:.2f})",
        f"atomics (1.0 against {slower(ONE, UNIFORM, 2**20)[2]:.1f})",
        f"({slower(UNIFORM, PRIVATE, 2**24)[0]:.0f} against {slower(UNIFORM, PRIVATE, 2**24)[2]:.0f})",
        f"the H200 132, and {BANDWIDTHS:.0f} times the memory bandwidth",
        f"predicted to take {CASES[NAIVE_CASE, 1024].estimate.ns / 1e6:.2f} ms for N = 1,024",
        f"comes to {IN_A_ROUND[0]:.0f} and {IN_A_ROUND[1]:.0f}",
        f"to the power of {OVERLAP}",
        f"two equal times give {2 ** (1 / OVERLAP):.2f} times MAX",
        f"They took {TILES_BY_MAX:.2f} times MAX",
        f"could have taken {sum(TILES_TWO) / max(TILES_TWO):.1f} times MAX",
        f"the `while` loop needs {WHILE_US['issue']:.0f} us to issue its instructions and {WHILE_US['L1']:.0f} us for L1, "
        f"and it took {LARGE_WHILE.measured_ns / 1e3:.0f}",
        f"here it needs {WHILE_US['latency']:.0f} us",
        f"The median error is {MEDIANS[0]:.0f} % in the first half and {MEDIANS[1]:.0f} % in the second, "
        f"the 90th percentile {NINETIETHS[0]:.0f} % and {NINETIETHS[1]:.0f} %",
    ],
)
def test_lesson_7_says(sentence: str) -> None:
    assert sentence in prose()


@pytest.mark.parametrize(
    ("sentence", "holds"),
    [
        ("It holds nine times as many threads", 8.5 < THREADS < 9.5),
        ("within 10 % up to 2²⁰", max(abs(CASES[RANDOM, size].error) for size in (2**16, 2**20)) < 0.1),
        ("The other four", len(LISTS_TOO_FAST) == 4),
        ("a T4 holds about a seventh of the H200's warps", round(WARPS[0] / WARPS[1]) == 7),
        ("differ by a factor of fourteen", 13.5 < max(TIMES) / min(TIMES) < 14.6),
    ],
)
def test_what_lesson_7_says_in_words_holds(sentence: str, holds: bool) -> None:
    assert sentence in prose()
    assert holds


def test_a_count_of_today_agrees_with_the_slide_of_2009_within_one_percent() -> None:
    assert pytest.approx(local_ranking(2**22).milliseconds(hidden=True), rel=0.01) == OLD_LIST


def test_today_s_model_is_within_a_fifth_in_all_seven_questions() -> None:
    pairs = [
        (ROWS, COLUMNS, 1024),
        (ROWS, COLUMNS, 1100),
        (NAIVE_CASE, WHILE_CASE, 1024),
        (NAIVE_CASE, TILES, 1024),
        (RANDOM, EQUAL, 2**20),
        (ONE, UNIFORM, 2**20),
        (UNIFORM, PRIVATE, 2**24),
    ]
    for pair in pairs:
        _, today, clock = slower(*pair)
        assert today == pytest.approx(clock, rel=0.2), pair


def test_the_clock_follows_max_in_four_of_five_rows_and_latency_in_the_fifth() -> None:
    times_max = {}
    for name in (COLUMNS, ROWS, "matmul, x along columns, while, 32x32", "matmul, x along rows, while, 32x32", TILES):
        case = CASES[name, 1024]
        compute = case.estimate.breakdown["issue"]
        memory = max(case.estimate.breakdown[part] for part in ("L1", "shared memory", "L2", "DRAM"))
        times_max[name] = case.measured_ns / max(compute, memory)
    fifth = times_max.pop(LARGE_WHILE.case)
    assert 0 <= min(times_max.values()) - 1 and round(100 * (max(times_max.values()) - 1)) <= 15
    assert fifth > 1.5 and LARGE_WHILE.estimate.binding == "latency" == max(WHILE_NEEDS, key=WHILE_NEEDS.__getitem__)


def test_one_verdict_differs_and_lesson_7_says_which() -> None:
    differing = [
        (lab, each.name)
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.verdicts(lab, check)
        if not each.agrees and not each.stopped_before
    ]
    assert differing == [("lab02_tiled_matmul", "dynamic/one_array_for_both_tiles")]
    words = "One verdict differs, the triangle: a right answer to lab 2 that keeps both tiles in one dynamic shared array."
    assert words in prose()

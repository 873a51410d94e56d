"""Lesson 7: its exercises reply as they should, and the numbers in its prose follow from the committed measurements."""

from __future__ import annotations

import json
import linecache
import re
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
        (lesson07.two_thirds_of_the_time, "product", "takes a kernel"),
        (lesson07.at_one_address, 92, "divide by it"),
        (lesson07.at_one_address, ..., "your answer"),
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == ("your turn" if answer is ... else "not yet")
    assert words in reply.words


AS_GIVEN = """
def product(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total
"""
TILED = next(
    re.findall(r"```python\n(.*?)```", "".join(cell["source"]), re.S)[0].removeprefix("@cuda.jit")
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    if cell["id"] == "solution-twice"
)


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (AS_GIVEN, "your turn", "latency limits it"),
        (TILED, "right", "shared memory limits it. That is x 1."),
        (TILED.replace("and start + tx < a.shape[1]", ""), "not yet", "outside its shape"),
        (AS_GIVEN.replace("a.shape[1]", "a.shape[1] - 1"), "not yet", "comes out wrong"),
        (AS_GIVEN.replace("a.shape[1]", "a.shape[1] + 1"), "not yet", "outside its shape"),
        (
            AS_GIVEN.replace("a.shape[1]", "min(a.shape[1], 64)"),
            "not yet",
            "5 x 1030 by 1030 x 3 product comes out wrong",
        ),
        (AS_GIVEN.replace("np.float32(0)", "np.float64(0)"), "your turn", "predicted for N = 1,024"),
    ],
    ids=["as given", "tiles", "tiles without a guard", "one short", "one too many", "short rows only", "float64"],
)
def test_the_last_exercise_judges_a_product_by_its_prediction(source: str, outcome: str, words: str) -> None:
    reply = lesson07.two_thirds_of_the_time(kernel_of(source))
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


OLD_NAIVE, TILES = "matmul, x along columns, 16x16", "matmul, tiles of 16"
ROWS, WHILE = "matmul, x along rows, while, 32x32", "matmul, x along columns, while, 32x32"
RANGE, EXERCISE = "matmul, x along columns, 32x32", "matmul, x along columns, while, 16x16"
SIZES = (256, 512, 1024, 2048, 4096)
MEASURED = {size: CASES[WHILE, size].measured_ns for size in SIZES}
TIMES_AS_LONG = [MEASURED[2 * size] / MEASURED[size] for size in SIZES[:-1]]
RANDOM, EQUAL = "list ranking, random sublists", "list ranking, equal sublists"
UNIFORM, ONE, PRIVATE = (
    f"histogram, {kind}" for kind in ("global, uniform", "global, one value", "privatized, uniform")
)
PRIVATE_ONE = "histogram, privatized, one value"
A100 = roofline(SPECIFICATIONS["A100"]).ridge_flop_per_byte
ROWS_LOADS = CASES[ROWS, 1024].counters
K40 = roofline(SPECIFICATIONS["K40"]).ridge_flop_per_byte
ROOF_MS = CASES[WHILE, 1024].roofline_ns / 1e6
COUNTED_NAIVE = from_counters(CASES[OLD_NAIVE, 1024].source)
OLD_LIST = from_counters(CASES[RANDOM, 2**22].source).milliseconds(hidden=True)
TIMES = [CASES[name, 1024].measured_ns for name in (WHILE, RANGE, ROWS, TILES)]
LISTS = [(name, size) for name in (RANDOM, EQUAL) for size in (2**16, 2**20, 2**22)]
LIST_ERRORS = [-100 * CASES[each].error for each in LISTS]
LISTS_TOO_FAST = [each for each in LIST_ERRORS if abs(each) > 10]
IN_A_ROUND = [CASES[name, 1024].counters.issued_warp_instructions / (1024**3 / 32) for name in (RANGE, WHILE)]
TILES_NEED = CASES[TILES, 1024].estimate.breakdown
TILES_TWO = [TILES_NEED[part] for part in ("issue", "shared memory")]
TILES_BY_MAX = CASES[TILES, 1024].measured_ns / max(TILES_TWO)
WHILE_NEEDS = CASES[WHILE, 1024].estimate.breakdown
WHILE_US = {part: ns / 1e3 for part, ns in WHILE_NEEDS.items()}
UNSEEN = [[abs(each.error) for each in unseen.predictions() if each.half == half] for half in unseen.HALVES]
MEDIANS, NINETIETHS = ([100 * float(np.percentile(half, rank)) for half in UNSEEN] for rank in (50, 90))
THREADS = 132 * 2048 / (30 * 1024)
WARPS = [gpu.multiprocessors * gpu.max_threads for gpu in (SPECIFICATIONS["H200"], SPECIFICATIONS["T4"])]
ROWS_SLOWER = slower(ROWS, WHILE, 1024)[2]
ROWS_SLOWER_1100 = slower(ROWS, WHILE, 1100)
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
        f"(500 + 20) / (20 + 20) = {(500 + 20) / (20 + 20):.0f}. That is still too much",
        f"From the first size you would predict {16**3 * MEASURED[256] / 1e6:.0f} ms for the last one, and from the third "
        f"{4**3 * MEASURED[1024] / 1e6:.0f} ms. The clock says {MEASURED[4096] / 1e6:.0f}.",
        f"foresee {TIMES_AS_LONG[0]:.1f}, {TIMES_AS_LONG[1]:.1f}, {TIMES_AS_LONG[2]:.1f} and {TIMES_AS_LONG[3]:.1f}",
        f"takes an H200 {MEASURED[256] / 1e3:.0f} microseconds",
        f"{len(CASES)} cases of {len({name for name, _ in CASES})} kernels",
        f"it was {ROWS_SLOWER:.1f} at N = 1,024 and {ROWS_SLOWER_1100[2]:.1f} at N = 1,100",
        f"The H200 says {ROWS_SLOWER:.1f}, and **with 76 columns more it says {ROWS_SLOWER_1100[2]:.1f}**",
        f"it is {100 * (1 - ROWS_SLOWER_1100[1] / ROWS_SLOWER_1100[2]):.0f} % too low",
        f"{IN_A_ROUND[0]:.0f} a round with `range` and {IN_A_ROUND[1]:.0f} with `while`",
        f"The K40 of that time has {K40:.1f} in the table, which counts a multiply-add as two operations, or {K40 / 2:.1f}",
        f"The pencil says {ROOF_MS:.2f} ms, and the clock says {min(TIMES) / 1e6:.2f} ms or {max(TIMES) / 1e6:.2f}",
        f"has {COUNTED_NAIVE.compute_cycles:,.0f} and {COUNTED_NAIVE.memory_cycles:,.0f} cycles, where the pencil said "
        f"{1024 * (4 + 4):,} and {1024 * (20 + 20):,}",
        f"256 + 64 + 48 + 1,536 = {256 + 64 + 48 + 1536:,} kB",
        f"{2**22 / 22 / 512 / 30:.1f} blocks each, and since no block can be cut, 13",
        "25 is 500 / 20: every access uncoalesced instead of coalesced",
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
        f"caches (25 against {ROWS_SLOWER:.1f}), caches and banks (25 against {ROWS_SLOWER_1100[2]:.1f})",
        f"instructions (1.0 against {slower(RANGE, WHILE, 1024)[2]:.1f})",
        f"({slower(WHILE, TILES, 1024)[0]:.1f} against {slower(WHILE, TILES, 1024)[2]:.1f}: without tiles",
        f"({slower(RANDOM, EQUAL, 2**20)[0]:.1f} against {slower(RANDOM, EQUAL, 2**20)[2]:.2f})",
        f"atomics (1.0 against {slower(ONE, UNIFORM, 2**20)[2]:.1f})",
        f"({slower(UNIFORM, PRIVATE, 2**24)[0]:.0f} against {slower(UNIFORM, PRIVATE, 2**24)[2]:.0f})",
        f"the H200 132, and {BANDWIDTHS:.0f} times the memory bandwidth",
        f"predicted to take {CASES[EXERCISE, 1024].estimate.ns / 1e6:.2f} ms for N = 1,024",
        f"to the power of {OVERLAP}",
        f"two equal times give {2 ** (1 / OVERLAP):.2f} times MAX",
        f"They took {TILES_BY_MAX:.2f} times MAX",
        f"could have taken {sum(TILES_TWO) / max(TILES_TWO):.1f} times MAX",
        f"the `while` loop needs {WHILE_US['issue']:.0f} us to issue its instructions and {WHILE_US['L1']:.0f} us for L1, "
        f"and it took {MEASURED[1024] / 1e3:.0f}",
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
        (ROWS, WHILE, 1024),
        (ROWS, WHILE, 1100),
        (RANGE, WHILE, 1024),
        (WHILE, TILES, 1024),
        (RANDOM, EQUAL, 2**20),
        (ONE, UNIFORM, 2**20),
        (UNIFORM, PRIVATE, 2**24),
    ]
    for pair in pairs:
        _, today, clock = slower(*pair)
        assert today == pytest.approx(clock, rel=0.2), pair


def test_the_clock_follows_max_in_four_of_five_rows_and_latency_in_the_fifth() -> None:
    times_max = {}
    for name in (RANGE, "matmul, x along rows, 32x32", WHILE, ROWS, TILES):
        case = CASES[name, 1024]
        compute = case.estimate.breakdown["issue"]
        memory = max(case.estimate.breakdown[part] for part in ("L1", "shared memory", "L2", "DRAM"))
        times_max[name] = case.measured_ns / max(compute, memory)
    fifth = times_max.pop(WHILE)
    assert 0 <= min(times_max.values()) - 1 and round(100 * (max(times_max.values()) - 1)) <= 15
    assert fifth > 1.5 and CASES[WHILE, 1024].estimate.binding == "latency" == max(
        WHILE_NEEDS, key=WHILE_NEEDS.__getitem__
    )


def test_each_doubling_is_eight_times_the_work_and_never_eight_times_the_time() -> None:
    for size in SIZES[:-1]:
        before, after = CASES[WHILE, size].counters, CASES[WHILE, 2 * size].counters
        for work in ("float32_operations", "global_load_requests", "global_load_sectors"):
            assert getattr(after, work) == 8 * getattr(before, work)
        assert after.issued_warp_instructions == pytest.approx(8 * before.issued_warp_instructions, rel=0.02)
    assert all(abs(each / 8 - 1) > 0.15 for each in TIMES_AS_LONG)
    by_range = [CASES[RANGE, 2 * size].measured_ns / CASES[RANGE, size].measured_ns for size in SIZES[1:-1]]
    assert by_range == pytest.approx([8, 8, 8], rel=0.05), "the slow kernel's time can be scaled, from 512 on"
    fast, slow = ([CASES[name, size].estimate.binding for size in SIZES] for name in (WHILE, RANGE))
    assert (set(fast), set(slow[1:])) == ({"latency"}, {"issue"})


def test_the_turns_of_blocks_foretell_six_sizes_and_miss_the_seventh_as_lesson_7_says() -> None:
    """From the cell's committed output: blocks, turns, cycles a round, microseconds by turns and by the clock."""
    cells = {each["id"]: each for each in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
    _, *rows = "".join(cells["l7-turns"]["outputs"][0]["text"]).replace(",", "").splitlines()
    table = {int(size): [float(each) for each in numbers] for size, *numbers in map(str.split, rows)}
    blocks, turns, cycles, foretold, clock = table.pop(4096)
    assert len(table) == 6 and all(each[3] == pytest.approx(each[4], rel=0.03) for each in table.values())
    first = table[512][2]
    assert cycles == pytest.approx(first, rel=0.02), "as if every turn were a first one"
    assert f"a round costs {cycles:.0f} cycles again" in prose()
    model = CASES[WHILE, 4096].estimate.ns / 1e3
    words = f"{foretold / 1e3:.0f} and {model / 1e3:.0f} ms, where the clock says {clock / 1e3:.0f}"
    assert words in prose() and foretold < 0.55 * clock
    assert "At 256 the launch has 64 blocks" in prose() and "At 512 it has 256" in prose()
    assert (table[256][0], table[512][0]) == (64, 256) and table[512][1] == 1 and 64 < 132 / 2
    h200 = SPECIFICATIONS["H200"]
    assert f"there are places for {h200.multiprocessors * h200.max_threads // 1024} blocks" in prose()
    matrix = 4 * 4096**2
    assert f"has {matrix // 2**20} MiB, more than the {h200.l2_bytes // 2**20} MiB of L2" in prose()
    assert matrix > h200.l2_bytes


def test_one_verdict_differs_and_lesson_7_says_which() -> None:
    differing = [
        (lab, each.name)
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.verdicts(lab, check)
        if not each.agrees and not each.stopped_before
    ]
    assert differing == [("lab02_tiled_matmul", "dynamic/one_array_for_both_tiles")]
    words = (
        "One verdict differs, the triangle: a right answer to lab 2 that keeps both tiles in one dynamic shared array."
    )
    assert words in prose()

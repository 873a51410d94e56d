"""Numbers in a lesson's prose are worked out again here, from the committed measurements or from first principles."""

from __future__ import annotations

import json
import linecache
import re
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import perfmodel
from autograder.perfmodel.measurements import predicting
from autograder.perfmodel.prediction import ISSUE_SHARE
from autograder.tests.finding import found

pytestmark = pytest.mark.quick

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
H200 = json.loads((NOTEBOOKS / "data" / "matmul_h200.json").read_text(encoding="utf-8"))
MS = H200["milliseconds"]
COLUMNS, ROWS, BY_RANGE, ROWS_BY_RANGE = (
    MS[name] for name in ("x along columns", "x along rows", "x along columns, range", "x along rows, range")
)
NAIVE, CUBLAS = COLUMNS["4096"], MS["cuBLAS (TF32 off)"]["4096"]
SIZES = ("1000", "1024", "1100", "2048", "4096")
TIMES_AS_LONG = {size: ROWS[size] / COLUMNS[size] for size in SIZES}
GPU = perfmodel.SPECIFICATIONS["H200"]
LIMITS = perfmodel.roofline(GPU)
COUNTED = H200["counters"]["x along rows"]
BLOCKS = ceil(1000 / 16)


def prose(name: str) -> str:
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return " ".join(text.split())


LESSON_0, LESSON_1A, LESSON_1B = "00_start_here.ipynb", "01a_naive_matmul.ipynb", "01b_what_holds_it_up.ipynb"


def printed(name: str, cell: str) -> str:
    """What the cell of this id printed, as committed."""
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    return "".join(next(each for each in notebook["cells"] if each["id"] == cell)["outputs"][0]["text"])


PRICE_OF_RANGE = {size: BY_RANGE[size] / COLUMNS[size] for size in SIZES}
SWAPPED_BY_RANGE = {size: ROWS_BY_RANGE[size] / BY_RANGE[size] for size in SIZES}
ASTRAY = [row * 20 + column for row in range(32) for column in range(20, 32) if row * 20 + column < 400]


@pytest.mark.parametrize(
    "sentence",
    [
        "3 × 20 + 20 = 80, and 80 is below 400",
        f"Rows 0 to {ASTRAY[-1] // 20 - 1} have {32 - 20} such threads each, {len(ASTRAY)} together",
        f"{(16 * BLOCKS) ** 2 - 1000**2:,} of them, {1 - 1000**2 / (16 * BLOCKS) ** 2:.1%} of all".replace("%", " %"),
        f"So it is {BLOCKS}, and they bring {16 * BLOCKS:,} threads: {16 * BLOCKS - 1000} too many in each row",
        f"it may then take as long as before, or {max(SWAPPED_BY_RANGE.values()):.1f} times as long; with the loop spelled "
        f"another way, {min(TIMES_AS_LONG.values()):.0f} to {int(max(TIMES_AS_LONG.values()))} times",
    ],
)
def test_lesson_1a_says(sentence: str) -> None:
    assert sentence in prose(LESSON_1A)


def test_lesson_1a_s_surprise_is_what_its_cells_print() -> None:
    wrong = int(re.findall(r"20 x 20: (\d+) of 400 numbers are wrong", printed(LESSON_1A, "a-run-surprise"))[0])
    columns = re.findall(r"columns in which they stand: (.*)", printed(LESSON_1A, "a-run-surprise"))[0]
    assert columns == " ".join(str(each) for each in sorted({place % 20 for place in ASTRAY})), "at the left"
    assert f"**{wrong} of 400 numbers are wrong**" in prose(LESSON_1A)
    assert f"Here {len(set(ASTRAY)) - wrong} of them came out right" in prose(LESSON_1A)
    assert f"{wrong} did not" in prose(LESSON_1A)
    assert f"It happened {len(ASTRAY)} times" in printed(LESSON_1A, "a-strays")


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{min(TIMES_AS_LONG.values()):.0f} to {int(max(TIMES_AS_LONG.values()))} times as long**",
        f"but {TIMES_AS_LONG['1000']:.1f} times at 1,000, and {TIMES_AS_LONG['1024']:.1f} times at 1,024",
        f"makes this kernel take {min(PRICE_OF_RANGE.values()):.0f} to {max(PRICE_OF_RANGE.values()):.0f} times as long",
        f"{TIMES_AS_LONG['1100']:.0f} times apart at 1,100 and {int(TIMES_AS_LONG['2048'])} times at 2,048",
        f"you find {BY_RANGE['1100']:.2f} and {ROWS_BY_RANGE['1100']:.2f} ms: no difference at all",
        f"On the H200 it took {ROWS_BY_RANGE['1100']:.2f} and {ROWS_BY_RANGE['1024']:.2f} ms; with `while` "
        f"{ROWS['1100']:.2f} and {ROWS['1024']:.2f}",
        f"{ROWS['1000']:.2f} / {COLUMNS['1000']:.2f} = {TIMES_AS_LONG['1000']:.1f} at 1,000 with 9 passes a round, "
        f"{ROWS['1024']:.2f} / {COLUMNS['1024']:.2f} = {TIMES_AS_LONG['1024']:.1f} at 1,024 with 33",
        f"{33 / 5:.1f} times as many **sectors**",
        f"2 / 8 = {2 / 8} floating-point operations per byte",
        f"150 GB/s ÷ 4 bytes = {150 / 4} billion operands a second",
        f"that is **{100 * 150 / 4 / 1000} %**",
        f"{2 * 150 / 4:.0f} GFLOP/s, {100 * 2 * 150 / 4 / 1000} %. Still not 10",
        f"gets to {600 * 0.25:.0f} GFLOP/s, which is {100 * 150 / 1600:.1f} %",
        f"It has {LIMITS.peak_gflop_per_s:,.0f} GFLOP/s and {LIMITS.bandwidth_gb_per_s:,.0f} GB/s",
        f"The bound is {LIMITS.bandwidth_gb_per_s / 4:,.0f} GFLOP/s, "
        f"{100 * LIMITS.bandwidth_gb_per_s / 4 / LIMITS.peak_gflop_per_s:.1f} % of the peak",
        f"grown {LIMITS.peak_gflop_per_s / 1000:.0f}-fold, the memory only {LIMITS.bandwidth_gb_per_s / 150:.0f}-fold",
        f"cuBLAS reaches {100 * 2 * 4096**3 / CUBLAS / 1e6 / LIMITS.peak_gflop_per_s:.0f} % of the peak",
        f"the naive kernel {100 * CUBLAS / NAIVE:.1f} % of what cuBLAS does",
        "rounds of 9 passes, divided by 132 × 1,980 million a second: "
        f"{1e3 * 1000**3 / 32 * 9 / GPU.multiprocessors / (GPU.clock_ghz * 1e9):.2f} ms",
        f"each of its {GPU.multiprocessors} multiprocessors makes one pass and starts up to "
        f"{('zero', 'one', 'two', 'three', 'four')[int(GPU.warp_instructions_per_cycle)]} instructions, "
        f"a busy kernel {100 * ISSUE_SHARE:.0f} % of them",
        f"there are {1000 * GPU.clock_ghz:,.0f} million cycles a second",
        f"33 / 5 = **{33 / 5}**",
        f"{COUNTED['global_load_sectors']:,} / {COUNTED['global_load_requests']:,} = "
        f"{COUNTED['global_load_sectors'] / COUNTED['global_load_requests']}",
    ],
)
def test_lesson_1b_says(sentence: str) -> None:
    assert sentence in prose(LESSON_1B)


def test_lesson_1b_s_words_for_numbers_hold() -> None:
    reached = 2 * 4096**3 / NAIVE / 1e6
    assert reached > 2 * LIMITS.attainable_gflop_per_s(0.25), "more than twice that"
    spared = 1 - LIMITS.bandwidth_gb_per_s * 0.25 / reached
    assert spared > 0.5, "more than the half of the loads that the sum allowed for"
    at_2048 = 2 * 2048**3 / COLUMNS["2048"] / 1e6
    assert round(at_2048 / LIMITS.attainable_gflop_per_s(0.25)) == 4, "at 2,048 it even reaches four times the bound"
    by_range, by_while = re.findall(r": [\d,]+ sectors, (\d+) instructions", printed(LESSON_1B, "l1-range"))[::-1]
    counted = round(float(re.findall(r"profiler counts (\d+)", printed(LESSON_1B, "l1-range"))[0]))
    assert f"{counted} instructions by the H200's own count, {by_range} by the simulated GPU's" in prose(LESSON_1B)
    assert f"by one addition each: {by_while} instructions" in prose(LESSON_1B)


def test_lesson_1b_s_estimate_at_4096_is_what_it_says() -> None:
    from autograder import simulate
    from autograder.course.lesson01 import sampled

    notebook = json.loads((NOTEBOOKS / LESSON_1B).read_text(encoding="utf-8"))
    source = "".join(next(each["source"] for each in notebook["cells"] if each["id"] == "two-kernels"))
    linecache.cache["two kernels"] = (len(source), None, source.splitlines(keepends=True), "two kernels")
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, "two kernels", "exec"), scope)
        columns = sampled(scope["x_along_columns"], 4096).estimate("H200").ns / 1e6
        rows = sampled(scope["x_along_rows"], 1024).estimate("H200").ns / 1e6
        by_range = source.replace("        k = 0\n        while k < a.shape[1]:", "        for k in range(a.shape[1]):")
        by_range = by_range.replace("            k += 1\n", "")
        linecache.cache["by range"] = (len(by_range), None, by_range.splitlines(keepends=True), "by range")
        exec(compile(by_range, "by range", "exec"), scope)
        needs = {size: sampled(scope["x_along_rows"], size).estimate("H200").breakdown for size in (1100, 1024)}
    at_1100, at_1024 = ([each[name] / 1e6 for name in ("issue", "L1")] for each in needs.values())
    exercise = f"At 1,100 issue needs {at_1100[0]:.2f} ms and L1 {at_1100[1]:.2f}; at 1,024 issue {at_1024[0]:.2f} and L1 "
    assert exercise + f"{at_1024[1]:.2f}" in prose(LESSON_1B)
    assert f"the estimate below would say {columns:.0f} ms, and the clock says {NAIVE:.0f}" in prose(LESSON_1B)
    assert abs(rows / ROWS["1024"] - 1) < 0.015, "at 1,024 it is right to a hundredth"


def test_lesson_1b_s_kernels_are_held_up_by_what_it_says() -> None:
    """From the committed output: the longest time of each, and how near the prediction is to the clock."""
    head, *rows = printed(LESSON_1B, "l1-needs").splitlines()
    resources = head.split()[5:-2]
    assert resources[:1] == ["DRAM"]
    table = {row.split()[0]: [float(each) for each in row.split()[1:]] for row in rows}
    needs = {name: dict(zip(resources, numbers, strict=False)) for name, numbers in table.items()}
    longest = {name: max(each, key=each.__getitem__) for name, each in needs.items()}
    assert longest == {"x_along_columns": "latency", "x_along_rows": "L1", "with_range": "issue"}
    assert all(each["DRAM"] < 0.0035 for each in needs.values())
    predicted = {name: numbers[-2] / numbers[-1] for name, numbers in table.items()}
    assert 0.6 < predicted["x_along_rows"] < 0.72, "a third too short"
    assert all(0.9 < predicted[name] < 1.1 for name in ("x_along_columns", "with_range"))
    assert needs["x_along_rows"]["L1"] < needs["with_range"]["issue"], "nine passes a round would disappear, too"


def test_lesson_1b_s_answer_about_neighbours_says_what_holds_both_kernels_up() -> None:
    from autograder import profile, simulate

    notebook = json.loads((NOTEBOOKS / LESSON_1B).read_text(encoding="utf-8"))
    texts = {each["id"]: "".join(each["source"]) for each in notebook["cells"]}
    given = texts["answer-scale"].split("\n\n\n")[0]
    mended = re.findall(r"```python\n(.*?)```", texts["solution-scale"], re.S)[0]
    n = 2048
    a, factor = np.ones((n, n), np.float32), np.ones(n, np.float32)
    held_up = []
    for file, source in (("scale as given", given), ("scale mended", mended)):
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        with simulate() as cuda:
            scope: dict[str, Any] = {"cuda": cuda}
            exec(compile(source, file, "exec"), scope)
            p = profile(scope["scale"], sample_blocks=8)[n * n // 128, 128](a, factor, np.zeros_like(a))
        e = p.estimate("H200")
        held_up.append((e.ns / 1e6, [name for name, _ in e.largest()[:2]], p.counters))
    (given_ms, given_by, counters), (mended_ms, mended_by, _) = held_up
    assert given_by[0] == "L2" and mended_by == ["issue", "block launch"]
    assert counters.global_store_sectors == 32 * counters.global_store_requests
    words = f"L2 for the one that is given, {given_ms:.2f} ms (32 sectors a store); instructions, and the start of blocks, "
    assert words + f"for this one, {mended_ms:.2f} ms" in prose(LESSON_1B)


def test_lesson_1_s_times_are_those_that_the_model_is_held_against() -> None:
    """One measurement, kept in two places: by the lesson to be read, by the model with all its cases."""
    cases = {(each.case, each.size): each.measured_ns / 1e6 for each in predicting.predictions()}
    for name in ("x along columns", "x along rows", "x along columns, range", "x along rows, range"):
        case = f"matmul, {name}, while, 32x32".replace(", range, while", "")
        for size in SIZES:
            assert MS[name][size] == pytest.approx(cases[case, int(size)], rel=1e-3), (name, size)


TILING = json.loads((NOTEBOOKS / "data" / "tiling_h200.json").read_text(encoding="utf-8"))
TILED_MS = {name: times["4096"] for name, times in TILING["milliseconds"].items()}
TILED_8, TILED_16 = TILED_MS["tiles of 8"], TILED_MS["tiles of 16"]
COMPARED = TILING["compared_milliseconds"]
NAIVE_16, TILED_16_RUN, RANGE_16 = COMPARED["naive"], COMPARED["tiled"], COMPARED["naive, range"]
GAIN = {size: NAIVE_16[size] / TILED_16_RUN[size] for size in SIZES}
OVER_RANGE = [RANGE_16[size] / TILED_16_RUN[size] for size in SIZES]
REQUESTS = {name: each["global_load_requests"] for name, each in TILING["counters"].items()}
SECTORS = {name: each["global_load_sectors"] for name, each in TILING["counters"].items()}
PASSES = TILING["counters"]["tiled"]["shared_load_wavefronts"]
WRONG = TILING["wrong_elements"]
ADDED = list(TILING["milliseconds_by_added_shared_bytes"].values())
ANSWERS_MS, ANSWERS = TILING["answers_milliseconds"], TILING["answers_counters"]
TURNED, FOUR_EACH = (ANSWERS[name]["shared_wavefronts"] for name in ("tile of b turned", "a column of four each"))
ADDS_256, ADDS_1024 = 256**3 // 32, 1024**3 // 32  # multiply-adds of a warp
TURNED_MS = TURNED / GPU.multiprocessors / GPU.clock_ghz / 1e6
FOUR_EACH_INSTRUCTIONS = ANSWERS["a column of four each"]["warp_instructions"]
SLOTS = ISSUE_SHARE * GPU.warp_instructions_per_cycle  # in a cycle of a multiprocessor, as the model counts them
FOUR_EACH_ISSUE_MS = FOUR_EACH_INSTRUCTIONS / SLOTS / GPU.multiprocessors / GPU.clock_ghz / 1e6
LESSON_2 = ("02a_tiling.ipynb", "02b_what_a_tile_saves.ipynb")


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{REQUESTS['naive'] // REQUESTS['tiled']} times less**",
        f"{REQUESTS['naive']:,} / {REQUESTS['tiled']:,} = **{REQUESTS['naive'] // REQUESTS['tiled']}** times fewer",
        f"The sectors fall by {SECTORS['naive'] // SECTORS['tiled']} only",
        f"4 blocks of 64 threads are {4 * 64 // 32} warps",
        f"that is 2 × 16 × 4,096 × 4 bytes = {2 * 16 * 4096 * 4 // 1024} KiB",
        f"has {GPU.shared_bytes // 1024} KiB of shared memory",
        f"`column` is 1 × 16 + 7 = {1 * 16 + 7} and `row` is 3 × 16 + 2 = {3 * 16 + 2}",
        f"A real block of 16 × 16 is {16 * 16 // 32} warps",
        f"the same kernel gets {100 * sum(WRONG['without the second']['1024']) / 20 / 1024**2:.0f} % of them wrong",
    ],
)
def test_lesson_2a_says(sentence: str) -> None:
    assert sentence in prose(LESSON_2[0])


@pytest.mark.parametrize(
    "sentence",
    [
        f"load {REQUESTS['naive'] // REQUESTS['tiled']} times less and take twice as long",
        f"does it well {GAIN['1000']:.1f} times as fast",
        f"faster or slower than *naive* with its {ANSWERS_MS['naive']:.2f} ms",
        f"One takes {ANSWERS_MS['tiled']:.2f} ms, the other {ANSWERS_MS['without zeros']:.2f}.",
        f"{GAIN['2048']:.1f} to {GAIN['1024']:.1f} times as fast at four sizes, {GAIN['4096']:.1f} times at 4,096",
        f"tiling would look {min(OVER_RANGE):.1f} to {max(OVER_RANGE):.1f} times as fast",
        f"The requests fell from {REQUESTS['naive']:,} to {REQUESTS['tiled']:,}",
        f"From **0.25 to {2 * 16 // 8}** operations per byte",
        f"4 × {LIMITS.bandwidth_gb_per_s:,.0f} = {4 * LIMITS.bandwidth_gb_per_s:,.0f} GFLOP/s, 16 times as much",
        f"*below* its own, {2 * 4096**3 / TILED_16_RUN['4096'] / 1e6:,.0f} of {4 * LIMITS.bandwidth_gb_per_s:,.0f}",
        f"For 64 times the work tiled takes {TILED_16_RUN['4096'] / TILED_16_RUN['1024']:.0f} times as long",
        f"Naive takes {NAIVE_16['4096'] / NAIVE_16['1024']:.0f} times as long: {NAIVE_16['4096']:.0f} ms",
        f"Hence the {GAIN['4096']:.1f}.",
        f"{REQUESTS['naive']:,} requests went to global memory",
        f"counted {PASSES:,} passes in place of {2 * ADDS_256:,}, {PASSES / ADDS_256:.1f} for each",
        "Filling the tiles adds 0.125, and what comes from global memory passes through the same store (L1 and shared "
        "memory are one): 0.25. Together 1.875 cycles, in which 7.5 multiply-adds would fit: "
        f"{LIMITS.peak_gflop_per_s / 7.5:,.0f} GFLOP/s, of which tiled reaches "
        f"{100 * 2 * 4096**3 / TILED_16_RUN['4096'] / 1e6 / (LIMITS.peak_gflop_per_s / 7.5):.0f} %",
        f"Shared memory would now take {FOUR_EACH / GPU.multiprocessors / GPU.clock_ghz / 1e6:.2f} ms, issue "
        f"{FOUR_EACH_ISSUE_MS:.2f}, the clock says {ANSWERS_MS['a column of four each']:.2f}",
        f"For issue it counts {100 * ISSUE_SHARE:.0f} % of the slots",
        f"fewer than the {GPU.multiprocessors} multiprocessors",
        f"the clock says {ADDED[-1]:.1f}; the reserved bytes",
        f"counts {TURNED:,} passes",
        f"its {GPU.multiprocessors} multiprocessors does one in a cycle, {1000 * GPU.clock_ghz:,.0f} million in",
        f"is {TURNED_MS:.2f} ms for the passes alone",
        f"An H200 takes {ANSWERS_MS['tile of b turned']:.2f} ms for it",
        f"{FOUR_EACH / ADDS_1024:.1f} passes through shared memory in place of {PASSES / ADDS_256:.1f}, and "
        f"{ANSWERS_MS['tiled'] / ANSWERS_MS['a column of four each']:.1f} times as fast as tiled",
        f"it needs {CUBLAS:.1f} ms, where tiled needs {TILED_16_RUN['4096']:.1f}",
        f"({TILED_16:.1f} ms here, {TILED_16_RUN['4096']:.1f} above: another run",
        f"Not twice, but {ADDED[-1] / ADDED[0]:.1f} times",
        f"costs just {100 * (ADDED[1] / ADDED[0] - 1):.0f} %",
        f"loads 16 times less is {GAIN['1000']:.1f} times as fast",
    ],
)
def test_lesson_2b_says(sentence: str) -> None:
    assert sentence in prose(LESSON_2[1])


def test_lesson_2_s_words_for_numbers_hold() -> None:
    assert min(WRONG["without the first"]["256"]) > 0.9 * 256**2 and min(WRONG["without either"]["256"]) > 0.9 * 256**2
    assert WRONG["without the second"]["256"] == [0] * 20 == WRONG["both barriers"]["1024"]
    assert 0.97 < TILED_MS["tiles of 32"] / TILED_16 <= 1, "from 16 to 32 nothing is gained"
    assert GPU.float32_lanes_per_cycle / 32 * 2 == 8 and GPU.l1_wavefronts_per_cycle == 1
    assert [size for size in SIZES if GAIN[size] > 1.75] == ["4096"] and min(GAIN.values()) > 1.55
    naive, tiled = (2 * 4096**3 / run["4096"] / 1e6 for run in (NAIVE_16, TILED_16_RUN))
    assert naive > 2 * LIMITS.attainable_gflop_per_s(0.25), "above its roof: caches serve most of its loads"
    assert tiled < 0.5 * LIMITS.attainable_gflop_per_s(4), "well below its own"
    assert 1.9 < ANSWERS_MS["without zeros"] / ANSWERS_MS["naive"] < 2.3, "twice as long as the naive kernel"
    assert TURNED_MS > ANSWERS_MS["naive"], "the passes alone are more than all of naive"
    instructions = {name: each["warp_instructions"] / ADDS_1024 for name, each in ANSWERS.items()}
    assert 0.9 < instructions["tile of b turned"] / 6.1 < 1, "about those of the tiled kernel"


def test_lesson_2_s_times_are_those_that_the_model_is_held_against() -> None:
    cases = {(each.case, each.size): each.measured_ns / 1e6 for each in predicting.predictions()}
    for name, case in (
        ("naive", "matmul, x along columns, while, 16x16"),
        ("naive, range", "matmul, x along columns, 16x16"),
        ("tiled", "matmul, tiles of 16"),
    ):
        for size in SIZES:
            assert COMPARED[name][size] == pytest.approx(cases[case, int(size)], rel=1e-3), (name, size)
    assert "validation.json" in TILING["how_compared"]


def test_lesson_2_s_answers_to_the_lab_are_those_that_were_measured() -> None:
    from autograder import simulate

    with simulate():
        from autograder.course.lesson02.measurements import answers
    recorded = answers()
    assert {name: TILING[name] for name in recorded} == recorded
    assert list(recorded["answers_milliseconds"]) == list(ANSWERS_MS), "the notebook compares them in this order"


def printed_by_lesson_2b(cell: str) -> str:
    notebook = json.loads((NOTEBOOKS / LESSON_2[1]).read_text(encoding="utf-8"))
    outputs = next(each for each in notebook["cells"] if each["id"] == cell)["outputs"]
    return "".join(text for each in outputs for text in each.get("text", []))


def test_lesson_2_s_resources_are_those_that_the_model_names() -> None:
    """What the prose says of the kernels' resources, from the committed output of the cell above it."""
    head, *rows = printed_by_lesson_2b("breakdown-run").splitlines()
    names = ["naive, 1,024", "tiled, 1,024", "without zeros, 1,024", "naive, 4,096", "tiled, 4,096"]
    assert re.split(r"  +", head) == ["milliseconds", *names]
    cells = (re.split(r"  +", row) for row in rows)
    table = {name: [float(each) for each in numbers] for name, *numbers in cells}
    together, clock = table.pop("together"), table.pop("measured")
    naive, tiled, no_zeros, large, _ = ({name: values[at] for name, values in table.items()} for at in range(5))
    assert sorted(naive, key=naive.__getitem__)[-2:] == ["L1", "latency"] and naive["L1"] > 0.8 * naive["latency"]
    assert naive["DRAM"] == 0.002, "2 microseconds"
    assert sorted(tiled, key=tiled.__getitem__)[-2:] == ["issue", "shared memory"]
    assert naive["shared memory"] == 0 and tiled["issue"] > 0.85 * tiled["shared memory"], "close behind"
    assert tiled["latency"] / naive["latency"] == pytest.approx(1 / 3, abs=0.02), "a third"
    assert round(naive["L1"] / tiled["L1"]) == 12 and 0.7 < tiled["issue"] / naive["issue"] < 0.8, "by a quarter only"
    assert no_zeros["issue"] > 3 * sorted(no_zeros.values())[-2], "issue alone, more than three times the next"
    off = [estimated / measured - 1 for estimated, measured in zip(together, clock, strict=True)]
    assert max(abs(each) for each in off[:3]) < 0.09 and abs(off[4]) < 0.02
    assert "the estimates are within 9 % of the clock" in prose(LESSON_2[1])
    assert "its estimate is within 2 % of the clock" in prose(LESSON_2[1])
    assert f"{clock[3]:.0f} ms, where the estimate says {together[3]:.0f}" in prose(LESSON_2[1])
    assert max(large.values()) < 0.6 * clock[3], "no row of this table explains it"


def test_lesson_2_s_passes_are_those_that_the_cell_counts_and_the_table_takes_time_for() -> None:
    printed = printed_by_lesson_2b("eighth")
    assert "reading the tiles 1.5, filling them 0.125, global loads 0.25\n" in printed
    assert "together 1.875, in which 7.5 multiply-adds would fit" in printed
    (row,) = (each for each in printed_by_lesson_2b("breakdown-run").splitlines() if each.startswith("shared memory"))
    passes_ms = 1.875 * 4096**3 / 32 / GPU.multiprocessors / GPU.clock_ghz / 1e6
    assert float(row.split()[-1]) == pytest.approx(passes_ms, rel=2e-3)
    deck = (NOTEBOOKS.parent / "slides" / "02_tiling.md").read_text(encoding="utf-8")
    assert "cycles = 1.5 + 0.125 + 0.25" in deck


def test_lesson_2_s_schedulers_are_as_busy_as_its_prose_says() -> None:
    """And why more warps help tiled and no longer naive: the round of the picture is the model's."""
    told = r"(\w+): an instruction can start in (\d+)% of the cycles with 4 warps and (\d+)%"
    busy = re.findall(told, printed_by_lesson_2b("hiding"))
    assert [name for name, *_ in busy] == ["tiled", "naive"] and busy[0][2] == "100"
    notebook = json.loads((NOTEBOOKS / LESSON_2[1]).read_text(encoding="utf-8"))
    (cell,) = (each for each in notebook["cells"] if each["id"] == "hiding")
    alt = "".join(cell["outputs"][-1]["data"]["text/plain"])
    instructions, cycles = found(r"naive: (\d+) instructions a round, (\d+) cycles to the next", alt).groups()
    assert f"{instructions} instructions, and a warp alone begins its next round after {cycles} cycles" in prose(LESSON_2[1])
    assert f"all 16 have only {16 * int(instructions)} instructions to start in {cycles} cycles" in prose(LESSON_2[1])
    assert int(busy[1][2]) == pytest.approx(100 * 16 * int(instructions) / int(cycles), abs=1.5)
    ladder = json.loads((NOTEBOOKS / "data" / "ladder_h200.json").read_text(encoding="utf-8"))
    slots = ladder["counters"]["rungs"]["one element, `while`"]["issue_slots_used_percent"]
    assert f"An H200 used {slots:.0f} % of these chances at 2,048." in prose(LESSON_2[1])


def test_lesson_2_s_naive_kernel_at_4096_waits_third() -> None:
    _, *rows = printed_by_lesson_2b("breakdown-run").splitlines()
    naive = {cells[0]: float(cells[4]) for cells in (re.split(r"  +", row) for row in rows) if len(cells) == 6}
    order = sorted(set(naive) - {"together", "measured"}, key=naive.__getitem__)
    assert order[-3:] == ["latency", "issue", "L1"] and f"L1, {naive['L1']:.1f} ms; issue" in prose(LESSON_2[1])


def test_lesson_2_s_fewer_warps_wait_longer_by_the_estimate() -> None:
    found = re.findall(r"latency +([\d.]+), estimated ([\d.]+) ms", printed_by_lesson_2b("added-shared"))
    (few, all_of_it), (most, total) = found[0], found[-1]
    said = f"doubles, from {few} to {most} ms, and passes shared memory's 15.4. (The estimate for this launch is {total} ms"
    assert said in prose(LESSON_2[1]) and float(most) / float(few) == pytest.approx(2, abs=0.03)
    assert len(found) == len(ADDED) and float(all_of_it) < float(total)
    deck = " ".join((NOTEBOOKS.parent / "slides" / "02_tiling.md").read_text(encoding="utf-8").split())
    assert f"from {few} to {most} ms, and passes shared memory's 15.4" in deck


def test_lesson_2_s_instructions_are_near_what_the_profiler_counted() -> None:
    printed = printed_by_lesson_2b("b-instructions")
    counted = [float(each) for each in re.findall(r"([\d.]+) instructions a multiply-add", printed)]
    (hardware,) = (float(each) for each in re.findall(r"counts ([\d.]+) for the last one", printed))
    assert hardware == round(ANSWERS["without zeros"]["warp_instructions"] / ADDS_1024)
    assert counted[2] == pytest.approx(hardware, rel=0.1) and counted[2] > 3 * counted[0] > 3 * counted[1]


def test_lesson_2_s_estimates_of_tiles_are_as_far_off_as_it_says() -> None:
    rows = re.findall(
        r"tiles of +(\d+): estimated +([\d.]+) ms \((.+?) ([\d.]+), (.+?) ([\d.]+)\), measured +([\d.]+) ms",
        printed_by_lesson_2b("tile-sizes"),
    )
    longest = {tile: ({first, second}, float(least) / float(most)) for tile, _, first, most, second, least, _ in rows}
    assert longest["8"][0] == {"issue", "shared memory"} and longest["8"][1] > 0.92, "alike"
    off = {row[0]: float(row[1]) / float(row[-1]) - 1 for row in rows}
    assert 0.01 < max(abs(off["8"]), abs(off["16"])) < 0.02 and "16 are within 2 % of the clock" in prose(LESSON_2[1])
    assert off["32"] == pytest.approx(-1 / 6, abs=0.02) and "That for 32 is a sixth too low" in prose(LESSON_2[1])


START = json.loads((NOTEBOOKS / "data" / "start_h200.json").read_text(encoding="utf-8"))["milliseconds"]
NUMPY, KERNEL = START["NumPy: x + y"], START["kernel"]
JOURNEY = START["copy x to the device"] + START["copy y to the device"] + KERNEL + START["copy out to the host"]


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{NUMPY / KERNEL:.0f} times as fast** as NumPy",
        f"**{START['kernel given NumPy arrays'] / NUMPY:.1f} times as long** as NumPy",
        f"Four times 256 is {4 * 256:,}, two times 256 is {2 * 256}",
        f"1,000,000 / 256 = {1_000_000 / 256:,}",
        f"the H200 has {GPU.multiprocessors} of them",
        f"the last {4 * 256 - 1000} threads",
        f"NumPy does ten such additions in {10 * NUMPY:.0f} ms",
        f"each launch more costs {KERNEL:.2f} ms",
    ],
)
def test_lesson_0_says(sentence: str) -> None:
    assert sentence in prose("00_start_here.ipynb")


def test_lesson_0_s_words_for_numbers_hold() -> None:
    assert 0.02 * JOURNEY > KERNEL, "the kernel is fast; the way to it is long"
    left = f"of {NUMPY / KERNEL:.0f} times as fast, {NUMPY / JOURNEY:.1f} is left"
    assert f"Three copies take {(JOURNEY - KERNEL) / KERNEL:.0f} times as long as the kernel: {left}" in prose(LESSON_0)
    assert START["kernel given NumPy arrays"] > NUMPY, "a loss"

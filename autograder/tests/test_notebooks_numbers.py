"""Numbers in a lesson's prose are worked out again here, from the committed measurements or from first principles."""

from __future__ import annotations

import json
import re
from math import ceil
from pathlib import Path

import pytest

from autograder import perfmodel
from autograder.perfmodel.measurements import predicting

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
LIMITS = perfmodel.roofline(perfmodel.SPECIFICATIONS["H200"])
COUNTED = H200["counters"]["x along rows"]
BLOCKS = ceil(1000 / 16)


def prose(name: str) -> str:
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return " ".join(text.split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{min(TIMES_AS_LONG.values()):.0f} to {int(max(TIMES_AS_LONG.values()))} times as long**",
        f"but {TIMES_AS_LONG['1000']:.1f} times at 1,000, and {TIMES_AS_LONG['1024']:.1f} times at 1,024",
        f"made this kernel {BY_RANGE['4096'] / NAIVE:.0f} to {BY_RANGE['1000'] / COLUMNS['1000']:.0f} times as slow",
        f"{TIMES_AS_LONG['1100']:.0f} times apart at 1,100 and {int(TIMES_AS_LONG['2048'])} times at 2,048",
        f"you find {BY_RANGE['1000']:.2f} and {ROWS_BY_RANGE['1000']:.2f} ms",
        f"On the H200 it took {ROWS_BY_RANGE['1000']:.2f} and {ROWS_BY_RANGE['1024']:.2f} ms",
        f"would say 25 ms, and the clock says {NAIVE:.0f}",
        f"{33 / 5:.1f} times as many **sectors**",
        f"So it is {BLOCKS}, and they bring {16 * BLOCKS:,} threads: {16 * BLOCKS - 1000} too many in each row",
        f"{(16 * BLOCKS) ** 2 - 1000**2:,} of them, {1 - 1000**2 / (16 * BLOCKS) ** 2:.1%} of all".replace("%", " %"),
        f"this launch has {BLOCKS**2 * 16 * 16 // 32:,} warps",
        f"2 / 8 = {2 / 8} floating-point operations per byte",
        f"150 GB/s ÷ 4 bytes = {150 / 4} billion operands a second",
        f"that is **{100 * 150 / 4 / 1000} %**",
        f"{2 * 150 / 4:.0f} GFLOP/s, {100 * 2 * 150 / 4 / 1000} %. Still not 10",
        f"{600 * 0.25:.0f} GFLOP/s",
        f"only {100 * 150 / 1600:.1f} % of the peak",
        f"The H200 reads {LIMITS.bandwidth_gb_per_s / 150:.0f} times as many bytes a second",
        f"from 3.75 % to {100 * LIMITS.bandwidth_gb_per_s / 4 / LIMITS.peak_gflop_per_s:.1f} %",
        f"grown {LIMITS.peak_gflop_per_s / 1000:.0f}-fold",
        f"the bound is {LIMITS.bandwidth_gb_per_s / 4:,.0f} GFLOP/s",
        f"cuBLAS reaches {100 * 2 * 4096**3 / CUBLAS / 1e6 / LIMITS.peak_gflop_per_s:.0f} % of the peak",
        f"the naive kernel reaches {100 * CUBLAS / NAIVE:.1f} % of its speed",
        f"33 / 5 = **{33 / 5}**",
        f"{COUNTED['global_load_sectors']:,} / {COUNTED['global_load_requests']:,} = "
        f"{COUNTED['global_load_sectors'] / COUNTED['global_load_requests']}",
    ],
)
def test_lesson_1_says(sentence: str) -> None:
    assert sentence in prose("01_naive_matmul.ipynb")


def test_lesson_1_s_kernels_are_held_up_by_what_it_says() -> None:
    """From the committed output: the longest time of each, and how near the prediction is to the clock."""
    notebook = json.loads((NOTEBOOKS / "01_naive_matmul.ipynb").read_text(encoding="utf-8"))
    cell = next(each for each in notebook["cells"] if each["id"] == "l1-needs")
    head, *rows = "".join(cell["outputs"][0]["text"]).splitlines()
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


def test_lesson_1_s_times_are_those_that_the_model_is_held_against() -> None:
    """One measurement, kept in two places: by the lesson to be read, by the model with all its cases."""
    cases = {(each.case, each.size): each.measured_ns / 1e6 for each in predicting.predictions()}
    for name in ("x along columns", "x along rows", "x along columns, range", "x along rows, range"):
        case = f"matmul, {name}, while, 32x32".replace(", range, while", "")
        for size in SIZES:
            assert MS[name][size] == pytest.approx(cases[case, int(size)], rel=1e-3), (name, size)


TILING = json.loads((NOTEBOOKS / "data" / "tiling_h200.json").read_text(encoding="utf-8"))
TILED_MS = {name: times["4096"] for name, times in TILING["milliseconds"].items()}
TILED, TILED_8, TILED_16 = TILED_MS["naive, 16 x 16 block"], TILED_MS["tiles of 8"], TILED_MS["tiles of 16"]
REQUESTS = {name: each["global_load_requests"] for name, each in TILING["counters"].items()}
SECTORS = {name: each["global_load_sectors"] for name, each in TILING["counters"].items()}
WRONG = TILING["wrong_elements"]
ADDED = list(TILING["milliseconds_by_added_shared_bytes"].values())
GPU = perfmodel.SPECIFICATIONS["H200"]


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{REQUESTS['naive'] // REQUESTS['tiled']} times less**",
        f"it is **{TILED / TILED_16:.1f} times as fast**",
        f"{REQUESTS['naive']:,} / {REQUESTS['tiled']:,} = **{REQUESTS['naive'] // REQUESTS['tiled']}** times fewer",
        f"The sectors fall by {SECTORS['naive'] // SECTORS['tiled']} only",
        f"4 blocks of 64 threads are {4 * 64 // 32} warps",
        f"that is 2 × 16 × 4,096 × 4 bytes = {2 * 16 * 4096 * 4 // 1024} KiB",
        f"has {GPU.shared_bytes // 1024} KiB of shared memory",
        f"A real block of 16 × 16 is {16 * 16 // 32} warps",
        f"is read by all {16 * 16 // 32} warps",
        f"for {GPU.multiprocessors} multiprocessors",
        f"the same kernel gets {100 * sum(WRONG['without the second']['1024']) / 20 / 1024**2:.0f} % of them wrong",
        f"the loads fell from {REQUESTS['naive']:,} requests to {REQUESTS['tiled']:,}",
        f"From **0.25 to {2 * 16 // 8}** operations per byte",
        f"4 × {LIMITS.bandwidth_gb_per_s:,.0f} = {4 * LIMITS.bandwidth_gb_per_s:,.0f} GFLOP/s, 16 times as much",
        f"at {LIMITS.ridge_flop_per_byte:.1f} operations per byte",
        f"t ≥ {4 * round(LIMITS.ridge_flop_per_byte, 1):.1f}",
        f"56 × 56 = {56 * 56:,} threads",
        f"the tiled kernel reach {4 * LIMITS.bandwidth_gb_per_s:,.0f} GFLOP/s",
        f"4 of the {(4096 // 16) ** 2:,} blocks",
        f"the H200 counted {TILING['counters']['tiled']['shared_load_wavefronts']:,} passes",
        f"which needs {CUBLAS:.1f} ms here",
        f"take {8 * (2 * 16 * 16 * 4 + GPU.shared_reserved_bytes_per_block) // 1024} of {GPU.shared_bytes // 1024} KiB",
        f"Not twice, but {ADDED[-1] / ADDED[0]:.1f} times",
        f"costs just {100 * (ADDED[1] / ADDED[0] - 1):.0f} %",
    ],
)
def test_lesson_2_says(sentence: str) -> None:
    assert sentence in prose("02_tiling.ipynb")


def test_lesson_2_s_words_for_numbers_hold() -> None:
    assert min(WRONG["without the first"]["256"]) > 0.9 * 256**2 and min(WRONG["without either"]["256"]) > 0.9 * 256**2
    assert WRONG["without the second"]["256"] == [0] * 20 == WRONG["both barriers"]["1024"]
    assert 0.62 < TILED_16 / TILED_8 < 0.7, "two thirds of the time"
    assert 0.97 < TILED_MS["tiles of 32"] / TILED_16 <= 1, "from 16 to 32 nothing is gained"
    eighth = LIMITS.peak_gflop_per_s / 8
    assert GPU.float32_lanes_per_cycle / 32 * 2 == 8 and GPU.l1_wavefronts_per_cycle == 1
    assert 0.85 * eighth < 2 * 4096**3 / TILED_16 / 1e6 < eighth


def test_lesson_2_s_resources_are_those_that_the_model_names() -> None:
    """What the prose says of the two kernels' resources, from the committed output of the cell above it."""
    notebook = json.loads((NOTEBOOKS / "02_tiling.ipynb").read_text(encoding="utf-8"))
    cell = next(each for each in notebook["cells"] if each["id"] == "breakdown-run")
    rows = re.findall(r"^(\S.*?) {2,}([\d.]+) +([\d.]+)$", "".join(cell["outputs"][0]["text"]), re.M)
    table = {name: (float(naive), float(tiled)) for name, naive, tiled in rows}
    assert max(table, key=lambda name: table[name][0]) == "issue"
    assert max(table, key=lambda name: table[name][1]) == "shared memory"
    assert table["shared memory"][0] == 0 and 0.85 < table["issue"][1] / table["shared memory"][1] < 1
    assert "DRAM" not in table, "less than a tenth of a millisecond"
    assert round(table["issue"][0] / table["issue"][1]) == 7 and round(table["L1"][0] / table["L1"][1]) == 12


def test_lesson_2_s_estimates_of_tiles_are_as_far_off_as_it_says() -> None:
    notebook = json.loads((NOTEBOOKS / "02_tiling.ipynb").read_text(encoding="utf-8"))
    cell = next(each for each in notebook["cells"] if each["id"] == "tile-sizes")
    rows = re.findall(
        r"tiles of +(\d+): estimated +([\d.]+) ms \(([^)]+)\), measured +([\d.]+) ms", "".join(cell["outputs"][0]["text"])
    )
    binds = {tile: resource for tile, _, resource, _ in rows}
    assert binds["8"] == "issue"
    off = {tile: float(estimated) / float(measured) - 1 for tile, estimated, _, measured in rows}
    assert max(abs(off["8"]), abs(off["16"])) < 0.02, "within 2 %"
    assert off["32"] == pytest.approx(-0.2, abs=0.02), "a fifth too low"


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
    assert NUMPY / JOURNEY < 2 < NUMPY / KERNEL, "three copies eat up nearly all of the gain"
    assert START["kernel given NumPy arrays"] > NUMPY, "a loss"

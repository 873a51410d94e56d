"""Numbers in a lesson's prose are worked out again here, from the committed measurements or from first principles."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path

import pytest

from autograder import perfmodel

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
H200 = json.loads((NOTEBOOKS / "data" / "matmul_h200.json").read_text(encoding="utf-8"))
MS = {name: times["4096"] for name, times in H200["milliseconds"].items()}
NAIVE, ROWS, CUBLAS = MS["x along columns"], MS["x along rows"], MS["cuBLAS (TF32 off)"]
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
        f"**{ROWS / NAIVE:.1f} times as long**",
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
        f"it reaches {100 * 2 * 4096**3 / CUBLAS / 1e6 / LIMITS.peak_gflop_per_s:.0f} % of the peak",
        f"the naive kernel reaches {100 * CUBLAS / NAIVE:.1f} % of its speed",
        f"33 / 5 = **{33 / 5}**",
        f"{COUNTED['global_load_sectors']:,} / {COUNTED['global_load_requests']:,} = "
        f"{COUNTED['global_load_sectors'] / COUNTED['global_load_requests']}",
        f"{33 / 5} times the sectors, but {ROWS / NAIVE:.1f} times the time",
    ],
)
def test_lesson_1_says(sentence: str) -> None:
    assert sentence in prose("01_naive_matmul.ipynb")

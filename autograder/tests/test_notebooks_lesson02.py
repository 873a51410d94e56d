"""Lesson 2: what its prose says of its kernels and measurements is so."""

from __future__ import annotations

import ast
import json
import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np

from autograder import simulate
from autograder.tests.finding import found

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "02_tiling.ipynb"
CELLS = {each["id"]: each for each in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
DECK = NOTEBOOK.parents[1] / "slides" / "02_tiling.md"


def source(cell: str) -> str:
    return "".join(CELLS[cell]["source"])


def smoothed(code: str, x: np.ndarray) -> np.ndarray:
    """What the lesson's `smooth` makes of x, 64 threads a block."""
    kernel = next(n for n in ast.parse(code).body if isinstance(n, ast.FunctionDef) and n.name == "smooth")
    text = f"WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)\n{ast.unparse(kernel)}"
    file = f"smooth {hash(text)}"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    out = np.zeros_like(x)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(text, file, "exec"), scope)
        scope["smooth"][len(x) // 64, 64](x, out)
    return out


def test_smooth_takes_the_mean_of_neighbours_in_rings_of_64() -> None:
    x = np.random.default_rng(5).random(256, dtype=np.float32)
    rings = x.reshape(-1, 64)
    expected = 0.25 * np.roll(rings, 1, axis=1) + 0.5 * rings + 0.25 * np.roll(rings, -1, axis=1)
    deck = found(r"^@cuda.jit\ndef smooth.*?^    out\[i\] = total$", DECK.read_text(encoding="utf-8"), re.M | re.S)
    for code in (source("five-places"), deck[0]):
        np.testing.assert_allclose(smoothed(code, x), expected.ravel(), rtol=1e-6)


def test_about_nine_of_ten_elements_are_wrong_without_the_first_barrier() -> None:
    measured = json.loads((NOTEBOOK.parent / "data" / "tiling_h200.json").read_text(encoding="utf-8"))
    shares = [
        each / int(size) ** 2
        for size, wrong in measured["wrong_elements"]["without the first"].items()
        for each in wrong
    ]
    assert 0.88 < min(shares) < 0.9 < max(shares) < 0.93
    assert "Without the first barrier about nine of ten elements are wrong" in source("barriers-measured-explained")

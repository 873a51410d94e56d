"""Cases of any size for functions that multiply matrices, and what is right: for the judges of labs 1, 2 and 7.

Nothing comes from the checks of these labs: their products are made and held to what is right in a way of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.grading.fuzzing.judging import JudgedCall, size
from autograder.records.runs import RunRequest, Uninitialised

CASES = 7
SIDES = (
    (1, 40),
    (1, 40),
    (20, 140),
    (90, 260),
)  # least and most rows or columns, drawn anew for each side of each case
TERMS = 130
FLOAT32 = float(np.finfo(np.float32).eps)


def products_by(function: str, rng: np.random.Generator) -> Iterator[JudgedCall]:
    """Products of whole and of real numbers: tall, wide, tiny and long ones, squares of powers of two, and one odd side
    beside two that common tiles divide."""
    yield _product(function, rng, *[2 ** int(rng.integers(4, 7))] * 3, real=False)
    for number in range(CASES):
        (m_low, m_high), (n_low, n_high) = (SIDES[int(rng.integers(len(SIDES)))] for _ in range(2))
        m, n = size(rng, m_low, m_high), size(rng, n_low, n_high)
        yield _product(function, rng, m, size(rng, 1, TERMS), n, real=number % 2 == 1)
    for odd in range(3):  # one side that no tile divides, beside two that common tiles do
        sides = [128, 32 * int(rng.integers(1, 4)), 128]
        sides[odd] = 2 * int(rng.integers(3, 70)) + 1
        yield _product(function, rng, *sides, real=False)
    for m, n in ((1, 2), (2, 1), (3, 3)):  # fewer than the threads of any block along either axis
        yield _product(function, rng, m, int(rng.integers(1, 6)), n, real=False)


def _product(function: str, rng: np.random.Generator, m: int, k: int, n: int, *, real: bool) -> JudgedCall:
    """A (m, k) times B (k, n): exact for whole numbers, within the rounding of a float32 sum for real ones."""
    shapes = (m, k), (k, n)
    if real:
        a, b = (rng.normal(0, 1, shape).astype(np.float32) for shape in shapes)
    else:
        a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in shapes)
    whole, size = a.astype(np.float64) @ b, np.abs(a.astype(np.float64)) @ np.abs(b)
    most = (k + 4) * FLOAT32 * size if real else np.zeros_like(whole)

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        far = ~(np.abs(outputs["c"] - whole) <= most)
        if not far.any():
            same = np.array_equal(outputs["a"], a) and np.array_equal(outputs["b"], b)
            return "" if same else "a or b has changed"
        row, col = np.argwhere(far)[0]
        return f"c[{row}, {col}] is {outputs['c'][row, col]}, not {whole[row, col]}; {far.sum()} are wrong"

    arguments = {"a": a, "b": b, "c": Uninitialised((m, n), np.float32)}
    return JudgedCall(RunRequest(function, arguments), wrong, f"{m}x{k} times {k}x{n}")

"""What labs about the matrix product C = A @ B ask of a submission: calls with random matrices, and right results.

Small whole numbers above zero have products and sums that are exact in float32: every missing or surplus term shows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autograder.grading.attempt import Attempt, Outputs
from autograder.grading.failures import CheckFailed
from autograder.grading.kept import KEPT
from autograder.records.hazards import Hazard
from autograder.records.runs import RunRequest, Uninitialised


def product(
    attempt: Attempt, function: str, m: int, k: int, n: int, *, real: bool = False, work_limit: int | None = None
) -> RunRequest:
    """A call of `function` on an (m, k) and a (k, n) float32 matrix of whole or real numbers, and an unwritten C."""
    if real:
        a, b = attempt.uniform((m, k)), attempt.uniform((k, n))
    else:
        a, b = attempt.integers(1, 6, (m, k), np.float32), attempt.integers(1, 6, (k, n), np.float32)
    arguments = {"a": a, "b": b, "c": Uninitialised((m, n), np.float32)}
    return RunRequest(function, arguments, work_limit=work_limit)


def expect_product(attempt: Attempt, request: RunRequest, c: np.ndarray) -> None:
    """Fails the check unless `c` is the product, in float64, within the rounding of a float32 sum."""
    a, b = (request.arguments[name] for name in "ab")
    known, terms = attempt.known_of(c), a.shape[1]
    if known is None:
        expected, magnitude = KEPT.of(products_of, a, b)
        attempt.expect_close(c, expected, "c", magnitude=magnitude, terms=terms)
        return
    rows, columns = known.any(axis=1), known.any(axis=0)
    here = np.ix_(rows, columns)
    expected, magnitude = np.zeros(known.shape), np.zeros(known.shape)
    expected[here], magnitude[here] = products_of(a[rows], b[:, columns])
    attempt.expect_close(c, expected, "c", magnitude=magnitude, terms=terms)


def products_of(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The product in float64, and that of the sizes of all numbers: what is added up for each element."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a @ b, np.abs(a) @ np.abs(b)


def verify(attempt: Attempt, request: RunRequest, outputs: Outputs) -> None:
    """What a product's outputs are held to where it is counted or timed: for `Lab.results`."""
    expect_product(attempt, request, outputs["c"])


def expect_none(hazards: Iterable[Hazard]) -> None:
    """Fails the check over any of these hazards; a fault that ended the run is for other checks to report."""
    found = list(hazards)
    if found:
        raise CheckFailed(str(found[0]), hazards=found)

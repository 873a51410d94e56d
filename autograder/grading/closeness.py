"""Comparing a submission's output with the expected one: which elements are wrong, and how to say so in one line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.records.results import Mismatch

SHOWN_MISMATCHES = 5
COMPARED_AT_ONCE = 1 << 18  # elements


@dataclass(frozen=True, eq=False)
class Difference:
    """One comparison, right or wrong. `wrong` and `unwritten` are masks of the arrays' shape (unwritten: or None)."""

    name: str
    got: np.ndarray
    expected: np.ndarray
    wrong: np.ndarray
    unwritten: np.ndarray | None = None
    problem: str = ""  # where shapes or types differ, so that elements cannot be compared

    @property
    def is_close(self) -> bool:
        return not self.problem and not self.wrong.any()

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """The first few wrong elements, in row-major order."""
        if self.problem:
            return ()
        indices = np.argwhere(self.wrong)[:SHOWN_MISMATCHES]
        return tuple(self._mismatch(tuple(int(i) for i in index)) for index in indices)

    def _mismatch(self, index: tuple[int, ...]) -> Mismatch:
        got = math.nan if self.unwritten is not None and self.unwritten[index] else self.got[index].item()
        return Mismatch(self.name, index, self.expected[index].item(), got)


def default_tolerance(dtype: np.dtype, terms: int = 1) -> float:
    """4 * sqrt(terms) machine epsilons of a floating type; 0 for whole numbers.

    Rounding errors of a sum of n terms grow like sqrt(n) in practice (Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 2.8); the factor leaves room for any order of summation.
    """
    if np.dtype(dtype).kind not in "fc":
        return 0.0
    return 4.0 * math.sqrt(max(terms, 1)) * float(np.finfo(dtype).eps)


def compare_arrays(
    name: str,
    got: np.ndarray,
    expected: np.ndarray,
    tolerance: float,
    magnitude: np.ndarray | None = None,
    written: np.ndarray | None = None,
) -> Difference:
    """Compares element by element. One is right if it was written and abs(got - expected) <= tolerance * magnitude."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        problem = f"`{name}` has shape {got.shape}, expected {expected.shape}."
        return Difference(name, got, expected, np.ones((), bool), problem=problem)
    if got.dtype.kind in "fc" or expected.dtype.kind in "fc":
        right = _close(got, expected, tolerance, magnitude)
    else:
        right = got == expected
    unwritten = None if written is None else ~written
    if unwritten is not None:
        right = right & written
    return Difference(name, got, expected, np.asarray(~right), unwritten)


def _close(got: np.ndarray, expected: np.ndarray, tolerance: float, magnitude: np.ndarray | None) -> np.ndarray:
    """A mask of the elements that are near enough. It is worked out piece by piece, since an array may fill the memory."""
    shape = got.shape
    got, expected = got.reshape(shape or (1,)), expected.reshape(shape or (1,))
    floor = _root_mean_square(expected) if magnitude is None else 0.0
    given = None if magnitude is None else np.broadcast_to(np.asarray(magnitude, np.float64), shape).reshape(got.shape)
    right = np.empty(got.shape, bool)
    for rows in _pieces(got.shape):
        size = None if given is None else given[rows]
        right[rows] = _close_piece(got[rows], expected[rows], tolerance, size, floor)
    return right.reshape(shape)


def _close_piece(
    got: np.ndarray, expected: np.ndarray, tolerance: float, magnitude: np.ndarray | None, floor: float
) -> np.ndarray:
    wide = np.complex128 if "c" in got.dtype.kind + expected.dtype.kind else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        exact = expected.astype(wide)
        error = np.abs(got.astype(wide) - exact)
        size = np.maximum(np.abs(exact), floor) if magnitude is None else magnitude
        near: np.ndarray = np.isfinite(error) & (error <= tolerance * size)
        return np.asarray(near | (got == expected))  # an infinity is right only where it is expected; NaN never is


def _root_mean_square(expected: np.ndarray) -> float:
    """Of the finite elements; 0 where there are none."""
    total, count = 0.0, 0
    for rows in _pieces(expected.shape):
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(expected[rows].astype(np.complex128 if expected.dtype.kind == "c" else np.float64))
            finite = size[np.isfinite(size)]
            total += float(np.sum(finite**2))
        count += finite.size
    return math.sqrt(total / count) if count else 0.0


def _pieces(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of an array's rows, each small enough to be compared in little memory."""
    row = math.prod(shape[1:])
    step = max(1, COMPARED_AT_ONCE // max(1, row))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def describe(difference: Difference) -> str:
    """One line about a wrong comparison: the first wrong element and how many there are."""
    if difference.problem:
        return difference.problem
    first, count, size = difference.mismatches[0], int(difference.wrong.sum()), difference.wrong.size
    index = ", ".join(map(str, first.index))
    element = f"{first.array}[{index}]" if index else first.array
    unwritten = 0 if difference.unwritten is None else int((difference.wrong & difference.unwritten).sum())
    if unwritten and difference.unwritten is not None and difference.unwritten[first.index]:
        start = f"{element} was never written, expected {first.expected:.7g}"
    else:
        start = f"{element} is {first.got:.7g}, expected {first.expected:.7g}"
    total = f"{count:,} of {size:,} elements are wrong"
    return f"{start}; {total}{f', {unwritten:,} of them never written' if unwritten else ''}."

"""Comparisons of lane vectors, tuples, texts and dates, counted."""

from __future__ import annotations

import ast

import numpy as np

from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations import structured
from autograder.simgpu.operations.arithmetic import DATES, INTEGER_SLOT, OPERATION_SLOT, date_arithmetic
from autograder.simgpu.operations.callables import Range
from autograder.simgpu.operations.number_values import TEXTS, number
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.values import NUMBERS, Number, Value

ORDINARY = "iubf"  # kinds of dtype whose elements are plain numbers
COMPARISONS = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


def compare(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: Value, right: Value, mask: Mask
) -> Number:
    """One comparison of two values, counted."""
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        if kind in COMPARISONS and left.dtype.kind in ORDINARY and right.dtype.kind in ORDINARY:
            return _compare_numbers(machine, op, kind, left, right, mask)
    else:
        own = structured.operated(machine, op, kind, (left, right), mask)
        if own is not None:
            return number(own[0], op)
    if kind in (ast.Is, ast.IsNot):
        same = left is right
        if getattr(left, "enumeration", None) is not getattr(right, "enumeration", None):
            same = False
        elif all(isinstance(each, (np.ndarray, np.generic, tuple)) for each in (left, right)):
            equal = compare(machine, op, ast.Eq, left, right, mask)  # values have no identity in a kernel
            return equal if kind is ast.Is else np.logical_not(equal)
        return np.bool_(same if kind is ast.Is else not same)
    if isinstance(left, tuple) and isinstance(right, tuple) and kind in (ast.Eq, ast.NotEq):
        equal = np.bool_(len(left) == len(right))
        for a, b in zip(left, right, strict=False):
            equal = np.logical_and(equal, compare(machine, op, ast.Eq, a, b, mask))
        return equal if kind is ast.Eq else np.logical_not(equal)
    if kind not in COMPARISONS:
        found = _is_in(machine, op, left, right, mask)
        return found if kind is ast.In else np.logical_not(found)
    if kind in (ast.Eq, ast.NotEq) and (left is None or right is None):
        return np.bool_((left is right) == (kind is ast.Eq))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _tuples_by_order(machine, op, kind, left, right, mask)
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return _compare_texts(machine, op, kind, left, right, mask)
    if any(isinstance(each, NUMBERS) and each.dtype.kind in TEXTS for each in (left, right)):
        return _compare_texts(machine, op, kind, left, right, mask)
    left, right = number(left, op), number(right, op)
    if left.dtype.kind in DATES or right.dtype.kind in DATES:
        return date_arithmetic(machine, op, COMPARISONS[kind], left, right, mask)
    return _compare_numbers(machine, op, kind, left, right, mask)


def _compare_numbers(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: Number, right: Number, mask: Mask
) -> Number:
    """One comparison of two numbers, counted."""
    row = machine.books.instruction(op, mask)
    is_whole = left.dtype.kind in "iub"
    if left.dtype != right.dtype and not (is_whole and right.dtype.kind in "iub"):  # signed and unsigned compare by value
        wide = nt.common(left.dtype, right.dtype)
        left, right = left.astype(wide), right.astype(wide)
        is_whole = left.dtype.kind in "iub"
    row[INTEGER_SLOT if is_whole else OPERATION_SLOT.get(left.dtype.itemsize, INTEGER_SLOT)] += mask.active
    result: Number = COMPARISONS[kind](left, right)
    return result


def _is_in(machine: Machine, op: Operation, left: Value, right: Value, mask: Mask) -> Number:
    """Whether a value is equal to an item of a tuple, or to a number of a range."""
    found: Number = np.bool_(False)
    if isinstance(right, tuple):
        for each in right:
            found = np.logical_or(found, compare(machine, op, ast.Eq, left, each, mask))
        return found
    if not isinstance(right, Range):
        raise op.fault("`in` in a kernel looks through a tuple or a range only.", "Write a loop that compares with each.")
    value, bounds = number(left, op), [number(each, op) for each in right.bounds]
    zero, one = np.int64(0), np.int64(1)
    start, stop = (zero, bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else one
    machine.books.instruction(op, mask)[INTEGER_SLOT] += mask.active
    up = np.logical_and(np.less_equal(start, value), np.less(value, stop))
    down = np.logical_and(np.less(stop, value), np.less_equal(value, start))
    hits = np.equal(np.remainder(np.subtract(value, start), step), zero)
    return np.logical_and(np.where(np.greater(step, zero), up, down), hits)


def _tuples_by_order(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: tuple[Value, ...], right: tuple[Value, ...], mask: Mask
) -> Number:
    """Tuples compared as Python does: by their first items that differ, else by their lengths."""
    result: Number = COMPARISONS[kind](np.int64(len(left)), np.int64(len(right)))
    strict = ast.Lt if kind in (ast.Lt, ast.LtE) else ast.Gt
    for one, other in reversed(list(zip(left, right, strict=False))):
        equal = compare(machine, op, ast.Eq, one, other, mask)
        result = np.where(equal, result, compare(machine, op, strict, one, other, mask))[()]
    return result


def _compare_texts(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: Value, right: Value, mask: Mask
) -> Number:
    """Texts are equal or not, with each other and with elements of an array of texts."""
    texts = [each for each in (left, right) if isinstance(each, (str, bytes, np.ndarray, np.generic))]
    kinds = {np.asarray(each).dtype.kind for each in texts}
    if kind not in (ast.Eq, ast.NotEq) or len(texts) < 2 or kinds not in ({"U"}, {"S"}):
        raise op.fault("A text can only be compared with a text, by == or !=.")
    machine.books.instruction(op, mask)
    result: Number = COMPARISONS[kind](*(np.asarray(each)[()] for each in texts))
    return result

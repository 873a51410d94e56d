"""Numba's typing rules for kernels, which are not NumPy's: `int32 + int32` is int64, `float32 * 2.5` is float64.

`operator_types(op, a, b)` says in which dtype an operator computes and which it returns. The tests hold every rule
against Numba's own type inference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from typing import TypeVar, cast

import numpy as np

from autograder.simgpu.values.values import Arithmetic, Number

N = TypeVar("N", bound=Number)  # lanes stay lanes, and what all lanes share stays shared

BOOL = np.dtype(np.bool_)
INT32, INT64, UINT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)


def scalar(value: object) -> np.generic:
    """A Python or NumPy number as Numba types a literal or an argument: int64, float64, complex128, bool."""
    if isinstance(value, np.generic):
        return value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return np.int64(value)
        if value < 2**64:
            return np.uint64(value)
        raise OverflowError(f"{value} does not fit in 64 bits")
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, complex):
        return np.complex128(value)
    raise TypeError(type(value).__name__)


@cache
def integer_result(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype in which Numba computes on two integers or booleans: 64 bits, unsigned only if both are."""
    return UINT64 if a.kind == "u" and b.kind == "u" else INT64


def _fits_float32(dtype: np.dtype) -> bool:
    """Integers that Numba converts to float32 unasked (uint16 is not among them, though it would fit)."""
    return dtype.kind in "bi" and dtype.itemsize <= 2 or dtype == np.dtype(np.uint8)


@cache
def common(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype in which Numba computes `a op b` for + - * and comparisons."""
    if a is b and a.kind == "f":
        return a
    if a.kind in "biu" and b.kind in "biu":
        return integer_result(a, b)
    if "c" in (a.kind, b.kind):
        narrow = all(d in (COMPLEX64, FLOAT32, FLOAT16) or _fits_float32(d) for d in (a, b))
        return COMPLEX64 if narrow else COMPLEX128
    floats = [d for d in (a, b) if d.kind == "f"]
    whole = [d for d in (a, b) if d.kind != "f"]
    widest = max(floats, key=lambda d: d.itemsize)
    if whole and not _fits_float32(whole[0]):  # Numba goes to float64 rather than lose digits
        return FLOAT64
    return widest


@cache
def unify(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype of a variable that holds `a` on one path and `b` on another."""
    return a if a == b else np.promote_types(a, b)


_TRUE_DIVISION = (ast.Div,)
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)


def operator_types(op: type[ast.operator], a: np.dtype, b: np.dtype) -> tuple[np.dtype, np.dtype]:
    """(dtype to compute in, dtype of the result) of a binary operator; raises TypeError where Numba has none."""
    kind: type = op
    return _operator_types(kind, a, b)


@cache
def _operator_types(op: type, a: np.dtype, b: np.dtype) -> tuple[np.dtype, np.dtype]:
    whole = a.kind in "biu" and b.kind in "biu"
    if op is ast.Div and whole:
        return FLOAT64, FLOAT64
    if op in _BITWISE:
        if not whole:
            raise TypeError
        if a == BOOL and b == BOOL:
            return BOOL, BOOL
        wide = integer_result(a, b)
        return wide, wide
    if op in (ast.LShift, ast.RShift):
        if not whole:
            raise TypeError
        wide = UINT64 if a.kind == "u" else INT64
        return wide, wide
    if op in (ast.FloorDiv, ast.Mod) and "c" in (a.kind, b.kind):
        raise TypeError
    if op is ast.MatMult:
        raise TypeError
    wide = _power_result(a, b) if op is ast.Pow else common(a, b)
    return wide, wide


def _power_result(base: np.dtype, exponent: np.dtype) -> np.dtype:
    """Of `**`: a whole exponent leaves a float as wide as it is (typing/builtins.py, BinOpPower)."""
    if exponent.kind in "biu" and base.kind == "f":
        return np.promote_types(base, np.float32)
    if base == BOOL and exponent == np.dtype(np.int32):
        return np.dtype(np.float32)  # the first that fits, in Numba's order
    if base.kind in "biu" and exponent.kind in "biu":
        return UINT64 if base.kind == exponent.kind == "u" else INT64
    return common(base, exponent)


def of_range(bounds: Iterable[np.dtype | None]) -> np.dtype:
    """The type of a range's numbers, by those of its bounds as they are written.

    Numba has a range of uint64, which takes unsigned bounds, and beside a uint64 signed ones of up to 16 bits. Else it
    counts in signed numbers: here always in the widest, since what they are added to widens them anyway.
    """
    given = list(bounds)
    if any(each is None for each in given):
        return INT64
    signed = [each for each in given if each is not None and each.kind != "u"]
    narrow = UINT64 in given and all(each.kind == "i" and each.itemsize <= 2 for each in signed)
    return UINT64 if not signed or narrow else INT64


def is_integer(dtype: np.dtype) -> bool:
    return dtype.kind in "iu"


SCALARS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefd")  # classes of single numbers


def to_dtype(value: N, dtype: np.dtype) -> N:
    """A value converted as the GPU converts it: floats are cut towards zero, integers wrap."""
    if dtype.kind in "iu" and value.dtype.kind == "f":
        whole = np.trunc(np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0))
        return cast(N, np.clip(whole, -(2.0**63), 2.0**63 - 1024).astype(np.int64).astype(dtype))
    if dtype == BOOL:
        return cast(N, np.not_equal(value, 0))
    if type(value) in SCALARS:  # for one number, ten times as quick as `astype`
        return cast(N, dtype.type(value))
    return cast(N, value.astype(dtype))


def complex_of(real: Number, imaginary: Number, dtype: np.dtype) -> Arithmetic:
    """Complex numbers of two parts, put together without arithmetic (an infinity times 1j has no real part)."""
    made = np.empty(np.broadcast(real, imaginary).shape, dtype)
    made.real, made.imag = real, imaginary
    return cast(Arithmetic, made[()])

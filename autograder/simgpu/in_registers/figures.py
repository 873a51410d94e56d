"""Numbers of a compiled loop: in which type each is, whether lanes share it, and how operations on them are spelled.

What is compiled must be rounded, and wrap around, as NumPy has it: floats are added, subtracted, multiplied, divided and
rooted, which every processor rounds alike; integers are added as unsigned ones, since signed ones may not wrap around.
Everything else is refused (`NotWritten`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from autograder.simgpu.in_registers.complex_numbers import product_of, square_of
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.numba_types import BOOL, COMPLEX64, FLOAT32, FLOAT64, INT64, UINT64

KEPT = frozenset(np.dtype(each) for each in "? b h i q B H I Q f d F D".split())  # the dtypes that numbers may have
COMPARED: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
WRAPPING: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
OF_BITS: dict[type, str] = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
ROUNDED: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class Sharing(IntEnum):
    """Whether the simulated GPU has a number once for all lanes, or by lane, or as it comes."""

    SHARED = 0
    MAYBE = 1
    BY_LANE = 2


@dataclass(frozen=True)
class LaneNumber:
    """A number in what is compiled: the expression that gives it, its type, and who has it."""

    code: str
    dtype: np.dtype
    sharing: Sharing
    literal: int | None = None  # a whole number that is written there
    origin: object = None  # of one that no round changes: where it is from

    @property
    def kind(self) -> tuple[np.dtype, Sharing]:
        return self.dtype, self.sharing


def together(*figures: LaneNumber) -> Sharing:
    """Who has what is computed from these."""
    kinds = {each.sharing for each in figures}
    return Sharing.BY_LANE if Sharing.BY_LANE in kinds else Sharing.MAYBE if Sharing.MAYBE in kinds else Sharing.SHARED


def either(one: Sharing, other: Sharing, *, is_divided: bool) -> Sharing:
    """Who has a number that was assigned on one of two paths; `is_divided`: lanes may have gone both."""
    if one == other == Sharing.SHARED:
        return Sharing.MAYBE if is_divided else Sharing.SHARED
    return one if one == other else Sharing.MAYBE


def constant(value: np.generic) -> LaneNumber:
    """A number that is written in the kernel."""
    dtype = value.dtype
    if dtype not in KEPT:
        raise NotWritten(f"a number of the type {dtype}")
    whole = int(value) if dtype.kind in "iu" else None
    if dtype == BOOL:
        code = repr(bool(value))
    elif whole is not None:
        code = f"np.{dtype.name}({whole})"
    elif not np.isfinite(value):
        raise NotWritten("a constant that is no number")
    elif dtype.kind == "c":
        half = value.real.dtype.name
        code = f"complex(np.{half}({float(value.real)!r}), np.{half}({float(value.imag)!r}))"
    else:
        code = f"np.{dtype.name}({float(value)!r})"
    return LaneNumber(code, dtype, Sharing.SHARED, whole)


def converted(figure: LaneNumber, dtype: np.dtype) -> str:
    """A number in another type, as NumPy's `astype` has it."""
    if figure.dtype == dtype:
        return figure.code
    if dtype == BOOL:
        return f"({figure.code} != 0)"
    if dtype.kind == "c":
        half = half_of(dtype).name
        if figure.dtype.kind == "c":
            return f"complex(np.{half}({figure.code}.real), np.{half}({figure.code}.imag))"
        return f"complex(np.{half}({figure.code}), np.{half}(0))"
    if figure.dtype.kind == "f" and dtype.kind in "iu":
        raise NotWritten("a float that is cut unasked")
    return f"np.{dtype.name}({figure.code})"


def half_of(dtype: np.dtype) -> np.dtype:
    """The type of a complex number's parts."""
    return FLOAT32 if dtype == COMPLEX64 else FLOAT64


def wrapping(symbol: str, a: str, b: str, dtype: np.dtype) -> str:
    """`a + b` of 64-bit integers, which may wrap around."""
    code = f"np.uint64({a}) {symbol} np.uint64({b})"
    return f"np.int64({code})" if dtype == INT64 else code


@dataclass(frozen=True)
class Wording:
    """How a result is written; where `trouble` holds, the lane needs a closer look."""

    code: str
    trouble: str = ""


def arithmetic(kind: type[ast.operator], left: LaneNumber, right: LaneNumber) -> tuple[Wording, np.dtype]:
    """`left op right` in Numba's types, and the type of the result."""
    try:
        compute, result = nt.operator_types(kind, left.dtype, right.dtype)
    except (TypeError, KeyError):
        raise NotWritten("an operator") from None
    if compute not in KEPT or compute != result:
        raise NotWritten("an operator")
    if kind is ast.Pow:
        return _square(left, right, compute), result
    a, b = converted(left, compute), converted(right, compute)
    if compute.kind == "f":
        if kind not in ROUNDED:
            raise NotWritten("an operator of floats that not every processor rounds alike")
        return Wording(f"{a} {ROUNDED[kind]} {b}"), result
    if compute.kind == "c":
        return _of_complex(kind, a, b, compute), result
    if compute == BOOL:
        return Wording(f"{a} {OF_BITS[kind]} {b}"), result
    return _of_integers(kind, right, a, b, compute), result


def _of_complex(kind: type[ast.operator], a: str, b: str, compute: np.dtype) -> Wording:
    if kind in (ast.Add, ast.Sub):
        return Wording(f"{a} {ROUNDED[kind]} {b}")
    if kind is not ast.Mult or not product_of(compute):
        raise NotWritten("an operator of complex numbers that not every processor rounds alike")
    return Wording(f"{product_of(compute)}({a}, {b})")


def _square(left: LaneNumber, right: LaneNumber, compute: np.dtype) -> Wording:
    """`x ** 2`, which NumPy multiplies."""
    if right.literal != 2:
        raise NotWritten("a power")
    a = converted(left, compute)
    if compute.kind == "c":
        if not square_of(compute):
            raise NotWritten("a power")
        return Wording(f"{square_of(compute)}({a}, {a})")
    return Wording(f"{a} * {a}" if compute.kind == "f" else wrapping("*", a, a, compute))


def _of_integers(kind: type[ast.operator], right: LaneNumber, a: str, b: str, compute: np.dtype) -> Wording:
    if kind in WRAPPING:
        return Wording(wrapping(WRAPPING[kind], a, b, compute))
    if kind in OF_BITS:
        return Wording(f"{a} {OF_BITS[kind]} {b}")
    if kind in (ast.LShift, ast.RShift):
        trouble = "" if right.literal is not None and 0 <= right.literal < 64 else f"{b} < 0 or {b} > 63"
        if kind is ast.RShift:
            return Wording(f"{a} >> {b}", trouble)
        shifted = f"np.uint64({a}) << np.uint64({b})"
        return Wording(f"np.int64({shifted})" if compute == INT64 else shifted, trouble)
    if kind in (ast.FloorDiv, ast.Mod):
        symbol = "//" if kind is ast.FloorDiv else "%"
        if right.literal is not None and right.literal > 0:
            return Wording(f"{a} {symbol} {b}")
        return Wording(f"{a} {symbol} {b}", f"{b} == 0" if compute == UINT64 else f"{b} == 0 or {b} == -1")
    raise NotWritten("an operator")


def comparison(kind: type[ast.cmpop], left: LaneNumber, right: LaneNumber) -> str:
    """`left op right`; integers compare by value, whatever their types."""
    if kind not in COMPARED:
        raise NotWritten("a comparison")
    one, other = left.dtype, right.dtype
    if one.kind in "iub" and other.kind in "iub":
        if UINT64 in (one, other) and "i" in (one.kind, other.kind):
            return _of_signed_and_unsigned(kind, left, right)
        wide = UINT64 if UINT64 in (one, other) else INT64
    else:
        wide = nt.common(one, other)
    if wide not in KEPT or wide.kind == "c" and kind not in (ast.Eq, ast.NotEq):
        raise NotWritten("a comparison")
    return f"{converted(left, wide)} {COMPARED[kind]} {converted(right, wide)}"


def _of_signed_and_unsigned(kind: type[ast.cmpop], left: LaneNumber, right: LaneNumber) -> str:
    """A comparison in which a negative number is less than every other."""
    signed = left if left.dtype.kind == "i" else right
    a, b = converted(left, UINT64), converted(right, UINT64)
    is_less = kind is ast.NotEq or kind in ((ast.Lt, ast.LtE) if signed is left else (ast.Gt, ast.GtE))
    return f"({signed.code} {'< 0 or' if is_less else '>= 0 and'} {a} {COMPARED[kind]} {b})"


def opposite(figure: LaneNumber) -> LaneNumber:
    """`-x`: the operand keeps its width, and the result is widened."""
    if figure.dtype.kind in "fc":
        return replace(figure, code=f"-{figure.code}", literal=None)
    own = INT64 if figure.dtype == BOOL else figure.dtype
    wide = UINT64 if own.kind == "u" else INT64
    code = f"np.int64(np.uint64(0) - np.uint64({converted(figure, own)}))"
    literal = None if figure.literal is None or own.kind == "u" else -figure.literal
    return replace(figure, code=f"np.{wide.name}(np.{own.name}({code}))", dtype=wide, literal=literal)


def inverted(figure: LaneNumber) -> LaneNumber:
    """`~x`."""
    if figure.dtype.kind not in "iu":
        raise NotWritten("an operator")
    wide = UINT64 if figure.dtype.kind == "u" else INT64
    code = f"np.{wide.name}(np.{figure.dtype.name}(~np.int64({figure.code})))"
    return replace(figure, code=code, dtype=wide, literal=None)


def cast(figure: LaneNumber, dtype: np.dtype) -> Wording:
    """`np.int32(x)`, `float(x)`: floats are cut towards zero, integers wrap; `to_dtype` says what is beyond."""
    if figure.dtype.kind == "f" and dtype.kind in "iu":
        return Wording(f"np.{dtype.name}(np.int64({figure.code}))", f"not (-9e18 < {figure.code} < 9e18)")
    if figure.dtype.kind == "c" and dtype.kind != "c":
        raise NotWritten("a complex number that becomes another one")
    return Wording(converted(figure, dtype))


# Functions of floats that every processor rounds alike.
EXACT: dict[Callable[..., object], str] = {np.sqrt: "np.sqrt({})", np.abs: "abs({})"}
DTYPES = (FLOAT32, FLOAT64)

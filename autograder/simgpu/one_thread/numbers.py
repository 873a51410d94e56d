"""Numbers of one thread as Python writes them: how operations on them are spelled, and in which type they are kept.

Integers and bools are Python's, so that nothing is allocated and no type converted; what wraps around is cut to its width
where it could have left it. A float64 is a Python float, which is the same thing. A float32 is NumPy's scalar: no number of
Python's is rounded as it is. What has no spelling here gives None, and is carried out by the operation itself.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

import numpy as np

from autograder.simgpu.operations.long_quotients import SURELY
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.numba_types import BOOL, FLOAT32, FLOAT64, INT64

KEPT = frozenset(np.dtype(each) for each in "? b h i q B H I Q f d".split())  # the dtypes that numbers may have
LARGEST_EXTENT = 2**48  # of an array: no memory has more elements
SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
EXACT = 2**53  # integers below are the same number as a float64


@cache
def limits(dtype: np.dtype) -> tuple[int, int]:
    """The least and the largest value of an integer type, or of bool."""
    if dtype == BOOL:
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def is_whole(dtype: np.dtype) -> bool:
    return dtype.kind in "iub"


@dataclass(frozen=True)
class Number:
    """A number while the loop goes round: the Python expression that gives it (a name or a literal), and its type.

    `by_lane`: to the simulated GPU it is a lane vector; of integers, `low` and `high` are what it lies between.
    """

    code: str
    dtype: np.dtype
    by_lane: bool = False
    low: int = 0
    high: int = 0

    @classmethod
    def of(cls, code: str, dtype: np.dtype, by_lane: bool = False) -> Number:
        """One of which only the type is known."""
        low, high = limits(dtype) if is_whole(dtype) else (0, 0)
        return cls(code, dtype, by_lane, low, high)

    @property
    def kind(self) -> tuple[np.dtype, bool]:
        return self.dtype, self.by_lane

    def called(self, code: str) -> Number:
        return Number(code, self.dtype, self.by_lane, self.low, self.high)


def literal(value: np.generic) -> Number | None:
    """A constant; None where Python cannot write it as a literal."""
    dtype = value.dtype
    if is_whole(dtype):
        whole = int(value.item())
        code = repr(value.item()) if dtype == BOOL else f"({whole})" if whole < 0 else str(whole)
        return Number(code, dtype, False, whole, whole)
    if dtype == FLOAT64 and np.isfinite(value):
        return Number.of(f"({value.item()!r})", dtype)
    return None


def wrapped(code: str, dtype: np.dtype) -> str:
    """An integer cut to its width, as two's complement has it."""
    if dtype.kind == "u":
        return f"{code} & {limits(dtype)[1]}"
    half = limits(dtype)[1] + 1
    return f"({code} + {half} & {2 * half - 1}) - {half}"


@dataclass(frozen=True)
class Spelling:
    """How a result is written: `code`; where `condition` holds (empty: always), else the operation does it itself."""

    code: str
    condition: str = ""
    low: int = 0
    high: int = 0
    is_cut: bool = True  # an integer that cannot be outside its type


def converted(number: Number, dtype: np.dtype) -> str | None:
    """The number in another type, as NumPy's `astype` has it; None where that is a cut of a float."""
    if number.dtype == dtype:
        return number.code
    if is_whole(number.dtype) and is_whole(dtype):
        low, high = limits(dtype)
        code = f"int({number.code})" if number.dtype == BOOL else number.code
        return code if low <= number.low and number.high <= high else f"({wrapped(code, dtype)})"
    if dtype == FLOAT64:
        return f"float({number.code})"
    if dtype == FLOAT32:
        if is_whole(number.dtype):  # by way of float64 it could be rounded twice
            wide = INT64 if number.dtype.kind != "u" else nt.UINT64
            return f"float32({number.code})" if _is_exact(number) else f"{wide.name}({number.code}).astype(float32)"
        return f"float32({number.code})"
    return None


def _is_exact(number: Number) -> bool:
    return -EXACT <= number.low and number.high <= EXACT


def arithmetic(
    kind: type[ast.operator], left: Number, right: Number, is_divided_in_parts: bool
) -> Spelling | None:
    """`left op right` in Numba's types."""
    try:
        compute, result = nt.operator_types(kind, left.dtype, right.dtype)
    except (TypeError, KeyError):
        return None
    if compute not in KEPT or kind not in SYMBOLS:
        return None
    a, b = converted(left, compute), converted(right, compute)
    if a is None or b is None:
        return None
    if compute.kind == "f":
        return _of_floats(kind, a, b, compute, right, is_divided_in_parts)
    if compute == BOOL:
        return Spelling(f"{a} {SYMBOLS[kind]} {b}", low=0, high=1)
    return _of_integers(kind, left, right, a, b, compute, is_divided_in_parts)


def _of_floats(
    kind: type[ast.operator], a: str, b: str, compute: np.dtype, right: Number, is_divided_in_parts: bool
) -> Spelling | None:
    if kind in (ast.Add, ast.Sub, ast.Mult):
        return Spelling(f"{a} {SYMBOLS[kind]} {b}")
    if kind is ast.Div and is_divided_in_parts:  # others count more: see operations/long_quotients.py
        low, high = SURELY
        size = f"{low!r} < abs(quotient := {a} / {b}) < {high!r} and {low!r} < abs({b}) < {high!r}"
        return Spelling("quotient", condition=size if compute == FLOAT32 else f"{right.code} and {size}")
    if kind is ast.Div:
        return Spelling(f"{a} / {b}", condition="" if compute == FLOAT32 else right.code)
    return None


def _of_integers(
    kind: type[ast.operator], left: Number, right: Number, a: str, b: str, compute: np.dtype, is_divided_in_parts: bool
) -> Spelling | None:
    low, high = limits(compute)
    fits = low <= left.low and left.high <= high and low <= right.low and right.high <= high
    if kind in (ast.FloorDiv, ast.Mod):
        conditions = [] if right.low > 0 or right.high < 0 else [right.code]
        if is_divided_in_parts:  # lanes with more bits count otherwise: see `_count_parts`
            wide = [each for each in (left, right) if each.low < 0 or each.high >= 2**32]
            conditions += [f"0 <= {each.code} < 4294967296" for each in wide]
        if right.low <= -1 <= right.high and kind is ast.FloorDiv and low < 0:
            conditions.append(f"{right.code} != -1")  # the least integer has no opposite
        known = right.low if right.low == right.high and right.low > 0 else 0
        bounds = (low, high)
        if kind is ast.Mod and known:
            bounds = 0, known - 1
        elif known and fits:
            bounds = left.low // known, left.high // known
        return Spelling(f"{a} {SYMBOLS[kind]} {b}", " and ".join(conditions), *bounds)
    if kind in (ast.LShift, ast.RShift):
        condition = "" if 0 <= right.low and right.high < 64 else f"0 <= {right.code} < 64"
        if kind is ast.RShift:
            return Spelling(f"{a} >> {b}", condition, low, high)
        return Spelling(f"{a} << {b}", condition, low, high, is_cut=False)
    if kind in (ast.BitAnd, ast.BitOr, ast.BitXor):
        if fits and kind is ast.BitAnd and min(left.high, right.high) >= 0 and max(left.low, right.low) >= 0:
            nonnegative = [each.high for each in (left, right) if each.low >= 0]
            return Spelling(f"{a} & {b}", low=0, high=min(nonnegative))
        return Spelling(f"{a} {SYMBOLS[kind]} {b}", low=low, high=high)
    if not fits:
        return Spelling(f"{a} {SYMBOLS[kind]} {b}", low=low, high=high, is_cut=False)
    if kind is ast.Add:
        bounds = left.low + right.low, left.high + right.high
    elif kind is ast.Sub:
        bounds = left.low - right.high, left.high - right.low
    else:
        products = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
        bounds = min(products), max(products)
    if low <= bounds[0] and bounds[1] <= high:
        return Spelling(f"{a} {SYMBOLS[kind]} {b}", "", *bounds)
    return Spelling(f"{a} {SYMBOLS[kind]} {b}", low=low, high=high, is_cut=False)


def comparison(kind: type[ast.cmpop], left: Number, right: Number) -> str | None:
    """`left op right`; integers compare by value, whatever their types."""
    if kind not in SYMBOLS:
        return None
    a, b = left.code, right.code
    if left.dtype != right.dtype and not (is_whole(left.dtype) and is_whole(right.dtype)):
        wide = nt.common(left.dtype, right.dtype)
        one, other = converted(left, wide), converted(right, wide)
        if one is None or other is None:
            return None
        a, b = one, other
    return f"{a} {SYMBOLS[kind]} {b}"


def opposite(number: Number) -> Spelling | None:
    """`-x`: the operand keeps its width, and the result is widened."""
    if number.dtype == FLOAT64 or number.dtype == FLOAT32:
        return Spelling(f"-{number.code}")
    if not is_whole(number.dtype):
        return None
    own = INT64 if number.dtype == BOOL else number.dtype
    code = f"int({number.code})" if number.dtype == BOOL else number.code
    low, high = limits(own)
    if low <= -number.high and -number.low <= high:
        return Spelling(f"-{code}", "", -number.high, -number.low)
    return Spelling(f"({wrapped(f'-{code}', own)})", "", low, high)


def inverted(number: Number) -> Spelling | None:
    """`~x`."""
    if number.dtype.kind not in "iu":
        return None
    low, high = limits(number.dtype)
    return Spelling(f"~{number.code}" if number.dtype.kind == "i" else f"{number.code} ^ {high}", "", low, high)


def cast_to_float(number: Number, dtype: np.dtype) -> Spelling | None:
    """`np.float32(x)`, `float(x)`."""
    code = converted(number, dtype)
    return None if code is None or dtype not in (FLOAT32, FLOAT64) else Spelling(code)


def cast_to_whole(number: Number, dtype: np.dtype) -> Spelling | None:
    """`int(x)`, `np.int32(x)`: floats are cut towards zero, integers wrap; `to_dtype` says what is beyond."""
    if dtype == BOOL:
        return Spelling(f"{number.code} != 0", low=0, high=1)
    low, high = limits(dtype)
    if is_whole(number.dtype):
        code = converted(number, dtype)
        bounds = (number.low, number.high) if low <= number.low and number.high <= high else (low, high)
        return None if code is None else Spelling(code, "", *bounds)
    near = f"-9e18 < {number.code} < 9e18"
    if dtype == INT64:
        return Spelling(f"int({number.code})", near, low, high)
    return Spelling(f"({wrapped(f'int({number.code})', dtype)})", near, low, high)

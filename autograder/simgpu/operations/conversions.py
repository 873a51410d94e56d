"""Python's conversions and builtins inside kernels: int, float, bool, complex, round, len, range, isinstance, print."""

from __future__ import annotations

from functools import cache
from typing import TypeGuard

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Reference
from autograder.simgpu.operations.callables import Enumerated, Range, Zipped
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Bound, Cut, Integer, Items, Number, Real, Value
from autograder.simgpu.operations.registry import VALUES, Intrinsic
from autograder.simgpu.operations.slicing import lengths_of
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import complex_of, to_dtype
from autograder.simgpu.values.values import NUMBERS, Arithmetic, Lanes

_ZERO = np.int64(0)


@cache
def conversion(wanted: TypeReference) -> Intrinsic:
    """A call of a scalar type: `np.float32(x)`."""

    def convert(call: Call, x: Number, /) -> Arithmetic:
        if x.dtype.kind == "c" and wanted.dtype.kind not in "cb":
            raise call.fault(f"A complex number cannot become {wanted.dtype}.", "Take its .real or .imag.")
        if x.dtype == wanted.dtype or x.dtype.kind in "iub" and wanted.dtype.kind in "iu":  # a register is read otherwise
            call.count_left_out("conversions")
        elif not call.is_of_a_literal:  # those cost nothing
            call.count("conversions")
        return to_dtype(x, wanted.dtype)

    return Intrinsic(wanted.path, convert)


def _cast(call: Call, value: Arithmetic, kinds: str, dtype: np.dtype) -> Arithmetic:
    if value.dtype.kind in kinds:
        return value
    call.count("conversions")
    return to_dtype(value, dtype)


@intrinsic("builtins.int")
def to_int(call: Call, x: Real, /) -> Arithmetic:
    """The number cut to an integer."""
    return _cast(call, x, "iu", nt.INT64)


@intrinsic("builtins.float")
def to_float(call: Call, x: Value, /) -> Arithmetic:
    """The number as a float; of a text what it says, which the compiler reads: `float("inf")`."""
    if isinstance(x, str):
        try:
            return np.float64(x)
        except ValueError:
            raise call.fault(
                f"float() cannot read {x!r:.40} as a number.", "Write float('inf'), or a number."
            ) from None
    number = call.number(x)
    if number.dtype.kind == "c":
        raise call.fault("A complex number cannot become a float.", "Take its .real or .imag.")
    if number.dtype.kind == "b":
        raise call.fault("Numba has no float() of a bool.", "Write float(int(...)), or np.float32(...).")
    return _cast(call, number, "f", nt.FLOAT64)


@intrinsic("builtins.bool")
def to_bool(call: Call, x: Value, /) -> Arithmetic:
    """Whether the value counts as true."""
    return np.bool_(len(x) > 0) if isinstance(x, (str, bytes)) else call.truth(x)


@intrinsic("builtins.complex")
def to_complex(call: Call, real: Number, imag: Number | None = None, /) -> Arithmetic:
    """A complex number of its two parts, or of one number."""
    if imag is None and real.dtype.kind == "c":
        return real
    imaginary = np.float64(0) if imag is None else imag
    if "c" in (real.dtype.kind, imaginary.dtype.kind):
        raise call.fault("The two parts of a complex number must not be complex.")
    narrow = all(part.dtype == nt.FLOAT32 for part in (real, real if imag is None else imag))
    return complex_of(real, imaginary, nt.COMPLEX64 if narrow else nt.COMPLEX128)


@intrinsic("builtins.round")
def rounded(call: Call, number: Real, ndigits: Cut | None = None, /) -> Arithmetic:
    """The nearest integer (int64), or the nearest number of so many digits after the point."""
    call.count("conversions")
    if ndigits is None:
        return np.rint(number).astype(np.int64)
    if isinstance(ndigits, np.ndarray):
        raise call.fault("The number of digits must be the same for every thread here.")
    scale = 10.0 ** int(ndigits)
    scaled = number.astype(np.float64) * scale
    cut = (np.rint(scaled) / scale).astype(number.dtype)
    return np.where(np.isfinite(scaled), cut, number)  # too large to have digits after the point


@intrinsic("builtins.len")
def length(call: Call, obj: Value, /) -> np.int64 | Lanes:
    """How many rows an array has, or items a tuple."""
    if isinstance(obj, View) and obj.ndim:
        return lengths_of(obj)[0]
    if isinstance(obj, (tuple, str)):
        return np.int64(len(obj))
    if isinstance(obj, Range):
        bounds = [call.number(each) for each in obj.bounds]
        if not any(isinstance(each, np.ndarray) for each in bounds):
            return np.int64(len(range(*map(int, bounds))))
    raise call.fault(f"len() needs an array or a tuple, not {call.described(obj)}.", "An array's size is x.size.")


@intrinsic("builtins.tuple")
def to_tuple(call: Call, iterable: Value = (), /) -> Value:
    """A tuple as it is."""
    if not isinstance(iterable, tuple):
        raise call.fault(f"tuple() takes a tuple in a kernel, not {call.described(iterable)}.", "Write (x, y).")
    return iterable


@intrinsic("builtins.range")
def keep_range(call: Call, start: Cut, stop: Cut | None = None, step: Cut | None = None, /) -> Range:
    """A range() that is not looped over at once."""
    return Range(tuple(each for each in (start, stop, step) if each is not None))


@intrinsic("builtins.slice")
def keep_slice(call: Call, first: Bound, *others: Bound) -> slice:
    """`start:stop:step`, kept before something is indexed with it; of one value, its end."""
    if len(others) > 2:
        raise call.fault("`slice` takes 1 to 3 arguments.", "Write slice(start, stop, step).")
    return slice(first, *others) if others else slice(first)


@intrinsic("builtins.enumerate")
def enumerated(call: Call, iterable: Items, start: Integer = _ZERO, /) -> Enumerated:
    """An array or a tuple, numbered."""
    return Enumerated(iterable, start)


@intrinsic("builtins.zip")
def zipped(call: Call, *iterables: Items) -> Zipped:
    """Arrays and tuples, side by side."""
    return Zipped(iterables)


# -- isinstance ---------------------------------------------------------------------------------------------------

_KINDS_OF_PYTHONS = {"builtins.int": "iu", "builtins.float": "f", "builtins.complex": "c", "builtins.bool": "b"}


@intrinsic("builtins.isinstance")
def is_instance(call: Call, obj: Value, classinfo: Value, /) -> np.bool_:
    """Whether a value is of a type, which the compiler knows."""
    classes = classinfo if isinstance(classinfo, tuple) else (classinfo,)
    return np.bool_(any([_is_one(call, obj, each) for each in classes]))


def _is_one(call: Call, value: Value, of: Value) -> bool:
    dtype = value.dtype if isinstance(value, NUMBERS) else None
    if isinstance(of, TypeReference):
        return dtype is not None and dtype == of.dtype
    path = of.path if isinstance(of, Reference) else ""
    if path == "builtins.tuple":
        return isinstance(value, tuple)
    if path not in _KINDS_OF_PYTHONS:
        raise call.fault("isinstance() needs a type, or a tuple of types.", "Write int, float, complex, bool or tuple.")
    return dtype is not None and dtype.kind in _KINDS_OF_PYTHONS[path]


# -- print --------------------------------------------------------------------------------------------------------


@intrinsic("builtins.print")
def print_lanes(call: Call, *values: Value) -> None:
    """print() inside a kernel: a line per active lane, in lane order, through the launch's output."""
    for value in values:
        if not _can_be_printed(value):
            raise call.fault(
                f"A kernel can print numbers and texts, and not {call.described(value)}: Numba has no printing for it.",
                "Print its elements one by one.",
            )
    if call.is_silent:
        return
    for lane in call.mask.where:
        call.print_line(" ".join(_printed(call, each, lane) for each in values))


def _is_three(value: Value) -> TypeGuard[Reference]:
    """Whether a value is cuda.threadIdx, or another of the three-dimensional names, as a whole."""
    return isinstance(value, Reference) and f"{value.path}.x" in VALUES


def _can_be_printed(value: Value) -> bool:
    """What numba-cuda prints: numbers that are not complex, texts, tuples of them, and cuda.threadIdx as a whole."""
    if isinstance(value, tuple):
        return all(map(_can_be_printed, value))
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biuf"
    return isinstance(value, str) or _is_three(value)


def _printed(call: Call, value: Value, lane: int) -> str:
    """One argument of print() as one lane shows it."""
    if isinstance(value, tuple):
        shown = ", ".join(_printed(call, each, lane) for each in value)
        return f"({shown},)" if len(value) == 1 else f"({shown})"
    if _is_three(value):
        return _printed(call, tuple(call.value_of(f"{value.path}.{axis}") for axis in "xyz"), lane)
    return str(value[lane] if isinstance(value, np.ndarray) else value)

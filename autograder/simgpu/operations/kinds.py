"""The kinds of value that a function of the library takes: what its parameters are annotated with.

    def popc(call: Call, x: Integer, /) -> np.int32: ...

A kind knows a value of its own at a glance, converts what Numba would convert, and refuses everything else. Which kind a
parameter has is read off Numba's typing (tests/test_simgpu_signatures.py holds every function against it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from autograder.errors import FaultKind, KernelFault
from autograder.language.numeric_types import TYPES, TypeReference
from autograder.language.program import Reference
from autograder.simgpu.operations.callables import Enumerated, Range, Zipped
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values import values
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import NUMBERS, Arithmetic, Whole

_REAL, _WHOLE, _ANY = (
    "biuf",
    "biu",
    "biufcmM",
)  # NumPy's letters for kinds of dtype: bool, int, uint, float, complex, dates


class NotTaken(Exception):
    """A value is not of the kind that a parameter takes; the text says what it is instead, or nothing."""


@dataclass(frozen=True)
class ArgumentPlace:
    """Where in a call an argument stands: its parameter, and its position or, where it is given by name, None."""

    parameter: str
    position: int | None


class Caller(Protocol):
    """What a kind asks of the call that it takes an argument of (calls.Call)."""

    name: str

    def number(self, value: values.Value) -> Arithmetic:
        """The value as a number; raises a fault where it is none."""

    def varying(self, place: ArgumentPlace) -> str:
        """What in an argument is no constant to the compiler; empty where all of it is."""
        ...

    def check_one_length(self, view: values.Value) -> None:
        """Refuses an array whose length differs from thread to thread."""

    def described(self, value: values.Value) -> str:
        """A value of a wrong kind, in words."""
        ...

    def fault(self, message: str, remedy: str = "", kind: FaultKind = "") -> KernelFault:
        """What to raise where the call is refused."""
        ...


Convert = Callable[[Caller, values.Value, ArgumentPlace], object]


@dataclass(frozen=True)
class Kind:
    """What a parameter takes: numbers of the dtype kinds in `plain` as they are, and what `convert` makes fit."""

    words: str  # "an integer"
    plain: str
    convert: Convert

    def take(self, call: Caller, value: values.Value, place: ArgumentPlace) -> object:
        """The value as this kind; raises NotTaken, or a fault that says more."""
        if isinstance(value, NUMBERS) and value.dtype.kind in self.plain:
            return value
        return self.convert(call, value, place)


def as_number(plain: str) -> Callable[[Caller, values.Value, ArgumentPlace], Arithmetic]:
    """Refuses what is no number, or a number of another kind than `plain`."""

    def convert(call: Caller, value: values.Value, place: ArgumentPlace) -> Arithmetic:
        number = call.number(value)
        if number.dtype.kind not in plain:
            raise NotTaken(number.dtype.name)
        return number

    return convert


def _cut(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    """A float cut to an integer, as Numba casts it where a function is declared for integers."""
    number = as_number(_REAL)(call, value, place)
    return number if number.dtype.kind in _WHOLE else nt.to_dtype(number, nt.INT64)


def _bound(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    """Where a slice begins or ends: an integer, or nothing."""
    return None if value is None else _cut(call, value, place)


def _vote_integer(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    """An integer that is no bool, which Numba does not take for one in a vote of the block."""
    if isinstance(value, NUMBERS) and value.dtype == nt.BOOL:
        raise call.fault(f"`{call.name}` takes an integer, and Numba takes no bool for one here.", "Write int(...).")
    return as_number("iu")(call, value, place)


def _of_types(*types: type) -> Convert:
    def convert(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
        if not isinstance(value, types):
            raise NotTaken
        return value

    return convert


def _index(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    """One index, or a tuple of them."""
    if isinstance(value, tuple):
        return tuple(_cut(call, each, place) for each in value)
    return _cut(call, value, place)


def _constant(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    """An integer that the compiler knows."""
    number = as_number("iu")(call, value, place)
    if call.varying(place) or not isinstance(number, np.generic):
        raise NotTaken("a value that is known only when the kernel runs")
    return number


def _shape(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    """The extents of an array that a kernel declares: integers that the compiler knows."""
    extents = value if isinstance(value, tuple) else (value,)
    varying, integers = call.varying(place), [extent for extent in extents if isinstance(extent, np.integer)]
    if varying or len(integers) < len(extents):
        what = f"`{varying}`" if varying else "this"
        raise call.fault(
            f"The shape of a shared or local array must be a constant; {what} is not.",
            "Write a number, or a name that is defined outside the kernel and worked out there.",
            "shape_not_constant",
        )
    if any(int(extent) < 0 for extent in integers):
        raise call.fault("The shape of an array cannot be negative.")
    return value


# Python's types, which the compiler does not take for the elements of an array: what to write instead.
_INSTEAD_OF_PYTHONS = {
    "builtins.float": "np.float32, or np.float64 for numbers of 8 bytes, which is what Python's float holds",
    "builtins.int": "np.int32, or np.int64 for numbers of 8 bytes",
    "builtins.bool": "np.bool_",
    "builtins.complex": "np.complex64",
}
_DTYPES = frozenset(TYPES.values())
# "float32", "f4", "<f4": as NumPy reads them, in the order of bytes that a GPU has.
_BY_NAME = {name: np.dtype(each) for name, each in np.sctypeDict.items() if np.dtype(each) in _DTYPES} | {
    code: each for each in _DTYPES for code in (each.char, each.str, each.str[1:])
}


def _element_type(call: Caller, value: values.Value, place: ArgumentPlace) -> np.dtype:
    """The type of an array's elements that a kernel names, as the compiler takes it: no type of Python's."""
    if isinstance(value, TypeReference):
        return value.dtype
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    what = f"The {place.parameter} that {call.name} takes"
    path = value.path if isinstance(value, Reference) else ""
    if path in _INSTEAD_OF_PYTHONS:
        raise call.fault(
            f"{what} must be a type such as np.float32; Python's `{path.removeprefix('builtins.')}` is none to the "
            "GPU's compiler.", f"Write {_INSTEAD_OF_PYTHONS[path]}.", "not_an_element_type",
        )  # fmt: skip
    raise call.fault(f"{what} must be a type such as np.float32.", kind="not_an_element_type")


def _named_type(call: Caller, value: values.Value, place: ArgumentPlace) -> np.dtype:
    if isinstance(value, str):
        raise call.fault(f"`{call.name}` takes a type such as np.float32, and no string, in a kernel.")
    return _element_type(call, value, place)


def _array_or_number(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    if not isinstance(value, View):
        return as_number(_ANY)(call, value, place)
    call.check_one_length(value)
    return value


def _anything(call: Caller, value: values.Value, place: ArgumentPlace) -> object:
    return value


ANY_NUMBER = Kind("a number", _ANY, as_number(_ANY))

Value = Annotated[values.Value, Kind("anything", _ANY + "SU", _anything)]
Number = Annotated[Arithmetic, ANY_NUMBER]
Real = Annotated[Arithmetic, Kind("a number that is not complex", _REAL, as_number(_REAL))]
Integer = Annotated[Whole, Kind("an integer", _WHOLE, as_number(_WHOLE))]
Counted = Annotated[Whole, Kind("an integer", "iu", _vote_integer)]
Cut = Annotated[Whole, Kind("an integer", _WHOLE, _cut)]  # a float is cut to one
Bound = Annotated[Whole | None, Kind("an integer or None", _WHOLE, _bound)]
Dimensions = Annotated[np.integer[Any], Kind("a constant", "", _constant)]
Index = Annotated[values.Number | values.Indices, Kind("an index", "", _index)]
Array = Annotated[View, Kind("an array", "", _of_types(View))]
Elements = Annotated[Arithmetic | View, Kind("a number, or an array", _ANY, _array_or_number)]
Items = Annotated[
    "View | tuple[values.Value, ...] | Range | Enumerated | Zipped",
    Kind("an array or a tuple", "", _of_types(View, tuple, Range, Enumerated, Zipped)),
]
Shape = Annotated[np.integer[Any] | tuple[np.integer[Any], ...], Kind("a shape", "", _shape)]
Type = Annotated[np.dtype, Kind("a type", "", _element_type)]
NamedType = Annotated[np.dtype, Kind("a type", "", _named_type)]  # by no text

"""Values as numbers, conditions and indices; what is none of these is refused with what to do instead."""

from __future__ import annotations

import difflib

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import CALLS, VALUES
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.records import Record
from autograder.simgpu.values.structures import Structure
from autograder.simgpu.values.values import NUMBERS, Number, Value
from autograder.simgpu.values.variables import Unmergeable, merge

TEXTS = "SU"  # kinds of dtype: elements of an array of texts


def number(value: Value, op: Operation) -> Number:
    """The value as a number; arrays, tuples and library names are none."""
    if isinstance(value, NUMBERS):
        if value.dtype.kind in TEXTS:
            raise op.fault("A text is not a number.")
        return value
    if isinstance(value, View):
        raise op.fault(
            f"`{value.name}` is a whole array of shape {value.shape}; arithmetic needs one element.",
            "Index it, for example with the thread's position.",
        )
    if value is None:
        raise op.fault("This has no value (None), so nothing can be computed with it.")
    if isinstance(value, TypeReference):
        raise op.fault(f"{value.path} is a type; call it on a value to convert.")
    if isinstance(value, Reference):
        meant = "" if value.path in CALLS else advice_instead_of(value.path)
        raise op.fault(f"`{value.path}` is not a number.", meant or "Did you mean to call it?")
    if isinstance(value, (tuple, Function, str, bytes)):
        kind = "text" if isinstance(value, (str, bytes)) else type(value).__name__.lower()
        raise op.fault(f"A {kind} is not a number.")
    try:
        return nt.scalar(value)
    except OverflowError:
        raise op.fault(f"Numba has no type for the constant {value!r:.40}.") from None
    except TypeError:
        pass
    if isinstance(value, Record):
        fields = ", ".join(value.view.dtype.fields or ())
        raise op.fault(f"A record with fields ({fields}) is not a number.", "Name one of its fields.")
    if isinstance(value, Structure):
        raise op.fault(
            f"Numba was not told how to compute this with a value of the type {value.name}.",
            "Write an @overload of the operator or function, or compute with its attributes.",
        )
    raise op.fault(f"`{op.text:.60}` is not a number.", "Compute with numbers, one at a time.")


def truth(value: Value, op: Operation) -> Number:
    """The value as a condition: one bool for all, or a bool per lane."""
    if isinstance(value, tuple):
        return np.bool_(len(value) > 0)
    if value is None:
        return np.bool_(False)
    if isinstance(value, (str, bytes)):
        return np.bool_(len(value) > 0)
    found = number(value, op)
    return found if found.dtype == nt.BOOL else found != 0


def as_index(value: Value, op: Operation) -> Number:
    """The value as an index: an integer."""
    found = number(value, op)
    if found.dtype.kind not in "iub":
        raise op.fault(
            f"The index `{op.text}` is {found.dtype}; an index must be an integer.", "Use // instead of /, or int()."
        )
    return found


def merged(op: Operation, choose: np.ndarray, new: Value, old: Value) -> Value:
    """`new` in the lanes chosen, `old` elsewhere."""
    try:
        return merge(choose, new, old)
    except Unmergeable as problem:
        raise op.fault(*problem.said("The two sides hold")) from None


_MAKES_ARRAYS = {f"numpy.{name}" for name in ("array", "arange", "empty", "full", "ones", "zeros", "zeros_like")}


def advice_instead_of(path: str) -> str:
    """What to write where a kernel cannot use the library's name: an array of the device, or what the name looks like."""
    if path in _MAKES_ARRAYS:
        return "An array made in a kernel is cuda.shared.array(shape, dtype), or cuda.local.array for a thread's own."
    if near := difflib.get_close_matches(path, (*CALLS, *VALUES), n=1, cutoff=0.85):
        return f"Did you mean `{near[0].removeprefix('numba.')}`?"
    return ""

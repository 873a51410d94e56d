"""Checks library calls against their signatures before a kernel runs, by the kinds of their arguments.

The checks are those of a run. They are made on values that stand for the unknown ones: a 1 of the right type, an array of
one element. An argument of unknown kind is not checked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from autograder.errors import KernelFault
from autograder.language.numeric_types import TypeReference
from autograder.language.program import Reference
from autograder.simgpu.facts.known import Known, KnownArray, KnownName, KnownNumber, KnownRange, KnownTuple
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.callables import Range
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.conversions import conversion
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.number_values import advice_instead_of
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import CALLS
from autograder.simgpu.operations.signatures import ANYTHING
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View

# Functions that only compute: what they refuse beyond their signatures depends on types alone.
COMPUTING = (
    "math.",
    "numpy.",
    "operator.",
    *(f"builtins.{name}" for name in "int float bool complex abs min max print".split()),
)


class EarlyCall(Call):
    """A call that no thread makes: nothing is counted, read or written."""

    __slots__ = ()

    def __init__(self, op: FunctionCall, is_kernel: bool) -> None:
        frame = SimpleNamespace(function=op.function, variables=op.function.local_names, depth=0 if is_kernel else 1)
        nobody = SimpleNamespace(active=0, warps=0, where=np.zeros(0, np.int64), lanes=np.zeros(32, bool))
        machine = SimpleNamespace(current=frame, launch=SimpleNamespace(is_silent=True), books=_Books())
        super().__init__(cast(Machine, machine), op, cast(Mask, nobody))

    def count(self, counter: str | None = None, each: int = 1) -> None:
        """Costs nothing yet."""

    def count_arithmetic(self, dtype: np.dtype, special: bool = False) -> None:
        """Costs nothing yet."""


class _Books:
    """Forgets what is counted."""

    def instruction(self, op: Operation, mask: Mask) -> list[int]:
        return [0] * 64


def check_call(
    op: FunctionCall, callee: Reference, arguments: Sequence[Known], keywords: Mapping[str, Known],
    views: Mapping[Hashable, View], *, is_kernel: bool,
) -> None:  # fmt: skip
    """Refuses a call of a library function or type that Numba does not accept."""
    function = conversion(callee) if isinstance(callee, TypeReference) else CALLS.get(callee.path)
    if function is None:
        raise op.fault(
            f"`{op.callee.text}` cannot be used in a kernel on this device.",
            advice_instead_of(callee.path)
            or "Kernels can use arithmetic, math.*, np scalar types, and the cuda functions of the course.",
        )
    call = EarlyCall(op, is_kernel)
    call.name = function.signature.name
    values = [standing_for(each, _text_of(op, place), views) for place, each in enumerate(arguments)]
    by_name = {name: standing_for(each, name, views) for name, each in keywords.items()}
    bound = function.signature.bind(call, values, by_name)
    is_computing = isinstance(callee, TypeReference) or callee.path.startswith(COMPUTING)
    goes_through_all = callee.path.startswith("numpy.") and any(isinstance(each, View) for each in bound)
    if is_computing and not goes_through_all and not any(map(_is_unknown, bound)):
        _try(function.handler, call, bound)


def _try(handler: Any, call: Call, bound: Sequence[Any]) -> None:
    """Runs a function on the stand-ins for its arguments; only a deliberate refusal counts."""
    try:
        with np.errstate(all="ignore"):
            handler(call, *bound)
    except KernelFault:
        raise
    except Exception:  # noqa: BLE001, S110 (a stand-in lacks what the run has)
        pass


def _text_of(op: FunctionCall, place: int) -> str:
    """The name of an argument in messages."""
    return op.arguments[place].text if place < len(op.arguments) else "this"


def _is_unknown(value: Any) -> bool:
    return value is ANYTHING or isinstance(value, tuple) and any(map(_is_unknown, value))


def standing_for(known: Known, name: str, views: Mapping[Hashable, View]) -> Any:
    """A value of a known kind, called `name` in messages; ANYTHING if the kind is not known."""
    match known:
        case KnownNumber(dtype=dtype) if dtype is not None and dtype.kind in "biufc":
            constant = known.constant
            return np.array(1 if constant is None else constant).astype(dtype)[()]
        case KnownArray():
            return _array(known, name, views)
        case KnownTuple(items):
            return tuple(standing_for(each, name, views) for each in items)
        case KnownRange():
            return Range((np.int64(1),))
        case KnownName(value) if value is None or isinstance(value, (str, Reference)):
            return value
    return ANYTHING


def _array(known: KnownArray, name: str, views: Mapping[Hashable, View]) -> Any:
    """An array that the kernel is given, or a stand-in for one that it makes."""
    given = views.get(known.identity)
    if known.dtype.fields or not known.ndim or known.prefix or not known.is_whole:
        return ANYTHING
    if given is not None and given.ndim == known.ndim and given.dtype == known.dtype:
        return given
    if None in known.extents or not known.extents:
        return ANYTHING
    shape = tuple(each or 0 for each in known.extents)
    return View(Buffer(np.ones(1, known.dtype), 0, known.space), 0, shape, (1,) * known.ndim, known.dtype, name)

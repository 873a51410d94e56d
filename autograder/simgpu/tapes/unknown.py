"""Numbers as they are while the rounds of a loop are recorded: known is what they are made of, and not what they are.

    Whole               a whole number that all lanes share, maybe another one in each round: of a loop variable
    Moving              a lane vector of whole numbers and such a number, added
    TracedLanes, SHARED what is loaded from memory, and what is computed from that: by lane, or shared by all lanes

Each does what the record has an instruction for; whatever else is asked of it raises `NotRecorded`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from autograder.simgpu.operations.arithmetic import OPERATORS
from autograder.simgpu.tapes.recording import NotRecorded
from autograder.simgpu.values.numba_types import INT64

KINDS: dict[np.ufunc, type[ast.operator]] = {
    OPERATORS[kind]: kind
    for kind in (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)
}
PYTHONS = "bool int index float add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod neg invert"
COMPARISONS = "eq ne lt le gt ge"


@dataclass(frozen=True)
class MadeOfShared:
    """A whole number that all lanes share: an operator and what it takes."""

    kind: type[ast.operator]
    left: SharedSource
    right: SharedSource


SharedSource: TypeAlias = "int | str | MadeOfShared"
"""Where a whole number that all lanes share comes from: it is always this one, a variable holds it, or others make it."""


def value_of(source: SharedSource, numbers: dict[str, np.ndarray | np.int64]) -> np.ndarray | np.int64:
    """What it is where variables hold these numbers: one, or one for each round."""
    if isinstance(source, int):
        return np.int64(source)
    if isinstance(source, str):
        return numbers[source]
    value: np.ndarray | np.int64 = OPERATORS[source.kind](value_of(source.left, numbers), value_of(source.right, numbers))
    return value


class Writes(Protocol):
    """Who writes down what is computed."""

    def computed(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any: ...

    def converted(self, value: Any, dtype: np.dtype) -> Any: ...

    def made(self, kind: type[ast.operator], left: np.ndarray, right: np.ndarray | np.int64) -> np.ndarray: ...


def _refuses(*_: object) -> Any:
    raise NotRecorded("the value of a number that is not known")


def _computed(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    return combined(self.recorder, ufunc, method, inputs, keywords)


def _converted(self: Any, dtype: Any, *_: object, **__: object) -> Any:
    return self if dtype == self.dtype else self.recorder.converted(self, np.dtype(dtype))


def _of_no_function(self: Any, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    raise NotRecorded(f"{func.__name__} of numbers that are not known")


# What a number that all lanes share has instead of NumPy's own: nobody may ask for its value.
INSTEAD: dict[str, Any] = {
    **{f"__{name}__": _refuses for name in (*PYTHONS.split(), *COMPARISONS.split())},
    "__hash__": object.__hash__, "__array_ufunc__": _computed, "__array_function__": _of_no_function,
    "astype": _converted,
}  # fmt: skip


class Whole(np.int64):
    """A whole number that all lanes share."""

    source: SharedSource
    recorder: Writes

    @classmethod
    def of(cls, source: SharedSource, recorder: Writes) -> Whole:
        number = cls(0)
        number.source, number.recorder = source, recorder
        return number


for _name, _instead in INSTEAD.items():
    setattr(Whole, _name, _instead)


class Moving(np.ndarray):
    """A lane vector that is the sum of another one and a whole number; it has no elements of its own."""

    vector: np.ndarray
    shift: SharedSource
    recorder: Writes

    @classmethod
    def of(cls, vector: np.ndarray, shift: SharedSource, recorder: Writes) -> Moving:
        made = np.broadcast_to(np.int64(0), vector.shape).view(cls)
        made.vector, made.shift, made.recorder = vector, shift, recorder
        return made

    def astype(self, dtype: Any, *_: object, **__: object) -> Any:
        return self if dtype == INT64 else _refuses()

    __array_ufunc__, __array_function__ = _computed, _of_no_function


SHARED: dict[np.dtype, type] = {
    np.dtype(kind): type(f"Traced{kind.__name__}", (kind,), INSTEAD)
    for kind in (np.float32, np.float64, np.int64, np.int32, np.uint8)
}
"""A number that stands for any number and that all lanes share; `number` is how it is called in the record."""


class TracedLanes(np.ndarray):
    """Such a number of each lane."""

    number: int | None
    recorder: Writes
    astype, __array_ufunc__, __array_function__ = _converted, _computed, _of_no_function

    def __array_finalize__(self, made_of: object) -> None:
        self.number = None


def number_of(value: object) -> int | None:
    """How a number that stands for any number is called in the record; None of any other value."""
    number: int | None = getattr(value, "number", None) if isinstance(value, (TracedLanes, *SHARED.values())) else None
    return number


def is_traced(value: object) -> bool:
    """Whether a value is a number that stands for any number."""
    return number_of(value) is not None


def combined(
    recorder: Writes, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """What a function of NumPy gives for these."""
    if method != "__call__" or keywords:
        raise NotRecorded(f"{ufunc.__name__} of numbers that are not known")
    if any(map(is_traced, inputs)):
        return recorder.computed(ufunc, inputs)
    kind = KINDS.get(ufunc)
    if kind is None or len(inputs) != 2 or any(each.dtype != INT64 for each in inputs):
        raise NotRecorded(f"{ufunc.__name__} of numbers that are not known")
    (vector, shift), (other, more) = _parts(inputs[0]), _parts(inputs[1])
    if vector is None and other is None:
        return Whole.of(MadeOfShared(kind, shift, more), recorder)
    if kind is ast.Mult and (vector is None or other is None):
        factor, of, far = (shift, other, more) if vector is None else (more, vector, shift)
        assert of is not None
        if isinstance(factor, int):
            return Moving.of(recorder.made(kind, of, np.int64(factor)), MadeOfShared(kind, far, factor), recorder)
    if kind in (ast.Add, ast.Sub) and not (kind is ast.Sub and vector is None):
        both = vector if other is None else other if vector is None else recorder.made(kind, vector, other)
        assert both is not None
        return Moving.of(both, MadeOfShared(kind, shift, more), recorder)
    raise NotRecorded("a lane vector that does not move along")


def _parts(value: Any) -> tuple[np.ndarray | None, SharedSource]:
    """The lane vector and the whole number that a value is the sum of."""
    if isinstance(value, Moving):
        return value.vector, value.shift
    if isinstance(value, Whole):
        return None, value.source
    if isinstance(value, np.ndarray):
        return value, 0
    return None, int(value)

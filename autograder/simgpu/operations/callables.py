"""What a kernel can call or loop over, before it does: array methods, functions defined in a kernel, ranges."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.language.program import Function
from autograder.simgpu.machine.machine import Frame
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Number, Value


@dataclass(frozen=True)
class Method:
    """An array's or a number's method, before it is called."""

    owner: View | Number
    name: str


@dataclass(frozen=True)
class Closure:
    """A function defined inside a kernel, with the frame whose variables it sees."""

    function: Function
    frame: Frame


@dataclass(frozen=True)
class Range:
    """A range() that is kept before it is looped over."""

    bounds: tuple[Value, ...]


@dataclass(frozen=True)
class Enumerated:
    """An enumerate() before it is looped over; `start` is the first number."""

    sequence: Value
    start: Number


@dataclass(frozen=True)
class Zipped:
    """A zip() before it is looped over."""

    sequences: tuple[Value, ...]

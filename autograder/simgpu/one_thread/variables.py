"""What is known of a loop's variables while it is written: of which type they are on every path that leads to a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from autograder.simgpu.one_thread.numbers import Number
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.operations.loops import Loop
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Name, UpdateName


@dataclass(frozen=True)
class Maybe:
    """A variable that got a value on some paths only."""

    number: Number


Variables: TypeAlias = "dict[str, Number | Maybe]"


class Unsteady(NotWritten):
    """A variable is of one type on one path and of another on the other: maybe only because of a loop's first round."""


def name_of(variable: str) -> str:
    """What a variable is called in what is written."""
    return f"v_{variable}"


def assigned_in(op: Operation) -> frozenset[str]:
    """The variables that a statement, or one in it, assigns to."""
    return frozenset(each.name for each in everything_in(op) if isinstance(each, (Name, UpdateName)))


def inner_number(variable: Number | Maybe) -> Number:
    return variable.number if isinstance(variable, Maybe) else variable


def joined(paths: Sequence[Variables]) -> Variables:
    """The variables where several paths meet; raises `Unsteady`."""
    first, *others = paths
    result: Variables = dict(first)
    for other in others:
        for name in result.keys() | other.keys():
            one, two = result.get(name), other.get(name)
            if one is not two:
                result[name] = _either(one, two)
    return result


def _either(one: Number | Maybe | None, two: Number | Maybe | None) -> Number | Maybe:
    if one is None or two is None:
        there = one or two
        assert there is not None
        return Maybe(inner_number(there))
    a, b = inner_number(one), inner_number(two)
    if a.kind != b.kind:
        raise Unsteady("a variable of two types")
    both = replace(a, low=min(a.low, b.low), high=max(a.high, b.high))
    return Maybe(both) if isinstance(one, Maybe) or isinstance(two, Maybe) else both


def widened(variables: Variables, names: frozenset[str]) -> Variables:
    """The variables where a loop's round begins, of which those that it assigns can have any value."""

    def wide(number: Number) -> Number:
        return Number.of(number.code, number.dtype, number.by_lane)

    return {
        name: each if name not in names else Maybe(wide(each.number)) if isinstance(each, Maybe) else wide(each)
        for name, each in variables.items()
    }


def types(variables: Variables) -> Mapping[str, tuple[tuple[np.dtype, bool], bool]]:
    """Of each variable the type, and whether it may be without a value."""
    return {name: (inner_number(each).kind, isinstance(each, Maybe)) for name, each in variables.items()}


def changes_after_first_round(loop: Loop) -> bool:
    """Whether a loop's first round counts something that the others do not."""
    return bool(loop.hoisted or loop.held_loads or loop.held_stores)

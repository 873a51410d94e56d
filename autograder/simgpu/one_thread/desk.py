"""What whoever writes a loop has before them: whom it is written for, the source so far, and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread import numbers
from autograder.simgpu.one_thread.numbers import KEPT, Number, Spelling, limits
from autograder.simgpu.one_thread.rehearsal import Circumstances, NotOfNumbers, Rehearsal, RunCount
from autograder.simgpu.one_thread.source import NotWritten, Site, Source
from autograder.simgpu.one_thread.variables import (
    Variables,
    assigned_in,
    name_of,
)
from autograder.simgpu.operations.loops import Loop
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import Intrinsic
from autograder.simgpu.operations.steps import Expression, Statement
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Space, View
from autograder.simgpu.values.values import NUMBERS, Value


@dataclass(frozen=True)
class ViewKind:
    """What is known of an array before the loop goes round, and is the same whenever its function is used."""

    dtype: np.dtype
    ndim: int
    space: Space
    by_lane: bool  # each lane has its own, or each block
    is_plain: bool  # its elements lie side by side, from the first of its memory on
    has_shadow: bool
    all_set: bool
    group: int  # the same for arrays in the same allocation


@dataclass(frozen=True)
class Fixed:
    """A value that is no number, and the same in all rounds: an array, its extents, a name of the library."""

    op: Expression
    value: Value


Meaning: TypeAlias = "Number | Fixed | tuple[Meaning, ...]"
KnownView: TypeAlias = tuple[int, Expression, ViewKind, tuple[tuple[Operation, int], ...]]
"""An array by its number, where it is found, its kind, and the parts of it that are taken first, with their indices."""


@dataclass
class WrittenCall:
    """A function that is written in place of its call."""

    prefix: str  # of its variables
    result: str  # what it returns is called so
    loops: int  # around the call
    results: list[Number] = field(default_factory=list)  # by `return`
    given: dict[str, Expression] = field(default_factory=dict)  # parameters that are no numbers: what is given for them


class Desk:
    """Where a loop is written for variables of some types."""

    def __init__(
        self, machine: Machine, mask: Mask, loop: Loop, variables: Mapping[str, Number], others: Mapping[str, Value],
        kind_of_view: Callable[[View], ViewKind],
    ) -> None:  # fmt: skip
        """`variables`: those that hold numbers where the loop is entered; `others`: the rest, which it may not assign."""
        self.machine, self.mask, self.loop, self.others = machine, mask, loop, others
        self.kind_of_view = kind_of_view
        self.rehearsal = Rehearsal(machine, mask)
        self.around = Circumstances.of(machine)
        self.source = Source()
        self.variables: Variables = dict(variables)
        self.assigned = assigned_in(loop)
        self.loops: list[Loop] = []  # around what is being written
        self.to_next: list[list[Variables]] = []  # by loop: the variables where the next round begins
        self.ways_out: list[list[Variables]] = []  # and where somebody leaves it
        self.counters: dict[Loop, tuple[int, int]] = {}  # what the counter of a loop over a range lies between
        self.has_rounds: set[Loop] = set()  # of which it is known that there is a first one
        self.at: Statement | None = None
        self.given: dict[Operation, tuple[str, Number]] = {}  # what is worked out once, before the first round
        self.views: dict[Operation | str, tuple[int, Expression, ViewKind]] = {}
        self.functions: dict[str, Callable[..., object]] = {}  # that are called by name
        self.intrinsics: dict[Operation, Intrinsic] = {}  # that calls may be carried out by
        self.scopes: list[WrittenCall] = []  # of the functions around that are written in place of their calls
        self.exits: dict[int, Variables] = {}  # by site that leaves the loop for good: the variables there

    def count(self, carry_out: Callable[[Machine], object]) -> None:
        """Counts what this counts."""
        self.source.count(self.rehearsed(carry_out)[1])

    def issued(self, op: Operation, times: int) -> None:
        if times:
            self.count(lambda machine: machine.books.issued(op, self.mask, times))

    def rehearsed(self, carry_out: Callable[[Machine], Value | object]) -> tuple[object, RunCount]:
        try:
            return self.rehearsal.of(self.around, carry_out)
        except NotOfNumbers as problem:
            raise NotWritten(f"an operation that asks for {problem}") from None

    @contextmanager
    def in_short_arms(self, is_so: bool) -> Iterator[None]:
        before = self.around
        if is_so:
            self.around = replace(before, in_short_arms=before.in_short_arms + 1)
        yield
        self.around = before

    def site(
        self, op: Operation, *, operands: tuple[Number, ...] = (), count: RunCount | None = None,
        result: Number | None = None, statement: Operation | None = None,
    ) -> Site:  # fmt: skip
        """An operation that is carried out by itself; `count`: what it counts where it is not, which is counted here."""
        run = -1
        if count is not None:
            self.source.count(count)
            run = self.source.run().number
        site = Site(
            len(self.source.sites), op, self.around, statement or self.at, operands, count or RunCount(), run, result
        )
        self.source.sites.append(site)
        return site

    def kept(
        self, code: str, dtype: np.dtype, by_lane: bool = False, low: int | None = None, high: int | None = None
    ) -> Number:
        """A value under a name of its own."""
        name = self.source.name()
        self.source.write(f"{name} = {code}")
        number = Number.of(name, dtype, by_lane)
        return number if low is None or high is None else replace(number, low=low, high=high)

    def spelled(
        self, op: Operation, how: str, spelling: Spelling | None, operands: tuple[Number, ...], result: Value | object,
        count: RunCount,
    ) -> Number:  # fmt: skip
        """What an operation gives: as it is spelled, else carried out by itself (`how`: by which method of `Going`)."""
        if not isinstance(result, NUMBERS) or result.dtype not in KEPT or np.ndim(result) > 1:
            raise NotWritten("a value that is no number")
        source, dtype, by_lane = self.source, result.dtype, isinstance(result, np.ndarray)
        name = source.name()
        number = Number.of(name, dtype, by_lane)
        values = ", ".join(each.code for each in operands)
        if spelling is None:
            source.write(f"{name} = x.{how}({self.site(op, operands=operands, result=number).number}, {values})")
            return number
        conditions = [spelling.condition] if spelling.condition else []
        site_number = ""
        if conditions or count.hazards:
            site = self.site(op, operands=operands, count=count, result=number)
            site_number = str(site.number)
            if count.hazards:
                conditions.append(f"h{site.number}")
        else:
            source.count(count)
        if conditions:
            with source.inside(f"if {' and '.join(conditions)}:"):
                self.cut(name, spelling, dtype)
            with source.inside("else:"):
                source.write(f"{name} = x.{how}({site_number}, {values})")
                if count.hazards:
                    source.write(f"h{site_number} = True")
        else:
            self.cut(name, spelling, dtype)
        return replace(number, low=spelling.low, high=spelling.high) if numbers.is_whole(dtype) else number

    def cut(self, name: str, spelling: Spelling, dtype: np.dtype) -> None:
        self.source.write(f"{name} = {spelling.code}")
        if not spelling.is_cut:
            low, high = limits(dtype)
            with self.source.inside(f"if not {low} <= {name} <= {high}:"):
                self.source.write(f"{name} = {numbers.wrapped(name, dtype)}")

    def apart(self, value: Meaning) -> Meaning:
        """A value that no later assignment changes."""
        if isinstance(value, Number) and value.code.startswith("v"):
            return self.kept(value.code, value.dtype, value.by_lane, value.low, value.high)
        return value

    def set(self, name: str, value: Number) -> None:
        if name in self.others:
            raise NotWritten("a variable that holds something else than a number")
        called = self.name_of(name)
        self.source.write(f"{called} = {value.code}")
        self.variables[name] = replace(value, code=called)

    def name_of(self, variable: str) -> str:
        """What a variable is called in what is written."""
        return f"{self.scopes[-1].prefix}{variable}" if self.scopes else name_of(variable)

    def leave(self, line: str, how_far: int) -> None:
        self.source.leaves = max(self.source.leaves, how_far)
        self.source.write(line)


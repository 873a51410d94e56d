"""Whole numbers that all lanes share, as most of what an index is made of in a loop that the compiler writes out.

`i // 4 * 32 + i % 4` of a loop variable comes by with the same few values again and again, and has the same result each
time. It is worked out once for each of them, and counted each time as it was counted the first time under the same mask.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from autograder.errors import Line
from autograder.language.program import Function
from autograder.simgpu.counting.books import Books
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.values import Value

INTEGERS = frozenset(np.dtype(code).type for code in "bhilqBHILQ")  # classes of scalars
MOST_VALUES = 256  # of one expression that are kept; a loop over more numbers goes by the ordinary way
Key: TypeAlias = "int | tuple[int, ...]"
Place: TypeAlias = tuple[bool, tuple[bool, ...]]


class CountKept:
    """What an expression adds to the books of a batch each time, under one mask and in one place."""

    __slots__ = ("mask", "place", "entries", "work", "instructions")

    def __init__(
        self, mask: Mask, place: Place, entries: list[tuple[list[int], int, int]], work: int, instructions: int
    ) -> None:
        self.mask, self.place = mask, place
        self.entries = entries  # row, slot, amount
        self.work, self.instructions = work, instructions

    def add(self, books: Books) -> None:
        """Puts it into the books."""
        for row, slot, amount in self.entries:
            row[slot] += amount
        books.launch.work += self.work
        if self.instructions:
            books.warp_work.step(self.mask, self.instructions)


class SharedNumber:
    """What is known of an expression of whole numbers: its values by those of its variables, as long as all lanes share
    these."""

    __slots__ = ("names", "kinds", "values", "hits", "once", "lines")

    def __init__(self, op: Operation, names: Sequence[str]) -> None:
        everything = everything_in(op)
        self.names = names
        self.kinds: list[type] = []  # of the variables' values
        self.values: dict[Key, np.integer] = {}
        self.hits = 0
        self.once = [each for each in everything if each.once]  # whose instructions go by where loops are
        self.lines = frozenset(each.line for each in everything)

    def place(self, books: Books) -> Place:
        """What around the expression decides what it counts: see `Books.instruction`."""
        in_short_arms = books.in_short_arms > 0
        return in_short_arms, tuple([each in books.hoisted for each in self.once]) if self.once else ()


NOT_YET = SharedNumber.__new__(SharedNumber)
"""Of an expression at which nobody has looked."""


class ComputedExpression(Expression):
    """An expression that is worked out from others, and may be a whole number that all lanes share."""

    __slots__ = ("shared",)

    def __init__(self, node: ast.AST, function: Function) -> None:
        super().__init__(node, function)
        self.shared: SharedNumber | None = NOT_YET  # None: it is none

    def value(self, machine: Machine, mask: Mask) -> Value:
        shared = self.shared
        if shared is None:
            return self.work_out(machine, mask)
        if shared is NOT_YET:
            names = self.shared_names()
            shared = self.shared = None if names is None else SharedNumber(self, sorted(names))
            if shared is None:
                return self.work_out(machine, mask)
        return self._shared_value(shared, machine, mask)

    @abstractmethod
    def work_out(self, machine: Machine, mask: Mask) -> Value:
        """The value, by way of those that it is made of, and counted."""

    def _shared_value(self, shared: SharedNumber, machine: Machine, mask: Mask) -> Value:
        """The value from what is kept of it, counted as it was before."""
        frame, books = machine.frame, machine.books
        assert frame is not None
        found, kinds = [], []
        for name in shared.names:
            variable = frame.variables.get(name)
            if variable is None:
                return self.work_out(machine, mask)
            top, given = variable.layers[-1]
            if given is None or not (mask is top or mask.is_within(top)):
                return self.work_out(machine, mask)
            kind: type = type(given)
            if kind not in INTEGERS:  # an element per lane, mostly: it will be so the next time
                self.shared = None
                return self.work_out(machine, mask)
            assert isinstance(given, np.integer)
            found.append(given.item())
            kinds.append(kind)
        if shared.kinds != kinds:
            shared.kinds, shared.values = kinds, {}
        key: Key = found[0] if len(found) == 1 else tuple(found)
        known = shared.values.get(key)
        if known is None or books.warps_more:
            value = self.work_out(machine, mask)
            if known is None and isinstance(value, np.integer):
                self._keep(shared, key, value)
            return value
        shared.hits += 1
        count = books.shared_counts.get(self)
        if count is None:
            books.shared_counts[self] = mask  # what comes by once in a batch is not worth more
            return self.work_out(machine, mask)
        place = shared.place(books)
        if type(count) is not CountKept or count.mask is not mask or count.place != place:
            count = books.shared_counts[self] = self._counted(shared.lines, place, machine, mask)
        else:
            count.add(books)
        return known

    def _counted(self, lines: frozenset[Line], place: Place, machine: Machine, mask: Mask) -> CountKept:
        """Works the value out for what it counts."""
        books = machine.books
        before = {id(row): row.copy() for row in books.tally.rows_of(lines)}
        books.warp_work.step(mask, 0)
        work, instructions = books.launch.work, books.warp_work.pending
        self.work_out(machine, mask)
        entries = [
            (row, slot, now - old)
            for row in books.tally.rows_of(lines)
            for slot, (now, old) in enumerate(zip(row, before.get(id(row), [0] * len(row)), strict=True))
            if now != old
        ]
        return CountKept(mask, place, entries, books.launch.work - work, books.warp_work.pending - instructions)

    def _keep(self, shared: SharedNumber, key: Key, value: np.integer) -> None:
        if len(shared.values) >= MOST_VALUES:
            if shared.hits < MOST_VALUES:  # a loop over many numbers, each of them once
                self.shared = None
                return
            shared.values, shared.hits = {}, 0
        shared.values[key] = value

"""Whole numbers that all lanes share, as most of what an index is made of in a loop that the compiler writes out.

`i // 4 * 32 + i % 4` of a loop variable comes by with the same few values again and again, and has the same result each
time. It is worked out once for each of them, and counted each time as it was counted the first time under the same mask.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from autograder.language.program import Function
from autograder.simgpu.counting.books import Books
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.values import Value

INTEGERS = frozenset(np.dtype(code).type for code in "bhilqBHILQ")  # classes of scalars
MOST_VALUES = 256  # of one expression that are kept; a loop over more numbers goes by the ordinary way
Key = int | tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """What an expression adds to the books of a batch each time, under one mask and in one place."""

    mask: Mask
    place: tuple[object, ...]
    entries: tuple[tuple[list[int], int, int], ...]  # row, slot, amount
    work: int
    instructions: int

    def add(self, machine: Machine) -> None:
        """Puts it into the books."""
        for row, slot, amount in self.entries:
            row[slot] += amount
        books = machine.books
        books.launch.work += self.work
        if self.instructions:
            books.warp_work.step(self.mask, self.instructions)


class SharedNumber:
    """What is known of an expression of whole numbers: its values by those of its variables, as long as all lanes share
    these."""

    __slots__ = ("names", "kinds", "values", "hits", "once", "lines")

    def __init__(self, op: Operation, names: tuple[str, ...]) -> None:
        everything = everything_in(op)
        self.names = names
        self.kinds: tuple[type, ...] | None = None  # of the variables' values
        self.values: dict[Key, np.integer] = {}
        self.hits = 0
        self.once = tuple(each for each in everything if each.once)  # whose instructions go by where loops are
        self.lines = frozenset(each.line for each in everything)

    def place(self, books: Books) -> tuple[object, ...]:
        """What around the expression decides what it counts: see `Books.instruction`."""
        return (bool(books.in_short_arms), *(each in books.hoisted for each in self.once))


NOT_YET = SharedNumber.__new__(SharedNumber)
"""Of an expression at which nobody has looked."""


class Computed(Expression):
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
            shared = self.shared = None if names is None else SharedNumber(self, tuple(sorted(names)))
            if shared is None:
                return self.work_out(machine, mask)
        return value_of(self, shared, machine, mask)

    @abstractmethod
    def work_out(self, machine: Machine, mask: Mask) -> Value:
        """The value, by way of those that it is made of."""


def value_of(
    op: Computed, shared: SharedNumber, machine: Machine, mask: Mask
) -> Value:
    """What the expression is worth, counted; `work_out` is the ordinary way to it, which does both."""
    frame, books = machine.frame, machine.books
    assert frame is not None
    found: list[np.integer] = []
    for name in shared.names:
        variable = frame.variables.get(name)
        if variable is None:
            return op.work_out(machine, mask)
        top, value = variable.layers[-1]
        if value is None or not (mask is top or mask.is_within(top)):
            return op.work_out(machine, mask)
        if value.__class__ not in INTEGERS:  # an element per lane, mostly: it will be so the next time
            _give_up(op)
            return op.work_out(machine, mask)
        found.append(value)  # type: ignore[arg-type]
    kinds = tuple([each.__class__ for each in found])
    if shared.kinds != kinds:
        shared.kinds, shared.values = kinds, {}
    key: Key = found[0].item() if len(found) == 1 else tuple([each.item() for each in found])
    known = shared.values.get(key)
    if known is None or books.warps_more:
        value = op.work_out(machine, mask)
        if known is None and value.__class__ in INTEGERS:
            _keep(op, shared, key, value)  # type: ignore[arg-type]
        return value
    shared.hits += 1
    count, place = books.shared_counts.get(op), shared.place(books)
    if count is None:
        books.shared_counts[op] = mask  # what comes by once is not worth a look
        return op.work_out(machine, mask)
    if isinstance(count, Count) and count.mask is mask and count.place == place:
        count.add(machine)
        return known
    before = {id(row): (row, row.copy()) for row in books.tally.rows_of(shared.lines)}
    books.warp_work.step(mask, 0)
    work, instructions = books.launch.work, books.warp_work.pending
    value = op.work_out(machine, mask)
    entries = tuple(
        (row, slot, now - old)
        for row in books.tally.rows_of(shared.lines)
        for slot, (now, old) in enumerate(zip(row, before[id(row)][1] if id(row) in before else [0] * len(row), strict=True))
        if now != old
    )
    books.shared_counts[op] = Count(
        mask, place, entries, books.launch.work - work, books.warp_work.pending - instructions
    )
    return value


def _keep(op: Computed, shared: SharedNumber, key: Key, value: np.integer) -> None:
    if len(shared.values) >= MOST_VALUES:
        if shared.hits < MOST_VALUES:
            _give_up(op)
            return
        shared.values, shared.hits = {}, 0
    shared.values[key] = value


def _give_up(op: Computed) -> None:
    op.shared = None

"""What an operation counts and gives, found by carrying it out once on books that nobody reads.

A loop that is written out as a Python function does not count operation by operation: it counts how often it comes by, and
what that adds is told here. The operation itself says it, so that there is one meaning of each.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

import numpy as np

from autograder.errors import Line
from autograder.records.hazards import Hazard
from autograder.simgpu.counting.books import Books
from autograder.simgpu.counting.counting import AGAIN, BLOCK_SECTORS, Counting
from autograder.simgpu.counting.place import Place
from autograder.simgpu.counting.tally import Tally
from autograder.simgpu.machine.addressing import Sums
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.machine.reports import Reports
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.primitives import WRITE
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import Buffer, Space, View
from autograder.simgpu.values.values import Number

Rows = Literal["rows", "source_rows", "compiled_rows"]
ROWS: tuple[Rows, ...] = ("rows", "source_rows", "compiled_rows")
R = TypeVar("R")


@dataclass(frozen=True)
class Circumstances:
    """What around an operation decides what it counts, beside its facts: see `Books` and `Counting`."""

    hoisted: frozenset[Operation] = frozenset()
    held_loads: frozenset[Operation] = frozenset()
    held_stores: frozenset[Operation] = frozenset()
    in_short_arms: int = 0

    @classmethod
    def of(cls, machine: Machine) -> Circumstances:
        """Those that a machine is in."""
        books, counting = machine.books, machine.counting
        return cls(
            frozenset(books.hoisted), frozenset(counting.held_loads), frozenset(counting.held_stores), books.in_short_arms
        )

    def begin(self, machine: Machine) -> None:
        """Has a machine count as it would here."""
        machine.books.hoisted = set(self.hoisted)
        machine.books.in_short_arms = self.in_short_arms
        machine.counting.held_loads = set(self.held_loads)
        machine.counting.held_stores = set(self.held_stores)


@dataclass(frozen=True)
class RunCount:
    """What something adds to the books of a batch each time."""

    entries: tuple[tuple[Rows, Line, int, int], ...] = ()  # which rows, line, slot, amount
    work: int = 0  # of the launch
    instructions: int = 0  # of each warp
    loads: int = 0  # from global memory, of each warp
    hazards: tuple[Hazard, ...] = ()

    @classmethod
    def sum(cls, counts: Iterable[RunCount]) -> RunCount:
        """All of these together."""
        entries: dict[tuple[Rows, Line, int], int] = {}
        hazards: list[Hazard] = []
        work = instructions = loads = 0
        for each in counts:
            for rows, line, slot, amount in each.entries:
                entries[rows, line, slot] = entries.get((rows, line, slot), 0) + amount
            hazards += each.hazards
            work, instructions, loads = work + each.work, instructions + each.instructions, loads + each.loads
        return cls(tuple((*key, amount) for key, amount in entries.items()), work, instructions, loads, tuple(hazards))

    def add(self, machine: Machine, mask: Mask, times: int) -> None:
        """Puts it into a machine's books so many times; negative: takes it back."""
        books, launch = machine.books, machine.launch
        of: dict[str, Callable[[Line], list[int]]] = {
            "rows": launch.tally.row, "source_rows": launch.tally.source_row, "compiled_rows": launch.tally.compiled_row,
        }  # fmt: skip
        for rows, line, slot, amount in self.entries:
            of[rows](line)[slot] += times * amount
        launch.work += times * self.work
        if self.instructions:
            books.warp_work.step(mask, times * self.instructions)
        if self.loads:
            books.warp_loads.step(mask, times * self.loads)
        for hazard in self.hazards:
            launch.repeat_hazard(hazard, times)


class NotOfNumbers(Exception):
    """An operation asks a machine for more than its books."""


class Stage:
    """As much of a machine as operations on numbers ask for; asked for anything else it raises `NotOfNumbers`."""

    def __init__(self, machine: Machine, *, tells: bool, batch: Batch | None = None) -> None:
        """`tells`: hazards go to the launch; else they are only kept, in `launch`. `batch`: whom it carries out."""
        self.launch = copy.copy(machine.launch)
        self.launch.tally = Tally()
        self.launch.begin_rehearsal()
        self.launch.work = 0
        self.batch = batch or machine.batch
        self.frame = self.current = machine.frame
        self.books = Books(self.launch, self.batch)
        self.counting = Counting(self.batch, self.books, None)
        self.reports = machine.reports if tells else Reports(self.launch, self.batch)
        self.integers: dict[object, object] = {}
        self.sums = Sums()

    def __getattr__(self, name: str) -> object:
        raise NotOfNumbers(name)

    def raise_in_debug(self, *_: object) -> None:
        """Nobody is told: no kernel that was compiled with debug=True gets here."""

    def as_machine(self) -> Machine:
        return cast(Machine, self)


class Rehearsal:
    """Carries operations out for what they count, under some circumstances."""

    def __init__(self, machine: Machine, mask: Mask, batch: Batch | None = None) -> None:
        """`batch`: whom they are carried out for, in place of the machine's."""
        self.machine, self.mask, self.batch = machine, mask, batch

    def of(self, circumstances: Circumstances, carry_out: Callable[[Machine], R]) -> tuple[R, RunCount]:
        """What `carry_out` gives, and what it counts."""
        stage = Stage(self.machine, tells=False, batch=self.batch)
        machine = stage.as_machine()
        circumstances.begin(machine)
        with np.errstate(all="ignore"):
            result = carry_out(machine)
        books = stage.books
        entries = tuple(
            (rows, line, slot, amount)
            for rows in ROWS
            for line, row in getattr(stage.launch.tally, rows).items()
            for slot, amount in enumerate(row)
            if amount or slot == 0  # a line that counts nothing has its row all the same
        )
        return result, RunCount(
            entries, stage.launch.work, books.warp_work.pending, books.warp_loads.pending, stage.launch.hazards
        )

    def of_access(
        self, circumstances: Circumstances, op: Operation, dtype: np.dtype, ndim: int, kind: int, space: Space
    ) -> RunCount:
        """What an access of the thread to one element counts, but for sectors met before."""
        lane = int(self.mask.where[0]) if space == "local" else 0  # of which each lane has its own element
        buffer = Buffer(np.zeros(self.machine.batch.size if space == "local" else 1, dtype), 0, space)
        view = View(buffer, 0, (1,) * ndim, (1,) * ndim, dtype, "")

        def carry_out(machine: Machine) -> None:
            if space == "local" and not op.is_of_local_memory:
                machine.counting.count_register(self.mask, op, kind)
                return
            machine.counting.count(view, Place(lane, self.mask), op, kind)
            joined = op.stands_for(kind == WRITE)
            if joined is not None:
                machine.counting.end_arms(frozenset((joined,)))

        count = self.of(circumstances, carry_out)[1]
        kept = tuple(each for each in count.entries if each[2] != BLOCK_SECTORS and (each[0], each[2]) != ("rows", AGAIN))
        return RunCount(kept, count.work, count.instructions, count.loads)


def sample(mask: Mask, dtype: np.dtype, by_lane: bool) -> Number:
    """A one, shared or by lane."""
    return np.ones(len(mask.lanes), dtype) if by_lane else dtype.type(1)

"""Rounds of a loop that one thread goes through alone, many of them at once: as if each were a lane.

`for i in range(start, n, stride): out[i] = f(a[i])` does the same in each round, with other numbers. Where a round is one
straight run (no branches, no loops within), and no round needs what another one left, its operations are carried out once
for all rounds of a part of the range. They compute with lane vectors anyway; what they count is known by then
(rehearsal.py), times the rounds; and what accesses leave in the shadow and among the sectors is put there as it would lie
after the last of these rounds. Stores wait until all of it has been found right: nothing outside, nothing that races or
was never written, no element that another round stores to. Else this part of the range is left to the loop's function.

START HERE: `SideBySide.go`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.machine.machine import SURPRISES, Frame
from autograder.simgpu.one_thread.going import Going
from autograder.simgpu.one_thread.memory_of_rounds import MemoryOfRounds, NotAtOnce
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers, Stage
from autograder.simgpu.one_thread.source import AccessSite, Site
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.expressions import Captured, Constant, Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Unary
from autograder.simgpu.operations.statements import Assign, Element, Name, Nothing, UpdateElement, UpdateName
from autograder.simgpu.operations.steps import Block
from autograder.simgpu.primitives import WRITE
from autograder.simgpu.values.lanes import Batch, Geometry, Mask
from autograder.simgpu.values.numba_types import INT64, operator_types
from autograder.simgpu.values.values import NUMBERS
from autograder.simgpu.values.variables import Variable

AT_ONCE = 32_768  # rounds: a vector of them is then 256 KiB
LEAST_AT_ONCE = 512  # rounds that are worth it
MOST_TRIES = 3  # of parts of a range in which rounds need a closer look
OPERATIONS = (
    Block, Assign, UpdateName, UpdateElement, Nothing, Name, Element, Local, Constant, Captured, Binary, Unary, Compare,
    Subscript, Attribute, FunctionCall,
)  # fmt: skip
SUMS: dict[type[ast.operator], np.ufunc] = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply}


class RoundsAtOnce:
    """What is known of a loop that was written: whether its rounds may go at once, and which variables they add to."""

    def __init__(self, loop: Operation, sites: Sequence[Site], runs: int) -> None:
        accesses = [each for each in sites if isinstance(each, AccessSite)]
        self.totals: frozenset[str] = frozenset()
        self.is_possible = (
            isinstance(loop, For)
            and runs == 1
            and all(isinstance(each, OPERATIONS) for each in everything_in(loop.body))
            and not any(each.op.joined or each.op.store_joined or each.parts for each in accesses)
            and all(each.run >= 0 or each.op is loop for each in sites)  # nothing counts by itself
            and self._carries_totals_alone(loop)
        )
        self.sites = {(each.op, each.kind): each for each in accesses}
        self.is_possible = self.is_possible and len(self.sites) == len(accesses)

    def _carries_totals_alone(self, loop: For) -> bool:
        """Whether all that a round takes from the one before are sums (or products) of what the rounds give."""
        assigned, known, totals = assigned_in(loop.body), {self._counter(loop)}, set()
        for statement in loop.body.statements:
            inside = list(everything_in(statement))
            read = [each.name for each in inside if isinstance(each, Local)]
            if isinstance(statement, UpdateName) and statement.name not in known:
                named = [each.name for each in everything_in(loop.body) if isinstance(each, (Local, Name, UpdateName))]
                if named.count(statement.name) > 2 or statement.kind not in SUMS or not isinstance(statement.read, Local):
                    return False  # it is used in another place, too
                totals.add(statement.name)
                read.remove(statement.name)
            if any(name in assigned and name not in known for name in read):
                return False
            known |= assigned_in(statement)
        self.totals = frozenset(totals)
        return True

    @staticmethod
    def _counter(loop: For) -> str:
        return loop.target.name if isinstance(loop.target, Name) else ""


class SideBySide:
    """Some rounds of a loop that are gone at once."""

    def __init__(self, going: Going, loop: For, known: RoundsAtOnce) -> None:
        self.going, self.loop, self.known = going, loop, known
        self.machine = going.machine
        self.tries = MOST_TRIES
        self.is_quick = all(map(going.is_quick, range(len(going.arrays))))

    def go(self, numbers: range) -> range:
        """Goes as many of the rounds as can be gone at once; those that are left."""
        going, machine = self.going, self.machine
        written = going.written
        hazards = [hazard for count in written.counts for hazard in count.hazards]
        while self.may_go and len(numbers) >= LEAST_AT_ONCE and all(map(machine.launch.is_known, hazards)):
            rounds = min(AT_ONCE, len(numbers))
            if machine.launch.work + self.work_of(rounds) > machine.launch.work_limit:
                break
            try:
                PartOfRange(going, self.loop, self.known, numbers[:rounds]).carry_out()
                machine.launch.work += self.work_of(rounds) - rounds * written.work
            except NotAtOnce:
                self.tries -= 1
                break
            except (NotOfNumbers, KernelFault, *SURPRISES):
                self.known.is_possible = False  # steps say what it is
                break
            numbers = numbers[rounds:]
        return numbers

    def work_of(self, rounds: int) -> int:
        """What so many rounds take of the launch's limit: as many statements, and half a warp instruction for each round."""
        return self.going.written.work + rounds * len(self.loop.body.statements) // 2

    @property
    def may_go(self) -> bool:
        return self.known.is_possible and self.tries > 0 and self.is_quick


class PartOfRange:
    """A part of the range: all its rounds at once."""

    def __init__(self, going: Going, loop: For, known: RoundsAtOnce, numbers: range) -> None:
        self.going, self.loop, self.known, self.machine = going, loop, known, going.machine
        self.rounds = len(numbers)
        batch = Batch(Geometry((1, 1, 1), (-(-self.rounds // 32) * 32, 1, 1)), np.zeros(1, np.int64))
        lanes = np.zeros(batch.size, np.bool_)
        lanes[: self.rounds] = True
        self.mask = Mask(lanes, batch.everyone)
        self.stage = StageOfRounds(going.machine, tells=False, batch=batch)
        counter = np.empty(batch.size, INT64)
        counter[: self.rounds] = np.arange(numbers.start, numbers.stop, numbers.step)
        counter[self.rounds :] = numbers[-1]
        self.memory = MemoryOfRounds(going, known.sites, self.rounds)
        self.stage.memory = self.memory
        self.frame = self.stage.frame = self.stage.current = self._frame(counter)
        self.new: dict[str, object] = {}

    def _frame(self, counter: np.ndarray) -> Frame:
        """The variables, as the first of these rounds finds them."""
        going, current = self.going, self.machine.current
        frame = Frame(current.function, depth=current.depth)
        everyone = self.stage.batch.everyone
        for name, value in zip(going.written.variables, going.variables, strict=True):
            number = going.written.first.get(name)
            if number is not None and value is not None:
                frame.write(name, number.dtype.type(value), everyone)
        for name, variable in current.variables.items():
            if name not in going.written.first and variable.layers:  # arrays, and what else the kernel has
                frame.write(name, variable.layers[-1][1], everyone)
        assert isinstance(self.loop.target, Name)
        frame.variables[self.loop.target.name] = Variable()
        frame.write(self.loop.target.name, counter, everyone)
        return frame

    def carry_out(self) -> None:
        """Goes through the rounds; raises `NotAtOnce`, with nothing changed, where they need a closer look."""
        going, machine, stage = self.going, self.machine, self.stage.as_machine()
        with np.errstate(all="ignore"):
            for statement in self.loop.body.statements:
                if isinstance(statement, UpdateName) and statement.name in self.known.totals:
                    self.add_up(statement)
                else:
                    statement.carry_out(stage, self.mask)
        if self.stage.books.has_parted:
            raise NotAtOnce
        known = {_kind(hazard) for count in going.written.counts for hazard in count.hazards}
        if {_kind(hazard) for hazard in self.stage.launch.hazards} - known:
            raise NotAtOnce
        variables = self.last_values()
        self.memory.check()
        self.memory.leave()
        going.variables = variables
        going.rounds += self.rounds
        for count in going.written.counts:
            count.add(machine, going.mask, self.rounds)
        machine.memory.changes += self.rounds * sum(each.kind == WRITE for each in going.written.accesses)

    def add_up(self, op: UpdateName) -> None:
        """A variable to which each round adds: one after the other, as rounds do."""
        stage = self.stage.as_machine()
        old, value = op.read.value(stage, self.mask), op.operand.value(stage, self.mask)
        if not isinstance(old, np.generic) or not isinstance(value, NUMBERS):
            raise NotAtOnce
        compute, result = operator_types(op.kind, old.dtype, value.dtype)
        if not compute == result == old.dtype:
            raise NotAtOnce
        values = np.empty(self.rounds + 1, compute)
        values[0] = old
        values[1:] = value[: self.rounds] if isinstance(value, np.ndarray) else value
        self.frame.write(op.name, SUMS[op.kind].accumulate(values, dtype=compute)[-1], self.stage.batch.everyone)

    def last_values(self) -> list[object]:
        """The variables as the last of these rounds leaves them."""
        values: list[object] = []
        written = self.going.written
        for name, before in zip(written.variables, self.going.variables, strict=True):
            variable, number = self.frame.variables.get(name), written.first.get(name)
            if name not in written.assigned or variable is None:
                values.append(before)
                continue
            value = variable.layers[-1][1]
            if not isinstance(value, NUMBERS) or number is None or number.dtype != value.dtype:
                raise NotAtOnce
            last = value[self.rounds - 1] if isinstance(value, np.ndarray) else value
            values.append(self.going.unboxed(last))
        return values


def _kind(hazard: object) -> tuple[object, ...]:
    return tuple(getattr(hazard, each) for each in ("kind", "line", "array", "severity"))


class StageOfRounds(Stage):
    """A stage whose operations have a memory."""

    memory: MemoryOfRounds

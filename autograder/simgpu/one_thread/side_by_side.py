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
from collections import defaultdict
from collections.abc import Sequence
from typing import cast

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.counting.counting import AGAIN, BLOCK_SECTORS
from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES, SECTOR_SHIFT
from autograder.simgpu.machine.access import Memory
from autograder.simgpu.machine.machine import SURPRISES, Frame
from autograder.simgpu.one_thread.going import Going
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers, Stage
from autograder.simgpu.one_thread.source import FAR, AccessSite, Site
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.expressions import Captured, Constant, Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Unary
from autograder.simgpu.operations.statements import Assign, Element, Name, Nothing, UpdateElement, UpdateName
from autograder.simgpu.operations.steps import Block
from autograder.simgpu.ordering.order_primitives import BETWEEN_BLOCKS
from autograder.simgpu.primitives import READ, WRITE
from autograder.simgpu.values.lanes import Batch, Geometry, Mask
from autograder.simgpu.values.memory import Accesses, View
from autograder.simgpu.values.numba_types import INT64, operator_types
from autograder.simgpu.values.values import NUMBERS, Indices, Value
from autograder.simgpu.values.values import Number as Boxed
from autograder.simgpu.values.variables import Variable

AT_ONCE = 32_768  # rounds: a vector of them is then 256 KiB
LEAST_AT_ONCE = 512  # rounds that are worth it
MOST_TRIES = 3  # of parts of a range in which rounds need a closer look
OPERATIONS = (
    Block, Assign, UpdateName, UpdateElement, Nothing, Name, Element, Local, Constant, Captured, Binary, Unary, Compare,
    Subscript, Attribute, FunctionCall,
)  # fmt: skip
SUMS: dict[type[ast.operator], np.ufunc] = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply}


class NotAtOnce(Exception):  # noqa: N818 (it says that rounds go one by one, and is no error)
    """These rounds need a closer look."""


class RoundsAtOnce:
    """What is known of a loop that was written: whether its rounds may go at once, and which variables they add to."""

    def __init__(self, loop: Operation, sites: Sequence[Site], runs: int) -> None:
        accesses = [each for each in sites if isinstance(each, AccessSite)]
        self.totals: frozenset[str] = frozenset()
        self.is_possible = (
            isinstance(loop, For)
            and runs == 1
            and all(isinstance(each, OPERATIONS) for each in everything_in(loop.body))
            and not any(each.op.joined or each.parts for each in accesses)
            and not any(each.divides_in_parts for each in everything_in(loop.body))
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
        self.memory = MemoryOfRounds(self)
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


class MemoryOfRounds:
    """The accesses of some rounds: loads give what was there before the first of them, stores wait."""

    def __init__(self, part: PartOfRange) -> None:
        self.part, self.going = part, part.going
        self.counting = part.stage.counting
        self.made: list[tuple[AccessSite, np.ndarray]] = []  # in the order of a round, the elements by round
        self.waiting: list[tuple[View, np.ndarray, Boxed]] = []
        self.reports = _NoReports()

    def load(self, view: View, indices: Indices, mask: Mask, op: Operation) -> Boxed:
        """The elements, by round."""
        elements = self._elements(view, indices, op, READ)
        loaded = np.empty(len(mask.lanes), view.data.dtype)
        loaded[: len(elements)] = _at(view.data, elements)
        loaded[len(elements) :] = loaded[len(elements) - 1]
        return loaded

    def store(self, view: View, indices: Indices, value: Value, mask: Mask, op: Operation) -> None:
        elements = self._elements(view, indices, op, WRITE)
        with np.errstate(all="ignore"):
            cast_value = Memory.cast(cast(Memory, self), value, view.data.dtype, mask.where, view, op)
        self.waiting.append((view, elements, cast_value))

    def _elements(self, view: View, indices: Indices, op: Operation, kind: int) -> np.ndarray:
        going, rounds = self.going, self.part.rounds
        site = self.part.known.sites.get((op, kind))
        if site is None or len(indices) != view.ndim:
            raise NotOfNumbers("an access of another kind")
        own = going.arrays[site.view]
        if own.buffer is not view.buffer or own.offset is not view.offset or own.shape != view.shape:
            raise NotOfNumbers("an access of another kind")
        offset = view.offset if isinstance(view.offset, int) else int(view.offset[going.lane])
        elements = np.full(rounds, offset, np.int64)
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            one = index[:rounds] if isinstance(index, np.ndarray) else index
            if not (np.all(np.greater_equal(one, 0)) and np.all(np.less(one, extent))):
                raise NotAtOnce
            elements += one.astype(np.int64) * stride
        self.made.append((site, elements))
        return elements

    # -- whether it is what rounds one by one would do ----------------------------------------------------------------

    def check(self) -> None:
        """Raises `NotAtOnce` where one of these accesses needs a closer look, or a round what another one stores."""
        for site, elements in self.made:
            kind = self.going.written.views[site.view][1]
            if kind.has_shadow and not self._are_settled(site, elements, kind.all_set and kind.space == "global"):
                raise NotAtOnce
        by_group: dict[int, list[tuple[AccessSite, np.ndarray]]] = defaultdict(list)
        for each in self.made:
            by_group[each[0].group].append(each)
        for accesses in by_group.values():
            self._check_apart(accesses)

    def _are_settled(self, site: AccessSite, elements: np.ndarray, is_set: bool) -> bool:
        """`is_settled` of ordering/order_primitives.py, of all elements; reads ask whether somebody wrote there."""
        shadow = self.going.arrays[site.view].buffer.need_shadow()
        _, grid_sync, in_block = self.going.order
        first, last = self.going.block
        for row in (shadow.writes, shadow.reads):
            stamps = _at(row.stamps, elements)
            if row is shadow.writes and site.kind == READ and not is_set and not stamps.all():
                return False
            if (stamps < grid_sync).all():
                continue
            threads, breadths = _at(row.threads, elements), _at(row.places, elements) & 3
            is_own = (threads == self.going.me) & (breadths == 0)
            is_over = (stamps < in_block) & (breadths != BETWEEN_BLOCKS) & (first <= threads) & (threads <= last)
            if not ((stamps < grid_sync) | is_own | is_over).all():
                return False
        return True

    def _check_apart(self, accesses: Sequence[tuple[AccessSite, np.ndarray]]) -> None:
        """Whether no round touches in an allocation what another one stores there, nor loads what it has stored itself."""
        stores = [(i, site, elements) for i, (site, elements) in enumerate(accesses) if site.kind == WRITE]
        if not stores:
            return
        if len({id(self.going.arrays[site.view].buffer) for site, _ in accesses}) > 1:
            raise NotAtOnce  # the same memory in two forms: elements cannot be compared
        for i, _, stored in stores:
            low, high = int(stored.min()), int(stored.max())
            if not _are_distinct(stored):
                raise NotAtOnce
            for j, (site, elements) in enumerate(accesses):
                if j == i or elements is stored:
                    continue
                if np.array_equal(elements, stored):
                    if site.kind == READ and j > i:
                        raise NotAtOnce
                elif int(elements.max()) >= low and int(elements.min()) <= high:
                    if np.intersect1d(elements, stored).size:
                        raise NotAtOnce

    # -- what it leaves ---------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Does the stores, and leaves in shadows, among sectors and in the books what the rounds would."""
        for view, elements, value in self.waiting:
            _put(view.data, elements, value[: len(elements)] if isinstance(value, np.ndarray) else value)
        self._leave_in_shadows()
        self._leave_among_sectors()
        self._leave_stored()

    def _leave_in_shadows(self) -> None:
        going, now = self.going, self.going.order[0]
        lines = {site: number for site, number in zip(going.written.accesses, going.sites_of_lines(), strict=True)}
        rows: dict[tuple[int, int], list[tuple[np.ndarray, int]]] = defaultdict(list)
        of: dict[tuple[int, int], Accesses] = {}
        for site, elements in self.made:
            if going.written.views[site.view][1].has_shadow:
                buffer = going.arrays[site.view].buffer
                key = id(buffer), site.kind
                of[key] = buffer.need_shadow().lend()[site.kind == READ]
                rows[key].append((elements, lines[site]))
        for key, accesses in rows.items():
            stamps, threads, places = of[key]
            for elements, place in accesses:
                _put(stamps, elements, now)
                _put(threads, elements, going.me)
                _put(places, elements, place)
            if len({place for _, place in accesses}) > 1:  # the last one in time is kept
                every = np.stack([elements for elements, _ in accesses], axis=1).ravel()
                places[every] = np.tile(np.array([place for _, place in accesses], places.dtype), self.part.rounds)

    def _leave_among_sectors(self) -> None:
        going = self.going
        tally, blocks = self.part.machine.launch.tally, len(going.batch.blocks)
        loads: dict[int, list[tuple[AccessSite, np.ndarray]]] = defaultdict(list)
        for site, elements in self.made:
            view, kind = going.arrays[site.view], going.written.views[site.view][1]
            if kind.space != "global":
                continue
            sectors = elements >> (SECTOR_SHIFT - (kind.dtype.itemsize.bit_length() - 1))
            buffer = view.buffer
            buffer.touched[_distinct(sectors)] |= 1 if site.kind == READ else 2
            if site.kind == READ and going.is_first:
                loads[id(buffer)].append((site, sectors))
        for accesses in loads.values():
            stamps = going.arrays[accesses[0][0].view].buffer.stamps
            if len(accesses) == 1:
                new = _distinct(accesses[0][1])
                first = np.zeros(len(new), np.int64)
            else:
                every = np.stack([sectors for _, sectors in accesses], axis=1).ravel()
                new, first = np.unique(every, return_index=True)
            is_new = stamps[new] != going.stamp
            stamps[new[is_new]] = going.stamp
            which = first[is_new] % len(accesses)  # by whom it was first
            for i, (site, _) in enumerate(accesses):
                found = int(np.count_nonzero(which == i))
                of = tally.source_row if site.is_left_out else tally.row
                if found:
                    of(site.op.line)[BLOCK_SECTORS] += found * blocks

    def _leave_stored(self) -> None:
        """Stores to a sector that the same round has stored to before, and what the last round has stored to last."""
        going, machine = self.going, self.part.machine
        last: dict[int, np.ndarray] = {}  # by group, the bytes
        for site, elements in self.made:
            kind = going.written.views[site.view][1]
            if site.kind != WRITE or kind.space != "global":
                continue
            stored = elements * kind.dtype.itemsize
            before = last.get(site.group)
            again = 0 if before is None else int(np.count_nonzero(np.abs(stored - before) < SECTOR_BYTES))
            last[site.group] = stored
            if again:
                of = machine.launch.tally.source_row if site.is_left_out else machine.launch.tally.row
                of(site.op.line)[AGAIN] += again
        machine.counting.stored.clear()
        for group in going.groups:
            going.set_stored(group, int(last[group][-1]) if group in last else FAR)


class _NoReports:
    """Nothing is told while rounds go at once: who has something to tell has them go one by one."""

    def report_overflow(self, *_: object) -> None:
        raise NotAtOnce


def _run(elements: np.ndarray) -> slice | None:
    """The elements as a slice, where they follow each other at one distance."""
    if len(elements) < 2:
        return None
    first, second, last = int(elements[0]), int(elements[1]), int(elements[-1])
    step = second - first
    if step <= 0 or last - first != step * (len(elements) - 1) or not (np.diff(elements) == step).all():
        return None
    return slice(first, last + 1, step)


def _at(data: np.ndarray, elements: np.ndarray) -> np.ndarray:
    run = _run(elements)
    found: np.ndarray = data[elements] if run is None else data[run]
    return found


def _put(data: np.ndarray, elements: np.ndarray, value: object) -> None:
    run = _run(elements)
    data[elements if run is None else run] = value


def _distinct(ascending_or_not: np.ndarray) -> np.ndarray:
    """Each number once."""
    steps = np.diff(ascending_or_not)
    if (steps >= 0).all():
        return np.concatenate([ascending_or_not[:1], ascending_or_not[1:][steps > 0]])
    return np.unique(ascending_or_not)


def _are_distinct(elements: np.ndarray) -> bool:
    return _run(elements) is not None or len(np.unique(elements)) == len(elements)

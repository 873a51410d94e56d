"""A loop goes round in a function of its own: what that needs, what it leaves to the operations, what it has counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.simgpu.counting.counting import AGAIN, BLOCK_SECTORS
from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES
from autograder.simgpu.machine import access
from autograder.simgpu.machine.machine import Machine, Standstill
from autograder.simgpu.one_thread.desk import ViewKind
from autograder.simgpu.one_thread.numbers import Number
from autograder.simgpu.one_thread.rehearsal import Circumstances, RunCount
from autograder.simgpu.one_thread.source import END, FAR, AccessSite, Site
from autograder.simgpu.operations.arithmetic import by_rule
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary
from autograder.simgpu.operations.registry import Intrinsic
from autograder.simgpu.operations.slicing import part_of
from autograder.simgpu.operations.statements import UpdateElement, UpdateName
from autograder.simgpu.operations.steps import Expression, Statement
from autograder.simgpu.ordering.lone_access import may_be_alone
from autograder.simgpu.primitives import READ, WARP
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.numba_types import FLOAT32
from autograder.simgpu.values.values import Indices, Value
from autograder.simgpu.values.values import Number as Boxed

FUEL = 1 << 20  # rounds that a loop may go before it asks again how much work is left
LEAST_FUEL = 16


@dataclass(frozen=True, eq=False)
class Written:
    """A loop of one thread as a Python function."""

    text: str
    function: Callable[[Going, object], int]
    variables: tuple[str, ...]  # that it reads or assigns, in their order in `Going.variables`
    assigned: frozenset[str]
    exits: Mapping[int, Mapping[str, Number]]  # the variables' types by how it ends
    around: Circumstances
    first: Mapping[str, Number]  # the variables' types where it is entered
    given: tuple[tuple[Expression, Number], ...]
    views: tuple[tuple[Expression, ViewKind], ...]
    accesses: tuple[AccessSite, ...]
    sites: tuple[Site, ...]
    intrinsics: Mapping[Operation, Intrinsic]
    counts: tuple[RunCount, ...]  # of each run
    work: int  # of all runs together


class Going:
    """One time that a loop's function is used."""

    def __init__(
        self, machine: Machine, mask: Mask, written: Written, views: Sequence[View], variables: Sequence[object],
        given: tuple[object, ...], rounds: int, before: Standstill | None,
    ) -> None:  # fmt: skip
        self.machine, self.mask, self.written, self.batch = machine, mask, written, machine.batch
        self.arrays, self.variables, self.given = views, variables, given
        self.lane = int(mask.where[0])
        self.rounds, self.before = rounds, before
        self.me = self.batch.first_thread + self.lane
        self.stamp = self.batch.first_thread + 1
        self.is_first = self.lane < self.batch.geometry.padded
        self.slow: dict[int, int] = {}  # by site: how often it was carried out by itself
        self.groups: dict[int, Buffer] = {
            kind.group: view.buffer.owner for view, (_, kind) in zip(views, written.views, strict=True)
        }
        self.stores_told = 0  # that memory knows of

    # -- before ---------------------------------------------------------------------------------------------------

    @property
    def order(self) -> tuple[int, int, int]:
        """The clock of barriers, when all threads last met, and when those of the block did."""
        order = self.machine.order
        warp, block = order.warp_sync[self.lane // WARP], order.block_sync[self.lane // self.batch.geometry.padded]
        return order.now, order.grid_sync, int(min(warp, block))

    @property
    def block(self) -> tuple[int, int]:
        """The first and the last thread of the block, by their numbers in the launch."""
        padded = self.batch.geometry.padded
        first = self.batch.first_thread + self.lane // padded * padded
        return first, first + padded - 1

    def view(self, number: int) -> tuple[object, ...]:
        """What accesses to an array need: extents and strides, where it begins, its elements, what is known of them."""
        view, (_, kind) = self.arrays[number], self.written.views[number]
        buffer = view.buffer
        extents = view.shape if self.is_quick(number) else (0,) * view.ndim
        shadow: tuple[object, ...] = ()
        if kind.has_shadow:
            writes, reads = buffer.need_shadow().lend()
            shadow = tuple(row.data for row in (*writes, *reads))
        offset = view.offset if isinstance(view.offset, int) else int(view.offset[self.lane])
        sectors = (buffer.touched.data, buffer.stamps.data) if kind.space == "global" else (None, None)
        return (*extents, *view.strides, offset, view.data, view.data.data, *sectors, *shadow)

    def is_quick(self, number: int) -> bool:
        """Whether all accesses to an array are so simple that they need no closer look."""
        view, memory = self.arrays[number], self.machine.memory
        if access.LOOKS_AT_VALUES and any(each.view == number and each.kind != READ for each in self.written.accesses):
            return False
        if view.buffer.space in ("local", "shared"):
            return view.lengths is None and view.outside is None and view.field is None and not view.read_only
        return view.buffer.address % SECTOR_BYTES == 0 and all(
            may_be_alone(memory, view, self.mask, each.op, each.kind, is_written=True)
            for each in self.written.accesses
            if each.view == number
        )

    def sites_of_lines(self) -> tuple[int, ...]:
        """Of each access the number by which a shadow remembers its line, and that no other thread stands behind it."""
        return tuple(self.machine.launch.site(each.op.line) << 2 for each in self.written.accesses)

    def is_known(self, number: int) -> bool:
        """Whether all that an operation finds each time was found before."""
        return all(map(self.machine.launch.is_known, self.written.sites[number].count.hazards))

    # -- what is carried out by itself --------------------------------------------------------------------------------

    def boxed(self, number: Number, value: object) -> Boxed:
        """A number as the machine has it."""
        one = value if number.dtype == FLOAT32 and isinstance(value, np.float32) else number.dtype.type(value)
        return np.full(self.batch.size, one, number.dtype) if number.by_lane else one

    def unboxed(self, value: Value) -> object:
        """A number of the machine's as Python has it."""
        if isinstance(value, np.ndarray):
            value = value[self.lane]
        assert isinstance(value, np.generic)
        return value if value.dtype == FLOAT32 else value.item()

    def begin(self, site: Site) -> Circumstances:
        before = Circumstances.of(self.machine)
        site.circumstances.begin(self.machine)
        self.machine.at = site.statement
        self.slow[site.number] = self.slow.get(site.number, 0) + 1
        return before

    def operator(self, number: int, left: object, right: object) -> object:
        """`left op right`."""
        site = self.written.sites[number]
        op = site.op
        assert isinstance(op, (Binary, UpdateName, UpdateElement))
        before = self.begin(site)
        one, other = (self.boxed(kind, value) for kind, value in zip(site.operands, (left, right), strict=True))
        result = by_rule(self.machine, op, op.kind, op.rule, one, other, self.mask)
        before.begin(self.machine)
        return self.unboxed(result)

    def call(self, number: int, *values: object) -> object:
        """A function of the library."""
        site = self.written.sites[number]
        op = site.op
        assert isinstance(op, FunctionCall)
        before = self.begin(site)
        given = [self.boxed(kind, value) for kind, value in zip(site.operands, values, strict=True)]
        result = self.written.intrinsics[op].call(Call(self.machine, op, self.mask, op.discards), given, {})
        before.begin(self.machine)
        return self.unboxed(result)

    def load(self, number: int, *indices: object) -> object:
        site = self.written.sites[number]
        assert isinstance(site, AccessSite)
        before = self.begin(site)
        at: Indices = tuple(self.boxed(kind, value) for kind, value in zip(site.operands, indices, strict=True))
        view, at = self.part(site, at)
        result = self.machine.memory.load(view, at, self.mask, site.op)
        self.end_arms(site.op)
        before.begin(self.machine)
        return self.unboxed(result)

    def store(self, number: int, stored_last: int, *indices_and_value: object) -> int:
        """A store; the byte of its allocation that was stored to last."""
        site = self.written.sites[number]
        assert isinstance(site, AccessSite)
        before = self.begin(site)
        *at, value = (self.boxed(kind, each) for kind, each in zip(site.operands, indices_and_value, strict=True))
        self.set_stored(site.group, stored_last)
        view, within = self.part(site, tuple(at))
        self.machine.memory.store(view, within, value, self.mask, site.op)
        self.end_arms(site.op)
        before.begin(self.machine)
        return self.stored(site.group)

    def part(self, site: AccessSite, indices: Indices) -> tuple[View, Indices]:
        """The part of an array that an access goes to, and the indices in that."""
        view = self.arrays[site.view]
        for op, number in site.parts:
            view, indices = part_of(view, indices[:number], self.mask, op), indices[number:]
        return view, indices

    def end_arms(self, op: Operation) -> None:
        joined = frozenset(each for each in (op.joined, op.store_joined) if each is not None)
        if joined:
            self.machine.counting.end_arms(joined)

    def stored(self, group: int) -> int:
        """The byte of an allocation that was stored to last in this round."""
        known = self.machine.counting.stored.get(self.groups[group])
        return FAR if known is None else known[0]

    def set_stored(self, group: int, byte: int) -> None:
        stored = self.machine.counting.stored
        if byte == FAR:
            stored.pop(self.groups[group], None)
        else:
            stored[self.groups[group]] = byte, 1

    def statement(self, number: int, variables: Sequence[tuple[str, object]], stored: Sequence[int]) -> tuple[int, ...]:
        """A statement; the clock of barriers after it, and what was stored to last by group."""
        site = self.written.sites[number]
        op = site.op
        assert isinstance(op, Statement)
        before = self.begin(site)
        for (name, value), kind in zip(variables, site.operands, strict=True):
            if value is not None:
                self.machine.current.write(name, self.boxed(kind, value), self.mask)
        for group, byte in enumerate(stored):
            if group in self.groups:
                self.set_stored(group, byte)
        op.carry_out(self.machine, self.mask)
        before.begin(self.machine)
        return (*self.order, *(self.stored(group) if group in self.groups else FAR for group in range(len(stored))))

    # -- limits ---------------------------------------------------------------------------------------------------

    def refuel(self, number: int, runs: Sequence[int], is_outermost: bool) -> int:
        """How many rounds may go before somebody must ask again; -1: the loop is to be stepped through from here on."""
        launch, written = self.machine.launch, self.written
        done = sum(times * count.work for times, count in zip(runs, written.counts, strict=True))
        left = (launch.work_limit - launch.work - done) // max(1, written.work)
        if left > LEAST_FUEL or left > 0 and not is_outermost:
            return min(FUEL, left // 2)
        if is_outermost:
            return -1
        statement = written.sites[number].statement
        assert statement is not None
        raise launch.over_limit(statement)

    def standstill(
        self, number: int, before: Standstill | None, runs: Sequence[int], variables: Sequence[object]
    ) -> Standstill:
        """See `Machine.standstill`."""
        self.write_back(variables, END)
        self.tell_stores(runs)
        return self.machine.standstill(self.written.sites[number].op, self.mask, before)

    def never_ends(self, number: int) -> None:
        raise self.machine.never_ends(
            self.written.sites[number].op, self.mask, "nothing in the loop changes its condition"
        )

    # -- after ----------------------------------------------------------------------------------------------------

    def tell_stores(self, runs: Sequence[int]) -> None:
        """Has memory know of the stores that were not carried out by themselves."""
        stores = sum(
            runs[each.run] - self.slow.get(each.number, 0) for each in self.written.accesses if each.kind != READ
        )
        self.machine.memory.changes += stores - self.stores_told
        self.stores_told = stores

    def write_back(self, variables: Sequence[object], how: int) -> None:
        """Puts the variables into the frame, where the loop ends in this way."""
        frame, types = self.machine.current, self.written.exits[how if how >= 0 else END]
        for name, value in zip(self.written.variables, variables, strict=True):
            if name in self.written.assigned and value is not None:
                frame.write(name, self.boxed(types[name], value), self.mask)

    def ended(
        self, runs: Sequence[int], new: Sequence[int], again: Sequence[int], stored: Sequence[int | None],
        variables: Sequence[object], rounds: int,
    ) -> None:  # fmt: skip
        """Puts into the books, the frame and memory what the loop's function had in names of its own."""
        machine, written = self.machine, self.written
        self.tell_stores(runs)
        for times, count in zip(runs, written.counts, strict=True):
            if times:
                count.add(machine, self.mask, times)
        for number, times in self.slow.items():
            written.sites[number].count.add(machine, self.mask, -times)
        tally, blocks = machine.launch.tally, len(self.batch.blocks)
        for site, sectors, stores in zip(written.accesses, new, again, strict=True):
            of = tally.source_row if site.is_left_out else tally.row
            if sectors:
                of(site.op.line)[BLOCK_SECTORS] += sectors * blocks
            if stores and site.op.follows_a_store:
                moved = tally.source_row if site.op.store_joined is not None else of
                moved(site.op.line)[AGAIN] += stores
        if any(each is not None for each in stored):
            machine.counting.stored.clear()
        for group, byte in enumerate(stored):
            if byte is not None and group in self.groups:
                self.set_stored(group, byte)
        self.variables, self.rounds = variables, rounds
        self.slow.clear()
        self.stores_told = 0

"""Loops, and how lanes leave them: `while`, and `for` over ranges, arrays, tuples, zip and enumerate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np

from autograder.errors import KernelFault
from autograder.language.program import Function
from autograder.simgpu.counting.counting import Counting
from autograder.simgpu.counting.regrouping import AT_ONCE
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.machine.machine import Machine, Standstill
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers, Stage
from autograder.simgpu.operations.callables import Enumerated, Range, Zipped
from autograder.simgpu.operations.comparisons import compare
from autograder.simgpu.operations.expressions import Constant
from autograder.simgpu.operations.number_values import number, truth
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Compare
from autograder.simgpu.operations.ranges import GoneElsewhere, RangeByLane, plain_numbers, rounds_over
from autograder.simgpu.operations.slicing import check_one_length, lanes_within, part_of
from autograder.simgpu.operations.statements import Target, split
from autograder.simgpu.operations.steps import Block, Expression, Statement
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Lanes, Number, Value

ASKED_EVERY = 16  # rounds of a lane alone after which a quicker way is asked for, the first one included
WAITING = SLOT["waiting_warps"]
STUCK_AFTER = 256  # loop rounds after which a loop is examined for standing still


@dataclass(frozen=True)
class InFours:
    """The machine instructions of a loop that is done four rounds at a time, beside its body and what each round takes.

    After the fours up to three rounds are left over: in a loop of their own, or, inside another loop, written out one
    after another, where two take what three do.
    """

    first: int  # before the first four
    shared: int  # of each four
    left: int  # before rounds that are left over
    single: int  # of each of these
    two: int = 0  # where two are left over
    three: int = 0

    def of_round(self, number: int) -> int:
        """Of a round whose successors are not known: taken for one left over, until four are full."""
        place = number % AT_ONCE
        if place == AT_ONCE - 1:
            return self.shared - self.left - place * self.single - self.three + (self.first if number == place else 0)
        return self.single + (self.left, self.two, self.three - self.two)[place]

    def times(self, rounds: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """How often each lane carries out what, by its number of rounds."""
        left = rounds % AT_ONCE
        if self.shared:
            yield rounds // AT_ONCE, self.shared
        if self.first:
            yield rounds >= AT_ONCE, self.first
        yield left > 0, self.left
        if self.single:
            yield left, self.single
        if self.two or self.three:
            yield left == 2, self.two
            yield left == 3, self.three

    def of(self, rounds: int) -> int:
        """Of a loop of so many rounds."""
        left = rounds % AT_ONCE
        found = rounds // AT_ONCE * self.shared + left * self.single
        found += (0, self.left, self.left + self.two, self.left + self.three)[left]
        return found + (self.first if rounds >= AT_ONCE else 0)


class Loop(Statement):
    """What `while` and `for` have in common."""

    __slots__ = (
        "body", "orelse", "is_written_out", "held_loads", "held_stores", "hoisted", "is_met_behind", "arriving", "before",
        "fours", "behind",
    )  # fmt: skip

    def __init__(self, node: ast.AST, function: Function, body: Block, orelse: Block) -> None:
        super().__init__(node, function)
        self.body, self.orelse = body, orelse
        self.is_written_out = False  # the compiler repeats the body instead of counting
        self.held_loads: frozenset[Operation] = frozenset()  # accesses whose element is loaded once, before the loop
        self.hoisted: set[Operation] = set()  # what is worked out before it, where that is told apart: see `once`
        self.held_stores: frozenset[Operation] = frozenset()  # those whose element is stored once, behind it
        self.arriving = 0  # machine instructions of all lanes that come to it, also of those that have no round
        self.before = 0  # before the first round, of those that have one
        self.fours: InFours | None = None  # where the compiler does four rounds at a time, if there are as many
        self.behind: frozenset[Operation] = frozenset()  # accesses before a `break` that are made behind the loop
        self.is_met_behind = False  # lanes leave it in different rounds, and wait for each other behind it

    def keep_in_registers(self, machine: Machine) -> None:
        """From the second round on nothing is left of accesses to what is kept in registers, and of what was worked out."""
        counting = machine.counting
        machine.books.hoisted |= self.hoisted
        if self.held_loads or self.held_stores:
            counting.held_loads |= self.held_loads
            counting.held_stores |= self.held_stores

    def let_go_of_registers(self, machine: Machine) -> None:
        counting = machine.counting
        machine.books.hoisted -= self.hoisted
        counting.held_loads -= self.held_loads
        counting.held_stores -= self.held_stores

    def wait(self, machine: Machine, gone: Mask | None) -> None:
        """The lanes that leave in this round wait behind the loop: one instruction, for as many of them as come at once."""
        if self.is_met_behind and gone is not None and not machine.counting.is_regrouped(self):
            machine.books.issued(self, gone)

    def compiled(
        self, machine: Machine, running: Mask, rounds: int, asked: int, numbers: range | RangeByLane | None,
        broken: list[Mask],
    ) -> tuple[int, Mask | None] | None:  # fmt: skip
        """Goes on by compiled code where that is worth it: how many rounds were gone, and who is still in the loop."""
        if machine.registers is None:
            return None
        return machine.registers.go_on(machine, self, running, rounds, machine.launch.work - asked, numbers, broken)

    def in_fours(self, machine: Machine, rounds: np.ndarray) -> None:
        """Counts what the rounds of each lane take beside those of the source, as lanes meet in the fours and behind."""
        if self.fours is not None:
            for times, instructions in self.fours.times(rounds):
                machine.books.issued_by_lane(self, times, instructions)

    def one_round(self, machine: Machine, running: Mask, broken: list[Mask]) -> Mask | None:
        """One trip through the body; the lanes that go on to the next (those at `continue` among them)."""
        frame, batch = machine.current, machine.batch
        if not self.is_written_out:
            machine.counting.stored.clear()
        gone_before = len(broken), len(frame.returned)
        after = self.body.carry_out(machine, running)
        if after is running:
            return running
        gone = broken[gone_before[0] :] + frame.returned[gone_before[1] :]
        if not gone and not batch.has_raised:
            return running
        lanes = running.lanes & ~batch.exited if batch.has_raised else running.lanes.copy()
        for mask in gone:
            lanes &= ~mask.lanes
        left = running.only(lanes)
        return left if left.active else None

    def go_on(self, machine: Machine, mask: Mask, broken: list[Mask], returned_before: int) -> Mask | None:
        """The lanes that go on behind the loop: all but those that returned in it; `else` is for who did not break."""
        returned = machine.current.returned[returned_before:]
        lanes = mask.lanes
        for each in returned:
            lanes = lanes & ~each.lanes
        after = mask if not returned else mask.only(lanes)
        if not after.active:
            return None
        if self.orelse.statements:
            finished = after.lanes
            for each in broken:
                finished = finished & ~each.lanes
            ends = after.only(finished)
            if ends.active:
                left = self.orelse.carry_out(machine, ends)
                if left is not ends:
                    after = after.only(~ends.lanes | left.lanes if left is not None else ~ends.lanes)
        return after if after.active else None


class While(Loop):
    """`while condition: ...`."""

    __slots__ = ("condition", "is_hopeless", "waits", "counted")

    def __init__(
        self, node: ast.AST, function: Function, condition: Expression, body: Block, orelse: Block
    ) -> None:
        super().__init__(node, function, body, orelse)
        self.condition = condition
        self.is_hopeless = False  # nothing in the body can change the condition or leave
        self.waits = False  # it goes on until an exchange at the same place finds what another thread has left there
        self.counted: Counted | None = None  # how its rounds are counted beforehand, where four are done at a time

    def carry_out(self, machine: Machine, mask: Mask) -> Mask | None:
        machine.launch.within_while += 1
        try:
            return self._go_round(machine, mask)
        finally:
            machine.launch.within_while -= 1

    def _go_round(self, machine: Machine, mask: Mask) -> Mask | None:
        frame = machine.current
        broken: list[Mask] = []
        frame.loops.append(broken)
        returned_before = len(frame.returned)
        running: Mask | None = mask
        machine.books.issued(self, mask, self.arriving)
        if self.waits:
            machine.books.row(self)[WAITING] += mask.warps
        rounds, asked = 0, machine.launch.work
        before: Standstill | None = None
        while running is not None:
            if rounds == 0 and self.counted is not None:
                condition = self._first_condition(machine, self.counted, running)
            else:
                condition = truth(self.condition.value(machine, running), self.condition)
            running, gone = split(machine, self, condition, running)
            self.wait(machine, gone)
            if running is None:
                break
            if self.counted is not None:
                machine.counting.next_round(self, rounds)
            if rounds == 0:
                machine.books.issued(self, running, self.before)
            if self.fours is not None and not machine.counting.is_regrouped(self):
                machine.books.issued(self, running, self.fours.of_round(rounds))
            running = self.one_round(machine, running, broken)
            self.keep_in_registers(machine)
            rounds += 1
            if self.is_hopeless and running is not None:
                raise machine.never_ends(self, running, "nothing in the loop changes its condition")
            if rounds % STUCK_AFTER == 0 and running is not None:
                before = machine.standstill(self, running, before)
            if rounds % ASKED_EVERY == 1 and running is not None and running.active == 1:
                quickly = machine.written.go_on(machine, self, running, rounds, None, before)
                if quickly is not None:
                    rounds, running = rounds + quickly[0], quickly[1]
            if rounds % ASKED_EVERY in (0, 1) and running is not None and running.active > 1:
                compiled = self.compiled(machine, running, rounds, asked, None, broken)
                if compiled is not None:
                    rounds, running, before = rounds + compiled[0], compiled[1], None
                asked = machine.launch.work
        self.let_go_of_registers(machine)
        machine.counting.end_regrouping(self)
        if self.behind:
            machine.counting.end_arms(self.behind)
        frame.loops.pop()
        return self.go_on(machine, mask, broken, returned_before)

    def _first_condition(self, machine: Machine, counted: Counted, mask: Mask) -> Number:
        """The condition before the first round; where lanes go through unequally many, their accesses are regrouped."""
        asked = counted.condition
        left, right = asked.left.value(machine, mask), asked.others[0].value(machine, mask)
        holds = compare(machine, asked, asked.kinds[0], left, right, mask)
        start, stop = (left, right) if counted.is_left else (right, left)
        if isinstance(start, np.ndarray) or isinstance(stop, np.ndarray):
            step = counted.step_of(machine, mask)
            whole = [np.asarray(each) for each in (start, stop, step)] if step is not None else []
            if whole and all(each.dtype.kind in "iu" for each in whole):
                numbers = [each.astype(np.int64) for each in whole]
                machine.counting.begin_regrouping(self, numbers[0], numbers[1] + counted.past_stop, numbers[2], mask)
                if machine.counting.regrouping is not None:
                    self.in_fours(machine, machine.counting.regrouping.rounds)
        return holds


@dataclass(frozen=True)
class Counted:
    """How the rounds of a `while` loop follow from its first condition, which compares its variable with where it stops."""

    condition: Compare
    is_left: bool  # whether the variable stands on the left
    step: Expression  # what it grows by each round, or what is taken away
    is_less: bool  # taken away
    past_stop: int  # what lies between the first value at which it stops and what it is compared with

    def step_of(self, machine: Machine, mask: Mask) -> Number | None:
        """The step, before the first round; None where it depends on more than numbers."""
        if isinstance(self.step, Constant):
            step = self.step.value(machine, mask)
        else:
            try:
                step = self.step.value(Stage(machine, tells=False).as_machine(), mask)
            except (NotOfNumbers, KernelFault):
                return None
        if not isinstance(step, (np.ndarray, np.generic)):
            return None
        return -step.astype(np.int64) if self.is_less else step


@dataclass(frozen=True)
class UnreadItem:
    """An element or a row of an array that a loop goes over, before its round has come."""

    view: View
    index: int


Coming: TypeAlias = "Value | UnreadItem | list[Coming]"
"""What a loop variable is before its round has come; a list where zip or enumerate gives several."""


class For(Loop):
    """`for target in source: ...`."""

    __slots__ = ("target", "source", "is_cheap", "is_watched", "is_four_at_once")

    def __init__(
        self, node: ast.AST, function: Function, target: Target, source: Expression, body: Block, orelse: Block
    ) -> None:
        super().__init__(node, function, body, orelse)
        self.target, self.source = target, source
        self.is_cheap = False  # its rounds cost next to nothing beside their bodies: written out, or counting unseen
        self.is_watched = False  # what is left of accesses in it depends on the number of the round: see `ByRound`
        self.is_four_at_once = False  # the compiler does four rounds at a time, if it cannot know how many there are

    def carry_out(self, machine: Machine, mask: Mask) -> Mask | None:
        if machine.tapes is not None and machine.tapes.play(self, mask):
            return mask
        frame, books, counting = machine.current, machine.books, machine.counting
        broken: list[Mask] = []
        frame.loops.append(broken)
        returned_before = len(frame.returned)
        running: Mask | None = mask
        kept = self.source.value(machine, mask)
        numbers = plain_numbers(kept)
        by_lane = None if numbers is not None else RangeByLane.of(kept, mask)
        many = self._begin(machine, mask, kept, numbers, by_lane)
        asked = machine.launch.work
        gone_elsewhere = GoneElsewhere()
        coming = enumerate(self.rounds(machine, mask, kept, gone_elsewhere))
        watched = None
        if machine.steady is not None and mask.active > 1 and numbers is not None:
            watched = machine.steady.watch(machine, self, mask, len(numbers))
        for place, (value, still) in coming:
            number_of_round = place + gone_elsewhere.in_all
            if watched is not None and running is not None and (skipped := watched.skip(number_of_round, running)):
                value = next(islice(coming, skipped - 1, None))[1][0]
                watched = None
            if by_lane is not None and number_of_round % ASKED_EVERY == 1 and running is not None and running.active > 1:
                quickly = self.compiled(machine, running, number_of_round, asked, by_lane.behind(number_of_round), broken)
                asked = machine.launch.work
                if quickly is not None:
                    rounds, running = quickly
                    number_of_round += rounds
                    if running is None:
                        break
                    if rounds:
                        gone_elsewhere.add(rounds - 1)
                        _, (value, still) = next(coming)
            if numbers is not None and number_of_round % ASKED_EVERY == 1 and running is not None:
                left = numbers[number_of_round:]
                if mask.active == 1:
                    quickly = machine.written.go_on(machine, self, running, number_of_round, left, None)
                else:
                    quickly = None if machine.tapes is None else machine.tapes.go_on(self, running, left)
                    if quickly is None:
                        quickly = self.compiled(machine, running, number_of_round, asked, left, broken)
                    asked = machine.launch.work
                if quickly is not None:
                    rounds, running = quickly
                    number_of_round += rounds
                    if running is None:
                        break
                    if number_of_round == len(numbers):
                        self.wait(machine, running)
                        break
                    if rounds:
                        value = next(islice(coming, rounds - 1, None))[1][0]
            if still is not None and running is not None:  # lanes that have rounds left
                running, gone = split(machine, self, still, running, is_issued=False)
                self.wait(machine, gone)
            if running is None:
                break
            if number_of_round == 0 and many is None:
                books.issued(self, running, self.before)
            if self.is_watched:
                counting.rounds[self] = number_of_round
            if self.is_four_at_once:
                counting.next_round(self, number_of_round)
            running = self.go_round(machine, running, value, broken)
            if running is None:
                break
        else:
            self.wait(machine, running)
        self.let_go_of_registers(machine)
        counting.end_regrouping(self)
        if self.behind:
            counting.end_arms(self.behind)
        frame.loops.pop()
        return self.go_on(machine, mask, broken, returned_before)

    def _begin(
        self, machine: Machine, mask: Mask, kept: Value, numbers: range | None, by_lane: RangeByLane | None
    ) -> int | np.ndarray | None:
        """Counts what is done before the first round, and what the number of rounds decides; that number, if it is known."""
        books = machine.books
        books.issued(self, mask, self.arriving)
        many = by_lane.rounds(mask) if by_lane is not None else len(numbers) if numbers is not None else rounds_over(kept)
        if isinstance(many, np.ndarray):
            books.issued_by_lane(self, many > 0, self.before)
            self.in_fours(machine, many)
        elif many:
            books.issued(self, mask, self.before + (self.fours.of(many) if self.fours is not None else 0))
        return many

    def go_round(self, machine: Machine, running: Mask, value: Coming, broken: list[Mask]) -> Mask | None:
        """One round, with what the loop variable is in it; the lanes that go on to the next."""
        machine.books.instruction(self, running)
        if not self.is_cheap:
            machine.books.loop_round(self, running)
        self.target.assign(machine, self._fetched(machine, value, running), running)
        left = self.one_round(machine, running, broken)
        self.keep_in_registers(machine)
        return left

    def rounds(
        self, machine: Machine, mask: Mask, kept: Value, gone_elsewhere: GoneElsewhere
    ) -> Iterator[tuple[Coming, Lanes | None]]:
        """What the loop variable is, round by round, before it is fetched; and who has a round left (None: all).

        `kept`: what is looped over.
        """
        bounds = [int(each) for each in kept.bounds if type(each) is np.int64] if isinstance(kept, Range) else []
        if isinstance(kept, Range) and 1 <= len(bounds) == len(kept.bounds) <= 2:  # most loops
            for number_of_round in range(*bounds):
                yield np.int64(number_of_round), None
        elif isinstance(kept, Range):
            yield from _count_up(self, list(kept.bounds), mask, machine.counting, gone_elsewhere)
        elif isinstance(kept, View) and kept.lengths is not None:
            for index in range(kept.shape[0]):
                yield UnreadItem(kept, index), lanes_within(kept, (index,), mask).lanes
        else:
            yield from ((each, None) for each in self._items(kept))

    def _fetched(self, machine: Machine, value: Coming, running: Mask) -> Value:
        """A loop variable's value in its round: elements are loaded, by the lanes that are still in the loop."""
        if isinstance(value, list):  # of zip or enumerate
            return tuple(self._fetched(machine, each, running) for each in value)
        if not isinstance(value, UnreadItem):
            return value
        index = (np.int64(value.index),)
        if value.view.ndim == 1:
            return machine.memory.load(value.view, index, running, self.source)
        return part_of(value.view, index, running, self.source)

    def _items(self, value: Value) -> list[Coming]:
        """What an array, a tuple, zip or enumerate gives item by item; lists are items that are yet to be fetched."""
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, View):
            check_one_length(value, self)
            return [UnreadItem(value, index) for index in range(value.shape[0])]
        if isinstance(value, Zipped):
            several = [self._items(each) for each in value.sequences]
            return [list(items) for items in zip(*several, strict=False)]
        if isinstance(value, Enumerated):
            first = value.start.astype(np.int64)
            return [[np.add(first, np.int64(i)), each] for i, each in enumerate(self._items(value.sequence))]
        if isinstance(value, Range):
            bounds = [number(bound, self.source) for bound in value.bounds]
            if not any(isinstance(bound, np.ndarray) for bound in bounds):
                counted = nt.of_range(bound.dtype for bound in bounds).type
                return [counted(i) for i in range(*map(int, bounds))]
        raise self.fault(f"A kernel cannot loop over `{self.source.text}`.", "Loop over range(...).")


def _count_up(
    loop: For, given: list[Value], mask: Mask, counting: Counting, gone_elsewhere: GoneElsewhere
) -> Iterator[tuple[Value, Lanes | None]]:
    """range(): one shared counter where all lanes agree on the bounds, a counter per lane otherwise."""
    op = loop.source
    bounds = [number(bound, op) for bound in given]
    for bound in bounds:
        if bound.dtype.kind not in "iub":
            raise op.fault(f"range() needs integers, not {bound.dtype}.", "Use // instead of /, or int().")
    if not 1 <= len(bounds) <= 3:
        raise op.fault("range() takes one to three arguments.")
    counted = nt.of_range(bound.dtype for bound in bounds)
    first, last = (np.int64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
    by: Number = bounds[2] if len(bounds) == 3 else np.int64(1)
    stands_still = np.equal(by, 0)
    if np.any(stands_still) and np.any(stands_still & mask.lanes):
        raise op.fault("range() with a step of 0 never ends.")
    if not any([isinstance(bound, np.ndarray) for bound in (first, last, by)]):
        for value in range(int(first), int(last), int(by)):
            yield counted.type(value), None
        return
    start, stop, step = (np.asarray(bound, dtype=np.int64) for bound in (first, last, by))
    if loop.is_four_at_once:
        counting.begin_regrouping(loop, start, stop, step, mask)
    current = np.broadcast_to(start, mask.lanes.shape).copy()
    up = bool(np.all(step > 0))
    while True:
        still = (current < stop) if up else np.where(step > 0, current < stop, current > stop)
        yield current.astype(counted, copy=False), still
        current = current + step
        if gone_elsewhere.now:
            current = current + gone_elsewhere.taken() * step

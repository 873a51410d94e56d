"""One time that a compiled loop is used: rows filled from the frame, calls of some rounds each, and what they leave."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.simgpu.in_registers.compiled import (
    DRAWS_APART,
    FINE,
    GONE,
    LAST,
    ROWS,
    STANDSTILL,
    TROUBLE,
    WHERE,
    WHY,
    CompiledLoop,
    SlotKind,
)
from autograder.simgpu.in_registers.counts import CountShare
from autograder.simgpu.in_registers.desk import BROKE, LEFT_FOR, RETURNED, DrawSite, WayOut
from autograder.simgpu.in_registers.draws import Draws
from autograder.simgpu.in_registers.figures import LaneNumber, Sharing
from autograder.simgpu.in_registers.loads import AT_ONCE, LoadedArray, LoadSite, LoadsOfLanes
from autograder.simgpu.in_registers.source import Division
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.rehearsal import Circumstances
from autograder.simgpu.operations.loops import Loop
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.ranges import RangeByLane
from autograder.simgpu.operations.statements import DIVERGENT_BRANCHES
from autograder.simgpu.operations.steps import STATEMENT_COST, Expression, Statement
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import INT64, UINT64, complex_of
from autograder.simgpu.values.values import NUMBERS, Number, Value
from autograder.simgpu.values.variables import Variable

SECONDS = 0.2  # that a call is to take: in between, Ctrl-C is heard
FIRST_ROUNDS = 256  # of the first call
OF_A_DRAW = 32  # warp instructions at most, for each warp: see `_next` in wider/random_numbers.py


@dataclass(frozen=True, eq=False)
class LoopOfLanes:
    """A loop as it is compiled for variables of some types."""

    compiled: CompiledLoop
    around: Circumstances
    kinds: Mapping[str, tuple[np.dtype, Sharing]]
    assigned: frozenset[str]
    shares: tuple[CountShare, ...]  # of each run
    divisions: tuple[Division, ...]
    draws: tuple[DrawSite, ...]
    ways_out: tuple[WayOut, ...]
    states: Expression | None
    arrays: tuple[LoadedArray, ...]
    loads: tuple[LoadSite, ...]
    returns: tuple[tuple[Operation, LaneNumber | None], ...]
    given: tuple[tuple[Expression, LaneNumber], ...]
    is_by_lane: bool
    is_regrouped: bool
    others: Mapping[str, object]  # variables that hold something else than numbers: of which class

    @property
    def work(self) -> tuple[int, int]:
        """The most work of a round: of itself, and of each warp."""
        each = sum(share.work.each for share in self.shares)
        by_warp = sum(share.work.by_warp + WARP * max(0, share.work.by_lane) for share in self.shares)
        for way in self.ways_out:
            each += 2 * STATEMENT_COST * sum(isinstance(op, Statement) for op in everything_in(way.block))
            by_warp += len(everything_in(way.block))
        return each, by_warp + OF_A_DRAW * len(self.draws)


class RoundsOfLanes:
    """A compiled loop that goes on with the lanes of a mask."""

    def __init__(
        self, machine: Machine, loop: Loop, mask: Mask, written: LoopOfLanes, values: Mapping[str, Number],
        given: Mapping[object, Number], views: Sequence[View], rounds: int, by_lane: RangeByLane | None,
    ) -> None:  # fmt: skip
        """`values`: of variables; `given`: what is worked out once; `views`: the arrays from which it loads.

        `rounds`: that are gone; `by_lane`: its range.
        """
        self.machine, self.loop, self.mask, self.written, self.rounds = machine, loop, mask, written, rounds
        self.values = values
        self.by_origin: dict[object, Number] = dict(given)
        self.by_origin.update(values)
        if by_lane is not None:
            shape = mask.lanes.shape
            for name, bound in (("current", by_lane.start), ("stop_of", by_lane.stop), ("step_of", by_lane.step)):
                self.by_origin["range", name] = np.broadcast_to(bound, shape)
        self.warps = np.flatnonzero(mask.lanes.reshape(-1, WARP).any(axis=1))
        self.compiled = written.compiled
        self.rows = {
            each: np.zeros((len(self.warps), size * WARP), ROWS[each]) for each, size in self.compiled.sizes.items()
        }
        self.rows["i"][:, :WARP] = ~mask.lanes.reshape(-1, WARP)[self.warps]  # who is not in the loop has left it
        self.before = {each: np.empty_like(rows) for each, rows in self.rows.items()}
        self.at_boundary = {each: np.empty_like(rows) for each, rows in self.rows.items()}
        self.is_kept = np.zeros(1, np.bool_)
        self.loads = LoadsOfLanes(machine, written.loads, views, self.warps) if written.loads else None
        self.draws: Draws | None = None
        if written.draws:
            assert written.states is not None
            states = written.states.value(machine, mask)
            assert isinstance(states, View)
            self.draws = Draws(machine, loop, mask, written.draws, states, self.by_origin[written.draws[0].index])
        for slot in self.compiled.slots:
            if slot.kind == "state":
                assert self.draws is not None and isinstance(slot.what, int)
                self.fill(slot.rows, slot.number, self.draws.state(slot.what))
            elif slot.kind not in ("result", "round"):
                origin = ("range", slot.what) if slot.kind == "range" else slot.what
                self.fill(slot.rows, slot.number, self.by_origin[origin])
        self.running = mask
        self.trouble = False

    # -- rows -----------------------------------------------------------------------------------------------------

    def row(self, rows: str, number: int) -> np.ndarray:
        """A row of all warps that are in the loop."""
        row: np.ndarray = self.rows[rows][:, number * WARP : (number + 1) * WARP]
        return row

    def fill(self, rows: str, number: int, value: Number) -> None:
        if isinstance(value, np.ndarray):
            value = value.reshape(-1, WARP)[self.warps]
        if value.dtype.kind == "c":
            self.row(rows, number + 1)[:] = np.imag(value)
            value = np.real(value)
        self.row(rows, number)[:] = value.astype(ROWS[rows])  # large unsigned numbers as negative ones

    def taken(self, kind: SlotKind, what: object, dtype: np.dtype) -> np.ndarray:
        """What the lanes have, as a lane vector."""
        slot = next(each for each in self.compiled.slots if (each.kind, each.what) == (kind, what))
        whole = np.zeros((self.machine.batch.warps, WARP), dtype)
        if dtype.kind == "c":
            whole[self.warps] = complex_of(self.row(slot.rows, slot.number), self.row(slot.rows, slot.number + 1), dtype)
        else:
            whole[self.warps] = self.row(slot.rows, slot.number).astype(dtype)
        return whole.reshape(-1)

    def why_gone(self) -> np.ndarray:
        """Of each lane of the batch why it has left; 0: it has not."""
        whole = np.ones((self.machine.batch.warps, WARP), np.int64)
        whole[self.warps] = self.row("i", 0)
        return whole.reshape(-1)

    # -- rounds ---------------------------------------------------------------------------------------------------

    def go(self, numbers: range | None) -> None:
        """Goes on for as long as it can: to the loop's end, to a lane in trouble, to where somebody looks at the work."""
        at_most = FIRST_ROUNDS
        while numbers is None or numbers:
            rounds = min(at_most, self.affordable(), len(numbers) if numbers is not None else at_most)
            if rounds < 1 or rounds < AT_ONCE and (numbers is None or rounds < len(numbers)):
                break
            begun = time.monotonic()
            gone, why = self.call(rounds, numbers)
            took = time.monotonic() - begun
            numbers = None if numbers is None else numbers[gone:]
            if why == TROUBLE:
                self.trouble = True
                break
            if why == STANDSTILL:
                raise self.machine.never_ends(self.loop, self.running, "it goes round without anything changing")
            if not self.running.active:
                break
            if why == FINE and gone == rounds == at_most and took < SECONDS / 2:
                at_most *= 2

    def affordable(self) -> int:
        """The rounds that can be gone before somebody has to look at the work that is done."""
        launch = self.machine.launch
        each, by_warp = self.written.work
        return (launch.next_look - launch.work) // (each + by_warp * self.running.warps) - 1

    def call(self, rounds: int, numbers: range | None) -> tuple[int, int]:
        """Goes so many rounds, or fewer: how many, and why no more."""
        machine, written, compiled = self.machine, self.written, self.compiled
        warps = len(self.warps)
        drawn = sorted({each.run for each in written.draws})
        totals = np.zeros((len(written.shares), 3), np.int64)
        divided = np.zeros(len(written.divisions), np.int64)
        diverged, by_warp = np.zeros(warps, np.bool_), np.zeros(warps, np.int64)
        masks = np.zeros((len(drawn), AT_ONCE, warps), np.int64)
        full = _words(self.row("i", 0) == 0)
        said = np.zeros(4, np.int64)
        first, step = (0, 0) if numbers is None else (numbers[0], numbers.step)
        scalars = [self.by_origin[each.origin] for each in compiled.scalars]
        compiled.function(
            warps, rounds, self.rounds, first, step, *self.rows.values(), *self.before.values(), *self.at_boundary.values(),
            self.is_kept, totals, divided, diverged, by_warp, np.zeros(warps, np.int64),
            np.zeros((len(written.shares), AT_ONCE), np.uint8), masks, full, said,
            *(() if self.loads is None else self.loads.arguments), *scalars,
        )  # fmt: skip
        gone, why = int(said[GONE]), int(said[WHY])
        if why == TROUBLE:  # nobody has gone the last rounds
            for name, rows in self.rows.items():
                rows[: said[WHERE] + 1] = self.before[name][: said[WHERE] + 1]
        for share, (times, of_warps, lanes) in zip(written.shares, totals.tolist(), strict=True):
            if times:
                share.add(machine, times, of_warps, lanes)
        for division, times in zip(written.divisions, divided.tolist(), strict=True):
            if times:
                machine.books.row(division.op)[DIVERGENT_BRANCHES] += times
        machine.batch.diverged[self.warps[diverged]] = True
        whole = np.zeros(machine.batch.warps, np.int64)
        whole[self.warps] = by_warp
        machine.books.warp_work.add(whole)
        if self.loads is not None:
            self.loads.count()
        self.rounds += gone
        if self.draws is not None:
            uniform = gone - int(said[LAST]) if why == DRAWS_APART else gone
            self.draws.count(self.warps, {run: full for run in drawn}, uniform)
            if why == DRAWS_APART:
                self.draws.count_apart(self.warps, drawn, masks[:, : said[LAST]])
        left = self.running.only(self.why_gone() == 0)
        self.running = left
        return gone, why

    # -- after ----------------------------------------------------------------------------------------------------

    def end(self, broken: list[Mask]) -> Mask | None:
        """Puts into the frame and memory what the rows hold; the lanes that are still in the loop."""
        machine, written, frame = self.machine, self.written, self.machine.current
        if self.draws is not None:
            self.draws.keep(self.taken("state", 0, UINT64), self.taken("state", 1, UINT64))
        if not self.loop.is_written_out and self.draws is None:
            machine.counting.stored.clear()
        for name in sorted(written.assigned & written.kinds.keys()):
            dtype, sharing = written.kinds[name]
            value = self.taken("variable", name, dtype)
            was_by_lane = isinstance(self.values[name], np.ndarray)
            if sharing == Sharing.MAYBE:
                sharing = Sharing.BY_LANE if was_by_lane else Sharing.SHARED
            frame.write(name, self.as_shared(value, self.mask, sharing), self.mask)
        why = self.why_gone()
        broke = self.mask.lanes & (why == BROKE)
        if broke.any():
            broken.append(self.mask.only(broke))
        for number, (_, result) in enumerate(written.returns):
            returned = self.mask.lanes & (why == RETURNED + number)
            if returned.any():
                self.give(self.mask.only(returned), number, result)
        if written.ways_out:
            self.leave_by_steps(why)
        return self.running if self.running.active else None

    def leave_by_steps(self, why: np.ndarray) -> None:
        """Has lanes do what they had yet to do when they left, round after round."""
        machine, written, frame = self.machine, self.written, self.machine.current
        around, at = Circumstances.of(machine), machine.at
        left_at = self.taken("round", 0, INT64)
        shared = [name for name in written.assigned & written.kinds.keys() if written.kinds[name][1] == Sharing.SHARED]
        leaving = self.mask.lanes & (why >= LEFT_FOR)
        for number in np.unique(left_at[leaving]):
            if not self.loop.is_written_out:
                machine.counting.stored.clear()
            for place, way in enumerate(written.ways_out):
                lanes = leaving & (left_at == number) & (why == LEFT_FOR + place)
                if not lanes.any():
                    continue
                mask = self.mask.only(lanes)
                for name in shared:
                    frame.write(name, self.taken("variable", name, written.kinds[name][0])[mask.where[0]], mask)
                way.circumstances.begin(machine)
                way.block.carry_out(machine, mask)
        around.begin(machine)
        machine.at = at

    def give(self, mask: Mask, number: int, result: LaneNumber | None) -> None:
        """Lanes that have returned from the function that the loop is in."""
        machine, frame = self.machine, self.machine.current
        if result is not None:
            if frame.result is None:
                frame.result = Variable()
            value = self.taken("result", number, result.dtype)
            frame.result.write(mask, self.as_shared(value, mask, result.sharing))
        frame.returned.append(mask)
        if frame.depth == 0:
            machine.batch.exited |= mask.lanes

    def as_shared(self, value: np.ndarray, mask: Mask, sharing: Sharing) -> Value:
        """A lane vector; one number where lanes share it."""
        own = value[mask.where]
        if sharing == Sharing.SHARED and (own == own[0]).all():
            one = own[0]
            assert isinstance(one, NUMBERS)
            return one
        return value


def _words(lanes: np.ndarray) -> np.ndarray:
    """Of each warp its lanes as bits."""
    bits: np.ndarray = (lanes.astype(np.int64) << np.arange(WARP)).sum(axis=1)
    return bits

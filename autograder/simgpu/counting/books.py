"""The counts of one batch of blocks: by source line, by warp, and for the whole launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.simgpu.counting.tally import (
    ISSUED_FLOAT64,
    ISSUED_THREADS,
    ISSUED_WARPS,
    SLOT,
    THREAD_INSTRUCTIONS,
    WARP_INSTRUCTIONS,
    WarpWork,
)
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.lanes import Batch, Mask

LOOP_ROUNDS = SLOT["loop_rounds"]


class Books:
    """Counts instructions, and gives the row of counts of an operation's source line.

    There are two counts: what the source says, and what the compiler leaves. Most operations are in both. An operation that
    the compiler removes is in the first only (`left_out`); what it makes instead is in the second only (`made_instead`).
    """

    def __init__(self, launch: LaunchState, batch: Batch) -> None:
        self.launch = launch
        self.tally = launch.tally
        self.warp_work = WarpWork(batch.warps)
        self.warp_loads = WarpWork(batch.warps)  # from global memory, and atomics there: they give a value as well
        self.hoisted: set[Operation] = set()  # operations that are computed before a loop around this place
        self.in_short_arms = 0  # branches around this place without a jump: all lanes go through
        self.warps_more = 0.0  # warps beyond the source's that carry out machine code here, as a share: regrouping.py
        self.shared_out = 0  # instructions of warps, of which these carry out that share
        self.has_parted = False  # a division was worked out apart by some lanes, by what their numbers are
        self.shared_counts: dict[Operation, Any] = {}  # what expressions count here: operations/shared_numbers.py
        self._rows: dict[Operation, list[int]] = {}
        self._source_rows: dict[Operation, list[int]] = {}

    def row(self, op: Operation) -> list[int]:
        """The running counts of an operation's source line, by `SLOT`."""
        row = self._rows.get(op)
        if row is None:
            row = self._rows[op] = self.tally.row(op.line)
        return row

    def instruction(self, op: Operation, mask: Mask, is_issued: bool = True) -> list[int]:
        """Adds one instruction for each active warp to the operation's source line; returns the line's row."""
        row = self._rows.get(op)
        if row is None:
            row = self._rows[op] = self.tally.row(op.line)
        warps = mask.warps
        row[WARP_INSTRUCTIONS] += warps
        row[THREAD_INSTRUCTIONS] += mask.active
        if is_issued and not self.in_short_arms:
            slots = op.slots
            if op.once and op not in self.hoisted:
                slots += op.once
            row[ISSUED_WARPS] += warps * slots
            row[ISSUED_THREADS] += mask.active * slots
            if op.double_slots:
                row[ISSUED_FLOAT64] += warps * min(slots, op.double_slots)
            if self.warps_more:
                self.shared_out += warps * slots
        elif is_issued and op.double_slots:  # its branch has counted it, but not as this
            row[ISSUED_FLOAT64] += warps * min(op.slots + op.once, op.double_slots)
        work = self.warp_work
        if work.mask is mask:
            work.pending += 1
        else:
            work.step(mask)
        self.launch.work += warps
        return row

    def slots(self, op: Operation) -> int:
        """The machine instructions that an operation takes at this place."""
        if self.in_short_arms:
            return 0
        return op.slots if not op.once or op in self.hoisted else op.slots + op.once

    def left_out(self, op: Operation, mask: Mask) -> list[int]:
        """`instruction` for an operation that the compiler removes: only the source has it."""
        row = self._source_rows.get(op)
        if row is None:
            row = self._source_rows[op] = self.tally.source_row(op.line)
        row[WARP_INSTRUCTIONS] += mask.warps
        row[THREAD_INSTRUCTIONS] += mask.active
        self.launch.work += mask.warps
        return row

    def issued(self, op: Operation, mask: Mask, times: int = 1, of_float64: int = 0) -> None:
        """Adds machine instructions (or takes some back); not in a short arm, whose instructions count with its branch.

        `of_float64`: how many of them the pipe of float64 carries out.
        """
        if not self.in_short_arms:
            row = self.row(op)
            if of_float64:
                row[ISSUED_FLOAT64] += mask.warps * of_float64
            row[ISSUED_WARPS] += mask.warps * times
            row[ISSUED_THREADS] += mask.active * times
            if self.warps_more:
                self.shared_out += mask.warps * times

    def issued_by_lane(self, op: Operation, times: np.ndarray, instructions: int) -> None:
        """Adds machine instructions that lanes carry out so many times each, together as far as they can."""
        if not self.in_short_arms and instructions:
            row = self.row(op)
            row[ISSUED_WARPS] += instructions * int(times.reshape(-1, WARP).max(axis=1).sum())
            row[ISSUED_THREADS] += instructions * int(times.sum())

    def issued_by_some(self, row: list[int], warps: int, lanes: int) -> None:
        """Adds machine instructions, each of other lanes."""
        row[ISSUED_WARPS] += warps
        row[ISSUED_THREADS] += lanes
        if self.warps_more:
            self.shared_out += warps

    def begin_regrouping(self, op: Operation, warps_more: float, waits: tuple[int, int]) -> None:
        """Before a loop that more warps go through than in the source; `waits`: of warps and of lanes, after it."""
        self.warps_more, self.shared_out = warps_more, 0
        row = self.row(op)
        row[ISSUED_WARPS] += waits[0]
        row[ISSUED_THREADS] += waits[1]

    def end_regrouping(self, op: Operation) -> None:
        """After a loop that more warps went through than in the source."""
        self.row(op)[ISSUED_WARPS] += round(self.shared_out * self.warps_more)
        self.warps_more, self.shared_out = 0.0, 0

    def made_instead(self, op: Operation) -> list[int]:
        """The row for what the compiler makes instead of what the source says."""
        return self.tally.compiled_row(op.line)

    def instructions(self, row: list[int], mask: Mask, times: int, issued: int) -> None:
        """Adds `times` instructions, and `issued` of machine code; not to the launch's work, where they count already."""
        row[WARP_INSTRUCTIONS] += times * mask.warps
        row[THREAD_INSTRUCTIONS] += times * mask.active
        row[ISSUED_WARPS] += issued * mask.warps
        row[ISSUED_THREADS] += issued * mask.active
        self.warp_work.step(mask, times)

    def fused(self, row: list[int], mask: Mask) -> None:
        """Takes back an addition that is one instruction with the multiplication before it."""
        row[WARP_INSTRUCTIONS] -= mask.warps
        row[THREAD_INSTRUCTIONS] -= mask.active
        self.warp_work.step(mask, -1)

    def loop_round(self, op: Operation, mask: Mask) -> None:
        """Adds a round of a loop that the compiler does not unroll."""
        self.row(op)[LOOP_ROUNDS] += mask.warps

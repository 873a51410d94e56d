"""Barriers: who must be there, what they put in order, and what is said where threads are missing."""

from __future__ import annotations

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.counting.books import Books
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.machine.reports import Reports
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.order import Order
from autograder.simgpu.ordering.tickets import Tickets
from autograder.simgpu.values.lanes import Batch, Mask


class Barriers:
    """The barriers of blocks, warps and cooperative grids."""

    def __init__(
        self, launch: LaunchState, batch: Batch, order: Order, tickets: Tickets | None, books: Books, reports: Reports
    ) -> None:
        self.launch = launch
        self.batch = batch
        self.order = order
        self.tickets = tickets
        self.books = books
        self.reports = reports

    def barrier(self, mask: Mask, op: Operation) -> None:
        """syncthreads: every live thread of a block must be here; what came before it is ordered before what follows."""
        if mask is not self.batch.everyone:
            here = self.by_block(mask.lanes)
            missing = self.by_block(self.missing(mask))
            stuck = np.asarray(missing.any(axis=1) & here.any(axis=1))
            if stuck.any():
                self.report_divergent_barrier(op, missing, here, stuck)
        self.meet(mask, op)

    def by_block(self, lanes: np.ndarray) -> np.ndarray:
        return lanes.reshape(len(self.batch.blocks), self.batch.geometry.padded)

    def missing(self, mask: Mask) -> np.ndarray:
        """A flag for each lane: it lives and is not here."""
        absent: np.ndarray = self.batch.everyone.lanes & ~mask.lanes
        return absent & ~self.batch.exited

    def meet(self, mask: Mask, op: Operation) -> None:
        """Counts the barrier, and puts what the blocks here did before it before what follows."""
        row = self.books.instruction(op, mask)
        row[SLOT["barriers"]] += mask.warps
        arrived = np.asarray(self.by_block(mask.lanes).any(axis=1))
        self.order.now += 1
        self.order.block_sync[arrived] = self.order.now
        self.order.warp_sync.reshape(len(arrived), -1)[arrived] = self.order.now

    def report_divergent_barrier(
        self, op: Operation, missing: np.ndarray, here: np.ndarray, stuck: np.ndarray
    ) -> None:
        slot = int(np.flatnonzero(stuck)[0])
        waiting = slot * here.shape[1] + int(np.flatnonzero(here[slot])[0])
        absent = slot * here.shape[1] + int(np.flatnonzero(missing[slot])[0])
        count = int(missing[slot].sum())
        self.reports.report(
            "divergent_barrier",
            op,
            lane=waiting,
            barrier="block",
            absent=count,
            other_thread=self.batch.who(absent)[1],
            occurrences=int(stuck.sum()),
            message=(
                f"This thread waits at a barrier that {count} thread{'s' * (count != 1)} of its block "
                f"(thread {self.batch.who(absent)[1]} for one) did not reach: on a GPU the block may hang."
            ),
            remedy="Move cuda.syncthreads() out of the branch or loop, so that every thread of the block reaches it.",
        )

    def warp_barrier(self, mask: Mask) -> None:
        """syncwarp: what the lanes of a warp did before it is ordered before what follows."""
        self.order.now += 1
        self.order.warp_sync[self.warps_of(mask)] = self.order.now

    def exchange(self, mask: Mask) -> None:
        """A shuffle, vote or match: kept to say, of a race across one, that it orders no memory."""
        self.order.now += 1
        if self.order.exchanged is None:
            self.order.exchanged = np.zeros(self.batch.warps, np.int32)
        self.order.exchanged[self.warps_of(mask)] = self.order.now

    def warps_of(self, mask: Mask) -> np.ndarray:
        return np.asarray(mask.lanes.reshape(-1, prim.WARP).any(axis=1))

    def fence(self, mask: Mask, wide: bool = True) -> None:
        """threadfence: what these lanes did before it, others (of their block, where it is not `wide`) see before what
        the lanes do after it; nobody waits."""
        self.order.now += 1
        if self.tickets is not None:
            self.tickets.fence(mask, wide)

    def grid_barrier(self, mask: Mask, op: Operation) -> None:
        """A cooperative grid's sync: all blocks are in this batch (the launch sees to that)."""
        missing = self.missing(mask)
        gone = np.repeat(~self.by_block(mask.lanes).any(axis=1), self.batch.geometry.padded)  # blocks that left it all
        missing |= gone & self.batch.everyone.lanes
        self.meet(mask, op)
        if missing.any():
            self.report_divergent_grid(op, mask, missing)
        else:
            self.order.grid_sync = self.launch.grid_sync = self.order.now

    def report_divergent_grid(self, op: Operation, mask: Mask, missing: np.ndarray) -> None:
        count, absent = int(missing.sum()), int(np.flatnonzero(missing)[0])
        block, thread = self.batch.who(absent)
        self.reports.report(
            "divergent_barrier",
            op,
            lane=int(np.flatnonzero(mask.lanes)[0]),
            barrier="block",
            absent=count,
            other_thread=thread,
            message=(
                f"This thread waits for the whole grid at a barrier that {count:,} thread{'s' * (count != 1)} of it "
                f"(thread {thread} of block {block} for one) did not reach: on a GPU the launch may never end."
            ),
            remedy="Move the grid's sync() out of the branch or loop, so that every thread of the grid reaches it.",
        )

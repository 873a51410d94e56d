"""Barriers: who must be there, what they put in order, and what is said where threads are missing."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.lanes import Mask
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter


@dataclass
class Order:
    """The logical clock of barriers: an access stamped before a thread's last barrier is ordered before it."""

    now: int
    grid_sync: int
    block_sync: np.ndarray  # int32, per block of the batch
    warp_sync: np.ndarray  # int32, per warp of the batch
    exchanged: np.ndarray | None = None  # int32, per warp: its last shuffle, which orders nothing; None before the first


class Barriers:
    """The barriers of blocks, warps and cooperative grids; part of `Interpreter`."""

    def barrier(self: Interpreter, mask: Mask, node: ast.AST) -> None:
        """syncthreads: every live thread of a block must be here; what came before it is ordered before what follows."""
        row = self.count_instruction(node, mask)
        row[SLOT["barriers"]] += mask.warps
        shape = (len(self.batch.blocks), self.batch.geometry.padded)
        here = mask.lanes.reshape(shape)
        arrived = here.any(axis=1)
        if mask is not self.batch.everyone:
            missing = self.batch.everyone.lanes & ~self.exited & ~mask.lanes
            stuck = missing.reshape(shape).any(axis=1) & arrived
            if stuck.any():
                self.report_divergent_barrier(node, mask, missing.reshape(shape), here, stuck)
        self.order.now += 1
        self.order.block_sync[arrived] = self.order.now
        self.order.warp_sync.reshape(len(arrived), -1)[arrived] = self.order.now

    def report_divergent_barrier(
        self: Interpreter, node: ast.AST, mask: Mask, missing: np.ndarray, here: np.ndarray, stuck: np.ndarray
    ) -> None:
        slot = int(np.flatnonzero(stuck)[0])
        waiting = slot * here.shape[1] + int(np.flatnonzero(here[slot])[0])
        absent = slot * here.shape[1] + int(np.flatnonzero(missing[slot])[0])
        count = int(missing[slot].sum())
        self.report(
            "divergent_barrier",
            node,
            lane=waiting,
            other_thread=self.batch.who(absent)[1],
            occurrences=int(stuck.sum()),
            message=(
                f"This thread waits at a barrier that {count} thread{'s' * (count != 1)} of its block "
                f"(thread {self.batch.who(absent)[1]} for one) did not reach: on a GPU the block may hang."
            ),
            remedy="Move cuda.syncthreads() out of the branch or loop, so that every thread of the block reaches it.",
        )

    def warp_barrier(self: Interpreter, mask: Mask) -> None:
        """syncwarp: what the lanes of a warp did before it is ordered before what follows."""
        self.order.now += 1
        self.order.warp_sync[self.warps_of(mask)] = self.order.now

    def exchange(self: Interpreter, mask: Mask) -> None:
        """A shuffle, vote or match: kept to say, of a race across one, that it orders no memory."""
        self.order.now += 1
        if self.order.exchanged is None:
            self.order.exchanged = np.zeros(self.batch.warps, np.int32)
        self.order.exchanged[self.warps_of(mask)] = self.order.now

    def warps_of(self: Interpreter, mask: Mask) -> np.ndarray:
        return mask.lanes.reshape(-1, prim.WARP).any(axis=1)

    def fence(self: Interpreter, mask: Mask, wide: bool = True) -> None:
        """threadfence: what these lanes did before it, others (of their block, where it is not `wide`) see before what
        the lanes do after it; nobody waits."""
        self.order.now += 1
        if self.tickets is not None:
            self.tickets.fence(mask, wide)

    def grid_barrier(self: Interpreter, mask: Mask, node: ast.AST) -> None:
        """A cooperative grid's sync: all blocks are in this batch (the launch sees to that)."""
        self.barrier(mask, node)
        if np.any(self.batch.everyone.lanes & ~self.exited & ~mask.lanes):
            return  # reported by barrier
        self.order.grid_sync = self.launch.grid_sync = self.order.now

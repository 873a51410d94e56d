"""What pictures are drawn from: the first accesses and branches of source lines, kept while a launch runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from autograder.errors import Line
from autograder.records.accesses import Access, Branch

if TYPE_CHECKING:
    from autograder.simgpu.values.lanes import Batch, Mask

WARP = 32
TRACE_LIMIT = 64  # accesses kept for each source line, array and kind


@dataclass
class Trace:
    """The first accesses and branches of each source line, or of `only` one."""

    limit: int = TRACE_LIMIT
    only: Line | None = None
    accesses: dict[Line, list[Access]] = field(default_factory=dict)
    branches: dict[Line, list[Branch]] = field(default_factory=dict)

    def wants(self, line: Line) -> bool:
        return self.only is None or line == self.only

    def add_access(
        self, line: Line, kind: str, space: str, array: str, itemsize: int, shape: tuple[int, ...],
        block: tuple[int, int, int], warp: int, addresses: np.ndarray,
    ) -> None:  # fmt: skip
        kept = self.accesses.setdefault(line, [])
        if sum(1 for a in kept if (a.array, a.kind) == (array, kind)) < self.limit:
            step = sum(1 for a in kept if (a.block, a.warp, a.array, a.kind) == (block, warp, array, kind))
            kept.append(Access(kind, space, array, itemsize, shape, block, warp, addresses, step))

    def add_branch(self, line: Line, mask: Mask, taken: np.ndarray, batch: Batch) -> None:
        kept = self.branches.setdefault(line, [])
        for warp in np.unique(mask.where // WARP):
            if len(kept) >= self.limit:
                return
            lanes = slice(warp * WARP, (warp + 1) * WARP)
            slot, in_block = divmod(int(warp), batch.geometry.warps_per_block)
            block = batch.geometry.block_index(int(batch.blocks[slot]))
            kept.append(Branch(line, block, in_block, mask.lanes[lanes].copy(), taken[lanes].copy()))

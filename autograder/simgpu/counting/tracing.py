"""The first accesses and branches of source lines, kept while a launch runs: pictures are drawn from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.errors import Line
from autograder.records.accesses import Access, AccessKind, Branch

if TYPE_CHECKING:
    from autograder.simgpu.values.lanes import Batch, Mask

WARP = 32
ACCESS_KINDS: tuple[AccessKind, ...] = ("load", "store", "atomic")  # by primitives' READ, WRITE and ATOMIC
TRACE_LIMIT = 64  # accesses kept for each source line, array and kind


@dataclass
class Trace:
    """The first accesses and branches of each source line, or of `only` one."""

    limit: int = TRACE_LIMIT
    only: Line | None = None
    accesses: dict[Line, list[Access]] = field(default_factory=dict)
    branches: dict[Line, list[Branch]] = field(default_factory=dict)
    _kept: Counter[tuple[Any, ...]] = field(default_factory=Counter)  # accesses kept, by line, kind and array, and by warp

    def wants(self, line: Line) -> bool:
        return self.only is None or line == self.only

    def has_room(self, line: Line, kind: str, array: str) -> bool:
        """Whether one more access would be kept: a loop may reach the line a million times."""
        return self._kept[line, kind, array] < self.limit

    def add_access(
        self, line: Line, kind: AccessKind, space: str, array: str, itemsize: int, shape: tuple[int, ...],
        block: tuple[int, int, int], warp: int, addresses: np.ndarray,
    ) -> None:  # fmt: skip
        if not self.has_room(line, kind, array):
            return
        step = self._kept[line, kind, array, block, warp]
        self.accesses.setdefault(line, []).append(Access(kind, space, array, itemsize, shape, block, warp, addresses, step))
        self._kept[line, kind, array] += 1
        self._kept[line, kind, array, block, warp] += 1

    def add_branch(self, line: Line, mask: Mask, taken: np.ndarray, batch: Batch) -> None:
        kept = self.branches.setdefault(line, [])
        for warp in np.unique(mask.where // WARP):
            if len(kept) >= self.limit:
                return
            lanes = slice(warp * WARP, (warp + 1) * WARP)
            slot, in_block = divmod(int(warp), batch.geometry.warps_per_block)
            block = batch.geometry.block_index(int(batch.blocks[slot]))
            kept.append(Branch(line, block, in_block, mask.lanes[lanes].copy(), taken[lanes].copy()))

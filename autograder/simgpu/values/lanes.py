"""Who runs: the lanes of a batch of blocks, and the masks that say which of them are active.

All threads of a batch step through each statement together. A lane vector is a one-dimensional NumPy array with one
element per lane; blocks are padded to whole warps, and the padding lanes are never active.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from autograder.simgpu import primitives
from autograder.simgpu.primitives import WARP

Dim3 = tuple[int, int, int]
MOST_KEPT_LANES = 65_536  # of a batch whose lane numbers are kept for the next launch
B = TypeVar("B", int, np.ndarray)  # the number of one block, or of many


@dataclass(frozen=True)
class Geometry:
    """The shape of a launch: grid and block in x, y, z, with the sizes derived from them."""

    grid: Dim3
    block: Dim3

    @property
    def threads_per_block(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        return -(-self.threads_per_block // WARP)

    @property
    def padded(self) -> int:
        """Lanes that a block takes in a lane vector: its threads, rounded up to whole warps."""
        return self.warps_per_block * WARP

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def block_index(self, block: B) -> tuple[B, B, B]:
        """blockIdx of the block with this linear number, or of several (x varies fastest)."""
        x, y = self.grid[0], self.grid[1]
        return block % x, block // x % y, block // (x * y)

    def thread_index(self, thread: int) -> Dim3:
        """threadIdx of the thread with this number within its block (x varies fastest)."""
        x, y = self.block[0], self.block[1]
        return thread % x, thread // x % y, thread // (x * y)


class Mask:
    """Which lanes are active, with the counts every statement needs.

    Masks form a tree: a mask made by narrowing another is a child of it, so "is every lane of this one also in that
    one?" is usually answered without looking at a lane.
    """

    __slots__ = ("lanes", "parent", "far", "depth", "active", "warps", "_where")

    def __init__(self, lanes: np.ndarray, parent: Mask | None, active: int = -1, warps: int = -1) -> None:
        self.lanes = lanes
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.far = _far_ancestor(parent)
        if active < 0:
            active, warps = primitives.count_mask(lanes)
        self.active = active
        self.warps = warps
        self._where: np.ndarray | None = None

    @property
    def where(self) -> np.ndarray:
        """The active lanes' numbers, in order."""
        if self._where is None:
            self._where = np.flatnonzero(self.lanes)
        return self._where

    def is_within(self, other: Mask) -> bool:
        """Whether `other` is this mask or one that it was narrowed from."""
        mask: Mask | None = self
        while mask is not None and mask.depth > other.depth:
            mask = mask.far if mask.far is not None and mask.far.depth >= other.depth else mask.parent
        return mask is other

    def joined(self, other: Mask) -> Mask:
        """The lanes of both, as a part of whatever mask both are parts of."""
        if other.is_within(self):
            return self
        common = self.parent
        while common is not None and not other.is_within(common):
            common = common.parent
        return other if common is other else Mask(self.lanes | other.lanes, common)

    def only(self, lanes: np.ndarray) -> Mask:
        """The active lanes that are also in `lanes`; this very mask if that is all of them."""
        both = self.lanes & lanes
        active, warps = primitives.count_mask(both)
        return self if active == self.active else Mask(both, self, active, warps)

    def without(self, lanes: np.ndarray) -> Mask:
        """The active lanes that are not in `lanes`; this very mask if none is."""
        return self.only(~lanes)


def _far_ancestor(parent: Mask | None) -> Mask | None:
    """An ancestor further up, chosen so that any ancestor is reached in O(log depth) steps.

    Source: E. W. Myers, "An applicative random-access stack", Information Processing Letters 17 (1983).
    """
    if parent is None or parent.far is None:
        return parent
    once, twice = parent.far, parent.far.far
    if twice is not None and parent.depth - once.depth == once.depth - twice.depth:
        return twice
    return parent


class Batch:
    """The lanes of some blocks of a launch, and their built-in variables as lane vectors (made when first asked for)."""

    def __init__(self, geometry: Geometry, blocks: np.ndarray, position: int = 0) -> None:
        self.geometry = geometry
        self.blocks = blocks  # linear block numbers, int64
        self.size = len(blocks) * geometry.padded
        self.warps = self.size // WARP
        make = _of_shape if self.size <= MOST_KEPT_LANES else _OfShape
        of_shape = make(geometry.block, len(blocks))
        self.everyone = Mask(of_shape.lanes, None, of_shape.active, self.warps)
        self.first_thread = position * geometry.padded  # `position`: of the first block among those simulated
        self.exited = np.zeros(self.size, np.bool_)  # lanes that have returned from the kernel, or left by an exception
        self.has_raised = False  # whether any lane has left by an exception, maybe out of a device function
        self.diverged = np.zeros(self.warps, np.bool_)  # warps whose lanes have disagreed on a branch
        self._of_shape = of_shape.builtin
        self._builtin: dict[str, np.ndarray] = {}

    def left_of(self, mask: Mask) -> Mask | None:
        """The lanes of `mask` that no exception has ended."""
        left = mask.without(self.exited)
        return left if left.active else None

    def thread_in_block(self) -> np.ndarray:
        """Each lane's thread number within its block, int64."""
        return _once(self._of_shape, "thread", lambda: np.tile(np.arange(self.geometry.padded), len(self.blocks)))

    def block_slot(self) -> np.ndarray:
        """Each lane's block as its place in this batch, int64."""
        return _once(self._of_shape, "slot", lambda: np.repeat(np.arange(len(self.blocks)), self.geometry.padded))

    def thread_index(self, axis: int) -> np.ndarray | np.int32:
        """threadIdx.x, .y or .z of each lane, int32."""
        x, y, _ = self.geometry.block
        if self.geometry.block[axis] == 1:
            return np.int32(0)
        divisor = (1, x, x * y)[axis]

        def compute() -> np.ndarray:
            one_block = np.arange(self.geometry.padded) // divisor % self.geometry.block[axis]
            return np.tile(one_block.astype(np.int32), len(self.blocks))

        return _once(self._of_shape, f"t{axis}", compute)

    def block_index(self, axis: int) -> np.ndarray | np.int32:
        """blockIdx.x, .y or .z of each lane, int32."""
        x, y, _ = self.geometry.grid
        if self.geometry.grid[axis] == 1:
            return np.int32(0)
        divisor = (1, x, x * y)[axis]

        def compute() -> np.ndarray:
            each = (self.blocks // divisor % self.geometry.grid[axis]).astype(np.int32)
            return np.repeat(each, self.geometry.padded)

        return _once(self._builtin, f"b{axis}", compute)

    def who(self, lane: int) -> tuple[Dim3, Dim3]:
        """(blockIdx, threadIdx) of a lane."""
        slot, thread = divmod(int(lane), self.geometry.padded)
        return self.geometry.block_index(int(self.blocks[slot])), self.geometry.thread_index(thread)


def _once(known: dict[str, np.ndarray], name: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
    if name not in known:
        known[name] = compute()
    return known[name]


class _OfShape:
    """What batches of equally many equal blocks have in common: which lanes are threads, and where these stand in them."""

    def __init__(self, block: Dim3, blocks: int) -> None:
        geometry = Geometry((blocks, 1, 1), block)
        self.lanes = np.tile(np.arange(geometry.padded) < geometry.threads_per_block, blocks)
        self.active = geometry.threads_per_block * blocks
        self.builtin: dict[str, np.ndarray] = {}


@lru_cache(maxsize=8)
def _of_shape(block: Dim3, blocks: int) -> _OfShape:
    """The same for each launch of such blocks, and for each of its batches: lane vectors are never changed in place."""
    return _OfShape(block, blocks)

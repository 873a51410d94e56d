"""The elements that an access reaches, lane by lane, and what is remembered of an access that repeats itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View

LINE_BYTES = 128  # also one row of the 32 banks: moving an access by a multiple of this does not change its cost


_NO_SECTORS = np.zeros(0, np.int64)


def _no_sectors() -> np.ndarray:
    return _NO_SECTORS


@dataclass(frozen=True)
class Readers:
    """The readers of each element of a repeated access to shared memory: one lane for all, and how far apart they are."""

    elements: np.ndarray  # int64, each once
    lanes: np.ndarray  # int64: the first lane that reads it
    ends: np.ndarray  # int64: the lane that stands for all: the first one of a second warp, or the last one of the only warp
    breadth: np.ndarray  # int32: 0 for that lane alone, 1 for others of its warp too, 2 for others of its block


@dataclass
class GlobalCount:
    """One warp-wide access to global memory over the batch."""

    requests: int
    sectors: int
    lines: int
    elements: int
    wavefronts: int  # passes through L1, of loads
    # of a pattern: its sectors, int64, counted from that of its lowest element; those that the batch's first block loads
    touched: np.ndarray = field(default_factory=_no_sectors)
    of_first_block: np.ndarray = field(default_factory=_no_sectors)
    marked_at: int = -1  # the sector of its lowest element when its sectors were last marked as touched


@dataclass
class Pattern:
    """An access whose index vectors repeat: its offsets, without the part that all lanes share."""

    mask: Mask
    view: View
    vectors: tuple[np.ndarray, ...]
    start: int  # the lowest element of an active lane if all scalars in its indices were 0; negative if they count backwards
    offsets: np.ndarray  # int64 by lane, from the lowest element; 0 in inactive lanes
    lowest: tuple[int, ...]  # of each index vector, over the active lanes
    highest: tuple[int, ...]
    varies: tuple[bool, ...]  # by dimension, whether its index is one of those vectors
    step: int  # elements from each lane to the next, if all lanes are active and these are equal; else 0
    unit: int  # bytes, a power of 2 up to a line's: the distances between the elements are multiples of it
    moved: dict[tuple[int, int], GlobalCount] = field(default_factory=dict)  # by place within a line, and kind
    wavefronts: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # in shared memory, by place in a word
    readers: Readers | None = None

    @cached_property
    def is_read_together(self) -> bool:
        """Whether on average several lanes want each element: going by elements is then quicker than by lanes."""
        wanted = np.zeros(int(self.offsets.max(initial=0)) + 1, np.bool_)
        wanted[self.offsets] = True
        return 2 * int(np.count_nonzero(wanted)) < self.mask.active

    def phase(self, address: int, itemsize: int) -> int:
        """The part of the lowest element's byte address that decides how much the access moves.

        That is its place within a line. If every element lies within one unit (and one sector), only the unit's place
        matters: wherever in their units the elements lie, they share the same sectors, lines and banks.
        """
        in_line = address & (LINE_BYTES - 1)
        in_unit = in_line & (self.unit - 1)
        fits = in_unit + itemsize <= self.unit and (in_unit & (SECTOR_BYTES - 1)) + itemsize <= SECTOR_BYTES
        return in_line - in_unit if fits else in_line

    @cached_property
    def span(self) -> int:
        """The elements from the lowest to the highest one, if there is a `step`."""
        return self.step * (len(self.offsets) - 1) + 1


class Place:
    """The element that each lane accesses, or the one that all lanes access (`linear` an int), and the lanes in bounds.

    Of a pattern, `base` is the lowest element that an active lane accesses.
    """

    __slots__ = ("mask", "pattern", "base", "is_shared_by_all", "_linear", "_by_lane")

    def __init__(
        self, linear: np.ndarray | int | None, mask: Mask, pattern: Pattern | None = None, base: int = 0
    ) -> None:
        self._linear = linear
        self._by_lane: np.ndarray | None = None  # of an element that all lanes share
        self.is_shared_by_all = isinstance(linear, int)
        self.mask = mask
        self.pattern = pattern
        self.base = base

    @property
    def linear(self) -> np.ndarray | int:
        """Element offsets by lane, or the offset that all lanes share; 0 for a lane without an access."""
        if self._linear is None:
            assert self.pattern is not None
            self._linear = self.pattern.offsets + self.base
            if self.mask.active < len(self._linear):
                self._linear *= self.mask.lanes
        return self._linear

    @property
    def first_element(self) -> int:
        """The element of the first active lane; of a pattern, the lowest element."""
        if self.pattern is not None:
            return self.base
        linear = self.linear
        return linear if isinstance(linear, int) else int(linear[self.mask.lanes.argmax()])

    @property
    def by_lane(self) -> np.ndarray:
        """Element offsets by lane, even if all lanes share one."""
        linear = self.linear
        if not isinstance(linear, int):
            return linear
        if self._by_lane is None:
            self._by_lane = np.full(len(self.mask.lanes), linear, np.int64)
        return self._by_lane

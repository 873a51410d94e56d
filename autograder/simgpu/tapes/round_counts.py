"""What loads of global memory count in many rounds together, and the sectors that they touch in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.simgpu.counting.counting import AHEAD, GLOBAL, MARK, WAVEFRONTS, Counting, moved_by_all
from autograder.simgpu.counting.counting_primitives import SECTOR_SHIFT
from autograder.simgpu.counting.place import LINE_BYTES, GlobalCount, Pattern, Place
from autograder.simgpu.primitives import READ
from autograder.simgpu.tapes import round_primitives as prim
from autograder.simgpu.tapes.round_tape import RoundLoad
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View


@dataclass(eq=False)
class PlacedLoad:
    """A load with where it lies in each round."""

    load: RoundLoad
    view: View
    pattern: Pattern | None  # None: all lanes load the same element
    offsets: np.ndarray
    runs: np.ndarray
    bases: np.ndarray  # int64, by round


class MarkedSectors:
    """The sectors that loads touch, round by round."""

    def __init__(self, counting: Counting, mask: Mask) -> None:
        self.counting, self.mask = counting, mask
        self.lists: dict[int, tuple[int, GlobalCount]] = {}
        self.by_all: dict[int, GlobalCount] = {}  # where all lanes load one element, by the sectors that it lies in
        self.found: list[np.ndarray] = []  # by load: which list, by round
        self.starts: list[np.ndarray] = []
        self.buffers: dict[int, Buffer] = {}
        self.array_of: list[int] = []

    def count(self, placed: PlacedLoad, row: list[int]) -> None:
        """Adds a load to a row of counts, but for the sectors that the first block had not loaded."""
        buffer, itemsize = placed.view.buffer, placed.view.data.itemsize
        begins = buffer.address + placed.bases * itemsize
        _, first, which = np.unique(begins & (LINE_BYTES - 1), return_index=True, return_inverse=True)
        counts = [self._moved(placed, int(placed.bases[at])) for at in first]
        times = np.bincount(which, minlength=len(first))
        requests, sectors, lines, useful_bytes = GLOBAL[READ]
        for counted, each in zip(counts, times.tolist(), strict=True):
            row[requests] += each * counted.requests
            row[sectors] += each * counted.sectors
            row[lines] += each * counted.lines
            row[useful_bytes] += each * counted.elements * itemsize
            row[WAVEFRONTS] += each * counted.wavefronts
            if placed.load.is_ahead:
                row[AHEAD] += each * counted.requests
        numbers = np.array([self.lists.setdefault(id(each), (len(self.lists), each))[0] for each in counts], np.int64)
        self.found.append(numbers[which])
        self.starts.append((begins >> SECTOR_SHIFT) - (buffer.address >> SECTOR_SHIFT))
        self.buffers.setdefault(id(buffer), buffer)
        self.array_of.append(list(self.buffers).index(id(buffer)))

    def _moved(self, placed: PlacedLoad, base: int) -> GlobalCount:
        """What a load moves that lies there."""
        buffer, itemsize = placed.view.buffer, placed.view.data.itemsize
        if placed.pattern is not None:
            place = Place(None, self.mask, placed.pattern, base)
            return self.counting.moved(buffer, place, placed.pattern, itemsize, READ)
        begin = buffer.address + base * itemsize
        sectors = ((begin + itemsize - 1) >> SECTOR_SHIFT) - (begin >> SECTOR_SHIFT) + 1
        if sectors not in self.by_all:
            counted = self.by_all[sectors] = moved_by_all(self.mask, sectors)
            counted.touched = np.arange(sectors)
            if self.mask.lanes[: self.counting.batch.geometry.padded].any():
                counted.of_first_block = counted.touched
        return self.by_all[sectors]

    def marked(self) -> list[int]:
        """MarkedSectors them; by load, how many the first block of the batch had not loaded."""
        lists = [counted for _, counted in self.lists.values()]
        new = np.zeros(len(self.found), np.int64)
        buffers = list(self.buffers.values())
        prim.mark_rounds(
            np.stack(self.found), np.stack(self.starts), np.array(self.array_of, np.int64),
            *_joined([each.touched for each in lists]), *_joined([each.of_first_block for each in lists]),
            filled([each.touched for each in buffers], np.zeros(0, np.uint8)),
            filled([each.stamps for each in buffers], np.zeros(0, np.int64)),
            MARK[READ], self.counting.batch.first_thread + 1, new,
        )  # fmt: skip
        found: list[int] = new.tolist()
        return found


def _joined(lists: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where each begins, and all of them."""
    begins = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return begins, np.concatenate(lists).astype(np.int64)


def filled(arrays: list[np.ndarray], nothing: np.ndarray) -> tuple[np.ndarray, ...]:
    """As many arrays as a compiled function takes."""
    return (*arrays, *[nothing] * (prim.MOST_ARRAYS - len(arrays)))

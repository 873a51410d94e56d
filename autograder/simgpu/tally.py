"""Counts work by source line while a launch runs, and turns the counts into frozen `Counters`."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from autograder.errors import Line
from autograder.simgpu import primitives
from autograder.simgpu.counters import Counters
from autograder.simgpu.lanes import Mask

NAMES = tuple(each.name for each in fields(Counters))
SLOT = {name: number for number, name in enumerate(NAMES)}
MAXIMA = tuple(SLOT[name] for name in NAMES if name.endswith("worst_multiplicity"))

WARP_INSTRUCTIONS = SLOT["warp_instructions"]
THREAD_INSTRUCTIONS = SLOT["thread_instructions"]


class WarpWork:
    """What each warp of a batch executes; the lanes are looked at only when another mask goes on."""

    INSTRUCTIONS, LOADS, ROUNDS = range(3)

    def __init__(self, warps: int) -> None:
        self._by_warp = np.zeros((3, warps), np.int64)
        self._mask: Mask | None = None
        self._pending = [0, 0, 0]

    def step(self, mask: Mask, kind: int = INSTRUCTIONS) -> None:
        """One more for every warp that has a lane in the mask."""
        if mask is not self._mask:
            self._settle()
            self._mask = mask
        self._pending[kind] += 1

    def slowest_of_blocks(self, warps_per_block: int) -> np.ndarray:
        """Instructions, global loads and loop rounds of the warp of each block that executes most, (blocks, 3)."""
        self._settle()
        work = self._by_warp.T.reshape(-1, warps_per_block, 3)
        slowest = work[:, :, self.INSTRUCTIONS].argmax(axis=1)
        return work[np.arange(len(work)), slowest]

    def _settle(self) -> None:
        if self._mask is None:
            return
        for by_warp, amount in zip(self._by_warp, self._pending, strict=True):
            if amount and self._mask.warps == by_warp.size:
                by_warp += amount
            elif amount:
                primitives.add_to_warps(self._mask.lanes, amount, by_warp)
        self._pending = [0, 0, 0]


class Tally:
    """One row of running counts per source line."""

    def __init__(self) -> None:
        self.rows: dict[Line, list[int]] = {}

    def row(self, line: Line) -> list[int]:
        row = self.rows.get(line)
        if row is None:
            row = self.rows[line] = [0] * len(NAMES)
        return row

    def add(self, other: Tally, scale: float = 1.0) -> None:
        """Adds another tally's rows, scaled up where they stand for more blocks than were simulated."""
        for line, counts in other.rows.items():
            row = self.row(line)
            for slot, count in enumerate(counts):
                if slot in MAXIMA:
                    row[slot] = max(row[slot], count)
                else:
                    row[slot] += count if scale == 1.0 else round(count * scale)

    def lines(self) -> dict[Line, Counters]:
        return {line: Counters(*row) for line, row in sorted(self.rows.items())}

    def total(self) -> Counters:
        total = [0] * len(NAMES)
        for row in self.rows.values():
            for slot, count in enumerate(row):
                total[slot] = max(total[slot], count) if slot in MAXIMA else total[slot] + count
        return Counters(*total)

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
    """Instructions of each warp of a batch; the lanes are looked at only when another mask goes on."""

    def __init__(self, warps: int) -> None:
        self._by_warp = np.zeros(warps, np.int64)
        self._mask: Mask | None = None
        self._steps = 0

    def step(self, mask: Mask) -> None:
        """One instruction for every warp that has a lane in the mask."""
        if mask is not self._mask:
            self._settle()
            self._mask = mask
        self._steps += 1

    def by_block(self, warps_per_block: int) -> np.ndarray:
        """The most that a warp of each block executed, int64."""
        self._settle()
        return self._by_warp.reshape(-1, warps_per_block).max(axis=1)

    def _settle(self) -> None:
        if self._mask is not None and self._steps:
            if self._mask.warps == len(self._by_warp):
                self._by_warp += self._steps
            else:
                primitives.add_to_warps(self._mask.lanes, self._steps, self._by_warp)
        self._steps = 0


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

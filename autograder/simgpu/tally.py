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

    def __init__(self, warps: int) -> None:
        self._by_warp = np.zeros(warps, np.int64)
        self._mask: Mask | None = None
        self._pending = 0

    def step(self, mask: Mask, times: int = 1) -> None:
        """One more, or so many, for every warp that has a lane in the mask."""
        if mask is not self._mask:
            self._settle()
            self._mask = mask
        self._pending += times

    def stepped(self, mask: Mask) -> int:
        """How often this mask has stepped since another one did."""
        self.step(mask, 0)
        return self._pending

    def slowest(self) -> int:
        """Instructions of the warp that executes most."""
        self._settle()
        return int(self._by_warp.max(initial=0))

    def _settle(self) -> None:
        if self._mask is not None and self._pending:
            if self._mask.warps == self._by_warp.size:
                self._by_warp += self._pending
            else:
                primitives.add_to_warps(self._mask.lanes, self._pending, self._by_warp)
        self._pending = 0


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

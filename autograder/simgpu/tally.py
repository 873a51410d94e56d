"""Counts work by source line while a launch runs, and turns the counts into frozen `Counters`."""

from __future__ import annotations

from dataclasses import fields

from autograder.errors import Line
from autograder.simgpu.counters import Counters

NAMES = tuple(each.name for each in fields(Counters))
SLOT = {name: number for number, name in enumerate(NAMES)}
MAXIMA = tuple(SLOT[name] for name in NAMES if name.endswith("worst_multiplicity"))

WARP_INSTRUCTIONS = SLOT["warp_instructions"]
THREAD_INSTRUCTIONS = SLOT["thread_instructions"]


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

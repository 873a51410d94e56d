"""Counts work by source line while a launch runs, and turns the counts into frozen `Counters`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from autograder.errors import Line
from autograder.records.counters import Counters
from autograder.simgpu import primitives
from autograder.simgpu.values.lanes import Mask

NAMES = tuple(each.name for each in fields(Counters))
SLOT = {name: number for number, name in enumerate(NAMES)}
MAXIMA = tuple(SLOT[name] for name in NAMES if name.endswith("worst_multiplicity"))

WARP_INSTRUCTIONS = SLOT["warp_instructions"]
THREAD_INSTRUCTIONS = SLOT["thread_instructions"]
ISSUED_WARPS = SLOT["issued_warp_instructions"]
ISSUED_THREADS = SLOT["issued_thread_instructions"]
ISSUED_FLOAT64 = SLOT["issued_float64_instructions"]
_SLOWEST_LOADS = SLOT["slowest_warp_loads"]
_LOADS = SLOT["global_load_requests"], SLOT["global_atomic_requests"]


class WarpWork:
    """What each warp of a batch executes: its instructions, or those of one kind. The mask's lanes are examined only when
    the mask changes."""

    def __init__(self, warps: int) -> None:
        self._by_warp = np.zeros(warps, np.int64)
        self.mask: Mask | None = None
        self.pending = 0

    def step(self, mask: Mask, times: int = 1) -> None:
        """Adds so many for every warp with a lane in the mask."""
        if mask is not self.mask:
            self._settle()
            self.mask = mask
        self.pending += times

    def add(self, by_warp: np.ndarray) -> None:
        """Adds so many for each warp."""
        self._by_warp += by_warp

    def is_of(self, mask: Mask | None) -> bool:
        """Whether all that was added was for this mask; None: whether nothing was."""
        return self.mask is mask and not self._by_warp.any()

    def by_warp(self) -> np.ndarray:
        """Those of each warp of the batch, int64."""
        self._settle()
        return self._by_warp

    def slowest(self) -> int:
        """Those of the warp that executes most."""
        self._settle()
        return int(self._by_warp.max(initial=0))

    def _settle(self) -> None:
        if self.mask is not None and self.pending:
            if self.mask.warps == self._by_warp.size:
                self._by_warp += self.pending
            else:
                primitives.add_to_warps(self.mask.lanes, self.pending, self._by_warp)
        self.pending = 0


class Tally:
    """Running counts by source line: those that source and compiler share, and those that only one of them has."""

    def __init__(self) -> None:
        self.rows: dict[Line, list[int]] = {}
        self.source_rows: dict[Line, list[int]] = {}  # what the source says and the compiler removes
        self.compiled_rows: dict[Line, list[int]] = {}  # what the compiler makes instead

    def row(self, line: Line) -> list[int]:
        return _row_of(self.rows, line)

    def source_row(self, line: Line) -> list[int]:
        return _row_of(self.source_rows, line)

    def compiled_row(self, line: Line) -> list[int]:
        return _row_of(self.compiled_rows, line)

    def rows_of(self, lines: Iterable[Line]) -> list[list[int]]:
        """The running counts that there are of these lines."""
        kinds = (self.rows, self.source_rows, self.compiled_rows)
        return [rows[line] for line in lines for rows in kinds if line in rows]

    def lines(self) -> dict[Line, tuple[Counters, Counters]]:
        """Of each line what the source says, and what the compiler leaves."""
        known = sorted({*self.rows, *self.source_rows, *self.compiled_rows})
        return {line: self._of_line(line) for line in known}

    def _of_line(self, line: Line) -> tuple[Counters, Counters]:
        said, left = _as_said(self._sum(line, self.source_rows)), self._sum(line, self.compiled_rows)
        source = Counters.of(said)
        return source, source if said == left else Counters.of(left)

    def totals(self, **of_the_launch: int) -> tuple[Counters, Counters]:
        """Totals of what the source says and of what the compiler leaves; `of_the_launch`: counts that no line has."""
        both = _all_of(self.rows)
        totals = [_together(both, _all_of(only)) if only else [*both] for only in (self.source_rows, self.compiled_rows)]
        totals[0] = _as_said(totals[0])
        for total in totals:
            for name, count in of_the_launch.items():
                total[SLOT[name]] = count
        totals[1][_SLOWEST_LOADS] = _as_left(*totals)
        return Counters.of(totals[0]), Counters.of(totals[1])

    def _sum(self, line: Line, only: dict[Line, list[int]]) -> list[int]:
        both, more = self.rows.get(line), only.get(line)
        if both is None or more is None:
            return both or more or [0] * len(NAMES)
        return _together(both, more)


def _as_said(counts: list[int]) -> list[int]:
    """What the source says: nothing of what is issued in its place."""
    made = [*counts]
    made[ISSUED_WARPS] = made[ISSUED_THREADS] = made[ISSUED_FLOAT64] = 0
    return made


def _as_left(said: list[int], left: list[int]) -> int:
    """The loads of the warp that makes most, less those that the compiler removes: the same share of each warp's."""
    asked, kept = (sum(total[slot] for slot in _LOADS) for total in (said, left))
    return -(-said[_SLOWEST_LOADS] * kept // asked) if asked else 0


def _row_of(rows: dict[Line, list[int]], line: Line) -> list[int]:
    row = rows.get(line)
    if row is None:
        row = rows[line] = [0] * len(NAMES)
    return row


def _together(one: list[int], other: list[int]) -> list[int]:
    """Adds two rows; of maxima, takes the larger."""
    together = [a + b for a, b in zip(one, other, strict=True)]
    for slot in MAXIMA:
        together[slot] = max(one[slot], other[slot])
    return together


def _all_of(rows: dict[Line, list[int]]) -> list[int]:
    """All lines together."""
    total = [sum(counts) for counts in zip(*rows.values(), strict=True)] if rows else [0] * len(NAMES)
    for slot in MAXIMA:
        total[slot] = max((row[slot] for row in rows.values()), default=0)
    return total

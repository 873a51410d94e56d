"""Ranges that loops go over: whose numbers all lanes share, or that begin and end elsewhere for each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autograder.simgpu.counting.regrouping import rounds_by_lane
from autograder.simgpu.operations.callables import Range
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import NUMBERS, Value


class GoneElsewhere:
    """Rounds of a loop that were gone by compiled code, for who counts its numbers up."""

    def __init__(self) -> None:
        self.in_all = self.now = 0

    def add(self, rounds: int) -> None:
        self.in_all += rounds
        self.now += rounds

    def taken(self) -> int:
        """Those that are not counted up yet."""
        rounds, self.now = self.now, 0
        return rounds


@dataclass(frozen=True)
class RangeByLane:
    """A range whose bounds differ by lane: those of each lane, int64, and the type of its numbers."""

    start: np.ndarray
    stop: np.ndarray
    step: np.ndarray
    dtype: np.dtype

    @classmethod
    def of(cls, kept: Value, mask: Mask) -> RangeByLane | None:
        """That of a loop which goes over a range; None where all lanes share its bounds."""
        if not isinstance(kept, Range) or not 1 <= len(kept.bounds) <= 3:
            return None
        bounds = [each for each in kept.bounds if isinstance(each, NUMBERS) and each.dtype.kind in "iub"]
        if len(bounds) < len(kept.bounds) or not any(isinstance(each, np.ndarray) for each in bounds):
            return None
        start, stop = (np.int64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        whole = [np.asarray(each, dtype=np.int64) for each in (start, stop, bounds[2] if len(bounds) == 3 else np.int64(1))]
        start = np.broadcast_to(whole[0], mask.lanes.shape).copy()
        return cls(start, whole[1], whole[2], nt.of_range(each.dtype for each in bounds))

    def rounds(self, mask: Mask) -> np.ndarray | None:
        """How many numbers it has for each lane, int64; None where a step is 0."""
        if np.any(np.equal(self.step, 0)):
            return None
        return rounds_by_lane(self.start, self.stop, self.step, mask)

    def behind(self, rounds: int) -> RangeByLane:
        """What is left of it after so many rounds."""
        return replace(self, start=self.start + rounds * self.step)


def rounds_over(kept: Value) -> int | None:
    """How many rounds a loop over an array, a tuple or a range has, where that is the same for all lanes; else None."""
    if isinstance(kept, View):
        return kept.shape[0] if kept.ndim and kept.lengths is None else None
    if isinstance(kept, tuple):
        return len(kept)
    if not isinstance(kept, Range) or not 1 <= len(kept.bounds) <= 3:
        return None
    bounds = [int(each) for each in kept.bounds if isinstance(each, (np.integer, np.bool_))]
    return len(range(*bounds)) if len(bounds) == len(kept.bounds) and bounds[2:] != [0] else None


def plain_numbers(kept: Value) -> range | None:
    """The numbers that a loop goes over, where that is a range of signed numbers that all lanes share."""
    if not isinstance(kept, Range) or not 1 <= len(kept.bounds) <= 3:
        return None
    given = [each for each in kept.bounds if isinstance(each, (np.integer, np.bool_))]
    if nt.of_range(each.dtype for each in given) != nt.INT64:
        return None
    bounds = [int(each) for each in given]
    if len(bounds) < len(kept.bounds) or bounds[2:] == [0]:
        return None
    return range(*bounds)

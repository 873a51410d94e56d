"""Which lanes access memory together in a loop that the compiler does four rounds at a time.

A loop of unknown length becomes two loops: one does four rounds at once, the other the rounds left over. Lanes with equal
numbers of rounds meet as they do in the source. Lanes with different numbers of rounds meet if they are at the same place
in the same one of the two loops, and hardware counts these accesses, not the source's. `for i in range(n)` does the rounds
left over last, every other loop does them first: seen in machine code (numba-cuda 0.30.4, compute capability 9.0) of loops
over the rows of sparse matrices and over strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from autograder.simgpu.counting.place import Place
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View

AT_ONCE = 4  # rounds
WARP = 32
Step: TypeAlias = tuple[bool, int]
"""(whether it is in the loop that does four rounds at once, the number of the round there)."""
TOGETHER: Step = (False, 0)  # for accesses outside such loops
Key: TypeAlias = tuple[Operation, int, Step]


@dataclass
class ArrayPart:
    """The lanes of an access that reach one array, and their elements."""

    view: View
    lanes: np.ndarray
    linear: np.ndarray


Count: TypeAlias = Callable[[Operation, Sequence[ArrayPart], int], None]


class Meeting:
    """Accesses that not all of their lanes have reached yet.

    A loop inside that is written out comes to the same access several times in a round: lanes meet at their first times, at
    their second, and so on.
    """

    def __init__(self) -> None:
        self._waiting: dict[Key, list[list[ArrayPart]]] = {}

    def add(self, op: Operation, view: View, linear: np.ndarray, lanes: np.ndarray, kind: int, step: Step) -> None:
        """Adds lanes that have reached an access."""
        times = self._waiting.setdefault((op, kind, step), [])
        parts = next((each for each in times if not any((part.lanes & lanes).any() for part in each)), None)
        if parts is None:
            parts = []
            times.append(parts)
        ours = np.where(lanes, linear, 0)
        for part in parts:
            if part.view.buffer is view.buffer and part.view.field == view.field:
                part.lanes = part.lanes | lanes
                part.linear = part.linear + ours
                return
        parts.append(ArrayPart(view, lanes.copy(), ours))

    def count(self, count: Count, is_over: Callable[[Key], bool]) -> None:
        """Counts the accesses that no further lane can reach."""
        for key in [key for key in self._waiting if is_over(key)]:
            for parts in self._waiting.pop(key):
                count(key[0], parts, key[1])


@dataclass
class Regrouping:
    """The accesses of one loop, grouped as the lanes meet; `rounds`: those of each lane, int64."""

    loop: Operation
    rounds: np.ndarray
    is_remainder_first: bool
    round: int = 0  # the present one, in the source
    meeting: Meeting = field(default_factory=Meeting)
    left_over: np.ndarray = field(init=False)  # rounds of each lane that are not done four at once

    def __post_init__(self) -> None:
        self.left_over = self.rounds % AT_ONCE

    @classmethod
    def of(
        cls, loop: Operation, start: np.ndarray, stop: np.ndarray, step: np.ndarray, mask: Mask
    ) -> Regrouping | None:
        """The regrouping of a loop over a range; None if all lanes of each warp have equally many rounds."""
        rounds = rounds_by_lane(start, stop, step, mask)
        by_warp = rounds.reshape(-1, WARP)
        active = mask.lanes.reshape(-1, WARP)
        most = by_warp.max(axis=1)
        least = np.where(active, by_warp, most[:, None]).min(axis=1)
        return None if np.array_equal(most, least) else cls(loop, rounds, not _begins_at_zero(start))

    @property
    def warps_more(self) -> float:
        """The warps beyond the source's that go through rounds, as a share: their lanes are elsewhere in the two loops."""
        in_source = self.rounds.reshape(-1, WARP).max(axis=1).sum()
        at_once = (self.rounds - self.left_over).reshape(-1, WARP).max(axis=1).sum()
        left_over = self.left_over.reshape(-1, WARP).max(axis=1).sum()
        return float((at_once + left_over) / in_source) - 1 if in_source else 0.0

    @property
    def waits(self) -> tuple[int, int]:
        """After either loop lanes wait for each other: how often lanes of a warp arrive there, and how many lanes in all."""
        times = lanes = 0
        for rounds in (self.left_over, self.rounds - self.left_over):
            ordered = np.sort(rounds.reshape(-1, WARP), axis=1)
            times += int(np.count_nonzero(np.diff(ordered, axis=1, prepend=0)))
            lanes += int(np.count_nonzero(rounds))
        return times, lanes

    def take(self, op: Operation, view: View, place: Place, kind: int) -> None:
        """Takes an access of this round, to be counted when every lane has reached it."""
        for step, lanes in self._steps():
            ours = place.mask.lanes & lanes
            if ours.any():
                self.meeting.add(op, view, place.by_lane, ours, kind, step)

    def _steps(self) -> Iterator[tuple[Step, np.ndarray]]:
        now, left_over = self.round, self.left_over
        if self.is_remainder_first:
            yield (False, now), left_over > now
            for behind in range(min(AT_ONCE, now + 1)):
                yield (True, now - behind), left_over == behind
        else:
            whole = self.rounds - left_over
            yield (True, now), whole > now
            for place in range(AT_ONCE - 1):
                yield (False, place), now - whole == place

    def count_finished(self, count: Count, is_over: bool = False) -> None:
        """Counts the accesses that no further lane can reach; all of them if the loop is over."""
        self.meeting.count(count, lambda key: is_over or key[2][0] and key[2][1] + AT_ONCE <= self.round)


def rounds_by_lane(start: np.ndarray, stop: np.ndarray, step: np.ndarray, mask: Mask) -> np.ndarray:
    """How many numbers a range has for each lane, int64, 0 for lanes that are not in the mask; no step is 0."""
    rounds = np.where(step > 0, -((start - stop) // step), -((stop - start) // -step))
    return np.where(mask.lanes, np.maximum(rounds, 0), 0)


def _begins_at_zero(start: np.ndarray) -> bool:
    return start.size == 1 and int(start.reshape(-1)[0]) == 0

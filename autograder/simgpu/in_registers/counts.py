"""What an operation counts for masks of any size, found by carrying it out on a few small ones.

Whatever an operation adds to the books is so much each time, so much for each warp, and so much for each lane. Four masks
say how much of each; an operation that is not in proportion is not written (`NotWritten`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np

from autograder.errors import Line
from autograder.records.hazards import Hazard
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.rehearsal import Circumstances, NotOfNumbers, Rehearsal, Rows, RunCount
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.lanes import Batch, Geometry, Mask

LANES = 3 * WARP  # of the batch on which operations are tried
R = TypeVar("R")


@dataclass(frozen=True)
class Amount:
    """So much each time, for each warp with a lane in the mask, and for each lane."""

    each: int = 0
    by_warp: int = 0
    by_lane: int = 0

    def of(self, times: int, warps: int, lanes: int) -> int:
        return self.each * times + self.by_warp * warps + self.by_lane * lanes


@dataclass(frozen=True)
class CountShare:
    """What something adds to the books, in proportion."""

    entries: Mapping[tuple[Rows, Line, int], Amount]
    work: Amount = Amount()
    instructions: int = 0  # of each warp
    loads: int = 0  # from global memory, of each warp
    hazards: tuple[Hazard, ...] = ()
    shared_out: Amount = Amount()  # see `Books.warps_more`

    @classmethod
    def sum(cls, shares: Iterable[CountShare]) -> CountShare:
        """All of these together."""
        entries: dict[tuple[Rows, Line, int], Amount] = {}
        hazards: list[Hazard] = []
        work, shared_out, instructions, loads = Amount(), Amount(), 0, 0
        for share in shares:
            for key, amount in share.entries.items():
                entries[key] = _sum(entries.get(key, Amount()), amount)
            work, instructions = _sum(work, share.work), instructions + share.instructions
            loads += share.loads
            shared_out = _sum(shared_out, share.shared_out)
            hazards += share.hazards
        return cls(entries, work, instructions, loads, tuple(hazards), shared_out)

    def without(self, slots: Container[int]) -> CountShare:
        """The same but for these slots of rows."""
        return replace(self, entries={key: amount for key, amount in self.entries.items() if key[2] not in slots})

    def add(self, machine: Machine, times: int, warps: int, lanes: int) -> None:
        """Puts it into a machine's books: for so many times, the warps of all of them and their lanes.

        The instructions and loads of each warp are for whoever knows the warps.
        """
        launch = machine.launch
        of: dict[str, Callable[[Line], list[int]]] = {
            "rows": launch.tally.row, "source_rows": launch.tally.source_row, "compiled_rows": launch.tally.compiled_row,
        }  # fmt: skip
        for (rows, line, slot), amount in self.entries.items():
            of[rows](line)[slot] += amount.of(times, warps, lanes)
        launch.work += self.work.of(times, warps, lanes)
        if machine.books.warps_more:
            machine.books.shared_out += self.shared_out.of(times, warps, lanes)
        for hazard in self.hazards:
            launch.repeat_hazard(hazard, times)


def _sum(one: Amount, other: Amount) -> Amount:
    return Amount(one.each + other.each, one.by_warp + other.by_warp, one.by_lane + other.by_lane)


class Trials:
    """Carries operations out on small masks, for what they count."""

    def __init__(self, machine: Machine) -> None:
        batch = Batch(Geometry((1, 1, 1), (LANES, 1, 1)), np.zeros(1, np.int64))
        self.one, self.two, self.two_warps, self.five = (
            Rehearsal(machine, _mask(lanes), batch)
            for lanes in ([0], [0, 1], [0, WARP], [0, 1, WARP, 2 * WARP, 2 * WARP + 5])
        )

    def of(self, circumstances: Circumstances, carry_out: Callable[[Machine, Mask], R]) -> tuple[R, CountShare]:
        """What `carry_out` gives, and what it counts."""
        shared_out: list[int] = []

        def tried(rehearsal: Rehearsal) -> tuple[R, RunCount]:
            def counted(machine: Machine) -> R:
                machine.books.warps_more = 1.0
                result = carry_out(machine, rehearsal.mask)
                shared_out.append(machine.books.shared_out)
                return result

            return rehearsal.of(circumstances, counted)

        try:
            results = [tried(each) for each in (self.one, self.two, self.two_warps, self.five)]
        except NotOfNumbers as problem:
            raise NotWritten(f"an operation that asks for {problem}") from None
        one, two, two_warps, five = (count for _, count in results)
        if len({(each.instructions, each.loads, each.hazards) for _, each in results}) > 1:
            raise NotWritten("an operation that counts otherwise for other lanes")
        entries = [_by_key(each) for each in (one, two, two_warps, five)]
        keys = dict.fromkeys(key for each in entries for key in each)
        share = CountShare(
            {key: _solved(*(each.get(key, 0) for each in entries)) for key in keys},
            _solved(one.work, two.work, two_warps.work, five.work), one.instructions, one.loads, one.hazards,
            _solved(*shared_out),
        )  # fmt: skip
        return results[0][0], share


def _mask(lanes: list[int]) -> Mask:
    chosen = np.zeros(LANES, np.bool_)
    chosen[lanes] = True
    return Mask(chosen, None)


def _by_key(count: RunCount) -> dict[tuple[Rows, Line, int], int]:
    return {(rows, line, slot): amount for rows, line, slot, amount in count.entries}


def _solved(one: int, two: int, two_warps: int, five: int) -> Amount:
    """The amounts that make these of a lane, of two in a warp, of two in two warps, and of five in three."""
    by_lane = two - one
    by_warp = two_warps - two
    each = one - by_warp - by_lane
    amount = Amount(each, by_warp, by_lane)
    if amount.of(1, 3, 5) != five:
        raise NotWritten("an operation that counts out of proportion")
    return amount


def samples(dtype: np.dtype, is_by_lane: bool) -> np.ndarray | np.generic:
    """Ones, by lane or shared, as an operation is tried with them."""
    return np.ones(LANES, dtype) if is_by_lane else cast(np.generic, dtype.type(1))

"""Loads of a compiled loop: from which arrays and where, what of that is in the loop's function, what it is given.

A load goes by lanes: an element of each. Its sectors are counted behind the round, warp by warp (load_primitives.py). Which
load was the first to touch a sector goes by the order in which all warps together make them, round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.errors import Line
from autograder.simgpu.counting.counting import BLOCK_SECTORS, GLOBAL, WAVEFRONTS
from autograder.simgpu.counting.counting_primitives import SECTOR_SHIFT
from autograder.simgpu.counting.tally import Tally
from autograder.simgpu.in_registers import load_primitives as prim
from autograder.simgpu.in_registers.figures import KEPT
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.rehearsal import Rows
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.primitives import READ, WARP
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View

AT_ONCE = 64  # rounds, of which either all are gone or none
SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3}  # of the bytes of an element
_, SECTORS, LINES, USEFUL_BYTES = GLOBAL[READ]
BY_PLACE = frozenset((SECTORS, LINES, USEFUL_BYTES, WAVEFRONTS))  # what depends on where a load lies
PARAMETERS = (
    "at", "of_arrays", "stamp", "kept", "latest", "room", "moves", "passes", "noted", "ends", "moved", "of_first",
    "loaded_by_warp", "loads_of_chunk",
)  # fmt: skip
FUNCTIONS = {
    each.__name__: each
    for each in (prim.count_load, prim.note_first, prim.note_sector, prim.settle_first, prim.finish_rounds)
}


@dataclass(frozen=True)
class LoadedArray:
    """An array from which a loop loads."""

    number: int
    op: Expression  # that gives it, wherever the loop is entered
    dtype: np.dtype
    ndim: int

    @property
    def names(self) -> list[str]:
        """Of its offset, its address, its first sector, and each extent and step."""
        m = self.number
        return [f"o{m}", f"y{m}", f"b{m}", *(f"{each}{m}_{axis}" for axis in range(self.ndim) for each in "et")]

    def of(self, machine: Machine, mask: Mask) -> View | None:
        """The array as it is now; None where the loop was written for one of another kind."""
        view = self.op.value(machine, mask)
        if not isinstance(view, View) or view.data.dtype != self.dtype or view.ndim != self.ndim:
            return None
        return None if why_not_loaded(view, machine.launch) else view


@dataclass(frozen=True)
class LoadSite:
    """A load in a loop; what depends on where it lies is counted in a row of its line."""

    number: int
    array: LoadedArray
    is_shared: bool  # all lanes load the same element
    rows: Rows
    line: Line

    def lines(self, loads: int) -> list[str]:
        """What comes behind a round of a warp; of so many loads."""
        s, m, shift = self.number, self.array.number, SHIFTS[self.array.dtype.itemsize]
        last = f"kept[{s}, place"
        order = f"stamps{m}, stamp, r * {loads} + {s}, noted, ends, {m}"
        if self.is_shared:
            return [
                f"sector = ((y{m} + (p{s} << {shift})) >> {SECTOR_SHIFT}) - b{m}",
                f"if p{s} >= 0 and sector != q{s}:",
                f"    q{s} = sector",
                f"    touched{m}[np.uint64(sector)] |= np.uint8(1)",
                "    if w < of_first:",
                f"        note_sector(sector, {order})",
            ]
        return [
            f"place = count_load(at, {s}, y{m}, {shift}, b{m}, touched{m}, kept, latest, room)",
            "if place >= 0:",
            f"    moves[{s}, 0] += {last}, {prim.ELEMENTS}]; moves[{s}, 1] += {last}, {prim.SECTORS}]",
            f"    passes[0, {s}, r] += {last}, {prim.LINES}]; passes[1, {s}, r] += {last}, {prim.PASSES}]",
            "    if w < of_first:",
            f"        note_first(kept, {s}, place, latest[{s}, 1], {order})",
        ]


def why_not_loaded(view: View, launch: LaunchState) -> str:
    """Why loads from an array are stepped through; empty where they need not be."""
    buffer, data = view.buffer, view.data
    if buffer.space != "global":
        return "an element of an array that is not in global memory"
    is_part = view.field is not None or view.lengths is not None or view.outside is not None
    if is_part or isinstance(view.offset, np.ndarray) or not data.flags.c_contiguous:
        return "an element of a part of an array"
    if data.dtype not in KEPT or data.dtype.kind == "c":
        return "an element of an array of another kind"
    if buffer.address % data.itemsize or buffer.owner.watcher is not None:
        return "an element that somebody watches"
    if launch.is_written(buffer):
        return "an element of an array that the launch may write to"
    if launch.checks_order and buffer.shadow is not None and not buffer.all_set:
        return "an element of an array that is not wholly set"
    return ""


class LoadText:
    """What loads add to the text of a loop's function, place by place."""

    def __init__(self, arrays: Sequence[LoadedArray], sites: Sequence[LoadSite]) -> None:
        own = [f"{each}{array.number}" for array in arrays for each in ("m", "touched", "stamps")]
        shared = [each.number for each in sites if each.is_shared]
        self.parameters = [*PARAMETERS, *own] if sites else []
        self.at_first = [
            f"{name} = of_arrays[{array.number}, {at}]" for array in arrays for at, name in enumerate(array.names)
        ]
        self.before_warp = [f"q{s} = np.int64(-1)" for s in shared]
        self.before_round = [f"p{s} = np.int64(-1)" for s in shared]
        self.behind_round = [line for each in sites for line in each.lines(len(sites))]
        self.in_trouble, self.behind_chunk = (
            [
                *(f"settle_first({is_gone}, stamps{m}, stamp, {m}, noted, ends, moved)" for m in range(len(arrays))),
                f"finish_rounds({is_gone}, at, moves, passes, moved)",
            ]
            if sites
            else []
            for is_gone in (False, True)
        )


class LoadsOfLanes:
    """The arrays from which a loop loads while it goes round, and what that moves."""

    def __init__(self, machine: Machine, sites: Sequence[LoadSite], views: Sequence[View], warps: np.ndarray) -> None:
        """`views`: the loop's arrays; `warps`: the numbers of those that go round."""
        self.machine, self.sites, self.warps = machine, sites, warps
        loads, arrays = len(sites), len(views)
        of_arrays = np.zeros((arrays, 3 + 2 * max(each.ndim for each in views)), np.int64)
        for row, view in zip(of_arrays, views, strict=True):
            numbers = [view.offset, view.buffer.address, view.buffer.address >> SECTOR_SHIFT]
            for extent, stride in zip(view.shape, view.strides, strict=True):
                numbers += [extent, stride]
            row[: len(numbers)] = numbers
        of_first = int(np.searchsorted(warps, machine.batch.geometry.warps_per_block))
        noted = min(max(len(each.buffer.touched) for each in views), AT_ONCE * of_first * loads * WARP)
        self.moved = np.zeros((loads, 5), np.int64)
        self.by_warp = np.zeros(len(warps), np.int64)
        kept, latest = np.zeros((loads, prim.PLACES, prim.COLUMNS), np.int64), np.full((loads, 2), -1, np.int64)
        own = [each for view in views for each in (view.data, view.buffer.touched, view.buffer.stamps)]
        self.arguments = (
            np.full((loads, WARP), -1, np.int64), of_arrays, machine.batch.first_thread + 1, kept, latest,
            np.zeros(prim.ROOM, np.int64), np.zeros((loads, 2), np.int64), np.zeros((2, loads, AT_ONCE), np.int64),
            np.zeros((arrays, noted), np.int64), np.zeros(arrays, np.int64), self.moved, of_first, self.by_warp,
            np.zeros(len(warps), np.int64), *own,
        )  # fmt: skip

    def count(self) -> None:
        """Puts what a call has found into the books, and forgets it."""
        machine, tally = self.machine, self.machine.launch.tally
        for site, (elements, sectors, lines, passes, new) in zip(self.sites, self.moved.tolist(), strict=True):
            if not elements and not new:
                continue  # nobody came by, or all is counted
            row = _row_of(tally, site)
            row[BLOCK_SECTORS] += new * len(machine.batch.blocks)
            if not site.is_shared:
                row[USEFUL_BYTES] += elements * site.array.dtype.itemsize
                row[SECTORS] += sectors
                row[LINES] += lines
                row[WAVEFRONTS] += passes
        whole = np.zeros(machine.batch.warps, np.int64)
        whole[self.warps] = self.by_warp
        machine.books.warp_loads.add(whole)
        self.moved[:] = 0
        self.by_warp[:] = 0


def _row_of(tally: Tally, site: LoadSite) -> list[int]:
    if site.rows == "rows":
        return tally.row(site.line)
    return tally.source_row(site.line) if site.rows == "source_rows" else tally.compiled_row(site.line)

"""Plays some rounds of a loop that is on tape: where its loads lie, what it computes, what it counts, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from autograder.simgpu.counting.counting import BLOCK_SECTORS
from autograder.simgpu.counting.place import Pattern
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.steps import STATEMENT_COST
from autograder.simgpu.tapes import round_primitives as prim
from autograder.simgpu.tapes.recording import Source
from autograder.simgpu.tapes.round_counts import MarkedSectors, PlacedLoad, filled
from autograder.simgpu.tapes.round_layout import IN_SLOT, KeptNumber
from autograder.simgpu.tapes.round_tape import RoundLoad, RoundTape
from autograder.simgpu.tapes.unknown import value_of
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.values import Value

LEAST_ROUNDS = 24  # that are left: fewer take as long by steps, measured with 64 to 32,768 lanes
AT_ONCE = 32  # rounds in which what lanes load mostly lies near each other
LARGE = 2**62


class LaneVectors(Protocol):
    """Who keeps lane vectors and patterns of a batch (rounds.RoundPlayer)."""

    machine: Machine

    def vector(self, source: Source, values: Mapping[str, Value]) -> np.ndarray: ...

    def pattern(self, view: View, mask: Mask, vectors: Sequence[np.ndarray | None]) -> tuple[Pattern, np.ndarray]: ...


class Rounds:
    """Some rounds of a loop that is on tape."""

    def __init__(
        self, player: LaneVectors, tape: RoundTape, mask: Mask, values: Mapping[str, Value], target: str, numbers: range
    ) -> None:
        self.player, self.machine, self.tape, self.mask, self.values = player, player.machine, tape, mask, values
        self.target, self.numbers = target, numbers
        self.whole: dict[str, np.ndarray | np.int64] = {
            name: value for name, value in values.items() if isinstance(value, np.int64)
        }

    def go(self) -> int:
        """Goes them, as far as nothing in them takes a closer look; gives how many."""
        rounds = min(len(self.numbers), self._rounds_of_work())
        if rounds < LEAST_ROUNDS:
            return 0
        counter = self.whole[self.target] = np.arange(
            self.numbers[0], self.numbers[0] + rounds * self.numbers.step, self.numbers.step, dtype=np.int64
        )
        placed = [self._placed(each, rounds) for each in self.tape.loads]
        rounds = min(len(each.bases) for each in placed)
        if rounds < LEAST_ROUNDS or not all(self._is_free(each.view.buffer) for each in placed):
            return 0
        for each in placed:
            each.bases = each.bases[:rounds]
        self.whole[self.target] = counter[:rounds]
        kept = self._compute(placed, rounds)
        if kept is None:
            return 0
        self._count(placed, rounds)
        self._leave(kept)
        return rounds

    def _rounds_of_work(self) -> int:
        """The rounds after which nobody will want to look at the launch."""
        tape, launch = self.tape, self.machine.launch
        self.times = self.mask.warps if tape.is_by_warp else 1
        self.work = self.times * tape.count.work + STATEMENT_COST * tape.statements
        return (launch.next_look - launch.work) // self.work

    def _is_free(self, buffer: Buffer) -> bool:
        """Whether nobody watches what is loaded of an array, or writes to it meanwhile."""
        launch = self.machine.launch
        if buffer.owner.watcher is not None or not buffer.data.flags.c_contiguous or buffer.address % buffer.itemsize:
            return False
        return not launch.checks_order or not launch.is_written(buffer) and (buffer.shadow is None or buffer.all_set)

    def _placed(self, load: RoundLoad, rounds: int) -> PlacedLoad:
        """Where a load lies in each round, up to the first in which a lane may leave the array."""
        view = self.values[load.array]
        assert isinstance(view, View)
        vectors: list[np.ndarray | None] = []
        shifts: list[np.ndarray] = []
        for source, shared in zip(load.vectors, load.shifts, strict=True):
            vector, more = None, 0
            if source is not None:
                vector, more = self.machine.sums.of(self.player.vector(source, self.values))
            vectors.append(vector)
            shifts.append(np.broadcast_to(value_of(shared, self.whole), rounds) + np.int64(more))
        lowest: Iterator[int] = iter(())
        highest = lowest
        size = self.machine.batch.size
        if any(each is not None for each in vectors):
            pattern, runs = self.player.pattern(view, self.mask, vectors)
            offsets, start = pattern.offsets, pattern.start
            lowest, highest = iter(pattern.lowest), iter(pattern.highest)
        else:
            pattern, runs, offsets = None, np.zeros(size // prim.RUN, np.uint8), np.zeros(size, np.int64)
            start = int(view.offset)
        is_inside = np.ones(rounds, np.bool_)
        bases = np.full(rounds, start, np.int64)
        for vector, shift, extent, stride in zip(vectors, shifts, view.shape, view.strides, strict=True):
            low, high = (0, 0) if vector is None else (next(lowest), next(highest))
            is_inside &= (shift > -LARGE) & (shift < LARGE) & (shift >= -low) & (shift < extent - high)
            bases += shift * stride
        left = rounds if is_inside.all() else int(is_inside.argmin())
        return PlacedLoad(load, view, pattern, offsets, runs, bases[:left])

    # -- what it computes -----------------------------------------------------------------------------------------

    def _compute(self, placed: Sequence[PlacedLoad], rounds: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The numbers that are kept, behind the rounds; None where they lie in too many arrays."""
        tape, size = self.tape, self.machine.batch.size
        kept = np.zeros((tape.kept[0], size), np.uint32), np.zeros((tape.kept[1], size), np.uint64)
        for name, slot in tape.given.items():
            self._row(kept, slot)[:] = self.values[name]
        for value, row in tape.constants:
            self._row(kept, KeptNumber(row, value.dtype, True))[:] = value
        arrays: dict[int, dict[int, np.ndarray]] = {4: {}, 8: {}, 1: {}}
        array_of = np.empty(len(placed), np.int64)
        for number, each in enumerate(placed):
            data = each.view.data
            of_width = arrays[data.itemsize]
            of_width.setdefault(id(data), data.view(f"u{data.itemsize}"))
            array_of[number] = list(of_width).index(id(data))
        if max(map(len, arrays.values())) > prim.MOST_ARRAYS:
            return None
        words, doubles, singles = (
            filled(list(arrays[width].values()), np.zeros(0, f"u{width}")) for width in (4, 8, 1)
        )
        patterns = {id(each.offsets): each for each in placed if each.pattern is not None}
        alone = next((each for each in placed if each.pattern is None), None)
        distinct = [*patterns.values(), *([] if alone is None else [alone])]
        numbers = {each: number for number, each in enumerate(patterns)}
        pattern_of_load = np.array([numbers.get(id(each.offsets), len(numbers)) for each in placed], np.int64)
        offsets = np.concatenate([each.offsets for each in distinct])
        runs = np.concatenate([each.runs for each in distinct])
        u4 = np.zeros(max(1, tape.slots[0]) * prim.LANES_AT_ONCE, np.uint32)
        u8 = np.zeros(max(1, tape.slots[1]) * prim.LANES_AT_ONCE, np.uint64)
        for begin in range(0, rounds, AT_ONCE):
            bases = np.stack([each.bases[begin : min(rounds, begin + AT_ONCE)] for each in placed])
            prim.play_rounds(
                tape.instructions, bases.shape[1], bases, pattern_of_load, offsets, runs, array_of, words, doubles, singles,
                self.mask.lanes, *kept, *tape.carried, u4, u4.view(np.float32), u4.view(np.int32), u8, u8.view(np.float64),
                u8.view(np.int64),
            )  # fmt: skip
        return kept

    def _row(self, kept: tuple[np.ndarray, np.ndarray], slot: KeptNumber) -> np.ndarray:
        """The numbers of a slot, of all lanes."""
        held = IN_SLOT[slot.dtype]
        row: np.ndarray = kept[held.itemsize == 8][slot.row].view(held)
        return row

    def _leave(self, kept: tuple[np.ndarray, np.ndarray]) -> None:
        """Has variables hold what they hold behind the rounds."""
        frame, mask, tape = self.machine.current, self.mask, self.tape
        last = {name: value[-1] if isinstance(value, np.ndarray) else value for name, value in self.whole.items()}
        for name, slot in tape.numbers_left.items():
            row = self._row(kept, slot)
            if slot.is_shared:
                frame.write(name, row[int(mask.where[0])].astype(slot.dtype), mask)
            else:
                frame.write(name, row.astype(slot.dtype), mask)
        vectors = [
            (name, self.player.vector(source, self.values), value_of(shared, last))
            for name, (source, shared) in tape.vectors_left.items()
        ]
        for name, vector, far in vectors:
            frame.write(name, vector if not far else vector.astype(np.int64) + far, mask)
        for name, shared in tape.shared_left.items():
            frame.write(name, np.int64(value_of(shared, last)), mask)

    # -- what it counts -------------------------------------------------------------------------------------------

    def _count(self, placed: Sequence[PlacedLoad], rounds: int) -> None:
        machine, tape = self.machine, self.tape
        launch, books = machine.launch, machine.books
        of = {"rows": launch.tally.row, "source_rows": launch.tally.source_row, "compiled_rows": launch.tally.compiled_row}
        for rows, line, slot, amount in tape.count.entries:
            of[rows](line)[slot] += rounds * self.times * amount
        launch.work += rounds * self.work
        books.warp_work.step(self.mask, rounds * tape.count.instructions)
        books.warp_loads.step(self.mask, rounds * tape.count.loads)
        for hazard in tape.hazards:
            launch.repeat_hazard(hazard, rounds)
        launch.found += rounds * (tape.found - len(tape.hazards))
        marks = MarkedSectors(machine.counting, self.mask)
        for each in placed:
            row = of[each.load.rows](each.load.line)
            marks.count(each, row)
        for each, new in zip(placed, marks.marked(), strict=True):
            of[each.load.rows](each.load.line)[BLOCK_SECTORS] += new * len(machine.batch.blocks)

"""Where the numbers of a round lie while it is played: see `round_primitives.play_rounds`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from autograder.simgpu.tapes import round_primitives as prim
from autograder.simgpu.tapes.recording import NotRecorded
from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, INT64

MOST_SLOTS = 64
INT32, UINT8 = np.dtype(np.int32), np.dtype(np.uint8)
IN_SLOT: dict[np.dtype, np.dtype] = {FLOAT32: FLOAT32, INT32: INT32, FLOAT64: FLOAT64, INT64: INT64, UINT8: INT64}
"""How a slot holds numbers of each type."""
Instruction: TypeAlias = tuple[int, int, int, int]
"""Its kind, the number that it makes, and those that it takes; a load takes the number of the load."""


@dataclass(frozen=True)
class KeptNumber:
    """A variable's number from round to round: where it lies, and what it is."""

    row: int  # of the numbers of this width that are kept
    dtype: np.dtype
    is_shared: bool


def operands_of(instruction: Instruction) -> tuple[int, ...]:
    """The numbers that an instruction takes."""
    kind, _, a, b = instruction
    return () if kind <= prim.LOAD_1 else (a,) if b < 0 else (a, b)


class Layout:
    """The slots of a round's numbers."""

    def __init__(
        self, written: Sequence[Instruction], dtypes: Sequence[np.dtype], given: Mapping[str, int],
        constants: Sequence[int], numbers_left: Mapping[str, int],
    ) -> None:  # fmt: skip
        """`dtypes`: of each number; `given`: those that variables hold before a round; `numbers_left`: behind it."""
        self.dtypes, self.numbers_left = dtypes, numbers_left
        self.written = self._needed(written)
        self.rows: dict[int, int] = {}  # of numbers that are kept
        self.left: dict[str, int] = {}  # likewise of variables, behind a round
        sizes = {4: 0, 8: 0}

        def row(number: int) -> int:
            width = self._width(number)
            sizes[width] += 1
            return sizes[width] - 1

        for name, number in numbers_left.items():
            at = row(number)
            if name in given:
                self.rows[given[name]] = at
            self.left[name] = at
        self.carried = sizes[4], sizes[8]
        asked = {each for instruction in self.written for each in operands_of(instruction)} | {*numbers_left.values()}
        for number in (*given.values(), *constants):
            if number in asked and number not in self.rows:
                self.rows[number] = row(number)
        self.kept = sizes[4], sizes[8]
        self.most = {4: self.kept[0] + self.carried[0], 8: self.kept[1] + self.carried[1]}
        self.made = [self._placed(way) for way in range(2)]
        self.slots = self.most[4], self.most[8]
        if max(self.slots) > MOST_SLOTS:
            raise NotRecorded("too many numbers")

    def instructions(self) -> np.ndarray:
        """Those of either way, with slots told by where they begin."""
        made = np.array(self.made, np.int64).reshape(2, -1, prim.COLUMNS)
        made[:, :, 1] *= prim.LANES_AT_ONCE
        made[:, :, 2:] *= np.where(made[:, :, :1] <= prim.LOAD_1, 1, prim.LANES_AT_ONCE)
        return np.ascontiguousarray(made)

    def _width(self, number: int) -> int:
        return IN_SLOT[self.dtypes[number]].itemsize

    def _needed(self, written: Sequence[Instruction]) -> list[Instruction]:
        """The instructions whose numbers somebody asks for."""
        asked: set[int] = {*self.numbers_left.values()}
        needed: list[Instruction] = []
        for instruction in reversed(written):
            if instruction[1] in asked:
                needed.append(instruction)
                asked.update(operands_of(instruction))
        return needed[::-1]

    def _placed(self, way: int) -> list[Instruction]:
        """The instructions of every other round, with slots in place of numbers."""
        carried = {4: self.carried[0], 8: self.carried[1]}
        first = {4: self.kept[0] + carried[4], 8: self.kept[1] + carried[8]}

        def begins(number: int) -> int:
            row, moved = self.rows[number], carried[self._width(number)]
            return row + (way * moved if row < moved else moved)

        slots = {number: begins(number) for number in self.rows}
        copies: list[tuple[int, int, int]] = []
        are_made = {to for _, to, _, _ in self.written}
        for name, number in self.numbers_left.items():
            slot = self.left[name] + (1 - way) * carried[self._width(number)]
            if number in are_made and number not in slots:
                slots[number] = slot
            else:
                copies.append((prim.COPY_4 if self._width(number) == 4 else prim.COPY_8, slot, number))
        last: dict[int, int] = {}
        for at, instruction in enumerate(self.written):
            last.update(dict.fromkeys(operands_of(instruction), at))
        last.update({number: len(self.written) for _, _, number in copies})
        free: dict[int, list[int]] = {4: [], 8: []}
        temporary: set[int] = set()
        made: list[Instruction] = []
        for at, instruction in enumerate(self.written):
            kind, to, a, b = instruction
            operands = operands_of(instruction)
            if to not in slots:
                width = self._width(to)
                if not free[width]:
                    free[width].append(first[width])
                    first[width] += 1
                slots[to] = free[width].pop()
                temporary.add(to)
            made.append((kind, slots[to], a if not operands else slots[a], slots[b] if len(operands) > 1 else 0))
            for each in {*operands} & temporary:
                if last[each] == at:
                    free[self._width(each)].append(slots[each])
        made += [(kind, slot, slots[number], 0) for kind, slot, number in copies]
        self.most = {width: max(self.most[width], first[width]) for width in first}
        return made

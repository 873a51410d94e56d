"""Records one round of a loop that also loads from global memory, so that others can be played.

START HERE: `record_round`. The operations of the round are carried out once, on books of their own. Whole numbers that all
lanes share are not looked at (`unknown.Whole`): what is recorded is so for any of them, and so for any round.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.simgpu.machine.machine import Frame, Machine
from autograder.simgpu.one_thread.rehearsal import ROWS, Circumstances, RunCount
from autograder.simgpu.operations.arithmetic import OPERATORS
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.shared_numbers import ComputedExpression
from autograder.simgpu.operations.statements import Name
from autograder.simgpu.operations.steps import STATEMENT_COST
from autograder.simgpu.tapes import round_primitives as prim
from autograder.simgpu.tapes.recording import MadeOf, NotRecorded, Source
from autograder.simgpu.tapes.round_layout import INT32, UINT8, Instruction, KeptNumber, Layout, operands_of
from autograder.simgpu.tapes.round_stage import LOADS, RoundStage
from autograder.simgpu.tapes.round_tape import RoundLoad, RoundTape
from autograder.simgpu.tapes.unknown import (
    SHARED,
    MadeOfShared,
    Moving,
    SharedSource,
    TracedLanes,
    Whole,
    is_traced,
    number_of,
)
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, INT64, SCALARS
from autograder.simgpu.values.values import NUMBERS, Indices, Number, Value
from autograder.simgpu.values.variables import Variable

MOST_LOADS, MOST_INSTRUCTIONS = 64, 512
ARITHMETIC: dict[tuple[np.ufunc, np.dtype], int] = {
    (np.add, FLOAT32): prim.ADD_F4, (np.subtract, FLOAT32): prim.SUBTRACT_F4, (np.multiply, FLOAT32): prim.MULTIPLY_F4,
    (np.add, FLOAT64): prim.ADD_F8, (np.subtract, FLOAT64): prim.SUBTRACT_F8, (np.multiply, FLOAT64): prim.MULTIPLY_F8,
    (np.add, INT64): prim.ADD_I8, (np.subtract, INT64): prim.SUBTRACT_I8, (np.multiply, INT64): prim.MULTIPLY_I8,
    (np.negative, FLOAT32): prim.NEGATE_F4, (np.negative, FLOAT64): prim.NEGATE_F8, (np.negative, INT64): prim.NEGATE_I8,
}  # fmt: skip
CONVERSIONS: dict[tuple[np.dtype, np.dtype], tuple[int, ...]] = {
    (FLOAT32, FLOAT64): (prim.F4_TO_F8,), (FLOAT64, FLOAT32): (prim.F8_TO_F4,), (INT32, INT64): (prim.I4_TO_I8,),
    (INT32, FLOAT64): (prim.I4_TO_I8, prim.I8_TO_F8), (INT32, FLOAT32): (prim.I4_TO_I8, prim.I8_TO_F4),
    (INT64, FLOAT64): (prim.I8_TO_F8,), (INT64, FLOAT32): (prim.I8_TO_F4,), (UINT8, INT64): (),
    (UINT8, FLOAT64): (prim.I8_TO_F8,), (UINT8, FLOAT32): (prim.I8_TO_F4,),
}  # fmt: skip
MAKES: dict[int, np.dtype] = {
    prim.F4_TO_F8: FLOAT64, prim.F8_TO_F4: FLOAT32, prim.I4_TO_I8: INT64, prim.I8_TO_F8: FLOAT64, prim.I8_TO_F4: FLOAT32,
}  # fmt: skip


def record_round(
    machine: Machine, loop: For, mask: Mask, names: Mapping[str, Value], assigned: frozenset[str],
    computed: Sequence[ComputedExpression], has_any: bool,
) -> RoundTape:  # fmt: skip
    """A round of the loop, which is not its first; raises `NotRecorded`, or what carrying it out raises.

    `names`: what variables hold; `assigned`: those that it assigns to; `computed`: what is computed in it. `has_any`:
    whether whole numbers that stay the same stand for any, or are what they are.
    """
    recorder = RoundRecorder(machine, mask, names, assigned, has_any)
    stage = recorder.stage
    Circumstances.of(machine).begin(stage.as_machine())
    stage.counting.rounds = dict(machine.counting.rounds)
    kept = [(each, each.shared) for each in computed]
    assert isinstance(loop.target, Name)
    number = Whole.of(loop.target.name, recorder)
    try:
        for each, _ in kept:
            each.shared = None  # no number is to be kept of those that stand for any
        with np.errstate(all="ignore"):
            if loop.go_round(stage.as_machine(), mask, number, []) is not mask:
                raise NotRecorded("some lanes leave")
    finally:
        for each, shared in kept:
            each.shared = shared
    return recorder.finished()


class RoundRecorder:
    """Writes the tape of a round."""

    def __init__(
        self, machine: Machine, mask: Mask, names: Mapping[str, Value], assigned: frozenset[str], has_any: bool
    ) -> None:
        self.mask, self.names, self.assigned = mask, names, assigned
        self.written: list[Instruction] = []  # by the numbers of numbers
        self.dtypes: list[np.dtype] = []  # of each number
        self.are_shared: list[bool] = []
        self.constants: dict[tuple[np.dtype, bytes], tuple[np.generic, int]] = {}
        self.loads: list[tuple[RoundLoad, int]] = []
        self.blanks = {each: np.broadcast_to(each.type(0), mask.lanes.shape) for each in LOADS}
        self.stage = RoundStage(machine, mask, self.loaded)
        frame = Frame(machine.current.function, depth=machine.current.depth)
        self.given: dict[str, Any] = {}
        self.arrays = {id(value): name for name, value in names.items() if isinstance(value, (np.ndarray, View))}
        for name, value in names.items():
            if isinstance(value, NUMBERS) and value.dtype in LOADS and (name in assigned or value.dtype.kind == "f"):
                value = self.given[name] = self.new(value.dtype, not isinstance(value, np.ndarray))
            elif name in assigned and not isinstance(value, View):
                continue
            elif has_any and type(value) is np.int64:
                value = Whole.of(name, self)
            frame.variables[name] = Variable()
            frame.variables[name].layers = [(mask, value)]
        self.first_values = {name: each.layers[0][1] for name, each in frame.variables.items()}
        self.stage.frame = self.frame = frame

    # -- numbers --------------------------------------------------------------------------------------------------

    def new(self, dtype: np.dtype, is_shared: bool) -> Any:
        """A number that no instruction has made yet."""
        nothing = np.nan if dtype.kind == "f" else 0
        number: Any = SHARED[dtype](nothing) if is_shared else self.blanks[dtype].view(TracedLanes)
        number.number, number.recorder = len(self.dtypes), self
        self.dtypes.append(dtype)
        self.are_shared.append(is_shared)
        return number

    def number(self, value: object) -> int:
        """How a number is called on the tape."""
        number = number_of(value)
        if number is not None:
            return number
        if isinstance(value, np.generic) and type(value) in SCALARS and value.dtype in LOADS and not np.isnan(value):
            key = value.dtype, value.tobytes()
            if key not in self.constants:
                self.constants[key] = value, len(self.dtypes)
                self.dtypes.append(value.dtype)
                self.are_shared.append(True)
            return self.constants[key][1]
        raise NotRecorded("a number that is not known")

    def write(self, kind: int, to: int, a: int, b: int = -1) -> None:
        if len(self.written) >= MOST_INSTRUCTIONS:
            raise NotRecorded("too long")
        self.written.append((kind, to, a, b))

    def computed(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
        """What arithmetic gives."""
        numbers = [self.number(each) for each in inputs]
        dtype = self.dtypes[numbers[0]]
        kind = ARITHMETIC.get((ufunc, dtype))
        if kind is None or any(self.dtypes[each] != dtype for each in numbers):
            raise NotRecorded(f"{ufunc.__name__} of numbers that are not known")
        made = self.new(dtype, all(self.are_shared[each] for each in numbers))
        self.write(kind, made.number, *numbers)
        return made

    def converted(self, value: Any, dtype: np.dtype) -> Any:
        """A number in another type."""
        number = self.number(value)
        steps = CONVERSIONS.get((self.dtypes[number], dtype))
        if steps is None:
            raise NotRecorded(f"{self.dtypes[number]} made {dtype}")
        made = value
        for kind in steps:
            made = self.new(MAKES[kind], self.are_shared[number])
            self.write(kind, made.number, number)
            number = made.number
        if not steps:
            made = self.new(dtype, self.are_shared[number])
            self.write(prim.COPY_8, made.number, number)
        return made

    def made(self, kind: type[ast.operator], left: np.ndarray, right: np.ndarray | np.int64) -> np.ndarray:
        """A lane vector of whole numbers, written down."""
        result: np.ndarray = OPERATORS[kind](left, right)
        self.stage.made.of[id(result)] = kind, left, right, result
        return result

    # -- memory ---------------------------------------------------------------------------------------------------

    def loaded(self, view: View, indices: Indices, row: list[int], op: Operation) -> Any:
        name = self.arrays.get(id(view))
        if name is None or len(self.loads) >= MOST_LOADS:
            raise NotRecorded("an array that is no variable")
        vectors: list[Source | None] = []
        shifts: list[SharedSource] = []
        for index in indices:
            if is_traced(index):
                raise NotRecorded("an index from memory")
            if isinstance(index, Whole):
                vectors.append(None)
                shifts.append(index.source)
            elif isinstance(index, np.ndarray):
                vector, shift = self._sum(index)
                vectors.append(vector)
                shifts.append(shift)
            else:
                vectors.append(None)
                shifts.append(int(index))
        tally = self.stage.launch.tally
        rows = next(kind for kind in ROWS if getattr(tally, kind).get(op.line) is row)
        load = RoundLoad(name, tuple(vectors), tuple(shifts), rows, op.line, op.is_ahead)
        made = self.new(view.data.dtype, not any(each is not None for each in vectors))
        self.write(LOADS[view.data.dtype], made.number, len(self.loads))
        self.loads.append((load, made.number))
        return made

    def _sum(self, index: np.ndarray) -> tuple[Source, SharedSource]:
        """The lane vector and the whole number that an index is the sum of."""
        vector, shift = (index.vector, index.shift) if isinstance(index, Moving) else (index, 0)
        vector, more = self.stage.sums.of(vector)
        if more and vector.dtype.itemsize < 8:
            raise NotRecorded("an index that may wrap around")
        return self.source(vector), MadeOfShared(ast.Add, shift, more) if more else shift

    def source(self, value: Number) -> Source:
        """Where whole numbers by lane come from."""
        if isinstance(value, np.integer):
            return value
        name = self.arrays.get(id(value))
        if name is not None:
            return name
        made = self.stage.made.of.get(id(value))
        if made is None:
            raise NotRecorded("an index that is made of something else")
        kind, left, right, result = made
        return MadeOf(kind, result.dtype, self.source(left), self.source(right))

    # -- the end --------------------------------------------------------------------------------------------------

    def finished(self) -> RoundTape:
        stage, mask = self.stage, self.mask
        books, launch = stage.books, stage.launch
        if stage.frame is not self.frame or self.frame.returned or not self.loads:
            raise NotRecorded("no loads from global memory")
        if not books.warp_work.is_of(mask) or not books.warp_loads.is_of(mask):
            raise NotRecorded("work of some lanes")
        is_by_warp = mask.active == stage.batch.size
        unit = mask.warps if is_by_warp else 1
        work = launch.work - STATEMENT_COST * stage.statements
        entries = [
            (kind, line, slot, amount)
            for kind in ROWS
            for line, row in getattr(launch.tally, kind).items()
            for slot, amount in enumerate(row)
            if amount or slot == 0  # a line that counts nothing has its row all the same
        ]
        if any(each[3] % unit for each in entries) or work % unit:
            raise NotRecorded("work that is not the same for each warp")
        entries = [(*each[:3], each[3] // unit) for each in entries]
        numbers_left, shared_left, vectors_left = self._left()
        given = {name: int(each.number) for name, each in self.given.items()}
        constants = [number for _, number in self.constants.values()]
        layout = Layout(self.written, self.dtypes, given, constants, numbers_left)
        return RoundTape(
            instructions=layout.instructions(),
            loads=tuple(load for load, _ in self.loads),
            given={name: self._slot(layout.rows[number], number) for name, number in given.items() if number in layout.rows},
            constants=tuple(
                (value, layout.rows[number]) for value, number in self.constants.values() if number in layout.rows
            ),
            carried=layout.carried,
            kept=layout.kept,
            slots=layout.slots,
            numbers_left={name: self._slot(layout.left[name], number) for name, number in numbers_left.items()},
            shared_left=shared_left,
            vectors_left=vectors_left,
            count=RunCount(tuple(entries), work // unit, books.warp_work.pending, books.warp_loads.pending),
            is_by_warp=is_by_warp,
            statements=stage.statements,
            hazards=launch.hazards,
            found=launch.found,
        )

    def _slot(self, row: int, number: int) -> KeptNumber:
        return KeptNumber(row, self.dtypes[number], self.are_shared[number])

    def _left(self) -> tuple[dict[str, int], dict[str, SharedSource], dict[str, tuple[Source, SharedSource]]]:
        """What variables hold behind the round, where it is not what they held before."""
        numbers: dict[str, int] = {}
        shared: dict[str, SharedSource] = {}
        vectors: dict[str, tuple[Source, SharedSource]] = {}
        asked = {each for instruction in self.written for each in operands_of(instruction)}
        for name, variable in self.frame.variables.items():
            value = variable.seen_by(self.mask)
            given = self.given.get(name)
            if value is None:
                raise NotRecorded("a variable that some lanes got")
            if value is self.first_values.get(name):
                continue
            if is_traced(value):
                number = numbers[name] = self.number(value)
                if given is not None and (self.dtypes[number], self.are_shared[number]) != (
                    self.dtypes[given.number], self.are_shared[given.number]
                ):  # fmt: skip
                    raise NotRecorded("a variable of two types")
                continue
            if given is not None and given.number in asked:
                raise NotRecorded("a variable of two types")
            if isinstance(value, Whole):
                shared[name] = value.source
            elif type(value) is np.int64:
                shared[name] = int(value)
            elif isinstance(value, np.ndarray):
                vectors[name] = self._sum(value)
            else:
                raise NotRecorded("a variable of another kind")
        return numbers, shared, vectors

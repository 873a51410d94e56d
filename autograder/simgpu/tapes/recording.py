"""Records what a nest of loops does: the operations are carried out on numbers that stand for any others.

START HERE: `record`. Whole numbers are what they are, and so is the way through the loops. A number of type float32 is a
`Traced` one, which has no value: arithmetic on it is written down. What else is asked of it, or of the machine, raises
`NotRecorded` or `NotOfNumbers`, and the loops are stepped through.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from autograder.errors import Line
from autograder.simgpu.counting.books import Books
from autograder.simgpu.counting.counting import Counting
from autograder.simgpu.counting.place import Place
from autograder.simgpu.machine.machine import Frame, Machine
from autograder.simgpu.one_thread.rehearsal import ROWS, Circumstances, RunCount, Stage
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import STATEMENT_COST
from autograder.simgpu.primitives import READ, WRITE
from autograder.simgpu.tapes.play_primitives import ADD, COLUMNS, GET, LOAD, MOST_ARRAYS, MULTIPLY, PUT, SUBTRACT
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.numba_types import FLOAT32
from autograder.simgpu.values.values import Indices, Number, Value
from autograder.simgpu.values.variables import Variable

MOST_STATEMENTS = 4096
MOST_INSTRUCTIONS = 8192
MOST_NUMBERS = 512  # by lane, that are there at one time
KINDS = {np.add: ADD, np.subtract: SUBTRACT, np.multiply: MULTIPLY}
NO_LIMIT = 1 << 62


class NotRecorded(Exception):  # noqa: N818 (it says that loops are stepped through, and is no error)
    """Something that is not the same each time, or that no tape has an instruction for."""


class Traced(np.ndarray):
    """A number of each lane that stands for any number; `number` is how it is called on the tape."""

    number: int | None

    def __array_finalize__(self, made_of: object) -> None:
        self.number = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Traced:
        if method != "__call__" or keywords or ufunc not in KINDS or len(inputs) != 2:
            raise NotRecorded(f"{ufunc.__name__} of numbers that are not known")
        takes = next(each for each in inputs if isinstance(each, Traced)).recorder
        return takes.computed(KINDS[ufunc], *inputs)

    def __array_function__(self, function: Callable[..., object], *_: object) -> Any:
        raise NotRecorded(f"{function.__name__} of numbers that are not known")

    recorder: TapeRecorder


@dataclass(frozen=True)
class MadeOf:
    """A lane vector that whole numbers make: an operator, the type in which it works, and what it takes."""

    kind: type[ast.operator]
    dtype: np.dtype
    left: Source
    right: Source


Source: TypeAlias = "str | np.integer | MadeOf"
"""Where whole numbers come from: a variable, one that is always the same, or others."""


@dataclass(frozen=True)
class SharedAccess:
    """How loads of shared memory find their elements: the array and, by dimension, where a lane vector comes from."""

    array: str
    vectors: tuple[Source | None, ...]
    lowest: tuple[int, ...]  # of what is added to the vectors, by dimension; 0 where there is none
    highest: tuple[int, ...]


@dataclass(frozen=True)
class WideLoad:
    """A load that moves neighbours, for the compiler: see `Counting._count_neighbours`."""

    rows: str
    line: Line
    access: int
    shift: int
    elements: int
    before: int


@dataclass(frozen=True)
class Tape:
    """What a nest of loops does each time.

    Instructions: `LOAD to access shift line`, `GET to array element`, `PUT from array element`, arithmetic `to left right`.
    """

    instructions: np.ndarray  # int64, of `COLUMNS`
    numbers: int  # rows of numbers by lane that are needed at once
    given: tuple[tuple[str, int], ...]  # variables of type float32, and where they lie at the start
    constants: tuple[tuple[np.float32, int], ...]
    accesses: tuple[SharedAccess, ...]
    shared: tuple[str, ...]  # arrays, by the variables that hold them
    registers: tuple[str, ...]
    lines: tuple[tuple[Line, Operation], ...]  # of loads, in the order in which they come first
    loads: Mapping[int, Operation]  # by instruction
    numbers_left: Mapping[str, int]  # where the numbers lie that variables hold in the end
    left: Mapping[str, Value]  # the whole numbers that others hold
    count: RunCount  # for each warp, where all lanes of all warps are active; else of all
    is_by_warp: bool
    statements: int
    stores: int
    shared_counts: tuple[tuple[str, Line, int, int], ...]  # rows, line, access, and how many loads
    wide: tuple[WideLoad, ...]
    clears_stored: bool  # see `Counting.stored`


def record(machine: Machine, loop: For, mask: Mask, names: Mapping[str, Value]) -> Tape:
    """The loop as it is with these variables; raises `NotRecorded`, or what carrying it out raises."""
    recorder = TapeRecorder(machine, mask, names)
    stage = recorder.stage
    circumstances = Circumstances.of(machine)
    circumstances.begin(stage.as_machine())
    stage.counting.rounds = dict(machine.counting.rounds)
    unseen = Buffer(np.zeros(1, np.uint8), 0, "global")
    stage.counting.stored[unseen] = 0, 0
    with np.errstate(all="ignore"):
        if loop.carry_out(stage.as_machine(), mask) is not mask:
            raise NotRecorded("some lanes leave")
    return recorder.finished(clears_stored=unseen not in stage.counting.stored)


class RecordingStage(Stage):
    """As much of a machine as loops ask for that can be recorded."""

    steady = None
    tapes = None
    registers = None

    counting: Any  # who counts and remembers what is recorded here
    memory: Any

    def __init__(self, machine: Machine) -> None:
        batch = copy.copy(machine.batch)
        batch.diverged, batch.exited = batch.diverged.copy(), batch.exited.copy()
        self.statements = 0
        super().__init__(machine, tells=False, batch=batch)
        self.launch.next_look = NO_LIMIT
        self.books = Books(self.launch, batch)
        self.order = SimpleNamespace(calls_under_atomic=0)
        self.integers = self.made = MadeIntegers()

    @property
    def current(self) -> Frame:
        assert self.frame is not None
        return self.frame

    @current.setter
    def current(self, frame: Frame) -> None:
        self.frame = frame

    @property
    def at(self) -> None:
        """The statement that is being carried out, of which they are counted."""

    @at.setter
    def at(self, statement: Operation) -> None:
        self.statements += 1
        if self.statements > MOST_STATEMENTS:
            raise NotRecorded("too many statements")

    def call_function(self, *arguments: Any) -> Value:
        return Machine.call_function(self.as_machine(), *arguments)

    def cast_to(self, *arguments: Any) -> Value:
        return Machine.cast_to(self.as_machine(), *arguments)


class MadeIntegers(dict[Any, Any]):
    """What a machine keeps of arithmetic on whole numbers, and of each vector for good what it was made of."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[type[ast.operator], Number, Number, Number]] = {}

    def __setitem__(self, key: tuple[Operation, type[ast.operator]], value: tuple[Number, Number, Number]) -> None:
        super().__setitem__(key, value)
        self.of[id(value[2])] = key[1], *value


class RecordingCounting(Counting):
    """Counts all but what depends on where an access lies: which loads of shared memory there were it keeps."""

    def __init__(self, batch: Any, books: Books) -> None:
        super().__init__(batch, books, None)
        self.access = self.shift = 0  # of the load that is being counted
        self.loads: dict[tuple[int, int], int] = {}  # by the row and the access
        self.neighbours: list[tuple[list[int], int, int, int, int]] = []

    def _count_shared(self, row: list[int], view: View, place: Place, kind: int) -> None:
        self.loads[id(row), self.access] = self.loads.get((id(row), self.access), 0) + 1

    def _count_neighbours(
        self, row: list[int], view: View, place: Place, elements: int, before: int, kind: int
    ) -> None:
        self.neighbours.append((row, self.access, self.shift, elements, before))


class RecordingMemory:
    """Arrays in registers and in shared memory, of which every access is written down."""

    def __init__(self, recorder: TapeRecorder, counting: RecordingCounting) -> None:
        self.recorder, self.counting = recorder, counting
        self.changes = 0

    def load(self, view: View, indices: Indices, mask: Mask, op: Operation) -> Number:
        self._expect(view, mask)
        if view.buffer.space == "local":
            element = self._register(view, indices, op)
            self.counting.count_register(mask, op, READ)
            return self.recorder.got(view, element)
        if op.is_sunk or op.stands_for(False) is not None or self.counting.regrouping is not None:
            raise NotRecorded("a load that is counted elsewhere")
        access, shift = self.recorder.access(view, indices)
        self.counting.access, self.counting.shift = access, shift
        self.counting.count(view, Place(0, mask), op, READ)
        return self.recorder.loaded(access, shift, op)

    def store(self, view: View, indices: Indices, value: Value, mask: Mask, op: Operation) -> None:
        self._expect(view, mask)
        if view.buffer.space != "local":
            raise NotRecorded("a store that others may see")
        element = self._register(view, indices, op)
        self.counting.count_register(mask, op, WRITE)
        self.recorder.put(view, element, value)
        self.changes += 1

    def _expect(self, view: View, mask: Mask) -> None:
        if mask is not self.recorder.mask:
            raise NotRecorded("an access of some lanes")
        is_plain = view.field is None and view.lengths is None and view.outside is None
        if not is_plain or view.buffer.space not in ("local", "shared") or view.data.dtype is not FLOAT32:
            raise NotRecorded("another array")

    def _register(self, view: View, indices: Indices, op: Operation) -> int:
        registers = view.buffer.registers
        if registers is None or op.is_of_local_memory or op.chosen_of or not registers.is_whole(view):
            raise NotRecorded("another array")
        element = 0
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            if isinstance(index, np.ndarray) or not 0 <= int(index) < extent:
                raise NotRecorded("another element")
            element += int(index) * stride
        return element


class TapeRecorder:
    """Writes a tape."""

    def __init__(self, machine: Machine, mask: Mask, names: Mapping[str, Value]) -> None:
        self.mask = mask
        self.lines: dict[Line, Operation] = {}
        self.written: list[tuple[int, ...]] = []
        self.loads: dict[int, Operation] = {}
        self.known_loads: dict[tuple[int, int], int] = {}
        self.constants: dict[bytes, tuple[np.float32, int]] = {}
        self.count_of_numbers = 0
        self.accesses: dict[tuple[str, tuple[Source | None, ...]], int] = {}
        self.shifts: list[list[tuple[int, ...]]] = []
        self.shared: dict[str, View] = {}
        self.registers: dict[str, View] = {}
        self.names = names
        self.blank = np.full(machine.batch.size, np.nan, np.float32)
        self.stage = RecordingStage(machine)
        self.stage.counting = RecordingCounting(self.stage.batch, self.stage.books)
        self.stage.memory = RecordingMemory(self, self.stage.counting)
        frame = Frame(machine.current.function, depth=machine.current.depth)
        self.given: dict[str, Traced] = {}
        for name, value in names.items():
            if isinstance(value, (np.ndarray, np.generic)) and value.dtype == FLOAT32:
                value = self.given[name] = self.new()
            frame.variables[name] = Variable()
            frame.variables[name].layers = [(mask, value)]
        self.stage.frame = self.frame = frame
        self.of_array = {id(value): name for name, value in names.items() if isinstance(value, (np.ndarray, View))}

    # -- numbers --------------------------------------------------------------------------------------------------

    def new(self) -> Traced:
        """A number that no instruction has made yet."""
        number = self.blank.view(Traced)
        number.number, number.recorder = self.count_of_numbers, self
        self.count_of_numbers += 1
        return number

    def number(self, value: object) -> int:
        """How a number is called on the tape."""
        if isinstance(value, Traced) and value.number is not None:
            return value.number
        if isinstance(value, np.float32):
            known = self.constants.get(value.tobytes())
            if known is None:
                known = self.constants[value.tobytes()] = value, self.count_of_numbers
                self.count_of_numbers += 1
            return known[1]
        raise NotRecorded("a number that is not known")

    def write(self, *instruction: int) -> None:
        if len(self.written) >= MOST_INSTRUCTIONS:
            raise NotRecorded("too long")
        self.written.append(instruction + (0,) * (COLUMNS - len(instruction)))

    def computed(self, kind: int, left: object, right: object) -> Traced:
        operands = self.number(left), self.number(right)
        made = self.new()
        self.write(kind, self.number(made), *operands)
        return made

    # -- memory ---------------------------------------------------------------------------------------------------

    def got(self, view: View, element: int) -> Traced:
        made = self.new()
        self.write(GET, self.number(made), self._array(self.registers, view), element)
        return made

    def put(self, view: View, element: int, value: Value) -> None:
        if isinstance(value, np.generic) and value.dtype.kind in "iuf":
            value = value.astype(FLOAT32)
        self.write(PUT, self.number(value), self._array(self.registers, view), element)

    def access(self, view: View, indices: Indices) -> tuple[int, int]:
        """The number of a way to access an array, and how far this one is from its beginning."""
        vectors: list[Source | None] = []
        shifts: list[int] = []
        for index, extent in zip(indices, view.shape, strict=True):
            if isinstance(index, np.ndarray):
                vector, shift = self.stage.sums.of(index)
                if shift and index.dtype.itemsize < 8:
                    raise NotRecorded("an index that may wrap around")
                vectors.append(self.source(vector))
                shifts.append(shift)
            else:
                if not 0 <= int(index) < extent:
                    raise NotRecorded("an index that counts from the end, or outside")
                vectors.append(None)
                shifts.append(int(index))
        self._array(self.shared, view)
        key = self.of_array[id(view)], tuple(vectors)
        number = self.accesses.setdefault(key, len(self.accesses))
        if number == len(self.shifts):
            self.shifts.append([])
        self.shifts[number].append(tuple(shifts))
        return number, sum(shift * stride for shift, stride in zip(shifts, view.strides, strict=True))

    def source(self, value: Number) -> Source:
        """Where whole numbers come from."""
        if isinstance(value, np.integer):
            return value
        name = self.of_array.get(id(value))
        if name is not None:
            return name
        made = self.stage.made.of.get(id(value))
        if made is None:
            raise NotRecorded("an index that is made of something else")
        kind, left, right, result = made
        return MadeOf(kind, result.dtype, self.source(left), self.source(right))

    def loaded(self, access: int, shift: int, op: Operation) -> Traced:
        self.lines.setdefault(op.line, op)
        known = self.known_loads.get((access, shift))
        self.loads[len(self.written)] = op
        line = list(self.lines).index(op.line)
        if known is not None:  # nobody stores to shared memory meanwhile
            self.write(LOAD, -1, access, shift, line)
            made = self.blank.view(Traced)
            made.number, made.recorder = known, self
            return made
        made = self.new()
        self.known_loads[access, shift] = self.number(made)
        self.write(LOAD, self.number(made), access, shift, line)
        return made

    def _array(self, arrays: dict[str, View], view: View) -> int:
        name = self.of_array.get(id(view))
        if name is None:
            raise NotRecorded("an array that is no variable")
        arrays.setdefault(name, view)
        if len(arrays) > MOST_ARRAYS:
            raise NotRecorded("too many arrays")
        return list(arrays).index(name)

    # -- the end --------------------------------------------------------------------------------------------------

    def finished(self, clears_stored: bool) -> Tape:
        stage, counting, mask = self.stage, self.stage.counting, self.mask
        books, launch = stage.books, stage.launch
        if stage.frame is not self.frame or self.frame.returned or launch.hazards:
            raise NotRecorded("more than numbers")
        if not books.warp_work.is_of(mask) or not books.warp_loads.is_of(None):
            raise NotRecorded("work of some lanes")
        left = {name: self._left(name, variable) for name, variable in self.frame.variables.items()}
        rows = {id(row): (kind, line) for kind in ROWS for line, row in getattr(launch.tally, kind).items()}
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
        instructions, numbers, placed = _with_places(self)
        return Tape(
            instructions=instructions,
            numbers=numbers,
            given=tuple((name, placed[self.number(each)]) for name, each in self.given.items()),
            constants=tuple((value, placed[number]) for value, number in self.constants.values()),
            accesses=tuple(
                SharedAccess(array, vectors, *(tuple(map(least, zip(*shifts, strict=True))) for least in (min, max)))
                for (array, vectors), shifts in zip(self.accesses, self.shifts, strict=True)
            ),
            shared=tuple(self.shared),
            registers=tuple(self.registers),
            lines=tuple(self.lines.items()),
            loads=self.loads,
            numbers_left={name: placed[self.number(each)] for name, each in left.items() if isinstance(each, Traced)},
            left={name: each for name, each in left.items() if each is not None and not isinstance(each, Traced)},
            count=RunCount(tuple(entries), work // unit, books.warp_work.pending, 0),
            is_by_warp=is_by_warp,
            statements=stage.statements,
            stores=stage.memory.changes,
            shared_counts=tuple((*rows[row], access, times) for (row, access), times in counting.loads.items()),
            wide=tuple(WideLoad(*rows[id(row)], *rest) for row, *rest in counting.neighbours),
            clears_stored=clears_stored,
        )  # fmt: skip

    def _left(self, name: str, variable: Variable) -> Value:
        """What a variable holds in the end; None where it is what it was."""
        value = variable.seen_by(self.mask)
        if value is None:
            raise NotRecorded("a variable that some lanes got")
        if value is self.names.get(name) or value is self.given.get(name):
            return None
        if isinstance(value, Traced) and value.number is not None or isinstance(value, np.integer):
            return value
        raise NotRecorded("a variable of another kind")


def _with_places(recorder: TapeRecorder) -> tuple[np.ndarray, int, list[int]]:
    """The instructions with places for numbers, that are given to others once nobody asks for them any more."""
    written = recorder.written
    last: dict[int, int] = {}
    for at, (kind, *rest) in enumerate(written):
        for number in rest[:1] if kind == PUT else rest[1:3] if kind in KINDS.values() else ():
            last[number] = at
    for variable in recorder.frame.variables.values():
        value = variable.layers[-1][1]
        if isinstance(value, Traced) and value.number is not None:
            last[value.number] = len(written)
    placed = [-1] * recorder.count_of_numbers
    free: list[int] = []
    count = 0

    def place(number: int) -> int:
        nonlocal count
        if free:
            placed[number] = free.pop()
        else:
            placed[number] = count
            count += 1
        return placed[number]

    for number in (*(recorder.number(each) for each in recorder.given.values()),
                   *(number for _, number in recorder.constants.values())):  # fmt: skip
        place(number)
        last[number] = len(written)
    made: list[tuple[int, ...]] = []
    for at, (kind, *rest) in enumerate(written):
        operands = rest[:1] if kind == PUT else rest[1:3] if kind in KINDS.values() else []
        places = [placed[number] for number in operands]
        for number in {*operands}:
            if last[number] == at:
                free.append(placed[number])
        if kind == PUT:
            made.append((kind, *places, *rest[1:]))
            continue
        to = rest[0]
        if to >= 0:
            place(to)
            if to not in last:  # nobody asks for it
                free.append(placed[to])
            to = placed[to]
        made.append((kind, to, *places, *rest[1 + len(places) :]))
    if count > MOST_NUMBERS:
        raise NotRecorded("too many numbers")
    return np.array(made, np.int64).reshape(-1, COLUMNS), count, placed

"""Loops whose rounds all go the same way: once two rounds have told the same, the rest are computed and not stepped through.

    for step in range(n):            # each thread exchanges two elements of its own, and waits for the others
        ...
        cuda.syncthreads()

Where neither branches nor indices depend on the round or on what is in memory, each round makes the same accesses as the
one before it, and counts and finds the same (same_way.py, of launches). That is not taken on trust: the state of the
machine is compared after three rounds (`StateOfMachine`). Has it moved on by the same steps, and the shadow of each element
by the same stamps, then it will with each further round. The numbers of these rounds are computed by compiled code,
statement after statement for all threads, as steps do; what they count and find is what the last round did, times their
number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit

from autograder.errors import KernelFault
from autograder.language.program import Reference
from autograder.simgpu.counting.tally import MAXIMA
from autograder.simgpu.host.straight import Made, NotTheSame, Straight, compiled_for
from autograder.simgpu.host.walk import Meaning, Walk
from autograder.simgpu.machine.machine import SURPRISES, Frame, Machine
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers, Stage
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Evaluate, Name
from autograder.simgpu.operations.steps import Statement
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.numba_types import unify
from autograder.simgpu.values.variables import Variable

LEAST_ROUNDS = 500  # that are left: to compile takes about a second
LOOKED_AT = (2, 3, 4)  # rounds before which the state of the machine is kept
MOST_BYTES = 64 * 1024**2  # of shadows, kept three times
AT_ONCE = 1000  # rounds, between which somebody may interrupt


class SteadyLoops:
    """The loops of one launch that many lanes go through."""

    def watch(self, machine: Machine, loop: Operation, mask: Mask, rounds: int) -> SteadyRounds | None:
        """Who watches a loop over a range that all lanes go through together; None where nothing comes of it."""
        launch = machine.launch
        if mask.active < 2 or rounds < LEAST_ROUNDS or launch.trace or launch.debug or launch.words:
            return None
        assert isinstance(loop, For)
        if loop.is_watched or not isinstance(loop.target, Name) or loop.orelse.statements:
            return None
        return SteadyRounds(machine, loop, rounds)


class SteadyRounds:
    """One loop that is watched."""

    def __init__(self, machine: Machine, loop: For, rounds: int) -> None:
        self.machine, self.loop, self.rounds = machine, loop, rounds
        self.standings: list[StateOfMachine] = []

    def skip(self, number: int, running: Mask) -> int:
        """How many rounds, from this one on, have been computed by now, and need not be stepped through."""
        if number not in LOOKED_AT:
            return 0
        if number == LOOKED_AT[0]:
            size = sum(len(each.data) for each in _with_shadows(self.machine)) * 30
            self.mask = running
            self.is_hopeless = size > MOST_BYTES or self.machine.batch.has_raised
        if self.is_hopeless or running is not self.mask:
            return 0
        self.standings.append(StateOfMachine(self.machine))
        if number < LOOKED_AT[-1] or len(self.standings) < len(LOOKED_AT):
            return 0
        moved = self.standings[2].moved_from(self.standings[1], self.standings[0])
        launch = self.machine.launch
        if moved is None:
            return 0
        rounds = min(self.rounds - number - 1, (launch.work_limit - launch.work) // max(1, moved.work) - 1)
        if rounds < LEAST_ROUNDS // 2:
            return 0
        try:
            with np.errstate(all="ignore"):
                walk = LoopWalk(self.machine, self.loop, running)
                compute = walk.compiled()
        except (NotTheSame, NotOfNumbers, KernelFault, *SURPRISES):
            return 0
        for begin in range(0, rounds, AT_ONCE):
            compute(min(AT_ONCE, rounds - begin))
        moved.go_on(self.machine, rounds)
        return rounds


def _with_shadows(machine: Machine) -> list[Buffer]:
    buffers = {id(each): each for each in getattr(machine.launch, "buffers", ())}
    buffers |= {id(view.buffer): view.buffer for view in machine.arrays.values()}
    return [each for each in buffers.values() if each.shadow is not None]


class StateOfMachine:
    """All that a machine keeps of what it has done, but for the numbers in memory and in variables."""

    def __init__(self, machine: Machine) -> None:
        launch, order, tally = machine.launch, machine.order, machine.launch.tally
        self.rows = [
            {line: np.array(row) for line, row in rows.items()}
            for rows in (tally.rows, tally.source_rows, tally.compiled_rows)
        ]
        self.hazards = {key: hazard.occurrences for key, hazard in launch.by_place.items()}
        self.numbers = np.array([launch.work, launch.found, machine.memory.changes, order.now, order.grid_sync])
        self.arrays = [
            order.block_sync.copy(), order.warp_sync.copy(), machine.books.warp_work.by_warp().copy(),
            machine.books.warp_loads.by_warp().copy(),
        ]  # fmt: skip
        buffers = getattr(launch, "buffers", ())
        self.flags = [machine.batch.diverged.copy(), *(each.touched.copy() for each in buffers)]
        self.flags += [each.stamps.copy() for each in buffers]
        self.shadowed = _with_shadows(machine)
        self.shadows = [
            tuple(row.copy() for row in accesses)
            for each in self.shadowed
            if each.shadow is not None
            for accesses in (each.shadow.writes, each.shadow.reads, each.shadow.plain_writes)
        ]
        self.is_plain = order.exchanged is None and not any(each.hottest_atomics for each in buffers)

    def moved_from(self, one: StateOfMachine, two: StateOfMachine) -> RoundsAhead | None:
        """How far each round goes on, where the last two went equally far; None where they did not."""
        if not (self.is_plain and self._is_like(one) and one._is_like(two)):
            return None
        steps = [np.array_equal(a - b, b - c) for a, b, c in zip(self.arrays, one.arrays, two.arrays, strict=True)]
        steps.append(np.array_equal(self.numbers - one.numbers, one.numbers - two.numbers))
        steps += [
            np.array_equal(rows[line] - before[line], before[line] - earlier[line])
            and not (rows[line] - before[line])[list(MAXIMA)].any()
            for rows, before, earlier in zip(self.rows, one.rows, two.rows, strict=True)
            for line in rows
        ]
        steps += [self.hazards[key] - one.hazards[key] == one.hazards[key] - two.hazards[key] for key in self.hazards]
        clock = int(self.numbers[3] - one.numbers[3])
        for (stamps, threads, places), (stamps_before, threads_before, places_before) in zip(
            self.shadows, one.shadows, strict=True
        ):
            far = stamps - stamps_before
            steps.append(bool(np.all((far == 0) | (far == clock))))
            steps.append(np.array_equal(threads, threads_before) and np.array_equal(places, places_before))
        return RoundsAhead(self, one) if all(steps) else None

    def _is_like(self, other: StateOfMachine) -> bool:
        return (
            [set(rows) for rows in self.rows] == [set(rows) for rows in other.rows]
            and self.hazards.keys() == other.hazards.keys()
            and list(map(id, self.shadowed)) == list(map(id, other.shadowed))
            and all(map(np.array_equal, self.flags, other.flags))
        )


@dataclass(frozen=True, eq=False)
class RoundsAhead:
    """How far a machine gets in one round."""

    now: StateOfMachine
    before: StateOfMachine

    @property
    def work(self) -> int:
        return int(self.now.numbers[0] - self.before.numbers[0])

    def go_on(self, machine: Machine, rounds: int) -> None:
        """Leaves the machine as so many further rounds would."""
        launch, order, tally = machine.launch, machine.order, machine.launch.tally
        for rows, now, before in zip(
            (tally.rows, tally.source_rows, tally.compiled_rows), self.now.rows, self.before.rows, strict=True
        ):
            for line, row in rows.items():
                row[:] = [int(each) for each in np.array(row) + rounds * (now[line] - before[line])]
        for key, hazard in list(launch.by_place.items()):
            more = rounds * (self.now.hazards[key] - self.before.hazards[key])
            launch.by_place[key] = replace(hazard, occurrences=hazard.occurrences + more)
        work, found, changes, now_, grid_sync = (int(each) for each in rounds * (self.now.numbers - self.before.numbers))
        launch.work += work
        launch.found += found
        machine.memory.changes += changes
        order.now += now_
        order.grid_sync += grid_sync
        launch.grid_sync += grid_sync
        arrays = order.block_sync, order.warp_sync, machine.books.warp_work.by_warp(), machine.books.warp_loads.by_warp()
        for array, after, earlier in zip(arrays, self.now.arrays, self.before.arrays, strict=True):
            array += (rounds * (after - earlier)).astype(array.dtype)
        accesses = [
            each
            for buffer in self.now.shadowed
            if buffer.shadow is not None
            for each in (buffer.shadow.writes, buffer.shadow.reads, buffer.shadow.plain_writes)
        ]
        for (stamps, _, _), kept, earlier_kept in zip(accesses, self.now.shadows, self.before.shadows, strict=True):
            stamps += (rounds * (kept[0] - earlier_kept[0])).astype(stamps.dtype)
        for buffer in self.now.shadowed:
            if buffer.shadow is not None and buffer.shadow.last_read > 0:
                buffer.shadow.last_read = max(buffer.shadow.last_read, order.now)


class LoopWalk(Walk):
    """Goes through the body of a loop, and writes what its threads compute in each round."""

    takes_calls = False  # rounds are compiled together

    def __init__(self, machine: Machine, loop: For, mask: Mask) -> None:
        self.stage = Stage(machine, tells=False)
        self.machine = self.stage.as_machine()
        current = machine.current
        self.stage.frame = self.stage.current = self.frame = Frame(current.function, depth=current.depth)
        for name, variable in current.variables.items():
            self.frame.variables[name] = Variable()
            self.frame.variables[name].layers = list(variable.layers)
        buffers = getattr(machine.launch, "buffers", ())
        self.buffers: Sequence[Buffer] = buffers
        self.places = {id(each): place for place, each in enumerate(buffers)}
        self.lower, self.results = machine.lower, []
        self.made: dict[str, Made] = {}
        self.straights: list[Straight] = []
        self.loads: list[tuple[int, Straight, np.ndarray]] = []
        self.stores: list[tuple[int, Straight, np.ndarray]] = []
        assert isinstance(loop.target, Name)
        self.unknown = {*assigned_in(loop.body), loop.target.name}  # what a round before has left, or the round's number
        self.all, self.nbytes = mask, 0
        if self.block(loop.body, mask) is not mask:
            raise NotTheSame("a loop that some leave early")

    def statement(self, op: Statement, mask: Mask) -> Mask | None:
        if isinstance(op, Evaluate):
            call = op.operand
            callee = self.known(call.callee, mask) if isinstance(call, FunctionCall) and not call.arguments else None
            if isinstance(callee, Reference) and callee.path == "numba.cuda.syncthreads":
                self.straights.append(Straight(mask))
                return mask
        return super().statement(op, mask)

    def follows(self, op: Operation, mask: Mask) -> bool:
        if any(isinstance(each, Local) and each.name in self.unknown for each in everything_in(op)):
            raise NotTheSame("a number of the round before")
        return super().follows(op, mask)

    def set(self, name: str, value: Meaning, mask: Mask) -> None:
        if not isinstance(value, Made) and mask is not self.all:
            raise NotTheSame("a variable that only some get")
        super().set(name, value, mask)
        self.unknown.discard(name)

    def call(self, op: FunctionCall, mask: Mask) -> Meaning:
        callee = self.known(op.callee, mask)
        path = getattr(callee, "path", "")
        if path not in ("builtins.min", "builtins.max") or len(op.arguments) != 2:
            return super().call(op, mask)
        (a, one), (b, other) = (self.operand(self.value(each, mask), mask) for each in op.arguments)
        dtype = unify(one, other)
        if one != other or dtype != one:
            raise NotTheSame("a call")
        return self.keep(f"{b} if {b} {'>' if path.endswith('max') else '<'} {a} else {a}", dtype, mask)

    def place(self, op: Subscript, mask: Mask) -> tuple[View, np.ndarray]:
        """The array and the elements that are meant; -1 of a thread that would leave the array."""
        view, indices = self.meant(op, mask)
        where = mask.where
        elements = np.full(len(where), view.offset, np.int64)
        inside = np.ones(len(where), np.bool_)
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            one = index[where] if isinstance(index, np.ndarray) else index
            if np.any(np.less(one, 0)):
                raise NotTheSame("an index that counts from the end")
            inside &= np.less(one, extent)
            elements += one.astype(np.int64) * stride
        return view, np.where(inside, elements, -1)

    def loading(self, array: str, at: str, elements: np.ndarray, dtype: np.dtype) -> str:
        if len(elements) > 1 and elements.min() == elements.max():
            raise NotTheSame("a number that all share")  # whether all store the same number makes a race a lesser one
        loaded = super().loading(array, at, elements, dtype)
        nothing = "np.nan" if dtype.kind == "f" else "0"
        return loaded if elements.min(initial=0) >= 0 else f"{loaded} if {at} >= 0 else np.{dtype.name}({nothing})"

    def storing(self, array: str, at: str, elements: np.ndarray, code: str) -> str:
        stored = super().storing(array, at, elements, code)
        return stored if elements.min(initial=0) >= 0 else f"if {at} >= 0: {stored}"

    def compiled(self) -> Callable[[int], None]:
        """What computes so many rounds."""
        straights = [each for each in self.straights if each.lines]
        for straight in straights:
            self._check_own(straight)
        parts = [compiled_for(straight) for straight in straights]
        arguments = [
            (*(self.buffers[place].data for place in straight.arrays), *numbers)
            for straight, (_, numbers) in zip(straights, parts, strict=True)
        ]
        function = _rounds(tuple(function for function, _ in parts), tuple(map(len, arguments)))
        flat = [each for several in arguments for each in several]
        return lambda rounds: function(rounds, *flat)

    def _check_own(self, straight: Straight) -> None:
        """Raises `NotTheSame` where what is computed thread by thread is not what statement by statement gives."""
        for place in straight.arrays:
            if not any(at == place and where is straight for at, where, _ in self.stores):
                continue
            different: list[np.ndarray] = []
            for at, where, elements in (*self.loads, *self.stores):
                if at == place and where is straight and not any(np.array_equal(elements, each) for each in different):
                    different.append(elements)
            touched = np.concatenate([each[each >= 0] for each in different])
            if len(np.unique(touched)) < len(touched):
                raise NotTheSame("an element that one writes and another one touches")


@lru_cache(maxsize=64)
def _rounds(functions: tuple[Callable[..., None], ...], counts: tuple[int, ...]) -> Callable[..., None]:
    """Some functions one after the other, round by round."""
    names: dict[str, Any] = {f"part{i}": function for i, function in enumerate(functions)}
    given = [[f"a{i}_{j}" for j in range(count)] for i, count in enumerate(counts)]
    lines = [f"def rounds(n, {', '.join(each for several in given for each in several)}):", "    for _ in range(n):"]
    lines += [f"        part{i}({', '.join(several)})" for i, several in enumerate(given)] or ["        pass"]
    exec("\n".join(lines), names)  # noqa: S102 (written here, of operations)
    made: Callable[..., None] = njit(nogil=True)(names["rounds"])
    return made

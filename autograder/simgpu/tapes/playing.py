"""Plays tapes for one batch of blocks: where a nest of loops is the same as it was when it was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from autograder.errors import KernelFault, Line
from autograder.simgpu.counting.counting import SHARED, wavefronts_of_neighbours
from autograder.simgpu.counting.counting_primitives import count_wavefronts
from autograder.simgpu.counting.place import Pattern, Place, Readers
from autograder.simgpu.machine.addressing import pattern_of
from autograder.simgpu.machine.machine import SURPRISES, Machine
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers
from autograder.simgpu.operations.arithmetic import OPERATORS
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import STATEMENT_COST
from autograder.simgpu.ordering.ordering import readers_of
from autograder.simgpu.primitives import READ
from autograder.simgpu.tapes.nests import MOST_FAILURES, MOST_KEPT, Key, Nest, Tapes
from autograder.simgpu.tapes.play_primitives import MOST_ARRAYS, PLAYED, play
from autograder.simgpu.tapes.recording import MadeOf, NotRecorded, Source, Tape, record
from autograder.simgpu.tapes.rounds import KnownRounds, RoundPlayer
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Accesses, View
from autograder.simgpu.values.values import Value

LEAST_LANES = 2
MOST_MADE = 256  # lane vectors of a batch, from where on they seem to be others each time
STEPPED_FIRST = 1  # times, before it is recorded, which takes longer than to step through it
PERIOD = 1024  # elements: wide accesses so far apart take the same wavefronts
_NO_LANES, _NO_BREADTHS, _NO_SITES = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
_NO_FLOATS, _NO_ROWS = np.zeros(0, np.float32), np.zeros((0, 0), np.float32)
_NO_ACCESSES = Accesses.none(0)
NO_READERS = Readers(_NO_LANES, _NO_LANES, _NO_LANES, _NO_BREADTHS)

Counts: TypeAlias = list[tuple[list[int], int, int]]  # row, slot, amount
Arrays: TypeAlias = tuple[np.ndarray, ...]
OfAccesses: TypeAlias = tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray
]  # the lanes' offsets of each, and its readers


@dataclass(eq=False)
class BoundTape:
    """A tape with the arrays and the patterns of access that its variables stand for."""

    keeps: tuple[object, ...]  # alive, so that nothing else gets their identities
    views: list[View]  # of shared memory
    patterns: list[Pattern]  # of each access
    numbers: np.ndarray
    arrays: tuple[Arrays, Arrays, np.ndarray]  # registers, shared ones, and which of these each access is to
    lanes: OfAccesses
    shadows: tuple[Arrays, Arrays, Arrays, Arrays, Arrays]
    counts: Counts
    wide: dict[tuple[int, ...], Counts] = field(default_factory=dict)  # by the place of each access's lowest element


class Player:
    """The tapes of a kernel, for the batch of one machine."""

    def __init__(self, machine: Machine, tapes: Tapes, rounds: KnownRounds) -> None:
        self.machine, self.tapes = machine, tapes
        self.rounds = RoundPlayer(machine, rounds)
        self._bound: dict[tuple[int, ...], BoundTape] = {}
        self._patterns: dict[tuple[object, ...], Pattern] = {}
        self._made: dict[tuple[object, ...], tuple[np.ndarray, object]] = {}  # lane vectors, with what they were made of

    def play(self, loop: Operation, mask: Mask) -> bool:
        """Does all that the loop does, if that is recorded; else False, and nothing is done."""
        assert isinstance(loop, For)
        nest = self.tapes.nest(loop)
        if nest is None or mask.active < LEAST_LANES or not self._may_play():
            return False
        values = self._values(nest, mask)
        if values is not None and not nest.tapes and not nest.may_be_of(values):
            self.tapes.give_up(loop)
            return False
        key = None if values is None else self._key(nest, values, mask)
        if values is None or key is None:
            self._failed(nest, loop)
            return False
        tape = nest.tapes.get(key, 0)
        if isinstance(tape, int):
            if tape < STEPPED_FIRST:
                if len(nest.tapes) >= MOST_KEPT and tape == 0:
                    self.tapes.give_up(loop)
                else:
                    nest.tapes[key] = tape + 1
                return False
            tape = nest.tapes[key] = self._recorded(loop, mask, values)
            if tape is None:
                self._failed(nest, loop)
        return tape is not None and self._played(tape, mask, values)

    def go_on(self, loop: Operation, running: Mask, numbers: range) -> tuple[int, Mask | None] | None:
        """Goes the rounds of a loop with these numbers, if they are recorded: how many, and who is still in it."""
        assert isinstance(loop, For)
        return self.rounds.go_on(loop, running, numbers) if self._may_play() else None

    def _failed(self, nest: Nest, loop: For) -> None:
        """It could not be recorded as it is here."""
        nest.failed += 1
        if nest.failed >= MOST_FAILURES and not any(isinstance(each, Tape) for each in nest.tapes.values()):
            self.tapes.give_up(loop)

    def _may_play(self) -> bool:
        """Whether nothing is asked of this launch that only steps can give."""
        machine = self.machine
        launch, counting = machine.launch, machine.counting
        return (
            launch.trace is None
            and launch.debug is None
            and launch.words is None
            and counting.regrouping is None
            and not machine.books.warps_more
            and not machine.batch.has_raised
            and not machine.order.calls_under_atomic
        )

    def _values(self, nest: Nest, mask: Mask) -> dict[str, Value] | None:
        """The values of the nest's variables, those that have one for all lanes; None where one is of another kind."""
        variables = self.machine.current.variables
        values: dict[str, Value] = {}
        for name in nest.names:
            variable = variables.get(name)
            if variable is None:
                continue
            top, value = variable.layers[-1]
            if value is not None and (mask is top or mask.is_within(top)):
                if not isinstance(value, (View, np.ndarray, np.integer, np.float32)):
                    return None
                values[name] = value
        return values

    def _key(self, nest: Nest, values: dict[str, Value], mask: Mask) -> Key | None:
        """All that decides what is recorded."""
        machine = self.machine
        counting = machine.counting
        kinds: list[object] = []
        for name, value in values.items():
            kinds.append(name)
            if isinstance(value, View):
                registers = value.buffer.registers
                if value.field is not None or value.lengths is not None or value.outside is not None:
                    return None
                if registers is not None and not registers.is_whole(value):
                    return None
                kinds.append((value.buffer.space, value.dtype, value.shape, value.strides))
            elif isinstance(value, np.integer):
                kinds.append((type(value), int(value)))
            else:
                assert isinstance(value, (np.ndarray, np.float32))
                kinds.append(value.dtype)
        is_everyone = mask.active == machine.batch.size
        rounds = tuple([counting.rounds.get(each, 0) for each in nest.around])
        books = machine.books
        return (
            *kinds, 0 if is_everyone else (mask.active, mask.warps), rounds, books.in_short_arms > 0,
            nest.once & books.hoisted, nest.accesses & counting.held_loads, nest.accesses & counting.held_stores,
        )  # fmt: skip

    def _recorded(self, loop: For, mask: Mask, values: dict[str, Value]) -> Tape | None:
        try:
            return record(self.machine, loop, mask, values)
        except (NotRecorded, NotOfNumbers, KernelFault, *SURPRISES):
            return None

    # -- playing --------------------------------------------------------------------------------------------------

    def _played(self, tape: Tape, mask: Mask, values: dict[str, Value]) -> bool:
        machine, launch = self.machine, self.machine.launch
        times = mask.warps if tape.is_by_warp else 1
        work = times * tape.count.work + STATEMENT_COST * tape.statements
        if launch.work + work > launch.next_look:
            return False
        found = self._found(tape, mask, values)
        if found is None:
            return False
        bound, bases = found
        for name, place in tape.given:
            bound.numbers[place] = values[name]
        sites = _NO_SITES
        if launch.checks_order and tape.lines:
            sites = np.array([launch.site(line) for line, _ in tape.lines], np.int32)
        self._carry_out(tape, bound, bases, mask, sites)
        for row, slot, amount in bound.counts:
            row[slot] += amount
        if tape.wide:
            place_of = tuple([int(each) % PERIOD for each in bases])
            wide = bound.wide.get(place_of)
            if wide is None:
                wide = bound.wide[place_of] = self._wide_counts(tape, bound, bases)
            for row, slot, amount in wide:
                row[slot] += amount
        launch.work += work
        machine.books.warp_work.step(mask, tape.count.instructions)
        machine.memory.changes += tape.stores
        if tape.clears_stored:
            machine.counting.stored.clear()
        for name, place in tape.numbers_left.items():
            machine.current.write(name, bound.numbers[place].copy(), mask)
        for name, left in tape.left.items():
            machine.current.write(name, left, mask)
        return True

    def _carry_out(self, tape: Tape, bound: BoundTape, bases: np.ndarray, mask: Mask, sites: np.ndarray) -> None:
        machine = self.machine
        order, begin, is_checked = machine.order, 0, False
        if len(sites):
            for view in bound.views:
                shadow = view.buffer.need_shadow()
                shadow.last_read = max(shadow.last_read, order.now)
        while True:
            begin = play(
                tape.instructions, begin, is_checked, bound.numbers, mask.lanes, mask.active == len(mask.lanes),
                *bound.arrays, bases, *bound.lanes, sites, machine.batch.first_thread, machine.batch.geometry.padded,
                order.now, order.block_sync, order.warp_sync, *bound.shadows,
            )  # fmt: skip
            if begin == PLAYED:
                return
            _, _, access, shift, _ = tape.instructions[begin].tolist()
            pattern = bound.patterns[access]
            place = Place(None, mask, pattern, int(bases[access]) + shift)
            machine.memory.ordering.check(pattern.view, place, tape.loads[begin], READ)
            is_checked = True

    # -- what a tape is about -------------------------------------------------------------------------------------

    def _found(self, tape: Tape, mask: Mask, values: dict[str, Value]) -> tuple[BoundTape, np.ndarray] | None:
        """The arrays and patterns that are meant, and the lowest element of each; None where a lane may leave an array."""
        bases = np.empty(len(tape.accesses), np.int64)
        patterns: list[Pattern] = []
        for number, access in enumerate(tape.accesses):
            view = _view(values[access.array])
            base, vectors, shifts = 0, [], []
            for source, stride in zip(access.vectors, view.strides, strict=True):
                if source is None:
                    continue
                vector = self._vector(source, values)
                if vector is None:
                    return None
                vector, shift = self.machine.sums.of(vector)
                vectors.append(vector)
                shifts.append(shift)
                base += shift * stride
            pattern = self._pattern(view, mask, tuple(vectors), tuple([each is not None for each in access.vectors]))
            which = 0
            for source, lowest, highest, extent in zip(
                access.vectors, access.lowest, access.highest, view.shape, strict=True
            ):
                if source is not None:
                    shift = shifts[which]
                    if pattern.lowest[which] + shift + lowest < 0 or pattern.highest[which] + shift + highest >= extent:
                        return None
                    which += 1
            patterns.append(pattern)
            bases[number] = pattern.start + base
        views = [_view(values[name]) for name in (*tape.shared, *tape.registers)]
        key = (id(tape), *map(id, patterns), *map(id, views))
        bound = self._bound.get(key)
        if bound is None:
            bound = self._bound[key] = self._bind(tape, mask, patterns, views)
        return bound, bases

    def _vector(self, source: Source, values: dict[str, Value]) -> np.ndarray | None:
        """A lane vector of whole numbers, the same one each time where what it is made of is the same."""
        if not isinstance(source, MadeOf):
            value = values[source] if isinstance(source, str) else source
            assert isinstance(value, np.ndarray)
            return value
        operands = [
            each if isinstance(each, np.integer) else self._vector(each, values) for each in (source.left, source.right)
        ]
        left, right = operands
        if left is None or right is None:
            return None
        key = (source.kind, source.dtype, *(int(each) if isinstance(each, np.integer) else id(each) for each in operands))
        key += tuple(isinstance(each, np.integer) for each in operands)
        known = self._made.get(key)
        if known is None:
            if len(self._made) >= MOST_MADE:
                return None
            dtype = source.dtype
            made = OPERATORS[source.kind](left.astype(dtype, copy=False), right.astype(dtype, copy=False))
            known = self._made[key] = made, operands
        return known[0]

    def _pattern(
        self, view: View, mask: Mask, vectors: tuple[np.ndarray, ...], varies: tuple[bool, ...]
    ) -> Pattern:
        key = (id(view), id(mask), varies, *map(id, vectors))
        pattern = self._patterns.get(key)
        if pattern is None:
            linear = np.zeros(self.machine.batch.size, np.int64) + view.offset
            given = iter(vectors)
            for stride, is_vector in zip(view.strides, varies, strict=True):
                if is_vector:
                    linear += next(given).astype(np.int64) * stride
            pattern = self._patterns[key] = pattern_of(view, mask, vectors, varies, linear)
        return pattern

    def _bind(self, tape: Tape, mask: Mask, patterns: list[Pattern], views: list[View]) -> BoundTape:
        shared, registers = views[: len(tape.shared)], views[len(tape.shared) :]
        numbers = np.empty((tape.numbers, self.machine.batch.size), np.float32)
        for value, place in tape.constants:
            numbers[place] = value
        rows = [each.buffer.registers.rows for each in registers if each.buffer.registers is not None]
        array_of = np.array([tape.shared.index(each.array) for each in tape.accesses], np.int64)
        offsets = np.stack([each.offsets for each in patterns]) if patterns else np.zeros((0, 0), np.int64)
        by_element = np.array([each.is_read_together for each in patterns], np.bool_)
        readers = []
        for pattern, is_read_together in zip(patterns, by_element, strict=True):
            if is_read_together and pattern.readers is None:
                pattern.readers = readers_of(pattern)
            readers.append(pattern.readers if is_read_together and pattern.readers is not None else NO_READERS)
        starts = np.cumsum([0, *(len(each.elements) for each in readers)], dtype=np.int64)
        elements, lanes, ends, breadths = (
            np.concatenate([getattr(each, name) for each in (NO_READERS, *readers)])
            for name in ("elements", "lanes", "ends", "breadth")
        )
        shadows = [each.buffer.need_shadow() for each in shared]
        writes, reads = ([getattr(each, name) for each in shadows] for name in ("writes", "reads"))
        return BoundTape(
            keeps=(tape, mask, *views),
            views=shared,
            patterns=patterns,
            numbers=numbers,
            arrays=(_filled(rows, _NO_ROWS), _filled([each.data for each in shared], _NO_FLOATS), array_of),
            lanes=(offsets, by_element, starts, elements, lanes, ends, breadths),
            shadows=(
                _filled([each.stamps for each in writes], _NO_ACCESSES.stamps),
                _filled([each.threads for each in writes], _NO_ACCESSES.threads),
                _filled([each.stamps for each in reads], _NO_ACCESSES.stamps),
                _filled([each.threads for each in reads], _NO_ACCESSES.threads),
                _filled([each.places for each in reads], _NO_ACCESSES.places),
            ),
            counts=self._counts(tape, mask, patterns),
        )

    # -- counting -------------------------------------------------------------------------------------------------

    def _row(self, rows: str, line: Line) -> list[int]:
        tally = self.machine.launch.tally
        return {"rows": tally.row, "source_rows": tally.source_row, "compiled_rows": tally.compiled_row}[rows](line)

    def _counts(self, tape: Tape, mask: Mask, patterns: list[Pattern]) -> Counts:
        """What the tape counts each time."""
        times = mask.warps if tape.is_by_warp else 1
        counts = [(self._row(rows, line), slot, times * amount) for rows, line, slot, amount in tape.count.entries]
        for rows, line, access, loads in tape.shared_counts:
            pattern = patterns[access]
            view = pattern.view
            if 0 not in pattern.wavefronts:
                pattern.wavefronts[0] = count_wavefronts(
                    mask.lanes, pattern.offsets, view.buffer.address, view.data.itemsize
                )
            row = self._row(rows, line)
            counts += [
                (row, slot, loads * each) for slot, each in zip(SHARED[READ], pattern.wavefronts[0], strict=True)
            ]
        return [each for each in counts if each[2]]

    def _wide_counts(self, tape: Tape, bound: BoundTape, bases: np.ndarray) -> Counts:
        """What its wide loads count, where the lowest elements are these."""
        counts: dict[tuple[str, Line, int], int] = {}
        for wide in tape.wide:
            pattern = bound.patterns[wide.access]
            place = Place(None, pattern.mask, pattern, int(bases[wide.access]) + wide.shift)
            found = wavefronts_of_neighbours(pattern.view, place, wide.elements, wide.before)
            for slot, each in zip(SHARED[READ], found, strict=True):
                key = wide.rows, wide.line, slot
                counts[key] = counts.get(key, 0) + each
        return [(self._row(rows, line), slot, amount) for (rows, line, slot), amount in counts.items() if amount]


def _view(value: Value) -> View:
    assert isinstance(value, View)
    return value


def _filled(arrays: list[np.ndarray], nothing: np.ndarray) -> tuple[np.ndarray, ...]:
    """As many arrays as a compiled function takes."""
    return (*arrays, *[nothing] * (MOST_ARRAYS - len(arrays)))

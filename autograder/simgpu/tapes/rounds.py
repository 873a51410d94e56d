"""Plays rounds of loops without branches that also load from global memory, as `for k: total += a[row, k] * b[k, column]`.

START HERE: `RoundPlayer.go_on`. One round is recorded (round_recording.py), and the others are played: what they compute by
one compiled function (round_primitives.py), what they load is counted by where each load lies in each round.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.counting.place import Pattern
from autograder.simgpu.machine.addressing import pattern_of
from autograder.simgpu.machine.machine import SURPRISES, Machine
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.arithmetic import OPERATORS
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.shared_numbers import ComputedExpression
from autograder.simgpu.operations.statements import Name
from autograder.simgpu.tapes import round_primitives as prim
from autograder.simgpu.tapes.nests import has_branches, with_functions
from autograder.simgpu.tapes.recording import MadeOf, NotRecorded, Source
from autograder.simgpu.tapes.round_playing import LEAST_ROUNDS, Rounds
from autograder.simgpu.tapes.round_recording import record_round
from autograder.simgpu.tapes.round_tape import RoundTape
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Value

WORTH = 48  # rounds that somebody wants to go from which on one is recorded, which takes as long as some twenty
MOST_KEPT = 32  # tapes of one loop
MOST_FAILURES = 4  # recordings of one loop, before there is any
MOST_AT_ONCE = 1024  # rounds between which somebody may interrupt
MOST_MADE = 64  # lane vectors and patterns of a batch that are kept

Key: TypeAlias = tuple[Hashable, ...]


@dataclass(eq=False)
class RoundLoop:
    """A loop whose rounds may be recorded."""

    names: tuple[str, ...]  # of the variables that it reads or assigns, but for its own
    assigned: frozenset[str]
    computed: tuple[ComputedExpression, ...]
    around: tuple[Operation, ...]
    once: frozenset[Operation]
    accesses: frozenset[Operation]
    has_any: bool = True  # whether whole numbers may stand for any
    tapes: dict[Key, RoundTape] = field(default_factory=dict)
    asked: int = 0  # rounds that somebody wanted to go
    failed: int = 0

    @classmethod
    def of(cls, loop: For) -> RoundLoop | None:
        """What is known of a loop; None where its rounds cannot be recorded."""
        everything = list(with_functions(loop.body))
        accesses = frozenset(each for each in everything if isinstance(each, Subscript))
        if loop.orelse.statements or not isinstance(loop.target, Name) or loop.is_watched or not accesses:
            return None
        if has_branches(everything):
            return None
        inner = [each for each in everything if isinstance(each, For)]
        if any(each.orelse.statements or not isinstance(each.target, Name) for each in inner):
            return None
        assigned = assigned_in(loop.body)
        read = {each.name for each in everything_in(loop.body) if isinstance(each, Local)}
        rounds = [each.by_round for each in everything if each.by_round is not None]
        return cls(
            tuple(sorted((assigned | read) - {loop.target.name})), assigned,
            tuple(each for each in everything if isinstance(each, ComputedExpression)),
            tuple(dict.fromkeys(each for by_round in rounds for each in by_round.loops if each not in inner)),
            frozenset(each for each in everything if each.once), accesses,
        )  # fmt: skip


class KnownRounds:
    """What is known of the loops of one kernel."""

    def __init__(self) -> None:
        self._loops: dict[For, RoundLoop | None] = {}

    def of(self, loop: For) -> RoundLoop | None:
        if loop not in self._loops:
            self._loops[loop] = RoundLoop.of(loop)
        return self._loops[loop]

    def give_up(self, loop: For) -> None:
        self._loops[loop] = None


class RoundPlayer:
    """Plays rounds, for the batch of one machine."""

    def __init__(self, machine: Machine, known: KnownRounds) -> None:
        self.machine, self.known = machine, known
        self._patterns: dict[Key, tuple[Pattern, np.ndarray]] = {}
        self._made: dict[Key, tuple[np.ndarray, object]] = {}  # lane vectors, with what they were made of

    def go_on(self, loop: For, mask: Mask, numbers: range) -> tuple[int, Mask | None] | None:
        """Goes the rounds with these numbers, as far as may be: how many, and who is still in the loop; None: none."""
        if len(numbers) < LEAST_ROUNDS:
            return None
        known = self.known.of(loop)
        if known is None:
            return None
        known.asked += len(numbers)
        if known.asked < WORTH:
            return None
        assert isinstance(loop.target, Name)
        values = self._values(known, mask)
        key = self._key(known, values, mask)
        tape = known.tapes.get(key)
        if tape is None:
            tape = self._recorded(loop, known, key, mask, values)
        if tape is None or not all(self.machine.launch.is_known(each) for each in tape.hazards):
            return None
        rounds = 0
        while rounds < len(numbers):
            gone = Rounds(self, tape, mask, values, loop.target.name, numbers[rounds : rounds + MOST_AT_ONCE]).go()
            rounds += gone
            if gone < MOST_AT_ONCE:
                break
            values = self._values(known, mask)
        return (rounds, mask) if rounds else None

    def _values(self, known: RoundLoop, mask: Mask) -> dict[str, Value]:
        """The values of the loop's variables, those that have one for all lanes."""
        values: dict[str, Value] = {}
        for name in known.names:
            variable = self.machine.current.variables.get(name)
            if variable is None or not variable.layers:
                continue
            top, value = variable.layers[-1]
            if value is not None and (mask is top or mask.is_within(top)):
                values[name] = value
        return values

    def _key(self, known: RoundLoop, values: Mapping[str, Value], mask: Mask) -> Key:
        """All that decides what is recorded."""
        machine = self.machine
        counting, books = machine.counting, machine.books
        kinds: list[Hashable] = []
        for name, value in values.items():
            kinds.append(name)
            if isinstance(value, View):
                kinds.append((value.buffer.space, value.dtype, value.shape, value.strides))
            elif isinstance(value, np.generic):
                is_any = name in known.assigned or value.dtype.kind == "f" or known.has_any and type(value) is np.int64
                kinds.append((type(value), None if is_any else value.item()))
            else:
                kinds.append(np.dtype(value.dtype) if isinstance(value, np.ndarray) else id(type(value)))
        is_everyone = mask.active == machine.batch.size
        return (
            *kinds, 0 if is_everyone else (mask.active, mask.warps),
            tuple([counting.rounds.get(each, 0) for each in known.around]), books.in_short_arms > 0,
            known.once & books.hoisted, known.accesses & counting.held_loads, known.accesses & counting.held_stores,
        )  # fmt: skip

    def _recorded(
        self, loop: For, known: RoundLoop, key: Key, mask: Mask, values: Mapping[str, Value]
    ) -> RoundTape | None:
        try:
            tape = record_round(self.machine, loop, mask, values, known.assigned, known.computed, known.has_any)
        except (NotRecorded, NotOfNumbers, KernelFault, *SURPRISES):
            if known.has_any and not known.tapes:  # maybe a number is to be known
                known.has_any = False
                return None
            known.failed += 1
            if known.failed >= MOST_FAILURES and not known.tapes:
                self.known.give_up(loop)
            return None
        if len(known.tapes) >= MOST_KEPT:
            del known.tapes[next(iter(known.tapes))]
        known.tapes[key] = tape
        return tape

    # -- lane vectors ---------------------------------------------------------------------------------------------

    def vector(self, source: Source, values: Mapping[str, Value]) -> np.ndarray:
        """A lane vector of whole numbers, the same one each time where what it is made of is the same."""
        if not isinstance(source, MadeOf):
            value = values[source] if isinstance(source, str) else source
            assert isinstance(value, np.ndarray)
            return value
        operands = [
            each if isinstance(each, np.integer) else self.vector(each, values) for each in (source.left, source.right)
        ]
        is_number = [isinstance(each, np.integer) for each in operands]
        key = (
            source.kind, source.dtype, *is_number,
            *(int(each) if isinstance(each, np.integer) else id(each) for each in operands),
        )  # fmt: skip
        if key not in self._made:
            if len(self._made) >= MOST_MADE:
                self._made.clear()
            left, right = (each.astype(source.dtype, copy=False) for each in operands)
            self._made[key] = OPERATORS[source.kind](left, right), operands
        return self._made[key][0]

    def pattern(self, view: View, mask: Mask, vectors: Sequence[np.ndarray | None]) -> tuple[Pattern, np.ndarray]:
        """The access to elements that these vectors make, and how runs of lanes lie."""
        key = (id(view), id(mask), *(None if each is None else id(each) for each in vectors))
        if key not in self._patterns:
            if len(self._patterns) >= MOST_MADE:
                self._patterns.clear()
            linear = np.full(self.machine.batch.size, view.offset, np.int64)
            for vector, stride in zip(vectors, view.strides, strict=True):
                if vector is not None:
                    linear += vector.astype(np.int64) * stride
            given = tuple(each for each in vectors if each is not None)
            pattern = pattern_of(view, mask, given, tuple(each is not None for each in vectors), linear)
            runs = np.empty(len(linear) // prim.RUN, np.uint8)
            prim.how_they_lie(pattern.offsets, runs)
            self._patterns[key] = pattern, runs
        return self._patterns[key]

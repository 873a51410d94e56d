"""Goes through a kernel as the compiler leaves it: loops that it writes out are gone through round by round.

Their counters are constants then, and so is much of what is made of them: an element that another round has loaded is in a
register, a condition on the counter is decided, and neighbours in memory are seen to be neighbours. What is noted here is
noted of an operation in a round (`Placed`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.language.program import Function
from autograder.simgpu.facts.analysis import SYNCHRONISES, Analysis, Found, Leaving
from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.known import Known, KnownArray, KnownNumber, KnownRange, KnownTuple
from autograder.simgpu.facts.scope import Placed, Scope
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, Rounds
from autograder.simgpu.operations.statements import Continue
from autograder.simgpu.operations.steps import Block, Expression, Lowered
from autograder.simgpu.values import numba_types as nt

MOST_ROUNDS_IN_ALL = 20_000  # gone through one by one, over the whole kernel
MOST_BODIES = 5_000  # device functions followed into, each round's call counted
SLOW_PATHS = ("math.sin", "math.cos", "math.tan", "numpy.sin", "numpy.cos", "numpy.tan")  # with a branch inside


@dataclass(frozen=True)
class Moved:
    """A load from a shared array or a store to one, in a round."""

    placed: Placed
    array: KnownArray
    indices: tuple[Form, ...]


@dataclass
class Piece:
    """What stands in one straight piece of code, with nothing between that keeps accesses from becoming wider ones."""

    loads: list[Moved] = field(default_factory=list)
    stores: list[Moved] = field(default_factory=list)


class TooLarge(Exception):
    """There are more rounds than it is worth going through."""


class Expanded(Analysis):
    """Of one kernel, with the loops that the compiler writes out."""

    most_bodies = MOST_BODIES

    def __init__(self, lower: Callable[[Function], Lowered], forms: Forms, written_out: WrittenOut | None) -> None:
        super().__init__(lower)
        self.forms = forms
        self.written_out = written_out
        self.rounds: dict[Operation, set[Rounds]] = defaultdict(set)  # of accesses: in which rounds there is one
        self.loops_around: dict[Operation, tuple[For, ...]] = {}  # of accesses: those written out
        self.pieces: list[Piece] = []
        self._piece = Piece()
        self._ends = 0  # pieces that have come to an end by now
        self._tries: dict[Placed, tuple[int, int]] = {}  # of loops: the pieces that the last try at a round has found
        self._written: list[For] = []
        self._left = MOST_ROUNDS_IN_ALL

    def of_kernel(self, kernel: Lowered, arguments: Mapping[str, Known]) -> Found:
        found = super().of_kernel(kernel, arguments)
        self._end_of_piece()
        return found

    def begin(self) -> None:
        super().begin()
        self.rounds.clear()
        self.pieces, self._piece = [], Piece()
        self._tries = {}

    # -- loops and branches ---------------------------------------------------------------------------------------

    def loop(self, op: For | While, scope: Scope) -> Scope | None:
        items = self._items_of(op, scope)
        if items is None:
            return self._counted_loop(op, scope)
        assert isinstance(op, For)
        leaving, rounds, end = Leaving(), self._rounds, scope
        self._leaving.append(leaving)
        self._written.append(op)
        after: Scope | None = end
        for number, item in enumerate(items):
            self._left -= 1
            if self._left < 0:
                raise TooLarge
            self._rounds = (*rounds, number)
            self.assign(op.target, item, end)
            after = self.block(op.body, end)
            if after is None:
                break
            end = after
        self._rounds = rounds
        self._written.pop()
        self._leaving.pop()
        for each in leaving.scopes:
            after = each if after is None else self._join(op, after, each, leaving.is_divergent)
        return self.block(op.orelse, after) if op.orelse.statements and after is not None else after

    def _items_of(self, op: For | While, scope: Scope) -> Sequence[Known] | None:
        """What the counter is, round by round; None for a loop that is not written out."""
        if (
            not isinstance(op, For)
            or self.written_out is None
            or not self.written_out.includes(op)
            or _goes_on_early(op)
        ):
            return None
        source = self.value(op.source, scope)
        if isinstance(source, KnownTuple):
            return source.items
        if not isinstance(source, KnownRange):
            return None
        start, stop, step = (each.constant for each in (source.start, source.stop, source.step))
        if start is None or stop is None or not step:
            return None
        return [KnownNumber(nt.INT64, self.forms.constant(i), False) for i in range(start, stop, step)]

    def _counted_loop(self, op: For | While, scope: Scope) -> Scope | None:
        self._end_of_piece()
        after = super().loop(op, scope)
        self._end_of_piece()
        return after

    def _round(self, op: For | While, scope: Scope, source: Known | None) -> tuple[Scope | None, Scope | None, bool]:
        self._end_of_piece()
        known = len(self.pieces)
        made = super()._round(op, scope, source)
        self._end_of_piece()
        self._of_last_try(op, known)
        return made

    def _of_last_try(self, op: Operation, known: int) -> None:
        """Of several tries at a round only the last one counts."""
        tries = self._tries
        if (op, self._rounds) in tries:
            begin, end = tries[op, self._rounds]
            if end == known:
                del self.pieces[begin:end]
                known = begin
        tries[op, self._rounds] = known, len(self.pieces)

    def decided(self, condition: Known) -> bool | None:
        return None if not isinstance(condition, KnownNumber) or condition.constant is None else bool(condition.constant)

    def arm(self, block: Block, scope: Scope) -> Scope | None:
        around, ends = self._piece, self._ends
        self._piece = Piece()
        after = super().arm(block, scope)
        self._close_arm(around, ends)
        return after

    def of_arm(self, op: Expression, scope: Scope) -> Known:
        around, ends = self._piece, self._ends
        self._piece = Piece()
        known = super().of_arm(op, scope)
        self._close_arm(around, ends)
        return known

    def _close_arm(self, around: Piece, ends: int) -> None:
        """Behind an arm the code around goes on, unless something in the arm ended it."""
        self.pieces.append(self._piece)
        if self._ends == ends:
            self._piece = around
        else:
            self.pieces.append(around)
            self._piece = Piece()

    def _end_of_piece(self) -> None:
        self._ends += 1
        self.pieces.append(self._piece)
        self._piece = Piece()

    # -- accesses -------------------------------------------------------------------------------------------------

    def _element(
        self, op: Operation, array: KnownArray, indices: tuple[Form, ...], apart: bool, scope: Scope
    ) -> KnownNumber:
        known = super()._element(op, array, indices, apart, scope)
        self._note(op)
        placed = op, self._rounds
        if array.space == "shared" and placed not in self.found.again:
            self._piece.loads.append(Moved(placed, array, indices))
            self._end_of_stores()
        return known

    def store(self, op: Subscript | Attribute, known: Known, scope: Scope) -> None:
        super().store(op, known, scope)
        self._note(op)
        reached = self.found.reached.get(op)
        if reached is None or reached.array.space != "shared":
            return
        if self._piece.loads:
            self._end_of_piece()
        whole = tuple(each for each in reached.indices if each is not None)
        if len(whole) == len(reached.indices):
            self._piece.stores.append(Moved((op, self._rounds), reached.array, whole))

    def _end_of_stores(self) -> None:
        """Stores are not moved past a load of shared memory."""
        if self._piece.stores:
            self.pieces.append(Piece(stores=self._piece.stores))
            self._piece.stores = []

    def _note(self, op: Operation) -> None:
        self.rounds[op].add(self._rounds)
        self.loops_around[op] = tuple(self._written)

    def of_library(
        self, op: FunctionCall, path: str, arguments: list[Known], keywords: Mapping[str, Known], scope: Scope
    ) -> Known:
        if path.startswith((*SYNCHRONISES, "numba.cuda.atomic.")) or path in SLOW_PATHS:
            self._end_of_piece()
        return super().of_library(op, path, arguments, keywords, scope)


def expand(
    lower: Callable[[Function], Lowered],
    kernel: Lowered,
    arguments: Mapping[str, Known],
    forms: Forms,
    written_out: WrittenOut,
) -> Expanded:
    """The kernel gone through as the compiler leaves it; with no loop written out where that is too much."""
    expanded = Expanded(lower, forms, written_out)
    try:
        expanded.of_kernel(kernel, arguments)
    except TooLarge:
        expanded = Expanded(lower, forms, None)
        expanded.of_kernel(kernel, arguments)
    return expanded


def _goes_on_early(loop: For) -> bool:
    """Whether some lanes may go on to the next round before the end of this one."""
    waiting: list[Operation] = [loop.body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Continue):
            return True
        if not isinstance(each, (For, While)):
            waiting.extend(each.parts())
    return False

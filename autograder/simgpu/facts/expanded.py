"""Goes through a kernel as the compiler leaves it: loops that it writes out are gone through round by round.

Their counters are constants then, and so is much of what is made of them: an element that another round has loaded is in a
register, a condition on the counter is decided, and neighbours in memory are seen to be neighbours. What is noted here is
noted of an operation in a round (`Placed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autograder.language.program import Function
from autograder.simgpu.facts.analysis import Analysis
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import Known, KnownNumber, KnownRange, KnownTuple
from autograder.simgpu.facts.pieces import Pieces
from autograder.simgpu.facts.scope import Scope
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.statements import Continue
from autograder.simgpu.operations.steps import Lowered
from autograder.simgpu.values import numba_types as nt

MOST_ROUNDS_IN_ALL = 20_000  # gone through one by one, over the whole kernel
MOST_BODIES = 5_000  # device functions followed into, each round's call counted


class TooLarge(Exception):
    """There are more rounds than it is worth going through."""


class Expanded(Analysis):
    """Of one kernel, with the loops that the compiler writes out."""

    def __init__(self, lower: Callable[[Function], Lowered], forms: Forms, written_out: WrittenOut | None) -> None:
        here = Here(forms)
        self.pieces = Pieces(here)
        super().__init__(lower, here, self.pieces, decides=True, most_bodies=MOST_BODIES)
        self.written_out = written_out
        self._left = MOST_ROUNDS_IN_ALL

    @property
    def found(self) -> Found:
        return self.here.found

    @property
    def in_both_arms(self) -> Mapping[Operation, Sequence[tuple[Operation, Operation]]]:
        """Of branches: pairs of loads of one element, the one in either arm."""
        return self.evaluation.in_both_arms

    def of_kernel(self, kernel: Lowered, arguments: Mapping[str, Known]) -> Found:
        found = super().of_kernel(kernel, arguments)
        self.pieces.end_piece()
        return found

    def begin(self) -> None:
        super().begin()
        self.pieces.begin()

    def loop(self, op: For | While, scope: Scope) -> Scope | None:
        items = self._items_of(op, scope) if isinstance(op, For) else None
        if items is not None and isinstance(op, For):
            return self._round_by_round(op, items, scope)
        self.pieces.end_piece()
        after = super().loop(op, scope)
        self.pieces.end_piece()
        return after

    def one_round(
        self, op: For | While, scope: Scope, source: Known | None
    ) -> tuple[Scope | None, Scope | None, bool]:
        with self.pieces.counted_round(op):
            return super().one_round(op, scope, source)

    def _round_by_round(self, op: For, items: Sequence[Known], scope: Scope) -> Scope | None:
        here, outer = self.here, self.here.rounds
        after: Scope | None = scope
        with self.exits.of_loop() as leaving:
            here.written_out.append(op)
            for number, item in enumerate(items):
                if after is None:
                    break
                self._left -= 1
                if self._left < 0:
                    raise TooLarge
                here.rounds = (*outer, number)
                self.assign(op.target, item, after)
                after = self.block(op.body, after)
            here.rounds = outer
            here.written_out.pop()
        return self.behind(op, self.with_exits(op, after, leaving, leaving.is_divergent))

    def _items_of(self, op: For, scope: Scope) -> Sequence[Known] | None:
        """What the counter is, round by round; None for a loop that is not written out."""
        if self.written_out is None or not self.written_out.includes(op) or _goes_on_early(op):
            return None
        source = self.evaluation.value(op.source, scope)
        if isinstance(source, KnownTuple):
            return source.items
        if not isinstance(source, KnownRange):
            return None
        start, stop, step = (each.constant for each in (source.start, source.stop, source.step))
        if start is None or stop is None or not step:
            return None
        return [KnownNumber(nt.INT64, self.forms.constant(i), False) for i in range(start, stop, step)]


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

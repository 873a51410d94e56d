"""The analysis of a kernel as the compiler leaves it: round by round in the loops that it unrolls.

Their counters are then constants. So an element that an earlier round has loaded is known to be in a register, a condition
on the counter is decided, and elements side by side in memory are known to be neighbours. What is recorded here belongs to
an operation in one round (`Placed`).
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
from autograder.simgpu.facts.written_out import WrittenOut, goes_on_early
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import Lowered

MOST_ROUNDS_IN_ALL = 20_000  # gone through one by one in the whole kernel
MOST_BODIES = 5_000  # calls of device functions that are followed, counted in each round


class TooLarge(Exception):
    """There are too many rounds to go through one by one."""


class Expanded(Analysis):
    """The analysis of one kernel; `written_out` says which loops the compiler unrolls (None: take no loop for unrolled)."""

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
        """By branch: pairs of loads of the same element, one in each arm."""
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
        """The value of the counter in each round; None for a loop that is not unrolled."""
        if self.written_out is None or not self.written_out.includes(op) or goes_on_early(op.body):
            return None
        source = self.evaluation.value(op.source, scope)
        if isinstance(source, KnownTuple):
            return source.items
        if not isinstance(source, KnownRange):
            return None
        start, stop, step = (each.constant for each in (source.start, source.stop, source.step))
        if start is None or stop is None or not step:
            return None
        return [KnownNumber(source.dtype, self.forms.constant(i), False) for i in range(start, stop, step)]


def expand(
    lower: Callable[[Function], Lowered],
    kernel: Lowered,
    arguments: Mapping[str, Known],
    forms: Forms,
    written_out: WrittenOut,
) -> Expanded:
    """Analyses a kernel as the compiler leaves it; without unrolling any loop if there are too many rounds."""
    expanded = Expanded(lower, forms, written_out)
    try:
        expanded.of_kernel(kernel, arguments)
    except TooLarge:
        expanded = Expanded(lower, forms, None)
        expanded.of_kernel(kernel, arguments)
    return expanded

"""Loops that wait: an exchange decides whether they go on, and finds what other threads have left at its place.

How often they go round is a matter of time, which counting does not know. Where the place changes from round to round, as
in a table that is searched, the data decide instead; where an addition decides, each round has work of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.operations.expressions import Local, NamedExpression
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Assign, Break, If, Name, Return

EXCHANGES = tuple(f"numba.cuda.atomic.{name}" for name in ("cas", "compare_and_swap", "exch"))


class Waiting:
    """Tells the waiting loops of one kernel."""

    def __init__(self, found: Found, forms: Forms) -> None:
        self.found = found
        self.forms = forms

    def is_in(self, loop: While, body: Sequence[Operation]) -> bool:
        """Whether a loop waits; `body`: everything in it, and in the device functions that it calls."""
        inside = (*everything_in(loop.condition), *body)
        if not any(self._is_exchange(each) and self._is_unmoved(each, loop) for each in inside):
            return False
        leaving = [each.condition for each in body if isinstance(each, If) and _may_leave(each)]
        told = self._variables(inside)
        return any(self._depends(each, told) for each in (loop.condition, *leaving))

    def _is_exchange(self, op: Operation) -> bool:
        return isinstance(op, FunctionCall) and self.found.callees.get(op, "").startswith(EXCHANGES)

    def _is_unmoved(self, op: Operation, loop: While) -> bool:
        """Whether an access reaches the same element in every round."""
        reached = self.found.reached.get(op)
        return reached is not None and all(
            form is not None and loop not in self.forms.loops_of(form) for form in reached.indices
        )

    def _variables(self, inside: Sequence[Operation]) -> set[str]:
        """The variables that get an atomic's result, or are assigned to if it allows that."""
        told: set[str] = set()
        for each in inside:
            if isinstance(each, (Assign, NamedExpression)):
                names = [each.name] if isinstance(each, NamedExpression) else [
                    target.name for target in each.targets if isinstance(target, Name)
                ]  # fmt: skip
                if each in self.found.under_atomic or self._is_made_of_one(each.operand):
                    told.update(names)
        return told

    def _depends(self, condition: Operation, told: Collection[str]) -> bool:
        """Whether a condition looks at an atomic's result, itself or in one of these variables."""
        return self._is_made_of_one(condition) or any(
            isinstance(each, Local) and each.name in told for each in everything_in(condition)
        )

    def _is_made_of_one(self, part: Operation) -> bool:
        known = self.found.values.get(part)
        return isinstance(known, KnownNumber) and self.forms.is_made_of(known.form, "atomic")


def _may_leave(branch: If) -> bool:
    """Whether a loop or the kernel may end in one of its arms."""
    return any(isinstance(each, (Break, Return)) for each in everything_in(branch))

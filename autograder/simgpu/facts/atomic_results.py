"""What depends on the result of an atomic: values, arrays that hold them, and statements under a condition on them.

A ticket lock or a "last block" counter is recognised by this: see ordering/tickets.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import Known, KnownNumber, KnownTuple, arrays_in
from autograder.simgpu.operations.operation import everything_in
from autograder.simgpu.operations.steps import Statement


class AtomicResults:
    """Follows the results of atomics through one kernel."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.conditions = 0  # conditions on such values around the present place
        self.arrays: set[Hashable] = set()  # arrays that may hold such values

    def result(self, key: Hashable) -> Form:
        """The form of an atomic's result."""
        return self.here.forms.atom(("atomic", key, self.here.rounds), self.here.around)

    def is_in(self, known: Known | None) -> bool:
        """Whether a value depends on the result of an atomic."""
        if isinstance(known, KnownTuple):
            return any(map(self.is_in, known.items))
        if not isinstance(known, KnownNumber):
            return False
        return self.here.forms.is_made_of(known.form, "atomic")

    def mark(self, statements: Sequence[Statement]) -> None:
        """Records that these statements are reached only if a condition on an atomic's result allows it."""
        for statement in statements:
            for op in everything_in(statement):
                self.here.found.under_atomic.add(op)

    def assigned(self, known: Known) -> Known:
        """What is known of a variable to which this value is assigned here."""
        if self.conditions and isinstance(known, KnownNumber):
            return replace(known, form=self.here.forms.add(known.form, self.result("told")))
        return known

    def stored(self, owner: Known, known: Known) -> None:
        """Records that a value is stored in an array, if it depends on an atomic's result."""
        if self.conditions or self.is_in(known):
            self.arrays |= arrays_in(owner)

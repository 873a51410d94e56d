"""What depends on what an atomic found: values, elements of arrays, and statements that a condition on it leads to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import Known, KnownNumber, KnownTuple, arrays_in
from autograder.simgpu.operations.operation import everything_in
from autograder.simgpu.operations.steps import Statement


class AtomicResults:
    """Follows them through one kernel."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.conditions = 0  # on such values, around this place
        self.arrays: set[Hashable] = set()  # that may hold such values

    def result(self, key: Hashable) -> Form:
        """The form of what an atomic found."""
        return self.here.forms.atom(("atomic", key, self.here.rounds), self.here.around)

    def is_in(self, known: Known | None) -> bool:
        """Whether a value depends on what an atomic found."""
        if isinstance(known, KnownTuple):
            return any(map(self.is_in, known.items))
        if not isinstance(known, KnownNumber):
            return False
        return self.here.forms.is_made_of(known.form, "atomic")

    def mark(self, statements: Sequence[Statement]) -> None:
        """Notes that these statements are reached only where a condition on what an atomic found holds."""
        for statement in statements:
            for op in everything_in(statement):
                self.here.found.told.add(op)

    def assigned(self, known: Known) -> Known:
        """What is known of a variable that is given this value here."""
        if self.conditions and isinstance(known, KnownNumber):
            return replace(known, form=self.here.forms.add(known.form, self.result("told")))
        return known

    def stored(self, owner: Known, known: Known) -> None:
        """A value is stored in an array."""
        if self.conditions or self.is_in(known):
            self.arrays |= arrays_in(owner)

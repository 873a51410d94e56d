"""Where lanes leave loops and functions early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autograder.simgpu.facts.scope import Scope


class Leaving:
    """What is known at the places where lanes leave one loop or function early."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.is_divergent = False


class Exits:
    """The loops and functions around one place, each with its early exits."""

    def __init__(self) -> None:
        self.divergent_conditions = 0  # around this place: they may differ from thread to thread
        self._around: list[Leaving] = []
        self._functions: list[Leaving] = []

    @contextmanager
    def of_loop(self) -> Iterator[Leaving]:
        leaving = Leaving()
        self._around.append(leaving)
        yield leaving
        self._around.pop()

    @contextmanager
    def of_function(self) -> Iterator[Leaving]:
        with self.of_loop() as leaving:
            self._functions.append(leaving)
            yield leaving
            self._functions.pop()

    def leave_loop(self, scope: Scope) -> None:
        """Lanes leave the innermost loop."""
        self.leave_round()
        self._around[-1].scopes.append(scope.copy())

    def leave_function(self, scope: Scope) -> None:
        """Lanes leave the function, and all loops in it."""
        self.leave_round()
        self._functions[-1].scopes.append(scope.copy())

    def leave_round(self) -> None:
        """Lanes go no further in this round of a loop, or at all."""
        if self.divergent_conditions:
            for each in self._around:
                each.is_divergent = True

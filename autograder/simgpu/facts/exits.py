"""The places where threads leave loops and functions early: break, return, continue and raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autograder.simgpu.facts.scope import Scope


class Leaving:
    """What is known at each place where threads leave one loop or function early."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.is_divergent = False


class Exits:
    """The loops and functions around the present place, with the early exits found in each."""

    def __init__(self) -> None:
        self.divergent_conditions = 0  # conditions around the present place that may differ from thread to thread
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
        """Threads leave the innermost loop."""
        self.leave_round()
        self._around[-1].scopes.append(scope.copy())

    def leave_function(self, scope: Scope) -> None:
        """Threads leave the function, and all loops in it."""
        self.leave_round()
        self._functions[-1].scopes.append(scope.copy())

    def leave_round(self) -> None:
        """Threads go no further in this round, or stop for good."""
        if self.divergent_conditions:
            for each in self._around:
                each.is_divergent = True

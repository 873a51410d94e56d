"""The events that an analysis reports while it runs. The first analysis of a kernel needs none of them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.known import KnownArray
from autograder.simgpu.operations.operation import Operation


class Observer:
    """Ignores every event; `Pieces` collects accesses from them."""

    def loaded(self, op: Operation, array: KnownArray, indices: tuple[Form, ...]) -> None:
        """An element was loaded, from memory or from a register."""

    def stored(self, op: Operation) -> None:
        """An element or part of an array was stored."""

    def called(self, path: str) -> None:
        """A library function is about to be called."""

    def arm(self) -> AbstractContextManager[None]:
        """One side of a condition, from beginning to end."""
        return nullcontext()

"""What an analysis reports as it goes along; the one that comes first has nobody to report to."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.known import KnownArray
from autograder.simgpu.operations.operation import Operation


class Observer:
    """Ignores it all; `Pieces` does not."""

    def loaded(self, op: Operation, array: KnownArray, indices: tuple[Form, ...]) -> None:
        """An element was loaded, or found in a register."""

    def stored(self, op: Operation) -> None:
        """An element or a part of an array was stored."""

    def called(self, path: str) -> None:
        """A function of the library is about to be called."""

    def arm(self) -> AbstractContextManager[None]:
        """One side of a condition, from its beginning to its end."""
        return nullcontext()

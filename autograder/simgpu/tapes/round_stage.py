"""What carries out the round that is recorded: parts of a machine that look at no whole number that all lanes share.

See round_recording.py, which writes down what they are asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simgpu.counting.books import Books
from autograder.simgpu.counting.counting import Counting
from autograder.simgpu.counting.place import Place
from autograder.simgpu.machine.addressing import Sums
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.primitives import READ
from autograder.simgpu.tapes import round_primitives as prim
from autograder.simgpu.tapes.recording import MadeIntegers, NotRecorded, RecordingStage
from autograder.simgpu.tapes.round_layout import INT32, UINT8
from autograder.simgpu.tapes.unknown import Moving
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, INT64
from autograder.simgpu.values.values import Indices, Number

Loaded = Callable[[View, Indices, list[int], Operation], Any]
LOADS: dict[np.dtype, int] = {
    FLOAT32: prim.LOAD_4, INT32: prim.LOAD_4, FLOAT64: prim.LOAD_8, INT64: prim.LOAD_8,
    UINT8: prim.LOAD_1,
}  # fmt: skip


class RoundStage(RecordingStage):
    """As much of a machine as a round asks for that can be recorded."""

    def __init__(self, machine: Machine, mask: Mask, loaded: Loaded) -> None:
        super().__init__(machine)
        self.counting = RoundCounting(self.batch, self.books)
        self.memory = RoundMemory(mask, loaded, self.counting)
        self.integers = self.made = OnceMade()
        self.sums = SumsOfKnown()


class OnceMade(MadeIntegers):
    """Whole numbers by lane, each made anew: operands that stand for any number cannot be compared."""

    def get(self, *_: object) -> None:
        return None

    def __setitem__(self, key: Any, value: tuple[Any, Any, Any]) -> None:
        left, right, result = value
        if isinstance(result, Moving):  # what narrower vectors were made into has no name
            vector, shared = (right, left) if isinstance(left, np.generic) else (left, right)
            if isinstance(shared, np.generic) and type(vector) is np.ndarray and key[1] in (ast.Add, ast.Sub):
                result.vector = vector
            return
        super().__setitem__(key, value)


class SumsOfKnown(Sums):
    """Lane vectors that are the sum of another one and a number that is known."""

    def note(self, made: np.ndarray, vector: np.ndarray, shift: np.generic, is_less: bool = False) -> None:
        if type(made) is np.ndarray:
            super().note(made, vector, shift, is_less)


class RoundCounting(Counting):
    """Counts all but what depends on where an access lies."""

    def __init__(self, batch: Any, books: Books) -> None:
        super().__init__(batch, books, None)
        self.row: list[int] | None = None  # in which the last load is counted

    def _count_global(self, row: list[int], *_: Any, **__: Any) -> None:
        self.row = row


class RoundMemory:
    """Arrays in global memory, of which every load is written down: by `loaded`, which is given the row that counts it."""

    changes = 0

    def __init__(self, mask: Mask, loaded: Loaded, counting: RoundCounting) -> None:
        self.mask, self.loaded, self.counting = mask, loaded, counting

    def load(self, view: View, indices: Indices, mask: Mask, op: Operation) -> Number:
        buffer = view.buffer
        is_plain = view.field is None and view.lengths is None and view.outside is None and isinstance(view.offset, int)
        if mask is not self.mask or not is_plain or buffer.space != "global" or view.data.dtype not in LOADS:
            raise NotRecorded("an access of another kind")
        if op.is_sunk or op.stands_for(False) is not None or self.counting.regrouping is not None:
            raise NotRecorded("a load that is counted elsewhere")
        self.counting.count(view, Place(0, mask), op, READ)
        assert self.counting.row is not None
        loaded: Number = self.loaded(view, indices, self.counting.row, op)
        return loaded

    def store(self, *_: object) -> None:
        raise NotRecorded("a store")

"""Launches that go the same way as one before them, and differ in the values alone that they find in memory.

A stencil that is launched ten thousand times, from one array into the other and back, asks nothing of its arrays but
numbers to compute with: who takes which branch, and who accesses which element, follows from the grid and the arguments.
So does all that is counted and found. Such a launch is not stepped through again: it has the record of the one before it,
and its values are computed by a function that is written and compiled for that (`SameWay`), from the indices that were
found once. What it may have in it is little: arithmetic that every compiler rounds alike, functions of NumPy's, and no
element that one thread writes and another one touches.

START HERE: `SameWay.of`; what is written says walk.py, how it is computed straight.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.host.straight import NotTheSame, Straight, compiled_for
from autograder.simgpu.host.walk import MOST_BYTES, CarriedLaunch, Walk
from autograder.simgpu.machine.machine import SURPRISES
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers
from autograder.simgpu.values.memory import Buffer
from autograder.simgpu.values.values import Value

TOLD = {"uninitialised_read", "accidental_float64"}  # hazards that follow from the way, and from what was written before


@dataclass(frozen=True, eq=False)
class Computed:
    """What threads of several batches compute by the same lines."""

    function: Callable[..., None]
    arrays: tuple[int, ...]
    numbers: tuple[Any, ...]  # indices, shifts, and other numbers, in the order of the function's parameters
    nbytes: int

    def carry_out(self, buffers: Sequence[Buffer]) -> None:
        self.function(*(buffers[place].data for place in self.arrays), *self.numbers)


class SameWay:
    """The way that a launch goes, whatever numbers it finds in its arrays."""

    def __init__(self, computed: Sequence[Computed]) -> None:
        self.computed = computed

    @classmethod
    def of(cls, launch: CarriedLaunch, bound: Mapping[str, Value]) -> SameWay | None:
        """The way of a launch that has been carried out; None where it may depend on the values that it finds."""
        groups: dict[tuple[object, ...], list[Straight]] = {}
        walks: list[Walk] = []
        kept = 0
        try:
            with np.errstate(all="ignore"):
                batches = launch.batches()
                for batch in batches:
                    walks.append(Walk(launch, batch, bound, kept))
                    kept = walks[-1].nbytes
                    if len(walks) == 1 and kept * len(batches) > MOST_BYTES:
                        return None
                    for each in walks[-1].straights:
                        if each.lines:
                            groups.setdefault(each.form(), []).append(each)
            _check_apart(launch.buffers, walks)
        except (NotTheSame, NotOfNumbers, KernelFault, *SURPRISES):
            return None
        return cls([_computed(each) for each in groups.values()])

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.computed)

    def carry_out(self, launch: CarriedLaunch) -> None:
        """Leaves in a launch's arrays what it computes."""
        for each in self.computed:
            each.carry_out(launch.buffers)


def _computed(straights: Sequence[Straight]) -> Computed:
    function, numbers = compiled_for(*straights)
    nbytes = sum(each.nbytes for each in numbers if isinstance(each, np.ndarray))
    return Computed(function, tuple(straights[0].arrays), numbers, nbytes)


def _check_apart(buffers: Sequence[Buffer], walks: Sequence[Walk]) -> None:
    """Raises `NotTheSame` where an element is written twice, or by one thread and touched by another."""
    stores = [each for walk in walks for each in walk.stores]
    for place, buffer in enumerate(buffers):
        if len(buffer.data) >= 2**31:
            raise NotTheSame("too large")
        own = [(straight, elements) for at, straight, elements in stores if at == place]
        if not own:
            continue
        written = np.zeros(len(buffer.data), np.bool_)
        of: dict[int, np.ndarray] = {}
        for straight, elements in own:
            before = of.setdefault(id(straight), elements)
            if before is not elements and np.array_equal(before, elements):
                continue  # each thread writes to its own once more
            if before is not elements or written[elements].any() or len(np.unique(elements)) < len(elements):
                raise NotTheSame("an element that is written twice")
            written[elements] = True
        for walk in walks:
            for at, straight, elements in walk.loads:
                if at == place and not np.array_equal(of.get(id(straight), elements[:0]), elements):
                    if written[elements].any():
                        raise NotTheSame("an element that one writes and another one reads")

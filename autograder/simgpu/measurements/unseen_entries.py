"""What the files of unseen kernels share: a kernel's launch with a NumPy reference of what it does to its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simgpu.measurements.arguments import Maker
from autograder.simgpu.measurements.cases import Case


@dataclass(frozen=True)
class Unseen:
    """A case and its reference, which takes a copy of the arguments and leaves in it what the kernel must leave."""

    case: Case
    reference: Callable[..., None]


def unseen(
    kernel: Any, grid: Any, block: Any, arguments: Maker, reference: Callable[..., None], name: str = ""
) -> Unseen:
    return Unseen(Case(name or kernel.py_func.__name__, kernel, grid, block, arguments), reference)


def floats(*shapes: int | tuple[int, ...], dtype: Any = np.float32, room: Any = None, more: tuple[Any, ...] = ()) -> Maker:
    """Random arrays in [0, 1) of these shapes, then one of zeros of shape `room` where given, then `more` scalars."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        arrays = tuple(rng.random(shape).astype(dtype) for shape in shapes)
        return arrays + (() if room is None else (np.zeros(room, dtype),)) + more

    return make


def whole(
    *shapes: int | tuple[int, ...], high: int = 100, dtype: Any = np.int32, room: Any = None, more: tuple[Any, ...] = ()
) -> Maker:
    """Random whole numbers in [0, high) of these shapes, then zeros of shape `room` where given, then `more` scalars."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        arrays = tuple(rng.integers(0, high, shape).astype(dtype) for shape in shapes)
        return arrays + (() if room is None else (np.zeros(room, dtype),)) + more

    return make

"""The shape of a launch: what a grid and a block may be, and what is said where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.errors import FaultKind, KernelFault
from autograder.simgpu.values.lanes import Dim3, Geometry

# Limits of every compute capability from 5.0 to 9.0: CUDA C++ Programming Guide, table "Technical Specifications"
MOST_THREADS_PER_BLOCK = 1024
MOST_BLOCK = (1024, 1024, 64)
MOST_GRID = (2**31 - 1, 65535, 65535)


class WrongSize(KernelFault, ValueError):
    """A grid or block of no or too many dimensions."""


class NotIntegers(KernelFault, TypeError):
    """A grid or block that is not made of integers."""


def normalise(what: str, value: Any) -> Dim3:
    """A grid or block as three ints; raises `KernelFault` with what is wrong and what to do."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3:
        raise WrongSize(
            f"The {what} must have one to three dimensions, not {len(parts)}: "
            f"{what}dim must be a sequence of 1, 2 or 3 integers, got {list(parts)}."
        )
    for part in parts:
        if isinstance(part, (float, np.floating)):
            raise NotIntegers(
                f"The {what} must be made of integers; {part!r} is a float: "
                f"{what}dim must be a sequence of integers, got {list(parts)}.",
                remedy="Round up when you compute it: math.ceil(n / block), or (n + block - 1) // block.",
            )
        if isinstance(part, (bool, np.bool_)) or not isinstance(part, (int, np.integer)):
            raise NotIntegers(f"The {what} must be made of integers; {part!r:.40} is a {type(part).__name__}.")
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    return x, y, z


def check_geometry(grid: Any, block: Any) -> Geometry:
    """The launch's shape, if a GPU would accept it."""
    geometry = Geometry(normalise("grid", grid), normalise("block", block))
    too_many: FaultKind = "too_many_threads" if geometry.threads_per_block > MOST_THREADS_PER_BLOCK else ""
    for what, sizes, limits in (("grid", geometry.grid, MOST_GRID), ("block", geometry.block, MOST_BLOCK)):
        for axis, size, most in zip("xyz", sizes, limits, strict=True):
            if size < 1:
                raise KernelFault(
                    f"The {what} {sizes} has {size} in {axis}; a launch needs at least 1.",
                    remedy="Round up when you divide: (n + block - 1) // block.",
                    kind="empty_launch",
                )
            if size > most:
                raise KernelFault(
                    f"The {what} {sizes} has {size:,} in {axis}; a GPU takes at most {most:,}.", kind=too_many
                )
    if too_many:
        raise KernelFault(
            f"A block of {geometry.block} has {geometry.threads_per_block:,} threads; "
            f"a GPU takes at most {MOST_THREADS_PER_BLOCK:,}.",
            remedy="Use smaller blocks and more of them (grid and block may also be in the wrong order).",
            kind=too_many,
        )
    return geometry

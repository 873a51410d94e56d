"""What the files of ordinary kernels share: a kernel, how it is launched, what it is given and at which sizes.

They are written as many people write them, and held against what the simulated GPU makes of them. Which of them rules may be
made from, `unseen_cases` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.simgpu.host.device import Session
from autograder.simgpu.host.single_launch import kernel_function
from autograder.simgpu.measurements.sizing import (
    Arguments,
    Make,
    Over,
    Shape,
    Sized,
    everything,
    grid_for,
    one_launch,
    zeros,
)  # fmt: skip


def entry(
    kernel: Any, block: Shape, over: Over, make: Make, middle: int, large: int,
    *, small: int = 1000, seen: Any = None, shared_bytes: int = 0,
) -> Sized:  # fmt: skip
    """A kernel of the set; `over` tells how many threads a size takes along each axis."""

    def simulated(*arguments: Any) -> None:
        grid = grid_for(over(small, arguments), block)
        Session(output=lambda line: None).launch(kernel_function(kernel), grid, block, arguments, shared_bytes)

    launches = one_launch(kernel, over, block, shared_bytes)
    name = kernel.py_func.__name__
    return Sized(name, make, launches, small, middle, large, simulated, seen or everything)


def floats(count: int, *scalars: Any, dtype: Any = np.float32, room: Any = None) -> Make:
    """So many vectors of reals in [0, 1), an empty one, then scalars."""
    return lambda r, n: (*(r.reals(n, dtype) for _ in range(count)), zeros(n, dtype=room or dtype), *scalars)


def pictures(*scalars: Any, dtype: Any = np.float32) -> Make:
    """A square of reals, an empty one, then scalars."""
    return lambda r, n: (r.reals((n, n), dtype), zeros(n, n, dtype=dtype), *scalars)


def rows(columns: int, *scalars: Any, dtype: Any = np.float32, wide: bool = False) -> Make:
    """A table of reals, and a result for each of its rows or of its elements."""
    return lambda r, n: (r.reals((n, columns), dtype), zeros(*((n, columns) if wide else (n,)), dtype=dtype), *scalars)


def turned(n: int, arguments: Arguments) -> tuple[int, int, int]:
    """A thread for each of n cubed."""
    return n, n, n

"""What lesson 8's kernels are launched with: a rung of the ladder, and room for ranking lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

u = np.uint32
EVERY = 64  # nodes from one splitter to the next


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder: what is new in it, and how it is launched on matrices whose sides its tiles divide."""

    name: str
    idea: str
    kernel: Any
    tile: tuple[int, int]  # rows and columns of C that a block computes
    block: int | tuple[int, int]
    is_flat: bool = False

    def launch(self, a: Any, b: Any, c: Any) -> None:
        """c = a b; device arrays of two dimensions, float32, row by row in memory. Returns before the GPU is done."""
        m, n = c.shape
        grid = (-(-n // self.tile[1]), -(-m // self.tile[0]))
        if self.is_flat:
            self.kernel[grid, self.block](*(each.reshape(-1) for each in (a, b, c)), u(m), u(a.shape[1]), u(n))
        else:
            self.kernel[grid, self.block](a, b, c)


@dataclass(frozen=True)
class Lists:
    """Room for the ranks of lists of n nodes: `place` uint32 (n,), four int32 arrays of a splitter each."""

    place: Any
    following: Any
    links: Any
    new_following: Any
    new_links: Any

    @classmethod
    def of(cls, n: int) -> Lists:
        m = -(-n // EVERY)
        return cls(cuda.device_array(n, np.uint32), *(cuda.device_array(m, np.int32) for _ in range(4)))

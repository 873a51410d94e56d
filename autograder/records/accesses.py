"""What pictures are drawn from: accesses and branches of single warps, as the simulated GPU kept them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from autograder.errors import Line

AccessKind = Literal["load", "store", "atomic"]


@dataclass(frozen=True)
class Access:
    """One warp's memory instruction, kept for pictures: byte offsets from the array's start, -1 for an inactive lane."""

    kind: AccessKind
    space: str
    array: str
    itemsize: int
    shape: tuple[int, ...]
    block: tuple[int, int, int]
    warp: int  # within the block
    addresses: np.ndarray  # int64[32]
    step: int  # how many times this line had run before, for this warp


@dataclass(frozen=True)
class Branch:
    """One warp at one branch: which lanes were active, and which of them took it."""

    line: Line
    block: tuple[int, int, int]
    warp: int
    active: np.ndarray  # bool[32]
    taken: np.ndarray  # bool[32]

    @property
    def diverges(self) -> bool:
        return bool(self.taken.any() and (self.active & ~self.taken).any())

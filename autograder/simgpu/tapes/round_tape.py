"""What is recorded of one round of a loop that loads from global memory: see round_recording.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autograder.errors import Line
from autograder.records.hazards import Hazard
from autograder.simgpu.one_thread.rehearsal import RunCount
from autograder.simgpu.tapes.recording import Source
from autograder.simgpu.tapes.round_layout import KeptNumber
from autograder.simgpu.tapes.unknown import SharedSource


@dataclass(frozen=True)
class RoundLoad:
    """A load: the array, by dimension what its index is the sum of, and where it is counted."""

    array: str
    vectors: tuple[Source | None, ...]
    shifts: tuple[SharedSource, ...]
    rows: str
    line: Line
    is_ahead: bool


@dataclass(frozen=True)
class RoundTape:
    """What a loop does in each round."""

    instructions: np.ndarray  # int64: of every other round, instruction, `prim.COLUMNS`
    loads: tuple[RoundLoad, ...]
    given: Mapping[str, KeptNumber]  # variables whose numbers rounds begin with
    constants: tuple[tuple[np.generic, int], ...]  # and others, with the row that they are in
    carried: tuple[int, int]  # rows of each width that a round leaves to the next
    kept: tuple[int, int]  # and rows in all
    slots: tuple[int, int]
    numbers_left: Mapping[str, KeptNumber]
    shared_left: Mapping[str, SharedSource]  # whole numbers that variables hold behind a round
    vectors_left: Mapping[str, tuple[Source, SharedSource]]
    count: RunCount  # for each warp, where all lanes of all warps are active; else of all
    is_by_warp: bool
    statements: int
    hazards: tuple[Hazard, ...]
    found: int  # hazards, the same ones again among them

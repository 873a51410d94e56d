"""What the simulated GPU finds wrong: where, who, which element, and the remedy, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autograder.errors import Line

HazardKind = Literal[
    "out_of_bounds",  # an index outside the array
    "negative_index",  # wraps to the end, as on the device
    "race",  # two threads, one location, at least one write, nothing in between
    "uninitialised_read",
    "divergent_barrier",  # a barrier that not every thread of the block reaches
    "overflow_on_store",
    "accidental_float64",
    "endless",  # the work budget ran out, or a loop that can never end
    "launch",  # a launch that no GPU accepts
    "unset_variable",
]


@dataclass(frozen=True)
class Hazard:
    """One kind of fault at one source line, described at its first occurrence; `occurrences` counts them all."""

    kind: HazardKind
    message: str  # one sentence: what happened, with array, index and shape
    remedy: str  # one sentence: what to do
    line: Line | None
    text: str = ""  # the source line
    kernel: str = ""
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    array: str = ""
    index: tuple[int, ...] | None = None
    severity: Literal["error", "warning"] = "error"
    occurrences: int = 1
    other_line: Line | None = None  # a race's other access
    other_thread: tuple[int, int, int] | None = None
    space: str = ""  # where the array lies: global, shared, local or constant

    def __str__(self) -> str:
        who = f" Block {self.block}, thread {self.thread}." if self.block is not None else ""
        where = f"{self.line}: " if self.line else ""
        return f"{where}{self.message}{who} {self.remedy}".strip()

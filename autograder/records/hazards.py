"""What the simulated GPU finds wrong: where, who, which element, and the remedy, as frozen data.

START HERE to add a kind of hazard: its name, and its row of `HAZARDS`, which exercises and reports read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from autograder.errors import Line
from autograder.records.accesses import AccessKind

HazardKind = Literal[
    "out_of_bounds",
    "negative_index",
    "race",
    "uninitialised_read",
    "divergent_barrier",
    "overflow_on_store",
    "accidental_float64",
    "endless",
    "launch",
    "unset_variable",
]
# Where threads wait for each other: syncthreads (or a grid's sync), syncwarp, or a shuffle, vote or match of a warp.
BarrierKind = Literal["block", "warp", "exchange"]


@dataclass(frozen=True)
class About:
    """A kind of hazard: what it is called, what it is, and whether no kernel may have it, whatever it computes."""

    name: str
    meaning: str
    is_always_wrong: bool


HAZARDS: Mapping[HazardKind, About] = {
    "out_of_bounds": About("out of bounds", "an index outside the array", True),
    "negative_index": About("negative index", "an index below 0, which wraps to the end as on the device", True),
    "race": About("race", "two threads at one element, one of them writes, and nothing puts them in order", True),
    "uninitialised_read": About("uninitialised read", "memory is read before anybody wrote there", True),
    "divergent_barrier": About("divergent barrier", "a barrier that not every thread of the block reaches", True),
    "overflow_on_store": About("overflow on store", "an integer that does not fit the array's dtype", False),
    "accidental_float64": About("accidental float64", "float32 data drawn into float64 arithmetic", False),
    "endless": About("endless", "the work limit ran out, or a loop can never end", True),
    "launch": About("launch", "a launch that no GPU accepts, or threads that stop or divide by zero silently", False),
    "unset_variable": About("unset variable", "a variable without a value on the path that some threads took", True),
}


def name_of(kind: HazardKind) -> str:
    """What a kind of hazard is called."""
    return HAZARDS[kind].name


@dataclass(frozen=True)
class Hazard:
    """One kind of fault at one source line, described at its first occurrence; `occurrences` counts them all.

    `message` and `remedy` are for people. What a check or a hint tells one hazard from another by is in the other fields.
    """

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
    access: AccessKind | None = None  # what the thread did to the element
    shape: tuple[int, ...] | None = None  # of the array that `index` is an index of
    other_writes: bool | None = None  # of a race: whether the other access writes too, by a store or an atomic
    barrier: BarrierKind | None = None  # of a divergent barrier: which it is
    absent: int = 0  # of a divergent barrier: how many threads it waits for, or lanes it names, that do not come

    @property
    def writes(self) -> bool:
        """Whether the thread wrote to the element, by a store or an atomic."""
        return self.access in ("store", "atomic")

    def __str__(self) -> str:
        who = f" Block {self.block}, thread {self.thread}." if self.block is not None else ""
        where = f"{self.line}: " if self.line else ""
        return f"{where}{self.message}{who} {self.remedy}".strip()

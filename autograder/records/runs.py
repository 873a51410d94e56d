"""What goes into a device and what comes out: a request, its run and its launches, and how two programs compare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np

from autograder.errors import KitError, Line, NotCounted
from autograder.records.accesses import Access
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.transfers import Transfer

Source = Literal["measured", "simulated"]
WARM_UP_REQUESTS = 1  # of a measured comparison: the first one, whose calls are not timed
ROUND_REQUESTS = 2  # of each of its rounds: as many as that has timed calls of the submission


@dataclass(frozen=True)
class Uninitialised:
    """An array argument that the submission must fill: its memory is poisoned before the run."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Zeros:
    """An array argument of zeros, made where the request is carried out: it may be larger than anybody would send."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Library:
    """A library's function that does what a submission is timed for: `speedup` then finds a share of its speed.

    A GPU times it beside the submission where the library is installed. Elsewhere both recorded times, taken on an H200 for
    the request's sizes and in the grader's way of timing, tell from a comparison with the baseline how fast it would be.
    """

    name: str  # as reports show it: "cuBLAS"
    function: str  # one of autograder.cudagpu.libraries.FUNCTIONS
    recorded_ns: float
    baseline_recorded_ns: float  # of the lab's baseline

    @property
    def times_the_baseline(self) -> float:
        """How many times as fast as the baseline it was."""
        return self.baseline_recorded_ns / self.recorded_ns


class Sample(TypedDict):
    """Which blocks of a launch are simulated, as a request has it."""

    sample_blocks: int
    sample_seed: int


@dataclass(frozen=True)
class RunRequest:
    """One call of a submission's function with named arguments, in order: NumPy arrays, `Uninitialised`, `Zeros`,
    or scalars.

    Arrays are copied to the device; the function sees device arrays. `grid` and `block` only where `function` is a kernel.
    """

    function: str
    arguments: Mapping[str, Any]
    grid: tuple[int, ...] | int | None = None
    block: tuple[int, ...] | int | None = None
    sample_blocks: int | None = None  # simulate at most this many blocks a launch (counting only: outputs are partial)
    sample_seed: int | None = None  # where in the grid those blocks lie, so that nobody can know; None: evenly spread
    # What a later launch, or host code that goes on, reads of sampled launches is there: blocks beside the sample are
    # carried out for it. Without it launches read what memory holds: for counts alone, of work that no value changes.
    follows_reads: bool = False
    looks_for_kinds: bool = False  # of blocks that the sample has none of: one of each common kind is carried out as well
    work_limit: int | None = None  # warp instructions before the run is called endless; None: the device's default
    # Of a comparison: below this ratio nobody asks how slow it is, and the simulated GPU may give the run up.
    least_ratio: float | None = None
    scratch: tuple[str, ...] = ()  # arguments lent to work in: what they hold afterwards is nobody's business
    wants_returned: bool = False  # whether `Run.returned` is to be what the function returned
    # What the simulated GPU estimates for the lab's baseline, where carrying that out takes too long; None: it is run.
    baseline_estimated_ns: float | None = None
    library: Library | None = None  # what speed is compared with in place of the baseline
    # A kernel by name, and which of its launches, from 0, the simulated GPU leaves out: what becomes of the result?
    leaves_out: tuple[str, int] | None = None
    traced_line: Line | None = None  # the simulated GPU keeps the first accesses of this source line, for a picture


@dataclass(frozen=True)
class Launch:
    """One kernel launch as it happened."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0
    counted: Counters | None = None  # what the source says; None where nobody counted: `counters` needs no such question
    compiled: Counters | None = None  # what the compiler leaves of it
    estimated_ns: float | None = None
    measured_ns: float | None = None
    array_bytes: int | None = None  # all arrays that it was given, together
    arrays: tuple[str, ...] = ()  # which of the request's arrays it was given, whole or in part
    lines: tuple[Line, ...] = ()  # the source lines of which something was counted
    estimate: Any = None  # the `autograder.perfmodel.Estimate` behind `estimated_ns`

    @property
    def counters(self) -> Counters:
        """What the source says was done; raises `NotCounted` where nobody counted."""
        return _known(self.counted, f"the launch of `{self.kernel}`")


@dataclass(frozen=True)
class Run:
    """What a request did: every array argument afterwards, the work counted, and what went wrong (`fault` ended it)."""

    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    returned: Any = None  # where the request wants it: numbers, text, arrays of numbers, or a tuple of such; else None
    # Bool mask per Uninitialised argument; where blocks were sampled, also of other arrays that kernels wrote: the
    # elements that are as all blocks would have left them.
    written: Mapping[str, np.ndarray] = field(default_factory=dict)
    is_unverified: bool = False  # sampled, and too much is read of what the sample leaves out: no result can be judged
    # Where blocks were sampled: share of each Uninitialised argument that all blocks write, judged by those sampled.
    covered: Mapping[str, float] = field(default_factory=dict)
    # The same if all blocks of a launch wrote as much as the sampled one that wrote most: below 1 something is left out.
    covered_at_most: Mapping[str, float] = field(default_factory=dict)
    has_idle_blocks: bool = False  # beside the sample a kind of blocks was found that writes nothing of a result
    # Where blocks were sampled: of each array that was given, which of its sectors (32 bytes) those blocks loaded: flags.
    loaded: Mapping[str, np.ndarray] = field(default_factory=dict)
    launches: tuple[Launch, ...] = ()
    counted: Counters | None = None  # summed over launches; None where nobody counted: `counters` needs no such question
    lines: tuple[LineProfile, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    accesses: tuple[Access, ...] = ()  # the first ones of the request's `traced_line`
    transfers: tuple[Transfer, ...] = ()  # what host code asked of the device beside launches
    fault: KitError | None = None  # the student's: KernelFault or SubmissionError
    source: Source = "simulated"
    estimated_ns: float | None = None  # summed over launches
    measured_ns: float | None = None

    @property
    def counters(self) -> Counters:
        """What all launches counted together; raises `NotCounted` where nobody counted."""
        return _known(self.counted, "a run")


def _known(counted: Counters | None, of: str) -> Counters:
    if counted is None:
        raise NotCounted(
            f"Nobody counted what {of} did: it was not simulated, or nothing came back of it.",
            remedy='Ask for counters with on="simulated", or look at `counted` first, which is then None.',
        )
    return counted


@dataclass(frozen=True)
class Comparison:
    """How much faster a submission is than the baseline: baseline time over submission time, with its interval.

    Where the request names a `Library`, that stands for the baseline.
    """

    ratio: float
    low: float
    high: float
    source: Source
    baseline_ns: float
    submission_ns: float
    outputs: Sequence[Mapping[str, np.ndarray]] = ()  # of each timed call on the requests last given, for the grader
    request_of_output: Sequence[int] = ()  # which of those requests each of `outputs` belongs to
    sampled: Run | None = None  # the submission's run where only some of its blocks were carried out: partial outputs
    fault: KitError | None = None
    flags: tuple[str, ...] = ()  # "faster than the roofline floor", "ambiguous", "throttled", ...
    notes: Mapping[str, Any] = field(default_factory=dict)  # clock, repeats, binding resource, ...
    launches: int | None = None  # of the submission's run; None where nobody counted them
    transfers: tuple[Transfer, ...] = ()  # what host code of the submission asked for beside launching, in one timed call
    rounds: tuple[float, ...] = ()  # the ratio of each timed round; empty for an estimate
    goes_on: bool = False  # not settled yet: the device is to be asked again, with inputs for another round

"""Runs of a submission within an attempt, and what a check is handed of them.

What was counted of a run is handed out only if there was something to count and its results were verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, Protocol

import numpy as np

from autograder.errors import GraderFault
from autograder.grading.failures import CheckFailed, NothingCounted
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.runs import Comparison, Launch, Run, RunRequest, Source

Place = Literal["device", "simulated"]
COUNTED = "take the run from `attempt.counted(...)`."


class Runner(Protocol):
    """Where the submission runs: the student's faults come back in `Run.fault`; `GraderFault` is raised for ours."""

    @property
    def source(self) -> Source: ...

    def run(self, request: RunRequest, on: Place) -> Run: ...

    def compare(self, requests: Sequence[RunRequest], threshold: float) -> Comparison: ...


@dataclass(frozen=True, eq=False)
class Compared:
    """One comparison of speed, with what it was asked for."""

    requests: Sequence[RunRequest]
    threshold: float
    comparison: Comparison


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of the submission within an attempt."""

    request: RunRequest
    run: Run


class Uncounted(Run):
    """A run as a check gets it where there is nothing to count, or nothing that counts: whoever asks what was counted
    fails the check, or is told that the check is wrong.

    That a host function launches nothing for some size is its author's mistake, and no check need think of it. Whether it
    launched something can still be asked: `bool(run.launches)`. What was counted of a run counts only where its results
    were verified: `Attempt.counted` gives it.
    """

    as_it_was: Run
    why: CheckFailed | GraderFault

    @property
    def counters(self) -> Counters:
        raise self.why

    @property
    def counted(self) -> Counters:
        raise self.why

    @property
    def lines(self) -> tuple[LineProfile, ...]:
        raise self.why

    @property
    def launches(self) -> tuple[Launch, ...]:
        launches = self.as_it_was.launches
        if isinstance(self.why, CheckFailed):
            return launches or _NoLaunches(self.why)
        return tuple(replace(each, counted=None, compiled=None, estimated_ns=None, estimate=None) for each in launches)


class _NoLaunches(tuple[Launch, ...]):
    """No launches: how many there are may be asked, and not what they were."""

    why: CheckFailed

    def __new__(cls, why: CheckFailed) -> _NoLaunches:
        empty = super().__new__(cls)
        empty.why = why
        return empty

    def __iter__(self) -> NoReturn:
        raise self.why

    def __getitem__(self, key: Any) -> NoReturn:
        raise self.why


def for_checks(trial: Trial, is_verified: bool = False) -> Trial:
    """The trial as a check may use it: what was counted is handed out where there was something to count, and where the
    results were verified."""
    run, request = trial.run, trial.request
    why: CheckFailed | GraderFault
    if run.launches and (run.lines or run.source == "measured"):
        if is_verified or run.source == "measured":
            return trial
        why = GraderFault(f"The work of `{request.function}` was to count, and its results were not verified: {COUNTED}")
    elif run.fault is not None:
        why = CheckFailed(str(run.fault), hazards=errors_in(run))
    else:
        does = "launches kernels that do nothing" if run.launches else "launches no kernel"
        why = NothingCounted(f"`{request.function}` {does}{sizes_of(request)}: nothing was counted.")
    handed = object.__new__(Uncounted)
    vars(handed).update(vars(run), as_it_was=run, why=why)
    return Trial(request, handed)


def as_it_was(run: Run) -> Run:
    """The run behind what a check was handed."""
    found: Run = getattr(run, "as_it_was", run)
    return found


def sizes_of(request: RunRequest) -> str:
    """For which of its inputs, as a message says it: the first array is enough to know the case by."""
    arrays = {name: value for name, value in request.arguments.items() if isinstance(value, np.ndarray) and value.ndim}
    return next((f" for `{name}` of shape {value.shape}" for name, value in arrays.items()), "")


def errors_in(run: Run) -> tuple[Hazard, ...]:
    """The hazards of a run that are errors."""
    return tuple(each for each in run.hazards if each.severity == "error")

"""Runs of a submission within an attempt, and what a check is handed of them.

What was counted of a run is handed out only if there was something to count and its results were verified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol, TypeVar

import numpy as np

from autograder.grading.failures import CheckFailed, NothingCounted, Unverified
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.runs import Comparison, Launch, Run, RunRequest, Source

Place = Literal["device", "simulated"]
COUNTED = "Take the run from `attempt.counted(...)`, which verifies it first."
Seen = TypeVar("Seen")


class Runner(Protocol):
    """Where the submission runs: the student's faults come back in `Run.fault`; `GraderFault` is raised for ours."""

    @property
    def source(self) -> Source: ...

    def run(self, request: RunRequest, on: Place) -> Run: ...

    def compare(self, requests: Sequence[RunRequest], threshold: float, goes_on: bool = False) -> Comparison: ...


@dataclass(frozen=True, eq=False)
class Compared:
    """One comparison of speed, with what it was asked for."""

    requests: Sequence[RunRequest]  # the first ones: those of later rounds are let go once their outputs are verified
    threshold: float
    comparison: Comparison


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of the submission within an attempt."""

    request: RunRequest
    run: Run


Refuse = Callable[[str], NoReturn]  # takes what was asked for, and raises


class _Refusing:
    """What stands in for a run, or a launch, whose results were not verified: what was counted of it, or how long it took,
    is refused to whoever asks."""

    as_it_was: Run | Launch
    refuse: Refuse
    why_nothing: CheckFailed | None = None  # where there is nothing to count

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: nothing of it counts>"

    @property
    def counters(self) -> Counters:
        return self.counted or self.as_it_was.counters

    @property
    def counted(self) -> Counters | None:
        return self._unless_refused("counted", self.as_it_was.counted)

    @property
    def estimated_ns(self) -> float | None:
        return self._unless_refused("estimated", self.as_it_was.estimated_ns)

    @property
    def measured_ns(self) -> float | None:
        return self._unless_refused("measured", self.as_it_was.measured_ns)

    def _unless_refused(self, what: str, value: Seen) -> Seen:
        """What nobody counted is nothing to refuse, as of a measured run."""
        if self.why_nothing is not None or value not in (None, ()):
            self.refuse(what)
        return value


class Uncounted(_Refusing, Run):
    """A run as a check gets it where there is nothing to count, or nothing that counts: whoever asks what was counted, or
    how long it took, fails the check, or is told that the check is wrong.

    That a host function launches nothing for some size is its author's mistake, and no check need think of it. Whether it
    launched something can still be asked: `bool(run.launches)`. What was counted of a run counts only where its results
    were verified: `Attempt.counted` gives it.
    """

    as_it_was: Run

    @property
    def lines(self) -> tuple[LineProfile, ...]:
        return self._unless_refused("counted by line", self.as_it_was.lines)

    @property
    def launches(self) -> tuple[Launch, ...]:
        launches = self.as_it_was.launches
        if self.why_nothing is not None:
            return launches or _NoLaunches(self.why_nothing)
        return tuple(_uncounted_launch(each, self.refuse) for each in launches)


class UncountedLaunch(_Refusing, Launch):
    """A launch of a run whose results were not verified: which it was may be asked, and not what it did or took."""

    as_it_was: Launch

    @property
    def compiled(self) -> Counters | None:
        return self._unless_refused("counted", self.as_it_was.compiled)

    @property
    def estimate(self) -> Any:
        return self._unless_refused("estimated", self.as_it_was.estimate)


def _uncounted_launch(launch: Launch, refuse: Refuse) -> Launch:
    handed = object.__new__(UncountedLaunch)
    vars(handed).update(vars(launch), as_it_was=launch, refuse=refuse)
    return handed


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


def for_checks(trial: Trial, refuse: Callable[[Unverified], NoReturn], is_verified: bool = False) -> Trial:
    """The trial as a check may use it: what was counted is handed out where there was something to count, and where the
    results were verified. `refuse` raises what a check is told that asks for it without."""
    run, request = trial.run, trial.request
    why_nothing: CheckFailed | None = None
    if run.launches and (run.lines or run.source == "measured"):
        if is_verified:
            return trial
    elif run.fault is not None:
        why_nothing = CheckFailed(str(run.fault), hazards=errors_in(run))
    else:
        does = "launches kernels that do nothing" if run.launches else "launches no kernel"
        why_nothing = NothingCounted(f"`{request.function}` {does}{sizes_of(request)}: nothing was counted.")

    def asked_for(what: str) -> NoReturn:
        if why_nothing is not None:
            raise why_nothing
        refuse(Unverified(f"asks what was {what} of `{request.function}`, whose results were not verified", remedy=COUNTED))

    handed = object.__new__(Uncounted)
    vars(handed).update(vars(run), as_it_was=run, refuse=asked_for, why_nothing=why_nothing)
    return Trial(request, handed)


def as_it_was(run: Run) -> Run:
    """The run behind what a check was handed."""
    return run.as_it_was if isinstance(run, Uncounted) else run


def sizes_of(request: RunRequest) -> str:
    """For which of its inputs, as a message says it: the first array is enough to know the case by."""
    arrays = {name: value for name, value in request.arguments.items() if isinstance(value, np.ndarray) and value.ndim}
    return next((f" for `{name}` of shape {value.shape}" for name, value in arrays.items()), "")


def errors_in(run: Run) -> tuple[Hazard, ...]:
    """The hazards of a run that are errors."""
    return tuple(each for each in run.hazards if each.severity == "error")

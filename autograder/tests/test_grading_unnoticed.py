"""A fault that no check asks about costs the check whose run shows it, once, and never twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from autograder.errors import Line
from autograder.grading import check
from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.grading.grade import check_submission
from autograder.grading.trials import Place
from autograder.records.hazards import Hazard, HazardKind
from autograder.records.results import Result
from autograder.records.runs import Run, RunRequest, Sample
from autograder.tests.grading_fakes import FakeWorker, lab_with


def hazard(kind: HazardKind, severity: Literal["error", "warning"] = "error") -> Hazard:
    return Hazard(kind, f"An {kind}.", "Mend it.", Line("lab.py", 4), severity=severity)


class ShowingWorker(FakeWorker):
    """Each run shows these hazards, by where it runs."""

    def __init__(self, **shown: Hazard) -> None:
        super().__init__(lambda: None)
        self.shown = shown

    def run(self, request: RunRequest, on: Place) -> Run:
        return Run(hazards=tuple(each for place, each in self.shown.items() if place == on))


@check(points=2)
def runs(attempt: Attempt) -> None:
    """It runs on the device."""
    attempt.run("double")


@check(points=3)
def runs_simulated(attempt: Attempt) -> None:
    """It runs on the simulated GPU."""
    attempt.simulate("double")


@check(points=1)
def no_race(attempt: Attempt) -> None:
    """No two threads race."""
    run = attempt.simulate("double")
    if any(each.kind == "race" for each in run.hazards):
        raise CheckFailed("They race.")


@check(points=1, bonus=True)
def more(attempt: Attempt) -> None:
    """More."""


def outcomes(result: Result) -> dict[str, tuple[str, float]]:
    return {each.name: (each.outcome, each.points) for each in result.checks}


def graded(worker: FakeWorker, *more_checks: Callable[..., Any]) -> Result:
    return check_submission(lab_with(runs, runs_simulated, no_race, *more_checks), "ann.py", worker=worker)


def test_what_no_check_asks_about_fails_the_first_whose_run_shows_it_and_keeps_the_bonus() -> None:
    result = graded(ShowingWorker(simulated=hazard("uninitialised_read")), more)
    assert outcomes(result) == {
        "runs": ("passed", 2), "runs_simulated": ("failed", 0), "no_race": ("passed", 1), "more": ("not run", 0),
    }  # fmt: skip
    failed = result.checks[1]
    assert failed.message == "lab.py, line 4: An uninitialised_read. Mend it."
    assert [each.kind for each in failed.hazards] == ["uninitialised_read"]


def test_what_a_check_asks_about_costs_that_check_alone() -> None:
    result = graded(ShowingWorker(simulated=hazard("race")))
    assert outcomes(result) == {"runs": ("passed", 2), "runs_simulated": ("passed", 3), "no_race": ("failed", 0)}


@pytest.mark.parametrize(
    "worker",
    [
        ShowingWorker(simulated=hazard("accidental_float64")),
        ShowingWorker(simulated=hazard("uninitialised_read", "warning")),
        ShowingWorker(device=hazard("uninitialised_read")),  # a real GPU would not have shown it
        ShowingWorker(),
    ],
)
def test_what_may_be_and_what_one_device_alone_shows_costs_nothing(worker: FakeWorker) -> None:
    assert graded(worker).outcome == "passed"


def test_sampled_blocks_and_hints_show_nothing_of_the_kind() -> None:
    @check(points=1)
    def samples(attempt: Attempt) -> None:
        """It samples."""
        sampled: Sample = attempt.sample(2)
        attempt.simulate(RunRequest("double", {}, **sampled))

    lab = lab_with(samples)
    worker = ShowingWorker(simulated=hazard("uninitialised_read"))
    assert check_submission(lab, "ann.py", worker=worker).outcome == "passed"
    attempt = Attempt("a_check", worker, np.random.default_rng(7))
    attempt.failure = CheckFailed("wrong")  # what runs from now on is a hint's
    attempt.simulate("double")
    assert not attempt.shown


def test_nothing_is_failed_for_while_a_check_that_may_ask_was_not_run() -> None:
    @check(points=1)
    def wrong(attempt: Attempt) -> None:
        """Wrong."""
        raise CheckFailed("wrong")

    @check(points=1, after=("wrong",))
    def asks(attempt: Attempt) -> None:
        """Asks."""

    result = graded(ShowingWorker(simulated=hazard("out_of_bounds")), wrong, asks)
    assert result.checks[1].outcome == "passed" and result.checks[4].outcome == "not run"

"""The runs of a check: each goes through a `Runner` and is kept for hints; a fault of the submission fails the check."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from autograder.errors import BrokenDefinition, KitError
from autograder.grading.failures import CheckFailed, Unverified
from autograder.grading.given import Beforehand
from autograder.grading.inputs import DrawnInputs
from autograder.grading.trials import Place, Runner, Trial, as_it_was, errors_in, for_checks
from autograder.records.hazards import Hazard
from autograder.records.runs import Run, RunRequest, Source


class CarryingOut(DrawnInputs):
    """What an `Attempt` runs, and what it has run so far."""

    def __init__(self, given: Beforehand) -> None:
        super().__init__(given)
        self.check = given.check
        self.sources = dict(given.sources)
        self.unusable = dict(given.unusable)
        self.broken: BrokenDefinition | None = None  # what the check came to and could not use
        self.unverified: Unverified | None = None  # the first that the check asked of a run that was not verified
        self.failure: CheckFailed | None = None  # set once the check has failed
        self.shown: list[Hazard] = []  # by all its whole runs that are simulated on every device; see unnoticed.py
        self._trials: list[Trial] = []
        self._traced: dict[tuple[Any, ...], tuple[RunRequest, Run]] = {}
        self._runner = given.runner

    @property
    def source(self) -> Source:
        """What kind of times `speedup` compares here."""
        return self._runner.source

    @property
    def trials(self) -> list[Trial]:
        """The runs so far: as the check got them while it is at work, and whole for hints, which earn nothing."""
        return [for_checks(each, self._refuse) for each in self._trials] if self.failure is None else self._trials

    def forget_runs(self) -> None:
        """Hints and the report are about what comes from now on."""
        self._trials.clear()

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """Hazards of every run so far."""
        return tuple(each for trial in self._trials for each in trial.run.hazards)

    @property
    def fault(self) -> KitError | None:
        """What ended the last run, if the submission did."""
        return self._trials[-1].run.fault if self._trials else None

    def run(
        self,
        function: str | RunRequest,
        /,
        *,
        on: Place = "device",
        grid: tuple[int, ...] | int | None = None,
        block: tuple[int, ...] | int | None = None,
        work_limit: int | None = None,
        may_fault: bool = False,
        **arguments: Any,
    ) -> Run:
        """Calls the submission's `function` with these arguments (in this order) and returns the run.

        Arrays are copied to the device; `Uninitialised` ones are for the submission to fill. `grid` and `block` only
        where `function` is a kernel. Raises `CheckFailed` where the submission's own fault ended the run, unless
        `may_fault`.
        """
        request = function
        if isinstance(request, str):
            request = RunRequest(request, dict(arguments), grid=grid, block=block, work_limit=work_limit)
        self.need(request.function)
        trial = Trial(request, self._runner.run(request, on))
        self._carry_out(trial, may_fault, on)
        return for_checks(trial, self._refuse).run if self.failure is None else trial.run  # hints earn nothing

    def simulate(self, function: str | RunRequest, /, **arguments: Any) -> Run:
        """Like `run`, always on the simulated GPU: for counters and hazards, which a real GPU does not give."""
        return self.run(function, on="simulated", **arguments)

    def trace(self, request: RunRequest) -> Run:
        """Simulates a request for a picture of it, or for a hint: no trial of the check, and nothing that it does can fail
        it. The same again, as hints ask for it one after the other, is what it was."""
        # Requests that are kept hold their arguments, so that nobody else's can have the same id.
        key = tuple(id(value) if name == "arguments" else value for name, value in vars(request).items())
        if key not in self._traced:
            self._traced[key] = request, self._runner.run(request, "simulated")
        return self._traced[key][1]

    def need(self, function: str) -> None:
        """Fails the check where the lab asks for this function and the submission has none that will do.

        A check that runs a function need not ask. One that looks for a kernel among the launches of others does.
        """
        self._expect_usable(self.unusable.get(function))

    def go_on_with(self, runner: Runner) -> None:
        """From now on the submission runs there: hints and pictures may ask for more."""
        self._runner = runner

    def _carry_out(self, trial: Trial, may_fault: bool, on: Place) -> None:
        self._trials.append(trial)
        if self.failure is None and on == "simulated" and trial.request.sample_blocks is None:
            self.shown += trial.run.hazards
        self._expect_usable(trial.run.fault)
        if trial.run.fault is not None and not may_fault:
            raise CheckFailed(str(trial.run.fault), hazards=errors_in(trial.run))

    def _expect_usable(self, fault: KitError | None) -> None:
        """Fails the check, also where it may fault: a function that cannot be used shows nothing of what it looks at."""
        if isinstance(fault, BrokenDefinition) and self.failure is None:  # else it is a hint that asks
            self.broken = fault
            raise CheckFailed(str(fault))

    def _refuse(self, unverified: Unverified) -> NoReturn:
        """The check asks for work that it has not verified: kept, so that nothing it does afterwards hides that."""
        self.unverified = self.unverified or unverified
        raise unverified

    def _origin(self, array: np.ndarray) -> tuple[Trial | None, str]:
        """The trial and argument that an output array came from."""
        for trial in reversed(self._trials):
            for name, output in trial.run.outputs.items():
                if output is array:
                    return trial, name
        return None, ""

    def _request(self, run: Run) -> RunRequest:
        run = as_it_was(run)
        return next(trial.request for trial in reversed(self._trials) if trial.run is run)

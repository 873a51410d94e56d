"""An `Attempt`: what a check does with a submission, and all that was seen while it did (hints read that).

The check runs here, in the grader; every run of the submission goes through a `Runner`, in practice a worker process.
Expected values never leave this process. What a check can do is in the classes that an attempt is made of, each built on
the one before: it draws its inputs (inputs.py), runs the submission (carrying_out.py), expects something of what came of
it (expectations.py), verifies results whose work counts (verification.py) and compares speeds (speed_comparison.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.errors import BrokenDefinition
from autograder.grading.failures import CheckFailed
from autograder.grading.given import Beforehand, Outputs, SharedRuns
from autograder.grading.reproduction import reproduction
from autograder.grading.speed_comparison import SpeedComparison
from autograder.grading.trials import Place, Runner, Trial, for_checks
from autograder.records.runs import RunRequest, Uninitialised

# Holds what a function left in its arrays to what is right, and raises `CheckFailed` where it is not.
Judgement = Callable[["Attempt", RunRequest, Outputs], None]


class Attempt(SpeedComparison):
    """One check at work on one submission.

    For checks: `source`, `rng`, `drawn`, `uniform`, `integers`, `sample`, `made`, `remember`, `run`, `simulate`, `once`,
    `counted`, `need`, `known_of`, `speedup`, `expect_*`, `award`, `record`, `show`, `forget_runs`.
    For hints: `check`, `failure`, `trials`, `differences`, `hazards`, `fault`, `comparison`, `measured`, `sources`.
    """

    def __init__(
        self,
        check: str,
        runner: Runner,
        rng: np.random.Generator,
        sources: Mapping[str, str] | None = None,
        shared: SharedRuns | None = None,
        unusable: Mapping[str, BrokenDefinition] | None = None,
        results: Mapping[str, Judgement] | None = None,
    ) -> None:
        shared = shared or SharedRuns(lambda name: rng)
        super().__init__(Beforehand(check, runner, rng, sources or {}, shared, unusable or {}, results or {}))
        self.evidence: dict[type, Any] = {}  # what hints have made of it: see evidence.py

    def once(
        self, name: str, make: Callable[[Attempt], RunRequest], *, on: Place = "simulated", may_fault: bool = False
    ) -> Trial:
        """Like `run`, for a request that several checks look at: it is made and carried out for the first of them.

        `make` takes its random numbers from the attempt that it is given; they depend on the `name`, not on the check.
        """
        place: Place = "simulated" if self.source == "simulated" else on
        if (name, place) not in self._shared.known:
            maker = Attempt(self.check, self._runner, self._shared.generator(name))
            request = make(maker)
            self.unverified = self.unverified or maker.unverified
            self.need(request.function)
            trial = Trial(request, self._runner.run(request, place))
            self._shared.known[name, place] = trial, maker._recipes
        trial, recipes = self._shared.known[name, place]
        self._recipes.update(recipes)
        self._carry_out(trial, may_fault, on)
        return for_checks(trial, self._refuse)

    def reproduction(self) -> str:
        """Code for a notebook that runs the last case again; empty where nothing can run."""
        if not self._trials or self.broken is not None:
            return ""
        run, failure = self._trials[-1].run, self.failure
        unwritten = None if self.unwritten is None else (self.unwritten_name, self.unwritten)
        seen = run.fault is not None or self.wrong is not None or failure is None or failure.hazards or failure.mismatches
        recipes = {key: recipe for key, (_, recipe) in self._recipes.items()}
        about = failure.launch if failure is not None else ""
        counted = () if seen else [each for each in run.launches if each.kernel == about or not about]
        return reproduction(self._trials[-1].request, recipes, self.wrong, unwritten, counted)


__all__ = ["Attempt", "CheckFailed", "Judgement", "Outputs", "Place", "Runner", "SharedRuns", "Trial", "Uninitialised"]

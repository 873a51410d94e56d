"""Keeps what grading an answer shows beside its result: the comparison of speed of each check, by the check's name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autograder.errors import SubmissionError
from autograder.grading.attempt import Attempt
from autograder.grading.grade import PUBLIC_SEED, Grading, check_submission, judge
from autograder.grading.spec import Lab
from autograder.grading.trials import Compared
from autograder.grading.worker import Worker
from autograder.language.source import Submission
from autograder.records.results import CheckResult, Result


class Recorder:
    """Grades answers on one worker and keeps what the last one's checks compared: `made`, by the check's name.

    `seconds`: what the worker took to grade the last one, see `Worker.seconds_used`.
    """

    def __init__(self, lab: Lab, worker: Worker) -> None:
        self.lab = lab
        self.worker = worker
        self.made: dict[str, Compared] = {}
        self.seconds = 0.0

    def graded(self, answer: Path | Submission) -> Result:
        """What grading says, as of any submission."""
        self.made.clear()
        result = check_submission(self.lab, answer, worker=self.worker, watch=self._keep)
        self.seconds = self.worker.seconds_used
        return result

    def judged_alone(self, answer: Path | Submission, check: str, most_seconds: float = np.inf) -> CheckResult | None:
        """One check on one answer, whatever else is wrong with it; None where the answer cannot be read."""
        self.made.clear()
        try:
            summary = self.worker.read(
                answer, self.lab.baseline_path, self.lab.required, min(self.lab.seconds_per_run, most_seconds)
            )
        except SubmissionError:
            return None
        grading = Grading(self.lab, self.worker, PUBLIC_SEED, summary, watch=self._keep)
        as_it_was = self.worker.until_narrow
        if self.worker.source == "simulated":
            self.worker.until_narrow = True  # however slow it is: an estimate is not given up
        try:
            return judge(grading, next(each for each in self.lab.checks if each.name == check))
        finally:
            self.worker.until_narrow = as_it_was

    def speed_checks(self, solution: Path) -> list[str]:
        """The checks that compare speed, as grading the solution shows, in the lab's order."""
        result = self.graded(solution)
        return [each.name for each in result.checks if each.name in self.timed()]

    def timed(self) -> dict[str, Compared]:
        """The comparisons that gave a ratio: the submission launched something and ran to its end."""
        return {
            name: each
            for name, each in self.made.items()
            if each.comparison.fault is None and np.isfinite(each.comparison.ratio)
        }

    def _keep(self, attempt: Attempt) -> None:
        if attempt.compared is not None:
            self.made[attempt.check] = attempt.compared

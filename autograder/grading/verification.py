"""Work counts where results are right: what functions left in their arrays is held to the lab's `results`.

Where sampled blocks stand for all, what they left is looked at, and how much of the result it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.errors import GraderFault
from autograder.grading.expectations import Expectations
from autograder.grading.failures import CheckFailed, WorkLeftOut
from autograder.grading.given import Beforehand, Outputs
from autograder.grading.trials import Trial, as_it_was, errors_in, for_checks
from autograder.records.runs import Run, RunRequest

OF_ORDER = ("race", "divergent_barrier")  # kinds of hazards that sampled blocks have by themselves
LEAST_COVERED = 0.95  # of a result, judged by sampled blocks, some of which may lie beyond its edges
LOOK_AGAIN = 8  # times as many blocks are sampled where fewer seem to cover less


class Verification(Expectations):
    """What an `Attempt` verifies of runs whose work is counted or timed."""

    def __init__(self, given: Beforehand) -> None:
        super().__init__(given)
        self.results = dict(given.results)

    def counted(self, request: RunRequest | Trial, *, expect: Callable[[Run], None] | None = None) -> Run:
        """A simulated run whose counted work is to be judged: its outputs are held to the lab's `results` first.

        Work counts where it was done: a submission that leaves some of it out in this run fails the check as one that
        leaves it out in any other. `request` may be a trial that `once` gave, on the simulated GPU. Where it samples
        blocks, what they left of the outputs is looked at, and the rest taken as right; `expect` then holds the run to
        what a lab knows beside that. Raises `GraderFault` where the lab does not say what is right.
        """
        if isinstance(request, RunRequest):
            self.need(request.function)
            request = replace(request, follows_reads=True)
            trial = Trial(request, self._runner.run(request, "simulated"))
            self._carry_out(trial, may_fault=False, on="simulated")
        else:
            trial = Trial(request.request, as_it_was(request.run))
        handed = for_checks(trial, self._refuse, is_verified=True).run
        if trial.request.sample_blocks is None:
            self.verify(trial.request, trial.run.outputs)
        elif trial.run.launches:  # else that is what is said as soon as a number is asked for
            self._verify_known(trial.request, trial.run)
            if expect is not None:
                expect(handed)
        return handed

    def verify(self, request: RunRequest, outputs: Outputs) -> None:
        """Holds what a function left in its arrays to the lab's `results`."""
        if request.function not in self.results:
            raise GraderFault(
                f"`{request.function}` is counted or timed, and the lab does not say what its results are held to.",
                remedy="Give its name a place in LAB = Lab(..., results={...}).",
            )
        self.results[request.function](self, request, outputs)

    def _verify_known(self, request: RunRequest, run: Run) -> None:
        """Verifies what sampled blocks left of the outputs; no kernel wrote to what is not among those.

        What nobody can verify earns nothing, and somebody has to look: points are for work whose results are seen.
        """
        if run.is_unverified:
            self.flags.append(
                f"{self.check}: `{request.function}` reads or adds to what it has written, at this size too much for "
                "the simulated GPU to carry out whole: results of this size were not looked at, and earn nothing here. "
                "A GPU verifies them whole."
            )
            raise CheckFailed(
                f"Work counts where its results are verified, and those of `{request.function}` were not, at this size: its "
                "launches read or add to what others of them wrote, more than the simulated GPU can carry out. Your "
                "instructor is told; on a GPU all is verified. Or let a launch read less of what another one wrote."
            )
        inputs = {name: value for name, value in request.arguments.items() if isinstance(value, np.ndarray)}
        outputs = inputs | dict(run.outputs)
        self._partly_written = {id(outputs[name]): known for name, known in run.written.items()}
        try:
            self.verify(request, outputs)
        finally:
            self._partly_written = {}

    def _verify_sampled(self, request: RunRequest, run: Run, shorter: Callable[[], RunRequest] | None) -> None:
        """Holds the sampled blocks of an estimated run to their share of the result: a speed is that of the whole work.

        And to the order of threads: what comes out right of a race, by chance, is no result. Other faults may come of what
        the sample leaves out, and races too where results cannot be judged: blocks went by what others had not written.
        """
        covered, at_most = run.covered, run.covered_at_most
        # By chance, where some blocks have nothing to do, or less to do than others?
        is_short = any(share < LEAST_COVERED for share in covered.values()) or any(share < 1 for share in at_most.values())
        if is_short or run.has_idle_blocks:
            more: dict[str, Any] = {
                "sample_blocks": LOOK_AGAIN * (request.sample_blocks or 1),
                "work_limit": LOOK_AGAIN * (request.work_limit or 0) or None,
            }
            again = self._runner.run(replace(request, **more), "simulated")
            covered, at_most = again.covered, again.covered_at_most
        for name, share in covered.items():
            if at_most[name] < 1 or share < LEAST_COVERED:
                most = f"At most {np.floor(1000 * at_most[name]) / 10:g}%"  # rounded down: never of all
                raise WorkLeftOut(
                    f"{most if at_most[name] < 1 else f'Only {share:.0%}'} of `{name}` is computed at this size: speed "
                    "counts where all the work is done."
                )
        if run.is_unverified and shorter is not None:
            request = replace(shorter(), follows_reads=True)
            run = self._runner.run(request, "simulated")  # no trial of the check: hints look at what was timed
            if run.fault is not None:
                raise CheckFailed(str(run.fault), hazards=errors_in(run))
        self._verify_known(request, run)
        self.expect_no_hazards(run, OF_ORDER)

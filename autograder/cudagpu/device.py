"""The real GPU as a device. START HERE: `GpuDevice.run` for one request, `GpuDevice.compare` for timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.cudagpu.availability import find_gpu, names_of_gpus
from autograder.cudagpu.comparing import Contest
from autograder.cudagpu.compilation import Compiler
from autograder.cudagpu.handles import GpuArray
from autograder.cudagpu.memory import is_ambiguous
from autograder.cudagpu.requests import carry_out, gather, place_arguments
from autograder.cudagpu.session import GpuSession, driver_error
from autograder.errors import GraderFault, SubmissionError
from autograder.language.program import Program
from autograder.records.runs import WARM_UP_REQUESTS, Comparison, Run, RunRequest, Source


class GpuDevice:
    """A CUDA GPU through numba-cuda; see `autograder.device.Device`. Raises GraderFault where there is none."""

    source: Source = "measured"

    def __init__(self) -> None:
        found = find_gpu()
        if not found.usable:
            raise GraderFault(f"No GPU can be used here: {found.reason}.", remedy=found.remedy)
        self.name = found.name
        self.cards = names_of_gpus()
        self._rng = np.random.default_rng()  # guards and shuffles: not to be foreseen
        self._compiler = Compiler()
        self._compiled_for: Program | None = None
        self._baseline: tuple[Program, Compiler] | None = None
        self._contest: Contest | None = None  # the comparison under way

    def run(self, program: Program, request: RunRequest) -> Run:
        """Carries out one request on fresh memory; the submission's own faults come back in `Run.fault`."""
        run = self._run_once(program, request, 0)
        if run.fault is None and _needs_second_run(run, request):
            again = self._run_once(program, request, 1)
            if again.fault is not None:
                return again
            for name, mask in again.written.items():
                run.written[name][...] |= mask
        return run

    def compare(
        self,
        baseline: Program,
        submission: Program,
        requests: Sequence[RunRequest],
        *,
        threshold: float | None = None,
        goes_on: bool = False,
    ) -> Comparison:
        """Times a round of both in turn: see `autograder.device.Device`, and comparing.py for what a round is.

        It is settled once the ratio's interval is narrow, or clear of `threshold`. Raises GraderFault where a comparison
        is to go on that is not under way.
        """
        skipped = 0 if goes_on else WARM_UP_REQUESTS
        if not goes_on:
            self._contest = None
            compilers = self.baseline_compiler(baseline), self.compiler(submission)
            contest = Contest(self.name, compilers, baseline, submission, threshold, self._rng)
            if (failed := contest.begin(*requests[:skipped])) is not None:
                return failed
            self._contest = contest
        if self._contest is None or self._contest.submission is not submission:
            raise GraderFault("A comparison is to go on, and none of this submission is under way.")
        found = self._contest.round(requests[skipped:])
        if not found.goes_on:
            self._contest = None
        return replace(found, request_of_output=[skipped + which for which in found.request_of_output])

    def is_usable(self) -> bool:
        """Whether the GPU still answers this process: after some faults of a kernel nothing more can be done in it."""
        from numba import cuda

        try:
            cuda.synchronize()
            cuda.device_array(1, np.uint8).copy_to_host()
        except Exception as problem:
            if driver_error(problem) is None:
                raise
            return False
        return True

    def compiler(self, program: Program) -> Compiler:
        """The compiler with this program's kernels; those of the program before are let go."""
        if program is not self._compiled_for:
            self._compiler, self._compiled_for = Compiler(), program
        return self._compiler

    def baseline_compiler(self, baseline: Program) -> Compiler:
        """The compiler with a baseline's kernels, kept for the next submission."""
        if self._baseline is None or self._baseline[0] is not baseline:
            self._baseline = baseline, Compiler()
        return self._baseline[1]

    def _run_once(self, program: Program, request: RunRequest, poison_variant: int) -> Run:
        session = GpuSession(self.compiler(program), self._rng, poison_variant)
        try:
            return self._run_in(session, program, request)
        finally:
            session.overwrite()

    def _run_in(self, session: GpuSession, program: Program, request: RunRequest) -> Run:
        handles: dict[str, Any] = {}
        returned, fault = None, None
        try:
            handles = place_arguments(session, request)
        except SubmissionError as problem:
            return Run(fault=problem, source=self.source)
        try:
            returned = carry_out(session, program, request, handles)
            session.synchronise()
            launches = session.finished_launches()
        except SubmissionError as problem:
            fault = problem.with_traceback(None)  # whose frames hold this one, and its arrays
            launches = tuple(launch for launch, _, _ in session.launches)
        try:
            outputs, written, hazards = gather(session, request, handles)
        except SubmissionError as problem:  # the kernel's fault reached us only with the copy
            return Run(launches=launches, fault=fault or problem, source=self.source)
        if isinstance(returned, GpuArray):
            returned = returned.copy_to_host()
        times = [launch.measured_ns for launch in launches if launch.measured_ns is not None]
        return Run(
            outputs=outputs,
            returned=returned,
            written=written,
            launches=launches,
            hazards=hazards,
            transfers=tuple(session.transfers),
            fault=fault,
            source=self.source,
            measured_ns=sum(times) if times and fault is None else None,
        )


def _needs_second_run(run: Run, request: RunRequest) -> bool:
    """Whether an element of a narrow integer array looks unwritten and may have been given the poison's value."""
    return any(
        is_ambiguous(request.arguments[name].dtype) and not written.all() for name, written in run.written.items()
    )

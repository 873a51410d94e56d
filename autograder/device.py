"""What both devices offer: a program and a request go in, a `Run` comes out. The grader knows nothing else of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from autograder.language.program import Program
from autograder.records.runs import Comparison, Run, RunRequest, Source


class Device(Protocol):
    """A place where kernels run."""

    name: str  # as people know it: "NVIDIA H200", "simulated GPU (modelled on an NVIDIA H200)"
    source: Source

    def run(self, program: Program, request: RunRequest) -> Run:
        """Carries out one request; the submission's own faults come back in `Run.fault`, never as an exception."""
        ...

    def compare(
        self, baseline: Program, submission: Program, requests: Sequence[RunRequest], threshold: float | None = None
    ) -> Comparison:
        """Times both on the same requests (distinct inputs of one shape): estimated here, measured on a GPU.

        A GPU measures until the interval lies on one side of `threshold`, where one is given.
        """
        ...

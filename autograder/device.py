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
        """Times both on these requests (inputs of one shape): estimated on the first of them, or measured on a GPU.

        A GPU wants WARM_UP_REQUESTS + ROUND_REQUESTS of them, all different. It times a round, each call of the submission
        on a request of its own, and says by `Comparison.goes_on` whether it needs ROUND_REQUESTS more: it is then asked
        again with `goes_on=True`, until the interval lies on one side of `threshold`, where one is given.
        """
        ...

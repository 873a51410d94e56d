"""What a failed check showed, for hints to recognise: `Evidence`, what it says of a matrix product, and `recogniser`.

A lab's hints.py makes its decorator with `misconception = recogniser(ProductEvidence)`. Each hint is then one function
whose name is the misconception's, whose docstring is what the student reads (with numbers from the evidence filled in),
and which returns whether the evidence fits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np

from autograder.errors import KitError
from autograder.grading.attempt import Attempt
from autograder.grading.products import product
from autograder.grading.spec import Judge, hint
from autograder.records.hazards import Hazard
from autograder.records.runs import Launch, Run, RunRequest

Matrix = np.ndarray
Seen = TypeVar("Seen", bound="Evidence")


class Evidence:
    """What the last run of a failed check showed."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.trials = attempt.trials
        self.request, self.run = self.trials[-1].request, self.trials[-1].run
        self.launch: Launch | None = self.run.launches[0] if self.run.launches else None
        self.grid, self.block = (self.launch.grid, self.launch.block) if self.launch else ((0, 0, 0), (0, 0, 0))
        self.across, self.down = self.grid[0] * self.block[0], self.grid[1] * self.block[1]  # threads along x and y
        self.threads = int(np.prod(self.grid) * np.prod(self.block))

    @cached_property
    def simulated(self) -> Run:
        """The same call on the simulated GPU, for hazards and counts."""
        measured = self.run.source == "measured"
        return self.attempt.run(self.request, on="simulated", may_fault=True) if measured else self.run

    @property
    def sectors(self) -> float:
        """Sectors per global load request."""
        return self.simulated.counters.global_load_sectors_per_request if self.simulated.counters else 0.0

    def found(self, kind: str, array: str | None = None) -> tuple[Hazard, ...]:
        """The hazards of this kind, on this array if one is named."""
        return tuple(h for h in self.simulated.hazards if h.kind == kind and array in (None, h.array))

    def outside(self, array: str, axis: int, size: int) -> bool:
        """Whether some access to the array was beyond `size` along this axis."""
        return any(h.index and h.index[axis] >= size for h in self.found("out_of_bounds", array))

    @property
    def strays(self) -> int:
        """How many accesses to global memory were outside their arrays."""
        return sum(each.occurrences for each in self.found("out_of_bounds") if each.space == "global")

    @property
    def never_launched(self) -> bool:
        return self.launch is None and self.run.fault is None

    @property
    def never_ended(self) -> bool:
        """Whether the run was stopped because it took too much work or time."""
        return never_ended(self.run.fault)


def never_ended(fault: KitError | None) -> bool:
    """Whether this is what ended a run that took too much work or time."""
    from autograder.simgpu.machine.launch_state import WorkLimit

    return isinstance(fault, WorkLimit) or (fault is not None and "took longer than" in fault.message)


class ProductEvidence(Evidence):
    """What the last run showed, in terms of C = A @ B with A (m, k) and B (k, n)."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        self.a, self.b = (self.request.arguments[name].astype(np.float64) for name in "ab")
        (self.m, self.k), self.n = self.a.shape, self.b.shape[1]

    def elsewhere(self, m: int, k: int, n: int) -> ProductEvidence:
        """What another product of small whole numbers shows on the simulated GPU: an experiment, to tell two
        misconceptions apart."""
        attempt, trials = self.attempt, list(self.trials)
        attempt.simulate(product(attempt, self.request.function, m, k, n), may_fault=True)
        other = type(self)(attempt)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return other

    @property
    def is_right(self) -> bool:
        """Whether the run ended and C is exactly the product (whole numbers: nothing is rounded)."""
        return self.run.fault is None and bool(np.array_equal(self.run.outputs["c"], self.a @ self.b))

    def gave(self, formula: Callable[[Matrix, Matrix], Matrix]) -> bool:
        """Whether the wrong output is exactly this formula of the inputs (whole numbers: nothing is rounded)."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem:
            return False
        try:
            guess = formula(self.a, self.b)
        except ValueError:  # shapes that do not go together
            return False
        return guess.shape == wrong.got.shape and bool(np.array_equal(guess, wrong.got))

    @property
    def past_k(self) -> bool:
        """Whether a sum ran past the end of a row of A or of a column of B."""
        return self.outside("a", 1, self.k) or self.outside("b", 0, self.k)

    @property
    def corner(self) -> tuple[int, int] | None:
        """(rows, columns) where exactly the top left corner of that size was written, and not all of C."""
        written = self.run.written.get("c")
        if written is None or written.all():
            return None
        rows, columns = int(written.any(axis=1).sum()), int(written.any(axis=0).sum())
        return (rows, columns) if written[:rows, :columns].all() and written.sum() == rows * columns else None

    @property
    def grid_along_wrong_axes(self) -> bool:
        """Whether the launch covers the transpose of C, and not C."""
        across, down = self.block[:2]
        covers = across and (self.across, self.down) == (-(-self.m // across) * across, -(-self.n // down) * down)
        return bool(covers) and (self.across < self.n or self.down < self.m)

    @property
    def lost_precision(self) -> bool:
        """Whether the elements are about right: to between two and six digits of what was summed."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem or (wrong.unwritten is not None and wrong.unwritten.any()):
            return False
        size = np.abs(self.a) @ np.abs(self.b)
        return bool(1e-6 < np.median(np.abs(wrong.got - wrong.expected) / size) < 1e-2)


def recogniser(
    evidence: type[Seen], example: Callable[[Attempt], RunRequest] | None = None
) -> Callable[..., Callable[[Callable[[Seen], bool]], Judge]]:
    """The decorator of a lab's hints, `misconception(*checks)`: the failed checks that it looks at (none named: all).

    `example`: what to simulate where a check only compared times, which does not show how the kernel was launched.
    """

    def misconception(*checks: str) -> Callable[[Callable[[Seen], bool]], Judge]:
        def mark(fits: Callable[[Seen], bool]) -> Judge:
            text = " ".join((inspect.getdoc(fits) or "").split())

            def recognise(attempt: Attempt) -> str | None:
                if example is not None and attempt.comparison is not None and not attempt.trials:
                    attempt.simulate(example(attempt), may_fault=True)
                seen = evidence(attempt) if attempt.trials else None
                return text.format(seen=seen) if seen and fits(seen) else None

            return hint(fits.__name__, checks=checks)(recognise)

        return mark

    return misconception

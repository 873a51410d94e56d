"""What a check expects of results and of counted work, the points that it gives, and what the report shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.grading.carrying_out import CarryingOut
from autograder.grading.closeness import Difference, compare_arrays, default_tolerance, describe
from autograder.grading.failures import CheckFailed
from autograder.grading.given import Beforehand
from autograder.grading.trials import Uncounted, as_it_was, errors_in
from autograder.records.results import Picture
from autograder.records.runs import Run


class Expectations(CarryingOut):
    """What an `Attempt` holds runs to, and its verdict."""

    def __init__(self, given: Beforehand) -> None:
        super().__init__(given)
        self.differences: list[Difference] = []  # of every `expect_close`, right or wrong
        self.measured: dict[str, Any] = {}  # numbers behind the verdict, for the report
        self.fraction: float | None = None  # of the points, set by `award`
        self.flags: list[str] = []
        self.pictures: list[Picture] = []
        self.unwritten: np.ndarray | None = None  # of an array that was to be written whole: what was left out
        self.unwritten_name = ""
        self._partly_written: dict[int, np.ndarray] = {}  # outputs of sampled blocks, by id: what they wrote

    def expect_close(
        self,
        got: np.ndarray,
        expected: np.ndarray,
        name: str = "",
        *,
        magnitude: np.ndarray | None = None,
        terms: int = 1,
        tolerance: float | None = None,
    ) -> None:
        """Fails the check unless every element of `got` is within `tolerance * magnitude` of `expected` (float64).

        `magnitude`: what was accumulated for each element, such as `abs(a) @ abs(b)`; without it, abs(expected) or its
        root mean square, whichever is larger. `terms`: how many products went into a sum; the default tolerance is
        4 * sqrt(terms) roundings of `got`'s type. Whole numbers must be equal. NaN never passes.
        """
        if tolerance is None:
            tolerance = default_tolerance(got.dtype, terms)
        if id(got) in self._partly_written:
            known = self._partly_written[id(got)]
            sizes = None if magnitude is None else magnitude[known]
            if got.shape == np.shape(expected) and (magnitude is not None or tolerance == 0):  # few of many elements
                if compare_arrays(name, got[known], np.asarray(expected)[known], tolerance, sizes).is_close:
                    return
            got = np.where(known, got, np.asarray(expected).astype(got.dtype))
        trial, found_name = self._origin(got)
        written = trial.run.written.get(found_name) if trial else None
        difference = compare_arrays(name or found_name or "result", got, expected, tolerance, magnitude, written)
        self.differences.append(difference)
        if not difference.is_close:
            hazards = errors_in(trial.run) if trial else ()
            raise CheckFailed(describe(difference), mismatches=difference.mismatches, hazards=hazards)

    def known_of(self, output: np.ndarray) -> np.ndarray | None:
        """Which elements of an output are looked at, where blocks were sampled; None: all of them.

        What nobody looks at need not be worked out: `expect_close` passes over it, whatever is expected there.
        """
        return self._partly_written.get(id(output))

    @property
    def wrong(self) -> Difference | None:
        """The comparison that failed, with `expected`, `got` and the mask `wrong`."""
        return next((each for each in reversed(self.differences) if not each.is_close), None)

    def expect_every_element_written(self, run: Run, name: str) -> None:
        """Fails the check where the submission left elements of the `Uninitialised` argument `name` as they were."""
        written = run.written[name]
        if not written.all():
            first = tuple(int(i) for i in np.argwhere(~written)[0])
            missing = int((~written).sum())
            self.unwritten, self.unwritten_name = ~written, name
            index = ", ".join(map(str, first))
            raise CheckFailed(
                f"{name}[{index}] was never written; {missing:,} of {written.size:,} elements are left out.",
                hazards=errors_in(run),
            )

    def expect_inputs_unchanged(self, run: Run, names: Sequence[str] | None = None) -> None:
        """Fails the check where the submission wrote to an array that it was only to read (default: every input)."""
        request = self._request(run)
        for name in names or [key for key, value in request.arguments.items() if isinstance(value, np.ndarray)]:
            before, after = request.arguments[name], run.outputs.get(name)
            if after is None or after is before or before.tobytes() == np.ascontiguousarray(after).tobytes():
                continue
            differs = np.atleast_1d(~((before == after) | ((before != before) & (after != after))))
            index = ", ".join(str(int(i)) for i in np.argwhere(differs)[0]) if differs.any() else "0"
            raise CheckFailed(f"The input `{name}` was written to, first at {name}[{index}]; inputs are only read.")

    def expect_no_hazards(self, run: Run, kinds: Sequence[str] | None = None) -> None:
        """Fails the check where the run shows one of these kinds of hazard (default: every one that is an error).

        A run on a real GPU shows none, so its request is simulated first.
        """
        if run.source == "measured":
            run = self.run(self._request(run), on="simulated", may_fault=True)
        found = [each for each in run.hazards if (each.kind in kinds if kinds else each.severity == "error")]
        if found:
            more = f" ({len(found) - 1} more below)" if len(found) > 1 else ""
            raise CheckFailed(f"{found[0]}{more}", hazards=found)
        if run.fault is not None:
            raise CheckFailed(str(run.fault))

    def expect_at_most(self, what: str, value: float, limit: float, advice: str = "") -> None:
        """Records a counted number ("sectors per load request") and fails the check where it is over `limit`."""
        self.record(**{what.replace(" ", "_"): value, "limit": limit})
        if not value <= limit:
            raise CheckFailed(f"{value:.4g} {what}, at most {limit:.4g} asked for.{' ' + advice if advice else ''}")

    def expect_some_work(self, run: Run, least: float, what: str) -> None:
        """Fails the check where kernels carried out fewer operations than `least`, so that no slip could show.

        `what`: the words for the work. It gives nobody anything: what is to earn something is `counted`.
        """
        self._expect_launches(run)
        run = as_it_was(run)
        done = run.counted.operations if run.counted is not None else 0
        if done < least:
            why = f"The kernels do only {done:,} operations{_share(done, least)}: {what}."
            raise CheckFailed(str(run.fault) if run.fault is not None else why)

    def expect_no_more_work(self, run: Run, times: float, needed: int, what: str) -> None:
        """Fails the check where kernels carried out far more operations than are needed; see `expect_some_work`."""
        self._expect_launches(run)
        counters = as_it_was(run).counted
        extra = counters.operations / needed if counters is not None else 0.0
        self.record(operations_over_needed=extra)
        if extra > times:
            raise CheckFailed(f"The kernel does {extra:,.0f} times the operations that {what}.")

    def _expect_launches(self, run: Run) -> None:
        if isinstance(run, Uncounted) and run.why_nothing is not None:
            raise run.why_nothing

    def award(self, fraction: float | None) -> None:
        """Gives this part of the check's points (0 to 1), whether it then passes or fails; None: all or nothing."""
        self.fraction = None if fraction is None else float(min(max(fraction, 0.0), 1.0))

    def record(self, **numbers: Any) -> None:
        """Keeps numbers behind the verdict for the report."""
        self.measured.update(numbers)

    def show(self, picture: Picture) -> None:
        """Adds a picture to the check's report."""
        self.pictures.append(picture)


def _share(done: int, least: float) -> str:
    return f", {done / least:.0%} of the least that there is" if least else ""

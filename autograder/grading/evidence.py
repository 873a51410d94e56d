"""What a failed check showed, for hints to recognise: `Evidence`, what it says of a matrix product, and `recogniser`.

A lab's hints.py makes its decorator with `misconception = recogniser(ProductEvidence)`. Each hint is then one function
whose name is the misconception's, whose docstring is what the student reads (with numbers from the evidence filled in),
and which returns whether the evidence fits. What it is seen by is declared beside it: `shows=`, one of witness.py's.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np

from autograder.errors import FaultKind, KernelFault, KitError, WorkLimit
from autograder.grading.attempt import Attempt
from autograder.grading.products import product
from autograder.grading.spec import HintJudge, hint
from autograder.grading.witness import LaneStep, Witness
from autograder.records.accesses import Access, AccessKind
from autograder.records.counters import Counters
from autograder.records.hazards import Hazard
from autograder.records.results import Hint
from autograder.records.runs import Launch, Run, RunRequest, Uninitialised

ABOUT_RIGHT = 0.1  # of a typical element: further off, the result is another one, and not a less exact one
GETS_ON: set[FaultKind] = {"still_going", "out_of_time"}  # or may have: nobody saw that it does not
Matrix = np.ndarray
Seen = TypeVar("Seen", bound="Evidence")
Product = TypeVar("Product", bound="ProductEvidence")


class Evidence:
    """What the last run of a failed check showed.

    `looks_at`: the array that tells the launch in question from others, among the request's; none named: what it leaves to
    the submission to fill.
    """

    looks_at: str = ""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.trials = attempt.trials
        self.last = self.trials[-1]
        self.request, self.run = self.last.request, self.last.run

    @cached_property
    def launch(self) -> Launch | None:
        """The launch in question, where there was one."""
        return self.in_question(self.run)

    @cached_property
    def simulated_launch(self) -> Launch | None:
        """The same as the simulated GPU carries it out."""
        return self.in_question(self.simulated)

    def in_question(self, run: Run) -> Launch | None:
        """The launch that computes what this run of the same function is asked for; others clear, pad, copy or do nothing.

        Of the launches that were given the array looked at it is the one that was given most of the request's arrays, and
        of such the one with most threads, the first of equals.
        """
        left_open = {name for name, each in self.request.arguments.items() if isinstance(each, Uninitialised)}
        results = {self.looks_at} if self.looks_at else left_open

        def nearness(launch: Launch) -> tuple[bool, int, int]:
            return not results.isdisjoint(launch.arrays), len(launch.arrays), threads_of(launch)

        return max(run.launches, key=nearness, default=None)

    @cached_property
    def at_work(self) -> tuple[Launch, ...]:
        """The launches that asked global memory for something, as the simulated GPU counts them."""

        def asked(each: Counters) -> int:
            return each.global_load_requests + each.global_store_requests + each.global_atomic_requests

        return tuple(each for each in self.simulated.launches if each.counted is not None and asked(each.counted))

    @property
    def grid(self) -> tuple[int, int, int]:
        return self.launch.grid if self.launch else (0, 0, 0)

    @property
    def block(self) -> tuple[int, int, int]:
        return self.launch.block if self.launch else (0, 0, 0)

    @property
    def across(self) -> int:
        """Threads along x."""
        return self.grid[0] * self.block[0]

    @property
    def down(self) -> int:
        """Threads along y."""
        return self.grid[1] * self.block[1]

    @property
    def threads(self) -> int:
        return threads_of(self.launch) if self.launch else 0

    @cached_property
    def simulated(self) -> Run:
        """The same call on the simulated GPU, for hazards and counts."""
        measured = self.run.source == "measured"
        return self.attempt.run(self.request, on="simulated", may_fault=True) if measured else self.run

    def overtaken(self, space: str, later: Literal["reads", "writes"]) -> tuple[Hazard, ...]:
        """Races of a thread that reads with one that writes, where this is what the later one of the two does."""
        races = (each for each in self.found("race") if each.severity == "error" and space in ("", each.space))
        did = {"reads": ("load", True), "writes": ("store", False)}[later]
        return tuple(each for each in races if (each.access, each.other_writes) == did)

    @property
    def same_along_y(self) -> bool:
        """Whether threads of a block that differ along y alone store into the same elements: an experiment."""
        across = self.block[0]
        stored: dict[tuple[int, int], dict[int, int]] = {}  # by step and x: y -> address
        for each in self.accesses("store"):
            if each.block == (0, 0, 0):
                for lane in np.flatnonzero(each.addresses >= 0):
                    y, x = divmod(32 * each.warp + int(lane), across)
                    stored.setdefault((each.step, x), {})[y] = int(each.addresses[lane])
        several = [places for places in stored.values() if len(places) > 1]
        return bool(several) and all(len(set(places.values())) == 1 for places in several)

    @property
    def runs_on(self) -> bool:
        """Whether the run took too much work and nothing showed that it got on, nor explains it a grid of far too many
        threads; or more time than a GPU takes for anything."""
        if not self.never_ended:
            return False  # before it is simulated: on a GPU that is a run of its own, which later hints would look at
        largest = max((each.size for each in self.request.arguments.values() if isinstance(each, np.ndarray)), default=0)
        ended = [each.launches[-1] for each in (self.run, self.simulated) if each.launches]  # the launches before it did
        threads = max(map(threads_of, ended), default=0)
        ends = {each.kind for each in (self.run.fault, self.simulated.fault) if isinstance(each, KernelFault)}
        return not ends & GETS_ON and threads < 64 * max(largest, 1024)

    def accesses(self, kind: AccessKind, space: str = "global") -> list[Access]:
        """The first loads, or stores, of each line that makes any, lines with most of them first: an experiment."""
        requests = f"{space}_{kind}_requests"
        lines = [each for each in self.simulated.lines if getattr(each.counters, requests)]
        lines.sort(key=lambda each: -int(getattr(each.counters, requests)))
        runs = (self.attempt.trace(replace(self.request, traced_line=each.line)) for each in lines)
        return [each for run in runs for each in run.accesses if (each.kind, each.space) == (kind, space)]

    def lane_steps(self, kind: AccessKind, space: str = "global") -> list[LaneStep]:
        """How far apart neighbouring lanes load, or store, at each line, and in each array: an experiment."""
        requests = f"{space}_{kind}_requests"
        found = []
        for line in (each.line for each in self.simulated.lines if getattr(each.counters, requests)):
            run = self.attempt.trace(replace(self.request, traced_line=line))
            apart: dict[tuple[str, tuple[int, ...]], Counter[int]] = {}
            for each in run.accesses:
                if (each.kind, each.space) == (kind, space):
                    both = (each.addresses[:-1] >= 0) & (each.addresses[1:] >= 0)
                    steps = (np.diff(each.addresses) // each.itemsize)[both]
                    apart.setdefault((each.array, each.shape), Counter()).update(steps.tolist())
            for (array, shape), counted in apart.items():
                step, often = counted.most_common(1)[0] if counted else (0, 0)
                if 2 * often > counted.total():
                    found.append(LaneStep(line, array, shape, step))
        return found

    @property
    def sectors(self) -> float:
        """Sectors per global load request."""
        return self.simulated.counters.global_load_sectors_per_request if self.simulated.counted else 0.0

    def found(self, kind: str, array: str | None = None) -> tuple[Hazard, ...]:
        """The hazards of this kind, on this array if one is named."""
        return tuple(h for h in self.simulated.hazards if h.kind == kind and array in (None, h.array))

    def outside(self, array: str, axis: int, size: int) -> bool:
        """Whether some access to the array was beyond `size` along this axis, and not to a flat view of it, whose index does
        not tell along which."""
        axes = self.request.arguments[array].ndim
        found = (each.index or () for each in self.found("out_of_bounds", array))
        return any(len(index) == axes and index[axis] >= size for index in found)

    @property
    def names_absent_lanes(self) -> bool:
        """Whether a shuffle, vote or match named lanes of its warp that did not come to it."""
        return any(each.absent and each.barrier == "exchange" for each in self.found("divergent_barrier"))

    @property
    def strays(self) -> int:
        """How many accesses to global memory were outside their arrays."""
        return sum(each.occurrences for each in self.found("out_of_bounds") if each.space == "global")

    @property
    def ended_by(self) -> FaultKind:
        """Which fault ended the run; empty where none did, or one that no hint tells from others."""
        return self.run.fault.kind if isinstance(self.run.fault, KernelFault) else ""

    @property
    def never_launched(self) -> bool:
        return self.launch is None and self.run.fault is None

    @property
    def never_ended(self) -> bool:
        """Whether the run was stopped because it took too much work or time."""
        return never_ended(self.run.fault)


def threads_of(launch: Launch) -> int:
    return int(np.prod(launch.grid) * np.prod(launch.block))


def never_ended(fault: KitError | None) -> bool:
    """Whether this is what ended a run that took too much work or time."""
    return isinstance(fault, WorkLimit)


class ProductEvidence(Evidence):
    """What the last run showed, in terms of C = A @ B with A (m, k) and B (k, n)."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        self.a: Matrix = self.request.arguments["a"].astype(np.float64)
        self.b: Matrix = self.request.arguments["b"].astype(np.float64)
        self.m, self.k, self.n = int(self.a.shape[0]), int(self.a.shape[1]), int(self.b.shape[1])
        self._elsewhere: dict[tuple[int, int, int], ProductEvidence] = {}  # by sizes: what was tried there

    def elsewhere(self: Product, m: int, k: int, n: int) -> Product:
        """What another product of small whole numbers shows on the simulated GPU: an experiment, to tell two
        misconceptions apart."""
        if (m, k, n) not in self._elsewhere:
            attempt, trials = self.attempt, list(self.trials)
            attempt.simulate(product(attempt, self.request.function, m, k, n), may_fault=True)
            self._elsewhere[m, k, n] = type(self)(attempt)
            attempt.trials[:] = trials  # the attempt is still about what failed
        found = self._elsewhere[m, k, n]
        assert isinstance(found, type(self))
        return found

    @property
    def is_right(self) -> bool:
        """Whether the run ended and C is exactly the product (whole numbers: nothing is rounded)."""
        return self.run.fault is None and bool(np.array_equal(self.run.outputs["c"], self.a @ self.b))

    def gave(self, formula: Callable[..., Matrix]) -> bool:
        """Whether the wrong output is exactly this formula of A and B (whole numbers: nothing is rounded).

        Further parameters of the formula have defaults: what it is made for in a loop, such as the side of a tile.
        """
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
    def past_both(self) -> bool:
        """Whether it ran past both, as where the loop is too long and no index is off by itself."""
        return self.outside("a", 1, self.k) and self.outside("b", 0, self.k)

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
        """Whether the elements are about right, nearly all of them: to between two and six digits of what was summed."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem or (wrong.unwritten is not None and wrong.unwritten.any()):
            return False
        size, off = np.abs(self.a) @ np.abs(self.b), np.abs(wrong.got - wrong.expected)
        typical = float(np.sqrt(np.mean(np.square(wrong.expected, dtype=np.float64))))
        # Sums of numbers of both signs are small beside what was summed: others than these look nearly right there.
        return bool(1e-6 < np.median(off / size) < 1e-2 and np.quantile(off, 0.99) < ABOUT_RIGHT * typical)


def _evidence_of(attempt: Attempt, kind: type[Seen]) -> Seen:
    """What the attempt's last run showed: the same for all hints, so that what one of them tried no other tries again."""
    known: Seen | None = attempt.evidence.get(kind)
    if known is None or known.last is not attempt.trials[-1]:
        known = attempt.evidence[kind] = kind(attempt)
    return known


def recogniser(
    evidence: type[Seen], example: Callable[[Attempt], RunRequest] | None = None
) -> Callable[..., Callable[[Callable[[Seen], bool]], HintJudge]]:
    """The decorator of a lab's hints, `misconception(*checks, shows=witness)`.

    `checks`: the failed checks that it looks at (none named: all). `shows`: what the hint is seen by; it is given where the
    function finds that the evidence fits and the witness has something to name, and never without.
    `example`: what to simulate where a check only compared times, which does not show how the kernel was launched.
    """

    def misconception(*checks: str, shows: Witness) -> Callable[[Callable[[Seen], bool]], HintJudge]:
        def mark(fits: Callable[[Seen], bool]) -> HintJudge:
            text = " ".join((inspect.getdoc(fits) or "").split())

            def recognise(attempt: Attempt) -> Hint | None:
                if example is not None and attempt.compared is not None and not attempt.trials:
                    attempt.simulate(example(attempt), may_fault=True)
                if not attempt.trials:
                    return None
                seen = _evidence_of(attempt, evidence)
                if shows.is_at_hand and not shows.look(seen) or not fits(seen):
                    return None
                witness = shows.look(seen)
                return Hint(fits.__name__, text.format(seen=seen), witness) if witness else None

            return hint(fits.__name__, checks=checks, shows=shows.kind)(recognise)

        return mark

    return misconception

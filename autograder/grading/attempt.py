"""An `Attempt`: what a check does with a submission, and all that was seen while it did (hints read that).

The check runs here, in the grader; every run of the submission goes through a `Runner`, in practice a worker process.
Expected values never leave this process.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from autograder.errors import BrokenDefinition, GraderFault, KitError, NotCarriedOut, NotCounted
from autograder.grading.closeness import Difference, compare_arrays, default_tolerance, describe
from autograder.grading.failures import CheckFailed, NothingCounted, Unverified, WorkLeftOut
from autograder.grading.kept import KEPT
from autograder.grading.reproduction import reproduction
from autograder.grading.speed_verdict import verdict_of
from autograder.grading.trials import (
    Compared,
    Place,
    Runner,
    Trial,
    Uncounted,
    as_it_was,
    errors_in,
    for_checks,
    sizes_of,
)
from autograder.records.hazards import Hazard
from autograder.records.results import Picture
from autograder.records.runs import (
    ROUND_REQUESTS,
    WARM_UP_REQUESTS,
    Comparison,
    Run,
    RunRequest,
    Sample,
    Source,
    Uninitialised,
)
from autograder.records.transfers import HOST_WORK

Outputs = Mapping[str, np.ndarray]
# Holds what a function left in its arrays to what is right, and raises `CheckFailed` where it is not.
Judgement = Callable[["Attempt", RunRequest, Outputs], None]
DRAWN_AT_ONCE = 1 << 20  # random numbers
OF_ORDER = ("race", "divergent_barrier")  # kinds of hazards that sampled blocks have by themselves
LEAST_COVERED = 0.95  # of a result, judged by sampled blocks, some of which may lie beyond its edges
LOOK_AGAIN = 8  # times as many blocks are sampled where fewer seem to cover less
Recipes = dict[int, tuple[np.ndarray, str]]  # how an array was made, by its identity


@dataclass
class SharedRuns:
    """The runs that several checks of one submission look at, each carried out once; see `Attempt.once`."""

    generator: Callable[[str], np.random.Generator]  # the inputs' random numbers, by the run's name
    known: dict[tuple[str, Place], tuple[Trial, Recipes]] = field(default_factory=dict)
    compared: dict[str, tuple[RunRequest, Compared, Recipes, tuple[str, ...]]] = field(default_factory=dict)


class Attempt:
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
        self.check = check  # name of the check
        self.results = dict(results or {})  # by function: what its results are held to, see `Lab.results`
        self.rng = rng  # seeded by lab, check and the (secret) seed
        self.sources = dict(sources or {})  # the submission's functions: name -> source text, to read and never to run
        self.unusable = dict(unusable or {})  # functions that the lab asks for and cannot call, with what is wrong
        self.broken: BrokenDefinition | None = None  # what the check came to and could not use
        self.unverified: Unverified | None = None  # the first that the check asked of a run that was not verified
        self._trials: list[Trial] = []
        self.shown: list[Hazard] = []  # by all its whole runs that are simulated on every device; see unnoticed.py
        self.differences: list[Difference] = []  # of every `expect_close`, right or wrong
        self.compared: Compared | None = None  # by the last `speedup`
        self.measured: dict[str, Any] = {}  # numbers behind the verdict, for the report
        self.failure: CheckFailed | None = None  # set once the check has failed
        self.fraction: float | None = None  # of the points, set by `award`
        self.flags: list[str] = []
        self.pictures: list[Picture] = []
        self.unwritten: np.ndarray | None = None  # of an array that was to be written whole: what was left out
        self.unwritten_name = ""
        self.evidence: dict[type, Any] = {}  # what hints have made of it: see evidence.py
        self._traced: dict[tuple[Any, ...], tuple[RunRequest, Run]] = {}
        self._runner = runner
        self._shared = shared or SharedRuns(lambda name: rng)
        self._partly_written: dict[int, np.ndarray] = {}  # outputs of sampled blocks, by id: what they wrote
        self._recipes: Recipes = {}
        self._keeps = True  # what is drawn, for other submissions

    @property
    def comparison(self) -> Comparison:
        """What the last `speedup` found; raises `NotCounted` before there was one: `compared` is then None."""
        if self.compared is None:
            raise NotCounted(f"Nothing was timed in {self.check}, so there is no comparison to look at.",
                             remedy="Ask for it after `speedup`, or look at `compared` first.")  # fmt: skip
        return self.compared.comparison

    @property
    def trials(self) -> list[Trial]:
        """The runs so far: as the check got them while it is at work, and whole for hints, which earn nothing."""
        return [for_checks(each, self._refuse) for each in self._trials] if self.failure is None else self._trials

    def forget_runs(self) -> None:
        """Hints and the report are about what comes from now on."""
        self._trials.clear()

    @property
    def source(self) -> Source:
        """What kind of times `speedup` compares here."""
        return self._runner.source

    # ---- inputs ----------------------------------------------------------------------------------

    def drawn(self, low: int, high: int, step: int = 1) -> int:
        """A whole number from `low` to `high`, both included, in steps: the size of a run that counts or is timed.

        It is the seed's, so that no submission can know it and do something else there.
        """
        return low + step * int(self.rng.integers((high - low) // step + 1))

    def uniform(
        self, shape: tuple[int, ...] | int, dtype: Any = np.float32, low: float = -1.0, high: float = 1.0
    ) -> np.ndarray:
        """Random numbers in [low, high), read-only; the report can say how to make the same array again."""
        seed = int(self.rng.integers(2**31))
        recipe = f"np.random.default_rng({seed}).uniform({low}, {high}, {shape}).astype(np.{np.dtype(dtype)})"

        def make() -> np.ndarray:
            rng = np.random.default_rng(seed)
            return _random_array(shape, dtype, lambda count: rng.uniform(low, high, count))

        return self.made(recipe, make)

    def integers(self, low: int, high: int, shape: tuple[int, ...] | int, dtype: Any = np.int32) -> np.ndarray:
        """Random whole numbers in [low, high), read-only and reproducible as with `uniform`."""
        seed = int(self.rng.integers(2**31))
        recipe = f"np.random.default_rng({seed}).integers({low}, {high}, {shape}).astype(np.{np.dtype(dtype)})"

        def make() -> np.ndarray:
            rng = np.random.default_rng(seed)
            return _random_array(shape, dtype, lambda count: rng.integers(low, high, count))

        return self.made(recipe, make)

    def sample(self, blocks: int) -> Sample:
        """So many blocks of the simulated GPU for a request that is too large for all, where nobody can foresee."""
        return {"sample_blocks": blocks, "sample_seed": int(self.rng.integers(2**31))}

    def made(self, recipe: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """The array that this expression in NumPy makes, and `make` as well: read-only, since the next submission gets
        the same one where it has the same seed. The report can make it again."""
        if self._keeps:
            return self.remember(KEPT.drawn(recipe, make), recipe)
        array = make()
        array.flags.writeable = False
        return self.remember(array, recipe)

    def remember(self, array: np.ndarray, recipe: str) -> np.ndarray:
        """The array, which the report can make again by this expression in NumPy."""
        self._recipes[id(array)] = (array, recipe)
        return array

    # ---- running the submission ------------------------------------------------------------------

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

    def _refuse(self, unverified: Unverified) -> NoReturn:
        """The check asks for work that it has not verified: kept, so that nothing it does afterwards hides that."""
        self.unverified = self.unverified or unverified
        raise unverified

    def _carry_out(self, trial: Trial, may_fault: bool, on: Place) -> None:
        self._trials.append(trial)
        if self.failure is None and on == "simulated" and trial.request.sample_blocks is None:
            self.shown += trial.run.hazards
        self._expect_usable(trial.run.fault)
        if trial.run.fault is not None and not may_fault:
            raise CheckFailed(str(trial.run.fault), hazards=errors_in(trial.run))

    def need(self, function: str) -> None:
        """Fails the check where the lab asks for this function and the submission has none that will do.

        A check that runs a function need not ask. One that looks for a kernel among the launches of others does.
        """
        self._expect_usable(self.unusable.get(function))

    def _expect_usable(self, fault: KitError | None) -> None:
        """Fails the check, also where it may fault: a function that cannot be used shows nothing of what it looks at."""
        if isinstance(fault, BrokenDefinition) and self.failure is None:  # else it is a hint that asks
            self.broken = fault
            raise CheckFailed(str(fault))

    def go_on_with(self, runner: Runner) -> None:
        """From now on the submission runs there: hints and pictures may ask for more."""
        self._runner = runner

    def trace(self, request: RunRequest) -> Run:
        """Simulates a request for a picture of it, or for a hint: no trial of the check, and nothing that it does can fail
        it. The same again, as hints ask for it one after the other, is what it was."""
        # Requests that are kept hold their arguments, so that nobody else's can have the same id.
        key = tuple(id(value) if name == "arguments" else value for name, value in vars(request).items())
        if key not in self._traced:
            self._traced[key] = request, self._runner.run(request, "simulated")
        return self._traced[key][1]

    # ---- expectations ----------------------------------------------------------------------------

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

    def speedup(
        self,
        draw: Callable[[], RunRequest],
        *,
        threshold: float,
        full_points_at: float | None = None,
        no_points_at: float = 1.0,
        best_known: float | None = None,
        launches_only: bool = False,
        forbidden: Container[str] = (),
        element_by_element: bool = False,
        shorter: Callable[[], RunRequest] | None = None,
        once: str = "",
    ) -> str:
        """Fails the check unless the submission is `threshold` times as fast as the lab's baseline, or as the library's
        function that its request names.

        Points are a ramp: none at `no_points_at`, all at `full_points_at` (default: the threshold), in proportion
        between. `draw` makes a request with inputs of its own, of one shape: it is called for each timed call, whose
        output is held to the lab's `results`. `element_by_element`: each element of the result is written once, by one
        block, so that what sampled blocks of a simulated GPU wrote can be looked at as well, the rest taken as right;
        launches that build on one another then find what they read. Where that is too much to be carried out, `shorter`
        makes a request whose results are verified instead, or somebody is to look. `launches_only`: host code may ask for
        nothing else where it is timed, or for nothing that is `forbidden` (names as of `Transfer.what`, and `HOST_WORK`).
        `best_known`: the ratio of the lab's best answer; far above it somebody is to look. `once`: a name for the
        comparison, where several checks ask something of the same one: it is made, and verified, for the first of them, and
        a clock stops where it is clear of that one's threshold. Returns the line to show when it passed.
        """
        if once and once in self._shared.compared:
            request, self.compared, self._recipes, flags = self._shared.compared[once]
            comparison = self.compared.comparison
            self.flags += flags
        else:
            before = len(self.flags)
            request, comparison = self._compare(
                lambda: replace(draw(), least_ratio=no_points_at), threshold, element_by_element
            )
            if comparison.sampled is not None and element_by_element:
                self._verify_sampled(request, comparison.sampled, shorter)
            if once and self.compared is not None:
                self._shared.compared[once] = request, self.compared, self._recipes, tuple(self.flags[before:])
        for each in comparison.transfers:
            if launches_only or each.what in forbidden or HOST_WORK in forbidden and each.is_host_work:
                self.measured.clear()
                size = f" ({each.size_bytes:,} bytes)" if each.size_bytes else ""
                raise CheckFailed(
                    f"{each.line}: where it is timed the host asks for {each.what}{size} beside launching.", earned=0
                )
        if comparison.launches == 0:
            function, sizes = request.function, sizes_of(request)
            raise NothingCounted(f"`{function}` launches no kernel{sizes}: nothing was timed.")
        if not np.isfinite(comparison.ratio):
            raise GraderFault("The device gave no time for this comparison.")
        whose = "the baseline" if request.library is None else request.library.name
        verdict = verdict_of(
            comparison, self.check, whose, threshold=threshold, full_points_at=full_points_at or threshold,
            no_points_at=no_points_at, best_known=best_known,
        )  # fmt: skip
        self.record(**verdict.numbers)
        if comparison.sampled is not None:
            self._show_estimate(comparison.sampled)
        self.flags += verdict.flags
        self.award(verdict.fraction)
        if not verdict.passed:
            raise CheckFailed(verdict.line)
        return verdict.line

    def _compare(
        self, draw: Callable[[], RunRequest], threshold: float, follows_reads: bool
    ) -> tuple[RunRequest, Comparison]:
        """The first request and the comparison: a GPU times it round by round, each call on inputs that no other had.

        Both outputs of a round are verified before the inputs of the next are drawn, so that only those of a round are
        held, by the process too. Raises `CheckFailed` over the submission's fault, and over an output that is wrong.
        """
        self._keeps = self.source != "measured"
        requests = self._drawn(draw, 1, (), follows_reads)
        first, recipes = requests[0], dict(self._recipes)
        self.need(first.function)
        if self.source == "measured":
            requests += self._drawn(draw, WARM_UP_REQUESTS - 1 + ROUND_REQUESTS, requests, follows_reads)
        goes_on: dict[str, bool] = {}
        while True:
            comparison = self._runner.compare(requests, threshold, **goes_on)
            self._take(Compared([first], threshold, comparison), requests)
            if not comparison.goes_on:
                self.flags += comparison.flags
                return first, comparison
            # What was right is let go, with the inputs of this round; of those the last is held against the next.
            comparison = replace(comparison, outputs=(), request_of_output=())
            self.compared, requests, goes_on = Compared([first], threshold, comparison), requests[-1:], {"goes_on": True}
            self._recipes = dict(recipes)
            self.differences.clear()
            requests = self._drawn(draw, ROUND_REQUESTS, requests, follows_reads)

    def _drawn(
        self, draw: Callable[[], RunRequest], count: int, before: Sequence[RunRequest], follows_reads: bool
    ) -> list[RunRequest]:
        """So many requests, none like the one before it; raises `GraderFault` where a lab gives the same inputs again."""
        requests = list(before)
        for _ in range(count):
            request = draw()
            if requests and _has_the_same_inputs(request, requests[-1]):
                raise GraderFault(
                    f"{self.check} times `{request.function}` on the same inputs again.",
                    remedy="Draw them in the function that `speedup` is given: it is called for each timed call.",
                )
            follows = request.follows_reads or follows_reads
            requests.append(replace(request, follows_reads=follows, looks_for_kinds=follows_reads))
        return requests[len(before) :]

    def _take(self, compared: Compared, requests: Sequence[RunRequest]) -> None:
        """Keeps what a round on these requests gave, and verifies the output of each timed call."""
        comparison, self.compared = compared.comparison, compared
        self._expect_usable(comparison.fault)
        if isinstance(comparison.fault, NotCarriedOut):  # its author's failure, or ours: somebody has to look
            self.flags.append(f"{self.check}: {comparison.fault}")
        if comparison.fault is not None:
            self.flags += comparison.flags
            raise CheckFailed(str(comparison.fault))
        timed = range(len(requests))[-ROUND_REQUESTS:]  # before them is what it warmed up on
        if comparison.rounds and sorted(comparison.request_of_output) != list(timed):
            raise GraderFault("The device did not give the output of each call that it timed.")
        try:
            for which, outputs in zip(comparison.request_of_output, comparison.outputs, strict=True):
                self.verify(requests[which], outputs)
        except CheckFailed:
            self.flags += comparison.flags
            raise

    def _show_estimate(self, run: Run) -> None:
        """Draws what the longest launch needs of each resource, and where it lies under the GPU's roof."""
        from autograder.figures.estimates import kernel_on_roofline, resource_bars

        launch = max(run.launches, key=lambda each: each.estimated_ns or 0, default=None)
        if launch is None or launch.estimate is None:
            return
        for figure in (resource_bars(launch.estimate), kernel_on_roofline(launch.estimate, launch.kernel)):
            if figure is not None:
                self.show(Picture(figure.svg, figure.alt))

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

    # ---- verdict ---------------------------------------------------------------------------------

    def award(self, fraction: float | None) -> None:
        """Gives this part of the check's points (0 to 1), whether it then passes or fails; None: all or nothing."""
        self.fraction = None if fraction is None else float(min(max(fraction, 0.0), 1.0))

    def record(self, **numbers: Any) -> None:
        """Keeps numbers behind the verdict for the report."""
        self.measured.update(numbers)

    def show(self, picture: Picture) -> None:
        """Adds a picture to the check's report."""
        self.pictures.append(picture)

    # ---- what was observed -----------------------------------------------------------------------

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """Hazards of every run so far."""
        return tuple(each for trial in self._trials for each in trial.run.hazards)

    @property
    def fault(self) -> KitError | None:
        """What ended the last run, if the submission did."""
        return self._trials[-1].run.fault if self._trials else None

    @property
    def wrong(self) -> Difference | None:
        """The comparison that failed, with `expected`, `got` and the mask `wrong`."""
        return next((each for each in reversed(self.differences) if not each.is_close), None)

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


def _has_the_same_inputs(one: RunRequest, other: RunRequest) -> bool:
    """Whether each array that two requests give is the same one, or holds the same; not where they give none."""
    arrays = {name: value for name, value in one.arguments.items() if isinstance(value, np.ndarray) and value.ndim}
    others = {name: other.arguments.get(name) for name in arrays}
    return bool(arrays) and all(
        isinstance(again, np.ndarray) and (again is arrays[name] or np.array_equal(again, arrays[name]))
        for name, again in others.items()
    )


def _share(done: int, least: float) -> str:
    return f", {done / least:.0%} of the least that there is" if least else ""


def _random_array(shape: tuple[int, ...] | int, dtype: Any, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """An array of random numbers, the same as drawn at once, without the same again in float64 or int64 beside it."""
    array = np.empty(shape, dtype)
    flat = array.reshape(-1)
    for start in range(0, flat.size, DRAWN_AT_ONCE):
        count = min(DRAWN_AT_ONCE, flat.size - start)
        flat[start : start + count] = draw(count).astype(dtype)
    return array


__all__ = ["Attempt", "CheckFailed", "Place", "Runner", "Trial", "Uninitialised"]

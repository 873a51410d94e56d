"""Speed: the submission against the lab's baseline, or a library's function, with every output that was timed verified."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

import numpy as np

from autograder.errors import GraderFault, NotCarriedOut, NotCounted
from autograder.grading.failures import CheckFailed, NothingCounted
from autograder.grading.given import Beforehand
from autograder.grading.speed_verdict import verdict_of
from autograder.grading.trials import Compared, sizes_of
from autograder.grading.verification import Verification
from autograder.records.results import Picture
from autograder.records.runs import ROUND_REQUESTS, WARM_UP_REQUESTS, Comparison, Run, RunRequest
from autograder.records.transfers import HOST_WORK


class SpeedComparison(Verification):
    """What an `Attempt` compares."""

    def __init__(self, given: Beforehand) -> None:
        super().__init__(given)
        self.compared: Compared | None = None  # by the last `speedup`
        self._shared = given.shared

    @property
    def comparison(self) -> Comparison:
        """What the last `speedup` found; raises `NotCounted` before there was one: `compared` is then None."""
        if self.compared is None:
            raise NotCounted(f"Nothing was timed in {self.check}, so there is no comparison to look at.",
                             remedy="Ask for it after `speedup`, or look at `compared` first.")  # fmt: skip
        return self.compared.comparison

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
        makes a request whose results are verified instead, or nothing is earned. `launches_only`: host code may ask for
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


def _has_the_same_inputs(one: RunRequest, other: RunRequest) -> bool:
    """Whether each array that two requests give is the same one, or holds the same; not where they give none."""
    arrays = {name: value for name, value in one.arguments.items() if isinstance(value, np.ndarray) and value.ndim}
    others = {name: other.arguments.get(name) for name in arrays}
    return bool(arrays) and all(
        isinstance(again, np.ndarray) and (again is arrays[name] or np.array_equal(again, arrays[name]))
        for name, again in others.items()
    )

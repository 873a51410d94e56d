"""The verdict on speed as every report tells it, from the numbers that a speed check leaves in `CheckResult.measured`.

A check is a speed check when its `measured` holds `ratio` and `threshold`. Beside them, where known: `low` and `high`
(the interval: of repeats, or of a prediction), `full_points_at` (the end of the ramp), `baseline_ns`, `submission_ns`,
`ambiguous`, and `interval_held_percent`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograder.records.results import CheckResult, Result
from autograder.reports.wording import duration_text, one_line, points_text, ratio_text

NAMES = (
    "ratio", "low", "high", "threshold", "full_points_at", "baseline_ns", "submission_ns", "ambiguous",
    "interval_held_percent", "compared_with",
)  # fmt: skip


@dataclass(frozen=True)
class Speed:
    """How many times as fast as the baseline, or as a library, a submission is, and where the thresholds lie."""

    ratio: float
    low: float
    high: float
    threshold: float
    full_points_at: float | None
    source: str  # "measured" or "simulated"
    baseline_ns: float | None = None
    submission_ns: float | None = None
    ambiguous: bool = False  # the interval contains the threshold, however often it was timed
    compared_with: str = "the baseline"  # or a library's name
    held_percent: float | None = None  # of predictions for other labs, those whose interval held what a GPU gave

    @property
    def has_benefit(self) -> bool:
        """Whether it counts as reached since nobody can tell: where it was measured, and not where it was predicted."""
        return self.ambiguous and self.source == "measured"

    @property
    def goal(self) -> float | None:
        """The next ratio that earns more: the threshold, then the end of the ramp, then nothing."""
        if self.ratio < self.threshold and not self.has_benefit:
            return self.threshold
        if self.full_points_at is not None and self.ratio < self.full_points_at:
            return self.full_points_at
        return None

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, with its interval where there is one."""
        times = ""
        if self.baseline_ns and self.submission_ns:
            times = f" ({duration_text(self.submission_ns)} against {duration_text(self.baseline_ns)})"
        interval = ""
        if self.high > self.low:
            ends = f"{ratio_text(self.low)} to {ratio_text(self.high)}"
            interval = f", interval {ends}" if self.source == "measured" else f", {ends} expected of a GPU"
            if self.source != "measured" and self.held_percent is not None:
                interval += f" (right for {self.held_percent:.0f} % of the answers that were timed)"
        pace = f"{ratio_text(self.ratio)} times the speed of {self.compared_with}{times}{interval}"
        targets = f"The threshold is {ratio_text(self.threshold)}"
        if self.full_points_at is not None and self.full_points_at > self.threshold:
            targets += f", full points from {ratio_text(self.full_points_at)}"
        doubt = ""
        if self.has_benefit:
            doubt = " The interval contains the threshold, so you have the benefit of the doubt."
        elif self.ambiguous:
            doubt = " That is too close to call by prediction: the verdict stands, but a GPU may see it otherwise."
        return f"{pace}. {targets}.{doubt}"

    @property
    def labelled(self) -> str:
        """The sentence with where the number comes from before it, for text and for screen readers."""
        return f"{self.source.capitalize()}: {self.sentence}"

    @property
    def distance(self) -> str:
        """How far away the next goal is, as a sentence; empty where nothing is left to reach."""
        if self.goal is None:
            return ""
        where = "The next threshold is" if self.goal == self.threshold else "Full points start at"
        if self.ratio <= 0:
            return f"{where} {ratio_text(self.goal)} times {self.compared_with}."
        # Rounded up: who reaches the printed factor has reached the goal.
        factor = math.ceil(100 * self.goal / self.ratio - 1e-9) / 100
        return f"{where} {ratio_text(self.goal)} times {self.compared_with}: {ratio_text(factor)} times faster than now."


def speed_of(check: CheckResult) -> Speed | None:
    """The numbers of a speed check, or None where `check` is of another kind or never got as far as a ratio."""
    measured = check.measured
    ratio, threshold = _number(measured, "ratio"), _number(measured, "threshold")
    if ratio is None or threshold is None:
        return None
    low, high = _number(measured, "low"), _number(measured, "high")
    low, high = (ratio if low is None else low), (ratio if high is None else high)
    return Speed(
        ratio=ratio,
        low=low,
        high=high,
        threshold=threshold,
        full_points_at=_number(measured, "full_points_at"),
        source=check.source or "simulated",
        baseline_ns=_number(measured, "baseline_ns"),
        submission_ns=_number(measured, "submission_ns"),
        ambiguous=bool(measured.get("ambiguous", False)),
        compared_with=_text_or(measured, "compared_with", "the baseline"),
        held_percent=_number(measured, "interval_held_percent"),
    )


def message_of(check: CheckResult, unreadable: bool = False) -> str:
    """The message of `check`, unless speed, the first hazard or the submission's own error says the same already."""
    speed = speed_of(check)
    said_by_speed = speed is not None and (check.outcome == "passed" or speed.ratio < speed.threshold)
    said_by_error = unreadable and check.outcome == "not run"
    said_by_hazard = check.outcome == "failed" and bool(check.hazards) and check.message == str(check.hazards[0])
    return "" if said_by_speed or said_by_error or said_by_hazard else check.message


def _text_or(measured: Mapping[str, Any], name: str, otherwise: str) -> str:
    found = measured.get(name)
    return one_line(found, 80) if isinstance(found, str) and found else otherwise


def _number(measured: Mapping[str, Any], name: str) -> float | None:
    value = measured.get(name)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


@dataclass(frozen=True)
class NextStep:
    """One thing that earns points, in a sentence, and the check that gives them; None where nothing could be read."""

    text: str
    check: CheckResult | None = None


def next_step(result: Result) -> str:
    """What earns the next points, in words; empty where nothing is left."""
    return " ".join(step.text for step in next_steps(result))


def next_steps(result: Result) -> tuple[NextStep, ...]:
    """What earns the next points: the first failed check in order, and how far away the next speed threshold is."""
    if result.error:
        return (NextStep("Next: mend the error that keeps it from being read."),)
    left = [check for check in result.checks if check.points < check.max_points and not check.fault]
    failed = [check for check in left if check.outcome == "failed"]
    steps = []
    if failed:
        first = failed[0]
        text = f"Next: {one_line(first.title, 300).rstrip('.')} ({_worth(first.max_points - first.points)})."
        steps.append(NextStep(text, first))
    for check in left:
        speed = speed_of(check)
        if speed is not None and speed.distance:
            steps.append(NextStep(f"{speed.distance[:-1]} ({_worth(check.max_points - check.points)}).", check))
            break
    return tuple(steps)


def _worth(points: float) -> str:
    return f"{points_text(points)} {'point' if points == 1 else 'points'}"

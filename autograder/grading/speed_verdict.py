"""What a comparison of speeds comes to: whether it passes, what it earns, and what is said of it. See `Attempt.speedup`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograder.records.runs import Comparison

TOO_GOOD = 1.5  # times the best known answer's ratio, from which somebody is to look


@dataclass(frozen=True)
class SpeedVerdict:
    """Of one comparison."""

    passed: bool
    fraction: float  # of the points; below 0 it is none, above 1 all of them
    line: str  # what the student reads
    numbers: Mapping[str, Any]  # behind it, for the report
    flags: tuple[str, ...]  # what somebody is to look at


def verdict_of(
    comparison: Comparison, check: str, whose: str, *,
    threshold: float, full_points_at: float, no_points_at: float, best_known: float | None,
) -> SpeedVerdict:  # fmt: skip
    """The verdict on a check's comparison with what is `whose` ("the baseline"); the rest is as `Attempt.speedup` has it."""
    numbers = {
        "ratio": comparison.ratio, "low": comparison.low, "high": comparison.high, "threshold": threshold,
        "full_points_at": full_points_at, "baseline_ns": comparison.baseline_ns,
        "submission_ns": comparison.submission_ns, "compared_with": whose, **comparison.notes,
    }  # fmt: skip
    flags = []
    if best_known is not None and comparison.ratio > TOO_GOOD * best_known:
        known = f"where the best known answer has {best_known:.3g}."
        flags.append(f"{check}: {comparison.ratio:.3g} times {whose}'s speed, {known}")
    # A measured interval that still straddles the threshold after all repeats is the student's benefit. A predicted
    # one is not: it is so wide that it would give points to answers that are too slow by any clock (perfmodel/README).
    is_measured = comparison.source == "measured"
    passed = (comparison.high if is_measured else comparison.ratio) >= threshold
    ratio = max(comparison.ratio, threshold) if passed else min(comparison.ratio, threshold)
    too_close = ""
    if comparison.low < threshold <= comparison.high:
        numbers["ambiguous"] = True
        interval = f"{comparison.low:.2f} to {comparison.high:.2f}"
        if is_measured:
            flags.append(f"{check}: {threshold:g} times lies within the interval {interval}")
        else:
            too_close = f" Too close to call by prediction: {interval} is what to expect of a GPU."
        if not is_measured and not passed:  # points may be owed
            expected = f"within the {interval} to expect of a GPU, which may see it otherwise"
            flags.append(f"{check}: too close to call by prediction: {threshold:g} times lies {expected}")
    line = f"{comparison.ratio:.2f} times {whose}'s speed ({comparison.source})"
    if passed:
        more = f" Full points at {full_points_at:g}." if ratio < full_points_at else ""
        line = f"{line}, {threshold:g} asked for.{more}{too_close}"
    else:
        line = f"{line}; {threshold:g} times asked for.{too_close}"
    return SpeedVerdict(passed, (ratio - no_points_at) / (full_points_at - no_points_at), line, numbers, tuple(flags))

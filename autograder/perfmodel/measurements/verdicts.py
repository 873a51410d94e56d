"""Whether grading by prediction gives the verdicts of grading by clock: every lab's variants, ratio by ratio.

    python -m autograder.perfmodel.measurements.verdicts     # writes the tables into TABLES.md

Reads solutions/*/calibration/: h200.json holds verdicts and measured ratios to the lab's baseline by each check that
compares speed, counted.json the counted work of the same launches; both are written by `autograder.grading.known_answers`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder import course_folder
from autograder.perfmodel import SPECIFICATIONS, Estimate, estimate, in_a_row, limiting
from autograder.perfmodel.measurements.predicting import publish
from autograder.perfmodel.sureness import SAME_WORK, interval_of_ratio
from autograder.records.counters import Counters

SOLUTIONS = course_folder.folder("solutions")
APART = 1.1
SAME = 0.03  # times closer than this are one rank: turns of the same kernel differ by as much


@dataclass(frozen=True)
class VariantVerdict:
    """One variant: how many times as fast as the baseline, by clock and by prediction."""

    name: str
    measured: float
    predicted: float
    threshold: float
    stopped_before: bool = False  # grading stops at an earlier check: compared all the same, but no verdict on speed
    host_requests: bool = False  # host code copies or waits between launches, which an estimate of launches knows nothing of
    measured_ns: float = 0.0  # its own time, which it is ranked by: a ratio varies with the baseline's time as well
    binding: str = ""  # what limits it, by the model

    @property
    def agrees(self) -> bool:
        """Whether both pass or both fail, or speed decides nothing."""
        return self.stopped_before or (self.measured >= self.threshold) == (self.predicted >= self.threshold)

    @property
    def is_close(self) -> bool:
        """Whether the threshold lies within the interval of the predicted ratio: too close to call by prediction."""
        interval = interval_of_ratio(self.predicted, self.binding, SPECIFICATIONS["H200"].name)
        return interval is not None and interval[0] < self.threshold <= interval[1]


def labs() -> list[str]:
    """The labs with measured ratios and counted work."""
    found = SOLUTIONS.glob("*/calibration/counted.json")
    return sorted(path.parents[1].name for path in found if (path.parent / "h200.json").is_file())


def speed_checks(lab: str) -> list[str]:
    """The checks of a lab that compare speed."""
    return list(_calibration(lab, "counted"))


def verdicts(lab: str, check: str) -> list[VariantVerdict]:
    """Every known answer and variant of a lab that was counted and measured, fastest first."""
    counted = _calibration(lab, "counted")[check]
    form = _calibration(lab, "h200")
    baseline, _ = predicted(counted["launches"]["baseline"])
    found = []
    for name, row in form["ratios"].get(check, {}).items():
        if name in counted["launches"]:
            launches = counted["launches"][name]  # none where the simulated GPU stopped it: too much work
            predicted_ns, binding = predicted(launches)
            ratio = baseline / predicted_ns if launches else 0.0
            earlier = set(form["verdicts"].get(name, {}).get("failed", ())) - {check}
            host = any(each.get("host_requests") for each in launches)
            own = 1e6 * row["milliseconds"]
            found.append(VariantVerdict(name, row["ratio"], ratio, counted["threshold"], bool(earlier), host, own, binding))
    return sorted(found, key=lambda each: (-each.measured, each.name))


def judged(lab: str, check: str) -> list[VariantVerdict]:
    """Those on which speed decides, and of whose time an estimate of launches knows all."""
    return [each for each in verdicts(lab, check) if each.predicted and not each.stopped_before and not each.host_requests]


def coverage(lab: str, check: str) -> tuple[int, int]:
    """How many of a lab's answers and variants that run to their end were timed, and how many there are."""
    launches = _calibration(lab, "counted")[check]["launches"]
    form = _calibration(lab, "h200")
    faults = form.get("not timed", {}).get(check, {})
    run = {name for name, rows in launches.items() if rows and name not in faults}
    return len(run & set(form["ratios"].get(check, {}))), len(run)


def _calibration(lab: str, name: str) -> dict[str, Any]:
    form: dict[str, Any] = json.loads((SOLUTIONS / lab / "calibration" / f"{name}.json").read_text(encoding="utf-8"))
    return form


def predicted(launches: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """The time of a host function's launches on the H200, and what limits them.

    Registers are assumed, as the grader without a GPU has it.
    """
    h200 = SPECIFICATIONS["H200"]
    found: list[Estimate] = []
    for row in launches:
        each = estimate(
            Counters(**row["counters"]),
            h200,
            threads_per_block=row["threads_per_block"],
            shared_bytes_per_block=row["shared_bytes_per_block"],
            array_bytes=row["array_bytes"],
        )
        found += [each] * row.get("times", 1)
    return in_a_row([each.ns for each in found], h200), limiting(found)


def distinct(found: Sequence[VariantVerdict]) -> list[VariantVerdict]:
    """One for all variants of the same counted work (one with a mistake elsewhere, say): the median of their times.

    Without those whose host code copies or waits between its launches.
    """
    groups: list[list[VariantVerdict]] = []
    for each in sorted((one for one in found if not one.host_requests), key=lambda one: one.predicted):
        if groups and each.predicted <= (1 + SAME_WORK) * groups[-1][0].predicted:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [
        replace(
            group[0],
            measured=float(np.median([each.measured for each in group])),
            measured_ns=float(np.median([each.measured_ns for each in group])),
        )
        for group in groups
    ]


def rank_correlation(found: Sequence[VariantVerdict], same: float = SAME) -> float:
    """Spearman's, variants within `same` of each other sharing a rank (0: only exact ties do)."""
    measured = _ranks([1 / each.measured_ns for each in found], same)
    correlation = np.corrcoef(measured, _ranks([each.predicted for each in found], same))[0, 1]
    return round(float(correlation), 12)  # of ranks, which are halves: 0.9 is not to come out as 0.8999999999999998


def _ranks(values: Sequence[float], same: float) -> np.ndarray:
    """Mean ranks; a group of ties begins at its smallest value and ends where one is more than `same` above it."""
    order = np.argsort(values, kind="stable")
    ranks, start = np.empty(len(values)), 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[order[end]] > (1 + same) * values[order[start]]:
            ranks[order[start:end]] = (start + end - 1) / 2
            start = end
    return ranks


def summary(lab: str) -> str:
    """One sentence for each of a lab's speed checks."""
    return "\n".join(_sentence(lab, check) for check in speed_checks(lab))


def _sentence(lab: str, check: str) -> str:
    found = verdicts(lab, check)
    differing = [each.name for each in found if not each.agrees]
    verdict = "no verdict differs" if not differing else f"verdicts that differ: {', '.join(differing)}"
    own = distinct(found)
    pairs = [(one, other) for one in own for other in own if APART * one.measured_ns < other.measured_ns]
    right = sum(one.predicted > other.predicted for one, other in pairs)
    name = lab if len(speed_checks(lab)) == 1 else f"{lab}, {check}"
    return (
        f"{name}: {len(found)} variants timed, {len(own)} of them with counted work of their own; threshold "
        f"{found[0].threshold:g}; {verdict}; rank correlation of these {rank_correlation(own):.2f}; of two that the clock "
        f"puts a tenth apart, the faster is predicted faster in {100 * right / len(pairs):.0f} %."
    )


def table(lab: str, check: str) -> str:
    """Every answer, as TABLES.md has it."""
    lines = ["| variant | measured ratio | predicted ratio | verdict |", "|---|---|---|---|"]
    for each in verdicts(lab, check):
        words = ("passes" if each.measured >= each.threshold else "fails") if each.agrees else "**differs**"
        words = "fails before" if each.stopped_before else words
        words += "; host copies not predicted" * each.host_requests
        predicted = f"{each.predicted:.3g}" if each.predicted else "stopped: too much work"
        lines.append(f"| {each.name} | {each.measured:.3g} | {predicted} | {words} |")
    return "\n".join(lines)


def published() -> str:
    """What TABLES.md says of all labs."""
    return "\n\n".join(
        f"{_sentence(lab, check)}\n\n{table(lab, check)}" for lab in labs() for check in speed_checks(lab)
    )


if __name__ == "__main__":
    publish("verdicts", published())
    print(*map(summary, labs()), sep="\n")

"""Whether grading by prediction gives the verdicts of grading by clock: every lab's variants, ratio by ratio.

    python -m autograder.perfmodel.measurements.verdicts     # writes the tables into README.md

Reads solutions/*/calibration/: h200.json holds measured ratios to the lab's baseline, counted.json the counted work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.perfmodel import SPECIFICATIONS, estimate
from autograder.perfmodel.measurements.predicting import publish
from autograder.simgpu.counters import Counters

SOLUTIONS = Path(__file__).resolve().parents[3] / "solutions"
SAME = 0.03  # measured ratios closer than this are one rank: turns of the same kernel differ by as much


@dataclass(frozen=True)
class Verdict:
    """One variant: how many times as fast as the baseline, by clock and by prediction."""

    name: str
    measured: float
    predicted: float
    threshold: float

    @property
    def agrees(self) -> bool:
        """Whether both pass or both fail."""
        return (self.measured >= self.threshold) == (self.predicted >= self.threshold)


def labs() -> list[str]:
    """The labs with measured ratios and counted work."""
    return sorted(path.parents[1].name for path in SOLUTIONS.glob("*/calibration/counted.json"))


def verdicts(lab: str) -> list[Verdict]:
    """Every variant of a lab that was counted and measured, fastest first."""
    folder = SOLUTIONS / lab / "calibration"
    counted = json.loads((folder / "counted.json").read_text(encoding="utf-8"))
    measured = json.loads((folder / "h200.json").read_text(encoding="utf-8"))["ratios"][counted["size"]]
    baseline = predicted_ns(counted["launches"]["baseline"])
    found = []
    for name, row in measured.items():
        if name in counted["launches"]:
            launches = counted["launches"][name]  # none where the simulated GPU stopped it: too much work
            ratio = baseline / predicted_ns(launches) if launches else 0.0
            found.append(Verdict(name, row["ratio"], ratio, counted["threshold"]))
    return sorted(found, key=lambda each: (-each.measured, each.name))


def predicted_ns(launches: Sequence[dict[str, Any]]) -> float:
    """The time of a host function's launches on the H200, registers assumed, as the grader without a GPU has it."""
    return sum(
        estimate(
            Counters(**row["counters"]),
            SPECIFICATIONS["H200"],
            threads_per_block=row["threads_per_block"],
            shared_bytes_per_block=row["shared_bytes_per_block"],
            array_bytes=row["array_bytes"],
        ).ns
        for row in launches
    )


def rank_correlation(found: Sequence[Verdict], same: float = SAME) -> float:
    """Spearman's, variants within `same` of each other sharing a rank (0: only exact ties do)."""
    pair = [_ranks([getattr(each, name) for each in found], same) for name in ("measured", "predicted")]
    return float(np.corrcoef(*pair)[0, 1])


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
    """One sentence of the README."""
    found = verdicts(lab)
    differing = [each.name for each in found if not each.agrees]
    verdict = "no verdict differs" if not differing else f"verdicts that differ: {', '.join(differing)}"
    exact = rank_correlation(found, 0.0)
    return (
        f"{lab}: {len(found)} variants, threshold {found[0].threshold:g}; {verdict}; "
        f"rank correlation {rank_correlation(found):.2f} ({exact:.2f} with near ties ranked)."
    )


def table(lab: str) -> str:
    """The README's table."""
    lines = ["| variant | measured ratio | predicted ratio | verdict |", "|---|---|---|---|"]
    for each in verdicts(lab):
        words = ("passes" if each.measured >= each.threshold else "fails") if each.agrees else "**differs**"
        predicted = f"{each.predicted:.3g}" if each.predicted else "stopped: too much work"
        lines.append(f"| {each.name} | {each.measured:.3g} | {predicted} | {words} |")
    return "\n".join(lines)


def published() -> str:
    """What the README says of all labs."""
    return "\n\n".join(f"{summary(lab)}\n\n{table(lab)}" for lab in labs())


if __name__ == "__main__":
    publish("verdicts", published())
    print(*map(summary, labs()), sep="\n")

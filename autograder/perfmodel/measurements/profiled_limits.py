"""What limits a kernel by Nsight Compute's counters, by a rule that knows nothing of the model; and how often that agrees.

    python -m autograder.perfmodel.measurements.profiled_limits     # writes the tables into README.md and TABLES.md

The rule, on counters of unseen_measured.json:

1. Where more of the clock's time is beside the kernels than in them (as the profiler has it): launch overhead.
2. Else the unit that is busiest, as a share of what it can do, where that is 60 % or more, which is where NVIDIA's guide to
   Nsight Compute draws the line. Units are: issue (issue slots, ALU, FMA and uniform pipes), float64, special (XU), L1 (its
   data stage and the pipe of loads and stores; called shared memory where most wavefronts are those of shared memory), L2
   (called atomics where most of its sectors are), DRAM, and block launch: the blocks of the grid in the kernel's time, over
   the rate that the microbenchmark measured.
3. Else nothing is busy and warps wait: for atomics, where one in twenty sectors of L2 or more is an atomic's; else latency.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from autograder.perfmodel import SPECIFICATIONS
from autograder.perfmodel.measurements import unseen
from autograder.perfmodel.measurements.predicting import publish
from autograder.perfmodel.prediction import ALIKE

BUSY = 0.6
WAITED_FOR = 0.05  # of the sectors in L2
STEPS = (1, 1.1, ALIKE, 1.5, 2, 3, inf)


@dataclass(frozen=True)
class LimitedBy:
    """What limits one case: by the counters, and by the model with what it puts second."""

    case: str
    half: str
    by_counters: str
    by_model: str
    second: str
    ahead: float  # by the model, what is first over what is second

    @property
    def is_named(self) -> bool:
        """Whether the model's sentence names what the counters say: it names two where they are alike."""
        return self.by_counters == self.by_model or (self.by_counters == self.second and self.ahead < ALIKE)


def busy(counters: Mapping[str, float], blocks: int) -> dict[str, float]:
    """How busy each unit is, as a share of what it can do while the kernel runs."""

    def percent(*names: str) -> float:
        return max(counters[name] for name in names) / 100

    h200 = SPECIFICATIONS["H200"]
    shared = 2 * counters["shared_wavefronts"] > counters["l1_wavefronts"]
    atomics = 2 * atomic_sectors(counters) > l2_sectors(counters)
    return {
        "issue": percent("issue_busy", "pipe_alu_busy", "pipe_fma_busy", "pipe_fmaheavy_busy", "pipe_uniform_busy"),
        "float64": percent("pipe_fp64_busy"),
        "special": percent("pipe_xu_busy"),
        "shared memory" if shared else "L1": percent("l1_throughput", "pipe_lsu_busy"),
        "atomics" if atomics else "L2": percent("l2_throughput"),
        "DRAM": percent("dram_throughput"),
        "block launch": blocks / (counters["ns"] * h200.gpu_blocks_per_cycle * h200.cycles_per_ns),
    }


def atomic_sectors(counters: Mapping[str, float]) -> float:
    return counters["l2_red_sectors"] + counters["l2_atom_sectors"]


def l2_sectors(counters: Mapping[str, float]) -> float:
    return counters["l2_read_sectors"] + counters["l2_write_sectors"] + atomic_sectors(counters)


def by_counters(counters: Mapping[str, float], blocks: int, clock_ns: float) -> str:
    """What limits a case, by the rule above."""
    units = busy(counters, blocks)
    busiest = max(units, key=units.__getitem__)
    if counters["ns"] < clock_ns / 2:
        return "launch overhead"
    if units[busiest] >= BUSY:
        return busiest
    return "atomics" if atomic_sectors(counters) >= WAITED_FOR * l2_sectors(counters) > 0 else "latency"


def limits() -> list[LimitedBy]:
    """Every unseen case, by both."""
    measured = json.loads(unseen.MEASURED.read_text(encoding="utf-8"))
    counted: dict[str, Any] = {row["case"]: row for row in json.loads(unseen.COUNTED.read_text(encoding="utf-8"))}
    predicted = {each.case: each for each in unseen.predictions()}
    found = []
    for row in measured["cases"]:
        if row["case"] not in counted:
            continue
        counters = {name: value or 0.0 for name, value in zip(measured["metrics"], row["counters"], strict=True)}
        blocks = sum(each["times"] * each["counters"]["blocks"] for each in counted[row["case"]]["launches"])
        said = by_counters(counters, blocks, row["times"]["ns"])
        model = predicted[row["case"]]
        found.append(LimitedBy(row["case"], row["half"], said, model.binding, model.next_binding, model.ahead))
    return found


def agreement(found: Sequence[LimitedBy]) -> tuple[float, float]:
    """The share of cases where the model says what the counters say, and that where its sentence names it."""
    return sum(each.by_model == each.by_counters for each in found) / len(found), sum(
        each.is_named for each in found
    ) / len(found)


def table(found: Sequence[LimitedBy]) -> str:
    """The learned half: by what the counters say, how many cases there are and what the model says of them."""
    learned = [each for each in found if each.half == "learned"]
    lines = ["| by the counters | cases | the model says the same | or names both | else it says |", "|---|---|---|---|---|"]
    for name in sorted({each.by_counters for each in learned}):
        own = [each for each in learned if each.by_counters == name]
        same = sum(each.by_model == name for each in own)
        other = [each.by_model for each in own if not each.is_named]
        said = ", ".join(f"{one} ({count})" for one, count in Counter(sorted(other)).most_common())
        lines.append(f"| {name} | {len(own)} | {same} | {len(own) - same - len(other)} | {said} |")
    return "\n".join(lines)


def by_distance(found: Sequence[LimitedBy]) -> str:
    """The learned half: what the counters say, by how far the model's first resource is ahead of its second."""
    learned = [each for each in found if each.half == "learned"]
    lines = ["| first over second | cases | the counters say the first | the second | another |", "|---|---|---|---|---|"]
    for low, high in zip(STEPS, STEPS[1:], strict=False):
        own = [each for each in learned if low <= each.ahead < high]
        first, second = (sum(each.by_counters == getattr(each, of) for each in own) for of in ("by_model", "second"))
        upto = f"{low:g} to {high:g}" if high < inf else f"{low:g} and more"
        lines.append(f"| {upto} | {len(own)} | {first} | {second} | {len(own) - first - second} |")
    return "\n".join(lines)


def halves(found: Sequence[LimitedBy]) -> str:
    """How often both agree, of either half: the README's table."""
    shares = [agreement([each for each in found if each.half == half]) for half in unseen.HALVES]
    names = ("the model names the resource that the counters point to", "or names it as one of two that limit alike")
    rows = [f"| {name} | {learned:.0%} | {held:.0%} |" for name, learned, held in zip(names, *shares, strict=True)]
    return "\n".join(["| | learned half | held half |", "|---|---|---|", *rows])


def main() -> None:
    found = limits()
    publish("agreement", halves(found))
    publish("limits", f"{table(found)}\n\n{by_distance(found)}")
    print(table(found), by_distance(found), sep="\n\n")


if __name__ == "__main__":
    main()

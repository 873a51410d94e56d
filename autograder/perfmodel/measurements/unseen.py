"""Holds predictions against times of kernels on which the model was not tuned: the README's table of them.

    python -m autograder.perfmodel.measurements.unseen COUNTED...   # lines of sampling.measurements.unseen_counts: kept
    python -m autograder.perfmodel.measurements.unseen              # writes the README's table from what is kept

Chains are predicted as they were timed: the GPU has to empty its L2 first, twice, and the host gains that much time.

The learned half and the third to the seventh set may be looked into case by case, and rules be made from them. Of the held
half only totals are written down. The eighth set says how wide intervals must be (intervals.py), and how far off kernels
are that other people wrote; nothing else is made from it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from autograder.perfmodel import SPECIFICATIONS, Estimate, estimate, in_a_row, limiting
from autograder.perfmodel.host_time import CHAIN_LAUNCH_NS, chain_ns
from autograder.perfmodel.measurements.predicting import HERE, publish
from autograder.records.counters import Counters

COUNTED, MEASURED = HERE / "unseen_counted.json", HERE / "unseen_measured.json"
HALVES, CLOSED = ("learned", "held"), "eighth"
SETS = ("third", "fourth", "fifth", "sixth", "seventh", CLOSED)
COLUMNS = ("learned", "third", "fourth", "fifth", "sixth", "seventh", "held", CLOSED)
FILES = {name: (HERE / f"{name}_counted.json", HERE / f"{name}_measured.json") for name in SETS}
LEARNED_FROM = (("learned", COUNTED, MEASURED), *((name, *FILES[name]) for name in SETS if name != CLOSED))

FAR_OFF = 3

# What empties L2 (validation.FillL2) copies 256 MiB, an element a thread, and reads 256 MiB; the host makes the last three
# of its four launches while the GPU works on the first.
FILLED_BYTES, FILLED_TWICE, LAUNCHES_MEANWHILE = 1 << 28, 2, 3
COPY_GB_PER_S = 2706.0  # microbenchmarks.json: DRAM copy, an element a thread
HEAD_START_NS = (
    FILLED_TWICE * FILLED_BYTES * (2 / COPY_GB_PER_S + 1 / SPECIFICATIONS["H200"].dram_achievable_gb_per_s)
    - LAUNCHES_MEANWHILE * CHAIN_LAUNCH_NS
)


@dataclass(frozen=True)
class UnseenPrediction:
    """One case at one size: what was measured, and what was predicted of all its launches together."""

    case: str
    half: str
    measured_ns: float
    predicted_ns: float
    measured_instructions: float  # warp instructions executed: smsp__inst_executed; not a number where not profiled
    simulated_instructions: float  # as the simulated GPU weighs operations by machine instructions
    binding: str  # what limits the launches, by the model
    next_binding: str = ""  # what comes next in the longest launch that this limits
    ahead: float = 1.0  # how many times the next one's time the first takes there
    waits: bool = False  # its threads wait for each other in a loop: what is predicted is the least

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_ns / self.measured_ns - 1

    @property
    def factor(self) -> float:
        """How many times too slow or too fast, at least 1."""
        ratio = self.predicted_ns / self.measured_ns
        return max(ratio, 1 / ratio)


def predictions() -> list[UnseenPrediction]:
    """Every case of the two halves that was counted and measured."""
    return _predictions(COUNTED, MEASURED)


def of_set(name: str) -> list[UnseenPrediction]:
    """Those of the third to the seventh set, which rules may be made from, or of the eighth, which makes intervals."""
    return _predictions(*FILES[name])


def _predictions(counted_file: Path, measured_file: Path) -> list[UnseenPrediction]:
    measured = json.loads(measured_file.read_text(encoding="utf-8"))
    place = list(measured["metrics"]).index("instructions")
    counted = {row["case"]: row for row in json.loads(counted_file.read_text(encoding="utf-8"))}
    return [_predicted(row, counted[row["case"]], place) for row in measured["cases"] if row["case"] in counted]


def _predicted(measured: dict[str, Any], counted: dict[str, Any], place: int) -> UnseenPrediction:
    registers = max(measured["times"]["registers"])
    weighed, found = 0, list[Estimate]()
    for launch in counted["launches"]:
        counters = Counters(**launch["counters"])
        each = estimate(
            counters,
            SPECIFICATIONS["H200"],
            threads_per_block=launch["threads_per_block"],
            shared_bytes_per_block=launch["shared_bytes_per_block"],
            registers_per_thread=registers,
            array_bytes=launch["array_bytes"],
        )
        found += [each] * launch["times"]
        weighed += launch["times"] * counters.issued_warp_instructions
    binding = limiting(found)
    longest = max((one for one in found if one.binding == binding), key=lambda one: one.ns)
    launches_ns = [each.ns for each in found]
    predicted_ns, in_line = timed_ns(launches_ns), in_a_row(launches_ns, SPECIFICATIONS["H200"])
    return UnseenPrediction(
        case=measured["case"],
        half=measured["half"],
        measured_ns=measured["times"]["ns"],
        predicted_ns=predicted_ns,
        measured_instructions=measured["counters"][place] if isinstance(measured["counters"], list) else nan,
        simulated_instructions=weighed,
        binding=binding if predicted_ns < 2 * in_line else "launch overhead",  # it waits for the host more than it works
        next_binding=longest.next_binding,
        ahead=longest.ahead,
        waits=any(launch["counters"].get("waiting_warps") for launch in counted["launches"]),
    )


def timed_ns(launches_ns: Sequence[float]) -> float:
    """What the clock says of launches as measure_unseen.py times them, from what each would take alone."""
    return chain_ns(launches_ns, SPECIFICATIONS["H200"], head_start_ns=HEAD_START_NS)


def rank_correlation(found: Sequence[UnseenPrediction]) -> float:
    """Spearman's: that of the ranks of predicted and measured times; no two are the same."""
    predicted, measured = ([one.predicted_ns for one in found], [one.measured_ns for one in found])
    ranks = [np.argsort(np.argsort(each)) for each in (predicted, measured)]
    correlations: np.ndarray = np.asarray(np.corrcoef(ranks))
    return float(correlations[0, 1])


def table(found: Sequence[UnseenPrediction]) -> str:
    """What was learned from, and beside it the held half and the closed set: how far off times and instructions are."""
    halves = [[each for each in found if each.half == half] for half in COLUMNS]

    def instructions(half: Sequence[UnseenPrediction], name: str) -> str:
        return _percentiles([getattr(each, name) / each.measured_instructions - 1 for each in half])

    lines = [
        "| | " + " | ".join(f"{each} {'half' if each in HALVES else 'set'}" for each in COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 1) + "|",
        *_rows_of_times(halves),
        _row("error of the instructions", (instructions(half, "simulated_instructions") for half in halves)),
    ]
    return "\n".join(lines)


def _row(name: str, values: Iterable[str]) -> str:
    return f"| {name} | " + " | ".join(values) + " |"


def _percentiles(errors: Sequence[float]) -> str:
    sizes = np.abs(errors)
    return f"{np.median(sizes):.0%}, {np.percentile(sizes, 90):.0%}"


def _rows_of_times(halves: Sequence[Sequence[UnseenPrediction]]) -> list[str]:
    off = [[each for each in half if each.factor > FAR_OFF] for half in halves]
    return [
        _row("cases", (str(len(half)) for half in halves)),
        _row("error of the time: median, 90th percentile", (_percentiles([each.error for each in half]) for half in halves)),
        _row("rank correlation", (f"{rank_correlation(half):.2f}" for half in halves)),
        _row("off by more than three times", (str(len(each)) for each in off)),
        _row("of these, told to be a least time", (str(sum(one.waits for one in each)) for each in off)),
    ]


def keep(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes a line a case, without what the source says beside the compiler's counts: nobody predicts from that."""
    launches = ([{name: each[name] for name in each if name != "source"} for each in row["launches"]] for row in rows)
    lines = [json.dumps({**row, "launches": left}) for row, left in zip(rows, launches, strict=True)]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def main(files: Sequence[str]) -> None:
    if files:
        rows = [json.loads(line) for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()]
        rows = sorted((row for row in rows if "launches" in row), key=lambda row: str(row["case"]))
        for file, sets in ((COUNTED, HALVES), *((counted, (name,)) for name, (counted, _) in FILES.items())):
            if kept := [row for row in rows if row["half"] in sets]:
                keep(file, kept)
    text = table([*predictions(), *(each for name in SETS for each in of_set(name))])
    publish("unseen", text)
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])

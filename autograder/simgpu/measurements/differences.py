"""The simulated GPU held against h200_counters.json: what it says of each case, and every difference with its cause.

`DIFFERENCES` is written by hand, a cause for each; the numbers beside them, here and in the README, are counted and read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder.records.counters import Counters
from autograder.simgpu.measurements.cases import CASES, Case

MEASURED = Path(__file__).with_name("h200_counters.json")
GLOBAL = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
SHARED = (
    "shared_load_wavefronts", "shared_load_bank_conflicts", "shared_store_wavefronts", "shared_store_bank_conflicts",
)  # fmt: skip
ATOMIC = ("global_atomic_requests", "global_atomic_sectors")
LOCAL = ("local_load_requests", "local_store_requests")
RATIO = "threads_per_instruction"
TOLERANCE = {RATIO: 0.05}  # all others must be equal

CAUSES = {
    "kept in a register": "an element that was loaded or stored before is not loaded again",
    "registers": "a local array lies in registers (or is never made), so no local memory is touched",
    "scattered atomic": "the card splits some sectors of an atomic in two, not the same ones in each run",
    "compare and swap": "a float32 atomic in shared memory is a loop of load, add, compare and swap",
    "predicates": "short branches become predicates or selections, which every lane of the warp goes through",
    "recognised": "the whole loop is recognised as counting bits and becomes one instruction",
}


@dataclass(frozen=True)
class Disagreement:
    """A counter of a case on which the simulated GPU and the H200 disagree, and why (a key of `CAUSES`)."""

    case: str
    counter: str
    cause: str


def _all(case: str, counters: str, cause: str) -> list[Disagreement]:
    return [Disagreement(case, counter, cause) for counter in counters.split()]


DIFFERENCES: tuple[Disagreement, ...] = (
    *_all("histogram_global uniform", "global_atomic_sectors", "scattered atomic"),
    *_all("scan_exclusive_tree", "shared_load_wavefronts shared_load_bank_conflicts", "kept in a register"),
    *_all("scan_exclusive_tree", RATIO, "predicates"),
    *_all("block_counter", RATIO, "predicates"),
    *_all("bits_set", RATIO, "recognised"),
    *_all("local_array_by_index", "local_load_requests local_store_requests", "registers"),
    *_all("atomic_add_unused to 1024", "global_atomic_sectors", "scattered atomic"),
    *_all("atomic_add_used to 1024", "global_atomic_sectors", "scattered atomic"),
    *_all("atomic_exchange", "global_atomic_sectors", "scattered atomic"),
    *_all("atomic_add_float float32", "global_atomic_sectors", "scattered atomic"),
    *_all("atomic_add_float float64", "global_atomic_sectors", "scattered atomic"),
    *_all("atomic_max_int", "global_atomic_sectors", "scattered atomic"),
    *_all("atomic_add_shared_float", "shared_load_wavefronts shared_load_bank_conflicts", "compare and swap"),
    *_all("atomic_add_shared_float", RATIO, "compare and swap"),
)


@cache
def measured() -> dict[str, dict[str, Any]]:
    """The H200's counters by case; RED and ATOM together are the atomics."""
    cases: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))["cases"]
    for counters in cases.values():
        for what in ("requests", "sectors"):
            counters[f"global_atomic_{what}"] = counters[f"global_red_{what}"] + counters[f"global_atom_{what}"]
    return cases


@cache
def simulated(case: Case) -> Counters:
    from autograder.simgpu.host.single_launch import launch_once

    return launch_once(case.kernel, case.grid, case.block, *case.make_arguments()).compiled


def agree(counter: str, simulated_value: float, measured_value: float) -> bool:
    return abs(simulated_value - measured_value) <= TOLERANCE.get(counter, 0) * measured_value


def table() -> list[str]:
    """The rows of README.md's table: case, counter, simulated, H200, cause."""
    by_name = {case.name: case for case in CASES}
    rows = []
    for each in DIFFERENCES:
        ours, theirs = getattr(simulated(by_name[each.case]), each.counter), measured()[each.case][each.counter]
        shown = [f"{n:.1f}" if each.counter == RATIO else f"{n:,}" for n in (ours, theirs)]
        rows.append(f"| `{each.case}` | {each.counter} | {shown[0]} | {shown[1]} | {each.cause} |")
    return rows


if __name__ == "__main__":
    print("\n".join(table()))

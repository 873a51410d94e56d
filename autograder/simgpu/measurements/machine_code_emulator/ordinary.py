"""Kernels that are counted on the emulator and on the simulated GPU, and how far the two agree.

    python -m autograder.simgpu.measurements.machine_code_emulator.ordinary --count   # compiler wheels and cc, a few minutes
    python -m autograder.simgpu.measurements.machine_code_emulator.ordinary           # the stored counts, no compiler

The first writes ordinary.json: the counters of each kernel, and the names of those that the emulator refused or whose
results are not those of the simulated GPU. The second holds the stored counts beside the simulated GPU's: it prints each
difference of the kernels that may be looked into, and of the held half nothing but totals. A kernel's half is that of
unseen_kernels.py, by a hash of its name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from autograder.records.counters import Counters
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.differences import GLOBAL, LOCAL, RATIO, SHARED, agree
from autograder.simgpu.measurements.machine_code_emulator.ordinary_choices import CHOICES
from autograder.simgpu.measurements.machine_code_emulator.ordinary_numerics import NUMERICS
from autograder.simgpu.measurements.machine_code_emulator.ordinary_structures import STRUCTURES
from autograder.simgpu.measurements.machine_code_emulator.ordinary_walks import WALKS
from autograder.simgpu.measurements.unseen_kernels import is_held

RESULT = Path(__file__).with_name("ordinary.json")
ORDINARY: tuple[Case, ...] = (*NUMERICS, *STRUCTURES, *CHOICES, *WALKS)
GROUPS = {"global": GLOBAL, "shared": SHARED, "threads": (RATIO,), "local": LOCAL}
KEPT = ("warp_instructions", RATIO, *GLOBAL, *SHARED, *LOCAL)


def stored() -> dict[str, dict[str, Any]]:
    cases: dict[str, dict[str, Any]] = json.loads(RESULT.read_text(encoding="utf-8"))["cases"]
    return cases


def simulated(case: Case) -> Counters:
    return launch_once(case.kernel, case.grid, case.block, *case.make_arguments()).compiled


def differing(ours: Counters, theirs: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """The counters that do not agree, with the simulated GPU's value and the machine code's."""
    pairs = {name: (getattr(ours, name), theirs[name]) for names in GROUPS.values() for name in names}
    return {name: pair for name, pair in pairs.items() if not agree(name, *pair)}


def totals(cases: Iterable[Case], found: dict[str, dict[str, Any]], say: bool) -> dict[str, str]:
    """Of how many kernels each group of counters agrees, and how far instructions are off; `say` prints each difference."""
    equal = dict.fromkeys(GROUPS, 0)
    used = dict.fromkeys(GROUPS, 0)
    errors = []
    for case in cases:
        ours, theirs = simulated(case), found[case.name]
        wrong = differing(ours, theirs)
        ratio = ours.issued_warp_instructions / theirs["warp_instructions"]
        errors.append(abs(ratio - 1))
        for group, names in GROUPS.items():
            if group == "shared" and ours.shared_atomic_requests:
                continue  # not counted apart by the profiler
            used[group] += any(theirs[name] or getattr(ours, name) for name in names)
            equal[group] += any(theirs[name] or getattr(ours, name) for name in names) and not wrong.keys() & set(names)
        if say and wrong:
            print(f"{case.name}: {wrong}, instructions {ratio:.2f}")
    said = {group: f"{equal[group]} of {n}" for group, n in used.items()}
    said["instructions"] = f"median error {np.median(errors):.1%}, 90th percentile {np.quantile(errors, 0.9):.1%}"
    return said


def count(only: str) -> dict[str, Any]:
    from numba.core.errors import NumbaError

    from autograder.simgpu.measurements.machine_code_emulator.decoding import Unsupported
    from autograder.simgpu.measurements.machine_code_emulator.launching import Faulted, carried_out
    from autograder.simgpu.measurements.measure_unseen import is_close

    before = json.loads(RESULT.read_text(encoding="utf-8")) if only else {}
    cases: dict[str, Any] = before.get("cases", {})
    refused: dict[str, str] = before.get("refused", {})
    differ: list[str] = before.get("other results", [])
    for case in ORDINARY:
        if only not in case.name:
            continue
        try:
            made = case.make_arguments()
            done = carried_out(case.kernel, case.grid, case.block, made)
        except (Unsupported, Faulted, NumbaError) as error:
            refused[case.name] = str(error).splitlines()[0]
            continue
        launch_once(case.kernel, case.grid, case.block, *made)
        for ours, theirs in zip(made, done.arguments, strict=True):
            if isinstance(ours, np.ndarray) and not is_close(ours, theirs):
                print(f"{case.name}: the machine code leaves other results than the simulated GPU", file=sys.stderr)
                differ.append(case.name)
        if case.name in differ:
            continue
        counted = done.summary()
        cases[case.name] = {name: counted[name] for name in KEPT}
        print(case.name, file=sys.stderr, flush=True)
    versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}
    in_order = {case.name: cases[case.name] for case in ORDINARY if case.name in cases}
    return {"versions": versions, "refused": refused, "other results": differ, "cases": in_order}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", action="store_true", help="count on the emulator, and write ordinary.json")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    given = parser.parse_args()
    if given.count:
        found = count(given.only)
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in found.pop("cases").items())
        head = json.dumps(found, indent=1)[:-2]
        RESULT.write_text(f'{head},\n "cases": {{\n{rows}\n }}\n}}\n', encoding="utf-8")
        return
    found = stored()
    chosen = [case for case in ORDINARY if case.name in found and given.only in case.name]
    print("looked into:", totals([case for case in chosen if not is_held(case.name)], found, say=True))
    if not given.only:
        print("held:", totals([case for case in chosen if is_held(case.name)], found, say=False))


if __name__ == "__main__":
    main()

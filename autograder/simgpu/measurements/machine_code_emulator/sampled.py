"""Recorded and random kernels on the emulator and on the simulated GPU: in how many the two agree, by kind of counter.

    python -m autograder.simgpu.measurements.machine_code_emulator.sampled FOLDER --count    # compiler wheels and cc
    python -m autograder.simgpu.measurements.machine_code_emulator.sampled FOLDER            # the counts against ours

FOLDER holds the launches that recording.py keeps. `--count` writes counts.json there: what the machine code counts. A
kernel is held, and only totalled, by the hash of its name, as in unseen_kernels.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pickle
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.differences import GLOBAL, RATIO, SHARED, agree
from autograder.simgpu.measurements.unseen_kernels import is_held

KINDS = {"global": GLOBAL, "shared": SHARED, "threads": (RATIO,)}
LIMIT = 3_000_000  # warp instructions
OFF = 0.25  # of warp instructions


@dataclass(frozen=True)
class KeptLaunch:
    """One recorded launch."""

    name: str
    kernel: Any
    grid: Any
    block: Any
    arguments: list[Any]

    def given(self) -> tuple[Any, ...]:
        """The arguments, fresh."""
        return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in self.arguments)


def launch_in(path: Path) -> KeptLaunch:
    kept = pickle.loads(path.with_suffix(".pickle").read_bytes())
    spec = importlib.util.spec_from_file_location(f"recorded_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    vars(module)["CONSTANTS"] = kept["constants"]
    spec.loader.exec_module(module)
    return KeptLaunch(path.stem, getattr(module, kept["kernel"]), kept["grid"], kept["block"], kept["arguments"])


def counted(path: Path) -> tuple[str, dict[str, Any] | str]:
    """A launch's name, and what the machine code counts, or why it cannot be told."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out
    from autograder.simgpu.measurements.measure_unseen import is_close

    warnings.simplefilter("ignore")
    try:
        launch = launch_in(path)
        done = carried_out(launch.kernel, launch.grid, launch.block, launch.given(), limit=LIMIT)
        ours = launch.given()
        launch_once(launch.kernel, launch.grid, launch.block, *ours)
    except BaseException as problem:  # whatever a compiler of ours or theirs ends with
        return path.stem, f"{type(problem).__name__}: {problem}"[:200]
    for one, other in zip(ours, done.arguments, strict=True):
        if isinstance(one, np.ndarray) and not is_close(one, other):
            return path.stem, "other results"
    return path.stem, done.summary()


def compared(path: Path, theirs: dict[str, Any]) -> dict[str, Any]:
    """What differs: by kind, the counters with our value and theirs; and how many times our instructions are theirs."""
    launch = launch_in(path)
    try:
        ours = launch_once(launch.kernel, launch.grid, launch.block, *launch.given()).compiled
    except KitError as fault:
        return {"fault": str(fault)}
    found: dict[str, Any] = {"used": [], "wrong": {}}
    for kind, names in KINDS.items():
        if kind == "shared" and ours.shared_atomic_requests:
            continue  # not counted apart by the profiler
        pairs = {name: (getattr(ours, name), theirs[name]) for name in names}
        if any(map(any, pairs.values())):
            found["used"].append(kind)
        wrong = {name: pair for name, pair in pairs.items() if not agree(name, *pair)}
        if wrong:
            found["wrong"][kind] = wrong
    found["instructions"] = ours.issued_warp_instructions / theirs["warp_instructions"]
    return found


def compared_with(given: tuple[Path, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return given[0].stem, compared(*given)


def totals(found: list[dict[str, Any]]) -> Iterator[str]:
    for kind in KINDS:
        used = [each for each in found if kind in each["used"]]
        right = sum(kind not in each["wrong"] for each in used)
        yield f"{kind} {right} of {len(used)} ({100 * right / max(1, len(used)):.1f} %)"
    off = sum(abs(each["instructions"] - 1) > OFF for each in found)
    yield f"instructions within {OFF:.0%}: {len(found) - off} of {len(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    looked: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    everything = {}
    for folder in given.folders:
        kept = folder / "counts.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        paths = [path for path in sorted(folder.glob("*.py")) if given.only in path.stem]
        with ProcessPoolExecutor(2) as pool:
            if given.count:
                for name, counts in pool.map(counted, [path for path in paths if path.stem not in known]):
                    known[name] = counts
                    kept.write_text(json.dumps(known))
                continue
            wanted = [(path, known[path.stem]) for path in paths if isinstance(known.get(path.stem), dict)]
            for name, found in pool.map(compared_with, wanted, chunksize=8):
                everything[name] = found
                if "fault" in found:
                    continue
                (held if is_held(name) else looked).append(found)
                if found["wrong"] and not is_held(name):
                    print(f"{name}: {found['wrong']}, instructions {found['instructions']:.2f}")
    print("looked into:", ", ".join(totals(looked)))
    print("held:", ", ".join(totals(held)))
    if given.json:
        given.json.write_text(json.dumps(everything))


if __name__ == "__main__":
    main()

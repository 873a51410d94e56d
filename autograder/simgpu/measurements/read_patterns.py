"""Launches one warp with many patterns of indices under Nsight Compute: what rules about one request were read from.

    python -m autograder.simgpu.measurements.read_patterns [--out FILE]     # needs a GPU and ncu

Readings are added to those that the file already holds, for some counts change from run to run.
Two rules: how many wavefronts an 8-byte access to shared memory takes, and how many sectors an atomic sends.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.measurements import probe_kernels as probe
from autograder.simgpu.measurements.read_counters import METRICS, ProfilerFailed, description, launches_in, number

RESULT = Path(__file__).with_name("h200_patterns.json")
KERNELS = {"red": probe.atomic_add_unused, "atom": probe.atomic_add_used, "shared": probe.read_shared_picked}
COUNTERS = {
    "red": {"sectors": "global_red_sectors"},
    "atom": {"sectors": "global_atom_sectors"},
    "shared": {"wavefronts": "shared_load_wavefronts", "bank_conflicts": "shared_load_bank_conflicts"},
}
LANE = np.arange(32)


@dataclass(frozen=True)
class WarpPattern:
    """One warp: `index` is each lane's element, -1 for none; `kind` is red, atom or shared."""

    kind: str
    dtype: str
    name: str
    index: tuple[int, ...]

    def arguments(self) -> list[np.ndarray]:
        room = np.zeros(32 if self.kind == "shared" else 2048, self.dtype)
        more = [np.zeros(32, self.dtype)] if self.kind == "atom" else []
        return [np.array(self.index, np.int32), room, *more]


def patterns() -> list[WarpPattern]:
    rng = np.random.default_rng(7)
    made = []

    def add(kind: str, dtype: str, name: str, index: Any) -> None:
        made.append(WarpPattern(kind, dtype, name, tuple(int(each) for each in index)))

    for bins, dtype, how_many in ((256, "i4", 40), (1024, "i4", 40), (256, "f8", 40), (64, "i4", 20)):
        for number_of in range(how_many):
            add("red", dtype, f"random {bins} {number_of}", rng.integers(0, bins, 32))
    _add_twice_the_same(add)
    for number_of, random in enumerate(made[40:70]):
        add("atom", "i4", f"atom of random 1024 {number_of}", random.index)
    _add_shared(add, rng)
    return made


def _add_twice_the_same(add: Any) -> None:
    """Regular patterns, and the same with one lane moved to the element of another."""
    regular = {
        "a sector each": LANE * 8,
        "pairs in a sector": LANE * 4,
        "neighbours": LANE,
        "half warps in a sector": (LANE % 16) * 8 + LANE // 16,
        "a line each": LANE * 32,
        "half warps in a line": (LANE % 16) * 32 + LANE // 16,
    }
    moves = ((0, 1), (0, 2), (0, 15), (0, 16), (0, 31), (5, 6), (7, 24), (15, 16), (30, 31), (14, 17))
    for name, index in regular.items():
        add("red", "i4", name, index)
        for one, other in moves:
            moved = index.copy()
            moved[other] = moved[one]
            add("red", "i4", f"{name}, lane {other} as {one}", moved)


def _add_shared(add: Any, rng: np.random.Generator) -> None:
    t = LANE
    some = {
        "all the same": t * 0, "t//2": t // 2, "t//4": t // 4, "t//8": t // 8, "t//16": t // 16, "t%2": t % 2,
        "t%4": t % 4, "t%8": t % 8, "t%16": t % 16, "t^1": t ^ 1, "t&~1": t & ~1, "t&~2": t & ~2, "t&~3": t & ~3,
        "t&~4": t & ~4, "31-t": 31 - t, "t": t, "t%16*16": t % 16 * 16, "t//2*16": t // 2 * 16, "t//2*17": t // 2 * 17,
        "t%16*2": t % 16 * 2, "t%8*16": t % 8 * 16, "t//2*2": t // 2 * 2, "t//2*8": t // 2 * 8,
        "(t&~2)*16": (t & ~2) * 16, "t*16": t * 16, "half a warp": np.where(t < 16, t, -1),
        "half a warp*16": np.where(t < 16, t * 16, -1), "even lanes": np.where(t % 2 == 0, t, -1),
        "even lanes//2": np.where(t % 2 == 0, t // 2, -1), "both ends": np.where((t < 8) | (t >= 24), t, -1),
        "eight lanes": np.where(t < 8, t, -1), "one lane": np.where(t == 3, t, -1),
        "lanes 0 and 17": np.where((t == 0) | (t == 17), t, -1),
        "lanes 0 and 16": np.where((t == 0) | (t == 16), t, -1), "even lanes*8": np.where(t % 2 == 0, t * 8, -1),
    }  # fmt: skip
    for name, index in some.items():
        add("shared", "f8", name, index)
    for each in range(12):
        add("shared", "f8", f"random 16 {each}", rng.integers(0, 16, 32))
    for each in range(12):
        add("shared", "f8", f"random pairs {each}", np.repeat(rng.integers(0, 512, 16), 2))
    for each in range(6):
        add("shared", "f8", f"random halves {each}", np.tile(rng.integers(0, 512, 16), 2))
    for each in range(6):
        add("shared", "f8", f"random alternate pairs {each}",
            np.repeat(rng.integers(0, 512, (8, 2))[:, None, :], 2, axis=1).ravel())  # fmt: skip
    for each in range(10):
        add("shared", "f8", f"random 64 {each}", rng.integers(0, 64, 32))


def launch_all() -> None:
    """Launches each pattern once; what the profiler watches."""
    from numba import cuda

    for pattern in patterns():
        KERNELS[pattern.kind][1, 32](*(cuda.to_device(each) for each in pattern.arguments()))
        cuda.synchronize()


def read_all() -> list[dict[str, float]]:
    """What the profiler counted for each pattern."""
    asked = sorted({METRICS[name] for names in COUNTERS.values() for name in names.values()})
    child = [sys.executable, "-m", "autograder.simgpu.measurements.read_patterns", "--launch"]
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics"]
    done = subprocess.run([*command, ",".join(asked), *child], capture_output=True, text=True)
    if done.returncode:
        raise ProfilerFailed(f"ncu failed: {done.stdout[-500:]} {done.stderr[-500:]}")
    all_patterns = patterns()
    rows = launches_in(done.stdout.splitlines(), [KERNELS[each.kind] for each in all_patterns])
    return [
        {name: number(row[METRICS[counter]]) for name, counter in COUNTERS[each.kind].items()}
        for each, row in zip(all_patterns, rows, strict=True)
    ]


def added_to(before: list[dict[str, Any]], readings: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Each pattern with all its readings, the earlier ones of the same indices first."""
    earlier = {(each["kind"], each["dtype"], tuple(each["index"])): each["readings"] for each in before}
    return [
        {"kind": each.kind, "dtype": each.dtype, "name": each.name, "index": list(each.index)}
        | {"readings": [*earlier.get((each.kind, each.dtype, each.index), []), reading]}
        for each, reading in zip(patterns(), readings, strict=True)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launch", action="store_true", help="only launch the patterns (the profiler's child)")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args(arguments)
    if given.launch:
        launch_all()
        return 0
    before = json.loads(given.out.read_text(encoding="utf-8"))["patterns"] if given.out.exists() else []
    try:
        result = {**description(), "patterns": added_to(before, read_all())}
    except (ProfilerFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 3
    write(given.out, result)
    return 0


def write(path: Path, result: dict[str, Any]) -> None:
    """JSON with one line for each pattern."""
    lines = ",\n  ".join(json.dumps(each) for each in result.pop("patterns"))
    head = json.dumps(result, indent=1)[:-2]
    path.write_text(f'{head},\n "patterns": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

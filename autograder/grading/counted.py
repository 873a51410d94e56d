"""Counts, on the simulated GPU, the work of everything that a lab's calibration timed; from it follow the model's verdicts.

`solutions/LAB/calibration/count.py` says what stands behind each measured name; `write_counted` writes counted.json beside
h200.json, which `autograder.perfmodel.measurements.verdicts` reads.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from autograder.device import RunRequest, Uninitialised
from autograder.grading.labs import spec_of
from autograder.language import parse_program, read_submission
from autograder.language.source import Submission


def counted_launches(lab: str, function: str, code: Submission) -> list[dict[str, Any]]:
    """Each launch of one product of the size that the lab times, sampled as the grader samples it: shape and counts.

    Zero counters are left out; empty where the product is stopped for taking too much work.
    """
    from autograder.simgpu.device import SimulatedDevice
    from autograder.simgpu.interpreter import WorkLimit

    spec = spec_of(lab)
    side = spec.SPEED_SIDE
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1, 1, (side, side)).astype(np.float32) for _ in range(2))
    request = RunRequest(
        function,
        {"a": a, "b": b, "c": Uninitialised((side, side), np.float32)},
        sample_blocks=spec.SPEED_BLOCKS_SIMULATED,
        work_limit=spec.SPEED_WORK_LIMIT,
    )
    run = SimulatedDevice().run(parse_program(code), request)
    if isinstance(run.fault, WorkLimit):  # too slow to simulate, and so too slow to pass
        return []
    if run.fault is not None:
        raise run.fault
    return [
        {
            "threads_per_block": int(np.prod(launch.block)),
            "shared_bytes_per_block": launch.shared_bytes,
            "array_bytes": 3 * a.nbytes,
            "counters": {name: value for name, value in dataclasses.asdict(launch.counters).items() if value},
        }
        for launch in run.launches
    ]


def write_counted(calibration: Path, function: str, submission_of: Callable[[str], Submission]) -> None:
    """Counts the lab's baseline and everything that h200.json names, and writes counted.json."""
    lab = calibration.parent
    spec = spec_of(lab.name)
    side = str(spec.SPEED_SIDE)
    measured = json.loads((calibration / "h200.json").read_text(encoding="utf-8"))["ratios"][side]
    baseline = read_submission(lab.parents[1] / "labs" / lab.name / "baseline.py")
    lines = [f' "baseline": {json.dumps(counted_launches(lab.name, function, baseline))}']
    for name in measured:
        lines.append(f" {json.dumps(name)}: {json.dumps(counted_launches(lab.name, function, submission_of(name)))}")
        print(name, flush=True)
    head = f'{{"size": "{side}", "threshold": {spec.SPEEDUP}, "launches": {{\n'
    (calibration / "counted.json").write_text(head + ",\n".join(lines) + "\n}}\n", encoding="utf-8")

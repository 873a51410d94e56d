"""Counts, on the simulated GPU, the work of everything that `measure.py` timed; writes counted.json beside h200.json.

    python solutions/lab01_naive_matmul/calibration/count.py

One product of the size that the lab times, sampled as the grader samples it. From these counts and the measured ratios
`autograder.perfmodel.measurements.verdicts` tells whether the model's verdicts are the clock's.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from autograder.device import RunRequest, Uninitialised
from autograder.grading.labs import spec_of
from autograder.language import parse_program, read_submission
from autograder.language.source import Cell, Submission
from autograder.simgpu.device import SimulatedDevice
from autograder.simgpu.interpreter import WorkLimit

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
SPEC = spec_of(LAB.name)
SHAPED = """
from numba import cuda
import numpy as np

@cuda.jit
def matmul_kernel(a, b, c):
    {first}, {second} = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total

def matmul(a, b, c):
    along_x, along_y = c.shape[{x_axis}], c.shape[{y_axis}]
    matmul_kernel[(-(-along_x // {width}), -(-along_y // {height})), ({width}, {height})](a, b, c)
"""


def submission(name: str) -> Submission:
    """What stands behind a name in h200.json: an answer's file, or one of the two mappings in a shape of block."""
    if "/" in name:
        places = [LAB / f"{name}.py", HERE / f"{Path(name).name}.py"]
        return read_submission(next(each for each in places if each.is_file()))
    mapping, shape = name.split(", ")
    width, height = shape.split("x")
    first, second, x_axis, y_axis = ("row", "col", 0, 1) if mapping == "x along rows" else ("col", "row", 1, 0)
    text = SHAPED.format(first=first, second=second, x_axis=x_axis, y_axis=y_axis, width=width, height=height)
    return Submission(name, (Cell(name, text),))


def counted(code: Submission) -> list[dict[str, Any]]:
    """Each launch of one product: its shape and what was counted (zero counters left out); none if it is stopped."""
    side = SPEC.SPEED_SIDE
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1, 1, (side, side)).astype(np.float32) for _ in range(2))
    request = RunRequest(
        "matmul",
        {"a": a, "b": b, "c": Uninitialised((side, side), np.float32)},
        sample_blocks=SPEC.SPEED_BLOCKS_SIMULATED,
        work_limit=SPEC.SPEED_WORK_LIMIT,
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


def main() -> None:
    """Counts the baseline and every subject."""
    side, threshold = SPEC.SPEED_SIDE, SPEC.SPEEDUP
    measured = json.loads((HERE / "h200.json").read_text(encoding="utf-8"))["ratios"][str(side)]
    baseline = read_submission(LAB.parents[1] / "labs" / LAB.name / "baseline.py")
    lines = [f' "baseline": {json.dumps(counted(baseline))}']
    for name in measured:
        lines.append(f" {json.dumps(name)}: {json.dumps(counted(submission(name)))}")
        print(name, flush=True)
    head = f'{{"size": "{side}", "threshold": {threshold}, "launches": {{\n'
    (HERE / "counted.json").write_text(head + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

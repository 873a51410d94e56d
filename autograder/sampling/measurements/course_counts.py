"""Counts the work of the performance model's own cases and writes their counted.json, next to what was measured.

    python -m autograder.sampling.measurements.course_counts [FILE [NAME...]]

Large launches are sampled: their counts are scaled up from a few blocks. With names it counts the cases that these
begin, and leaves what the file says of others as it is.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from autograder.perfmodel.measurements import course_kernels
from autograder.perfmodel.measurements.course_kernels import TimedLaunch, cases
from autograder.sampling.sampler import Sampler
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.single_launch import kernel_function

COUNTED = Path(course_kernels.__file__).with_name("counted.json")
WHOLE = 1 << 20  # threads up to which a launch is simulated whole
WHOLE_MATMUL = 256
SAMPLE_BLOCKS = {"matmul": 8}
SAMPLE_ELSE = 2048


def count_case(case: TimedLaunch) -> dict[str, Any]:
    """Counters, footprint and shared memory of one case, as plain data (zero counters left out).

    `counters` are those that the compiler leaves, `source` those of the source that differ from them.
    """
    is_matmul = case.name.startswith("matmul")
    whole = case.size <= (WHOLE_MATMUL if is_matmul else WHOLE) or "row a thread" in case.name
    sample = None if whole else SAMPLE_BLOCKS["matmul"] if is_matmul else SAMPLE_ELSE
    if case.name.startswith(("histogram", "list ranking")):  # where atomics meet, and the longest walk, do not scale up
        sample = None
    session = Session(chooser=Sampler(sample), output=lambda line: None)
    arguments = case.arguments(np.random.default_rng(case.size))
    record = session.launch(kernel_function(case.kernel), case.grid, case.block, arguments)
    left, source = dataclasses.asdict(record.compiled), dataclasses.asdict(record.counters)
    return {
        "case": case.name,
        "size": case.size,
        "threads_per_block": int(np.prod(case.block)),
        "shared_bytes_per_block": record.shared_bytes,
        "array_bytes": record.array_bytes,
        "counters": {name: value for name, value in left.items() if value},
        "source": {name: value for name, value in source.items() if value != left[name]},
    }


def main(target: Path, names: tuple[str, ...] = ("",)) -> None:
    """Counts the cases whose names begin like one of `names`, and writes them in the order of `cases`."""
    kept = json.loads(target.read_text(encoding="utf-8")) if target.is_file() else []
    known = {(row["case"], row["size"]): row for row in kept}
    rows = []
    for case in cases():
        if not case.name.startswith(names):
            rows += [known[case.name, case.size]] if (case.name, case.size) in known else []
            continue
        began = time.perf_counter()
        rows.append(count_case(case))
        print(case.name, case.size, f"{time.perf_counter() - began:.1f} s", sep="\t", flush=True)
    target.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else COUNTED
    main(file, tuple(sys.argv[2:]) or ("",))

"""Counts the work of the unseen cases on the simulated GPU, from a sample of each launch's blocks.

    python -m autograder.sampling.measurements.unseen_counts FILE [--only TEXT] [--half learned|held|third] [--part 1/2]

Writes a line for each case; the cases that the file has already are left as they are.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.sampling.sampler import Sampler
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.host.single_launch import kernel_function
from autograder.simgpu.measurements.cases import SEED
from autograder.simgpu.measurements.measured_lines import add_choice, append_line, chosen, lines_of
from autograder.simgpu.measurements.sizing import SizedCase


def counted(case: SizedCase) -> dict[str, Any]:
    """What each launch of a case counts and how it is shaped; `times` is how often launches alike follow each other.

    `counters` are those that the compiler leaves, `source` those of the source that differ from them.
    """
    session = Session(
        # Seeded: blocks at even distances would be alike where work goes by the bits of an index.
        chooser=Sampler(case.of.sample, SEED),
        output=lambda line: None,
        keep_records=False,
        checks_order=False,
    )
    arguments = tuple(
        session.to_device(each) if isinstance(each, np.ndarray) else each for each in case.make_arguments()
    )
    launches: list[dict[str, Any]] = []
    for launch in case.launches(arguments):
        kernel = kernel_function(launch.kernel)
        row = row_of(session.launch(kernel, launch.grid, launch.block, launch.arguments, launch.shared_bytes))
        if launches and {**launches[-1], "times": 1} == row:
            launches[-1]["times"] += 1
        else:
            launches.append(row)
    return {"case": case.name, "half": case.half, "launches": launches}


def row_of(record: LaunchRecord) -> dict[str, Any]:
    left, source = dataclasses.asdict(record.compiled), dataclasses.asdict(record.counters)
    return {
        "kernel": record.kernel,
        "times": 1,
        "threads_per_block": math.prod(record.block),
        "shared_bytes_per_block": record.shared_bytes,
        "array_bytes": record.array_bytes,
        "counters": {name: value for name, value in left.items() if value},
        "source": {name: value for name, value in source.items() if value != left[name]},
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    add_choice(parser)
    given = parser.parse_args(arguments)
    known = lines_of(given.file)
    for case in chosen(given):
        if case.name in known:
            continue
        began = time.perf_counter()
        try:
            row = counted(case)
        except (KitError, MemoryError, ValueError) as error:  # noted, and the next one goes on
            row = {"case": case.name, "error": f"{type(error).__name__}: {error}"}
        append_line(given.file, row)
        print(case.name, f"{time.perf_counter() - began:.1f} s", row.get("error", ""), sep="\t", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

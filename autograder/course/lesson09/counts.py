"""Counts the launches that are timed, on the simulated GPU, and writes notebooks/data/map_counted.json.

python -m autograder.course.lesson09.counts               # no GPU needed; some minutes
python -m autograder.course.lesson09.counts tiling B      # these alone; what was counted of the others stays
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from autograder.course.lesson09.counting import Figures, profiled_launch
from autograder.course.lesson09.pairs import PAIRS, KernelLaunch
from autograder.course.lesson09.patients import PATIENTS
from autograder.course.lesson09.recorded import COUNTED

SAMPLE_BLOCKS = 16
WHOLE = ("regularization", "B")  # a sample would not do: blocks are not alike


def count(launches: Mapping[str, KernelLaunch], is_whole: bool) -> dict[str, dict[str, Any]]:
    """The figures of each launch, what the model says of its time, and what limits it."""
    found = {}
    for name, launch in launches.items():
        profiled = profiled_launch(launch.kernel, launch, None if is_whole else SAMPLE_BLOCKS)
        estimate = profiled.to_dict()["estimate"]
        found[name] = {
            "kernel": profiled.record.kernel,
            "figures": {key: round(value, 3) for key, value in asdict(Figures.of(profiled)).items()},
            "estimated_ns": round(estimate["ns"]),
            "binding": estimate["binding"],
            "needs_us": {key: round(ns / 1e3, 1) for key, ns in list(estimate["breakdown_ns"].items())[:6]},
        }
    return found


def record(known: Mapping[str, Any], only: Sequence[str] = ()) -> dict[str, Any]:
    """All pairs and patients at the sizes at which they are timed; what was not asked for stays as it is."""
    pairs, patients = dict(known.get("pairs", {})), dict(known.get("patients", {}))
    for pair in PAIRS:
        if only and pair.technique not in only:
            continue
        job = pair.job(pair.large)
        pairs[pair.technique] = count({"without": job.without, "with": job.with_it}, pair.technique in WHOLE)
        print(pair.technique, pairs[pair.technique], flush=True)
    for patient in PATIENTS:
        if only and patient.name not in only:
            continue
        patients[patient.name] = count(patient.case(patient.large).launches, patient.name in WHOLE)
        print(patient.name, patients[patient.name], flush=True)
    return {
        "what": "The launches of map_h200.json, counted on the simulated GPU and predicted for an H200",
        "how": f"a sample of {SAMPLE_BLOCKS} blocks; all blocks for {', '.join(WHOLE)}",
        "pairs": pairs,
        "patients": patients,
    }


if __name__ == "__main__":
    before = json.loads(COUNTED.read_text(encoding="utf-8")) if COUNTED.exists() else {}
    COUNTED.write_text(json.dumps(record(before, sys.argv[1:]), indent=2) + "\n", encoding="utf-8")
    print(f"written: {COUNTED}")

"""Profiles a lab's answers with Nsight Compute: those whose predictions are off, for the reasons in the model's README.

Each launch of the lab's first speed check is profiled once, with cold caches and with clocks left as they are. The result is
solutions/LAB/calibration/profiled.json. Where no answers are named, those in that file are profiled again.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import UsageError
from autograder.grading.known_answers.answers import calibration_file, known_answers
from autograder.grading.known_answers.counting import compared_by_the_solution, program_of
from autograder.grading.labs import load_lab
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker

METRICS = {
    "microseconds": "gpu__time_duration.sum",
    "warp instructions": "smsp__inst_executed.sum",
    "cycles": "sm__cycles_elapsed.max",
    "cycles of the average multiprocessor": "sm__cycles_active.avg",
    "local load requests": "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "local store requests": "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "global load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "shared wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "atomic sectors in L2": "lts__t_sectors_op_red.sum",
    "sectors loaded from L2": "lts__t_sectors_op_read.sum",
    "L1 hits, %": "l1tex__t_sector_hit_rate.pct",
    "registers a thread": "launch__registers_per_thread",
}


def launch(lab_name: str, names: Sequence[str], launched: Path) -> None:
    """Carries out these answers to a lab, and writes down each one's kernels in order; what the profiler watches."""
    from autograder.cudagpu.device import GpuDevice
    from autograder.cudagpu.requests import carry_out, place_arguments
    from autograder.cudagpu.session import GpuSession

    lab = load_lab(lab_name)
    known, kernels = known_answers(lab), {}
    with Worker("simulated") as worker:  # for the requests alone: the GPU is the profiler's
        request = next(iter(compared_by_the_solution(lab, worker).values())).requests[0]
    device, rng = GpuDevice(), np.random.default_rng(1)
    for name in names:
        program = program_of(known[name])
        session = GpuSession(device.compiler(program), rng, timed=False)
        carry_out(session, program, request, place_arguments(session, request))
        session.synchronise()
        kernels[name] = [each.kernel for each, _, _ in session.launches]
    launched.write_text(json.dumps(kernels), encoding="utf-8")


def profile(lab: Lab, names: Sequence[str] = ()) -> Path:
    """Writes the counters of a lab's answers, kernel by kernel; without names, of those in the file."""
    out = calibration_file(lab, "profiled")
    known = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
    names = list(names or known)
    if not names:
        raise UsageError(f"No answer of {lab.name} was profiled before.", remedy="Name those that you want to look at.")
    with tempfile.TemporaryDirectory() as folder:
        launched = Path(folder) / "launched.json"
        child = [sys.executable, "-m", "autograder.grading.known_answers.profiled", lab.name, str(launched), *names]
        ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        command = [*ncu, "--metrics", ",".join(METRICS.values()), *child]
        page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = by_answer(page.splitlines(), json.loads(launched.read_text(encoding="utf-8")))
    out.write_text(json.dumps(known | found, indent=1) + "\n", encoding="utf-8")
    return out


def by_answer(page: Iterable[str], launched: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
    """The profiler's rows of these kernels, answer by answer; rows of other kernels (those that fill arrays) are left out.

    Raises ValueError where a kernel that was launched has no row.
    """
    rows = csv.DictReader(line for line in page if line.startswith('"'))
    found: dict[str, list[dict[str, Any]]] = {}
    for name, kernels in launched.items():
        found[name] = []
        for kernel in kernels:
            row = next((each for each in rows if each["Kernel Name"].partition("[")[0] == kernel), None)
            if row is None:
                raise ValueError(f"The profiler saw no `{kernel}` of {name}.")
            figures = {words: float(row[metric].replace(",", "")) for words, metric in METRICS.items()}
            figures["microseconds"] = round(figures["microseconds"] / 1e3, 3)  # of nanoseconds
            found[name].append({"kernel": kernel} | figures)
    return found


if __name__ == "__main__":
    launch(sys.argv[1], sys.argv[3:], Path(sys.argv[2]))

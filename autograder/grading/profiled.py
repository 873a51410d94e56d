"""What Nsight Compute counts of answers to labs whose predictions are off, for the reasons in the README of the model.

    python -m autograder.grading.profiled [FILE]        # needs a GPU and ncu; FILE or perfmodel/measurements/profiled.json

The launches are those of each lab's first speed check, once each, with cold caches and clocks left as they are.
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

from autograder import perfmodel
from autograder.grading.known_answers import Measuring, answers, solution_of
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission

RESULT = Path(perfmodel.__file__).parent / "measurements" / "profiled.json"
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
ANSWERS = {
    "lab02_tiled_matmul": (
        "right/registers_a_column_each", "dynamic/one_array_for_both_tiles", "right/flat_tiles",
        "wrong/sums_in_c_from_the_start", "wrong/local_tiles", "wrong/one_block_a_row_of_tiles", "wrong/only_a_in_tiles",
        "wrong/inner_loop_not_unrolled", "wrong/tile_b_transposed", "wrong/rows_along_x", "solution",
        "wrong/block_smaller_than_the_tile", "baseline",
    ),
    "lab04_reduction": (
        "baseline", "wrong/one_element_a_thread", "wrong/two_elements_a_thread", "wrong/four_elements_a_thread",
        "wrong/no_grid_stride", "wrong/first_block_finishes", "wrong/a_chunk_a_thread",
        "wrong/atomics_in_shared_memory", "wrong/array_of_each_thread", "solution", "right/syncwarp_in_the_last_warp",
        "halves, 264 blocks of 256", "halves, 132 blocks of 1024", "wrong/interleaved",
    ),
    "lab05_histogram": (
        "baseline", "solution", "at most/66 blocks", "wrong/eight_blocks", "wrong/one_block", "wrong/not_atomic",
        "wrong/a_copy_a_thread", "wrong/every_thread_merges_every_bin", "wrong/blocks_of_one_warp", "right/while_loops",
    ),
}  # fmt: skip


def launch(lab_name: str, launched: Path) -> None:
    """Carries out a lab's answers, and writes down each one's kernels in order; what the profiler watches."""
    from autograder.cudagpu.device import GpuDevice
    from autograder.cudagpu.requests import carry_out, place_arguments
    from autograder.cudagpu.session import GpuSession

    lab, kernels = load_lab(lab_name), {}
    known = answers(lab)
    with Worker("simulated") as worker:  # for the requests alone: the GPU is the profiler's
        measuring = Measuring(lab, worker)
        found = measuring.compared(known["solution"], measuring.speed_checks(solution_of(lab) / "lab.ipynb")[0])
    assert found is not None
    device, rng = GpuDevice(), np.random.default_rng(1)
    for name in ANSWERS[lab_name]:
        answer = known[name]
        program = parse_program(read_submission(answer) if isinstance(answer, Path) else answer)
        session = GpuSession(device.compiler(program), rng, timed=False)
        carry_out(session, program, found[0][0], place_arguments(session, found[0][0]))
        session.synchronise()
        kernels[name] = [each.kernel for each, _, _ in session.launches]
    launched.write_text(json.dumps(kernels), encoding="utf-8")


def profile(lab_name: str) -> dict[str, Any]:
    """The counters of a lab's answers, kernel by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        launched = Path(folder) / "launched.json"
        child = [sys.executable, "-m", "autograder.grading.profiled", "--launch", lab_name, str(launched)]
        ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        command = [*ncu, "--metrics", ",".join(METRICS.values()), *child]
        page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return by_answer(page.splitlines(), json.loads(launched.read_text(encoding="utf-8")))


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
    if sys.argv[1:2] == ["--launch"]:
        launch(sys.argv[2], Path(sys.argv[3]))
    else:
        result = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT
        result.write_text(json.dumps({lab: profile(lab) for lab in ANSWERS}, indent=1) + "\n", encoding="utf-8")

"""Times a library's function and a lab's baseline on a GPU for every size that the lab may time, in the grader's own way.

    python -m autograder.grading.known_answers.library_times lab07 [FILE]     # needs a GPU, and CuPy or PyTorch

Writes the lab's cublas.py: nanoseconds of both, by size. The simulated GPU compares with the first; a GPU without
the library compares with the baseline, and takes the ratio of both for that of the library.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from autograder.errors import GraderFault
from autograder.grading.labs import load_lab, spec_of
from autograder.language import parse_program, read_submission
from autograder.records.runs import WARM_UP_REQUESTS, Comparison, Library, RunRequest, Uninitialised

MOST_ROUNDS = 12
WRITTEN = '''"""What cuBLAS and this lab's baseline took for each size that may be timed, in the grader's way of timing.

Written by `{command}` on an {gpu}:
{library}.
"""

# Rows of A x columns of A x columns of B: nanoseconds of the library, and of the baseline.
NANOSECONDS = {{
{rows}}}
'''


def compared(lab: str, m: int, k: int, n: int) -> Comparison:
    """The library's function beside the lab's baseline on (m, k) and (k, n) matrices."""
    from autograder.cudagpu.comparing import Contest
    from autograder.cudagpu.compilation import Compiler
    from autograder.cudagpu.device import GpuDevice

    path = load_lab(lab).baseline_path
    assert path is not None
    baseline = parse_program(read_submission(path))
    rng = np.random.default_rng()
    beside = Library("cuBLAS", "matmul", recorded_ns=1.0, baseline_recorded_ns=1.0)

    def drawn() -> RunRequest:
        given = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((m, k), (k, n))]
        arguments = {"a": given[0], "b": given[1], "c": Uninitialised((m, n), np.float32)}
        return RunRequest("matmul_fast", arguments, library=beside)

    contest = Contest(GpuDevice().name, (Compiler(), Compiler()), parse_program(read_submission(path)), baseline, None, rng)
    found = contest.begin(*(drawn() for _ in range(WARM_UP_REQUESTS)))
    while found is None or (found.goes_on and len(contest.rounds) < MOST_ROUNDS):
        found = contest.round([drawn(), drawn()])
    return found


def main(lab: str, target: str = "") -> None:
    from autograder.cudagpu.device import GpuDevice
    from autograder.cudagpu.libraries import installed

    package = installed("matmul")
    if package is None:
        raise GraderFault("No library to time: neither CuPy nor PyTorch is installed.")
    folder = load_lab(lab).folder
    rows = []
    for m, k, n in spec_of(lab).sizes():
        one = compared(lab, m, k, n)
        rows.append(f'    "{m} x {k} x {n}": ({one.baseline_ns:.0f}, {one.submission_ns:.0f}),\n')
        print(f"{m} x {k} x {n}: {one.baseline_ns / 1e3:.1f} us, baseline {one.submission_ns / 1e3:.1f} us", flush=True)
    text = WRITTEN.format(
        command=f"python -m autograder.grading.known_answers.library_times {lab}", gpu=GpuDevice().name,
        library=f"cuBLAS, float32 without TF32, by {package[0]} {version_of(package[0])}", rows="".join(rows),
    )  # fmt: skip
    path = Path(target) if target else folder / "cublas.py"
    path.write_text(text, encoding="utf-8")


def version_of(package: str) -> str:
    """Of a package by the name that it is imported by."""
    return str(import_module(package).__version__)


if __name__ == "__main__":
    main(*sys.argv[1:])

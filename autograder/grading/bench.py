"""The grader's own benchmarks: how fast a check answers, and how many submissions a minute a class takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from autograder.errors import GraderFault
from autograder.grading.batch import Batch
from autograder.grading.labs import labs_root, load_lab
from autograder.grading.submissions import Entry
from autograder.grading.worker import Worker

CLASS_SIZE = 200
Figures = dict[str, str]


def bench_grading() -> Figures:
    """Grades a class of 200: lab 1's example class, right and wrong answers in turn, each as it was handed in."""
    lab = load_lab("lab01")
    solutions = labs_root().parent / "solutions" / lab.name
    texts = [
        solutions / "lab.ipynb",
        *sorted(solutions.glob("*/*.py")),
        *sorted((lab.folder / "example_class").glob("*.*")),
    ]
    entries = [Entry(f"student{n:03}", texts[n % len(texts)], texts[n % len(texts)].name) for n in range(CLASS_SIZE)]
    with tempfile.TemporaryDirectory() as out, Batch(lab, Path(out)) as batch:
        started = time.perf_counter()
        results = batch.grade(entries, progress=sys.stderr.isatty())
        seconds = time.perf_counter() - started
    faults = sum(any(check.fault for check in result.checks) for result in results)
    return {
        "submissions per minute": f"{60 * CLASS_SIZE / seconds:.0f}",
        "class": f"{CLASS_SIZE} submissions, {len(texts)} different, {os.cpu_count()} cores, {results[0].device}",
        "seconds": f"{seconds:.1f}",
        "faults of the grader": str(faults),
    }


def bench_check() -> Figures:
    """Seconds that `check lab01` takes on the solution: as a command whose caches are empty, then warm."""
    from autograder.grading.grade import check_submission

    lab = load_lab("lab01")
    solution = labs_root().parent / "solutions" / lab.name / "lab.ipynb"
    with tempfile.TemporaryDirectory() as empty_cache:
        cold, warm_command = (_seconds(lambda: _check_command(solution, empty_cache)) for _ in range(2))
    with Worker() as worker:
        check_submission(lab, solution, worker=worker)
        warm = min(_seconds(lambda: check_submission(lab, solution, worker=worker)) for _ in range(3))
    return {
        "first command, seconds": f"{cold:.2f}",  # Numba's cache empty, as right after installation
        "second command, seconds": f"{warm_command:.2f}",
        "again in a session, seconds": f"{warm:.2f}",
    }


def bench_simgpu() -> Figures:
    """The simulated GPU against Numba's simulator; see autograder/simgpu."""
    try:
        from autograder.simgpu import bench
    except ImportError:
        return {"skipped": "this version has no benchmark of the simulated GPU"}
    return bench.figures()


def _check_command(submission: Path, numba_cache: str) -> None:
    command = [sys.executable, "-m", "autograder", "check", "lab01", str(submission)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": numba_cache}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode > 1:
        raise GraderFault(f"`autograder check lab01` failed: {done.stderr.strip()}")


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


BENCHMARKS: dict[str, Callable[[], Figures]] = {"check": bench_check, "grading": bench_grading, "simgpu": bench_simgpu}

"""The grader's own benchmarks: how fast a check answers, and how many submissions a minute a class takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from autograder.errors import GraderFault, UsageError
from autograder.grading.batch import ClassBatch
from autograder.grading.labs import lab_names, labs_root, load_lab
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry
from autograder.grading.worker import Worker

CLASS_SIZE = 200
Figures = dict[str, str]


def bench_grading(lab_name: str) -> Figures:
    """Grades a class of 200, made of a lab's right and wrong answers and of its example class, each taken in turn."""
    lab = load_lab(lab_name)
    solutions = labs_root().parent / "solutions" / lab.name
    texts = [
        solutions / "lab.ipynb",
        *sorted(path for kind in ("right", "wrong") for path in (solutions / kind).glob("*.py")),
        *sorted((lab.folder / "example_class").glob("*.*")),
    ]
    entries = [Entry(f"student{n:03}", texts[n % len(texts)], texts[n % len(texts)].name) for n in range(CLASS_SIZE)]
    with tempfile.TemporaryDirectory() as out, ClassBatch(lab, Path(out)) as batch:
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


def bench_check(lab_name: str) -> Figures:
    """Seconds that the command `check` takes on a lab's solution, first with empty caches, then with warm ones."""
    lab = load_lab(lab_name)
    solution = _solution(lab)
    with tempfile.TemporaryDirectory() as empty_cache:
        cold, warm_command = (_seconds(lambda: _check_command(lab.name, solution, empty_cache)) for _ in range(2))
    return {
        "first command, seconds": f"{cold:.2f}",  # Numba's cache empty, as right after installation
        "second command, seconds": f"{warm_command:.2f}",
        "again in a session, seconds": f"{_warm_check(lab):.2f}",
    }


def bench_simgpu() -> Figures:
    """The simulated GPU against Numba's simulator; see autograder/simgpu."""
    try:
        from autograder.simgpu import bench
    except ImportError:
        return {"skipped": "this version has no benchmark of the simulated GPU"}
    warm = _warm_check(load_lab(LAB_WITH_LONG_LOOPS))
    return {**bench.figures(), f"{LAB_WITH_LONG_LOOPS} checked again in a session": f"{warm:.2f} s (target 1)"}


def _solution(lab: Lab) -> Path:
    return labs_root().parent / "solutions" / lab.name / "lab.ipynb"


def _warm_check(lab: Lab) -> float:
    """Seconds of a check of the lab's solution in a session that has made one: the best of three."""
    from autograder.grading.ahead import Ahead
    from autograder.grading.grade import check_submission

    solution = _solution(lab)
    with Worker() as worker, Worker() as second:
        ahead = Ahead(second)  # as in a notebook
        check_submission(lab, solution, worker=worker)
        check_submission(lab, solution, worker=second)
        return min(_seconds(lambda: check_submission(lab, solution, worker=worker, ahead=ahead)) for _ in range(3))


def _check_command(lab_name: str, submission: Path, numba_cache: str) -> None:
    command = [sys.executable, "-m", "autograder", "check", lab_name, str(submission)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": numba_cache}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode > 1:
        raise GraderFault(f"`autograder check {lab_name}` failed: {done.stderr.strip()}")


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


OF_LABS: dict[str, Callable[[str], Figures]] = {"check": bench_check, "grading": bench_grading}
OTHERS: dict[str, Callable[[], Figures]] = {"simgpu": bench_simgpu}
FIRST_LAB = "lab01"
LAB_WITH_LONG_LOOPS = "lab02"  # few threads and many rounds: the slowest kind of kernel to step through


def benchmarks(
    names: Sequence[str], labs: Sequence[str], more: Mapping[str, Callable[[], Figures]]
) -> Iterator[tuple[str, Figures]]:
    """Yields each benchmark's title and figures as soon as they are there. Those about labs are run for each of these labs.

    `more` are benchmarks of which the grader knows nothing. Raises `UsageError` where a name is unknown.
    """
    others = {**OTHERS, **more}
    known = [*OF_LABS, *others]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"No benchmark is called {', '.join(unknown)}.", remedy=f"There are: {', '.join(known)}.")
    chosen = lab_names() if "all" in labs else [load_lab(each).name for each in labs or [FIRST_LAB]]
    for name in names or known:
        if name in others:
            yield name, others[name]()
        else:
            yield from ((f"{name} {lab}", OF_LABS[name](lab)) for lab in chosen)

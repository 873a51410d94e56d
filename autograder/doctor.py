"""What this machine has for the course, what works, and for each thing that does not, what to do about it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GIB = 1 << 30
NEEDED_MEMORY_BYTES = 3 * GIB  # what one worker may use
SUPPORTED = ((3, 10), (3, 13))
INSTALL = f"Install what the course needs: {Path(sys.executable).name} -m pip install -r requirements.txt"


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `remedy` says what to do where it does not work (optional: the course runs without it)."""

    what: str
    works: bool
    found: str
    remedy: str = ""
    optional: bool = False


def examine() -> list[Finding]:
    """Looks at everything; a part that breaks while it is looked at is a finding, too."""
    findings = []
    for look in (_python, _packages, _gpu, _simulated_gpu, _memory, _labs):
        try:
            findings += list(look())
        except Exception as problem:
            words = " ".join(str(problem).split())[:160]
            what = look.__name__.strip("_").replace("_", " ")
            findings.append(Finding(what, False, f"{type(problem).__name__}: {words}", INSTALL))
    return findings


def _python() -> Iterator[Finding]:
    lowest, highest = SUPPORTED
    works = lowest <= sys.version_info[:2] <= highest
    remedy = "" if works else f"Use Python {lowest[0]}.{lowest[1]} to {highest[0]}.{highest[1]} (PYTHON=... make lab)."
    yield Finding("Python", works, f"{platform.python_version()}, {sys.executable}", remedy)


def _packages() -> Iterator[Finding]:
    for name in ("numpy", "numba", "jupyterlab", "nbval", "matplotlib", "tqdm"):
        version = _version(name)
        works = version is not None and (name != "numpy" or _release(version) < (2, 5))
        remedy = "" if works else INSTALL
        if version and not works:
            remedy = "numba-cuda breaks on NumPy 2.5: " + INSTALL
        yield Finding(name, works, version or "not installed", remedy)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _gpu() -> Iterator[Finding]:
    """The card, its driver and numba-cuda; the course runs without them."""
    from autograder.cudagpu import find_gpu

    gpu = find_gpu()
    if gpu.usable:
        yield Finding("GPU", True, f"{gpu.name}, numba-cuda {_version('numba-cuda')}", optional=True)
        yield _gpu_runs()
    else:
        found = f"{gpu.name}: {gpu.reason}" if gpu.name else gpu.reason
        yield Finding("GPU", False, f"{found}; kernels run on the simulated GPU", gpu.remedy, optional=True)


def _gpu_runs() -> Finding:
    problem = _problem_of(lambda: _tiny_kernel("gpu"))
    remedy = (
        ""
        if not problem
        else "Check the driver (nvidia-smi) and the numba-cuda extra; until then use --device simulated."
    )
    return Finding("kernel on the GPU", not problem, problem or "works", remedy, optional=True)


def _simulated_gpu() -> Iterator[Finding]:
    walls: list[str] = []
    problem = _problem_of(lambda: walls.extend(_tiny_kernel("simulated")))
    yield Finding("simulated GPU", not problem, problem or "works", INSTALL if problem else "")
    if not problem:
        yield _confinement(walls)


def _confinement(in_force: Sequence[str]) -> Finding:
    """What the worker that reads submissions cannot do here, beside its limits."""
    from autograder.grading.isolation import CONFINEMENT, ENVIRONMENT, wished_confinement

    missing = [each for each in CONFINEMENT if each not in in_force]
    found = ", ".join(each for each in CONFINEMENT if each in in_force) or "limits on time and size only"
    remedy = ""
    if missing and wished_confinement() is False:
        remedy = f"${ENVIRONMENT} is off: unset it for the rest."
    elif missing:
        remedy = f"This system cannot give the worker: {'; '.join(missing)}. Grade as a user of its own, or in a container."
    return Finding("confinement", not missing, found, remedy, optional=True)


def _problem_of(action: Callable[[], object]) -> str:
    try:
        action()
    except Exception as problem:
        return " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
    return ""


TINY = """from numba import cuda

@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = 2 * a[i]
"""


def _tiny_kernel(device: str) -> Sequence[str]:
    """Doubles 100 numbers in the grader's own worker; raises where that does not work. Returns the limits in force there."""
    import tempfile

    import numpy as np

    from autograder.grading.worker import Worker
    from autograder.records.runs import RunRequest

    numbers = np.arange(100, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder, Worker(device) as worker:
        path = Path(folder) / "double.py"
        path.write_text(TINY, encoding="utf-8")
        worker.read(path)
        run = worker.run(RunRequest("double", {"a": numbers}, grid=4, block=32), "device")
        in_force = worker.greeting.isolation
    if run.fault is not None:
        raise run.fault
    if not np.array_equal(run.outputs["a"], 2 * numbers):
        raise ArithmeticError("a kernel that doubles numbers gave wrong ones")
    return in_force


def _memory() -> Iterator[Finding]:
    free = _free_memory_bytes()
    if free is not None:
        works = free >= NEEDED_MEMORY_BYTES
        remedy = "" if works else "Large cases may not fit: close other programs, and grade with --jobs 1."
        yield Finding("free memory", works, f"{free / GIB:.1f} GiB", remedy, optional=True)


def _free_memory_bytes() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):  # macOS does not say
        return None


def _labs() -> Iterator[Finding]:
    from autograder.errors import KitError
    from autograder.grading.labs import lab_names, labs_root

    try:
        names, root = lab_names(), labs_root()
    except KitError as problem:
        yield Finding("labs", False, problem.message, problem.remedy)
    else:
        yield Finding("labs", True, f"{len(names)} in {root}")

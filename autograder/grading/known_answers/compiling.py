"""The right answers to all labs, and whether Numba compiles their kernels for the types that they are launched with.

    python -m autograder.grading.known_answers.compiling     # needs numba, no GPU and no CUDA; some seconds

Each right answer is run on the simulated GPU with small inputs, which tells the types; then Numba types and lowers
the kernels that were launched. The inputs are those of the lab's `calibration/small_calls.py`. `main` writes compiling.json
beside that: by answer and kernel nothing where Numba compiles it, else its class of error and the first line of it. A kernel
that its answer never launches, or makes inside a function, is left out. A lab that has no such file is not asked about.
"""

from __future__ import annotations

import json
import linecache
import runpy
from collections.abc import Mapping
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError

ROOT = Path(__file__).parents[3]
WORK_LIMIT = 1_000_000  # warp instructions of a launch
VERDICTS = "compiling.json"
CALLS = "small_calls.py"
Calls = Mapping[str, tuple[Any, ...]]  # by function its arguments
Types = dict[str, list[tuple[Any, ...]]]  # by kernel those of each launch


def labs() -> list[Path]:
    """The `calibration` folder of each lab that says how its functions are called."""
    return sorted(path.parent for path in ROOT.glob(f"solutions/*/calibration/{CALLS}"))


def answers(calibration: Path) -> dict[str, Path]:
    """A lab's right answers, by the names that known answers have."""
    return {f"right/{path.stem}": path for path in sorted((calibration.parent / "right").glob("*.py"))}


def calls_of(calibration: Path) -> Calls:
    """The functions that a lab's host calls, and small arguments."""
    found: Calls = runpy.run_path(str(calibration / CALLS))["calls"]()
    return found


def run_here(path: Path, calls: Calls, cuda: Any) -> tuple[Types, str]:
    """By kernel Numba's types of each launch of an answer, and what the simulated GPU said where it stopped.

    `cuda` is the simulated `numba.cuda`, which must be installed, with a work limit set.
    """
    text = path.read_text(encoding="utf-8")
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    names: dict[str, Any] = {"__name__": "answer"}
    said = ""
    try:
        exec(compile(text, str(path), "exec"), names)
        for function, arguments in calls.items():
            given = (cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments)
            if callable(names.get(function)):
                names[function](*given)
    except KitError as error:
        said = f"{type(error).__name__}: {error.message}"
    except Exception as error:  # the answer's own, on inputs as small as these
        said = f"host: {type(error).__name__}"
    kernels = {name: each for name, each in names.items() if hasattr(each, "types_compiled_for") and not each.is_device}
    return {name: each.types_compiled_for() for name, each in kernels.items()}, said


def all_types(calibration: Path) -> list[tuple[Path, Types]]:
    """Each right answer of a lab, and by kernel the types of each launch."""
    from autograder.simgpu.host import cuda_module

    cuda = cuda_module.install()
    cuda_module.device.tell = lambda hazards: None
    cuda_module.device.session.work_limit = WORK_LIMIT
    return [(path, run_here(path, calls_of(calibration), cuda)[0]) for path in answers(calibration).values()]


def verdicts_on(path: Path, types: Types) -> dict[str, str]:
    from autograder.simgpu.measurements.generated_kernels import numbas_verdict

    names: dict[str, Any] = {"__name__": "answer"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    found = {kernel: [numbas_verdict(names[kernel].py_func, each) for each in given] for kernel, given in types.items()}
    return {kernel: max(said) for kernel, said in found.items() if said}


def main() -> None:
    from autograder.simgpu.measurements.generated_kernels import with_no_device

    with Pool(1) as pool:  # in a process of its own: there `numba.cuda` is the simulated one
        types = pool.map(all_types, labs())
    with Pool(2, with_no_device) as pool:
        for calibration, of_lab in zip(labs(), types, strict=True):
            found = dict(zip(answers(calibration), pool.starmap(verdicts_on, of_lab, chunksize=20), strict=True))
            (calibration / VERDICTS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

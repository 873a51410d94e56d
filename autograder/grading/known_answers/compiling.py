"""The right answers to all labs, and whether Numba compiles their kernels for the types that they are launched with.

    python -m autograder.grading.known_answers.compiling     # needs numba, no GPU and no CUDA; some seconds

Each right answer is run on the simulated GPU with small inputs, which tells the types; then Numba types and lowers
the kernels that were launched. `main` writes compiling.json: by answer and kernel nothing where Numba compiles it, else its
class of error and the first line of it. A kernel that its answer never launches, or makes inside a function, is left out.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable, Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError

VERDICTS = Path(__file__).with_name("compiling.json")
ROOT = Path(__file__).parents[3]
WORK_LIMIT = 1_000_000  # warp instructions of a launch


def paths() -> Iterator[Path]:
    yield from sorted(ROOT.glob("solutions/lab*/right/*.py"))


def _product() -> tuple[Any, ...]:
    return np.ones((37, 5), np.float32), np.ones((5, 41), np.float32), np.zeros((37, 41), np.float32)


def _list_of(nodes: int) -> tuple[Any, ...]:
    successor = np.append(np.arange(1, nodes), nodes - 1).astype(np.int32)
    return successor, np.zeros(nodes, np.int32), np.zeros((7, nodes), np.int32)


# By lab the functions that the host calls, and small arguments of the types that grading gives them
CALLS: dict[str, dict[str, Callable[[], tuple[Any, ...]]]] = {
    "lab01_naive_matmul": {"matmul": _product},
    "lab02_tiled_matmul": {"matmul_tiled": _product},
    "lab03_transpose_and_layout": {
        "transpose": lambda: (np.ones((37, 41), np.float32), np.zeros((41, 37), np.float32)),
        "fall": lambda: (np.ones((100, 8), np.float32), np.zeros((8, 100), np.float32), 0.01, 2),
    },
    "lab04_reduction": {
        "total_sum": lambda: (np.ones(5000, np.float32), np.zeros(4096, np.float32), np.zeros(1, np.float32)),
    },
    "lab05_histogram": {"histogram": lambda: (np.arange(3000, dtype=np.int32) % 100, np.zeros(100, np.int32))},
    "lab06_list_ranking": {"rank_list": lambda: _list_of(500)},
}


def run_here(path: Path, cuda: Any) -> tuple[dict[str, list[tuple[Any, ...]]], str]:
    """By kernel Numba's types of each launch of an answer, and what the simulated GPU said where it stopped.

    `cuda` is the simulated `numba.cuda`, which must be installed, with a work limit set.
    """
    text = path.read_text(encoding="utf-8")
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    names: dict[str, Any] = {"__name__": "answer"}
    said = ""
    try:
        exec(compile(text, str(path), "exec"), names)
        for function, arguments in CALLS[path.parent.parent.name].items():
            given = (cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments())
            if callable(names.get(function)):
                names[function](*given)
    except KitError as error:
        said = f"{type(error).__name__}: {error.message}"
    except Exception as error:  # the answer's own, on inputs as small as these
        said = f"host: {type(error).__name__}"
    kernels = {name: each for name, each in names.items() if hasattr(each, "types_compiled_for") and not each.is_device}
    return {name: each.types_compiled_for() for name, each in kernels.items()}, said


def all_types() -> dict[str, dict[str, list[tuple[Any, ...]]]]:
    """By answer and kernel the types of each launch."""
    from autograder.simgpu.host import cuda_module

    cuda = cuda_module.install()
    cuda_module.device.tell = lambda hazards: None
    cuda_module.device.session.work_limit = WORK_LIMIT
    return {path.relative_to(ROOT).as_posix(): run_here(path, cuda)[0] for path in paths()}


def verdicts_on(name: str, types: dict[str, list[tuple[Any, ...]]]) -> dict[str, str]:
    from autograder.simgpu.measurements.generated_kernels import numbas_verdict

    path = ROOT / name
    names: dict[str, Any] = {"__name__": "answer"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    found = {kernel: [numbas_verdict(names[kernel].py_func, each) for each in given] for kernel, given in types.items()}
    return {kernel: max(said) for kernel, said in found.items() if said}


def main() -> None:
    from autograder.simgpu.measurements.generated_kernels import with_no_device

    with Pool(1) as pool:  # in a process of its own: there `numba.cuda` is the simulated one
        types = pool.apply(all_types)
    with Pool(2, with_no_device) as pool:
        found = dict(zip(types, pool.starmap(verdicts_on, types.items(), chunksize=20), strict=True))
    VERDICTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

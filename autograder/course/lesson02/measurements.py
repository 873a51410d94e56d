"""Times lesson 2's kernels on the GPU at hand, counts what missing barriers spoil there, and writes tiling_h200.json.

python -m autograder.course.lesson02.measurements [FILE]          # needs a GPU and numba-cuda
"""

from __future__ import annotations

import json
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.data import DATA
from autograder.course.lesson02.kernels import tiled_with, with_barriers
from autograder.perfmodel.measurements import predicting, verdicts

RESULT = DATA / "tiling_h200.json"
REPEATS, TRIES = 9, 20
COMPARED = {
    "naive": "matmul, x along columns, while, 16x16",
    "naive, range": "matmul, x along columns, 16x16",
    "tiled": "matmul, tiles of 16",
}
"""The kernels that the lesson holds against each other, by the names of the performance model's cases."""
SIZES = (1000, 1024, 1100, 2048, 4096)
CALIBRATION = verdicts.SOLUTIONS / "lab02_tiled_matmul" / "calibration"
ANSWERS = {
    "naive": "baseline",
    "tiled": "right/tiles_of_16",
    "without zeros": "wrong/inner_loop_not_unrolled",
    "tile of b turned": "wrong/tile_b_transposed",
    "a column of four each": "right/registers_a_column_each",
}
"""Kernels that were timed and profiled as answers to lab 2, by the names that they have there."""


def compared_ms() -> dict[str, dict[str, float]]:
    """The times of COMPARED at SIZES, which the performance model is held against too: one measurement for both."""
    timed = predicting.by_case()
    return {
        name: {str(n): float(f"{timed[case, n].measured_ns / 1e6:.4g}") for n in SIZES}
        for name, case in COMPARED.items()
    }


def answers() -> dict[str, Any]:
    """What is recorded of ANSWERS, at 1,024 x 1,024: times of all, and counters of those that were profiled."""
    times = json.loads((CALIBRATION / "at_1024.json").read_text(encoding="utf-8"))["milliseconds"]  # labs time other sizes
    profiled = json.loads((CALIBRATION / "profiled.json").read_text(encoding="utf-8"))
    counters = {name: profiled[answer][0] for name, answer in ANSWERS.items() if answer in profiled}
    return {
        "how_answers": "answers to lab 2 at 1,024 x 1,024: CUDA events, in turn with the lab's baseline; counters by "
        + "Nsight Compute, loads and stores of shared memory together",
        "answers_milliseconds": {name: float(f"{times[each]:.4g}") for name, each in ANSWERS.items()},
        "answers_counters": {
            name: {
                "warp_instructions": round(each["warp instructions"]),
                "shared_wavefronts": round(each["shared wavefronts"]),
            }
            for name, each in counters.items()
        },
    }


def median_ms(kernel: Any, n: int, tile: int, dynamic_shared_bytes: int = 0) -> float:
    """The median time of a launch on n x n random matrices, between two events."""
    rng = np.random.default_rng(n)
    arrays = [cuda.to_device(rng.random((n, n), dtype=np.float32)) for _ in range(2)]
    arrays.append(cuda.device_array((n, n), np.float32))
    launch = kernel[(-(-n // tile),) * 2, (tile, tile), 0, dynamic_shared_bytes]
    launch(*arrays)
    times = []
    for _ in range(REPEATS):
        start, end = cuda.event(), cuda.event()
        start.record()
        launch(*arrays)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    assert np.allclose(
        arrays[2].copy_to_host()[:64], arrays[0].copy_to_host()[:64] @ arrays[1].copy_to_host(), rtol=1e-3
    )
    return round(float(np.median(times)), 4)


def wrong_elements(kernel: Any, n: int) -> list[int]:
    """How many elements of the product are off by more than 0.1 %, in each of several launches."""
    rng = np.random.default_rng(n)
    a, b = rng.random((n, n), dtype=np.float32), rng.random((n, n), dtype=np.float32)
    expected = a.astype(np.float64) @ b
    device_a, device_b = cuda.to_device(a), cuda.to_device(b)
    counts = []
    for _ in range(TRIES):
        device_c = cuda.to_device(np.zeros((n, n), np.float32))
        kernel[(n // 16, n // 16), (16, 16)](device_a, device_b, device_c)
        counts.append(int((~np.isclose(device_c.copy_to_host(), expected, rtol=1e-3)).sum()))
    return counts


def registers(kernel: Any) -> int:
    """Registers a thread, as the compiler gave them out."""
    return int(next(iter(kernel.get_regs_per_thread().values())))


def main(target: Path) -> None:
    """Measures everything and writes the table."""
    result: dict[str, Any] = {
        "what": "Square float32 matrix multiply (random data) with tiles in shared memory, numba.cuda on one "
        + f"{cuda.get_current_device().name}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how_compared": "16 x 16 blocks, CUDA events, L2 flushed before each launch, median of 5: "
        + "autograder/perfmodel/measurements/validation.json; its tiles are set to 0 before they are filled",
        "compared_milliseconds": compared_ms(),
        "how_times": f"CUDA events, median of {REPEATS} launches, L2 not flushed between them",
        "milliseconds": {},
        "registers_per_thread": {},
    }
    kernels = {f"tiles of {tile}": (tiled_with(tile), tile) for tile in (8, 16, 32)}
    for name, (kernel, tile) in kernels.items():
        result["milliseconds"][name] = {str(n): median_ms(kernel, n, tile) for n in (1024, 4096)}
        result["registers_per_thread"][name] = registers(kernel)
    result["how_occupancy"] = "tiles of 16, n = 4096, shared memory that nobody uses added to each block"
    result["milliseconds_by_added_shared_bytes"] = {
        str(added): median_ms(kernels["tiles of 16"][0], 4096, 16, added) for added in (0, 27_000, 36_000, 46_000)
    }
    result |= answers()
    result["how_barriers"] = f"tiles of 16, elements off by more than 0.1 % in each of {TRIES} launches"
    result["wrong_elements"] = {
        name: {str(n): wrong_elements(with_barriers(*which), n) for n in (256, 1024)}
        for name, which in {
            "both barriers": (True, True),
            "without the first": (False, True),
            "without the second": (True, False),
            "without either": (False, False),
        }.items()
    }
    known = json.loads(RESULT.read_text(encoding="utf-8"))
    result |= {key: known[key] for key in ("how_counters", "counters")}
    text = re.sub(
        r"\[[\d,\s]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", json.dumps(result, indent=2)
    )
    target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT)

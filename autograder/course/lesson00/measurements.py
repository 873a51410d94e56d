"""Times lesson 0's vector addition, copies and all, beside NumPy's on the same machine, and writes start_h200.json.

python -m autograder.course.lesson00.measurements [FILE]          # needs a GPU and numba-cuda
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.data import DATA
from autograder.course.lesson00.kernels import add

RESULT = DATA / "start_h200.json"
REPEATS, SIZE = 15, 1 << 24


def median_ms(action: Callable[[], Any]) -> float:
    """The median time of `action`, until the GPU has finished, by the host's clock."""
    times = []
    for _ in range(REPEATS):
        cuda.synchronize()
        start = time.perf_counter()
        action()
        cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return round(float(np.median(times[2:])), 4)  # the first two compile, and touch memory for the first time


def main(target: Path) -> None:
    """Measures each step and writes the table."""
    rng = np.random.default_rng(0)
    x, y = rng.random(SIZE, dtype=np.float32), rng.random(SIZE, dtype=np.float32)
    out, grid = np.zeros_like(x), SIZE // 256
    device_x, device_y, device_out = cuda.to_device(x), cuda.to_device(y), cuda.device_array_like(x)
    result = {
        "what": f"Adding {SIZE:,} pairs of float32 numbers, numba.cuda on one {cuda.get_current_device().name}, "
        + time.strftime("%Y-%m"),
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how": f"the host's clock around each step, median of {REPEATS - 2}; ordinary (pageable) host memory",
        "size": SIZE,
        "milliseconds": {
            "NumPy: x + y": median_ms(lambda: np.add(x, y, out=out)),
            "copy x to the device": median_ms(lambda: device_x.copy_to_device(x)),
            "copy y to the device": median_ms(lambda: device_y.copy_to_device(y)),
            "kernel": median_ms(lambda: add[grid, 256](device_x, device_y, device_out)),
            "copy out to the host": median_ms(lambda: device_out.copy_to_host(out)),
            "kernel given NumPy arrays": median_ms(lambda: add[grid, 256](x, y, out)),
        },
    }
    assert np.array_equal(out, x + y)
    target.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT)

"""Times `course_kernels.py` on the GPU at hand and writes validation.json: what predictions are held against.

    python -m autograder.perfmodel.measurements.validation [FILE [NAME...]]

With names it measures the cases that these begin, and leaves what the file says of others as it is.
Before every launch a 256 MiB array is written and then another one read, so that L2 holds nothing of the kernel's and
no dirty line. Times are medians between CUDA events.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from numba import cuda

from autograder.kernels import read
from autograder.perfmodel.measurements.course_kernels import TimedLaunch, cases
from autograder.perfmodel.measurements.kernels import copy

WARM_UP, REPEATS = 1, 5


class FillL2:
    """Fills L2 with what no kernel needs."""

    def __init__(self) -> None:
        self.source = cuda.to_device(np.ones(1 << 26, np.float32))
        self.target = cuda.device_array(1 << 26, np.float32)
        self.sink = cuda.device_array(1 << 26, np.float32)

    def __call__(self) -> None:
        copy[self.source.size // 256, 256](self.source, self.target)
        read[1056, 256](self.source, self.sink)


def times_ms(case: TimedLaunch, flush: FillL2) -> list[float]:
    """Times of a few launches, inputs on the device, outputs not reset."""
    arguments = [cuda.to_device(array) for array in case.arguments(np.random.default_rng(case.size))]
    times = []
    for _ in range(WARM_UP + REPEATS):
        flush()
        start, end = cuda.event(), cuda.event()
        start.record()
        case.kernel[case.grid, case.block](*arguments)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return times[WARM_UP:]


def main(target: Path, names: tuple[str, ...] = ("",)) -> None:
    """Times the cases whose names begin like one of `names` and writes the table."""
    kept = json.loads(target.read_text(encoding="utf-8"))["cases"] if target.is_file() else []
    flush, rows = FillL2(), [row for row in kept if not row["case"].startswith(names)]
    for case in cases():
        if not case.name.startswith(names):
            continue
        times = times_ms(case, flush)
        row = {
            "case": case.name,
            "size": case.size,
            "measured_ns": round(float(np.median(times)) * 1e6),
            "spread": round(max(times) / min(times) - 1, 3),
            "registers_per_thread": next(iter(case.kernel.get_regs_per_thread().values())),
        }
        rows.append(row)
        print(*row.values(), sep="\t", flush=True)
    target.write_text(json.dumps({"gpu": _gpu_name(), "cases": rows}, indent=1) + "\n", encoding="utf-8")


def _gpu_name() -> str:
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else name


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".json")
    main(file, tuple(sys.argv[2:]) or ("",))

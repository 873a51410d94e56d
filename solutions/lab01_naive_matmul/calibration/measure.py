"""Times lab 1's baseline against the right controls, the slow wrong answers and both mappings in many block shapes.

Run on a machine with a CUDA GPU: `python solutions/lab01_naive_matmul/calibration/measure.py OUT.json`. Baseline and
subject take turns on the same inputs (baseline, subject, subject, baseline), with L2 filled with other data before each
call. Each entry is the ratio of their times (median, least and most) and the subject's median time.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from numba import cuda

LAB = Path(__file__).resolve().parents[1]
BASELINE = LAB.parents[1] / "labs" / LAB.name / "baseline.py"
SIDES = (512, 1024, 2048)
ROUNDS = 7
BLOCKS = (
    (8, 8), (16, 4), (16, 8), (8, 16), (16, 16), (32, 1), (32, 4), (4, 32), (32, 8), (8, 32), (64, 4), (4, 64),
    (24, 24), (32, 32), (16, 64), (64, 16), (128, 1), (256, 1), (1, 256), (2, 128),
)  # fmt: skip
SLOW = ("transposed_mapping", "transposed_mapping_32", "column_by_column", "one_thread_a_row", "one_thread_a_block")
Product = Callable[[object, object, object], None]


@cuda.jit
def x_along_columns(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@cuda.jit
def x_along_rows(a, b, c):
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@cuda.jit
def read_all(values, never_written):
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    if total == np.float32(-1):
        never_written[0] = total


def launched(kernel, block: tuple[int, int], x_is_row: bool) -> Product:
    def product(a, b, c) -> None:
        along_x, along_y = c.shape if x_is_row else c.shape[::-1]
        kernel[(-(-along_x // block[0]), -(-along_y // block[1])), block](a, b, c)

    return product


def loaded(path: Path) -> ModuleType:
    """The kit's own answers, imported as the ordinary Numba scripts that they are."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def subjects() -> dict[str, Product]:
    found: dict[str, Product] = {}
    for block in BLOCKS:
        found[f"x along columns, {block[0]}x{block[1]}"] = launched(x_along_columns, block, x_is_row=False)
        found[f"x along rows, {block[0]}x{block[1]}"] = launched(x_along_rows, block, x_is_row=True)
    files = [*sorted(LAB.glob("right/*.py")), *(LAB / "wrong" / f"{name}.py" for name in SLOW)]
    return found | {f"{path.parent.name}/{path.stem}": loaded(path).matmul for path in files}


class Stopwatch:
    """Times one call in milliseconds, with nothing of its inputs left in L2."""

    def __init__(self) -> None:
        self.other_data = cuda.to_device(np.zeros(64 << 20, np.float32))  # 256 MiB: five times an H200's L2
        self.nothing = cuda.device_array(1, np.float32)

    def __call__(self, product: Product, *arrays: object) -> float:
        read_all[1056, 256](self.other_data, self.nothing)
        start, end = cuda.event(), cuda.event()
        start.record()
        product(*arrays)
        end.record()
        end.synchronize()
        return cuda.event_elapsed_time(start, end)


def compared(baseline: Product, subject: Product, time: Stopwatch, *arrays: object) -> dict[str, float]:
    ratios, times = [], []
    for call in (baseline, subject):  # compiles, warms up
        time(call, *arrays)
    for _ in range(ROUNDS):
        first, one, two, last = (time(call, *arrays) for call in (baseline, subject, subject, baseline))
        ratios.append((first + last) / (one + two))
        times += [one, two]
    figures = {"ratio": np.median(ratios), "least": min(ratios), "most": max(ratios), "milliseconds": np.median(times)}
    return {name: round(float(value), 4) for name, value in figures.items()}


def main(out: Path) -> None:
    baseline, time, ratios = loaded(BASELINE).matmul, Stopwatch(), {}
    for side in SIDES:
        rng = np.random.default_rng(0)
        a, b = (cuda.to_device(rng.uniform(-1, 1, (side, side)).astype(np.float32)) for _ in range(2))
        c = cuda.device_array((side, side), np.float32)
        of_side = ratios.setdefault(str(side), {})
        for name, subject in subjects().items():
            of_side[name] = compared(baseline, subject, time, a, b, c)
            print(side, name, of_side[name], flush=True)
    device = cuda.get_current_device().name
    device = device.decode() if isinstance(device, bytes) else device
    what = "times the baseline's speed, square float32 matrices by side"
    out.write_text(json.dumps({"what": what, "device": device, "ratios": ratios}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

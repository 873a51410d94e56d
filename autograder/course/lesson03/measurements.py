"""Times lesson 3's kernels on the GPU at hand and writes coalescing_h200.json.

python -m autograder.course.lesson03.measurements [FILE]          # needs a GPU and numba-cuda
python -m autograder.course.lesson03.measurements additions       # blocks and loops alone; the file's other times stay
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.data import DATA
from autograder.course.lesson03.kernels import (
    by_columns_four,
    copy_four,
    copy_four_loads_first,
    fill,
    four_each,
    halve_columns,
    halve_rows,
    halve_structures,
    knobs,
    knobs_of_a_store,
    sum_columns,
    sum_columns_while,
    sum_rows,
    sum_rows_through_tile,
    through_tile,
    transpose,
    transpose_by_columns,
    transpose_four,
    weigh_structures,
)
from autograder.kernels import copy_2d, weigh_columns, weigh_rows

RESULT = DATA / "coalescing_h200.json"
REPEATS, SIDE, ACCESSES, PARTICLES = 11, 8192, 2**26, 2**25
STRIDES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32)
OFFSETS = (0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 31, 32)
FLUSH_BYTES = 2**28


def timed(launch: Callable[[], None], flush: Callable[[], None]) -> float:
    """The median milliseconds of a launch between two events, L2 flushed before each."""
    launch()
    times = []
    for _ in range(REPEATS):
        flush()
        start, end = cuda.event(), cuda.event()
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return float(np.median(times))


def by_reading() -> Callable[[], None]:
    """A launch that reads 256 MiB, so that nothing of the next kernel's arrays is left in L2."""
    room, out = cuda.device_array(FLUSH_BYTES // 4, np.float32), cuda.device_array(FLUSH_BYTES // 32, np.float32)
    fill[1024, 256](room)
    return lambda: knobs[FLUSH_BYTES // 4 // 8 // 256, 256](room, out, 1, 0)


def transposes(flush: Callable[[], None]) -> dict[str, float]:
    """Milliseconds of a copy and of each transpose, SIDE x SIDE; each result compared with NumPy's."""
    host = np.random.default_rng(3).random((SIDE, SIDE), dtype=np.float32)
    x, out = cuda.to_device(host), cuda.device_array((SIDE, SIDE), np.float32)
    kernels: dict[str, tuple[Any, tuple[int, int]]] = {
        "copy": (copy_2d, (32, 32)),
        "transpose": (transpose, (32, 32)),
        "transpose_by_columns": (transpose_by_columns, (32, 32)),
    }
    for width in (32, 33):
        kernels[f"tile of 32 x {width}"] = (through_tile(width), (32, 32))
    fours = {"copy": copy_four, "transpose": transpose_four, "transpose_by_columns": by_columns_four}
    fours |= {f"tile of 32 x {width}": four_each(width) for width in (32, 33)}
    kernels |= {f"{name}, four each": (kernel, (32, 8)) for name, kernel in fours.items()}
    kernels["copy, four each, loads first"] = (copy_four_loads_first, (32, 8))
    result = {}
    for name, (kernel, block) in kernels.items():
        launch = kernel[(SIDE // 32, SIDE // 32), block]
        result[name] = timed(partial(launch, x, out), flush)
        expected = host if name.startswith("copy") else host.T
        assert np.array_equal(out.copy_to_host(), expected), name
    return result


def blocks(flush: Callable[[], None]) -> dict[str, float]:
    """Milliseconds of the same copy, SIDE x SIDE and one element a thread, by the shape of its blocks."""
    host = np.random.default_rng(3).random((SIDE, SIDE), dtype=np.float32)
    x, out = cuda.to_device(host), cuda.device_array((SIDE, SIDE), np.float32)
    result = {}
    for rows in (32, 16, 8):
        result[f"32 x {rows}"] = timed(partial(copy_2d[(SIDE // 32, SIDE // rows), (32, rows)], x, out), flush)
        assert np.array_equal(out.copy_to_host(), host), rows
    return result


def sweeps(flush: Callable[[], None]) -> dict[str, dict[str, float]]:
    """Milliseconds of ACCESSES loads or stores of float32, by stride and by offset."""
    x = cuda.device_array(ACCESSES * max(STRIDES) + 32, np.float32)
    small = cuda.device_array(ACCESSES // 8, np.float32)
    fill[4096, 256](x)
    fill[4096, 256](small)
    load, store = (kernel[ACCESSES // 8 // 256, 256] for kernel in (knobs, knobs_of_a_store))
    return {
        "load by stride": {str(step): timed(partial(load, x, small, step, 0), flush) for step in STRIDES},
        "load by offset": {str(step): timed(partial(load, x, small, 1, step), flush) for step in OFFSETS},
        "store by stride": {str(step): timed(partial(store, small, x, step, 0), flush) for step in STRIDES},
    }


def sums(flush: Callable[[], None], threads: int = 2**18, each: int = 1024) -> dict[str, float]:
    """Milliseconds in which `threads` threads sum up `each` numbers: columns, rows, and rows through a tile."""
    flat = cuda.device_array(threads * each, np.float32)
    fill[4096, 256](flat)
    out = cuda.device_array(threads, np.float32)
    wide, tall = flat.reshape(each, threads), flat.reshape(threads, each)
    result = {
        "sum_columns": timed(lambda: sum_columns[threads // 256, 256](wide, out), flush),
        "sum_rows": timed(lambda: sum_rows[threads // 256, 256](tall, out), flush),
    }
    for width in (32, 33):
        kernel = sum_rows_through_tile(width)
        result[f"sum_rows, tile of 32 x {width}"] = timed(partial(kernel[threads // 32, 32], tall, out), flush)
        assert (out.copy_to_host() == each).all()
    return result


def loops(flush: Callable[[], None], threads: int = 2**18, each: int = 1024) -> dict[str, float]:
    """Milliseconds of sum_columns as in `sums`, its loop written with range and with while."""
    flat = cuda.device_array(threads * each, np.float32)
    fill[4096, 256](flat)
    wide, out = flat.reshape(each, threads), cuda.device_array(threads, np.float32)
    result = {}
    for name, kernel in (("range", sum_columns), ("while", sum_columns_while)):
        result[name] = timed(partial(kernel[threads // 256, 256], wide, out), flush)
        assert (out.copy_to_host() == each).all(), name
    return result


def layouts(flush: Callable[[], None]) -> dict[str, float]:
    """Milliseconds of changing one field, or all four, of PARTICLES particles in each layout."""
    fields = [(name, np.float32) for name in ("x", "y", "z", "mass")]
    aligned, packed = np.dtype(fields, align=True), np.dtype(fields)
    arrays = {
        "record array, align=True": (np.ones(PARTICLES, aligned), weigh_structures, halve_structures),
        "record array, packed": (np.ones(PARTICLES, packed), weigh_structures, halve_structures),
        "(n, 4)": (np.ones((PARTICLES, 4), np.float32), weigh_rows, halve_rows),
        "(4, n)": (np.ones((4, PARTICLES), np.float32), weigh_columns, halve_columns),
    }
    result = {}
    for name, (host, *kernels) in arrays.items():
        p = cuda.to_device(host)
        for words, kernel in zip(("one field", "all fields"), kernels, strict=True):
            run = kernel[PARTICLES // 256, 256]
            result[f"{name}, {words}"] = timed(partial(run, p), flush)
    return result


PARTS: dict[str, tuple[str, Callable[[Callable[[], None]], dict[str, Any]]]] = {
    "transposes": (
        f"{SIDE} x {SIDE} float32, 32 x 32 threads a block, or 32 x 8 that move four elements each",
        transposes,
    ),
    "blocks": (f"a copy of {SIDE} x {SIDE} float32, one element a thread, by the shape of a block", blocks),
    "sweeps": (f"{ACCESSES} loads or stores of float32, eight a thread, in blocks of 256 threads", sweeps),
    "sums": ("2^18 threads, each sums up 1024 float32, in blocks of 256 threads (32 with a tile)", sums),
    "loops": ("sum_columns: 2^18 threads, each sums up 1024 float32, by the kind of its loop", loops),
    "layouts": (f"{PARTICLES:,} particles of four float32 fields, halved in place, in blocks of 256 threads", layouts),
}


def main(target: Path) -> None:
    """Measures everything; writes the table after each part."""
    result: dict[str, Any] = {
        "what": f"Kernels of lesson 3, numba.cuda on one {cuda.get_current_device().name}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how_times": f"CUDA events, median milliseconds of {REPEATS} launches; 256 MiB read before each, so that L2 holds "
        "nothing of the kernel's arrays",
    }
    _measure(tuple(PARTS), result, target)


def additions(target: Path = RESULT) -> None:
    """Measures `blocks` and `loops` alone, and puts them into the file; all else in it stays as it is."""
    _measure(("blocks", "loops"), json.loads(target.read_text(encoding="utf-8")), target)


def _measure(names: tuple[str, ...], result: dict[str, Any], target: Path) -> None:
    flush = by_reading()
    for name in names:
        what, part = PARTS[name]
        try:
            result[name] = {"what": what, "milliseconds": part(flush)}
        except Exception as problem:  # the rest is still worth having
            print(name, repr(problem))
        target.write_text(json.dumps(_rounded(result), indent=2) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    if sys.argv[1:] == ["additions"]:
        additions()
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT)

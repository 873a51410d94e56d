"""Times lesson 8's ladder on the GPU at hand, with the libraries beside it, and writes ladder_h200.json.

    python -m autograder.course.lesson08.measurements [FILE] [--counters]      # needs a GPU and numba-cuda

`autograder bench gpu` prints the ratios of the same measurement. PyTorch and CuPy are used where they are installed, and
only here: their matrix multiply is cuBLAS, without TF32. With --counters, Nsight Compute (`ncu`) reads each rung.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.data import DATA
from autograder.course.lesson08 import at_the_limit
from autograder.course.lesson08.at_the_limit import Lists, histogram_with
from autograder.course.lesson08.kernels import ANY_SIZE, LADDER, SMALL, SMALL_ANY_SIZE, Rung, best_for

RESULT = DATA / "ladder_h200.json"
SIDES = (1024, 2048, 4096, 8192)
SLOW_UP_TO = 4096  # the first rungs take seconds beyond
SLOW = LADDER[:5]
RAGGED = ((1000,) * 3, (2000,) * 3, (4000,) * 3, (4099,) * 3, (8000,) * 3, (3000, 5000, 700))  # m, depth, n
PROFILED_SIDE = 2048  # 256 tiles of 128 x 128: two for nearly each of an H200's 132 multiprocessors
REPEATS = 7
METRICS = {
    "smsp__inst_executed.sum": "warp_instructions",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "multiply_adds",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "smsp__inst_executed_op_shared_ld.sum": "shared_load_requests",
    "smsp__inst_executed_op_global_ld.sum": "global_load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved_occupancy_percent",
    "launch__registers_per_thread": "registers_per_thread",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_slots_used_percent",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": "fma_pipe_percent",
}
Figures = dict[str, Any]


class QueueClock:
    """Times what is launched, on the GPU's own clock, behind work that keeps it busy: the host's launches cost nothing.

    That work writes a GiB three times, so nothing that is timed finds its arrays in L2.
    """

    def __init__(self) -> None:
        self._written = cuda.device_array(1 << 28, np.float32)

    def milliseconds(self, action: Callable[[], object], repeats: int = REPEATS) -> float:
        """The median over `repeats` of the time between two events around `action`, which is carried out once before."""
        action()
        cuda.synchronize()
        taken = []
        for _ in range(repeats):
            for _ in range(3):
                at_the_limit.fill[132 * 16, 1024](self._written)
            start, end = cuda.event(), cuda.event()
            start.record()
            action()
            end.record()
            end.synchronize()
            taken.append(cuda.event_elapsed_time(start, end))
        return float(f"{np.median(taken):.5g}")


class Libraries:
    """What PyTorch and CuPy do with the same arrays, where they are installed; names as they are shown."""

    def __init__(self) -> None:
        self.torch: Any = __import__("torch") if find_spec("torch") else None
        os.environ.setdefault("CUPY_TF32", "0")
        self.cupy: Any = __import__("cupy") if find_spec("cupy") else None
        if self.torch is not None:
            self.torch.backends.cuda.matmul.allow_tf32 = False

    def products(self, a: Any, b: Any, c: Any) -> dict[str, Callable[[], object]]:
        """cuBLAS on float32 device arrays."""
        if self.torch is not None:
            at, bt, ct = (self.torch.as_tensor(each, device="cuda") for each in (a, b, c))
            return {"cuBLAS": lambda: self.torch.matmul(at, bt, out=ct)}
        if self.cupy is not None:
            ac, bc, cc = map(self.cupy.asarray, (a, b, c))
            return {"cuBLAS": lambda: self.cupy.matmul(ac, bc, out=cc)}
        return {}

    def of(self, on_torch: Sequence[str], on_cupy: Sequence[str], array: Any) -> dict[str, Callable[[], object]]:
        """Expressions of `x`, the array, in each library."""
        found: dict[str, Callable[[], object]] = {}
        for name, library, expressions in (("PyTorch", self.torch, on_torch), ("CuPy", self.cupy, on_cupy)):
            if library is not None:
                x = library.as_tensor(array, device="cuda") if name == "PyTorch" else library.asarray(array)
                for each in expressions:
                    code = compile(each, f"<{name}>", "eval")
                    found[f"{name} {each}"] = partial(eval, code, {"x": x, "lib": library})
        return found


def random_matrix(rows: int, columns: int, seed: int) -> Any:
    """On the device, float32 between -1 and 1."""
    return cuda.to_device(np.random.default_rng(seed).uniform(-1, 1, (rows, columns)).astype(np.float32))


def differs(c: Any, a: Any, b: Any) -> float:
    """The largest error of 64 rows of c, over the root of the terms of a sum."""
    m = c.shape[0]
    rows = np.linspace(0, m - 1, min(m, 64)).astype(int)
    exact = a.copy_to_host()[rows].astype(np.float64) @ b.copy_to_host().astype(np.float64)
    return float(np.abs(c.copy_to_host()[rows] - exact).max() / np.sqrt(a.shape[1]))


def products(clock: QueueClock, libraries: Libraries, sides: Sequence[int] = SIDES) -> Figures:
    """Milliseconds of each rung and of cuBLAS, by size; raises AssertionError where a product is wrong."""
    found: Figures = {"milliseconds": {}, "ragged_milliseconds": {}, "registers_per_thread": {}}
    sizes = [(n, n, n) for n in sides] + list(RAGGED if sides == SIDES else ())
    for m, depth, n in sizes:
        a, b, c = random_matrix(m, depth, 1), random_matrix(depth, n, 2), cuda.device_array((m, n), np.float32)
        times: dict[str, float] = {}
        if (m, depth, n) in RAGGED:
            rungs: tuple[Rung, ...] = (ANY_SIZE, SMALL_ANY_SIZE)
            found["ragged_milliseconds"][f"{m} x {depth} x {n}"] = times
        else:
            rungs = tuple(each for each in (*LADDER, SMALL) if n <= SLOW_UP_TO or each not in SLOW)
            found["milliseconds"][str(n)] = times
        for name, action in libraries.products(a, b, c).items():
            times[name] = clock.milliseconds(action)
        for rung in rungs:
            rung.launch(a, b, c)
            error = differs(c, a, b)
            assert error < 1e-5, f"{rung.name} at {m} x {depth} x {n} is off by {error}"
            times[rung.name] = clock.milliseconds(partial(rung.launch, a, b, c), 3 if n > 4096 else REPEATS)
            (registers,) = rung.kernel.get_regs_per_thread().values()
            found["registers_per_thread"][rung.name] = registers
        for name, action in libraries.products(a, b, c).items():
            times[f"{name}, again"] = clock.milliseconds(action)
    return found


def sums(clock: QueueClock, libraries: Libraries, n: int = 1 << 28) -> Figures:
    """A sum of n float32, and how long reading them takes."""
    values = np.random.default_rng(3).random(n, dtype=np.float32)
    on_device, total = cuda.to_device(values), cuda.to_device(np.zeros(1, np.float32))
    launch = at_the_limit.add_up[at_the_limit.SUM_BLOCKS, at_the_limit.SUM_THREADS]
    launch(on_device, total)
    exact = float(values.sum(dtype=np.float64))
    assert abs(float(total.copy_to_host()[0]) - exact) < 1e-5 * exact
    words, sink = cuda.to_device(values.view(np.uint32)), cuda.to_device(np.zeros(1, np.uint32))
    reading = at_the_limit.read_words[at_the_limit.SUM_BLOCKS, at_the_limit.SUM_THREADS]
    times = {
        "ours": clock.milliseconds(lambda: launch(on_device, total)),
        "reading": clock.milliseconds(lambda: reading(words, sink)),
    }
    for name, action in libraries.of(["x.sum()"], ["x.sum()"], on_device).items():
        times[name] = clock.milliseconds(action)
    return {"elements": n, "bytes": 4 * n, "milliseconds": times}


def transposes(clock: QueueClock, libraries: Libraries, n: int = 8192) -> Figures:
    """b = a transposed, n x n, and copies of as many bytes."""
    a, b = random_matrix(n, n, 4), cuda.device_array((n, n), np.float32)
    launch = at_the_limit.transpose[(n // at_the_limit.TILE,) * 2, (32, at_the_limit.TILE_ROWS)]
    launch(a, b)
    assert (b.copy_to_host() == a.copy_to_host().T).all()
    times = {"ours": clock.milliseconds(lambda: launch(a, b)), "copy": clock.milliseconds(lambda: b.copy_to_device(a))}
    for name, action in libraries.of(
        ["x.t().contiguous()", "x.clone()"], ["lib.ascontiguousarray(x.T)", "x.copy()"], a
    ).items():
        times[name] = clock.milliseconds(action)
    return {"side": n, "bytes": 8 * n * n, "milliseconds": times}


def values_of(kind: str, n: int) -> np.ndarray:
    """n values of 0 to 255, uint8: "uniform", "Zipf" (value r as often as 1 / (r + 1)) or "one value"."""
    rng = np.random.default_rng(5)
    if kind == "one value":
        return np.full(n, 7, np.uint8)
    if kind == "uniform":
        return rng.integers(0, 256, n, dtype=np.uint8)
    weights = 1 / np.arange(1, 257)
    return rng.choice(256, n, p=weights / weights.sum()).astype(np.uint8)


def histograms(clock: QueueClock, libraries: Libraries, n: int = 1 << 26) -> Figures:
    """Counts of n bytes and of n int32, and a kernel that only reads them."""
    found: Figures = {"elements": n, "milliseconds": {}}
    for kind in ("uniform", "Zipf", "one value"):
        values = values_of(kind, n)
        expected = np.bincount(values, minlength=256)
        for of, in_a_word, held in (("bytes", 4, values), ("int32", 1, values.astype(np.int32))):
            on_device = cuda.to_device(held)
            words = cuda.to_device(held.view(np.uint32))
            kernel = histogram_with(in_a_word)
            counts, sink = cuda.to_device(np.zeros(256, np.uint32)), cuda.to_device(np.zeros(1, np.uint32))
            shape = at_the_limit.COUNT_BLOCKS, at_the_limit.COUNT_THREADS
            kernel[shape](words, counts)
            assert (counts.copy_to_host() == expected).all()
            times = {
                "ours": clock.milliseconds(partial(kernel[shape], words, counts)),
                "reading": clock.milliseconds(partial(at_the_limit.read_words[shape], words, sink)),
            }
            on_torch = ["lib.bincount(x, minlength=256)", *(["lib.histc(x, 256, 0, 255)"] if of == "int32" else [])]
            on_cupy = ["lib.bincount(x, minlength=256)", "lib.histogram(x, bins=256, range=(0, 256))"]
            for name, action in libraries.of(on_torch, on_cupy, on_device).items():
                times[name] = clock.milliseconds(action, 3)
            found["milliseconds"][f"{kind}, {of}"] = times
    return found


def lists(clock: QueueClock, n: int = 1 << 26) -> Figures:
    """Ranks of one list of n nodes in random order, all phases."""
    order = np.random.default_rng(6).permutation(n).astype(np.int32)
    successor, ranks = np.empty(n, np.int32), np.empty(n, np.int32)
    successor[order[:-1]], successor[order[-1]] = order[1:], order[-1]
    ranks[order] = np.arange(n - 1, -1, -1, dtype=np.int32)
    on_device, rank, room = cuda.to_device(successor), cuda.device_array(n, np.int32), Lists.of(n)
    at_the_limit.rank_lists(on_device, rank, room)
    assert (rank.copy_to_host() == ranks).all()
    m = room.links.size
    whole = clock.milliseconds(lambda: at_the_limit.rank_lists(on_device, rank, room), 5)
    walk = clock.milliseconds(
        lambda: at_the_limit.walk[-(-m // 64), 64](on_device, room.place, room.following, room.links), 5
    )
    rate = float(f"{n / whole * 1e3:.4g}")
    return {"nodes": n, "milliseconds": {"all phases": whole, "walk": walk}, "nodes_per_second": rate}


def counters(side: int = PROFILED_SIDE) -> Figures:
    """What Nsight Compute reads of one launch of each rung at side x side."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--metrics", ",".join(METRICS)]
    child = [sys.executable, "-m", "autograder.course.lesson08.measurements", "--launch", str(side)]
    done = subprocess.run([*command, *child], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ncu failed: {done.stdout[-800:]} {done.stderr[-800:]}")
    rows = [row for row in csv.DictReader(line for line in done.stdout.splitlines() if line.startswith('"')) if row["ID"]]
    rungs = (*LADDER, SMALL)
    assert len(rows) == len(rungs), f"{len(rows)} launches were read of {len(rungs)}"
    read = {}
    for rung, row in zip(rungs, rows, strict=True):
        taken = {name: row.get(metric, "").replace(",", "") for metric, name in METRICS.items()}
        read[rung.name] = {name: float(value) for name, value in taken.items() if value}
    return {"side": side, "rungs": read}


def launch_once(side: int) -> None:
    """Each rung once: what Nsight Compute looks at."""
    a, b, c = random_matrix(side, side, 1), random_matrix(side, side, 2), cuda.device_array((side, side), np.float32)
    for rung in (*LADDER, SMALL):
        rung.launch(a, b, c)
    cuda.synchronize()


def software() -> str:
    named = []
    for package in ("numba", "numba-cuda", "numpy", "torch", "cupy-cuda13x"):
        try:
            named.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(named)


def ratios() -> dict[str, str]:
    """The ladder on this GPU as `bench` prints it: shares of cuBLAS, of the copy and the read bandwidth. Takes a minute."""
    clock, libraries = QueueClock(), Libraries()
    found: dict[str, str] = {}
    for side, times in products(clock, libraries, (1024, 2048, 4096))["milliseconds"].items():
        ours = best_for(int(side), int(side), int(side)).name
        if "cuBLAS" in times:
            found[f"matrix multiply {side}, share of cuBLAS"] = f"{times['cuBLAS'] / times[ours]:.2f}"
        else:
            found[f"matrix multiply {side}, TFLOP/s"] = f"{2 * int(side) ** 3 / times[ours] / 1e9:.1f}"
    moved = transposes(clock, libraries)["milliseconds"]
    found["transpose 8192, share of a copy"] = f"{moved['copy'] / moved['ours']:.2f}"
    total = sums(clock, libraries)
    found["sum of 2^28, share of reading"] = f"{total['milliseconds']['reading'] / total['milliseconds']['ours']:.2f}"
    for name, times in histograms(clock, libraries)["milliseconds"].items():
        found[f"histogram, {name}, share of reading"] = f"{times['reading'] / times['ours']:.2f}"
    found["list ranking 2^26, G nodes/s"] = f"{lists(clock)['nodes_per_second'] / 1e9:.1f}"
    return found


def main(given: argparse.Namespace) -> None:
    clock, libraries = QueueClock(), Libraries()
    found: Figures = {
        "what": "Lesson 8's ladder, float32 without TF32, on one NVIDIA H200, 2026-11",
        "software": software(),
        "how_times": "CUDA events behind work that fills the queue and empties L2, median of 7 (sides over 4,096: 3)",
    }
    for name, measure in (
        ("products", lambda: products(clock, libraries)),
        ("transpose", lambda: transposes(clock, libraries)),
        ("sum", lambda: sums(clock, libraries)),
        ("histograms", lambda: histograms(clock, libraries)),
        ("lists", lambda: lists(clock)),
        *((("counters", counters),) if given.counters and shutil.which("ncu") else ()),
    ):
        found[name] = measure()
        given.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(name, "done", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path, default=RESULT)
    parser.add_argument("--counters", action="store_true")
    parser.add_argument("--launch", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.launch:
        launch_once(asked.launch)
    else:
        main(asked)

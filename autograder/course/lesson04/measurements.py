"""Times lesson 4's kernels on the GPU at hand, reads their hardware counters, and writes warps_h200.json.

python -m autograder.course.lesson04.measurements [FILE]            # needs a GPU and numba-cuda: times, orders, wrong sums
python -m autograder.course.lesson04.measurements --rows [FILE]     # only sums of rows, and four ways by width
python -m autograder.course.lesson04.measurements --counters [FILE] # needs ncu as well: only the counters, the rest stays
python -m autograder.course.lesson04.measurements --rows --counters [FILE] # needs ncu: only the counters of sums of rows
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.data import DATA
from autograder.course.lesson04 import kernels
from autograder.kernels import reduce_convergent, reduce_divergent, reduce_strided

RESULT = DATA / "warps_h200.json"
REPEATS, TRIES = 15, 20
METRICS = {
    "warp_instructions": "smsp__inst_executed.sum",
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "branches": "smsp__sass_branch_targets.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}
ROWS_METRICS = {
    "warp_instructions": METRICS["warp_instructions"],
    "threads_per_instruction": METRICS["threads_per_instruction"],
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "dram_bytes_read": "dram__bytes_read.sum",
}
TABLES = ((1 << 20, 200), (1 << 22, 64), (1 << 16, 200))  # rows, and their mean length
GROUP = 1024  # rows that lie together and are sorted among themselves
ROWS_REPEATS = 9

Launches = dict[str, tuple[Any, Any, Any, tuple[Any, ...]]]  # name -> (kernel, grid, block, arguments)

WORK = (kernels.everyone, kernels.every_32nd, kernels.the_first, kernels.four_ways)
REDUCTIONS = {
    "doubling": reduce_divergent,
    "packed": reduce_strided,
    "halving": reduce_convergent,
    "shuffled block": kernels.shuffled_block,
}
TWO_PATHS = {
    "writers in the if": kernels.writers_in_the_if,
    "writers in the else": kernels.writers_in_the_else,
    "two ifs and a syncwarp": kernels.with_syncwarp,
}
WITHOUT_BARRIERS = {
    "in the loop": kernels.without_the_last_barriers,
    "written out": kernels.last_warp_written_out,
    "halving": reduce_convergent,
}


def elapsed_ms(launch: Callable[[], Any]) -> float:
    """The time of one launch, between two events."""
    start, end = cuda.event(), cuda.event()
    start.record()
    launch()
    end.record()
    end.synchronize()
    return float(cuda.event_elapsed_time(start, end))


def median_ms(launch: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The median time of several launches, after one that compiles."""
    launch()
    return round(float(np.median([elapsed_ms(launch) for _ in range(repeats)])), 4)


def times_of_work(n: int, rounds: int) -> dict[str, float]:
    """How long the same n threads take when all work, every 32nd, the first 32nd part; and along four paths."""
    x = cuda.to_device(np.ones(n, np.float32))
    return {k.py_func.__name__: median_ms(partial(k[n // 256, 256], x, rounds)) for k in WORK}


def times_by_width(n: int, rounds: int) -> dict[str, float]:
    """How long n threads on four paths take, if neighbours part, and if only warps do."""
    x = cuda.to_device(np.ones(n, np.float32))
    return {f"width {w}": median_ms(partial(kernels.four_ways_by[n // 256, 256], x, rounds, w)) for w in (1, 32)}


def launches_on_rows(rows: int, mean: int) -> Launches:
    """Sums of the rows of one table, by a thread a row in several orders, and by a warp a row.

    "as drawn": rows as they lie in memory. "in any order": neighbours take rows that lie anywhere. "sorted": by length,
    all of them. "sorted in groups": by length, among 1,024 rows that lie together. The table lies on the device, so
    that a launch copies nothing.
    """
    lengths = np.random.default_rng(4).geometric(1 / mean, rows)
    starts = cuda.to_device(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
    values = cuda.to_device(np.random.default_rng(rows).random(int(lengths.sum()), dtype=np.float32))
    sums = cuda.device_array(rows, np.float32)
    groups = np.argsort(-lengths.reshape(-1, GROUP), axis=1, kind="stable") + np.arange(0, rows, GROUP)[:, None]
    orders = {
        "as drawn": np.arange(rows),
        "in any order": np.random.default_rng(1).permutation(rows),
        "sorted": np.argsort(-lengths, kind="stable"),
        "sorted in groups": groups.ravel(),
    }
    launches: Launches = {}
    for name, order in orders.items():
        given = (cuda.to_device(order.astype(np.int32)), starts, values, sums)
        launches[name] = (kernels.row_sums, rows // 256, 256, given)
    launches["a warp a row"] = (kernels.row_sums_by_warp, rows // 8, 256, launches["as drawn"][-1])
    return launches


def times_of_rows(rows: int, mean: int) -> dict[str, float]:
    """How long sums of rows take, checked against NumPy."""
    times: dict[str, float] = {}
    for name, (kernel, grid, block, arguments) in launches_on_rows(rows, mean).items():
        _, starts, values, sums = arguments
        sums.copy_to_device(np.zeros(rows, np.float32))
        times[name] = median_ms(partial(kernel[grid, block], *arguments), ROWS_REPEATS)
        begins = starts.copy_to_host()[:-1]  # no row is empty, as reduceat needs it
        expected = np.add.reduceat(values.copy_to_host(), begins, dtype=np.float64)
        assert np.allclose(sums.copy_to_host(), expected, rtol=1e-4), name
    return times


def lengths_of(n: int, mean: int = 200) -> dict[str, np.ndarray]:
    """The same rounds for n threads in three orders: as drawn, sorted, and spread out evenly."""
    drawn = np.random.default_rng(4).geometric(1 / mean, n).astype(np.int32)
    return {"as drawn": drawn, "sorted": np.sort(drawn)[::-1].copy(), "all equal": np.full(n, mean, np.int32)}


def times_of_loops(n: int) -> dict[str, float]:
    """The loops of n threads, with the same number of rounds in all (for "all equal", within a thousandth)."""
    times = {}
    for name, lengths in lengths_of(n, 2000).items():
        device_lengths, out = cuda.to_device(lengths), cuda.to_device(np.ones(n, np.float32))
        times[name] = median_ms(partial(kernels.walk[n // 256, 256], device_lengths, out))
    return times


def times_of_reductions(n: int, rounds: int = 100) -> dict[str, float]:
    """Sums of 256 (for `warp_sums` 32) neighbours among n float32 numbers, checked against NumPy.

    Each round launches every kernel once, so that whatever changes on the GPU meanwhile meets them all.
    """
    values = np.random.default_rng(n).random(n, dtype=np.float32)
    device_values, launches = cuda.to_device(values), {}
    times: dict[str, list[float]] = {}
    for name, kernel in (REDUCTIONS | {"warp sums": kernels.warp_sums}).items():
        each = 32 if kernel is kernels.warp_sums else 256
        sums = cuda.device_array(n // each, np.float32)
        launches[name] = partial(kernel[n // 256, 256], device_values, sums)
        launches[name]()
        assert np.allclose(sums.copy_to_host(), values.reshape(-1, each).sum(axis=1, dtype=np.float64), rtol=1e-5)
    for _ in range(rounds):
        for name, launch in launches.items():
            times.setdefault(name, []).append(elapsed_ms(launch))
    return {name: round(float(np.median(each)), 4) for name, each in times.items()}


def wrong_sums(kernel: Any, n: int) -> list[int]:
    """How many of n / 256 sums are wrong, in each of several launches; small whole numbers, so that sums are exact."""
    values = np.random.default_rng(n).integers(0, 10, n).astype(np.float32)
    expected, device_values, counts = values.reshape(-1, 256).sum(axis=1), cuda.to_device(values), []
    for _ in range(TRIES):
        sums = cuda.to_device(np.zeros(n // 256, np.float32))
        kernel[n // 256, 256](device_values, sums)
        counts.append(int((sums.copy_to_host() != expected).sum()))
    return counts


def wrong_reads(kernel: Any, n: int) -> list[int]:
    """How many of n / 2 odd threads read something else than their neighbour's value, in each of several launches."""
    values = np.random.default_rng(n).random(n, dtype=np.float32)
    return [int((out[1::2] != values[::2]).sum()) for out in outputs_of(kernel, values, 256)]


def wrong_from_another_warp(n: int) -> list[int]:
    """How many of n threads read something else than what the thread half a block away was to write."""
    values = np.random.default_rng(n).random(n, dtype=np.float32)
    expected = np.roll(values.reshape(-1, 1024), 512, axis=1).ravel()
    return [int((out != expected).sum()) for out in outputs_of(kernels.from_another_warp, values, 1024)]


def outputs_of(kernel: Any, values: np.ndarray, threads: int) -> Iterator[np.ndarray]:
    """What each of several launches of a (values, out) kernel makes of the same values."""
    device_values = cuda.to_device(values)
    for _ in range(TRIES):
        out = cuda.to_device(np.zeros_like(values))
        kernel[values.size // threads, threads](device_values, out)
        yield out.copy_to_host()


def orders_of_warps(blocks: int, threads: int, launches: int = 6) -> list[list[int]]:
    """In which order the first 32 warps of a launch drew their tickets: place 0 came first."""
    orders = []
    for launch in range(launches + 1):
        x = cuda.to_device(np.random.default_rng(launch).random(blocks * threads, dtype=np.float32))
        counter, tickets = (
            cuda.to_device(np.zeros(1, np.int32)),
            cuda.to_device(np.zeros(blocks * threads // 32, np.int32)),
        )
        kernels.draw_tickets[blocks, threads](x, counter, tickets)
        orders.append(np.argsort(tickets.copy_to_host())[:32].tolist())
    return orders[1:]  # the first launch compiled


def launches_to_count() -> Launches:
    """Small launches, each made once under the profiler."""
    x, n = np.ones(1 << 16, np.float32), 1 << 16
    values = np.random.default_rng(8).random(2048, dtype=np.float32)
    found: Launches = {k.py_func.__name__: (k, n // 1024, 256, (x[: n // 4], 2000)) for k in WORK}
    found |= {f"walk, {name}": (kernels.walk, n // 256, 256, (lengths, x)) for name, lengths in lengths_of(n).items()}
    found["picture"] = (kernels.picture, (5, 4), (16, 16), (np.zeros((62, 76), np.int32),))
    found |= {name: (kernel, 8, 256, (values, np.zeros(8, np.float32))) for name, kernel in REDUCTIONS.items()}
    found["warp sums"] = (kernels.warp_sums, 8, 256, (values, np.zeros(64, np.float32)))
    return found


def read_counters(rows: bool) -> dict[str, dict[str, float]]:
    """Runs this script under ncu, which counts each launch of the first of `TABLES`, or of `launches_to_count`."""
    from autograder.simgpu.measurements.read_counters import launches_in, number

    metrics = ROWS_METRICS if rows else METRICS
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--metrics", ",".join(metrics.values())]
    command += [sys.executable, "-m", "autograder.course.lesson04.measurements", "--launch"]
    done = subprocess.run(command + ["--rows"] * rows, capture_output=True, text=True)
    cases = launches_on_rows(*TABLES[0]) if rows else launches_to_count()
    found = launches_in(done.stdout.splitlines(keepends=True), [kernel for kernel, *_ in cases.values()])
    return {
        name: {each: number(row[metric]) for each, metric in metrics.items()}
        for name, row in zip(cases, found, strict=True)
    }


def measure_rows() -> dict[str, Any]:
    """Sums of rows, and four ways by width: times only."""
    return {
        "how_rows": f"ms, median of {ROWS_REPEATS} launches, blocks of 256 threads; lengths of rows are geometric",
        "rows": [{"rows": rows, "mean": mean} | times_of_rows(rows, mean) for rows, mean in TABLES],
        "four_ways_by_width": times_by_width(1 << 25, 20_000),
    }


def measure() -> dict[str, Any]:
    """All that needs no profiler."""
    sizes = {"work": 1 << 25, "loops": 1 << 24, "reductions": 1 << 26}
    return {
        "what": f"Lesson 4's kernels, numba.cuda on one {cuda.get_current_device().name}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how_times": f"CUDA events, median of {REPEATS} launches (of 100 for reductions), blocks of 256 threads",
        "threads": sizes,
        "milliseconds": {
            "work": times_of_work(sizes["work"], 20_000),
            "loops": times_of_loops(sizes["loops"]),
            "reductions": times_of_reductions(sizes["reductions"]),
        },
        "how_wrong": f"of 65,536 sums, in each of {TRIES} launches",
        "wrong_sums": {name: wrong_sums(kernel, 1 << 24) for name, kernel in WITHOUT_BARRIERS.items()},
        "how_wrong_reads": f"of 524,288 reads, in each of {TRIES} launches",
        "wrong_reads": {name: wrong_reads(kernel, 1 << 20) for name, kernel in TWO_PATHS.items()},
        "how_wrong_from_another_warp": f"of 1,048,576 reads, in each of {TRIES} launches, blocks of 1,024",
        "wrong_from_another_warp": wrong_from_another_warp(1 << 20),
        "how_orders": "the order in which the first 32 warps of a launch came to an atomic, in six launches",
        "orders": {"one block of 1024": orders_of_warps(1, 1024), "32 blocks of 32": orders_of_warps(32, 32)},
    }


def main(arguments: list[str]) -> None:
    """Measures and writes the table; what was not asked for stays as it is."""
    rows = "--rows" in arguments
    if "--launch" in arguments:
        for kernel, grid, block, given in (launches_on_rows(*TABLES[0]) if rows else launches_to_count()).values():
            kernel[grid, block](*(cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in given))
            cuda.synchronize()
        return
    targets = [each for each in arguments if not each.startswith("--")]
    target = Path(targets[0]) if targets else RESULT
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    if "--counters" in arguments:
        name = "counters_of_rows" if rows else "counters"
        known |= {"how_counters": "Nsight Compute, --clock-control none", name: read_counters(rows)}
    else:
        known |= measure_rows() if rows else measure() | measure_rows()
    text = re.sub(
        r"\[[\d,\s]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", json.dumps(known, indent=2)
    )
    target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

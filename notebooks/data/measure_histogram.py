"""Times lesson 5's kernels on the GPU at hand, counts what updates without atomics lose there, writes histogram_h200.json.

python notebooks/data/measure_histogram.py [FILE]          # needs a GPU and numba-cuda

The text, alice.txt, is the beginning of Lewis Carroll's "Alice's Adventures in Wonderland" (1865, in the public
domain), without its indents.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import histogram_kernels as kernels_of
import numpy as np
from numba import cuda

HERE = Path(__file__).parent
RESULT = HERE / "histogram_h200.json"
ITEMS, DRAWN, BINS, REPEATS, TRIES = 1 << 26, 1 << 22, 256, 7, 20
MOST_SHARED_BINS = 8192  # 32 KiB a block


def zipf(rng: np.random.Generator, bins: int, size: int) -> np.ndarray:
    """Items whose bin k comes with a probability proportional to 1 / (k + 1) ** 1.5."""
    cumulative = np.cumsum(1.0 / np.arange(1, bins + 1) ** 1.5)
    return np.searchsorted(cumulative / cumulative[-1], rng.random(size)).astype(np.int32)


def letters() -> np.ndarray:
    """The text as int32 codes."""
    return np.frombuffer((HERE / "alice.txt").read_bytes(), np.uint8).astype(np.int32)


def night_sky(rng: np.random.Generator, size: int) -> np.ndarray:
    """A made-up photograph, row after row: black, and every 50th pixel or so a star of some brightness."""
    return np.where(rng.random(size) < 0.02, rng.integers(1, 256, size), 0).astype(np.int32)


def data_sets() -> dict[str, np.ndarray]:
    """What is counted into 256 bins, by name; drawn once, then repeated to ITEMS."""
    rng = np.random.default_rng(5)
    drawn = {
        "uniform": rng.integers(0, BINS, DRAWN).astype(np.int32),
        "letters": letters(),
        "zipf": zipf(rng, BINS, DRAWN),
        "night sky": night_sky(rng, DRAWN),
        "one value": np.full(DRAWN, 7, np.int32),
    }
    return {name: np.resize(items, ITEMS) for name, items in drawn.items()}


def median_ms(launch: Callable[[], Any], before: Callable[[], Any]) -> float:
    """The median time of a launch between two events; `before` runs ahead of each, untimed."""
    times = []
    for _ in range(REPEATS + 1):
        before()
        start, end = cuda.event(), cuda.event()
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return round(float(np.median(times[1:])), 4)  # the first compiles


def timed(kernel: Any, grid: Any, items: Any, bins: int, expected: np.ndarray, *more: Any) -> float:
    """The median time of one histogram, after a look at its result."""
    counted, zeros = cuda.to_device(np.zeros(bins, np.int32)), np.zeros(bins, np.int32)
    ms = median_ms(lambda: kernel[grid, 256](items, counted, *more), lambda: counted.copy_to_device(zeros))
    assert (counted.copy_to_host() == expected).all(), kernel
    return ms


def lost_updates() -> dict[str, dict[str, list[int]]]:
    """How many of 2^16 and 2^20 items are in the bins after a launch without atomics, in each of several."""
    found: dict[str, dict[str, list[int]]] = {}
    rng = np.random.default_rng(5)
    for name, drawn in {"letters": letters(), "uniform": rng.integers(0, BINS, 1 << 20), "one value": [7]}.items():
        for size in (1 << 16, 1 << 20):
            items = cuda.to_device(np.resize(np.asarray(drawn, np.int32), size))
            counts = []
            for _ in range(TRIES):
                bins = cuda.to_device(np.zeros(BINS, np.int32))
                kernels_of.without_atomics[size // 256, 256](items, bins)
                counts.append(int(bins.copy_to_host().sum()))
            found.setdefault(name, {})[str(size)] = counts
    return found


def by_data(sets: dict[str, np.ndarray], multiprocessors: int) -> dict[str, dict[str, float]]:
    """Milliseconds of every kernel on every kind of data."""
    every, few = ITEMS // 256, 8 * multiprocessors
    kernels = {
        "global atomics": (kernels_of.global_atomics, every),
        "global atomics, few threads": (kernels_of.few_threads, few),
        "privatized, one item a thread": (kernels_of.privatized, every),
        "privatized": (kernels_of.privatized, few),
        "privatized, weight as argument": (kernels_of.weighted, few),
        "privatized, contiguous": (kernels_of.contiguous, few),
        "runs, interleaved": (kernels_of.runs_interleaved, few),
        "runs, contiguous": (kernels_of.runs_contiguous, few),
        "runs, no copies": (kernels_of.runs_without_copies, few),
    }
    table: dict[str, dict[str, float]] = {name: {} for name in (*kernels, "copies in global memory", "reading alone")}
    for data, host in sets.items():
        items, expected = cuda.to_device(host), np.bincount(host[:ITEMS], minlength=BINS).astype(np.int32)
        for name, (kernel, grid) in kernels.items():
            more = (np.int32(1),) if kernel is kernels_of.weighted else ()
            table[name][data] = timed(kernel, grid, items, BINS, expected, *more)
        table["copies in global memory"][data] = with_copies(items, few, expected)
        table["reading alone"][data] = timed(kernels_of.read_only, few, items, BINS, np.zeros(BINS, np.int32))
        print(data, {name: each[data] for name, each in table.items()}, flush=True)
    return table


def with_copies(items: Any, blocks: int, expected: np.ndarray) -> float:
    """The kernel with private copies in global memory; clearing them is not timed."""
    counted, copies = cuda.device_array(BINS, np.int32), cuda.device_array((blocks, BINS), np.int32)
    zeros, no_copies = np.zeros(BINS, np.int32), np.zeros((blocks, BINS), np.int32)

    def clear() -> None:
        counted.copy_to_device(zeros)
        copies.copy_to_device(no_copies)

    ms = median_ms(lambda: kernels_of.copies_in_global_memory[blocks, 256](items, counted, copies), clear)
    assert (counted.copy_to_host() == expected).all()
    return ms


def by_blocks(host: np.ndarray, multiprocessors: int) -> dict[str, float]:
    """Milliseconds of the privatized kernel on uniform data, by the number of blocks."""
    items, expected = cuda.to_device(host), np.bincount(host, minlength=BINS).astype(np.int32)
    counts = [multiprocessors * each for each in (1, 2, 4, 8, 16, 64, 256)] + [ITEMS // 1024, ITEMS // 256]
    return {str(blocks): timed(kernels_of.privatized, blocks, items, BINS, expected) for blocks in counts}


def by_bins(multiprocessors: int) -> dict[str, dict[str, dict[str, float]]]:
    """Milliseconds by data, way and number of bins; a way is missing where it does not apply."""
    rng, table = np.random.default_rng(6), {}
    for data in ("uniform", "zipf"):
        table[data] = {name: {} for name in ("global atomics", "all private", "first 4,096 private", "ranges of 8,192")}
        for bins in (1 << 8, 1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 16, 1 << 18, 1 << 20):
            drawn = zipf(rng, bins, DRAWN) if data == "zipf" else rng.integers(0, bins, DRAWN).astype(np.int32)
            host = np.resize(drawn, ITEMS)
            items, expected = cuda.to_device(host), np.bincount(host, minlength=bins).astype(np.int32)
            ways = {"global atomics": (kernels_of.global_atomics, ITEMS // 256)}
            few = 4 * multiprocessors
            if bins <= MOST_SHARED_BINS:
                ways["all private"] = (kernels_of.hot_bins(bins), few)
            if bins > 4096:
                ways["first 4,096 private"] = (kernels_of.hot_bins(4096), few)
            if MOST_SHARED_BINS < bins <= 1 << 18:
                ways["ranges of 8,192"] = (kernels_of.ranges, (few, bins // 8192))
            for name, (kernel, grid) in ways.items():
                table[data][name][str(bins)] = timed(kernel, grid, items, bins, expected)
            print(data, bins, {name: each.get(str(bins)) for name, each in table[data].items()}, flush=True)
    return table


def main(target: Path) -> None:
    """Measures everything and writes the table, part by part."""
    gpu = cuda.get_current_device()
    multiprocessors = int(gpu.MULTIPROCESSOR_COUNT)
    result: dict[str, Any] = {
        "what": f"Histograms of 2^26 int32 items, numba.cuda on one {gpu.name}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how_times": f"CUDA events, median of {REPEATS} launches in blocks of 256 threads; the items are larger than L2",
        "how_lost": f"items that are in the bins after a launch without atomics, of 2^16 and 2^20, in {TRIES} launches",
        "blocks_where_few": 8 * multiprocessors,
    }
    sets = data_sets()
    for key, part in (
        ("counted_without_atomics", lost_updates),
        ("milliseconds", lambda: by_data(sets, multiprocessors)),
        ("milliseconds_by_blocks", lambda: by_blocks(sets["uniform"], multiprocessors)),
        ("how_bins", lambda: f"{4 * multiprocessors} blocks where bins are private, that many for each range"),
        ("milliseconds_by_bins", lambda: by_bins(multiprocessors)),
    ):
        result[key] = part()
        text = json.dumps(result, indent=2)
        text = re.sub(r"\[[\d,\s]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", text)
        target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT)

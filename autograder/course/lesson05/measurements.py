"""Times lesson 5's kernels on the GPU at hand, counts what updates without atomics lose there, writes histogram_h200.json.

python -m autograder.course.lesson05.measurements [FILE]          # needs a GPU and numba-cuda

The text, alice.txt, is the beginning of Lewis Carroll's "Alice's Adventures in Wonderland" (1865, in the public
domain), without its indents.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.data import DATA
from autograder.course.lesson05 import kernels as kernels_of
from autograder.course.lesson05.items import BINS, letters, night_sky
from autograder.kernels import histogram_few_threads, histogram_global, histogram_privatized

RESULT = DATA / "histogram_h200.json"
ITEMS, DRAWN, REPEATS, TRIES = 1 << 26, 1 << 22, 11, 20
IN_A_COPY = 4096  # bins, where there are more than a copy takes: 16 KiB a block
Key = Any  # of a case: a name, or a row and a column


def zipf(rng: np.random.Generator, bins: int, size: int) -> np.ndarray:
    """Items whose bin k comes with a probability proportional to 1 / (k + 1) ** 1.5."""
    cumulative = np.cumsum(1.0 / np.arange(1, bins + 1) ** 1.5)
    return np.searchsorted(cumulative / cumulative[-1], rng.random(size)).astype(np.int32)


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


@dataclass(frozen=True)
class TimedKernel:
    """One kernel on one kind of items: what is timed, what runs ahead of it untimed, and what must be in `counted`."""

    launch: Callable[[], Any]
    clear: Callable[[], Any]
    counted: Any
    expected: np.ndarray


def case(kernel: Any, grid: Any, items: Any, expected: np.ndarray, *more: Any) -> TimedKernel:
    """A histogram of `items` on the device into as many bins as `expected` has."""
    counted, zeros = cuda.device_array_like(expected), cuda.to_device(np.zeros_like(expected))
    return TimedKernel(
        lambda: kernel[grid, 256](items, counted, *more), lambda: counted.copy_to_device(zeros), counted, expected
    )


def case_with_copies(items: Any, blocks: int, expected: np.ndarray) -> TimedKernel:
    """Private copies in global memory; to clear them is not timed."""
    copies, zeros = cuda.device_array((blocks, BINS), np.int32), cuda.to_device(np.zeros((blocks, BINS), np.int32))
    plain = case(kernels_of.copies_in_global_memory, blocks, items, expected, copies)

    def clear() -> None:
        plain.clear()
        copies.copy_to_device(zeros)

    return TimedKernel(plain.launch, clear, plain.counted, expected)


def medians_ms(cases: dict[Key, TimedKernel]) -> dict[Key, float]:
    """The median time of each case between two events, after a launch that nobody times.

    All take turns, so that no clock or temperature favours one; the launch ahead fetches what addresses need.
    """
    times: dict[Key, list[float]] = {key: [] for key in cases}
    for turn in range(REPEATS + 1):
        for key, each in cases.items():
            each.launch()
            each.clear()
            start, end = cuda.event(), cuda.event()
            start.record()
            each.launch()
            end.record()
            end.synchronize()
            times[key].append(cuda.event_elapsed_time(start, end))
            assert turn or (each.counted.copy_to_host() == each.expected).all(), key
    return {key: round(float(np.median(each[1:])), 4) for key, each in times.items()}  # the first turn compiles


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
    """Milliseconds of every kernel on every kind of items."""
    every, few = ITEMS // 256, 8 * multiprocessors
    kernels = {
        "global atomics": (histogram_global, every),
        "global atomics, few threads": (histogram_few_threads, few),
        "privatized, one item a thread": (histogram_privatized, every),
        "privatized": (histogram_privatized, few),
        "privatized, weight as argument": (kernels_of.weighted, few),
        "privatized, contiguous": (kernels_of.contiguous, few),
        "runs, interleaved": (kernels_of.runs_interleaved, few),
        "runs, contiguous": (kernels_of.runs_contiguous, few),
        "runs, no copies": (kernels_of.runs_without_copies, few),
    }
    cases: dict[Key, TimedKernel] = {}
    for data, host in sets.items():
        items, expected = cuda.to_device(host), np.bincount(host, minlength=BINS).astype(np.int32)
        for name, (kernel, grid) in kernels.items():
            more = (np.int32(1),) if kernel is kernels_of.weighted else ()
            cases[name, data] = case(kernel, grid, items, expected, *more)
        cases["copies in global memory", data] = case_with_copies(items, few, expected)
        cases["reading alone", data] = case(kernels_of.read_only, few, items, np.zeros(BINS, np.int32))
    return table_of(medians_ms(cases))


def by_blocks(host: np.ndarray, multiprocessors: int) -> dict[str, float]:
    """Milliseconds of the privatized kernel on uniform items, by the number of blocks."""
    items, expected = cuda.to_device(host), np.bincount(host, minlength=BINS).astype(np.int32)
    counts = [multiprocessors * each for each in (1, 2, 4, 8, 16, 64, 256)] + [ITEMS // 1024, ITEMS // 256]
    return medians_ms({str(blocks): case(histogram_privatized, blocks, items, expected) for blocks in counts})


def by_bins(multiprocessors: int) -> dict[str, dict[str, dict[str, float]]]:
    """Milliseconds by kind of items, way and number of bins; a way is missing where it does not apply."""
    rng, few, tables = np.random.default_rng(6), 8 * multiprocessors, {}
    for data in ("uniform", "zipf"):
        found: dict[Key, float] = {}
        for bins in (1 << 8, 1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 16, 1 << 18, 1 << 20):
            drawn = zipf(rng, bins, DRAWN) if data == "zipf" else rng.integers(0, bins, DRAWN).astype(np.int32)
            host = np.resize(drawn, ITEMS)
            items, expected = cuda.to_device(host), np.bincount(host, minlength=bins).astype(np.int32)
            ways = {"no copies": case(histogram_global, ITEMS // 256, items, expected)}
            if bins <= IN_A_COPY:
                ways["all bins in copies"] = case(kernels_of.hot_bins(bins), few, items, expected)
            else:
                ways["the first 4,096 in copies"] = case(kernels_of.hot_bins(IN_A_COPY), few, items, expected)
            if IN_A_COPY < bins <= 1 << 18:
                grid = (few, bins // IN_A_COPY)
                ways["ranges of 4,096"] = case(kernels_of.ranges, grid, items, expected)
            found |= medians_ms({(way, str(bins)): each for way, each in ways.items()})
        tables[data] = table_of(found)
        print(data, tables[data], flush=True)
    return tables


def instructions() -> dict[str, str]:
    """The machine instruction that each way of adding to a copy in shared memory was compiled to."""
    found = {}
    for words, kernel in {"adds 1": histogram_privatized, "adds an argument": kernels_of.weighted}.items():
        machine_code = next(iter(kernel.inspect_sass().values()))
        found[words] = re.findall(r"\bATOMS\.[\w.]+", machine_code)[0]
    return found


def table_of(found: dict[Key, float]) -> dict[str, dict[str, float]]:
    """{(row, column): value} as a table of rows."""
    table: dict[str, dict[str, float]] = {}
    for (row, column), value in found.items():
        table.setdefault(row, {})[column] = value
    return table


def main(target: Path) -> None:
    """Measures everything and writes the table, part by part."""
    gpu = cuda.get_current_device()
    multiprocessors = int(gpu.MULTIPROCESSOR_COUNT)
    result: dict[str, Any] = {
        "what": f"Histograms of 2^26 int32 items, numba.cuda on one {gpu.name}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how_times": f"CUDA events, median of {REPEATS} launches each, in turns, each after an untimed one; blocks of 256",
        "how_lost": f"items that are in the bins after a launch without atomics, of 2^16 and 2^20, in {TRIES} launches",
        "blocks_where_few": 8 * multiprocessors,
    }
    sets = data_sets()
    for key, part in (
        ("counted_without_atomics", lost_updates),
        ("milliseconds", lambda: by_data(sets, multiprocessors)),
        ("milliseconds_by_blocks", lambda: by_blocks(sets["uniform"], multiprocessors)),
        ("how_bins", lambda: f"{8 * multiprocessors} blocks where there are copies, that many for each range"),
        ("milliseconds_by_bins", lambda: by_bins(multiprocessors)),
        ("instructions", instructions),
    ):
        result[key] = part()
        text = json.dumps(result, indent=2)
        text = re.sub(r"\[[\d,\s]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", text)
        target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT)

"""Times what the model has no figure for, and writes limits.json: its README names these where it says what falls short.

    python -m autograder.perfmodel.measurements.limits [FILE [SECTION...]]          # needs a GPU

With sections, only these are measured anew. Medians as in `microbenchmarks.py`. Each is a rate of the whole GPU unless its
name says otherwise.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint8, uint32, uint64

from autograder.perfmodel.measurements import kernels
from autograder.perfmodel.measurements.course_kernels import matmul_columns_while
from autograder.perfmodel.measurements.microbenchmarks import REPEATS, WARM_UP, busy_clock_ghz, keep_busy, milliseconds

BLOCKS, THREADS, ROUNDS = 132 * 8, 256, 16
LANES = BLOCKS * THREADS * ROUNDS


@cuda.jit
def store_here_and_there(target: Any, mask: Any, rounds: Any) -> None:
    """Stores to random places, of a power of two."""
    x = uint64(cuda.grid(1)) * uint64(2654435761) + uint64(12345)
    for _ in range(rounds):
        x = x * uint64(6364136223846793005) + uint64(1442695040888963407)
        target[(x >> uint64(33)) & mask] = int32(x)


@cuda.jit
def add_here_and_there(target: Any, mask: Any, rounds: Any) -> None:
    """The same places loaded, added to and stored, without an atomic: updates get lost."""
    x = uint64(cuda.grid(1)) * uint64(2654435761) + uint64(12345)
    for _ in range(rounds):
        x = x * uint64(6364136223846793005) + uint64(1442695040888963407)
        i = (x >> uint64(33)) & mask
        target[i] = target[i] + int32(1)


@cuda.jit
def store_down_columns(target: Any) -> None:
    """Each lane of a warp stores to a row of its own, and the warps of a block side by side: a first transpose's stores."""
    x, y = cuda.grid(2)
    if x < target.shape[0] and y < target.shape[1]:
        target[x, y] = float32(1)


@cuda.jit
def atomics_at_a_common_place(target: Any, rounds: Any, one: Any) -> None:
    """All lanes of a warp add at an index that the compiler knows to be the same."""
    for r in range(rounds):
        cuda.atomic.add(target, r & 63, one)


@cuda.jit
def atomics_at_places(target: Any, places: Any, one: Any) -> None:
    """One atomic a thread, where an array says."""
    i = cuda.grid(1)
    cuda.atomic.add(target, places[i], one)


@cuda.jit
def swaps_at_places(target: Any, places: Any, one: Any) -> None:
    """Likewise a compare-and-swap, which changes nothing."""
    i = cuda.grid(1)
    cuda.atomic.cas(target, places[i], one, one)


@cuda.jit
def maxima_at_places(target: Any, places: Any, one: Any) -> None:
    """Of floats Numba makes a loop of this, which looks before it tries."""
    i = cuda.grid(1)
    cuda.atomic.max(target, places[i], one)


@cuda.jit
def nothing_of_one(a: Any) -> None:
    pass


@cuda.jit
def nothing_of_two(a: Any, b: Any) -> None:
    pass


@cuda.jit
def nothing_of_four(a: Any, b: Any, c: Any, d: Any) -> None:
    pass


@cuda.jit
def nothing_of_six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> None:
    pass


DOING_NOTHING = (nothing_of_one, nothing_of_two, nothing_of_four, nothing_of_six)


def shared_atomics(dtype: Any) -> Any:
    """A kernel of atomics at random places of a shared array."""

    @cuda.jit
    def kernel(mask: Any, rounds: Any, one: Any, out: Any) -> None:
        tile = cuda.shared.array(4096, dtype)
        for i in range(cuda.threadIdx.x, 4096, cuda.blockDim.x):
            tile[i] = 0
        cuda.syncthreads()
        x = uint64(cuda.grid(1)) * uint64(2654435761) + uint64(12345)
        for _ in range(rounds):
            x = x * uint64(6364136223846793005) + uint64(1442695040888963407)
            cuda.atomic.add(tile, (x >> uint64(33)) & mask, one)
        if tile[0] == -1:
            out[0] = 1

    return kernel


@cuda.jit
def atomics_at_places_used(target: Any, places: Any, one: Any) -> None:
    """The same, and a thread looks at what was there before."""
    i = cuda.grid(1)
    if cuda.atomic.add(target, places[i], one) == -7:
        target[0] = 0


def local_stores(words: int, dtype: Any) -> Any:
    """A kernel of stores to a local array, each lane at an index of its own."""

    @cuda.jit
    def kernel(start: Any, rounds: Any, out: Any) -> None:
        mine = cuda.local.array(words, dtype)
        i = cuda.grid(1)
        x = start[i]
        for r in range(rounds):
            mine[x % words] = dtype(r)
            x = x * uint32(1664525) + uint32(1013904223)
        out[i] = mine[x % words]

    return kernel


def dependent(dtype: Any) -> Any:
    """A kernel whose multiply-adds each wait for the one before."""

    @cuda.jit
    def kernel(x: Any, rounds: Any, out: Any) -> None:
        a, factor, more = x[0], x[1], x[2]
        for _ in range(rounds):
            for _ in range(16):
                a = a * factor + more
        if a == dtype(-1):
            out[0] = a

    return kernel


@cuda.jit
def product_summed_in_double(a: Any, b: Any, c: Any) -> None:
    """`matmul_columns_while`, but for the type of a zero."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = 0.0
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total


@cuda.jit
def look(x: Any, places: Any, flag: Any, labels: Any) -> None:
    """Neighbours read neighbours; nothing is stored."""
    i = cuda.grid(1)
    if x[i] > 2:
        flag[0] = 1


@cuda.jit
def raise_a_flag(x: Any, places: Any, flag: Any, labels: Any) -> None:
    """The same, and every warp stores to one element."""
    i = cuda.grid(1)
    if x[i] < 0.5:
        flag[0] = 1


@cuda.jit
def gather(x: Any, places: Any, flag: Any, labels: Any) -> None:
    i = cuda.grid(1)
    if x[places[i]] > 2:
        flag[0] = 1


@cuda.jit
def gather_and_raise_a_flag(x: Any, places: Any, flag: Any, labels: Any) -> None:
    i = cuda.grid(1)
    if x[places[i]] < 0.5:
        flag[0] = 1


@cuda.jit
def lower(x: Any, places: Any, flag: Any, labels: Any) -> None:
    """An atomic at a random place, which has been read."""
    i = cuda.grid(1)
    label = labels[places[i]]
    cuda.atomic.min(labels, places[i], label - i)


@cuda.jit
def lower_and_raise_a_flag(x: Any, places: Any, flag: Any, labels: Any) -> None:
    i = cuda.grid(1)
    label = labels[places[i]]
    flag[0] = 1
    cuda.atomic.min(labels, places[i], label - i)


def microseconds_of_a_row(launches: Callable[[], object]) -> float:
    """Median time of a row of launches that stand in line behind a kernel that keeps the chip busy."""
    times = []
    for _ in range(WARM_UP + REPEATS):
        start, end = cuda.event(), cuda.event()
        for _ in range(3):
            keep_busy(4000)
        start.record()
        launches()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end) * 1e3)
    return float(np.median(times[WARM_UP:]))


def launch_often(launch: Callable[..., None], times: int, *arguments: Any) -> None:
    for _ in range(times):
        launch(*arguments)


def rows_of_launches() -> dict[str, float]:
    """Microseconds of so many launches that follow each other."""
    out = cuda.device_array(64, np.float32)
    source = cuda.to_device(np.ones(1 << 16, np.float32))
    target = cuda.device_array_like(source)
    found: dict[str, float] = {}
    for count in (1, 2, 5, 10, 20, 50, 100):
        empty = microseconds_of_a_row(partial(launch_often, kernels.nothing[1, 32], count, out))
        copies = microseconds_of_a_row(partial(launch_often, kernels.copy[256, 256], count, source, target))
        found |= {f"{count} empty launches": empty, f"{count} copies of 65,536 elements": copies}
    return found


def host_time_of_launches() -> dict[str, float]:
    """Microseconds that a launch keeps the host busy, by the device arrays among its arguments; the GPU keeps up."""
    found: dict[str, float] = {}
    arrays = [cuda.device_array(64, np.float32) for _ in range(6)]
    for kernel, count in zip(DOING_NOTHING, (1, 2, 4, 6), strict=True):
        launch = kernel[1, 32]
        launch_often(launch, 100, *arrays[:count])
        cuda.synchronize()
        times = []
        for _ in range(WARM_UP + REPEATS):
            began = time.perf_counter_ns()
            launch_often(launch, 200, *arrays[:count])
            cuda.synchronize()
            times.append((time.perf_counter_ns() - began) / 200 / 1e3)
        found[f"{count} arrays"] = float(np.median(times[WARM_UP:]))
    return found


def scattered_by_footprint() -> dict[str, float]:
    """G sectors/s of loads from and stores to random places of so many MiB."""
    big, out = cuda.to_device(np.ones(1 << 26, np.float32)), cuda.device_array(64, np.float32)
    found: dict[str, float] = {}
    for mib in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        array = big[: mib << 18]
        mask = np.uint64(array.size - 1)
        loads = milliseconds(kernels.gather, BLOCKS, THREADS, array, mask, 16, out)
        stores = milliseconds(kernels.scatter, BLOCKS, THREADS, array, mask, 64)
        found |= {f"loads, {mib} MiB": BLOCKS * THREADS * 64 / loads / 1e6}
        found |= {f"stores, {mib} MiB": BLOCKS * THREADS * 64 / stores / 1e6}
    return found


def stores_down_columns() -> dict[str, float]:
    """G sectors/s of float32 stored one by one, in blocks of 32x8 and 32x32, each sector by eight warps."""
    found: dict[str, float] = {}
    for n in (2048, 4096, 8192):
        target = cuda.device_array((n, n), np.float32)
        for rows in (8, 32):
            elapsed = milliseconds(store_down_columns, (n // 32, n // rows), (32, rows), target)
            found[f"{n} rows, blocks of 32x{rows}"] = n * n / elapsed / 1e6
    return found


def updates_without_atomics() -> dict[str, float]:
    """Lanes a nanosecond that store, or load and store, at so many places."""
    target, found = cuda.to_device(np.zeros(1 << 24, np.int32)), {}
    for places in (1, 8, 32, 64, 128, 256, 512, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20):
        for kernel, words in ((store_here_and_there, "store"), (add_here_and_there, "load and store")):
            elapsed = milliseconds(kernel, BLOCKS, THREADS, target, np.uint64(places - 1), ROUNDS)
            found[f"{words}, {places} places"] = LANES / elapsed / 1e6
    return found


def atomics_with_a_result() -> dict[str, float]:
    """Lanes a nanosecond at random places of int32: nobody uses the old value, or each thread looks at it."""
    rng, lanes, count = np.random.default_rng(0), 1 << 22, 1 << 20
    target, places = cuda.to_device(np.zeros(count, np.int32)), cuda.to_device(rng.integers(0, count, lanes))
    found = {}
    for kernel, words in ((atomics_at_places, "not used"), (atomics_at_places_used, "used")):
        found[words] = lanes / milliseconds(kernel, lanes // 256, 256, target, places, np.int32(1)) / 1e6
    return found


def atomics_that_swap_or_look() -> dict[str, float]:
    """Lanes a nanosecond at neighbouring places: additions, compare-and-swaps, maxima of floats that change nothing.

    An empty launch's time is taken off. The median of sixteen beginnings, 512 bytes apart as the driver's allocations are:
    which slices of L2 such an array lies in hangs on its address.
    """
    rng, lanes = np.random.default_rng(0), 1 << 22
    memory = cuda.to_device(np.zeros(1 << 23, np.uint8))
    found = {}
    for count in (1, 8, 32, 64, 256, 1024):
        drawn = rng.integers(0, count, lanes)
        places = cuda.to_device(drawn)
        empty = milliseconds(nothing_of_two, lanes // 256, 256, memory, places)
        for words, kernel, dtype in (
            ("additions", atomics_at_places, np.int32), ("swaps", swaps_at_places, np.int32),
            ("maxima", maxima_at_places, np.float32), ("sums", atomics_at_places, np.float32),
            ("sums", atomics_at_places, np.float64),
        ):  # fmt: skip
            times = []
            for begin in rng.integers(0, 8192, 16) * 512:
                target = memory[begin : begin + count * np.dtype(dtype).itemsize].view(dtype)
                times.append(milliseconds(kernel, lanes // 256, 256, target, places, dtype(0)) - empty)
            for which, share in (("", 0.5), (", a tenth take less", 0.1), (", nine tenths take less", 0.9)):
                name = f"{words}, {np.dtype(dtype).name}, {count} places{which}"
                found[name] = lanes / float(np.quantile(times, share)) / 1e6
    return found


def stores_to_local_arrays() -> dict[str, float]:
    """Sectors and lines a nanosecond that a local array's stores send to L2, a word of every lane in a line."""
    rng, threads, found = np.random.default_rng(0), 132 * 2048, {}
    start = rng.integers(0, 1 << 32, threads, np.uint32)
    out = cuda.device_array(threads, np.int64)
    for words, numba_type, dtype in ((8, int64, np.int64), (16, int64, np.int64), (64, uint8, np.uint8)):
        kernel, given = local_stores(words, numba_type), cuda.to_device(start)
        few, many = (milliseconds(kernel, threads // 256, 256, given, rounds, out) for rounds in (128, 640))
        in_all, x = 0, start
        for _ in range(8):  # rounds are alike
            index = x % words * np.dtype(dtype).itemsize // 4
            for group in (8, 32):
                distinct = np.sort(index.reshape(-1, group), axis=1)
                in_all += distinct.shape[0] + np.count_nonzero(np.diff(distinct, axis=1))
            x = x * np.uint32(1664525) + np.uint32(1013904223)
        size = max(1, np.dtype(dtype).itemsize // 4)
        found[f"{words} of {np.dtype(dtype).name}"] = size * in_all / 8 * 512 / (many - few) / 1e6
    return found


def cycles_of_dependent_arithmetic() -> dict[str, float]:
    """Cycles from one multiply-add to the next that waits for it, of one warp on a GPU that has nothing else to do."""
    clock_ghz, rounds = busy_clock_ghz(), 20000
    found = {}
    for dtype in (np.float32, np.float64):
        kernel, out = dependent(dtype), cuda.device_array(1, dtype)
        x = cuda.to_device(np.array([1, 0.999, 0.001], dtype))
        once, twice = (milliseconds(kernel, 1, 32, x, times * rounds, out) for times in (1, 2))
        found[np.dtype(dtype).name] = (twice - once) * 1e6 * clock_ghz / (16 * rounds)
    return found


def zeros_without_a_type() -> dict[str, float]:
    """Microseconds of naive multiplies that add up in float32 and in float64; their operands are in L2."""
    found = {}
    for size in (512, 1024):
        a, b = (cuda.to_device(np.random.default_rng(7).random((size, size), np.float32)) for _ in range(2))
        c = cuda.device_array((size, size), np.float32)
        for name, kernel in (("float32", matmul_columns_while), ("float64", product_summed_in_double)):
            elapsed = milliseconds(kernel, (size // 32, size // 32), (32, 32), a, b, c)
            found[f"N = {size}, {name}"] = 1e3 * elapsed
    return found


def stores_to_one_element() -> dict[str, float]:
    """Microseconds of 262,144 warps that store to one element of int32, or do not, beside other work."""
    rng, count = np.random.default_rng(0), 1 << 23
    x, places = cuda.to_device(rng.random(count, np.float32)), cuda.to_device(rng.integers(0, count, count, np.int32))
    flag, labels = cuda.to_device(np.zeros(1, np.int32)), cuda.to_device(np.arange(count, dtype=np.int32))
    found = {}
    for kernel in (look, raise_a_flag, gather, gather_and_raise_a_flag, lower, lower_and_raise_a_flag):
        words = kernel.py_func.__name__.replace("_", " ")
        found[words] = 1e3 * milliseconds(kernel, count // 128, 128, x, places, flag, labels)
    return found


def atomics_by_type() -> dict[str, float]:
    """Lanes a nanosecond in global memory; in shared memory lanes a cycle of a multiprocessor at 1.98 GHz."""
    rng, found = np.random.default_rng(0), {}
    lists = {
        "one place": np.zeros(1 << 20, np.int64),
        "256 places": rng.integers(0, 256, 1 << 20),
        "1,048,576 places": rng.integers(0, 1 << 20, 1 << 20),
    }
    for dtype in (np.int32, np.float32):
        name, target = np.dtype(dtype).name, cuda.to_device(np.zeros(1 << 20, dtype))
        elapsed = milliseconds(atomics_at_a_common_place, BLOCKS, THREADS, target, ROUNDS, dtype(1))
        found[f"global, {name}, a place that all threads have in common"] = LANES / elapsed / 1e6
        for words, places in lists.items():
            elapsed = milliseconds(atomics_at_places, 4096, 256, target, cuda.to_device(places), dtype(1))
            found[f"global, {name}, {words}"] = (1 << 20) / elapsed / 1e6
    out = cuda.device_array(1, np.float32)
    for numba_type, dtype in ((int32, np.int32), (float32, np.float32)):
        kernel = shared_atomics(numba_type)
        for count in (1, 8, 32, 64, 256, 1024, 4096):
            elapsed = milliseconds(kernel, 264, 1024, np.uint64(count - 1), 64, dtype(1), out)
            found[f"shared, {np.dtype(dtype).name}, {count} places"] = 2 * 1024 * 64 / (elapsed * 1e6 * 1.98)
    return found


SECTIONS: dict[str, Callable[[], dict[str, float]]] = {
    "microseconds of launches in a row": rows_of_launches,
    "microseconds of the host for a launch": host_time_of_launches,
    "G sectors/s at random places": scattered_by_footprint,
    "G sectors/s down columns": stores_down_columns,
    "lanes/ns without atomics": updates_without_atomics,
    "atomics": atomics_by_type,
    "lanes/ns of atomics, old value": atomics_with_a_result,
    "lanes/ns of atomics that swap or look": atomics_that_swap_or_look,
    "G sectors and lines/s of local arrays": stores_to_local_arrays,
    "microseconds of stores to one element": stores_to_one_element,
    "cycles of dependent multiply-adds": cycles_of_dependent_arithmetic,
    "microseconds of multiplies, by the type of their sum": zeros_without_a_type,
}


def measure(sections: list[str]) -> dict[str, Any]:
    """These sections, as plain data."""
    name = cuda.get_current_device().name
    return {
        "gpu": name.decode() if isinstance(name, bytes) else name,
        **{section: SECTIONS[section]() for section in sections},
    }


if __name__ == "__main__":
    result = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".json")
    chosen = sys.argv[2:] or list(SECTIONS)
    kept = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    result.write_text(json.dumps(kept | measure(chosen), indent=1) + "\n", encoding="utf-8")

"""Times stores, loads, atomics and barriers of many warps that meet, and rows in L1 and L2; writes meeting.json.

    python -m autograder.perfmodel.measurements.meeting [FILE]          # needs a GPU

Medians as in `microbenchmarks.py`. Each is a rate of the whole GPU unless its name says otherwise. What comes once from each
warp is made by one warp in each of so many that a launch takes long beside its overhead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32, uint64

from autograder.perfmodel.measurements import kernels
from autograder.perfmodel.measurements.kernels import scramble
from autograder.perfmodel.measurements.microbenchmarks import milliseconds

BLOCKS, THREADS = 132 * 8, 256
ONCE = 1 << 22  # threads of kernels that do one thing each
L2_BYTES = 1 << 24  # of arrays that L2 holds
MIB = 1 << 20
CLOCK_GHZ = 1.98

# -- in lines of L2 ---------------------------------------------------------------------------------------------------


@cuda.jit
def load_groups(source: Any, mask: Any, group: Any, rounds: Any, out: Any) -> None:
    """Every `group` lanes load neighbouring elements at a place of their own choosing, four at a time."""
    thread = uint64(cuda.grid(1))
    state = scramble((thread // group) * uint64(2654435761))
    total = source[0]
    for _ in range(rounds):
        for _ in range(4):
            state = scramble(state)
            total += source[((state >> uint64(33)) & mask) * group + thread % group]
    if total == -1:
        out[0] = total


@cuda.jit
def store_groups(target: Any, mask: Any, group: Any, rounds: Any, one: Any) -> None:
    """The same places stored to."""
    thread = uint64(cuda.grid(1))
    state = scramble((thread // group) * uint64(2654435761))
    for _ in range(rounds):
        state = scramble(state)
        target[((state >> uint64(33)) & mask) * group + thread % group] = one


@cuda.jit
def copy_groups(source: Any, target: Any, mask: Any, group: Any, rounds: Any) -> None:
    """A load at one of those places, and a store to another array."""
    thread = uint64(cuda.grid(1))
    state = scramble((thread // group) * uint64(2654435761))
    for _ in range(rounds):
        for _ in range(4):
            state = scramble(state)
            place = ((state >> uint64(33)) & mask) * group + thread % group
            target[place] = source[place]


@cuda.jit
def axpy(a: Any, x: Any, y: Any) -> None:
    i = uint64(cuda.grid(1))
    y[i] = a * x[i] + y[i]


@cuda.jit
def add_pairs(x: Any, y: Any, out: Any) -> None:
    """Stores that leave out every other word, one after another."""
    i = uint64(cuda.grid(1))
    out[i, 0] = x[i, 0] + y[i, 0]
    out[i, 1] = x[i, 1] + y[i, 1]


def in_lines() -> dict[str, float]:
    """G sectors/s of loads from, stores to, and copies inside 16 MiB, by the lanes that take neighbouring elements."""
    found = {}
    for dtype in (np.int8, np.float32, np.float64):
        size = np.dtype(dtype).itemsize
        source = cuda.to_device(np.ones(L2_BYTES // size, dtype))
        target, out = cuda.device_array_like(source), cuda.device_array(1, dtype)
        for group in (1, 2, 4, 8, 16, 32):
            if size != 4 and group < 16:
                continue
            mask, lanes = np.uint64(source.size // group - 1), np.uint64(group)
            sectors = BLOCKS * THREADS * 64 / group * max(1, group * size / 32)
            name = f"{np.dtype(dtype).name}, {group} lanes together"
            loads = milliseconds(load_groups, BLOCKS, THREADS, source, mask, lanes, 16, out)
            stores = milliseconds(store_groups, BLOCKS, THREADS, target, mask, lanes, 64, dtype(1))
            copies = milliseconds(copy_groups, BLOCKS, THREADS, source, target, mask, lanes, 16)
            found[f"loads, {name}"] = sectors / loads / 1e6
            found[f"stores, {name}"] = sectors / stores / 1e6
            found[f"copies, {name}"] = sectors / copies / 1e6
    return found


def streams() -> dict[str, float]:
    """GB/s of arrays in DRAM that are read and written."""
    n, found = 1 << 26, {}
    x, y, z = (cuda.to_device(np.ones(n, np.float64)) for _ in range(3))
    found["copy of float64"] = 2 * x.nbytes / milliseconds(kernels.copy, n // 256, 256, x, y) / 1e6
    found["copy of float64, four elements a thread"] = (
        2 * x.nbytes / milliseconds(kernels.copy_four, n // 1024, 256, x, y) / 1e6
    )
    found["axpy of float64"] = 3 * x.nbytes / milliseconds(axpy, n // 256, 256, 2.0, x, y) / 1e6
    found["fill of float64"] = x.nbytes / milliseconds(kernels.fill, n // 256, 256, x) / 1e6
    pairs = [each.view(np.float32).reshape(n, 2) for each in (x, y, z)]
    found["sums of pairs of float32, one word after the other"] = (
        3 * x.nbytes / milliseconds(add_pairs, n // 256, 256, *pairs) / 1e6
    )
    return found


# -- in few places ----------------------------------------------------------------------------------------------------


@cuda.jit
def warps_store(target: Any, places: Any, apart: Any, rounds: Any) -> None:
    """All lanes of a warp store to one place; warps take the places in turn."""
    warp = uint32(cuda.grid(1)) // uint32(32)
    for r in range(rounds):
        target[((warp + uint32(r)) & (places - uint32(1))) * apart] = int32(1)


@cuda.jit
def first_lanes_store(target: Any, places: Any, apart: Any, rounds: Any) -> None:
    """The same of one lane of each warp."""
    thread = uint32(cuda.grid(1))
    if thread % uint32(32) == uint32(0):
        for r in range(rounds):
            target[((thread // uint32(32) + uint32(r)) & (places - uint32(1))) * apart] = int32(1)


@cuda.jit
def warps_look_and_store(target: Any, places: Any, apart: Any, rounds: Any) -> None:
    """All lanes of a warp look at one place, and store to it what is not there."""
    warp = uint32(cuda.grid(1)) // uint32(32)
    for r in range(rounds):
        place = ((warp + uint32(r)) & (places - uint32(1))) * apart
        if target[place] != int32(warp):
            target[place] = int32(warp)


@cuda.jit
def lanes_store(target: Any, places: Any, apart: Any, rounds: Any) -> None:
    """The lanes of a warp store to neighbouring places, of few."""
    thread = uint32(cuda.grid(1))
    for r in range(rounds):
        target[((thread + uint32(32 * r)) & (places - uint32(1))) * apart] = int32(1)


STORES = (warps_store, first_lanes_store, warps_look_and_store, lanes_store)
PLACES = ((1, 1), (8, 1), (2, 8), (4, 8), (8, 8), (32, 8), (128, 8), (1024, 8), (16384, 8), (8, 32), (128, 32))


def in_few_places() -> dict[str, float]:
    """Nanoseconds of a launch for each warp's store, by (places, words apart); one store each, or 16 in a loop."""
    target, found = cuda.to_device(np.zeros(ONCE, np.int32)), {}
    for kernel in STORES:
        for rounds in (1, 16):
            for places, apart in PLACES:
                ms = milliseconds(
                    kernel, ONCE // rounds // 256, 256, target, np.uint32(places), np.uint32(apart), rounds
                )
                name = f"{kernel.py_func.__name__}, {rounds} each, {places} places {apart} words apart"
                found[name] = ms * 1e6 / (ONCE / 32)
    return found


def one_atomic(operation: Callable[..., Any], wants_old: bool, all_lanes: bool) -> Any:
    """A kernel in which each warp's first lane, or each lane, sends one atomic to one of few places."""
    change = cuda.jit(device=True)(operation)

    @cuda.jit
    def kernel(target: Any, places: Any, one: Any, out: Any) -> None:
        thread = uint32(cuda.grid(1))
        if all_lanes or thread % uint32(32) == uint32(0):
            old = change(target, ((thread // uint32(32)) & (places - uint32(1))) * uint32(8), one)
            if wants_old and old == -5:
                out[0] = 1

    return kernel


ATOMICS: dict[str, tuple[Callable[..., Any], Any]] = {
    "add int32": (lambda a, i, x: cuda.atomic.add(a, i, x), np.int32),
    "add int64": (lambda a, i, x: cuda.atomic.add(a, i, x), np.int64),
    "add float32": (lambda a, i, x: cuda.atomic.add(a, i, x), np.float32),
    "add float64": (lambda a, i, x: cuda.atomic.add(a, i, x), np.float64),
    "max int32": (lambda a, i, x: cuda.atomic.max(a, i, x), np.int32),
    "max float32": (lambda a, i, x: cuda.atomic.max(a, i, x), np.float32),
    "exch int32": (lambda a, i, x: cuda.atomic.exch(a, i, x), np.int32),
    "cas int32": (lambda a, i, x: cuda.atomic.cas(a, i, x, x), np.int32),
    "inc uint32": (lambda a, i, x: cuda.atomic.inc(a, i, x), np.uint32),
}


def atomics() -> dict[str, float]:
    """Nanoseconds of a launch for each atomic of a warp, by kind, places, and whether its old value is used."""
    out, found = cuda.device_array(1, np.int32), {}
    for name, (operation, dtype) in ATOMICS.items():
        target = cuda.to_device(np.zeros(1 << 16, dtype))
        for wants_old in (False, True):
            kernel = one_atomic(operation, wants_old, False)
            for places in (1, 32, 1024):
                ms = milliseconds(kernel, ONCE // 256, 256, target, np.uint32(places), dtype(1), out)
                found[f"{name}, {'old value used' if wants_old else 'no value used'}, {places} places"] = (
                    ms * 1e6 / (ONCE / 32)
                )
        kernel = one_atomic(operation, True, True)
        for places in (1, 1024):
            ms = milliseconds(kernel, ONCE // 8 // 256, 256, target, np.uint32(places), dtype(1), out)
            found[f"{name}, old value used, all lanes, {places} places"] = ms * 1e6 / (ONCE / 8 / 32)
    return found


# -- in shared memory -------------------------------------------------------------------------------------------------


def shared_kernel(operation: Callable[..., Any], numba_type: Any) -> Any:
    """Atomics of a thread that walks through places of a shared array; lanes are `apart`, warps `further`."""
    change = cuda.jit(device=True)(operation)

    @cuda.jit
    def kernel(apart: Any, further: Any, mask: Any, rounds: Any, one: Any, out: Any) -> None:
        tile = cuda.shared.array(4096, numba_type)
        for i in range(cuda.threadIdx.x, 4096, cuda.blockDim.x):
            tile[i] = 0
        cuda.syncthreads()
        thread = uint32(cuda.threadIdx.x)
        place = (thread % uint32(32)) * apart + (thread // uint32(32)) * further
        for _ in range(rounds):
            change(tile, place & mask, one)
            place += uint32(32)
        if tile[0] == -1:
            out[0] = 1

    return kernel


SHARED = {
    "lanes and warps apart": (1, 37, 4095),
    "lanes apart, warps on the same places": (1, 0, 4095),
    "lanes on one place, warps apart": (0, 37, 4095),
    "lanes on 32 places": (1, 0, 31),
    "all on 8 places": (1, 0, 7),
}


def shared_atomics() -> dict[str, float]:
    """Cycles of a multiprocessor for a warp's request, with 8 and with 64 warps there."""
    out, found = cuda.device_array(1, np.float32), {}
    kinds = {
        "add int32": int32, "add float32": float32, "add float64": float64, "add int64": int64,
        "max int32": int32, "max float32": float32, "exch int32": int32,
    }  # fmt: skip
    for name, numba_type in kinds.items():
        operation = ATOMICS[name][0]
        dtype = ATOMICS[name][1]
        kernel = shared_kernel(operation, numba_type)
        for words, (apart, further, mask) in SHARED.items():
            for blocks, threads in ((132, 256), (264, 1024)):
                ms = milliseconds(
                    kernel, blocks, threads, np.uint32(apart), np.uint32(further), np.uint32(mask), 64, dtype(1), out
                )
                warps = blocks * threads // 32 // 132
                found[f"{name}, {words}, {warps} warps"] = ms * 1e6 * CLOCK_GHZ / (warps * 64)
    return found


# -- barriers of the grid, L1, rows -----------------------------------------------------------------------------------


@cuda.jit
def grid_barriers(rounds: Any, out: Any) -> None:
    grid = cuda.cg.this_grid()
    for _ in range(rounds):
        grid.sync()
    if rounds < 0:
        out[0] = 1


def barriers_of_the_grid() -> dict[str, float]:
    """Nanoseconds of one barrier of the whole grid."""
    out, found = cuda.device_array(1, np.float32), {}
    for blocks, threads in ((33, 256), (132, 32), (132, 256), (132, 1024), (264, 1024), (528, 256), (1056, 256)):
        many, few = (milliseconds(grid_barriers, blocks, threads, rounds, out) for rounds in (101, 1))
        found[f"{blocks} blocks of {threads}"] = (many - few) * 1e6 / 100
    return found


@cuda.jit
def load_words(source: Any, mask: Any, apart: Any, rounds: Any, out: Any) -> None:
    """Every lane loads words of its own choosing, `apart` words from each other."""
    state = scramble(uint64(cuda.grid(1)) * uint64(2654435761))
    total = float32(0)
    for _ in range(rounds):
        for _ in range(4):
            state = scramble(state)
            total += source[((state >> uint64(33)) & mask) * apart]
    if total == float32(-1):
        out[0] = total


def in_l1() -> dict[str, float]:
    """G loads/s of words in so many KiB of lines, of every word or one of each line; 1 or 2 blocks of 32 warps each."""
    source, out, found = cuda.to_device(np.ones(MIB, np.float32)), cuda.device_array(1, np.float32), {}
    for apart in (1, 8, 32):
        for kib in (16, 32, 64, 128, 256, 512, 1024):
            for blocks in (132, 264):
                mask = np.uint64(kib * 256 // apart - 1)
                ms = milliseconds(load_words, blocks, 1024, source, mask, np.uint64(apart), 64, out)
                found[f"{kib} KiB, words {apart} apart, {blocks // 132} blocks"] = blocks * 1024 * 256 / ms / 1e6
    return found


@cuda.jit
def rows_read(table: Any, other: Any) -> None:
    i, total = cuda.grid(1), float32(0)
    for k in range(table.shape[1]):
        total += table[i, k]
    other[i, 0] = total


@cuda.jit
def rows_copied(table: Any, other: Any) -> None:
    i, total = cuda.grid(1), float32(0)
    for k in range(table.shape[1]):
        total += table[i, k]
        other[i, k] = total


@cuda.jit
def rows_in_place(table: Any, other: Any) -> None:
    i = cuda.grid(1)
    for k in range(1, table.shape[1]):
        table[i, k] += table[i, k - 1]


@cuda.jit
def rows_filled(table: Any, other: Any) -> None:
    i = cuda.grid(1)
    for k in range(table.shape[1]):
        other[i, k] = float32(i)


def in_rows() -> dict[str, float]:
    """G elements/s of rows of so many words, a thread each."""
    found, size = {}, 1 << 26
    arrays = [cuda.to_device(np.zeros(size, np.float32)) for _ in range(2)]
    for columns in (4, 8, 16, 32, 64):
        n = size // columns
        table, other = (each.reshape(n, columns) for each in arrays)
        for kernel in (rows_read, rows_filled, rows_copied, rows_in_place):
            ms = milliseconds(kernel, n // 256, 256, table, other)
            found[f"{kernel.py_func.__name__}, rows of {columns} words"] = n * columns / ms / 1e6
    return found


PARTS: dict[str, Callable[[], dict[str, float]]] = {
    "G sectors/s in 16 MiB": in_lines,
    "GB/s of streams": streams,
    "ns for each warp's store": in_few_places,
    "ns for each warp's atomic": atomics,
    "cycles of a shared atomic": shared_atomics,
    "ns of a barrier of the grid": barriers_of_the_grid,
    "G loads/s of words in L1's reach": in_l1,
    "G elements/s of rows": in_rows,
}


def measure() -> Iterator[tuple[str, Any]]:
    """Each part as soon as it is there, by name."""
    name = cuda.get_current_device().name
    yield "gpu", name.decode() if isinstance(name, bytes) else name
    for part, measured in PARTS.items():
        yield part, measured()


if __name__ == "__main__":
    result = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".json")
    found: dict[str, Any] = {}
    for part, numbers in measure():
        found[part] = numbers
        result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

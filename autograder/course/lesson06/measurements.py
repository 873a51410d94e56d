"""Times lesson 6's kernels and lab 6's whole rankings on the GPU at hand and one CPU core; writes lists_h200.json.

python -m autograder.course.lesson06.measurements [FILE]           # needs a GPU, numba-cuda and two minutes
"""

from __future__ import annotations

import json
import math
import re
import runpy
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
from autograder.course.lesson06.kernels import jump_in_place, rank_by_walking, read_all, walk
from autograder.kernels import pointer_jump

RESULT = DATA / "lists_h200.json"
ROOT = DATA.parents[1]
THREADS, REPEATS, TRIES = 128, 5, 20
ANSWERS = {
    "pointer jumping on all nodes": "baseline",
    "every 8 nodes": "right/every_8",
    "every 16 nodes": "solution",
    "every 32 nodes": "right/every_32",
    "every 100 nodes": "wrong/every_100",
    "every 8 nodes, three walks": "right/splitters_of_splitters",
}
"""Known answers of lab 6 by the splitters that they choose."""
Array = np.ndarray


class Clock:
    """Times calls between two events, each after a read of 256 MiB that leaves nothing of theirs in L2."""

    def __init__(self) -> None:
        self._other = cuda.to_device(np.zeros(1 << 26, np.int32))
        self._out = cuda.device_array(1, np.int32)

    def ms(self, call: Callable[[], Any], prepare: Callable[[], Any] = lambda: None) -> float:
        """The median of several calls, after one that compiles; `prepare` goes before each and is not timed."""
        times = []
        for _ in range(REPEATS + 1):
            prepare()
            read_all[132 * 8, 256](self._other, self._out)
            start, end = cuda.event(), cuda.event()
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(cuda.event_elapsed_time(start, end))
        return round(float(np.median(times[1:])), 5)


def blocks(threads: int) -> int:
    return -(-threads // THREADS)


def list_along(order: Array) -> tuple[Array, Array]:
    """Successors and ranks of the list that visits the nodes in this order."""
    successor, rank = np.empty(order.size, np.int32), np.empty(order.size, np.int32)
    successor[order[:-1]] = order[1:]
    successor[order[-1]] = order[-1]
    rank[order] = np.arange(order.size - 1, -1, -1, dtype=np.int32)
    return successor, rank


def solution_of_lab06() -> Callable[..., None]:
    """The model solution's `rank_list`, from the code cells of its notebook up to the first that tries it."""
    cells = json.loads((ROOT / "solutions/lab06_list_ranking/lab.ipynb").read_text(encoding="utf-8"))["cells"]
    scope: dict[str, Any] = {"np": np, "cuda": cuda, "math": math}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and re.search(r"^(@cuda\.jit|def )", source, re.M):
            exec(compile(source, f"lab06 {cell['id']}", "exec"), scope)
    ranking: Callable[..., None] = scope["rank_list"]
    return ranking


def cpu_ms(order: Array) -> float:
    """The compiled walk along the whole list on one core."""
    successor, expected = list_along(order)
    rank, times = np.zeros(order.size, np.int32), []
    rank_by_walking(successor[:1], 0, rank[:1])  # compiles
    for _ in range(1 if order.size >= 1 << 24 else 3):
        begin = time.perf_counter()
        rank_by_walking(successor, order[0], rank)
        times.append(1e3 * (time.perf_counter() - begin))
    assert np.array_equal(rank, expected)
    return round(float(np.median(times)), 5)


def whole_rankings(clock: Clock, n: int) -> dict[str, float]:
    """Milliseconds of each way to rank a random list of n nodes, all checked."""
    order = np.random.default_rng(n).permutation(n).astype(np.int32)
    successor, expected = list_along(order)
    found = {"one CPU core": cpu_ms(order), "one CPU core, list in order": cpu_ms(np.arange(n, dtype=np.int32))}
    on_device, rank = cuda.to_device(successor), cuda.device_array(n, np.int32)
    scratch = cuda.device_array((8, n), np.int32)
    baseline = runpy.run_path(str(ROOT / "labs/lab06_list_ranking/baseline.py"))["rank_list"]
    for name, ranking in (("pointer jumping", baseline), ("sublists", solution_of_lab06())):
        found[name] = clock.ms(partial(ranking, on_device, rank, scratch))
        assert np.array_equal(rank.copy_to_host(), expected), name
    return found


def wrong_ranks_in_place(n: int) -> list[int]:
    """How many ranks are wrong when all rounds of pointer jumping work in place, in each of several tries."""
    successor, expected = list_along(np.random.default_rng(n).permutation(n).astype(np.int32))
    first = np.where(successor == np.arange(n), 0, 1).astype(np.int32)
    counts = []
    for _ in range(TRIES):
        own = cuda.to_device(successor), cuda.to_device(first)
        for _ in range(math.ceil(math.log2(n))):
            jump_in_place[blocks(n), THREADS](*own)
        counts.append(int((own[1].copy_to_host() != expected).sum()))
    return counts


def rounds_ms(clock: Clock, n: int) -> list[float]:
    """Each round of pointer jumping on a random list, one after the other."""
    successor, _ = list_along(np.random.default_rng(n).permutation(n).astype(np.int32))
    now = cuda.to_device(successor), cuda.to_device(np.where(successor == np.arange(n), 0, 1).astype(np.int32))
    then, found = tuple(cuda.device_array(n, np.int32) for _ in range(2)), []
    for _ in range(math.ceil(math.log2(n))):
        found.append(clock.ms(partial(pointer_jump[blocks(n), THREADS], *now, *then)))
        now, then = then, now
    return found


def walk_ms(clock: Clock, order: Array, splitters: Array, threads: int = 0) -> dict[str, Any]:
    """The walk kernel from these splitters (of which only the first `threads` walk, if given), and the longest walk."""
    n, m = order.size, splitters.size
    marks, place = np.full(n, -1, np.int32), np.empty(n, np.int64)
    marks[splitters] = np.arange(m)
    place[order] = np.arange(n)
    marked, sublist = cuda.to_device(marks), cuda.device_array(n, np.int32)
    arrays = [cuda.to_device(list_along(order)[0]), cuda.to_device(splitters), sublist]
    arrays += [cuda.device_array(size, np.int32) for size in (n, m, m)]
    grid, block = (blocks(m), THREADS) if not threads else (1, threads)
    ms = clock.ms(lambda: walk[grid, block](*arrays), lambda: sublist.copy_to_device(marked))
    return {"ms": ms, "walks": m, "longest": int(np.diff(np.sort(place[splitters])).max())}


def random_splitters(order: Array, every: int, rng: np.random.Generator) -> Array:
    """One random node of every so many as they lie in memory, and head and tail, in random order."""
    windows = np.arange(0, order.size, every)
    return rng.permutation(np.union1d(windows + rng.integers(0, every, windows.size), order[[0, -1]])).astype(np.int32)


def equal_splitters(order: Array, every: int, rng: np.random.Generator) -> Array:
    """Every so-manieth node of the list, and the tail, in random order."""
    return rng.permutation(np.append(order[::every], order[-1])).astype(np.int32)


def walks(clock: Clock, n: int) -> dict[str, Any]:
    """The walk kernel on three lists with walks of 64 nodes on average."""
    rng = np.random.default_rng(n)
    order, in_order = rng.permutation(n).astype(np.int32), np.arange(n, dtype=np.int32)
    return {
        "random list, random splitters": walk_ms(clock, order, random_splitters(order, 64, rng)),
        "random list, equal walks": walk_ms(clock, order, equal_splitters(order, 64, rng)),
        "list in memory order, equal walks": walk_ms(clock, in_order, np.append(in_order[::64], in_order[-1])),
    }


def spacings(clock: Clock, n: int) -> dict[str, Any]:
    """The walk, and pointer jumping on as many splitters, by the average number of nodes from one to the next."""
    rng = np.random.default_rng(n + 1)
    order, found = rng.permutation(n).astype(np.int32), {}
    for every in (4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096):
        each = walk_ms(clock, order, random_splitters(order, every, rng))
        found[str(every)] = each | {"jumping_ms": round(sum(rounds_ms(clock, each["walks"])), 5)}
    return found


def lone_walk_ns_a_node(clock: Clock, n: int) -> float:
    """A single thread, with nobody else on the GPU, along 2,000 nodes of a random list."""
    order = np.random.default_rng(n).permutation(n).astype(np.int32)
    return round(float(walk_ms(clock, order, order[[0, 2000]], threads=1)["ms"]) * 1e6 / 2000, 1)


def answers_ms() -> dict[str, float]:
    """The times of lab 6's known answers by its own speed check, as they were measured and committed there."""
    file = ROOT / "solutions/lab06_list_ranking/calibration/h200.json"
    [timed] = json.loads(file.read_text(encoding="utf-8"))["ratios"].values()
    return {name: timed[answer]["milliseconds"] for name, answer in ANSWERS.items()}


def rates_64_mib() -> dict[str, float]:
    """Random reads and writes in an array of 64 MiB, G sectors/s, as the microbenchmarks do them in others."""
    from autograder.perfmodel.measurements import kernels as micro
    from autograder.perfmodel.measurements.microbenchmarks import milliseconds

    array, out, each = cuda.to_device(np.ones(1 << 24, np.int32)), cuda.device_array(1, np.int32), 132 * 8 * 256 * 64
    mask = np.uint64(array.size - 1)
    loads = milliseconds(micro.gather, 132 * 8, 256, array, mask, 16, out)
    stores = milliseconds(micro.scatter, 132 * 8, 256, array, mask, 64)
    return {"gather": round(each / loads / 1e6, 2), "scatter": round(each / stores / 1e6, 2)}


def main(target: Path) -> None:
    """Measures everything and writes the table."""
    clock = Clock()
    device = cuda.get_current_device().name
    device = device.decode() if isinstance(device, bytes) else device
    result: dict[str, Any] = {
        "what": f"List ranking, one list of N int32 nodes, numba.cuda on one {device}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{each} {version(each)}" for each in ("numba", "numba-cuda", "numpy")),
        "how_times": f"CUDA events, median of {REPEATS} calls from Python, L2 flushed before each; "
        + "the CPU's loop is compiled by Numba",
        "whole_rankings": "pointer jumping: lab 6's baseline; sublists: lab 6's model solution",
    }
    sizes = [1 << power for power in (22, 24)]
    sections: dict[str, Callable[[], Any]] = {
        "milliseconds": lambda: {str(1 << power): whole_rankings(clock, 1 << power) for power in range(10, 27, 2)},
        "how_in_place": lambda: f"wrong ranks after all rounds of pointer jumping in place, in each of {TRIES} tries",
        "wrong_ranks_in_place": lambda: {
            str(1 << power): wrong_ranks_in_place(1 << power) for power in (10, 14, 18, 22)
        },
        "rounds_ms": lambda: {str(1 << 22): rounds_ms(clock, 1 << 22)},
        "how_walks": lambda: "the lesson's walk kernel alone, 64 nodes a walk on average",
        "walks": lambda: {str(n): walks(clock, n) for n in sizes},
        "lone_walk_ns_a_node": lambda: {str(n): lone_walk_ns_a_node(clock, n) for n in sizes},
        "how_spacings": lambda: "2^24 nodes, random splitters: the walk kernel, and pointer jumping on the splitters",
        "spacings": lambda: spacings(clock, 1 << 24),
        "how_answers": lambda: (
            "answers to lab 6, timed by its speed check: about 2^20 nodes, launches only, L2 flushed"
        ),
        "answers_ms": answers_ms,
        "how_rates": lambda: (
            "random gather and scatter of int32 in an array of 64 MiB, as "
            "autograder/perfmodel/measurements/microbenchmarks.py measures them, G sectors/s"
        ),
        "rates_64_MiB": rates_64_mib,
    }
    for name, measured in sections.items():
        result[name] = measured()
        text = json.dumps(result, indent=2)
        flat = re.sub(r"\[[^\[\]{}]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", text)
        target.write_text(flat + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT)

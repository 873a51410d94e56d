"""Loops that are recorded and played leave what steps leave: results, counts, hazards, and what is known of accesses."""

from __future__ import annotations

import inspect
import linecache
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import float32

from autograder.grading.known_answers.answers import solution_of
from autograder.grading.labs import load_lab
from autograder.language import parse_program, read_submission, submission_from_cells
from autograder.records.runs import RunRequest, Uninitialised
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.tapes.playing import Player
from autograder.simulated_device import SimulatedDevice

cuda = cuda_module.build_module()
U = np.uint32


@cuda.jit
def tiled(a, b, c):
    tile_a, tile_b = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for phase in range(a.shape[0] // 16):
        tile_a[y, x] = a[y, phase * 16 + x]
        tile_b[y, x] = b[phase * 16 + y, x]
        cuda.syncthreads()
        for i in range(16):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def no_second_barrier(a, b, c):
    tile_a, tile_b = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for phase in range(a.shape[0] // 16):
        tile_a[y, x] = a[y, phase * 16 + x]
        tile_b[y, x] = b[phase * 16 + y, x]
        cuda.syncthreads()
        for i in range(16):
            total += tile_a[y, i] * tile_b[i, x]
    c[y, x] = total


@cuda.jit
def reads_what_nobody_wrote(a, b, c):
    tile = cuda.shared.array((16, 20), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for phase in range(a.shape[0] // 16):
        tile[y, x] = a[y, phase * 16 + x]
        cuda.syncthreads()
        for i in range(18):
            total += tile[y, i]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def leaves_its_tile_later(a, b, c):
    tile = cuda.shared.array(64, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for _i in range(2):
        tile[(y * 16 + x) % 64] = a[y, x]
    cuda.syncthreads()
    for phase in range(a.shape[0] // 10):
        place = U(x) + U(phase * 10)
        for i in range(4):
            total += tile[place + U(i)]
    c[y, x] = total


@cuda.jit
def for_some_threads(a, b, c):
    tile = cuda.shared.array((16, 16), float32)
    sums = cuda.local.array(4, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    for i in range(4):
        sums[i] = 0
    if x < 7 and y > 2:
        for _phase in range(a.shape[0] // 12):
            for i in range(4):
                for j in range(3):
                    sums[i] += tile[y, i * 3 + j] * tile[j, x] - float32(0.5)
    c[y, x] = sums[0] + sums[1] + sums[2] + sums[3]


@cuda.jit(device=True)
def multiply(term, tile_a, tile_b, y, x, sums):
    for i in range(2):
        left = tile_a[y + term * U(36) + U(i)]
        for j in range(2):
            sums[i * 2 + j] += left * tile_b[x + term * U(32) + U(j)]


@cuda.jit
def squares(a, b, c):
    tile_a, tile_b = cuda.shared.array(8 * 36, float32), cuda.shared.array(8 * 32, float32)
    sums = cuda.local.array(4, float32)
    x, y = U(cuda.threadIdx.x), U(cuda.threadIdx.y)
    t = y * U(16) + x
    for i in range(4):
        sums[i] = 0
    for phase in range(a.shape[0] // 8):
        tile_a[t % U(8) * U(36) + t // U(8)] = a[t // U(8) % U(16), t % U(8) + U(phase)]
        tile_b[t] = b[t // U(32) + U(phase), t % U(16)]
        cuda.syncthreads()
        for term in range(8):
            multiply(U(term), tile_a, tile_b, y * U(2), x * U(2), sums)
        cuda.syncthreads()
    c[y, x] = sums[0] + sums[1] * float32(2) + sums[2] - sums[3]


@cuda.jit
def what_is_left(a, b, c):
    tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    last, j = a[x, y], 0
    for _phase in range(a.shape[0] // 12):
        for i in range(3):
            for j in range(2, 6):
                last = last * tile[y, j] + tile[i, x]
        c[y, x] = last + i * 10 + j


KERNELS = [
    tiled, no_second_barrier, reads_what_nobody_wrote, leaves_its_tile_later, for_some_threads, squares, what_is_left,
]  # fmt: skip


TILED = "from numba import cuda, float32\n\n" + inspect.getsource(tiled.py_func)


class Watch:
    """What machines and players do: of each machine all that it knows of accesses in the end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, plays: bool) -> None:
        self.seen: list[object] = []
        self.played = 0
        run, play, go_on = Machine.run, Player.play, Player.go_on

        def watched(machine: Machine, *arguments: Any) -> None:
            try:
                run(machine, *arguments)
            finally:
                self.seen.append(self.known_of(machine))

        def on(each: Player, *arguments: Any) -> Any:
            return go_on(each, *arguments) if plays else None

        def player(each: Player, *arguments: Any) -> bool:
            done = plays and play(each, *arguments)
            self.played += done
            return done

        monkeypatch.setattr(Machine, "run", watched)
        monkeypatch.setattr(Player, "play", player)
        monkeypatch.setattr(Player, "go_on", on)

    @staticmethod
    def known_of(machine: Machine) -> object:
        buffers = {id(view.buffer): view.buffer for view in machine.arrays.values()}.values()
        launch, books = machine.launch, machine.books
        known: list[object] = [
            launch.work, launch.found, machine.memory.changes, machine.order.now - launch.started,
            books.warp_work.by_warp().tolist(),
            [(each.line, each.kind, each.array, each.message, each.occurrences) for each in launch.hazards],
        ]  # fmt: skip
        for buffer in buffers:
            known.append(buffer.data.tobytes())
            if buffer.shadow is not None:
                shadow = buffer.shadow
                for stamps, threads, places in (shadow.writes, shadow.reads, shadow.plain_writes):
                    since = np.where(stamps > 1, stamps - launch.started, stamps)  # launches come one after the other
                    known.append((since.tobytes(), threads.tobytes(), places.tobytes()))
                known.append(shadow.last_read and shadow.last_read - launch.started)
        return known


def both_ways(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> int:
    """Holds what `run` gives, and what machines know, to what steps give; how often a tape was played."""
    with monkeypatch.context() as patched:
        stepped = Watch(patched, plays=False)
        expected = run()
    with monkeypatch.context() as patched:
        played = Watch(patched, plays=True)
        found = run()
    assert found == expected
    assert played.seen == stepped.seen
    return played.played


def launched(kernel: Any, block: tuple[int, int] = (16, 16)) -> object:
    rng = np.random.default_rng(3)
    a, b = (rng.random((64, 64), dtype=np.float32) for _ in range(2))
    c = np.zeros((16, 16), np.float32)
    record = launch_once(kernel, (1, 2), block, a, b, c)
    return c.tobytes(), record.counters, record.compiled, record.lines, record.hazards, record.fault


@pytest.mark.quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_what_is_played_leaves_what_steps_leave(monkeypatch: pytest.MonkeyPatch, kernel: Any) -> None:
    assert both_ways(monkeypatch, lambda: launched(kernel)) >= 2
    both_ways(monkeypatch, lambda: launched(kernel, (15, 13)))


@cuda.jit
def stores_what_others_read(a, b, c):
    tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for _phase in range(a.shape[0] // 12):
        for i in range(3):
            tile[y, x] = tile[x, y] + i


@cuda.jit
def goes_by_what_it_loads(a, b, c):
    tile = cuda.shared.array(16, float32)
    x = cuda.threadIdx.x
    tile[x] = a[0, x]
    cuda.syncthreads()
    for _phase in range(a.shape[0] // 12):
        for _i in range(3):
            c[0, x] += tile[int(tile[x] * 15)]


@cuda.jit
def in_float64(a, b, c):
    tile = cuda.shared.array(16, float32)
    x = cuda.threadIdx.x
    tile[x] = a[0, x]
    cuda.syncthreads()
    total = 0.0
    for _phase in range(a.shape[0] // 12):
        for i in range(3):
            total += tile[i] * 2
    c[0, x] = total


@cuda.jit
def goes_round_too_often(a, b, c):
    tile = cuda.shared.array(16, float32)
    x, n = cuda.threadIdx.x, 0
    tile[x] = a[0, x]
    cuda.syncthreads()
    total = float32(0)
    for _phase in range(a.shape[0] // 20):
        for i in range(2100):
            n = (n + i) % 7
        for i in range(2):
            for j in range(2100):
                n = (n + j) % 7
            total += tile[i]
    c[0, x] = total + n


@pytest.mark.parametrize(
    "kernel", [goes_round_too_often, stores_what_others_read, goes_by_what_it_loads, in_float64],
    ids=lambda kernel: kernel.py_func.__name__,
)  # fmt: skip
def test_what_no_tape_can_hold_is_stepped_through(monkeypatch: pytest.MonkeyPatch, kernel: Any) -> None:
    assert both_ways(monkeypatch, lambda: launched(kernel)) == 0


def test_a_launch_that_is_watched_or_has_little_work_left_is_stepped_through(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.random((64, 64), dtype=np.float32) for _ in range(2))

    request = {"a": a, "b": b, "c": Uninitialised((16, 16), np.float32)}
    program = parse_program(submission_from_cells("t.py", [("t.py", TILED)], is_notebook=False))

    def limited(limit: int) -> object:
        found = SimulatedDevice().run(program, RunRequest("tiled", request, grid=1, block=(16, 16), work_limit=limit))
        return found.counted, found.lines, str(found.fault)

    limits = range(20_000, 50_000, 2_900)
    played = [both_ways(monkeypatch, partial(limited, limit)) for limit in limits]
    assert played[0] < played[-1] and "was stopped" in str(limited(limits[0])) and "None" in str(limited(limits[-1]))


def written(seed: int) -> str:
    """A kernel of loops over shared tiles and sums of a thread's own, some of which leave their array."""
    choose = random.Random(seed)
    pick = choose.choice
    wide, sums = pick([16, 17, 20]), pick([2, 3, 4])

    def index(counters: list[str]) -> str:
        far = pick(counters)
        row = pick(["y", "x", far, f"y // 2 + {pick(counters)}", "ny", f"my + {far}"])
        column = pick(["x", "y", f"x // 2 + {far}", far, f"{far} * 2", "nx", "mx"])
        return f"{row}, {column}"

    def number(counters: list[str], depth: int = 2) -> str:
        if depth and choose.random() < 0.7:
            return f"({number(counters, depth - 1)} {pick('+-*')} {number(counters, depth - 1)})"
        own = f"own[{pick(['0', '1', pick(counters)])}]"
        return pick([f"tile[{index(counters)}]", f"other[{index(counters)}]", own, "total", "float32(0.75)"])

    lines = [
        "def kernel(a, b, c):",
        f"    tile, other = cuda.shared.array((16, {wide}), float32), cuda.shared.array((18, 18), float32)",
        f"    own = cuda.local.array({sums}, float32)",
        "    x, y = cuda.threadIdx.x, cuda.threadIdx.y",
        "    nx, ny = np.uint32(15 - x), np.uint32(y)",
        "    total = float32(1)",
        f"    for i in range({sums}):",
        "        own[i] = i",
        "    other[y, x] = b[y, x]",
        "    for phase in range(a.shape[0] // 12):",
        "        tile[y, x] = a[y, phase * 3 + x]",
        "        my, mx = y // 2 + phase, nx + np.uint32(phase // 3)",
        *(["        cuda.syncthreads()"] if choose.random() < 0.8 else []),
        f"        for i in range({pick([1, 2, sums])}):",
    ]
    counters = ["i"]
    if choose.random() < 0.6:
        lines.append(f"            left = {number(counters)}")
        lines.append(f"            for j in range({pick([2, sums])}):")
        counters.append("j")
        kept = f"own[{pick(['i', 'j'])}]"
        lines.append(f"                {kept} {pick(['+=', '-=', '*=', '='])} left * {number(counters)}")
    lines.append(f"            total {pick(['+=', '=', '-='])} {number(['i'])}")
    if choose.random() < 0.8:
        lines.append("        cuda.syncthreads()")
    lines.append("    c[y, x] = total + own[0] + own[1]")
    return "\n".join(lines)


def compiled(text: str, name: str) -> Any:
    linecache.cache[name] = len(text), None, [line + "\n" for line in text.splitlines()], name
    names: dict[str, Any] = {"cuda": cuda, "float32": float32, "np": np}
    exec(compile(text, name, "exec"), names)  # noqa: S102 (written here)
    return cuda.jit(names["kernel"])


@pytest.mark.parametrize("tenth", range(4))
def test_random_loops_leave_the_same_either_way(monkeypatch: pytest.MonkeyPatch, tenth: int) -> None:
    played = 0
    for seed in range(10 * tenth, 10 * tenth + 10):
        text = written(seed)
        kernel = compiled(text, f"<loops {seed}>")
        try:
            played += both_ways(monkeypatch, lambda: launched(kernel))  # noqa: B023
            both_ways(monkeypatch, lambda: launched(kernel, (15, 7)))  # noqa: B023
        except AssertionError:
            raise AssertionError(text) from None
    assert played >= 10


def test_register_tiles_are_played_and_leave_what_steps_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lab 7's solution, of which hardly anything is stepped through from the second round on."""
    path: Path = solution_of(load_lab("lab07")) / "right" / "squares_of_four.py"
    rng = np.random.default_rng(5)
    a, b = rng.random((70, 90), dtype=np.float32), rng.random((90, 110), dtype=np.float32)
    request = RunRequest("matmul_fast", {"a": a, "b": b, "c": Uninitialised((70, 110), np.float32)}, work_limit=10**9)

    def run() -> object:
        found = SimulatedDevice().run(parse_program(read_submission(path)), request)
        assert found.fault is None
        return found.outputs["c"].tobytes(), found.launches, found.lines, found.hazards

    assert both_ways(monkeypatch, run) >= 4

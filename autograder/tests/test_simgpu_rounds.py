"""Rounds that are recorded and played leave what steps leave: results, counts, hazards, sectors, and shadows."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numba import float32

from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.single_launch import kernel_function
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.tapes import round_playing, rounds
from autograder.simgpu.tapes.playing import Player
from autograder.tests.test_simgpu_tapes import Watch, compiled

cuda = cuda_module.build_module()
LIMIT = 400_000_000


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small loops are played too."""
    monkeypatch.setattr(rounds, "WORTH", 0)
    for module in (rounds, round_playing):
        monkeypatch.setattr(module, "LEAST_ROUNDS", 4)


def known_of(machine: Machine) -> object:
    """All that a machine, its launch and its arrays know in the end."""
    launch: Any = machine.launch
    known: list[object] = [
        Watch.known_of(machine), machine.books.warp_loads.by_warp().tolist(), machine.batch.diverged.tobytes(),
        [{line: row.copy() for line, row in rows.items()} for rows in
         (launch.tally.rows, launch.tally.source_rows, launch.tally.compiled_rows)],
    ]  # fmt: skip
    for buffer in launch.buffers:
        known += [buffer.data.tobytes(), buffer.touched.tobytes(), buffer.stamps.tobytes(), buffer.shadow is None]
        if buffer.shadow is not None:
            for stamps, threads, places in (buffer.shadow.writes, buffer.shadow.reads, buffer.shadow.plain_writes):
                since = np.where(stamps > 1, stamps - launch.started, stamps)  # launches come one after the other
                known.append((since.tobytes(), threads.tobytes(), places.tobytes()))
    return known


def both_ways(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> int:
    """Holds what `run` gives, and what machines know, to what steps give; how many rounds were played."""
    results, seen, played = [], [], 0
    for plays in (False, True):
        with monkeypatch.context() as patched:
            known: list[object] = []
            ran, go_on = Machine.run, Player.go_on

            def watched(machine: Machine, *arguments: Any, ran: Any = ran, known: list[object] = known) -> None:
                try:
                    ran(machine, *arguments)
                finally:
                    known.append(known_of(machine))

            def on(player: Player, *arguments: Any, plays: bool = plays, go_on: Any = go_on) -> Any:
                nonlocal played
                gone = go_on(player, *arguments) if plays else None
                played += 0 if gone is None else gone[0]
                return gone

            patched.setattr(Machine, "run", watched)
            patched.setattr(Player, "go_on", on)
            results.append(run())
            seen.append(known)
    assert results[0] == results[1]
    assert seen[0] == seen[1]
    return played


def launched(
    kernel: Any, block: tuple[int, int] = (16, 16), grid: tuple[int, int] = (3, 2), limit: int = LIMIT, n: int = 48
) -> object:
    rng = np.random.default_rng(3)
    arrays = [
        rng.random((n, n), dtype=np.float32), rng.random((n, n), dtype=np.float32), rng.random(n * n + 7), rng.random(n),
        rng.integers(-9, 9, (n, n)).astype(np.int32), rng.integers(0, 255, n * n).astype(np.uint8),
    ]  # fmt: skip
    out = np.zeros((64, 64))
    session = Session(output=lambda line: None, work_limit=limit)
    fault = None
    try:
        session.launch(kernel_function(kernel), grid, block, (*arrays, n, out))
    except Exception as problem:
        fault = str(problem)
    last = session.last
    found = None if last is None else (last.counters, last.compiled, last.lines, last.hazards, str(last.fault))
    return out.tobytes(), found, fault


@cuda.jit
def product(a, b, c, d, e, f, n, out):
    i, j = cuda.grid(2)
    if i < n and j < n:
        total = 0.0
        for k in range(n):
            total += a[i, k] * b[k, j]
        out[i, j] = total


@cuda.jit
def in_float32(a, b, c, d, e, f, n, out):
    j, i = cuda.grid(2)
    if i < n - 5 and j < n:
        total = float32(0)
        for k in range(n):
            total += a[i, k] * b[k, j]
        out[i, j] = total


@cuda.jit
def of_flat_arrays(a, b, c, d, e, f, n, out):
    i, j = cuda.grid(2)
    if i < n and j < n:
        total = 0.0
        for k in range(n):
            total += c[i * n + k] * c[k * n + j]
        out[i, j] = total


@cuda.jit
def shared_weights(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    if i < n:
        total, last = 0.0, 0.0
        for k in range(n):
            w = d[k]
            total = total + w * c[i + k] - last
            last = w
        out[0, i] = total + last


@cuda.jit
def whole_numbers(a, b, c, d, e, f, n, out):
    x, y = cuda.grid(2)
    total, many = 0, 0
    for k in range(2, n - 2, 3):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                total += e[k + dy, (k * 2 + 5) % 20 + dx] * f[(k + dy) * n + dx]
        many = many + f[x * 16 + k]
    out[y, x] = total - many


@cuda.jit(device=True)
def at(array, i, k, n):
    return array[i * n + k]


@cuda.jit
def in_parts(a, b, c, d, e, f, n, out):
    i, j = cuda.grid(2)
    if i < n and j < n:
        total = float32(0)
        for part in range(n // 12):
            for k in range(12):
                total += a[i, part * 12 + k] * float32(at(c, j, k + part * 12, n))
        out[i, j] = total


@cuda.jit
def leaves_its_array(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(n + 30):
        total += c[n * n - 70 + i % 16 + k]
    out[0, i] = total


@cuda.jit
def counts_from_the_end(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(n):
        total += d[i % 16 + 20 - k]
    out[0, i] = total


@cuda.jit
def what_is_left(a, b, c, d, e, f, n, out):
    i = cuda.threadIdx.x
    at, far, total = 0, 0, float32(0)
    for k in range(5, n):
        at = i + k
        far = k * 3
        value = b[i, k]
        total = -value - total
    out[cuda.threadIdx.y, i] = at + far * 100 + k * 10000 + total + value


KERNELS = [
    product, in_float32, of_flat_arrays, shared_weights, whole_numbers, in_parts, leaves_its_array, counts_from_the_end,
    what_is_left,
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_what_is_played_leaves_what_steps_leave(monkeypatch: pytest.MonkeyPatch, kernel: Any) -> None:
    assert both_ways(monkeypatch, lambda: launched(kernel)) >= 8
    both_ways(monkeypatch, lambda: launched(kernel, (15, 7), (2, 5)))
    both_ways(monkeypatch, lambda: launched(kernel, (8, 4), (40, 11)))


@cuda.jit
def stores(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    for k in range(n):
        out[i % 64, k] = a[k, k]


@cuda.jit
def loads_what_is_written(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(n):
        total += out[i % 64, k]
    out[i % 64, 0] = total


@cuda.jit
def goes_by_what_it_loads(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(n):
        total += d[f[k] % 48]
    out[0, i % 64] = total


@cuda.jit
def carries_an_index(a, b, c, d, e, f, n, out):
    i = cuda.grid(1)
    total, at = 0.0, i
    for _k in range(n):
        total += c[at]
        at = (at * 3) % n
    out[0, i % 64] = total


@pytest.mark.parametrize(
    "kernel", [stores, loads_what_is_written, goes_by_what_it_loads, carries_an_index],
    ids=lambda kernel: kernel.py_func.__name__,
)  # fmt: skip
def test_what_cannot_be_recorded_is_stepped_through(monkeypatch: pytest.MonkeyPatch, kernel: Any) -> None:
    assert both_ways(monkeypatch, lambda: launched(kernel)) == 0


def test_a_launch_is_stopped_where_steps_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = range(30_000, 150_000, 9_700)
    played = [both_ways(monkeypatch, partial(launched, product, limit=limit)) for limit in limits]
    assert played[0] < played[-1]


def written(seed: int) -> str:
    """A kernel with a loop over loads, some of which leave their array."""
    choose = random.Random(seed)
    pick = choose.choice

    def index(counters: list[str], depth: int = 1) -> str:
        far = pick(counters)
        if depth and choose.random() < 0.4:
            return f"({index(counters, depth - 1)} {pick('++-')} {index(counters, depth - 1)})"
        return pick([
            far, far, "i", "j", f"i % 16 + {far}", f"{far} + t", f"{far} * 2 - 1", f"({far} * {far}) % 40", "m",
            "n - 1 - i % 8", f"{far} // 3", "2", f"(t + {far}) * 2", "at % 48",
        ])  # fmt: skip

    def load(counters: list[str]) -> str:
        name = pick("abcdef")
        if name in "abe":
            return f"{name}[{index(counters)}, {index(counters)}]"
        if name in "cf" and choose.random() < 0.7:
            return f"{name}[{pick(['i', 'j', 't', pick(counters), f'(i + {pick(counters)})'])} * n + {index(counters)}]"
        return f"{name}[{index(counters)}]"

    def number(counters: list[str], depth: int = 2) -> str:
        if depth and choose.random() < 0.65:
            return f"({number(counters, depth - 1)} {pick('+-*')} {number(counters, depth - 1)})"
        return pick([
            load(counters), load(counters), load(counters), "total", "float32(0.75)", "2", "1.5", "own", "x",
            f"-{load(counters)}", f"float32({load(counters)})",
        ])  # fmt: skip

    lines = [
        "def kernel(a, b, c, d, e, f, n, out):",
        f"    {pick(['i, j', 'j, i'])} = cuda.grid(2)",
        "    t = cuda.threadIdx.x",
        "    m, at = 7, i + 1",
        f"    total, own, x = {pick(['0', '0.0', 'float32(0)'])}, {pick(['float32(1)', '3', '0.5'])}, d[i % 48]",
    ]
    inside = "    "
    if choose.random() < 0.6:
        lines.append(f"    if i < n{pick(['', ' - 3'])} and j < {pick(['n', '40', 'n - 1'])}:")
        inside = "        "
    if choose.random() < 0.3:
        lines.append(f"{inside}for part in range({pick(['2', '3', 'n // 16'])}):")
        inside += "    "
    lines.append(f"{inside}for k in range({pick(['n', 'n', 'n - 2', '1, n', '0, n, 2', 'n - 1, 0, -1', '16'])}):")
    inside += "    "
    counters = ["k"] + ["part"] * ("for part" in lines[-2])
    if choose.random() < 0.3:
        lines.append(f"{inside}{pick(['at = i + k', 'at = k * 2 + 1', 'm = k + 3', 'own = ' + load(counters)])}")
    if choose.random() < 0.3:
        lines.append(f"{inside}for w in range({pick(['2', '3', '-1, 2'])}):")
        lines.append(f"{inside}    total {pick(['+=', '-='])} {number([*counters, 'w'])}")
    lines.append(f"{inside}{pick(['total', 'total', 'own'])} {pick(['+=', '+=', '-=', '='])} {number(counters)}")
    if choose.random() < 0.3:
        lines.append(f"{inside}own = {pick(['total', number(counters, 1)])}")
    lines.append("    out[j % 64, i % 64] = total + own + at + m")
    return "\n".join(lines)


@pytest.mark.parametrize("third", range(3))
def test_random_loops_leave_the_same_either_way(monkeypatch: pytest.MonkeyPatch, third: int) -> None:
    played = 0
    for seed in range(15 * third, 15 * third + 15):
        text = written(seed)
        kernel = compiled(text, f"<rounds {seed}>")
        try:
            played += both_ways(monkeypatch, lambda: launched(kernel)) > 0  # noqa: B023
            both_ways(monkeypatch, lambda: launched(kernel, (15, 7)))  # noqa: B023
        except AssertionError:
            raise AssertionError(text) from None
    assert played >= 1


def test_only_loops_that_are_long_enough_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """To record one takes as long as to step through some rounds."""
    monkeypatch.undo()
    rounds_of = [both_ways(monkeypatch, partial(launched, compiled_product(n), n=n)) for n in (20, 40, 60)]
    assert rounds_of == [0, 0, 59]


def compiled_product(n: int) -> Any:
    """A kernel of its own, of which nobody knows anything."""
    lines = [
        "def kernel(a, b, c, d, e, f, n, out):", "    i, total = cuda.threadIdx.x, float32(0)", "    for k in range(n):",
        "        total += a[i, k] * b[k, i]", "    out[0, i] = total",
    ]  # fmt: skip
    return compiled("\n".join(lines), f"<product {n}>")

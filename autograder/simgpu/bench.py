"""`autograder bench simgpu`: the simulated GPU against Numba's own simulator, in one go, as ratios."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from autograder.errors import GraderFault

TARGET_RATIO, LEAST_RATIO = 500, 50
TARGET_ROUNDS_PER_SECOND = 100e6
ROUNDS, LAUNCHES, LOWERED = 20_000, 1_000, 100
SIDE = 512  # of a naive matrix product
ROUNDS_BY_STEPS, ROUNDS_COMPILED = 100, 20_000  # of a loop that touches nothing but variables
OTHERS = 4096  # in a loop that loads them


def figures() -> dict[str, str]:
    """What was measured, as lines to print: ratios by kernel, their geometric mean, throughput and memory."""
    script = Path(__file__).with_name("bench_kernels.py")
    ours = _times([str(script), "5", "--simulated-gpu"], {})
    theirs = _times([str(script), "1"], {"NUMBA_ENABLE_CUDASIM": "1"})
    ratios = {name: theirs[name] / ours[name] for name in ours}
    lines = {
        name: f"{ratios[name]:.0f} times Numba's simulator ({ours[name] * 1e3:.1f} ms against {theirs[name]:.2f} s)"
        for name in ours
    }
    mean = math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))
    lines["geometric mean"] = (
        f"{mean:.0f} times (target {TARGET_RATIO}; least {min(ratios.values()):.0f} of {LEAST_RATIO})"
    )
    return {**lines, **_throughput(), **_on_tape(), **_in_registers(), **_with_loads(), **_fixed_costs()}


def _times(arguments: list[str], environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GraderFault(f"The benchmark stopped: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    times: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return times


def _throughput() -> dict[str, str]:
    """Large runs on the simulated GPU alone: inner-loop rounds a second, a histogram and a list-ranking step of 2^20."""
    from autograder import kernels
    from autograder.simgpu.host.single_launch import launch_once

    rng = np.random.default_rng(0)
    a = rng.random((512, 512), dtype=np.float32)
    n = 2**20
    items = rng.integers(0, 256, n).astype(np.int32)
    successor = rng.permutation(n).astype(np.int32)
    rank = np.ones(n, np.int32)
    matmul = _seconds(lambda: launch_once(kernels.matmul_columns, (32, 32), (16, 16), a, a, np.zeros_like(a)))
    counted = _seconds(lambda: launch_once(kernels.histogram_global, n // 256, 256, items, np.zeros(256, np.int32)))
    jump_arguments = (successor, rank, np.empty_like(successor), np.empty_like(rank))
    jumped = _seconds(lambda: launch_once(kernels.pointer_jump, n // 256, 256, *jump_arguments))
    lines = {
        "naive matmul 512": f"{512**3 / matmul / 1e6:.0f} million inner-loop rounds a second "
        f"(target {TARGET_ROUNDS_PER_SECOND / 1e6:.0f})",
        "histogram of 2^20 items": f"{counted:.2f} s (target 1)",
        "list-ranking step of 2^20 nodes": f"{jumped:.2f} s (target 1)",
    }
    if sys.platform != "win32":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        lines["peak memory"] = f"{peak / 1024**2:,.0f} MiB (target 2,048)"
    return lines


def _on_tape() -> dict[str, str]:
    """A naive matrix product, whose rounds are recorded and played, and by steps."""
    from autograder.simgpu.host import cuda_module
    from autograder.simgpu.host.single_launch import launch_once
    from autograder.simgpu.tapes import rounds

    cuda = cuda_module.build_module()

    @cuda.jit
    def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        i, j = cuda.grid(2)
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total

    a = np.random.default_rng(0).random((SIDE, SIDE), dtype=np.float32)
    each = []
    for worth in (sys.maxsize, rounds.WORTH):
        with patch.object(rounds, "WORTH", worth):
            launch = partial(launch_once, product, (SIDE // 16, SIDE // 16), (16, 16), a, a, np.zeros_like(a))
            each.append(_seconds(launch) / SIDE**3 * 1e9)
    quicker = f"{each[0] / each[1]:.1f} times as quick as by steps"
    return {f"naive product of {SIDE} x {SIDE} in float64": f"{each[1]:.2f} ns a multiply-add on tape, {quicker}"}


def _in_registers() -> dict[str, str]:
    """Loops that touch nothing but variables: compiled, and by steps."""
    from autograder.simgpu.host import cuda_module
    from autograder.simgpu.in_registers import loops
    from autograder.simgpu.wider.random_numbers import initial_states

    cuda = cuda_module.build_module()
    uniform = cuda.random.xoroshiro128p_uniform_float32

    @cuda.jit
    def pi(states: np.ndarray, inside: np.ndarray, n: int) -> None:
        i = cuda.grid(1)
        found = 0
        for _ in range(n):
            x, y = uniform(states, i), uniform(states, i)
            if x * x + y * y <= 1:
                found += 1
        inside[i] = found

    @cuda.jit
    def logistic(states: np.ndarray, out: np.ndarray, n: int) -> None:
        i = cuda.grid(1)
        x, k = (i + 1) / 5000, 0
        while k < n:
            x = 3.7 * x * (1 - x)
            k += 1
        out[i] = x

    lanes = 32 * 128
    states = cuda.to_device(initial_states(lanes, 1))
    lines = {}
    for kernel, what in ((pi, "two random numbers and a comparison"), (logistic, "a round of the logistic map")):
        each = []
        for worth, rounds in ((sys.maxsize, ROUNDS_BY_STEPS), (0, ROUNDS_COMPILED)):
            launch = partial(kernel[32, 128], states, np.zeros(lanes), rounds)
            with patch.object(loops, "WORTH", worth):
                took = _seconds(launch)
            each.append(took / rounds / lanes * 1e9)
        lines[what] = f"{each[1]:.2f} ns a lane in registers, {each[0] / each[1]:.0f} times as quick as by steps"
    return lines


def _with_loads() -> dict[str, str]:
    """Loops that load from global memory, and branch: compiled, and by steps."""
    from autograder.simgpu.host import cuda_module
    from autograder.simgpu.host.single_launch import launch_once
    from autograder.simgpu.in_registers import loops

    cuda = cuda_module.build_module()

    @cuda.jit
    def forces(x: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        i = cuda.grid(1)
        force, mine = 0.0, x[i]
        for j in range(x.size):
            if j != i:
                distance = x[j] - mine
                force += distance / (distance * distance + 0.25)
        out[i] = force

    @cuda.jit
    def window(x: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        i = cuda.grid(1)
        total = 0.0
        for k in range(weights.size):
            at = i + k - 32
            if 0 <= at < x.size:
                total += x[at] * weights[k]
        out[i] = total

    rng = np.random.default_rng(0)
    lines = {}
    for kernel, what, lanes, rounds in (
        (forces, "a force on each of 4,096", OTHERS, OTHERS),
        (window, "a weighted sum of 65 neighbours", 64 * OTHERS, 65),
    ):
        each = []
        for worth in (sys.maxsize, 0):
            arrays = rng.random(lanes, dtype=np.float32), rng.random(65, dtype=np.float32), np.zeros(lanes)
            with patch.object(loops, "WORTH", worth):
                each.append(_seconds(partial(launch_once, kernel, lanes // 128, 128, *arrays)) / rounds / lanes * 1e9)
        lines[what] = f"{each[1]:.1f} ns a round with loads, {each[0] / each[1]:.1f} times as quick as by steps"
    return lines


def _fixed_costs() -> dict[str, str]:
    """What is paid by operation, by launch and by kernel, however little data there is."""
    from autograder.simgpu.facts.prepared import prepare
    from autograder.simgpu.host import cuda_module

    cuda = cuda_module.build_module()

    @cuda.jit
    def lengths(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        start, stride = cuda.grid(1), cuda.gridsize(1)
        for i in range(start, out.shape[0], stride):
            out[i] = math.hypot(x[i], y[i])

    @cuda.jit
    def add_one(array: np.ndarray) -> None:
        i = cuda.grid(1)
        if i < array.size:
            array[i] += 1

    x, y, small = np.ones(ROUNDS), np.ones(ROUNDS), cuda.to_device(np.zeros(64))
    alone = _seconds(lambda: lengths[1, 1](x, y, np.zeros(ROUNDS)))
    launched = _seconds(lambda: [add_one[2, 32](small) for _ in range(LAUNCHES)])
    kernel = lengths.__autograder_function__
    arguments = {"x": small._view(), "y": small._view(), "out": small._view()}
    lowered = _seconds(lambda: [prepare(kernel, arguments) for _ in range(LOWERED)])
    return {
        "one thread alone": f"{alone / ROUNDS * 1e6:.1f} us a round of two loads, math.hypot and a store (target 3)",
        f"{LAUNCHES:,} launches of 64 threads": f"{launched:.2f} s",
        "lowering": f"{lowered / LOWERED * 1e3:.2f} ms for a kernel of four lines",
    }


def _seconds(run: Callable[[], object]) -> float:
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start

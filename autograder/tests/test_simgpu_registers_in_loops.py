"""What stays in registers through loops, conditions and where ways meet: loads that machine code has, for one warp.

The numbers are those of the machine code (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0), carried out.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.spellings import HEAD, defined

START = "@cuda.jit\ndef kernel(a, b, c, m, n):\n    t = cuda.threadIdx.x\n"
ROUNDS = 8  # four at a time, with none left over


def loads(body: str) -> int:
    """Loads of one warp from global memory that the compiler leaves; `n` is 8, and all of `a` and `m` is 1."""
    kernel = defined(HEAD + START + textwrap.indent(body, "    "), cuda_module.build_module())
    arrays = np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones((64, 8), np.float32)
    return launch_once(kernel, 1, 32, *arrays, ROUNDS).compiled.global_load_requests


@pytest.mark.parametrize(
    ("body", "left"),
    [
        # the condition is asked before the first round and behind each, so that the body loads anew
        ("j = n - 1\nwhile j > 0 and m[t, j] > 0:\n    c[t + j] = m[t, j]\n    j -= 1", 2 * (ROUNDS - 1)),
        # an element that each round but the first has from the round before
        ("for j in range(n):\n    b[t] -= c[t] * 2\n    c[t] += b[t] * 2", 2 * ROUNDS + 1),
        # stored on one way and loaded on the other: it is in a register behind both
        ("x = c[t]\nif a[t] > x:\n    c[t] = a[t]\nb[t] = c[t]", 2),
        # a loop that some lanes break out of leaves in it what it leaves alone
        ("x = a[t]\nfor j in range(n):\n    x += m[t, j]\n    if x > b[t] + 99:\n        break\nc[t] = x", 2 * ROUNDS + 1),
        ("x = a[t]\nfor j in range(n):\n    x += m[t, j] * b[t]\nc[t] = x", ROUNDS + 2),
    ],
)
def test_what_is_loaded_again(body: str, left: int) -> None:
    assert loads(body) == left


def test_lanes_that_leave_a_loop_in_different_rounds_come_to_wait_one_after_the_other() -> None:
    def issued(bound: str) -> tuple[int, int]:
        body = f"j = 0\nx = 0\nwhile j < {bound}:\n    j += 1\n    x += j * n\nc[t] = x"
        kernel = defined(HEAD + START + textwrap.indent(body, "    "), cuda_module.build_module())
        arrays = np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones((64, 8), np.float32)
        counters = launch_once(kernel, 1, 32, *arrays, ROUNDS).compiled
        return counters.issued_warp_instructions, counters.issued_thread_instructions

    warps, threads = issued("t")
    together, _ = issued("n + 23")  # as many rounds, for all lanes
    assert warps >= together + 31 and threads < 32 * warps


def test_a_negative_number_is_divided_apart() -> None:
    def issued(number: str) -> int:
        kernel = defined(HEAD + START + f"    c[t] = ({number}) % n\n", cuda_module.build_module())
        arrays = np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones((64, 8), np.float32)
        return launch_once(kernel, 1, 32, *arrays, ROUNDS).compiled.issued_warp_instructions

    assert issued("t - 9") > issued("t + 9") + 50

"""What stays in registers through loops, conditions and where ways meet: loads that machine code has, for one warp.

The numbers are those of the machine code (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0), carried out.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from autograder.records.counters import Counters
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.spellings import HEAD, defined

START = "@cuda.jit\ndef kernel(a, b, c, m, n):\n    t = cuda.threadIdx.x\n"
ROUNDS = 8  # four at a time, with none left over


def counted(body: str) -> Counters:
    """What the compiler leaves of one warp; `n` is 8, and all of `a` and `m` is 1."""
    kernel = defined(HEAD + START + textwrap.indent(body, "    "), cuda_module.build_module())
    arrays = np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones((64, 8), np.float32)
    return launch_once(kernel, 1, 32, *arrays, ROUNDS).compiled


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
        # a sum that the loop keeps in a register is there behind it too
        ("for j in range(n):\n    c[t] += a[j]\nc[t] *= 2", ROUNDS + 1),
        # what was stored before a loop, and is in a register at the end of each round, is loaded in none
        ("c[t] = 0\nfor j in range(n):\n    if a[j] > b[t]:\n        c[t] += a[j] * 2\nb[t] = c[t]", 2 * ROUNDS),
        # ten rounds at the most: lanes meet in two times four of them, and in three that are left over
        ("x = 0.0\nj = 0\nwhile j < t % 11:\n    x += a[j]\n    j += 1\nc[t] = x", 11),
        ("x = 0.0\nj = t % 11\nwhile j > 0:\n    x += a[j]\n    j = j - 1\nc[t] = x", 11),
        ("x = 0.0\nj = t\nwhile j < n * 7 + 3:\n    x += a[j] * b[j]\n    j += cuda.blockDim.x // 4\nc[t] = x", 22),
        # of float64 each reads three times from a table
        ("c[t] = math.sin(a[t] * 2.5) + math.cos(b[t] * 2.5)", 8),
    ],
)
def test_what_is_loaded_again(body: str, left: int) -> None:
    assert counted(body).global_load_requests == left


def test_lanes_that_leave_a_loop_in_different_rounds_come_to_wait_one_after_the_other() -> None:
    def issued(bound: str) -> tuple[int, int]:
        body = f"j = 0\nx = 0\nwhile j < {bound}:\n    j += 1\n    x += j * n\nc[t] = x"
        kernel = defined(HEAD + START + textwrap.indent(body, "    "), cuda_module.build_module())
        arrays = np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones((64, 8), np.float32)
        counters = launch_once(kernel, 1, 32, *arrays, ROUNDS).compiled
        return counters.issued_warp_instructions, counters.issued_thread_instructions

    warps, threads = issued("t and x >= 0")
    together, _ = issued("n + 23 and x >= 0")  # as many rounds, for all lanes
    assert warps >= together + 31 and threads < 32 * warps


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("x = b[t]\ny = a[t]\nif t % 3 == 1:\n" + 4 * "    x = x * x + y\n    x = x * y + y\n" + "c[t + 1] = x", 32),
        ("if t % 3 == 1:\n    c[t] += 2\nb[t + 1] = a[t]", 32),  # nothing but the update itself stands in the arm
        ("x = a[t] * 2.5\nif t % 3 == 1:\n    x += b[t + 1] * a[t]\n    x = x * x + a[t]\nc[t + 1] = x", 32),
        # each round makes the address of s[t + k] anew, so that the arm is too long for a predicate
        (
            "s = cuda.shared.array(64, float32)\ns[t] = a[t]\nk = 16\nwhile k > 0:\n    if t < k:\n"
            "        s[t] += s[t + k]\n    cuda.syncthreads()\n    k //= 2\nc[t] = s[0]",
            20.77,
        ),
    ],
)
def test_who_goes_through_an_arm(body: str, threads: float) -> None:
    assert counted(body).threads_per_instruction == pytest.approx(threads, rel=0.05)


def test_a_negative_number_is_divided_apart() -> None:
    def issued(number: str) -> int:
        kernel = defined(HEAD + START + f"    c[t] = ({number}) % n\n", cuda_module.build_module())
        arrays = np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones((64, 8), np.float32)
        return launch_once(kernel, 1, 32, *arrays, ROUNDS).compiled.issued_warp_instructions

    assert issued("t - 9") > issued("t + 9") + 50


def test_an_inner_loop_that_is_written_out_is_counted_as_its_statements() -> None:
    """Lanes have unequally many rounds, and come to one access three times in each."""
    loop = "j = t % 5\nwhile j < n:\n{body}\n    j += 1"
    inner = "    for k in range(3):\n        total += a[7 * j + k]"
    written_out = "\n".join(f"    total += a[7 * j + {k}]" for k in range(3))
    one, other = (counted(f"total = 0.0\n{loop.format(body=body)}\nc[t] = total") for body in (inner, written_out))
    assert one.global_load_requests == other.global_load_requests > 0
    assert one.global_load_sectors == other.global_load_sectors
    assert one.global_load_useful_bytes == other.global_load_useful_bytes

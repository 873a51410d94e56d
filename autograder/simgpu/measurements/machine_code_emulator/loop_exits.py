"""What lanes do that leave a loop in different rounds, and whether they do it together: small kernels, and machine code.

    python -m autograder.simgpu.measurements.machine_code_emulator.loop_exits     # compiler wheels and cc; no GPU; seconds

Writes loop_exits.json: requests and sectors of each kernel, by the emulator. facts/behind_loops.py is held to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

RESULT = Path(__file__).with_name("loop_exits.json")
COUNTERS = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")


@cuda.jit
def break_after(v, k, o, q):
    i = cuda.grid(1)
    for j in range(v.size):
        if v[j] == k[i]:
            o[i] = j
            break
    q[i] = 7


@cuda.jit
def return_after(v, k, o, q):
    i = cuda.grid(1)
    for j in range(v.size):
        if v[j] == k[i]:
            o[i] = j
            return
    q[i] = 7


@cuda.jit
def while_break(v, k, o, q):
    i = cuda.grid(1)
    j = 0
    while j < v.size:
        if v[j] == k[i]:
            o[i] = j
            break
        j += 1
    q[i] = 7


@cuda.jit
def unrolled_break(v, k, o, q):
    i = cuda.grid(1)
    for j in range(6):
        if v[j] >= k[i] and v[j + 1] < k[i] + 2:
            o[i] = j
            break
    q[i] = 7


@cuda.jit
def break_after_loads(v, k, o, q):
    i = cuda.grid(1)
    for j in range(v.size):
        if v[j] == k[i]:
            o[i] = q[i] * v[j]
            break
    q[i] = 7


@cuda.jit
def break_in_a_branch(v, k, o, q):
    i = cuda.grid(1)
    for j in range(v.size):
        if v[j] == k[i]:
            if k[i] > 5:
                o[i] = j
                break
    q[i] = 7


@cuda.jit
def break_of_an_inner_loop(v, k, o, q):
    i = cuda.grid(1)
    for r in range(q.size // 16):
        for j in range(v.size):
            if v[j] == k[i] + r:
                o[i] = j
                break
        q[i] += r


@cuda.jit
def two_breaks(v, k, o, q):
    i = cuda.grid(1)
    for j in range(v.size):
        if v[j] == k[i]:
            o[i] = j
            break
        if v[j] > k[i] + 3:
            o[i] = -1
            break
    q[i] = 7


@cuda.jit
def break_with_a_value(v, k, o, q):
    i = cuda.grid(1)
    f = -1
    for j in range(v.size):
        if v[j] == k[i]:
            f = o[j]
            break
    q[i] = f


@cuda.jit
def endless_break(v, k, o, q):
    i = cuda.grid(1)
    j = 0
    while True:
        if v[j] == k[i]:
            o[i] = j
            break
        j += 1
        if j == v.size:
            break
    q[i] = 7


@cuda.jit
def return_at_the_end(v, k, o, q):
    i = cuda.grid(1)
    if i < q.size:
        q[i] = 7
        for j in range(v.size):
            if v[j] == k[i]:
                o[i] = j
                return


@cuda.jit
def unrolled_return(v, k, o, q):
    i = cuda.grid(1)
    for j in range(6):
        if v[j] >= k[i] and v[j + 1] < k[i] + 2:
            o[i] = j
            return


KERNELS = (
    break_after, return_after, while_break, unrolled_break, break_after_loads, break_in_a_branch, break_of_an_inner_loop,
    two_breaks, break_with_a_value, endless_break, return_at_the_end, unrolled_return,
)  # fmt: skip


def arguments() -> tuple[Any, ...]:
    """What each is launched with, on two blocks of 32 threads; anew each time."""
    rng = np.random.default_rng(1)
    values, wanted = rng.permutation(16).astype(np.int32), rng.integers(0, 18, 64).astype(np.int32)
    return values, wanted, np.zeros(64, np.int32), np.zeros(64, np.int32)


def main() -> None:
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found = {}
    for kernel in KERNELS:
        counted = carried_out(kernel, 2, 32, arguments()).summary()
        found[kernel.py_func.__name__] = {name: counted[name] for name in COUNTERS}
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

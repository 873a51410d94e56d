"""What holds a sum of blocks up: the time that each resource of an H200 would take for it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

THREADS = 256  # of a block; each adds up so many numbers
PART = 4  # of the numbers only one in so many is counted, and taken so many times: less memory is needed here
RESOURCES = ("issue", "latency", "block launch", "shared memory", "DRAM")
HEADS = (*RESOURCES, "together", "measured")


def sum_needs(kernels: Mapping[str, Any], milliseconds: Mapping[str, float], numbers: int) -> str:
    """Milliseconds that each resource of an H200 would take for `numbers` float32, a kernel of (values, sums) a row.

    Beside them stand what they take together, as they overlap only in part, and what was measured, `milliseconds` by
    the kernels' names. A block has 256 threads and as many numbers, and leaves one sum.
    """
    from autograder import profile

    part = numbers // PART
    values = np.ones(part, np.float32)
    rows = [_row("milliseconds", HEADS)]
    for name, kernel in kernels.items():
        launch = profile(kernel, sample_blocks=4)[part // THREADS, THREADS]
        estimate = launch(values, np.zeros(part // THREADS, np.float32)).estimate("H200", PART)
        needs = [estimate.breakdown[each] for each in RESOURCES]
        rows.append(_row(name, (f"{ns / 1e6:.3f}" for ns in (*needs, estimate.ns, 1e6 * milliseconds[name]))))
    return "\n".join(rows)


def _row(name: str, cells: Iterable[str]) -> str:
    """A line of the table: each cell stands under its head."""
    return f"{name:<15}" + "".join(f"{cell:>{len(head) + 3}}" for cell, head in zip(cells, HEADS, strict=True))


def issue_of_work(kernel: Any, threads: int, rounds: int, executed: int) -> str:
    """Whether the start of instructions alone explains what a kernel of (x, rounds) takes on an H200.

    `executed` is what an H200's profiler counted for 2^14 threads of 2,000 rounds; the simulated GPU's own count for the
    same launch stands beside it. Milliseconds are told for so many `threads` and `rounds`.
    """
    from autograder import perfmodel, profile

    gpu = perfmodel.SPECIFICATIONS["H200"]
    small, few = 1 << 14, 2000
    p = profile(kernel)[small // THREADS, THREADS](np.ones(small, np.float32), few)
    all_rounds = small // 32 * few  # of the warps that were counted
    schedulers = round(gpu.multiprocessors * gpu.warp_instructions_per_cycle)
    ms = threads // 32 * rounds * executed / all_rounds / (schedulers * gpu.clock_ghz * 1e6)
    estimated = p.compiled.issued_warp_instructions / all_rounds
    return (
        f"instructions a round: {estimated:.1f} estimated, {executed / all_rounds:.2f} executed by an H200\n"
        f"{executed / all_rounds:.2f} a round from {schedulers} schedulers, each one a clock: {ms:.1f} ms"
    )

"""Bytes over time: of a measured launch, of one on the GPU at hand, and what the resources of a GPU need for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder import perfmodel
from autograder.perfmodel.prediction import ISSUE_SHARE

SIDE = 8192  # of the square float32 matrix that is copied and transposed


def gb_per_s(milliseconds: float, n_bytes: float = 2 * 4 * SIDE**2) -> float:
    """Bytes that have to move, over the time it took; without `n_bytes` a matrix is read once and written once."""
    return n_bytes / milliseconds / 1e6


def measured_gb_per_s(kernel: Any, repeats: int = 5) -> float:
    """What a kernel of (x, out) moves on the GPU at hand: useful bytes over the median time of a launch.

    x and out are SIDE x SIDE float32; blocks have 32 x 32 threads, one for each element. Needs a GPU.
    """
    from numba import cuda

    source = cuda.to_device(np.random.default_rng(2012).random((SIDE, SIDE), dtype=np.float32))
    target = cuda.device_array((SIDE, SIDE), np.float32)
    launch = kernel[(SIDE // 32, SIDE // 32), (32, 32)]
    launch(source, target)  # the first launch compiles, so it is not timed
    times = []
    for _ in range(repeats):
        start, end = cuda.event(), cuda.event()
        start.record()
        launch(source, target)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return gb_per_s(float(np.median(times)), 2 * 4 * SIDE**2)


def sums_measured(kernels: Mapping[str, Any], milliseconds: Mapping[str, float]) -> str:
    """A row for each kernel that sums up rows or columns: its sectors a load request, and what an H200 measured.

    Counted for 256 sums of 256 numbers; measured for 2^18 sums of 1,024.
    """
    from autograder import profile

    square = np.ones((256, 256), np.float32)
    rows = []
    for name, kernel in kernels.items():
        c = profile(kernel)[2, 128](square, np.zeros(256, np.float32)).counters
        measured = f"H200 {milliseconds[name]:>5.2f} ms, {gb_per_s(milliseconds[name], 4 * 2**28):>5,.0f} GB/s"
        rows.append(f"{name:<12} {c.global_load_sectors_per_request:>4.0f} sectors a request, {measured}")
    return "\n".join(rows)


def sum_limits(kernels: Mapping[str, tuple[Any, tuple[int, int]]], milliseconds: Mapping[str, float]) -> str:
    """What DRAM, L1 and issue of an H200 would take for kernels that sum up 2^28 numbers with 2^18 threads, as a table.

    For issue it counts as many of the slots as an estimate does, ISSUE_SHARE.
    A kernel comes with the shape of a small matrix in which one block of 256 threads sums up 1,024 numbers a thread;
    `milliseconds` are the measured times by the kernels' names.
    """
    from autograder import profile

    gpu = perfmodel.SPECIFICATIONS["H200"]
    loads = 2**28 // 32  # of all warps
    cycles_a_ms = 1e6 * gpu.clock_ghz * gpu.multiprocessors  # of all multiprocessors together
    rows = [
        f"every number from DRAM once, at {gpu.dram_achievable_gb_per_s:,.0f} GB/s, about what an H200 reaches: "
        f"{4 * 2**28 / gpu.dram_achievable_gb_per_s / 1e6:.2f} ms",
        "              passes a load   L1 ms   instructions a round   issue ms   measured ms",
    ]
    for name, (kernel, shape) in kernels.items():
        p = profile(kernel)[1, 256](np.ones(shape, np.float32), np.zeros(256, np.float32))
        requests = p.counters.global_load_requests
        passes = p.counters.global_load_wavefronts / requests
        instructions = p.compiled.issued_warp_instructions / requests
        l1_ms = loads * passes / (cycles_a_ms * gpu.l1_wavefronts_per_cycle)
        issue_ms = loads * instructions / (cycles_a_ms * gpu.warp_instructions_per_cycle * ISSUE_SHARE)
        rows.append(
            f"{name:<12} {passes:>14.0f} {l1_ms:>7.2f} {instructions:>22.0f} {issue_ms:>10.2f} {milliseconds[name]:>13.2f}"
        )
    return "\n".join(rows)


RESOURCES = ("DRAM", "L2", "L1", "shared memory", "issue", "latency")


def move_limits(kernels: Mapping[str, tuple[Any, tuple[int, int]]], milliseconds: Mapping[str, float]) -> str:
    """What each resource of an H200 would take for kernels of (x, out) that move a SIDE x SIDE matrix, as a table.

    A kernel comes with its block, whatever of 32 x 32 elements that moves. Half the side is counted, in a few
    blocks, and taken four times: a smaller matrix needs less memory here. `milliseconds` are the measured times.
    """
    from autograder import profile

    half = SIDE // 2
    x = np.zeros((half, half), np.float32)
    rows = ["milliseconds              " + "".join(f"{each:>{_width(each)}}" for each in (*RESOURCES, "measured"))]
    for name, (kernel, block) in kernels.items():
        counted = profile(kernel, sample_blocks=4)[(half // 32, half // 32), block](x, np.zeros_like(x))
        estimate = counted.estimate("H200", times=4)
        times = {each: estimate.breakdown[each] / 1e6 for each in RESOURCES} | {"measured": milliseconds[name]}
        rows.append(f"{name:<26}" + "".join(f"{ms:>{_width(each)}.2f}" for each, ms in times.items()))
    return "\n".join(rows)


def _width(head: str) -> int:
    """Of a column in which a time stands under its head."""
    return max(len(head), len("0.00")) + 3

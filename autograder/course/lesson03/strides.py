"""A kernel with two knobs, a stride and an offset: its counts, its first loads, and what its measured times tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.course.lesson03.rates import gb_per_s
from autograder.records.accesses import Access

LANES, LOADS = 32, 2**26  # of a warp; of the measured launches
STORED = 4 * LOADS // 8  # bytes that the launches with a stride store, side by side
Times = Mapping[str, Mapping[str, float]]  # milliseconds by "load by stride" and the like, and by the setting


def profile_knobs(kernel: Any, stride: int, offset: int, **options: Any) -> Any:
    """Profiles a kernel of (x, out, stride, offset) that loads 8 elements a thread, for 4 blocks of 128 threads."""
    from autograder import profile

    x, out = np.ones(8 * 512 * stride + offset, np.float32), np.zeros(512, np.float32)
    return profile(kernel, **options)[4, 128](x, out, stride, offset)


def first_loads(kernel: Any, stride: int, offset: int, warps: int = 1) -> list[Access]:
    """The first load of each of the first warps of the first block."""
    loads = profile_knobs(kernel, stride, offset, trace=True).trace("")
    first = [each for each in loads if each.kind == "load" and each.step == 0 and each.block == (0, 0, 0)]
    return first[:warps]


def strides_counted(kernel: Any, read: Mapping[str, Mapping[str, float]], strides: tuple[int, ...]) -> str:
    """A row for each stride: sectors a load request as the simulated GPU counts them, and as an H200's counters did."""
    rows = []
    for stride in strides:
        simulated = profile_knobs(kernel, stride, 0).counters.global_load_sectors_per_request
        card = read[f"load_strided {stride}"]
        hardware = card["global_load_sectors"] / card["global_load_requests"]
        rows.append(f"stride {stride:>2}: simulated {simulated:>4}, H200 {hardware:>4}")
    return "\n".join(rows)


def relative_sectors(kernel: Any, sweeps: Times) -> dict[str, dict[int, float]]:
    """By stride, how many times as many sectors as with a stride of 1 the loads need: {"sectors": ...}."""
    strides = [int(stride) for stride in sweeps["load by stride"]]
    counted = {each: profile_knobs(kernel, each, 0).counters.global_load_sectors_per_request for each in strides}
    return {"sectors": {stride: sectors / counted[1] for stride, sectors in counted.items()}}


def offsets_counted(kernel: Any, milliseconds: Mapping[str, float]) -> str:
    """A row for each offset: the sectors of a load request, and the measured time."""
    rows = ["offset  sectors  ms on an H200"]
    for offset, ms in milliseconds.items():
        sectors = profile_knobs(kernel, 1, int(offset)).counters.global_load_sectors_per_request
        rows.append(f"{offset:>6} {sectors:>8} {ms:>14.4f}")
    return "\n".join(rows)


def relative_times(sweeps: Times) -> dict[str, dict[int, float]]:
    """By stride, how many times as long as with a stride of 1 loads and stores took: {"loads": ..., "stores": ...}."""
    relative = {}
    for what in ("load", "store"):
        times = sweeps[f"{what} by stride"]
        relative[f"{what}s"] = {int(stride): ms / times["1"] for stride, ms in times.items()}
    return relative


def moved_in_pieces(sweeps: Times, strides: tuple[int, ...] = (1, 2, 4, 8, 16, 32)) -> str:
    """A row for each stride: the time of LOADS loads of float32, and the rate of what is used, of sectors, of 64 bytes.

    The kernel is `knobs`, whose threads load eight numbers each and store one: its stores are counted as moved, too.
    """
    rows = ["stride      time    GB/s used    in sectors    in pieces of 64 bytes"]
    for stride in strides:
        ms = sweeps["load by stride"][str(stride)]
        moved = [
            size * len({4 * lane * stride // size for lane in range(LANES)}) * LOADS // LANES + STORED
            for size in (32, 64)
        ]
        used, in_sectors, in_64 = (gb_per_s(ms, n_bytes) for n_bytes in (4 * LOADS, *moved))
        rows.append(f"{stride:>6} {ms:>6.3f} ms {used:>10,.0f} {in_sectors:>13,.0f} {in_64:>14,.0f}")
    return "\n".join(rows)

"""How long each resource of a GPU would need for a kernel, for several kernels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.perfmodel import Estimate, Specification, roofline
from autograder.records.counters import Counters

RESOURCES = ("latency", "L1", "issue", "shared memory", "L2", "float32", "DRAM")


def breakdown_table(estimates: Mapping[str, Estimate], measured_ms: Sequence[float]) -> str:
    """A column for each estimate under its name: milliseconds of each resource alone, together, and as measured.

    `measured_ms` has the times in the order of `estimates`; ValueError if there are more or fewer.
    """
    rows = {
        name: [f"{estimates[each].breakdown[name] / 1e6:.3f}" for each in estimates] for name in RESOURCES
    } | {
        "together": [f"{each.ns / 1e6:.2f}" for each in estimates.values()],
        "measured": [f"{ms:.2f}" for _, ms in zip(estimates, measured_ms, strict=True)],
    }
    widths = [max(len(name), 7) + 2 for name in estimates]
    shown = {"milliseconds": list(estimates)} | rows
    return "\n".join(
        f"{name:<13}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in shown.items()
    )


def passes_table(compiled: Counters, multiply_adds: int, gpu: Specification, measured_gflop_per_s: float) -> str:
    """What a multiply-add of a warp costs in passes through shared memory and L1, one a cycle, and the peak that leaves.

    `compiled` are the counters of the compiled kernel, `multiply_adds` those of all warps together.
    """
    at_a_time = gpu.float32_lanes_per_cycle / 32
    passes = {
        "reading the tiles": compiled.shared_load_wavefronts / multiply_adds,
        "filling them": compiled.shared_store_wavefronts / multiply_adds,
        "global loads": compiled.global_load_wavefronts / multiply_adds,
    }
    cycles, peak = sum(passes.values()), roofline(gpu).peak_gflop_per_s
    each = ", ".join(f"{name} {share:g}" for name, share in passes.items())
    return (
        f"in a cycle: 1 request to shared memory, or {at_a_time:.0f} multiply-adds of a warp\n"
        f"cycles for a multiply-add: {each}\n"
        f"together {cycles:g}, in which {at_a_time * cycles:g} multiply-adds would fit\n"
        f"peak {peak:,.0f} GFLOP/s, / 8 = {peak / 8:,.0f}, / {at_a_time * cycles:g} = "
        f"{peak / at_a_time / cycles:,.0f}; tiled measured {measured_gflop_per_s:,.0f}"
    )

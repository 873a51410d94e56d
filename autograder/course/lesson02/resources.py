"""How long each resource of a GPU would need for a kernel, for several kernels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.perfmodel import Estimate

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

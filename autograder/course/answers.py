"""What several exercises ask of a student's kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.records.hazards import HAZARDS

RULES = tuple(kind for kind, about in HAZARDS.items() if about.is_always_wrong)
"""Hazards that no answer may have, whatever it computes."""


def parameters(kernel: Any) -> tuple[str, ...]:
    """What a kernel calls its parameters."""
    from autograder.profiling import kernel_function

    return tuple(each.arg for each in kernel_function(kernel).node.args.args)


def resource_named(given: Any, names: tuple[str, ...]) -> str | None:
    """Which of these resources of a breakdown an answer names; None for anything else."""
    known = {each.lower(): each for each in names} | {"instructions": "issue", "waiting": "latency"}
    return known.get(given.strip().lower()) if isinstance(given, str) else None


def threads_that_store(kernel: Any, grid: Any, block: Any, arguments: tuple[Any, ...], array: str) -> int:
    """How many threads of a launch store into the array that the kernel calls so."""
    from autograder import profile

    stores = 4 * max(each.size for each in arguments if isinstance(each, np.ndarray))  # of each line
    p = profile(kernel, trace=True, trace_limit=stores)[grid, block](*arguments)
    return len(
        {
            (access.block, access.warp, int(lane))
            for access in p.trace("")
            if (access.kind, access.array) == ("store", array)
            for lane in np.flatnonzero(access.addresses >= 0)
        }
    )

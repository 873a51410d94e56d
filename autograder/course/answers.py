"""What several exercises ask of a student's kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from autograder.course.replies import Reply, no_kernel, not_yet
from autograder.records.hazards import HAZARDS, Hazard

RULES = tuple(kind for kind, about in HAZARDS.items() if about.is_always_wrong)
"""Hazards that no answer may have, whatever it computes."""


def parameters(kernel: Any) -> tuple[str, ...]:
    """What a kernel calls its parameters."""
    from autograder.profiling import kernel_function

    return tuple(each.arg for each in kernel_function(kernel).node.args.args)


def not_of(kernel: Any, names: tuple[str, ...]) -> Reply | None:
    """The reply to what is no kernel with so many parameters; None for one. Parameters may have other names."""
    if (wrong := no_kernel(kernel)) is not None:
        return wrong
    if (given := len(parameters(kernel))) != len(names):
        all_named = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        return not_yet(f"The kernel takes {all_named}; yours takes {given} parameter{'' if given == 1 else 's'}.")
    return None


def nothing_right(
    profiled: Any, is_untouched: bool, array: str, launched: str, more: str = "", owners: Owners | None = None
) -> Reply | None:
    """The reply to a launch that broke a rule, or wrote nothing to the array; None where something can be judged.

    `owners`: which threads have an element of the result, where each has one; what a guard can mend is told by it.
    """
    broken = [each for each in profiled.hazards if each.kind in RULES]
    if broken:
        told = broken[0] if owners is None else owners.advise(broken[0])
        return not_yet(f"{launched} {told}{more}")
    if is_untouched:
        words = f"Nothing was written to {array}. Write the kernel in this cell and run it again."
        return Reply("your turn", words)
    return None


@dataclass(frozen=True)
class Owners:
    """A launch in which a thread has one element of an array of `shape`: by its place along x, and y in 2-D blocks."""

    block: int | tuple[int, int]  # x first
    shape: tuple[int, ...]  # rows first

    def advise(self, hazard: Hazard) -> Hazard:
        """The hazard, with a remedy that fits its thread: a guard is for those that have no element, and for no others."""
        if hazard.kind not in ("out_of_bounds", "negative_index") or hazard.block is None or hazard.thread is None:
            return hazard
        if self._has_element(hazard.block, hazard.thread):
            if hazard.kind == "negative_index":
                return replace(hazard, remedy=_FROM_THE_END)
            return replace(hazard, remedy=_WHICH_INDEX)
        return replace(hazard, remedy=_NO_GUARD)

    def _has_element(self, block: tuple[int, int, int], thread: tuple[int, int, int]) -> bool:
        if isinstance(self.block, int):
            return block[0] * self.block + thread[0] < prod(self.shape)
        column, row = (block[axis] * self.block[axis] + thread[axis] for axis in (0, 1))
        return bool(row < self.shape[0] and column < self.shape[-1])


_WHICH_INDEX = "This thread has an element, so no guard is missing: which index belongs to which array?"
_FROM_THE_END = (
    "This thread has an element, so no guard is missing. On the GPU a negative index counts from the end, at the price of a "
    "test in each load: if you mean that, write it out, as in size - 1 - i."
)
_NO_GUARD = "This thread has no element, and should not get here: the guard is missing, or lets too many through."


def written_alone(kernel: Any, grid: Any, block: Any, arguments: tuple[Any, ...], launched: str) -> Reply | None:
    """The reply to a kernel of which few threads write the last array, an element each; None where most do."""
    busy = threads_that_store(kernel, grid, block, arguments, parameters(kernel)[-1])
    if busy >= arguments[-1].size / 2:
        return None
    return not_yet(f"{launched} It is right, but {busy} of the threads wrote it alone. Let each write one element.")


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
            if access.kind in ("store", "atomic") and access.array == array
            for lane in np.flatnonzero(access.addresses >= 0)
        }
    )

"""What several exercises ask of a student's kernel."""

from __future__ import annotations

import ast
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
    profiled: Any,
    is_untouched: bool,
    array: str,
    launched: str,
    more: str = "",
    owners: Owners | None = None,
    kernel: Any = None,
    inputs: Inputs | None = None,
) -> Reply | None:
    """The reply to a launch that broke a rule, wrote nothing to the array, or changed `inputs`; None for one to judge.

    `owners`: which threads have an element of the result, where each has one; what a guard can mend is told by it.
    `kernel`: the one that ran, whose last parameter is the result; then one that has been written is told from an empty one.
    """
    broken = [each for each in profiled.hazards if each.kind in RULES]
    if broken:
        told = broken[0] if owners is None else owners.advise(broken[0])
        return not_yet(f"{launched} {told}{more}")
    if is_untouched and kernel is not None and (reply := _why_untouched(kernel, profiled, array, launched)) is not None:
        return reply
    if is_untouched:
        return _unchanged(profiled.counters, array, launched)
    return inputs.changed(launched) if inputs is not None else None


class Inputs:
    """Arrays that a kernel is only to read, by the names that its exercise gives them, and what they held beforehand."""

    def __init__(self, **arrays: np.ndarray) -> None:
        self._now = arrays
        self._before = {name: each.copy() for name, each in arrays.items()}

    def changed(self, launched: str = "") -> Reply | None:
        """The reply where one of them is not as it was; None where all are. What it held is there again afterwards."""
        for name, now in self._now.items():
            if not np.array_equal(now, self._before[name]):
                now[...] = self._before[name]
                return not_yet(f"{launched} The kernel writes to {name}, which it reads. Leave that as it is.".lstrip())
        return None


def _unchanged(counters: Any, array: str, launched: str) -> Reply:
    """The reply to a launch after which the array is as it was: an empty kernel, one that stores nothing, or no news."""
    if counters.global_store_requests + counters.global_atomic_requests:
        return not_yet(f"{launched} The kernel writes, but {array} is as it was before. What is written, and where?")
    words = f"Nothing was written to {array}."
    if counters.global_load_requests:
        return Reply("your turn", f"{words} It loads, but no thread of this launch gets as far as a store or an atomic.")
    return Reply("your turn", f"{words} Write the kernel in this cell and run it again.")


@dataclass(frozen=True)
class Owners:
    """A launch in which a thread has one element of an array of `shape`: by its place along x, and y in 2-D blocks."""

    block: int | tuple[int, int]  # x first
    shape: tuple[int, ...]  # rows first
    counts: bool = False  # whether the kernel has a loop, which may count too far

    def advise(self, hazard: Hazard) -> Hazard:
        """The hazard, with a remedy that fits its thread: a guard is for those that have no element, and for no others."""
        if hazard.kind not in ("out_of_bounds", "negative_index") or hazard.block is None or hazard.thread is None:
            return hazard
        if self.has_element(hazard):
            if hazard.kind == "negative_index":
                return replace(hazard, remedy=_FROM_THE_END)
            return replace(hazard, remedy=_WHICH_INDEX + (_HOW_FAR if self.counts else "?"))
        return replace(hazard, remedy=_NO_GUARD)

    def has_element(self, hazard: Hazard) -> bool:
        """Whether the thread that the hazard names has an element of the result; so for a hazard that names none."""
        if hazard.block is None or hazard.thread is None:
            return True
        if isinstance(self.block, int):
            return hazard.block[0] * self.block + hazard.thread[0] < prod(self.shape)
        column, row = (hazard.block[axis] * self.block[axis] + hazard.thread[axis] for axis in (0, 1))
        return bool(row < self.shape[0] and column < self.shape[-1])


_WHICH_INDEX = "This thread has an element, so no guard is missing: which index belongs to which array"
_HOW_FAR = ", and how far does the loop count?"
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


def _why_untouched(kernel: Any, profiled: Any, array: str, launched: str) -> Reply | None:
    """The reply to a kernel that has been written and did nothing to its last parameter; None for one still to write."""
    from autograder.profiling import kernel_function

    result, nodes = parameters(kernel)[-1], list(ast.walk(kernel_function(kernel).node))
    if any(isinstance(each, ast.Name) and each.id == result and isinstance(each.ctx, ast.Store) for each in nodes):
        return not_yet(
            f"{launched} Nothing was written to {array}: `{result} = ...` gives the name {result} to something else. An "
            f"element is written with its index: `{result}[...] = ...`."
        )
    if profiled.counters.global_store_requests:
        return not_yet(f"{launched} {array} holds what it held before the launch: what do the stores write, and where?")
    stored = (each for each in nodes if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store))
    if any(isinstance(each.value, ast.Name) and each.value.id == result for each in stored):
        told = f"Nothing was written to {array}: no thread got to the line that would."
        return not_yet(f"{launched} {told} Whom does the guard let pass?")
    return None


def has_loop(kernel: Any) -> bool:
    """Whether a kernel has a loop."""
    from autograder.profiling import kernel_function

    return any(isinstance(each, (ast.For, ast.While)) for each in ast.walk(kernel_function(kernel).node))


_OTHER_WORDS = {"instructions": "issue", "waiting": "latency", "shared": "shared memory"}


def resource_named(given: Any, names: tuple[str, ...]) -> str | None:
    """Which of these resources of a breakdown an answer names; None for anything else."""
    known = {each.lower(): each for each in names}
    known |= {word: name for word, name in _OTHER_WORDS.items() if name in names}
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

"""A failing case as code that can be pasted into a notebook beside the student's own functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.grading.closeness import Difference
from autograder.records.runs import Launch, RunRequest, Uninitialised, Zeros

MOST_PROFILES = 3  # launches that are shown, each once
LITERAL_ELEMENTS = 36  # larger arrays are written as the recipe that made them


def reproduction(
    request: RunRequest,
    recipes: Mapping[int, str],
    wrong: Difference | None = None,
    unwritten: tuple[str, np.ndarray] | None = None,
    counted: Sequence[Launch] = (),
) -> str:
    """Python that makes the request's arguments, calls the function, and fetches what is wrong.

    `recipes` maps `id(array)` to the expression that makes it again; `unwritten`: an argument's name and which of its
    elements were left out; `counted`: the launches whose work, not whose result, failed the check.
    """
    lines = ["import numpy as np", "from numba import cuda", ""]
    for name, value in request.arguments.items():
        lines += _argument(name, value, recipes)
    launch = f"[{request.grid}, {request.block}]" if request.grid is not None else ""
    lines.append(f"{request.function}{launch}({', '.join(request.arguments)})")
    if wrong is not None and wrong.mismatches and wrong.name in request.arguments:
        first = wrong.mismatches[0]
        index = ", ".join(map(str, first.index))
        lines.append(f"{wrong.name}.copy_to_host()[{index}]  # expected {first.expected:.9g}")
    elif unwritten is not None and unwritten[0] in request.arguments:
        index = ", ".join(map(str, np.argwhere(unwritten[1])[0]))
        lines.append(f"{unwritten[0]}.copy_to_host()[{index}]  # never written")
    elif counted:
        profiles = (
            f"autograder.profile({each.kernel})[{_dimensions(each.grid)}, {_dimensions(each.block)}](its arguments)"
            for each in counted
        )
        different = list(dict.fromkeys(profiles))
        more = f"\n# and {len(different) - MOST_PROFILES} more" if len(different) > MOST_PROFILES else ""
        shown = "\n#   ".join(different[:MOST_PROFILES])
        lines.append(f"# No element is wrong. What was counted: {shown}{more}")
    return "\n".join(lines)


def _dimensions(extent: tuple[int, int, int]) -> str:
    """(4, 1, 1) -> `4`, (4, 2, 1) -> `(4, 2)`"""
    used = max(at + 1 for at in range(3) if at == 0 or extent[at] != 1)
    return str(extent[0]) if used == 1 else str(tuple(int(each) for each in extent[:used]))


def _argument(name: str, value: Any, recipes: Mapping[int, str]) -> list[str]:
    if isinstance(value, Uninitialised):
        return [f"{name} = cuda.device_array({tuple(value.shape)}, np.{np.dtype(value.dtype)})"]
    if isinstance(value, Zeros):
        return [f"{name} = cuda.to_device(np.zeros({tuple(value.shape)}, np.{np.dtype(value.dtype)}))"]
    if not isinstance(value, np.ndarray):
        return [f"{name} = {value!r}" if not isinstance(value, np.generic) else f"{name} = np.{value.dtype}({value})"]
    if id(value) in recipes:
        return [f"{name} = cuda.to_device({recipes[id(value)]})"]
    if value.size and (value == value.flat[0]).all():
        return [f"{name} = cuda.to_device(np.full({value.shape}, {value.flat[0].item()!r}, np.{value.dtype}))"]
    if value.size <= LITERAL_ELEMENTS:
        return [f"{name} = cuda.to_device(np.array({value.tolist()!r}, np.{value.dtype}).reshape({value.shape}))"]
    made = f"np.random.default_rng(0).uniform(-1, 1, {value.shape}).astype(np.{value.dtype})"
    return [f"{name} = cuda.to_device({made})  # the same shape, other numbers"]

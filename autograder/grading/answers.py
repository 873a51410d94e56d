"""Where a worker's answer becomes a `Run` or a `Comparison` that checks may rely on.

A submission decides the type and the size of what it makes. Only this module holds that against what was asked. Whoever
gets a run from here can rely on it: an output has the dtype and the shape of the request's own array, and a function
has returned numbers, text or arrays of numbers, all of NumPy's ordinary types.

Both ends are here. The worker leaves out what need not travel (`as_sent`), the grader puts it back and looks at the rest
(`taken`, `comparison_taken`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.errors import GraderFault, KernelFault
from autograder.language.host_limits import MOST_RETURNED_BYTES, NUMBERS
from autograder.records.runs import Comparison, Run, RunRequest, Uninitialised, Zeros

ARRAYS = (np.ndarray, Uninitialised, Zeros)  # arguments that are arrays
OTHER_BYTES = 1 << 26  # of a reply, for all that is no output: counters of thousands of launches, lines, hazards
MOST_TEXT = 1_000  # characters of a text that a function returned


def as_sent(run: Run, request: RunRequest) -> Run:
    """The run without the input arrays that nobody changed, because the grader has those. For the worker's side."""
    return run if run.fault is not None else replace(run, outputs=_changed(run.outputs, request))


def comparison_as_sent(comparison: Comparison, requests: Sequence[RunRequest]) -> Comparison:
    """The same for every output of a comparison."""
    asked = [requests[which] for which in comparison.request_of_output]
    outputs = tuple(_changed(each, request) for each, request in zip(comparison.outputs, asked, strict=True))
    return replace(comparison, outputs=outputs)


def bytes_of_run(request: RunRequest) -> int:
    """The most bytes that the answer to a request may have: every array with its mask, what is returned, and the rest."""
    size_bytes = OTHER_BYTES + (MOST_RETURNED_BYTES if request.wants_returned else 0)
    for value in request.arguments.values():
        if isinstance(value, ARRAYS):
            elements = int(np.prod(value.shape, dtype=np.int64))
            size_bytes += elements * (np.dtype(value.dtype).itemsize + 1)
    return size_bytes


def as_expected(run: Any, request: RunRequest) -> Run:
    """The run with outputs and result as a check may expect them.

    Raises `GraderFault` where the worker answers something else than it was asked, `KernelFault` where the function returned
    what nobody can look at.
    """
    if not isinstance(run, Run):
        raise GraderFault(f"The grader's worker answered with a {type(run).__name__} in place of a run.")
    outputs = run.outputs if run.fault is not None else _whole(run.outputs, request)
    _expect_as_asked(outputs, request)
    _expect_masks(run, request)
    returned = _ordinary_value(request.function, run.returned) if request.wants_returned else None
    return replace(run, outputs=outputs, returned=returned)


def comparison_taken(comparison: Any, requests: list[RunRequest]) -> Comparison:
    """The comparison with outputs as a check may expect them; raises `GraderFault` like `taken`."""
    if not isinstance(comparison, Comparison):
        raise GraderFault(f"The grader's worker answered with a {type(comparison).__name__} in place of a comparison.")
    belongs = comparison.request_of_output
    if len(belongs) != len(comparison.outputs) or not all(0 <= which < len(requests) for which in belongs):
        raise GraderFault("The grader's worker answered with outputs of requests that nobody made.")
    asked = [requests[which] for which in belongs]
    outputs = tuple(_whole(each, request) for each, request in zip(comparison.outputs, asked, strict=True))
    for each, request in zip(outputs, asked, strict=True):
        _expect_as_asked(each, request)
    if comparison.sampled is not None:
        _expect_as_asked(comparison.sampled.outputs, requests[0])
        _expect_masks(comparison.sampled, requests[0])
    return replace(comparison, outputs=outputs)


def _changed(outputs: Mapping[str, np.ndarray], request: RunRequest) -> dict[str, np.ndarray]:
    return {name: each for name, each in outputs.items() if not _is_same(each, request.arguments.get(name))}


def _is_same(output: np.ndarray, given: Any) -> bool:
    """Whether an input is unchanged to the last bit, NaNs and signs of zeros included."""
    if not isinstance(given, np.ndarray) or (output.dtype, output.shape) != (given.dtype, given.shape):
        return False
    return np.array_equal(_bytes(output), _bytes(given))


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _whole(outputs: Mapping[str, np.ndarray], request: RunRequest) -> dict[str, np.ndarray]:
    """The outputs, together with the inputs that are unchanged."""
    inputs = {
        name: value for name, value in request.arguments.items()
        if isinstance(value, np.ndarray) and value.ndim and name not in request.scratch
    }  # fmt: skip
    return {name: outputs[name] if name in outputs else inputs[name] for name in dict.fromkeys([*inputs, *outputs])}


def _expect_as_asked(outputs: Mapping[str, np.ndarray], request: RunRequest) -> None:
    for name, output in outputs.items():
        asked = request.arguments.get(name)
        if not isinstance(output, np.ndarray):
            raise GraderFault(f"The grader's worker answered with a {type(output).__name__} for `{name}`.")
        if isinstance(asked, ARRAYS):
            same = output.dtype == np.dtype(asked.dtype) and output.shape == tuple(asked.shape)
        else:
            same = output.dtype.kind in NUMBERS
        if not same:
            raise GraderFault(f"The grader's worker answered with {output.dtype} {output.shape} for `{name}`.")


def _expect_masks(run: Run, request: RunRequest) -> None:
    """What was written and loaded of an argument: a truth value for each of its elements, or its sectors."""
    for name, mask in run.written.items():
        asked = request.arguments.get(name)
        shape = tuple(asked.shape) if isinstance(asked, ARRAYS) else None
        if mask.dtype != np.bool_ or mask.shape != shape:
            raise GraderFault(f"The grader's worker answered with {mask.dtype} {mask.shape} for what `{name}` got.")
    for name, flags in run.loaded.items():
        if flags.dtype != np.bool_ or flags.ndim != 1 or name not in request.arguments:
            raise GraderFault(f"The grader's worker answered with {flags.dtype} {flags.shape} for loads of `{name}`.")


def _ordinary_value(function: str, value: Any) -> Any:
    """What a function returned, as ordinary numbers; raises `KernelFault` for anything else."""
    if isinstance(value, tuple):
        return tuple(_ordinary_value(function, each) for each in value)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in NUMBERS:
            raise KernelFault(f"`{function}` returns {value.dtype!s:.60}.", remedy="Return numbers.")
        ordinary = value.astype(_ordinary(value.dtype))
        return ordinary if isinstance(value, np.ndarray) else ordinary.item()
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    raise KernelFault(f"`{function}` returns a {type(value).__name__}.", remedy="Return numbers.")


def _ordinary(dtype: np.dtype) -> np.dtype:
    """The same dtype in this machine's byte order. None is wider than Python's own numbers."""
    widest = {"f": 8, "c": 16}.get(dtype.kind, dtype.itemsize)
    return np.dtype(f"{dtype.kind}{min(dtype.itemsize, widest)}")

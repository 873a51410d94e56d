"""One request on the real GPU: its arguments placed, its function carried out, its outputs gathered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.cudagpu.handles import GpuArray
from autograder.cudagpu.memory import written_mask
from autograder.cudagpu.session import GpuSession, guard_hazards
from autograder.language.host import call
from autograder.language.program import Program, reachable
from autograder.language.validate import validate_kernel
from autograder.records.hazards import Hazard
from autograder.records.runs import RunRequest, Uninitialised, Zeros


def place_arguments(session: GpuSession, request: RunRequest) -> dict[str, Any]:
    """The request's arguments on the device: arrays copied or made, `Uninitialised` ones poisoned, scalars as they are."""
    handles: dict[str, Any] = {}
    for name, value in request.arguments.items():
        if isinstance(value, Uninitialised):
            make = session.lent_array if name in request.scratch else session.device_array
            handles[name] = make(value.shape, value.dtype, name)
        elif isinstance(value, Zeros):
            handles[name] = session.to_device(np.zeros(value.shape, value.dtype), name)
        elif isinstance(value, np.ndarray) and value.ndim:
            handles[name] = session.to_device(value, name)
        else:
            handles[name] = value
    return handles


def carry_out(session: GpuSession, program: Program, request: RunRequest, handles: Mapping[str, Any]) -> Any:
    """Launches the kernel, or interprets the host function; returns what that returns."""
    function = program.function(request.function)
    if function.kind == "kernel":
        for each in reachable(function):
            validate_kernel(each)
        session.launch(function, request.grid, request.block, tuple(handles.values()))
        return None
    return call(program, function, tuple(handles.values()), session, wants_returned=request.wants_returned)


def gather(
    session: GpuSession, request: RunRequest, handles: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], tuple[Hazard, ...]]:
    """Every array argument afterwards, what was written of the poisoned ones, and overwritten guard zones."""
    outputs, hazards = {}, []
    names = {id(handle.owner): name for name, handle in handles.items() if isinstance(handle, GpuArray)}
    kernels = list(dict.fromkeys(launch.kernel for launch, _, _ in session.launches))
    for array in session.arrays:
        if names.get(id(array)) in request.scratch:
            hazards += guard_hazards(array, *session.read_guards(array), kernels)
            continue
        data, before, after = session.read(array)
        hazards += guard_hazards(array, before, after, kernels)
        if id(array) in names:
            outputs[names[id(array)]] = data
    written = {
        name: written_mask(outputs[name], session.poison_variant)
        for name, value in request.arguments.items()
        if isinstance(value, Uninitialised) and name not in request.scratch
    }
    return {name: outputs[name] for name in handles if name in outputs}, written, tuple(hazards)

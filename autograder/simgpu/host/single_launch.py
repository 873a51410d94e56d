"""One launch of a kernel in a memory of its own, without the rest of a program: what it counts and finds."""

from __future__ import annotations

import types
from typing import Any

from autograder.errors import KernelFault
from autograder.language.live import as_constant, from_python
from autograder.language.program import Function
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.launch_record import LaunchRecord


def launch_once(kernel: Any, grid: Any, block: Any, *arguments: Any) -> LaunchRecord:
    """Launches a kernel with NumPy arrays and numbers, which are copied to the device and back; nothing is printed."""
    return Session(output=lambda line: None).launch(kernel_function(kernel), grid, block, arguments)


def kernel_function(kernel: Any) -> Function:
    """The `Function` behind a kernel: of the simulated module, of real Numba, or a plain Python function."""
    if isinstance(kernel, Function):
        return kernel
    if isinstance(kernel, types.FunctionType):
        return from_python(kernel, "kernel")
    found = as_constant(kernel)
    if isinstance(found, Function):
        if found.kind == "device" and not hasattr(kernel, "__autograder_function__"):  # a real dispatcher
            return from_python(kernel.py_func, "kernel")
        return found
    raise KernelFault(f"profile needs a kernel, not a {type(kernel).__name__}.", remedy="Pass a @cuda.jit function.")

"""Functions that LLVM code calls by name: special registers, NVIDIA's mathematical functions, and LLVM's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from autograder.simgpu.functions.known_functions import CALLS, VALUES
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.primitives import fused_multiply_add
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.wider.llvm_lanes import CannotBeCarriedOut, CodeWalk, Part

_AXES = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
_REGISTERS = {
    **{f"{register}.{axis}": f"numba.cuda.{name}.{axis}" for register, name in _AXES.items() for axis in "xyz"},
    "laneid": "numba.cuda.laneid", "warpsize": "numba.cuda.warpsize",
}  # fmt: skip
_CLOCKS = ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi")
_FENCES = {
    "llvm.nvvm.barrier0": "numba.cuda.syncthreads", "llvm.nvvm.membar.cta": "numba.cuda.threadfence_block",
    "llvm.nvvm.membar.gl": "numba.cuda.threadfence", "llvm.nvvm.membar.sys": "numba.cuda.threadfence_system",
    "llvm.nvvm.barrier.cta.sync.aligned.all": "numba.cuda.syncthreads",
}  # fmt: skip
_NOTHING = ("llvm.lifetime.", "llvm.dbg.", "llvm.assume", "llvm.invariant.")
_OF_LLVM: dict[str, Callable[..., Part]] = {
    **{name: getattr(np, name) for name in "fabs sqrt floor ceil trunc rint sin cos exp exp2 log log2 log10".split()},
    "pow": np.power, "powi": np.power, "copysign": np.copysign, "minnum": np.fmin, "maxnum": np.fmax, "nearbyint": np.rint,
    "fma": fused_multiply_add, "fmuladd": lambda a, b, c: a * b + c, "ctpop": lambda a: _bits(a, "1"),
    "smax": np.maximum, "smin": np.minimum, "abs": lambda a, _: np.abs(a),
}  # fmt: skip
_SPECIAL = frozenset("sqrt sin cos exp exp2 log log2 log10 pow powi".split())
_MOVE = re.compile(r"\s*mov\.[ub](32|64)\s+\$0\s*,\s*%+([\w.]+)\s*;?\s*")

StepInto = Callable[[list[Part], Mask], Part]


def _bits(value: Part, digit: str) -> Part:
    unsigned = value.view(f"u{value.dtype.itemsize}")
    return np.bitwise_count(unsigned).astype(value.dtype)


def caller(of_python: Mapping[str, StepInto]) -> Callable[[CodeWalk, str, list[Part], Mask], Part]:
    """What carries out calls; `of_python`: functions written in Python that the code was told to call, by name."""

    def call(walk: CodeWalk, name: str, arguments: list[Part], mask: Mask) -> Part:
        if name in of_python:
            return of_python[name](arguments, mask)
        if name.startswith(_NOTHING):
            return None
        made = Call(walk.machine, walk.op, mask)
        if name in _FENCES:
            return CALLS[_FENCES[name]].call(made, [], {})
        register = name.removeprefix("llvm.nvvm.read.ptx.sreg.")
        if register != name:
            return _register(made, register, 32)
        if moves := _MOVE.fullmatch(name):
            return _register(made, moves[2], int(moves[1]))
        if ";" in name or "%" in name:
            raise CannotBeCarriedOut(f"it has PTX written out (`{name.strip():.60}`)")
        path = f"numba.cuda.libdevice.{name.removeprefix('__nv_')}"
        if path in CALLS and name.startswith("__nv_"):
            return CALLS[path].call(made, arguments, {})
        own = name.split(".")[1] if name.startswith("llvm.") else ""
        if own in _OF_LLVM:
            dtype = arguments[0].dtype
            made.count_arithmetic(dtype, special=own in _SPECIAL)
            return _OF_LLVM[own](*arguments).astype(dtype)
        raise CannotBeCarriedOut(f"it calls `{name}`, which the simulated GPU does not know")

    return call


def _register(call: Call, name: str, bits: int) -> Part:
    """A special register of the thread."""
    if name in _CLOCKS:
        raise CannotBeCarriedOut(f"it reads the clock (`%{name}`), and the simulated GPU has none")
    if name not in _REGISTERS:
        raise CannotBeCarriedOut(f"it reads the register `%{name}`")
    call.count("integer_operations")
    value = VALUES[_REGISTERS[name]](call.batch)
    assert isinstance(value, (np.ndarray, np.generic))
    return value.astype(f"i{bits // 8}")

"""Python's conversions and builtins inside kernels: int, float, bool, complex, round, len, tuple, print."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.program import Reference
from autograder.simgpu import numba_types as nt
from autograder.simgpu.intrinsics import VALUES, intrinsic
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.numba_types import complex_of, to_dtype
from autograder.simgpu.slicing import lengths_of
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter


@intrinsic("builtins.convert")
def convert(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = interpreter.number(arguments[0], node)
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):  # those cost nothing
        interpreter.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
    return to_dtype(value, arguments[1].dtype)


@intrinsic("builtins.int")
def to_int(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = interpreter.number(arguments[0], node)
    if value.dtype.kind in "iu":
        return value
    interpreter.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
    return to_dtype(value, nt.INT64)


@intrinsic("builtins.float")
def to_float(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = interpreter.number(arguments[0], node)
    if value.dtype.kind == "f":
        return value
    interpreter.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
    return value.astype(nt.FLOAT64)


@intrinsic("builtins.bool")
def to_bool(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return interpreter.truth(arguments[0], node)


@intrinsic("builtins.complex")
def to_complex(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    parts = [interpreter.number(a, node) for a in arguments]
    real, imaginary = parts if len(parts) == 2 else (parts[0], np.float64(0))
    narrow = all(p.dtype == nt.FLOAT32 for p in parts)
    return complex_of(real, imaginary, nt.COMPLEX64 if narrow else nt.COMPLEX128)


@intrinsic("builtins.round", "numpy.round")
def rounded(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = interpreter.number(arguments[0], node)
    interpreter.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
    if len(arguments) == 2:
        digits = np.asarray(arguments[1])
        if digits.ndim:
            raise interpreter.fault(node, "The number of digits must be the same for every thread here.")
        scale = 10.0 ** int(digits)
        scaled = value.astype(np.float64) * scale
        cut = (np.rint(scaled) / scale).astype(value.dtype)
        return np.where(np.isfinite(scaled), cut, value)  # too large to have digits after the point
    return np.rint(value).astype(np.int64)


@intrinsic("builtins.len")
def length(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = arguments[0]
    if isinstance(value, View):
        return lengths_of(value)[0]
    if isinstance(value, tuple):
        return np.int64(len(value))
    raise interpreter.fault(node, "len() needs an array or a tuple.")


@intrinsic("builtins.tuple")
def to_tuple(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> tuple:
    return tuple(arguments[0]) if isinstance(arguments[0], tuple) else (arguments[0],)


def _printed(value: Any, lane: int, interpreter: Interpreter) -> str:
    """One argument of print() as one lane shows it."""
    if isinstance(value, tuple):
        shown = ", ".join(_printed(each, lane, interpreter) for each in value)
        return f"({shown},)" if len(value) == 1 else f"({shown})"
    if isinstance(value, Reference) and f"{value.path}.x" in VALUES:  # cuda.threadIdx as a whole
        return _printed(tuple(VALUES[f"{value.path}.{axis}"](interpreter) for axis in "xyz"), lane, interpreter)
    return str(value[lane] if isinstance(value, np.ndarray) else value)


@intrinsic("builtins.print")
def print_lanes(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    """print() inside a kernel: a line per active lane, in lane order, through the launch's output."""
    if interpreter.launch.is_silent:
        return
    for lane in mask.where:
        words = [_printed(a, lane, interpreter) for a in arguments]
        interpreter.launch.print_line(" ".join(words))

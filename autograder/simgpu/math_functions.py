"""Arithmetic inside kernels: `math`, what NumPy has under the same names, bits, min and max, fma; on whole lane vectors."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu import numba_types as nt
from autograder.simgpu.intrinsics import CALLS, CUDA, Handler, intrinsic
from autograder.simgpu.lanes import Mask
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

# -- functions of floats --------------------------------------------------------------------------------------------------

_FLOAT_FUNCTIONS = {
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "fabs": np.abs, "degrees": np.degrees, "radians": np.radians,
}  # fmt: skip
_NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
_CHEAP = {"fabs"}


def _as_float(value: Any) -> Any:
    return value if value.dtype.kind in "fc" else value.astype(nt.FLOAT64)


def _count_float(interpreter: Interpreter, node: ast.AST, mask: Mask, dtype: np.dtype, special: bool) -> None:
    row = interpreter.count_instruction(node, mask)
    size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    row[SLOT[{2: "float16_operations", 4: "float32_operations", 8: "float64_operations"}[size]]] += mask.active
    if special:
        row[SLOT["special_operations"]] += mask.active


def _one_argument(name: str, function: Callable) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        if len(arguments) != 1:
            raise interpreter.fault(node, f"math.{name} takes one argument.")
        value = _as_float(interpreter.number(arguments[0], node))
        _count_float(interpreter, node, mask, value.dtype, name not in _CHEAP)
        return function(value)

    return handler


for _name, _function in _FLOAT_FUNCTIONS.items():
    CALLS[f"math.{_name}"] = CALLS[f"numpy.{_NUMPY_NAMES.get(_name, _name)}"] = _one_argument(_name, _function)


def _scalar_math(name: str) -> Handler:
    """Functions that NumPy lacks, one lane at a time through Python's math module (rare in kernels)."""
    function = np.frompyfunc(lambda value: _quietly(getattr(math, name), value), 1, 1)

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        value = _as_float(interpreter.number(arguments[0], node))
        _count_float(interpreter, node, mask, value.dtype, True)
        return np.asarray(function(value.astype(np.float64))).astype(value.dtype)[()]

    return handler


def _quietly(function: Callable, value: float) -> float:
    try:
        return function(value)
    except (ValueError, OverflowError):
        return math.nan


for _name in ("erf", "erfc", "gamma", "lgamma"):
    CALLS[f"math.{_name}"] = _scalar_math(_name)


def _two_floats(name: str, function: Callable, special: bool = True) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        left, right = (_as_float(interpreter.number(a, node)) for a in arguments)
        dtype = nt.common(left.dtype, right.dtype)
        _count_float(interpreter, node, mask, dtype, special)
        return function(left.astype(dtype), right.astype(dtype))

    return handler


for _name, _function in {
    "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign, "pow": np.power,
    "remainder": lambda a, b: a - b * np.rint(a / b),
}.items():  # fmt: skip
    CALLS[f"math.{_name}"] = CALLS[f"numpy.{_name}"] = _two_floats(_name, _function, _name != "copysign")
CALLS["numpy.power"] = CALLS["math.pow"]
CALLS["numpy.arctan2"] = CALLS["math.atan2"]


@intrinsic("math.ldexp")
def ldexp(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    _count_float(interpreter, node, mask, arguments[0].dtype, False)
    return np.ldexp(arguments[0], np.asarray(arguments[1]).astype(np.int32))


def _to_integer(name: str, function: Callable) -> Handler:
    """floor, ceil and trunc give int64, as in Python."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        value = interpreter.number(arguments[0], node)
        interpreter.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
        if value.dtype.kind in "biu":
            return value
        return np.nan_to_num(function(value), nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64)

    return handler


for _name, _function in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    CALLS[f"math.{_name}"] = _to_integer(_name, _function)


def _rounding(function: Callable) -> Handler:
    """NumPy's floor, ceil and trunc keep the float type."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        value = _as_float(interpreter.number(arguments[0], node))
        _count_float(interpreter, node, mask, value.dtype, False)
        return function(value)

    return handler


for _name, _function in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}.items():
    CALLS[f"numpy.{_name}"] = _rounding(_function)


def _classify(function: Callable) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        interpreter.count_instruction(node, mask)
        return function(_as_float(interpreter.number(arguments[0], node)))

    return handler


for _name in ("isnan", "isinf", "isfinite"):
    CALLS[f"math.{_name}"] = CALLS[f"numpy.{_name}"] = _classify(getattr(np, _name))


@intrinsic("builtins.pow")
def power(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return interpreter.binary(node, ast.Pow(), arguments[0], arguments[1], mask)


@intrinsic("builtins.divmod")
def divide_with_remainder(
    interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict
) -> tuple:
    left, right = arguments
    quotient = interpreter.binary(node, ast.FloorDiv(), left, right, mask)
    return quotient, interpreter.binary(node, ast.Mod(), left, right, mask)


@intrinsic("builtins.abs", "numpy.abs", "numpy.absolute")
def absolute(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = interpreter.number(arguments[0], node)
    interpreter.count_arithmetic(interpreter.count_instruction(node, mask), node, ast.UnaryOp, value.dtype, mask)
    return np.abs(value)


def _extreme(function: Callable) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        if len(arguments) == 1 and isinstance(arguments[0], tuple):
            arguments = list(arguments[0])
        result = interpreter.number(arguments[0], node)
        for each in arguments[1:]:
            each = interpreter.number(each, node)
            dtype = nt.unify(result.dtype, each.dtype)
            interpreter.count_arithmetic(interpreter.count_instruction(node, mask), node, ast.UnaryOp, dtype, mask)
            result = function(result.astype(dtype), each.astype(dtype))
        return result

    return handler


CALLS["builtins.max"] = CALLS["numpy.maximum"] = _extreme(
    lambda a, b: np.where(b > a, b, a) if np.ndim(a) or np.ndim(b) else max(a, b)
)  # noqa: E501
CALLS["builtins.min"] = CALLS["numpy.minimum"] = _extreme(
    lambda a, b: np.where(b < a, b, a) if np.ndim(a) or np.ndim(b) else min(a, b)
)  # noqa: E501
CALLS["math.fmax"] = CALLS["numpy.fmax"] = _extreme(np.fmax)
CALLS["math.fmin"] = CALLS["numpy.fmin"] = _extreme(np.fmin)


# -- bits ---------------------------------------------------------------------------------------------------------


def _unsigned(value: Any) -> Any:
    return value.astype(np.uint32 if value.dtype.itemsize <= 4 else np.uint64)


def _bits(name: str, function: Callable) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        value = interpreter.number(arguments[0], node)
        interpreter.count_instruction(node, mask)[SLOT["integer_operations"]] += mask.active
        if value.dtype.kind not in "iub":
            raise interpreter.fault(node, f"cuda.{name} needs an integer, not {value.dtype}.")
        return function(_unsigned(value))

    return handler


def _reverse_bits(value: Any) -> Any:
    bits = value.dtype.itemsize * 8
    result = np.zeros_like(value)
    for place in range(bits):
        result |= ((value >> value.dtype.type(place)) & value.dtype.type(1)) << value.dtype.type(bits - 1 - place)
    return result


def _leading_zeros(value: Any) -> Any:
    bits = value.dtype.itemsize * 8
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < bits:
            value = value | (value >> value.dtype.type(shift))
    return (bits - np.bitwise_count(value).astype(np.int32)).astype(np.int32)


def _first_set(value: Any) -> Any:
    lowest = value & (~value + value.dtype.type(1))
    bits = value.dtype.itemsize * 8
    return np.where(value == 0, 0, bits - _leading_zeros(lowest)).astype(np.int32)


CALLS[f"{CUDA}.popc"] = _bits("popc", lambda v: np.bitwise_count(v).astype(np.int32))
CALLS[f"{CUDA}.brev"] = _bits("brev", _reverse_bits)
CALLS[f"{CUDA}.clz"] = _bits("clz", _leading_zeros)
CALLS[f"{CUDA}.ffs"] = _bits("ffs", _first_set)


@intrinsic(f"{CUDA}.fma")
def fused_multiply_add(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    """a * b + c rounded once (float32 by way of float64; float64 is rounded twice here)."""
    a, b, c = (_as_float(interpreter.number(v, node)) for v in arguments)
    dtype = nt.common(nt.common(a.dtype, b.dtype), c.dtype)
    _count_float(interpreter, node, mask, dtype, False)
    wide = np.float64 if dtype == nt.FLOAT32 else np.longdouble
    return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(dtype)


@intrinsic(f"{CUDA}.selp")
def select(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    condition, yes, no = arguments
    interpreter.count_instruction(node, mask)
    dtype = nt.unify(yes.dtype, no.dtype)
    chosen = np.where(interpreter.truth(condition, node), yes.astype(dtype), no.astype(dtype))
    return chosen if chosen.ndim else chosen[()]


@intrinsic(f"{CUDA}.cbrt")
def cube_root(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    value = _as_float(interpreter.number(arguments[0], node))
    _count_float(interpreter, node, mask, value.dtype, True)
    return np.cbrt(value)

"""The names a kernel may use from cuda, math, numpy and Python, and what each does to all lanes at once.

To add an intrinsic: write a function `(interpreter, node, mask, arguments, keywords) -> value` and decorate it with
`@intrinsic("numba.cuda.NAME")`. Arguments are lane vectors or scalars already; `mask` says which lanes take part.
`VALUES` are names that stand for a value (`cuda.threadIdx.x`, `math.pi`); `CALLS` are functions.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Reference
from autograder.simgpu import numba_types as nt
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.slicing import lengths_of
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

Handler = Callable[["Interpreter", ast.AST, Mask, list, dict], Any]
CALLS: dict[str, Handler] = {}
VALUES: dict[str, Callable[[Interpreter], Any]] = {}

CUDA = "numba.cuda"


_BUILTIN_TYPES = {"builtins.int": nt.INT64, "builtins.float": nt.FLOAT64, "builtins.bool": nt.BOOL}


def intrinsic(*paths: str) -> Callable[[Handler], Handler]:
    """Registers a function under one or more canonical dotted paths."""

    def register(handler: Handler) -> Handler:
        for path in paths:
            CALLS[path] = handler
        return handler

    return register


def on_lanes(interpreter: Interpreter, value: Any) -> np.ndarray:
    """A value as a lane vector, even where all lanes share it."""
    if isinstance(value, np.ndarray):
        return value
    return np.full(interpreter.batch.size, value)


# -- who am I -----------------------------------------------------------------------------------------------------

for _axis, _letter in enumerate("xyz"):
    VALUES[f"{CUDA}.threadIdx.{_letter}"] = lambda i, a=_axis: i.batch.thread_index(a)
    VALUES[f"{CUDA}.blockIdx.{_letter}"] = lambda i, a=_axis: i.batch.block_index(a)
    VALUES[f"{CUDA}.blockDim.{_letter}"] = lambda i, a=_axis: np.int32(i.batch.geometry.block[a])
    VALUES[f"{CUDA}.gridDim.{_letter}"] = lambda i, a=_axis: np.int32(i.batch.geometry.grid[a])
VALUES[f"{CUDA}.warpsize"] = lambda i: np.int32(32)
VALUES[f"{CUDA}.laneid"] = lambda i: (i.batch.thread_in_block() & 31).astype(np.int32)
for _module in ("math", "numpy"):
    for _name in ("pi", "e", "inf", "nan", "tau"):
        if hasattr(math, _name) and (_module == "math" or hasattr(np, _name)):
            VALUES[f"{_module}.{_name}"] = lambda i, v=_name: np.float64(getattr(math, v))


def _dimensions(node: ast.AST, interpreter: Interpreter, arguments: list) -> int:
    if len(arguments) != 1 or not isinstance(arguments[0], np.generic) or int(arguments[0]) not in (1, 2, 3):
        raise interpreter.fault(node, "cuda.grid and cuda.gridsize take the number of dimensions: 1, 2 or 3.")
    return int(arguments[0])


@intrinsic(f"{CUDA}.grid")
def grid(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    """The thread's absolute position: threadIdx + blockIdx * blockDim, for one to three axes."""
    axes = _dimensions(node, interpreter, arguments)
    interpreter.count_instruction(node, mask)[SLOT["integer_operations"]] += 2 * mask.active * axes
    batch = interpreter.batch
    position = []
    for axis in range(axes):
        block = batch.block_index(axis)
        position.append(batch.thread_index(axis) + block.astype(np.int64) * batch.geometry.block[axis])
    return position[0] if axes == 1 else tuple(position)


@intrinsic(f"{CUDA}.gridsize")
def gridsize(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    """The number of threads along one to three axes of the whole grid."""
    axes = _dimensions(node, interpreter, arguments)
    geometry = interpreter.batch.geometry
    sizes = tuple(np.int64(geometry.grid[axis] * geometry.block[axis]) for axis in range(axes))
    return sizes[0] if axes == 1 else sizes


# -- barriers -----------------------------------------------------------------------------------------------------


@intrinsic(f"{CUDA}.syncthreads")
def syncthreads(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    interpreter.barrier(mask, node)


def _vote_over_block(reduce: Callable) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        predicate = on_lanes(interpreter, interpreter.truth(arguments[0], node)) & mask.lanes
        shape = (len(interpreter.batch.blocks), interpreter.batch.geometry.padded)
        per_block = reduce(predicate.reshape(shape), mask.lanes.reshape(shape)).astype(np.int32)
        interpreter.barrier(mask, node)
        return np.repeat(per_block, shape[1])

    return handler


CALLS[f"{CUDA}.syncthreads_count"] = _vote_over_block(lambda p, m: p.sum(axis=1))
CALLS[f"{CUDA}.syncthreads_and"] = _vote_over_block(lambda p, m: (p | ~m).all(axis=1))
CALLS[f"{CUDA}.syncthreads_or"] = _vote_over_block(lambda p, m: p.any(axis=1))


@intrinsic(f"{CUDA}.syncwarp")
def syncwarp(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    interpreter.count_instruction(node, mask)
    interpreter.warp_barrier(mask, node)


@intrinsic(f"{CUDA}.threadfence", f"{CUDA}.threadfence_block", f"{CUDA}.threadfence_system", f"{CUDA}.nanosleep")
def fence(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    """Orders this thread's writes as others see them; it waits for nobody, so it ends no race by itself."""
    interpreter.count_instruction(node, mask)


@intrinsic(f"{CUDA}.cg.this_grid")
def this_grid(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Reference:
    return Reference(f"{CUDA}.cg.grid_group")


@intrinsic(f"{CUDA}.cg.grid_group.sync")
def grid_sync(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> np.int32:
    interpreter.grid_barrier(mask, node)
    return np.int32(0)


# -- arrays of a kernel -------------------------------------------------------------------------------------------


def _array_arguments(interpreter: Interpreter, node: ast.Call, arguments: list, keywords: dict) -> tuple[Any, np.dtype]:
    shape = arguments[0] if arguments else keywords.get("shape")
    dtype = arguments[1] if len(arguments) > 1 else keywords.get("dtype")
    constant_tuple = shape if isinstance(shape, tuple) else (shape,)
    shape_node = node.args[0] if node.args else next(k.value for k in node.keywords if k.arg == "shape")
    varying = _varying(interpreter.frame, shape_node)
    if varying or not all(isinstance(extent, np.integer) for extent in constant_tuple):
        what = f"`{varying}`" if varying else "this"
        raise interpreter.fault(
            node, f"The shape of a shared or local array must be a constant; {what} is not.",
            "Write a number, or a name that is defined outside the kernel and worked out there.",
        )  # fmt: skip
    if any(int(extent) < 0 for extent in constant_tuple):
        raise interpreter.fault(node, "The shape of an array cannot be negative.")
    if isinstance(dtype, TypeReference):
        return shape, dtype.dtype
    if isinstance(dtype, Reference) and dtype.path in _BUILTIN_TYPES:
        return shape, _BUILTIN_TYPES[dtype.path]
    raise interpreter.fault(node, "The dtype of a shared or local array must be a type such as numba.float32.")


_NOT_FOLDED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def _varying(frame: Any, shape: ast.AST) -> str:
    """What in a shape is no constant to the compiler: a parameter, a variable assigned anew, the launch, a sum of names.

    A device function is compiled into its caller, so its parameters are as constant as what it is given. Python works
    out `16 + 1` and Numba would have to work out `TILE + 1`, which it does not.
    """
    for node in ast.walk(shape):
        if isinstance(node, ast.BinOp) and any(isinstance(each, _NOT_FOLDED) for each in ast.walk(node)):
            return ast.unparse(node)
        if isinstance(node, ast.Attribute) and getattr(node.value, "attr", "") in ("blockDim", "gridDim"):
            return ast.unparse(node)
    function = frame.function
    for name in (n.id for n in ast.walk(shape) if isinstance(n, ast.Name) and n.id in frame.variables):
        if name in function.parameters:
            if frame.depth == 0:
                return name
            continue
        stores = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name and _is_store(n)]
        assigned = [n for n in ast.walk(function.node) if isinstance(n, ast.Assign) and stores[0] in n.targets]
        if len(stores) != 1 or not assigned or _varying(frame, assigned[0].value):
            return name
    return ""


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


@intrinsic(f"{CUDA}.shared.array")
def shared_array(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    """One array per block; shape 0 takes the launch's dynamic shared memory."""
    shape, dtype = _array_arguments(interpreter, node, arguments, keywords)
    if not isinstance(shape, tuple) and int(shape) == 0:
        dynamic = interpreter.launch.dynamic_shared_bytes
        return interpreter.new_array(node, "shared", np.int64(dynamic // dtype.itemsize), dtype, dynamic)
    return interpreter.new_array(node, "shared", shape, dtype)


@intrinsic(f"{CUDA}.local.array")
def local_array(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    """One array per thread."""
    shape, dtype = _array_arguments(interpreter, node, arguments, keywords)
    return interpreter.new_array(node, "local", shape, dtype)


@intrinsic(f"{CUDA}.const.array_like")
def constant_array(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    return arguments[0]


# -- atomics ------------------------------------------------------------------------------------------------------


def _atomic(operation: str) -> Handler:
    def handler(interpreter: Interpreter, node: ast.Call, mask: Mask, arguments: list, keywords: dict) -> Any:
        operands = arguments[2:]
        wanted = 2 if operation == "cas" else 1
        if len(arguments) < 2 or len(operands) != wanted or not isinstance(arguments[0], View):
            raise interpreter.fault(
                node, f"cuda.atomic.{operation} takes an array, an index and {wanted} value{'s' * (wanted > 1)}."
            )
        view, index = arguments[0], arguments[1]
        indices = tuple(
            interpreter.as_index(i, node.args[1]) for i in (index if isinstance(index, tuple) else (index,))
        )
        if len(indices) != view.ndim:
            raise interpreter.fault(
                node, f"`{view.name}` has {view.ndim} dimensions, but {len(indices)} indices are given."
            )
        want_old = not keywords.get("_discard")
        values = tuple(interpreter.number(value, node) for value in operands)
        return interpreter.memory.atomic(operation, view, indices, values, mask, node, want_old)

    return handler


for _operation in ("add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "inc", "dec", "exch", "cas"):
    CALLS[f"{CUDA}.atomic.{_operation}"] = _atomic(_operation)


@intrinsic(f"{CUDA}.atomic.compare_and_swap")
def compare_and_swap(interpreter: Interpreter, node: ast.Call, mask: Mask, arguments: list, keywords: dict) -> Any:
    """The older form: on element 0 of an array."""
    array, old, value = arguments
    return CALLS[f"{CUDA}.atomic.cas"](interpreter, node, mask, [array, np.int64(0), old, value], keywords)


# -- mathematics --------------------------------------------------------------------------------------------------

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


# -- conversions and builtins -------------------------------------------------------------------------------------


def to_dtype(value: Any, dtype: np.dtype) -> Any:
    """A value converted as the GPU converts it: floats are cut towards zero, integers wrap."""
    if dtype.kind in "iu" and value.dtype.kind == "f":
        whole = np.trunc(np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0))
        return np.clip(whole, -(2.0**63), 2.0**63 - 1024).astype(np.int64).astype(dtype)
    if dtype == nt.BOOL:
        return value != 0
    return value.astype(dtype)


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


def complex_of(real: Any, imaginary: Any, dtype: np.dtype) -> Any:
    """Complex numbers of two parts, put together without arithmetic (an infinity times 1j has no real part)."""
    made = np.empty(np.broadcast(real, imaginary).shape, dtype)
    made.real, made.imag = real, imaginary
    return made[()]


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


from autograder.simgpu import library_functions, vector_types, warp_intrinsics  # noqa: E402, F401  (they register)

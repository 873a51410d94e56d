"""The names a kernel may use from cuda, math, numpy and Python, and what each does to all lanes at once.

To add an intrinsic: write a function `(interpreter, node, mask, arguments, keywords) -> value` and decorate it with
`@intrinsic("numba.cuda.NAME")`. Arguments are lane vectors or scalars already; `mask` says which lanes take part.
`VALUES` are names that stand for a value (`cuda.threadIdx.x`, `math.pi`); `CALLS` are functions.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.numeric_types import TYPES, TypeReference
from autograder.language.program import Reference
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

Handler = Callable[["Interpreter", ast.AST, Mask, list, dict], Any]
CALLS: dict[str, Handler] = {}
VALUES: dict[str, Callable[[Interpreter], Any]] = {}

CUDA = "numba.cuda"


# Python's types, which the compiler does not take for the elements of an array: what to write instead.
_INSTEAD_OF_PYTHONS = {
    "builtins.float": "np.float32, or np.float64 for numbers of 8 bytes, which is what Python's float holds",
    "builtins.int": "np.int32, or np.int64 for numbers of 8 bytes",
    "builtins.bool": "np.bool_",
    "builtins.complex": "np.complex64",
}
_DTYPES = frozenset(TYPES.values())
# "float32", "f4", "<f4": as NumPy reads them, in the order of bytes that a GPU has.
_BY_NAME = {name: np.dtype(each) for name, each in np.sctypeDict.items() if np.dtype(each) in _DTYPES} | {
    code: each for each in _DTYPES for code in (each.char, each.str, each.str[1:])
}


def intrinsic(*paths: str) -> Callable[[Handler], Handler]:
    """Registers a function under one or more canonical dotted paths."""

    def register(handler: Handler) -> Handler:
        for path in paths:
            CALLS[path] = handler
        return handler

    return register


_MAKES_ARRAYS = {f"numpy.{name}" for name in ("array", "arange", "empty", "full", "ones", "zeros", "zeros_like")}


def advice_instead_of(path: str) -> str:
    """What to write where a kernel cannot use the library's name: an array of the device, or what the name looks like."""
    if path in _MAKES_ARRAYS:
        return "An array made in a kernel is cuda.shared.array(shape, dtype), or cuda.local.array for a thread's own."
    if near := difflib.get_close_matches(path, (*CALLS, *VALUES), n=1, cutoff=0.85):
        return f"Did you mean `{near[0].removeprefix('numba.')}`?"
    return ""


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


@intrinsic(f"{CUDA}.threadfence", f"{CUDA}.threadfence_system")
def fence(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    """Orders this thread's writes as others see them; it waits for nobody, so it ends no race by itself: see tickets.py."""
    interpreter.count_instruction(node, mask)
    interpreter.fence(mask)


@intrinsic(f"{CUDA}.threadfence_block")
def fence_of_block(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    """The same for the threads of the block."""
    interpreter.count_instruction(node, mask)
    interpreter.fence(mask, wide=False)


@intrinsic(f"{CUDA}.nanosleep")
def orders_nothing_here(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
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
    return shape, element_type(interpreter, node, dtype, "The dtype of a shared or local array")


def element_type(interpreter: Interpreter, node: ast.AST, dtype: Any, what: str) -> np.dtype:
    """The type of an array's elements that a kernel names, as the compiler takes it: no type of Python's."""
    if isinstance(dtype, TypeReference):
        return dtype.dtype
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    path = dtype.path if isinstance(dtype, Reference) else ""
    if path in _INSTEAD_OF_PYTHONS:
        of_python, instead = path.removeprefix("builtins."), _INSTEAD_OF_PYTHONS[path]
        raise interpreter.fault(
            node, f"{what} must be a type such as np.float32; Python's `{of_python}` is none to the GPU's compiler.",
            f"Write {instead}.",
        )  # fmt: skip
    raise interpreter.fault(node, f"{what} must be a type such as np.float32.")


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


_UNSIGNED = tuple(np.dtype(each) for each in ("uint32", "uint64"))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64), *_UNSIGNED)
_NUMBERS = (*_INTEGERS, np.dtype(np.float32), np.dtype(np.float64))
_NUMBA_HAS = dict.fromkeys(("and_", "or_", "xor", "exch", "cas"), _INTEGERS) | dict.fromkeys(("inc", "dec"), _UNSIGNED)


def _atomic(operation: str) -> Handler:
    types = _NUMBA_HAS.get(operation, _NUMBERS)  # of the array, as numba/cuda/cudadecl.py declares them

    def handler(interpreter: Interpreter, node: ast.Call, mask: Mask, arguments: list, keywords: dict) -> Any:
        operands = arguments[2:]
        wanted = 2 if operation == "cas" else 1
        if len(arguments) < 2 or len(operands) != wanted or not isinstance(arguments[0], View):
            raise interpreter.fault(
                node, f"cuda.atomic.{operation} takes an array, an index and {wanted} value{'s' * (wanted > 1)}."
            )
        view, index = arguments[0], arguments[1]
        if view.dtype not in types:
            raise interpreter.fault(
                node, f"Numba has no cuda.atomic.{operation} for an array of {view.dtype}, as `{view.name}` is.",
                f"Its arrays are of {', '.join(each.name for each in types)}.",
            )  # fmt: skip
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


from autograder.simgpu import conversions, math_functions  # noqa: E402, F401, I001  (they register their functions,
from autograder.simgpu import library_functions, vector_types, warp_intrinsics  # noqa: E402, F401  these build on them)

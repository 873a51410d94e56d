"""The functions and names of `cuda` that kernels use: who am I, barriers, arrays of a kernel, atomics.

calls.py says how to add one. `VALUES` are names that stand for a value (`cuda.threadIdx.x`, `math.pi`); `CALLS` are
functions. What registers functions is imported by known_functions.py: whoever needs them all imports that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from autograder.language.program import Reference
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Array, Counted, Cut, Dimensions, Index, Real, Shape, Type
from autograder.simgpu.operations.registry import VALUES, Handler
from autograder.simgpu.values.lanes import Batch
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Arithmetic, Indices, Value

CUDA = "numba.cuda"

# -- who am I -----------------------------------------------------------------------------------------------------

def _extent_of_block(batch: Batch, axis: int) -> np.int32:
    return np.int32(batch.geometry.block[axis])


def _extent_of_grid(batch: Batch, axis: int) -> np.int32:
    return np.int32(batch.geometry.grid[axis])


def _constant(batch: Batch, name: str) -> np.float64:
    """A constant of `math`."""
    return np.float64(getattr(math, name))


for _axis, _letter in enumerate("xyz"):
    VALUES[f"{CUDA}.threadIdx.{_letter}"] = partial(Batch.thread_index, axis=_axis)
    VALUES[f"{CUDA}.blockIdx.{_letter}"] = partial(Batch.block_index, axis=_axis)
    VALUES[f"{CUDA}.blockDim.{_letter}"] = partial(_extent_of_block, axis=_axis)
    VALUES[f"{CUDA}.gridDim.{_letter}"] = partial(_extent_of_grid, axis=_axis)
VALUES[f"{CUDA}.warpsize"] = lambda batch: np.int32(32)
VALUES[f"{CUDA}.laneid"] = lambda batch: (batch.thread_in_block() & 31).astype(np.int32)
for _module in ("math", "numpy"):
    for _name in ("pi", "e", "inf", "nan", "tau"):
        if hasattr(math, _name) and (_module == "math" or hasattr(np, _name)):
            VALUES[f"{_module}.{_name}"] = partial(_constant, name=_name)


def _axes(call: Call, ndim: np.integer) -> int:
    if int(ndim) not in (1, 2, 3):
        raise call.fault(f"{call.name} takes the number of dimensions: 1, 2 or 3.", f"{int(ndim)} is none of them.")
    return int(ndim)


@intrinsic(f"{CUDA}.grid")
def grid(call: Call, ndim: Dimensions) -> Value:
    """The thread's absolute position: threadIdx + blockIdx * blockDim, for one to three axes."""
    axes = _axes(call, ndim)
    call.count("integer_operations", each=2 * axes)
    batch = call.batch
    position = []
    for axis in range(axes):
        block = batch.block_index(axis)
        position.append(batch.thread_index(axis) + block.astype(np.int64) * batch.geometry.block[axis])
    return position[0] if axes == 1 else tuple(position)


@intrinsic(f"{CUDA}.gridsize")
def gridsize(call: Call, ndim: Dimensions) -> Value:
    """The number of threads along one to three axes of the whole grid."""
    geometry = call.batch.geometry
    sizes = tuple(np.int64(geometry.grid[axis] * geometry.block[axis]) for axis in range(_axes(call, ndim)))
    return sizes[0] if len(sizes) == 1 else sizes


# -- barriers -----------------------------------------------------------------------------------------------------


@intrinsic(f"{CUDA}.syncthreads")
def syncthreads(call: Call) -> None:
    """Waits for every thread of the block."""
    call.barrier()


def _vote_over_block(reduce: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Handler:
    def handler(call: Call, predicate: Counted) -> np.ndarray:
        answers = call.on_lanes(call.truth(predicate)) & call.mask.lanes
        shape = (len(call.batch.blocks), call.batch.geometry.padded)
        per_block = reduce(answers.reshape(shape), call.mask.lanes.reshape(shape)).astype(np.int32)
        call.barrier()
        return np.repeat(per_block, shape[1])

    return handler


intrinsic(f"{CUDA}.syncthreads_count")(_vote_over_block(lambda p, m: np.sum(p, axis=1)))
intrinsic(f"{CUDA}.syncthreads_and")(_vote_over_block(lambda p, m: np.asarray(np.all(p | ~m, axis=1))))
intrinsic(f"{CUDA}.syncthreads_or")(_vote_over_block(lambda p, m: np.asarray(np.any(p, axis=1))))


@intrinsic(f"{CUDA}.threadfence", f"{CUDA}.threadfence_system")
def fence(call: Call) -> None:
    """Orders this thread's writes as others see them; it waits for nobody, so it ends no race by itself: see tickets.py."""
    call.count()
    call.fence()


@intrinsic(f"{CUDA}.threadfence_block")
def fence_of_block(call: Call) -> None:
    """The same for the threads of the block."""
    call.count()
    call.fence(wide=False)


@intrinsic(f"{CUDA}.nanosleep")
def orders_nothing_here(call: Call, ns: Cut, /) -> None:
    """Waits a while, which takes no time here."""
    call.count()


@intrinsic(f"{CUDA}.cg.this_grid")
def this_grid(call: Call) -> Reference:
    """The group of all threads."""
    return Reference(f"{CUDA}.cg.grid_group")


@intrinsic(f"{CUDA}.cg.grid_group.sync")
def grid_sync(call: Call) -> np.int32:
    """Waits for every thread of the grid."""
    call.grid_barrier()
    return np.int32(0)


# -- arrays of a kernel -------------------------------------------------------------------------------------------


@intrinsic(f"{CUDA}.shared.array")
def shared_array(call: Call, shape: Shape, dtype: Type) -> View:
    """One array per block; shape 0 takes the launch's dynamic shared memory."""
    if not isinstance(shape, tuple) and int(shape) == 0:
        dynamic = call.dynamic_shared_bytes
        return call.new_array("shared", np.int64(dynamic // dtype.itemsize), dtype, dynamic)
    return call.new_array("shared", shape, dtype)


@intrinsic(f"{CUDA}.local.array")
def local_array(call: Call, shape: Shape, dtype: Type) -> View:
    """One array per thread."""
    return call.new_array("local", shape, dtype)


@intrinsic(f"{CUDA}.const.array_like")
def constant_array(call: Call, ndarray: Array) -> View:
    """An array of the program in constant memory."""
    return ndarray


# -- atomics ------------------------------------------------------------------------------------------------------


_UNSIGNED: tuple[np.dtype, ...] = tuple(np.dtype(each) for each in ("uint32", "uint64"))
_INTEGERS: tuple[np.dtype, ...] = (np.dtype(np.int32), np.dtype(np.int64), *_UNSIGNED)
_NUMBERS: tuple[np.dtype, ...] = (*_INTEGERS, np.dtype(np.float32), np.dtype(np.float64))
_NUMBA_HAS = dict.fromkeys(("and_", "or_", "xor", "exch", "cas"), _INTEGERS) | dict.fromkeys(("inc", "dec"), _UNSIGNED)


def indices_of(call: Call, view: View, idx: Index) -> Indices:
    """The indices of one element; of an array with one dimension Numba takes a number, and no tuple of one."""
    if view.ndim == 1 and isinstance(idx, tuple):
        raise call.fault(f"`{view.name}` has 1 dimension: its index is a number, and no tuple.", "Write i, not (i,).")
    indices = idx if isinstance(idx, tuple) else (idx,)
    if len(indices) != view.ndim:
        are = "1 index is" if len(indices) == 1 else f"{len(indices)} indices are"
        raise call.fault(f"`{view.name}` has {view.ndim} dimensions, but {are} given.")
    return indices


def _updated(call: Call, operation: str, view: View, idx: Index, values: tuple[Arithmetic, ...]) -> Value:
    """The atomic update of one element, where Numba has it for this array and this index."""
    types = _NUMBA_HAS.get(operation, _NUMBERS)  # of the array, as numba/cuda/cudadecl.py declares them
    if view.dtype not in types:
        raise call.fault(
            f"Numba has no {call.name} for an array of {view.dtype}, as `{view.name}` is.",
            f"Its arrays are of {', '.join(each.name for each in types)}.",
        )
    return call.atomic(operation, view, indices_of(call, view, idx), values)


def _atomic(operation: str) -> Handler:
    def handler(call: Call, ary: Array, idx: Index, val: Real, /) -> Value:
        return _updated(call, operation, ary, idx, (val,))

    return handler


for _operation in ("add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "inc", "dec", "exch"):
    intrinsic(f"{CUDA}.atomic.{_operation}")(_atomic(_operation))


@intrinsic(f"{CUDA}.atomic.cas")
def compare_and_swap_at(call: Call, ary: Array, idx: Index, old: Real, val: Real, /) -> Value:
    """Stores `val` where an element is `old`; what it was."""
    return _updated(call, "cas", ary, idx, (old, val))


@intrinsic(f"{CUDA}.atomic.compare_and_swap")
def compare_and_swap(call: Call, ary: Array, old: Real, val: Real, /) -> Value:
    """The older form: on element 0 of an array."""
    return _updated(call, "cas", ary, np.int64(0), (old, val))

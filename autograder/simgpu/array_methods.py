"""Methods of arrays inside kernels: other shapes of the same memory, and reductions that each thread does for itself."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu import numba_types as nt
from autograder.simgpu.indexing import METHODS
from autograder.simgpu.intrinsics import CALLS, element_type, intrinsic
from autograder.simgpu.iteration import Range
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View, contiguous_strides
from autograder.simgpu.numba_types import scalar

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter


@intrinsic("builtins.range")
def keep_range(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Range:
    """A range() that is not looped over at once."""
    return Range(tuple(arguments))


def _reshape(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    view, *extents = arguments
    interpreter.check_one_length(view, node)
    if len(extents) == 1 and isinstance(extents[0], tuple):
        extents = list(extents[0])
    if view.strides != contiguous_strides(view.shape):
        raise interpreter.fault(node, f"`{view.name}` is not contiguous, so it cannot be reshaped in a kernel.")
    try:
        shape = np.empty(view.shape, np.bool_).reshape([int(e) for e in extents]).shape
    except ValueError:
        shown = tuple(int(e) for e in extents)
        raise interpreter.fault(node, f"`{view.name}` of shape {view.shape} has no shape {shown}.") from None
    return replace(view, shape=shape, strides=contiguous_strides(shape), origin=None)


def _ravel(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    return _reshape(interpreter, node, mask, [arguments[0], np.int64(arguments[0].size)], {})


def _transpose(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    view = arguments[0]
    interpreter.check_one_length(view, node)
    return replace(view, shape=view.shape[::-1], strides=view.strides[::-1], origin=None)


def _reinterpret(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    """The same memory as elements of another dtype; the last dimension grows or shrinks."""
    view, wanted = arguments
    if isinstance(wanted, str):
        raise interpreter.fault(node, "`view` takes a type such as np.float32, and no string, in a kernel.")
    dtype = element_type(interpreter, node, wanted, "What `view` is given")
    old, new = view.dtype.itemsize, dtype.itemsize
    if old == new:
        strides, shape, offset = view.strides, view.shape, view.offset
    else:
        extent = view.shape[-1] * old
        if view.strides[-1] != 1 or extent % new:
            raise interpreter.fault(node, f"`{view.name}` cannot be seen as {dtype}: its rows do not divide evenly.")
        shape = (*view.shape[:-1], extent // new)
        strides = (*(s * old // new for s in view.strides[:-1]), 1)
        offset = view.offset * old // new
    buffer = view.buffer.seen_as(dtype)
    return replace(view, buffer=buffer, offset=offset, shape=shape, strides=strides, dtype=dtype, origin=None)


def _fold(name: str, combine: Callable, start: Any = None) -> Callable:
    """A reduction over all elements, by each thread on its own."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        view = arguments[0]
        if not view.size and start is None:
            raise interpreter.fault(node, f"`{view.name}` is empty, so it has no {name}.")
        result = None if start is None else start(view.dtype)
        for value in _elements(interpreter, view, mask, node):
            interpreter.count_instruction(node, mask)
            result = value if result is None else combine(result, value)
        return result

    return handler


def _elements(interpreter: Interpreter, view: View, mask: Mask, node: ast.AST) -> Any:
    interpreter.check_one_length(view, node)
    for index in itertools.product(*(range(extent) for extent in view.shape)):
        yield interpreter.memory.load(view, tuple(np.int64(i) for i in index), mask, node)


def _wide(dtype: np.dtype) -> np.dtype:
    """What Numba sums integers in: 64 bits."""
    return dtype if dtype.kind in "fc" else nt.UINT64 if dtype.kind == "u" else nt.INT64


_sum = _fold("sum", lambda a, b: (a + b).astype(a.dtype), lambda d: _wide(d).type(0))
_smaller = _fold("minimum", lambda a, b: np.where((b < a) | (b != b), b, a)[()])
_larger = _fold("maximum", lambda a, b: np.where((b > a) | (b != b), b, a)[()])


def _mean(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    view = arguments[0]
    total = _sum(interpreter, node, mask, [view], {})
    total = total if total.dtype.kind in "fc" else total.astype(nt.FLOAT64)
    return (total / total.dtype.type(view.size)).astype(total.dtype)


def _variance(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    view = arguments[0]
    mean = _mean(interpreter, node, mask, [view], {})
    total = scalar(0.0)
    for value in _elements(interpreter, view, mask, node):
        interpreter.count_instruction(node, mask)
        total = total + np.abs(value - mean) ** 2
    return total / np.float64(view.size)


def _deviation(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return np.sqrt(_variance(interpreter, node, mask, arguments, keywords))


def _without_nan(combine: Callable) -> Callable:
    """The same combination, in which a NaN changes nothing."""
    return lambda a, b: np.where(np.isnan(b), a, combine(a, np.where(np.isnan(b), a, b)))[()].astype(a.dtype)


def _mean_of_numbers(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    total, numbers = np.float64(0), np.float64(0)
    for value in _elements(interpreter, arguments[0], mask, node):
        interpreter.count_instruction(node, mask)
        is_number = ~np.isnan(value)
        total, numbers = total + np.where(is_number, value, 0), numbers + is_number
    return total / numbers


def _where_best(better: Callable) -> Callable:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        best, at = None, np.int64(0)
        for position, value in enumerate(_elements(interpreter, arguments[0], mask, node)):
            interpreter.count_instruction(node, mask)
            if best is None:
                best = value
                continue
            change = better(value, best)
            best, at = np.where(change, value, best)[()], np.where(change, np.int64(position), at)[()]
        return at

    return handler


def _copy(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> View:
    """A new array for each thread, which Numba only makes where its run-time system is switched on."""
    view = arguments[0]
    if not getattr(getattr(sys.modules.get("numba.cuda"), "config", None), "CUDA_ENABLE_NRT", False):
        raise interpreter.fault(
            node, f"`{view.name}.copy()` would need a new array, and Numba makes none in a kernel by default.",
            "Use cuda.local.array and a loop.",
        )  # fmt: skip
    made = interpreter.new_array(node, "local", tuple(np.int64(extent) for extent in view.shape), view.dtype)
    interpreter.store_into(made, (slice(None),) * view.ndim, view, mask, node)
    return made


METHODS.update(
    copy=_copy,
    reshape=_reshape, ravel=_ravel, transpose=_transpose, view=_reinterpret, sum=_sum, min=_smaller,
    max=_larger, mean=_mean, var=_variance, std=_deviation, argmin=_where_best(np.less), argmax=_where_best(np.greater),
    prod=_fold("product", lambda a, b: (a * b).astype(a.dtype), lambda d: _wide(d).type(1)),
    all=_fold("all", lambda a, b: a & (b != 0), lambda d: np.bool_(True)),
    count_nonzero=_fold("count", lambda a, b: a + (b != 0), lambda d: np.int64(0)),
    nansum=_fold("sum", _without_nan(np.add), lambda d: _wide(d).type(0)), nanmean=_mean_of_numbers,
    nanprod=_fold("product", _without_nan(np.multiply), lambda d: _wide(d).type(1)),
    nanmin=_fold("minimum", np.fmin), nanmax=_fold("maximum", np.fmax),
    any=_fold("any", lambda a, b: a | (b != 0), lambda d: np.bool_(False)),
    item=lambda interpreter, node, mask, arguments, keywords: next(_elements(interpreter, arguments[0], mask, node)),
    bit_count=lambda interpreter, node, mask, arguments, keywords: CALLS["numba.cuda.popc"](
        interpreter, node, mask, arguments, keywords
    ),
    conjugate=lambda interpreter, node, mask, arguments, keywords: np.conjugate(arguments[0]),
)  # fmt: skip
for _name in (
    "sum prod min max mean var std all any argmin argmax ravel transpose "
    "count_nonzero nansum nanprod nanmin nanmax nanmean"
).split():
    CALLS.setdefault(f"numpy.{_name}", METHODS[_name])
CALLS["numpy.amin"], CALLS["numpy.amax"] = METHODS["min"], METHODS["max"]


@intrinsic("numba.literal_unroll", "numba.cuda.literal_unroll")
def literal_unroll(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> tuple:
    """A tuple of different kinds of things can be looped over here as it is."""
    return arguments[0]

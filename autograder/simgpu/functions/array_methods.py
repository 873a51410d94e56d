"""Methods of arrays inside kernels: other shapes of the same memory, and reductions that each thread does for itself."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from autograder.simgpu.functions.math_functions import count_ones
from autograder.simgpu.operations.calls import Call, H, intrinsic
from autograder.simgpu.operations.kinds import Array, Integer, NamedType, Number, Value
from autograder.simgpu.operations.registry import METHODS, Handler, Intrinsic
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View, contiguous_strides
from autograder.simgpu.values.values import Arithmetic


def method(name: str, also: str = "") -> Callable[[H], H]:
    """Registers a method of arrays (or numbers), and maybe the function of the same name that takes the array first."""

    def register(handler: H) -> H:
        METHODS[name] = Intrinsic(f".{name}", handler)
        return intrinsic(*also.split())(handler)

    return register


# -- other shapes of the same memory ------------------------------------------------------------------------------


@method("reshape")
def reshape(call: Call, a: Array, /, *shape: Value) -> View:
    """The same elements in another shape."""
    call.check_one_length(a)
    extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    numbers = [call.number(each) for each in extents]
    if not numbers or any(each.dtype.kind not in "iu" or np.ndim(each) for each in numbers):
        raise call.fault("`reshape` takes integers that are the same for all threads, or a tuple of them.")
    return _in_shape(call, a, tuple(int(each) for each in numbers))


def _in_shape(call: Call, view: View, extents: tuple[int, ...]) -> View:
    if view.strides != contiguous_strides(view.shape):
        raise call.fault(f"`{view.name}` is not contiguous, so it cannot be reshaped in a kernel.")
    try:
        shape = np.empty(view.shape, np.bool_).reshape(extents).shape
    except ValueError:
        raise call.fault(f"`{view.name}` of shape {view.shape} has no shape {extents}.") from None
    return replace(view, shape=shape, strides=contiguous_strides(shape), origin=None)


@method("ravel", also="numpy.ravel")
def ravel(call: Call, a: Array, /) -> View:
    """The same elements in one dimension."""
    call.check_one_length(a)
    return _in_shape(call, a, (a.size,))


@method("transpose", also="numpy.transpose")
def transpose(call: Call, a: Array, /) -> View:
    """The same elements with the axes in the opposite order."""
    call.check_one_length(a)
    return replace(a, shape=a.shape[::-1], strides=a.strides[::-1], origin=None)


@method("view")
def reinterpret(call: Call, a: Array, dtype: NamedType, /) -> View:
    """The same memory as elements of another dtype; the last dimension grows or shrinks."""
    call.check_one_length(a)
    old, new = a.dtype.itemsize, dtype.itemsize
    if old == new:
        strides, shape, offset = a.strides, a.shape, a.offset
    else:
        extent = a.shape[-1] * old
        if a.strides[-1] != 1 or extent % new:
            raise call.fault(f"`{a.name}` cannot be seen as {dtype}: its rows do not divide evenly.")
        shape = (*a.shape[:-1], extent // new)
        strides = (*(s * old // new for s in a.strides[:-1]), 1)
        offset = a.offset * old // new
    buffer = a.buffer.seen_as(dtype)
    return replace(a, buffer=buffer, offset=offset, shape=shape, strides=strides, dtype=dtype, origin=None)


@method("copy")
def copy(call: Call, a: Array, /) -> View:
    """A new array for each thread, which Numba only makes where its run-time system is switched on."""
    if not getattr(getattr(sys.modules.get("numba.cuda"), "config", None), "CUDA_ENABLE_NRT", False):
        raise call.fault(
            f"`{a.name}.copy()` would need a new array, and Numba makes none in a kernel by default.",
            "Use cuda.local.array and a loop.",
        )
    call.check_one_length(a)
    made = call.new_array("local", tuple(np.int64(extent) for extent in a.shape), a.dtype)
    call.store_into(made, (slice(None),) * a.ndim, a)
    return made


# -- reductions ---------------------------------------------------------------------------------------------------


def _elements(call: Call, view: View) -> Iterator[Arithmetic]:
    call.check_one_length(view)
    if view.dtype.fields and view.field is None:
        raise call.fault(f"`{view.name}` is an array of records, which are no numbers.", "Name one of its fields.")
    for index in itertools.product(*(range(extent) for extent in view.shape)):
        yield call.load(view, tuple(np.int64(i) for i in index))


def _check_not_empty(call: Call, view: View, what: str) -> None:
    if not view.size:
        raise call.fault(f"`{view.name}` is empty, so it has no {what}.")


def _fold(what: str, combine: Callable[..., Arithmetic], start: Callable[[np.dtype], Arithmetic] | None = None) -> Handler:
    """A reduction over all elements, by each thread on its own."""

    def handler(call: Call, a: Array, /) -> Arithmetic:
        if start is None:
            _check_not_empty(call, a, what)
        result: Arithmetic | None = None if start is None else start(a.dtype)
        for value in _elements(call, a):
            call.count()
            result = value if result is None else combine(result, value)
        assert result is not None
        return result

    return handler


def _wide(dtype: np.dtype) -> np.dtype:
    """What Numba sums integers in: 64 bits."""
    return dtype if dtype.kind in "fc" else nt.UINT64 if dtype.kind == "u" else nt.INT64


def _without_nan(combine: Callable[..., Arithmetic]) -> Callable[..., Arithmetic]:
    """The same combination, in which a NaN changes nothing."""
    return lambda a, b: np.where(np.isnan(b), a, combine(a, np.where(np.isnan(b), a, b)))[()].astype(a.dtype)


def _either(choose: Arithmetic, one: Arithmetic, other: Arithmetic) -> Arithmetic:
    """`one` where chosen: a lane vector, or a scalar where all three are."""
    return np.asarray(np.where(choose, one, other))[()]


_sum = _fold("sum", lambda a, b: (a + b).astype(a.dtype), lambda d: _wide(d).type(0))
_SMALLER = _fold("minimum", lambda a, b: _either((b < a) | (b != b), b, a))
_LARGER = _fold("maximum", lambda a, b: _either((b > a) | (b != b), b, a))
for _name, _handler in {
    "sum": _sum, "min": _SMALLER, "max": _LARGER,
    "prod": _fold("product", lambda a, b: (a * b).astype(a.dtype), lambda d: _wide(d).type(1)),
    "all": _fold("all", lambda a, b: a & (b != 0), lambda d: np.bool_(True)),
    "any": _fold("any", lambda a, b: a | (b != 0), lambda d: np.bool_(False)),
    "count_nonzero": _fold("count", lambda a, b: a + (b != 0), lambda d: np.int64(0)),
    "nansum": _fold("sum", _without_nan(np.add), lambda d: _wide(d).type(0)),
    "nanprod": _fold("product", _without_nan(np.multiply), lambda d: _wide(d).type(1)),
    "nanmin": _fold("minimum", np.fmin), "nanmax": _fold("maximum", np.fmax),
}.items():  # fmt: skip
    method(_name, also=f"numpy.{_name}")(_handler)
intrinsic("numpy.amin")(_SMALLER)
intrinsic("numpy.amax")(_LARGER)


@method("mean", also="numpy.mean")
def mean(call: Call, a: Array, /) -> Arithmetic:
    """The mean of all elements."""
    _check_not_empty(call, a, "mean")
    total = call.number(_sum(call, a))
    total = total if total.dtype.kind in "fc" else total.astype(nt.FLOAT64)
    return (total / total.dtype.type(a.size)).astype(total.dtype)


@method("var", also="numpy.var")
def variance(call: Call, a: Array, /) -> Arithmetic:
    """The mean of the squared distances from the mean."""
    middle = mean(call, a)
    total: Arithmetic = np.float64(0)
    for value in _elements(call, a):
        call.count()
        total = total + np.abs(np.subtract(value, middle)) ** 2
    return total / np.float64(a.size)


@method("std", also="numpy.std")
def deviation(call: Call, a: Array, /) -> Arithmetic:
    """The root of the variance."""
    root: Arithmetic = np.sqrt(variance(call, a))
    return root


@method("nanmean", also="numpy.nanmean")
def mean_of_numbers(call: Call, a: Array, /) -> Arithmetic:
    """The mean of the elements that are no NaN."""
    total: Arithmetic = np.float64(0)
    numbers: Arithmetic = np.float64(0)
    for value in _elements(call, a):
        call.count()
        is_number = ~np.isnan(value)
        total, numbers = total + np.where(is_number, value, 0), numbers + is_number
    return total / numbers


def _where_best(better: np.ufunc) -> Handler:
    def handler(call: Call, a: Array, /) -> Arithmetic:
        _check_not_empty(call, a, "element that is first")
        best: Arithmetic | None = None
        at: Arithmetic = np.int64(0)
        for position, value in enumerate(_elements(call, a)):
            call.count()
            if best is None:
                best = value
                continue
            change = better(value, best)
            best, at = _either(change, value, best), _either(change, np.int64(position), at)
        return at

    return handler


method("argmin", also="numpy.argmin")(_where_best(np.less))
method("argmax", also="numpy.argmax")(_where_best(np.greater))


# -- of one number ------------------------------------------------------------------------------------------------


@method("item")
def item(call: Call, a: Array, /) -> Arithmetic:
    """The one element of an array."""
    _check_not_empty(call, a, "item")
    return next(_elements(call, a))


@method("bit_count")
def bit_count(call: Call, x: Integer, /) -> Value:
    """How many bits of a number are set."""
    return count_ones(call, x)


@method("conjugate")
def conjugate(call: Call, x: Number, /) -> Arithmetic:
    """The complex conjugate."""
    return np.conjugate(x)


@intrinsic("numba.literal_unroll", "numba.cuda.literal_unroll")
def literal_unroll(call: Call, container: Value, /) -> Value:
    """A tuple of different kinds of things can be looped over here as it is."""
    return container

"""NumPy's universal functions and Python's operators by name, inside kernels.

Each table maps a name to what it does to whole lane vectors; the loop below it registers the names as intrinsics.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np

from autograder.simgpu.functions.math_functions import as_float, extreme_of, larger, smaller
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import ArgumentPlace, Array, Elements, Integer, Items, Kind, Number, Value
from autograder.simgpu.operations.registry import CALLS, Handler, Intrinsic, spoken
from autograder.simgpu.operations.signatures import Parameter, Signature
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.records import Record
from autograder.simgpu.values.values import Arithmetic

# -- NumPy's universal functions ----------------------------------------------------------------------------------

Compute = Callable[[Call, Sequence[Arithmetic]], Arithmetic]  # numbers of one position each -> the result there


def _in_numpys_types(function: np.ufunc) -> Compute:
    """NumPy's types, which is how Numba types most of them too."""

    def compute(call: Call, values: Sequence[Arithmetic]) -> Arithmetic:
        result: Arithmetic = function(*values)
        call.count_arithmetic(result.dtype if result.dtype != nt.BOOL else values[0].dtype)
        return result

    return compute


def _of_float(function: np.ufunc, special: bool) -> Compute:
    """Computed in floats: float64 for integers."""

    def compute(call: Call, values: Sequence[Arithmetic]) -> Arithmetic:
        value = as_float(values[0])
        result: Arithmetic = function(value)
        call.count_arithmetic(value.dtype, special)
        return result

    return compute


def _of_two_floats(function: np.ufunc, special: bool) -> Compute:
    def compute(call: Call, values: Sequence[Arithmetic]) -> Arithmetic:
        left, right = map(as_float, values)
        dtype = nt.common(left.dtype, right.dtype)
        result: Arithmetic = function(left.astype(dtype), right.astype(dtype))
        call.count_arithmetic(dtype, special)
        return result

    return compute


def _asking(function: np.ufunc) -> Compute:
    def compute(call: Call, values: Sequence[Arithmetic]) -> Arithmetic:
        call.count()
        answer: Arithmetic = function(as_float(values[0]))
        return answer

    return compute


def _extreme(function: Callable[..., Arithmetic]) -> Compute:
    return lambda call, values: extreme_of(call, function, values)


_SPECIAL = "log log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians"
_UNIVERSAL = """divide true_divide deg2rad rad2deg conjugate
logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
invert left_shift right_shift equal not_equal less less_equal greater greater_equal isnat"""
# What numba-cuda (0.30.4, ufuncs.py) has for no kernel, and what to write instead.
REFUSED = {
    **{name: f"math.{name}(...)" for name in "sqrt exp exp2 expm1 log1p fabs floor ceil trunc fmod".split()},
    **{name: f"math.{name}(...)" for name in "isinf isfinite copysign ldexp nextafter".split()},
    "add": "x + y", "subtract": "x - y", "multiply": "x * y", "floor_divide": "x // y", "remainder": "x % y", "mod": "x % y",
    "negative": "-x", "positive": "x", "sign": "(x > 0) - (x < 0)", "square": "x * x", "reciprocal": "1 / x",
    "power": "x ** y", "pow": "x ** y", "abs": "abs(x)", "absolute": "abs(x)", "cbrt": "cuda.cbrt(x)", "rint": "round(x)",
    "round": "round(x)",
    "logaddexp": "math.log(math.exp(x) + math.exp(y))", "logaddexp2": "math.log2(2.0 ** x + 2.0 ** y)",
    "signbit": "math.copysign(1.0, x) < 0", "gcd": "a loop of y, x = x % y, y", "lcm": "x // gcd * y, with a loop for gcd",
}  # fmt: skip
_COMPUTE: dict[str, Compute] = {
    **{name: _in_numpys_types(getattr(np, name)) for name in _UNIVERSAL.split()},
    **{name: _of_float(getattr(np, name), special=True) for name in _SPECIAL.split()},
    **{name: _of_two_floats(getattr(np, name), special=True) for name in ("arctan2", "atan2", "hypot")},
    "isnan": _asking(np.isnan),
    "maximum": _extreme(larger), "minimum": _extreme(smaller), "fmax": _extreme(np.fmax), "fmin": _extreme(np.fmin),
}  # fmt: skip


def _universal(function: np.ufunc, compute: Compute) -> Handler:
    """A ufunc of numbers; of arrays too, where each thread goes through all elements, as on the device."""

    def handler(call: Call, *given: Arithmetic | View | None) -> Arithmetic | View:
        *values, out = given
        numbers = [each for each in values if each is not None and not isinstance(each, View)]
        if out is None and len(numbers) == len(values):
            return on_elements(call, numbers)
        if not isinstance(out, View):
            raise call.fault(
                f"{call.name} of a whole array needs an array for its result here.", f"Write {call.name}(x, out)."
            )
        call.check_one_length(out)
        for index in itertools.product(*(range(extent) for extent in out.shape)):
            where = tuple(np.int64(i) for i in index)
            elements = [_element(call, each, where) for each in values if each is not None]
            call.store(out, where, on_elements(call, elements))
        return out

    def on_elements(call: Call, values: Sequence[Arithmetic]) -> Arithmetic:
        try:
            return compute(call, values)
        except TypeError:  # NumPy's, whose ufuncs know their types
            types = " and ".join(str(each.dtype) for each in values)
            raise call.fault(f"{call.name} does not take {types}.") from None

    return handler


def _element(call: Call, value: Arithmetic | View, where: tuple[np.int64, ...]) -> Arithmetic:
    """The element of an array that broadcasts to position `where`; a number is itself."""
    if not isinstance(value, View):
        return value
    own = where[len(where) - value.ndim :]
    if len(where) < value.ndim or any(n not in (1, i + 1) and i >= n for i, n in zip(own, value.shape, strict=True)):
        raise call.fault(f"`{value.name}` of shape {value.shape} does not fit the shape of the result.")
    index = tuple(np.int64(0) if extent == 1 else i for i, extent in zip(own, value.shape, strict=True))
    return call.load(value, index)


def _kind(annotation: object) -> Kind:
    return next(each for each in get_args(annotation) if isinstance(each, Kind))


def _register_universal(name: str) -> None:
    function, path = getattr(np, name), f"numpy.{name}"
    names = ("x",) if function.nin == 1 else tuple(f"x{i}" for i in range(1, function.nin + 1))
    parameters = [Parameter(each, _kind(Elements)) for each in names]
    parameters.append(Parameter("out", _kind(Array), default=None))
    CALLS[path] = Intrinsic(path, _universal(function, _COMPUTE[name]), Signature(spoken(path), parameters))


for _name in _COMPUTE:
    _register_universal(_name)


def _refused(instead: str) -> Handler:
    def handler(call: Call, *given: Value) -> Value:
        raise call.fault(f"Numba has no {call.name} in a kernel.", f"Write {instead}.")

    return handler


for _name, _instead in REFUSED.items():
    intrinsic(f"numpy.{_name}")(_refused(_instead))

# -- operator.add and friends -------------------------------------------------------------------------------------

_BINARY = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
    "pow": ast.Pow, "and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor, "lshift": ast.LShift,
    "rshift": ast.RShift,
}  # fmt: skip
_COMPARING = {"lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq}


_COMPLEX = (nt.COMPLEX64, nt.COMPLEX128)


def _binary_operator(op: type[ast.operator]) -> Handler:
    def handler(call: Call, a: Value, b: Value, /) -> Value:
        return call.binary(op(), a, b)

    return handler


def _comparison(op: type[ast.cmpop]) -> Handler:
    def handler(call: Call, a: Value, b: Value, /) -> Value:
        if op not in (ast.Eq, ast.NotEq) and any(getattr(each, "dtype", None) in _COMPLEX for each in (a, b)):
            raise call.fault(f"{call.name} does not take complex numbers, which have no order.")
        return call.compare(op(), a, b)

    return handler


for _name, _op in _BINARY.items():
    intrinsic(f"operator.{_name}", f"operator.i{_name.rstrip('_')}")(_binary_operator(_op))
for _name, _comparing in _COMPARING.items():
    intrinsic(f"operator.{_name}")(_comparison(_comparing))


def _widened(value: Arithmetic) -> Arithmetic:
    """An integer as Numba widens the result of `-`, `+` and `~`."""
    if value.dtype.kind not in "biu":
        return value
    return value.astype(nt.UINT64 if value.dtype.kind == "u" else nt.INT64)


def _unary_operator(function: np.ufunc) -> Handler:
    def handler(call: Call, a: Number, /) -> Arithmetic:
        call.count_arithmetic(a.dtype)
        return _widened(function(a.astype(nt.INT64) if a.dtype == nt.BOOL else a))

    return handler


intrinsic("operator.neg")(_unary_operator(np.negative))
intrinsic("operator.pos")(_unary_operator(np.positive))


@intrinsic("operator.invert")
def invert(call: Call, a: Integer, /) -> Arithmetic:
    """~a."""
    call.count_arithmetic(a.dtype)
    return _widened(np.invert(a.astype(nt.INT64) if a.dtype == nt.BOOL else a))


@intrinsic("operator.not_")
def logical_not(call: Call, a: Value, /) -> Arithmetic:
    """not a."""
    call.count()
    return np.bool_(not a) if isinstance(a, (str, bytes)) else np.logical_not(call.truth(call.number(a)))


@intrinsic("operator.getitem")
def getitem(call: Call, a: Items, b: Value, /) -> Value:
    """a[b], of an array or a tuple."""
    indices = tuple(call.number(each) for each in (b if isinstance(b, tuple) else (b,)))
    if any(each.dtype.kind not in "biu" for each in indices):
        raise call.fault(f"{call.name} needs integers to index with.", "Use // instead of /, or int().")
    if isinstance(a, tuple):
        return _item(call, a, indices)
    if not isinstance(a, View):
        raise call.fault(f"{call.name} takes an array or a tuple.")
    if len(indices) > a.ndim:
        raise call.fault(f"`{a.name}` has {a.ndim} dimensions, but {len(indices)} indices are given.")
    if len(indices) < a.ndim:
        return call.part(a, indices)
    return Record(a, indices) if a.dtype.fields and a.field is None else call.load(a, indices)


def _item(call: Call, items: tuple[Value, ...], indices: tuple[Arithmetic, ...]) -> Value:
    types: set[object] = {getattr(each, "dtype", type(each)) for each in items}
    if len(types) > 1 and call.varying(ArgumentPlace("b", 1)):
        raise call.fault("The items of this tuple are of several types: which one is meant must be a constant.")
    if len(indices) != 1 or isinstance(indices[0], np.ndarray):
        raise call.fault("An item of a tuple is chosen by one number that all threads share here.", "Write t[i].")
    if not -len(items) <= int(indices[0]) < len(items):
        raise call.fault(f"This tuple has {len(items)} items; there is no item {indices[0]}.")
    return items[int(indices[0])]

"""Arithmetic inside kernels: `math`, what NumPy has under the same names, bits, min and max, fma; on whole lane vectors."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.functions.intrinsics import CUDA
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Counted, Cut, Integer, Number, Real, Value
from autograder.simgpu.operations.registry import COUNT_BY_VALUE, OF_FLOATS, Handler
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.values import Arithmetic, Whole

# -- functions of floats --------------------------------------------------------------------------------------------------

_FLOAT_FUNCTIONS = {
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "fabs": np.abs, "degrees": np.degrees, "radians": np.radians,
}  # fmt: skip
_CHEAP = {"fabs"}


def as_float(value: Arithmetic) -> Arithmetic:
    """A number as a float, float64 where it is none yet."""
    return value if value.dtype.kind in "fc" else value.astype(nt.FLOAT64)


def _one_argument(function: np.ufunc, special: bool) -> Handler:
    def handler(call: Call, x: Real, /) -> Arithmetic:
        value = as_float(x)
        call.count_arithmetic(value.dtype, special)
        result: Arithmetic = function(value)
        return result

    OF_FLOATS[handler] = function
    return handler


def _by_a_table(function: np.ufunc, quarters: int) -> Handler:
    """sin or cos: of float64 the coefficients of a polynomial come from a table, those of a sine or those of a cosine.

    `quarters`: by how many quarters of a turn it is ahead of the sine. Seen in machine code (numba-cuda 0.30.4, compute
    capability 9.0): three loads of 16 bytes.
    """

    def handler(call: Call, x: Real, /) -> Arithmetic:
        value = as_float(x)
        call.count_arithmetic(value.dtype, special=True)
        if value.dtype == nt.FLOAT64:
            turned = np.rint(np.nan_to_num(value, nan=0.0, posinf=0.0, neginf=0.0) * (2 / np.pi)) + quarters
            call.count_table(np.mod(turned, 2) == 1, TABLE_LOADS)
        result: Arithmetic = function(value)
        return result

    COUNT_BY_VALUE.add(handler)
    OF_FLOATS[handler] = function
    return handler


_BY_A_TABLE = {"sin": 0, "cos": 1}  # and by how many quarters of a turn they are ahead of the sine
TABLE_LOADS = 3
for _name, _function in _FLOAT_FUNCTIONS.items():
    if _name in _BY_A_TABLE:
        intrinsic(f"math.{_name}")(_by_a_table(_function, _BY_A_TABLE[_name]))
    else:
        intrinsic(f"math.{_name}")(_one_argument(_function, _name not in _CHEAP))


def _scalar_math(name: str) -> Handler:
    """Functions that NumPy lacks, one lane at a time through Python's math module (rare in kernels)."""
    function = np.frompyfunc(lambda value: _quietly(getattr(math, name), value), 1, 1)

    def handler(call: Call, x: Real, /) -> Arithmetic:
        value = as_float(x)
        call.count_arithmetic(value.dtype, special=True)
        return np.asarray(function(value.astype(np.float64))).astype(value.dtype)[()]

    return handler


def _quietly(function: Callable[[float], float], value: float) -> float:
    try:
        return function(value)
    except (ValueError, OverflowError):
        return math.nan


for _name in ("erf", "erfc", "gamma", "lgamma"):
    intrinsic(f"math.{_name}")(_scalar_math(_name))


def two_floats(function: Callable[..., Arithmetic], special: bool = True) -> Handler:
    """A function of two floats, in the type that they have in common."""

    def handler(call: Call, x: Real, y: Real, /) -> Arithmetic:
        left, right = as_float(x), as_float(y)
        dtype = nt.common(left.dtype, right.dtype)
        call.count_arithmetic(dtype, special)
        if left.dtype != dtype or right.dtype != dtype:
            left, right = left.astype(dtype), right.astype(dtype)
        return function(left, right)

    if isinstance(function, np.ufunc):
        OF_FLOATS[handler] = function
    return handler


_OF_TWO: dict[str, Callable[..., Arithmetic]] = {
    "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign, "pow": np.power,
    "remainder": lambda a, b: a - b * np.rint(a / b),
}  # fmt: skip
for _name, _of_two in _OF_TWO.items():
    intrinsic(f"math.{_name}")(two_floats(_of_two, _name != "copysign"))


@intrinsic("math.nextafter")
def nextafter(call: Call, x: Real, y: Real, /) -> Arithmetic:
    """The next float from x towards y."""
    left, right = as_float(x), as_float(y)
    dtype = nt.common(left.dtype, right.dtype)
    call.count_arithmetic(dtype)
    following: Arithmetic = np.nextafter(left.astype(dtype), right.astype(dtype))
    return following


@intrinsic("math.ldexp")
def ldexp(call: Call, x: Real, i: Cut, /) -> Arithmetic:
    """x * 2 ** i."""
    value = as_float(x)
    call.count_arithmetic(value.dtype)
    return np.ldexp(value, np.asarray(i).astype(np.int32))


@intrinsic("math.frexp")
def frexp(call: Call, x: Real, /) -> tuple[Arithmetic, Arithmetic]:
    """The fraction and the exponent of x."""
    value = as_float(x)
    call.count_arithmetic(value.dtype)
    fraction, exponent = np.frexp(value)
    return fraction, exponent.astype(np.int32)


@intrinsic("math.modf")
def modf(call: Call, x: Real, /) -> tuple[Arithmetic, Arithmetic]:
    """What is behind the point, and before it."""
    value = as_float(x)
    call.count_arithmetic(value.dtype)
    return np.modf(value)


def _to_integer(function: Callable[..., Arithmetic]) -> Handler:
    """floor, ceil and trunc give int64, as in Python."""

    def handler(call: Call, x: Real, /) -> Arithmetic:
        call.count("conversions")
        if x.dtype.kind in "biu":
            return x
        return np.nan_to_num(function(x), nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64)

    return handler


for _name, _function in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    intrinsic(f"math.{_name}")(_to_integer(_function))


def _classify(function: Callable[..., Arithmetic]) -> Handler:
    def handler(call: Call, x: Real, /) -> Arithmetic:
        call.count()
        return function(as_float(x))

    return handler


for _name in ("isnan", "isinf", "isfinite"):
    intrinsic(f"math.{_name}")(_classify(getattr(np, _name)))


@intrinsic("builtins.pow")
def power(call: Call, base: Number, exp: Number, /) -> Arithmetic:
    """base ** exp."""
    return call.number(call.binary(ast.Pow(), base, exp))


@intrinsic("builtins.divmod")
def divide_with_remainder(call: Call, x: Real, y: Real, /) -> tuple[Arithmetic, Arithmetic]:
    """x // y and x % y."""
    return call.number(call.binary(ast.FloorDiv(), x, y)), call.number(call.binary(ast.Mod(), x, y))


@intrinsic("builtins.abs")
def absolute(call: Call, x: Number, /) -> Arithmetic:
    """The number without its sign."""
    call.count_arithmetic(x.dtype)
    return np.abs(x)


def extreme_of(call: Call, function: Callable[..., Arithmetic], numbers: Sequence[Arithmetic]) -> Arithmetic:
    """The smallest or largest of some numbers, in the type that they have in common."""
    result, *others = numbers
    for each in others:
        dtype = nt.unify(result.dtype, each.dtype)
        call.count_arithmetic(dtype)
        result = function(result.astype(dtype), each.astype(dtype))
    return result


def _extreme(function: Callable[..., Arithmetic]) -> Handler:
    def handler(call: Call, x: Value, /, *others: Real) -> Arithmetic:
        given = (x, *others) if others or not isinstance(x, tuple) else x
        if len(given) < 2 and not isinstance(x, tuple):
            raise call.fault(
                f"`{call.name}` needs two numbers or more, or a tuple of them.", f"Write {call.name}(x, y)."
            )
        numbers = tuple(call.number(each) for each in given)
        if not numbers or any(each.dtype.kind not in "biuf" for each in numbers):
            raise call.fault(f"`{call.name}` takes numbers that can be ordered, and at least one.")
        return extreme_of(call, function, numbers)

    return handler


def larger(a: Arithmetic, b: Arithmetic) -> Arithmetic:
    """The larger; the first where they cannot be compared, as Python has it."""
    return np.where(b > a, b, a) if np.ndim(a) or np.ndim(b) else max(a, b)


def smaller(a: Arithmetic, b: Arithmetic) -> Arithmetic:
    """The smaller, in the same way."""
    return np.where(b < a, b, a) if np.ndim(a) or np.ndim(b) else min(a, b)


intrinsic("builtins.max")(_extreme(larger))
intrinsic("builtins.min")(_extreme(smaller))


# -- bits ---------------------------------------------------------------------------------------------------------


def _unsigned(value: Whole) -> Whole:
    return value.astype(np.uint32) if value.dtype.itemsize <= 4 else value.astype(np.uint64)


def _bits(function: Callable[[Whole], Arithmetic]) -> Handler:
    def handler(call: Call, x: Cut, /) -> Arithmetic:
        call.count("integer_operations")
        return function(_unsigned(x))

    return handler


def _reverse_bits(value: Whole) -> Arithmetic:
    bits = value.dtype.itemsize * 8
    result = np.zeros_like(value)
    for place in range(bits):
        result |= ((value >> value.dtype.type(place)) & value.dtype.type(1)) << value.dtype.type(bits - 1 - place)
    return result


def _leading_zeros(value: Whole) -> Arithmetic:
    bits = value.dtype.itemsize * 8
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < bits:
            value = value | (value >> value.dtype.type(shift))
    return (bits - np.bitwise_count(value).astype(np.int32)).astype(np.int32)


def _first_set(value: Whole) -> Arithmetic:
    lowest = value & (~value + value.dtype.type(1))
    bits = value.dtype.itemsize * 8
    return np.where(value == 0, 0, bits - _leading_zeros(lowest)).astype(np.int32)


count_ones = intrinsic(f"{CUDA}.popc")(_bits(lambda v: np.bitwise_count(v).astype(np.int32)))
intrinsic(f"{CUDA}.brev")(_bits(_reverse_bits))
intrinsic(f"{CUDA}.clz")(_bits(_leading_zeros))


@intrinsic(f"{CUDA}.ffs")
def first_set(call: Call, x: Counted, /) -> Arithmetic:
    """The place of the lowest bit that is set, from 1; 0 where none is."""
    call.count("integer_operations")
    return _first_set(_unsigned(x))


@intrinsic(f"{CUDA}.fma")
def fused_multiply_add(call: Call, a: Real, b: Real, c: Real, /) -> Arithmetic:
    """a * b + c, rounded once."""
    x, y, z = as_float(a), as_float(b), as_float(c)
    dtype = nt.common(nt.common(x.dtype, y.dtype), z.dtype)
    call.count_arithmetic(dtype)
    return prim.fused_multiply_add(*(each.astype(dtype, copy=False) for each in (x, y, z)))


@intrinsic(f"{CUDA}.selp")
def select(call: Call, a: Integer, b: Real, c: Real, /) -> Arithmetic:
    """b where a holds, else c."""
    if b.dtype != c.dtype or b.dtype.kind == "b":
        raise call.fault(
            f"`{call.name}` chooses between two numbers of one type, not {b.dtype} and {c.dtype}.",
            "Convert one of them, for example by np.float32(...).",
        )
    call.count()
    return np.where(call.truth(a), b, c)


@intrinsic(f"{CUDA}.cbrt")
def cube_root(call: Call, a: Real, /) -> Arithmetic:
    """The cube root."""
    value = as_float(a)
    call.count_arithmetic(value.dtype, special=True)
    return np.cbrt(value)

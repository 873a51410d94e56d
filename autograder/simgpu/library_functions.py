"""NumPy's universal functions, Python's operators by name, libdevice, half precision and cache hints, inside kernels.

Each table maps a name to what it does to whole lane vectors; the loop below it registers the names as intrinsics.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu import numba_types as nt
from autograder.simgpu.intrinsics import CALLS, CUDA, Handler, intrinsic
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.numba_types import complex_of
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

SLOT_OF_FLOAT = {2: SLOT["float16_operations"], 4: SLOT["float32_operations"], 8: SLOT["float64_operations"]}


def _count(interpreter: Interpreter, node: ast.AST, mask: Mask, dtype: np.dtype, special: bool = False) -> None:
    row = interpreter.count_instruction(node, mask)
    size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    row[SLOT_OF_FLOAT[size] if dtype.kind in "fc" else SLOT["integer_operations"]] += mask.active
    if special:
        row[SLOT["special_operations"]] += mask.active


# -- NumPy's universal functions ----------------------------------------------------------------------------------

UNIVERSAL = (
    "add subtract multiply divide true_divide floor_divide remainder mod fmod negative positive sign square "
    "reciprocal exp2 logaddexp logaddexp2 cbrt deg2rad rad2deg degrees radians sinh cosh tanh arcsinh arccosh arctanh "
    "hypot conjugate logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not "
    "invert left_shift right_shift equal not_equal less less_equal greater greater_equal signbit nextafter "
    "isnat ldexp gcd lcm"
).split()


def _universal(function: np.ufunc) -> Handler:
    """A ufunc on elements, in NumPy's types (which is how Numba types them too)."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        values = [interpreter.number(a, node) for a in arguments]
        try:
            result = function(*values)
        except TypeError:
            types = ", ".join(str(v.dtype) for v in values)
            raise interpreter.fault(node, f"np.{function.__name__} does not take {types}.") from None
        _count(interpreter, node, mask, result.dtype if result.dtype != nt.BOOL else values[0].dtype)
        return result

    return handler


def _over_arrays(name: str, handler: Handler, inputs: int) -> Handler:
    """The same function for whole arrays too: each thread goes through all elements, as on the device."""

    def with_arrays(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        if not any(isinstance(a, View) for a in arguments):
            return handler(interpreter, node, mask, arguments, keywords)
        for each in arguments:
            interpreter.check_one_length(each, node)
        out = arguments[inputs] if len(arguments) > inputs else keywords.get("out")
        if not isinstance(out, View):
            raise interpreter.fault(
                node, f"np.{name} of a whole array needs an array for its result here.", f"Write np.{name}(x, out)."
            )
        for index in itertools.product(*(range(extent) for extent in out.shape)):
            where = tuple(np.int64(i) for i in index)
            elements = [_element(interpreter, a, where, mask, node) for a in arguments[:inputs]]
            value = handler(interpreter, node, mask, elements, {})
            interpreter.memory.store(out, where, value, mask, node)
        return out

    return with_arrays


def _element(interpreter: Interpreter, value: Any, where: tuple, mask: Mask, node: ast.AST) -> Any:
    """The element of an array that broadcasts to position `where`; a number is itself."""
    if not isinstance(value, View):
        return value
    own = where[len(where) - value.ndim :]
    index = tuple(np.int64(0) if extent == 1 else i for i, extent in zip(own, value.shape, strict=True))
    return interpreter.memory.load(value, index, mask, node)


for _name in UNIVERSAL:
    CALLS.setdefault(f"numpy.{_name}", _universal(getattr(np, _name)))
CALLS["numpy.power"] = _universal(np.power)
for _path, _handler in list(CALLS.items()):
    _function = getattr(np, _path.removeprefix("numpy."), None) if _path.startswith("numpy.") else None
    if isinstance(_function, np.ufunc):
        CALLS[_path] = _over_arrays(_function.__name__, _handler, _function.nin)

# -- operator.add and friends -------------------------------------------------------------------------------------

_BINARY = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
    "pow": ast.Pow, "and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor, "lshift": ast.LShift,
    "rshift": ast.RShift,
}  # fmt: skip
_COMPARING = {"lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq}
_UNARY = {"neg": np.negative, "pos": np.positive, "invert": np.invert, "inv": np.invert}


def _binary_operator(op: type[ast.operator]) -> Handler:
    return lambda interpreter, node, mask, arguments, keywords: interpreter.binary(node, op(), *arguments, mask)


def _comparison(op: type[ast.cmpop]) -> Handler:
    return lambda interpreter, node, mask, arguments, keywords: interpreter.compare_once(node, op(), *arguments, mask)


for _name, _op in _BINARY.items():
    CALLS[f"operator.{_name}"] = CALLS[f"operator.i{_name.rstrip('_')}"] = _binary_operator(_op)
for _name, _op in _COMPARING.items():
    CALLS[f"operator.{_name}"] = _comparison(_op)


def _plain(function: Callable, special: bool = False, as_float: bool = False) -> Handler:
    """A function of numbers, in the dtype that they have in common."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        values = [interpreter.number(a, node) for a in arguments]
        if as_float:
            values = [v if v.dtype.kind in "fc" else v.astype(nt.FLOAT64) for v in values]
        result = function(*values)
        _count(interpreter, node, mask, values[0].dtype, special)
        return result

    return handler


for _name, _function in _UNARY.items():
    CALLS[f"operator.{_name}"] = _plain(_function)


@intrinsic("operator.not_")
def logical_not(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    interpreter.count_instruction(node, mask)
    return np.logical_not(interpreter.truth(arguments[0], node))


@intrinsic("operator.getitem")
def getitem(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return interpreter.memory.load(arguments[0], (interpreter.as_index(arguments[1], node),), mask, node)


# -- more of math -------------------------------------------------------------------------------------------------


@intrinsic("math.frexp")
def frexp(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> tuple:
    value = interpreter.number(arguments[0], node)
    _count(interpreter, node, mask, value.dtype)
    fraction, exponent = np.frexp(value)
    return fraction, exponent.astype(np.int32)


@intrinsic("math.modf")
def modf(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> tuple:
    value = interpreter.number(arguments[0], node)
    value = value if value.dtype.kind == "f" else value.astype(nt.FLOAT64)
    _count(interpreter, node, mask, value.dtype)
    return np.modf(value)


CALLS["math.nextafter"] = _plain(np.nextafter, as_float=True)

# -- complex mathematics ------------------------------------------------------------------------------------------


def _exponential(z: Any) -> Any:
    """exp of complex numbers: NumPy, but for the signs of zero where nothing is left of the number."""
    vanishes = np.isneginf(z.real) & ~np.isfinite(z.imag)
    return np.where(vanishes, 0, np.exp(z)).astype(z.dtype)[()]


def _rectangular(r: Any, phi: Any) -> Any:
    """r and phi as real and imaginary part, with Python's answers for infinities."""
    real, imaginary = (np.where((part == 0) & np.isinf(r), part / r, part * r) for part in (np.cos(phi), np.sin(phi)))
    for special, one, other in ((r == 0, 0.0, 0.0), (np.isinf(r), r, phi)):
        here = special & ~np.isfinite(phi)
        real, imaginary = np.where(here, one, real), np.where(here, other, imaginary)
    narrow = r.dtype == phi.dtype == nt.FLOAT32
    return complex_of(real, imaginary, nt.COMPLEX64 if narrow else nt.COMPLEX128)


_COMPLEX = {
    **{name: getattr(np, name) for name in "sin cos tan sinh cosh tanh sqrt log10 isnan isinf isfinite".split()},
    **{name: getattr(np, f"arc{name[1:]}") for name in "asin acos atan asinh acosh atanh".split()},
    "phase": np.angle, "polar": lambda z: (np.abs(z), np.angle(z)), "rect": _rectangular, "exp": _exponential,
    "log": lambda z, *base: np.log(z) / np.log(base[0]) if base else np.log(z),
}  # fmt: skip


def _complex(name: str, function: Callable) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        values = [interpreter.number(a, node) for a in arguments]
        if name != "rect":
            values = [v if v.dtype.kind == "c" else v.astype(nt.COMPLEX128) for v in values]
        _count(interpreter, node, mask, values[0].dtype, special=True)
        return function(*values)

    return handler


for _name, _function in _COMPLEX.items():
    CALLS[f"cmath.{_name}"] = _complex(_name, _function)

# -- half precision -----------------------------------------------------------------------------------------------

_HALF = {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.true_divide, "hneg": np.negative,
    "habs": np.abs, "hmax": np.fmax, "hmin": np.fmin, "heq": np.equal, "hne": np.not_equal, "hge": np.greater_equal,
    "hgt": np.greater, "hle": np.less_equal, "hlt": np.less, "hsin": np.sin, "hcos": np.cos, "hlog": np.log,
    "hlog2": np.log2, "hlog10": np.log10, "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda v: np.power(10.0, v),
    "hfloor": np.floor, "hceil": np.ceil, "hsqrt": np.sqrt, "hrsqrt": lambda v: 1 / np.sqrt(v), "hrcp": lambda v: 1 / v,
    "hrint": np.rint, "htrunc": np.trunc, "hfma": lambda a, b, c: a * b + c,
}  # fmt: skip


def _half(function: Callable) -> Handler:
    """Computed in float32 and rounded to float16, as the hardware's half instructions do."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        values = [interpreter.number(a, node).astype(nt.FLOAT16) for a in arguments]
        _count(interpreter, node, mask, nt.FLOAT16)
        result = function(*(v.astype(nt.FLOAT32) for v in values))
        return result if result.dtype == nt.BOOL else result.astype(nt.FLOAT16)

    return handler


for _name, _function in _HALF.items():
    CALLS[f"{CUDA}.fp16.{_name}"] = _half(_function)

# -- libdevice ----------------------------------------------------------------------------------------------------

_LIBDEVICE = {
    **{name: getattr(np, name) for name in "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt".split()},
    **{name: getattr(np, name) for name in "cbrt fabs floor ceil trunc rint fmod hypot copysign fmin fmax".split()},
    **{name: getattr(np, f"arc{name[1:]}") for name in "asin acos atan atan2 asinh acosh atanh".split()},
    "pow": np.power, "rsqrt": lambda v: 1 / np.sqrt(v), "rcp": lambda v: 1 / v, "fma": lambda a, b, c: a * b + c,
    "round": lambda v: np.trunc(v + np.copysign(v.dtype.type(0.5), v)), "exp10": lambda v: np.power(10.0, v),
    "fdim": lambda a, b: np.fmax(a - b, 0), "sincos": lambda v: (np.sin(v), np.cos(v)), "modf": np.modf,
    "sinpi": lambda v: np.sin(np.pi * v), "cospi": lambda v: np.cos(np.pi * v),
}  # fmt: skip


def _libdevice(function: Callable, dtype: np.dtype) -> Handler:
    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
        values = [interpreter.number(a, node).astype(dtype) for a in arguments]
        _count(interpreter, node, mask, dtype, special=True)
        result = function(*values)
        return tuple(r.astype(dtype) for r in result) if isinstance(result, tuple) else result.astype(dtype)

    return handler


for _name, _function in _LIBDEVICE.items():
    CALLS[f"{CUDA}.libdevice.{_name}"] = _libdevice(_function, nt.FLOAT64)
    CALLS[f"{CUDA}.libdevice.{_name}f"] = _libdevice(_function, nt.FLOAT32)
    CALLS[f"{CUDA}.libdevice.fast_{_name}f"] = _libdevice(_function, nt.FLOAT32)

# -- loads and stores with a cache hint ---------------------------------------------------------------------------


def _indices(interpreter: Interpreter, node: ast.AST, index: Any) -> tuple:
    return tuple(interpreter.as_index(i, node) for i in (index if isinstance(index, tuple) else (index,)))


def _hinted_load(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    """An ordinary load: which cache keeps the line is beyond this simulation."""
    return interpreter.memory.load(arguments[0], _indices(interpreter, node, arguments[1]), mask, node)


def _hinted_store(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    interpreter.memory.store(arguments[0], _indices(interpreter, node, arguments[1]), arguments[2], mask, node)


for _name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"):
    CALLS[f"{CUDA}.{_name}"] = _hinted_load
for _name in ("stcg", "stcs", "stwb", "stwt"):
    CALLS[f"{CUDA}.{_name}"] = _hinted_store

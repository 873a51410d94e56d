"""`cuda.libdevice`: NVIDIA's mathematical functions for float64, for float32 (`sinf`), and in a hurry (`fast_sinf`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograder.simgpu.functions.intrinsics import CUDA
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Real
from autograder.simgpu.operations.registry import Handler
from autograder.simgpu.primitives import fused_multiply_add
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.values import Arithmetic

_OF_ONE = {
    **{name: getattr(np, name) for name in "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt".split()},
    **{name: getattr(np, name) for name in "cbrt fabs floor ceil trunc rint".split()},
    **{name: getattr(np, f"arc{name[1:]}") for name in "asin acos atan asinh acosh atanh".split()},
    "rsqrt": lambda v: 1 / np.sqrt(v), "modf": np.modf,
    "round": lambda v: np.trunc(v + np.copysign(v.dtype.type(0.5), v)), "exp10": lambda v: np.power(10.0, v),
    "sincos": lambda v: (np.sin(v), np.cos(v)), "sinpi": lambda v: np.sin(np.pi * v),
    "cospi": lambda v: np.cos(np.pi * v),
}  # fmt: skip
_FAST = "cos exp exp10 log log2 log10 pow sin sincos tan".split()  # of float32 alone
_OF_TWO = {
    **{name: getattr(np, name) for name in "fmod hypot copysign fmin fmax".split()},
    "atan2": np.arctan2, "pow": np.power, "fdim": lambda a, b: np.fmax(a - b, 0),
}  # fmt: skip


def _computed(call: Call, function: Callable[..., Arithmetic], dtype: np.dtype, *values: Arithmetic) -> Arithmetic:
    call.count_arithmetic(dtype, special=True)
    result = function(*(each.astype(dtype) for each in values))
    return tuple(each.astype(dtype) for each in result) if isinstance(result, tuple) else result.astype(dtype)


def _of_one(function: Callable[..., Arithmetic], dtype: np.dtype) -> Handler:
    def handler(call: Call, x: Real, /) -> Arithmetic:
        return _computed(call, function, dtype, x)

    return handler


def _of_two(function: Callable[..., Arithmetic], dtype: np.dtype) -> Handler:
    def handler(call: Call, x: Real, y: Real, /) -> Arithmetic:
        return _computed(call, function, dtype, x, y)

    return handler


def _of_three(function: Callable[..., Arithmetic], dtype: np.dtype) -> Handler:
    def handler(call: Call, x: Real, y: Real, z: Real, /) -> Arithmetic:
        return _computed(call, function, dtype, x, y, z)

    return handler


for _make, _functions in ((_of_one, _OF_ONE), (_of_two, _OF_TWO), (_of_three, {"fma": fused_multiply_add})):
    for _name, _function in _functions.items():
        intrinsic(f"{CUDA}.libdevice.{_name}")(_make(_function, nt.FLOAT64))
        _paths = [f"{CUDA}.libdevice.{each}{_name}f" for each in ("", "fast_") if not each or _name in _FAST]
        intrinsic(*_paths)(_make(_function, nt.FLOAT32))
intrinsic(f"{CUDA}.libdevice.fast_fdividef")(_of_two(lambda a, b: a / b, nt.FLOAT32))

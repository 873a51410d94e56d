"""`cuda.fp16`: arithmetic in half precision, computed in float32 and rounded to float16, as the hardware does it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograder.simgpu.functions.intrinsics import CUDA
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Real
from autograder.simgpu.operations.registry import Handler
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.values import Arithmetic

_OF_ONE: dict[str, Callable[..., Arithmetic]] = {
    "hneg": np.negative, "habs": np.abs, "hsin": np.sin, "hcos": np.cos, "hlog": np.log, "hlog2": np.log2,
    "hlog10": np.log10, "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda v: np.power(10.0, v), "hfloor": np.floor,
    "hceil": np.ceil, "hsqrt": np.sqrt, "hrsqrt": lambda v: 1 / np.sqrt(v), "hrcp": lambda v: 1 / v, "hrint": np.rint,
    "htrunc": np.trunc,
}  # fmt: skip
_OF_TWO = {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.true_divide, "hmax": np.fmax, "hmin": np.fmin,
    "heq": np.equal, "hne": np.not_equal, "hge": np.greater_equal, "hgt": np.greater, "hle": np.less_equal,
    "hlt": np.less,
}  # fmt: skip


def _computed(call: Call, function: Callable[..., Arithmetic], *values: Arithmetic) -> Arithmetic:
    call.count_arithmetic(nt.FLOAT16)
    result = function(*(each.astype(nt.FLOAT16).astype(nt.FLOAT32) for each in values))
    return result if result.dtype == nt.BOOL else result.astype(nt.FLOAT16)


def _of_one(function: Callable[..., Arithmetic]) -> Handler:
    def handler(call: Call, a: Real, /) -> Arithmetic:
        return _computed(call, function, a)

    return handler


def _of_two(function: Callable[..., Arithmetic]) -> Handler:
    def handler(call: Call, a: Real, b: Real, /) -> Arithmetic:
        return _computed(call, function, a, b)

    return handler


for _name, _function in _OF_ONE.items():
    intrinsic(f"{CUDA}.fp16.{_name}")(_of_one(_function))
for _name, _function in _OF_TWO.items():
    intrinsic(f"{CUDA}.fp16.{_name}")(_of_two(_function))


@intrinsic(f"{CUDA}.fp16.hfma")
def fused_multiply_add(call: Call, a: Real, b: Real, c: Real, /) -> Arithmetic:
    """a * b + c."""
    return _computed(call, lambda x, y, z: x.astype(np.float64) * y + z, a, b, c)  # no rounding but the last

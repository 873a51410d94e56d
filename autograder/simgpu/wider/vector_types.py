"""CUDA's vector types inside kernels (`cuda.float32x4`, `cuda.float4`): small tuples with components x, y, z and w."""

from __future__ import annotations

import numpy as np

from autograder.simgpu.functions.intrinsics import CUDA
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Value
from autograder.simgpu.operations.registry import Handler
from autograder.simgpu.values.numba_types import to_dtype
from autograder.simgpu.values.variables import NamedItems

COMPONENTS = ("x", "y", "z", "w")
# Source: CUDA C++ Programming Guide, "Built-in Vector Types"
ALIASES = {
    "int8": ("char",), "int16": ("short",), "int32": ("int",), "int64": ("long", "longlong"), "uint8": ("uchar",),
    "uint16": ("ushort",), "uint32": ("uint",), "uint64": ("ulong", "ulonglong"), "float32": ("float",),
    "float64": ("double",),
}  # fmt: skip


def _constructor(dtype: np.dtype, count: int) -> Handler:
    """Takes numbers and vectors whose components add up to `count`; or one vector, copied."""

    def handler(call: Call, *components: Value) -> NamedItems:
        parts: list[Value] = []
        for each in components:
            parts.extend(each if isinstance(each, tuple) else [each])
        if len(parts) != count:
            raise call.fault(f"{call.name} is made of {count} components; {len(parts)} are given.")
        numbers = [call.number(each) for each in parts]
        if any(each.dtype.kind not in "biuf" for each in numbers):
            raise call.fault(f"{call.name} is made of numbers that are not complex.")
        call.count()
        return NamedItems((to_dtype(each, dtype) for each in numbers), COMPONENTS[:count])

    return handler


SAME: dict[str, str] = {}  # float4 is another name of float32x4

for _base, _others in ALIASES.items():
    for _count in (1, 2, 3, 4):
        _handler = _constructor(np.dtype(_base), _count)
        for _name in (f"{_base}x{_count}", *(f"{other}{_count}" for other in _others)):
            intrinsic(f"{CUDA}.{_name}")(_handler)
            SAME[_name] = f"{_base}x{_count}"

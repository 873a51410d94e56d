"""CUDA's vector types inside kernels (`cuda.float32x4`, `cuda.float4`): small tuples with components x, y, z and w."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu.intrinsics import CALLS, CUDA, Handler
from autograder.simgpu.lanes import Mask
from autograder.simgpu.numba_types import to_dtype
from autograder.simgpu.variables import Named

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

COMPONENTS = ("x", "y", "z", "w")
# Source: CUDA C++ Programming Guide, "Built-in Vector Types"
ALIASES = {
    "int8": ("char",), "int16": ("short",), "int32": ("int",), "int64": ("long", "longlong"), "uint8": ("uchar",),
    "uint16": ("ushort",), "uint32": ("uint",), "uint64": ("ulong", "ulonglong"), "float32": ("float",),
    "float64": ("double",),
}  # fmt: skip


def _constructor(name: str, dtype: np.dtype, count: int) -> Handler:
    """Takes numbers and vectors whose components add up to `count`; or one vector, copied."""

    def handler(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Named:
        parts: list[Any] = []
        for argument in arguments:
            parts.extend(argument if isinstance(argument, tuple) else [argument])
        if len(parts) != count:
            raise interpreter.fault(node, f"cuda.{name} is made of {count} components; {len(parts)} are given.")
        interpreter.count_instruction(node, mask)
        return Named((to_dtype(interpreter.number(p, node), dtype) for p in parts), COMPONENTS[:count])

    return handler


SAME: dict[str, str] = {}  # float4 is another name of float32x4

for _base, _others in ALIASES.items():
    for _count in (1, 2, 3, 4):
        _handler = _constructor(f"{_base}x{_count}", np.dtype(_base), _count)
        for _name in (f"{_base}x{_count}", *(f"{other}{_count}" for other in _others)):
            CALLS[f"{CUDA}.{_name}"] = _handler
            SAME[_name] = f"{_base}x{_count}"

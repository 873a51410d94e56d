"""The names of Numba's types as `numba.cuda` and `numba.cuda.types` offer them."""

from __future__ import annotations

import types
from typing import Any

TYPE_NAMES = (
    "void boolean bool_ byte char int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp intc uintc int_ uint "
    "short ushort long_ ulong longlong ulonglong double float32 float64 complex64 complex128 "
    "b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16 none"
).split()  # float16 is in `numba.types` only: half precision is written np.float16


class TypesModule(types.ModuleType):
    """Numba's types, and those that it has for the GPU alone, which are looked up when they are wanted: `GridGroup`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from autograder.simgpu.wider import numbas_own

        return getattr(numbas_own.module("types"), name)


def types_module(name: str) -> types.ModuleType:
    """A module with everything of `numba.types`, under another name."""
    from numba.core import types as numba_types

    module = TypesModule(name, "Numba's types")
    module.__dict__.update({key: value for key, value in vars(numba_types).items() if not key.startswith("__")})
    return module

"""The numeric types that a kernel can name, from NumPy and Numba, with the NumPy dtype that each stands for."""

from __future__ import annotations

import numpy as np

from autograder.language.program import Reference


class TypeReference(Reference):
    """A numeric type by its path, with the NumPy dtype that it stands for."""

    dtype: np.dtype

    def __init__(self, path: str, dtype: np.dtype) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "dtype", np.dtype(dtype))

    def __reduce__(self) -> tuple[type[TypeReference], tuple[str, np.dtype]]:
        return TypeReference, (self.path, self.dtype)


_TYPE_NAMES = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
# other names of the same types
_ALIASES = {
    "bool_": "numpy.bool numba.boolean numba.types.boolean numba.b1",
    "int64": "numpy.intp numba.intp numpy.int_ numba.int_ numba.i8",
    "uint64": "numpy.uintp numba.uintp numba.u8",
    "int32": "numpy.intc numba.intc numba.i4",
    "float32": "numpy.single numba.f4",
    "float64": "numpy.double numba.double numba.f8",
    "uint32": "numba.u4",
    "uint8": "numba.u1",
    "int8": "numba.i1",
    "int16": "numba.i2",
    "uint16": "numba.u2",
    "complex64": "numba.c8",
    "complex128": "numba.c16",
}
_DTYPES: dict[str, np.dtype] = {name: np.dtype(getattr(np, name)) for name in _TYPE_NAMES}
TYPES: dict[str, np.dtype] = {
    **{f"numpy.{name}": _DTYPES[name] for name in _TYPE_NAMES},
    **{f"numba.{name}": _DTYPES[name] for name in _TYPE_NAMES if name != "float16"},
    **{f"numba.types.{name}": _DTYPES[name] for name in _TYPE_NAMES},
    **{alias: _DTYPES[name] for name, aliases in _ALIASES.items() for alias in aliases.split()},
}


def type_of(path: str) -> TypeReference | None:
    """The type with this canonical path; None where the path is not that of a type."""
    return TypeReference(path, TYPES[path]) if path in TYPES else None

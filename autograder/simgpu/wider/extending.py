"""Functions that a program gives to kernels with `@overload`: Numba's decorators noted while the device is installed."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, Literal

import numpy as np

from autograder.language import overloads
from autograder.language.numeric_types import TypeReference
from autograder.simgpu.values.memory import View, contiguous_strides
from autograder.simgpu.values.values import Value

_NAMES = ("overload", "register_jitable")
_PLACES = ("numba.extending", "numba.core.extending")
_before: dict[str, dict[str, Any]] = {}


def type_of_value(value: Value) -> Any:
    """The Numba type of a value in a kernel, as `@overload` functions are given it."""
    from numba import from_dtype
    from numba.core import types as numba_types

    if isinstance(value, View):
        order: Literal["C", "A"] = "C" if value.strides == contiguous_strides(value.shape) else "A"
        return numba_types.Array(from_dtype(value.dtype), value.ndim, order)
    if isinstance(value, tuple):
        return numba_types.Tuple.from_types(tuple(map(type_of_value, value)))
    if isinstance(value, TypeReference):
        return numba_types.NumberClass(from_dtype(value.dtype))
    if isinstance(value, (np.ndarray, np.generic)):
        dtype: np.dtype = value.dtype
        return from_dtype(dtype)
    if value is None:
        return numba_types.none
    if isinstance(value, str):
        return numba_types.unicode_type
    return numba_types.Opaque(f"function {getattr(value, 'name', '')}")


def build_module() -> types.ModuleType:
    """`numba.cuda.extending`, as far as it does not reach into the compiler."""
    module = types.ModuleType("numba.cuda.extending", "numba.cuda.extending on the simulated GPU")
    module.__dict__.update(overload=overloads.overload, register_jitable=overloads.register_jitable)
    return module


def install() -> None:
    """Lets Numba's own decorators tell the simulated GPU, besides what they do for compiled code."""
    for place in _PLACES:
        module = importlib.import_module(place)
        _before[place] = {name: getattr(module, name) for name in _NAMES}
        module.__dict__.update(overload=_overload, register_jitable=_register_jitable)


def uninstall() -> None:
    """Brings back Numba's own."""
    for place, names in _before.items():
        sys.modules[place].__dict__.update(names)
    _before.clear()


def _overload(function: Any, *arguments: Any, **options: Any) -> Any:
    target = options.get("target", "generic")
    note = overloads.overload(function, target="generic" if target == "cpu" else target)
    if target == "cuda":
        return note
    theirs = _before["numba.extending"]["overload"](function, *arguments, **options)
    return lambda choose: theirs(note(choose))


def _register_jitable(*functions: Any, **options: Any) -> Any:
    note, theirs = overloads.register_jitable, _before["numba.extending"]["register_jitable"]
    if functions:
        return theirs(note(functions[0]))
    return lambda function: theirs(**options)(note(function))

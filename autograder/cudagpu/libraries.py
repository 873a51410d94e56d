"""Library functions that submissions are timed beside, where CuPy or PyTorch is installed: both call NVIDIA's libraries.

Neither is asked for by this package. A function gets a request's arrays by name, as Numba's device arrays, and leaves its
result in them, as the submission does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

Carried = Callable[[Mapping[str, Any]], None]


def matmul_by_cupy(arrays: Mapping[str, Any]) -> None:
    """c = a b in float32 by cuBLAS, without the rounding to 10 bits that tensor cores would start with (TF32)."""
    os.environ["CUPY_TF32"] = "0"
    cupy = import_module("cupy")
    a, b, c = (cupy.asarray(arrays[name]) for name in "abc")
    cupy.matmul(a, b, out=c)


def matmul_by_pytorch(arrays: Mapping[str, Any]) -> None:
    """The same by PyTorch."""
    torch = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b, c = (torch.as_tensor(arrays[name], device="cuda") for name in "abc")
    torch.matmul(a, b, out=c)


# By function: the packages that have it, the one that loads sooner first.
FUNCTIONS: dict[str, dict[str, Carried]] = {"matmul": {"cupy": matmul_by_cupy, "torch": matmul_by_pytorch}}


def installed(function: str) -> tuple[str, Carried] | None:
    """The package that has this function here, and the function; None where no such package is installed."""
    for package, carried in FUNCTIONS[function].items():
        if find_spec(package) is not None:
            return package, carried
    return None

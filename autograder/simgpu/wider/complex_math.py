"""Python's `cmath` inside kernels, on whole lane vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograder.simgpu.functions.math_functions import as_float
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Number, Real
from autograder.simgpu.operations.registry import Handler
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.numba_types import complex_of
from autograder.simgpu.values.values import Arithmetic


def _exponential(z: Arithmetic) -> Arithmetic:
    """exp of complex numbers: NumPy, but for the signs of zero where nothing is left of the number."""
    vanishes = np.isneginf(z.real) & ~np.isfinite(z.imag)
    return np.where(vanishes, 0, np.exp(z)).astype(z.dtype)[()]


_COMPLEX = {
    **{name: getattr(np, name) for name in "sin cos tan sinh cosh tanh sqrt log10 isnan isinf isfinite".split()},
    **{name: getattr(np, f"arc{name[1:]}") for name in "asin acos atan asinh acosh atanh".split()},
    "phase": np.angle, "polar": lambda z: (np.abs(z), np.angle(z)), "exp": _exponential,
}  # fmt: skip


def _as_complex(value: Arithmetic) -> Arithmetic:
    return value if value.dtype.kind == "c" else value.astype(nt.COMPLEX128)


def _complex(function: Callable[..., Arithmetic]) -> Handler:
    def handler(call: Call, z: Number, /) -> Arithmetic:
        value = _as_complex(z)
        call.count_arithmetic(value.dtype, special=True)
        return function(value)

    return handler


for _name, _function in _COMPLEX.items():
    intrinsic(f"cmath.{_name}")(_complex(_function))


@intrinsic("cmath.log")
def logarithm(call: Call, z: Number, base: Number | None = None, /) -> Arithmetic:
    """The logarithm, to a base or the natural one."""
    value = _as_complex(z)
    call.count_arithmetic(value.dtype, special=True)
    return np.log(value) if base is None else np.log(value) / np.log(_as_complex(base))


@intrinsic("cmath.rect")
def rectangular(call: Call, r: Real, phi: Real, /) -> Arithmetic:
    """r and phi as real and imaginary part, with Python's answers for infinities."""
    r, phi = as_float(r), as_float(phi)
    call.count_arithmetic(r.dtype, special=True)
    real, imaginary = (np.where((part == 0) & np.isinf(r), part / r, part * r) for part in (np.cos(phi), np.sin(phi)))
    for special, one, other in ((r == 0, 0.0, 0.0), (np.isinf(r), r, phi)):
        here = special & ~np.isfinite(phi)
        real, imaginary = np.where(here, one, real), np.where(here, other, imaginary)
    narrow = r.dtype == phi.dtype == nt.FLOAT32
    return complex_of(real, imaginary, nt.COMPLEX64 if narrow else nt.COMPLEX128)

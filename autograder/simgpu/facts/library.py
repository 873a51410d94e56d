"""What the analysis needs to know of library functions: which have side effects, and the types of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts.known import Known, KnownArray, KnownName, KnownNumber, KnownTuple
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values import numba_types as nt


@dataclass(frozen=True)
class Builtin:
    """A name that stands for a value: its dtype, and whether it differs between the threads of a block."""

    dtype: np.dtype
    varies: bool


@dataclass(frozen=True)
class OfArray:
    """A method of an array, before it is called."""

    array: KnownArray
    name: str


BUILTIN_VALUES = {
    f"numba.cuda.{name}.{axis}": Builtin(nt.INT32, name == "threadIdx")
    for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
    for axis in "xyz"
} | {"numba.cuda.laneid": Builtin(nt.INT32, True), "numba.cuda.warpsize": Builtin(nt.INT32, False)}

SYNCHRONISES = ("numba.cuda.sync", "numba.cuda.cg.grid_group.sync", "numba.cuda.threadfence")
RESHAPING = frozenset("reshape ravel transpose view copy".split())
STORES = frozenset(f"numba.cuda.{name}" for name in ("stcg", "stcs", "stwb", "stwt"))


@dataclass(frozen=True)
class RandomNumber:
    """What a function draws: the type, the machine instructions beside loads and stores of the state, and how many draws.

    Of two draws, with branches behind them, the compiler leaves the store of the new state.
    """

    dtype: np.dtype
    instructions: int  # machine_code_emulator/draws.json
    draws: int = 1


DRAWN: Mapping[str, RandomNumber] = {
    f"numba.cuda.random.xoroshiro128p_{name}": drawn
    for name, drawn in (
        ("next", RandomNumber(nt.UINT64, 14)),
        ("uniform_float32", RandomNumber(nt.FLOAT32, 19)), ("uniform_float64", RandomNumber(nt.FLOAT64, 17)),
        ("normal_float32", RandomNumber(nt.FLOAT32, 104, draws=2)),
        ("normal_float64", RandomNumber(nt.FLOAT64, 132, draws=2)),
    )
}  # fmt: skip
# Functions that only read the arrays that they are given.
READ_ONLY = (
    "builtins.", "math.", "operator.", "cmath.",
    "numba.cuda.ld", "numba.cuda.shfl", "numba.cuda.popc", "numba.cuda.libdevice.",
    *(f"numpy.{name}" for name in "sum prod min max amin amax mean var std all any argmin argmax count_nonzero nan".split()),
)  # fmt: skip

Rule = Callable[[Sequence["np.dtype | None"]], "np.dtype | None"]


def _common(dtypes: Sequence[np.dtype | None]) -> np.dtype | None:
    found: np.dtype | None = dtypes[0] if dtypes else None
    for each in dtypes[1:]:
        if found is None or each is None or found.kind not in "biufc" or each.kind not in "biufc":
            return None
        found = nt.unify(found, each)
    return found


def _floating(dtypes: Sequence[np.dtype | None]) -> np.dtype | None:
    found = _common(dtypes)
    return found if found is None or found.kind in "fc" else nt.FLOAT64


def _magnitude(dtypes: Sequence[np.dtype | None]) -> np.dtype | None:
    found = _common(dtypes)
    return part_of_a_complex_number(found)


def part_of_a_complex_number(dtype: np.dtype | None) -> np.dtype | None:
    """The type of the real or the imaginary part; of a real number its own."""
    return dtype.type(0).real.dtype if dtype is not None and dtype.kind == "c" else dtype


def _complex(dtypes: Sequence[np.dtype | None]) -> np.dtype | None:
    found = _common(dtypes)
    return found and (nt.COMPLEX64 if found.name in ("float32", "complex64") else nt.COMPLEX128)


def _always(dtype: np.dtype) -> Rule:
    return lambda dtypes: dtype


_FLOATS = (
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh fabs "
    "degrees radians erf erfc gamma lgamma atan2 hypot fmod copysign pow remainder"
).split()
PURE: dict[str, Rule] = {
    **{f"math.{name}": _floating for name in _FLOATS},
    **{f"numpy.{name}": _floating for name in _FLOATS},
    **{f"math.{name}": _always(nt.INT64) for name in ("floor", "ceil", "trunc")},
    **{f"math.{name}": _always(nt.BOOL) for name in ("isnan", "isinf", "isfinite")},
    **{f"builtins.{name}": _common for name in ("min", "max")},
    "builtins.abs": _magnitude, "builtins.complex": _complex,
    **{f"numba.cuda.{name}": _always(nt.INT32) for name in ("popc", "clz", "ffs")},
    "numba.cuda.fma": _common,
    "numba.cuda.brev": _common,
    "builtins.round": lambda dtypes: nt.INT64 if len(dtypes) == 1 else dtypes[0],
}


def _shuffled(dtypes: Sequence[np.dtype | None]) -> np.dtype | None:
    """Numba exchanges numbers of 32 or 64 bits: floats, and integers with a sign, which have to hold what it is given."""
    value = dtypes[1] if len(dtypes) > 1 else None
    if value is None or value.kind not in "biuf":
        return None
    is_wide = value.itemsize > 4 or value == np.uint32
    if value.kind == "f":
        return nt.FLOAT64 if is_wide else nt.FLOAT32
    return nt.INT64 if is_wide else nt.INT32


# Functions whose result depends on what other lanes do, or on when they are called.
OF_OTHERS: dict[str, Rule] = {
    **{f"numba.cuda.shfl{way}_sync": _shuffled for way in ("", "_up", "_down", "_xor")},
    **{f"numba.cuda.{name}_sync": _always(nt.BOOL) for name in ("all", "any", "eq")},
    **{f"numba.cuda.{name}": _always(nt.INT32) for name in ("ballot_sync", "match_any_sync")},
    **{f"numba.cuda.{name}": _always(np.dtype(np.uint32)) for name in ("activemask", "lanemask_lt")},
}

ARRAY_MAKERS = {"numba.cuda.shared.array": "shared", "numba.cuda.local.array": "local"}


def array_made(op: Operation, path: str, arguments: Sequence[Known], keywords: Mapping[str, Known]) -> KnownArray | None:
    """The array that a call of `cuda.shared.array` or `cuda.local.array` makes; None if its type is not known."""
    given = dict(zip(("shape", "dtype"), arguments, strict=False)) | dict(keywords)
    shape, dtype = given.get("shape"), given.get("dtype")
    if not isinstance(dtype, KnownName) or not isinstance(dtype.value, TypeReference):
        return None
    extents = shape.items if isinstance(shape, KnownTuple) else (shape,)
    sizes = tuple(each.constant if isinstance(each, KnownNumber) else None for each in extents)
    space: Literal["shared", "local"] = "shared" if ARRAY_MAKERS[path] == "shared" else "local"
    return KnownArray(dtype.value.dtype, len(sizes), space, (space, op.node), sizes)

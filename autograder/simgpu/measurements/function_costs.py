"""How many machine instructions the compiler makes of each function that kernels may call, by the type of its numbers.

    python -m autograder.simgpu.measurements.function_costs     # needs what instruction_costs.py needs; a quarter of an hour

Of every function that the simulated GPU knows and that makes a number of numbers, kernels are compiled that call it never,
once and twice, and carried out on the emulator (machine_code_emulator/) by a warp whose lanes have numbers between 0 and 1,
1 and 2 for acosh, 1 and 100 for integers: so the arms of a branch count that some lane takes, and a loop by its rounds.
What the emulator refuses is counted on its usual way, as instruction_costs.py does. The constants that a first call brings
into registers, which a second call finds there, are counted apart.

Writes facts/function_costs.json, which facts/instruction_costs.py reads: by type and path, the instructions of a call, how
many of them bring constants, and how many the pipe of float64 carries out. What is not there Numba refuses.
"""

from __future__ import annotations

import cmath
import json
import math
import operator
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from autograder.simgpu.functions.known_functions import CALLS
from autograder.simgpu.measurements.instruction_costs import OF_FLOAT64, WARP, compiled, usual_way, versions

COSTS = Path(__file__).parents[1] / "facts" / "function_costs.json"  # the engine reads it
LIBDEVICE, HALVES = "numba.cuda.libdevice.", "numba.cuda.fp16."
OF_BITS = tuple(f"numba.cuda.{name}" for name in ("popc", "brev", "clz", "ffs"))
COMPUTING = ("math.", "numpy.", "cmath.", "operator.", LIBDEVICE, HALVES, *OF_BITS, "numba.cuda.cbrt", "numba.cuda.fma")
OF_ARRAYS = frozenset(  # of the functions of numpy: what they add up or compare, they count element by element
    f"numpy.{name}"
    for name in "all any amax amin max min sum prod mean std var count_nonzero argmax argmin nanmax nanmin nansum nanprod "
    "nanmean ravel transpose".split()
)
WITH_OPERATORS = ("builtins.abs", "builtins.round", "builtins.pow")
REALS, INTEGERS, FAST = ("float32", "float64"), ("int32", "int64", "uint32", "uint64"), "float32, fastmath"
TYPES = (*REALS, FAST, *INTEGERS, "float16", "complex64", "complex128")
MOST = 3  # arguments
NAMES = ("x", "y", "z", "u", "v", "w")
Cost: TypeAlias = tuple[int, int, int]
"""Instructions of a call, how many of them bring constants into registers, and how many the float64 pipe carries out."""

KERNEL = """
def kernel({names}, results, again):
    i = cuda.threadIdx.x
{loads}
    results[i] = {first}
    again[i] = {second}
"""


@dataclass(frozen=True)
class MeasuredFunction:
    """A function that kernels may call, of numbers of one type."""

    path: str
    kind: str  # one of TYPES

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.kind.partition(",")[0])

    def numbers(self) -> np.ndarray:
        """What a warp has, and room for as many more."""
        rng = np.random.default_rng(5)
        drawn: np.ndarray = rng.integers(1, 100, WARP) if self.dtype.kind in "iu" else rng.uniform(0.05, 0.95, WARP)
        if self.path.endswith(("acosh", "acoshf", "arccosh")):
            drawn = drawn + 1
        if self.dtype.kind == "c":
            drawn = drawn + 1j * rng.uniform(0.05, 0.95, WARP)
        return np.concatenate([drawn, drawn]).astype(self.dtype)

    def called(self, names: Sequence[str]) -> str:
        path = self.path.removeprefix("numba.").removeprefix("builtins.")
        return f"{path}({', '.join(names)})"


def functions() -> Iterator[MeasuredFunction]:
    """Each function with each type that it may have; Numba refuses some of them."""
    for kind in TYPES:
        for path in CALLS:
            if path.startswith(COMPUTING) and path not in OF_ARRAYS or path in WITH_OPERATORS:
                each = MeasuredFunction(path, kind)
                if _may_take(path, each.dtype):
                    yield each


def _may_take(path: str, dtype: np.dtype) -> bool:
    if path.startswith(LIBDEVICE):
        return dtype == (np.float32 if path.endswith("f") else np.float64)
    if path.startswith(("cmath.", HALVES)):
        return dtype.kind == "c" if path.startswith("cmath.") else dtype == np.float16
    if path.startswith(("math.", "numpy.")):  # of integers, which most of these convert: of one type for all
        return dtype.kind not in "iu" or dtype == np.int64
    return dtype.kind in "iu" or path not in OF_BITS


def of(function: MeasuredFunction) -> Cost | None:
    """What a call costs; None where Numba refuses it."""
    from numba import cuda

    for arity in range(1, MOST + 1):
        names: dict[str, Any] = {"cuda": cuda, "numpy": np, "math": math, "cmath": cmath, "operator": operator}
        given = NAMES[: 2 * arity]
        exec(f"def function({', '.join(given[:arity])}):\n    return {function.called(given[:arity])}", names)
        real = _numba_type(function.dtype)
        try:
            _, result = cuda.compile_ptx(names["function"], (real,) * arity, device=True, cc=(9, 0))
            dtype = np.dtype(str(result).replace("bool", "bool_") if str(result) != "boolean" else "bool_")
        except Exception:  # typing errors of many kinds: of another number of arguments it may be one
            continue
        try:
            return _counted(function, given, arity, dtype, names)
        except Exception as problem:  # it needs more than PTX, or what comes out is no number
            print(f"{function.path} of {function.kind}: {str(problem).splitlines()[0]}", flush=True)
            return None
    return None


def source_of(given: Sequence[str], first: str, second: str) -> str:
    """A kernel that stores two values, made of numbers of these names."""
    loads = "\n".join(f"    {name} = all_{name}[i]\n    all_{name}[i + {WARP}] = {name}" for name in given)
    return KERNEL.format(names=", ".join(f"all_{name}" for name in given), loads=loads, first=first, second=second)


def _numba_type(dtype: np.dtype) -> Any:
    import numba
    from numba.cuda.types import float16

    return float16 if dtype == np.float16 else getattr(numba, dtype.name)


def _counted(
    function: MeasuredFunction, given: Sequence[str], arity: int, dtype: np.dtype, names: dict[str, Any]
) -> Cost:
    """What kernels with one call and with two have more than one without."""
    one, two = function.called(given[:arity]), function.called(given[arity:])
    texts = (("0", "0"), (one, "0"), (one, two))
    none, first, both = (_instructions(function, given, dtype, names, *each) for each in texts)
    slots = first[0] - none[0]
    return slots, max(0, slots - (both[0] - first[0])), first[1] - none[1]


def _instructions(
    function: MeasuredFunction, given: Sequence[str], dtype: np.dtype, names: dict[str, Any], first: str, second: str
) -> tuple[int, int]:
    """All that a warp carries out, and what of it the float64 pipe does."""
    from numba import cuda

    from autograder.simgpu.measurements.machine_code_emulator.decoding import Unsupported
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    source = source_of(given, first, second)
    exec(compile(source, "<kernel>", "exec"), names)
    is_fast = function.kind == FAST
    arrays = (*(function.numbers() for _ in given), np.zeros(WARP, dtype), np.zeros(WARP, dtype))
    try:
        done = carried_out(cuda.jit(names["kernel"], fastmath=is_fast), 1, WARP, arrays)
        return done.total("warps"), done.total("warps", *OF_FLOAT64)
    except (Unsupported, ValueError):
        types = [_numba_type(each.dtype)[::1] if each.dtype != bool else _boolean()[::1] for each in arrays]
        way = usual_way(compiled(source, types, fastmath=is_fast))
        return len(way), sum(each.name in OF_FLOAT64 for each in way)


def _boolean() -> Any:
    import numba

    return numba.boolean


def _ready() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile


def main(paths: Sequence[str]) -> None:
    """Counts all functions, or those whose paths are given, and keeps the numbers of all others."""
    found: dict[str, dict[str, Cost]] = {kind: {} for kind in TYPES}
    if paths:
        found |= json.loads(COSTS.read_text(encoding="utf-8"))["costs"]
    asked = [each for each in functions() if not paths or each.path in paths]
    with ProcessPoolExecutor(initializer=_ready) as pool:
        for function, counted in zip(asked, pool.map(of, asked, chunksize=8), strict=True):
            found[function.kind].pop(function.path, None)
            if counted is not None:
                found[function.kind][function.path] = counted
    rows = [
        f'  "{kind}": {{\n' + ",\n".join(f'   "{path}": {json.dumps(costs[path])}' for path in sorted(costs)) + "\n  }"
        for kind, costs in found.items()
    ]
    text = f'{{\n "versions": {json.dumps(versions())},\n "costs": {{\n' + ",\n".join(rows) + "\n }\n}\n"
    COSTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""What functions cost: each that the simulated GPU knows was counted in machine code, and a call costs what was counted."""

from __future__ import annotations

import cmath
import json
import linecache
import math
import operator
from typing import Any

import numpy as np
import pytest

from autograder.simgpu.facts.instruction_costs import LIBRARIES, costs_of_functions
from autograder.simgpu.functions.known_functions import CALLS
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements import function_costs
from autograder.simgpu.measurements.function_costs import FAST, NAMES, OF_ARRAYS, MeasuredFunction

cuda = cuda_module.build_module()
TABLE: dict[str, dict[str, list[int]]] = json.loads(function_costs.COSTS.read_text(encoding="utf-8"))["costs"]
OF_TWO_RESULTS = ("modf", "modff", "sincos", "sincosf", "frexp", "polar")


def kernel_of(source: str, *, fastmath: bool = False) -> Any:
    file = f"<function costs {len(linecache.cache)}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {
        "cuda": cuda, "numpy": np, "math": math, "cmath": cmath, "operator": operator, "random": cuda.random,
        "float32": np.float32,
    }  # fmt: skip
    exec(compile(source, file, "exec"), names)
    return cuda.jit(names["kernel"], fastmath=fastmath)


def issued(function: MeasuredFunction, arity: int, result: np.dtype, calls: int) -> tuple[int, int]:
    """The machine instructions of a kernel that calls a function so often, with other numbers each time; of float64."""
    given = NAMES[: 2 * arity]
    texts = [function.called(given[:arity]), function.called(given[arity:])][:calls]
    kernel = kernel_of(function_costs.source_of(given, *texts, *["0"] * (2 - calls)), fastmath=function.kind == FAST)
    arrays = (*(function.numbers() for _ in given), np.zeros(32, result), np.zeros(32, result))
    counted = launch_once(kernel, 1, 32, *arrays).compiled
    return counted.issued_warp_instructions, counted.issued_float64_instructions


def test_the_table_is_that_of_the_script() -> None:
    known = {kind: {path: [*cost] for path, cost in costs.items()} for kind, costs in costs_of_functions().items()}
    assert known == TABLE
    assert set(TABLE) == set(function_costs.TYPES)
    asked = {(each.kind, each.path) for each in function_costs.functions()}
    assert {(kind, path) for kind, costs in TABLE.items() for path in costs} <= asked


@pytest.mark.parametrize("kind", ["float32", "float64", FAST, "complex64"])
@pytest.mark.parametrize("library", ["math.", "cmath.", "numpy.", "numba.cuda.libdevice."])
def test_a_call_costs_what_was_counted_and_a_second_one_finds_the_constants(kind: str, library: str) -> None:
    for path, (slots, constants, of_float64) in TABLE[kind].items():
        function = MeasuredFunction(path, kind)
        arity = max(1, CALLS[path].signature.least)
        result = function.dtype
        if not path.startswith(library) or path in ("math.floor", "math.ceil", "math.trunc") or "is" in path:
            continue  # their results are of other types
        if kind == "complex64" and path in ("cmath.phase", "numpy.logical_and", "numpy.logical_or"):
            continue
        (base, base_64), (one, one_64), (two, two_64) = (issued(function, arity, result, calls) for calls in range(3))
        assert one - base == slots, path
        assert two - one == slots - constants, path
        assert (base_64, one_64) == (0, of_float64), path
        assert two_64 - one_64 == min(of_float64, two - one), path


def test_every_function_of_numbers_was_counted_or_is_refused_by_numba() -> None:
    counted = {path for costs in TABLE.values() for path in costs}
    for path in CALLS:
        if path.startswith(LIBRARIES) and path not in counted | OF_ARRAYS and "fp16" not in path:
            if not path.endswith(OF_TWO_RESULTS):
                assert not any(map(is_accepted, (MeasuredFunction(path, kind) for kind in function_costs.TYPES))), path


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("math.sqrt(numpy.int32(i))", ("int64", "math.sqrt")),
        ("math.atan2(numpy.float32(0.5), x)", ("float64", "math.atan2")),
        ("cuda.popc(numpy.uint8(i))", ("int32", "numba.cuda.popc")),
        ("cuda.libdevice.sin(numpy.float32(x))", ("float64", "numba.cuda.libdevice.sin")),
    ],
)
def test_numbers_of_other_types_are_counted_as_what_numba_converts_them_to(text: str, counted: tuple[str, str]) -> None:
    kernel = kernel_of(f"def kernel(a, o):\n    i = cuda.threadIdx.x\n    x = a[i]\n    o[i] = x * {text}\n")
    bare = kernel_of("def kernel(a, o):\n    i = cuda.threadIdx.x\n    x = a[i]\n    o[i] = x * 2.0\n")
    numbers = np.linspace(0.1, 0.9, 32)
    more = [launch_once(each, 1, 32, numbers, np.zeros(32)).compiled.issued_warp_instructions for each in (bare, kernel)]
    slots = TABLE[counted[0]][counted[1]][0]
    assert slots <= more[1] - more[0] <= slots + 3, "and what converts them"


def is_accepted(function: MeasuredFunction) -> bool:
    for arity in range(1, 4):
        try:
            issued(function, arity, function.dtype, 1)
            return True
        except Exception:  # of whatever kind the refusal is
            continue
    return False

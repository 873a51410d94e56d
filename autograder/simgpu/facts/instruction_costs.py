"""The machine instructions of single operations and functions, as two scripts counted them.

measurements/instruction_costs.py counted operations, measurements/function_costs.py functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, common

TABLE = Path(__file__).with_suffix(".json")
FUNCTIONS = TABLE.with_name("function_costs.json")
FAST = "float32, fastmath"
LIBRARIES = ("math.", "numpy.", "cmath.", "numba.cuda.libdevice.", "numba.cuda.fp16.")
NOT_COUNTED = {2: 4, 4: 20, 8: 60, 16: 60}  # a function of these that the emulator could not count, by its type's size


class FunctionCost(NamedTuple):
    """What a call of a function takes."""

    slots: int  # machine instructions
    constants: int  # of these, those that bring constants into registers
    of_float64: int  # of these, those that the pipe of float64 carries out


@cache
def costs() -> Mapping[str, Mapping[str, int]]:
    """The instructions of operations by type ("int64", "float32", ...)."""
    table: Mapping[str, Mapping[str, int]] = _read(TABLE)
    return table


@cache
def costs_of_functions() -> Mapping[str, Mapping[str, FunctionCost]]:
    """By type and path, what a call takes."""
    table: Mapping[str, Mapping[str, Sequence[int]]] = _read(FUNCTIONS)
    return {kind: {path: FunctionCost(*each) for path, each in of_kind.items()} for kind, of_kind in table.items()}


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["costs"]


def of_integers(operation: str) -> int:
    """An operation on integers, which Numba computes with 64 bits."""
    return costs()["int64"][operation]


def of_floats(operation: str, dtype: np.dtype, *, is_fast: bool = False) -> int:
    """An operation on floats (float16 as float32); 1 if the table has none for floats. `is_fast`: with fastmath."""
    kind = "float64" if dtype.itemsize == 8 else FAST if is_fast else "float32"
    return costs()[kind].get(operation, 1)


def of_float64_pipe(operation: str) -> int:
    """Of the instructions of an operation on float64, those that the pipe of float64 carries out: none of bitwise ones."""
    return costs()["float64 pipe"].get(operation, 0)


def of_function(path: str, dtypes: Sequence[np.dtype | None], *, is_fast: bool = False) -> FunctionCost | None:
    """What a call of a function of numbers of these types takes.

    None of what is no function of numbers. A type that is not known is taken for float64.
    """
    if any(each is not None and each.kind not in "biufc" for each in dtypes):
        return None
    dtype = reduce(common, (FLOAT64 if each is None else each for each in dtypes))
    table = costs_of_functions()
    kinds = [dtype.name]
    if dtype.kind in "iub":  # those of fewer bits as of 32
        kinds += ["int32", "int64"] if dtype.itemsize <= 4 else ["int64"]
    kinds += ["float32", "float64"]  # of one type alone, to which Numba converts what it is given
    if is_fast and dtype == FLOAT32:
        kinds.insert(0, FAST)
    for kind in kinds:
        if path in table.get(kind, ()):
            return table[kind][path]
    return FunctionCost(NOT_COUNTED.get(dtype.itemsize, 1), 0, 0) if path.startswith(LIBRARIES) else None

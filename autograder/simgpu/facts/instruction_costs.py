"""The machine instructions of single operations and functions, as two scripts counted them.

measurements/instruction_costs.py counted operations, measurements/function_costs.py functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, common

TABLE = Path(__file__).with_suffix(".json")
FUNCTIONS = TABLE.with_name("function_costs.json")
FAST = "float32, fastmath"
LIBRARIES = ("math.", "numpy.", "cmath.", "numba.cuda.libdevice.", "numba.cuda.fp16.")
NOT_COUNTED = {2: 4, 4: 20, 8: 60, 16: 60}  # a function of these that the emulator could not count, by its type's size


@cache
def costs() -> Mapping[str, Mapping[str, int]]:
    """The instructions of operations by type ("int64", "float32", ...)."""
    table: Mapping[str, Mapping[str, int]] = _read(TABLE)
    return table


@cache
def costs_of_functions() -> Mapping[str, Mapping[str, tuple[int, int]]]:
    """By type and path: the instructions of a call, and how many of them bring constants into registers."""
    table: Mapping[str, Mapping[str, tuple[int, int]]] = _read(FUNCTIONS)
    return table


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["costs"]


def of_integers(operation: str) -> int:
    """An operation on integers, which Numba computes with 64 bits."""
    return costs()["int64"][operation]


def of_floats(operation: str, dtype: np.dtype, *, is_fast: bool = False) -> int:
    """An operation on floats (float16 as float32); 1 if the table has none for floats. `is_fast`: with fastmath."""
    kind = "float64" if dtype.itemsize == 8 else FAST if is_fast else "float32"
    return costs()[kind].get(operation, 1)


def of_function(path: str, dtypes: Sequence[np.dtype | None], *, is_fast: bool = False) -> tuple[int, int] | None:
    """The instructions of a function of numbers of these types, and how many of them bring constants into registers.

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
            slots, constants = table[kind][path]
            return slots, constants
    return (NOT_COUNTED.get(dtype.itemsize, 1), 0) if path.startswith(LIBRARIES) else None

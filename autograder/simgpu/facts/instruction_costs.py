"""The machine instructions of single operations, as measurements/instruction_costs.py counted them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".json")
OTHER_FUNCTION = {4: 20, 8: 60}  # a library function that was not measured, by the size of its type
AS = {"degrees": "product", "radians": "product", "trunc": "math.floor", "isnan": "negation", "isinf": "negation",
      "copysign": "negation", "fma": "product"}  # fmt: skip


@cache
def costs() -> Mapping[str, Mapping[str, int]]:
    """The table: instructions by type ("int64", "float32", ...) and operation."""
    table: Mapping[str, Mapping[str, int]] = json.loads(TABLE.read_text(encoding="utf-8"))["costs"]
    return table


def of_integers(operation: str) -> int:
    """An operation on integers, which Numba computes with 64 bits."""
    return costs()["int64"][operation]


def of_floats(operation: str, dtype: np.dtype) -> int:
    """An operation on floats (float16 as float32); 1 if the table has none for floats."""
    return costs()["float64" if dtype.itemsize == 8 else "float32"].get(operation, 1)


def of_function(name: str, is_double: bool) -> int:
    """A function of the module `math`."""
    known = costs()["float64" if is_double else "float32"]
    return known.get(AS.get(name, f"math.{name}"), OTHER_FUNCTION[8 if is_double else 4])


def constants_of_function(name: str, is_double: bool) -> int:
    """How many of these instructions load constants into registers, which is done before a loop around."""
    known = costs()["float64, constants" if is_double else "float32, constants"]
    return known.get(AS.get(name, f"math.{name}"), 0)

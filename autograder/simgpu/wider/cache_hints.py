"""Loads and stores with a cache hint: ordinary ones, as which cache keeps the line is beyond this simulation."""

from __future__ import annotations

from autograder.simgpu.functions.intrinsics import CUDA, indices_of
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Array, Index, Number
from autograder.simgpu.values.values import Arithmetic


@intrinsic(*(f"{CUDA}.{name}" for name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv")))
def load(call: Call, array: Array, i: Index, /) -> Arithmetic:
    """array[i]."""
    return call.load(array, indices_of(call, array, i))


@intrinsic(*(f"{CUDA}.{name}" for name in ("stcg", "stcs", "stwb", "stwt")))
def store(call: Call, array: Array, i: Index, value: Number, /) -> None:
    """array[i] = value."""
    call.store(array, indices_of(call, array, i), value)

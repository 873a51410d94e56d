"""All functions that kernels may call: importing this fills the tables `CALLS` (by path) and `METHODS` (of arrays)."""

from __future__ import annotations

from autograder.simgpu.functions import array_methods, intrinsics, library_functions, math_functions, warp_intrinsics
from autograder.simgpu.operations import conversions
from autograder.simgpu.operations.registry import CALLS, METHODS, VALUES
from autograder.simgpu.wider import cache_hints, complex_math, half_precision, libdevice, random_numbers, vector_types

CORE = (intrinsics, array_methods, conversions, library_functions, math_functions, warp_intrinsics)
WIDER = (cache_hints, complex_math, half_precision, libdevice, random_numbers, vector_types)

__all__ = ["CALLS", "CORE", "METHODS", "VALUES", "WIDER"]

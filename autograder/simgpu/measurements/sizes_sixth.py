"""The sixth set, from whose times intervals are made and nothing else: ordinary kernels, each at two sizes."""

from __future__ import annotations

from autograder.simgpu.measurements.sixth_grids import GRIDS
from autograder.simgpu.measurements.sixth_irregular import IRREGULAR
from autograder.simgpu.measurements.sixth_numerics import NUMERICS
from autograder.simgpu.measurements.sixth_structures import STRUCTURES
from autograder.simgpu.measurements.sizing import Sized

SIXTH: tuple[Sized, ...] = (*NUMERICS, *GRIDS, *STRUCTURES, *IRREGULAR)

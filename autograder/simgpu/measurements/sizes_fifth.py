"""The fifth set, which rules and figures of the model may be made from: ordinary kernels, each at two sizes."""

from __future__ import annotations

from autograder.simgpu.measurements.fifth_grids import GRIDS
from autograder.simgpu.measurements.fifth_irregular import IRREGULAR
from autograder.simgpu.measurements.fifth_numerics import NUMERICS
from autograder.simgpu.measurements.fifth_structures import STRUCTURES
from autograder.simgpu.measurements.sizing import Sized

FIFTH: tuple[Sized, ...] = (*NUMERICS, *GRIDS, *STRUCTURES, *IRREGULAR)

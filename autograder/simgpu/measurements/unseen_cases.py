"""The cases that nobody tuned the model on: each unseen kernel at two sizes at which a GPU has work, in two halves.

A rule or a figure of the model may be made from the learned half; the held half is only ever predicted. A kernel's name
decides (`unseen_kernels.is_held`), so that both its sizes are in one half. Other sets are of neither half. The third to the
seventh are there to learn from; the third, sixth and seventh were kept for intervals until others came. By the times of the
eighth intervals are made, and nothing else.

    python -m autograder.simgpu.measurements.unseen_cases      # lists them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autograder.simgpu.measurements import (
    eighth_grids,
    eighth_irregular,
    eighth_numerics,
    eighth_structures,
    fifth_grids,
    fifth_irregular,
    fifth_numerics,
    fifth_structures,
    fourth_grids,
    fourth_irregular,
    fourth_numerics,
    fourth_structures,
    seventh_grids,
    seventh_irregular,
    seventh_numerics,
    seventh_structures,
    sixth_grids,
    sixth_irregular,
    sixth_numerics,
    sixth_structures,
)
from autograder.simgpu.measurements.sizes_collectives import COLLECTIVES
from autograder.simgpu.measurements.sizes_further import FURTHER
from autograder.simgpu.measurements.sizes_irregular import IRREGULAR
from autograder.simgpu.measurements.sizes_matrices import MATRICES
from autograder.simgpu.measurements.sizes_numerics import NUMERICS
from autograder.simgpu.measurements.sizes_stencils import STENCILS
from autograder.simgpu.measurements.sizes_third import THIRD
from autograder.simgpu.measurements.sizing import Sized, SizedCase

SIZED: tuple[Sized, ...] = (*STENCILS, *MATRICES, *COLLECTIVES, *IRREGULAR, *NUMERICS, *FURTHER)
CASES: tuple[SizedCase, ...] = tuple(each.case(size) for each in SIZED for size in (each.middle, each.large))
LEARNED: tuple[SizedCase, ...] = tuple(case for case in CASES if case.half == "learned")
HELD: tuple[SizedCase, ...] = tuple(case for case in CASES if case.half == "held")
OF_FOURTH = *fourth_numerics.NUMERICS, *fourth_grids.GRIDS, *fourth_structures.STRUCTURES, *fourth_irregular.IRREGULAR
OF_FIFTH = *fifth_numerics.NUMERICS, *fifth_grids.GRIDS, *fifth_structures.STRUCTURES, *fifth_irregular.IRREGULAR
OF_SIXTH = *sixth_numerics.NUMERICS, *sixth_grids.GRIDS, *sixth_structures.STRUCTURES, *sixth_irregular.IRREGULAR
OF_SEVENTH = *seventh_numerics.NUMERICS, *seventh_grids.GRIDS, *seventh_structures.STRUCTURES, *seventh_irregular.IRREGULAR
OF_EIGHTH = *eighth_numerics.NUMERICS, *eighth_grids.GRIDS, *eighth_structures.STRUCTURES, *eighth_irregular.IRREGULAR
OF_SETS = {
    "third": THIRD, "fourth": OF_FOURTH, "fifth": OF_FIFTH, "sixth": OF_SIXTH, "seventh": OF_SEVENTH, "eighth": OF_EIGHTH,
}  # fmt: skip
SETS: Mapping[str, tuple[Sized, ...]] = {
    name: tuple(replace(each, apart=name) for each in kernels) for name, kernels in OF_SETS.items()
}
CASES_OF_SETS: Mapping[str, tuple[SizedCase, ...]] = {
    name: tuple(each.case(size) for each in kernels for size in (each.middle, each.large)) for name, kernels in SETS.items()
}
ALL_CASES: tuple[SizedCase, ...] = (*CASES, *(case for cases in CASES_OF_SETS.values() for case in cases))

if __name__ == "__main__":
    for case in ALL_CASES:
        print(case.name, case.half, sep="\t")

"""The cases that nobody tuned the model on: each unseen kernel at two sizes at which a GPU has work, in two halves.

A rule or a figure of the model may be made from the learned half; the held half is only ever predicted. A kernel's name
decides (`unseen_kernels.is_held`), so that both its sizes are in one half. Other sets are of neither half. The third, the
fourth and the fifth are there to learn from; the third was kept for intervals until there were others. By the times of the
sixth intervals are made, and nothing else.

    python -m autograder.simgpu.measurements.unseen_cases      # lists them
"""

from __future__ import annotations

from autograder.simgpu.measurements.sizes_collectives import COLLECTIVES
from autograder.simgpu.measurements.sizes_fifth import FIFTH
from autograder.simgpu.measurements.sizes_fourth import FOURTH
from autograder.simgpu.measurements.sizes_further import FURTHER
from autograder.simgpu.measurements.sizes_irregular import IRREGULAR
from autograder.simgpu.measurements.sizes_matrices import MATRICES
from autograder.simgpu.measurements.sizes_numerics import NUMERICS
from autograder.simgpu.measurements.sizes_sixth import SIXTH
from autograder.simgpu.measurements.sizes_stencils import STENCILS
from autograder.simgpu.measurements.sizes_third import THIRD
from autograder.simgpu.measurements.sizing import Sized, SizedCase

SIZED: tuple[Sized, ...] = (*STENCILS, *MATRICES, *COLLECTIVES, *IRREGULAR, *NUMERICS, *FURTHER)
CASES: tuple[SizedCase, ...] = tuple(each.case(size) for each in SIZED for size in (each.middle, each.large))
LEARNED: tuple[SizedCase, ...] = tuple(case for case in CASES if case.half == "learned")
HELD: tuple[SizedCase, ...] = tuple(case for case in CASES if case.half == "held")
THIRD_SET: tuple[SizedCase, ...] = tuple(each.case(size) for each in THIRD for size in (each.middle, each.large))
FOURTH_SET: tuple[SizedCase, ...] = tuple(each.case(size) for each in FOURTH for size in (each.middle, each.large))
FIFTH_SET: tuple[SizedCase, ...] = tuple(each.case(size) for each in FIFTH for size in (each.middle, each.large))
SIXTH_SET: tuple[SizedCase, ...] = tuple(each.case(size) for each in SIXTH for size in (each.middle, each.large))

if __name__ == "__main__":
    for case in (*CASES, *THIRD_SET, *FOURTH_SET, *FIFTH_SET, *SIXTH_SET):
        print(case.name, case.half, sep="\t")

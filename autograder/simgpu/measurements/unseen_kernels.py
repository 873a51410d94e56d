"""Ordinary kernels beside the 177 of cases.py: half to learn the compiler's ways from, half held back for a test.

A rule of the simulated GPU may be made from the "learned" half alone; the "held" half says how well it carries over.
A name's half is the lowest bit of the first byte of its SHA-256: 0 is learned, 1 is held.
"""

from __future__ import annotations

import hashlib

from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.unseen_collectives import COLLECTIVES
from autograder.simgpu.measurements.unseen_entries import Unseen
from autograder.simgpu.measurements.unseen_irregular import IRREGULAR
from autograder.simgpu.measurements.unseen_matrices import MATRICES
from autograder.simgpu.measurements.unseen_numerics import NUMERICS
from autograder.simgpu.measurements.unseen_stencils import STENCILS

UNSEEN: tuple[Unseen, ...] = (*STENCILS, *MATRICES, *COLLECTIVES, *IRREGULAR, *NUMERICS)


def is_held(name: str) -> bool:
    """Whether the case of this name is of the held half."""
    return hashlib.sha256(name.encode()).digest()[0] & 1 == 1


CASES: tuple[Case, ...] = tuple(each.case for each in UNSEEN)
LEARNED: tuple[Case, ...] = tuple(case for case in CASES if not is_held(case.name))
HELD: tuple[Case, ...] = tuple(case for case in CASES if is_held(case.name))

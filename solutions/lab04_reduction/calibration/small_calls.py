"""The functions of lab 4 that its host calls, and small arguments of the types that grading gives them.

`python -m autograder.grading.known_answers.compiling` asks Numba for the kernels that are launched so.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def calls() -> dict[str, tuple[Any, ...]]:
    """By function, its arguments."""
    return {"total_sum": (np.ones(5000, np.float32), np.zeros(4096, np.float32), np.zeros(1, np.float32))}

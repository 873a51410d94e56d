"""The functions of lab 5 that its host calls, and small arguments of the types that grading gives them.

`python -m autograder.grading.known_answers.compiling` asks Numba for the kernels that are launched so.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def calls() -> dict[str, tuple[Any, ...]]:
    """By function, its arguments."""
    return {"histogram": (np.arange(3000, dtype=np.int32) % 100, np.zeros(100, np.int32))}

"""The functions of lab 6 that its host calls, and small arguments of the types that grading gives them.

`python -m autograder.grading.known_answers.compiling` asks Numba for the kernels that are launched so.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def calls() -> dict[str, tuple[Any, ...]]:
    """By function, its arguments."""
    nodes = 500
    successor = np.append(np.arange(1, nodes), nodes - 1).astype(np.int32)
    return {"rank_list": (successor, np.zeros(nodes, np.int32), np.zeros((7, nodes), np.int32))}

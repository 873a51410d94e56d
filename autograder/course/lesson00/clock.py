"""How long something takes here, for a reader with a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numba import cuda


def measured_ms(action: Callable[[], object], repeats: int = 7) -> float:
    """The median time of an action in milliseconds, until the GPU is done, by the computer's clock.

    The first run, in which a kernel is compiled, does not count.
    """
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times[1:]))

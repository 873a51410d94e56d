"""How long a call takes on the GPU at hand, for the cells that measure there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def milliseconds(call: Callable[[], Any], prepare: Callable[[], Any] = lambda: None, repeats: int = 5) -> float:
    """The median time of a call, between two events on the GPU's own clock; `prepare` is not timed."""
    from numba import cuda  # the real one: nobody else has a clock

    times = []
    for _ in range(repeats + 1):
        prepare()
        start, end = cuda.event(), cuda.event()
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return float(np.median(times[1:]))  # the first launch compiles

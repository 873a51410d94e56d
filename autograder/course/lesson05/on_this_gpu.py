"""Times a histogram on the reader's own GPU, where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

THREADS, BINS = 256, 256


def measured_ms(kernel: Any, blocks: int, items: np.ndarray, repeats: int = 5) -> float:
    """The median time of a launch between two events on the GPU's own clock; the bins are not cleared in between."""
    on_device, bins = cuda.to_device(items), cuda.to_device(np.zeros(BINS, np.int32))
    kernel[blocks, THREADS](on_device, bins)  # the first launch compiles, so it is not timed
    times = []
    for _ in range(repeats):
        start, end = cuda.event(), cuda.event()
        start.record()
        kernel[blocks, THREADS](on_device, bins)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return float(np.median(times))

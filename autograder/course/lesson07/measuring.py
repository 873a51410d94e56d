"""How long a product takes on the reader's own GPU."""

from __future__ import annotations

from typing import Any

import numpy as np


def measured_ms(kernel: Any, n: int, repeats: int = 7) -> float:
    """The median time of an n x n product in blocks of (32, 32), in milliseconds between two events on the GPU's clock.

    `n` is a multiple of 32. The first launch compiles, so it is not timed. Needs a CUDA GPU.
    """
    from numba import cuda

    rng = np.random.default_rng(2009)
    on_device = [cuda.to_device(rng.random((n, n), dtype=np.float32)) for _ in range(2)]
    on_device.append(cuda.device_array((n, n), np.float32))
    launch = kernel[(n // 32, n // 32), (32, 32)]
    launch(*on_device)
    times = list[float]()
    for _ in range(repeats):
        start, end = cuda.event(), cuda.event()
        start.record()
        launch(*on_device)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return float(np.median(times))

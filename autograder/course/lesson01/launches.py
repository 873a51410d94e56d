"""Launches of lesson 1's kernels that its notebooks make more than once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def sampled(kernel: Any, n: int) -> Any:
    """The profile of a launch that multiplies n x n float32 matrices in blocks of 32 x 32.

    Counted in four of its blocks, spread over the grid, and scaled up: every block does the same here.
    """
    from autograder import profile  # the simulated GPU is only loaded for the launches that need it

    zeros, blocks = np.zeros((n, n), np.float32), math.ceil(n / 32)
    launch = profile(kernel, sample_blocks=4)[(blocks, blocks), (32, 32)]
    return launch(zeros, zeros, np.zeros_like(zeros))


def measured_ms(cuda: Any, kernel: Any, n: int, repeats: int = 5) -> float:
    """The median time of such a launch on the GPU behind `cuda`, between two events on its own clock, in ms."""
    rng = np.random.default_rng(2012)
    on_device = [cuda.to_device(rng.random((n, n), dtype=np.float32)) for _ in range(2)]
    on_device.append(cuda.device_array((n, n), np.float32))
    blocks = math.ceil(n / 32)
    kernel[(blocks, blocks), (32, 32)](*on_device)  # the first launch compiles, so it is not timed
    times = []
    for _ in range(repeats):
        start, end = cuda.event(), cuda.event()
        start.record()
        kernel[(blocks, blocks), (32, 32)](*on_device)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return float(np.median(times))

"""How long a call takes on the GPU at hand, for the cells that measure there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.course.lesson06.lists import THREADS, Array


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


def walk_milliseconds(kernel: Any, successor: Array, splitters: Array) -> float:
    """The time of one launch that walks from all these splitters; `sublist` is marked anew before each, untimed."""
    from numba import cuda

    marks = np.full(successor.size, -1, np.int32)
    marks[splitters] = np.arange(splitters.size)
    sublist = cuda.to_device(marks)
    outputs = [cuda.device_array(length, np.int32) for length in (successor.size, splitters.size, splitters.size)]
    arguments = (cuda.to_device(successor), cuda.to_device(splitters), sublist, *outputs)
    blocks = -(-splitters.size // THREADS)
    return milliseconds(lambda: kernel[blocks, THREADS](*arguments), lambda: sublist.copy_to_device(marks))

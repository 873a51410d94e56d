"""The real GPU, through numba-cuda: the same `Device` as the simulated one, with measured times in place of counters.

Nothing here imports numba or touches a driver before it is asked to.
"""

from __future__ import annotations

from typing import Any

from autograder.cudagpu.availability import GpuFinding, find_gpu, is_available

__all__ = ["GpuDevice", "GpuFinding", "find_gpu", "is_available"]


def __getattr__(name: str) -> Any:
    if name == "GpuDevice":
        from autograder.cudagpu.device import GpuDevice

        return GpuDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

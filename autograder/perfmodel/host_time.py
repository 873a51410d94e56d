"""What host code adds to the predicted time of a call, and the least time that any call can take.

A copy cannot be faster than the link between host and GPU, and arithmetic on a host's array not faster than its memory.
Real ones are slower; new device arrays cost nothing, as from a pool of memory (the GPU's clock has them ready as well).
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.perfmodel.specification import Specification
from autograder.records.transfers import Transfer

LINK_GB_PER_S = 55.0  # PCI Express 5.0 x16 from pinned memory; from NumPy's it is a fifth of that
HOST_GB_PER_S = 20.0  # one core that streams through its memory
LATENCY_NS = 5_000.0  # of a copy: the call, and waiting for the GPU
MAKING = ("device_array", "device_array_like")
WAITING = ("synchronize",)


def host_ns(transfers: Sequence[Transfer]) -> float:
    """Nanoseconds that host code takes beside launching, at the least."""
    total = 0.0
    for each in transfers:
        if each.is_host_work:
            total += each.size_bytes / HOST_GB_PER_S
        elif each.what not in MAKING:
            total += LATENCY_NS + each.size_bytes / LINK_GB_PER_S * (each.what not in WAITING)
    return total


def floor_ns(input_bytes: float, specification: Specification) -> float:
    """The least time in which inputs can be read from DRAM once."""
    return input_bytes / specification.dram_gb_per_s

"""What host code of a submission asked of the device beside launches: copies, single elements, new arrays, waiting."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.errors import Line

HOST_WORK = "NumPy's "  # what comes before the function's name in `what`, and stands for all such work
LEAST_HOST_BYTES = 1 << 14  # of an array: below, arithmetic on it costs no more than the call


@dataclass(frozen=True)
class Transfer:
    """One such request; on a GPU each makes the host wait, or sets memory aside, while a launch does neither.

    `what` is the call by its name ("copy_to_host", "to_device", "device_array", "synchronize" ...) or "an element".
    `is_host_work`: nothing was asked of the device, and NumPy goes through a large array on the host.
    """

    what: str
    size_bytes: int
    line: Line | None
    is_host_work: bool = False
    launches_before: int = 0  # of the same call

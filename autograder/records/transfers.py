"""What host code of a submission asked of the device beside launches: copies, single elements, new arrays, waiting."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.errors import Line

HOST_WORK = "NumPy's "
LEAST_HOST_BYTES = 1 << 14  # of an array: below, arithmetic on it costs no more than the call


@dataclass(frozen=True)
class Transfer:
    """One such request; on a GPU each makes the host wait, or sets memory aside, while a launch does neither.

    `what` is the call by its name ("copy_to_host", "to_device", "device_array", "synchronize" ...) or "an element"; where
    NumPy goes through a large array on the host it begins with `HOST_WORK`.
    """

    what: str
    size_bytes: int
    line: Line | None

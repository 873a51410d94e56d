"""What a launch leaves behind, its estimated time, and what several launches come to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.errors import KernelFault
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.simgpu.exceptions import Raised
from autograder.simgpu.values.lanes import Dim3


@dataclass(frozen=True)
class LaunchRecord:
    """What one launch did: counted work in total and by line, hazards, and the sizes needed to estimate its time."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    counters: Counters  # what the source says
    compiled: Counters  # what the compiler leaves of it: what hardware counts, and what takes time
    lines: tuple[LineProfile, ...]  # none where nobody wants them
    hazards: tuple[Hazard, ...]
    array_bytes: int
    # those it was given arrays of, each by the `id` of its whole buffer, which is another one in the same launch made again
    allocations: frozenset[int] = field(default=frozenset(), compare=False)
    registers_per_thread: int | None = None
    fault: KernelFault | None = None
    raised: Raised | None = None  # the first exception that a kernel raised


def estimate_launch(record: LaunchRecord, model: str) -> Any:
    """The performance model's estimate for one launch on a device model."""
    from autograder.perfmodel import SPECIFICATIONS, estimate

    x, y, z = record.block

    return estimate(
        record.compiled,
        SPECIFICATIONS[model],
        threads_per_block=x * y * z,
        shared_bytes_per_block=record.shared_bytes,
        registers_per_thread=record.registers_per_thread,
        array_bytes=record.array_bytes,
    )


def merged_lines(records: Sequence[LaunchRecord]) -> tuple[LineProfile, ...]:
    """The lines of several launches, each line once."""
    merged: dict[Any, LineProfile] = {}
    for record in records:
        for line in record.lines:
            known = merged.get(line.line)
            merged[line.line] = line if known is None else known + line
    return tuple(merged[line] for line in sorted(merged))


def merged_hazards(records: Sequence[LaunchRecord]) -> tuple[Hazard, ...]:
    """The hazards of several launches, each kind at each line and array once."""
    merged: dict[Any, Hazard] = {}
    for record in records:
        for hazard in record.hazards:
            key = (hazard.kind, hazard.line, hazard.array, hazard.severity)
            known = merged.get(key)
            merged[key] = (
                hazard if known is None else replace(known, occurrences=known.occurrences + hazard.occurrences)
            )
    return tuple(merged.values())

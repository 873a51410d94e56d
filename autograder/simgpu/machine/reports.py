"""Hazards as they are found: described at their first occurrence, with source line, block and thread."""

from __future__ import annotations

from typing import Any

from autograder.records.hazards import Hazard, HazardKind
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Batch


class Reports:
    """Tells a launch what its operations find wrong in one batch of blocks."""

    def __init__(self, launch: LaunchState, batch: Batch) -> None:
        self.launch = launch
        self.batch = batch

    def report(self, kind: HazardKind, op: Operation, *, lane: int, message: str, remedy: str, **more: Any) -> None:
        """Records a hazard at an operation's source line; `more` are further fields of `Hazard`."""
        block, thread = self.batch.who(lane)
        self.launch.add_hazard(
            Hazard(
                kind=kind,
                message=message,
                remedy=remedy,
                line=op.line,
                text=op.line_text,
                kernel=self.launch.kernel.name,
                block=block,
                thread=thread,
                **more,
            )
        )

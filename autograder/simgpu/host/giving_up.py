"""A timed run that is sure to be too slow is given up: what it has done so far is estimated from time to time.

What a launch takes only grows with what it does. Once that earns nothing any more, the rest need not be stepped through: a
grid of a few blocks, each of which has more to do than a simulated GPU does in minutes, is known after seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.errors import TooSlow
from autograder.simgpu.host.launch_record import LaunchRecord, estimate_launch
from autograder.simgpu.operations.operation import Operation

FIRST_LOOK = 4_000_000  # units of work, half a second: more than most right answers do
GROWS = 1.25  # times the work, from one look to the next
MUCH = (
    50_000_000  # units of work: what has done less has to be slower in proportion, so that it is mostly told how slow
)
MORE = 1.25  # times as long as what earns nothing: an estimate of a part may be above that of the whole by a little


@dataclass
class GivingUp:
    """When a run is given up: where its launches take longer than `ns` on a model of GPU."""

    model: str
    ns: float  # from there on it earns nothing
    whose: str  # what its time is compared with, in words
    whose_ns: float
    next_look: float = FIRST_LOOK  # units of work of the whole run

    def look(self, op: Operation, work: int, earlier: Sequence[LaunchRecord], so_far: LaunchRecord, begun: int) -> None:
        """Raises `TooSlow` where this launch, `begun` blocks of which have been begun, and those before it take too long."""
        from autograder.perfmodel import SPECIFICATIONS, in_a_row
        from autograder.perfmodel.prediction import duration

        self.next_look = GROWS * work
        launches = [estimate_launch(each, self.model).ns for each in [*earlier, so_far]]
        ns = in_a_row(launches, SPECIFICATIONS[self.model])
        if ns <= MORE * self.ns * max(1.0, MUCH / work):
            return
        x, y, z = so_far.grid
        blocks = x * y * z
        done = f"{begun:,} of its {blocks:,} blocks" if blocks > 1 else "its only block"
        what = f"it and the {len(earlier):,} launches before it take" if earlier else "it takes"
        raise TooSlow(
            f"`{so_far.kernel}` was stopped after {work:,} units of work on {done}: by then {what} {duration(ns)} on an "
            f"{self.model} (estimated), {ns / self.whose_ns:,.3g} times as long as {self.whose}.",
            line=op.line,
        )

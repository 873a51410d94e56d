"""The source of one compiled loop while it is written: lines, names, and the straight runs whose lanes are counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from autograder.simgpu.in_registers.counts import CountShare
from autograder.simgpu.one_thread.source import Lines
from autograder.simgpu.operations.operation import Operation

MOST_LINES = 1000
BODY_INDENT = 6  # of what a lane does in a round: within the function, its four loops and one condition


@dataclass
class CountedRun:
    """Operations that the same lanes come by together, and what they count."""

    number: int
    shares: list[CountShare] = field(default_factory=list)
    draws: list[int] = field(default_factory=list)  # random numbers that are drawn in it


@dataclass(frozen=True)
class Division:
    """A branch: those of `run` whose condition holds are counted under `name`."""

    op: Operation
    run: int
    name: str


class SourcePlace(NamedTuple):
    """A place to go back to."""

    lines: int
    indent: int
    runs: int
    divisions: int
    here: CountedRun | None
    shares: int
    draws: int


class LaneSource(Lines):
    """Lines of what one lane does in one round."""

    def __init__(self) -> None:
        super().__init__(BODY_INDENT, MOST_LINES)
        self.runs: list[CountedRun] = []
        self.divisions: list[Division] = []
        self.here: CountedRun | None = None  # the straight run that is being written

    def run(self) -> CountedRun:
        """The run that is being written; a new one counts the lanes that come by."""
        if self.here is None:
            self.here = CountedRun(len(self.runs))
            self.runs.append(self.here)
            self.write(f"n{self.here.number} += 1")
        return self.here

    def count(self, share: CountShare) -> None:
        """Counts this for the lanes that come by here."""
        self.run().shares.append(share)

    def mark(self) -> SourcePlace:
        """This place; what is open here must still be open when somebody goes back to it."""
        here = (0, 0) if self.here is None else (len(self.here.shares), len(self.here.draws))
        return SourcePlace(len(self.lines), self.indent, len(self.runs), len(self.divisions), self.here, *here)

    def back_to(self, place: SourcePlace) -> None:
        """Forgets what was written since."""
        del self.lines[place.lines :], self.runs[place.runs :], self.divisions[place.divisions :]
        self.indent, self.here = place.indent, place.here
        if self.here is not None:
            del self.here.shares[place.shares :], self.here.draws[place.draws :]

    def divide(self, op: Operation) -> str:
        """The name under which the lanes are counted for which a branch's condition holds."""
        division = Division(op, self.run().number, f"d{len(self.divisions)}")
        self.divisions.append(division)
        return division.name

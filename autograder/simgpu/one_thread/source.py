"""The Python source of one loop while it is written: lines, names, and how often each straight run of it comes by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from autograder.simgpu.one_thread.numbers import Number
from autograder.simgpu.one_thread.rehearsal import Circumstances, RunCount
from autograder.simgpu.operations.operation import Operation

MOST_LINES = 3000  # of the source of one loop: loops within may need their first round apart
END, HAND_OVER, GONE = -1, -2, -3  # how a loop's function ends; from 0 on: by the statement of this site
FAR = -64  # bytes: no element lies so near to it that they could share a sector
COUNTERS, RESET, ALL, GROUPS = "@counters", "@reset", "@variables", "@groups"  # stand for names that are not all known
STAYS, LEAVES_LOOP, LEAVES_ALL = range(3)  # how far what was written can leave in its middle


class NotWritten(Exception):
    """A loop has something in it that is not written out: it is stepped through as always."""


@dataclass
class StraightRun:
    """Statements that come by together whenever they do, and what they count."""

    number: int
    counts: list[RunCount] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Site:
    """An operation that is carried out by itself, always or where a number needs a closer look."""

    number: int
    op: Operation
    circumstances: Circumstances
    statement: Operation | None  # that it is in
    operands: tuple[Number, ...] = ()
    # What the run that it is in counts for it, to be taken back where it is carried out by itself.
    count: RunCount = RunCount()
    run: int = -1  # that run
    result: Number | None = None


@dataclass(frozen=True, eq=False)
class AccessSite(Site):
    """A load or a store of an element."""

    view: int = 0  # by number
    kind: int = 0  # READ or WRITE
    group: int = 0  # of the views in the same allocation
    is_left_out: bool = False
    parts: tuple[tuple[Operation, int], ...] = ()  # of the array that are taken first, and by how many indices each


class SourceMark(NamedTuple):
    """A place to go back to."""

    lines: int
    runs: int
    sites: int


class Lines:
    """Lines of Python while they are written, and names that none of them has yet."""

    def __init__(self, indent: int, most: int = MOST_LINES) -> None:
        """`most`: of the lines; one more raises `NotWritten`."""
        self.lines: list[str] = []
        self.indent, self.most = indent, most
        self._names = 0

    def write(self, line: str) -> None:
        if len(self.lines) >= self.most:
            raise NotWritten("too long")
        self.lines.append("    " * self.indent + line)

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Lines below a head such as `if x:`."""
        self.write(head)
        self.indent += 1
        before, indent = len(self.lines), self.indent
        try:
            yield
            if len(self.lines) == before:
                self.write("pass")
        finally:
            self.indent = indent - 1

    def name(self, prefix: str = "t") -> str:
        self._names += 1
        return f"{prefix}{self._names}"


class Source(Lines):
    """Lines of a function's body, with what they count."""

    def __init__(self) -> None:
        super().__init__(indent=2)
        self.runs: list[StraightRun] = []
        self.sites: list[Site] = []
        self.here: StraightRun | None = None  # the straight run that is being written
        self.leaves = STAYS  # since somebody set it

    def run(self) -> StraightRun:
        """The run that is being written; a new one counts how often it comes by."""
        if self.here is None:
            self.here = StraightRun(len(self.runs))
            self.runs.append(self.here)
            self.write(f"n{self.here.number} += 1")
        return self.here

    def count(self, count: RunCount) -> None:
        """Counts this whenever control comes by here."""
        self.run().counts.append(count)

    def mark(self) -> SourceMark:
        """This place; what is open here must still be open when somebody goes back to it."""
        return SourceMark(len(self.lines), len(self.runs), len(self.sites))

    def back_to(self, mark: SourceMark) -> None:
        """Forgets what was written since."""
        del self.lines[mark.lines :], self.runs[mark.runs :], self.sites[mark.sites :]

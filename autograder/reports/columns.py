"""The columns of a table of source lines, defined once: what the terminal and the pages show of each line's counts.

START HERE to show another counter: add its `Column` to `COLUMNS`. Both tables show the columns that hold something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.records.counters import LineProfile
from autograder.reports.wording import count_text


@dataclass(frozen=True)
class Column:
    """One counted column: a field or property of `Counters`, its heading, and what a full bar stands for."""

    field: str
    title: str
    meaning: str
    full: float | None = None  # None: the largest value in the table
    is_detail: bool = False  # shown only to those who ask for it by name


@dataclass(frozen=True)
class Count:
    """One number of the table: what the source says, and what the compiler leaves of it."""

    source: float
    compiled: float

    @property
    def differs(self) -> bool:
        return self.source != self.compiled

    def __bool__(self) -> bool:
        return bool(self.source or self.compiled)

    def __str__(self) -> str:
        """`16,384`, with the compiler's number in brackets where it is another: `16,384 (12,288)`; empty for nothing."""
        if not self:
            return ""
        return count_text(self.source) + (f" ({count_text(self.compiled)})" if self.differs else "")


_SPREAD = "1 to 32; 4 is a full warp of float32 side by side"
_PASSES = "passes through shared memory"
_BEYOND = "wavefronts beyond the least needed"
# In the order of a reader's questions: what is asked of memory, how well, then what else costs time.
COLUMNS = (
    Column("global_load_requests", "load requests", "global loads, one a warp", is_detail=True),
    Column("global_load_sectors", "load sectors", "32-byte sectors read by global loads"),
    Column("global_load_sectors_per_request", "sectors a load", _SPREAD, 32),
    Column("global_store_requests", "store requests", "global stores, one a warp", is_detail=True),
    Column("global_store_sectors", "store sectors", "32-byte sectors written by global stores"),
    Column("global_store_sectors_per_request", "sectors a store", _SPREAD, 32),
    Column("global_atomic_requests", "atomic requests", "global atomics, one a warp", is_detail=True),
    Column("global_atomic_sectors", "atomic sectors", "32-byte sectors touched by global atomics"),
    Column(
        "global_atomic_worst_multiplicity", "lanes on one address", "the most lanes of a warp, by global atomics", 32
    ),
    Column("shared_load_wavefronts", "shared wavefronts read", _PASSES),
    Column("shared_load_bank_conflicts", "read bank conflicts", _BEYOND),
    Column("shared_store_wavefronts", "shared wavefronts written", _PASSES),
    Column("shared_store_bank_conflicts", "write bank conflicts", _BEYOND),
    Column("shared_atomic_requests", "shared atomics", "one a warp"),
    Column(
        "shared_atomic_worst_multiplicity", "lanes on one shared address", "the most lanes of a warp, by atomics", 32
    ),
    Column("local_load_requests", "local loads", "of local arrays, one a warp"),
    Column("local_store_requests", "local stores", "to local arrays, one a warp"),
    Column("local_load_sectors", "local sectors read", "of local arrays that no registers can hold"),
    Column("local_store_sectors", "local sectors written", "of local arrays that no registers can hold"),
    Column("constant_load_requests", "constant loads", "one a warp"),
    Column("divergent_branches", "divergent branches", "branches whose active lanes disagree"),
    Column("barriers", "barriers", "once a warp"),
    Column("shuffles", "shuffles, votes", "shuffles, votes and matches, once a warp"),
    Column("warp_instructions", "warp instructions", "source-level operations, once a warp"),
)
IN_BRACKETS = "In brackets: what the compiler leaves of the source's count, where that is another number."


def columns_of(lines: Sequence[LineProfile], names: Sequence[str] | None = None) -> tuple[Column, ...]:
    """The columns asked for; by default all but the details that hold something in one of the lines."""
    if names is None:
        shown = (each for each in COLUMNS if not each.is_detail)
        return tuple(each for each in shown if any(count_of(line, each) for line in lines))
    known = {each.field: each for each in COLUMNS}
    return tuple(known.get(name) or Column(name, name.replace("_", " "), "") for name in names)


def count_of(line: LineProfile, column: Column) -> Count:
    """A line's number in a column."""
    return Count(getattr(line.counters, column.field), getattr(line.compiled, column.field))


def footnotes(lines: Sequence[LineProfile], columns: Sequence[Column]) -> list[str]:
    """What the brackets mean, and of each line that has some why the compiler's number is another; empty for no brackets."""
    differing = [line for line in lines if any(count_of(line, each).differs for each in columns)]
    if not differing:
        return []
    by_reason: dict[str, list[int]] = {}
    for line in differing:
        for reason in line.why:
            by_reason.setdefault(reason, []).append(line.line.number)
    return [IN_BRACKETS, *(f"{_lines_text(numbers)}: {reason}." for reason, numbers in by_reason.items())]


def _lines_text(numbers: Sequence[int]) -> str:
    return f"Line {numbers[0]}" if len(numbers) == 1 else f"Lines {', '.join(map(str, numbers))}"


def common_indent(lines: Sequence[LineProfile]) -> int:
    """How far all lines that hold something are indented."""
    texts = [line.text for line in lines if line.text.strip()]
    return min((len(text) - len(text.lstrip()) for text in texts), default=0)

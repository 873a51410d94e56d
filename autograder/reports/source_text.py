"""Source for the terminal: each line of a kernel behind the work counted there, in the columns of columns.py."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.records.counters import LineProfile
from autograder.reports.columns import Column, columns_of, common_indent, count_of, footnotes
from autograder.reports.wording import clipped, one_line, visible

NARROWEST, WIDEST = 80, 120  # terminal columns
LEAST_SOURCE = 28  # of those the source has at least
_GAP = "  "


@dataclass(frozen=True)
class _Printed:
    """A column as text: its heading in several lines, and a cell for each source line, all of one width."""

    heading: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(len, (*self.heading, *self.cells)))


def counted_source(lines: Sequence[LineProfile], width: int | None = None) -> list[str]:
    """The lines of a table as wide as the terminal (80 columns where there is none), and what its brackets mean.

    Columns that do not fit beside each other follow below, with the lines that have something in them.
    """
    width = width or min(max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST), WIDEST)
    columns = columns_of(lines)
    source = _source(lines)
    printed = [_printed(lines, each) for each in columns]
    if not printed:
        return [f"{_GAP}{clipped(each, width - 2)}" for each in source]
    table: list[str] = []
    for number, part in enumerate(_parts(printed, width - LEAST_SOURCE)):
        shown = [i for i in range(len(lines)) if not number or any(each.cells[i] for each in part)]
        table += [""] if number else []
        table += _part(part, source, shown, _several_files(lines), width)
    notes = [textwrap.wrap(one_line(note), width - 2) for note in footnotes(lines, columns)]
    return table + [f"{_GAP}{each}" for note in notes for each in note]


def _printed(lines: Sequence[LineProfile], column: Column) -> _Printed:
    cells = tuple(str(count_of(line, column)) for line in lines)
    longest = max(map(len, (*column.title.split(), *cells)))
    return _Printed(tuple(textwrap.wrap(column.title, longest)), cells)


def _parts(printed: Sequence[_Printed], room: int) -> Iterator[list[_Printed]]:
    """As many columns at a time as there is room for, one at least."""
    part: list[_Printed] = []
    taken = 0
    for each in printed:
        if part and taken + len(_GAP) + each.width > room:
            yield part
            part, taken = [], 0
        part.append(each)
        taken += len(_GAP) + each.width
    yield part


def _part(
    part: Sequence[_Printed], source: Sequence[str], shown: Sequence[int], files: Sequence[str], width: int
) -> list[str]:
    height = max(len(each.heading) for each in part)
    heading = [("",) * (height - len(each.heading)) + each.heading for each in part]
    table = [_row(part, [words[level] for words in heading]) for level in range(height)]
    numbers = sum(len(_GAP) + each.width for each in part)
    before = ""
    for i in shown:
        if files and files[i] != before:
            before = files[i]
            table.append(f"{' ' * numbers}{_GAP}{clipped(before, width - numbers - 2)}")
        table.append(_row(part, [each.cells[i] for each in part]).ljust(numbers) + _GAP + source[i])
    return [clipped(each, width).rstrip() for each in table]


def _row(part: Sequence[_Printed], texts: Sequence[str]) -> str:
    return "".join(f"{_GAP}{text:>{each.width}}" for each, text in zip(part, texts, strict=True))


def _source(lines: Sequence[LineProfile]) -> list[str]:
    """Each line with its number, without what all are indented by."""
    indent = common_indent(lines)
    width = max((len(str(line.line.number)) for line in lines), default=0)
    return [f"{line.line.number:>{width}} {visible(line.text[indent:]).expandtabs(4).rstrip()}" for line in lines]


def _several_files(lines: Sequence[LineProfile]) -> list[str]:
    """The file of each line, where there are several."""
    files = [one_line(line.line.file) for line in lines]
    return files if len(set(files)) > 1 else []

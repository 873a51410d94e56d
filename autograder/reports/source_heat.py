"""Annotated source: each line of a kernel beside the work counted there, with a bar for its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.records.counters import Counters, LineProfile
from autograder.reports.columns import IN_BRACKETS, Column, Count, columns_of, common_indent, count_of, footnotes
from autograder.reports.templating import render_template


@dataclass(frozen=True)
class HeatCell:
    """One count of the table: `share` of a full bar in percent; `hottest` is the column's largest."""

    count: Count
    share: float
    hottest: bool


@dataclass(frozen=True)
class HeatRow:
    """One source line: `file` only where it differs from the line above, `gap` where lines between are left out."""

    number: int
    text: str
    cells: tuple[HeatCell, ...]
    why: str  # the compiler's counts are others
    file: str = ""
    gap: bool = False


def annotated(
    lines: Sequence[LineProfile],
    columns: Sequence[str] | None = None,
    *,
    caption: str = "Counted work by source line",
    most_lines: int = 400,
    styled: bool = True,
) -> str:
    """The source in `lines` as one HTML table with a heat bar for each count; needs no script.

    `columns` names fields or properties of `Counters`; by default those of columns.py that hold something. Where the
    compiler leaves another count than the source's, it stands behind that in brackets, with the reason as its title.
    Beyond `most_lines` the lines with the least counted work are left out, and the table says how many. With
    `styled=False` the caller's page has the style sheet already.
    """
    chosen = columns_of(lines, columns)
    kept = _busiest(lines, most_lines)
    return render_template(
        "heat.html.j2",
        rows=_rows(kept, chosen),
        columns=chosen,
        caption=caption,
        left_out=len(lines) - len(kept),
        footnotes=footnotes(kept, chosen),
        styled=styled,
    )


def _busiest(lines: Sequence[LineProfile], most: int) -> list[LineProfile]:
    """At most `most` lines, in source order."""
    kept = sorted(lines, key=lambda line: _work(line.counters), reverse=True)[:most]
    return sorted(kept, key=lambda line: line.line)


def _work(counters: Counters) -> int:
    return counters.warp_instructions + counters.global_load_sectors + counters.global_store_sectors


def _rows(lines: Sequence[LineProfile], columns: Sequence[Column]) -> list[HeatRow]:
    largest = [max((count_of(line, each).source for line in lines), default=0) for each in columns]
    indent = common_indent(lines)
    rows: list[HeatRow] = []
    before = None
    for line in lines:
        cells = []
        for column, most in zip(columns, largest, strict=True):
            count = count_of(line, column)
            share = 100 * count.source / (column.full or most) if most else 0.0
            cells.append(HeatCell(count, round(min(share, 100.0), 1), bool(count.source) and count.source == most))
        new_file = before is None or before.file != line.line.file
        gap = not new_file and before is not None and line.line.number > before.number + 1
        why = "; ".join(line.why) or IN_BRACKETS
        file = line.line.file if new_file else ""
        rows.append(HeatRow(line.line.number, line.text[indent:], tuple(cells), why, file, gap))
        before = line.line
    return rows

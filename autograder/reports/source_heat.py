"""Annotated source: each line of a kernel beside the work counted there, with a bar for its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.reports.templating import render_template
from autograder.simgpu.counters import Counters, LineProfile


@dataclass(frozen=True)
class Column:
    """One counted column: a field or property of `Counters`, its heading, and what a full bar stands for."""

    field: str
    title: str
    meaning: str
    full: float | None = None  # None: the largest value in the table


_SPREAD = "1 to 32; 4 is a full warp of float32 side by side"
# In the order of a reader's questions: what is asked of memory, how well, then what else costs time.
KNOWN = (
    Column("global_load_requests", "load requests", "global loads, one a warp"),
    Column("global_load_sectors", "load sectors", "32-byte sectors read by global loads"),
    Column("global_load_sectors_per_request", "sectors a load", _SPREAD, 32),
    Column("global_store_requests", "store requests", "global stores, one a warp"),
    Column("global_store_sectors", "store sectors", "32-byte sectors written by global stores"),
    Column("global_store_sectors_per_request", "sectors a store", _SPREAD, 32),
    Column("global_atomic_sectors", "atomic sectors", "32-byte sectors touched by global atomics"),
    Column("shared_load_wavefronts", "shared wavefronts read", "passes through shared memory"),
    Column("shared_store_wavefronts", "shared wavefronts written", "passes through shared memory"),
    Column("shared_load_bank_conflicts", "read bank conflicts", "wavefronts beyond the least needed"),
    Column("shared_store_bank_conflicts", "write bank conflicts", "wavefronts beyond the least needed"),
    Column("divergent_branches", "divergent branches", "branches whose active lanes disagree"),
    Column("barriers", "barriers", "once a warp"),
    Column("warp_instructions", "warp instructions", "source-level operations, once a warp"),
)
# Shown unless asked for: together they say what the others say.
_USUAL = tuple(each for each in KNOWN if not each.field.endswith(("_requests", "warp_instructions")))


@dataclass(frozen=True)
class Cell:
    """One number of the table: `share` of a full bar in percent; `hottest` is the column's largest."""

    value: float
    share: float
    hottest: bool


@dataclass(frozen=True)
class Row:
    """One source line: `file` only where it differs from the line above, `gap` where lines between are left out."""

    number: int
    text: str
    cells: tuple[Cell, ...]
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

    `columns` names fields or properties of `Counters`; by default the memory columns that are not zero throughout.
    Beyond `most_lines` the lines with the least counted work are left out, and the table says how many. With
    `styled=False` the caller's page has the style sheet already.
    """
    chosen = _chosen(lines, columns)
    kept = _busiest(lines, most_lines)
    return render_template(
        "heat.html.j2",
        rows=_rows(kept, chosen),
        columns=chosen,
        caption=caption,
        left_out=len(lines) - len(kept),
        styled=styled,
    )


def _chosen(lines: Sequence[LineProfile], names: Sequence[str] | None) -> tuple[Column, ...]:
    if names is None:
        return tuple(each for each in _USUAL if any(getattr(line.counters, each.field) for line in lines))
    known = {each.field: each for each in KNOWN}
    return tuple(known.get(name) or Column(name, name.replace("_", " "), "") for name in names)


def _busiest(lines: Sequence[LineProfile], most: int) -> list[LineProfile]:
    """At most `most` lines, in source order."""
    kept = sorted(lines, key=lambda line: _work(line.counters), reverse=True)[:most]
    return sorted(kept, key=lambda line: line.line)


def _work(counters: Counters) -> int:
    return counters.warp_instructions + counters.global_load_sectors + counters.global_store_sectors


def _rows(lines: Sequence[LineProfile], columns: Sequence[Column]) -> list[Row]:
    largest = [max((getattr(line.counters, each.field) for line in lines), default=0) for each in columns]
    indent = _common_indent([line.text for line in lines])
    rows: list[Row] = []
    before = None
    for line in lines:
        cells = []
        for column, most in zip(columns, largest, strict=True):
            value = getattr(line.counters, column.field)
            share = 100 * value / (column.full or most) if most else 0.0
            cells.append(Cell(value, round(min(share, 100.0), 1), bool(value) and value == most))
        new_file = before is None or before.file != line.line.file
        gap = not new_file and before is not None and line.line.number > before.number + 1
        rows.append(Row(line.line.number, line.text[indent:], tuple(cells), line.line.file if new_file else "", gap))
        before = line.line
    return rows


def _common_indent(texts: Sequence[str]) -> int:
    return min((len(text) - len(text.lstrip()) for text in texts if text.strip()), default=0)

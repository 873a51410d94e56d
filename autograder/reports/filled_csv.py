"""A learning platform's own CSV with grades filled in, every other byte as it was: cells are found, never rewritten.

The separator, the quotes, the order of rows and columns, a byte order mark and the line ends stay. A row is matched to
a submission by an ID that both hold, never by a name alone; whoever is not matched, in either direction, is reported.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import UsageError
from autograder.records.results import Result
from autograder.reports.wording import one_line

_UNREADABLE = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"PK\x03\x04", "a spreadsheet, not CSV"))


@dataclass
class CsvRow:
    """One record as it stands in the file: the text of each cell, quotes and all, and what ends the line."""

    raw: list[str]
    end: str

    def cell(self, column: int) -> str:
        """A cell's value, without its quotes; empty where the row is too short."""
        raw = self.raw[column] if column < len(self.raw) else ""
        quoted = len(raw) > 1 and raw[0] == raw[-1] == '"'
        return raw[1:-1].replace('""', '"') if quoted else raw

    def put(self, column: int, value: str) -> None:
        """Replaces a cell's value, in quotes where it stood in quotes or needs them."""
        is_quoted = self.raw[column].startswith('"') or any(sign in value for sign in ',;\t\r\n"')
        self.raw[column] = '"' + value.replace('"', '""') + '"' if is_quoted else value


@dataclass
class Sheet:
    """A CSV file taken apart so that putting it together again gives the same bytes."""

    bom: bytes
    separator: str
    rows: list[CsvRow]

    @property
    def header(self) -> list[str]:
        return [self.rows[0].cell(column).strip() for column in range(len(self.rows[0].raw))]

    def to_bytes(self) -> bytes:
        text = "".join(self.separator.join(row.raw) + row.end for row in self.rows)
        return self.bom + text.encode("utf-8")


@dataclass
class Filling:
    """What came of filling a sheet in: how many grades, and a line for everything that was left out or looks odd."""

    filled: int = 0
    lines: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # why how many submissions went into no row

    def leave(self, why: str, rest: str) -> None:
        """Says of a submission why its grade was not filled in."""
        self.left_out[why] += 1
        self.lines.append(f"{why}: {rest}")


def read_sheet(path: Path) -> Sheet:
    """A platform's CSV; raises `UsageError` where it cannot be read or is none."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {problem.strerror}.") from None
    for start, what in _UNREADABLE:
        if data.startswith(start):
            raise UsageError(f"{path} is {what}.", remedy="Give the file as the platform exported it, in UTF-8.")
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError:  # nor would the platform read it, and names in it would fit nobody
        remedy = "Give the file as the platform exported it: no spreadsheet may have saved it."
        raise UsageError(f"{path} is not UTF-8 text.", remedy=remedy) from None
    first = text.splitlines()[0] if text.strip() else ""
    if not first:
        raise UsageError(f"{path} is empty.")
    separator = max(",;\t", key=first.count)
    return Sheet(bom, separator, _rows(text, separator, path))


def _rows(text: str, separator: str, path: Path) -> list[CsvRow]:
    """Records of RFC 4180; a quote that does not open a cell is an ordinary character, as spreadsheets have it."""
    cell = rf'"(?:[^"]|"")*"(?=[{separator}\r\n]|\Z)|[^{separator}\r\n]*'
    token = re.compile(rf"({cell})({separator}|\r\n|\n|\r|\Z)")
    rows: list[CsvRow] = []
    cells: list[str] = []
    at = 0
    while at < len(text) or cells:
        found = token.match(text, at)
        if found is None or found[1].startswith('"') and found[1].count('"') % 2:
            raise UsageError(f"{path}, record {len(rows) + 1}: a quote is never closed.")
        cells.append(found[1])
        at = found.end()
        if found[2] != separator:
            rows.append(CsvRow(cells, found[2]))
            cells = []
    return rows


def number_text(value: float) -> str:
    """A grade as platforms read it: at most two decimals, a point, no thousands separator, no sign of a formula."""
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value} is no grade")
    return f"{value:.2f}".rstrip("0").rstrip(".")


def fill(
    sheet: Sheet,
    results: Sequence[Result],
    *,
    id_columns: Mapping[int, str],
    id_of_cell: Callable[[int, str], str],
    grade_column: int,
    is_student: Callable[[CsvRow], bool],
    refuses: Callable[[CsvRow], str],
    is_another: Callable[[CsvRow, Result], str] = lambda row, result: "",
    allowed: Callable[[CsvRow, float], tuple[float | None, str]] = lambda row, points: (points, ""),
    comment: Callable[[CsvRow, Result], str] = lambda row, result: "",
) -> Filling:
    """Puts every result's points into the one row with its ID.

    `id_columns`: column -> kind of ID, as in `Result.ids` (submissions of a plain folder have only their name, which is
    taken for an ID of any kind). `refuses`: why a row's grade must be left as it is; empty where it may be filled in.
    `is_another`: whose the row with a result's ID is, where it is not that student's; empty where it is. `allowed`: the
    points to write of those earned (None: none) and, where these differ or will not be taken, what to say of it.
    `comment`: fills in what else goes into a row that gets a grade; returns what to say where it left something as it is.
    """
    outcome = Filling()
    rows_of = _rows_by_id(sheet, id_columns, id_of_cell, is_student)
    results_of: dict[int, list[Result]] = defaultdict(list)
    for result in results:
        found = sorted({row for each in _ids(result, id_columns) for row in rows_of.get(each, ())})
        who = one_line(result.student, 80)
        if not found:
            outcome.leave("No row", f"{who} ({_shown_ids(result)}) handed in, but no row has that ID.")
        elif len(found) > 1:
            outcome.leave("More than one row", f"{who} ({_shown_ids(result)}); none was filled in.")
        elif another := is_another(sheet.rows[found[0]], result):
            outcome.leave("Another's number", f"{who} ({_shown_ids(result)}) handed in, but {another}")
        else:
            results_of[found[0]].append(result)
    for at, row in enumerate(sheet.rows):
        if at and is_student(row):
            _fill_row(row, results_of.get(at, []), grade_column, refuses, allowed, comment, outcome)
    return outcome


def _fill_row(
    row: CsvRow,
    results: list[Result],
    column: int,
    refuses: Callable[[CsvRow], str],
    allowed: Callable[[CsvRow, float], tuple[float | None, str]],
    comment: Callable[[CsvRow, Result], str],
    outcome: Filling,
) -> None:
    who = one_line(" ".join(row.cell(at) for at in range(min(2, len(row.raw)))), 80)
    if not results:
        outcome.lines.append(f"No submission: {who}; its grade was left as it is.")
    elif len(results) > 1:
        both = ", ".join(one_line(each.student, 80) for each in results)
        outcome.leave("More than one submission", f"{who} ({both}); its grade was left as it is.")
    elif (final := results[0].final_points) is None:
        outcome.leave("Not graded", f"{who}; the grader could not run every check. Its grade was left as it is.")
    elif reason := refuses(row):
        outcome.leave("Left as it is", f"{who}; {reason}.")
    elif column >= len(row.raw):
        outcome.leave("Row too short", f"{who}; it has no cell for the grade.")
    else:
        points, remark = allowed(row, round(final, 2))
        if points is None:
            outcome.leave("Above the maximum", f"{who}; {remark}")
            return
        if remark:
            outcome.lines.append(f"Above the maximum: {who}; {remark}")
        row.put(column, number_text(points))
        outcome.filled += 1
        if kept := comment(row, results[0]):
            outcome.lines.append(f"Comment kept: {who}; {kept}")


def _rows_by_id(
    sheet: Sheet,
    id_columns: Mapping[int, str],
    id_of_cell: Callable[[int, str], str],
    is_student: Callable[[CsvRow], bool],
) -> dict[tuple[str, str], list[int]]:
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, row in enumerate(sheet.rows[1:], start=1):
        if is_student(row):
            for column, kind in id_columns.items():
                if value := id_of_cell(column, row.cell(column).strip()):
                    rows[kind, value].append(at)
    return rows


def _ids(result: Result, id_columns: Mapping[int, str]) -> list[tuple[str, str]]:
    if result.ids:
        return [(kind, value.strip()) for kind, value in result.ids.items()]
    return [(kind, result.student.strip()) for kind in id_columns.values()]


def _shown_ids(result: Result) -> str:
    shown = ", ".join(f"{kind} {value}" for kind, value in result.ids.items())
    return one_line(shown or f"named {result.student}", 120)

"""The instructor's grading worksheet as a Moodle assignment gives it, with the points in its column Grade.

The first column is the Identifier ("Participant 1234"); the names of columns follow the site's language:
https://github.com/moodle/moodle/blob/main/mod/assign/gradingtable.php, and importgradeslib.php beside it in
feedback/offline, which reads the file back by the identifier's number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from autograder.errors import UsageError
from autograder.grading.result import Result
from autograder.reports.filled_csv import Filling, Row, Sheet, fill, number_text, read_sheet

PARTICIPANT = re.compile(r"\D*?(\d+)")
ID_COLUMNS = {"Email address": "email", "ID number": "sid"}


def filled(path: Path, results: Sequence[Result], column: str | None = None) -> tuple[bytes, Filling]:
    """The file's bytes with the grades in, and what to report; raises `UsageError` where it is no grading worksheet.

    `column`: the heading of the grades where the site's language is not English.
    """
    sheet = read_sheet(path)
    header, at = sheet.header, grade_column(sheet, path, column)
    locked = header.index("Grade can be changed") if "Grade can be changed" in header else None
    outcome = fill(
        sheet,
        results,
        id_columns={0: "moodle"} | {header.index(name): kind for name, kind in ID_COLUMNS.items() if name in header},
        id_of_cell=_id_of_cell,
        grade_column=at,
        is_student=lambda row: bool(row.cell(0).strip()),
        refuses=lambda row: _refusal(row, locked),
    )
    outcome.lines = [*_about_the_maximum(sheet, results, header), *outcome.lines]
    return sheet.to_bytes(), outcome


def grade_column(sheet: Sheet, path: Path, column: str | None = None) -> int:
    """The column to fill in; raises `UsageError` where it is not there, and where the file is no grading worksheet."""
    header = sheet.header
    identifiers = [row.cell(0).strip() for row in sheet.rows[1:] if any(row.raw)]
    if not identifiers or not all(PARTICIPANT.fullmatch(each) for each in identifiers):
        remedy = 'In the assignment: "Download grading worksheet" (its settings: feedback types, offline worksheet).'
        raise UsageError(f"{path} is not a grading worksheet of Moodle: no identifiers in column 1.", remedy=remedy)
    wanted = column or "Grade"
    if header.count(wanted) != 1:
        remedy = f"Name it with --moodle-column. There are: {'; '.join(header)}."
        raise UsageError(f"{path} has no column `{wanted}`.", remedy=remedy)
    return header.index(wanted)


def _id_of_cell(column: int, value: str) -> str:
    found = PARTICIPANT.fullmatch(value) if column == 0 else None
    return found[1] if found else value


def _refusal(row: Row, locked: int | None) -> str:
    if locked is not None and row.cell(locked).strip().lower() == "no":
        return "Moodle says that this grade cannot be changed"
    return ""


def _about_the_maximum(sheet: Sheet, results: Sequence[Result], header: list[str]) -> list[str]:
    if "Maximum Grade" not in header or not results:
        return []
    column, most = header.index("Maximum Grade"), max(result.max_points for result in results)
    found = {row.cell(column).strip() for row in sheet.rows[1:] if row.cell(column).strip()}
    try:
        same = {float(each.replace(",", ".")) for each in found} <= {round(most, 2)}
    except ValueError:
        same = False
    if same:
        return []
    return [f"Maximum Grade in Moodle is {', '.join(sorted(found))}, the lab has {number_text(most)}: check which."]

"""The instructor's gradebook as Canvas exports it, with one lab's points in its assignment's column.

Columns Student, ID, SIS User ID, SIS Login ID, Section, then "Title (assignment ID)"; below the header, rows without an
ID: posting policies and Points Possible. https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_exporter.rb
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import UsageError
from autograder.records.results import Result
from autograder.reports.filled_csv import CsvRow, Filling, Sheet, fill, number_text, read_sheet

ID_COLUMNS = {"ID": "canvas", "SIS User ID": "sid", "SIS Login ID": "email"}
ASSIGNMENT = re.compile(r"(?P<title>.*) \((?P<id>\d+)\)", re.DOTALL)
KEPT = {"EX": "the student is excused", "N/A": "the assignment is not given to this student"}


def filled(path: Path, results: Sequence[Result], column: str | None = None) -> tuple[bytes, Filling]:
    """The file's bytes with the grades in, and what to report; raises `UsageError` where it is no Canvas gradebook.

    `column`: the assignment's title, ID or whole heading; needed where the file has several and none is the lab's.
    """
    sheet = read_sheet(path)
    header = sheet.header
    at = grade_column(sheet, path, {name for result in results for name in (result.lab, result.lab_title)}, column)
    id_column = header.index("ID")
    outcome = fill(
        sheet,
        results,
        id_columns={header.index(name): kind for name, kind in ID_COLUMNS.items() if name in header},
        id_of_cell=lambda _, value: value,
        grade_column=at,
        is_student=lambda row: bool(row.cell(id_column).strip()),
        refuses=lambda row: KEPT.get(row.cell(at).strip().upper(), ""),
    )
    outcome.lines = [*_about_points_possible(sheet, results, at), *outcome.lines]
    return sheet.to_bytes(), outcome


@dataclass(frozen=True)
class RealNames:
    """Students' names as a gradebook has them, by their ID; an export of submissions has them mashed (`turingadele`)."""

    by_id: Mapping[str, str]

    def of(self, student: str, ids: Mapping[str, str]) -> str:
        """The name of a student of an export; empty where it is not known, or another's: a group's has a member's ID."""
        name = self.by_id.get(ids.get("canvas", ""), "")
        return name if name and _mashed(student).startswith(_mashed(name)) else ""


def real_names(path: Path) -> RealNames:
    """The names in a gradebook that `grade_column` has looked at."""
    sheet = read_sheet(path)
    header = sheet.header
    columns = [header.index(name) for name in ("Student", "LastName", "FirstName") if name in header]
    found = {}
    for row in sheet.rows[1:]:
        name = ", ".join(filter(None, (_name_of_cell(row.cell(at).strip()) for at in columns)))
        found[row.cell(header.index("ID")).strip()] = name
    return RealNames({each: name for each, name in found.items() if each})


def _name_of_cell(cell: str) -> str:
    """A name without what Canvas puts around one that a spreadsheet would take for a formula: student_name."""
    found = re.fullmatch(r'="(\s*=.*)"', cell, re.DOTALL)
    return found[1] if found else cell


def _mashed(name: str) -> str:
    """A name as Canvas puts it into the names of files: sanitize_user_name in content_zipper.rb."""
    return "".join(re.findall(r"\w", name)).lower()


def grade_column(sheet: Sheet, path: Path, lab_names: Iterable[str], wanted: str | None = None) -> int:
    """The column to fill in: the one that was named, else the one that is called as the lab is, else the only one.

    Raises `UsageError` where that is none or several, and where the file is no Canvas gradebook.
    """
    header = sheet.header
    if "ID" not in header or not {"Student", "LastName"} & set(header):
        remedy = "Export it anew: Grades, Export, Export Entire Gradebook."
        raise UsageError(f"{path} is not a gradebook of Canvas: it has no columns Student and ID.", remedy=remedy)
    found = {at: match for at, name in enumerate(header) if (match := ASSIGNMENT.fullmatch(name))}
    if wanted is not None:
        fitting = [at for at, match in found.items() if wanted.strip() in (match[0], match["title"], match["id"])]
    else:
        titles = {name.casefold() for name in lab_names}
        fitting = [at for at, match in found.items() if match["title"].strip().casefold() in titles]
        fitting = fitting or list(found)
    if len(fitting) == 1:
        return fitting[0]
    what = f"no assignment `{wanted}`" if wanted is not None and not fitting else f"{len(fitting)} assignments that fit"
    choices = "; ".join(header[at] for at in found) or "none"
    raise UsageError(f"{path} has {what}.", remedy=f"Name one with --canvas-column. There are: {choices}.")


def _about_points_possible(sheet: Sheet, results: Sequence[Result], column: int) -> list[str]:
    row: CsvRow | None = next((row for row in sheet.rows if row.cell(0).strip() == "Points Possible"), None)
    most = max((result.max_points for result in results), default=0.0)
    if row is None or not row.cell(column).strip() or not results:
        return []
    possible = row.cell(column).strip()
    try:
        same = float(possible.replace(",", ".")) == round(most, 2)
    except ValueError:
        same = False
    return [] if same else [f"Points Possible in Canvas is {possible}, the lab has {number_text(most)}: check which."]

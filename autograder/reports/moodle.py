"""The instructor's grading worksheet as a Moodle assignment gives it, with the points in its column Grade.

The first column is the Identifier ("Participant 1234"), the second the full name unless marking is anonymous, and right
of the grade comes its maximum; the names of columns follow the site's language:
https://github.com/moodle/moodle/blob/main/public/mod/assign/gradingtable.php, and feedback/offline/importgradeslib.php
beside it, which reads the file back by the identifier's number. Its locallib.php (process_import_grades) passes over a
row whose grade is above the assignment's maximum, or was given since the worksheet was downloaded, and says nothing. It
takes the column Feedback comments as HTML: comments/locallib.php beside it (get_editor_fields, set_editor_text).

Where a team handed in, Moodle puts the team's name and number where a student's stand. That number may be a
participant's as well: a number counts only under the name that it has in the worksheet.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from autograder.errors import UsageError
from autograder.records.results import Result
from autograder.reports.by_hand import by_hand_sentences
from autograder.reports.filled_csv import CsvRow, Filling, Sheet, fill, number_text, read_sheet
from autograder.reports.late import Dates
from autograder.reports.speed import next_step
from autograder.reports.templating import prose
from autograder.reports.withheld import for_students
from autograder.reports.wording import one_line

PARTICIPANT = re.compile(r"(?P<word>\D*?)(?P<number>\d+)")
ID_COLUMNS = {"Email address": "email", "ID number": "sid"}
AboveMaximum = Literal["cap", "keep", "refuse"]
Comments = Literal["fill", "replace", "leave"]
COMMENTS = "Feedback comments"
# What Moodle takes out of the names of files (clean_filename: PARAM_FILE in lib/classes/param.php), and `?` and `*`, which
# Windows does not take. It puts blanks for underscores.
_TAKEN_OUT = re.compile(r"[\x00-\x1f\x7f-\x9f&<>\"`|':\\/?*]")


def filled(
    path: Path,
    results: Sequence[Result],
    column: str | None = None,
    above_maximum: AboveMaximum = "cap",
    comments: Comments = "fill",
    comments_column: str | None = None,
) -> tuple[bytes, Filling]:
    """The file's bytes with the grades in, and what to report; raises `UsageError` where it is no grading worksheet.

    `column`: the heading of the grades where the site's language is not English. `above_maximum`: of a grade that Moodle
    would not take, write the maximum (cap), the grade all the same (keep), or nothing (refuse); each is named. `comments`:
    put what to do next into the column of comments where that is empty (fill) or always (replace), or leave it as it is.
    """
    sheet = read_sheet(path)
    header, at = sheet.header, grade_column(sheet, path, column)
    locked = header.index("Grade can be changed") if "Grade can be changed" in header else None
    maxima = _column_of_maxima(sheet, at)
    names = _Names(sheet, results)
    outcome = fill(
        sheet,
        results,
        id_columns={0: "moodle"} | {header.index(name): kind for name, kind in ID_COLUMNS.items() if name in header},
        id_of_cell=_id_of_cell,
        grade_column=at,
        is_student=lambda row: bool(row.cell(0).strip()),
        refuses=lambda row: _refusal(row, locked),
        is_another=names.is_another,
        allowed=lambda row, points: _allowed(points, _number(row, maxima), above_maximum),
        comment=_commenting(comments_at(sheet, path, comments_column), comments),
    )
    outcome.lines = [*_about_the_form(sheet, at, maxima), *_about_the_maximum(sheet, results, maxima), *outcome.lines]
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


def comments_at(sheet: Sheet, path: Path, column: str | None = None) -> int | None:
    """The column of comments, None where there is none; raises `UsageError` where one is named that is not there."""
    header, wanted = sheet.header, column or COMMENTS
    if header.count(wanted) == 1:
        return header.index(wanted)
    if column is not None:
        remedy = f"Name it with --moodle-comments. There are: {'; '.join(header)}."
        raise UsageError(f"{path} has no column `{column}`.", remedy=remedy)
    return None


def _commenting(column: int | None, comments: Comments) -> Callable[[CsvRow, Result], str]:
    """Puts what to do next into a row's comment, which Moodle takes for HTML; returns why it did not."""

    def comment(row: CsvRow, result: Result) -> str:
        if column is None or comments == "leave" or column >= len(row.raw):
            return ""
        shown = for_students(result)
        text = str(prose(" ".join([*by_hand_sentences(shown), next_step(shown) or "Every check passed."])))
        if row.cell(column).strip() not in ("", text) and comments == "fill":
            return "it has a comment already."
        row.put(column, text)
        return ""

    return comment


def _id_of_cell(column: int, value: str) -> str:
    found = PARTICIPANT.fullmatch(value) if column == 0 else None
    return found["number"] if found else value


def _refusal(row: CsvRow, locked: int | None) -> str:
    if locked is not None and row.cell(locked).strip().lower() == "no":
        return "Moodle says that this grade cannot be changed"
    return ""


# ---- when work came in -----------------------------------------------------------------------------

# gradingtable.php has them by userdate() in the language of who downloads: strftimedaydatetime of lang/en/langconfig.php
# ("Wednesday, 10 June 2026, 2:14 PM"), of lang/en_us ("Wednesday, September 23, 2020, 9:00 PM"), or with hours up to 23, as
# some sites have it. They are of the time zone of that person's profile, and do not say which one it is.
SUBMITTED, STATUS, DUE = "Last modified (submission)", "Status", "Due date"
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WHEN = (
    r"(?:[A-Za-z]+,?\s+)?(?:(?P<day>\d{1,2})\s+(?P<month>[A-Za-z]+)|(?P<month_first>[A-Za-z]+)\s+(?P<day_second>\d{1,2}),)"
    r"\s+(?P<year>\d{4}),\s+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?:\s*(?P<half>[AaPp][Mm]))?"
)
_EXTENSION = re.compile(rf"Extension granted until:\s*{_WHEN}")  # of lang/en/assign.php (userextensiondate), in the status


def dates(path: Path, results: Sequence[Result]) -> tuple[dict[str, Dates], list[str]]:
    """Each student's dates by a worksheet that `grade_column` has looked at, and a line where they cannot be read.

    The date of a student is the extension that the status names, else the column of dates that Moodle adds where
    some students have their own; neither where the class's own date holds.
    """
    sheet = read_sheet(path)
    header = sheet.header
    rows = [row for row in sheet.rows[1:] if row.cell(0).strip()]
    if SUBMITTED not in header:
        return {}, [f"{path} has no column `{SUBMITTED}`, so that nothing in it says when work came in. {_IN_ENGLISH}"]
    names, found, unread = _Names(sheet, results), {}, []
    by_id = {"moodle": _number_of} | {
        kind: _cell_of(header.index(name)) for name, kind in ID_COLUMNS.items() if name in header
    }
    rows_of = {(kind, value): row for kind, of in by_id.items() for row in rows if (value := of(row))}
    for result in results:
        fitting = (rows_of[key] for key in result.ids.items() if key in rows_of)
        row = next((each for each in fitting if not names.is_another(each, result)), None)
        if row is None:
            continue
        text = row.cell(header.index(SUBMITTED)).strip()
        handed_in = _time(text)
        if text not in ("", "-") and not handed_in:
            unread.append(f"{one_line(row.cell(0), 40)}: `{one_line(text, 60)}`")
        extension = _EXTENSION.search(row.cell(header.index(STATUS))) if STATUS in header else None
        due = _iso(extension) if extension else _time(row.cell(header.index(DUE))) if DUE in header else ""
        if handed_in or due:
            found[result.student] = Dates(handed_in, due)
    lines = []
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        lines.append(f"{path}: {unread[0]}{more} in `{SUBMITTED}` is no time that can be read. {_IN_ENGLISH}")
    return found, lines


_IN_ENGLISH = "Choose English in Moodle's language menu and download the worksheet again."


def _cell_of(column: int) -> Callable[[CsvRow], str]:
    return lambda row: row.cell(column).strip()


def _time(text: str) -> str:
    found = re.fullmatch(_WHEN, text.strip())
    return _iso(found) if found else ""


def _iso(found: re.Match[str]) -> str:
    """A time that `_WHEN` found, empty where there is no such day or hour."""
    month = (found["month"] or found["month_first"]).lower()
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if month not in _MONTHS or half and not 1 <= hour <= 12:
        return ""
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    day = int(found["day"] or found["day_second"])
    try:
        return datetime(int(found["year"]), _MONTHS.index(month) + 1, day, hour, int(found["minute"])).isoformat()
    except ValueError:
        return ""


# ---- whose a number is -----------------------------------------------------------------------------


class _Names:
    """The names of a worksheet: whether a row is the student's whose number it has."""

    def __init__(self, sheet: Sheet, results: Sequence[Result]) -> None:
        rows = [row for row in sheet.rows[1:] if row.cell(0).strip()]
        self._column = next((at for at, name in enumerate(sheet.header) if name.casefold() == "full name"), None)
        if self._column is None and any(_fits(each, row.cell(1)) for each, row in _by_number(results, rows)):
            self._column = 1
        self._anywhere = {_comparable(cell) for row in rows for cell in map(row.cell, range(1, len(row.raw)))}

    def is_another(self, row: CsvRow, result: Result) -> str:
        """Whose a row is that has a result's number from Moodle; empty where it is that student's."""
        if _number_of(row) != result.ids.get("moodle") or result.student == result.ids["moodle"]:
            return ""  # matched by another ID, or nothing but the number is known
        identifier = row.cell(0).strip()
        if _fits(result, _word_of(identifier)):  # handed in under no name
            return ""
        if self._column is None:  # marked under no names: what stands there all the same is a team's
            if self._anywhere.isdisjoint(_names_of(result)):
                return ""
            return f"that is a team's number: {identifier} is somebody else. Nothing was filled in."
        if _fits(result, name := row.cell(self._column)):
            return ""
        return f"{identifier} is {one_line(name, 80)}: a team's number, or another assignment's. Nothing was filled in."


def _by_number(results: Sequence[Result], rows: Sequence[CsvRow]) -> Iterator[tuple[Result, CsvRow]]:
    of_number = {_number_of(row): row for row in rows}
    return ((each, of_number[each.ids["moodle"]]) for each in results if each.ids.get("moodle") in of_number)


def _number_of(row: CsvRow) -> str:
    return _id_of_cell(0, row.cell(0).strip())


def _word_of(identifier: str) -> str:
    """What stands before the number: the word for a participant, which an anonymous export has for a name."""
    found = PARTICIPANT.fullmatch(identifier)
    return found["word"] if found else ""


def _fits(result: Result, name: str) -> bool:
    """Whether a result's student is called so; before Moodle 4.1 the name of the team stood before it."""
    wanted = _comparable(name)
    return bool(wanted) and any(each == wanted or each.endswith(f"-{wanted}") for each in _names_of(result))


def _names_of(result: Result) -> set[str]:
    """What a result's student may be called on the platform: our name for them, without the ID behind it too."""
    names, number = [result.student], result.ids.get("moodle")
    for behind in (f" (moodle {number})", f" ({number})"):
        names += [each.removesuffix(behind) for each in names]
    return set(map(_comparable, names)) - {""}


def _comparable(name: str) -> str:
    """A name as the names of files can be compared: without what Moodle takes out, and whatever its case and form."""
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return " ".join(_TAKEN_OUT.sub("", plain).replace("_", " ").split())


# ---- the maximum -----------------------------------------------------------------------------------


def _column_of_maxima(sheet: Sheet, grades: int) -> int | None:
    """Where the maximum grade stands: it is called so, or in another language is the one number right of the grades."""
    for at, name in enumerate(sheet.header):
        if name.casefold() == "maximum grade":
            return at
    if sheet.header[grades] == "Grade":
        return None
    found = Counter(_number(row, grades + 1) for row in sheet.rows[1:] if row.cell(0).strip())
    return grades + 1 if len(found) == 1 and None not in found else None


def _number(row: CsvRow, column: int | None) -> float | None:
    """A cell's number, with a point or a comma; None where there is none."""
    try:
        value = float(row.cell(column).strip().replace(",", ".")) if column is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _allowed(points: float, most: float | None, above_maximum: AboveMaximum) -> tuple[float | None, str]:
    if most is None or points <= most:
        return points, ""
    earned = f"{number_text(points)} points are more than Moodle's maximum of {number_text(most)}"
    if above_maximum == "cap":
        return most, f"{earned}, which was written."
    if above_maximum == "refuse":
        return None, f"{earned}: its grade was left as it is."
    return points, f"{earned}: Moodle will pass over this row unless its Maximum grade is raised."


def _about_the_form(sheet: Sheet, grades: int, maxima: int | None) -> list[str]:
    """What Moodle would make of the file when it is uploaded, where that is not what is meant by it."""
    lines = []
    if sheet.separator != ",":
        lines.append(
            f"Cells are separated by `{sheet.separator}`: choose that where you upload it, or download the worksheet anew: "
            "Moodle's own has commas, and older versions read nothing else."
        )
    right = sheet.header[grades + 1].casefold() if grades + 1 < len(sheet.header) else ""
    has_maximum = maxima is not None and any(_number(row, maxima) for row in sheet.rows[1:])
    if right == "scale" or (maxima is not None and not has_maximum):
        lines.append("This assignment is not marked by points in Moodle, which passes over all of them: change its Grade.")
    return lines


def _about_the_maximum(sheet: Sheet, results: Sequence[Result], column: int | None) -> list[str]:
    if column is None or not results:
        return []
    most = max(result.max_points for result in results)
    found = {row.cell(column).strip() for row in sheet.rows[1:] if row.cell(column).strip()}
    try:
        same = {float(each.replace(",", ".")) for each in found} <= {round(most, 2)}
    except ValueError:
        same = False
    if same:
        return []
    return [f"Maximum Grade in Moodle is {', '.join(sorted(found))}, the lab has {number_text(most)}: check which."]

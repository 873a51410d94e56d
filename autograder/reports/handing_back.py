"""What a learning platform takes, made from a class's results: filled-in gradebooks, zips of reports, and more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import UsageError
from autograder.records.files import remove_file, report_name, write_atomically, write_bytes_atomically
from autograder.records.results import Result
from autograder.records.stored import rows_of
from autograder.reports import canvas, class_page, feedback, gradescope, junit, moodle
from autograder.reports.filled_csv import Filling, read_sheet
from autograder.reports.late import Dates
from autograder.reports.misconceptions import examples_in
from autograder.reports.moodle import AboveMaximum, Comments


@dataclass(frozen=True)
class Wanted:
    """Which forms are asked for: the instructor's own files for Canvas and Moodle, a file for JUnit."""

    canvas: Path | None = None
    canvas_column: str | None = None
    moodle: Path | None = None
    moodle_column: str | None = None
    above_maximum: AboveMaximum = "cap"
    comments: Comments = "fill"
    moodle_comments: str | None = None
    feedback: bool = False
    gradescope: bool = False
    junit: Path | None = None


@dataclass
class HandedBack:
    """What to tell the instructor: `lines` of what was written, and a sentence for each form that holds no grade."""

    lines: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def look_at(wanted: Wanted, lab_names: Sequence[str]) -> None:
    """Raises `UsageError` for a file that could not be filled in or written: before a class is graded, not after."""
    if wanted.canvas is not None:
        canvas.grade_column(read_sheet(wanted.canvas), wanted.canvas, lab_names, wanted.canvas_column)
    if wanted.moodle is not None:
        sheet = read_sheet(wanted.moodle)
        moodle.grade_column(sheet, wanted.moodle, wanted.moodle_column)
        moodle.comments_at(sheet, wanted.moodle, wanted.moodle_comments)
    if wanted.junit is not None and wanted.junit.is_dir():
        raise UsageError(f"{wanted.junit} is a folder, not a file.", remedy="Name a file with --junit.")


def real_names(wanted: Wanted) -> canvas.RealNames:
    """Students' names from the one file that has them where an export of submissions has not: Canvas's gradebook."""
    return canvas.RealNames({}) if wanted.canvas is None else canvas.real_names(wanted.canvas)


def dates(wanted: Wanted, results: Sequence[Result]) -> tuple[dict[str, Dates], list[str]]:
    """When students' work came in by the one file that says so, Moodle's worksheet, and what to tell of it."""
    return ({}, []) if wanted.moodle is None else moodle.dates(wanted.moodle, results)


def hand_back(results: Sequence[Result], out: Path, wanted: Wanted) -> HandedBack:
    """Writes the forms that are wanted into `out` (JUnit where it is asked for); returns what to tell the instructor.

    Whatever of a platform's file was not matched comes to stand on the class page as well.
    Raises `UsageError` where a platform's file is not what it should be; nothing of the instructor's is changed.
    """
    told = HandedBack()
    rows = rows_of(results)
    unmatched: dict[str, list[str]] = {}
    for name, given in (("canvas", wanted.canvas), ("moodle", wanted.moodle)):
        if given is not None:
            target = out / f"{name}.csv"
            if target.exists() and given.exists() and target.samefile(given):
                raise UsageError(f"{given} is where the filled-in copy goes.", remedy="Keep the export elsewhere.")
            if name == "canvas":
                data, outcome = canvas.filled(given, rows, wanted.canvas_column)
            else:
                data, outcome = moodle.filled(
                    given, rows, wanted.moodle_column, wanted.above_maximum, wanted.comments, wanted.moodle_comments
                )
            write_bytes_atomically(target, data)
            _tell(told, given, target, outcome, rows)
            unmatched[target.name] = outcome.lines
    if unmatched and rows:
        page = class_page.pieces(rows, rows[0].lab_title, unmatched, examples_in(results))
        write_atomically(out / "index.html", page)
    if wanted.feedback:
        _feedback(rows, out, told)
    if wanted.gradescope:
        _gradescope(results, out / "gradescope", told)
    if wanted.junit is not None:
        write_atomically(wanted.junit, junit.text(rows))
        told.lines.append(f"Written: {wanted.junit}")
    return told


def _tell(told: HandedBack, given: Path, target: Path, outcome: Filling, results: Sequence[Result]) -> None:
    """What became of a file: where not one grade went into it, that is all there is to say."""
    if results and not outcome.filled:
        reasons = ", ".join(f"{why.lower()}: {count}" for why, count in outcome.left_out.most_common())
        is_plain = not any(result.ids for result in results)
        remedy = (
            "They have no IDs: grade the platform's own export, as it is." if is_plain else "Is it of this assignment?"
        )
        told.empty.append(
            f"No grade at all could be filled into {given} ({reasons}). {remedy} "
            f"{target.parent / 'index.html'} names everybody; gradebook.csv beside it has the grades."
        )
        return
    rows = "1 grade" if outcome.filled == 1 else f"{outcome.filled} grades"
    told.lines += [f"Written: {target}, {rows} filled in", *(f"  {line}" for line in outcome.lines)]


def _feedback(results: Sequence[Result], out: Path, told: HandedBack) -> None:
    """A zip of reports for each platform that submissions came from."""
    written = 0
    for platform in feedback.PLATFORMS:
        target = out / f"feedback_{platform}.zip"
        made = feedback.zipped(results, out / "reports", platform)
        if not made.written:
            remove_file(target)  # of an earlier run, with reports that are no longer true
            told.lines += made.lines
            continue
        write_bytes_atomically(target, made.data)
        reports = "1 report" if made.written == 1 else f"{made.written} reports"
        told.lines += [f"Written: {target}, {reports}", *(f"  {line}" for line in made.lines)]
        written += made.written
    if results and not written:
        told.empty.append(
            "No report could be put into a zip for Moodle or Canvas: submissions are to come from their own export, "
            f"as it is. {out / 'reports'} has the reports one by one."
        )


def _gradescope(results: Sequence[Result], folder: Path, told: HandedBack) -> None:
    """One folder a student, called as in Gradescope's export where the submissions came from one."""
    lines, written = [], 0
    for result in results:
        name = report_name(result.student)
        if "gradescope" in result.ids:
            name = f"submission_{result.ids['gradescope']}"
        try:
            text = gradescope.text(result)
        except UsageError as problem:
            lines.append(f"  Not written: {problem}")
            remove_file(folder / name / "results.json")
            continue
        write_atomically(folder / name / "results.json", text)
        written += 1
    if results and not written:
        told.empty.append(f"No results.json was written to {folder}: the grader could not run every check of anybody.")
        return
    told.lines += [f"Written: {folder}, results.json for {written}", *lines]

"""The class's reports as a zip that Moodle or Canvas takes back, each under the name by which they know its student.

Moodle (in the assignment: Upload multiple feedback files in a zip) reads FULLNAME_NUMBER_PLUGIN_TYPE_REST and goes by the
number, a team's where teams hand in. Files at the top of the zip are read by every version, folders only since 3.1:
https://github.com/moodle/moodle/blob/main/public/mod/assign/feedback/file/importziplib.php (is_valid_filename_for_import).
A report goes in as feedback and not as a submission, so that one that is unchanged is not announced anew (is_file_modified).

Canvas (in the gradebook: Re-Upload Submissions) reads the first two numbers between underscores as those of the user and of
the file that was handed in, or what stands behind `anon`, and attaches what comes to a comment, under that file's name:
https://github.com/instructure/canvas-lms/blob/master/app/models/abstract_assignment.rb
(infer_comment_context_from_filename, generate_comments_from_files).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autograder.records.files import report_name
from autograder.records.results import Result
from autograder.reports.wording import one_line

_NOT_IN_A_NAME = re.compile(r"[\x00-\x1f\x7f<>:\"/\\|?*_\s\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_LONGEST_NAME = 60  # characters
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same reports make the same zip


@dataclass
class FeedbackZip:
    """One platform's zip: its bytes, how many reports it holds, and a line for each student who is left out."""

    data: bytes = b""
    written: int = 0
    lines: list[str] = field(default_factory=list)


def moodle_name(result: Result) -> str:
    """What a report is called for Moodle; empty where the submission has no number from there."""
    number = result.ids.get("moodle", "")
    if not number.isdecimal():
        return ""
    name = _NOT_IN_A_NAME.sub(" ", result.student)[:_LONGEST_NAME]
    name = name.strip(" .~")  # Moodle passes over what begins with one of these
    return f"{name or 'Participant'}_{number}_assignfeedback_file_{result.lab}.html"


def canvas_name(result: Result) -> str:
    """What a report is called for Canvas; empty where no file was handed in there."""
    *parts, _ = PurePosixPath(result.submission).name.split("_")
    parts = [part for part in parts if part != "LATE"]  # as Canvas does
    if parts[:1] == ["anon"]:
        user, attachment = "_".join(parts[:2]), 2
    else:
        numbers = [at for at, part in enumerate(parts) if part.isdecimal()]
        user, attachment = (parts[numbers[0]], numbers[1]) if len(numbers) > 1 else ("", 0)
    is_file = len(parts) > attachment and parts[attachment].isdecimal()
    is_there = is_file and user == result.ids.get("canvas")
    return "_".join([*parts[: attachment + 1], "report.html"]) if is_there else ""


PLATFORMS: dict[str, Callable[[Result], str]] = {"moodle": moodle_name, "canvas": canvas_name}


def zipped(results: Sequence[Result], reports: Path, platform: str) -> FeedbackZip:
    """The reports, as they lie in the folder `reports`, of all who handed in on this platform."""
    made, buffer = FeedbackZip(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for result in results:
            if platform not in result.ids:
                continue
            name = PLATFORMS[platform](result)
            if why := _why_left_out(result, name, reports):
                made.lines.append(f"No report: {one_line(result.student, 80)}; {why}")
                continue
            opened.writestr(zipfile.ZipInfo(name, _WHEN), _report(result, reports).read_bytes(), zipfile.ZIP_DEFLATED)
            made.written += 1
    made.data = buffer.getvalue()
    return made


def _report(result: Result, reports: Path) -> Path:
    return reports / f"{report_name(result.student)}.html"


def _why_left_out(result: Result, name: str, reports: Path) -> str:
    if any(check.fault for check in result.checks):
        return "the grader could not run every check."
    if not name:
        return f"no file of that name was handed in ({one_line(result.submission, 120)})."
    return "" if _report(result, reports).is_file() else f"{_report(result, reports)} is missing: grade again."

"""Reads from the names in a Canvas, Moodle or Gradescope export who handed in what. Pure functions.

Canvas joins sortable name, LATE, user id, attachment id and file name by underscores, in lower case and without other
signs: https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb (get_filename, add_upload_submission).
Moodle joins full name, participant number, plugin and, without folders, file name. Since Moodle 4.1 a folder's name ends
with the plugin, before that with an underscore behind it, and Moodle itself reads both:
https://github.com/moodle/moodle/blob/main/public/mod/assign/classes/downloader.php (get_student_prefix,
load_submissionplugin_filelist) and feedback/file/importziplib.php beside it. Where a team hands in, its name and number
stand there instead, and no number for those in no team.
Gradescope exports folders called submission_NUMBER beside a submission_metadata.yml.

A student's own file name stands in what Canvas and Moodle export, and may look like another platform's. So the platform
is told from all names of an export at once, and each name is then read as that platform's and no other's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from autograder.grading.submissions import ENDINGS, ending

# Graded anonymously, Canvas gives a pseudonym in place of name and ID: never take the number behind it for the ID.
_WHOSE = r"(?:(?!LATE_|anon_)(?P<name>\w*?)_)?(?P<late>LATE_)?(?P<id>(?(name)\d+|anon_[A-Za-z0-9]+))"
CANVAS = re.compile(_WHOSE + r"_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL)
CANVAS_TEXT = re.compile(_WHOSE + r"_(?P<kind>text|link)\.html")
MOODLE = re.compile(
    r"(?P<name>.*?)(?:_(?P<id>\d+))?_assignsubmission_(?P<plugin>[a-z][a-z0-9]*)(?:_(?P<file>.*))?", re.DOTALL
)
GRADESCOPE = re.compile(r"submission_(?P<id>\d+)")
GRADESCOPE_METADATA = "submission_metadata.yml"
Platform = Literal["canvas", "moodle", "gradescope"]


@dataclass(frozen=True)
class Owner:
    """One student as an export names them: `ids` by the platform's own words, to match a gradebook's row by."""

    name: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExportedName:
    """What an exported file's or folder's name says. `order`: of two files of one student the larger came later."""

    owner: Owner
    file: str = ""  # as the student called it; empty for a folder
    late: bool = False
    order: int = 0
    typed: str = ""  # where it was typed into the platform instead of handed in as a file: what that was


def canvas(name: str) -> ExportedName | None:
    """What a file name of a Canvas export says; None where it is none."""
    if found := CANVAS.fullmatch(name):  # first: a student's file may be called text.html
        return ExportedName(_canvas_owner(found), found["file"], bool(found["late"]), int(found["attachment"]))
    typed = CANVAS_TEXT.fullmatch(name)
    if typed is None:
        return None
    kind = "a text typed into Canvas" if typed["kind"] == "text" else "a link given in Canvas"
    return ExportedName(_canvas_owner(typed), name, bool(typed["late"]), typed=kind)


def _canvas_owner(found: re.Match[str]) -> Owner:
    return Owner(found["name"] or found["id"], {"canvas": found["id"]})


def moodle(name: str) -> ExportedName | None:
    """What a folder's or file's name of a Moodle export says; None where it is none."""
    found = MOODLE.fullmatch(name)
    if found is None or not (found["name"] or found["id"]):
        return None
    typed = "" if found["plugin"] == "file" else "a text typed into Moodle"
    ids = {"moodle": found["id"]} if found["id"] else {}
    name = found["name"].strip() or f"Moodle {found['id'] or 'without a number'}"  # of a name nothing may be left
    return ExportedName(Owner(name, ids), found["file"] or "", typed=typed)


def gradescope(name: str) -> ExportedName | None:
    """What a folder's name of a Gradescope export says: the submission's number; None where it is none."""
    found = GRADESCOPE.fullmatch(name)
    return ExportedName(Owner(name, {"gradescope": found["id"]}), order=int(found["id"])) if found else None


_READERS: dict[Platform, Callable[[str], ExportedName | None]] = {
    "gradescope": gradescope,
    "canvas": canvas,
    "moodle": moodle,
}


def named_by(platform: Platform | None, name: str) -> ExportedName | None:
    """What a top-level name of that platform's export says; None where it is none of its, or where there is no platform."""
    return _READERS[platform](name) if platform else None


def platform_of(tops: Iterable[str]) -> Platform | None:
    """Whose export it is that has these files and folders at its top; None for a folder or zip of somebody's own.

    All that could be an answer must be called as the platform calls it; a gradebook that lies beside them may not.
    """
    tops = {each for each in tops if not each.startswith(".")}
    if GRADESCOPE_METADATA in tops:
        return "gradescope"
    answers = {each for each in tops if ending(PurePosixPath(each)) in ("", *ENDINGS)} or tops
    for platform, read in _READERS.items():
        if answers and all(read(each) for each in answers) and (platform != "canvas" or _is_of_canvas(tops)):
            return platform
    return None


def _is_of_canvas(tops: Iterable[str]) -> bool:
    """Whether the numbers can be Canvas's: `lab1_2026_11_ann.py` only looks as if they were.

    A file has a number of its own there, and a user one name.
    """
    named = [each for each in map(canvas, tops) if each is not None]
    files = Counter(each.order for each in named if not each.typed)
    users = {(each.owner.ids["canvas"], each.owner.name) for each in named}
    return max(files.values(), default=1) == 1 and len({user for user, _ in users}) == len(users)

"""Who handed in what, told from the names under which Canvas, Moodle and Gradescope export it. Pure functions.

Canvas joins sortable name, LATE, user id, attachment id and file name by underscores, in lower case and without other
signs: https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb (get_filename, add_upload_submission).
Moodle joins full name, participant number, plugin and file name, with a folder or without:
https://github.com/moodle/moodle/blob/main/mod/assign/locallib.php (download_submissions).
Gradescope exports folders called submission_NUMBER beside a submission_metadata.yml.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_WHOSE = r"(?:(?!LATE_)(?P<name>\w+?)_)?(?P<late>LATE_)?(?P<id>\d+|anon_[A-Za-z0-9]+)"
CANVAS = re.compile(_WHOSE + r"_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL)
CANVAS_TEXT = re.compile(_WHOSE + r"_(?P<kind>text|link)\.html")
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?P<plugin>[a-z]+)_(?P<file>.*)", re.DOTALL)
GRADESCOPE = re.compile(r"submission_(?P<id>\d+)")
GRADESCOPE_METADATA = "submission_metadata.yml"
# Canvas and browsers number a file that is handed in again: lab-1.ipynb, lab (1).ipynb.
_NUMBERED = re.compile(r"(?P<stem>.*?)(?:-\d+| ?\(\d+\))?(?P<ending>\.\w+)", re.DOTALL)


@dataclass(frozen=True)
class Owner:
    """One student as an export names them: `ids` by the platform's own words, to match a gradebook's row by."""

    name: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Named:
    """What an exported file's or folder's name says. `order`: of two files of one student the larger came later."""

    owner: Owner
    file: str = ""  # as the student called it; empty for a folder
    late: bool = False
    order: int = 0
    typed: str = ""  # where it was typed into the platform instead of handed in as a file: what that was


def canvas(name: str) -> Named | None:
    """What a file name of a Canvas export says; None where it is none."""
    if typed := CANVAS_TEXT.fullmatch(name):
        kind = "a text typed into Canvas" if typed["kind"] == "text" else "a link given in Canvas"
        return Named(_canvas_owner(typed), name, bool(typed["late"]), typed=kind)
    found = CANVAS.fullmatch(name)
    if found is None:
        return None
    return Named(_canvas_owner(found), found["file"], bool(found["late"]), int(found["attachment"]))


def _canvas_owner(found: re.Match[str]) -> Owner:
    return Owner(found["name"] or found["id"], {"canvas": found["id"]})


def moodle(name: str) -> Named | None:
    """What a folder's or file's name of a Moodle export says; None where it is none."""
    found = MOODLE.fullmatch(name)
    if found is None:
        return None
    typed = "" if found["plugin"] == "file" else "a text typed into Moodle"
    return Named(Owner(found["name"].strip(), {"moodle": found["id"]}), found["file"], typed=typed)


def gradescope(name: str) -> Named | None:
    """What a folder's name of a Gradescope export says: the submission's number; None where it is none."""
    found = GRADESCOPE.fullmatch(name)
    return Named(Owner(name, {"gradescope": found["id"]}), order=int(found["id"])) if found else None


def exported(name: str) -> Named | None:
    """What a top-level name of any of the three exports says; None where it is of neither."""
    return gradescope(name) or moodle(name) or canvas(name)


def is_called_lab(file: str) -> bool:
    """Whether a student's file is called lab.ipynb or lab.py, the number of another try aside."""
    found = _NUMBERED.fullmatch(file)
    return found is not None and found["stem"].lower() == "lab"

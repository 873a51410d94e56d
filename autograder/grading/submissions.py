"""What a class handed in: a folder of files, or one folder a student, as a list in which nothing is left out.

Whatever cannot be graded is listed all the same, with the reason, and becomes a row of the gradebook.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from autograder.errors import UsageError

ENDINGS = (".ipynb", ".py")
SHOWN_NAMES = 6  # of files that were passed over
# Canvas and browsers number a file that is handed in again: lab-1.ipynb, lab (1).ipynb.
_NUMBERED = re.compile(r"(?P<stem>.*?)(?:-\d+| ?\(\d+\))?(?P<ending>\.\w+)", re.DOTALL)
LEFT_BY_SYSTEMS = {".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX", ".ipynb_checkpoints", "__pycache__"}
BESIDE_A_FILE = "._"  # begins the name of what macOS keeps beside a file, on a disk that is not its own


@dataclass(frozen=True)
class Entry:
    """One student's submission: `path` to grade, or the `problem` that keeps it from being graded."""

    student: str
    path: Path
    shown_as: str  # relative to the class's folder
    problem: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)  # by kind: canvas, moodle, gradescope, sid, email
    note: str = ""  # what a reader of the report should know: which of several files counts, and the like
    flags: tuple[str, ...] = ()  # what an instructor should look at
    handed_in: str = ""  # when, says the platform: ISO 8601 in UTC
    marked_late: bool = False  # by a platform that does not say when


def find_submissions(folder: Path, skipped: Path | None = None) -> list[Entry]:
    """Everything handed in under `folder`, by student; raises `UsageError` where there is no such folder.

    `skipped`: a folder that is passed over, resolved: the one that results go to.
    """
    if not folder.exists():
        raise UsageError(f"There is no folder or zip {folder}.")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", remedy="To check one file, use `autograder check`.")
    root = folder.resolve()
    try:
        found = [_entry(root, each) for each in _files_in(root) if each != skipped]
        found += _alone_beside(root)
    except OSError as problem:
        raise UsageError(f"{folder} cannot be read: {problem.strerror}.") from None
    if not found:
        raise UsageError(
            f"{folder} holds no submissions.", remedy="It is to hold .ipynb or .py files, or one folder a student."
        )
    by_student: dict[str, list[Entry]] = defaultdict(list)
    for entry in found:
        by_student[entry.student].append(entry)
    return [_only(entries) for _, entries in sorted(by_student.items())]


def ending(path: PurePath) -> str:
    """The ending that says what a file is, in small letters: Windows takes LAB.PY for lab.py."""
    return path.suffix.lower()


def left_by_a_system(name: str) -> bool:
    """Whether a file or folder of this name is what operating systems, Jupyter or Python leave: nobody's answer."""
    return name in LEFT_BY_SYSTEMS or name.startswith(BESIDE_A_FILE)


def only_left_behind(shown: str, files: Iterable[str]) -> str:
    """Why a student's folder that holds nothing but what `left_by_a_system` cannot be graded."""
    left = f"only what an operating system, Jupyter or Python leaves behind ({first_names(files)})"
    return f"The folder {shown} holds {left}: hand in the notebook itself."


def only_beside(name: str) -> str:
    """Why a file that macOS keeps beside another one, which is not there, cannot be graded."""
    return f"{name} is what macOS keeps beside a file, and that file is missing: hand in the notebook itself."


def is_called_lab(file: str) -> bool:
    """Whether a student's file is called lab.ipynb or lab.py, the number of another try aside."""
    found = _NUMBERED.fullmatch(file)
    return found is not None and found["stem"].lower() == "lab"


def _files_in(folder: Path) -> Iterator[Path]:
    """What a folder holds, without what operating systems and Jupyter leave behind."""
    yield from sorted(each for each in folder.iterdir() if not left_by_a_system(each.name))


def _alone_beside(root: Path) -> Iterator[Entry]:
    """An entry for each file or folder that is missing where macOS kept something beside it: it was somebody's."""
    for path in sorted(root.glob(f"{BESIDE_A_FILE}*")):
        missing = path.with_name(path.name.removeprefix(BESIDE_A_FILE) or path.name)
        if not left_by_a_system(missing.name) and not missing.exists() and not missing.is_symlink():
            yield Entry(_name(missing), path, path.name, only_beside(path.name))


def _entry(root: Path, path: Path) -> Entry:
    if path.is_dir() and ending(path) not in ENDINGS and not path.is_symlink():
        return _from_folder(root, path)
    return Entry(_name(path), path, path.relative_to(root).as_posix(), file_problem(root, path))


def submission_in(folder: Path) -> Entry:
    """The one submission in a student's folder: its only notebook or script, or the one called lab.ipynb or lab.py."""
    return _from_folder(folder.parent, folder)


def _from_folder(root: Path, folder: Path) -> Entry:
    shown = folder.relative_to(root).as_posix()
    try:
        files = [each for each in _files_in(folder) if ending(each) in ENDINGS] or list(_further_down(folder))
    except OSError as reason:
        return Entry(folder.name, folder, shown, f"The folder {shown} cannot be read: {reason.strerror}.")
    if not files and (left := list(_left_behind(folder))):
        return Entry(folder.name, folder, shown, only_left_behind(shown, left))
    called_lab = [each for each in files if is_called_lab(each.name)]
    best = called_lab if len(files) > 1 and called_lab else files
    if len(best) != 1:
        names = first_names(each.name for each in best)
        problem = f"it holds {len(best)} ({names})" if best else "it holds none"
        problem += " that are called lab: keep one" if called_lab else " and none is called lab.ipynb" if best else ""
        return Entry(
            folder.name, folder, shown, f"One notebook or .py file is expected in the folder {shown}; {problem}."
        )
    note = passed_over(each.name for each in files if each != best[0])
    return Entry(folder.name, best[0], best[0].relative_to(root).as_posix(), file_problem(root, best[0]), note=note)


def _further_down(folder: Path) -> Iterator[Path]:
    """What could be a submission in the folders of a student's folder; links are not followed."""
    for here, folders, files in os.walk(folder, onerror=_raised):
        folders[:] = sorted(each for each in folders if not left_by_a_system(each))
        answers = (each for each in sorted(files) if ending(Path(each)) in ENDINGS and not left_by_a_system(each))
        yield from (Path(here, each) for each in answers)


def _left_behind(folder: Path) -> Iterator[str]:
    """The files under a student's folder, relative to it, where every one of them was left by a system; else none."""
    files = [Path(here, each).relative_to(folder) for here, _, found in os.walk(folder) for each in found]
    if all(any(map(left_by_a_system, each.parts)) for each in files):
        yield from sorted(each.as_posix() for each in files)


def _raised(problem: OSError) -> None:
    raise problem


def first_names(files: Iterable[str]) -> str:
    """Names for one line: the first few, and how many more there are."""
    files = list(files)
    more = f" and {len(files) - SHOWN_NAMES} more" if len(files) > SHOWN_NAMES else ""
    return ", ".join(files[:SHOWN_NAMES]) + more


def passed_over(files: Iterable[str]) -> str:
    """What a report says of a student's other files; empty where there are none."""
    shown = first_names(files)
    return f"Passed over: {shown}." if shown else ""


def _name(path: Path) -> str:
    return path.stem if ending(path) in ENDINGS else path.name


def file_problem(root: Path, path: Path) -> str:
    """Why this cannot be a submission, in one line; empty where it can be opened and read."""
    shown = path.relative_to(root).as_posix()
    if path.is_symlink():  # wherever it leads: to a file of the grader's machine, or to another student's work
        return f"{shown} is a link, not a file: hand in the file itself."
    if path.is_dir():
        return f"{shown} is a folder, not a file."
    if ending(path) not in ENDINGS:
        return f"{shown} is neither a notebook (.ipynb) nor a Python file (.py)."
    if not path.is_file():
        return f"{shown} is not an ordinary file."
    try:
        with open(path, "rb") as file:
            empty = not file.read(1)
    except OSError as problem:
        return f"{shown} cannot be read: {problem.strerror}."
    return f"{shown} is empty." if empty else ""


def _only(entries: list[Entry]) -> Entry:
    """A student's one submission; two of them are nobody's to choose between."""
    if len(entries) == 1:
        return entries[0]
    names = first_names(entry.shown_as for entry in entries)
    return Entry(entries[0].student, entries[0].path, names, f"Handed in more than once ({names}): keep one.")

"""A class's folder or zip to one `Entry` a student, with IDs where an export gives them: START HERE.

Every file is somebody's, and so is an empty folder: whose, is told from all the names before anything is passed over.
What cannot be graded becomes a row with its reason. A file that was passed over for a later or better named one is
mentioned in the note of the student's row.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from autograder.errors import UsageError, one_line
from autograder.grading.exports import names
from autograder.grading.exports.archive import ArchivedFile, unpacked
from autograder.grading.exports.gradescope_metadata import Handed, read_metadata
from autograder.grading.submissions import (
    BESIDE_A_FILE,
    ENDINGS,
    LEFT_BY_SYSTEMS,
    Entry,
    ending,
    file_problem,
    find_submissions,
    first_names,
    is_called_lab,
    left_by_a_system,
    only_beside,
    only_left_behind,
    passed_over,
)
from autograder.records.files import report_name

PREFIX, LOCK = "autograder-class-", ".at-work"  # of the folder that a zip is unpacked in, and of the lock in it
MIRROR = "__MACOSX"
MOST_CHARACTERS = 1_000  # of a problem, which quotes names of files
MOST_FOLDERS_AROUND = 3  # an export that was unpacked: programs put one around it, and people one more
SECONDS_TO_LOCK = 60  # from making that folder to holding its lock: far less


@dataclass(frozen=True)
class Candidate:
    """One thing that a student handed in; `order` says which of several came last."""

    owner: names.Owner
    shown_as: str
    path: Path
    problem: str = ""
    order: tuple[object, ...] = ()
    notes: tuple[str, ...] = ()
    typed: bool = False  # into the platform, not a file
    called: str = ""  # as its author called it, where a platform put more before that
    handed_in: str = ""  # when, says the platform: ISO 8601 in UTC
    marked_late: bool = False

    @property
    def file(self) -> str:
        return PurePosixPath(self.shown_as).name


@contextmanager
def opened_class(handed_in: Path, out: Path | None = None) -> Iterator[list[Entry]]:
    """The entries of a class's folder or zip, as long as they are needed; raises `UsageError` where it is neither.

    `out`, where the results go, may lie in the class's folder: nothing in it was handed in.
    """
    skipped = _skipped(handed_in, out) if out is not None else None
    if handed_in.is_dir():
        export = _export_in(handed_in.resolve(), skipped)
        found = entries_of(_walked(export, skipped)) if export else apart(find_submissions(handed_in, skipped))
        yield one_file_flagged(found)
    elif handed_in.is_file() and (handed_in.suffix.lower() == ".zip" or zipfile.is_zipfile(handed_in)):
        with _folder_to_unpack_in() as folder:
            items = _without_root(unpacked(handed_in, folder), handed_in.stem)
            _look_at_only(items, handed_in)
            entries = entries_of(items)
            if not entries:
                raise UsageError(f"{handed_in} holds no submissions.")
            yield entries
    else:
        yield apart(find_submissions(handed_in))


def _look_at_only(items: list[ArchivedFile], handed_in: Path) -> None:
    """Raises `UsageError` for a zip that holds another one and nothing else: an export that was zipped once more."""
    tops = [each for each in items if not each.is_left]
    if len(tops) == 1 and tops[0].last.lower().endswith(".zip") and names.platform_of([tops[0].parts[0]]) is None:
        what = f"{handed_in} holds nothing but another zip, {one_line(tops[0].shown_as, 80)}."
        raise UsageError(what, remedy="Unpack it once, and give the zip that was in it.")


@contextmanager
def _folder_to_unpack_in() -> Iterator[Path]:
    """A temporary folder of our own; what a killed run left of its class is removed first."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout):  # another user's, or still at work
            if time.time() - left.stat().st_mtime > SECONDS_TO_LOCK:
                with FileLock(left / LOCK, timeout=0):
                    pass
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, FileLock(Path(folder) / LOCK):
        yield Path(folder)


def _skipped(handed_in: Path, out: Path) -> Path | None:
    """The folder to pass over in a class's: `out`, where it lies in there; raises `UsageError` where it holds answers."""
    within, skipped = handed_in.resolve(), out.resolve()
    if skipped == within and within.is_dir():
        raise UsageError(f"{out} is the class's own folder.", remedy="Name another one with --out.")
    if within not in skipped.parents:
        return None
    held = (each for each in skipped.rglob("*") if ending(each) in ENDINGS)
    if (answer := next(held, None)) is not None:
        what = f"{out} holds what was handed in: {answer.relative_to(skipped).as_posix()}."
        raise UsageError(what, remedy="Name another folder with --out.")
    return skipped


def _export_in(folder: Path, skipped: Path | None) -> Path | None:
    """The folder that an export was unpacked to: this one, or the only one in it; None where it is none."""
    try:
        for _ in range(MOST_FOLDERS_AROUND):
            held = [each for each in sorted(folder.iterdir()) if each.name not in LEFT_BY_SYSTEMS and each != skipped]
            around = held[0] if len(held) == 1 and held[0].is_dir() and not held[0].is_symlink() else None
            if _is_export([each.name for each in held], around is not None):
                return folder
            if around is None:
                return None
            folder = around
    except OSError as problem:
        raise UsageError(f"{folder} cannot be read: {problem.strerror}.") from None
    return None


def _is_export(tops: Iterable[str], is_one_folder: bool) -> bool:
    """Whether a platform gave these names; Canvas's are files, so one folder may be called like them by accident."""
    return names.platform_of(tops) is not None and not (is_one_folder and names.platform_of(tops) == "canvas")


def entries_of(items: Iterable[ArchivedFile]) -> list[Entry]:
    """One entry a student, in the order of their names, no two of which share the name of a report."""
    by_student: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in _candidates(list(items)):
        by_student[_key(candidate.owner.ids, candidate.owner.name)].append(candidate)
    return apart([_entry(found) for found in by_student.values()])


def apart(entries: list[Entry]) -> list[Entry]:
    """The entries, with IDs added to names until no two names, and no two file names, are the same.

    All students of the same name get their IDs, so that nobody's name depends on the order.
    """
    for with_kind in (False, *[True] * len(entries)):  # a name with an ID behind it may be somebody else's whole name
        of_that_file: dict[str, int] = Counter(report_name(each.student) for each in entries)
        if all(count == 1 for count in of_that_file.values()):
            break
        entries = [
            each if of_that_file[report_name(each.student)] == 1 else replace(each, student=_with_id(each, with_kind))
            for each in entries
        ]
    return sorted(entries, key=lambda entry: entry.student)


def one_file_flagged(entries: list[Entry]) -> list[Entry]:
    """The entries, with a flag on those that are one file under several students' names (a hard link).

    Whose work it is nobody can tell from the file, so that all are graded and an instructor is told.
    """
    owners: dict[tuple[int, int], list[str]] = defaultdict(list)
    identity: dict[str, tuple[int, int]] = {}
    for each in entries:
        with suppress(OSError):  # gone meanwhile: grading says so
            status = os.lstat(each.path)
            if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                identity[each.student] = status.st_dev, status.st_ino
                owners[identity[each.student]].append(each.student)
    flagged = []
    for each in entries:
        others = [name for name in owners.get(identity.get(each.student, (0, 0)), ()) if name != each.student]
        flag = f"{each.shown_as} is the very same file as that of {first_names(others)} (a hard link)."
        flagged.append(replace(each, flags=(*each.flags, one_line(flag, MOST_CHARACTERS))) if others else each)
    return flagged


def _key(ids: Mapping[str, str], name: str) -> tuple[str, str]:
    """Two submissions with the same key are one student's: the person's ID, else the name."""
    kind = next((each for each in ("canvas", "moodle", "sid", "email", "gradescope") if each in ids), "name")
    return kind, ids.get(kind, name)


def _with_id(entry: Entry, with_kind: bool) -> str:
    kind, value = _key(entry.ids, entry.student)
    if kind == "name":  # the others' IDs are enough, unless they have none either
        return f"{entry.student} ({entry.shown_as})" if with_kind else entry.student
    return f"{entry.student} ({kind} {value})" if with_kind else f"{entry.student} ({value})"


# ---- what was handed in ----------------------------------------------------------------------------


def _candidates(items: list[ArchivedFile]) -> Iterator[Candidate]:
    items = list(_somebodys(items))
    metadata_items = [each for each in items if each.parts == (names.GRADESCOPE_METADATA,)]
    metadata = _metadata(metadata_items)
    platform = names.platform_of(each.parts[0] for each in items if not each.is_astray)
    folders: dict[str, list[ArchivedFile]] = defaultdict(list)
    for item in _last_of_each_name(each for each in items if each not in metadata_items):
        if item.is_astray:
            yield Candidate(names.Owner(item.shown_as), item.shown_as, item.path, item.problem)
        elif len(item.parts) > 1:
            folders[item.parts[0]].append(item)
        else:
            yield _from_file(item, platform)
    for name, held in sorted(folders.items()):
        yield from _from_folder(name, held, metadata, platform)
    for name in sorted(set(metadata) - set(folders)):
        problem = f"{name} is named in {names.GRADESCOPE_METADATA}, but the export does not hold it."
        yield from (Candidate(each, name, Path(name), problem) for each in metadata[name].owners)


def _somebodys(items: list[ArchivedFile]) -> Iterator[ArchivedFile]:
    """The items without those at the top that a system left beside what was handed in.

    What macOS keeps beside a file that is not there stays, under the name of that file: it is all that is left of it.
    """
    tops = {each.parts[0] for each in items if not each.is_astray}
    for item in items:
        if item.is_astray or not left_by_a_system(item.parts[0]):
            yield item
            continue
        missing = item.parts[0].removeprefix(BESIDE_A_FILE)
        if missing and missing not in tops and not left_by_a_system(missing):
            problem = only_beside(item.parts[0])
            yield replace(item, parts=(missing, *item.parts[1:]), problem=problem)


def _last_of_each_name(items: Iterable[ArchivedFile]) -> Iterator[ArchivedFile]:
    """The last item of each name, since a zip may hold several; each knows how many there were."""
    by_name: dict[tuple[str, ...], list[ArchivedFile]] = defaultdict(list)
    for item in items:
        by_name[item.parts].append(item)
    for found in by_name.values():
        yield replace(found[-1], times=len(found))


def _said_of_repeated(items: Iterable[ArchivedFile]) -> tuple[str, ...]:
    return tuple(
        f"{each.shown_as} stands in the zip {each.times} times; the last counts."
        for each in items
        if each.times > 1 and not each.is_left
    )


def _metadata(items: list[ArchivedFile]) -> dict[str, Handed]:
    if not items:
        return {}
    if items[0].problem:
        raise UsageError(items[0].problem)
    return read_metadata(items[0].path.read_text(encoding="utf-8", errors="replace"))


def _from_file(item: ArchivedFile, platform: names.Platform | None) -> Candidate:
    """One file at the top: a platform's name says whose it is, any other name is the student's."""
    name = item.parts[0]
    notes = _said_of_repeated([item])
    named = names.named_by(platform, name)
    if named is None:
        stem = PurePosixPath(name).stem if ending(PurePosixPath(name)) in ENDINGS else name
        return Candidate(names.Owner(stem), item.shown_as, item.path, item.problem, item.when, notes)
    notes += ("Late, says the platform.",) if named.late else ()
    problem = f"Handed in as {named.typed}, not as a file." if named.typed else item.problem
    order = (named.order, item.when)
    return Candidate(
        named.owner, item.shown_as, item.path, problem, order, notes, bool(named.typed), named.file, marked_late=named.late
    )


def _from_folder(
    name: str, held: list[ArchivedFile], metadata: dict[str, Handed], platform: names.Platform | None
) -> Iterator[Candidate]:
    """One folder at the top, as one candidate for each of its students."""
    named = names.named_by(platform, name)
    handed = metadata.get(name)
    owners = handed.owners if handed and handed.owners else (named.owner if named else names.Owner(name),)
    answers = [each for each in held if not each.is_left]
    item, notes = _one_of(answers)
    notes += _said_of_repeated(held)
    if metadata and handed is None:
        notes += (f"{names.GRADESCOPE_METADATA} does not say whose it is.",)
    if len(owners) > 1:
        notes += (f"Handed in together by {', '.join(each.name for each in owners)}.",)
    if item:
        problem, shown, path = item.problem, item.shown_as, item.path
    else:
        left = ("/".join(each.parts[1:]) for each in held)
        problem = _none_of(name, answers) if answers else only_left_behind(name, left)
        shown, path = name, Path(name)
    typed = bool(named and named.typed)
    if named and typed:
        problem = f"Handed in as {named.typed}, not as a file."
    when = max(each.when for each in answers or held)
    order = (handed.created_at if handed else "", named.order if named else 0, when)
    handed_in = handed.handed_in if handed else ""
    for owner in owners:
        yield Candidate(owner, shown, path, problem, order, notes, typed, handed_in=handed_in)


def _one_of(held: list[ArchivedFile]) -> tuple[ArchivedFile | None, tuple[str, ...]]:
    """The one file of a folder that counts, if it is clear which, and what to say about the others."""
    files = [each for each in held if ending(PurePosixPath(each.parts[-1])) in ENDINGS]
    if len(files) < 2:
        return (files[0] if files else None), ()
    shallow = min(len(each.parts) for each in files)
    best = [each for each in files if is_called_lab(each.parts[-1]) and len(each.parts) == shallow]
    best = best or [each for each in files if is_called_lab(each.parts[-1])]
    if not best:
        return None, ()
    counts = max(best, key=lambda each: (each.when, each.parts))
    return counts, (passed_over(each.parts[-1] for each in files if each is not counts),)


def _none_of(name: str, held: list[ArchivedFile]) -> str:
    """Why nothing in a folder can be graded."""
    files = [each.parts[-1] for each in held if ending(PurePosixPath(each.parts[-1])) in ENDINGS]
    if files:
        what = f"it holds {len(files)} ({first_names(files)}) and none is called lab.ipynb"
    elif len(held) == 1:
        return held[0].problem
    else:
        what = f"it holds none, but {first_names(each.last for each in held)}"
    return f"One notebook or .py file is expected in the folder {name}; {what}."


# ---- what counts -----------------------------------------------------------------------------------


def _entry(found: list[Candidate]) -> Entry:
    counts = _chosen(found)
    others = [each for each in found if each is not counts]
    notes = list(counts.notes)
    files = [each for each in found if not each.typed]
    if len(files) > 1 and not counts.owner.ids:  # nothing tells which came last
        shown = ", ".join(each.shown_as for each in files)
        problem = one_line(f"Handed in more than once ({shown}): keep one.", MOST_CHARACTERS)
        return Entry(counts.owner.name, counts.path, shown, problem)
    if others:
        said = f"Handed in {len(found)} times or in {len(found)} files; the latest counts: {counts.file}."
        notes = [said, passed_over(each.shown_as for each in others), *notes]
    name, ids = counts.owner.name, dict(counts.owner.ids)
    problem = one_line(counts.problem, MOST_CHARACTERS)  # a file's name may hold anything
    return Entry(
        name,
        counts.path,
        counts.shown_as,
        problem,
        ids,
        " ".join(dict.fromkeys(notes)),
        handed_in=counts.handed_in,
        marked_late=counts.marked_late,
    )


def _chosen(found: list[Candidate]) -> Candidate:
    """The latest of a student's submissions, of those that are files, of those that could be one of ours."""
    best = [each for each in found if not each.typed] or found
    best = [each for each in best if ending(PurePosixPath(each.shown_as)) in ENDINGS] or best
    best = [each for each in best if is_called_lab(each.called or each.file)] or best
    return max(best, key=lambda each: (each.order, each.shown_as))


# ---- where files come from -------------------------------------------------------------------------


def _walked(root: Path, skipped: Path | None) -> list[ArchivedFile]:
    """Every file and every empty folder under an export that somebody has unpacked already.

    Links are listed and never followed; a folder that cannot be read is listed with the reason.
    """
    items: list[ArchivedFile] = []

    def unreadable(problem: OSError) -> None:
        here = Path(problem.filename)
        if here == root:
            raise UsageError(f"{root} cannot be read: {problem.strerror}.")
        shown = here.relative_to(root)
        line = f"The folder {shown.as_posix()} cannot be read: {problem.strerror}."
        items.append(ArchivedFile((*shown.parts, ""), here, line))

    for folder, folders, files in os.walk(root, onerror=unreadable):
        here = Path(folder)
        links = [each for each in folders if (here / each).is_symlink()]
        if not folders and not files and here != root:
            shown = here.relative_to(root)
            items.append(ArchivedFile((*shown.parts, ""), here, f"The folder {shown.as_posix()} is empty."))
        folders[:] = sorted(each for each in folders if each not in links and here / each != skipped)
        items += (_walked_item(root, here / name) for name in sorted([*files, *links]))
    return _without_mirrors(items)


def _walked_item(root: Path, path: Path) -> ArchivedFile:
    parts = path.relative_to(root).parts
    is_read = parts != (names.GRADESCOPE_METADATA,) and not any(map(left_by_a_system, parts))
    problem = file_problem(root, path) if is_read else ""
    return ArchivedFile(parts, path, problem, (int(path.lstat().st_mtime),))


def _without_mirrors(items: list[ArchivedFile]) -> list[ArchivedFile]:
    """The items with what macOS keeps in a folder of its own (`__MACOSX/ann/._lab.py`) beside the files it is about."""
    kept = []
    for each in items:
        if each.is_astray or each.parts[0] != MIRROR:
            kept.append(each)
        elif len(each.parts) > 1 and each.parts[-1].startswith(BESIDE_A_FILE):
            kept.append(replace(each, parts=each.parts[1:]))
    return kept


def _without_root(items: list[ArchivedFile], stem: str) -> list[ArchivedFile]:
    """The same items without a single folder around them all, unless that folder is one student's."""
    items = _without_mirrors(items)
    within = [each for each in items if not each.is_astray]
    tops = {each.parts[0] for each in within if not left_by_a_system(each.parts[0])}
    if len(tops) != 1 or not all(len(each.parts) > 1 for each in within if each.parts[0] in tops):
        return items
    top = tops.pop()
    if _is_export([top], is_one_folder=True):
        return items
    inner = [replace(each, parts=each.parts[1:]) for each in within if each.parts[0] == top and each.parts[1]]
    names_within = {each.parts[0] for each in inner if not left_by_a_system(each.parts[0])}
    is_around_a_class = (
        top == stem
        or names.platform_of(names_within) is not None
        or any(len(each.parts) > 1 and each.parts[0] in names_within for each in inner)
    )
    beside = [each for each in within if each.parts[0] not in (top, f"{BESIDE_A_FILE}{top}")]
    return [*inner, *beside, *(each for each in items if each.is_astray)] if is_around_a_class else items

"""The folder that a class's grading leaves: results/*.json, reports/*.html, tables (CSV), index.html and class.json.

Everything in it follows from the results; class.json lists whose they are, so that other forms can be made later.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from filelock import FileLock, Timeout

import autograder
from autograder.errors import GraderFault, KitError, UsageError, one_line
from autograder.grading.at_hand import at_hand
from autograder.grading.class_pages import Fault, stored, write_pages
from autograder.grading.identity import grader_version
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry, first_names
from autograder.records.files import UNFINISHED, former_report_names, report_name, write_atomically
from autograder.records.json_form import from_text
from autograder.records.results import Result
from autograder.records.stored import StoredResults, row_of
from autograder.records.versions import VERSION, upgraded
from autograder.reports.alike import AtHand
from autograder.reports.by_hand import DUE, Override, applied, together
from autograder.reports.late import Dates

CLASS_LIST = "class.json"
_FORMER = re.compile(r"[a-z0-9._-]*-(?:[0-9a-f]{8}|[0-9a-f]{16})")  # how older versions called what was not plain
_OF_GRADESCOPE = re.compile(r"submission_\d+")  # how handing back calls a student's folder
# Of a result that `--only` left as it was. It is the reports' and class.json's: on disk the result itself stays as it is.
NameOf = Callable[[str, Mapping[str, str]], str]  # a student's real name, by the export's and the IDs; empty for none
DatesOf = Callable[[Sequence[Result]], tuple[Mapping[str, Dates], Sequence[str]]]
OUT_OF_DATE = (
    "left from an earlier run: the submission, the lab, the seed or the grader has changed since. "
    "Grade without --only to renew it"
)


@dataclass(frozen=True)
class GradedFrom:
    """What a class was graded from and with, so that it can be archived and graded again: places, and no secret of the
    instructor's."""

    submissions: str  # the folder or zip
    seed_file: str  # empty for the seed that everybody has
    device: str  # what was asked for
    hidden: str = ""  # the spec of hidden checks
    labs: str = ""  # the lab's folder
    kit: str = autograder.__version__
    grader: str = field(default_factory=grader_version)

    @classmethod
    def of(cls, form: Any) -> GradedFrom | None:
        """What `vars` of one is; None for anything else."""
        names = {each.name for each in fields(cls)}
        if not isinstance(form, dict) or set(form) != names:
            return None
        return cls(**{name: str(value) for name, value in form.items()})


@contextmanager
def prepared(out: Path) -> Iterator[None]:
    """Makes the folder, locks it against other runs, and removes what a killed run left half written.

    Raises `UsageError` where a file is in the way or another run at work, `GraderFault` where the machine does not let us.
    """
    results = out / "results"
    lock = FileLock(out / ".lock", timeout=0)
    try:
        in_the_way = next(each for each in (results, out, *out.absolute().parents) if each.exists())
        if not in_the_way.is_dir():
            raise UsageError(f"{in_the_way} is a file, not a folder.", remedy="Name another one with --out.")
        results.mkdir(parents=True, exist_ok=True)
        with suppress(NotImplementedError):  # a file system without locks
            lock.acquire()
        for folder in (out, results, out / "reports", *(out / "gradescope").glob("*")):
            for unfinished in folder.glob(UNFINISHED):  # what a kill left behind
                unfinished.unlink()
        _rename_former(out)
    except Timeout:
        remedy = "Wait for it, or name another folder with --out."
        raise UsageError(f"Another run is grading into {out}.", remedy=remedy) from None
    except OSError as problem:
        remedy = "Make room, or name another folder with --out."
        raise GraderFault(f"{out} cannot be written to: {problem.strerror}.", remedy=remedy) from None
    try:
        yield
    finally:
        lock.release()


def _rename_former(out: Path) -> None:
    """Renames what an older version wrote of each student to today's names, so that nothing stays behind unseen.

    The results come last: they say whose a file is, so that after a kill the next run goes on with it.
    Raises `OSError`, or `GraderFault` where a list cannot be written.
    """
    renamed = {}
    for file in sorted((out / "results").glob("*.json")):
        with suppress(OSError, KitError, ValueError):
            student = from_text(file.read_text(encoding="utf-8")).student if _FORMER.fullmatch(file.stem) else ""
            if student and file.stem in former_report_names(student) and file.stem != report_name(student):
                renamed[file.stem] = report_name(student)
    if not renamed:
        return
    for file in (out / "index.html", out / CLASS_LIST):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            for old, new in renamed.items():
                text = text.replace(f'reports/{old}.html"', f'reports/{quote(new)}.html"')
                text = text.replace(f'"{old}"', json.dumps(new))
            write_atomically(file, text)
    for folder, suffix in (("reports", ".html"), ("gradescope", ""), ("results", ".json")):
        for old, new in renamed.items():
            before, after = out / folder / f"{old}{suffix}", out / folder / f"{new}{suffix}"
            if before.exists() and not after.exists():
                before.rename(after)


class NotShowable(Exception):
    """Some results cannot be shown: whose and why; nobody is named where pages of the whole class failed."""

    def __init__(self, faults: Mapping[str, Fault]) -> None:
        super().__init__(", ".join(faults) or "a page of the class")
        self.faults = faults


def write_reports(
    results: Sequence[Result],
    lab: Lab,
    out: Path,
    students: Iterable[str],
    overrides: Sequence[Override] = (),
    graded: GradedFrom | None = None,
    jobs: int | None = None,
) -> StoredResults:
    """The class's gradebook and pages, from its results alone, and the list of whose results they are.

    `students`: the whole class, those without a result as well. Pages of anybody else are taken away. `jobs`: how many
    processes make pages. Raises `NotShowable` where a page cannot be made of a result that we had not failed to grade.
    """
    held = StoredResults.of(results)
    stay = {report_name(student) for student in students}
    gone = _gone(stay, out)
    try:
        _write_pages(held, lab.name, lab.title, out, at_hand(lab), overrides, graded, jobs)
    except (KitError, NotShowable):
        raise
    except Exception as problem:  # of all results together
        raise NotShowable({}) from problem
    _remove_pages(gone, stay, held.rows, out)
    return held


def _write_pages(
    results: StoredResults,
    lab: str,
    title: str,
    out: Path,
    students_have: AtHand,
    overrides: Sequence[Override],
    graded: GradedFrom | None,
    jobs: int | None = None,
) -> None:
    from autograder.reports import alike, alike_page, class_page, gradebook, misconceptions

    rows = results.rows
    seen = write_pages(results, out, students_have, jobs)
    failed = {row.student for row in rows if any(check.fault for check in row.checks)}
    if new := {student: why for student, why in seen.faults.items() if student not in failed}:
        raise NotShowable(new)
    results.weights = seen.weights
    gradebook.write(rows, out / "gradebook.csv")
    misconceptions.write(rows, out / "misconceptions.csv")
    groups = alike.alike(rows, students_have, seen.marks)
    alike.write(groups, out / "alike.csv")
    readable = sum(bool(each.texts) for each in seen.marks.values())
    write_atomically(out / "alike.html", alike_page.render(groups, results, title, readable))
    write_atomically(out / "index.html", class_page.pieces(rows, title, None, misconceptions.examples_in(results)))
    listed = {
        "version": VERSION,
        "lab": lab,
        "graded": vars(graded) if graded else None,
        "results": [report_name(row.student) for row in rows],
        "out_of_date": [report_name(row.student) for row in rows if OUT_OF_DATE in row.flags],
        "names": {report_name(row.student): row.name for row in rows if row.name},
        "dates": {report_name(each.student): _dates_kept(each) for each in rows if each.handed_in or each.due},
        "overrides": [vars(each) for each in overrides],
        "at_hand": seen.at_hand.to_dict(),
    }
    write_atomically(out / CLASS_LIST, json.dumps(listed, indent=1) + "\n")


def with_names(results: list[Result], name_of: NameOf, out: Path) -> list[Result]:
    """The results with their students' real names, else with those that an earlier run knew; with the ID behind a name
    that several have."""
    known: dict[str, object] = {}
    with suppress(OSError, ValueError, TypeError, AttributeError):
        known = dict(json.loads((out / CLASS_LIST).read_text(encoding="utf-8")).get("names", {}))
    before = [str(known.get(report_name(each.student), "")) for each in results]
    named = [
        replace(each, name=name_of(each.student, each.ids) or name) for each, name in zip(results, before, strict=True)
    ]
    times = Counter(each.display_name for each in named)
    return [
        replace(each, name=f"{each.name} ({each.ids['canvas']})")
        if each.name and times[each.display_name] > 1 and "canvas" in each.ids
        else each
        for each in named
    ]


def with_dates(results: list[Result], dates: Mapping[str, Dates], out: Path) -> tuple[list[Result], list[str]]:
    """The results with what a platform's file says of when work came in and was due (by student), else with what an
    earlier run knew of the very same submissions; and a line where that was of others."""
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError, TypeError, AttributeError):
        known = dict(json.loads((out / CLASS_LIST).read_text(encoding="utf-8")).get("dates", {}))
    found, gone = [], []
    for each in results:
        before = known.get(report_name(each.student))
        if each.student in dates:
            mine = dates[each.student]
            each = replace(each, handed_in=mine.handed_in or each.handed_in, due=mine.due)
        elif not each.handed_in and isinstance(before, dict):
            if before.get("digest") == each.digest:
                each = replace(each, handed_in=str(before.get("handed_in", "")), due=str(before.get("due", "")))
            else:
                gone.append(one_line(each.display_name, 80))
        found.append(each)
    what = "handed in anew since Moodle's worksheet said when: give it again with --moodle"
    return found, [f"{first_names(gone)}: {what}."] if gone else []


def _dates_kept(result: Result) -> dict[str, str]:
    return {"handed_in": result.handed_in, "due": result.due, "digest": result.digest}


def overrides_of(out: Path) -> list[Override]:
    """What an earlier run was told to give by hand."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        listed = json.loads((out / CLASS_LIST).read_text(encoding="utf-8"))["overrides"]
        return [Override(**{name: str(value) for name, value in each.items()}) for each in listed]
    return []


@dataclass(frozen=True)
class Told:
    """What an instructor says of a class beside its submissions.

    `overrides`: rows of a file (None: those of the run before). `options`: rows for which an option of the command line
    stands. `name_of`: real names. `dates_of`: what a platform's file says of when work came in, by student, and what to
    tell of it.
    """

    overrides: Sequence[Override] | None = None
    options: Sequence[Override] = ()
    name_of: NameOf = lambda student, ids: ""
    dates_of: DatesOf = lambda results: ({}, [])

    def of(self, results: list[Result], out: Path) -> tuple[list[Result], list[Override], list[str]]:
        """The results with all that, the rows that hold now, and a line for each thing not followed, or odd."""
        named = with_names(results, self.name_of, out)
        dates, unread = self.dates_of(named)
        dated, unknown = with_dates(named, dates, out)
        rows = together(overrides_of(out), self.overrides, self.options)
        decided, lines = applied(rows, dated)
        asked = any(each.check.lower() == DUE for each in rows)
        return decided, rows, [*(unread if asked else ()), *(unknown if asked else ()), *lines]


def renewed_class(results: Sequence[Result], told: Told, out: Path) -> tuple[StoredResults, list[str]]:
    """A finished run's results with what is told of them, and its pages anew where that changes any; with a line for each
    row that was not followed."""
    held = StoredResults.of(results)
    before = overrides_of(out)
    rows, overrides, lines = told.of(held.rows, out)
    decided = held.with_rows(rows)
    if rows != held.rows or overrides != before:
        _write_pages(decided, rows[0].lab, rows[0].lab_title, out, _students_had(out), overrides, graded_from(out))
    return decided, lines


def graded_from(out: Path) -> GradedFrom | None:
    """What a finished run was graded from and with; None where it does not say: an older version's."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return GradedFrom.of(json.loads((out / CLASS_LIST).read_text(encoding="utf-8"))["graded"])
    return None


def _students_had(out: Path) -> AtHand:
    """What an earlier run found that its students had at hand."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        return AtHand.from_dict(json.loads((out / CLASS_LIST).read_text(encoding="utf-8"))["at_hand"])
    return AtHand()


def _gone(stay: set[str], out: Path) -> set[str]:
    """The file stems of all other students of whom an earlier run wrote something, finished or not.

    They are in its list, or their result says whose it is: any other file is not ours.
    """
    names = set()
    with suppress(OSError, ValueError, KeyError, TypeError):
        names = {str(name) for name in json.loads((out / CLASS_LIST).read_text(encoding="utf-8"))["results"]}
    for file in (out / "results").glob("*.json"):
        stem = unicodedata.normalize("NFC", file.stem)  # macOS may list a name with its accents apart
        if stem not in stay | names:
            with suppress(OSError, KitError, ValueError):
                student = from_text(file.read_text(encoding="utf-8")).student
                names |= {report_name(student), *former_report_names(student)} & {stem}
    return {name for name in names - stay if Path(name).name == name}


def _remove_pages(gone: set[str], stay: set[str], results: list[Result], out: Path) -> None:
    """Removes the files of students who have left the class, so that nobody hands them back."""
    folders = {out / "gradescope" / name for name in gone}
    current = {f"submission_{result.ids['gradescope']}" for result in results if "gradescope" in result.ids}
    for folder in (out / "gradescope").glob("submission_*"):
        if _OF_GRADESCOPE.fullmatch(folder.name) and folder.name not in current | stay:
            folders.add(folder)
    for folder in sorted(folders):
        _remove(folder / "results.json")
        with suppress(OSError):  # it is not there, or holds more
            folder.rmdir()
    for name in sorted(gone):
        _remove(out / "reports" / f"{name}.html")
        _remove(out / "results" / f"{name}.json")  # last: after a kill it still says who is gone


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except NotADirectoryError:
        pass
    except OSError as problem:
        remedy = "Remove it yourself: it is of somebody who is not in the class any more."
        raise GraderFault(f"{file} cannot be removed: {problem.strerror}.", remedy=remedy) from None


def read_class(out: Path) -> StoredResults:
    """The results of a finished run; raises `UsageError` where `out` is none."""
    with suppress(OSError, KitError, ValueError):  # where nothing can be written, it is read as it is
        _rename_former(out)
    shared: dict[Any, Any] = {}
    try:
        listed = json.loads((out / CLASS_LIST).read_text(encoding="utf-8"))
        _look_at_version(listed, out)
        rows = {name: row_of(_read(out / "results" / f"{name}.json"), shared) for name in listed["results"]}
        for name in listed.get("out_of_date", ()):
            rows[name] = replace(rows[name], flags=(*rows[name].flags, OUT_OF_DATE))
        for name, real in listed.get("names", {}).items():
            rows[name] = replace(rows[name], name=str(real))
        return stored(out, list(rows.values()))
    except OSError as problem:
        what = f"{out} is not the folder of a finished run: {problem.filename} cannot be read."
        raise UsageError(what, remedy="Give the folder that `autograder grade` wrote with --out.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UsageError(f"{out / CLASS_LIST} is damaged: {problem}.", remedy="Grade the class again.") from None


def _look_at_version(listed: Mapping[str, Any], out: Path) -> None:
    """Raises `UsageError`, with the file's name, for a list that a newer version of the kit wrote."""
    try:
        upgraded({"version": listed["version"]})
    except UsageError as problem:
        raise UsageError(f"{out / CLASS_LIST}: {problem.message}", remedy=problem.remedy) from None


def _read(path: Path) -> Result:
    """One result; raises `UsageError`, with the file's name, where it cannot be read."""
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except UsageError as problem:
        raise UsageError(f"{path}: {problem.message}", remedy=problem.remedy) from None


def result_on_disk(out: Path, entry: Entry) -> Result | None:
    """What an earlier run found of this student; None where there is nothing to be read."""
    try:
        return from_text((out / "results" / f"{report_name(entry.student)}.json").read_text(encoding="utf-8"))
    except (OSError, KitError, ValueError):
        return None

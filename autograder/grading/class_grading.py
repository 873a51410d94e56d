"""A class from what was handed in to its reports: START HERE for `autograder grade`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.errors import UsageError
from autograder.grading.batch import ClassBatch
from autograder.grading.class_folder import (
    OUT_OF_DATE,
    GradedFrom,
    NameOf,
    NotShowable,
    Told,
    prepared,
    result_on_disk,
    write_reports,
)
from autograder.grading.class_pages import stored
from autograder.grading.dask_batch import DaskBatch
from autograder.grading.exports import opened_class
from autograder.grading.fence import class_is_showable, showable, unshowable
from autograder.grading.grade import PUBLIC_SEED
from autograder.grading.identity import result_key
from autograder.grading.jobs import Limits
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry, first_names
from autograder.records.files import report_name, write_atomically
from autograder.records.json_form import to_text
from autograder.records.results import Result
from autograder.records.stored import StoredResults, row_of
from autograder.reports.wording import as_copied


def grade_class(
    lab: Lab,
    handed_in: Path,
    out: Path,
    *,
    device: str = "auto",
    jobs: int | None = None,
    seed: str = PUBLIC_SEED,
    seed_file: Path | None = None,
    limits: Limits | None = None,
    progress: bool = False,
    regrade: bool = False,
    only: Sequence[str] = (),
    dask: str = "",
    told: Told | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> StoredResults:
    """Grades all that `handed_in` holds and writes `out`: results/*.json, reports/*.html, gradebook.csv, index.html.

    `handed_in`: a folder, or a zip as a learning platform exports it. `only`: these students (name or ID); of the
    others the results that are there already stay and go into the reports, flagged where they are out of date. `told`:
    names, dates, and points by hand; `tell` gets a line for each of these that was not followed. `seed_file`: where a secret
    `seed` stands, for whoever archives the class. What comes back holds rows: a result that is asked for is read from `out`.
    """
    told = told or Told()
    with opened_class(handed_in, out) as entries:
        chosen = chosen_entries(entries, only, told.name_of)
        with prepared(out):
            options: dict[str, Any] = {"device": device, "seed": seed, "limits": limits, "regrade": regrade}
            if dask:
                batch: ClassBatch = DaskBatch(lab, out, address=dask, **options)
            else:
                batch = ClassBatch(lab, out, jobs=jobs, **options)
            with batch:
                graded = {row.student: row for row in batch.grade(chosen, progress)}
                details, remarks = batch.fault_details, batch.remarks
            found = (graded.get(each.student) or left_over(lab, out, each, seed) for each in entries)
            results = stored(out, [each for each in found if each is not None])
            if not class_is_showable(results.rows, lab):
                results = without_unshowable(results, lab, out, details)
            decided, overrides, lines = told.of(results.rows, out)
            if absent := sorted({each.student for each in entries} - {each.student for each in results.rows}):
                lines.append(f"{len(absent)} of the class ({first_names(absent)}): not graded yet, so not in the reports.")
            for line in (*remarks, *lines):
                tell(line)
            origin = GradedFrom(
                submissions=str(handed_in.resolve()),
                seed_file=str(seed_file.resolve()) if seed_file else "",
                device=device,
                hidden=str(lab.hidden_spec or ""),
                labs=str(lab.folder),
            )

            def written(decided: Sequence[Result]) -> StoredResults:
                students = (each.student for each in entries)
                return write_reports(results.with_rows(decided), lab, out, students, overrides, origin, jobs)

            try:
                final = written(decided)
            except NotShowable as problem:  # pages tell more than what was tried before
                for student, fault in problem.faults.items():
                    row = next(each for each in results.rows if each.student == student)
                    results = with_fault(results, unshowable(row, lab, fault.words), fault.details, out, details)
                if not problem.faults:
                    results = without_unshowable(results, lab, out, details)
                final = written(told.of(results.rows, out)[0])
            if details:
                faults = "\n".join(f"{student}\n{text}" for student, text in sorted(details.items()))
                write_atomically(out / "grader_faults.txt", faults)
    return final


def without_unshowable(results: StoredResults, lab: Lab, out: Path, details: dict[str, str]) -> StoredResults:
    """The results, with the fault that stands in for each that some report could not show."""
    for row in results.rows:
        shown, why = showable(results.whole(row), lab)
        if why:
            results = with_fault(results, shown, why, out, details)
    return results


def with_fault(
    results: StoredResults, instead: Result, why: str, out: Path, details: dict[str, str]
) -> StoredResults:
    """The results with one in place of that student's: on disk, among the rows, and in `details`."""
    details[instead.student] = why
    write_atomically(out / "results" / f"{report_name(instead.student)}.json", to_text(instead))
    return results.with_rows([instead if each.student == instead.student else each for each in results.rows])


def left_over(lab: Lab, out: Path, entry: Entry, seed: str) -> Result | None:
    """The row of an earlier run's result of a student who was not graded now, flagged where it would come out anew today."""
    result = result_on_disk(out, entry)
    result = None if result is None else row_of(result, {})
    if result is None or (entry.problem and result.error):
        return result
    try:
        is_current = not entry.problem and result_key(lab, entry.path, seed, result.device, entry.flags) == result.key
    except OSError:
        is_current = False
    return result if is_current else replace(result, flags=(*result.flags, OUT_OF_DATE))


def chosen_entries(
    entries: list[Entry], only: Sequence[str], name_of: NameOf = lambda student, ids: ""
) -> list[Entry]:
    """The entries of the students named, by name, file or ID; raises `UsageError` for one that fits none or several."""
    chosen = []
    for name in only:
        called = ((e, (e.student, e.shown_as, *e.ids.values(), name_of(e.student, e.ids) or e.student)) for e in entries)
        fitting = [entry for entry, names in called if as_copied(name) in map(as_copied, names)]
        if len(fitting) != 1:
            near = difflib.get_close_matches(name, [each.student for each in fitting or entries], cutoff=0.4)
            what = "fits more than one student" if fitting else "is no student's name, file or ID"
            remedy = f"Perhaps one of: {', '.join(near)}." if near else ""
            raise UsageError(f"--only {name}: {what}.", remedy=remedy)
        chosen += fitting
    return chosen if only else entries

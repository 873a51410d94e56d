"""Grades what one student handed in, where Gradescope has put it, and leaves results.json where Gradescope looks for it.

ROOT/submission, ROOT/submission_metadata.json and ROOT/results/results.json (ROOT is /autograder) are those of
https://gradescope-autograders.readthedocs.io/en/latest/specs/ and .../submission_metadata/. What is printed is for the
instructor alone: students see it only where results.json says so, and ours never does.

A fault of the grader leaves no results.json. Gradescope then says that "the autograder failed to execute correctly"
(.../troubleshooting/), which is true; any results.json would have to hold a score, and a score would be the student's.
"""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.errors import GraderFault, one_line
from autograder.gradescope.assignment import Assignment, read_assignment
from autograder.grading.fence import showable
from autograder.grading.grade import check_submission, unreadable
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry, submission_in
from autograder.grading.worker import Worker
from autograder.records.files import write_atomically
from autograder.records.results import Result
from autograder.reports import gradescope
from autograder.reports.wording import earned_text, points_text

DONE, FAULT = 0, GraderFault.exit_code
TRIES = 2  # a machine may be out of memory for a moment
WHAT_TO_HAND_IN = "Hand in your notebook, lab.ipynb, and no other."


@dataclass(frozen=True)
class Metadata:
    """What submission_metadata.json says of use to a grader; Gradescope may change that file, and nothing depends on it."""

    students: str = ""
    total_points: float | None = None


def main(root: Path) -> int:
    """Grades the submission under `root`; returns the exit code."""
    target = root / "results" / "results.json"
    try:
        target.unlink(missing_ok=True)
        write_atomically(target, graded(root))
    except Exception as problem:
        print(f"The grader failed, not the student, who gets no score: {one_line(str(problem))}")
        print("Run it again from Gradescope's page of the submission. If it comes again, this is why:\n")
        traceback.print_exception(problem)
        return FAULT
    return DONE


def try_out(source: Path) -> int:
    """Grades the lab's own baseline when the image is built: what is compiled for it is there for every student, each of
    whom gets a fresh container, and a grader that does not work here is found before anybody hands in.
    """
    assignment = read_assignment(source)
    lab = assignment.load(source)
    if lab.baseline_path is None:
        return DONE
    try:
        result = judged(lab, assignment, Entry("baseline", lab.baseline_path, lab.baseline), "")
    except GraderFault as problem:
        print(f"The grader does not work in this image: {problem}")
        return FAULT
    earned = f"{points_text(result.points)} of {points_text(result.max_points)} points"
    print(f"The grader works: {lab.name}'s baseline has {earned}.")
    return DONE


def graded(root: Path) -> str:
    """The text of results.json; raises `GraderFault` where the grader could not run every check."""
    source = root / "source"
    assignment = read_assignment(source)
    lab = assignment.load(source)
    metadata = read_metadata(root / "submission_metadata.json")
    if metadata.total_points is not None and metadata.total_points < lab.points:
        total, points = points_text(metadata.total_points), points_text(lab.points)
        print(f"This assignment has {total} points on Gradescope, and the lab {points}: change it there.")
    folder = root / "submission"
    if not folder.is_dir():
        raise GraderFault(f"There is no folder {folder}.")
    result = judged(lab, assignment, submission_in(folder), metadata.students)
    earned = earned_text(result.points, result.bonus_points)
    print(f"{result.student}: {earned} of {points_text(result.max_points)} points.")
    for flag in result.flags:
        print(f"Worth a look: {one_line(flag)}")
    return gradescope.text(result)


def judged(lab: Lab, assignment: Assignment, entry: Entry, students: str) -> Result:
    """The result of a submission, on the simulated GPU; where the grader fails, a fresh worker tries again."""
    student = students or entry.student
    faults: list[str] = []
    for _ in range(TRIES):
        with Worker("simulated") as worker:
            if entry.problem:
                problem = f"{entry.problem} {WHAT_TO_HAND_IN}"
                return unreadable(lab, student, entry.shown_as, problem, worker.greeting)
            result = check_submission(lab, entry.path, worker=worker, student=student, seed=assignment.seed)
            result, why = showable(replace(result, note=entry.note), lab)
            if not any(check.fault for check in result.checks):
                return result
            faults += [*result.flags, why, worker.last_details]
    told = dict.fromkeys(fault for fault in faults if fault)
    raise GraderFault("\n".join(["A check could not be run.", *told]))


def read_metadata(path: Path) -> Metadata:
    """The students' names and the assignment's points, as far as they are there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        users = [user.get("name") or user.get("email") for user in found.get("users") or ()]
        points = (found.get("assignment") or {}).get("total_points")
        named = ", ".join(one_line(str(user)) for user in users if user)
        return Metadata(named, None if points is None else float(points))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        print(f"{path.name} could not be read, and is not needed: {type(problem).__name__}.")
        return Metadata()

"""A copy of the course for students that needs nothing else: lessons, labs and the grader, and no answer.

Every lab's starter is checked in the copy, with the copy's own grader, before anybody gets it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from autograder.course_folder import lay_course
from autograder.errors import GraderFault, SubmissionError, UsageError, one_line
from autograder.grading.labs import labs_root
from autograder.grading.starters import drifted_starters
from autograder.records.files import look_at_target, write_zip

CHECK_SECONDS = 300  # of one starter; the first has the simulated GPU compiled
STARTER_FAILS = SubmissionError.exit_code


def release(target: Path, archive: Path | None = None, tell: Callable[[str], None] = lambda line: None) -> list[Path]:
    """Lays the copy down in an empty or new folder, tries its labs, and zips it; returns what was written, from there.

    `tell` is given a line for each lab that was tried. There is no zip where a starter holds an answer (`UsageError`) or
    cannot be checked in the copy (`GraderFault`).
    """
    if archive is not None:
        look_at_target(archive)
    labs = labs_root()
    if drifted := drifted_starters(labs):
        first = drifted[0].splitlines()[0]
        remedy = "It may hold an answer. `autograder starters` derives it anew; keep your own work elsewhere."
        raise UsageError(f"A starter is not what its solution gives: {one_line(first)}", remedy=remedy)
    written = lay_course(target, labs, with_package=True)
    try:
        for lab in sorted(path.parent.name for path in written if path.name == "lab.ipynb"):
            check_starter(target, lab)
            tell(f"{lab}: its starter was checked in {target}, and fails as a starter does.")
    finally:  # what Python and Numba compiled for it is for this machine alone
        for each in list(target.rglob("__pycache__")):
            shutil.rmtree(each, ignore_errors=True)
    if archive is not None:
        name = target.resolve().name
        files = {f"{name}/{path.as_posix()}": (target / path).read_bytes() for path in written}
        try:
            write_zip(archive, files)
        except OSError as problem:
            raise UsageError(f"{archive} cannot be written: {problem.strerror}.") from None
    return written


def check_starter(course: Path, lab: str) -> None:
    """Checks a lab's starter as a student with this folder would, who has no other grader and no other labs."""
    environment = {name: value for name, value in os.environ.items() if name != "AUTOGRADER_LABS"}
    environment["PYTHONPATH"] = str(course.resolve())
    command = [sys.executable, "-m", "autograder", "check", lab, "--device", "simulated"]
    try:
        done = subprocess.run(
            command, cwd=course, env=environment, capture_output=True, text=True, errors="replace",
            timeout=CHECK_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise GraderFault(f"{lab}: checking its starter in {course} took more than {CHECK_SECONDS} s.") from None
    if done.returncode == 0:
        remedy = "It holds an answer: put the starter there, and keep your own work elsewhere."
        raise UsageError(f"{lab}: its lab.ipynb passes every check.", remedy=remedy)
    if done.returncode != STARTER_FAILS:
        said = one_line((done.stderr or done.stdout).strip()) or f"exit code {done.returncode}"
        raise GraderFault(f"{lab}: its starter cannot be checked in {course}: {said}")

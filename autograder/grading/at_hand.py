"""What all students of a lab have at hand, so that it says nothing about two of them: starter, lesson, known answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autograder.errors import KitError
from autograder.grading.known_answers.answers import solution_of
from autograder.grading.spec import Lab
from autograder.language import parse_program
from autograder.language.canonical import fingerprints
from autograder.language.source import read_submission
from autograder.records.results import FunctionFingerprint
from autograder.reports.alike import AtHand


def at_hand(lab: Lab) -> AtHand:
    """All of it, as far as it is on this machine: a copy for students has no answers."""
    asked_for = tuple(each.name for each in lab.required)
    starter = list(_functions(lab.notebook, asked_for))
    notebooks = sorted((lab.folder.parent.parent / "notebooks").glob(f"{lab.lesson[:2]}*_*.ipynb"))  # a lesson's parts
    found = [*starter, *(each for path in notebooks for each in _functions(path))]
    answers = solution_of(lab)
    files = [*filter(None, [lab.baseline_path]), answers / "lab.ipynb"]
    for each in (*files, *answers.glob("right/*.py"), *answers.glob("wrong/*.py")):
        found += _functions(each, asked_for)
    return AtHand.of(found, starter)


def _functions(path: Path, asked_for: tuple[str, ...] = ()) -> Iterator[FunctionFingerprint]:
    """The functions of one of the course's own files; none where it is not there, or holds no program."""
    if path.is_file():
        with suppress(KitError):
            yield from fingerprints(parse_program(read_submission(path)), asked_for)

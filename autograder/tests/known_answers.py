"""What the tests of every lab ask of its known answers: the first lines of wrong ones, and what grading made of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from autograder.cudagpu.availability import find_gpu
from autograder.grading.known_answers.answers import KnownAnswer
from autograder.records.results import Result

NO_GPU = pytest.mark.skipif(not find_gpu().usable, reason=f"no GPU: {find_gpu().reason}")
DEVICES = ["simulated", pytest.param("gpu", marks=[pytest.mark.gpu, NO_GPU])]


def promised(path: Path) -> tuple[frozenset[str], str]:
    """What a wrong answer's first line says: the checks that must fail, and the hint that its author must get."""
    return KnownAnswer(f"wrong/{path.stem}", "wrong", path).promise


def earns_a_part_of(path: Path) -> set[str]:
    """The checks that a right answer passes without all of their points: `# earns a part of: CHECK[, CHECK]`.

    For checks whose points go by a ramp that begins where they are passed.
    """
    first, _, names = path.read_text(encoding="utf-8").partition("\n")[0].partition(": ")
    return {each.strip() for each in names.split(",")} if first == "# earns a part of" else set()


def failed_checks(result: Result) -> set[str]:
    """Names of the failed checks, bonus aside."""
    return {each.name for each in result.checks if each.outcome == "failed" and not each.bonus}


def hints(result: Result) -> set[str]:
    """Names of the hints given, bonus aside."""
    return {each.name for check in result.checks for each in check.hints if not check.bonus}


def waiting_for_a_gpu(solutions: Path) -> set[str]:
    """The answers that a lab's table of verdicts names as graded on the simulated GPU only: no other may be missing."""
    text = (solutions / "calibration" / "verdicts.md").read_text(encoding="utf-8")
    found = re.search(r"^Graded on the simulated GPU only, so far \((\d+) of \d+\): (.+)\.$", text, re.MULTILINE)
    names = set(found[2].split(", ")) if found else set()
    assert len(names) == (int(found[1]) if found else 0)
    return names


def report(result: Result) -> str:
    """What a failed assertion should show."""
    lines = [f"{each.name}: {each.outcome}, {each.points} points. {each.message}" for each in result.checks]
    return "\n".join([result.error, *result.flags, *lines])


def without_close_calls(flags: Iterable[str], failed: Collection[str]) -> list[str]:
    """The flags but those that somebody may well look at: a failed check of speed that is too close to call by prediction,
    and, of an answer that fails, a time that no work can have."""
    close = tuple(f"{check}: too close to call by prediction" for check in failed)
    too_good = ("faster than the roofline floor",) if failed else ()
    return [flag for flag in flags if not flag.startswith(close) and flag not in too_good]

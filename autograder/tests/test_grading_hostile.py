"""Whoever tries to break the grader of a lab gets one clear line, and nothing else happens: attacks/hostile.

Lab 1 has a corpus of its own, test_grading_attacks.py; these are labs 2 to 6. `make test` runs one of four, `make
test-all` all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from autograder.grading.grade import check_submission
from autograder.grading.jobs import Limits
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.records.results import Result
from autograder.tests.attacks.tricks import Hostile, hostile, marks_of

pytestmark = pytest.mark.long

SEED = "a secret of the test's"
LONGEST_LINE = 500  # message and remedy
NEEDS_A_MEMORY_LIMIT = "GiB of memory allowed"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all: whatever one of them leaves behind would meet the next."""
    with Worker("simulated", Limits(memory_bytes=3 << 29)) as running:  # a right answer to lab 3 takes 1 GiB
        yield running


def said(result: Result) -> str:
    return "\n".join([result.error, *result.flags, *(f"{c.name}: {c.outcome} {c.message}" for c in result.checks)])


@pytest.mark.parametrize("attack", [pytest.param(each, id=each.name, marks=marks_of(each)) for each in hostile()])
def test_an_attack_breaks_nothing_and_gets_one_clear_line(attack: Hostile, worker: Worker) -> None:
    if not sys.platform.startswith("linux") and NEEDS_A_MEMORY_LIMIT in attack.says:
        pytest.skip("only Linux bounds the memory of a process")
    lab = load_lab(attack.lab)
    result = check_submission(lab, attack.submission, worker=worker, seed=SEED)

    assert not result.flags and not any(each.fault for each in result.checks), said(result)
    failed = {each.name for each in result.checks if each.outcome == "failed" and not each.bonus}
    if attack.fails == {"everything"}:
        assert result.points == 0 and result.outcome == "failed", said(result)
    else:
        assert not result.error and failed == attack.fails, said(result)
        assert (result.points >= lab.points) == (not failed), said(result)
    lines = [result.error] if result.error else [each.message for each in result.checks if each.outcome == "failed"]
    assert any(attack.says in each for each in lines) or not attack.says, said(result)
    for each in lines:
        assert len(each) <= LONGEST_LINE and each.isprintable() and "Traceback" not in each, said(result)


def test_every_lab_but_the_first_has_its_attacks() -> None:
    labs = ("lab02", "lab03", "lab04", "lab05", "lab06", "lab07")
    assert {each.lab for each in hostile()} == set(labs)
    for lab in labs:
        names = {check.name for check in load_lab(lab).checks}
        mine = [each for each in hostile() if each.lab == lab]
        assert len({each.what for each in mine}) == len(mine) >= 20
        assert all(each.fails <= names | {"everything"} for each in mine)

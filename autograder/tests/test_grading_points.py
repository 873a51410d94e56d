"""Points only for work that was done: tricks in attacks/points earn nothing by it, honest work near them keeps its marks.

A trick's first line names the checks that must give it nothing, or no more than they give to the answer that it is made of.
Seeds are secret here: what stands in a table of the public seed's values is another matter, see labs/README.md.
`make test` tries one of each kind on each lab, `make test-all` all of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from autograder.grading import grade
from autograder.grading.grade import Grading, check_submission, judge
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.records.results import Result
from autograder.tests.attacks.tricks import Trick, hostile, marks_of, tricks

pytestmark = pytest.mark.long(40)

SEED = "a secret of the test's"
TRICKS = [each for each in tricks() if each.kind]
HONEST = [each for each in tricks() if not each.kind]
KINDS = {"nothing when counted", "cheap when timed", "sample", "values known", "host", "diluted"}


def graded(lab: Lab, trick: Trick, worker: Worker) -> Result:
    return check_submission(lab, trick.submission, worker=worker, seed=SEED)


def said(result: Result) -> str:
    lines = [f"{each.name}: {each.outcome} {each.points} {each.message}" for each in result.checks]
    return "\n".join([result.error, *result.flags, *lines])


def marked(trick: Trick) -> Any:
    """The trick; where it works, and nobody has mended that, it is to fail the test until somebody does."""
    marks = marks_of(trick)
    if trick.known:
        marks.append(pytest.mark.xfail(strict=True, reason=trick.known))
    return pytest.param(trick, marks=marks, id=trick.name)


@pytest.mark.parametrize("trick", [marked(each) for each in TRICKS])
def test_a_trick_earns_nothing_where_it_does_no_work(trick: Trick, simulated: Worker) -> None:
    """Each check that it is after is judged alone: no other stands before it."""
    lab = load_lab(trick.lab)
    grading = Grading(lab, simulated, SEED, grade.read(lab, trick.submission, simulated))
    for check in lab.checks:
        if check.name in trick.denied:
            found = judge(grading, check)
            assert not found.fault and found.points <= trick.most * check.points, (found.message, grading.flags)


@pytest.mark.parametrize("honest", [marked(each) for each in HONEST])
def test_honest_work_near_a_trick_keeps_full_marks(honest: Trick, simulated: Worker) -> None:
    lab = load_lab(honest.lab)
    result = graded(lab, honest, simulated)
    assert result.outcome == "passed" and not result.flags, said(result)
    assert sum(each.points for each in result.checks if not each.bonus) == lab.points, said(result)


def test_every_lab_has_tricks_of_several_kinds_and_honest_work_near_them() -> None:
    labs = {name.partition("_")[0] for name in lab_names()}
    assert labs == {each.lab for each in HONEST} == {each.lab for each in TRICKS}
    assert {each.kind for each in TRICKS} == KINDS
    assert all(len({each.kind for each in TRICKS if each.lab == lab}) >= 2 for lab in labs)
    assert all(sum(each.lab == lab for each in HONEST) >= 8 for lab in labs - {"lab01"})
    assert len({(each.lab, each.what) for each in tricks()}) == len(tricks())
    attacked = [each.lab for each in TRICKS] + [each.lab for each in hostile()]
    assert all(attacked.count(lab) >= 30 for lab in labs - {"lab01"})
    checks = {lab: {check.name for check in load_lab(lab).checks} for lab in labs}
    for each in TRICKS:
        assert set(each.denied) <= checks[each.lab] and each.denied, each.name

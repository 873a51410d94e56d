"""Labs are found by name, and a broken spec is found before a class is graded."""

from __future__ import annotations

import pytest

from autograder.errors import GraderFault, UsageError
from autograder.grading.labs import find_lab, lab_digest, lab_names, load_lab

pytestmark = pytest.mark.quick

SPEC = '''
from autograder.grading import CheckFailed, Lab, Required, check, hint

def right(attempt, request, outputs):
    attempt.expect_close(outputs["a"], 2 * request.arguments["a"])

LAB = Lab(
    title="Doubling", lesson="00_start_here", required=(Required("double", "host", ("a",)),), results={"double": right}
)

@check(points=2)
def runs(attempt):
    """It runs
    at all.

    Details that the student does not read.
    """

@check(points=1.5, after=("runs",))
def doubles(attempt):
    """It doubles."""

@hint("forgot_to_double", checks=("doubles",), shows="a wrong element")
def forgot(attempt):
    return None
'''


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A labs folder with two labs, as $AUTOGRADER_LABS."""
    for name in ("lab01_doubling", "lab02_halving"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.py").write_text(SPEC)
    (tmp_path / "not_a_lab").mkdir()
    monkeypatch.setenv("AUTOGRADER_LABS", str(tmp_path))
    return tmp_path


LOOKS = '''

def loads(run):
    return [launch.counters.global_load_requests for launch in run.launches]

@check(points=1)
def loads_little(attempt):
    """It loads little."""
    run = attempt.{}
    assert sum(loads(run)) < 9
'''


def test_a_check_that_counts_without_verifying_does_not_load(root) -> None:
    spec = root / "lab01_doubling" / "spec.py"
    spec.write_text(SPEC + LOOKS.format('simulate("double", a=attempt.uniform(8))'))
    with pytest.raises(GraderFault, match="`loads_little` looks at what was counted and verifies nothing"):
        load_lab("lab01")
    spec.write_text(SPEC + LOOKS.format('counted(attempt.once("double", lambda by: None))'))
    assert [each.name for each in load_lab("lab01").checks] == ["runs", "doubles", "loads_little"]


def test_a_lab_that_does_not_say_what_is_right_does_not_load(root) -> None:
    (root / "lab01_doubling" / "spec.py").write_text(SPEC.replace(', results={"double": right}', ""))
    with pytest.raises(GraderFault, match="says nothing of what `double` is held to: give it a place in `results`"):
        load_lab("lab01")


@pytest.mark.parametrize("name", ["lab01", "lab01_doubling", "lab01_d"])
def test_a_lab_is_found_by_its_name_or_any_prefix_that_is_its_own(root, name):
    assert find_lab(name) == root / "lab01_doubling"


def test_a_path_leads_to_a_lab_also_where_the_platform_writes_paths_in_two_ways(root, tmp_path_factory, monkeypatch):
    """`labs/lab01_naive_matmul` on Windows, whose own separator is another."""
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "lab07_mine"
    elsewhere.mkdir()
    (elsewhere / "spec.py").write_text(SPEC)
    name = elsewhere.as_posix()
    assert find_lab(name) == elsewhere.resolve()
    monkeypatch.setattr("os.sep", "\\")
    with pytest.raises(UsageError):
        find_lab(name)
    monkeypatch.setattr("os.altsep", "/")
    assert find_lab(name) == elsewhere.resolve()


@pytest.mark.parametrize("name", ["lab", "lab0"])
def test_a_prefix_that_fits_several_labs_lists_them(root, name):
    with pytest.raises(UsageError, match="more than one lab. Labs: lab01_doubling, lab02_halving."):
        find_lab(name)


@pytest.mark.parametrize("name", ["lab03", "", "doubling", "../lab01_doubling/.."])
def test_an_unknown_lab_lists_all_labs(root, name):
    with pytest.raises(UsageError, match="no lab called .* Labs: lab01_doubling, lab02_halving"):
        find_lab(name)


def test_a_loaded_lab_has_its_checks_and_hints_in_file_order(root):
    lab = load_lab("lab01")
    assert lab.name == "lab01_doubling" and lab.points == 3.5 and lab.notebook == root / "lab01_doubling" / "lab.ipynb"
    assert [(each.name, each.title, each.after) for each in lab.checks] == [
        ("runs", "It runs at all.", ()),
        ("doubles", "It doubles.", ("runs",)),
    ]
    assert [(rule.name, rule.checks) for rule in lab.hints] == [("forgot_to_double", ("doubles",))]


def test_hints_may_stand_in_a_file_of_their_own(root):
    spec = root / "lab01_doubling" / "spec.py"
    before, after = SPEC.split('@hint("forgot')
    spec.write_text(before)
    (spec.parent / "hints.py").write_text('from autograder.grading import hint\n\n@hint("forgot' + after)
    assert [rule.name for rule in load_lab("lab01").hints] == ["forgot_to_double"]


def test_the_digest_changes_with_every_file_that_decides_a_verdict(root):
    folder = root / "lab01_doubling"
    digests = {lab_digest(load_lab("lab01"))}
    (folder / "baseline.py").write_text("x = 1\n")
    digests.add(lab_digest(load_lab("lab01")))
    (folder / "spec.py").write_text(SPEC + "# changed\n")
    digests.add(lab_digest(load_lab("lab01")))
    assert len(digests) == 3


BROKEN = [
    ("LAB = 1", "does not define LAB"),
    (SPEC + "\nraise ValueError('oh')", "cannot be loaded: ValueError: oh"),
    (SPEC + "\ndef (", "lab01_doubling/spec.py, line 27 cannot be loaded: SyntaxError: invalid syntax"),
    (SPEC + "\nraise SystemExit(0)", "lab01_doubling/spec.py, line 27 cannot be loaded: SystemExit: 0"),
    (SPEC.replace("points=2", "points=float('nan')"), "the points of `runs` are no number: nan."),
    (SPEC.replace("points=2", "points='2'"), "the points of `runs` are no number: '2'."),
    (
        SPEC.replace('after=("runs",)', 'after=("runs")'),
        'names of checks stand in a tuple: ("runs",) instead of "runs"',
    ),
    (SPEC.replace('"""It doubles."""', "pass"), "`doubles` has no docstring"),
    (
        SPEC.replace('after=("runs",)', 'after=("walks",)'),
        "`doubles` is to come after `walks`, which is no check above",
    ),
    (SPEC.replace("points=2", "points=2, bonus=True"), "after `runs`, a bonus, which comes after all others"),
    (SPEC.replace('checks=("doubles",)', 'checks=("triples",)'), "names unknown checks: triples"),
    (SPEC.replace("required=", 'baseline="fast.py", required='), "a baseline that is not there: fast.py"),
    (SPEC.replace("points=2", "points=-2"), "negative points"),
    (SPEC.split("@check")[0], "has no checks"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_broken_spec_is_a_fault_of_the_grader_with_one_line(root, text, message):
    (root / "lab01_doubling" / "spec.py").write_text(text)
    with pytest.raises(GraderFault) as fault:
        load_lab("lab01")
    assert message in str(fault.value) and "\n" not in str(fault.value)


def test_a_labs_folder_that_is_none_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOGRADER_LABS", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="which is not a folder"):
        lab_names()


def test_the_courses_own_labs_are_found_from_any_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("AUTOGRADER_LABS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert "lab01_naive_matmul" in lab_names()
    for name in lab_names():
        assert load_lab(name).points > 0

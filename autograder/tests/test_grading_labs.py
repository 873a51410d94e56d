"""Labs are found by name, and a broken spec is found before a class is graded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.errors import GraderFault, Line, UsageError
from autograder.grading.grade import check_submission
from autograder.grading.labs import find_lab, lab_digest, lab_names, load_lab
from autograder.grading.trials import Place
from autograder.records.counters import Counters, LineProfile
from autograder.records.results import Result
from autograder.records.runs import Launch, Run, RunRequest
from autograder.tests.grading_fakes import FakeWorker

pytestmark = pytest.mark.quick

SPEC = '''
from autograder.grading import CheckFailed, Lab, Required, check, hint
from autograder.records.runs import RunRequest

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
    return sum(launch.{asked} for launch in run.launches)

@check(points=1)
def loads_little(attempt):
    """It loads little."""
    run = attempt.{run}
    {judged}
'''
BY_CALLING = 'simulate("double", a=attempt.uniform(8))'
PLAINLY = "assert loads(run) < 9"
AND_HIDING_IT = """try:
        assert loads(run) < 9
    except Exception:
        pass"""


class WorkerOf(FakeWorker):
    """A worker whose runs launched one kernel, counted and estimated."""

    def run(self, request: RunRequest, on: Place) -> Run:
        launch = Launch("k", (1, 1, 1), (8, 1, 1), counted=Counters(global_load_requests=3), estimated_ns=5.0)
        line = LineProfile(Line("lab.py", 1), "", Counters(), Counters())
        arrays = dict(request.arguments)
        outputs = arrays | {"a": 2 * arrays["a"]}
        return Run(outputs=outputs, launches=(launch,), lines=(line,), counted=launch.counted, estimated_ns=5.0)


def looked_at(root: Path, run: str, asked: str = "counters.global_load_requests", judged: str = PLAINLY) -> Result:
    """The lab with a check that looks at work so, and what it says of a submission."""
    spec = root / "lab01_doubling" / "spec.py"
    spec.write_text(SPEC + LOOKS.format(run=run, asked=asked, judged=judged))
    return check_submission(load_lab("lab01"), "double.py", worker=WorkerOf(lambda: None))


@pytest.mark.parametrize(
    "run, asked, judged, what",
    [
        (BY_CALLING, "counters.global_load_requests", PLAINLY, "counted"),
        (BY_CALLING, "counted.global_load_requests", PLAINLY, "counted"),
        (BY_CALLING, "estimated_ns", PLAINLY, "estimated"),
        (BY_CALLING, "counters.global_load_requests", AND_HIDING_IT, "counted"),
        (BY_CALLING, "shared_bytes", "assert run.estimated_ns < 9", "estimated"),
        (BY_CALLING, "shared_bytes", "assert getattr(run.launches[0], 'count' + 'ed') is None", "counted"),
        (BY_CALLING, "shared_bytes", "assert attempt.trials[-1].run.counted is None", "counted"),
        ('once("double", lambda by: RunRequest("double", {"a": by.uniform(8)})).run', "estimated_ns", PLAINLY, "estimated"),
        ('once("double", lambda by: by.simulate("double", a=by.uniform(8)).lines[0])', "grid", "pass", "counted by line"),
    ],
    ids=["counters", "counted", "time", "hidden", "time of a run", "another name", "by the trials", "shared", "in making"],
)
def test_a_check_that_asks_for_work_that_it_did_not_verify_is_told_so_and_costs_nobody(
    root: Path, run: str, asked: str, judged: str, what: str
) -> None:
    result = looked_at(root, run, asked, judged)
    (told,) = [each for each in result.checks if each.name == "loads_little"]
    assert (told.outcome, told.fault, told.points) == ("not run", True, 0)
    assert re.fullmatch(
        rf"lab01_doubling/spec.py, line \d+: The check `loads_little` asks what was {what} of `double`, whose results were "
        r"not verified. Take the run from `attempt.counted\(...\)`, which verifies it first.", told.message,
    )  # fmt: skip
    assert result.flags == (f"loads_little: {told.message}",)
    number = int(told.message.split("line ")[1].split(":")[0])
    line = (root / "lab01_doubling" / "spec.py").read_text().splitlines()[number - 1]
    assert any(word in line for word in ("launch.", "run.", ".lines"))


def test_a_check_that_verifies_what_it_counts_is_carried_out(root: Path) -> None:
    for run in ('counted(RunRequest("double", {"a": attempt.uniform(8)}))',
                'counted(attempt.once("double", lambda by: RunRequest("double", {"a": by.uniform(8)})))'):  # fmt: skip
        result = looked_at(root, run)
        assert [each.outcome for each in result.checks] == ["passed"] * 3 and not result.flags, result


def test_a_check_may_ask_what_was_launched_without_verifying(root: Path) -> None:
    result = looked_at(root, BY_CALLING, "shared_bytes", "assert loads(run) == 0 and run.launches[0].block == (8, 1, 1)")
    assert [each.outcome for each in result.checks] == ["passed"] * 3 and not result.flags


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
    (SPEC + "\ndef (", "lab01_doubling/spec.py, line 28 cannot be loaded: SyntaxError: invalid syntax"),
    (SPEC + "\nraise SystemExit(0)", "lab01_doubling/spec.py, line 28 cannot be loaded: SystemExit: 0"),
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

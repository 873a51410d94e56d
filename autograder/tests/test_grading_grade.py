"""One submission to a result: requirements, the order of checks, verdicts, hints, and faults of our own."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.device import Run, RunRequest, Uninitialised
from autograder.errors import GraderFault, KernelFault, Line, NotCarriedOut, SubmissionError, UndefinedFunction
from autograder.grading import CheckFailed, Required, check, hint
from autograder.grading.grade import FAULT_OF_OURS, check_submission, generator, hold_against_requirements
from autograder.grading.identity import result_key
from autograder.grading.jobs import FunctionSummary, Summary
from autograder.tests.grading_fakes import FakeWorker, lab_with


@check(points=2)
def doubles(attempt):
    """It doubles."""
    run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])
    return "doubled 4 numbers"


@check(points=1, after=("doubles",))
def leaves_its_input_alone(attempt):
    """It leaves its input alone."""
    run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
    attempt.expect_inputs_unchanged(run)


@check(points=3, after=("doubles",))
def is_fast(attempt):
    """It is fast."""
    return attempt.speedup([], threshold=2)


@hint("forgot_to_double", checks=("doubles",))
def forgot_to_double(attempt):
    wrong = attempt.wrong
    if wrong is not None and np.array_equal(wrong.got, attempt.trials[-1].run.outputs["a"]):
        return "You return the input as it is."
    return None


def double(a, out):
    out[:] = 2 * a


def copy(a, out):
    out[:] = a


def graded(function=double, *judges, worker=None, **fields):
    lab = lab_with(*(judges or (doubles, leaves_its_input_alone, is_fast)), **fields)
    return check_submission(lab, "somewhere/ann.py", worker=worker or FakeWorker(function))


def outcomes(result):
    return {each.name: (each.outcome, each.points) for each in result.checks}


def test_a_right_submission_earns_everything():
    result = graded()
    assert outcomes(result) == {
        "doubles": ("passed", 2),
        "leaves_its_input_alone": ("passed", 1),
        "is_fast": ("passed", 3),
    }
    assert (result.outcome, result.points, result.max_points) == ("passed", 6, 6)
    assert (result.student, result.submission, result.device) == ("ann", "ann.py", "fake device")
    assert result.checks[0].message == "doubled 4 numbers" and result.checks[2].source == "simulated"
    assert result.checks[0].reproduce == "" and result.isolation == ("separate process",) and not result.error


def test_a_check_whose_predecessor_failed_is_not_run_and_says_which():
    result = graded(copy, hints=(forgot_to_double,))
    assert outcomes(result) == {
        "doubles": ("failed", 0),
        "leaves_its_input_alone": ("not run", 0),
        "is_fast": ("not run", 0),
    }
    assert result.checks[1].message == "First to pass: It doubles." and not result.checks[1].fault
    assert [each.name for each in result.checks[0].hints] == ["forgot_to_double"]
    assert "double(a, out)" in result.checks[0].reproduce and result.checks[0].mismatches


def test_what_comes_after_a_check_that_was_not_run_is_not_run_either():
    @check(points=1, after=("leaves_its_input_alone",))
    def third(attempt):
        """Third."""

    result = graded(copy, doubles, leaves_its_input_alone, third)
    assert [each.outcome for each in result.checks] == ["failed", "not run", "not run"]


def test_a_hint_is_given_once_at_the_first_check_that_shows_it():
    @check(points=1)
    def first(attempt):
        """First."""
        raise CheckFailed("wrong")

    @check(points=1)
    def second(attempt):
        """Second."""
        raise CheckFailed("wrong")

    @hint("always")
    def always(attempt):
        return "Think."

    result = graded(double, first, second, hints=(always,))
    assert [len(each.hints) for each in result.checks] == [1, 0]


def test_partial_credit_comes_from_the_failure_or_from_an_award():
    @check(points=4)
    def by_failure(attempt):
        """A."""
        raise CheckFailed("half", earned=2)

    @check(points=4)
    def by_award(attempt):
        """B."""
        attempt.award(1 / 3)
        raise CheckFailed("a third")

    @check(points=4)
    def passed_with_some(attempt):
        """C."""
        attempt.award(0.75)

    result = graded(double, by_failure, by_award, passed_with_some)
    assert [(each.outcome, each.points) for each in result.checks] == [("failed", 2), ("failed", 1.33), ("passed", 3)]


def test_nearly_is_never_shown_as_all():
    worker = FakeWorker(double, speed=1.8181)  # up to 1.9999 with its interval
    check_result = graded(double, doubles, is_fast, worker=worker).checks[1]
    assert check_result.outcome == "failed" and check_result.points == pytest.approx(2.45)


# ---- requirements ----------------------------------------------------------------------------------

NEEDED = (Required("k", "kernel", ("a", "b")), Required("f", "host", ("a", "b")))


def summary(**functions):
    line = Line("ann.ipynb, code cell 2", 5)
    return Summary("ann.ipynb", {name: FunctionSummary(kind, p, line, "") for name, (kind, p) in functions.items()})


TWO = ("a", "b")
UNFIT = [
    ({"k": ("host", TWO), "f": ("host", TWO)}, "ann.ipynb, code cell 2, line 5: `k` is an ordinary Python function"),
    ({"k": ("kernel", TWO), "f": ("kernel", TWO)}, "ann.ipynb, code cell 2, line 5: `f` is a kernel (a function under"),
    ({"k": ("kernel", ("a",)), "f": ("host", TWO)}, "line 5: `k` takes 1 parameter (a). The lab calls k(a, b)."),
    ({"k": ("kernel", TWO), "f": ("host", (*TWO, "c"))}, "line 5: `f` takes 3 parameters (a, b, c). The lab calls f(a"),
]


@pytest.mark.parametrize(("functions", "message"), UNFIT)
def test_a_required_function_of_another_kind_or_signature_is_an_error_with_one_line(functions, message):
    result = graded(required=NEEDED, worker=FakeWorker(double, summary=summary(**functions)))
    assert message in result.error and "\n" not in result.error
    assert {each.outcome for each in result.checks} == {"not run"} and result.points == 0
    assert result.outcome == "failed" and not any(each.fault for each in result.checks)


def test_other_parameter_names_are_fine():
    worker = FakeWorker(double, summary=summary(k=("kernel", ("x", "y")), f=("host", ("x", "y"))))
    assert graded(required=NEEDED, worker=worker).error == ""


def test_a_submission_that_cannot_be_read_keeps_its_line():
    worker = FakeWorker(double)

    def read(*_):
        raise SubmissionError("`import os` is not allowed.", line=Line("ann.ipynb, code cell 3", 2))

    worker.read = read
    assert graded(worker=worker).error == "ann.ipynb, code cell 3, line 2: `import os` is not allowed."


# ---- faults of ours --------------------------------------------------------------------------------


def failing_worker():
    worker = FakeWorker(double)

    def run(request, on):
        raise GraderFault("The grader's worker ended without an answer.")

    worker.run = run
    return worker


def test_a_fault_of_the_grader_is_never_the_students_failure():
    result = graded(worker=failing_worker())
    assert [(each.outcome, each.fault) for each in result.checks] == [("not run", True)] * 3
    assert result.outcome == "not run" and result.error == "" and "ended without an answer" in result.flags[0]


def test_a_bug_in_a_check_is_a_fault_with_its_place():
    @check(points=1)
    def buggy(attempt):
        """Buggy."""
        return 1 / 0

    result = graded(double, buggy)
    assert result.checks[0].fault and result.checks[0].outcome == "not run"
    assert "ZeroDivisionError: division by zero (test_grading_grade.py, line" in result.flags[0]
    assert result.checks[0].message == FAULT_OF_OURS


def test_a_bug_in_a_hint_changes_no_verdict_and_is_flagged():
    @hint("buggy")
    def buggy(attempt):
        raise KeyError("x")

    result = graded(copy, doubles, hints=(buggy, forgot_to_double))
    assert result.checks[0].outcome == "failed" and [each.name for each in result.checks[0].hints] == [
        "forgot_to_double"
    ]
    assert "hint buggy: KeyError" in result.flags[0]


# ---- determinism -----------------------------------------------------------------------------------


def test_random_numbers_depend_on_lab_check_and_seed_alone():
    lab = lab_with(doubles)
    draws = [
        generator(lab, name, seed).integers(2**62) for name, seed in (("a", "s"), ("a", "s"), ("b", "s"), ("a", "t"))
    ]
    assert draws[0] == draws[1] and len(set(draws)) == 3


def test_the_key_holds_submission_spec_seed_and_device(tmp_path):
    path = tmp_path / "ann.py"
    path.write_text("x")
    (tmp_path / "spec.py").write_text("s")
    lab = lab_with(doubles, folder=tmp_path)
    keys = {result_key(lab, path, "s", "d"), result_key(lab, path, "t", "d"), result_key(lab, path, "s", "e")}
    path.write_text("y")
    keys.add(result_key(lab, path, "s", "d"))
    (tmp_path / "spec.py").write_text("other")
    keys.add(result_key(lab, path, "s", "d"))
    assert len(keys) == 5 and result_key(lab, path, "s", "d") in keys


@pytest.mark.parametrize(("threshold", "points"), [(2, 5), (4, 2)])
def test_a_bonus_comes_on_top_of_full_marks_and_fails_nobody(threshold, points):
    @check(points=3, bonus=True)
    def is_very_fast(attempt):
        """It is very fast."""
        return attempt.speedup([], threshold=threshold, no_points_at=threshold - 0.5)

    result = graded(double, doubles, is_very_fast)
    assert (result.outcome, result.points, result.max_points) == ("passed", points, 2)
    assert lab_with(doubles, is_very_fast).points == 2


@pytest.mark.parametrize("message", ["This took longer than 20 s and was stopped.", "Index 3 is outside `a`."])
def test_a_submission_that_had_to_be_stopped_is_not_run_again_for_its_profile(message):
    runs = []

    class Faulty(FakeWorker):
        def run(self, request, on):
            runs.append(request.function)
            return Run(fault=KernelFault(message))

    def profiled(rng):
        return RunRequest("profiled", {})

    check_submission(lab_with(doubles, profile=profiled), "ann.py", worker=Faulty(double))
    assert runs == ["double"] + ["profiled"] * ("longer" not in message)


def test_what_the_simulated_gpu_cannot_carry_out_fails_and_somebody_is_to_look():
    def run(request, on="auto"):
        return Run(fault=NotCarriedOut("The simulated GPU cannot carry out `a[x]` (TypeError)."))

    worker = FakeWorker(double)
    worker.run = run
    result = graded(worker=worker)
    assert result.checks[0].outcome == "failed" and result.checks[0].points == 0
    assert [each for each in result.flags if "cannot carry out" in each] == [f"doubles: {result.checks[0].message}"]


def test_a_function_that_is_missing_says_so_also_where_inputs_are_secret():
    worker = FakeWorker(double)
    missing = UndefinedFunction("ann.py does not define a function called `double`.")
    worker.run = lambda request, on="auto": Run(fault=missing)
    lab = lab_with(doubles)
    result = check_submission(lab, "somewhere/ann.py", worker=worker, seed="a secret seed of the class")
    assert result.checks[0].secret == "" and "does not define" in result.checks[0].message
    assert result.checks[0].reproduce == ""


@pytest.mark.parametrize(
    ("parameters", "defaults", "fits"),
    [
        (("a", "out"), 0, True), (("a", "out", "block"), 1, True), (("a", "out", "block"), 0, False), (("a",), 0, False),
        (("a", "out"), 2, True), (("a", "b", "out", "block"), 1, False),
    ],
)  # fmt: skip
def test_parameters_beyond_those_of_the_lab_need_a_default(parameters, defaults, fits):
    line = Line("ann.py", 3)
    summary = Summary("ann.py", {"double": FunctionSummary("host", parameters, line, "", defaults)})
    lab = lab_with(doubles, required=(Required("double", "host", ("a", "out")),))
    if fits:
        return hold_against_requirements(lab, summary)
    with pytest.raises(SubmissionError, match="The lab calls double"):
        hold_against_requirements(lab, summary)


def test_a_check_that_ends_python_is_the_grader_s_fault():
    @check(points=1)
    def ends(attempt):
        """It ends."""
        raise SystemExit(0)

    result = graded(double, ends)
    assert result.checks[0].fault and "SystemExit" in result.flags[0]

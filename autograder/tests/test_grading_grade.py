"""One submission to a result: requirements, the order of checks, verdicts, hints, and faults of our own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.errors import (
    BrokenDefinition,
    GraderFault,
    KernelFault,
    Line,
    NotCarriedOut,
    SubmissionError,
    WorkLimit,
)
from autograder.grading import CheckFailed, Hint, Required, check, hint
from autograder.grading.ahead import Ahead
from autograder.grading.grade import FAULT_OF_OURS, MOST_OF_A_FUNCTION, check_submission, generator
from autograder.grading.identity import result_key
from autograder.grading.jobs import FunctionSummary, Summary
from autograder.grading.worker import Worker
from autograder.language import parse_program, submission_from_cells
from autograder.language.requirements import hold_to
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.reports.withheld import for_students
from autograder.tests.grading_fakes import FakeWorker, a_call, lab_with


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
    return attempt.speedup(a_call, threshold=2)


@hint("forgot_to_double", checks=("doubles",), shows="a wrong element")
def forgot_to_double(attempt):
    wrong = attempt.wrong
    if wrong is not None and np.array_equal(wrong.got, attempt.trials[-1].run.outputs["a"]):
        return Hint("forgot_to_double", "You return the input as it is.", "the output is the input")
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

    @hint("always", shows="anything")
    def always(attempt):
        return Hint("always", "Think.", "it failed")

    @hint("unseen", shows="nothing")
    def unseen(attempt):
        return Hint("unseen", "There is nothing that this was seen by.")

    result = graded(double, first, second, hints=(always, unseen))
    assert [[hint.name for hint in each.hints] for each in result.checks] == [["always"], []]


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

PROGRAM = """
from numba import cuda

@cuda.jit
def k(a, b):
    a[0] = b[0]

def f(a, b):
    k[1, 1](a, b)

def g(a):
    k[1, 1](a, a)

def h(a):
    pass
"""
NEEDED = (
    Required("k", "kernel"),
    Required("f", "host", ("a", "b")),
    Required("g", "host", ("a",)),
    Required("h", "host", ("a",)),
)


def asks(name, *parameters, after=(), may_fault=False, points=1):
    """A check that calls this function, in whatever way."""

    def judge(attempt):
        attempt.run(name, may_fault=may_fault, **{each: np.ones(4, np.float32) for each in parameters})

    judge.__name__, judge.__doc__ = f"asks_{name}" + "_again" * bool(after), f"It calls {name}."
    return check(points=points, after=after)(judge)


CHECKS = (
    asks("f", "a", "b", points=1), asks("f", "a", "b", after=("asks_f",), may_fault=True, points=2),
    asks("g", "a", points=4), asks("h", "a", after=("asks_f_again", "asks_g"), points=8),
)  # fmt: skip


def read_as(text, path, worker, required=NEEDED, checks=CHECKS):
    path.write_text(text)
    return check_submission(lab_with(*checks, required=required), path, worker=worker)


WRONG = {  # what is put for what: the points left, and the sentence that the first check says it with
    "missing": ("def f(", "def other(", 12, "ann.py does not define a function called `f`."),
    "a kernel for a host function": ("def f(", "@cuda.jit\ndef f(", 12, "line 9: `f` is a kernel (a function under"),
    "fewer parameters": ("def f(a, b)", "def f(a)", 12, "line 8: `f` takes 1 parameter (a). The lab calls f(a, b)."),
    "more parameters": (
        "def f(a, b)",
        "def f(a, b, c)",
        12,
        "line 8: `f` takes 3 parameters (a, b, c). The lab calls f(a",
    ),
    "a statement that is refused": (
        "k[1, 1](a, b)",
        "with a:\n        pass",
        12,
        "line 9: Host code in a submission cannot",
    ),
    "an expression that is refused": ("k[1, 1](a, b)", "(lambda: 1)()", 12, "line 9: Host code in a submission cannot"),
    "a name of nobody's": ("k[1, 1](a, b)", "kk[1, 1](a, b)", 12, "line 9: `kk` is not defined"),
    "a class": ("def f(a, b):", "class f:", 12, "line 8: `f` is a class"),
    "a decorator": ("def f(", "@open\ndef f(", 12, "line 9: `f` has the decorator @open"),
    "an import": ("k[1, 1](a, b)", "import os", 12, "line 9: `os` cannot be used in a submission"),
    "a constant that cannot be worked out": ("k[1, 1](a, b)", "N\n\nN = 1 / 0", 12, "line 11: `1 / 0` fails: division"),
    "another number for the kernel": ("k[1, 1](a, b)", "k[1, 1](a)", 12, "line 5: `k` takes 2 arguments (a, b), but 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_function_costs_the_checks_that_come_to_it(name, simulated, tmp_path):
    old, new, points, sentence = WRONG[name]
    assert old in PROGRAM
    result = read_as(PROGRAM.replace(old, new), tmp_path / "ann.py", simulated)
    assert outcomes(result) == {
        "asks_f": ("failed", 0), "asks_f_again": ("not run", 0), "asks_g": ("passed", 4), "asks_h_again": ("passed", 8)
    }  # fmt: skip
    assert sentence in result.checks[0].message and "\n" not in result.checks[0].message
    assert result.checks[1].message == "First to pass: It calls f."
    assert (result.error, result.points, result.outcome) == ("", points, "failed") and not result.flags
    assert not any(each.fault or each.reproduce for each in result.checks)


OF_THE_KERNEL = {
    "missing": ("def k(", "def kk(", "ann.py does not define a function called `k`."),
    "no decorator": (
        "@cuda.jit\n",
        "",
        "line 4: `k` is an ordinary Python function (no @cuda.jit). The lab needs a kernel",
    ),
    "no import": ("from numba import cuda", "", "line 5: `k` is under @cuda.jit, and `cuda` is imported nowhere."),
    "refused": (
        "a[0] = b[0]",
        "try:\n        a[0] = 1\n    except:\n        pass",
        "line 6: A kernel cannot contain this (Try)",
    ),
    "a name of nobody's": ("a[0] = b[0]", "a[0] = helper(b)", "line 6: `helper` is not defined here."),
    "another number of parameters": (
        "def k(a, b)",
        "def k(a, b, c)",
        "line 5: `k` takes 3 arguments (a, b, c), but 2 are",
    ),
}


@pytest.mark.parametrize("name", OF_THE_KERNEL)
def test_a_broken_kernel_costs_what_launches_it_and_is_told_in_full_once(name, simulated, tmp_path):
    old, new, sentence = OF_THE_KERNEL[name]
    assert old in PROGRAM
    result = read_as(PROGRAM.replace(old, new, 1), tmp_path / "ann.py", simulated)
    assert [each.outcome for each in result.checks] == ["failed", "not run", "failed", "passed"]
    assert sentence in result.checks[0].message and result.points == 8
    assert result.checks[2].message == "This needs `k` as well, which cannot be used: see “It calls f.”"


def test_a_kernel_that_only_the_submission_launches_may_take_what_it_likes(simulated, tmp_path):
    text = PROGRAM.replace("def k(a, b)", "def k(a, b, n)").replace("k[1, 1](a, b)", "k[1, 1](a, b, 1)")
    result = read_as(text.replace("k[1, 1](a, a)", "k[1, 1](a, a, 2)"), tmp_path / "ann.py", simulated)
    assert result.outcome == "passed" and result.points == 15


def test_a_kernel_that_the_lab_launches_is_broken_for_the_lab_alone(simulated, tmp_path):
    text = PROGRAM.replace("def k(a, b)", "def k(a, b, n)").replace("k[1, 1](a, b)", "k[1, 1](a, b, 1)")
    needed = (Required("k", "kernel", ("a", "b")), *NEEDED[1:])

    @check(points=1)
    def launches(attempt):
        """It launches k."""
        attempt.run("k", grid=1, block=1, a=np.ones(4, np.float32), b=np.ones(4, np.float32))

    result = read_as(text, tmp_path / "ann.py", simulated, needed, (launches, *CHECKS))
    assert [each.outcome for each in result.checks] == ["failed", "passed", "passed", "failed", "passed"]
    assert result.checks[0].message == "ann.py, line 5: `k` takes 3 parameters (a, b, n). The lab calls k(a, b)."


def test_a_branch_that_is_not_taken_costs_nothing(simulated, tmp_path):
    text = PROGRAM.replace("    k[1, 1](a, b)", "    if a.size > 99:\n        nobody[1, 1](a)\n    k[1, 1](a, b)")
    assert read_as(text, tmp_path / "ann.py", simulated).points == 15


def test_where_nothing_can_be_graded_the_submission_is_not_graded(simulated, tmp_path):
    result = read_as("x = 1\n", tmp_path / "ann.py", simulated)
    assert result.error.startswith("ann.py does not define a function called `f`.")
    assert {each.outcome for each in result.checks} == {"not run"} and result.outcome == "failed"


def test_a_check_can_ask_for_a_function_that_it_does_not_call(simulated, tmp_path):
    @check(points=1)
    def looks_for_launches(attempt):
        """It looks for launches of k."""
        attempt.need("k")

    result = read_as("def f(a, b):\n    pass\n", tmp_path / "ann.py", simulated, NEEDED, (looks_for_launches, *CHECKS))
    assert [each.outcome for each in result.checks] == ["failed", "passed", "passed", "failed", "failed"]
    assert "does not define a function called `k`" in result.checks[0].message


def test_what_other_checks_failed_for_still_keeps_a_check_from_running(simulated, tmp_path):
    @check(points=1)
    def fails(attempt):
        """It fails."""
        raise CheckFailed("wrong")

    after_both = asks("h", "a", after=("asks_f", "fails"))
    result = read_as(
        PROGRAM.replace("def f(", "def o("), tmp_path / "ann.py", simulated, NEEDED, (CHECKS[0], fails, after_both)
    )
    assert result.checks[2].message == "First to pass: It fails."


@pytest.mark.parametrize("hidden", [False, True])
def test_what_is_broken_for_all_inputs_is_no_secret_of_them_but_a_hidden_check_stays_one(hidden, simulated, tmp_path):
    lab = lab_with(*CHECKS, required=NEEDED)
    lab = replace(lab, checks=(replace(lab.checks[0], hidden=hidden), *lab.checks[1:]))
    (tmp_path / "ann.py").write_text(PROGRAM.replace("def f(", "def o("))
    result = check_submission(lab, tmp_path / "ann.py", worker=simulated, seed="a secret seed of the class")
    shown = for_students(result).checks[0]
    assert result.checks[0].secret == ("check" if hidden else "")
    assert ("does not define" in shown.message) is not hidden


def test_a_second_worker_comes_to_the_same_verdict(simulated, tmp_path):
    text = PROGRAM.replace("def g(", "def gg(")
    alone = read_as(text, tmp_path / "ann.py", simulated)
    ahead = Ahead(Worker("simulated"))
    try:
        lab = lab_with(*CHECKS, required=NEEDED)
        together = check_submission(lab, tmp_path / "ann.py", worker=simulated, ahead=ahead)
    finally:
        ahead.worker.close()
    assert together.checks == alone.checks and [each.outcome for each in alone.checks][2] == "failed"


def test_other_parameter_names_are_fine(simulated, tmp_path):
    assert (
        read_as(
            PROGRAM.replace("def f(a, b)", "def f(a, b_)").replace("](a, b)", "](a, b_)"), tmp_path / "a.py", simulated
        ).points
        == 15
    )


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
    @hint("buggy", shows="anything")
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
        return attempt.speedup(a_call, threshold=threshold, no_points_at=threshold - 0.5)

    result = graded(double, doubles, is_very_fast)
    assert (result.outcome, result.points, result.max_points) == ("passed", points, 2)
    assert lab_with(doubles, is_very_fast).points == 2


def test_a_bonus_makes_up_for_no_check_that_failed_wherever_it_stands():
    @check(points=3, bonus=True)
    def comes_with_more(attempt):
        """It comes with more."""

    @check(points=1)
    def is_fast(attempt):
        """It is fast."""
        raise CheckFailed("Too slow.")

    result = graded(double, doubles, comes_with_more, is_fast)
    assert [each.name for each in result.checks] == ["doubles", "comes_with_more", "is_fast"]
    bonus = result.checks[1]
    assert (bonus.outcome, bonus.message) == ("not run", "First to pass: It is fast.")
    assert (result.points, result.max_points, result.outcome) == (2, 3, "failed")


@pytest.mark.parametrize("fault", [WorkLimit("This took longer than 20 s."), KernelFault("Index 3 is outside `a`.")])
def test_a_submission_that_had_to_be_stopped_is_not_run_again_for_its_profile(fault):
    runs = []

    class Faulty(FakeWorker):
        def run(self, request, on):
            runs.append(request.function)
            return Run(fault=fault)

    def profiled(rng):
        return RunRequest("profiled", {})

    check_submission(lab_with(doubles, profile=profiled), "ann.py", worker=Faulty(double))
    assert runs == ["double"] + ["profiled"] * (not isinstance(fault, WorkLimit))


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
    missing = BrokenDefinition("ann.py does not define a function called `double`.", name="double")
    worker.run = lambda request, on: Run(fault=missing)
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
    plain, with_default = parameters[: len(parameters) - defaults], parameters[len(parameters) - defaults :]
    text = f"def double({', '.join([*plain, *(f'{each}=1' for each in with_default)])}):\n    pass\n"
    program = parse_program(submission_from_cells("ann.py", [("ann.py", text)], is_notebook=False))
    broken = hold_to(program, [Required("double", "host", ("a", "out"))]).broken
    assert not broken if fits else "The lab calls double" in str(broken["double"])


def test_a_check_that_ends_python_is_the_grader_s_fault():
    @check(points=1)
    def ends(attempt):
        """It ends."""
        raise SystemExit(0)

    result = graded(double, ends)
    assert result.checks[0].fault and "SystemExit" in result.flags[0]


# ---- what nobody has begun -------------------------------------------------------------------------


def summary_of(**texts):
    """A summary of these functions: `name="pass"` is empty, any other text is what its body names, comma between."""
    functions = {
        name: FunctionSummary("host", (), Line("ann.py", 1), f"def {name}(): {body}", body == "pass", tuple(body.split(",")))
        for name, body in texts.items()
    }  # fmt: skip
    return Summary("ann.py", functions)


@pytest.mark.parametrize(
    ("texts", "tried", "came_to"),
    [
        ({"double": "pass"}, False, ("double",)),
        ({"double": "a"}, True, ("double",)),
        ({"double": "helper", "helper": "kernel", "kernel": "pass"}, False, ("double", "helper", "kernel")),
        ({"kernel": "pass", "double": "double"}, True, ("double",)),  # it never comes to that one
        ({}, True, ()),
    ],
)
def test_a_check_is_not_tried_where_it_comes_to_a_function_that_is_still_empty(texts, tried, came_to):
    result = graded(worker=FakeWorker(copy, summary=summary_of(**texts)))
    assert (result.checks[0].outcome, result.checks[0].tried, result.checks[0].came_to) == ("failed", tried, came_to)
    assert {each.name for each in result.functions} == set(came_to)


def test_a_check_that_passes_has_been_tried_whatever_is_empty_and_leaves_no_text():
    result = graded(worker=FakeWorker(double, summary=summary_of(double="pass")))
    assert result.checks[0].outcome == "passed" and result.checks[0].tried and result.functions == ()


def test_a_function_too_long_to_read_is_no_example():
    texts = {"double": "helper," + "x" * MOST_OF_A_FUNCTION, "helper": "a"}
    result = graded(worker=FakeWorker(copy, summary=summary_of(**texts)))
    assert [each.name for each in result.functions] == ["helper"]


def test_a_bonus_that_nobody_wrote_is_not_tried_and_a_required_function_that_is_gone_has_failed():
    missing = {name: BrokenDefinition(f"There is no `{name}`.", name=name) for name in ("double", "extra")}
    refused = BrokenDefinition("It is refused.", name="extra", line=Line("ann.py", 7))

    @check(points=1)
    def is_extra(attempt):
        """It is extra."""
        attempt.run("extra")

    class Missing(FakeWorker):
        faults: dict[str, BrokenDefinition] = {}

        def run(self, request, on):
            return Run(fault=self.faults[request.function])

    required = (Required("double", "host", ("a", "out")),)
    for faults, tried in ((missing, False), (missing | {"extra": refused}, True)):
        worker = Missing(copy, summary=summary_of(other="a"))
        worker.faults = faults
        result = graded(copy, doubles, is_extra, worker=worker, required=required)
        assert {each.name: each.tried for each in result.checks} == {"doubles": True, "is_extra": tried}

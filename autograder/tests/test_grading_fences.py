"""One student's trouble is one row: whatever goes wrong for one, all others are graded, and the next run goes on.

The first half injects faults of ours for one student's name; the second half hands in what made the grader fail.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import cli
from autograder.errors import GraderFault, MachineFault, Unforeseen
from autograder.grading import CheckFailed, check, hint, pictures
from autograder.grading import batch as batch_module
from autograder.grading import grade as grade_module
from autograder.grading.attempt import Attempt, Place, SharedRuns
from autograder.grading.class_folder import read_class
from autograder.grading.class_grading import grade_class
from autograder.grading.dask_batch import DaskBatch
from autograder.grading.failures import MOST_OF_A_MESSAGE
from autograder.grading.grade import FAULT_OF_OURS, check_submission, generator
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.records.counters import Counters
from autograder.records.json_form import from_text
from autograder.records.results import Result
from autograder.records.runs import Comparison, Run, RunRequest, Source, Uninitialised
from autograder.reports import class_page, gradebook, html, junit, terminal
from autograder.simulated_device import SimulatedDevice
from autograder.tests.grading_fakes import FakeWorker, lab_with
from autograder.tests.test_grading_bad_input import GOOD

pytestmark = pytest.mark.long

SECRET = "zqx7"  # in every injected fault: for the instructor, never for a student


@check(points=2)
def doubles(attempt):
    """It doubles."""
    run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])


class NamedWorker(FakeWorker):
    """Doubles, where the submission says "right"; `reads` are the students it has read."""

    reads: list[str] = []

    def __init__(self, *_):
        super().__init__(lambda a, out: None)

    def start(self):
        pass

    def close(self):
        pass

    retire = close

    def read(self, submission, *_):
        self.reads.append(submission.stem)
        factor = 2 if "right" in submission.read_text() else 3
        self.function = lambda a, out: np.multiply(a, factor, out=out)
        return self.summary


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_module, "Worker", NamedWorker)
    monkeypatch.setattr(NamedWorker, "reads", [])
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    return lab_with(doubles, folder=tmp_path / "lab")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("ann", "bob", "cem", "dan"):
        (folder / f"{name}.py").write_text(f"right {name}")
    return folder


def is_bobs(*given: object, **named: object) -> bool:
    """Whether a call of some function of ours is about bob's work (what stands in for it passes)."""
    for each in (*given, *named.values()):
        if isinstance(each, Result) and each.student == "bob" and not any(one.fault for one in each.checks):
            return True
        if isinstance(each, Path) and each.stem == "bob" and each.suffix == ".py":
            return True
        if isinstance(each, list) and any(is_bobs(one) for one in each):
            return True
    return False


def failing(function: Callable[..., Any], problem: BaseException) -> Callable[..., Any]:
    def called(*given: object, **named: object) -> object:
        if is_bobs(*given, **named):
            raise problem
        return function(*given, **named)

    return called


PLACES = {
    "reading": (NamedWorker, "read"), "the key": (batch_module, "result_key"), "grading": (batch_module, "check_submission"),
    "the student's facts": (batch_module, "with_entry"), "the result on disk": (batch_module, "write_result"),
    "the page": (html, "render"), "the class's page": (class_page, "pieces"), "the gradebook": (gradebook, "_row"),
    "JUnit": (junit, "_suite"), "the terminal": (terminal, "render"), "the class's table": (terminal, "render_class"),
    "all checks": (grade_module, "judge_all"),
}  # fmt: skip
PROBLEMS = [TypeError(SECRET), AssertionError(SECRET), KeyError(SECRET), GraderFault(SECRET), RecursionError(SECRET)]


def inject(monkeypatch: pytest.MonkeyPatch, place: str, problem: BaseException) -> None:
    module, name = PLACES[place]
    function = getattr(module, name)
    if place == "all checks":  # it is not told whose they are
        reads = NamedWorker.reads

        def called(*given: object) -> object:
            if reads[-1] == "bob":
                raise problem
            return function(*given)

        monkeypatch.setattr(module, name, called)
        return
    monkeypatch.setattr(module, name, failing(function, problem))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
@pytest.mark.parametrize("place", PLACES)
def test_a_fault_of_ours_over_one_student_costs_one_row_wherever_it_happens(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, problem: BaseException
) -> None:
    jobs = 1 if place == "all checks" else 2
    out = tmp_path / "out"
    with monkeypatch.context() as injected:
        inject(injected, place, problem)
        results = grade_class(lab, folder, out, jobs=jobs)
        assert [each.student for each in results] == ["ann", "bob", "cem", "dan"]
        assert [each.outcome for each in results] == ["passed", "not run", "passed", "passed"]
        assert results[1].checks[0].fault and any(SECRET in flag for flag in results[1].flags)
        assert cli.exit_code(results) == 3
        if not isinstance(problem, GraderFault):  # its words are for people
            assert results[1].checks[0].message == FAULT_OF_OURS
            assert SECRET not in (out / "reports" / "bob.html").read_text()
    assert from_text((out / "results" / "bob.json").read_text()).checks[0].fault
    assert [each.student for each in read_class(out)] == ["ann", "bob", "cem", "dan"]
    assert "bob\n" in (out / "grader_faults.txt").read_text()
    assert "bob" in (out / "index.html").read_text() and len((out / "gradebook.csv").read_text().splitlines()) == 5
    NamedWorker.reads.clear()  # the fault is mended: bob alone is graded again
    again = grade_class(lab, folder, out, jobs=jobs)
    assert [each.outcome for each in again] == ["passed"] * 4 and NamedWorker.reads == ["bob"]


@pytest.mark.parametrize("name", ["render"])
def test_a_page_that_cannot_be_made_at_all_is_a_plain_one(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    render = html.render

    def called(result: Result, *more: object) -> str:
        if result.student == "bob":
            raise ValueError(SECRET)
        return render(result, *more)

    monkeypatch.setattr(html, name, called)
    results = grade_class(lab, folder, tmp_path / "out")
    assert [each.outcome for each in results] == ["passed", "not run", "passed", "passed"]
    page = (tmp_path / "out" / "reports" / "bob.html").read_text()
    assert "bob" in page and FAULT_OF_OURS in page and SECRET not in page


def test_a_check_a_hint_and_a_picture_that_fail_for_one_student_touch_nobody_else(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @check(points=1, after=("doubles",))
    def fails_for_bob(attempt):
        """It fails for bob."""
        if NamedWorker.reads[-1] == "bob":
            raise ZeroDivisionError(SECRET)

    @hint("breaks", shows="anything")
    def breaks(attempt):
        raise ZeroDivisionError(SECRET)

    (folder / "dan.py").write_text("wrong")
    monkeypatch.setattr(pictures, "failure_pictures", lambda attempt: 1 / 0)
    checks = tuple(vars(each)["as_check"] for each in (doubles, fails_for_bob))
    whole = replace(lab, checks=checks, hints=(vars(breaks)["as_hint"],))
    results = {each.student: each for each in grade_class(whole, folder, tmp_path / "out", jobs=1)}
    assert [results[name].outcome for name in ("ann", "bob", "cem", "dan")] == ["passed", "not run", "passed", "failed"]
    assert results["bob"].checks[0].outcome == "passed" and results["bob"].checks[1].message == FAULT_OF_OURS
    assert SECRET in (tmp_path / "out" / "grader_faults.txt").read_text()
    assert not any(each.fault for each in results["dan"].checks)
    assert {flag.partition(":")[0] for flag in results["dan"].flags} == {"hint breaks", "pictures of doubles"}


def test_what_cannot_be_said_of_a_failed_check_costs_that_check_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "reproduction", lambda self: 1 / 0)
    result = check_submission(lab_with(doubles), "a.py", worker=FakeWorker(lambda a, out: None))
    assert result.checks[0].fault and "ZeroDivisionError" in result.flags[0]


def test_a_fault_of_the_machine_is_still_the_whole_runs(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        batch_module, "write_result", failing(vars(batch_module)["write_result"], MachineFault("The disk is full."))
    )
    with pytest.raises(MachineFault, match="The disk is full"):
        grade_class(lab, folder, tmp_path / "out")


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(0)])
def test_ctrl_c_ends_a_run_and_a_check_that_ends_python_does_not(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    monkeypatch.setattr(batch_module, "check_submission", failing(check_submission, problem))
    if isinstance(problem, SystemExit):
        outcomes = [each.outcome for each in grade_class(lab, folder, tmp_path / "out")]
        assert outcomes == ["passed", "not run", "passed", "passed"]
    else:
        with pytest.raises(KeyboardInterrupt):
            grade_class(lab, folder, tmp_path / "out")


def test_a_worker_that_never_starts_is_one_fault_and_not_one_a_student(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_module, "Worker", Worker)
    with pytest.raises(GraderFault, match="no driver here"):
        grade_class(
            lab, folder, tmp_path / "out", device="autograder.tests.grading_fakes:device_without_driver", jobs=2
        )
    assert not list((tmp_path / "out" / "results").iterdir())


def test_a_class_on_a_cluster_is_fenced_in_the_same_way(lab: Lab, folder: Path, tmp_path: Path) -> None:
    """Without a cluster: what comes back, and what is written of it."""
    batch = DaskBatch.__new__(DaskBatch)
    batch_module.ClassBatch.__init__(batch, lab, tmp_path / "out")
    entry = Entry("bob", folder / "bob.py", "bob.py")

    class Lost:
        def result(self) -> str:
            raise ConnectionError(SECRET)

    class Odd:
        def result(self) -> str:
            return "{}"

    for future in (Lost(), Odd()):
        result = batch._received(entry, future)
        assert result.student == "bob" and all(each.fault for each in result.checks)
        assert from_text((tmp_path / "out" / "results" / "bob.json").read_text()) == result
    assert "bob" in batch.fault_details


def test_check_writes_its_result_whatever_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "a.py").write_text(GOOD)
    small = replace(load_lab("lab01"), checks=load_lab("lab01").checks[:1], hints=())
    odd = replace(small.checks[0], judge=lambda attempt: attempt.record(odd=object()))
    monkeypatch.setattr("autograder.grading.labs.load_lab", lambda name: replace(small, checks=(odd,)))
    code = cli.main(
        ["check", "lab01", str(tmp_path / "a.py"), "--json", str(tmp_path / "a.json"), "--device", "simulated"]
    )
    told = capsys.readouterr()
    form = json.loads((tmp_path / "a.json").read_text())
    assert code == 3 and form["outcome"] == "not run" and form["checks"][0]["fault"]
    assert "TypeError: a result cannot hold a object" in form["flags"][0]
    assert "a report of the grader's own fault is in" in told.err and FAULT_OF_OURS in told.out


def test_what_nobody_had_foreseen_is_for_the_instructor_and_not_for_the_student() -> None:
    class Worried(FakeWorker):
        def run(self, request: RunRequest, on: str) -> Run:
            raise Unforeseen("The grader's worker failed: SyntaxError: invalid syntax (<unknown>, line 1)")

    result = check_submission(lab_with(doubles), "a.py", worker=Worried(lambda a, out: None))
    assert result.checks[0].message == FAULT_OF_OURS and "<unknown>" in result.flags[0]


def test_a_message_of_any_length_is_cut_where_it_is_made() -> None:
    @check(points=1)
    def quotes(attempt):
        """It quotes."""
        raise CheckFailed(f"Mostly here: `{'x' * 390_000}`")

    @check(points=1)
    def tells(attempt):
        """It tells."""
        return "x\n" * 390_000

    result = check_submission(lab_with(quotes, tells), "a.py", worker=FakeWorker(lambda a, out: None))
    assert [len(each.message) for each in result.checks] == [MOST_OF_A_MESSAGE] * 2
    assert all(each.message.isprintable() for each in result.checks)


# ---- what made the grader fail -------------------------------------------------------------------------


def answer(lab: str, name: str) -> str:
    return (Path(load_lab(lab).folder.parent.parent) / "solutions" / load_lab(lab).name / "right" / name).read_text()


def judged(worker: Worker, lab: str, check_name: str, text: str, folder: Path) -> Result:
    """The result of one check alone."""
    loaded = load_lab(lab)
    only = replace(next(each for each in loaded.checks if each.name == check_name), after=())
    (folder / "bob.py").write_text(text)
    return check_submission(replace(loaded, checks=(only,), profile=None), folder / "bob.py", worker=worker)


def told(result: Result) -> str:
    """What the student reads of the one check, which is no fault of ours and nothing for anybody to look at."""
    assert not result.error and not result.flags, (result.error, result.flags)
    only = result.checks[0]
    assert only.outcome == "failed" and not only.fault, only.message
    for word in ("Error", "<unknown>", ".py, line 0", "Traceback", "object at 0x"):
        assert word not in only.message, only.message
    return only.message


RETURNED = {
    "complex numbers": ("np.array([1j] * m)", "ranks[0] is 0+1j, expected"),
    "dates": ("np.zeros(m, 'M8[s]')", "bob.py, line 49: `rank_splitters` returns an array of datetime64[s]. Return"),
    "durations": ("np.zeros(m, 'm8[s]')", "returns an array of timedelta64[s]. Return an array of numbers."),
    "text": ("np.zeros(m, 'U3')", "returns an array of <U3. Return an array of numbers."),
    "records": ("np.zeros(m, 'f4,i4')", "returns an array of [('f0', '<f4'), ('f1', '<i4')]. Return"),
    "bytes": ("np.zeros(m, 'V4')", "returns an array of |V4. Return"),
    "objects": ("np.zeros(m, 'O')", "Host code has no arrays of objects"),
    "an array of the device": ("cuda.device_array(m, 'M8[s]')", "returns an array of datetime64[s]. Return"),
    "ten of 128 MiB": (", ".join(["np.zeros(2 ** 24)"] * 10), "returns 1,280 MiB of arrays; at most 4 are looked at."),
    "a function": ("rank_splitters", "rank_splitters returns no array"),
    "one number": ("3", "rank_splitters returns no array"),
    "another shape": ("np.zeros((m, 2), np.int32)", "`ranks` has shape ("),
    "truth values": ("np.zeros(m, bool)", "ranks["),
}


@pytest.mark.parametrize("what", RETURNED)
def test_whatever_a_submission_returns_is_its_authors_mistake_in_one_line(
    what: str, simulated: Worker, tmp_path: Path
) -> None:
    value, words = RETURNED[what]
    text = answer("lab06", "every_32.py").replace(
        "from numba import cuda", "import numpy as np\nfrom numba import cuda", 1
    )
    start = text.index("def rank_splitters")
    at = text.index("    return links", start)
    text = f"{text[:at]}    m = links.size\n    return {value}\n{text[at:]}"
    line = text[:start].count("\n") + 1
    message = told(judged(simulated, "lab06", "ranks_the_splitters", text, tmp_path))
    assert words.replace("line 49", f"line {line}") in message


SKIPS = {
    "lab03": ("loads_whole_sectors", "tiles_of_32.py", "def transpose(a, b):", "if a.shape[0] == a.shape[1] == 192:",
              r"b\[0, 0\] was never written, expected [\d.]+; 36,864 of 36,864 elements are wrong, .* never written\."),
    "lab04": ("faster_than_the_first_idea", "eight_elements_a_thread.py", "def total_sum(", "if values.size > 2 ** 23:",
              r"`total_sum` launches no kernel for `values` of shape \(\d+,\): nothing was timed\."),
    "lab06": ("shares_the_walking", "every_32.py", "def rank_list(", "if successor.size > 8000:",
              r"`rank_list` launches no kernel for `successor` of shape \(\d+,\): nothing was counted\."),
}  # fmt: skip


@pytest.mark.parametrize("lab_name", SKIPS)
def test_a_submission_that_launches_nothing_where_it_is_counted_or_timed_fails_in_one_line(
    lab_name: str, simulated: Worker, tmp_path: Path
) -> None:
    check_name, file, function, test, words = SKIPS[lab_name]
    text = answer(lab_name, file)
    end = text.index("\n", text.index(function)) + 1
    text = f"{text[:end]}    {test}\n        return\n{text[end:]}"
    assert re.fullmatch(words, told(judged(simulated, lab_name, check_name, text, tmp_path)))


class LaunchesNothing:
    """A device on which host functions do all that is right, and launch nothing (or what does nothing)."""

    source: Source = "simulated"

    def __init__(self, lab: Lab, kernels_that_do_nothing: bool) -> None:
        answers = (lab.folder.parent.parent / "solutions" / lab.name / "right").glob("*.py")
        shortest = min(answers, key=lambda path: (len(path.read_bytes()), path.name))  # any will do that is right
        self.answer = parse_program(read_submission(shortest))
        self.device, self.keeps_launches = SimulatedDevice(), kernels_that_do_nothing

    def stripped(self, run: Run) -> Run:
        launches = run.launches if self.keeps_launches else ()
        return replace(run, launches=launches, lines=(), counted=Counters(), estimated_ns=None, hazards=())

    def run(self, request: RunRequest, on: Place) -> Run:
        return self.stripped(self.device.run(self.answer, request))

    def compare(self, requests: Sequence[RunRequest], threshold: float, goes_on: bool = False) -> Comparison:
        nan = float("nan")
        run = self.stripped(self.device.run(self.answer, requests[0]))
        whole = requests[0].sample_blocks is None
        right: dict[str, Any] = {"outputs": (run.outputs,), "request_of_output": (0,)} if whole else {}
        sampled = None if right else replace(run, outputs={name: run.outputs[name] for name in run.written})
        return Comparison(nan, nan, nan, "simulated", 1.0, nan, launches=0, sampled=sampled, **right)


@pytest.mark.parametrize(
    ("name", "kernels_that_do_nothing"),
    [
        *((name, False) for name in lab_names()),
        (lab_names()[0], True),
        *(pytest.param(name, True, marks=pytest.mark.rest) for name in lab_names()[1:4]),
    ],
)
def test_no_check_of_any_lab_can_be_made_to_fail_by_launching_nothing(name: str, kernels_that_do_nothing: bool) -> None:
    """Right results, and nothing counted: every check passes or fails in a line of its own."""
    lab = load_lab(name)
    runner = LaunchesNothing(lab, kernels_that_do_nothing)
    shared = SharedRuns(lambda run: generator(lab, run, "public"))
    failed = 0
    for each in lab.checks:
        attempt = Attempt(each.name, runner, generator(lab, each.name, "public"), {}, shared, results=lab.results)
        try:
            each.judge(attempt)
        except CheckFailed as failure:
            attempt.failure = failure
            attempt.reproduction()
            failed += "launches" in failure.message
    assert failed >= min(2, len(lab.checks) // 2)  # a new lab has three checks, of which one looks at launches


def test_a_class_with_one_hostile_answer_is_graded_to_the_last_one(tmp_path: Path) -> None:
    """In a process of its own, as people start it: the finding was that this ended with no results at all."""
    handed_in, out = tmp_path / "in", tmp_path / "out"
    handed_in.mkdir()
    for name in ("ann", "cem"):
        (handed_in / f"{name}.py").write_text("x = 1\n")
    text = answer("lab06", "every_32.py")
    text = text.replace("from numba import cuda", "import numpy as np\nfrom numba import cuda", 1)
    (handed_in / "bob.py").write_text(text.replace("    return links\n", "    return np.array([1j] * m)\n", 1))
    command = [sys.executable, "-m", "autograder", "grade", "lab06", str(handed_in), "--out", str(out), "--jobs", "2"]
    done = subprocess.run([*command, "--device", "simulated"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert sorted(each.name for each in (out / "results").iterdir()) == ["ann.json", "bob.json", "cem.json"]
    assert not (out / "grader_faults.txt").exists()
    ranks = {each.name: each for each in read_class(out)[1].checks}["ranks_the_splitters"]
    assert ranks.outcome == "failed" and "ranks[0] is 0+1j, expected" in ranks.message


def test_pages_of_a_class_are_tried_once_for_all_and_one_by_one_only_where_that_goes_wrong(
    lab: Lab, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    really = class_page.pieces

    def counted(results: Sequence[Result], *rest: Any) -> Iterator[str]:
        tried.append(len(results))
        return really(results, *rest)

    monkeypatch.setattr(class_page, "pieces", counted)
    grade_class(lab, folder, tmp_path / "out")
    students = len(list(folder.iterdir()))
    assert tried == [students, students]  # tried, and written
    tried.clear()
    text = gradebook.text
    wrong = next(iter(sorted(each.stem for each in folder.iterdir())))

    def fails_for_one(results: Sequence[Result]) -> str:
        if any(each.student == wrong and not each.checks[0].fault for each in results):
            raise ZeroDivisionError
        return text(results)

    monkeypatch.setattr(gradebook, "text", fails_for_one)
    found = {each.student: each for each in grade_class(lab, folder, tmp_path / "out")}
    assert [name for name, each in found.items() if any(check.fault for check in each.checks)] == [wrong]
    assert tried == [students, *[1] * students, students]

"""The worker process: limits hold, a fault of either side is told apart, and the next job finds a fresh process."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from autograder.errors import GraderFault, SubmissionError
from autograder.grading import forking
from autograder.grading import worker as worker_module
from autograder.grading.jobs import Limits, Read
from autograder.grading.worker import Worker, WorkerDied
from autograder.grading.worker_process import WorkerState
from autograder.language.program import Program
from autograder.language.source import submission_from_cells
from autograder.records.runs import RunRequest

pytestmark = pytest.mark.long

DEVICE = "autograder.tests.grading_fakes:MisbehavingDevice"
LINUX = sys.platform.startswith("linux")
SOURCE = "from numba import cuda\n\n\n@cuda.jit\ndef kernel(a):\n    a[0] = 1\n\n\ndef host(a):\n    kernel[1, 1](a)\n"


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    path = tmp_path_factory.mktemp("worker") / "ann.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def worker():
    limits = Limits(run_seconds=2, submission_seconds=60, memory_bytes=2 << 30, message_bytes=1 << 21)
    with Worker(DEVICE, limits) as worker:
        yield worker


def ask(worker, submission, action):
    worker.read(submission)
    return worker.run(RunRequest("host", {"action": action}, wants_returned=True), "device")


def pid(run):
    return int(run.outputs["pid"][0])


def test_the_process_is_kept_from_one_submission_to_the_next(worker, submission):
    first, second = ask(worker, submission, "work"), ask(worker, submission, "work")
    assert first.returned == "done" and pid(first) == pid(second) != os.getpid()


def test_a_summary_says_what_the_submission_defines(worker, submission):
    summary = worker.read(submission)
    kernel, host = summary.functions["kernel"], summary.functions["host"]
    assert (summary.label, kernel.kind, host.kind, kernel.parameters) == ("ann.py", "kernel", "host", ("a",))
    assert kernel.line.file == "ann.py" and "a[0] = 1" in kernel.source


def test_a_summary_says_which_functions_are_empty_and_which_names_each_uses(worker, tmp_path):
    path = tmp_path / "bob.py"
    path.write_text(SOURCE.replace("a[0] = 1", "pass") + "\n\ndef other(a):\n    host(a)\n    print(a)\n")
    functions = worker.read(path).functions
    assert {name: (each.is_empty, each.uses) for name, each in functions.items()} == {
        "kernel": (True, ()), "host": (False, ("kernel",)), "other": (False, ("host",)),
    }  # fmt: skip


def test_a_run_that_takes_too_long_is_the_submissions_fault_and_the_next_finds_a_fresh_process(worker, submission):
    before = pid(ask(worker, submission, "work"))
    started = time.monotonic()
    run = ask(worker, submission, "spin")
    assert time.monotonic() - started < 20
    assert str(run.fault) == "This took longer than 2 s and was stopped. It does too much, or has a loop that never ends."
    assert pid(worker.run(RunRequest("host", {"action": "work"}), "device")) != before  # same submission, read again


def test_the_time_for_all_runs_of_a_submission_is_bounded_too(submission):
    with Worker(DEVICE, Limits(run_seconds=30, submission_seconds=1)) as worker:
        told = str(ask(worker, submission, "spin").fault)
        assert "longer than the 1 s that were left of the 1 s for one submission, and was stopped." in told
        again = worker.run(RunRequest("host", {"action": "work"}), "device")
        assert "The 1 s for one submission were used up by the runs before this one." in str(again.fault)
        assert ask(worker, submission, "work").fault is None  # the next submission has its own time


def test_a_machine_too_busy_to_run_a_submission_is_not_the_submissions_fault(submission):
    with Worker(DEVICE, Limits(run_seconds=1)) as worker:
        started = time.monotonic()
        with pytest.raises(
            GraderFault, match="This machine is too busy: in 5 s one run got less than 1 s of processor time"
        ):
            ask(worker, submission, "sleep")  # by the clock it takes longer than 1 s and gets no processor time
        assert time.monotonic() - started >= 5
        assert ask(worker, submission, "work").returned == "done"


def test_a_process_that_dies_is_a_fault_of_the_grader_and_replaced(worker, submission):
    with pytest.raises(WorkerDied, match="ended without an answer \\(exit code 11"):
        ask(worker, submission, "die")
    assert ask(worker, submission, "work").returned == "done"


def test_a_device_that_a_fault_took_away_costs_that_submission_only(worker, submission):
    before = ask(worker, submission, "lose the device")
    assert str(before.fault) == "The GPU is gone."
    after = ask(worker, submission, "work")
    assert after.returned == "done" and pid(after) != pid(before)


def test_a_bug_in_the_device_is_a_fault_of_the_grader_with_its_traceback_kept(worker, submission):
    with pytest.raises(GraderFault, match="ZeroDivisionError: a bug in the device"):
        ask(worker, submission, "raise")
    assert "grading_fakes.py" in worker.last_details
    assert ask(worker, submission, "work").returned == "done"


@pytest.mark.skipif(not LINUX, reason="only Linux bounds the memory of a process")
def test_memory_beyond_the_limit_is_the_submissions_fault(worker, submission):
    run = ask(worker, submission, "allocate")
    remedy = "Look for an array that is far too large, or made again and again."
    assert str(run.fault) == f"This needs more than the 2 GiB of memory allowed. {remedy}"
    assert ask(worker, submission, "work").returned == "done"


def test_outputs_beyond_the_limit_are_the_submissions_fault(worker, submission):
    assert "outputs are too large" in str(ask(worker, submission, "large reply").fault)
    assert ask(worker, submission, "work").returned == "done"


def test_a_stray_print_does_not_spoil_the_answer(worker, submission):
    assert ask(worker, submission, "print").returned == "done"


def test_a_device_that_cannot_open_is_one_clear_fault():
    with Worker("autograder.tests.grading_fakes:device_without_driver") as worker:
        with pytest.raises(GraderFault, match="RuntimeError: no driver here"):
            worker.greeting  # noqa: B018


def test_the_submissions_own_errors_keep_their_line(worker, tmp_path):
    path = tmp_path / "bob.py"
    path.write_text("def f(:\n    pass\n")
    with pytest.raises(SubmissionError) as problem:
        worker.read(path)
    assert (problem.value.line.file, problem.value.line.number) == ("bob.py", 1)


@pytest.mark.parametrize("nested", ["(" * 5000 + ")" * 5000, "-" * 200_000 + "1", "[" * 90 + "]" * 90 + "+1" * 60_000])
def test_a_deeply_nested_source_is_one_line_and_harms_nobody(worker, submission, tmp_path, nested):
    path = tmp_path / "deep.py"
    path.write_text(f"x = {nested}\n" + SOURCE)
    try:
        worker.read(path)
    except SubmissionError as problem:
        assert "\n" not in str(problem) and len(str(problem)) < 400
    assert ask(worker, submission, "work").returned == "done"


def test_a_retired_worker_does_not_come_back(submission):
    worker = Worker(DEVICE)
    worker.read(submission)
    worker.retire()
    with pytest.raises(GraderFault, match="interrupted"):
        worker.run(RunRequest("host", {"action": "work"}), "device")


def test_numbers_survive_the_way_there_and_back(worker, submission):
    worker.read(submission, baseline=submission)
    comparison = worker.compare([], 2.0)
    assert comparison.ratio == 2.0 and np.isfinite(comparison.low)


# ---- isolation -------------------------------------------------------------------------------------

def test_a_submission_named_like_a_module_is_not_imported_by_the_worker(tmp_path, monkeypatch):
    """numpy.py in the current folder, the first place where `python -m` would look."""
    (tmp_path / "numpy.py").write_text("open('executed', 'w')\n")
    (tmp_path / "ann.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    with Worker(DEVICE) as worker:
        worker.read(tmp_path / "ann.py")
    assert not (tmp_path / "executed").exists()


@pytest.mark.skipif(not LINUX, reason="limits of memory are Linux's")
def test_what_one_comparison_needed_does_not_count_against_the_next(submission):
    request = RunRequest("host", {"a": np.zeros(1 << 22, np.int32)})
    with Worker("simulated", Limits(memory_bytes=5 << 28)) as worker:  # room for two, and for what the process takes
        worker.read(submission, baseline=submission)
        assert [str(worker.compare([request], 1.0).fault or "") for _ in range(12)] == [""] * 12


@pytest.mark.skipif(not LINUX, reason="limits of memory are Linux's")
def test_what_one_run_needed_does_not_count_against_the_next(submission):
    request = RunRequest("host", {"a": np.zeros(1 << 24, np.int32)})
    with Worker("simulated", Limits(memory_bytes=1 << 30)) as worker:  # room for one, as the first run shows
        worker.read(submission)
        assert [str(worker.run(request, "simulated").fault or "") for _ in range(3)] == [""] * 3


# ---- copies of one process -------------------------------------------------------------------------

COPIES = pytest.mark.skipif(not forking.CAN_FORK or not LINUX, reason="only Linux has what copying a process takes")


@pytest.fixture
def own_template(monkeypatch):
    """A template that nobody else has."""
    monkeypatch.setattr(forking, "_template", None)
    yield
    forking._close()


def parent_of(worker):
    assert worker.greeting
    return psutil.Process(worker._process.pid).ppid()


@COPIES
def test_workers_are_copies_of_one_process_that_has_one_thread_and_ends_with_its_grader(own_template):
    with Worker("simulated") as first, Worker(DEVICE) as second:
        template = psutil.Process(parent_of(first))
        assert parent_of(second) == template.pid != os.getpid() and template.num_threads() == 1
        assert os.getsid(first._process.pid) == first._process.pid  # nobody's Ctrl-C reaches it
        assert os.getpgid(template.pid) == template.pid
        forking._close()
        assert first.greeting and second.greeting
    template.wait(20)


@COPIES
def test_a_copy_has_its_own_environment_and_no_open_file_of_another(own_template, submission, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_TEST_OF_COPIES", "here")
    monkeypatch.setenv("SECRET_OF_A_GRADER", "hidden")
    with Worker(DEVICE) as first, Worker(DEVICE) as second:
        assert first.greeting and second.greeting
        for worker in (first, second):
            opened = [os.readlink(each) for each in Path(f"/proc/{worker._process.pid}/fd").iterdir()]
            assert not [each for each in opened if "socket" in each or "pidfd" in each], opened
            assert Path(f"/proc/{worker._process.pid}/cwd").resolve() == Path(worker._own.name).resolve()
        before = Path(f"/proc/{parent_of(first)}/environ").read_text()
        assert "SECRET_OF_A_GRADER" not in before and "AUTOGRADER_TEST_OF_COPIES" not in before
        found = ask(first, submission, "environment").returned
        assert "AUTOGRADER_TEST_OF_COPIES" in found and "SECRET_OF_A_GRADER" not in found


@COPIES
def test_copies_draw_numbers_of_their_own(own_template, submission):
    with Worker(DEVICE) as first, Worker(DEVICE) as second:
        assert ask(first, submission, "draw").returned != ask(second, submission, "draw").returned


@COPIES
def test_another_environment_has_another_template(own_template, monkeypatch):
    with Worker("simulated") as first:
        before = parent_of(first)
        monkeypatch.setenv("NUMBA_OPT", "2")
        with Worker("simulated") as second:
            assert parent_of(second) != before
        assert first.greeting


@COPIES
@pytest.mark.parametrize("bootstrap", ["raise SystemExit('no')", "import time; {path!r}; time.sleep(60)"])
def test_a_worker_starts_by_itself_where_no_copy_comes(own_template, monkeypatch, submission, bootstrap):
    monkeypatch.setattr(forking, "BOOTSTRAP", bootstrap)
    monkeypatch.setattr(worker_module, "COPY_SECONDS", 1)
    with Worker(DEVICE) as worker:
        assert ask(worker, submission, "work").returned == "done" and parent_of(worker) == os.getpid()


@COPIES
def test_a_template_that_is_killed_is_replaced_and_its_copies_go_on(own_template, submission):
    with Worker(DEVICE) as worker:
        template = psutil.Process(parent_of(worker))
        template.kill()
        template.wait(20)
        assert ask(worker, submission, "work").returned == "done"
        with Worker(DEVICE) as other:
            assert ask(other, submission, "work").returned == "done" and parent_of(other) not in (template.pid, os.getpid())


@pytest.mark.parametrize("device, driver, alone", [("gpu", False, True), ("auto", True, True), ("auto", False, False)])
def test_a_worker_that_may_drive_a_gpu_is_no_copy(monkeypatch, tmp_path, device, driver, alone):
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(worker_module, "OF_A_GPU", (str(tmp_path / ("nvidiactl" if driver else "none")),))
    assert worker_module._may_drive_a_gpu(device) == alone


def test_a_submission_that_is_read_again_as_it_was_keeps_its_kernels_and_another_does_not():
    """What has been worked out of a kernel hangs on its function: lab 7's check takes 1.4 s less the second time."""
    state = WorkerState.__new__(WorkerState)
    state.program = state.baseline = state._read_of = state._baseline_text = None

    def read(text: str) -> Program | None:
        state.read(Read(submission_from_cells("ann.py", [("ann.py", text)], is_notebook=False), None))
        return state.program

    first = read(SOURCE)
    assert read(SOURCE) is first
    other = read(SOURCE.replace("= 1", "= 2"))
    assert other is not first and read(SOURCE) is not first
    state.program = None  # as after its memory was exhausted
    assert read(SOURCE) is not None
    with pytest.raises(SubmissionError):
        read("def (")
    assert state.program is None

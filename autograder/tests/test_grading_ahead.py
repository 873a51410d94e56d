"""Two workers judge one submission from both ends: sooner, and with the same result to the last hint."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from autograder.errors import GraderFault
from autograder.grading import check
from autograder.grading.ahead import Ahead
from autograder.grading.grade import check_submission
from autograder.grading.labs import labs_root, load_lab
from autograder.grading.worker import Worker
from autograder.records.runs import Uninitialised
from autograder.tests.grading_fakes import FakeWorker, lab_with

LAB = load_lab("lab02")
ANSWERS = labs_root().parent / "solutions" / LAB.name
FILES = (
    "lab.ipynb",
    "wrong/tile_b_transposed.py",
    "wrong/only_whole_tiles.py",
    "wrong/tiles_of_4.py",
    "wrong/never_launched.py",
)


@pytest.fixture(scope="module")
def workers(simulated: Worker) -> Iterator[tuple[Worker, Worker]]:
    with Worker("simulated") as other:
        yield simulated, other


@pytest.mark.parametrize("file", FILES)
def test_the_result_is_that_of_one_worker(workers, file):
    one, other = workers
    alone = check_submission(LAB, ANSWERS / file, worker=one)
    together = check_submission(LAB, ANSWERS / file, worker=one, ahead=Ahead(other))
    assert together == replace(alone, graded_at=together.graded_at, seconds=together.seconds)


# ---- who does what -----------------------------------------------------------------------------------


def doubling(number, after=()):
    def judge(attempt):
        run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
        attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])

    judge.__name__, judge.__doc__ = f"check_{number}", f"Check {number}."
    return check(points=1, after=after)(judge)


class Counting(FakeWorker):
    """A worker that counts its runs."""

    def __init__(self, function):
        super().__init__(function)
        self.runs = 0

    def run(self, request, on):
        self.runs += 1
        return super().run(request, on)


def double(a, out):
    out[:] = 2 * a


def test_each_check_is_judged_once_and_both_workers_have_their_part():
    one, other = Counting(double), Counting(double)
    together = threading.Barrier(2)
    judged = []

    def meet(request, on, worker, run):
        judged.append(worker)
        if len(judged) in (2, 3):  # the first check is over: both are at work
            together.wait(10)
        return run(request, on)

    for worker in (one, other):
        worker.run = partial(meet, worker=worker, run=worker.run)
    result = check_submission(lab_with(*map(doubling, range(6))), "ann.py", worker=one, ahead=Ahead(other))
    assert result.points == 6 and [each.name for each in result.checks] == [f"check_{n}" for n in range(6)]
    assert one.runs + other.runs == 6 and other.runs >= 1


def test_nothing_is_begun_for_who_fails_at_once():
    other = Counting(double)
    result = check_submission(
        lab_with(doubling(0), doubling(1, after=("check_0",))), "ann.py",
        worker=FakeWorker(lambda a, out: None), ahead=Ahead(other),
    )  # fmt: skip
    assert [each.outcome for each in result.checks] == ["failed", "not run"] and other.runs == 0


def test_what_was_judged_ahead_does_not_count_behind_a_failure():
    second_begun, last_done, calls = threading.Event(), threading.Event(), []

    def right_once(a, out):
        calls.append(a)
        if len(calls) == 2:  # the second check is this worker's, and the last one done, before it fails
            second_begun.set()
            assert last_done.wait(10)
        out[:] = 2 * a if len(calls) == 1 else 0

    other = FakeWorker(lambda a, out: (double(a, out), last_done.set()))
    other.read = lambda *_, **__: (second_begun.wait(10), other.summary)[1]
    lab = lab_with(doubling(0), doubling(1), doubling(2, after=("check_1",)))
    result = check_submission(lab, "ann.py", worker=FakeWorker(right_once), ahead=Ahead(other))
    assert [each.outcome for each in result.checks] == ["passed", "failed", "not run"]


@pytest.mark.parametrize("method", ["read", "run"])
def test_a_second_worker_that_fails_costs_nothing(monkeypatch, method):
    def fails(*_):
        raise GraderFault("The worker ended.")

    other = FakeWorker(double)
    monkeypatch.setattr(other, method, fails)
    result = check_submission(
        lab_with(*map(doubling, range(4))), "ann.py", worker=FakeWorker(double), ahead=Ahead(other)
    )
    assert result.points == 4 and not result.flags


def test_a_worker_that_is_still_busy_with_an_earlier_submission_is_done_without():
    stuck, never = threading.Event(), FakeWorker(double)
    never.read = lambda *_, **__: (stuck.wait(20), never.summary)[1]
    ahead, lab = Ahead(never), lab_with(*map(doubling, range(3)))
    for _ in range(2):
        assert check_submission(lab, "ann.py", worker=FakeWorker(double), ahead=ahead).points == 3
        assert not ahead.is_idle
    stuck.set()

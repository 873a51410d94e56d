"""Several GPUs of a machine grade one class: a worker has one card, a card one run at a time, and all are of one kind.

The cards are fakes (grading_fakes.CardDevice): what is tested is who gets which card and when. Workers are real processes.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections import defaultdict

import numpy as np
import pytest

from autograder.cudagpu import availability
from autograder.grading import batch as batch_module
from autograder.grading import cards, check
from autograder.grading.cards import Cards
from autograder.grading.class_grading import grade_class
from autograder.grading.worker import Worker, gpu_lock
from autograder.records.runs import Uninitialised
from autograder.tests.grading_fakes import CARD_DEATHS, CARD_LOG, TEST_CARDS, lab_with

pytestmark = pytest.mark.long

DEVICE = "autograder.tests.grading_fakes:CardDevice"
DOUBLE = """
from numba import cuda

@cuda.jit
def double_kernel(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = 2 * a[i]

def double(a, out):
    double_kernel[1, 32](a, out)
"""


@check(points=2)
def doubles(attempt):
    """It doubles."""
    run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Grades nine submissions on a machine with these cards; returns the results, what was told, and runs by card."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    (tmp_path / "class").mkdir()
    for number in range(9):
        (tmp_path / "class" / f"student{number}.py").write_text(DOUBLE + f"\n# {number}\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # locks of this machine's own
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setenv(CARD_LOG, str(tmp_path / "log"))

    def grade(kinds, visible=None, **options):
        monkeypatch.setenv(TEST_CARDS, kinds)
        monkeypatch.delenv(cards.VISIBLE, raising=False)
        if visible is not None:
            monkeypatch.setenv(cards.VISIBLE, visible)
        told: list[str] = []
        lab = lab_with(doubles, folder=tmp_path / "lab")
        results = grade_class(lab, tmp_path / "class", tmp_path / "out", device=DEVICE, tell=told.append, **options)
        runs = defaultdict(list)
        for line in (tmp_path / "log").read_text().splitlines():
            card, begun, ended = line.split()
            runs[card].append((float(begun), float(ended)))
        return results, told, runs

    return grade


def test_a_class_is_graded_on_every_card_one_run_at_a_time_on_each(graded):
    results, told, runs = graded("H,H,H")
    assert [each.outcome for each in results] == ["passed"] * 9 and told == []
    assert set(runs) == {"0", "1", "2"} and sum(map(len, runs.values())) == 9
    for on_one in runs.values():
        ordered = sorted(on_one)
        assert all(ended <= begun for (_, ended), (begun, _) in itertools.pairwise(ordered))
    everywhere = [run for on_one in runs.values() for run in on_one]
    assert any(one[0] < other[1] and other[0] < one[1] for one, other in itertools.combinations(everywhere, 2))


def test_the_cards_that_the_session_sees_are_used_and_no_others(graded):
    results, told, runs = graded("H,H,H,H", visible="3,1")
    assert [each.outcome for each in results] == ["passed"] * 9 and set(runs) == {"3", "1"} and told == []


def test_one_kind_of_card_grades_a_class_and_the_others_are_named(graded):
    results, told, runs = graded("H,A,H")
    assert {each.device for each in results} == {"H"} and set(runs) == {"0", "2"}
    assert told == ["GPU 1 (A) grades nobody: the class is graded on H."]


def test_a_card_that_does_not_answer_costs_nobody_anything_and_is_named(graded):
    results, told, runs = graded("H,H broken")
    assert [each.outcome for each in results] == ["passed"] * 9 and set(runs) == {"0"}
    assert told and all(line == "GPU 1 grades nobody: it does not answer." for line in told)


def test_a_restarted_worker_stays_on_its_card(graded, monkeypatch):
    monkeypatch.setattr(batch_module, "SUBMISSIONS_A_WORKER", 1)
    results, _, runs = graded("H,H", jobs=2)
    assert [each.outcome for each in results] == ["passed"] * 9 and set(runs) == {"0", "1"}
    assert all(len(each) > 1 for each in runs.values())


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("deaths", "faults"), [(0, 0), (1, 0), (2, 1)])
def test_a_worker_that_is_killed_costs_nobody_anything_and_one_that_ends_twice_is_a_fault(
    graded, tmp_path, monkeypatch, deaths, faults
):
    (tmp_path / "deaths").write_text("x" * deaths)
    monkeypatch.setenv(CARD_DEATHS, str(tmp_path / "deaths"))
    results, _, _ = graded("H", jobs=1)
    assert (tmp_path / "deaths").read_text() == ""
    assert [each.outcome for each in results] == ["not run"] * faults + ["passed"] * (9 - faults)
    assert sum(check.fault for each in results for check in each.checks) == faults


@pytest.mark.parametrize(
    ("visible", "kinds", "expected"),
    [
        (None, [], Cards()),
        (None, ["H"], Cards(("0",))),
        (None, ["H", "H"], Cards(("0", "1"))),
        ("2, 3", ["H", "H"], Cards(("2", "3"))),
        ("GPU-1f,GPU-2e", ["H", "H"], Cards(("GPU-1f", "GPU-2e"))),
        ("0,9,1", ["H"], Cards(("0",))),  # CUDA stops at the first that is not there
        (None, ["H", "A"], Cards(("0",), ("GPU 1 (A) grades nobody: the class is graded on H.",))),
    ],
)
def test_cards_are_called_as_cuda_calls_them(monkeypatch, visible, kinds, expected):
    monkeypatch.delenv(cards.VISIBLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(cards.VISIBLE, visible)
    assert Cards.of(kinds) == expected


def test_a_worker_that_was_given_no_card_keeps_others_from_the_first(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv(cards.VISIBLE, raising=False)
    assert gpu_lock().lock_file == gpu_lock("0").lock_file != gpu_lock("1").lock_file
    monkeypatch.setenv(cards.VISIBLE, "3,1")
    assert gpu_lock().lock_file == gpu_lock("3").lock_file
    with Worker(DEVICE, card="1") as worker:
        monkeypatch.setenv(TEST_CARDS, "H,H,H,H")
        assert worker.greeting.cards == ("H",)


def test_the_driver_is_asked_for_the_names_of_all_gpus(monkeypatch):
    kinds = [b"NVIDIA H200", b"NVIDIA A100"]

    class Driver:
        """As much of libcuda as is asked: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html"""

        def cuInit(self, flags):
            return 0

        def cuDeviceGetCount(self, count):
            count._obj.value = len(kinds)
            return 0

        def cuDeviceGet(self, device, number):
            device._obj.value = 100 + number
            return 0

        def cuDeviceGetName(self, text, length, device):
            ctypes.memmove(text, kinds[device.value - 100] + b"\0", len(kinds[device.value - 100]) + 1)
            return 0

    monkeypatch.setattr(availability, "_load_driver", Driver)
    assert availability.names_of_gpus() == ("NVIDIA H200", "NVIDIA A100")
    monkeypatch.setattr(availability, "_load_driver", lambda: None)
    assert availability.names_of_gpus() == ()

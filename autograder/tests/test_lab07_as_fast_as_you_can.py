"""Lab 7 holds what its files promise: wrong answers fail as their first lines say, right ones earn what they may."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograder.grading.labs import load_lab, spec_of
from autograder.language import parse_program, read_submission
from autograder.records.runs import Library, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice
from autograder.tests.known_answers import promised, waiting_for_a_gpu
from autograder.tests.lab_tests import SOURCES, LabTests, verdicts_of

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab07_as_fast_as_you_can"
LAB = load_lab("lab07_as_fast_as_you_can")
SPEC = spec_of(LAB.name)
# Of the right answers the slowest, squares of four, is predicted 16 % slower than a GPU carries it out.
CLEAR_BY = {"measured": 1.1, "simulated": 1.05}
SPEED, EDGES, BONUS = "as_fast_as_it_gets", "as_fast_with_edges", "nearly_the_library"


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {SPEED: SPEC.BEST_KNOWN, EDGES: SPEC.BEST_KNOWN_RAGGED, BONUS: SPEC.BEST_KNOWN}


def test_the_library_was_timed_at_every_size_that_may_be_drawn() -> None:
    assert set(SPEC.NANOSECONDS) == {f"{m} x {k} x {n}" for m, k, n in SPEC.sizes()}
    for size, (cublas, baseline) in SPEC.NANOSECONDS.items():
        m, k, n = map(int, size.split(" x "))
        assert 1.0 < 2 * m * k * n / cublas / 1000 < 67.0, size  # TFLOP/s: below an H200's peak in float32
        assert 4.5 < baseline / cublas < 6.5, size  # no shape is easy for one of the two alone


def test_no_speed_depends_on_how_many_tiles_of_128_are_left_over_at_the_end() -> None:
    for m, _, n in SPEC.sizes():
        assert 0.9 < -(-m // 128) * -(-n // 128) / (2 * 132) <= 1.0


def test_the_library_is_as_many_times_as_fast_as_the_baselines_estimate_as_it_was_measured() -> None:
    device, program = SimulatedDevice(), parse_program(read_submission(LAB.folder / "baseline.py"))
    arguments = {
        "a": np.ones((128, 64), np.float32), "b": np.ones((64, 128), np.float32),
        "c": Uninitialised((128, 128), np.float32),
    }  # fmt: skip
    beside = Library("cuBLAS", "matmul", recorded_ns=100.0, baseline_recorded_ns=500.0)
    request = RunRequest("matmul_fast", arguments, library=beside)
    assert device.compare(program, program, [request]).ratio == pytest.approx(0.2)


@pytest.mark.parametrize("source", SOURCES)
def test_the_thresholds_lie_clear_of_every_answer(source: str) -> None:
    found = verdicts_of(LAB.name, source)
    for check, least in ((SPEED, SPEC.PASSED_AT), (EDGES, SPEC.RAGGED_PASSED_AT)):
        ratios = {name: each["ratio"] for name, each in found["ratios"][check].items()}
        right = {name for name in found["verdicts"] if name.startswith(("right/", "solution"))}
        slow = {f"wrong/{path.stem}" for path in _failing(check)} & set(found["verdicts"])
        slow -= set(found["not timed"].get(check, {}))  # what a GPU cannot launch
        assert right | slow <= set(ratios), "an answer that was graded has no time"
        assert max(ratios[name] for name in slow) * 1.05 < least, check
        assert least * CLEAR_BY[source] < min(ratios[name] for name in right), check


@pytest.mark.parametrize("source", SOURCES)
def test_speed_grows_from_rung_to_rung(source: str) -> None:
    ratios = verdicts_of(LAB.name, source)["ratios"][SPEED]
    rungs = ("wrong/no_tiles", "wrong/one_sum_a_thread", "wrong/strips_of_sixteen", "right/squares_of_four", "solution")
    missing = set(rungs) - set(ratios)
    assert missing <= waiting_for_a_gpu(SOLUTIONS)
    shares = [ratios[each]["ratio"] for each in rungs if each not in missing]
    assert shares == sorted(shares) and shares[-1] > 5 * shares[0]


def _failing(check: str) -> list[Path]:
    return [path for path in sorted((SOLUTIONS / "wrong").glob("*.py")) if check in promised(path)[0]]

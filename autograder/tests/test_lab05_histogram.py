"""Lab 5 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.grading.attempt import Attempt
from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab, spec_of
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.records.runs import RunRequest
from autograder.simulated_device import SimulatedDevice
from autograder.tests.known_answers import failed_checks, promised, report
from autograder.tests.lab_tests import Grade, LabTests, chosen, verdicts_of
from autograder.tests.part import part_of_lab

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab05_histogram"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
LAB = load_lab("lab05_histogram")
SPEC = spec_of("lab05_histogram")
SPEED_CHECKS = {
    "fast_on_uniform_items": "uniform",
    "fast_on_one_value": "one value",
    "fast_on_zipf_items": "zipf",
}
MARGIN = 1.2  # that a threshold keeps, at least, from both sides and on both devices
BONUS = [each.name for each in LAB.checks if each.bonus]
# what each answer does about more bins than a copy has room for: bonus checks passed, and the hint for the other
BONUS_OF = {
    "many_bins_in_ranges": (BONUS, None),
    "lanes_that_agree": (BONUS, None),
    "global_where_there_is_no_room": (BONUS[:1], "still_crowded"),
    "ranges_merged_whole": (BONUS[:1], "merges_empty_bins"),
    "grid_stride_loop": ([], "no_room_for_the_copy"),
}


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {check: SPEC.BEST_KNOWN[kind] for check, kind in SPEED_CHECKS.items()}
    hints_elsewhere = frozenset(hint for _, hint in BONUS_OF.values() if hint)


GRADED = part_of_lab(LAB.name).whole | {f"right/{name}" for name in BONUS_OF}


@pytest.mark.parametrize("path", [chosen(path, GRADED) for path in TestKnownAnswers.right])
def test_a_right_answer_earns_its_share_of_the_bonus_and_the_hint_to_the_rest(path: Path, graded: Grade) -> None:
    result = graded(LAB, path)
    passed, hint = BONUS_OF.get(path.stem, BONUS_OF["grid_stride_loop"])
    bonus = [each for each in result.checks if each.bonus]
    assert [each.name for each in bonus if each.outcome == "passed"] == passed, report(result)
    assert [each.name for check in bonus for each in check.hints] == [hint] * bool(hint), report(result)


def test_updates_in_global_memory_alone_earn_the_first_part(graded: Grade) -> None:
    result = graded(LAB, SOLUTIONS / "wrong" / "global_atomics.py")
    first_part = [each for each in result.checks if each.title.startswith("Right counts:")]
    assert len(first_part) == 5 and all(each.points == each.max_points for each in first_part), report(result)


def test_what_the_host_does_where_it_is_timed_is_not_for_free(tmp_path: Path, simulated: Worker) -> None:
    """The same answer that passes, but for a copy with as many items as are timed and with no others."""
    text = (SOLUTIONS / "right" / "grid_stride_loop.py").read_text(encoding="utf-8")
    path = tmp_path / "asks_when_timed.py"
    path.write_text(text + "    if 900_000 < items.size < 1_200_000:\n        bins.copy_to_host()\n", encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    assert failed_checks(result) == set(SPEED_CHECKS), report(result)
    speeds = [each for each in result.checks if each.name.startswith("fast_on")]
    assert not any(each.points for each in speeds) and "asks for copy_to_host" in speeds[0].message


@pytest.mark.parametrize("n", [1, 1000, 65_537])
def test_the_baseline_is_right_and_without_a_private_copy(n: int) -> None:
    items = np.random.default_rng(1).integers(-9, 265, n).astype(np.int32)
    request = RunRequest("histogram", {"items": items, "bins": np.full(256, -7, np.int32)})
    run = SimulatedDevice().run(parse_program(read_submission(LAB.folder / "baseline.py")), request)
    assert np.array_equal(run.outputs["bins"], [(items == value).sum() for value in range(256)])
    assert not run.counters.shared_atomic_requests


def test_the_three_kinds_of_items_differ_in_their_hottest_bin() -> None:
    nothing: Any = None  # runs here
    attempt, shares = Attempt("", nothing, np.random.default_rng(1)), {}
    for kind in SPEC.KINDS:
        items = SPEC.items_of(attempt, kind, 100_000, 256)
        assert items.dtype == np.int32 and 0 <= items.min() and items.max() < 256
        shares[kind] = np.bincount(items).max() / items.size
    assert shares["uniform"] < 0.01 < 0.35 < shares["zipf"] < 0.42 < 0.999 < shares["one value"] < 1  # 1 / zeta(1.5) = 0.383


def lies_clear(ratios: dict[str, float], check: str) -> bool:
    """Whether the threshold keeps its margin from every right answer and from every one that fails this check."""
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution", "at most/"))]
    too_slow = [ratios[f"wrong/{path.stem}"] for path in WRONG if check in promised(path)[0]]
    assert len(right) > 5 and len(too_slow) >= 2
    return max(too_slow) * MARGIN < SPEC.SPEEDUP[SPEED_CHECKS[check]] < min(right) / MARGIN


@pytest.mark.parametrize("check", SPEED_CHECKS)
def test_the_threshold_lies_clear_of_every_predicted_ratio(check: str) -> None:
    ratios = verdicts_of(LAB.name, "simulated")["ratios"][check]
    assert lies_clear({name: each["ratio"] for name, each in ratios.items()}, check)


@pytest.mark.parametrize("check", SPEED_CHECKS)
def test_the_threshold_lies_clear_of_every_ratio_measured_on_an_h200(check: str) -> None:
    ratios = verdicts_of(LAB.name, "measured")["ratios"][check]
    assert lies_clear({name: each["ratio"] for name, each in ratios.items()}, check)

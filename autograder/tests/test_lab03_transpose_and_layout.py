"""Lab 3 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab, spec_of
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.language.source import Submission, submission_from_cells
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice
from autograder.tests.known_answers import failed_checks, hints, promised, report
from autograder.tests.lab_tests import SOURCES, Grade, LabTests, verdicts_of
from autograder.tests.part import first_of

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab03_transpose_and_layout"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
LAB = load_lab("lab03_transpose_and_layout")
SPEC = spec_of("lab03_transpose_and_layout")
BASELINE = read_submission(LAB.folder / "baseline.py")

IN_PLACE = """

@cuda.jit
def swap_tiles_kernel(a):
    one = cuda.shared.array((TILE, PADDED), float32)
    other = cuda.shared.array((TILE, PADDED), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    col = cuda.blockIdx.x * TILE + x
    across_row = cuda.blockIdx.x * TILE + y
    across_col = cuda.blockIdx.y * TILE + x
    side = a.shape[0]
    if cuda.blockIdx.x < cuda.blockIdx.y:
        return
    if row < side and col < side:
        one[y, x] = a[row, col]
    if across_row < side and across_col < side:
        other[y, x] = a[across_row, across_col]
    cuda.syncthreads()
    if across_row < side and across_col < side:
        a[across_row, across_col] = one[x, y]
    if row < side and col < side:
        a[row, col] = other[x, y]


def transpose_in_place(a):
    tiles = math.ceil(a.shape[0] / TILE)
    swap_tiles_kernel[(tiles, tiles), (TILE, TILE)](a)
"""
LAUNCH_IN_PLACE = IN_PLACE[IN_PLACE.index("    tiles = ") :]
WRONG_IN_PLACE = {  # what is replaced by what; the hint, or none where the message says it all
    "no_barrier": (("    cuda.syncthreads()\n", ""), "overwritten_before_read"),
    "both_halves": (("    if cuda.blockIdx.x < cuda.blockIdx.y:\n        return\n", ""), "pairs_swapped_twice"),
    "a_copy_first": ((LAUNCH_IN_PLACE, "    transpose(cuda.to_device(a.copy_to_host()), a)\n"), ""),
    "assigned_by_the_host": ((LAUNCH_IN_PLACE, "    a[:] = a.T\n"), ""),
    "assigned_beside_a_launch": ((LAUNCH_IN_PLACE, "    swap_tiles_kernel[1, (1, 1)](a)\n    a[:] = a.T\n"), ""),
}


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {"faster_than_the_first_transpose": SPEC.BEST_KNOWN, "faster_over_many_steps": SPEC.FALL_BEST_KNOWN}
    hints_elsewhere = frozenset(hint for _, hint in WRONG_IN_PLACE.values() if hint)


def in_place(*replaced: tuple[str, str]) -> Submission:
    """A right answer to the required parts with a transpose in place in which some text is replaced."""
    text = IN_PLACE
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    code = (SOLUTIONS / "right" / "tiles_of_32.py").read_text(encoding="utf-8") + text
    return submission_from_cells("in_place.py", [("in_place.py", code)], is_notebook=False)


def test_another_transpose_in_place_earns_the_bonus(simulated: Worker) -> None:
    result = check_submission(LAB, in_place(), worker=simulated)
    assert result.points == sum(each.points for each in LAB.checks), report(result)


@pytest.mark.parametrize("name", first_of(WRONG_IN_PLACE))
def test_a_wrong_transpose_in_place_costs_the_bonus_alone_and_says_why(name: str, simulated: Worker) -> None:
    (old, new), hint = WRONG_IN_PLACE[name]
    result = check_submission(LAB, in_place((old, new)), worker=simulated)
    assert result.outcome == "passed" and result.points == LAB.points, report(result)
    assert result.checks[-1].outcome == "failed"
    assert [each.name for each in result.checks[-1].hints] == [hint] * bool(hint), report(result)


# What is done for fewer points than are timed, or for just as many: what is replaced by what in a right answer; the hint.
GRID = "grid = (math.ceil(columns / TILE), math.ceil(rows / TILE))"
LEAVES_POINTS_OUT = {
    "steps_that_stop_early": ("range(steps)", "range(steps if count < 100_000 else 1)", ""),
    "as_many_threads_as_are_timed": ("math.ceil(count / 256), 256", "2048, 256", "grid_of_one_size"),
    "a_largest_grid": (GRID, f"{GRID}\n    grid = (min(grid[0], 1024), min(grid[1], 1024))", "layout_of_few_points"),
}


@pytest.mark.parametrize("name", first_of(LEAVES_POINTS_OUT))
def test_points_left_out_where_many_fall_earn_nothing_for_speed(name: str, tmp_path: Path, simulated: Worker) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_32.py").read_text(encoding="utf-8")
    old, new, hint = LEAVES_POINTS_OUT[name]
    shortened = code.replace(old, new)
    assert shortened != code
    path = tmp_path / "leaves_points_out.py"
    path.write_text(shortened, encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    assert failed_checks(result) == {"faster_over_many_steps"}, report(result)
    assert next(each for each in result.checks if each.name == "faster_over_many_steps").points == 0
    assert hints(result) == {hint} - {""}, report(result)


# What is done for the counts alone: text before which it is put in a right answer, and the checks that then count nothing.
COUNTED_AND_NOT_DONE = {
    "transpose": (
        "    grid = (math",
        "    if rows == columns and rows in (96, 160, 192):\n        transpose_kernel[(1, 1), (TILE, 1)](a, b)\n"
        "        return\n",
        {"loads_whole_sectors", "stores_whole_sectors", "meets_no_bank_conflicts", "keeps_to_float32"},
    ),
    "fall": (
        "    transpose(points, scratch)\n",
        "    if 1900 < count < 2200:\n        for _ in range(steps):\n"
        "            fall_kernel[1, 256](scratch, np.float32(dt))\n        return\n",
        {"moves_only_what_a_step_needs", "falls_in_float32"},
    ),
}


@pytest.mark.parametrize("name", COUNTED_AND_NOT_DONE)
def test_work_that_is_left_out_where_it_is_counted_does_not_count(name: str, simulated: Worker) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_32.py").read_text(encoding="utf-8")
    before, added, fails = COUNTED_AND_NOT_DONE[name]
    changed = code.replace(before, added + before)
    assert changed != code
    answer = submission_from_cells("left_out.py", [("left_out.py", changed)], is_notebook=False)
    result = check_submission(LAB, answer, worker=simulated, seed="draws 160 rows")
    assert failed_checks(result) == fails, report(result)


def test_a_layout_changed_in_every_step_is_told_with_the_launches_that_change_it(graded: Grade) -> None:
    """What a step moves too much of is what the transposes move, not the kernel that lets points fall."""
    result = graded(LAB, SOLUTIONS / "wrong" / "layout_changed_in_every_step.py")
    (told,) = (each.reproduce for each in result.checks if each.name == "moves_only_what_a_step_needs")
    shown = told.split("What was counted:")[1]
    assert "autograder.profile(transpose_kernel)" in shown and "autograder.profile(fall_kernel)" in shown


PRETENDS_WHEN_TIMED = {  # what a step does in place of its own where as many points fall as are timed
    "falls_less_far": "dt = dt * np.float32(0.5)",
    "stores_where_it_has_stored": "i = i % 256",
}


@pytest.mark.parametrize("name", first_of(PRETENDS_WHEN_TIMED))
def test_steps_that_are_timed_are_verified(name: str, simulated: Worker) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_32.py").read_text(encoding="utf-8")
    guard = "    if i < by_field.shape[1]:\n"
    pretends = f"    if by_field.shape[1] >= {SPEC.FALL_POINTS[0]}:\n        {PRETENDS_WHEN_TIMED[name]}\n"
    assert code.count(guard) == 1
    answer = submission_from_cells("pretends.py", [("pretends.py", code.replace(guard, pretends + guard))])
    result = check_submission(LAB, answer, worker=simulated)
    assert failed_checks(result) == {"faster_over_many_steps"}, report(result)
    check = next(each for each in result.checks if each.name == "faster_over_many_steps")
    assert check.points == 0 and "elements are wrong" in check.message, report(result)


def test_a_thread_that_has_returned_is_not_waited_for_and_the_check_says_no_more_than_that(
    tmp_path: Path, simulated: Worker
) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_32.py").read_text(encoding="utf-8")
    load = "    if row < rows and col < columns:\n"
    leaves = code.replace(load, f"    if row >= rows and col >= columns:\n        return\n{load}", 1)
    assert leaves != code
    path = tmp_path / "leaves_at_the_corner.py"
    path.write_text(leaves, encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    check = next(each for each in result.checks if each.name == "brings_every_thread_to_its_barrier")
    assert check.outcome == "passed" and "all that have not returned" in check.title, report(result)


def fall_request(points: np.ndarray, steps: int) -> RunRequest:
    scratch = Uninitialised(points.shape[::-1], np.float32)
    return RunRequest("fall", {"points": points, "scratch": scratch, "dt": 0.01, "steps": steps})


def baseline(request: RunRequest) -> Run:
    return SimulatedDevice().run(parse_program(BASELINE), request)


def test_the_baseline_transposes_right_and_without_any_tile() -> None:
    a = np.arange(20 * 30, dtype=np.float32).reshape(20, 30)
    run = baseline(RunRequest("transpose", {"a": a, "b": Uninitialised((30, 20), np.float32)}))
    assert np.array_equal(run.outputs["b"], a.T) and not run.counters.shared_load_requests


def test_the_baseline_lets_points_fall_as_they_lie_a_sector_for_each() -> None:
    points = np.random.default_rng(1).uniform(-1, 1, (256, SPEC.FIELDS)).astype(np.float32)
    request = fall_request(points, steps=3)
    run = baseline(request)
    assert np.allclose(run.outputs["points"], SPEC.fallen(request)[0], atol=1e-5)
    assert run.counters.global_load_sectors_per_request == 32


def test_the_expected_fall_is_that_of_its_steps_one_by_one() -> None:
    points = np.random.default_rng(2).uniform(-1, 1, (5, SPEC.FIELDS)).astype(np.float32)
    moved = points.astype(np.float64)
    for _ in range(7):
        moved[:, SPEC.SPEED] -= SPEC.GRAVITY * 0.01
        moved[:, SPEC.HEIGHT] += moved[:, SPEC.SPEED] * 0.01
    np.testing.assert_allclose(SPEC.fallen(fall_request(points, steps=7))[0], moved, rtol=1e-12)


THRESHOLDS = {"faster_than_the_first_transpose": SPEC.SPEEDUP, "faster_over_many_steps": SPEC.FALL_SPEEDUP}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("check", THRESHOLDS)
def test_the_threshold_lies_clear_of_every_answer(check: str, source: str) -> None:
    ratios = {name: each["ratio"] for name, each in verdicts_of(LAB.name, source)["ratios"][check].items()}
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution"))]
    too_slow = [ratios[f"wrong/{path.stem}"] for path in WRONG if check in promised(path)[0]]
    assert len(right) > 5 and too_slow
    assert max(too_slow) * 1.05 < THRESHOLDS[check] < min(right) / 1.05

"""Lab 2 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from autograder.errors import KernelFault
from autograder.grading import CheckFailed
from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.language.source import submission_from_cells
from autograder.records.runs import Launch, Run, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice
from autograder.tests.known_answers import failed_checks, promised, report
from autograder.tests.lab_tests import SOURCES, Grade, LabTests, verdicts_of

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab02_tiled_matmul"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
LAB = load_lab("lab02_tiled_matmul")
SPEC = runpy.run_path(str(LAB.folder / "spec.py"))
SPEED_CHECK = "faster_than_one_thread_an_element"


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {SPEED_CHECK: SPEC["BEST_KNOWN"]}


def test_one_output_a_thread_earns_no_bonus_and_a_column_of_four_some_of_it(graded: Grade) -> None:
    bonus = {}
    for name in ("tiles_of_16", "registers_a_column_each"):
        result = graded(LAB, SOLUTIONS / "right" / f"{name}.py")
        bonus[name] = result.points - LAB.points
    assert bonus["tiles_of_16"] == 0 < bonus["registers_a_column_each"] < result.checks[-1].max_points


def test_the_bonus_counts_no_product_that_was_left_out(worker: Worker) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_16.py").read_text(encoding="utf-8")
    side = SPEC["COUNTED_IN_LARGE_TILES"][0]
    leaves_it = code.replace("    grid =", f"    if m == {side}:\n        return\n    grid =")
    assert leaves_it != code
    answer = submission_from_cells("leaves_it.py", [("leaves_it.py", leaves_it)], is_notebook=False)
    result = check_submission(LAB, answer, worker=worker)
    assert result.points == LAB.points and "never written" in result.checks[-1].message, report(result)


def test_who_reads_c_and_does_not_add_it_is_not_told_so(simulated: Worker) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_16.py").read_text(encoding="utf-8")
    store = "        c[row, col] = total"
    reads = code.replace(store, f"        before = c[row, col]\n{store} if before != total else before")
    assert reads != code
    answer = submission_from_cells("reads.py", [("reads.py", reads)], is_notebook=False)
    result = check_submission(LAB, answer, worker=simulated)
    assert failed_checks(result) == {"right_on_whole_tiles"}, report(result)
    assert not any(each.hints for each in result.checks), report(result)


MARKS = """

@cuda.jit
def mark_kernel(marks):
    marks[cuda.blockIdx.y, cuda.blockIdx.x] = 1


@cuda.jit
def product_kernel(a, b, c, marks):
    total = np.float32(0)
    col, row = cuda.grid(2)
    if marks[cuda.blockIdx.y, (cuda.blockIdx.x + 1) % cuda.gridDim.x] == 0:
        c[row, col] = total


def matmul_tiled(a, b, c):
    m, n = c.shape
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    marks = cuda.to_device(np.zeros((grid[1], grid[0]), np.int32))
    mark_kernel[grid, 1](marks)
    if marks.copy_to_host().sum() == grid[0] * grid[1]:
        matmul_tiled_kernel[grid, (TILE, TILE)](a, b, c)
    else:
        product_kernel[grid, (TILE, TILE)](a, b, c, marks)
"""


def test_nobody_finds_out_which_blocks_are_sampled(worker: Worker) -> None:
    if worker.greeting.source == "measured":
        pytest.skip("on a GPU nothing is sampled, and looking takes its time there")
    code = (SOLUTIONS / "wrong" / "tiles_of_8.py").read_text(encoding="utf-8")
    looks = code[: code.index("def matmul_tiled(")].rstrip() + "\n" + MARKS
    ratios = []
    for text in (code, looks):
        answer = submission_from_cells("looks.py", [("looks.py", text)], is_notebook=False)
        result = check_submission(LAB, answer, worker=worker)
        assert failed_checks(result) == {"faster_than_one_thread_an_element"}, report(result)
        ratios += [check.measured["ratio"] for check in result.checks if "ratio" in check.measured]
    assert ratios[1] < 1.1 * ratios[0]  # looking costs its own copies and launches, and gains nothing


def test_a_thread_that_has_returned_is_not_waited_for_and_the_check_says_no_more_than_that(
    tmp_path: Path, simulated: Worker
) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_16.py").read_text(encoding="utf-8")
    total = "    total = np.float32(0)\n"
    leaves = code.replace(total, f"{total}    if row >= m and col >= n:\n        return\n")
    assert leaves != code
    path = tmp_path / "leaves_at_the_corner.py"
    path.write_text(leaves, encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    check = next(each for each in result.checks if each.name == "brings_every_thread_to_its_barriers")
    assert check.outcome == "passed" and "all that have not returned" in check.title, report(result)


@pytest.mark.parametrize("block", [(8, 8, 1), (16, 16, 1), (32, 32, 1)])
def test_a_grid_that_counts_threads_is_told_so_also_where_a_gpu_carries_it_out(block: tuple[int, int, int]) -> None:
    m, _, n = shape = SPEC["LARGE"]
    right = Launch("matmul_tiled_kernel", (-(-n // block[0]), -(-m // block[1]), 1), block)
    SPEC["expect_threads_with_elements"](Run(launches=(right,), source="measured"), shape)
    counts_threads = Launch("matmul_tiled_kernel", (n, m, 1), block)
    with pytest.raises(CheckFailed, match="threads are launched for 1,040 x 260 elements: nearly all have none"):
        SPEC["expect_threads_with_elements"](Run(launches=(counts_threads,), source="measured"), shape)


def test_a_large_product_whose_run_was_ended_fails_with_what_ended_it() -> None:
    with pytest.raises(CheckFailed, match="It hung."):
        SPEC["expect_threads_with_elements"](Run(fault=KernelFault("It hung.")), SPEC["LARGE"])


def test_the_baseline_is_right_and_without_any_tile() -> None:
    a = np.arange(20 * 30, dtype=np.float32).reshape(20, 30)
    request = RunRequest("matmul_tiled", {"a": a, "b": a.T.copy(), "c": Uninitialised((20, 20), np.float32)})
    run = SimulatedDevice().run(parse_program(read_submission(LAB.folder / "baseline.py")), request)
    assert np.allclose(run.outputs["c"], a @ a.T) and not run.counters.shared_load_requests


@pytest.mark.parametrize(("source", "margin"), [("measured", 1.03), ("simulated", 1.01)])
def test_the_threshold_lies_clear_of_every_answer(source: str, margin: float) -> None:
    found = verdicts_of(LAB.name, source)["ratios"][SPEED_CHECK]
    ratios = {name: each["ratio"] for name, each in found.items()}
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution"))]
    too_slow = [ratios[f"wrong/{path.stem}"] for path in WRONG if SPEED_CHECK in promised(path)[0]]
    assert len(right) > 5 and len(too_slow) > 2
    assert max(too_slow) * margin < SPEC["SPEEDUP"] < min(right) / margin


@pytest.mark.parametrize("source", SOURCES)
def test_no_loop_earns_anything_for_speed_without_tiles(source: str) -> None:
    ratios = verdicts_of(LAB.name, source)["ratios"][SPEED_CHECK]
    assert ratios["naive loops/range"]["ratio"] < SPEC["NO_POINTS_AT"]
    assert ratios["wrong/no_tiles"]["ratio"] < SPEC["SPEEDUP"] / 1.2


@pytest.mark.parametrize("source", SOURCES)
def test_tiles_are_fast_enough_however_their_loops_are_spelled(source: str) -> None:
    ratios = verdicts_of(LAB.name, source)["ratios"][SPEED_CHECK]
    spelled = {name: each["ratio"] for name, each in ratios.items() if name.startswith("loops/")}
    assert len(spelled) == 18 and min(spelled.values()) > 1.03 * SPEC["SPEEDUP"]

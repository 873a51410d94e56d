"""Lab 2 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from autograder.device import Launch, Run, RunRequest, Uninitialised
from autograder.errors import KernelFault
from autograder.grading import CheckFailed
from autograder.grading.grade import check_submission
from autograder.grading.known_answers import table
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.language.source import submission_from_cells
from autograder.simgpu.host.device import SimulatedDevice
from autograder.tests.known_answers import DEVICES, failed_checks, hints, promised, report, waiting_for_a_gpu

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab02_tiled_matmul"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
RIGHT = sorted((SOLUTIONS / "right").glob("*.py"))
LAB = load_lab("lab02_tiled_matmul")
SPEC = runpy.run_path(str(LAB.folder / "spec.py"))
SPEED_CHECK = "faster_than_one_thread_an_element"


@pytest.fixture(scope="module", params=DEVICES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(request.param) as running:
        yield running


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_answer_fails_exactly_its_checks_and_gets_exactly_its_hint(path: Path, worker: Worker) -> None:
    checks, hint = promised(path)
    result = check_submission(LAB, path, worker=worker)
    assert not result.error and not result.flags, report(result)
    assert failed_checks(result) == checks, report(result)
    assert hints(result) == {hint}, report(result)


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_answer_earns_full_marks(path: Path, worker: Worker) -> None:
    result = check_submission(LAB, path, worker=worker)
    assert result.outcome == "passed" and not result.flags, report(result)
    assert sum(each.points for each in result.checks if not each.bonus) == LAB.points, report(result)


def test_the_solution_earns_full_marks_and_the_whole_bonus(worker: Worker) -> None:
    result = check_submission(LAB, SOLUTIONS / "lab.ipynb", worker=worker)
    assert result.outcome == "passed" and not result.flags, report(result)
    assert result.points == sum(each.points for each in LAB.checks), report(result)


def test_one_output_a_thread_earns_no_bonus_and_a_column_of_four_some_of_it(worker: Worker) -> None:
    bonus = {}
    for name in ("tiles_of_16", "registers_a_column_each"):
        result = check_submission(LAB, SOLUTIONS / "right" / f"{name}.py", worker=worker)
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
    code = (SOLUTIONS / "wrong" / "tiles_of_8.py").read_text(encoding="utf-8")
    looks = code[: code.index("def matmul_tiled(")].rstrip() + "\n" + MARKS
    ratios = []
    for text in (code, looks):
        answer = submission_from_cells("looks.py", [("looks.py", text)], is_notebook=False)
        result = check_submission(LAB, answer, worker=worker)
        assert failed_checks(result) == {"faster_than_one_thread_an_element"}, report(result)
        ratios += [check.measured["ratio"] for check in result.checks if "ratio" in check.measured]
    assert ratios[1] == pytest.approx(ratios[0], rel=0.1)


def test_the_starter_fails_only_the_check_that_all_others_wait_for(worker: Worker) -> None:
    result = check_submission(LAB, LAB.notebook, worker=worker)
    assert not result.error, report(result)
    assert failed_checks(result) == {LAB.checks[0].name}, report(result)
    assert {each.outcome for each in result.checks[1:]} == {"not run"}, report(result)
    assert result.points == 0


def test_the_starter_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(LAB.notebook, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(LAB.folder)}}).execute()
    shown = "".join(str(output) for output in notebook.cells[-1].outputs)
    assert "multiplied right" in shown


def test_a_thread_that_has_returned_is_not_waited_for_and_the_check_says_no_more_than_that(tmp_path: Path) -> None:
    code = (SOLUTIONS / "right" / "tiles_of_16.py").read_text(encoding="utf-8")
    total = "    total = np.float32(0)\n"
    leaves = code.replace(total, f"{total}    if row >= m and col >= n:\n        return\n")
    assert leaves != code
    path = tmp_path / "leaves_at_the_corner.py"
    path.write_text(leaves, encoding="utf-8")
    with Worker("simulated") as running:
        result = check_submission(LAB, path, worker=running)
    check = next(each for each in result.checks if each.name == "brings_every_thread_to_its_barriers")
    assert check.outcome == "passed" and "all that have not returned" in check.title, report(result)


def test_every_check_is_failed_by_some_wrong_answer() -> None:
    required = {each.name for each in LAB.checks if not each.bonus}
    assert set().union(*(promised(path)[0] for path in WRONG)) == required


def test_every_hint_is_given_to_some_wrong_answer() -> None:
    assert {promised(path)[1] for path in WRONG} == {each.name for each in LAB.hints}


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


CALIBRATIONS = {
    source: json.loads((CALIBRATION / f"{name}.json").read_text(encoding="utf-8"))
    for source, name in (("measured", "h200"), ("simulated", "simulated"))
}


@pytest.mark.parametrize("source", CALIBRATIONS)
def test_every_known_answer_was_given_its_verdict(source: str) -> None:
    found = CALIBRATIONS[source]
    assert found["source"] == source
    for name, verdict in found["verdicts"].items():
        path = SOLUTIONS / f"{name}.py"
        checks, hint = promised(path) if path in WRONG else (set(), None)
        assert set(verdict["failed"]) == checks and verdict["hints"] == [hint] * bool(hint), name


def test_no_answer_waits_for_its_simulated_verdict_and_the_table_names_those_that_wait_for_a_gpu() -> None:
    known = {"solution"} | {f"{path.parent.name}/{path.stem}" for path in (*RIGHT, *WRONG)}
    assert set(CALIBRATIONS["simulated"]["verdicts"]) == known
    measured = set(CALIBRATIONS["measured"]["verdicts"])
    assert "solution" in measured and measured == known - waiting_for_a_gpu(SOLUTIONS)


def test_both_devices_gave_the_same_verdicts_and_the_table_says_so() -> None:
    measured, simulated = (CALIBRATIONS[source]["verdicts"] for source in ("measured", "simulated"))
    for name in measured:
        assert measured[name] == simulated[name], name
    assert table(LAB) == (CALIBRATION / "verdicts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("source", "margin"), [("measured", 1.03), ("simulated", 1.01)])
def test_the_threshold_lies_clear_of_every_answer(source: str, margin: float) -> None:
    found = CALIBRATIONS[source]["ratios"][SPEED_CHECK]
    ratios = {name: each["ratio"] for name, each in found.items()}
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution"))]
    too_slow = [ratios[f"wrong/{path.stem}"] for path in WRONG if SPEED_CHECK in promised(path)[0]]
    assert len(right) > 5 and len(too_slow) > 2
    assert max(too_slow) * margin < SPEC["SPEEDUP"] < min(right) / margin


def test_a_tighter_loop_alone_earns_nothing_for_speed_on_a_gpu() -> None:
    ratios = CALIBRATIONS["measured"]["ratios"][SPEED_CHECK]
    assert ratios["naive loops/while"]["ratio"] < SPEC["NO_POINTS_AT"]


def test_no_points_or_thresholds_stand_in_the_handout_by_hand() -> None:
    notebook = json.loads(LAB.notebook.read_text(encoding="utf-8"))
    prose = " ".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert not re.search(r"\d[\d.]*\s*(points?|times|x faster|%)", prose)

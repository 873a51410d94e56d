"""Lab 4 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.records.runs import RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice
from autograder.tests.finding import found
from autograder.tests.known_answers import failed_checks, promised, report
from autograder.tests.lab_tests import SOURCES, Grade, LabTests, verdicts_of

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab04_reduction"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
LAB = load_lab("lab04_reduction")
SPEC = runpy.run_path(str(LAB.folder / "spec.py"))
SPEED_CHECK = "faster_than_the_first_idea"


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {SPEED_CHECK: SPEC["BEST_KNOWN"]}
    flags_on_a_gpu = {"wrong/pretends_when_timed": ["faster than the roofline floor"]}


def test_a_tree_earns_no_bonus_and_shuffles_in_the_last_warp_some_of_it(graded: Grade) -> None:
    bonus = {}
    for name in ("halves_of_any_width", "shuffles_in_the_last_warp"):
        result = graded(LAB, SOLUTIONS / "right" / f"{name}.py")
        bonus[name] = result.points - LAB.points
    assert bonus["halves_of_any_width"] == 0 < bonus["shuffles_in_the_last_warp"] < result.checks[-1].max_points


def test_a_tree_that_races_earns_the_points_of_its_counted_work(graded: Grade) -> None:
    result = graded(LAB, SOLUTIONS / "wrong" / "no_barrier_before_the_tree.py")
    counted = [each for each in result.checks if each.title.startswith("Counted work:")]
    assert len(counted) == 4 and all(each.points == each.max_points for each in counted), report(result)


def test_sizes_that_are_named_in_several_places_agree() -> None:
    hints = runpy.run_path(str(LAB.folder / "hints.py"))
    assert hints["SCRATCH"] == SPEC["SCRATCH"] and SPEC["SPEED_SIZE"][0] <= hints["SHOWN"] <= SPEC["SPEED_SIZE"][1]
    assert f"{SPEC['SCRATCH']:,} float32" in LAB.notebook.read_text(encoding="utf-8")


def test_the_baseline_is_right_and_its_warps_diverge_in_every_step() -> None:
    values = np.arange(1, 70_001, dtype=np.float32) % 7  # three launches: 274 sums, then two, then one
    scratch, total = Uninitialised((SPEC["SCRATCH"],), np.float32), Uninitialised((1,), np.float32)
    request = RunRequest("total_sum", {"values": values, "scratch": scratch, "total": total})
    run = SimulatedDevice().run(parse_program(read_submission(LAB.folder / "baseline.py")), request)
    assert run.outputs["total"][0] == values.sum(dtype=np.float64) and not run.hazards
    assert [launch.grid[0] for launch in run.launches] == [274, 2, 1]
    assert run.counters.divergent_branches > 5 * run.counters.warps


def test_where_a_sum_is_wrong_an_index_below_zero_is_shown_with_its_line_and_thread(simulated: Worker) -> None:
    result = check_submission(LAB, SOLUTIONS / "wrong" / "narrow_index.py", worker=simulated)
    failed = next(each for each in result.checks if each.outcome == "failed")
    assert re.search(r"expected .*line 19: Reads `values\[-32768\]`.* Block \(128, 0, 0\), thread", failed.message)


def test_a_sum_that_went_beyond_the_end_is_told_with_the_line_that_did(tmp_path: Path, simulated: Worker) -> None:
    code = (SOLUTIONS / "right" / "halves_of_any_width.py").read_text(encoding="utf-8")
    beyond = code.replace("while i < values.size", "while i <= values.size")
    assert beyond != code
    (tmp_path / "beyond.py").write_text(beyond, encoding="utf-8")
    result = check_submission(LAB, tmp_path / "beyond.py", worker=simulated)
    failed = next(each for each in result.checks if each.outcome == "failed")
    assert re.search(r"expected .*line \d+: Reads `values\[256\]`, outside its shape", failed.message), failed.message


WHOLE_KERNEL = re.compile(r"@cuda.jit\ndef block_sums_kernel.*?(?=\n\n\n)", re.DOTALL)
LOOP = "    while i < values.size:\n        own += values[i]\n        i += cuda.gridsize(1)\n"


@pytest.mark.parametrize(
    "loop",
    [
        LOOP.replace("values.size:", "min(values.size, 4_000_000):"),
        LOOP.replace("values.size:", "min(values.size, 16_000_000):"),
        LOOP.replace("while", "for _ in range(60):\n        if").replace(":\n        own", ":\n            own"),
    ],
    ids=["a quarter is added", "2 % are left out", "60 rounds of 63"],
)
def test_work_that_is_left_out_where_it_is_timed_is_noticed(loop: str, tmp_path: Path, simulated: Worker) -> None:
    """The required kernel is right; the host launches another one, which is not, on many elements."""
    text = (SOLUTIONS / "right" / "halves_of_any_width.py").read_text(encoding="utf-8")
    kernel = found(WHOLE_KERNEL, text)[0]
    other = kernel.replace(LOOP, loop).replace("block_sums_kernel", "first_sums_kernel")
    assert loop in other != kernel
    text = text.replace(kernel, f"{kernel}\n\n\n{other}").replace(
        "block_sums_kernel[blocks", "first_sums_kernel[blocks"
    )
    path = tmp_path / "stops_early.py"
    path.write_text(text, encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    assert failed_checks(result) == {SPEED_CHECK}, report(result)
    speed = next(each for each in result.checks if each.name == SPEED_CHECK)
    assert speed.points == 0 and "total[0]" in speed.message


TILES = """
    tiles = {each} * cuda.blockDim.x
    i = cuda.blockIdx.x * tiles + t
    while i < values.size:
        for k in range({each}):
            at = i + k * cuda.blockDim.x
            if at < values.size:
                own += values[at]
        i += tiles * cuda.gridDim.x
"""


@pytest.mark.parametrize(
    ("each", "blocks"),
    [
        (2, "min(1056, math.ceil(values.size / THREADS))"), (3, "min(1000, math.ceil(values.size / THREADS))"),
        (8, "math.ceil(values.size / (10 * THREADS))"),
    ],
)  # fmt: skip
def test_nobody_is_told_that_work_is_left_out_who_shares_it_out_in_another_way(
    each: int, blocks: str, tmp_path: Path, simulated: Worker
) -> None:
    """Blocks that take several widths of themselves at a time, so that some have more to do than others."""
    text = (SOLUTIONS / "right" / "halves_of_any_width.py").read_text(encoding="utf-8")
    text = text.replace(LOOP, TILES.format(each=each)).replace("min(BLOCKS, math.ceil(values.size / THREADS))", blocks)
    assert f"range({each})" in text and blocks in text
    path = tmp_path / "tiles.py"
    path.write_text(text, encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    assert result.outcome == "passed", report(result)


@pytest.mark.parametrize("source", SOURCES)
def test_the_threshold_lies_clear_of_every_answer(source: str) -> None:
    ratios = {name: each["ratio"] for name, each in verdicts_of(LAB.name, source)["ratios"][SPEED_CHECK].items()}
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution"))]
    slow = {f"wrong/{path.stem}" for path in WRONG if SPEED_CHECK in promised(path)[0]}
    too_slow = [ratios[name] for name in slow & set(ratios)]
    assert len(right) > 5 and len(too_slow) > 2
    assert max(too_slow) * 1.03 < SPEC["SPEEDUP"] < min(right) / 1.03

"""Lab 1 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab
from autograder.grading.submissions import find_submissions
from autograder.grading.worker import Worker
from autograder.language.source import Submission, submission_from_cells
from autograder.tests.known_answers import hints, report
from autograder.tests.lab_tests import LabTests

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab01_naive_matmul"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
LAB = load_lab("lab01_naive_matmul")
SPEC = runpy.run_path(str(LAB.folder / "spec.py"))

# What the example class shows: who earns all, who fails a check, and whose submission cannot be graded at all and why.
EXAMPLE_CLASS = {
    "aiko_tanaka": "passed",
    "ben_okafor": "passed",
    "carla_mendes": "missing_guard",
    "dmitri_volkov": "transposed_mapping",
    "elif_yilmaz": "swapped_grid_axes",
    "fatima_haddad": "off_by_one_loop",
    "george_papadakis": "code cell 5, line 3",
    "hana_novak": "empty",
    "ines_garcia": "UTF-8",
    "jonas_lindqvist": "a function called `matmul`",
    "kwame_mensah": "endless_loop",
    "liam_murphy": "never_launched",
    "mei_chen": "passed",
    "noor_ahmed": "low_precision",
    "olga_petrova": "passed",
    "pedro_silva": "passed",
    "quynh_tran": "skips_the_remainder",
    "rosa_ferrari": "one_thread_a_block",
}


SEVERAL = """
import math

import numpy as np


@cuda.jit
def two_rows_kernel(a, b, c):
    col, y = cuda.grid(2)
    row = 2 * y
    if row < c.shape[0] and col < c.shape[1]:
        one = np.float32(0)
        other = np.float32(0)
        for i in range(a.shape[1]):
            shared = b[i, col]
            one += a[row, i] * shared
            if row + 1 < c.shape[0]:
                other += a[row + 1, i] * shared
        c[row, col] = one
        if row + 1 < c.shape[0]:
            c[row + 1, col] = other


def matmul_several(a, b, c):
    rows, columns = c.shape
    two_rows_kernel[(math.ceil(columns / 32), math.ceil(rows / 16)), (32, 8)](a, b, c)
"""
WRONG_SEVERAL = {  # what is replaced by what; what the message says
    "loads_it_again": (("a[row + 1, i] * shared", "a[row + 1, i] * b[i, col]"), "2 loads for each"),
    "one_a_thread": (
        ("    two_rows_kernel", "    matmul(a, b, c)\n    return\n    two_rows_kernel"),
        "2 loads for each",
    ),
    "no_second_guard": (
        ("        if row + 1 < c.shape[0]:\n            c[", "        if True:\n            c["),
        "outside",
    ),
    "row_left_out": (("            c[row + 1, col] = other", "            pass"), "never written"),
}


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {"faster_than_the_baseline": SPEC["BEST_KNOWN"]}


def several(*replaced: tuple[str, str]) -> Submission:
    """A right answer to the required parts with one to the bonus in which some text is replaced."""
    text = SEVERAL
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    code = (SOLUTIONS / "right" / "block_32_by_8.py").read_text(encoding="utf-8") + text
    return submission_from_cells("several.py", [("several.py", code)], is_notebook=False)


def test_another_answer_to_the_bonus_earns_it(worker: Worker) -> None:
    result = check_submission(LAB, several(), worker=worker)
    assert result.points == sum(each.points for each in LAB.checks), report(result)


@pytest.mark.parametrize("name", WRONG_SEVERAL)
def test_a_wrong_answer_to_the_bonus_costs_the_bonus_alone_and_says_why(name: str, worker: Worker) -> None:
    change, words = WRONG_SEVERAL[name]
    result = check_submission(LAB, several(change), worker=worker)
    assert result.outcome == "passed" and result.points == LAB.points, report(result)
    assert result.checks[-1].outcome == "failed" and words in result.checks[-1].message, report(result)


def test_the_threshold_lies_between_the_right_and_the_wrong_mappings_that_were_measured() -> None:
    measured = json.loads((SOLUTIONS / "calibration" / "h200.json").read_text(encoding="utf-8"))
    ratios = {name: each["ratio"] for name, each in measured["ratios"]["faster_than_the_baseline"].items()}
    threads_along_x = {name: int(re.split("[ x]", name)[-2]) for name in ratios if name.startswith("x along")}
    right = [ratio for name, ratio in ratios.items() if name.startswith("right/")]
    right += [ratios[name] for name, x in threads_along_x.items() if "columns" in name and x >= 4]
    failed = {name for name, each in measured["verdicts"].items() if "faster_than_the_baseline" in each["failed"]}
    wrong = [ratio for name, ratio in ratios.items() if name in failed]
    wrong += [ratios[name] for name, x in threads_along_x.items() if "rows" in name and x >= 16]
    assert max(wrong) * 1.05 < SPEC["SPEEDUP"] < min(right) / 1.05


@pytest.mark.parametrize("wide, high", [(1, 2), (2, 2), (3, 5)])
def test_blocks_without_an_element_hardly_change_the_predicted_speed(wide: int, high: int) -> None:
    text = (SOLUTIONS / "right" / "block_32_by_8.py").read_text(encoding="utf-8")
    surplus = text.replace("(-(-n // width), -(-m // height))", f"({wide} * -(-n // width), {high} * -(-m // height))")
    assert surplus != text
    ratios = []
    with Worker("simulated") as simulated:
        for code in (text, surplus):
            answer = submission_from_cells("surplus.py", [("surplus.py", code)], is_notebook=False)
            result = check_submission(LAB, answer, worker=simulated)
            assert result.points == LAB.points, report(result)
            ratios += [check.measured["ratio"] for check in result.checks if "ratio" in check.measured]
    assert ratios[1] == pytest.approx(ratios[0], rel=0.06)


def test_the_example_class_holds_exactly_the_students_of_the_table() -> None:
    assert {each.stem for each in (LAB.folder / "example_class").iterdir()} == set(EXAMPLE_CLASS)


@pytest.mark.parametrize("student", EXAMPLE_CLASS)
def test_the_example_class_shows_what_the_demo_is_to_show(student: str, worker: Worker) -> None:
    entry = next(each for each in find_submissions(LAB.folder / "example_class") if each.student == student)
    expected = EXAMPLE_CLASS[student]
    if entry.problem:
        assert expected in entry.problem
        return
    result = check_submission(LAB, entry.path, worker=worker, student=student)
    if expected == "passed":
        assert result.outcome == "passed" and result.points == LAB.points, report(result)
    elif expected in {each.name for each in LAB.hints}:
        assert result.outcome == "failed" and hints(result) == {expected}, report(result)
    else:
        assert expected in result.error
        assert result.points == 0

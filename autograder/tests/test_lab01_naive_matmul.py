"""Lab 1 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

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
from autograder.tests.lab_tests import SOURCES, Grade, LabTests, verdicts_of

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
    "mei_chen": "passed with a bonus",
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


SPEED_CHECK, OTHER_SIZES = "faster_than_the_baseline", "faster_at_other_sizes_too"
SLOW_LOOPS = {  # right answers that a loop keeps from the bonus, and what they are told
    "block_32_by_32": "loop_of_many_instructions",
    "device_function": "loop_of_many_instructions",
    "range_of_unsigned_length": "loop_of_many_instructions",
    "unrolled_with_remainder": "loop_of_many_instructions",
    "sums_in_c": "sums_kept_in_c",
}


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {SPEED_CHECK: SPEC["BEST_KNOWN"], OTHER_SIZES: SPEC["OTHER_BEST_KNOWN"]}
    hints_elsewhere = frozenset(SLOW_LOOPS.values())


def several(*replaced: tuple[str, str], right: str = "block_32_by_8") -> Submission:
    """A right answer to the required parts with one to the bonus in which some text is replaced."""
    text = SEVERAL
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    code = (SOLUTIONS / "right" / f"{right}.py").read_text(encoding="utf-8") + text
    return submission_from_cells("several.py", [("several.py", code)], is_notebook=False)


def test_another_answer_to_the_bonus_earns_it(worker: Worker) -> None:
    result = check_submission(LAB, several(right="while_over_the_grid"), worker=worker)
    assert result.points == sum(each.points for each in LAB.checks), report(result)


@pytest.mark.parametrize("name", WRONG_SEVERAL)
def test_a_wrong_answer_to_the_bonus_costs_the_bonus_alone_and_says_why(name: str, worker: Worker) -> None:
    change, words = WRONG_SEVERAL[name]
    result = check_submission(LAB, several(change), worker=worker)
    assert result.outcome == "passed" and result.points == LAB.points, report(result)
    assert result.checks[-1].outcome == "failed" and words in result.checks[-1].message, report(result)


@pytest.mark.parametrize("name", SLOW_LOOPS)
def test_a_right_answer_with_a_slow_loop_has_full_marks_and_is_told_what_its_bonus_lacks(name: str, graded: Grade) -> None:
    result = graded(LAB, SOLUTIONS / "right" / f"{name}.py")
    bonus = next(each for each in result.checks if each.name == OTHER_SIZES)
    assert result.outcome == "passed" and result.points == LAB.points, report(result)
    assert bonus.outcome == "failed" and [each.name for each in bonus.hints] == [SLOW_LOOPS[name]], report(result)


def ratios_of(source: str, check: str) -> tuple[dict[str, float], dict[str, int]]:
    """The ratios of a device, and by variant the threads of its blocks along x."""
    ratios = {name: each["ratio"] for name, each in verdicts_of(LAB.name, source)["ratios"][check].items()}
    return ratios, {name: int(re.split("[ x]", name)[-2]) for name in ratios if name.startswith("x along")}


def test_the_threshold_lies_between_the_right_and_the_wrong_mappings_that_were_measured() -> None:
    ratios, threads_along_x = ratios_of("measured", SPEED_CHECK)
    right = [ratio for name, ratio in ratios.items() if name.startswith("right/")]
    right += [ratios[name] for name, x in threads_along_x.items() if "columns" in name and x >= 4]
    verdicts = verdicts_of(LAB.name, "measured")["verdicts"]
    failed = {name for name, each in verdicts.items() if SPEED_CHECK in each["failed"]}
    wrong = [ratio for name, ratio in ratios.items() if name in failed]
    wrong += [ratios[name] for name, x in threads_along_x.items() if "rows" in name and x >= 16]
    assert max(wrong) * 1.05 < SPEC["SPEEDUP"] < min(right) / 1.05


@pytest.mark.parametrize("source", SOURCES)
def test_the_bonus_lies_between_the_loops_whatever_the_block(source: str) -> None:
    """Right mappings with a `while` have it; those with a `for`, and wrong mappings of warps that are 16 rows high and
    more, have not."""
    ratios, threads_along_x = ratios_of(source, OTHER_SIZES)
    fast = [ratios[name] for name in threads_along_x if "columns, while" in name]
    slow = [ratios[name] for name in threads_along_x if "columns, range" in name]
    slow += [ratios[name] for name, x in threads_along_x.items() if "rows" in name and x >= 16]
    verdicts = verdicts_of(LAB.name, source)["verdicts"]
    for name in (each for each in ratios if each.startswith(("right/", "solution"))):
        (fast if OTHER_SIZES in verdicts[name]["bonus"] else slow).append(ratios[name])
    assert len(fast) >= 10 <= len(slow)
    assert max(slow) * 1.05 < SPEC["OTHER_SPEEDUP"] < min(fast) / 1.05


@pytest.mark.parametrize("wide, high", [(1, 2), (2, 2), (3, 5)])
def test_blocks_without_an_element_hardly_change_the_predicted_speed(wide: int, high: int, simulated: Worker) -> None:
    text = (SOLUTIONS / "right" / "block_32_by_8.py").read_text(encoding="utf-8")
    surplus = text.replace("(-(-n // width), -(-m // height))", f"({wide} * -(-n // width), {high} * -(-m // height))")
    assert surplus != text
    ratios = []
    for code in (text, surplus):
        answer = submission_from_cells("surplus.py", [("surplus.py", code)], is_notebook=False)
        result = check_submission(LAB, answer, worker=simulated)
        assert result.points == LAB.points, report(result)
        ratios.append({check.name: check.measured["ratio"] for check in result.checks if "ratio" in check.measured})
    assert set(ratios[0]) == {SPEED_CHECK, OTHER_SIZES}
    assert ratios[1] == pytest.approx(ratios[0], rel=0.065)


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
    if expected.startswith("passed"):
        assert result.outcome == "passed" and result.points >= LAB.points, report(result)
        assert (result.points > LAB.points) == ("bonus" in expected), report(result)
    elif expected in {each.name for each in LAB.hints}:
        assert result.outcome == "failed" and hints(result) == {expected}, report(result)
    else:
        assert expected in result.error
        assert result.points == 0


def test_who_reads_c_and_never_ends_is_not_told_of_a_sum_in_it(simulated: Worker) -> None:
    code = (SOLUTIONS / "right" / "block_32_by_8.py").read_text(encoding="utf-8")
    store = "    c[row, col] = total\n"
    loop = "    while total == total:\n        total += 1\n"
    endless = code.replace(store, f"    before = c[row, col]\n    c[row, col] = before\n{loop}")
    assert endless != code
    answer = submission_from_cells("endless.py", [("endless.py", endless)], is_notebook=False)
    result = check_submission(LAB, answer, worker=simulated)
    assert result.checks[0].outcome == "failed", report(result)
    assert "accumulates_into_uninitialised_c" not in hints(result), report(result)

"""Every lab against a model answer of which one function is broken: it costs the checks that come to it, and no others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.language import read_submission, submission_from_cells
from autograder.language.source import Submission
from autograder.records.results import Result
from autograder.tests.known_answers import report

pytestmark = pytest.mark.long

TRANSPOSE = {
    "right_on_whole_tiles", "waits_for_its_tile", "stays_inside_its_arrays", "brings_every_thread_to_its_barrier",
    "right_on_any_size", "loads_whole_sectors", "stores_whole_sectors", "meets_no_bank_conflicts", "keeps_to_float32",
    "faster_than_the_first_transpose",
}  # fmt: skip
FALL = {
    "lets_every_point_fall", "moves_only_what_a_step_needs", "changes_the_layout_in_whole_sectors", "falls_in_float32",
    "faster_over_many_steps",
}  # fmt: skip
BLOCK_SUMS = {
    "right_on_a_full_block", "waits_in_every_step", "right_when_elements_run_short", "right_for_blocks_of_any_width",
    "keeps_its_warps_together", "shares_the_adding_out", "meets_no_queues", "computes_in_float32", "right_with_many_blocks",
    "loads_whole_lines",
}  # fmt: skip
TOTAL = {
    "combines_every_block", "leaves_the_host_out", "right_for_every_size", "loses_no_small_numbers",
    "faster_than_the_first_idea",
}  # fmt: skip
WALK = {"walks_its_sublists", "walks_inside_its_arrays", "walks_any_lists"}
JUMP = {"jumps_between_two_buffers", "ranks_the_splitters"}
ADD = {"adds_up", "ranks_nodes_before_the_first_splitter"}

# lab, answer: function -> the checks that do not come to it, by what the solution's functions call
KEPT: dict[tuple[str, str], dict[str, set[str]]] = {
    ("lab01", "right/while_loop.py"): {"matmul_kernel": set(), "matmul": set()},
    ("lab02", "right/tiles_of_16.py"): {"matmul_tiled_kernel": set(), "matmul_tiled": set()},
    ("lab03", "right/two_fields_gathered.py"): {
        "transpose_kernel": FALL, "transpose": FALL, "fall_kernel": TRANSPOSE, "gather_kernel": TRANSPOSE, "fall": TRANSPOSE,
    },
    ("lab03", "lab.ipynb"): {"transpose_kernel": set(), "fall_kernel": TRANSPOSE},
    ("lab04", "lab.ipynb"): {"block_sums_kernel": set(), "warp_sum": set(), "total_sum": BLOCK_SUMS},
    ("lab05", "lab.ipynb"): {"histogram_kernel": set(), "clear_kernel": set(), "histogram": set()},
    ("lab06", "lab.ipynb"): {
        "walk_sublists": JUMP | ADD, "jump": WALK | ADD, "rank_splitters": WALK | ADD, "add_up": WALK | JUMP,
        "choose_at_random": WALK | JUMP | ADD, "rank_list": WALK | JUMP | ADD,
    },
}  # fmt: skip


# ---- ways to break a function: its definition's text before and after ---------------------------------------------------


def another_kind(text: str) -> str:
    """A kernel or device function without its decorator, a host function with one."""
    return text[text.index("def ") :] if text.startswith("@") else f"@cuda.jit\n{text}"


def one_more_parameter(text: str) -> str:
    start = text.index("(", text.index("def ")) + 1
    return f"{text[:start]}first_of_all, {text[start:]}"


def not_python(text: str) -> str:
    return f"{text}\nx = = 1\n"


def refused(text: str) -> str:
    """With a statement before all others that no submission may contain."""
    return text.replace("):\n", "):\n    try:\n        pass\n    except ValueError:\n        pass\n", 1)


WAYS: dict[str, Callable[[str], str]] = {
    "missing": lambda text: "",
    "another kind": another_kind,
    "one more parameter": one_more_parameter,
    "in a cell that is not Python": not_python,
    "refused": refused,
}


def with_broken(answer: Submission, name: str, way: Callable[[str], str]) -> Submission:
    """The answer as a notebook with a cell for each statement, every definition of one function broken."""
    cells: list[Any] = []
    found = 0
    for cell in answer.cells:
        for statement in ast.parse(cell.text).body:
            if not isinstance(statement, ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef):
                continue
            text = ast.unparse(statement) + "\n"
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                text, found = way(text), found + 1
            cells.append((f"lab.ipynb, code cell {len(cells) + 1}", text))
    assert found
    return submission_from_cells("lab.ipynb", cells)


def graded(lab_name: str, answer: str, name: str, way: str, worker: Worker) -> Result:
    """What grading says; of most ways without the checks of speed, which take longest."""
    lab = load_lab(lab_name)
    path = lab.folder.parent.parent / "solutions" / lab.name / answer
    if way != "missing":
        lab = replace(lab, checks=tuple(each for each in lab.checks if not each.bonus and "fast" not in each.name))
    return check_submission(lab, with_broken(read_submission(path), name, WAYS[way]), worker=worker)


def broken_functions() -> list[Any]:
    """Every function missing, and on each lab one broken in each other way; the rest are left to `make test-all`."""
    found = []
    first = {lab_name: answer for lab_name, answer in reversed(KEPT)}
    for (lab_name, answer), functions in KEPT.items():
        for place, name in enumerate(functions):
            for number, way in enumerate(WAYS):
                is_in_turn = answer == first[lab_name] and place == number % len(functions)
                is_chosen = way == "missing" or is_in_turn
                marks = () if is_chosen else pytest.mark.rest
                found.append(pytest.param(lab_name, answer, name, way, marks=marks, id=f"{lab_name}-{answer}-{name}-{way}"))
    return found


@pytest.mark.parametrize(("lab_name", "answer", "name", "way"), broken_functions())
def test_the_checks_that_come_to_a_broken_function_fail_and_the_others_earn_their_points(
    lab_name: str, answer: str, name: str, way: str, simulated: Worker
) -> None:
    result = graded(lab_name, answer, name, way, simulated)
    asked = [each for each in result.checks if not each.bonus]
    kept = KEPT[lab_name, answer][name] & {each.name for each in asked}
    assert {each.name for each in asked if each.points == each.max_points} == kept, report(result)
    lost = [each for each in asked if each.points != each.max_points]
    assert all(each.points == 0 and each.outcome != "passed" and not each.fault for each in lost), report(result)
    assert not result.flags and not [each.hints for each in result.checks if each.hints], report(result)
    told = [result.error] if result.error else [each.message for each in lost if each.outcome == "failed"]
    assert not (result.error and kept)
    assert told and all("\n" not in each and len(each) < 500 for each in told) and len(set(told)) == len(told)
    assert any(f"`{name}`" in each or "code cell" in each for each in told), report(result)


def test_a_kernel_that_the_lab_launches_may_be_another_for_the_lab_alone(simulated: Worker) -> None:
    """Lab 4 launches `block_sums_kernel` with two arguments; a `total_sum` that gives its own three does nothing wrong."""
    lab = load_lab("lab04")
    path = lab.folder.parent.parent / "solutions" / lab.name / "right/halves_of_any_width.py"
    text = path.read_text(encoding="utf-8")
    start = text.index("def total_sum")
    text = text[:start].replace("def block_sums_kernel(", "def block_sums_kernel(more, ") + text[start:].replace(
        "](", "](1, "
    )
    answer = submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False)
    result = check_submission(lab, answer, worker=simulated)
    passed = {each.name for each in result.checks if each.outcome == "passed"}
    assert passed - {"waits_less_often"} == TOTAL, report(result)
    assert "The lab calls block_sums_kernel(values, sums)." in result.checks[0].message

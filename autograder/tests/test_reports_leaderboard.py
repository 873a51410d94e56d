"""The leaderboard: who chose a name, the fastest first, and nobody else."""

from __future__ import annotations

import dataclasses

import pytest

from autograder.grading.worker_process import MOST_OF_A_NAME, leaderboard_name
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.results import CheckResult, Result
from autograder.reports import class_page
from autograder.reports.leaderboard import places


def student(name: str, chosen: str, *ratios: float) -> Result:
    checks = tuple(
        CheckResult(f"speed_{i}", "Speed.", "passed", 1, 1,
                    measured={"ratio": ratio, "threshold": 0.4, "compared_with": "cuBLAS"})
        for i, ratio in enumerate(ratios)
    )  # fmt: skip
    return Result("lab07", "Fast", name, f"{name}.py", checks, "a GPU", "measured", chosen_name=chosen)


CLASS = [
    student("ada", "turbo", 0.5, 0.9), student("alan", "", 0.99), student("grace", "Cobol forever", 0.7),
    student("edsger", "considered", 0.5), student("tony", "null"),
]  # fmt: skip


def test_the_fastest_come_first_and_who_are_equally_fast_share_a_rank() -> None:
    assert [(each.rank, each.name) for each in places(CLASS)] == [
        (1, "Cobol forever"), (2, "considered"), (2, "turbo"),
    ]  # fmt: skip


def test_the_class_page_has_it_where_somebody_chose_a_name_and_tells_what_speed_is_compared_with() -> None:
    page = class_page.render(CLASS, "Fast")
    assert "Leaderboard" in page and "Times the speed of cuBLAS" in page
    assert "from 0.50 to 0.99 times cuBLAS" in page
    assert page.index("Cobol forever") < page.index("considered") < page.index("turbo")
    assert "Leaderboard" not in class_page.render([dataclasses.replace(CLASS[0], chosen_name="")], "Fast")


def test_a_chosen_name_is_text_on_the_page_whatever_it_holds() -> None:
    page = class_page.render([student("eve", "<script>alert(1)</script>\u202e", 0.5)], "Fast")
    assert "<script>alert(1)" not in page and "\u202e" not in page


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('LEADERBOARD_NAME = "fast cat"', "fast cat"),
        ('LEADERBOARD_NAME = "a" * 1000', "a" * MOST_OF_A_NAME),
        ("x = 1", ""),
        ("LEADERBOARD_NAME = 3", ""),
        ("LEADERBOARD_NAME = open('x')", ""),
        ("LEADERBOARD_NAME = LEADERBOARD_NAME", ""),
        ("def LEADERBOARD_NAME():\n    pass", ""),
    ],
)
def test_a_name_is_a_text_at_module_level_and_anything_else_is_none(source: str, name: str) -> None:
    program = parse_program(submission_from_cells("a.py", [("a.py", source + "\n")], is_notebook=False))
    assert leaderboard_name(program) == name

"""Starters are derived from solutions, always the same bytes, and drift is found."""

from __future__ import annotations

import json

import pytest

from autograder.errors import UsageError
from autograder.grading.labs import lab_names, labs_root, load_lab
from autograder.grading.starters import derive, drifted_starters, starter_text, write_starters
from autograder.language import parse_program, read_submission

pytestmark = pytest.mark.quick

CELLS = [
    # solution, starter
    ("x = 1", "x = 1"),
    ("def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION", "def f():\n    pass  # your code here"),
    (
        "def f():\n    ### BEGIN SOLUTION\n    ### STARTER: x = 0\n    ### STARTER: if x:\n    ### STARTER:     pass\n"
        "    x = 1\n    ### END SOLUTION\n    return x",
        "def f():\n    x = 0\n    if x:\n        pass\n    return x",
    ),
    ("### BEGIN SOLUTION\na\n### END SOLUTION\nb\n### BEGIN SOLUTION\nc\n### END SOLUTION", None),
]


@pytest.mark.parametrize(("solution", "starter"), CELLS)
def test_a_solution_gives_way_to_the_starters_lines(solution, starter):
    expected = "pass  # your code here\nb\npass  # your code here" if starter is None else starter
    assert starter_text(solution, "lab.ipynb, code cell 1") == expected


@pytest.mark.parametrize("name", lab_names())
def test_every_labs_starter_has_empty_functions_by_which_it_is_known_that_nobody_has_begun(name):
    lab = load_lab(name)
    program = parse_program(read_submission(lab.notebook))
    empty = [each.name for each in lab.required if program.functions[each.name].is_empty]
    assert empty


UNPAIRED = [
    ("a\n### BEGIN SOLUTION\nb", 2),
    ("### END SOLUTION", 1),
    ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION", 2),
    ("x\n### STARTER: y", 2),
]


@pytest.mark.parametrize(("text", "line"), UNPAIRED)
def test_marks_that_do_not_pair_are_named_with_their_line(text, line):
    with pytest.raises(UsageError, match=f"lab.ipynb, code cell 1, line {line}"):
        starter_text(text, "lab.ipynb, code cell 1")


def notebook(*cells):
    return {"cells": list(cells), "metadata": {"language_info": {"name": "python", "version": "3.12.1"}}, "nbformat": 4,
            "nbformat_minor": 5}  # fmt: skip


def code(text, identity="c1"):
    return {"cell_type": "code", "id": identity, "metadata": {"scrolled": True, "tags": ["t"]}, "execution_count": 3,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "42"}], "source": text}  # fmt: skip


@pytest.fixture
def labs(tmp_path):
    folder = tmp_path / "solutions" / "lab01_x"
    folder.mkdir(parents=True)
    markdown = {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# Größe\n", "text"]}
    solution = "def f():\n    ### BEGIN SOLUTION\n    return 42\n    ### END SOLUTION\n"
    (folder / "lab.ipynb").write_text(json.dumps(notebook(markdown, code(solution))), encoding="utf-8")
    (tmp_path / "labs").mkdir()
    return tmp_path / "labs"


def test_outputs_are_cleared_and_ids_and_tags_stay(labs):
    assert [path.name for path in write_starters(labs)] == ["lab.ipynb"]
    text = (labs / "lab01_x" / "lab.ipynb").read_text(encoding="utf-8")
    cell = json.loads(text)["cells"][1]
    assert "42" not in text and "3.12.1" not in text and "Größe" in text
    assert (cell["id"], cell["outputs"], cell["execution_count"]) == ("c1", [], None)
    assert cell["metadata"] == {"tags": ["t"]}
    assert "".join(cell["source"]) == "def f():\n    pass  # your code here"


def test_deriving_twice_gives_the_same_bytes_and_writes_nothing(labs):
    write_starters(labs)
    solution = labs.parent / "solutions" / "lab01_x" / "lab.ipynb"
    assert derive(solution) == derive(solution)
    assert write_starters(labs) == [] and drifted_starters(labs) == []


def test_drift_is_shown_with_the_lines_that_differ(labs):
    assert drifted_starters(labs) == ["labs/lab01_x/lab.ipynb is missing."]
    write_starters(labs)
    starter = labs / "lab01_x" / "lab.ipynb"
    starter.write_text(starter.read_text(encoding="utf-8").replace("your code", "my code"), encoding="utf-8")
    (summary,) = drifted_starters(labs)
    assert "2 lines differ" in summary and "my code here" in summary and "your code here" in summary


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"cells": 3}'])
def test_a_solution_that_is_no_notebook_is_said(labs, text):
    path = labs.parent / "solutions" / "lab01_x" / "lab.ipynb"
    path.write_text(text)
    with pytest.raises(UsageError, match="is not a notebook"):
        derive(path)


def test_the_courses_starters_are_what_its_solutions_give():
    assert drifted_starters(labs_root()) == []

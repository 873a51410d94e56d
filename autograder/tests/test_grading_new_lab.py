"""`autograder new-lab` in an empty folder gives a lab that grades at once and keeps its own promises."""

from __future__ import annotations

import json

import pytest

from autograder import cli
from autograder.grading.grade import check_submission
from autograder.grading.known_answers.thresholds import calibrate, told
from autograder.grading.labs import load_lab
from autograder.grading.new_lab import notebook_text
from autograder.grading.starters import drifted_starters
from autograder.grading.worker import Worker

NAME = "lab07_prefix_sum"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("course")
        (root / "labs").mkdir()
        patch.setenv("AUTOGRADER_LABS", str(root / "labs"))
        assert cli.main(["new-lab", NAME]) == 0
        yield root


@pytest.fixture(scope="module")
def worker(course):
    with Worker("simulated") as worker:
        yield worker


def outcomes(result):
    return {check.name: check.outcome for check in result.checks}


def hints(result):
    return {hint.name for check in result.checks for hint in check.hints}


def test_the_new_lab_grades_its_solution_and_its_starter_at_once(course, worker):
    lab = load_lab("lab07")
    assert (lab.title, lab.lesson, lab.points) == ("Prefix sum", "07_prefix_sum", 8)
    solution = check_submission(lab, course / "solutions" / NAME / "lab.ipynb", worker=worker)
    assert solution.outcome == "passed" and solution.points == lab.points, solution
    starter = check_submission(lab, lab.notebook, worker=worker)
    assert set(outcomes(starter).values()) == {"failed", "not run"} and starter.points == 0 and not starter.error
    assert drifted_starters(course / "labs") == []


def test_its_wrong_answers_fail_what_they_say_and_get_their_hint(course, worker):
    lab = load_lab("lab07")
    wrong = sorted((course / "solutions" / NAME / "wrong").glob("*.py"))
    assert len(wrong) == 2
    for path in wrong:
        first_line = path.read_text(encoding="utf-8").splitlines()[0]
        result = check_submission(lab, path, worker=worker)
        failed = [name for name, outcome in outcomes(result).items() if outcome == "failed"]
        assert first_line == f"# fails: {', '.join(failed)}; hint: {', '.join(hints(result))}"


def test_its_notebook_is_one_that_jupyter_reads(course):
    nbformat = pytest.importorskip("nbformat")
    for folder in ("labs", "solutions"):
        notebook = nbformat.read(course / folder / NAME / "lab.ipynb", as_version=4)
        nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells]
    assert cells[0].startswith("# Prefix sum") and cells[-1] == f'check("{NAME}")'


def test_its_threshold_can_be_calibrated(course):
    (found,) = calibrate(load_lab("lab07"), device="simulated")
    assert found.recommended is not None and 1 < found.recommended < 3.2
    assert "simulated" in told(found) and "every time" in told(found)


@pytest.mark.parametrize("name", ["prefix", "lab7_x", "lab07", "lab07_", "lab08_X", "lab08_a-b", "../lab08_x", "lab08_x/.."])
def test_a_name_that_is_none_is_bad_usage(course, capsys, name):
    assert cli.main(["new-lab", name]) == 2
    assert "Names are labNN_topic" in capsys.readouterr().err
    assert [path.name for path in (course / "labs").iterdir()] == [NAME]


def test_a_lab_is_never_written_over(course, capsys):
    before = (course / "labs" / NAME / "spec.py").read_bytes()
    for name in (NAME, "lab07_other"):
        assert cli.main(["new-lab", name]) == 2
        assert "There is a lab 07 already" in capsys.readouterr().err
    (course / "solutions" / "lab09_mine").mkdir()
    assert cli.main(["new-lab", "lab09_mine"]) == 2
    assert (course / "labs" / NAME / "spec.py").read_bytes() == before
    assert not (course / "labs" / "lab09_mine").exists()


def test_a_script_in_cells_becomes_a_notebook():
    cells = json.loads(notebook_text("# %% [markdown]\n# # Title\n#\n# words\n# %%\nx = 1\n\n\ny = 2\n"))["cells"]
    assert ["".join(cell["source"]) for cell in cells] == ["# Title\n\nwords", "x = 1\n\n\ny = 2"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code"]

"""`autograder new-lab` in an empty folder gives a lab that grades at once and keeps its own promises."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import cli
from autograder.grading.grade import check_submission
from autograder.grading.known_answers.thresholds import calibrate, calibration_text
from autograder.grading.labs import load_lab
from autograder.grading.new_lab import notebook_text, with_lab
from autograder.grading.starters import drifted_starters
from autograder.grading.worker import Worker
from autograder.tests.lending import lend_compiled
from autograder.tests.remedies import promised_hints, remedies

pytestmark = pytest.mark.long

NAME = "lab08_prefix_sum"
ROOT = Path(__file__).resolve().parents[2]


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
    lab = load_lab("lab08")
    assert (lab.title, lab.lesson, lab.points) == ("Prefix sum", "08_prefix_sum", 8)
    solution = check_submission(lab, course / "solutions" / NAME / "lab.ipynb", worker=worker)
    assert solution.outcome == "passed" and solution.points == lab.points, solution
    starter = check_submission(lab, lab.notebook, worker=worker)
    assert set(outcomes(starter).values()) == {"failed", "not run"} and starter.points == 0 and not starter.error
    assert drifted_starters(course / "labs") == []


def test_its_wrong_answers_fail_what_they_say_and_get_their_hint(course, worker):
    lab = load_lab("lab08")
    wrong = sorted((course / "solutions" / NAME / "wrong").glob("*.py"))
    assert len(wrong) == 3
    for path in wrong:
        first_line = path.read_text(encoding="utf-8").splitlines()[0]
        result = check_submission(lab, path, worker=worker)
        failed = [name for name, outcome in outcomes(result).items() if outcome == "failed"]
        assert first_line == f"# fails: {', '.join(failed)}; hint: {', '.join(hints(result))}"


def test_its_wrong_answers_pass_once_they_are_mended_as_their_hints_say(course, worker, monkeypatch):
    monkeypatch.setattr("autograder.tests.remedies.ROOT", course)
    mended = remedies(NAME)
    assert {(each.answer, each.hint) for each in mended} == promised_hints(NAME)
    for each in mended:
        assert check_submission(load_lab("lab08"), each.mended, worker=worker).outcome == "passed", each.answer


@pytest.mark.skipif(sys.version_info < (3, 11), reason="types are not checked on Python 3.10, see the Makefile")
def test_its_types_are_right(course):
    """By `make test`'s own settings, and with what that has already read of the package."""
    files = [str(path) for path in sorted((course / "labs" / NAME).glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *files], cwd=ROOT, capture_output=True, text=True, encoding="utf-8",
        env=os.environ | {"MYPYPATH": str(course)},
    )  # fmt: skip
    assert done.returncode == 0 and len(files) == 2, done.stdout + done.stderr


def test_its_notebook_is_one_that_jupyter_reads(course):
    nbformat = pytest.importorskip("nbformat")
    for folder in ("labs", "solutions"):
        notebook = nbformat.read(course / folder / NAME / "lab.ipynb", as_version=4)
        nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells]
    assert cells[0].startswith("# Prefix sum") and cells[-1] == f'check("{NAME}")'


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The course's own folder, as far as a lab's test and the syllabus look at it, with a new lab."""
    root = tmp_path_factory.mktemp("clone")
    for folder in ("autograder", "labs", "slides", "notebooks"):
        leave_out = shutil.ignore_patterns("__pycache__", "*.png", "attacks", "data", "measurements", "conformance")
        shutil.copytree(ROOT / folder, root / folder, ignore=leave_out)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root)
    lend_compiled(root / "autograder")
    inside(root, "-m", "autograder", "new-lab", NAME)
    return root


def inside(root: Path, *arguments: str) -> str:
    """What Python prints there, with the package of that folder; fails the test with it where that fails."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("AUTOGRADER_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=root, capture_output=True, text=True, encoding="utf-8",
        env=environment | {"PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_in_the_course_s_folder_it_gets_a_test_that_passes_and_a_line_in_the_syllabus(copy):
    own, syllabus = f"autograder/tests/test_{NAME}.py", "autograder/tests/test_slides_syllabus.py"
    fences = "autograder/tests/test_grading_fences.py::test_no_check_of_any_lab_can_be_made_to_fail_by_launching_nothing"
    options = ("-q", "-p", "no:cacheprovider", "-m", "not gpu")
    out = inside(copy, "-m", "pytest", *options, own, syllabus, f"{fences}[{NAME}-False]")
    assert "8 skipped" in out and "failed" not in out  # its verdicts, which nobody has taken down yet, and what goes by them
    assert f"| {NAME} | 08b_to_the_limit | 2 |" in (copy / "slides" / "SYLLABUS.md").read_text(encoding="utf-8")
    inside(copy, "-m", "ruff", "check", f"labs/{NAME}", f"solutions/{NAME}", own)


def test_a_second_further_lab_stands_below_the_first_one():
    once = with_lab("# Syllabus\n\n## Eight lectures\n\nText\n", "lab07_one", "01b_what_holds_it_up")
    twice = with_lab(once, "lab08_two", "02b_what_a_tile_saves")
    first, second = "| lab07_one | 01b_what_holds_it_up | 2 |\n", "| lab08_two | 02b_what_a_tile_saves | 2 |\n"
    assert twice == once.replace(first, first + second)
    assert once.endswith("\n\n## Eight lectures\n\nText\n")


def test_its_threshold_can_be_calibrated(course):
    (found,) = calibrate(load_lab("lab08"), device="simulated")
    assert found.recommended is not None and 1 < found.recommended < 3.2
    assert "simulated" in calibration_text(found) and "every time" in calibration_text(found)


@pytest.mark.parametrize("name", ["prefix", "lab7_x", "lab07", "lab07_", "lab08_X", "lab08_a-b", "../lab08_x", "lab08_x/.."])
def test_a_name_that_is_none_is_bad_usage(course, capsys, name):
    assert cli.main(["new-lab", name]) == 2
    assert "Names are labNN_topic" in capsys.readouterr().err
    assert [path.name for path in (course / "labs").iterdir()] == [NAME]


def test_a_lab_is_never_written_over(course, capsys):
    before = (course / "labs" / NAME / "spec.py").read_bytes()
    for name in (NAME, "lab08_other"):
        assert cli.main(["new-lab", name]) == 2
        assert "There is a lab 08 already" in capsys.readouterr().err
    (course / "solutions" / "lab09_mine").mkdir()
    assert cli.main(["new-lab", "lab09_mine"]) == 2
    assert (course / "labs" / NAME / "spec.py").read_bytes() == before
    assert not (course / "labs" / "lab09_mine").exists()


def test_a_script_in_cells_becomes_a_notebook():
    cells = json.loads(notebook_text("# %% [markdown]\n# # Title\n#\n# words\n# %%\nx = 1\n\n\ny = 2\n"))["cells"]
    assert ["".join(cell["source"]) for cell in cells] == ["# Title\n\nwords", "x = 1\n\n\ny = 2"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code"]

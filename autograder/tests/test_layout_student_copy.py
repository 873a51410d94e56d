"""The copy for students that `autograder release` makes: a lab can be done from it, and no answer is in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

from autograder import cli, release
from autograder.course_folder import TO_INSTALL
from autograder.errors import GraderFault, UsageError
from autograder.tests.lending import laid_with_compiled, lend_compiled
from autograder.tests.test_layout_repository import ROOT

pytestmark = pytest.mark.long

ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
LEAST_LINES = 4  # of an answer that nobody writes by chance


def lines_of(text: str) -> str:
    """A program's lines without indentation, comments of their own and empty ones, each ended by a line feed."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


def texts_of(notebook: Path) -> list[str]:
    """The texts of all cells of a notebook."""
    return ["".join(cell["source"]) for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]]


def sources(path: Path) -> list[str]:
    """The code that a file holds, as `lines_of` gives it: a script's, or a notebook's cell by cell."""
    if path.suffix == ".ipynb":
        return [lines_of(text) for text in texts_of(path)]
    return [lines_of(path.read_text(encoding="utf-8", errors="replace"))]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release, `course`, and its zip. In `labs` lie things that are not for students.

    Of the starters that the release tries, each in a process of its own, the first is tried; `autograder labs`, below, loads
    the other labs.
    """
    tried: list[str] = []

    def check_first(course: Path, lab: str) -> None:
        tried.append(lab)
        if len(tried) == 1:
            check_starter(course, lab)

    check_starter = release.check_starter
    folder = tmp_path_factory.mktemp("release")
    shutil.copytree(ROOT / "labs", folder / "labs", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "labs" / "lab01_naive_matmul" / "hidden_cases.py").write_text("SECRET = 1\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOGRADER_LABS", str(folder / "labs"))
        patch.setattr(release, "lay_course", laid_with_compiled)
        patch.setattr(release, "check_starter", check_first)
        assert cli.main(["release", str(folder / "course"), "--zip", str(folder / "course.zip")]) == 0
    assert tried == sorted(each.name for each in (ROOT / "labs").glob("lab*"))
    return folder


@pytest.fixture(scope="module")
def copy(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a student unpacks."""
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(made / "course.zip") as archive:
        archive.extractall(folder)
    lend_compiled(folder / "course" / "autograder")
    return folder / "course"


@cache
def answers() -> dict[str, str]:
    """Every answer of a model solution and every right answer, by name, as `lines_of` gives it."""
    found = {
        f"{path.parent.name}: {answer.splitlines()[0].strip()}": lines_of(answer)
        for path in (ROOT / "solutions").glob("lab*/lab.ipynb")
        for text in texts_of(path)
        for answer in ANSWER.findall(text)
    }
    found |= {str(path.relative_to(ROOT)): sources(path)[0] for path in (ROOT / "solutions").glob("lab*/right/*.py")}
    return {name: lines for name, lines in found.items() if lines.count("\n") >= LEAST_LINES}


def answers_in(folder: Path) -> dict[str, str]:
    """Answers that stand in a folder -> a file that holds each."""
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".ipynb", ".md")]
    given = [(str(path.relative_to(folder)), source) for path in files for source in sources(path)]
    return {name: file for name, lines in answers().items() for file, source in given if lines in source}


def test_no_answer_is_in_a_student_s_copy(copy: Path) -> None:
    assert len(answers()) > 50
    assert answers_in(copy) == {}
    assert not list(copy.rglob("*.jsonl"))  # answers but for a slip, and what mends one


def test_only_what_a_student_needs_is_in_it(made: Path) -> None:
    """Of the solutions, that is, the figures that lesson 7 shows; and nothing of what lies beside a lab's files."""
    with zipfile.ZipFile(made / "course.zip") as archive:
        names = archive.namelist()
    folders = {"autograder", "labs", "notebooks", "solutions"}
    assert {name.split("/")[1] for name in names} == {"README.md", *TO_INSTALL, *folders}
    assert {Path(name).name for name in names if "/solutions/" in name} == {"counted.json", "h200.json"}
    of_labs = {Path(name).name for name in names if "/labs/" in name}
    assert of_labs == {"lab.ipynb", "spec.py", "hints.py", "baseline.py", "histograms.py", "lists.py", "cublas.py"}
    for left_out in ("/tests/", "/packed/", "__pycache__", "example_class", "hidden_cases"):
        assert not [name for name in names if left_out in name], left_out
    in_the_folder = {path.relative_to(made).as_posix() for path in (made / "course").rglob("*") if path.is_file()}
    assert in_the_folder == set(names)


def test_the_search_finds_every_answer_where_they_are() -> None:
    assert set(answers_in(ROOT / "solutions")) == set(answers())


def test_a_lab_can_be_done_from_a_student_s_copy(copy: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}

    def autograder(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "autograder", *words]
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=300)

    labs = sorted(each.name for each in (ROOT / "labs").glob("lab*"))
    listed = autograder("labs").stdout
    assert all(name in listed for name in labs)
    starter = autograder("check", labs[0], "--device", "simulated")
    assert starter.returncode == 1 and "0 of " in starter.stdout, starter.stdout + starter.stderr
    solution = ROOT / "solutions" / labs[0] / "lab.ipynb"
    solved = autograder("check", labs[0], str(solution), "--device", "simulated")
    assert solved.returncode == 0, solved.stdout + solved.stderr


# ---- what is refused: one line each, and nothing to hand out ---------------------------------------


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of lab 1 alone, with its solution; no starter is tried."""
    for name in ("labs", "solutions"):
        (tmp_path / name / "lab01_naive_matmul").mkdir(parents=True)
        shutil.copy(ROOT / name / "lab01_naive_matmul" / "lab.ipynb", tmp_path / name / "lab01_naive_matmul")
    for name in ("spec.py", "hints.py", "baseline.py"):
        shutil.copy(ROOT / "labs" / "lab01_naive_matmul" / name, tmp_path / "labs" / "lab01_naive_matmul")
    monkeypatch.setenv("AUTOGRADER_LABS", str(tmp_path / "labs"))
    monkeypatch.setattr(release, "check_starter", lambda course, lab: None)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The one line that a command is refused with."""
    assert cli.main([str(word) for word in words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("autograder: ") and said.count("\n") == 1, said
    return said


def test_a_folder_that_will_not_do_is_refused(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (small / "mine").mkdir()
    (small / "mine" / "work.txt").write_text("a day's work", encoding="utf-8")
    assert "not empty" in refused(capsys, "release", small / "mine")
    assert "cannot be written" in refused(capsys, "release", small / "mine" / "work.txt" / "new")
    assert "is a folder" in refused(capsys, "release", small / "new", "--zip", small / "mine")
    assert "There is no folder" in refused(capsys, "release", small / "new", "--zip", small / "nowhere" / "a.zip")
    assert not (small / "new").exists()
    assert [path.name for path in (small / "mine").iterdir()] == ["work.txt"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (small / "theirs").mkdir(mode=0o500)
    assert "Permission denied" in refused(capsys, "release", small / "theirs" / "new")


def test_an_answer_in_the_place_of_a_starter_stays_here(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An instructor may have done the lab where it lies."""
    solution = small / "solutions" / "lab01_naive_matmul" / "lab.ipynb"
    starter = small / "labs" / "lab01_naive_matmul" / "lab.ipynb"
    starter.write_bytes(solution.read_bytes())
    assert "may hold an answer" in refused(capsys, "release", small / "new", "--zip", small / "new.zip")
    assert not (small / "new").exists() and not (small / "new.zip").exists()


def test_each_starter_is_to_fail_in_the_copy_as_a_student_s_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the exit code of `check`: 0 is an answer, and anything but 1 is the grader's own trouble."""
    ended = subprocess.CompletedProcess([], 1, "", "autograder: No labs folder was found.\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    release.check_starter(tmp_path, "lab01")
    ended.returncode = 0
    with pytest.raises(UsageError, match="lab01: its lab.ipynb passes every check"):
        release.check_starter(tmp_path, "lab01")
    ended.returncode = 2
    with pytest.raises(GraderFault, match="cannot be checked .* No labs folder was found"):
        release.check_starter(tmp_path, "lab01")

"""The copy for students that the instructor's guide makes: a lab can be done from it, and no answer is in it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder.tests.lending import lend_compiled
from autograder.tests.test_layout_repository import ROOT

pytestmark = pytest.mark.long

GUIDE = (ROOT / "labs" / "README.md").read_text(encoding="utf-8")
ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
LEAST_LINES = 4  # of an answer that nobody writes by chance


def lines_of(text: str) -> str:
    """A program's lines without indentation, comments of their own and empty ones, each ended by a line feed."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


def sources(path: Path) -> list[str]:
    """The code that a file holds, as `lines_of` gives it: a script's, or a notebook's cell by cell."""
    if path.suffix == ".ipynb":
        return [lines_of(cell.source) for cell in nbformat.read(path, as_version=4).cells]
    return [lines_of(path.read_text(encoding="utf-8", errors="replace"))]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's own command, carried out; its zip is unpacked."""
    if not (ROOT / ".git").exists():
        pytest.skip("the guide's command needs a clone, and this is none")
    commands = re.findall(r"^    (git archive .+)$", GUIDE, re.MULTILINE)
    assert len(commands) == 1
    folder = tmp_path_factory.mktemp("copy")
    words = shlex.split(commands[0])
    words[words.index("course.zip")] = str(folder / "course.zip")
    subprocess.run(words, cwd=ROOT, check=True, timeout=60)
    with zipfile.ZipFile(folder / "course.zip") as archive:
        archive.extractall(folder)
    lend_compiled(folder / "course" / "autograder")
    return folder / "course"


def answers() -> dict[str, str]:
    """Every answer of a model solution and every right answer, by name, as `lines_of` gives it."""
    found = {
        f"{path.parent.name}: {answer.splitlines()[0].strip()}": lines_of(answer)
        for path in (ROOT / "solutions").glob("lab*/lab.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for answer in ANSWER.findall(cell.source)
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

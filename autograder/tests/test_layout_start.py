"""What a command loads: the grader neither the course nor the decks, and pictures only where it draws one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.tests.finding import found
from autograder.tests.test_layout_repository import ROOT

pytestmark = pytest.mark.long(25)

NEVER = r"autograder\.(course|decks|kernels|tests)\b|matplotlib|nbclient|IPython"
PICTURES = r"autograder\.figures\b"
LAB = "lab01_naive_matmul"
SOLUTION = ROOT / "solutions" / LAB / "lab.ipynb"


def loaded(*words: str, cwd: Path) -> set[str]:
    """The modules that a command imports, in whichever of its processes."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONPROFILEIMPORTTIME": "1"}
    command = [sys.executable, "-m", "autograder", *words]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def among(pattern: str, modules: set[str]) -> list[str]:
    return sorted(each for each in modules if re.match(pattern, each))


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    """A class of one, whose submission ends before the first check."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.py").write_text("def matmul(", encoding="utf-8")
    return tmp_path / "class" / "ada.py"


def test_a_check_starts_without_the_course_and_without_pictures(unreadable: Path, tmp_path: Path) -> None:
    modules = loaded("check", LAB, str(unreadable), "--device", "simulated", cwd=tmp_path)
    assert "autograder.grading.grade" in modules and "autograder.grading.worker" in modules
    assert among(f"{NEVER}|{PICTURES}", modules) == []


def test_a_class_is_graded_without_the_course_and_without_pictures(unreadable: Path, tmp_path: Path) -> None:
    words = (str(unreadable.parent), "--out", str(tmp_path / "out"), "--device", "simulated")
    modules = loaded("grade", LAB, *words, cwd=tmp_path)
    assert "autograder.reports.class_page" in modules
    assert among(f"{NEVER}|{PICTURES}", modules) == []


def test_a_check_that_draws_loads_no_more_than_pictures(tmp_path: Path) -> None:
    modules = loaded("check", LAB, str(SOLUTION), "--device", "simulated", cwd=tmp_path)
    assert "autograder.figures.estimates" in modules
    assert among(NEVER, modules) == []


def test_the_worker_loads_neither() -> None:
    code = "import sys, autograder.grading.worker_process, autograder.simulated_device; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert among(f"{NEVER}|{PICTURES}", set(done.stdout.split())) == []


def test_who_reads_notebooks_does_not_wait_for_a_grammar() -> None:
    """JupyterLab, nbval and whoever imports nbformat have jsonschema, of which some releases make a parser of URIs."""
    code = "import sys, nbformat; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "jsonschema" in done.stdout.split()
    assert among(r"lark|rfc3987_syntax", set(done.stdout.split())) == []


def test_nobody_looks_for_garbage_among_what_stays() -> None:
    """Not while it is imported, which would take a third more of a processor, and not afterwards."""
    code = """
import gc
from autograder.grading import worker_process
looks = []
gc.callbacks.append(lambda phase, _: looks.append(phase))
worker_process.make_ready()
assert not looks and gc.isenabled() and gc.get_freeze_count() > 100_000, (looks, gc.get_freeze_count())
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.rest  # to compile all anew takes longer than all that is compiled, which set-up does in a clean clone
def test_set_up_compiles_all_that_a_first_check_needs(tmp_path: Path) -> None:
    code = found(r"^COMPILE := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = []
    for words in (["-c", code], ["-m", "autograder", "check", LAB, str(SOLUTION), "--device", "simulated"]):
        subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, check=True)
        compiled.append({each.name for each in tmp_path.rglob("*.nbi")})
    assert compiled[0] == compiled[1] and len(compiled[0]) > 20

"""The README's recipes, carried out as they stand there: on a copy of the package, by the lines marked + and -."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autograder

PACKAGE = Path(autograder.__file__).parent
README = (PACKAGE / "simgpu" / "README.md").read_text(encoding="utf-8")

FENCED = """
import numpy as np
from numba import cuda
from autograder import profile
from autograder.reports.source_text import counted_source

@cuda.jit
def fenced(out):
    i = cuda.grid(1)
    out[i] = 1
    cuda.threadfence()
    out[i] += 1

if __name__ == "__main__":
    p = profile(fenced)[2, 64](np.zeros(128, np.float32))
    (line,) = [each for each in p.lines if "threadfence" in each.text]
    assert p.counters.fences == p.compiled.fences == line.counters.fences == 4, p.counters
    assert p.to_dict()["counters"]["fences"] == 4
    text = counted_source(p.lines, 200)
    (row,) = [row for row in text if "cuda.threadfence()" in row]
    assert row.split()[0] == "4" and "fences" in "".join(text).split("def fenced")[0] and "fences" in str(p), text
    assert ">fences</th>" in p._repr_html_()
    print("seen")
"""

NANS = """
import numpy as np
from numba import cuda
from autograder import profile
from autograder.records.hazards import HAZARDS

@cuda.jit
def in_a_loop(a, out, n):
    for i in range(n):
        out[i] = a[i] - a[i]

@cuda.jit
def in_a_loop_written_out(a, out, n):
    for i in range(4):
        out[i] = a[i] - a[i]

@cuda.jit(device=True)
def put(a, out, i):
    out[i] = a[i] - a[i]

@cuda.jit
def in_a_device_function(a, out, n):
    put(a, out, cuda.grid(1))

@cuda.jit
def by_an_update(a, out, n):
    i = cuda.grid(1)
    out[i] += a[i] - a[i]

@cuda.jit
def in_a_slice(a, out, n):
    out[:] = a[3] - a[3]

@cuda.jit
def by_several_targets(a, out, n):
    i = cuda.grid(1)
    out[i], out[4 + i] = 1, a[i] - a[i]

@cuda.jit
def in_shared_memory(a, out, n):
    tile = cuda.shared.array(32, np.float32)
    i = cuda.grid(1)
    tile[i] = a[i] - a[i]

@cuda.jit
def late_in_the_loop_of_one_thread(a, out, n):
    if cuda.grid(1) == 0:
        for i in range(n):
            out[i] = a[i] - a[i]

@cuda.jit
def later_than_that(a, out, n):
    if cuda.grid(1) == 0:
        for i in range(1200):
            out[4] = a[i // 300] - a[i // 300]

@cuda.jit
def nowhere(a, out, n):
    i = cuda.grid(1)
    out[i] = 0 * a[0]

KERNELS = (
    in_a_loop, in_a_loop_written_out, in_a_device_function, by_an_update, in_a_slice, by_several_targets, in_shared_memory,
    late_in_the_loop_of_one_thread, later_than_that, nowhere,
)

if __name__ == "__main__":
    assert "nan_stored" in HAZARDS
    a = np.array([1, 1, 1, np.inf], np.float32)  # only the last one's difference is NaN
    for kernel in KERNELS:
        p = profile(kernel)[1, 4](a, np.zeros(8, np.float32), 4)
        found = [each for each in p.hazards if each.kind == "nan_stored"]
        assert len(found) == (kernel is not nowhere), (kernel, p.hazards)
        assert not found or "NaN stored: " in str(p) and "NaN stored" in p._repr_html_()
    print("seen")
"""


def recipe(title: str) -> list[tuple[str, list[str]]]:
    """(file, lines) of each piece of a recipe's block."""
    (section,) = re.findall(rf"### {title}\n(.*?)(?=\n##|\Z)", README, re.DOTALL)
    (block,) = re.findall(r"```diff\n(.*?)```", section, re.DOTALL)
    pieces = re.split(r"^--- (\S+)\n", block, flags=re.MULTILINE)[1:]
    return [(file, lines.splitlines()) for file, lines in zip(pieces[::2], pieces[1::2], strict=True)]


def carried_out(text: str, lines: list[str]) -> str:
    """A file's text with the lines marked - taken out and those marked + put in, where all others stand as here."""
    before = [line[1:] for line in lines if line[0] in " -"]
    after = [line[1:] for line in lines if line[0] in " +"]
    have = text.splitlines()
    places = [at for at in range(len(have)) if have[at : at + len(before)] == before]
    assert len(places) == 1, f"{len(places)} places for {before}"
    return "\n".join([*have[: places[0]], *after, *have[places[0] + len(before) :]]) + "\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    leave_out = shutil.ignore_patterns("tests", "measurements", "conformance", "exports", "scaffold", "README.md")
    shutil.copytree(PACKAGE, tmp_path / "autograder", ignore=leave_out)
    measured = PACKAGE / "perfmodel" / "measurements"
    shutil.copytree(measured, tmp_path / "autograder" / "perfmodel" / "measurements")
    return tmp_path


@pytest.mark.parametrize(("title", "program"), [("A hazard", NANS), ("A counter", FENCED)])
def test_a_recipe_works_as_the_readme_says_and_takes_three_files(title: str, program: str, copy: Path) -> None:
    pieces = recipe(title)
    assert 1 < len({file for file, _ in pieces}) <= 3
    for file, lines in pieces:
        path = copy / file
        path.write_text(carried_out(path.read_text(encoding="utf-8"), lines), encoding="utf-8")
    ran = run(program, copy, copy)
    assert (ran.returncode, ran.stdout.strip()) == (0, "seen"), ran.stderr


@pytest.mark.parametrize("program", [NANS, FENCED])
def test_without_the_recipe_there_is_nothing_to_see(program: str, tmp_path: Path) -> None:
    ran = run(program, tmp_path, PACKAGE.parent)
    assert ran.returncode == 1 and ran.stdout == ""
    assert "nan_stored" in ran.stderr or "no attribute 'fences'" in ran.stderr


def run(program: str, folder: Path, package_in: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    script.write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package_in)},
        capture_output=True,
        text=True,
        timeout=300,
    )

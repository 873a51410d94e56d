"""`autograder run`, given what it cannot run, a notebook, and programs that end in their own ways."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder import cli
from autograder.simgpu.host import cuda_module

pytestmark = pytest.mark.long

RACES = "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef races(a):\n    a[0] = cuda.grid(1)\n"
LAUNCH = "races[1, 64](np.zeros(64))\n"


def run(path: str | Path, *arguments: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autograder", "run", str(path), *arguments], cwd=folder, input=stdin, text=True,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def notebook(path: Path, *cells: str) -> Path:
    told = [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in cells]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "# One"}, *told]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.py", None, "There is no file missing.py."),
        (".", None, ". is a folder, not a file."),
        ("bytes.py", b"\x93\x00\xff" * 50, "bytes.py: Python cannot read this ("),
        ("broken.py", b"x = 1\ndef f(:\n", "broken.py, line 2: Python cannot read this (invalid syntax)."),
        ("broken.ipynb", b'{"cells": [\n', "broken.ipynb, line 2: this is no notebook, its JSON is broken ("),
        ("bytes.ipynb", b"\x93\x00\xff" * 50, "bytes.ipynb is no notebook: it is not in UTF-8."),
        ("empty.ipynb", b"", "empty.ipynb, line 1: this is no notebook, its JSON is broken ("),
        ("other.ipynb", b"[1, 2]", "other.ipynb is no notebook of Jupyter's form 4: it has no list of cells."),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(
    name: str, content: bytes | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """In this process: nothing of it is run."""
    cuda_module.device.findings.clear()  # what other tests found here would be told at the end
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert cli.main(["run", name]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"autograder: {said}") and told.err.count("\n") == 1 and not told.out


def test_a_script_ends_as_it_would_by_itself(tmp_path: Path) -> None:
    for text, code, out in (
        ("", 0, ""), ("import sys\nsys.exit(3)", 3, ""), ("print(input())", 0, "typed\n"),
        ("import subprocess, sys\nif len(sys.argv) < 2:\n    subprocess.run([sys.executable, __file__, 'again'])\n"
         "else:\n    print('child')", 0, "child\n"),
    ):  # fmt: skip
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        done = run("script.py", folder=tmp_path, stdin="typed\n")
        assert (done.returncode, done.stdout, done.stderr) == (code, out, ""), text


def test_results_that_cannot_be_written_are_refused_before_the_script_has_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('it has run')", encoding="utf-8")
    for path, said in ((".", "it is a folder."), ("no/such/out.json", "there is no folder ")):
        done = run("script.py", "--json", path, folder=tmp_path)
        assert done.returncode == 2 and done.stdout == "" and said in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes that break and signals are POSIX")
def test_an_output_that_nobody_reads_any_more_ends_a_script_quietly(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import itertools\nfor i in itertools.count():\n    print(i)", encoding="utf-8")
    script = f"{sys.executable} -m autograder run script.py --json out.json | head -n 2"
    done = subprocess.run(script, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("0\n1\n", "")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["hazards"] == []


@pytest.mark.skipif(os.name != "posix", reason="pipes that break and signals are POSIX")
def test_what_was_found_before_an_interrupt_is_told_and_written(tmp_path: Path) -> None:
    ready = "open('ready', 'w').close()\nwhile True:\n    pass\n"
    (tmp_path / "script.py").write_text(RACES + LAUNCH + ready, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", "run", "script.py", "--json", "out.json"], cwd=tmp_path, text=True,
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    deadline = time.monotonic() + 100
    while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 3 and told.endswith("autograder: interrupted.\n") and "Race on `a[0]`" in told
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["error"] == "KeyboardInterrupt" and [each["kind"] for each in found["hazards"]] == ["race"]


def test_a_notebook_runs_cell_by_cell(tmp_path: Path) -> None:
    kernel = "%%time\n" + RACES.partition("\n\n")[2]
    notebook(tmp_path / "a.ipynb", "%matplotlib inline\n" + RACES.partition("\n\n")[0], kernel, LAUNCH, "!echo shell\n")
    done = run("a.ipynb", "--json", "out.json", "--strict", folder=tmp_path)
    assert done.returncode == 1 and "shell" in done.stdout and "Race on `a[0]`" in done.stderr
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["error"] is None and [each["kind"] for each in found["hazards"]] == ["race"]


@pytest.mark.parametrize(
    ("cell", "code", "said", "lines"),
    [
        ("def f():\n    return 1 / 0\n\nf()", 2, "cell 2: it stopped with ZeroDivisionError: division by zero", 8),
        ("x = (", 2, "cell 2, line 1: Python cannot read this (", 1),
        ("import sys\nsys.exit(3)", 3, "", 0),
        (RACES.replace("a[0] = cuda.grid(1)", "print(a)") + LAUNCH, 1, "cell 2, line 6: A kernel can print numbers", 1),
    ],
)
def test_a_notebook_stops_at_the_first_cell_with_an_error(
    cell: str, code: int, said: str, lines: int, tmp_path: Path
) -> None:
    notebook(tmp_path / "a.ipynb", "print('one')", cell, "print('three')")
    done = run("a.ipynb", folder=tmp_path)
    assert (done.returncode, done.stdout) == (code, "one\n")
    assert (f"autograder: a.ipynb, {said}" in done.stderr) if said else not done.stderr
    assert done.stderr.count("\n") <= lines and "IPython/core" not in done.stderr

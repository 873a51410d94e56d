"""The command line: exit codes, one line for each kind of trouble, and no traceback for anybody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder import cli
from autograder.errors import GraderFault
from autograder.grading import bench
from autograder.grading.labs import lab_names, labs_root
from autograder.records.results import CheckResult, Result

ROOT = Path(autograder.__file__).resolve().parent.parent


def run(*arguments, cwd=ROOT, **environment):
    return subprocess.run(
        [sys.executable, "-m", "autograder", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


def one_line(done):
    """Standard error of a command, which must be one line and no traceback."""
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr.strip()


BAD_USAGE = [
    (("check", "lab77"), "There is no lab called `lab77`. Labs: lab01_naive_matmul"),
    (("check", "lab01", "nowhere.ipynb"), "There is no file nowhere.ipynb."),
    (("check", "lab01", "."), ". is a folder, not a file."),
    (("grade", "lab01", "nowhere", "--out", "build/none"), "There is no folder or zip nowhere."),
    (("profile", "nowhere.py:kernel"), "There is no file nowhere.py."),
    (("profile", "kernel.py"), "profile takes FILE.py:KERNEL."),
    (("run", "nowhere.py"), "There is no file nowhere.py."),
    (("bench", "everything"), "No benchmark is called everything."),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_USAGE)
def test_bad_usage_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and len(captured.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [(), ("nonsense",), ("check",), ("grade", "lab01", "x"), ("grade", "a", "b", "--jobs", "0")]
)
def test_a_command_line_that_makes_no_sense_is_exit_code_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2 and "usage: autograder" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("number", ["0", "-1", "two", "1.5", "٣"])
def test_a_number_of_workers_that_is_none_is_said(number, capsys):
    with pytest.raises(SystemExit):
        cli.main(["grade", "lab01", "x", "--out", "y", "--jobs", number])
    assert f"argument --jobs: {number} is no whole number of 1 or more" in capsys.readouterr().err


def test_an_unexpected_error_is_one_line_with_the_place_of_its_report(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def broken():
        raise IndexError("tuple index\nout of range")

    monkeypatch.setattr("autograder.grading.labs.lab_names", broken)
    assert cli.main(["labs"]) == 3
    message = capsys.readouterr().err.strip()
    assert message.startswith("autograder: an error of the grader, not yours: IndexError: tuple index out of range.")
    report = Path(message.rsplit(" ", 1)[1])
    assert "in broken" in report.read_text() and report.parent == tmp_path


def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for name in [each for each in sys.modules if each.startswith("autograder.reports")]:
        monkeypatch.delitem(sys.modules, name)
    assert cli.main(["grade", "lab01", "x", "--out", "y"]) == 3
    message = capsys.readouterr().err
    assert message.startswith("autograder: The package jinja2 is not installed. Install what the course needs: ")
    assert "pip install -r requirements.txt" in message and len(message.splitlines()) == 1


def test_a_fault_of_the_machine_is_exit_code_3(monkeypatch, capsys):
    def broken():
        raise GraderFault("The disk is full.")

    monkeypatch.setattr("autograder.grading.labs.lab_names", broken)
    assert cli.main(["labs"]) == 3 and capsys.readouterr().err == "autograder: The disk is full.\n"


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("autograder.grading.labs.lab_names", interrupted)
    assert cli.main(["labs"]) == 3 and capsys.readouterr().err == "autograder: interrupted.\n"
    monkeypatch.setattr("autograder.grading.labs.load_lab", interrupted)
    assert cli.main(["grade", "lab01", "x", "--out", "y"]) == 3 and "goes on from there" in capsys.readouterr().err


def result(*outcomes, error="", faults=()):
    checks = [CheckResult(f"c{n}", "C.", outcome, 0, 1, fault=n in faults) for n, outcome in enumerate(outcomes)]
    return Result("lab", "Lab", "ann", "ann.py", tuple(checks), "d", "simulated", error=error)


CODES = [
    ([result("passed")], 0),
    ([result("passed"), result("passed", "failed", "not run")], 1),
    ([result("not run", error="syntax")], 1),
    ([result("not run", faults=(0,))], 3),
    ([result("passed"), result("passed", "not run", faults=(1,))], 3),
    ([result("not run", faults=(0,)), result("failed")], 3),
    ([result("failed", "not run", faults=(1,)), result("failed")], 3),
    ([result("not run", error="syntax"), result("passed", "not run", faults=(1,))], 3),
]


@pytest.mark.parametrize(("results", "code"), CODES)
def test_exit_codes_of_results(results, code):
    assert cli.exit_code(results) == code


def test_labs_lists_every_lab_with_its_points(capsys, tmp_path):
    assert cli.main(["labs", "--json", str(tmp_path / "labs.json")]) == 0
    listed = json.loads((tmp_path / "labs.json").read_text())
    assert [each["name"] for each in listed] == sorted(path.parent.name for path in labs_root().glob("lab*/spec.py"))
    assert all(each["name"] in capsys.readouterr().out or each["points"] > 0 for each in listed)


def test_a_json_file_that_cannot_be_written_is_bad_usage(capsys, tmp_path):
    assert cli.main(["labs", "--json", str(tmp_path / "no" / "labs.json")]) == 2
    assert "cannot be written: there is no folder" in capsys.readouterr().err


def test_starters_check_says_what_has_drifted_and_fails(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("autograder.grading.starters.drifted_starters", lambda root: ["labs/x/lab.ipynb is missing."])
    assert cli.main(["starters", "--check", "--json", str(tmp_path / "s.json")]) == 1
    assert "labs/x/lab.ipynb is missing." in capsys.readouterr().out
    assert json.loads((tmp_path / "s.json").read_text())["drifted"] == ["labs/x/lab.ipynb is missing."]


def test_a_file_in_the_current_folder_is_not_imported_in_place_of_a_module(tmp_path):
    for name in ("numpy", "json", "numba", "argparse"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w')\n")
    done = run("labs", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()


def test_output_into_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m autograder labs | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert "Traceback" not in done.stderr and "Broken" not in done.stderr


def test_a_benchmark_about_labs_runs_for_each_lab_that_is_named(monkeypatch, capsys):
    ran = []
    monkeypatch.setitem(bench.OF_LABS, "grading", lambda lab: ran.append(lab) or {"submissions per minute": "61"})
    assert cli.main(["bench", "grading"]) == 0
    assert cli.main(["bench", "grading", "--lab", "lab02", "--lab", "lab01_naive"]) == 0
    assert ran == ["lab01_naive_matmul", "lab02_tiled_matmul", "lab01_naive_matmul"]
    assert "grading lab02_tiled_matmul: submissions per minute: 61" in capsys.readouterr().out
    assert cli.main(["bench", "grading", "--lab", "all"]) == 0
    assert ran[3:] == list(lab_names())
    assert cli.main(["bench", "grading", "--lab", "lab77"]) == 2

"""`autograder run` reaches the whole program: what its launches do wrong, its errors, and the processes that it starts."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autograder
from autograder import cli
from autograder.errors import Line
from autograder.records.hazards import Hazard
from autograder.simgpu.host import child_processes
from autograder.simgpu.host.dispatch import device
from autograder.simgpu.host.findings import FOLDER, Findings, gathered, written_down

pytestmark = pytest.mark.long

ROOT = Path(autograder.__file__).resolve().parent.parent

RACES = """
import numpy as np
from numba import cuda

@cuda.jit
def everyone(a):
    a[0] = cuda.grid(1)

@cuda.jit
def each(a):
    a[cuda.grid(1)] = 1

for _ in range(3):
    everyone[1, 64](np.zeros(64))
each[1, 64](np.zeros(64))
"""
CORRECT = RACES.replace("a[0] =", "a[cuda.grid(1)] =")


def run(folder, text, *options, **environment):
    """`autograder run` of a script with this text: the finished process, and the data that it wrote."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    outside = {name: value for name, value in os.environ.items() if name != child_processes.ASKED}
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "run", "program.py", "--json", "found.json", *options],
        capture_output=True, text=True, timeout=200, cwd=folder,
        env={**outside, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    return done, json.loads((folder / "found.json").read_text(encoding="utf-8"))


@pytest.fixture
def run_here(tmp_path, monkeypatch, capsys):
    """As `run`, in this process, which has loaded already what a new one takes a second for."""

    def called(text, *options):
        monkeypatch.chdir(tmp_path)
        device.findings.begin()  # as a new process
        (tmp_path / "program.py").write_text(text, encoding="utf-8")
        code: Any
        try:
            code = cli.main(["run", "program.py", "--json", "found.json", *options])
        except SystemExit as ended:  # the program's own, as Python itself takes it
            code = ended.code
        told = capsys.readouterr()
        done = subprocess.CompletedProcess([], code, told.out, told.err)
        return done, json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))

    return called


# -- told once, then counted --------------------------------------------------------------------------------------


def a_race(line=3, array="a", occurrences=2, kernel="kernel"):
    return Hazard("race", "Two threads.", "Wait.", Line("program.py", line), kernel=kernel, array=array,
                  index=(0,), thread=(1, 0, 0), block=(0, 0, 0), occurrences=occurrences)  # fmt: skip


@pytest.mark.quick
def test_a_fault_is_new_once_for_each_kernel_line_and_array():
    findings = Findings()
    different = [a_race(), a_race(line=4), a_race(array="b"), a_race(kernel="other")]
    assert findings.add(different) == different
    assert findings.add([a_race(occurrences=5)]) == [] and findings.add([a_race(occurrences=1)]) == []
    assert list(findings.repeated()) == [
        "race: program.py, line 3, `a` in `kernel`: told once, found in 3 launches, 8 times."
    ]
    findings.clear()
    assert findings.add([a_race()]) == [a_race()] and list(findings.repeated()) == []


@pytest.mark.quick
def test_what_processes_write_down_is_gathered_each_fault_once(monkeypatch):
    with written_down() as folder:
        for process in (11, 12):
            monkeypatch.setattr(os, "getpid", lambda process=process: process)
            findings = Findings()
            findings.add([a_race(), a_race(line=4)])
            findings.add([a_race()])
            findings.clear()  # as at a cell's end: it is told again, and is still the same fault
            findings.add([a_race(line=4, occurrences=7)])
        found = gathered(folder)
        with written_down() as inner:
            findings.add([a_race(line=9)])
        assert list(inner.glob("*")) == [] and len(gathered(folder)) == 3  # handed on to the outer one
    assert FOLDER not in os.environ
    assert [(each.hazard, each.launches, each.occurrences, each.processes) for each in found] == [
        (a_race(), 4, 8, {11, 12}),
        (a_race(line=4), 4, 18, {11, 12}),
    ]


def test_run_tells_a_fault_once_counts_it_and_writes_it(tmp_path):
    done, found = run(tmp_path, RACES)
    told = done.stderr.strip().splitlines()
    assert done.returncode == 0 and len(told) == 2, done.stderr
    assert told[0].startswith("simulated GPU: race: program.py, line 7: Race on `a[0]`")
    counted = "race: program.py, line 7, `a` in `everyone`: told once, found in 3 launches, 189 times."
    assert told[1] == f"simulated GPU: {counted}"
    (race,) = found["hazards"]
    assert (race["kind"], race["line"], race["kernel"]) == ("race", {"file": "program.py", "number": 7}, "everyone")
    assert (race["launches"], race["occurrences"], len(race["processes"])) == (3, 189, 1)
    assert found["script"] == "program.py" and found["error"] is None


@pytest.mark.parametrize(
    ("text", "expected", "error"),
    [
        (CORRECT, 0, None),
        (RACES, 1, None),
        (RACES + "raise SystemExit(0)", 1, None),
        (RACES + "raise SystemExit(5)", 5, "5"),
        (RACES + "1 / 0", 2, "program.py, line 16: the script stopped with ZeroDivisionError: division by zero"),
    ],
    ids=["correct", "races", "exits", "exits with 5", "stops"],
)
def test_strict_fails_where_a_kernel_has_a_fault(text, expected, error, run_here):
    done, found = run_here(text, "--strict")
    assert done.returncode == expected, done.stderr
    assert len(found["hazards"]) == (0 if text is CORRECT else 1)
    assert ("--strict: faults: 1, launches with one: 3." in done.stderr) == (expected == 1)
    assert found["error"] == error


def test_an_error_from_further_down_shows_how_it_came_there_and_none_of_our_frames(tmp_path, run_here):
    (tmp_path / "library.py").write_text("def shape(text):\n    return int(text)\n", encoding="utf-8")
    done, _ = run_here("import library\n\ndef main():\n    library.shape('x')\n\nmain()\n")
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert lines[0] == "Traceback (most recent call last):" and "invalid literal for int()" in lines[-2]
    assert [line.split('"')[1].rsplit(os.sep)[-1] for line in lines if line.startswith("  File")] == [
        "program.py", "program.py", "library.py",
    ]  # fmt: skip
    assert lines[-1].startswith("autograder: program.py, line 4: the script stopped with ValueError")
    done, _ = run_here("1 / 0\n")
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_error_that_was_raised_while_another_was_handled_shows_both(run_here):
    done, _ = run_here("try:\n    {}['a']\nexcept KeyError:\n    int('x')\n")
    assert len(done.stderr.strip().splitlines()) == 1
    done, _ = run_here("def f():\n    int('x')\ntry:\n    {}['a']\nexcept KeyError:\n    f()\n")
    assert "During handling of the above exception" in done.stderr and "KeyError: 'a'" in done.stderr


# -- child processes ----------------------------------------------------------------------------------------------

STARTS_PROCESSES = '''
import multiprocessing, pathlib, subprocess, sys

CHILD = """
import sys
import numpy as np
from numba import cuda, vectorize

@cuda.jit
def everyone(a):
    a[0] = cuda.grid(1)

everyone[1, 64](np.zeros(64))
print(sys.argv[0], flush=True)
"""

def work():
    import child

if __name__ == "__main__":
    pathlib.Path("child.py").write_text(CHILD)
    for how in (["child.py"], ["-c", CHILD], ["-m", "child"]):
        subprocess.run([sys.executable, *how], check=True)
    for how in ([], ["-"], ["-u", "-"]):
        subprocess.run([sys.executable, *how], input=CHILD.encode(), check=True)
    for method in multiprocessing.get_all_start_methods():
        process = multiprocessing.get_context(method).Process(target=work)
        process.start()
        process.join()
        assert process.exitcode == 0, method
'''


def test_every_process_that_a_program_starts_is_simulated_where_that_is_asked_for(tmp_path):
    done, found = run(tmp_path, STARTS_PROCESSES, AUTOGRADER_SIMULATE="1")
    assert done.returncode == 0, done.stderr
    started = 6 + len(multiprocessing.get_all_start_methods())
    assert done.stderr.count("simulated GPU: race: ") == started == len(done.stdout.splitlines()), done.stderr
    by_file = {each["line"]["file"]: each for each in found["hazards"]}
    assert set(by_file) == {"child.py", "text given to exec", "standard input"}
    assert {each["line"]["number"] for each in found["hazards"]} == {8}
    assert len(by_file["standard input"]["processes"]) == 3 and len(by_file["child.py"]["processes"]) == started - 4


def test_no_process_is_simulated_that_nobody_asked_for(tmp_path):
    child = "from numba import cuda; print(hasattr(cuda, 'simulated'))"
    done, _ = run(tmp_path, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])")
    assert done.stdout == "False\n", done.stderr


def test_a_sitecustomize_of_somebodys_own_is_still_run_and_standard_input_still_read(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import os\nos.environ['WAS_HERE'] = 'yes'\n", encoding="utf-8")
    text = "import os, sys\nprint(os.environ.get('WAS_HERE'), 'numpy' in sys.modules)\nprint(input())"
    (tmp_path / "child.py").write_text(text, encoding="utf-8")
    program = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], input=b'a line')"
    done, _ = run(tmp_path, program, AUTOGRADER_SIMULATE="1", PYTHONPATH=os.pathsep.join([str(other), str(ROOT)]))
    assert done.stdout == "yes False\na line\n", done.stderr  # and nothing is imported that a child does not ask for


NOTEBOOK = '''
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext autograder")
shell.run_cell("%env AUTOGRADER_SIMULATE=1")
shell.run_cell("""%%writefile child.py
import numpy as np
from numba import cuda
@cuda.jit
def add(a):
    i = cuda.grid(1)
    a[i] += i
a = np.zeros(3)
add[1, 3](a)
print("file", a)
""")
shell.run_cell("import sys")
shell.run_cell("!{sys.executable} child.py")
shell.run_cell("%%python\\n" + open("child.py").read().replace("file", "magic"))
for _ in range(2):
    shell.run_cell("""
import numpy as np
from numba import cuda
@cuda.jit
def everyone(a):
    a[0] = cuda.grid(1)
for _ in range(3):
    everyone[1, 64](np.zeros(64))
""")
'''


def test_a_notebooks_processes_are_simulated_and_each_cell_tells_a_fault_once(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != child_processes.ASKED}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, timeout=200, cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "file [0. 1. 2.]" in done.stdout and "magic [0. 1. 2.]" in done.stdout, done.stdout + done.stderr
    races = [line.split(": ")[2] for line in done.stderr.splitlines() if line.startswith("Race: ")]
    told_and_counted = ["Race on `a[0]`", "told once, found in 3 launches, 189 times."]
    assert [each.split(" this")[0] for each in races] == told_and_counted * 2, done.stderr

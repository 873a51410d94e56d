"""What coming_from.md says of Numba's simulator and of this one is so, and its test is told what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import autograder

pytestmark = pytest.mark.long

ROOT = Path(autograder.__file__).resolve().parent.parent
PAGE = (ROOT / "autograder" / "simgpu" / "coming_from.md").read_text(encoding="utf-8")

PROGRAM = '''
import numpy as np
from numba import cuda, vectorize

def attempt(name, action):
    try:
        print(name, "gives", action())
    except BaseException as error:
        print(name, "raises", type(error).__name__)

@cuda.jit
def refused(a):
    values = [i for i in range(3)]
    a[0] = len(values)

@cuda.jit
def types(a):
    a[0] = np.int32(2**31 - 1) + np.int32(1)

@cuda.jit
def outside(a):
    a[cuda.grid(1)] = 1

@cuda.jit
def race(a):
    a[0] = cuda.grid(1)

@cuda.jit
def unwritten(a):
    s = cuda.shared.array(4, np.float32)
    a[0] = s[0]

@cuda.jit
def barrier(a):
    if cuda.threadIdx.x < 3:
        cuda.syncthreads()

@cuda.jit
def shuffle(a):
    a[cuda.threadIdx.x] = cuda.shfl_down_sync(0xFFFFFFFF, cuda.threadIdx.x, 1)

def launch(kernel, threads=32, size=32):
    a = np.zeros(size)
    kernel[1, threads](a)
    return a[0]

def plus_one(a):
    return a + 1

attempt("refused", lambda: launch(refused, 1))
attempt("types", lambda: launch(types, 1) > 0)
attempt("outside", lambda: launch(outside, 8, 4))
attempt("race", lambda: launch(race) >= 0)
attempt("unwritten", lambda: launch(unwritten, 1) is None)
attempt("barrier", lambda: launch(barrier, 8))
attempt("shuffle", lambda: launch(shuffle))
attempt("vectorize", lambda: vectorize(["float32(float32)"], target="cuda")(plus_one)(np.ones(2, np.float32)))
'''


# All that is installed but the plugin for notebooks, which takes a second to load.
PYTEST = ("pytest", "-p", "no:nbval")


def ran(folder, command, **environment):
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("AUTOGRADER_", "NUMBA_"))}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *command], capture_output=True, text=True, timeout=200, cwd=folder,
        env={**outside, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


def test_the_table_of_the_two_simulators(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = ran(tmp_path, ["program"], NUMBA_ENABLE_CUDASIM="1")
    assert done.stdout.splitlines() == [
        "refused gives 3.0", "types gives False", "outside raises IndexError", "race gives True", "unwritten gives False",
        "barrier gives 0.0", "shuffle raises AttributeError", "vectorize raises AttributeError",
    ], done.stderr  # fmt: skip
    done = ran(tmp_path, ["autograder", "run", "program.py"])
    assert done.stdout.splitlines() == [
        "refused raises BrokenDefinition", "types gives True", "outside gives 1.0", "race gives True",
        "unwritten gives False", "barrier gives 0.0", "shuffle gives 1.0", "vectorize gives [2. 2.]",
    ], done.stderr  # fmt: skip
    told = [line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("simulated GPU: ")]
    assert told == ["out of bounds", "race", "uninitialised read", "divergent barrier"], done.stderr


@pytest.mark.rest  # it holds a page against Numba's own simulator, which does not change with the kit
def test_the_example_passes_under_numbas_simulator_and_its_race_is_told(tmp_path):
    match = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    (tmp_path / "test_shift.py").write_text(match[1], encoding="utf-8")
    assert ran(tmp_path, [*PYTEST, "-q"], NUMBA_ENABLE_CUDASIM="1").returncode == 0
    assert ran(tmp_path, [*PYTEST, "-q", "--simulated-gpu"]).returncode == 0
    strict = ran(tmp_path, [*PYTEST, "-q", "--simulated-gpu-strict"])
    shown = " ".join(PAGE.split("```text\n")[1].split("```")[0].split())
    assert strict.returncode == 1 and shown in " ".join(strict.stdout.split()), strict.stdout


def test_strict_fails_each_test_that_has_a_fault_and_counts_its_launches(tmp_path):
    match = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    again = "\n\ndef test_again():\n    for _ in range(3):\n        test_shift()\n\n\ndef test_nothing():\n    pass\n"
    (tmp_path / "test_shift.py").write_text(match[1] + again, encoding="utf-8")
    done = ran(tmp_path, [*PYTEST, "-q", "--simulated-gpu-strict"])
    assert "2 failed, 1 passed" in done.stdout and "told once, found in 3 launches" in done.stdout, done.stdout

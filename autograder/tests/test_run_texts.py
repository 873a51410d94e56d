"""Kernels that were defined in no file: by `exec`, and in cells with a magic."""

from __future__ import annotations

import linecache
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from autograder import run_texts
from autograder.errors import KernelFault
from autograder.profiling import profile
from autograder.simgpu.host import cuda_module

KERNEL = """
@cuda.jit
def fill(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = {value}
"""


@pytest.fixture
def cuda() -> Iterator[ModuleType]:
    yield cuda_module.install()
    cuda_module.uninstall()


def made(cuda, text):
    """The kernel of a text in a local variable of a function that has returned by the time it is launched."""
    names = {"cuda": cuda}
    exec(text, names)
    return names["fill"]


@pytest.mark.quick
def test_a_kernel_made_by_exec_runs_and_its_lines_are_those_of_the_text(cuda):
    a = np.zeros(4)
    made(cuda, KERNEL.format(value="2 * i"))[1, 32](a)
    assert a.tolist() == [0, 2, 4, 6]
    racing = made(cuda, KERNEL.format(value="i").replace("a[i]", "a[0]"))
    (race,) = [each for each in profile(racing)[1, 64](np.zeros(64)).hazards if each.kind == "race"]
    assert str(race.line) == "text given to exec, line 6"


@pytest.mark.quick
def test_of_kernels_with_one_name_and_one_line_each_has_its_own_text(cuda):
    kernels = [made(cuda, KERNEL.format(value=value)) for value in range(5)]
    made(cuda, KERNEL.format(value=9))
    for value, kernel in enumerate(kernels):
        a = np.zeros(2)
        kernel[1, 32](a)
        assert a.tolist() == [value, value]


@pytest.mark.quick
def test_a_text_that_was_compiled_first_and_run_later(cuda):
    names = {"cuda": cuda}
    exec(compile(KERNEL.format(value=7), "<made here>", "exec"), names)
    a = np.zeros(3)
    names["fill"][1, 32](a)
    assert a.tolist() == [7, 7, 7]


@pytest.mark.quick
def test_a_text_from_before_the_simulated_gpu_is_refused_with_what_to_do(cuda):
    run_texts.forget()
    kernel = made(cuda, KERNEL.format(value=101))
    with pytest.raises(KernelFault, match="source of `fill` cannot be found.*Define the kernel in a file"):
        kernel[1, 32](np.zeros(3))


@pytest.mark.quick
def test_only_so_many_texts_are_kept(cuda, monkeypatch):
    monkeypatch.setattr(run_texts, "MOST_TEXTS", 3)
    first = made(cuda, KERNEL.format(value=201))
    for value in range(202, 206):
        last = made(cuda, KERNEL.format(value=value))
    last[1, 32](np.zeros(3))
    with pytest.raises(KernelFault, match="cannot be found"):
        first[1, 32](np.zeros(3))


@pytest.mark.quick
def test_a_text_that_python_keeps_under_the_same_name_is_not_taken_for_it(cuda, monkeypatch):
    """As from Python 3.13 on, where `python -c` leaves its own text under the name of those that `exec` runs."""
    other = KERNEL.format(value="-1").splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<string>", (1, None, other, "<string>"))
    a = np.zeros(2)
    made(cuda, KERNEL.format(value=301))[1, 32](a)
    assert a.tolist() == [301, 301]


CELLS = '''
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext autograder")
for magic in ("%%time", "%%timeit -n 1 -r 1 -q", "%%capture", "%%prun -q"):
    shell.run_cell(magic + """
import numpy as np
from numba import cuda
FACTOR = 3
@cuda.jit
def scale(a):
    a[0] = cuda.grid(1) * FACTOR

b = np.zeros(3)
scale[1, 64](b)
print(b[0])
""")
'''


def test_a_kernel_of_a_cell_with_a_magic_runs_and_its_race_has_the_line_of_the_cell():
    done = subprocess.run([sys.executable, "-c", CELLS], capture_output=True, text=True, timeout=100)
    assert done.stdout.count("189.0") == 3, done.stdout + done.stderr  # %%capture shows nothing
    races = [line for line in done.stderr.splitlines() if line.startswith("Race: ")]
    assert [line[:24] for line in races] == ["Race: this cell, line 7:"] * 3, done.stderr

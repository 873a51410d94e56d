"""Everything that may be handed in instead of a good answer: one clear line, the right exit code, no harm to others."""

from __future__ import annotations

import json
import time

import pytest

from autograder import cli
from autograder.grading.grade import check_submission
from autograder.grading.jobs import Limits
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker

GOOD = """import math

from numba import cuda

BLOCK = (16, 16)


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = 0.0
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    grid = (math.ceil(c.shape[1] / BLOCK[0]), math.ceil(c.shape[0] / BLOCK[1]))
    matmul_kernel[grid, BLOCK](a, b, c)
"""


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def notebook(*texts):
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": t} for t in texts]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


FACTORY = """

def made():
    def kernel(a, b, c):
        pass
    return kernel


matmul_kernel = made()
"""
IN_LOOP = "            total += a[row, i] * b[i, col]\n"
# name: (file name, content, what the line must say); the submission cannot be graded at all
UNREADABLE = {
    "empty": ("a.py", "", "a.py is empty."),
    "blank": ("a.py", " \n\n", "a.py is empty."),
    "empty notebook": ("a.ipynb", "", "a.ipynb is empty."),
    "not a notebook": ("a.ipynb", '{"x": 1}', "a.ipynb is not a notebook"),
    "a list": ("a.ipynb", "[1, 2]", "a.ipynb is not a notebook"),
    "old format": (
        "a.ipynb",
        '{"worksheets": [{"cells": []}], "nbformat": 3}',
        "is a notebook in a format older than 4.",
    ),
    "broken notebook called .py": ("a.py", notebook(GOOD)[:-40], "a.py is not a notebook: its JSON is broken"),
    "broken JSON": ("a.ipynb", notebook(GOOD)[:-40], "a.ipynb is not a notebook: its JSON is broken"),
    "no code": ("a.ipynb", notebook(), "a.ipynb has no code cells."),
    "syntax error": ("a.py", changed("total = 0.0", "total = = 0.0"), "a.py, line 12"),
    "syntax error in a cell": (
        "a.ipynb",
        notebook("x = 1", changed("total = 0.0", "total = (0.0")),
        "a.ipynb, code cell 2",
    ),
    "missing function": (
        "a.py",
        GOOD.replace("def matmul(", "def matmull("),
        "does not define a function called `matmul`",
    ),
    "missing kernel": (
        "a.py",
        changed("def matmul_kernel(", "def kernel("),
        "does not define a function called `matmul_kernel`",
    ),
    "parameters": ("a.py", changed("def matmul(a, b, c)", "def matmul(a, b)"), "line 18: `matmul` takes 2 parameters"),
    "kernel for host": ("a.py", changed("def matmul(", "@cuda.jit\ndef matmul("), "`matmul` is a kernel"),
    "host for kernel": ("a.py", changed("@cuda.jit\n", ""), "`matmul_kernel` is an ordinary Python function"),
    "kernel made by a function": (
        "a.py",
        changed("def matmul_kernel(", "def kernel(") + FACTORY,
        "line 24: `kernel` is defined inside a function",
    ),
    "no import": (
        "a.py",
        GOOD.replace("from numba import cuda\n", ""),
        "line 8: `matmul_kernel` is under @cuda.jit, and `cuda` is",
    ),
    "NUL bytes": ("a.py", GOOD + "\0", "not text: it holds NUL bytes"),
    "not UTF-8": ("a.py", GOOD.encode() + b"# \xff\xfe caf\xe9\n", "is not UTF-8 text (byte 0xff in line 21)"),
    "deep nesting": ("a.py", "x = " + "(" * 3000 + ")" * 3000 + "\n" + GOOD, "a.py"),
}
# name: (content, what some failed check must say); it can be read, and fails
FAILING = {
    "forbidden import": (
        changed("import math", "import math, os"),
        None,
    ),  # unused: passed over or refused, no points lost
    "used forbidden import": (
        changed("import math", "import os\nimport math").replace("    grid =", "    os.remove('x')\n    grid ="),
        "os",
    ),
    "forbidden attribute": (changed("    grid =", "    a.__class__.__bases__\n    grid ="), "__class__"),
    "forbidden builtin": (changed("    grid =", "    open('/etc/passwd')\n    grid ="), "open"),
    "exec": (changed("    grid =", "    exec('x = 1')\n    grid ="), "exec"),
    "barrier not called": (changed(IN_LOOP, IN_LOOP + "        cuda.syncthreads\n"), "Write cuda.syncthreads()"),
    "barrier of CUDA C": (changed(IN_LOOP, IN_LOOP + "        __syncthreads()\n"), "In Numba it is cuda.syncthreads()"),
    "sum of a generator": (
        changed(IN_LOOP, "            total += sum(a[row, j] for j in range(i))\n"),
        "Write a loop that adds up",
    ),
    "product on the host": (changed("    grid =", "    c[:] = a @ b\n    grid ="), "is the kernels' work"),
    "shared array on the host": (
        changed("    grid =", "    tile = cuda.shared.array((16, 16), 'float32')\n    grid ="),
        "use it inside a kernel",
    ),
    "endless kernel": (changed(IN_LOOP, "            while True:\n                total += 1.0\n"), "loop"),
    "endless host": (changed("    grid =", "    while True:\n        a = a\n    grid ="), "loop"),
    "too many threads": (changed("matmul_kernel[grid, BLOCK]", "matmul_kernel[(31623, 31623), (32, 32)]"), ""),
    "endless recursion": (changed("    grid =", "    matmul(a, b, c)\n    grid ="), ""),
}


@pytest.fixture(scope="module")
def lab():
    return load_lab("lab01")


@pytest.fixture(scope="module")
def worker():
    with Worker("simulated", Limits(run_seconds=20)) as worker:
        yield worker


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def is_one_clear_line(text):
    return text and "\n" not in text and "Traceback" not in text and "Error:" not in text and len(text) < 500


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_one_line_and_no_points(lab, worker, tmp_path, name):
    file, content, message = UNREADABLE[name]
    result = check_submission(lab, write(tmp_path / file, content), worker=worker)
    assert message in result.error and is_one_clear_line(result.error), result.error
    assert result.points == 0 and result.outcome == "failed" and cli.exit_code([result]) == 1
    assert not any(check.fault for check in result.checks)


@pytest.mark.parametrize("name", FAILING)
def test_what_goes_wrong_while_it_runs_is_one_line_and_in_time(lab, worker, tmp_path, name):
    content, message = FAILING[name]
    started = time.monotonic()
    result = check_submission(lab, write(tmp_path / "a.py", content), worker=worker)
    assert not any(check.fault for check in result.checks), [check.message for check in result.checks if check.fault]
    if message is None:
        assert result.outcome == "passed" or is_one_clear_line(result.error)
        return
    lines = [result.error] if result.error else [check.message for check in result.checks if check.outcome == "failed"]
    assert lines and all(is_one_clear_line(line) for line in lines), lines
    assert message in lines[0] and result.outcome == "failed"
    assert time.monotonic() - started < 30


def test_a_hundred_megabytes_are_refused_without_being_read(lab, worker, tmp_path):
    path = tmp_path / "a.py"
    with open(path, "wb") as file:
        file.truncate(100_000_000)
    started = time.monotonic()
    result = check_submission(lab, path, worker=worker)
    assert "100 MB" in result.error and time.monotonic() - started < 1


def test_the_good_answer_passes_beside_them_all(lab, worker, tmp_path):
    result = check_submission(lab, write(tmp_path / "a.py", GOOD), worker=worker)
    assert (result.outcome, result.points) == ("passed", lab.points), [c.message for c in result.checks]


def test_parameters_by_position_only_are_parameters(lab, worker, tmp_path):
    text = changed("def matmul(a, b, c)", "def matmul(a, b, c, /)")
    assert check_submission(lab, write(tmp_path / "a.py", text), worker=worker).points == lab.points


def test_a_kernel_that_only_the_submission_launches_may_be_called_and_take_what_its_author_likes(lab, worker, tmp_path):
    text = changed("def matmul_kernel(a, b, c)", "def product(a, b, c, terms)").replace(
        "range(a.shape[1])", "range(terms)"
    )
    text = text.replace("matmul_kernel[grid, BLOCK](a, b, c)", "product[grid, BLOCK](a, b, c, a.shape[1])")
    assert check_submission(lab, write(tmp_path / "a.py", text), worker=worker).points == lab.points


@pytest.mark.parametrize("name", ["a.py", "A.PY", "A.IPYNB"])
def test_what_a_file_is_does_not_hang_on_how_it_is_called(lab, worker, tmp_path, name):
    text = GOOD if name == "A.PY" else notebook(GOOD)
    assert check_submission(lab, write(tmp_path / name, text), worker=worker).points == lab.points


def test_in_a_class_each_costs_its_own_row_only(tmp_path, capsys):
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    for number, (file, content, _) in enumerate(UNREADABLE.values()):
        write(folder / f"bad{number:02}{file[1:]}", content)
    write(folder / "zoe.py", GOOD)
    (folder / "directory.py").mkdir()
    (folder / "link.py").symlink_to("/etc/hostname")
    report = tmp_path / "class.json"
    code = cli.main(["grade", "lab01", str(folder), "--out", str(out), "--device", "simulated", "--json", str(report)])
    results = {each["student"]: each for each in json.loads(report.read_text())}
    assert code == 1 and len(results) == len(UNREADABLE) + 3
    assert results.pop("zoe")["points"] == 20
    for student, each in results.items():
        assert each["points"] == 0 and is_one_clear_line(each["error"]), student
    assert "zoe" in capsys.readouterr().out

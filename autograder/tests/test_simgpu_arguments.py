"""A function of the library that is called wrongly is its caller's mistake, told in one line, and never a fault of ours."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.errors import NotCarriedOut, SubmissionError
from autograder.grading.worker_process import open_device
from autograder.language import parse_program, submission_from_cells
from autograder.records.runs import RunRequest
from autograder.simgpu.functions.known_functions import CALLS

SOURCE = """import math
import numba
import numpy as np
from numba import cuda


@cuda.jit
def kernel(a, c):
    i = cuda.grid(1)
    x = {call}
    c[i] = 1


def host(a, c):
    kernel[1, 32](a, c)
"""
SHORT = (("numba.cuda.", "cuda."), ("builtins.", ""), ("numpy.", "np."))


def called(path: str) -> str:
    return next((short + path.removeprefix(full) for full, short in SHORT if path.startswith(full)), path)


def fault_of(device, call: str) -> SubmissionError | None:
    """What a call of a library function comes to; raises whatever is not the submission's own error."""
    try:
        program = parse_program(submission_from_cells("lab.py", [("lab.py", SOURCE.format(call=call))]))
        arrays = {"a": np.ones(32, np.float32), "c": np.zeros(32, np.float32)}
        return device.run(program, RunRequest("host", arrays)).fault
    except SubmissionError as fault:
        return fault


@pytest.fixture(scope="module")
def device():
    return open_device("simulated")


@pytest.mark.parametrize("arguments", ["", "'x'", "i, i, i, i, i", "None, a", "1, size=2"])
def test_no_function_of_the_library_fails_by_itself(device, arguments, capsys):
    odd = {}
    for path in sorted(CALLS):
        try:
            fault = fault_of(device, f"{called(path)}({arguments})")
        except Exception as problem:
            odd[path] = f"{type(problem).__name__}: {problem}"
        else:
            assert fault is None or isinstance(fault, SubmissionError), (path, fault)
            if isinstance(fault, NotCarriedOut):
                odd[path] = str(fault)
    assert len(CALLS) > 400 and not odd


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("min()", "`min` takes at least 1 argument (x), but 0 are given. Write min(x, ...)."),
        ("cuda.fma(1, 2)", "`cuda.fma` takes 3 arguments (a, b, c), but 2 are given. Write cuda.fma(a, b, c)."),
        ("math.pow(i)", "`math.pow` takes 2 arguments (x, y), but 1 is given. Write math.pow(x, y)."),
        ("cuda.popc(3, 4)", "`cuda.popc` takes 1 argument (x), but 2 are given. Write cuda.popc(x)."),
        ("cuda.syncthreads(5)", "`cuda.syncthreads` takes no arguments, but 1 is given. Write cuda.syncthreads()."),
        ("cuda.syncthreads(why=5)", "`cuda.syncthreads` takes no arguments by name, but `why` is given."),
        ("cuda.grid(1, foo=3)", "`cuda.grid` has no parameter `foo`. Write cuda.grid(ndim)."),
        ("cuda.shared.array(8)", "`cuda.shared.array` takes 2 arguments (shape, dtype), but 1 is given."),
        ("cuda.shared.array(8, np.int32, shape=8)", "`cuda.shared.array` is given `shape` twice: by its position"),
        ("cuda.shared.array(8, type=np.int32)", "`cuda.shared.array` has no parameter `type`."),
        ("cuda.popc(a)", "`a` is a whole array of shape (32,)"),
        ("cuda.ffs(1.5)", "`cuda.ffs` takes an integer as x, not float64. Write cuda.ffs(x)."),
        ("round(1.5, 2, 3)", "`round` takes 1 to 2 arguments (number, ndigits), but 3 are given."),
        ("cuda.atomic.add(i, 0, 1)", "`cuda.atomic.add` takes an array as ary, not int64."),
        ("print(a)", "A kernel can print numbers and texts, and not the whole array `a`"),
        ("cuda.grid(i)", "`cuda.grid` takes a constant as ndim, not a value that is known only when the kernel runs."),
    ],
)
def test_a_call_that_does_not_fit_says_where_and_what(device, call, words):
    assert str(fault_of(device, call)).startswith(f"lab.py, line 10: {words}")


def test_a_mistake_in_a_function_of_the_library_is_told_as_ours(device, monkeypatch):
    def broken(call, x):
        raise TypeError("ours")

    monkeypatch.setattr(CALLS["numba.cuda.popc"], "handler", broken)
    fault = fault_of(device, "cuda.popc(i)")
    assert isinstance(fault, NotCarriedOut) and "cuda.popc(i)" in str(fault)


HELPER = """from numba import cuda


@cuda.jit(device=True)
def helper(a, b=2, *rest):
    return a + 10 * b + len(rest)


@cuda.jit
def kernel(c):
    c[cuda.grid(1)] = {call}


def host(c):
    kernel[1, 32](c)
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("helper(1, bogus=7)", "`helper` has no parameter `bogus` to give by name. It takes (a, b)."),
        ("helper(1, a=5)", "`helper` is given `a` twice: by its position, and by its name. It takes (a, b)."),
        ("helper()", "`helper` takes at least 2 arguments (a, b), but 0 are given."),
        ("helper(b=3)", "`helper` takes at least 2 arguments (a, b), but 1 are given."),
    ],
)
def test_a_device_function_is_held_to_its_parameters(device, call, words):
    program = parse_program(submission_from_cells("lab.py", [("lab.py", HELPER.format(call=call))]))
    fault = device.run(program, RunRequest("host", {"c": np.zeros(32)})).fault
    assert str(fault).startswith(f"lab.py, line 11: {words}")


@pytest.mark.parametrize(
    ("call", "value"), [("helper(1)", 21), ("helper(1, b=3)", 31), ("helper(b=3, a=2)", 32), ("helper(1, 2, 3, 4)", 23)]
)
def test_a_device_function_takes_its_arguments_by_position_name_and_default(device, call, value):
    program = parse_program(submission_from_cells("lab.py", [("lab.py", HELPER.format(call=call))]))
    run = device.run(program, RunRequest("host", {"c": np.zeros(32)}))
    assert run.fault is None and run.outputs["c"].tolist() == [value] * 32

"""A function of the library that is called wrongly is its caller's mistake, told in one line, and never a fault of ours."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.device import RunRequest
from autograder.errors import SubmissionError
from autograder.grading.worker_process import open_device
from autograder.language import parse_program, submission_from_cells
from autograder.simgpu.intrinsics import CALLS

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
    assert len(CALLS) > 400 and not odd


@pytest.mark.parametrize("call", ["min()", "cuda.fma(1, 2)", "math.pow(i)", "len()", "cuda.shared.array()", "np.std()"])
def test_a_call_with_too_few_arguments_says_where_and_what(device, call):
    fault = fault_of(device, call)
    name = call.partition("(")[0]
    assert str(fault).startswith(f"lab.py, line 10: `{name}` cannot be called like this: `{call}`. Look at how many")

"""Values of different kinds on different paths, and other slips of a beginner: each ends in one line that says where.

None may come out as an error of the grader's own, which is what an uncaught exception of Python's would be.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autograder.errors import KernelFault, KitError
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import RunRequest
from autograder.simulated_device import SimulatedDevice

pytestmark = pytest.mark.quick

PROGRAM = """
import math
import numpy as np
from numba import cuda, float32

PAIRS = ((1, 2), (3, (4, 5)))
NUMBERS = (1, 2, 3)

@cuda.jit
def one(a):
    a[0] = 1

def plain(a):
    return a

@cuda.jit(device=True)
def some(x, a, b):
{device}

@cuda.jit
def kernel(a, b):
    x = cuda.threadIdx.x
    i = x
    part = a[1:3]
    mine = cuda.local.array(2, np.float32)
    yours = cuda.local.array(2, np.float32)
    for r in range(1):
{body}

def host(a, b):
    h = np.zeros(8, np.float32)
{host}
"""
ARGUMENTS = {"a": np.arange(8, dtype=np.float32), "b": np.arange(16, dtype=np.int32).reshape(4, 4)}


def fault_of(body: str = "", host: str = "", device: str = "return x", function: str = "") -> KitError | None:
    """What a program with these lines is told."""

    def indented(text: str, columns: int) -> str:
        return "\n".join(" " * columns + line for line in (text or "pass").split("\n"))

    text = PROGRAM.format(body=indented(body, 8), host=indented(host, 4), device=indented(device, 4))
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    name = function or ("host" if host else "kernel")
    fault = SimulatedDevice().run(program, RunRequest(name, ARGUMENTS, grid=1, block=8, work_limit=400_000)).fault
    if fault is not None:
        assert "\n" not in str(fault) and len(str(fault)) < 500
        assert fault.line is not None and str(fault).startswith("lab.py, line "), fault
        for word in ("object at 0x", "<locals>", "Reference(", "Traceback"):
            assert word not in str(fault), fault
    return fault


@pytest.mark.parametrize(
    "host", ["for x in zip((1,), (1, 2), strict=True):\n    pass", "y = [x for x in zip((1,), (1, 2), strict=True)]"]
)
def test_an_iterator_that_complains_on_the_way_is_the_submissions_slip(host: str) -> None:
    assert "zip() argument 2 is longer than argument 1" in str(fault_of(host=host))


RETURNS = [
    "if x > 3:\n    return 1\nreturn (1, 2)", "if x > 3:\n    return (1, 2)\nreturn (1, 2, 3)",
    "if x > 3:\n    return a\nreturn 1", "if x > 3:\n    return 'a'\nreturn 1",
]  # fmt: skip


@pytest.mark.parametrize("device", RETURNS)
def test_a_device_function_that_returns_different_kinds_is_told_so(device: str) -> None:
    fault = fault_of("y = some(x, a, b)", device=device)
    assert "`some` returns different kinds of thing" in str(fault) and "return" in str(fault.remedy)


def test_a_device_function_that_returns_one_of_two_arrays_is_what_the_simulated_gpu_lacks() -> None:
    """Numba takes it: both are arrays of one type."""
    arrays = "m = cuda.local.array(2, float32)\ny = cuda.local.array(2, float32)\n"
    fault = fault_of("y = some(x, a, b)", device=arrays + "if x > 3:\n    return m\nreturn y")
    assert "`some` returns one array in some threads and another in others. A GPU can do that" in str(fault)


KINDS = [
    "if x > 3:\n    t = 1\nelse:\n    t = (1, 2)\na[x] = t",
    "if x > 3:\n    t = (1, 2)\nelse:\n    t = x\ny = t",
    "t = (1, 2) if cuda.threadIdx.x > 3 else 5",
    "t = 1\nfor i in range(cuda.threadIdx.x):\n    t = (t, 1)\ny = t",
    "y = PAIRS[x % 2][1]",
    "t = (x, 1)\nif x > 3:\n    t = (x + 1, x, 2)\ny = t",
    "t = 'abc' if x > 3 else 'de'",
    "t = range(x) if x > 3 else range(2 * x)\nfor i in t:\n    pass",
    "t = a if x > 3 else b",
    "t = None if x > 3 else 5",
    "t = math.sin if x > 3 else math.cos",
    "t = some if x > 3 else None",
    "t = np.float32 if x > 3 else np.int32",
]


@pytest.mark.parametrize("body", KINDS)
def test_a_variable_of_different_kinds_is_told_so(body: str) -> None:
    assert "different kinds of thing" in str(fault_of(body)), fault_of(body)


STEPS = ["v = a[::0]", "v = a[1:5:0]\na[0] = v[0]", "a[::0] = 1", "k = 0\nv = a[::k]"]


@pytest.mark.parametrize("body", STEPS)
def test_a_slice_without_end_is_told_so(body: str) -> None:
    assert "A slice with a step of 0 has no end." in str(fault_of(body))


@pytest.mark.parametrize("body", ["v = a['a':]", "v = a[:a]", "v = a[(1, 2):]", "v = a[1j:]"])
def test_a_slice_needs_integers(body: str) -> None:
    assert isinstance(fault_of(body), KernelFault)


def test_equal_things_of_one_kind_are_one_thing() -> None:
    body = "t = 'abc' if x > 3 else 'abc'\nu = range(4) if x > 3 else range(4)\nf = some if x > 3 else some"
    assert fault_of(body + "\na[x] = f(x, a, b)") is None


def test_what_nobody_had_foreseen_is_told_with_its_line_too() -> None:
    fault = fault_of("y = (1, 2, 3)[1:x]")
    assert str(fault).startswith("lab.py, line ") and "cannot carry out `y = (1, 2, 3)[1:x]`" in str(fault)


# -- all kinds of value against all that can be done with them -------------------------------------------------------------

VALUES = [
    "1", "2.5", "x", "a[x]", "a", "b", "part", "b[x % 4]", "mine", "(1, 2)", "(x, 2.0, a)", "()", "'text'", "None", "True",
    "math", "math.sin", "np.float32", "np", "cuda.threadIdx", "some", "range(3)", "PAIRS", "float", "len", "a.shape", "1j",
    "a.sum", "a[x:]", "b'by'", "cuda.shared.array(4, float32)", "some(x, a, b)", "np.float16(1)", "zip(a, a)", "print(1)",
    "(1,) + (2,)", "a.dtype", "cuda.grid(2)", "cuda.grid", "2 ** 70", "-x", "x > 3",
]  # fmt: skip
USES = [  # two places for values: {0} and {1}
    "y = {0} if x > 3 else {1}", "if x > 3:\n    y = {0}\nelse:\n    y = {1}\na[x] = y",
    "y = {0}\nfor k in range(x):\n    y = {1}\nz = y", "y = {0} + {1}", "y = {0} < {1}", "y = {0} == {1}",
    "y = {0} and {1}", "a[{0}] = {1}", "y = {0}({1})", "for k in {0}:\n    y = {1}", "y = {0}\ny += {1}", "y = {0} // {1}",
    "y = a[{0}:{1}]", "y, z = {0}, {1}\ny, z = y", "while {0}:\n    y = {1}\n    break", "y = ({0}, {1})[x % 2]",
    "y = {0} is {1}", "y = {0} in {1}", "a[x] += {0}", "y = {0} ** {1}", "y = {0} << {1}", "y = not {0}\nz = ~{1}",
    "y = b[{0}, {1}]", "y = min({0}, {1})", "y = math.pow({0}, {1})", "y = np.float32({0})", "y = int({0})",
    "cuda.atomic.add(a, {0}, {1})", "y = cuda.shfl_sync(0xffffffff, {0}, {1})", "for k in range({0}, {1}):\n    pass",
    "y = len({0})\nz = ({1}).size", "a[{0}:] = {1}", "y = ({0}).x\nz = ({1}).T",
    "y = cuda.local.array({0}, {1})", "y = some({0}, {1}, 3)", "def inner(k):\n    return {0}\ny = inner({1})", "y = -{0}",
    "for k, m in zip({0}, {1}):\n    y = k", "for k, m in enumerate({0}):\n    y = m", "a[x], b[0, 0] = {0}, {1}",
    "y = abs({0}) + round({1})", "y = (a if x > 3 else part)[{0}]", "b[x % 4] = {0}", "y = some(*{0})", "print({0}, {1})",
    "y = bool({0}) or {1}", "y = max({0})", "y = divmod({0}, {1})", "y = isinstance({0}, {1})", "y = complex({0}, {1})",
    "y = tuple({0})", "y = a.view({0})", "y = a.reshape({0})", "cuda.syncthreads_count({0})",
]  # fmt: skip


def drawn(seed: int, count: int) -> list[str]:
    """Programs of one use of two values each, drawn at random."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.product(range(len(VALUES)), repeat=2))
    found = []
    for number in range(count):
        first, second = pairs[rng.integers(len(pairs))]
        found.append(USES[number % len(USES)].format(VALUES[first], VALUES[second]))
    return found


@pytest.mark.parametrize("share", range(4))
def test_whatever_a_kernel_does_with_values_of_the_wrong_kind_it_ends_in_one_line(share: int) -> None:
    for body in drawn(share, 2 * len(USES)):
        try:
            fault = fault_of(body)
        except Exception as problem:
            raise AssertionError(f"uncaught for\n{body}\n{type(problem).__name__}: {problem}") from problem
        assert fault is None or "cannot carry out" not in str(fault), f"{body}\n{fault}"

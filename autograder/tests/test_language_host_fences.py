"""Whatever host code calls is fenced: Python's and NumPy's complaints, foreseen or not, are one line of the author's.

None may come out as a fault of the grader's, for a student who fails would choose that.
"""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from autograder.cudagpu.handles import GpuArray
from autograder.errors import KitError, NotCarriedOut, SubmissionError
from autograder.language import host_names, host_state, parse_program
from autograder.language.host_names import ARRAY_ATTRIBUTES, METHODS
from autograder.language.quoting import MOST_OF_A_LINE, lines_of
from autograder.language.source import submission_from_cells
from autograder.records.runs import RunRequest
from autograder.simgpu.host.device import Session
from autograder.simgpu.values.arrays import DeviceArray
from autograder.simulated_device import SimulatedDevice
from autograder.tests.test_language_kinds import fault_of

pytestmark = pytest.mark.quick

UNREADABLE = ['"(1,,2)f4"', '"(1,f4"']
CALLS_WITH_A_TYPE = [
    "np.zeros(3, {})", "np.ones(3, {})", "np.empty(3, {})", "np.full(3, 1, {})", "np.dtype({})", "h.astype({})",
    "h.sum(dtype={})", "np.array([1], {})", "np.asarray(h, {})", "np.arange(3, dtype={})", "np.zeros_like(h, {})",
    "cuda.device_array(3, {})", "cuda.pinned_array(3, {})", "cuda.device_array_like(a, dtype={})",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS_WITH_A_TYPE)
@pytest.mark.parametrize("text", UNREADABLE)
def test_a_data_type_that_numpy_reads_as_broken_python_is_the_authors(call: str, text: str) -> None:
    fault = fault_of(host=f"x = {call.format(text)}")
    assert "fails: NumPy cannot read this data type." in str(fault) and not isinstance(fault, NotCarriedOut), fault
    assert "<unknown>" not in str(fault)


@pytest.mark.parametrize("kind", ['("f4", (2,))', '"(2,3)f4"'])
@pytest.mark.parametrize("call", ["cuda.device_array(4, {})", "cuda.device_array_like(a, dtype={})"])
def test_an_element_of_a_device_array_is_one_number(call: str, kind: str) -> None:
    assert "An element of a device array is one number" in str(fault_of(host=f"x = {call.format(kind)}"))


def test_host_code_turns_no_array_into_text() -> None:
    for call in ("h.astype('U16')", "np.array(h, 'S')", "np.asarray(h, 'U2')", "np.full(2 ** 20, 1, 'U20')"):
        assert "Host code does not turn arrays into text." in str(fault_of(host=f"x = {call}"))


def test_every_attribute_and_method_of_an_array_is_there_for_each_kind_of_array() -> None:
    array = Session().to_device(np.zeros((2, 3), np.float32))
    for name in sorted(ARRAY_ATTRIBUTES):
        for whole in (np.zeros((2, 3), np.float32), np.float32(1), array):
            assert hasattr(whole, name), (name, type(whole))
        assert hasattr(GpuArray, name) or name in GpuArray.__dataclass_fields__, name
        assert fault_of(host=f"x = a.{name}\ny = h.{name}\nz = h[0].{name}\nu = a.T.{name}") is None
    for name in METHODS["device array"]:
        assert hasattr(DeviceArray, name) and hasattr(GpuArray, name), name
    assert array.itemsize == 4 and array.nbytes == 24


class Odd(Exception):
    """An exception that no list of exceptions can hold."""


@pytest.mark.parametrize("problem", [Odd("7"), AssertionError(), RuntimeError("x"), KeyError("k"), StopIteration()])
def test_what_nobody_had_foreseen_is_a_line_of_the_authors_and_flagged(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise problem

    monkeypatch.setitem(host_names.CALLS, "numpy.sqrt", fails)
    fault = fault_of(host="y = 1\nx = np.sqrt(2)")
    assert isinstance(fault, SubmissionError) and fault.line.number == 33
    if not isinstance(problem, KeyError):  # that one is foreseen: NumPy says it of a field that is not there
        assert isinstance(fault, NotCarriedOut) and "np.sqrt(2)" in str(fault), fault


@pytest.mark.parametrize("problem", [MemoryError(), RecursionError(), OSError("disk"), ImportError("library")])
def test_what_the_machine_lacks_is_nobodys_line(problem: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise problem

    monkeypatch.setitem(host_names.CALLS, "numpy.sqrt", fails)
    with pytest.raises(type(problem)):
        fault_of(host="x = np.sqrt(2)")


# ---- a submission's own text in messages -----------------------------------------------------------

LONG = "0x" + "f" * 6000  # Python refuses to write this out in decimal digits
WHERE = {
    "decorator": f"@foo({LONG})\ndef kernel(a):\n    a[0] = 1\n",
    "decorator of a class": f"@foo({LONG})\nclass kernel:\n    pass\n",
    "option": f"@cuda.jit(max_registers={LONG})\ndef kernel(a):\n    a[0] = 1\n",
    "signature": f"@cuda.jit({LONG})\ndef kernel(a):\n    a[0] = 1\n",
    "annotation": f"@cuda.jit\ndef kernel(a: {LONG}):\n    a[0] = 1\n",
    "annotation of a device function": (
        f"@cuda.jit(device=True)\ndef two(x: {LONG}):\n    return 2\n\n@cuda.jit\ndef kernel(a):\n    a[0] = two(1)\n"
    ),
    "if": f"@cuda.jit\ndef kernel(a):\n    a[0] = 1\n\nif {LONG}:\n    x = 1\n",
    "elif": f"if 0:\n    pass\nelif {LONG}:\n    @cuda.jit\n    def kernel(a):\n        a[0] = 1\n",
    "while": f"@cuda.jit\ndef kernel(a):\n    a[0] = 1\n\nwhile {LONG}:\n    x = 1\n",
    "kernel": f"@cuda.jit\ndef kernel(a):\n    a[0] = {LONG}\n",
    "index": f"@cuda.jit\ndef kernel(a):\n    a[{LONG}] = 1\n",
    "raised": f"@cuda.jit\ndef kernel(a):\n    raise ValueError({LONG})\n",
    "asserted": f"@cuda.jit\ndef kernel(a):\n    assert a[0] == {LONG}\n",
    "named barrier": f"@cuda.jit\ndef kernel(a):\n    cuda.syncthreads\n    a[0] = {LONG}\n",
    "constant": f"N = {LONG}\n\n@cuda.jit\ndef kernel(a):\n    a[0] = N\n",
    "default": f"def kernel(a, n={LONG}):\n    return n\n",
    "host": f"def kernel(a):\n    return a[{LONG}]\n",
    "host assertion": f"def kernel(a):\n    assert {LONG} < 0\n",
    "host raise": f"def kernel(a):\n    raise ValueError({LONG})\n",
    "loop": f"def kernel(a):\n    for i in {LONG}:\n        pass\n",
}


@pytest.mark.parametrize("place", WHERE)
def test_a_number_of_six_thousand_digits_is_never_the_graders_fault(place: str) -> None:
    text = "from numba import cuda\n\n" + WHERE[place]
    fault: KitError | None = None
    try:
        program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
        fault = SimulatedDevice().run(program, RunRequest("kernel", {"a": np.zeros(3)}, grid=1, block=8)).fault
    except SubmissionError as told:
        fault = told
    assert fault is None or (len(str(fault)) < 500 and not isinstance(fault, NotCarriedOut)), fault


@pytest.mark.parametrize("separator", ["\f", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_python_counts_them(separator: str, end: str) -> None:
    text = f"# one{separator}still one\n\nx = 3\n\ndef f(a):\n    y = '{separator}'\n    return y\n".replace("\n", end)
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    last = function.body[-1].lineno
    assert lines_of(text)[last - 1] == "    return y"
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    assert program.functions["f"].line_text(last) == "    return y"


def test_a_line_of_many_thousand_characters_is_kept_as_far_as_anybody_reads() -> None:
    text = f"def f(a):\n    return a  # {'x' * 390_000}\n"
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    assert len(program.functions["f"].line_text(2)) == MOST_OF_A_LINE


@pytest.mark.parametrize(
    "loop, words", [("one[1, 1](a)", r", with \d launches until then. Does the"), ("h[0] = 1", r" \(an endless loop\?\)")]
)
def test_a_loop_that_launches_is_not_taken_for_one_that_only_goes_round(
    loop: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_state, "MOST_STEPS", 200)
    monkeypatch.setattr(host_state, "MANY_LAUNCHES", 5)
    fault = fault_of(host=f"while True:\n    {loop}")
    assert re.search(f"The host code was stopped after 200 steps{words}", str(fault)), fault

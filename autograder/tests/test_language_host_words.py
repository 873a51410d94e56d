"""What a host function's slips are told: words of the course's own, that say what to do and show nothing of the kit."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.errors import KernelFault, SubmissionError
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import RunRequest
from autograder.simulated_device import SimulatedDevice
from autograder.tests.test_language_kinds import fault_of

pytestmark = pytest.mark.quick

TOLD = {  # a host's statement, and words of the line that its author reads
    "x = max((1, 2), key=abs)": "`max` takes no `key` in host code of a submission. Leave it out",
    "x = sorted((1, 2), key=abs)": "`sorted` takes no `key`",
    "x = np.zeros(3, order='F')": "`np.zeros` takes no `order`",
    "x = np.zeros()": "`np.zeros` cannot be called with these arguments",
    "x = math.sqrt(2, y=3)": "`math.sqrt` takes no `y`",
    "x = np.zeros(3, np.longdouble)": "`np.zeros` is given the name `np.longdouble`, which it cannot take",
    "x = np.zeros(3, [('u', np.longdouble)])": "Cannot interpret 'np.longdouble' as a data type.",
    "x = enumerate(range)": "`enumerate` is given the name `range`, which it cannot take",
    "x = len(one)": "`len` is given the kernel `one`, which it cannot take",
    "x = np.asarray(plain)": "`np.asarray` is given the function `plain`, which it cannot take",
    "one[1, 1](one)": "`one` is given the kernel `one`, which a kernel cannot take. Pass device arrays",
    "one[1, 1](plain)": "`one` is given the function `plain`, which a kernel cannot take.",
    "one[1, 1](np.float32)": "`one` is given the type `np.float32`, which a kernel cannot take.",
    "one[1, 1](a.dtype)": "`one` is given the type `float32`, which a kernel cannot take.",
    "one[1, 1](math.sqrt)": "`one` is given the name `math.sqrt`, which a kernel cannot take.",
    "one[1, 1]('text')": "`one` is given text, which a kernel cannot take.",
    "one[1, 1](np.zeros((2, 2), 'U3'))": "`one` is given an array of text, which a kernel cannot take.",
    "one[1, 1]((a, [1, 2]))": "`one` is given a list, which a kernel cannot take.",
    "one[1, 1](2 ** 70)": "`one` is given a number of more than 64 bits, which a kernel cannot take.",
    "one[1, 1](one[1, 1])": "`one` is given a kernel with its grid and block, which a kernel cannot take.",
    "f = lambda n: n": "cannot contain this (Lambda). Write a function with def.",
    "d = {1: 2}": "cannot contain this (Dict). Use variables, or a tuple.",
    "x = a.sum()": "`.sum` cannot be used in a submission. A device array has copy_to_device, copy_to_host,",
    "x = h.mean()": "`.mean` cannot be used in a submission. An array in host code has astype,",
    "x = h.astype(math.sqrt)": "`.astype` is given the name `math.sqrt`, which it cannot take",
    "one[np, 1](a)": "The grid must be made of integers, and not of the name `numpy`.",
    "one[1, (8, one)](a)": "The block must be made of integers, and not of the kernel `one`.",
    "one[zip((1, 2)), 1](a)": "The grid must be made of integers; this zip is a zip.",
    "x = cuda.device_array(3, float32)": "`float32` is Numba's type here, which NumPy cannot interpret as",
    "x = np.zeros(3, dtype=float32)": "cannot interpret as a data type. Write np.float32.",
    "x = h.astype(float32)": "cannot interpret as a data type. Write np.float32.",
    "h.sum(where=1)": "`.sum` takes no `where` in a submission.",
}


@pytest.mark.parametrize("host", TOLD)
def test_a_slip_is_told_in_words_of_the_course(host: str) -> None:
    fault = fault_of(host=host)
    assert TOLD[host] in str(fault), fault


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("x = 1 // 0", "division_by_zero"), ("x = 1 / 0", "division_by_zero"),
        ("x = 5 % (a.size - a.size)", "division_by_zero"),
        ("x = math.ceil(a.size / 0)", "division_by_zero"), ("one[0, 32](a)", "empty_launch"),
        ("one[1, (64, 64)](a)", "too_many_threads"), ("one[1, 32, 0, 10**6](a)", "too_much_shared_memory"),
        ("x = (1, 2)[5]", ""), ("one[1.5, 32](a)", ""),
    ],
)  # fmt: skip
def test_a_slip_that_a_hint_tells_from_others_keeps_its_kind_where_its_line_is_told(host: str, kind: str) -> None:
    fault = fault_of(host=host)
    assert isinstance(fault, KernelFault) and (fault.kind, fault.line is not None) == (kind, True), fault


FINE = [
    "x = h.astype(float)\ny = h.astype(np.float64)\nz = h.sum(dtype=np.float64)",
    "x = sorted((1, 3, 2), reverse=True)\nassert x[0] == 3", "x = round(2.567, ndigits=1)", "x = np.full(3, fill_value=2)",
    "x = np.zeros(2, [('u', np.float32), ('v', np.int32)])\none[1, 1](h)", "one[1, 1](a)", "x = str(one)",
    "x = str(float32)",
    "x = isinstance(3, int)", "x = isinstance(one, (int, float))", "x = [one, one]\nx[0][1, 1](a)",
    "x = cuda.device_array(3, dtype=np.float32, stream=0)", "x = sum((1, 2), start=3)", "x = np.arange(3, dtype=np.int32)",
]  # fmt: skip


@pytest.mark.parametrize("host", FINE)
def test_what_is_in_the_vocabulary_is_told_nothing(host: str) -> None:
    assert fault_of(host=host) is None, fault_of(host=host)


def test_a_record_of_structured_arrays_is_still_an_argument() -> None:
    assert fault_of(host="x = np.zeros(2, 'f4,i4')\none[1, 1](h)") is None


VALUES = [
    "1", "2.5", "'text'", "None", "a", "h", "b", "(1, 2)", "[1, 2]", "range(3)", "one", "plain", "np.float32", "math.sqrt",
    "np", "one[1, 1]", "zip((1,), (1, 2), strict=True)", "zip(3)", "enumerate(a)", "reversed([1])", "a.shape", "h.shape[0]",
    "a[0]", "h[1:]", "1j", "True", "-7", "(10 ** 30)", "[h, a]", "np.zeros(3, 'U3')", "np.dtype('f4,i4')", "a.dtype",
    "cuda.stream()", "one.forall(3)", "[]", "()", "a.T", "h.reshape(2, 4)", "float('nan')", "np.float32(3)", "h.copy", "...",
    "np.array(5)", "np.array([[1, 2], [3]])", "slice(1)", "f'{a}'", "b''", "np.zeros(0)", "np.zeros((0, 3))", "x", "a[::-1]",
]  # fmt: skip
USES = [
    "x = {0} + {1}", "x = {0}[{1}]", "for x in {0}:\n    y = {1}", "x = [y for y in {0}]", "x, y = {0}", "x = {0} < {1}",
    "x = {0} in {1}", "x = {0} == {1}", "x = max({0}, {1})", "x = np.zeros({0}, {1})", "x = np.full({0}, {1})",
    "x = np.arange({0}, {1})", "x = cuda.device_array({0}, {1})", "x = cuda.to_device({0})", "one[{0}, {1}](a)",
    "one[1, 1]({0})", "one[1, 1]({0}, {1})", "h[{0}] = {1}", "a[{0}] = {1}", "x = len({0})", "x = int({0})\ny = float({1})",
    "x = math.pow({0}, {1})", "if {0}:\n    x = {1}", "x = {0} and {1}", "x = {0}\nx += {1}", "x = -{0}\ny = ~{1}",
    "x = plain({0}, {1})", "x = h.reshape({0}, {1})", "x = a.reshape({0})", "a.copy_to_device({0})", "x = h.astype({0})",
    "x = h.sum({0})\nh.fill({1})", "x = [1, {0}].index({1})", "x = [*{0}, *{1}]", "z = {0}\nx = f'{{z}}'", "x = ({0}).size",
    "x = np.array({0}, {1})", "x = np.asarray({0})\ny = np.ascontiguousarray({1})", "x = round({0}, {1})", "x = str({0})",
    "x = list({0})\ny = tuple({1})", "x = sum({0}, {1})", "x = sorted({0})", "x = any({0})\ny = all({1})", "x = range({0})",
    "one.forall({0})({1})", "one[1, 1, {0}, {1}](a)", "x = np.zeros_like({0})", "x = np.dtype({0})", "x = math.prod({0})",
    "x = {0} if {1} else 3", "x = cuda.to_device({0}, to={1})", "x = {0} << {1}", "x = {0} * {1}", "x = a.copy_to_host({0})",
    "x = h.item({0})\ny = h.transpose({1})", "x = a.transpose({0})", "x = ({0}).T\ny = ({1}).size", "x = divmod({0}, {1})",
    "assert {0} is {1}", "while {0}:\n    x = {1}\n    break", "x = cuda.device_array_like({0})", "x = bool({0})",
    "x = [{0}]\nx.append({1})\nx.pop({0})", "return {0}", "return {0}, {1}", "x = math.ceil({0} / {1})", "x = np.prod({0})",
    "x = isinstance({0}, {1})", "x = pow({0}, {1})", "x = abs({0})\ny = np.maximum({0}, {1})", "x = np.float32({0})",
    "x = ({0})({1})", "x = ({0}).copy()", "x = np.log2({0}) + math.gcd({0}, {1})", "x = enumerate({0}, {1})\ny = list(x)",
]  # fmt: skip


PARAMETERS = {  # of a function, how it is called, and what is told
    ("n, *, m=SIZE", "f(1)"): "",
    ("n, *, m=2", "f(1, m=3)"): "", ("n, m=(16, 16)", "f(1)"): "", ("n, *, m", "f(1, m=2)"): "",
    ("n, *, m", "f(1)"): "`f` takes 2 arguments (n, m), but it is called with 1.",
    ("n, *, m", "f(1, 2)"): "`f` takes 2 arguments (n, m), but it is called with 2.",
    ("n, m=[3] * 10 ** 9", "f(1)"): "This sequence is too long.",
}  # fmt: skip


@pytest.mark.parametrize(("parameters", "call"), PARAMETERS)
def test_parameters_may_have_constant_defaults_and_be_given_by_name(parameters: str, call: str) -> None:
    text = f"SIZE = 3\n\ndef f({parameters}):\n    return m\n\ndef host():\n    x = {call}\n    assert x is not None\n"
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    fault = SimulatedDevice().run(program, RunRequest("host", {})).fault
    told = PARAMETERS[parameters, call]
    assert told in str(fault) if told else fault is None, fault


@pytest.mark.parametrize("share", range(3))
def test_whatever_host_code_does_with_values_of_the_wrong_kind_it_ends_in_one_line(share: int) -> None:
    rng = np.random.default_rng(share)
    for use in 2 * USES:
        first, second = (VALUES[number] for number in rng.integers(len(VALUES), size=2))
        body = "x = 3\n" + use.format(first, second)
        try:
            fault = fault_of(host=body)
        except Exception as problem:
            raise AssertionError(f"uncaught for\n{body}\n{type(problem).__name__}: {problem}") from problem
        assert fault is None or isinstance(fault, SubmissionError)

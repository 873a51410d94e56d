"""Whatever way host code takes to the numbers of a device array, the copy is kept account of; what reads none is none."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice

pytestmark = pytest.mark.quick

PROGRAM = """
import math
import numpy as np
from numba import cuda

@cuda.jit
def put(total, s):
    total[0] = s

@cuda.jit
def put_first(total, several):
    total[0] = several[0][1]

def host(a, grid, total):
    h = np.zeros(8, np.float32)
    one = np.zeros(1, np.float32)
    {body}
"""
LINE = 1 + PROGRAM.splitlines().index("    {body}")
A = np.arange(8, dtype=np.float32)
GRID = np.ones((4, 8), np.float32)
READS = {  # a host's statement, and the bytes that come to the host for it
    "np.asarray(a)": 32,
    "np.array(a, np.float64)": 32,
    "np.array([a[:2], a[2:4]])": 16,
    "np.ascontiguousarray(a)": 32,
    "np.full(3, a[:3])": 12,
    "np.full(3, [a[:3]])": 12,
    "np.prod(a)": 32,
    "math.prod(a)": 32,
    "sum(a[:5])": 20,
    "max(a)": 32,
    "min(a)": 32,
    "sorted(a)": 32,
    "any(a)": 32,
    "all(a)": 32,
    "list(a)": 32,
    "tuple(a)": 32,
    "reversed(a)": 32,
    "[x for x in zip(a, h)]": 32,
    "[x for _, x in enumerate(a)]": 32,
    "h[:] = a": 32,
    "h[:3] = a[:3]": 12,
    "grid.copy_to_host()[:] = a": 128 + 32,
    "grid[:1] = [a]": 32 + 32,  # to the host, and from there
    "cuda.to_device([a[:1], a[1:2]])": 8 + 8,
}
NOTHING = [
    "len(a)", "isinstance(a, list)", "np.zeros_like(a)", "np.empty_like(a)", "np.ones_like(a)", "print(a)", "str(a)",
    "list(grid)", "tuple(grid)", "[r for r in zip(grid, grid)]", "h[:] = 3", "x = [a, a[:2]]", "x = [a]; x.append(a)",
    "first, second = (a, a[1:]) if a is not None else (a, a)", "x = a == None", "x = [a, grid]; x[0] = grid",
    "np.zeros(a.size, a.dtype)", "put[1, 1](a, 1)", "x = list((a, grid)); put[1, 1](x[0], 2)",
]  # fmt: skip
REFUSED = [
    "x = one == a[:1]", "x = a[:1] == one", "x = a[:1] == np.float32(1)", "x = a[:1] in [one]", "x = [one].index(a[:1])",
    "x = (1, one) != (1, a[:1])",
]  # fmt: skip


def run(body: str) -> Run:
    text = PROGRAM.format(body=body)
    program = parse_program(submission_from_cells("host.py", [("host.py", text)], is_notebook=False))
    arguments = {"a": A, "grid": GRID, "total": Uninitialised((1,), np.float32)}
    return SimulatedDevice().run(program, RunRequest("host", arguments))


@pytest.mark.parametrize("body", READS)
def test_what_reads_a_device_array_is_noted_as_a_copy(body: str) -> None:
    found = run(body)
    assert found.fault is None, found.fault
    assert sum(each.size_bytes for each in found.transfers) == READS[body], found.transfers
    assert "copy_to_host" in {each.what for each in found.transfers}
    assert all(each.line.number == LINE for each in found.transfers)


@pytest.mark.parametrize("body", NOTHING)
def test_what_reads_nothing_is_no_copy(body: str) -> None:
    found = run(body)
    assert found.fault is None, found.fault
    assert found.transfers == ()


@pytest.mark.parametrize("body", REFUSED)
def test_numbers_on_the_device_are_not_compared_by_the_host(body: str) -> None:
    found = run(body)
    assert str(found.fault).startswith(f"host.py, line {LINE}: Host code cannot compare"), found.fault


def test_what_was_read_is_what_was_there() -> None:
    found = run("put[1, 1](total, np.asarray(a).sum() + sum(a) + max(a))")
    assert found.outputs["total"][0] == 2 * A.sum() + A.max()
    assert [each.what for each in found.transfers] == ["copy_to_host"] * 3


def test_an_array_of_the_host_in_a_tuple_is_an_argument_like_any_other() -> None:
    found = run("put_first[1, 1](total, (h, a))")
    assert [(each.what, each.size_bytes) for each in found.transfers] == [("a NumPy array as an argument", 64)]


@pytest.mark.parametrize("call", ["cuda.to_device(h, 0, True, a)", "cuda.to_device(h, to=a)", "cuda.to_device(h, 0)"])
def test_filling_an_array_from_the_host_is_noted_however_it_is_written(call: str) -> None:
    found = run(call)
    assert [(each.what, each.size_bytes) for each in found.transfers] == [("to_device", 32)]

"""What host code adds to a predicted time, and warps that have nothing to do and do not make others quick."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.language import parse_program
from autograder.language.program import Program
from autograder.language.source import submission_from_cells
from autograder.perfmodel import SPECIFICATIONS
from autograder.perfmodel.host_time import HOST_GB_PER_S, LATENCY_NS, LINK_GB_PER_S, floor_ns, host_ns
from autograder.records.runs import RunRequest, Uninitialised
from autograder.records.transfers import Transfer
from autograder.simulated_device import SimulatedDevice

N = 1 << 20


def program(body: str) -> Program:
    text = f"""
from numba import cuda
import numpy as np

@cuda.jit
def copies(a, b):
    i = cuda.grid(1)
    if i < b.size:
        b[i] = a[i]

def call(a, b):
    {body}
    copies[(a.size + 255) // 256, 256](a, b)
"""
    return parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))


def compared(body: str) -> float:
    """The predicted nanoseconds of a call, as a comparison has them."""
    arguments = {"a": np.arange(N, dtype=np.float32), "b": Uninitialised((N,), np.float32)}
    request = RunRequest("call", arguments, sample_blocks=4)
    return SimulatedDevice().compare(program("pass"), program(body), [request]).submission_ns


@pytest.mark.parametrize(
    ("body", "gigabytes", "rate"),
    [
        ("h = a.copy_to_host()", 4 * N, LINK_GB_PER_S),
        ("h = cuda.to_device(np.zeros(a.size, np.float32))", 4 * N, LINK_GB_PER_S),
        ("h = np.zeros(a.size, np.float32).sum()", 4 * N, HOST_GB_PER_S),
        ("h = np.array([np.zeros(a.size), np.zeros(a.size)])", 16 * N, HOST_GB_PER_S),
        ("h = np.zeros(8, np.float32).sum()", 0, 1.0),
        ("h = cuda.device_array(a.size, np.float32)", 0, 1.0),
    ],
)
def test_what_the_host_does_takes_time_in_a_comparison(body: str, gigabytes: float, rate: float) -> None:
    more = compared(body) - compared("pass")
    assert more == pytest.approx(gigabytes / rate + (LATENCY_NS if rate == LINK_GB_PER_S else 0), rel=1e-6, abs=1e-3)


def test_a_copy_cannot_be_faster_than_its_link_and_making_memory_costs_nothing() -> None:
    assert host_ns([Transfer("copy_to_host", 55_000, None)]) == LATENCY_NS + 1000
    assert host_ns([Transfer("NumPy's sum", 20_000, None, is_host_work=True)]) == 1000
    assert host_ns([Transfer("device_array", 10**9, None)]) == 0 < host_ns([Transfer("synchronize", 0, None)])


def test_what_is_faster_than_its_inputs_can_be_read_is_looked_at() -> None:
    arguments = {"a": np.arange(1 << 24, dtype=np.float32), "b": Uninitialised((1,), np.float32)}
    request = RunRequest("call", arguments, sample_blocks=4)
    text = """
from numba import cuda

@cuda.jit
def first(a, b):
    b[0] = a[0]

def call(a, b):
    first[1, 1](a, b)
"""
    quick = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    found = SimulatedDevice().compare(program("pass"), quick, [request])
    assert found.flags == ("faster than the roofline floor",)
    assert found.submission_ns < floor_ns(1 << 26, SPECIFICATIONS["H200"])

"""The simulated GPU's comparison: the estimate of the baseline, worked out once for a class."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.errors import GraderFault
from autograder.language import parse_program, submission_from_cells
from autograder.records.runs import RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice

KERNEL = """
from numba import cuda

@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    for again in range({rounds}):
        out[i] = a[i] + again

def twice(a, out):
    kernel[a.size // 32, 32](a, out)
"""


def program(rounds: int | str):
    return parse_program(submission_from_cells("x.py", [("x.py", KERNEL.format(rounds=rounds))]))


def request(size: int = 256, seed: int = 0) -> RunRequest:
    a = np.random.default_rng(seed).random(size, np.float32)
    return RunRequest("twice", {"a": a, "out": Uninitialised((size,), np.float32)})


def test_the_baseline_runs_once_for_equal_requests_and_again_for_others_and_for_another_baseline(monkeypatch):
    device, ran = SimulatedDevice(), []
    original = SimulatedDevice.run
    monkeypatch.setattr(
        SimulatedDevice, "run", lambda self, *given, **how: ran.append(given[0]) or original(self, *given, **how)
    )
    baseline, submission = program(8), program(2)
    first = device.compare(baseline, submission, [request()])
    again = device.compare(baseline, submission, [request()])  # an equal one, of other arrays
    assert ran == [baseline, submission, submission]
    assert first.ratio == again.ratio > 1
    device.compare(baseline, submission, [request(512)])
    device.compare(baseline, submission, [request(seed=1)])
    assert ran.count(baseline) == 3
    slower = program(16)
    assert device.compare(slower, submission, [request()]).ratio > first.ratio
    assert ran.count(slower) == 1


def test_a_baseline_that_fails_is_no_fault_of_the_submission():
    with pytest.raises(GraderFault, match="The lab's baseline fails: .*`missing` is not defined"):
        SimulatedDevice().compare(program("missing"), program(2), [request()])

"""The simulated GPU's comparison: the estimate of the baseline, worked out once for a class."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.errors import GraderFault, TooSlow
from autograder.language import parse_program, submission_from_cells
from autograder.records.runs import RunRequest, Uninitialised
from autograder.simgpu.host.giving_up import GivingUp
from autograder.simulated_device import SimulatedDevice

KERNEL = """
from numba import cuda

@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    for again in range({rounds}):
        out[i] = a[i] + again

@cuda.jit
def persistent(a, out):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i] = a[i] + {rounds}

def few(a, out):
    persistent[4, 32](a, out)

def twice(a, out):
    kernel[a.size // 32, 32](a, out)
"""


def program(rounds: int | str):
    return parse_program(submission_from_cells("x.py", [("x.py", KERNEL.format(rounds=rounds))]))


def request(size: int = 256, seed: int = 0, function: str = "twice", **more) -> RunRequest:
    a = np.random.default_rng(seed).random(size, np.float32)
    return RunRequest(function, {"a": a, "out": Uninitialised((size,), np.float32)}, **more)


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


@pytest.mark.parametrize("least_ratio, is_given_up", [(None, False), (0.001, False), (0.5, True)])
def test_a_run_that_is_sure_to_earn_nothing_is_given_up_and_says_what_was_seen(least_ratio, is_given_up, monkeypatch):
    """Four blocks for everything took two minutes, and were told to look for an endless loop."""
    monkeypatch.setattr(GivingUp.__init__, "__defaults__", (40_000.0,))  # the first look
    monkeypatch.setattr("autograder.simgpu.host.giving_up.MUCH", 100_000)
    ask = request(1 << 16, function="few", sample_blocks=1, least_ratio=least_ratio, baseline_estimated_ns=10_000.0)
    fault = SimulatedDevice().compare(program(8), program(2), [ask]).fault
    assert isinstance(fault, TooSlow) == is_given_up == (fault is not None)
    if fault is not None:
        assert "units of work on 1 of its 4 blocks: by then it takes" in str(fault) and "loop" not in str(fault)
        assert str(fault).endswith("times as long as the lab's baseline.") and fault.line.number == 13

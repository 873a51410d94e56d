"""What is counted or timed is verified: runs carried out whole, their sample, and what the host did beside launching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from autograder.errors import Line
from autograder.grading.attempt import Attempt, Place
from autograder.grading.failures import CheckFailed
from autograder.grading.labs import spec_of
from autograder.grading.verified import (
    carried_out_whole,
    counting_for_nothing,
    expect_like_its_sample,
    expect_no_transfers,
)
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import Comparison, Run, RunRequest, Source, Uninitialised
from autograder.records.transfers import Transfer
from autograder.simgpu.host.device import SimulatedDevice

LAB05 = spec_of("lab05_histogram")


class HereRunner:
    """Runs a submission in this process."""

    source: Source = "simulated"

    def __init__(self, text: str) -> None:
        self.program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))

    def run(self, request: RunRequest, on: Place) -> Run:
        return SimulatedDevice().run(self.program, request)

    def compare(self, requests: Sequence[RunRequest], threshold: float) -> Comparison:
        raise NotImplementedError


def attempt_at(text: str) -> Attempt:
    return Attempt("any", HereRunner(text), np.random.default_rng(0))


FILL = """
from numba import cuda

@cuda.jit
def fill(a, b):
    i = cuda.grid(1)
    if i < b.size:
        b[i] = a[i]
"""


def test_a_sampled_request_is_carried_out_whole_and_its_inputs_stay_where_they_are() -> None:
    attempt = attempt_at(FILL)
    arrays: dict[str, Any] = {"a": np.arange(3200, dtype=np.float32), "b": Uninitialised((3200,), np.float32)}
    sampled = RunRequest("fill", arrays, grid=100, block=32, sample_blocks=2, sample_seed=1)
    assert not attempt.simulate(sampled).written["b"].all()
    run, request = carried_out_whole(attempt, sampled, unchanged=("a",))
    assert run.written["b"].all() and np.array_equal(run.outputs["b"], arrays["a"])
    assert "a" not in run.outputs and request.sample_blocks is None and attempt.trials[-1].run is run


@pytest.mark.parametrize(("whole", "sampled", "fails"), [(100.0, 99.0, False), (100.0, 50.0, True), (None, 5.0, False)])
def test_a_sample_must_be_like_the_whole(whole: float | None, sampled: float, fails: bool) -> None:
    runs = Run(estimated_ns=whole), Run(estimated_ns=sampled)
    if fails:
        with pytest.raises(CheckFailed, match="every block does its share"):
            expect_like_its_sample(*runs)
    else:
        expect_like_its_sample(*runs)
    expect_like_its_sample(runs[0], None)


def test_what_fails_when_verified_earns_nothing_and_its_numbers_are_not_shown() -> None:
    attempt = attempt_at(FILL)
    attempt.award(1.0)
    attempt.record(ratio=17.2)
    with pytest.raises(CheckFailed) as failed, counting_for_nothing(attempt):
        raise CheckFailed("wrong")
    assert failed.value.earned == 0 and not attempt.measured


def test_the_first_request_of_the_host_is_named_with_its_line() -> None:
    expect_no_transfers(Run())
    asked = (Transfer("copy_to_host", 4096, Line("lab.py", 7)), Transfer("synchronize", 0, Line("lab.py", 9)))
    with pytest.raises(CheckFailed, match=r"lab.py, line 7: .* copy_to_host \(4,096 bytes\)"):
        expect_no_transfers(Run(transfers=asked))


HISTOGRAM = """
from numba import cuda

@cuda.jit
def count(items, bins):
    i = cuda.grid(1)
    if i < items.size {only}:
        cuda.atomic.add(bins, items[i] {to}, 1)

def histogram(items, bins):
    count[(items.size + 255) // 256, 256](items, bins)
"""


@pytest.mark.parametrize(
    ("only", "to", "right"),
    [("", "", True), ("and i % 4 == 0", "", True), ("and i % 64 == 0", "", False), ("", "* 0", False)],
    ids=["all", "a quarter", "next to none", "all in one bin"],
)
def test_sampled_blocks_have_to_count_something_like_their_share(only: str, to: str, right: bool) -> None:
    attempt = attempt_at(HISTOGRAM.format(only=only, to=to))
    request = LAB05.counting(np.arange(2**18, dtype=np.int32) % 4096, 4096)
    request = RunRequest(request.function, request.arguments, sample_blocks=64)
    run = attempt.simulate(request)
    if right:
        LAB05.expect_share(request, run)
    else:
        with pytest.raises(CheckFailed, match="64 of 1,024 blocks"):
            LAB05.expect_share(request, run)


def test_where_nothing_is_launched_nothing_is_counted() -> None:
    attempt = attempt_at(HISTOGRAM.format(only="", to="").replace("    count[", "    return\n    count["))
    request = LAB05.counting(np.zeros(100, np.int32), 10)
    with pytest.raises(CheckFailed, match="launches no kernel"):
        LAB05.expect_share(request, attempt.simulate(request))

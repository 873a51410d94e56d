"""What is counted or timed is verified: runs carried out whole, their sample, and what the host did beside launching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.errors import Line
from autograder.grading.attempt import Attempt, Place
from autograder.grading.failures import CheckFailed
from autograder.grading.labs import spec_of
from autograder.grading.trials import as_it_was
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
from autograder.simulated_device import SimulatedDevice

LAB05 = spec_of("lab05_histogram")


class HereRunner:
    """Runs a submission in this process."""

    source: Source = "simulated"

    def __init__(self, text: str) -> None:
        self.program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))

    def run(self, request: RunRequest, on: Place) -> Run:
        return SimulatedDevice().run(self.program, request)

    def compare(self, requests: Sequence[RunRequest], threshold: float, goes_on: bool = False) -> Comparison:
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
    assert "a" not in run.outputs and request.sample_blocks is None
    assert as_it_was(attempt.trials[-1].run) is as_it_was(run) and run.launches[0].grid == (100, 1, 1)
    assert repr(run) == "<Uncounted: nothing of it counts>" and attempt.unverified is None


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


SAMPLED = RunRequest(
    "histogram",
    {"items": np.random.default_rng(3).integers(4096, size=2**18).astype(np.int32), "bins": np.zeros(4096, np.int32)},
    sample_blocks=64,
)


@pytest.mark.parametrize(
    ("only", "to", "right"),
    [
        ("", "", True), ("and i % 16 != 0", "", True), ("and i % 2 == 0", "", False), ("and i % 64 == 0", "", False),
        ("", "* 0", False), ("", "// 2", False),
    ],
    ids=["all", "nearly all", "half", "next to none", "all in one bin", "in other bins"],
)  # fmt: skip
def test_sampled_blocks_count_something_like_their_share_and_only_what_they_load(only: str, to: str, right: bool) -> None:
    attempt = attempt_at(HISTOGRAM.format(only=only, to=to))
    attempt.results = {"histogram": LAB05.expect_counts}
    if right:
        attempt.counted(SAMPLED, expect=lambda run: LAB05.expect_share(SAMPLED, run))
    else:
        with pytest.raises(CheckFailed, match="64 of 1,024 blocks|elements are wrong"):
            attempt.counted(SAMPLED, expect=lambda run: LAB05.expect_share(SAMPLED, run))


def test_counts_that_no_sampled_block_can_know_are_none() -> None:
    """As many as their share, and each a thousand times over."""
    attempt = attempt_at(HISTOGRAM.format(only="and i % 64 == 0", to="").replace(", 1)", ", 64)"))
    attempt.results = {"histogram": LAB05.expect_counts}
    with pytest.raises(CheckFailed, match="more to a bin than they loaded"):
        attempt.counted(SAMPLED, expect=lambda run: LAB05.expect_share(SAMPLED, run))


def test_a_bin_that_is_right_does_not_stand_for_the_others() -> None:
    """One that holds nothing is easily right: a last launch of one thread puts it there."""
    left_out = HISTOGRAM.format(only="and i % 64 == 0", to="") + """    put[1, 1](bins)

@cuda.jit
def put(bins):
    bins[7] = 0
"""
    items = np.where(SAMPLED.arguments["items"] == 7, 8, SAMPLED.arguments["items"])
    request = replace(SAMPLED, arguments={**SAMPLED.arguments, "items": items})
    attempt = attempt_at(left_out)
    attempt.results = {"histogram": LAB05.expect_counts}
    with pytest.raises(CheckFailed, match="64 of 1,024 blocks"):
        attempt.counted(request, expect=lambda run: LAB05.expect_share(request, run))


def test_a_run_says_what_its_sampled_blocks_loaded() -> None:
    attempt = attempt_at(FILL)
    arrays: dict[str, Any] = {"a": np.arange(3200, dtype=np.float32), "b": Uninitialised((3200,), np.float32)}
    run = attempt.simulate(RunRequest("fill", arrays, grid=100, block=32, sample_blocks=2, sample_seed=1))
    assert set(run.loaded) == {"a"} and np.count_nonzero(run.loaded["a"]) == 2 * 32 * 4 // 32
    assert np.array_equal(np.repeat(run.loaded["a"], 8), run.written["b"])


def test_where_nothing_is_launched_nothing_is_counted() -> None:
    attempt = attempt_at(HISTOGRAM.format(only="", to="").replace("    count[", "    return\n    count["))
    request = LAB05.counting(np.zeros(100, np.int32), 10)
    with pytest.raises(CheckFailed, match="launches no kernel"):
        LAB05.expect_share(request, attempt.simulate(request))

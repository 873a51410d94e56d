"""A host that comes late is seen: rounds in which the GPU may have waited for it do not count. No GPU is needed here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

from autograder.cudagpu.comparing import Contest, TimedCall
from autograder.cudagpu.compilation import Compiler
from autograder.cudagpu.conditions import Clocks
from autograder.cudagpu.handles import GpuArray
from autograder.cudagpu.memory import GuardedArray
from autograder.errors import GraderFault
from autograder.language import parse_program
from autograder.language.source import submission_from_bytes
from autograder.records.runs import RunRequest

HOST_NS = 4e6  # what a late host adds to a call
BASELINE_NS, SUBMISSION_NS = 4.4e6, 1.6e6


def contest(monkeypatch: pytest.MonkeyPatch, late: Iterator[bool], seconds_a_round: float = 0.0) -> Contest:
    """A comparison under way of a submission that is 2.75 times as fast, whose rounds are late as `late` says."""
    baseline, submission = (parse_program(submission_from_bytes("f.py", b"def f(a): ...")) for _ in range(2))
    made = Contest("a GPU", (Compiler(), Compiler()), baseline, submission, 2.1, np.random.default_rng(0))
    made.clocks, made.floor_ns, made.last_request, made.began = Clocks(), 0.0, RunRequest("f", {}), 0.0
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    calls = [0]
    is_late = [False]

    def call(program: Any, request: RunRequest) -> TimedCall:
        if calls[0] % 4 == 0:  # the first of a round
            is_late[0] = next(late)
            now[0] += seconds_a_round
        calls[0] += 1
        late_call = is_late[0] and program is submission
        ns = (BASELINE_NS if program is baseline else SUBMISSION_NS) + HOST_NS * late_call
        return TimedCall(ns, ns, ns, {}, True, late_call)

    monkeypatch.setattr(made, "_call", call)
    return made


def rounds_of(made: Contest) -> Any:
    found = made.round([RunRequest("f", {}), RunRequest("f", {})])
    while found.goes_on:
        found = made.round([RunRequest("f", {}), RunRequest("f", {})])
    return found


def test_late_rounds_do_not_count_and_are_made_up_for(monkeypatch):
    found = rounds_of(contest(monkeypatch, iter([True, False, True] * 20)))
    assert found.ratio == pytest.approx(BASELINE_NS / SUBMISSION_NS) and found.low == pytest.approx(found.high)
    assert (len(found.rounds), found.notes["rounds"]) == (8, 8) and found.notes["late_rounds"] == 15
    assert found.submission_ns == SUBMISSION_NS and "ambiguous" not in found.flags


def test_where_nothing_was_late_nothing_is_said_of_it(monkeypatch):
    found = rounds_of(contest(monkeypatch, iter([False] * 20)))
    assert len(found.rounds) == 8 and "late_rounds" not in found.notes


def test_a_host_that_is_late_all_the_time_is_the_machines_fault_and_no_verdict(monkeypatch):
    made = contest(monkeypatch, iter([True] * 12 + [False, True] * 99), seconds_a_round=1.3)
    first = made.round([RunRequest("f", {}), RunRequest("f", {})])
    assert first.goes_on and len(first.rounds) == 1  # something to go on from, and no verdict yet
    told = "This machine is too busy to time kernels: in 14 of 16 rounds the GPU waited for the host."
    with pytest.raises(GraderFault, match=told) as busy:
        rounds_of(made)
    assert "--jobs" in busy.value.remedy


def test_few_rounds_in_time_are_enough_where_time_is_up(monkeypatch):
    found = rounds_of(contest(monkeypatch, iter([True, True, False] * 20), seconds_a_round=2.0))
    assert len(found.rounds) == 3 and found.ratio == pytest.approx(BASELINE_NS / SUBMISSION_NS)


class View:
    """As much of a device array as host code asks for."""

    shape, dtype = (4,), np.dtype(np.float32)

    def __getitem__(self, key: Any) -> Any:
        return self if isinstance(key, slice) else np.float32(1)

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def copy_to_host(self) -> np.ndarray:
        return np.ones(4, np.float32)

    def copy_to_device(self, source: Any) -> None: ...

    def transpose(self) -> View:
        return self


@pytest.mark.parametrize(
    ("what", "waits"),
    [
        (lambda array: array[1:], 0), (lambda array: array.T, 0), (lambda array: array[0], 1),
        (lambda array: array[1:].copy_to_host(), 1), (lambda array: array.__setitem__(0, 1), 1),
        (lambda array: array.copy_to_device(np.ones(4)), 1),
    ],
)  # fmt: skip
def test_host_code_that_waits_for_the_gpu_is_told_from_code_that_only_launches(what, waits):
    """Where it waits, the GPU is through with what came before: that says nothing about the host."""
    waited: list[int] = []

    def checked(action: Any, function: Any = None) -> Any:
        return action()

    def waiting(action: Any, function: Any = None) -> Any:
        waited.append(1)
        return action()

    what(GpuArray(cast(GuardedArray, None), View(), checked, waiting))
    assert len(waited) == waits

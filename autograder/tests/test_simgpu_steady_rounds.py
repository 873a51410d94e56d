"""Loops whose rounds all go the same way: what is computed in their place tells and leaves what steps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.simgpu.host import cuda_module, launch, steady_rounds
from autograder.simgpu.host.device import Session
from autograder.simgpu.values.arrays import buffer_of

cuda = cuda_module.build_module()
N, ROUNDS = 300, 40


@cuda.jit
def sorts(a, b, out, n):
    i = cuda.grid(1) * 2
    for _ in range(n / 1):
        if i > 0:
            here, left = a[i], a[i - 1]
            a[i - 1] = min(left, here)
            a[i] = max(left, here)
        cuda.syncthreads()
        if i < a.size:
            here, right = a[i], a[i + 1]
            a[i] = min(here, right)
            a[i + 1] = max(here, right)
        cuda.syncthreads()


@cuda.jit
def smooths_back_and_forth(a, b, out, n):
    i = cuda.grid(1)
    inside = 0 < i < a.size - 1
    for _ in range(2, n):
        if inside:
            b[i] = (a[i - 1] + a[i + 1]) / 2 + i
        cuda.syncthreads()
        if inside:
            a[i] = b[i] * np.float32(0.5)
            out[i] -= a[i] + out[i]
        cuda.syncthreads()


@cuda.jit
def goes_by_the_round(a, b, out, n):
    i = cuda.grid(1)
    for step in range(n):
        if i < a.size:
            b[(i + step) % a.size] = a[i]


@cuda.jit
def takes_the_round(a, b, out, n):
    i = cuda.grid(1)
    for step in range(n):
        if i < a.size:
            b[i] = a[i] * step


@cuda.jit
def adds_up(a, b, out, n):
    i = cuda.grid(1)
    total = 0.0
    for _ in range(n):
        if i < a.size:
            total += a[i]
    if i < out.size:
        out[i] = total


@cuda.jit
def asks_values(a, b, out, n):
    i = cuda.grid(1)
    for _ in range(n):
        if i < a.size and a[i] > 0.25:
            a[i] = a[i] * np.float32(0.9)


@cuda.jit
def all_read_one(a, b, out, n):
    i = cuda.grid(1)
    for _ in range(n):
        if i < a.size:
            b[0] = a[7]
            out[i] = b[0] + a[i]


@cuda.jit
def leaves(a, b, out, n):
    i = cuda.grid(1)
    for _ in range(n):
        if i >= a.size:
            return
        out[i] = a[i]


def told(kernel: Any) -> tuple[Any, ...]:
    """All that two launches tell and leave, the shadows too."""
    rng, session = np.random.default_rng(5), Session(knows_repeats=True)
    arrays = [session.to_device(rng.random(N, dtype=np.float32)) for _ in range(2)]
    arrays.append(session.device_array(N, np.float64))
    begun, told = Session.clock, []
    for rounds in (ROUNDS, ROUNDS + 3):
        told.append(session.launch(kernel.__autograder_function__, 5, 64, [*arrays, rounds]))
    shadows = [
        (row.stamps - (row.stamps > 1) * begun).tobytes() + row.threads.tobytes() + row.places.tobytes()
        for each in arrays
        if (shadow := buffer_of(each).shadow) is not None
        for row in (shadow.writes, shadow.reads, shadow.plain_writes)
    ]
    return told, [each.copy_to_host().tobytes() for each in arrays], shadows, session.work, Session.clock - begun


@pytest.mark.parametrize("lanes", [launch.LANES_PER_BATCH, 128], ids=["one batch", "several"])
@pytest.mark.parametrize(
    "kernel, skips",
    [
        (sorts, True), (smooths_back_and_forth, True), (goes_by_the_round, False), (takes_the_round, False),
        (adds_up, False), (asks_values, False), (all_read_one, False), (leaves, True),
    ],
)  # fmt: skip
def test_rounds_that_go_the_same_way_tell_and_leave_what_steps_do(
    kernel: Any, skips: bool, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped: list[int] = []
    go_on = steady_rounds.RoundsAhead.go_on

    def noted(self: steady_rounds.RoundsAhead, machine: Any, rounds: int) -> None:
        skipped.append(rounds)
        go_on(self, machine, rounds)

    monkeypatch.setattr(launch, "LANES_PER_BATCH", lanes)
    monkeypatch.setattr(steady_rounds.RoundsAhead, "go_on", noted)
    expected = told(kernel)
    assert not skipped  # so few rounds are not worth it
    monkeypatch.setattr(steady_rounds, "LEAST_ROUNDS", 8)
    monkeypatch.setattr(steady_rounds, "AT_ONCE", 7)
    assert told(kernel) == expected
    assert bool(skipped) == skips

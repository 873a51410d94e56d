"""Launches that differ in values alone: computed by what was compiled for their way, they tell and leave what steps do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.simgpu.host import cuda_module, repeats, straight
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.same_way import SameWay

cuda = cuda_module.build_module()
ROWS, COLUMNS = 37, 50


@cuda.jit
def smooths(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    inside = (i > 0) and (i < a.shape[0] - 1)
    if inside and 0 < j < a.shape[1] - 1:
        out[i, j] = 0.25 * (a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j])


@cuda.jit
def weighs(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i >= a.shape[0] - 2 or j >= a.shape[1] - 2:
        return
    total = np.float32(0)
    for di in range(3):
        for dj in range(3):
            total += a[i + di, j + dj] * (di - dj * scale)
    out[i + 1, j + 1] = math.sqrt(abs(total)) - (i % 3) / 2
    out[i + 1, j + 1] -= -b[i + 1, j + 1]


@cuda.jit
def counts_up(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < whole.shape[0]:
        if j < whole.shape[1]:
            whole[i, j] = whole[i, j] * 3 + i * 2**40 - j
            b[i, j] = np.float32(whole[i, j]) / (a[i, j] - a[i, j])


@cuda.jit
def asks_values(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        if a[i, j] > 0.5:
            out[i, j] = scale


@cuda.jit
def goes_by_values(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = a[whole[i, j] % 7, j]


@cuda.jit
def shifts_in_place(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and 0 < j < a.shape[1]:
        b[i, j] = b[i, j - 1]


@cuda.jit
def adds_atomically(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        cuda.atomic.add(out, (0, j), a[i, j])


@cuda.jit
def leaves_its_array(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    out[i, j] = a[i, j] * 2


@cuda.jit
def computes_by_functions(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        near = math.exp(-a[i, j]) + math.sin(b[i, j])
        out[i, j] = math.log(whole[i, j] + 1) * near ** 2 - math.hypot(a[i, j] * scale, j)
        b[i, j] = math.atan2(a[i, j], b[i, j]) + math.tanh(np.float32(i))


@cuda.jit
def computes_in_the_middle(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if 0 < i < a.shape[0] - 1 and j < a.shape[1]:
        total = a[i - 1, j]
        for k in range(3):
            total += math.cos(a[i - 1 + k, j]) / (k + math.exp(total))
            b[i, j] = total - b[i, j]
        out[i, j] = total


@cuda.jit(device=True)
def decayed(start, rate, time):
    left = start * math.exp(-rate * time)
    return left, start - left


@cuda.jit(device=True)
def lost(start, rate, steps):
    gone = 0.0
    for step in range(steps):
        start, more = decayed(start, rate, step)
        gone += more
    return gone


@cuda.jit
def calls_functions(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = lost(a[i, j], scale, 3)
        left, gone = decayed(b[i, j], np.float32(0.25), a[i, j])
        b[i, j] = left - gone


@cuda.jit("float32(float64, int32)", device=True)
def shortened(x, n):
    return x * x + n


@cuda.jit
def calls_what_converts(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = shortened(a[i, j], scale) + shortened(b[i, j], i)


@cuda.jit(device=True)
def by_sign(x):
    if x < 0.5:
        return -x
    return x


@cuda.jit
def calls_what_branches(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = by_sign(a[i, j])


@cuda.jit
def counts_by_values(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = math.sin(np.float64(a[i, j]) * 100)  # of float64 a table is read, where the quarter says


@cuda.jit
def many_write_one(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, 0] = a[i, j]


@cuda.jit
def may_not_fit(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        whole[i, j] = a[i, j] * 1e9


def told(kernel: Any, launches: int = 5) -> list[tuple[Any, list[bytes]]]:
    """What each of some launches tells, and what they leave, where the host changes numbers in between."""
    rng, session = np.random.default_rng(3), Session(knows_repeats=True)
    shape = ROWS, COLUMNS
    given = [rng.random(shape, dtype=np.float32) for _ in range(2)]
    arrays = [session.to_device(each) for each in given]
    arrays += [session.device_array(shape, np.float64), session.to_device(rng.integers(0, 99, shape))]
    told = []
    for launch in range(launches):
        arrays[0].copy_to_device(rng.random(shape, dtype=np.float32))
        if launch == launches - 2:
            arrays[2].copy_to_device(np.ones(shape))  # from here on all of it has been written
        record = session.launch(kernel.__autograder_function__, (5, 7), (8, 8), [*arrays, 1.5])
        told.append((record, [each.copy_to_host().tobytes() for each in arrays]))
    return told


@pytest.mark.parametrize(
    "kernel, goes",
    [
        (smooths, True), (weighs, True), (counts_up, True), (asks_values, False), (goes_by_values, False),
        (shifts_in_place, False), (adds_atomically, False), (leaves_its_array, False), (computes_by_functions, True),
        (many_write_one, False), (may_not_fit, False), (computes_in_the_middle, True), (calls_functions, True),
        (calls_what_converts, True), (calls_what_branches, False), (counts_by_values, False),
    ],
)  # fmt: skip
def test_a_launch_that_goes_the_same_way_tells_and_leaves_what_steps_do(
    kernel: Any, goes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = []
    carry_out = SameWay.carry_out
    monkeypatch.setattr(SameWay, "carry_out", lambda self, launch: gone.append(kernel) or carry_out(self, launch))
    monkeypatch.setattr(repeats, "MOST_TRIES", 0)
    expected = told(kernel)
    assert not gone
    monkeypatch.setattr(repeats, "MOST_TRIES", 9)
    monkeypatch.setattr(repeats, "WORTH_SECONDS", 0.0)
    assert told(kernel) == expected
    assert bool(gone) == goes


def test_what_was_never_written_is_told_until_the_host_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "WORTH_SECONDS", 0.0)
    session, shape = Session(knows_repeats=True), (ROWS, COLUMNS)
    one, other = session.to_device(np.ones(shape)), session.device_array(shape, np.float64)
    found = []
    for launch in range(12):
        if launch == 9:
            other.copy_to_device(np.ones(shape))
        a, out = (other, one) if launch % 2 else (one, other)
        record = session.launch(smooths.__autograder_function__, (5, 7), (8, 8), [a, one, out, one, 1.0])
        found.append(sum(each.occurrences for each in record.hazards))
    assert found[1] > 0 and found[:9:2] == [0] * 5 and set(found[1:9:2]) == {found[1]} and found[9:] == [0, 0, 0]


def results_in_new_memory(kernel: Any, rows: int = ROWS) -> list[tuple[Any, Any, bytes, bytes]]:
    """What launches tell and leave of which each has new memory for its results; `rows` of it are written."""
    rng, session = np.random.default_rng(5), Session(knows_repeats=True)
    shape, told = (ROWS, COLUMNS), []
    one, whole = session.to_device(np.ones(shape, np.float32)), session.to_device(np.ones(shape, np.int64))
    for launch in range(6):
        one.copy_to_device(rng.random(shape, dtype=np.float32))
        out = session.device_array((rows, COLUMNS), np.float64)
        if launch == 4:
            out.copy_to_device(np.zeros((rows, COLUMNS)))
        record = session.launch(kernel.__autograder_function__, (5, 7), (8, 8), [one, one, out, whole, 1.0])
        again = session.launch(reads_all.__autograder_function__, (6, 7), (8, 8), [out, one])
        told.append((record, again, out.copy_to_host().tobytes(), one.copy_to_host().tobytes()))
    return told


@cuda.jit
def fills_some(a, b, out, whole, scale):
    i, j = cuda.grid(2)
    if 0 < i < a.shape[0] and j < a.shape[1]:
        out[i, j] = math.exp(a[i, j])


@cuda.jit
def reads_all(a, b):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        b[i % b.shape[0], j] = a[i, j]


@pytest.mark.parametrize("rows", [ROWS, ROWS + 9])
def test_memory_that_nobody_has_written_is_like_other_such_memory(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What launches write of it has been written for the launches behind them, and nothing else has."""
    gone = []
    carry_out = SameWay.carry_out
    monkeypatch.setattr(repeats, "MOST_TRIES", 0)
    expected = results_in_new_memory(fills_some, rows)
    found = [{each.kind for each in again.hazards} & {"uninitialised_read"} for _, again, *_ in expected]
    assert all(found[:4]) and not found[4]
    monkeypatch.setattr(SameWay, "carry_out", lambda self, launch: gone.append(launch) or carry_out(self, launch))
    monkeypatch.setattr(repeats, "MOST_TRIES", 9)
    monkeypatch.setattr(repeats, "WORTH_SECONDS", 0.0)
    assert results_in_new_memory(fills_some, rows) == expected
    assert gone


class DiffersByPlace:
    """A function whose results are others in every eighth place."""

    nin = 1

    def __call__(self, x: np.ndarray) -> Any:
        return np.exp(x) + (np.arange(np.size(x)) % 8 == 7).reshape(np.shape(x))


def test_functions_whose_results_depend_on_the_place_are_stepped_through(monkeypatch: pytest.MonkeyPatch) -> None:
    differs: Any = DiffersByPlace()
    assert straight.goes_alike(np.exp, np.dtype(np.float64)) and not straight.goes_alike(differs, np.dtype(np.float64))
    gone = []
    monkeypatch.setattr(SameWay, "carry_out", lambda self, launch: gone.append(launch))
    monkeypatch.setattr(straight, "goes_alike", lambda function, dtype: False)
    monkeypatch.setattr(repeats, "WORTH_SECONDS", 0.0)
    told(computes_by_functions)
    assert not gone


def test_more_threads_than_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(straight, "AT_ONCE", 7)
    test_a_launch_that_goes_the_same_way_tells_and_leaves_what_steps_do(computes_in_the_middle, True, monkeypatch)

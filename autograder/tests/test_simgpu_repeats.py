"""A launch that does again what one before it did is not carried out again, and nobody can tell but by the clock."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograder.records.hazards import Hazard
from autograder.simgpu.host import cuda_module, repeats
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.launch import RunningLaunch
from autograder.simgpu.values.arrays import contents

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()
N = 96
TABLE = np.arange(4.0)


@cuda.jit
def add(out, a, b):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def half_of_them(out, a):
    i = cuda.grid(1)
    if i < out.size and i % 2 == 0:
        out[i] = a[i]


@cuda.jit
def in_place(a, x):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * 0.5 + x


@cuda.jit
def sums(out, a):
    cuda.atomic.add(out, cuda.grid(1) % out.size, a[cuda.grid(1)])


@cuda.jit
def races(a):
    a[0] = cuda.grid(1)


@cuda.jit
def prints(a):
    if cuda.grid(1) == 0:
        print(a[0])


@cuda.jit
def from_table(out):
    out[cuda.grid(1)] = TABLE[cuda.grid(1) % 4]


@pytest.fixture
def carried_out(monkeypatch) -> list[str]:
    """The kernels that were stepped through, in order."""
    found: list[str] = []
    real = RunningLaunch.carry_out

    def noted(self: RunningLaunch, *given: Any) -> Any:
        found.append(self.kernel.name)
        return real(self, *given)

    monkeypatch.setattr(RunningLaunch, "carry_out", noted)
    monkeypatch.setattr(repeats, "BYTES_PER_SECOND", np.inf)
    return found


@pytest.fixture
def told(monkeypatch) -> Iterator[list[Hazard]]:
    """A device without a past, and what it finds."""
    found: list[Hazard] = []
    device = cuda_module.device
    device.begin()
    monkeypatch.setattr(device, "listeners", [lambda record, kernel, arguments: found.extend(record.hazards)])
    monkeypatch.setattr(device, "tell", lambda hazards: None)
    yield found
    device.findings.clear()
    device.begin()


def test_a_launch_on_the_same_numbers_is_carried_out_twice_and_then_known(carried_out, told):
    a, b = np.random.default_rng(0).random((2, N))
    on_device = cuda.to_device(a), cuda.to_device(b)
    for given in ((a, b), on_device):
        carried_out.clear()
        for _ in range(10):
            out = cuda.device_array(N)
            add[3, 32](out, *given)
            assert (out.copy_to_host() == a + b).all()
        assert len(carried_out) < 6
    records = [cuda_module.device.session.last]
    add[3, 32](cuda.device_array(N), *on_device)
    assert cuda_module.device.session.last is records[0]


@pytest.mark.parametrize("change", ["element", "slice", "copy", "another kernel", "another type", "seen by the host"])
def test_what_changes_between_launches_is_seen(change, carried_out, told):
    a = np.zeros(N)
    d_a, d_out = cuda.to_device(a), cuda.device_array(N)
    open_memory = contents(d_a) if change == "seen by the host" else None
    for step in range(12):
        if step % 4 == 3:
            if change == "element":
                d_a[7] = step
            elif change == "slice":
                d_a[5:9][...] = float(step)
            elif change == "copy":
                d_a.copy_to_device(np.full(N, float(step)))
            elif change == "another kernel":
                in_place[3, 32](d_a, step)
            elif change == "another type":
                d_a.view(np.int64)[7] = step
            elif open_memory is not None:
                open_memory[7] = step
        add[3, 32](d_out, d_a, d_a)
        now = d_a.copy_to_host()
        assert (d_out.copy_to_host() == now + now).all()
    assert carried_out.count("add") < 12


def test_a_host_array_a_number_and_the_grid_are_looked_at_each_time(carried_out, told):
    a = np.zeros(N)
    for step in range(12):
        a[3] = step // 4
        out = np.zeros(N)
        add[3, 32](out, a, a)
        assert out[3] == 2 * (step // 4)
    d_a = cuda.to_device(np.ones(N))
    for x in (0.0, -0.0, np.nan, 1.0, 1, True):
        before = d_a.copy_to_host()
        in_place[2, 32](d_a, x)
        assert np.array_equal(d_a.copy_to_host()[:64], before[:64] * 0.5 + x, equal_nan=True)
        assert (d_a.copy_to_host()[64:] == before[64:]).all()


def test_memory_that_a_launch_changes_is_not_looked_at_each_time(carried_out, told, monkeypatch):
    looked: list[int] = []
    real = repeats._Contents.of
    monkeypatch.setattr(repeats._Contents, "of", classmethod(lambda cls, buffer: looked.append(1) or real(buffer)))
    a, ones = cuda.to_device(np.ones(N)), cuda.to_device(np.ones(N))
    for _ in range(200):
        sums[3, 32](a, ones)
    assert len(carried_out) == 200
    assert len(looked) < 40


def test_hazards_are_found_each_time_and_prints_printed(carried_out, told, capsys):
    a = cuda.to_device(np.zeros(N))
    for _ in range(10):
        races[2, 32](a)
    assert [each.kind for each in told] == ["race"] * 10
    assert len({each.occurrences for each in told}) == 1
    assert len(carried_out) < 6
    for _ in range(5):
        prints[1, 32](np.ones(1))
    assert capsys.readouterr().out == "1.0\n" * 5


def test_what_was_never_written_is_so_after_a_launch_that_was_known(carried_out, told):
    a = np.ones(N)
    kinds = []
    for _ in range(6):
        out = cuda.device_array(N)
        half_of_them[3, 32](out, a)
        told.clear()
        add[3, 32](cuda.device_array(N), out, a)  # reads the other half too
        kinds.append([(each.kind, each.array, each.occurrences) for each in told])
        assert np.isnan(out.copy_to_host()[1::2]).all()
    assert kinds == [[("uninitialised_read", "a", N // 2)]] * 6
    assert carried_out.count("half_of_them") < 6 and carried_out.count("add") < 6


def test_memory_that_is_gone_is_not_taken_for_what_lies_there_now(carried_out, told):
    for step in range(30):
        a = cuda.to_device(np.full(N, float(step // 5)))
        out = cuda.to_device(np.zeros(N))
        add[3, 32](out, a, a)
        assert out.copy_to_host()[0] == 2.0 * (step // 5)
        del a, out
        gc.collect(1)  # what this step made is young; through all that a test process holds it takes half a second


def test_a_constant_that_has_another_content_is_seen(carried_out, told):
    expected = []
    try:
        for step in range(8):
            TABLE[1] = step // 4
            out = np.zeros(N)
            from_table[3, 32](out)
            expected.append(out[1])
    finally:
        TABLE[1] = 1.0
    without = []
    session = Session(keep_records=False)
    try:
        for step in range(8):
            TABLE[1] = step // 4
            out = np.zeros(N)
            session.launch(from_table.__autograder_function__, 3, 32, (out,))
            without.append(out[1])
    finally:
        TABLE[1] = 1.0
    assert expected == without


def test_a_session_that_knows_repeats_does_what_one_without_does(carried_out):
    """300 random steps, one choice in two made before: the same memory and the same hazards after each."""
    random = np.random.default_rng(5)
    kernels = {each.__name__: each.__autograder_function__ for each in (add, half_of_them, in_place, sums, races)}
    sessions = [Session(keep_records=False), Session(keep_records=False, knows_repeats=True)]
    start = random.integers(0, 3, (4, N)).astype(float)
    memories = [
        [*(each.to_device(row) for row in start), *(each.device_array(N, float) for _ in range(2))] for each in sessions
    ]
    known = 0
    step: Any = None
    for _ in range(300):
        if step is None or random.random() < 0.5:
            name = str(random.choice([*kernels, "write", "write"]))
            step = name, random.permutation(6)[:3], int(random.integers(1, 5)), float(random.integers(0, 2))
        name, (i, j, k), grid, x = step
        found = []
        for session, memory in zip(sessions, memories, strict=True):
            carried_out.clear()
            if name == "write":
                memory[i][grid : 3 * grid] = x
                continue
            given = {"add": (memory[i], memory[j], memory[k]), "half_of_them": (memory[i], memory[j]),
                     "in_place": (memory[i], x), "sums": (memory[i], memory[j]), "races": (memory[i],)}[name]  # fmt: skip
            record = session.launch(kernels[name], min(grid, 3), 32, given)
            found.append((record.hazards, record.counters, record.compiled))
        known += name != "write" and not carried_out
        assert not found or found[0] == found[1], step
        for one, other in zip(*memories, strict=True):
            assert one.copy_to_host().tobytes() == other.copy_to_host().tobytes(), step
    assert known > 10


def test_a_host_array_that_is_only_read_is_not_copied(told, monkeypatch):
    seen: list[bool] = []
    real = RunningLaunch.carry_out

    def noted(self: RunningLaunch, *given: Any) -> Any:
        seen.extend(np.shares_memory(each.data, whole) for each, whole in zip(self.buffers, (out, a, b), strict=True))
        return real(self, *given)

    monkeypatch.setattr(RunningLaunch, "carry_out", noted)
    a, b, out = np.arange(N, dtype=float), np.ones(N), np.zeros(N)
    add[3, 32](out, a, b)
    assert seen == [False, True, True]
    assert (out == a + 1).all() and (a == np.arange(N)).all()
    for changed in (np.broadcast_to(np.ones(1), N).copy(order="K"), np.asfortranarray(np.ones((N, 1)))[:, 0]):
        changed.flags.writeable = False
        add[3, 32](out, changed, b)
        assert (out == 2).all()


def test_arrays_that_overlap_are_copied_back_in_turn_as_numba_does(told):
    whole = np.arange(2.0 * N)
    add[3, 32](whole[:N], whole[:N], whole[:N])  # the last of them is copied back last, and was not written
    assert (whole == np.arange(2.0 * N)).all()
    add[3, 32](whole[N:], whole[:N], np.ones(N))
    assert (whole[N:] == np.arange(N) + 1).all() and (whole[:N] == np.arange(N)).all()

"""Shadow memory: whose it is and what to do where there is too little, and what is left without it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from autograder import profile
from autograder.errors import GraderFault, KernelFault, UsageError
from autograder.records.hazards import Hazard
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.values import memory
from autograder.simgpu.values.arrays import buffer_of

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()


@cuda.jit
def neighbours(a):
    i = cuda.grid(1)
    if 0 < i < a.size:
        a[i] = a[i - 1] + 1


@cuda.jit
def outside(a):
    a[cuda.grid(1)] = 1


@pytest.fixture
def told(monkeypatch):
    found: list[Hazard] = []
    monkeypatch.setattr(cuda_module.device, "tell", found.extend)
    cuda_module.device.findings.clear()
    yield found
    cuda_module.device.findings.clear()


def test_too_little_memory_is_said_with_the_array_how_much_and_what_to_do(monkeypatch):
    monkeypatch.setattr(memory, "MUCH_BYTES", 1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=999))
    neighbours[4, 32](np.zeros(99))  # 990 bytes
    with pytest.raises(MemoryError) as caught:
        neighbours[4, 32](np.zeros(100))
    assert str(caught.value).startswith("`a` has 100 elements, and beside each one the simulated GPU keeps who wrote")
    assert "AUTOGRADER_SHADOW=off" in str(caught.value) and "run --no-shadow" in str(caught.value)
    assert isinstance(caught.value, GraderFault) and not isinstance(caught.value, KernelFault)  # no student's fault
    with pytest.raises(MemoryError, match="A device array has 200 elements"):
        cuda.device_array(200)


def test_memory_that_the_system_refuses_is_said_in_the_same_words(monkeypatch):
    def refuse(elements, dtype):
        raise MemoryError(f"Unable to allocate {elements}")

    monkeypatch.setattr(memory, "untouched_zeros", refuse)
    with pytest.raises(MemoryError, match="10 elements.*0.0 to 0.0 GiB, more than there is"):
        memory.Shadow(10, "a")


def test_without_shadow_memory_races_and_unwritten_memory_are_not_found_and_all_else_is(told, monkeypatch):
    monkeypatch.setenv(memory.SHADOW, "off")
    a = np.zeros(64)
    neighbours[2, 32](a)
    uninitialised = cuda.device_array(64)
    neighbours[2, 32](uninitialised)
    assert told == [] and np.isnan(uninitialised.copy_to_host()[0])
    outside[1, 96](a)
    assert [each.kind for each in told] == ["out_of_bounds"]
    monkeypatch.setenv(memory.SHADOW, "on")
    b = np.zeros(64)
    neighbours[2, 32](b)
    assert [each.kind for each in told] == ["out_of_bounds", "race"]
    neighbours[2, 32](cuda.device_array(64))
    assert "uninitialised_read" in [each.kind for each in told]
    again = np.zeros(64)
    monkeypatch.setenv(memory.SHADOW, "off")
    neighbours[2, 32](again)
    assert again.tolist() == b.tolist()


def test_another_word_in_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv(memory.SHADOW, "no")
    with pytest.raises(UsageError, match="AUTOGRADER_SHADOW is 'no'; it can be on or off"):
        cuda.to_device(np.zeros(3))


def test_what_is_kept_of_an_access_takes_as_many_bytes_as_is_said():
    rows = memory.Accesses.none(7)
    assert sum(row.itemsize for row in rows) == memory.ACCESS_BYTES and {len(row) for row in rows} == {7}
    assert (memory.MOST_SITES - 1) * 4 + 3 == np.iinfo(rows.places.dtype).max


def test_a_race_is_told_without_the_other_line_where_lines_outnumber_the_sites(monkeypatch):
    from autograder.simgpu.machine import launch_state

    def others() -> set[bool]:
        return {each.other_line is None for each in profile(neighbours)[2, 32](np.zeros(64)).hazards if each.kind == "race"}

    assert others() == {False}
    monkeypatch.setattr(launch_state, "MOST_SITES", 1)
    assert others() == {True}


@cuda.jit
def fills(a, n):
    i = cuda.grid(1)
    if i < n:
        a[i] = i


def test_a_large_shadow_is_let_go_between_launches_once_all_is_written(monkeypatch):
    monkeypatch.setattr(memory, "MUCH_BYTES", 1000)
    session = Session(knows_repeats=True)
    large, small = session.device_array(128, np.float32), session.device_array(64, np.float32)
    shadows = []
    for a, n in ((large, 100), (large, 128), (small, 64)):
        session.launch(fills.__autograder_function__, 4, 32, [a, n])
        shadows.append(buffer_of(a).shadow is not None)
    assert shadows == [True, False, True]
    kinds = [
        {each.kind for each in session.launch(kernel.__autograder_function__, 4, 32, arguments).hazards}
        for kernel, arguments in ((neighbours, [large]), (fills, [large, 128]))
    ]
    assert "race" in kinds[0] and not kinds[1]

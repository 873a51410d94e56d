"""Which arrays a launch may write, by how the kernel names them: the others are not followed for races."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from autograder import profile
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.launch import RunningLaunch

cuda = cuda_module.build_module()
WRITERS: list[Any] = []
READERS: list[Any] = []
POINT = np.dtype([("x", np.float64), ("n", np.int64)], align=True)


def writes(function):
    """Adds a kernel that puts the elements of `a` in reverse, in place: each element is read before it is written."""
    WRITERS.append(cuda.jit(function))
    return function


def reads(function):
    """Adds a kernel that only reads `a`."""
    READERS.append(cuda.jit(function))
    return function


@cuda.jit(device=True)
def put(array, i, value):
    array[i] = value


@cuda.jit(device=True)
def put_into_the_first(arrays, i, value):
    arrays[0][i] = value


@cuda.jit(device=True)
def itself(array):
    return array


library = types.ModuleType("library")
vars(library)["put"] = put


@writes
def by_its_name(a, b):
    t = cuda.grid(1)
    a[t] = a[63 - t]


@writes
def in_a_device_function(a, b):
    t = cuda.grid(1)
    put(a, t, a[63 - t])


@writes
def by_keyword(a, b):
    t = cuda.grid(1)
    put(array=a, i=t, value=a[63 - t])


@writes
def in_a_function_of_a_module(a, b):
    t = cuda.grid(1)
    library.put(a, t, a[63 - t])


@writes
def as_an_item_of_an_argument(a, b):
    t = cuda.grid(1)
    put_into_the_first((a, b), t, a[63 - t])


@writes
def as_one_of_two_arguments(a, b):
    t = cuda.grid(1)
    put(a if t < 64 else b, t, a[63 - t])


@writes
def as_one_of_two_arrays(a, b):
    t = cuda.grid(1)
    value = a[63 - t]
    (a if t < 64 else b)[t] = value


@writes
def as_an_item_of_a_tuple(a, b):
    t = cuda.grid(1)
    value = a[63 - t]
    target = (b, a)[1]
    target[t] = value


@writes
def as_what_a_function_returns(a, b):
    t = cuda.grid(1)
    itself(a)[t] = a[63 - t]


@writes
def in_a_loop_over_pairs(a, b):
    t = cuda.grid(1)
    value = a[63 - t]
    for array, _ in zip((a, b), (0, 1)):  # noqa: B905 (Numba knows no strict)
        array[t] = value


@writes
def in_another_shape(a, b):
    t = cuda.grid(1)
    value = a[63 - t]
    a.reshape(8, 8)[t // 8, t % 8] = value


@writes
def in_a_slice(a, b):
    t = cuda.grid(1)
    value = a[63 - t]
    a[t : t + 1] = value


@writes
def atomically(a, b):
    t = cuda.grid(1)
    cuda.atomic.add(a, t, a[63 - t])


@pytest.mark.parametrize("kernel", WRITERS, ids=lambda kernel: kernel.__name__)
def test_a_race_is_found_under_whatever_name_the_array_is_written(kernel):
    assert "race" in {hazard.kind for hazard in profile(kernel)[1, 64](np.zeros(64), np.zeros(64)).hazards}


def test_a_race_of_a_record_is_found_where_it_is_written_by_a_name_of_its_own():
    @cuda.jit
    def by_record(a):
        t = cuda.grid(1)
        value = a[63 - t].x
        point = a[t]
        point.x = value

    assert {hazard.kind for hazard in profile(by_record)[1, 64](np.zeros(64, POINT)).hazards} == {"race"}


@reads
def element_by_element(a, b):
    t = cuda.grid(1)
    b[t] = a[t] * a[63 - t] + len(a) + a.shape[0]


@reads
def as_the_place_of_an_atomic(a, b):
    t = cuda.grid(1)
    cuda.atomic.add(b, int(a[t]), 1)


@reads
def as_a_sum(a, b):
    b[cuda.grid(1)] = a.sum() + a[:4].max() + np.sum(a)


@pytest.mark.parametrize("kernel", READERS, ids=lambda kernel: kernel.__name__)
def test_an_array_that_is_only_read_is_not_followed(kernel, monkeypatch):
    written = []
    record = RunningLaunch.record
    monkeypatch.setattr(RunningLaunch, "record", lambda self, *rest: (written.append(self.written), record(self, *rest))[1])
    profile(kernel)[1, 64](np.zeros(64), np.zeros(64))
    assert [len(each) for each in written] == [1]

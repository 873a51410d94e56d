"""Poison: what unwritten memory holds, and how it is told from what a kernel wrote. No GPU needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.cudagpu.memory import is_ambiguous, poisoned, written_mask
from autograder.cudagpu.session import GpuSession

TYPES = ["float16", "float32", "float64", "complex64", "int8", "uint8", "int32", "int64", "uint32", "bool"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("variant", [0, 1])
def test_nothing_counts_as_written_before_somebody_writes(dtype: str, variant: int) -> None:
    array = poisoned((3, 5), dtype, variant)
    assert array.shape == (3, 5) and array.dtype == dtype
    assert not written_mask(array, variant).any()


@pytest.mark.parametrize("dtype", TYPES)
def test_exactly_the_written_elements_count_as_written(dtype: str) -> None:
    array = poisoned((4, 6), dtype)
    array[1, 2:4] = 1
    array[3, 5] = 0
    expected = np.zeros((4, 6), bool)
    expected[1, 2:4] = expected[3, 5] = True
    assert (written_mask(array) == expected).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_unwritten_floats_are_nan_so_that_reading_them_shows(dtype: str) -> None:
    assert np.isnan(poisoned((7,), dtype)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_ordinary_nan_counts_as_written(dtype: str) -> None:
    array = poisoned((2,), dtype)
    array[0] = np.nan
    assert written_mask(array).tolist() == [True, False]


def test_a_byte_that_equals_one_poison_differs_from_the_other() -> None:
    value = poisoned((1,), "uint8", 0)[0]
    array = poisoned((1,), "uint8", 1)
    array[0] = value
    assert is_ambiguous("uint8") and not is_ambiguous("int32") and not is_ambiguous("float16")
    assert written_mask(array, 1).all()


def test_an_empty_array_is_wholly_written() -> None:
    assert written_mask(poisoned((0, 3), "float32")).all()


def test_new_arrays_of_an_earlier_call_are_ready_before_the_clock_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right answer that pads its matrices into temporary arrays was timed with the poison that we fill them with."""
    made = []

    def to_device(session: GpuSession, host: np.ndarray, name: str = "") -> np.ndarray:
        made.append(host)
        return host

    monkeypatch.setattr(GpuSession, "to_device", to_device)
    nothing: Any = None  # is compiled here
    first = GpuSession(nothing, np.random.default_rng(1))
    first.prepare([])
    asked = [((4, 8), np.float32), (6, np.int32), ((4, 8), np.float32)]
    for shape, dtype in asked:
        first.device_array(shape, dtype)
    second = GpuSession(nothing, np.random.default_rng(1))
    second.device_array(3, np.float32)  # an argument's: no array that host code asks for
    second.prepare(first.asked)
    ready = made[4:]
    assert len(ready) == 3 and not any(written_mask(each).any() for each in ready)
    handed: list[Any] = [second.device_array(shape, dtype) for shape, dtype in asked]
    assert {id(each) for each in handed} == {id(each) for each in ready} and len(made) == 7
    assert [(each.shape, each.dtype) for each in handed] == [
        ((4, 8), np.float32),
        ((6,), np.int32),
        ((4, 8), np.float32),
    ]
    second.device_array((4, 8), np.float32)  # one more than last time is made on the spot
    assert len(made) == 8 and second.asked[:3] == first.asked

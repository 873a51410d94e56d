"""Poison: what unwritten memory holds, and how it is told from what a kernel wrote. No GPU needed."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.cudagpu.memory import is_ambiguous, poisoned, written_mask

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
    assert np.isnan(poisoned(7, dtype)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_ordinary_nan_counts_as_written(dtype: str) -> None:
    array = poisoned(2, dtype)
    array[0] = np.nan
    assert written_mask(array).tolist() == [True, False]


def test_a_byte_that_equals_one_poison_differs_from_the_other() -> None:
    value = poisoned(1, "uint8", 0)[0]
    array = poisoned(1, "uint8", 1)
    array[0] = value
    assert is_ambiguous("uint8") and not is_ambiguous("int32") and not is_ambiguous("float16")
    assert written_mask(array, 1).all()


def test_an_empty_array_is_wholly_written() -> None:
    assert written_mask(poisoned((0, 3), "float32")).all()

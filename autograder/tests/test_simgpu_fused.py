"""Fused multiply-adds are rounded once, as exact fractions say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import cuda
from numba.cuda import libdevice

from autograder.simgpu.host.single_launch import launch_once

NUMBERS = 64


def of_cuda(a: Any, b: Any, c: Any, out: Any) -> None:
    i = cuda.grid(1)
    out[i] = cuda.fma(a[i], b[i], c[i])


def of_libdevice(a: Any, b: Any, c: Any, out: Any) -> None:
    i = cuda.grid(1)
    out[i] = libdevice.fma(a[i], b[i], c[i])


def of_libdevice_float32(a: Any, b: Any, c: Any, out: Any) -> None:
    i = cuda.grid(1)
    out[i] = libdevice.fmaf(a[i], b[i], c[i])


def of_half(a: Any, b: Any, c: Any, out: Any) -> None:
    i = cuda.grid(1)
    out[i] = cuda.fp16.hfma(a[i], b[i], c[i])


def nearest(exact: Fraction, dtype: type) -> np.generic:
    """The number of a type that lies nearest; of two that lie equally near the one that NumPy rounds to."""
    with np.errstate(over="ignore"):
        guess = dtype(float(exact))
    near = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    return min(near, key=lambda each: (abs(Fraction(float(each)) - exact), each != guess))


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        (of_cuda, np.float64), (of_cuda, np.float32), (of_libdevice, np.float64), (of_libdevice_float32, np.float32),
        (of_half, np.float16),
    ],
)  # fmt: skip
def test_a_fused_multiply_add_is_rounded_once(kernel: Any, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random(NUMBERS).astype(dtype), rng.random(NUMBERS).astype(dtype)
    c = -(a * b)  # what is left is the error of the product: a second rounding loses most of it
    c[NUMBERS // 2 :] = rng.random(NUMBERS - NUMBERS // 2).astype(dtype)
    out = np.zeros(NUMBERS, dtype)
    launch_once(kernel, 2, NUMBERS // 2, a, b, c, out)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert [float(each) for each in out] == [float(nearest(each, dtype)) for each in exact]


def test_float32_is_not_rounded_by_way_of_float64() -> None:
    """The product is 1 and less than a billionth more: the sum lies just beyond the middle of two float32, and float64 has
    only the middle, which would be rounded to the even one below."""
    one = 1 + 2033 * 2.0**-23
    a, b, c = (np.array([each], np.float32) for each in (one, 1 / one, 2.0**24))
    out = np.zeros(1, np.float32)
    launch_once(of_cuda, 1, 1, a, b, c, out)
    assert np.float32(float(a[0]) * float(b[0]) + float(c[0])) == 2.0**24
    assert out[0] == 2.0**24 + 2

"""Complex numbers in compiled loops: their products as NumPy rounds them on this computer.

NumPy multiplies complex arrays with fused multiply-adds where the processor has them, and without where it has none. Which
of the two it is here is tried once; where it is neither, products are not written.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

from autograder.simgpu.primitives import multiplied_and_added

TRIED = 517  # numbers, so that no vector length divides them


@njit(error_model="numpy", nogil=True)
def fused(a: complex, b: complex) -> complex:
    """A product whose parts are each rounded twice."""
    return complex(
        multiplied_and_added(a.real, b.real, -(a.imag * b.imag)),
        multiplied_and_added(a.real, b.imag, a.imag * b.real),
    )


@njit(error_model="numpy", nogil=True)
def plain(a: complex, b: complex) -> complex:
    """A product whose parts are each rounded three times."""
    return complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


PRODUCTS = {"fused": fused, "plain": plain}


@cache
def product_of(dtype: np.dtype) -> str:
    """Which of `PRODUCTS` NumPy gives for numbers of this type, however many there are; empty: neither."""
    return _found(dtype, lambda a, b: np.multiply(a, b), one_operand=False)


@cache
def square_of(dtype: np.dtype) -> str:
    """Which of them it gives for `x ** 2`."""
    two = dtype.type(2)
    return _found(dtype, lambda a, _: np.power(a, two), one_operand=True)


def _found(dtype: np.dtype, compute: Any, *, one_operand: bool) -> str:
    rng = np.random.default_rng(0)
    a, b = ((rng.normal(0, 1, TRIED) + 1j * rng.normal(0, 1, TRIED)).astype(dtype) for _ in range(2))
    b = a if one_operand else b
    for name, product in PRODUCTS.items():
        wanted = np.array([product(x, y) for x, y in zip(a, b, strict=True)], dtype)
        together = np.array_equal(compute(a, b), wanted)
        if together and all(compute(x, y) == each for x, y, each in zip(a[:9], b[:9], wanted[:9], strict=True)):
            return name
    return ""

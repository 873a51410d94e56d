"""Behaviour that Numba's own CUDA tests ask for, each by a small kernel: errors, exceptions, odd arguments and arrays."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

from autograder.errors import KernelFault
from autograder.simgpu import cuda_module

cuda = cuda_module.build_module()


@cuda.jit
def nothing(x):
    pass


@pytest.mark.parametrize(
    "configuration, kind, words",
    [
        (((1, 2, 3, 4), 5), ValueError, r"griddim must be a sequence of 1, 2 or 3 integers, got \[1, 2, 3, 4\]"),
        ((1, (1, 2, 3, 4)), ValueError, r"blockdim must be a sequence of 1, 2 or 3 integers"),
        ((2.0, 3), TypeError, r"griddim must be a sequence of integers, got \[2.0\]"),
        ((2, 3.0), TypeError, r"blockdim must be a sequence of integers, got \[3.0\]"),
    ],
)
def test_a_wrong_grid_or_block_is_refused_before_the_launch_in_numbas_classes_and_words(configuration, kind, words):
    with pytest.raises(kind, match=words) as caught:
        nothing[configuration]
    assert isinstance(caught.value, KernelFault)


def test_a_kernel_without_grid_and_block_says_so():
    with pytest.raises(ValueError, match="launch configuration was not specified"):
        nothing(0)


# -- exceptions ---------------------------------------------------------------------------------------------------


class MyError(Exception):
    pass


def raises(x):
    if cuda.grid(1) == 5:
        raise MyError("foo")
    x[cuda.grid(1)] = 1


def divides(x):
    x[0] = 1 / x[1]
    x[1] = 5


def indexes_a_tuple(x):
    t = cuda.threadIdx.x
    if t == 2:
        x[t] = x.shape[-t]


def test_an_exception_of_a_debug_kernel_reaches_the_host_with_its_thread_and_block():
    x = np.zeros(8)
    with pytest.raises(
        MyError, match=r"In function 'raises', file .*, line \d+, tid=\[0, 0, 1\] ctaid=\[0, 0, 1\]: foo"
    ):
        cuda.jit(debug=True, opt=False)(raises)[2, 4](x)
    assert x.tolist() == [1, 1, 1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("kind", [ZeroDivisionError, FloatingPointError])
def test_a_division_by_zero_stops_a_debug_kernel_where_it_happens_and_no_other(kind):
    x = np.zeros(2)
    with pytest.raises(kind, match="division by zero"):
        cuda.jit(debug=True, opt=False)(divides)[1, 1](x)
    assert x.tolist() == [0, 0]
    cuda.jit(divides)[1, 1](x)
    assert x.tolist() == [np.inf, 5]


def test_an_item_that_a_tuple_lacks_is_an_index_error_in_a_debug_kernel():
    with pytest.raises(IndexError, match="tuple index out of range"):
        cuda.jit(debug=True, opt=False)(indexes_a_tuple)[1, 3](np.zeros(3))
    shape = np.zeros((3, 7))

    @cuda.jit
    def last(x, out):
        out[cuda.threadIdx.x] = x.shape[-1 - cuda.threadIdx.x]

    out = np.zeros(2)
    last[1, 2](shape, out)
    assert out.tolist() == [7, 3]


# -- arrays -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[::-1]])
def test_a_host_array_that_is_not_in_one_piece_is_not_copied(part):
    with pytest.raises(ValueError, match=r"Pass np.ascontiguousarray\(array\)"):
        cuda.to_device(np.arange(10)[part])


@pytest.mark.parametrize(
    "array",
    [np.zeros((3, 4)).T, np.zeros((2, 3, 4)).transpose(1, 0, 2), np.broadcast_to(np.zeros(3), (2, 3)), np.zeros(0)],
)
def test_transposed_and_broadcast_arrays_are_copied(array):
    assert cuda.to_device(array).shape == array.shape


# -- complex numbers ----------------------------------------------------------------------------------------------

PARTS = [0.0, -0.0, 1.0, -3.5, np.inf, -np.inf, np.nan]
NUMBERS = [complex(x, y) for x in PARTS for y in PARTS]


@cuda.jit
def exponential(z, out):
    i = cuda.grid(1)
    if i < z.size:
        out[i] = cmath.exp(z[i])


@cuda.jit
def through_polar(z, out):
    i = cuda.grid(1)
    if i < z.size:
        out[i] = complex(*cmath.polar(z[i]))


@cuda.jit
def rectangular(z, out):
    i = cuda.grid(1)
    if i < z.size:
        out[i] = cmath.rect(z[i].real, z[i].imag)


@pytest.mark.parametrize(
    "kernel, function",
    [
        (exponential, cmath.exp),
        (through_polar, lambda z: complex(*cmath.polar(z))),
        (rectangular, lambda z: cmath.rect(z.real, z.imag)),
    ],
)
def test_complex_functions_keep_pythons_infinities_and_signs_of_zero(kernel, function):
    given, expected = [], []
    for number in NUMBERS:
        if kernel is rectangular and np.isinf(number.real) and np.isnan(number.imag):
            continue  # C leaves the sign open, and Numba and Python choose differently
        try:
            expected.append(function(number))
        except ValueError:
            continue
        given.append(number)
    got = np.zeros(len(given), np.complex128)
    kernel[1, 64](np.array(given), got)
    for one, other, number in zip(got, expected, given, strict=True):
        for a, b in ((one.real, other.real), (one.imag, other.imag)):
            assert (np.isnan(a) and np.isnan(b)) or (np.isclose(a, b) and np.signbit(a) == np.signbit(b)), number

"""Behaviour that Numba's own CUDA tests ask for, each by a small kernel: errors, exceptions, odd arguments and arrays."""

from __future__ import annotations

import cmath
import enum
import types

import numpy as np
import pytest
from numba.core import types as numba_types

from autograder import profile
from autograder.errors import KernelFault
from autograder.simgpu.host import cuda_module

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


def test_a_thread_stops_where_a_device_function_raises():
    @cuda.jit(device=True)
    def at_most_two(value):
        if value > 2:
            raise ValueError
        return value

    @cuda.jit
    def kernel(x):
        t = cuda.grid(1)
        for k in range(3):
            x[t] += 1 + at_most_two(t + k)
        x[t] += 100
        cuda.atomic.add(x, 6, 1)

    x = np.zeros(8)
    kernel[1, 8](x)
    assert x.tolist() == [100 + 6, 2 + 3, 3, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("kind", [ZeroDivisionError, FloatingPointError])
def test_a_division_by_zero_stops_a_debug_kernel_where_it_happens_and_no_other(kind):
    x = np.zeros(2)
    with pytest.raises(kind, match="division by zero"):
        cuda.jit(debug=True, opt=False)(divides)[1, 1](x)
    assert x.tolist() == [0, 0]
    for options in ({}, {"debug": True, "opt": False, "fastmath": True}):
        x[:] = 0
        cuda.jit(**options)(divides)[1, 1](x)
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
    with pytest.raises(ValueError, match="non-contiguous buffer"):
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
        if kernel is rectangular and (np.isnan(number.real) or np.isinf(number.real) and np.isnan(number.imag)):
            continue  # C leaves open what becomes of these, and Numba and Python choose differently
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


# -- functions ----------------------------------------------------------------------------------------------------


@cuda.jit
def applied(function, *args):
    return function(*args)


@cuda.jit(device=True)
def sum_of(first, *others):
    total = first
    for each in others:
        total += each
    return total


@cuda.jit
def functions_as_arguments(out):
    base = 10

    def add(x, y=1):
        return base + x + y

    i = cuda.grid(1)
    out[0, i] = applied(add, i)
    out[1, i] = applied(add, i, 5)
    out[2, i] = sum_of(i, 1, 2, 3)
    out[3, i] = sum_of(i)


def test_functions_are_arguments_and_a_function_takes_any_number_of_them():
    out = np.zeros((4, 3), np.int64)
    functions_as_arguments[1, 3](out)
    assert out.tolist() == [[11, 12, 13], [15, 16, 17], [6, 7, 8], [0, 1, 2]]


@cuda.jit
def first_of_all(out, *arrays):
    for array in arrays:
        out[0] += array[0]


def test_a_kernel_takes_any_number_of_arrays_but_not_too_few():
    out = np.zeros(1)
    first_of_all[1, 1](out, np.array([1.0]), np.array([20.0]))
    assert out.tolist() == [21]
    with pytest.raises(KernelFault, match=r"`first_of_all` takes at least 1 argument \(out\), but 0 are given"):
        first_of_all[1, 1]()


def test_functions_and_numbers_of_a_module_of_ones_own():
    module = types.ModuleType("mine")
    vars(module).update(twice=cuda.jit(device=True)(lambda x: x * 2), OFFSET=5)

    @cuda.jit
    def uses_it(out):
        out[0] = module.twice(10) + module.OFFSET

    @cuda.jit
    def misses_it(out):
        out[0] = module.thrice(10)

    out = np.zeros(1)
    uses_it[1, 1](out)
    assert out.tolist() == [25]
    with pytest.raises(KernelFault, match="The module `mine` has no `thrice`"):
        misses_it[1, 1](out)


class Shape(enum.IntEnum):
    circle = 2


class Number(enum.IntEnum):
    two = 2
    deux = 2


class Planet(enum.Enum):
    earth = (5.976e24, 6.378e6)
    mars = (6.421e23, 3.397e6)


@cuda.jit
def compares(a, b, out):
    out[0], out[1], out[2], out[3] = a == b, a != b, a is b, a is not b


@pytest.mark.parametrize(
    "a, b",
    [(Shape.circle, Number.two), (Number.two, Number.deux), (Planet.earth, Planet.earth), (Planet.earth, Planet.mars)],
)
def test_members_of_two_enumerations_are_equal_by_value_and_never_the_same(a, b):
    out = np.zeros(4, np.bool_)
    compares[1, 1](a, b, out)
    assert out.tolist() == [a == b, a != b, a is b, a is not b]


# -- texts, dates and copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, dtype", [("XYZ", "<U12"), (b"XYZ", "S12")])
def test_texts_are_stored_and_compared(text, dtype):
    @cuda.jit
    def kernel(texts, equal):
        i = cuda.grid(1)
        texts[i] = text
        equal[i] = texts[i] == text and not (texts[i] != text)

    texts, equal = np.zeros(5, dtype), np.zeros(4, np.bool_)
    kernel[1, 4](texts, equal)
    assert texts.tolist() == [text] * 4 + [type(text)()] and equal.all()


def test_texts_in_records():
    @cuda.jit
    def kernel(a):
        a[0]["x"] = 1
        a[0]["y"] = "ABC"

    a = np.zeros(2, [("x", np.int32), ("y", "<U12")])
    kernel[1, 1](a)
    assert a.tolist() == [(1, "ABC"), (0, "")]


@pytest.mark.parametrize("text, array", [("XYZ", np.zeros(1)), ("XYZ", np.zeros(1, "S4"))])
def test_a_text_is_no_number_and_no_bytes(text, array):
    @cuda.jit
    def kernel(a):
        a[0] = text

    with pytest.raises(KernelFault, match="A text cannot be stored in `a`"):
        kernel[1, 1](array)


def test_texts_too_long_to_be_counted_are_refused():
    with pytest.raises(KernelFault, match="64 can be simulated"):
        cuda.to_device(np.zeros(3, "<U17"))


@cuda.jit
def dates(start, end, target, delta, matches):
    i = cuda.grid(1)
    if i < delta.size:
        delta[i] = end[i] - start[i]
        matches[i] = start[i] == target


def test_dates_are_subtracted_and_compared():
    start = np.arange("2005-02", "2005-04", dtype="datetime64[D]")
    end = start + np.arange(start.size) * 7
    delta, matches = np.zeros(start.size, "timedelta64[D]"), np.zeros(start.size, np.bool_)
    dates[1, 64](start, end, start[5], delta, matches)
    np.testing.assert_array_equal(delta, end - start)
    assert matches.nonzero()[0].tolist() == [5]


def test_reductions_that_pass_over_nan():
    @cuda.jit
    def kernel(a, out):
        out[0], out[1], out[2] = np.nansum(a), np.nanprod(a), np.nanmean(a)
        out[3], out[4], out[5] = np.nanmin(a), np.nanmax(a), np.count_nonzero(a)

    a, out = np.array([np.nan, 2.0, np.nan, 5.0, 0.0]), np.zeros(6)
    kernel[1, 1](a, out)
    functions = (np.nansum, np.nanprod, np.nanmean, np.nanmin, np.nanmax, np.count_nonzero)
    np.testing.assert_allclose(out, [function(a) for function in functions])


# -- slices that differ by thread ---------------------------------------------------------------------------------


def slices_of_one_length(a, out):
    i = cuda.grid(1)
    part = a[3 * i : 3 * i + 3]
    out[i] = part[0] + 10 * part[-1] + 100 * part.shape[0]


def tails(a, out):
    i = cuda.grid(1)
    tail = a[i:]
    out[i] = len(tail) + 10 * tail[0] + 100 * tail[-1]


def sums_of_slices(a, out):
    i = cuda.grid(1)
    total = 0
    for x in a[i : 2 * i + 1]:
        total += x
    out[i] = total


def every_other_from(a, out):
    i = cuda.grid(1)
    part = a[i::2]
    for k in range(part.size):
        out[i] += part[k] * (k + 1)


def fills_slices(a, out):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i : i + 1 + i // 2 % 2] = a[i] + 1


def rows_of_rows(a, out):
    i = cuda.grid(1)
    square = a.reshape(4, 4)[i % 4 :, 1:]
    out[i] = square[0, 0] + square[-1, -1] + 100 * square.shape[0]


@pytest.mark.parametrize(
    "kernel", [slices_of_one_length, tails, sums_of_slices, every_other_from, fills_slices, rows_of_rows]
)
def test_slices_whose_bounds_differ_by_thread_are_what_python_makes_of_them(kernel):
    a, n = np.arange(16) ** 2, 5
    got, expected = np.zeros(n + 3, np.int64), np.zeros(n + 3, np.int64)
    launched = profile(cuda.jit(kernel))[1, n](a, got)
    for thread in range(n):
        one = types.SimpleNamespace(grid=lambda axes, thread=thread: thread)
        types.FunctionType(kernel.__code__, {"cuda": one, "len": len, "range": range})(a, expected)
    assert got.tolist() == expected.tolist()
    assert {hazard.kind for hazard in launched.hazards} <= {"negative_index"}


def test_an_index_beyond_a_threads_own_slice_is_out_of_bounds():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = a[i : 2 * i + 1][2]

    found = profile(kernel)[1, 4](np.arange(16), np.zeros(4)).hazards
    assert [(each.kind, each.thread, each.occurrences) for each in found] == [("out_of_bounds", (0, 0, 0), 2)]
    assert "outside its shape (1,)" in found[0].message


def test_compare_and_swap_on_the_first_element_of_each_threads_slice():
    @cuda.jit
    def kernel(a, old):
        i = cuda.grid(1)
        old[i] = cuda.atomic.compare_and_swap(a[i:], -1, i)

    a, old = np.array([-1, 7, -1, 9]), np.zeros(4, np.int64)
    kernel[1, 4](a, old)
    assert a.tolist() == [0, 7, 2, 9] and old.tolist() == [-1, 7, -1, 9]


@pytest.mark.parametrize(
    "use", ["part.sum()", "part.T[0]", "np.sum(part)", "np.ravel(part)[0]", "np.transpose(part)[0]", "a[i::i + 1][0]"]
)
def test_what_needs_one_length_for_all_threads_says_so(use, tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(f"def kernel(a, out):\n    i = cuda.grid(1)\n    part = a[i:]\n    out[i] = {use}\n")
    names = {"cuda": cuda, "np": np}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(KernelFault, match="thread"):
        cuda.jit(names["kernel"])[1, 4](np.arange(16), np.zeros(4))


# -- functions with overloads -------------------------------------------------------------------------------------


def test_an_ordinary_function_with_an_overload_is_called_in_its_implementation_for_these_types():
    extending = cuda.extending

    def describe(x, factor=1):
        raise NotImplementedError

    @extending.overload(describe)
    def choose(x, factor=1):
        if isinstance(x, numba_types.Array):
            return lambda x, factor=1: x.size * factor
        if isinstance(x, numba_types.Float):
            return lambda x, factor=1: x * 10 * factor
        return None

    @cuda.jit
    def kernel(a, out):
        out[0] = describe(a)
        out[1] = describe(a[1])
        out[2] = describe(a[1], factor=2)

    @cuda.jit
    def integer(a, out):
        out[0] = describe(3)

    out = np.zeros(3)
    kernel[1, 1](np.array([1.0, 2.0]), out)
    assert out.tolist() == [2, 20, 40]
    with pytest.raises(KernelFault, match=r"`describe` has no overload for \(int64\)"):
        integer[1, 1](np.zeros(1), out)


def test_numbas_own_decorators_tell_the_device_while_it_is_installed():
    import numba.extending

    before = numba.extending.overload
    cuda_module.install()
    try:

        @numba.extending.register_jitable
        def twice(x):
            return 2 * x

        def answer():
            raise NotImplementedError

        @numba.extending.overload(answer, target="cuda")
        def choose():
            return lambda: 42

        from numba import cuda as installed

        @installed.jit
        def kernel(out):
            out[0] = twice(answer())

        out = np.zeros(1)
        kernel[1, 1](out)
        assert out.tolist() == [84] and twice(3) == 6
    finally:
        cuda_module.uninstall()
    assert numba.extending.overload is before


def test_what_an_overload_stores_races_too():
    def shift(a, i):
        raise NotImplementedError

    @cuda.extending.overload(shift)
    def choose(a, i):
        def implementation(a, i):
            a[i] = a[i + 1]

        return implementation

    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i + 1 < a.size:
            shift(a, i)

    assert {hazard.kind for hazard in profile(kernel)[2, 64](np.zeros(128)).hazards} == {"race"}


# -- device arrays on the host ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", "CFA")
@pytest.mark.parametrize("made", [np.ascontiguousarray, np.asfortranarray])
def test_ravel_goes_by_the_order_in_memory_or_refuses(order, made):
    host = made(np.arange(24).reshape(2, 3, 4))
    array = cuda.to_device(host)
    if order == "A" or host.flags[f"{order}_CONTIGUOUS"]:
        assert array.ravel(order=order).copy_to_host().tolist() == host.ravel(order=order).tolist()
    else:
        with pytest.raises(NotImplementedError, match=f"in {order} order"):
            array.ravel(order=order)


def test_reshape_in_fortrans_order_keeps_it_on_the_way_to_the_host():
    got = cuda.to_device(np.arange(10)).reshape(2, 5, order="F").copy_to_host()
    expected = np.arange(10).reshape(2, 5, order="F")
    assert got.tolist() == expected.tolist() and got.strides == expected.strides


@pytest.mark.parametrize("shape", [1.5, np.float64(1.5), np.array(1.5), [1.5], np.array([1.5, 2.5])])
def test_a_shape_of_floats_is_a_type_error(shape):
    with pytest.raises(TypeError, match="made of integers"):
        cuda.device_array(shape)
    assert cuda.device_array(np.array([3, 4])).shape == (3, 4)


@pytest.mark.parametrize("axes", [(0, 0), (0, 2)])
def test_axes_that_are_missing_or_named_twice(axes):
    with pytest.raises(ValueError, match="invalid axes list"):
        np.transpose(cuda.to_device(np.zeros((3, 4))), axes)


def test_copies_between_device_arrays_need_the_same_order_and_dtype():
    c, f = np.arange(27.0).reshape(3, 3, 3), np.asfortranarray(np.arange(27.0).reshape(3, 3, 3))
    target = cuda.to_device(c)
    with pytest.raises(ValueError, match="incompatible strides"):
        target.copy_to_device(cuda.to_device(f))
    with pytest.raises(TypeError, match="incompatible dtype"):
        target.copy_to_device(cuda.to_device(c.astype(np.float32)))
    with pytest.raises(ValueError, match="non-contiguous buffer"):
        cuda.to_device(np.zeros(3)).copy_to_device(cuda.to_device(np.zeros(6))[::2])
    with pytest.raises(ValueError, match="non-contiguous buffer"):
        cuda.to_device(f)[1].copy_to_device(np.zeros((3, 3)))
    target.copy_to_device(f * 2)
    assert target.copy_to_host().tolist() == (f * 2).tolist()


def test_a_field_of_all_records_is_an_array():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = a.value[i] + a["other"][i]

    a = np.zeros(4, [("value", np.int64), ("other", np.float64)])
    a["value"], a["other"] = np.arange(4), np.arange(4) / 8
    out = np.zeros(4)
    kernel[1, 4](a, out)
    np.testing.assert_array_equal(out, np.arange(4) * 1.125)


# -- decorators ---------------------------------------------------------------------------------------------------


def test_the_signature_of_a_device_function_converts_what_it_is_given_and_returns():
    @cuda.jit("int32(int32, int32)", device=True)
    def packed(a, b):
        return (a & 0xFF) | ((b & 0xFF) << 8)

    @cuda.jit("float32(float64)", device=True)
    def narrowed(x):
        return x / 3

    @cuda.jit
    def kernel(a, out, exact):
        out[0] = packed(a[0], a[1])
        exact[0] = narrowed(a[2])

    out, exact = np.zeros(1, np.int64), np.zeros(1)
    kernel[1, 1](np.array([1.9, 2.0, 1.0], np.float32), out, exact)
    assert out[0] == 0x0201 and exact[0] == np.float32(1 / 3)


def test_a_block_larger_than_the_launch_bounds_is_refused():
    @cuda.jit(launch_bounds=(64, 2))
    def kernel(x):
        x[cuda.grid(1)] = 1

    kernel[1, 64](np.zeros(64))
    with pytest.raises(KernelFault, match=r"launch_bounds=\(64, 2\).*blocks of 128 threads"):
        kernel[1, (64, 2)](np.zeros(128))


# -- arrays that the host may only read ---------------------------------------------------------------------------


def read_only(values):
    array = np.asarray(values)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "line", ["a[0] = 5", "a[0] += 5", "a[1:][0] = 5", "a[:] = 5", "store(a)", "cuda.atomic.add(a, 0, 5)"]
)
def test_a_kernel_that_writes_to_an_array_that_is_read_only_on_the_host_is_refused(line, tmp_path):
    file = tmp_path / "kernels.py"
    body = f"    out[0] = a[0]\n    if out[0] == 5 - 4:\n        {line}\n"
    file.write_text(f"def store(a):\n    a[0] = 5\n\ndef kernel(a, out):\n{body}")
    names = {"cuda": cuda}
    exec(compile(file.read_text(), str(file), "exec"), names)
    names["store"] = cuda.jit(device=True)(names["store"])
    kernel = cuda.jit(names["kernel"])
    a, out = read_only([1.0, 2.0]), np.zeros(1)
    with pytest.raises(KernelFault, match=r"`a` is read-only on the host.*Cannot modify readonly array") as caught:
        kernel[1, 1](a, out)
    assert a.tolist() == [1, 2] and "a.copy()" in caught.value.remedy
    writable = a.copy()
    kernel[1, 1](writable, out)
    assert writable.tolist() != [1, 2]  # the same kernel, and another type


def test_a_read_only_array_is_read_and_written_where_numba_does_not_look():
    @cuda.jit
    def reads(a, out):
        out[cuda.grid(1)] = a[cuda.grid(1)]

    @cuda.jit("void(float64[:])")
    def writes(a):
        a[cuda.grid(1)] = 7

    a, out = read_only(np.arange(4.0)), np.zeros(4)
    for _ in range(4):
        reads[1, 4](a, out)
    writes[1, 4](a)
    assert out.tolist() == a.tolist() == [0, 1, 2, 3]
    on_device = cuda.to_device(a)
    writes[1, 4](on_device)
    assert on_device.copy_to_host().tolist() == [7, 7, 7, 7]


@pytest.mark.parametrize("has_stresses", [False, True])
def test_a_name_around_that_has_no_value_matters_only_where_the_kernel_comes_by_it(has_stresses):
    def make(knows):
        if knows:
            factor = 3.0

        @cuda.jit
        def kernel(out):
            out[0] = 1
            if has_stresses:
                out[0] = factor

        return kernel

    out = np.zeros(1)
    make(True)[1, 1](out)
    assert out[0] == (3 if has_stresses else 1)
    if has_stresses:
        with pytest.raises(KernelFault, match="`factor` has no value here"):
            make(False)[1, 1](out)
    else:
        make(False)[1, 1](out)
        assert out[0] == 1

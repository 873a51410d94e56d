"""`vectorize` and `guvectorize` with `target="cuda"` choose types as Numba's own code does, and refuse what it refuses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

from autograder.errors import KernelFault
from autograder.language.program import Function, Reference
from autograder.simgpu.functions import library_functions
from autograder.simgpu.host import cuda_module, repeats, same_way
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.dispatch import device
from autograder.simgpu.values.arrays import DeviceArray

pytestmark = pytest.mark.quick
numbas = pytest.importorskip("numba.cuda.deviceufunc")  # the oracle; what this class decides needs no GPU

SIGNATURES = [
    ["int16(int16, int16)"],
    ["float32(float32, float32)"],
    ["int32(int32, int32)", "float32(float32, float32)", "float64(float64, float64)"],
    ["int64(int64, int64)", "float64(float64, float64)"],
    ["float64(int32, float32)", "float64(float32, int32)"],
]
ARGUMENTS = [
    *(np.ones(3, dtype) for dtype in (np.int16, np.int32, np.int64, np.float32, np.float64)),
    2, 2.5, True, np.float32(2.5), np.int16(2), [1, 2, 3], [1.5, 2.5, 3.5],
]  # fmt: skip


@pytest.fixture
def simulated() -> Iterator[None]:
    cuda_module.install()
    try:
        yield
    finally:
        cuda_module.uninstall()


def plus(a, b):
    return a + b


def numbas_choice(signatures: list[str], arguments: tuple[Any, ...]) -> Any:
    """What Numba makes of the arguments: their dtypes and values, or the class of its error."""
    typemap = {
        tuple(np.dtype(each.strip()) for each in text[text.index("(") + 1 : -1].split(",")): None for text in signatures
    }
    try:
        arrays = numbas.UFuncMechanism(typemap, arguments).get_arguments()
    except TypeError as error:
        return "ambiguous" if "ambiguous" in str(error) else "no matching version"
    return [(array.dtype, array.tolist()) for array in arrays]


def our_choice(signatures: list[str], arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> Any:
    made = numba.vectorize(signatures, target="cuda")(plus)
    given: list[Any] = []
    monkeypatch.setattr(made, "_launch", lambda columns, target: given.extend(columns))
    try:
        made(*arguments)
    except TypeError as error:
        assert isinstance(error, KernelFault)
        return "ambiguous" if "ambiguous" in str(error) else "no matching version"
    return [(array.dtype, array.tolist()) for array in given]


@pytest.mark.parametrize("signatures", SIGNATURES, ids=lambda each: " ".join(each))
def test_a_ufunc_gets_what_numba_would_give_it(signatures, simulated, monkeypatch):
    for arguments in itertools.product(ARGUMENTS, repeat=2):
        expected = numbas_choice(signatures, arguments)
        assert our_choice(signatures, arguments, monkeypatch) == expected, arguments


def test_a_float_among_arrays_of_integers_becomes_an_integer(simulated):
    """`zero_suppress(waveform, 15.0)` of NVIDIA's GTC notebooks."""

    @numba.vectorize(["int16(int16, int16)"], target="cuda")
    def zero_suppress(waveform_value, threshold):
        return waveform_value if waveform_value >= threshold else 0

    got = zero_suppress(np.array([14, 15, 16], np.int16), 15.9)
    assert got.tolist() == [0, 15, 16] and got.dtype == np.int16


@pytest.mark.parametrize("dtype", [np.int32, np.int16, np.float64])
def test_an_array_of_another_dtype_is_refused_with_what_to_do(dtype, simulated):
    made = numba.vectorize(["float32(float32, float32)"], target="cuda")(plus)
    with pytest.raises(TypeError, match=r"No matching version of `plus` for .*exact types.*\.astype"):
        made(np.ones(3, dtype), np.ones(3, np.float32))
    with pytest.raises(TypeError, match="exact types"):
        made(cuda_module.build_module().to_device(np.ones(3, dtype)), 1.0)
    assert made(np.ones(3, np.float32), 2).tolist() == [3, 3, 3]


def test_numbers_alone_give_an_array_of_one_element(simulated):
    made = numba.vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")(plus)
    assert made(1.25, 2.5).tolist() == [3.75] and made(1.25, 2.5).dtype == np.float64
    with pytest.raises(TypeError, match="ambiguous"):
        made(1, 2)


def test_a_result_goes_into_an_array_of_any_order(simulated):
    made = numba.vectorize(["float64(float32, float32)"], target="cuda")(plus)
    out = cuda_module.build_module().to_device(np.zeros((2, 3), order="F"))
    made(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), out=out)
    assert isinstance(out, DeviceArray) and out.copy_to_host().tolist() == [[2, 2, 2]] * 2


def test_shapes_that_do_not_fit_are_a_value_error(simulated):
    made = numba.vectorize(["float64(float64, float64)"], target="cuda")(plus)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        made(np.ones(3), np.ones(4))


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"cache": True}, TypeError, "caching is not supported"),
        ({"fastmath": True}, KeyError, "does not support option: 'fastmath'"),
    ],
)
def test_options_that_the_target_lacks_are_refused_in_numbas_words(options, kind, words, simulated):
    with pytest.raises(kind, match=words):
        numba.vectorize(["float64(float64, float64)"], target="cuda", **options)(plus)


def test_a_lambda_is_refused_which_numba_cannot_name():
    cuda = cuda_module.build_module()
    with pytest.raises(TypeError, match="`<lambda>`, which has no name. Write it with `def`"):
        cuda.vectorize(["float64(float64)"])(lambda a: a)
    with pytest.raises(TypeError, match="has no name"):
        cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")(lambda a, out: None)


# -- guvectorize --------------------------------------------------------------------------------------------------

CORES = [
    ["void(float64[:], float64[:], float64[:])"],
    ["void(float32[:], float32[:], float32[:])"],
    ["void(int32[:], int32[:], int32[:])", "void(float64[:], float64[:], float64[:])"],
]


def sums(a, b, out):
    for i in range(a.size):
        out[i] = a[i] + b[i]


@pytest.mark.parametrize("signatures", CORES, ids=lambda each: " ".join(each))
def test_a_generalized_ufunc_takes_the_types_that_numba_would(signatures, simulated):
    dtypes = [(np.dtype(each[5:].split("[")[0]),) * 2 for each in signatures]
    engine = numbas.GUFuncEngine.from_signature("(n),(n)->(n)")
    oracle = numbas.GeneralizedUFunc(dict.fromkeys(dtypes), engine)
    made = numba.guvectorize(signatures, "(n),(n)->(n)", target="cuda")(sums)
    for given in itertools.product([np.int32, np.int64, np.float32, np.float64], repeat=2):
        wanted = tuple(map(np.dtype, given))
        try:
            expected = wanted if wanted in dtypes else oracle._search_matching_signature(wanted)
        except TypeError:
            with pytest.raises(TypeError, match="no matching signature"):
                made(*(np.ones(4, dtype) for dtype in given))
            continue
        got = made(*(np.ones(4, dtype) for dtype in given))
        assert got.dtype == expected[0] and got.tolist() == [2, 2, 2, 2], given


def test_a_number_declared_as_an_array_has_one_element(simulated):
    """The moving mean of Numba's documentation."""

    @numba.guvectorize(["void(float64[:], int64[:], float64[:])"], "(n),()->(n)", target="cuda")
    def move_mean(a, window_arr, out):
        window_width = window_arr[0]
        total = 0.0
        for i in range(window_width):
            total += a[i]
            out[i] = total / (i + 1)
        for i in range(window_width, len(a)):
            total += a[i] - a[i - window_width]
            out[i] = total / window_width

    a = np.arange(20, dtype=np.float64).reshape(2, 10)
    means = [[row[max(0, i - 2) : i + 1].mean() for i in range(10)] for row in a]
    np.testing.assert_allclose(move_mean(a, 3), means)


def test_what_a_generalized_ufunc_refuses(simulated):
    made = numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->(n)", target="cuda")(sums)
    a = np.ones((2, 4))
    with pytest.raises(TypeError, match="This gufunc accepts 2 positional arguments .* or 3 positional .* Got 1 positional"):
        made(a)
    with pytest.raises(ValueError, match="'out' as both positional and keyword"):
        made(a, a, a.copy(), out=a.copy())
    with pytest.raises(ValueError, match="outer dimension mismatch"):
        made(np.ones((2, 4)), np.ones((3, 4)))
    with pytest.raises(ValueError, match="the dimension n is 4 here and 5 there"):
        made(a, np.ones((2, 5)))
    on_device = cuda_module.build_module().to_device(np.ones(4, np.float32))
    single = numba.guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->(n)", target="cuda")(sums)
    with pytest.raises(TypeError, match=r"does not support .astype"):
        single(np.ones(4), cuda_module.build_module().to_device(np.ones(4)))
    assert single(on_device, on_device).copy_to_host().tolist() == [2, 2, 2, 2]
    with pytest.raises(TypeError, match="cannot return values"):
        numba.guvectorize(["float64(float64[:], float64[:])"], "(n)->(n)", target="cuda")(lambda a, out: None)
    with pytest.raises(TypeError, match="target options are not supported: 'fastmath'"):
        numba.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda", fastmath=True)(lambda a, out: None)


def test_numbers_that_are_written_out_are_those_of_each_call(simulated: None) -> None:
    @numba.vectorize(["float64(float64, float64)"], target="cuda")
    def scaled(x: Any, by: Any) -> Any:
        return x * by

    x = np.arange(5.0)
    for by in (2.0, 2.0, 3.0):
        assert scaled(x, by).tolist() == [by * i for i in range(5)]
    assert scaled(np.arange(3.0), 3.0).tolist() == [0, 3, 6], "of another length"
    one = np.array([4.0])
    assert scaled(x, one).tolist() == [4 * i for i in range(5)]
    one[0] = 5
    assert scaled(x, one).tolist() == [5 * i for i in range(5)] and x.tolist() == [0, 1, 2, 3, 4]


def grown(last, dt, noise):
    return last * math.exp(0.1 * dt + 0.02 * noise)


def test_the_results_of_call_after_call_are_those_of_steps(simulated, monkeypatch):
    """They go the same way, by whole arrays, once they have taken some time; what a call gives stays as it is."""
    carried, computed = [], []
    monkeypatch.setattr(repeats, "WORTH_SECONDS", 0.0)
    carry_out = same_way.SameWay.carry_out
    monkeypatch.setattr(same_way.SameWay, "carry_out", lambda self, launch: computed.append(1) or carry_out(self, launch))
    monkeypatch.setattr(device, "listeners", [lambda record, kernel, arguments: carried.append(record)])
    function = numba.vectorize(["f8(f8, f8, f8)"], target="cuda")(grown)
    rng, last, results = np.random.default_rng(1), np.full(10_000, 20.0), []
    for _ in range(8):
        noise = rng.normal(0, 1, 10_000)
        last = function(last, 0.004, noise)
        results.append((noise, last, last.copy()))
    monkeypatch.setattr(repeats, "MOST_TRIES", 0)
    monkeypatch.setattr(device.session, "repeats", repeats.Repeats())
    last = np.full(10_000, 20.0)
    for noise, result, then in results:
        last = function(last, 0.004, noise)
        assert np.array_equal(result, then) and np.array_equal(result, last) and result.flags.writeable
    assert len(computed) >= 4 and carried[:8] == carried[8:]


def test_arrays_on_the_device_are_not_copied(simulated, monkeypatch):
    """They go to the kernel as they are, and results to where they are wanted; other strides and types by a copy."""
    cuda, copies = numba.cuda, []
    copy = DeviceArray.copy_to_host
    monkeypatch.setattr(DeviceArray, "copy_to_host", lambda self, *given: copies.append(self.shape) or copy(self, *given))
    function = numba.vectorize(["f8(f8, f8)"], target="cuda")(plus)
    host = np.arange(12.0).reshape(3, 4)
    one, other = cuda.to_device(host), cuda.to_device(host + 1)
    out, wide, columns = cuda.device_array((3, 4)), cuda.device_array((3, 4), np.complex128), cuda.device_array((4, 3)).T
    assert function(one, other, out=out) is out and function(one, 1.0).shape == (3, 4) and not copies
    for place in (wide, columns, one):
        assert function(one, other, out=place) is place
    assert copies
    for place in (out, wide, columns, one):
        assert np.array_equal(copy(place), host + host + 1)
    assert np.array_equal(copy(function(out, other[:1])), copy(out) + copy(other)[:1])


def test_a_device_array_that_nobody_has_written_is_told(simulated, capsys):
    function = numba.vectorize(["f8(f8, f8)"], target="cuda")(plus)
    function(numba.cuda.device_array(5), np.ones(5))
    assert "uninitialised read" in capsys.readouterr().err


@pytest.mark.parametrize("name", library_functions.REFUSED)
def test_what_numba_has_for_no_kernel_is_refused_with_what_to_write(name: str, simulated: None) -> None:
    function = getattr(np, name)
    given = ", ".join(["x[0]"] * getattr(function, "nin", 1))
    text = f"def kernel(x):\n    x[0] = np.{name}({given})\n"
    kernel = Function.from_text(text, "kernel.py", {"np": Reference("numpy")})
    with pytest.raises(KernelFault, match=rf"Numba has no np\.{name} in a kernel") as told:
        Session(output=lambda line: None).launch(kernel, 1, 1, (np.ones(1),))
    assert f"Write {library_functions.REFUSED[name]}." in str(told.value)

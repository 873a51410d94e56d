"""The stand-in for CuPy: its results against NumPy's, its arrays in kernels, and what it says of what it lacks."""

from __future__ import annotations

import copy
import importlib.machinery
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import autograder
from autograder.cupy_stand_in import functions, modules
from autograder.cupy_stand_in.arrays import CupyArray
from autograder.errors import KitError
from autograder.simgpu.host import cupy_memory


@pytest.fixture
def cp() -> Iterator[Any]:
    with autograder.simulate():
        import cupy

        yield cupy


@pytest.fixture
def cuda() -> Iterator[Any]:
    with autograder.simulate() as module:
        yield module


RNG = np.random.default_rng(7)
SQUARE = RNG.normal(size=(5, 5)).astype(np.float32) + 5 * np.eye(5, dtype=np.float32)
VECTOR = RNG.normal(size=12)
COUNTS = RNG.integers(0, 9, 20)
SIGNED = np.array([-3, -1, 0, 2, 127], np.int8)


def moved(cp: Any, value: Any) -> Any:
    """NumPy's arrays on the device, also in lists."""
    if isinstance(value, np.ndarray):
        return cp.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(cp, each) for each in value)
    return value


def same(found: Any, expected: Any) -> None:
    """Equal in values, dtype and shape, and nothing is left of NumPy's arrays."""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert type(found).__module__ == "cupy", type(found)
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind in "fc":  # libraries may round by where an array lies
        bound = 64 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found.get(), expected, bound, bound * max(1, np.abs(expected).max(initial=0)))
    else:
        np.testing.assert_array_equal(found.get(), expected)


ONE_ARRAY: dict[str, tuple[Any, ...]] = {
    "append": (VECTOR, VECTOR), "array_split": (VECTOR, 5), "bincount": (COUNTS,), "broadcast_to": (VECTOR, (3, 12)),
    "clip": (VECTOR, -0.5, 0.5), "convolve": (VECTOR, VECTOR[:3]), "correlate": (VECTOR, VECTOR[:3]),
    "cross": (VECTOR[:3], VECTOR[3:6]),
    "delete": (VECTOR, [1, 2]), "digitize": (VECTOR, np.linspace(-2, 2, 5)), "dot": (SQUARE, SQUARE),
    "expand_dims": (VECTOR, 0),
    "extract": (VECTOR > 0, VECTOR), "fliplr": (SQUARE,), "histogram": (VECTOR, 4),
    "histogram2d": (VECTOR, VECTOR, 3),
    "inner": (VECTOR, VECTOR), "interp": (np.array([0.5, 1.5]), np.arange(3.0), np.arange(3.0) ** 2),
    "isin": (COUNTS, COUNTS[:3]),
    "allclose": (VECTOR, VECTOR), "isclose": (VECTOR, VECTOR + 1e-12), "array_equal": (VECTOR, VECTOR),
    "kron": (VECTOR, VECTOR),
    "lexsort": (SQUARE,), "matmul": (SQUARE, SQUARE), "moveaxis": (SQUARE, 0, 1), "outer": (VECTOR, VECTOR),
    "pad": (VECTOR, 2),
    "percentile": (VECTOR, 30), "quantile": (VECTOR, 0.3), "repeat": (VECTOR, 2), "reshape": (VECTOR, (3, 4)),
    "resize": (VECTOR, (4, 5)),
    "roll": (VECTOR, 3), "rollaxis": (SQUARE, 1), "rot90": (SQUARE,), "searchsorted": (np.sort(VECTOR), VECTOR),
    "split": (VECTOR, 3),
    "hsplit": (VECTOR, 3), "vsplit": (SQUARE, 5), "swapaxes": (SQUARE, 0, 1), "take": (VECTOR, np.array([3, 1])),
    "tensordot": (SQUARE, SQUARE), "tile": (VECTOR, 2), "unravel_index": (np.array([3, 7]), (3, 4)),
    "vdot": (VECTOR, VECTOR),
    "where": (VECTOR > 0, VECTOR, 0.0), "tril": (SQUARE,), "triu": (SQUARE,), "trace": (SQUARE,), "flipud": (SQUARE,),
}  # fmt: skip


def of_integers(name: str) -> bool:
    return name.startswith(("bitwise_", "gcd", "lcm", "left_shift", "right_shift")) or name == "invert"


@pytest.mark.parametrize("name", functions.ELEMENTWISE)
def test_functions_of_elements_are_numpys(cp: Any, name: str) -> None:
    function = getattr(np, name)
    operands = getattr(function, "nin", 1)
    if name == "ldexp":
        given: list[tuple[np.ndarray, ...]] = [(VECTOR, COUNTS[:12])]
    elif of_integers(name):
        given = [(COUNTS, COUNTS[::-1] % 5)[:operands]]
    else:
        given = [(np.abs(SQUARE) / 20 + 1 * (name == "arccosh"), SQUARE.T.copy())[:operands]]
        if name not in ("arccos", "arcsin", "arctanh", "arccosh", "copysign", "signbit"):
            given += [(VECTOR, VECTOR[::-1].copy())[:operands], (np.linspace(1, 3, 4).astype(np.float16),) * operands]
    with np.errstate(all="ignore"):
        for arrays in given:
            same(getattr(cp, name)(*moved(cp, arrays)), function(*arrays))
            if isinstance(function, np.ufunc):
                same(function(*moved(cp, arrays)), function(*arrays))  # NumPy's own, given an array of the device


@pytest.mark.parametrize("name", functions.OF_ONE_ARRAY)
def test_functions_of_an_array_are_numpys(cp: Any, name: str) -> None:
    given = ONE_ARRAY.get(name, (SQUARE,) if name in ("diagonal", "cov", "corrcoef", "gradient") else (VECTOR,))
    same(getattr(cp, name)(*moved(cp, given)), getattr(np, name)(*given))


@pytest.mark.parametrize("name", functions.OF_SEVERAL_ARRAYS)
def test_functions_of_several_arrays_are_numpys(cp: Any, name: str) -> None:
    given: tuple[Any, ...] = ([VECTOR, 2 * VECTOR],)
    if name == "einsum":
        given = ("ij,jk->ik", SQUARE, SQUARE)
    elif name.startswith(("atleast", "broadcast", "meshgrid")):
        given = (VECTOR, VECTOR[:1])
    same(getattr(cp, name)(*moved(cp, given)), getattr(np, name)(*given))


CREATION: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("arange", (2, 9, 0.5), {}), ("array", ([[1, 2], [3, 4]],), {"dtype": np.int16}), ("asarray", (SQUARE.T,), {}),
    ("asarray", ([1.5, 2],), {}), ("ascontiguousarray", (SQUARE.T,), {}), ("asfortranarray", (SQUARE,), {}),
    ("copy", (VECTOR,), {}),
    ("eye", (4,), {"k": 1}), ("full", ((2, 3), 7), {"dtype": np.uint8}), ("full_like", (VECTOR, 7), {}),
    ("identity", (3,), {}),
    ("linspace", (0, 1, 7), {}), ("logspace", (0, 1, 7), {}), ("ones", ((2, 3), np.float32), {}),
    ("ones_like", (SQUARE,), {}),
    ("zeros", (5,), {"dtype": "complex64"}), ("zeros_like", (SQUARE,), {"dtype": np.int8}), ("tri", (4,), {}),
    ("indices", ((2, 3),), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "options"), CREATION, ids=lambda each: each if isinstance(each, str) else "")
def test_arrays_are_made_as_numpys_are(cp: Any, name: str, given: Any, options: Any) -> None:
    found, expected = getattr(cp, name)(*given, **options), getattr(np, name)(*given, **options)
    same(found, expected)
    assert (found.flags.c_contiguous, found.flags.f_contiguous) == (expected.flags.c_contiguous, expected.flags.f_contiguous)


@pytest.mark.parametrize("name", [each for each in functions.LINALG if each not in ("tensorsolve", "lstsq")])
def test_linear_algebra_is_numpys(cp: Any, name: str) -> None:
    positive = SQUARE @ SQUARE.T
    given = {"matrix_power": (positive, 3), "solve": (positive, SQUARE)}.get(name, (positive,))
    same(getattr(cp.linalg, name)(*moved(cp, given)), getattr(np.linalg, name)(*given))
    same(getattr(np.linalg, name)(*moved(cp, given)), getattr(np.linalg, name)(*given))


@pytest.mark.parametrize("name", functions.FFT)
def test_fourier_transforms_are_numpys(cp: Any, name: str) -> None:
    given: Any = (8,) if name.endswith("fftfreq") else (SQUARE,)
    same(getattr(cp.fft, name)(*moved(cp, given)), getattr(np.fft, name)(*given))


METHODS: dict[str, tuple[Any, ...]] = {
    "astype": (np.float16,), "clip": (0, 3), "dot": (SQUARE,), "repeat": (2,), "reshape": (25,), "round": (1,),
    "searchsorted": (0.5,),
    "swapaxes": (0, 1), "take": ([0, 3],), "view": (np.int32,),
}  # fmt: skip


@pytest.mark.parametrize("name", [each for each in CupyArray.__dict__ if each in dir(np.ndarray) or each == "ptp"])
def test_methods_are_numpys(cp: Any, name: str) -> None:
    if name.startswith("__") or name in ("fill", "sort", "data", "item", "tolist", "tobytes", "device", "flags"):
        return
    array = np.sort(VECTOR) if name == "searchsorted" else SQUARE
    found: Any = getattr(cp.asarray(array), name)
    expected: Any = getattr(array, name, lambda: np.ptp(array))
    if callable(expected):
        found, expected = found(*moved(cp, METHODS.get(name, ()))), expected(*METHODS.get(name, ()))
    if isinstance(expected, (np.ndarray, np.generic, tuple)) and name not in ("shape", "strides"):
        same(found, expected)
    else:
        assert found == expected


def test_operators_are_numpys(cp: Any) -> None:
    a, b = cp.asarray(COUNTS), cp.asarray(COUNTS[::-1].copy())
    operators: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x + y, lambda x, y: 2 - x * y, lambda x, y: x / (y + 1), lambda x, y: x // (y + 1),
        lambda x, y: -x % 3,
        lambda x, y: x**2, lambda x, y: x & y | 1 ^ x, lambda x, y: x << 2 >> 1, lambda x, y: (x < y) == (y >= x),
        lambda x, y: ~x,
        lambda x, y: x[None, :5] @ y[:5, None], lambda x, y: np.float32(2) * x, lambda x, y: divmod(x, 3),
        lambda x, y: abs(-x) != y,
    ]  # fmt: skip
    for each in operators:
        same(each(a, b), each(COUNTS, COUNTS[::-1]))


def test_what_is_computed_stays_on_the_device(cp: Any) -> None:
    x = cp.arange(6, dtype=np.float32).reshape(2, 3)
    for each in (x.sum(), x[1, 2], x.max(axis=0), cp.mean(x), x == 3, cp.count_nonzero(x), np.sum(x), x.T, x[0]):
        assert isinstance(each, cp.ndarray)
    assert x.sum().shape == () and float(x.sum()) == 15 and int(x[1, 2]) == 5 and bool(x[0, 1])
    assert [7, 8][x[0, 1].astype(int)] == 8
    assert f"{x.mean():.2f}" == "2.50" and str(x) == str(x.get()) and repr(x[0]) == repr(x[0].get()) and x.item(4) == 4
    assert x.tolist() == x.get().tolist() and [float(each) for each in x[0]] == [0, 1, 2] and len(x) == 2


def test_slices_are_views_and_lists_of_indices_copies(cp: Any) -> None:
    x = cp.zeros((4, 6))
    x[1:3, ::2] = 5
    x.T[0] += 1
    x.reshape(-1)[23] = 9
    part = x[[0, 1]]
    part[...] = -1
    x[x == 9] = 8
    x[cp.asarray([3, 3]), cp.asarray([1, 2])] = cp.asarray([6.0, 7.0])
    x.ravel()[3] = 4
    expected = np.zeros((4, 6))
    expected[1:3, ::2] = 5
    expected[:, 0] += 1
    expected[3, 5], expected[3, 1], expected[3, 2], expected[0, 3] = 8, 6, 7, 4
    same(x, expected)
    z = cp.zeros(3, np.complex64)
    z.imag[...] = 2
    z.real[1:] = 1
    same(z, np.array([2j, 1 + 2j, 1 + 2j], np.complex64))
    bits = cp.ones(2, np.float32)
    bits.view(np.int32)[0] = 0
    same(bits, np.array([0, 1], np.float32))


def test_results_go_where_they_are_wanted(cp: Any) -> None:
    x, out = cp.asarray(VECTOR), cp.empty(12)
    assert cp.multiply(x, 2, out=out) is out and cp.sum(cp.ones((2, 12)), axis=0, out=x) is x
    same(out, VECTOR * 2)
    same(x, np.full(12, 2.0))
    total = cp.zeros(3)
    cp.add.at(total, cp.asarray([0, 0, 2]), 1.0)
    same(total, np.array([2.0, 0, 1]))
    same(cp.add.reduce(cp.ones((2, 3))), np.full(3, 2.0))
    with pytest.raises(TypeError, match="out"):
        cp.add(x, x, out=np.zeros(12))


def test_kernels_take_its_arrays_where_they_lie(cuda: Any) -> None:
    import cupy as cp

    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    a, b, out = cp.arange(64, dtype=np.float32), cp.full(64, 2, np.float32), cp.empty(64, np.float32)
    add[2, 32](a, b, out)
    same(out, np.arange(64, dtype=np.float32) + 2)
    add[1, 32](a[:32], a[32:], out[::2])
    same(out[::2], np.arange(32, 96, 2, dtype=np.float32))
    host = np.zeros(64, np.float32)
    add[2, 32](a, host, out)  # NumPy's arrays beside it, as ever
    same(out, np.arange(64, dtype=np.float32))
    of_numba = cuda.to_device(np.arange(4.0))
    cp.asarray(of_numba)[1:] *= 10
    assert of_numba.copy_to_host().tolist() == [0, 10, 20, 30]
    assert cuda.as_cuda_array(a).shape == (64,) and cuda.is_cuda_array(a)
    assert cuda.as_cuda_array(a[8:]).copy_to_host()[0] == 8
    empty = cp.zeros(0, np.float32)
    add[1, 32](empty, empty, empty)


def test_ufuncs_of_numba_take_its_arrays(cuda: Any) -> None:
    import cupy as cp
    from numba import guvectorize, vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        return x + y

    @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def twice(row, out):
        for i in range(row.shape[0]):
            out[i] = 2 * row[i]

    x, out = cp.arange(12, dtype=np.float32), cp.empty(12, np.float32)
    add(x, x, out=out)
    same(out, 2 * np.arange(12, dtype=np.float32))
    assert add(x, x).copy_to_host().tolist() == out.tolist()
    rows = cp.empty((3, 4), np.float32)
    twice(x.reshape(3, 4), rows)
    same(rows, 2 * np.arange(12, dtype=np.float32).reshape(3, 4))
    assert cuda.to_device(x).copy_to_host().tolist() == list(range(12))
    cuda.to_device(x)[0] = 7  # the same memory
    assert int(x[0]) == 7


def test_reading_what_nobody_wrote_is_told(cuda: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import cupy as cp

    @cuda.jit
    def double(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = 2 * x[i]

    new, out = cp.empty(8), cp.zeros(8)
    new[1::2] = 1
    new[[0, 2]] = 1
    double[1, 8](new, out)
    assert "uninitialised read" in (said := capsys.readouterr().err) and "`x[4]`" in said
    new[new != 1] = 3
    new += 0
    double[1, 8](new, out)
    assert capsys.readouterr().err == ""
    assert out.get().min() >= 2


def test_copies_are_taken_and_made(cp: Any, tmp_path: Path) -> None:
    x = cp.asarray(SQUARE)
    assert type(x.get()) is np.ndarray and type(cp.asnumpy(x)) is np.ndarray and cp.asarray(x) is x and cp.array(x) is not x
    host = np.zeros_like(SQUARE)
    assert x.get(out=host) is host and (host == SQUARE).all()
    x.set(2 * SQUARE)
    same(x, 2 * SQUARE)
    same(copy.deepcopy(x), 2 * SQUARE)
    same(pickle.loads(pickle.dumps(x)), 2 * SQUARE)
    cp.save(tmp_path / "x.npy", x)
    same(cp.load(tmp_path / "x.npy"), 2 * SQUARE)
    assert cp.get_array_module(1, x) is cp and cp.get_array_module(host) is np
    made = cp.ndarray((2, 3), np.int32)
    made.fill(4)
    same(made, np.full((2, 3), 4, np.int32))
    same(cp.mgrid[0:2, 0:3], np.mgrid[0:2, 0:3])
    rows = cp.array([x[0], x[1]])
    same(rows, 2 * SQUARE[:2])


def test_random_numbers_have_the_shape_dtype_and_spread_that_are_asked_for(cp: Any) -> None:
    cp.random.seed(3)
    first = cp.random.rand(4, 5)
    cp.random.seed(3)
    same(cp.random.rand(4, 5), first.get())
    for made in (cp.random.random((10_000,), dtype=np.float32), cp.random.rand(10_000, dtype=np.float32)):
        assert made.dtype == np.float32 and 0.45 < float(made.mean()) < 0.55 and 0 <= made.min() and made.max() < 1
    assert cp.random.normal(3, 0.1, size=(4, 5), dtype=np.float32).dtype == np.float32
    assert cp.random.uniform(-1, 1, 7).shape == (7,) and cp.random.randint(0, 5, size=(3,), dtype=np.int32).dtype == np.int32
    assert sorted(cp.random.permutation(9).tolist()) == list(range(9)) and cp.random.poisson(3, 8).shape == (8,)
    rng = cp.random.default_rng(1)
    assert rng.random(3).shape == (3,) and rng.integers(0, 4, 6).max() < 4
    assert cp.random.Generator(cp.random.XORWOW(5)).standard_normal((2, 2), dtype=np.float32).shape == (2, 2)
    deck = cp.arange(20)
    cp.random.shuffle(deck)
    assert sorted(deck.tolist()) == list(range(20))


def test_events_read_the_clock_that_kernels_move(cuda: Any) -> None:
    import cupy as cp
    from cupyx.profiler import benchmark, time_range

    @cuda.jit
    def clear(x):
        x[cuda.grid(1)] = 0

    x = cp.ones(64)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    with pytest.raises(TypeError, match="recorded"):
        cp.cuda.get_elapsed_time(start, end)
    with cp.cuda.Stream(non_blocking=True) as stream, time_range("all"):
        start.record(stream)
        clear[2, 32](x)
        end.record()
        end.synchronize()
        stream.synchronize()
    once_ms = cp.cuda.get_elapsed_time(start, end)
    theirs = cuda.event(), cuda.event()
    theirs[0].record()
    clear[2, 32](x)
    theirs[1].record()
    assert once_ms == pytest.approx(cuda.event_elapsed_time(*theirs)) and once_ms > 0
    calls: list[int] = []
    found = benchmark(lambda: (calls.append(1), clear[2, 32](x)), n_repeat=4, n_warmup=2)
    assert len(calls) == 6 and found.gpu_times.shape == (1, 4) and found.cpu_times.shape == (4,)
    assert found.gpu_times == pytest.approx(np.full((1, 4), once_ms / 1000)) and "GPU-0" in str(found)


def test_the_device_is_the_simulated_one(cp: Any) -> None:
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert b"simulated" in properties["name"] and properties["warpSize"] == 32 and cp.cuda.runtime.getDeviceCount() == 1
    with cp.cuda.Device(0) as device:
        device.synchronize()
        assert device.compute_capability == "90" and device.attributes["MaxThreadsPerBlock"] == 1024
    with pytest.raises(TypeError, match="no device 1"):
        cp.cuda.Device(1)
    pool = cp.get_default_memory_pool()
    before = pool.used_bytes()
    held = cp.zeros(1000)
    assert pool.used_bytes() == before + 8000 and cp.ones(3).device == cp.cuda.Device(0)
    del held
    assert pool.used_bytes() == before
    pool.free_all_blocks()
    cp.cuda.Stream.null.synchronize()
    cp.cuda.nvtx.RangePush("part")


LACKING = [
    ("cp.RawKernel('', 'f')", AttributeError, "`cupy.RawKernel`. It compiles C++"),
    ("cp.nowhere(3)", AttributeError, "`cupy.nowhere`. Use NumPy on the host"),
    ("cp.linalg.eig", AttributeError, "`cupy.linalg.eig`"),
    ("cp.random.nothing(3)", AttributeError, "`cupy.random.nothing`"),
    ("cp.ones(3).toDlpack()", AttributeError, "`cupy.ndarray.toDlpack`"),
    ("np.linalg.eig(cp.eye(3))", AttributeError, "`cupy.eig`"),
    ("import cupyx.scipy.ndimage", ModuleNotFoundError, "`cupyx.scipy`. Use SciPy's on the host"),
    ("from cupy import ElementwiseKernel", ImportError, "`cupy.ElementwiseKernel`. It compiles C++"),
    ("from cupyx import jit", ImportError, "`cupyx.jit`. Write the kernel with numba.cuda"),
    ("np.asarray(cp.ones(3))", TypeError, "Implicit conversion to a NumPy array is not allowed. Write .get()"),
    ("cp.ones(3) + np.ones(3)", TypeError, "does not compute with NumPy arrays. Write cupy.asarray"),
    ("cp.dot(cp.ones(3), np.ones(3))", TypeError, "does not compute with NumPy arrays"),
    ("cp.ones(3) + [1, 2, 3]", TypeError, "Unsupported type <class 'list'>"),
    ("cp.sum([1, 2])", TypeError, "Unsupported type <class 'list'>"),
    ("cp.ones(3).__setitem__(slice(None), np.ones(3))", TypeError, "Non-scalar numpy.ndarray"),
    ("cp.ones(3).set(np.ones(4))", TypeError, "needs an array of shape"),
    ("cp.ndarray(3, memptr=1)", AttributeError, "memptr"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "kind", "said"), LACKING, ids=[each[0][:30] for each in LACKING])
def test_what_it_lacks_it_says_in_one_line(cp: Any, program: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(KitError) as raised:
        exec(program, {"cp": cp, "np": np})
    assert isinstance(raised.value, kind) and said in str(raised.value) and "\n" not in str(raised.value)


def test_a_program_can_ask_whether_there_is_something(cp: Any) -> None:
    assert not hasattr(cp, "RawKernel") and getattr(cp.ones(3), "toDlpack", None) is None and hasattr(cp, "asnumpy")


def test_it_is_gone_with_the_simulated_gpu() -> None:
    with autograder.simulate():
        import cupy

        array = cupy.ones(3)
        assert "cupyx" not in sys.modules
    assert "cupy" not in sys.modules and not any(isinstance(each, modules.Finder) for each in sys.meta_path)
    assert float(array.sum()) == 3
    with autograder.simulate():
        import cupy as again

        assert again is not cupy and float(again.asarray(cupy.ones(2)).sum()) == 2


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that calls itself CuPy."""
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("mine = True\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_cupy_itself_is_left_alone_where_a_gpu_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert modules.is_installed()
    monkeypatch.setattr(cupy_memory, "has_driver", lambda: True)
    with autograder.simulate():
        import cupy

        assert cupy.mine
    del sys.modules["cupy"]
    monkeypatch.setattr(cupy_memory, "has_driver", lambda: False)
    with autograder.simulate():
        import cupy

        assert cupy.__version__ == modules.VERSION


@pytest.mark.usefixtures("installed")
def test_cupy_that_was_imported_before_stays_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = ModuleType("cupy")
    monkeypatch.setitem(sys.modules, "cupy", mine)
    with autograder.simulate():
        import cupy

        assert cupy is mine
    assert sys.modules["cupy"] is mine


def test_without_cupy_a_gpu_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_memory, "has_driver", lambda: True)
    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda *_: None)
    assert not modules.is_installed()


def test_a_script_finds_it(tmp_path: Path) -> None:
    script = tmp_path / "fill.py"
    script.write_text(
        "import cupy as cp\nfrom numba import cuda\n\n@cuda.jit\ndef fill(x):\n    x[cuda.grid(1)] = 3\n\n"
        "x = cp.empty(64, cp.float32)\nfill[2, 32](x)\nprint(x.sum())\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, "-m", "autograder", "run", str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "192.0"), done.stderr


def test_the_readme_names_what_there_is(cp: Any) -> None:
    text = (Path(modules.__file__).parent / "README.md").read_text(encoding="utf-8")
    assert modules.VERSION in text
    for name in ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel"):
        assert f"`{name}`" in text and not hasattr(cp, name)

"""The functions of `cupy`, `cupy.linalg`, `cupy.fft` and `cupy.random`, carried out by NumPy's of the same name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.cupy_stand_in.arrays import Arrays, CupyArray
from autograder.cupy_stand_in.memory import NotForStandIn, lacks

# Of these the first argument must be an array of the device, as CuPy has it; what they return is one.
ELEMENTWISE = (
    "abs absolute add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or "
    "bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs "
    "fix floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot imag invert isfinite isinf isnan "
    "lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or "
    "logical_xor maximum minimum mod modf multiply nan_to_num negative nextafter not_equal positive power rad2deg "
    "radians real reciprocal remainder right_shift rint round sign signbit sin sinc sinh sqrt square subtract tan "
    "tanh true_divide trunc"
).split()
OF_ONE_ARRAY = (
    "all allclose amax amin any append argmax argmin argsort argwhere around array_equal array_split average bincount "
    "broadcast_to clip convolve correlate corrcoef count_nonzero cov cross cumprod cumsum delete diag diagonal diff "
    "digitize dot ediff1d expand_dims extract flatnonzero flip fliplr flipud gradient histogram histogram2d inner "
    "interp isclose isin kron lexsort matmul max mean median min moveaxis nanargmax nanargmin nancumsum nanmax "
    "nanmean nanmin nanprod nanstd nansum nanvar nonzero outer pad percentile prod ptp quantile ravel repeat reshape "
    "resize roll rollaxis rot90 searchsorted sort split squeeze std sum swapaxes take tensordot tile trace transpose "
    "trapezoid tril triu unique unravel_index vander var vdot vsplit hsplit where"
).split()
OF_SEVERAL_ARRAYS = (
    "atleast_1d atleast_2d atleast_3d broadcast_arrays column_stack concatenate dstack einsum hstack meshgrid "
    "stack vstack"
).split()
# These make an array of numbers, shapes or files; those that end with _like have an array for a pattern.
CREATION = (
    "arange array asanyarray asarray ascontiguousarray asfortranarray copy empty empty_like eye frombuffer fromfile "
    "full full_like fromfunction fromiter fromstring genfromtxt identity indices linspace load loadtxt "
    "logspace ones ones_like tri zeros zeros_like"
).split()
TO_FILES = "save savez savetxt savez_compressed".split()
# What NumPy itself says of types and shapes: nothing of it is on the device.
AS_IN_NUMPY = (
    "bool_ broadcast_shapes byte can_cast complex128 complex64 double dtype e euler_gamma finfo float16 float32 "
    "float64 floating generic half iinfo index_exp inexact inf int16 int32 int64 int8 int_ intc integer intp isscalar "
    "issubdtype longlong min_scalar_type nan ndindex newaxis number pi promote_types result_type s_ set_printoptions "
    "short signedinteger single ubyte uint uint16 uint32 uint64 uint8 unsignedinteger ushort"
).split()
FACTS_OF_ARRAYS = "ndim shape size may_share_memory iscomplexobj isrealobj".split()
LINALG = "cholesky det eigh eigvalsh inv lstsq matrix_power matrix_rank norm pinv qr slogdet solve svd tensorsolve".split()
FFT = (
    "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq "
    "rfftn"
).split()


def functions(arrays: Arrays) -> dict[str, Any]:
    """The names of module `cupy` that are NumPy's too."""
    found: dict[str, Any] = {name: on_arrays(arrays, np, name) for name in [*OF_ONE_ARRAY, *OF_SEVERAL_ARRAYS]}
    found |= {name: _elementwise(arrays, name) for name in ELEMENTWISE}
    found |= {name: _creation(arrays, name) for name in CREATION}
    found |= {name: getattr(np, name) for name in AS_IN_NUMPY}
    found |= {name: _fact(arrays, name) for name in FACTS_OF_ARRAYS}
    found |= {name: _to_file(name) for name in TO_FILES}
    found |= _like(arrays)
    arrays.by_function |= {getattr(np, name): each for name, each in found.items() if callable(each) and hasattr(np, name)}
    return found | {"bool": np.bool_, "mgrid": _Grid(arrays, np.mgrid), "ogrid": _Grid(arrays, np.ogrid)}


def linalg(arrays: Arrays) -> dict[str, Any]:
    """The names of `cupy.linalg`."""
    found = {name: on_arrays(arrays, np.linalg, name) for name in LINALG}
    arrays.by_function |= {getattr(np.linalg, name): each for name, each in found.items()}
    return found | {"LinAlgError": np.linalg.LinAlgError}


def fft(arrays: Arrays) -> dict[str, Any]:
    """The names of `cupy.fft`."""
    made = {name: _wrapped(arrays, getattr(np.fft, name)) for name in ("fftfreq", "rfftfreq")}
    found = {name: on_arrays(arrays, np.fft, name) for name in FFT if name not in made}
    arrays.by_function |= {getattr(np.fft, name): each for name, each in found.items()}
    return found | made


def on_arrays(arrays: Arrays, module: Any, name: str) -> Callable[..., Any]:
    """A function of NumPy's on arrays of the device; what CuPy would not compute with is refused."""
    function = getattr(module, name)
    first_may_be_a_list = name in OF_SEVERAL_ARRAYS

    @functools.wraps(function, updated=())
    def call(*given: Any, **options: Any) -> Any:
        if given and isinstance(given[0], (list, tuple)) and not first_may_be_a_list:
            raise _no_operand(given[0])
        options.pop("blocking", None)
        return arrays.call(function, *given, **options)

    return call


def _no_operand(value: Any) -> NotForStandIn:
    return NotForStandIn(f"Unsupported type {type(value)}.", remedy="Write cupy.asarray(...) around it.")


class Elementwise:
    """A function of each element: what CuPy calls a ufunc."""

    def __init__(self, arrays: Arrays, function: Any) -> None:
        self._arrays, self._function = arrays, function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *given: Any, **options: Any) -> Any:
        return self._carry_out(self._function, given, options)

    def _carry_out(self, function: Any, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        for each in given:
            if isinstance(each, (list, tuple)):
                raise _no_operand(each)
        return self._arrays.call(function, *given, **options)

    def reduce(self, array: Any, axis: Any = 0, **options: Any) -> Any:
        return self._carry_out(self._function.reduce, (array,), {"axis": axis, **options})

    def accumulate(self, array: Any, axis: int = 0, **options: Any) -> Any:
        return self._carry_out(self._function.accumulate, (array,), {"axis": axis, **options})

    def outer(self, one: Any, other: Any, **options: Any) -> Any:
        return self._carry_out(self._function.outer, (one, other), options)

    def at(self, array: CupyArray, indices: Any, values: Any = None) -> None:
        """Adds (or whatever the function does) at each index, also where one is named twice."""
        self._function.at(array.elements, *(self._arrays.given(each) for each in (indices, values) if each is not None))
        array.wrote()

    def __repr__(self) -> str:
        return f"<ufunc 'cupy_{self.__name__}'>"


def _elementwise(arrays: Arrays, name: str) -> Elementwise:
    return Elementwise(arrays, getattr(np, name))


def _wrapped(arrays: Arrays, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers alone; what it makes goes to the device."""

    @functools.wraps(function, updated=())
    def call(*given: Any, **options: Any) -> Any:
        return arrays.wrapped(function(*given, **options))

    return call


def _creation(arrays: Arrays, name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function, updated=())
    def call(*given: Any, **options: Any) -> Any:
        options.pop("blocking", None)
        return arrays.wrapped(function(*map(_on_host, given), **{key: _on_host(each) for key, each in options.items()}))

    return call


def _on_host(value: Any) -> Any:
    """An argument of a function that makes arrays: numbers of the device are allowed there, as in arange(0, n, step)."""
    if isinstance(value, CupyArray):
        return value.elements
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(_on_host, value))
    return value


def _like(arrays: Arrays) -> dict[str, Any]:
    """Arrays of other arrays, and memory that nobody has written."""

    def array(
        obj: Any, dtype: Any = None, copy: bool = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
        *, blocking: bool = False,
    ) -> CupyArray:  # fmt: skip
        """An array of the device with the elements of whatever NumPy makes an array of."""
        return arrays.of_host(np.array(_source(obj), dtype=dtype, copy=True, order=order, ndmin=ndmin))

    def asarray(obj: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> CupyArray:
        """The array itself where nothing has to change, also one of numba.cuda's; a copy on the device otherwise."""
        if hasattr(obj, "__cuda_array_interface__"):
            mine = obj if isinstance(obj, CupyArray) else arrays.of_interface(obj.__cuda_array_interface__, obj)
            changed = np.asarray(mine.elements, dtype=dtype, order=order)
            return mine if np.may_share_memory(changed, mine.elements) or not mine.size else arrays.of_host(changed)
        return arrays.of_host(np.asarray(_source(obj), dtype=dtype, order=order))

    def ascontiguousarray(obj: Any, dtype: Any = None) -> CupyArray:
        return asarray(obj, dtype, "C")

    def asfortranarray(obj: Any, dtype: Any = None) -> CupyArray:
        return asarray(obj, dtype, "F")

    def copy(obj: CupyArray, order: Any = "K") -> CupyArray:
        return array(obj, order=order)

    def empty(shape: Any, dtype: Any = float, order: str = "C") -> CupyArray:
        """Memory that nobody has written: a kernel that reads it is told."""
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(map(int, shape))
        return arrays.uninitialised(shape, np.dtype(dtype), order)

    def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> CupyArray:
        like = arrays.given(prototype)
        is_backwards = order == "F" or order in "KA" and like.flags.fnc
        return empty(like.shape if shape is None else shape, dtype or like.dtype, "F" if is_backwards else "C")

    def asnumpy(a: Any, stream: Any = None, order: Any = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
        """A NumPy array with the same elements."""
        if hasattr(a, "__cuda_array_interface__"):
            return asarray(a).get(order=order, out=out)
        return np.asarray(a, order=order)

    return {each.__name__: each for each in (
        array, asarray, ascontiguousarray, asfortranarray, copy, empty, empty_like, asnumpy
    )} | {"asanyarray": asarray}  # fmt: skip


def array_module() -> Callable[..., Any]:
    """`cupy.get_array_module`."""

    def get_array_module(*given: Any) -> Any:
        """`cupy` where one of the arguments is an array of the device, `numpy` otherwise."""
        return sys.modules["cupy"] if any(isinstance(each, CupyArray) for each in given) else np

    return get_array_module


def _source(obj: Any) -> Any:
    """What an array is made of, with the device's arrays in it as NumPy sees them."""
    if isinstance(obj, CupyArray):
        return obj.elements
    if isinstance(obj, (list, tuple)) and any(isinstance(each, (CupyArray, list, tuple)) for each in obj):
        return [_source(each) for each in obj]
    return obj


def _fact(arrays: Arrays, name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function, updated=())
    def call(*given: Any, **options: Any) -> Any:
        return function(*map(_on_host, given), **options)

    return call


def _to_file(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function, updated=())
    def call(*given: Any, **options: Any) -> None:
        function(*map(_on_host, given), **{key: _on_host(each) for key, each in options.items()})

    return call


class _Grid:
    """`cupy.mgrid[0:3, 0:4]`."""

    def __init__(self, arrays: Arrays, grid: Any) -> None:
        self._arrays, self._grid = arrays, grid

    def __getitem__(self, key: Any) -> Any:
        return self._arrays.wrapped(self._grid[key])


# -- random numbers -----------------------------------------------------------------------------------------------

# Of NumPy's generators; those of CuPy's parameters that NumPy's function lacks are `dtype`.
DRAWS = (
    "beta binomial chisquare exponential f gamma geometric gumbel laplace logistic lognormal multinomial "
    "multivariate_normal negative_binomial normal pareto permutation poisson power rayleigh standard_cauchy "
    "standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf"
).split()


class RandomState:
    """`cupy.random.RandomState`: NumPy's numbers, moved to the device. A seed gives NumPy's sequence, not CuPy's."""

    def __init__(self, arrays: Arrays, seed: Any = None) -> None:
        self._arrays = arrays
        self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        self._numbers = np.random.RandomState(None if seed is None else int(seed) % 2**32)

    def _moved(self, numbers: Any, dtype: Any) -> CupyArray:
        return self._arrays.of_host(numbers if dtype is None else np.asarray(numbers).astype(dtype))

    def rand(self, *shape: int, dtype: Any = float) -> CupyArray:
        return self._moved(self._numbers.random_sample(shape or None), dtype)

    def randn(self, *shape: int, dtype: Any = float) -> CupyArray:
        return self._moved(self._numbers.standard_normal(shape or None), dtype)

    def random_sample(self, size: Any = None, dtype: Any = float) -> Any:
        return self._moved(self._numbers.random_sample(size), dtype)

    random = ranf = sample = random_sample

    def standard_normal(self, size: Any = None, dtype: Any = float) -> Any:
        return self._moved(self._numbers.standard_normal(size), dtype)

    def randint(self, low: int, high: int | None = None, size: Any = None, dtype: Any = int) -> Any:
        return self._moved(self._numbers.randint(low, high, size, np.int64), dtype)

    def random_integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        low, high = (1, low) if high is None else (low, high)
        return self.randint(low, high + 1, size)

    integers = randint

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        return self._moved(self._numbers.choice(_on_host(a), size, replace, _on_host(p)), None)

    def shuffle(self, a: CupyArray) -> None:
        self._numbers.shuffle(a.elements)
        a.wrote()

    def __getattr__(self, name: str) -> Any:
        if name not in DRAWS:
            raise AttributeError(name) if name.startswith("_") else lacks(f"cupy.random.{name}")
        draw = getattr(self._numbers, name)

        def call(*given: Any, dtype: Any = None, **options: Any) -> Any:
            numbers = draw(*map(_on_host, given), **{key: _on_host(each) for key, each in options.items()})
            return self._moved(numbers, dtype)

        return call


def random(arrays: Arrays) -> Mapping[str, Any]:
    """The names of `cupy.random`; each draw is of one state that `seed` sets."""
    state = RandomState(arrays)
    drawn = (
        "rand randn random random_sample ranf sample standard_normal randint random_integers choice shuffle seed"
    ).split()

    def bit_generator(seed: Any = None, *_: Any, **__: Any) -> Any:
        return seed

    def generator(bits: Any = None) -> RandomState:
        return RandomState(arrays, bits)

    def latest(name: str) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            return getattr(state, name)(*given, **options)

        call.__name__ = name
        return call

    return {name: latest(name) for name in [*drawn, *DRAWS]} | {
        "default_rng": generator, "Generator": generator, "RandomState": generator, "get_random_state": lambda: state,
        **dict.fromkeys(("XORWOW", "MRG32k3a", "Philox4x3210"), bit_generator),
    }  # fmt: skip

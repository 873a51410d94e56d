"""`vectorize(target="cuda")` and `guvectorize(target="cuda")`: a function of elements, launched over whole arrays.

Each becomes a kernel with one thread for each element (or, for guvectorize, each core of the outer dimensions).
"""

from __future__ import annotations

import functools
import re
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograder.errors import KernelFault
from autograder.language.live import as_dtype
from autograder.language.program import Function, Reference
from autograder.simgpu.host.dispatch import Kernel, device
from autograder.simgpu.values.arrays import DeviceArray, buffer_of, described_array, handed_over
from autograder.simgpu.wider.reduction import reduce_array

THREADS = 256
MOST_KEPT_BYTES = 64 << 20  # of a number that is written out for each element
LONE_NUMBERS = (int, float, complex, np.number)  # what Numba converts to the type that a signature names


class NoMatch(KernelFault, TypeError):
    """Arguments that no signature takes, or that several do."""


class NotSupported(KernelFault, TypeError):
    """An option that Numba's `target="cuda"` does not have."""


class NoSuchOption(NotSupported, KeyError):
    """An option of the decorator that Numba's `target="cuda"` does not know."""

    __str__ = KernelFault.__str__  # a KeyError shows its message in quotes


class BadShape(KernelFault, ValueError):
    """Arguments whose shapes do not fit together."""


def _kernel(text: str, names: dict[str, Any]) -> Function:
    return Function.from_text(text, "vectorize", {"cuda": Reference("numba.cuda"), **names})


def _with_arrays_of_others(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that also takes another library's arrays in device memory, and `out` among them, as Numba does."""

    def own(value: Any) -> Any:
        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, DeviceArray):
            return described_array(device.session.addresses, value.__cuda_array_interface__)
        return value

    @functools.wraps(call)
    def with_own(self: Any, *arguments: Any, out: Any = None, stream: Any = 0) -> Any:
        return call(self, *map(own, arguments), out=own(out), stream=stream)

    return with_own


class VectorizedFunction:
    """What `@vectorize(..., target="cuda")` makes: called with arrays, it launches one thread for each element."""

    def __init__(self, function: Any, identity: Any = None, cache: bool = False, targetoptions: Any = None) -> None:
        _refuse_cache(cache)
        for option in targetoptions or {}:
            if option == "nopython":
                warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=4)
            else:
                raise NoSuchOption(f"cuda vectorize target does not support option: '{option}'")
        self.py_func: types.FunctionType = getattr(function, "py_func", function)
        self.__name__ = self.py_func.__name__
        self.core = Kernel(self.py_func, is_device=True, options={}, signatures=None)
        self.signatures: list[tuple[tuple[np.dtype, ...], np.dtype | None]] = []
        self._kernels: dict[int, Function] = {}  # by the number of arguments
        self._written_out: dict[tuple[np.dtype, bytes, tuple[int, ...]], np.ndarray] = {}  # numbers, as vectors

    def add(self, signature: Any) -> None:
        _refuse_lambda(self.__name__)
        self.signatures.append(_dtypes(signature))

    def disable_compile(self) -> None:
        """Numba fixes the list of types here; the simulated GPU has nothing to compile."""

    def build_ufunc(self) -> VectorizedFunction:
        return self

    @property
    def __autograder_function__(self) -> Function:
        return self.core.__autograder_function__

    @property
    def nin(self) -> int:
        return len(self.__autograder_function__.parameters)

    @_with_arrays_of_others
    def __call__(self, *arguments: Any, out: Any = None, stream: Any = 0) -> Any:
        if len(arguments) == self.nin + 1 and out is None:
            arguments, out = arguments[:-1], arguments[-1]
        if len(arguments) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arrays, not {len(arguments)}")
        on_device = any(isinstance(a, DeviceArray) for a in (*arguments, out))
        plain = [a if isinstance(a, (*LONE_NUMBERS, DeviceArray)) else np.asarray(a) for a in arguments]
        wanted, result = self._types(plain)
        given = [
            np.array([a], dtype) if isinstance(a, LONE_NUMBERS) else a for a, dtype in zip(plain, wanted, strict=True)
        ]
        try:
            shape = np.broadcast_shapes(*(a.shape for a in given))
        except ValueError as error:
            raise BadShape(f"The arguments of `{self.__name__}` cannot be broadcast: {error}.") from None
        columns = self._columns(given, shape)
        if isinstance(out, DeviceArray) and _may_be_written(out, shape, result, columns):
            self._launch(columns, out.ravel())
            return out
        target = device.session.device_array((int(np.prod(shape)),), result)
        self._launch(columns, target)
        answer = target.reshape(shape)
        if out is not None:
            _write(out, answer)
            return out
        if on_device:
            return answer
        host = handed_over(answer)
        return host if shape else host[()]

    def _columns(
        self, given: Sequence[np.ndarray | DeviceArray], shape: tuple[int, ...]
    ) -> list[np.ndarray | DeviceArray]:
        """The arguments as vectors of one length. An array that is one already goes as it is: kernels only read it.

        Numbers are written out, and kept until the next call, which often has the same ones.
        """
        columns: list[np.ndarray | DeviceArray] = []
        kept: dict[tuple[np.dtype, bytes, tuple[int, ...]], np.ndarray] = {}
        for each in given:
            if isinstance(each, DeviceArray):
                if each.shape == shape and each.is_c_contiguous():
                    columns.append(each.ravel())
                    continue
                each = each.copy_to_host()
            key = (each.dtype, each.tobytes(), shape) if each.size == 1 else None
            column = self._written_out.get(key) if key is not None else None
            if column is None:
                column = np.ascontiguousarray(each if each.shape == shape else np.broadcast_to(each, shape)).ravel()
            if key is not None and column.nbytes <= MOST_KEPT_BYTES and not np.may_share_memory(column, each):
                kept[key] = column
            columns.append(column)
        self._written_out = kept
        return columns

    def _launch(self, columns: Sequence[np.ndarray | DeviceArray], target: DeviceArray) -> None:
        if not target.size:
            return
        if len(columns) not in self._kernels:
            names = [f"x{i}" for i in range(len(columns))]
            text = (
                f"def {self.__name__}({', '.join(names)}, out):\n    i = cuda.grid(1)\n    if i < out.size:\n"
                f"        out[i] = core({', '.join(name + '[i]' for name in names)})\n"
            )
            self._kernels[len(columns)] = _kernel(text, {"core": self.__autograder_function__})
        kernel = self._kernels[len(columns)]
        device.launch(kernel, (-(-target.size // THREADS), THREADS), (*columns, target))

    def _types(self, given: Sequence[Any]) -> tuple[tuple[np.dtype, ...], np.dtype]:
        """The dtypes of the one signature that takes these arrays and lone numbers, and that of its result.

        As in Numba: arrays must have exactly the dtypes of the signature, and lone numbers take its dtypes, unless there
        is a signature that has theirs.
        """
        signatures = {wanted: result for wanted, result in self.signatures if len(wanted) == len(given)}
        exact = [a.dtype if isinstance(a, DeviceArray) else np.asarray(a).dtype for a in given]
        is_lone = [isinstance(a, LONE_NUMBERS) for a in given]
        matches = [wanted for wanted in signatures if list(wanted) == exact] or [
            wanted
            for wanted in signatures
            if all(lone or dtype == found for dtype, found, lone in zip(wanted, exact, is_lone, strict=True))
        ]
        shown = ", ".join(f"the number {a}" if lone else str(a.dtype) for a, lone in zip(given, is_lone, strict=True))
        if not matches:
            known = "; ".join(", ".join(map(str, wanted)) for wanted in signatures) or "none"
            raise NoMatch(
                f"No matching version of `{self.__name__}` for {shown}. GPU ufunc requires array arguments to have the "
                f"exact types. Its signatures are for {known}.",
                remedy="Convert arrays with .astype(...), or add a signature.",
            )
        if len(matches) > 1:
            raise NoMatch(
                f"Failed to resolve ufunc `{self.__name__}` due to ambiguous signature, for {shown}. Too many untyped "
                "scalars.",
                remedy="Give numbers a type of NumPy's, such as np.float32(2).",
            )
        return matches[0], signatures[matches[0]] or self._result(matches[0])

    def _result(self, wanted: tuple[np.dtype, ...]) -> np.dtype:
        """The dtype that the function returns for these arguments, by Numba's own type inference on the CPU."""
        import numba

        dispatcher = numba.njit()(self.py_func)
        signature = tuple(numba.from_dtype(d) for d in wanted)
        dispatcher.compile(signature)
        return as_dtype(dispatcher.nopython_signatures[0].return_type)

    def reduce(self, array: Any, stream: Any = 0) -> Any:
        """The reduction of a one-dimensional array with this function of two arguments."""
        return reduce_array(device, self.__autograder_function__, _on_device(array), None, 0)


def _may_be_written(
    out: DeviceArray, shape: tuple[int, ...], dtype: np.dtype, columns: Sequence[np.ndarray | DeviceArray]
) -> bool:
    """Whether a kernel can leave its results where they are wanted: in such elements, of which it reads none."""
    own = buffer_of(out).owner
    is_read = any(isinstance(each, DeviceArray) and buffer_of(each).owner is own for each in columns)
    return out.shape == shape and out.dtype == dtype and out.is_c_contiguous() and not is_read


def _write(out: Any, answer: DeviceArray) -> None:
    """Puts a result where the caller wants it, whatever the order and dtype there."""
    if isinstance(out, DeviceArray):
        out[...] = answer
    else:
        answer.copy_to_host(out)


class GeneralizedFunction:
    """What `@guvectorize(..., target="cuda")` makes: one thread for each core over the outer dimensions."""

    def __init__(
        self, function: types.FunctionType, signature: str, identity: Any = None, cache: bool = False,
        targetoptions: Any = None, writable_args: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        _refuse_cache(cache)
        if writable_args:
            raise NotSupported("writable_args are not supported.")
        unknown = [repr(option) for option in targetoptions or {} if option != "nopython"]
        if unknown:
            raise NotSupported(f"The following target options are not supported: {', '.join(unknown)}.")
        self.py_func = function
        self.__name__ = function.__name__
        self.core = Kernel(function, is_device=True, options={}, signatures=None)
        inputs, outputs = signature.replace(" ", "").split("->")
        self.inputs, self.outputs = (re.findall(r"\(([^)]*)\)", side) for side in (inputs, outputs))
        self.types: list[tuple[CoreParameter, ...]] = []
        self._kernels: dict[int, Function] = {}  # by the number of arguments

    def add(self, signature: Any) -> None:
        from numba.core import sigutils

        _, returned = sigutils.normalize_signature(signature)
        if returned is not None and str(returned) != "none":
            raise NotSupported(
                f"guvectorized functions cannot return values: signature {signature} specifies {returned} return type."
            )
        _refuse_lambda(self.__name__)
        self.types.append(_parameters(signature))

    def disable_compile(self) -> None:
        """There is nothing to compile."""

    def build_ufunc(self) -> GeneralizedFunction:
        return self

    @_with_arrays_of_others
    def __call__(self, *arguments: Any, out: Any = None, stream: Any = 0) -> Any:
        inputs, outputs = self.inputs, self.outputs
        given_out = list(arguments[len(inputs) :]) or ([out] if out is not None else [])
        on_device = any(isinstance(a, DeviceArray) for a in (*arguments, out))
        if out is not None and len(arguments) > len(inputs):
            raise BadShape("Cannot specify argument 'out' as both positional and keyword.")
        if len(arguments) not in (len(inputs), len(inputs) + len(outputs)):
            raise NoMatch(
                f"This gufunc accepts {_positional(len(inputs))} (when providing input only) or "
                f"{_positional(len(inputs) + len(outputs))} (when providing input and output). "
                f"Got {_positional(len(arguments))}."
            )
        given = [np.asarray(a) for a in arguments[: len(inputs)]]
        types_chosen = self._chosen(given)
        for argument, wanted in zip(arguments, types_chosen, strict=False):
            if isinstance(argument, DeviceArray) and argument.dtype != wanted.dtype:
                raise NoMatch(
                    f"`{self.__name__}` is given a device array of {argument.dtype} for {wanted.dtype}: a compatible "
                    "signature is possible by casting, but a device array does not support .astype().",
                    remedy="Convert it on the host.",
                )
        dtypes = [each.dtype for each in types_chosen]
        sizes: dict[str, int] = {}
        outer = [self._match(a, core, sizes) for a, core in zip(given, inputs, strict=True)]
        shape = max(outer, key=lambda each: int(np.prod(each)), default=())
        for number, each in enumerate(outer, 1):
            if each != shape and each not in ((), (1,)):
                raise BadShape(f"arg #{number}: outer dimension mismatch: {each} beside {shape}.")
        count = int(np.prod(shape))
        cores = [_core_shape(core, sizes) for core in (*inputs, *outputs)]
        # a number that the types call an array is one of one element, as all results are
        seen = [core or ((1,) if each.is_array else ()) for core, each in zip(cores, types_chosen, strict=False)]
        flat = [
            np.ascontiguousarray(np.broadcast_to(a, (*shape, *core)), d).reshape(count, *inside)
            for a, core, inside, d in zip(given, cores, seen, dtypes, strict=False)
        ]
        results = [
            device.session.device_array((count, *(core or (1,))), d)
            for core, d in zip(cores[len(inputs) :], dtypes[len(inputs) :], strict=True)
        ]
        for given_one, result, core in zip(given_out, results, cores[len(inputs) :], strict=False):
            result.copy_to_device(np.asarray(given_one).reshape(count, *(core or (1,))))
        self._launch(flat, results, cores, count)
        answers = [r.reshape((*shape, *core)) for r, core in zip(results, cores[len(inputs) :], strict=True)]
        for given_one, answer in zip(given_out, answers, strict=False):
            _write(given_one, answer)
        final = given_out or (answers if on_device else [a.copy_to_host() for a in answers])
        return final[0] if len(final) == 1 else tuple(final)

    def _launch(
        self, flat: list[np.ndarray], results: list[DeviceArray], cores: list[tuple[int, ...]], count: int
    ) -> None:
        if not count:
            return
        if len(cores) not in self._kernels:
            names = [f"x{i}" for i in range(len(cores))]
            text = (
                f"def {self.__name__}({', '.join(names)}):\n    i = cuda.grid(1)\n    if i < {names[-1]}.shape[0]:\n"
                f"        core({', '.join(name + '[i]' for name in names)})\n"
            )
            self._kernels[len(cores)] = _kernel(text, {"core": self.core.__autograder_function__})
        kernel = self._kernels[len(cores)]
        device.launch(kernel, (-(-count // THREADS), THREADS), (*flat, *results))

    def _chosen(self, given: Sequence[np.ndarray]) -> tuple[CoreParameter, ...]:
        """The types that have exactly these dtypes; else the first whose dtypes these can hold, as Numba asks."""
        dtypes = [a.dtype for a in given]
        exact = [each for each in self.types if [wanted.dtype for wanted in each[: len(dtypes)]] == dtypes]
        can_hold = (
            each
            for each in self.types
            if all(np.can_cast(wanted.dtype, dtype) for wanted, dtype in zip(each, dtypes, strict=False))
        )
        chosen = exact[-1] if exact else next(can_hold, None)  # of two for the same dtypes, the later one counts
        if chosen is not None:
            return chosen
        raise NoMatch(
            f"`{self.__name__}` has no matching signature for {', '.join(map(str, dtypes))}.",
            remedy="Convert arrays with .astype(...), or add a signature.",
        )

    def _match(self, array: np.ndarray, core: str, sizes: dict[str, int]) -> tuple[int, ...]:
        """Notes the extents of one input's core dimensions; what is left of its shape."""
        names = core.split(",") if core else []
        if array.ndim < len(names):
            raise BadShape(
                f"An input of `{self.__name__}` has insufficient inner dimensions: {array.ndim}, and it needs {len(names)}."
            )
        for name, extent in zip(names, array.shape[array.ndim - len(names) :], strict=True):
            if sizes.setdefault(name, extent) != extent:
                raise BadShape(f"`{self.__name__}`: the dimension {name} is {sizes[name]} here and {extent} there.")
        return array.shape[: array.ndim - len(names)]


def _core_shape(core: str, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(sizes[name] for name in core.split(",")) if core else ()


def _positional(number: int) -> str:
    return f"{number} positional argument{'s' * (number != 1)}"


def _refuse_cache(cache: bool) -> None:
    if cache:
        raise NotSupported("caching is not supported.", remedy="Leave cache=True out.")


def _refuse_lambda(name: str) -> None:
    if not name.isidentifier():  # Numba writes a kernel that has the name in its own
        raise NotSupported(f"No ufunc for CUDA can be made of `{name}`, which has no name.", remedy="Write it with `def`.")


def _on_device(array: Any) -> DeviceArray:
    return array if isinstance(array, DeviceArray) else device.session.to_device(np.asarray(array))


class CoreParameter(NamedTuple):
    """What a signature says of one argument."""

    dtype: np.dtype
    is_array: bool


def _parameters(signature: Any) -> tuple[CoreParameter, ...]:
    from numba.core import sigutils, types

    arguments, _ = sigutils.normalize_signature(signature)
    return tuple(CoreParameter(as_dtype(getattr(each, "dtype", each)), isinstance(each, types.Array)) for each in arguments)


def _dtypes(signature: Any) -> tuple[tuple[np.dtype, ...], np.dtype | None]:
    from numba.core import sigutils

    _, returned = sigutils.normalize_signature(signature)
    dtypes = tuple(each.dtype for each in _parameters(signature))
    return dtypes, None if returned is None or str(returned) == "none" else as_dtype(returned)


# -- the decorators -----------------------------------------------------------------------------------------------


def vectorize(ftylist_or_function: Any = (), target: str = "cuda", identity: Any = None, **options: Any) -> Any:
    """`cuda.vectorize`: bare, or with a list of signatures."""
    if callable(ftylist_or_function):
        return VectorizedFunction(ftylist_or_function)

    def decorate(function: Any) -> VectorizedFunction:
        made = VectorizedFunction(function)
        for each in [ftylist_or_function] if isinstance(ftylist_or_function, str) else ftylist_or_function:
            made.add(each)
        return made

    return decorate


def guvectorize(ftylist: Any, signature: str, target: str = "cuda", **options: Any) -> Any:
    """`cuda.guvectorize`: with a list of types and the layout of the cores, such as "(m,n),(n)->(m)"."""

    def decorate(function: types.FunctionType) -> GeneralizedFunction:
        made = GeneralizedFunction(function, signature, writable_args=options.get("writable_args", ()))
        for each in [ftylist] if isinstance(ftylist, str) else ftylist:
            made.add(each)
        return made

    return decorate


_before: dict[str, tuple[Any, Any]] = {}


def _registries() -> list[tuple[str, Any, type]]:
    from numba.np.ufunc.decorators import GUVectorize, Vectorize

    return [
        ("vectorize", Vectorize.target_registry, VectorizedFunction),
        ("guvectorize", GUVectorize.target_registry, GeneralizedFunction),
    ]


def install() -> None:
    """Makes `numba.vectorize(target="cuda")` and `numba.guvectorize(target="cuda")` ours."""
    for name, registry, ours in _registries():
        _before[name] = dict.pop(registry, "cuda", None), registry.ondemand.pop("cuda", None)
        dict.__setitem__(registry, "cuda", ours)


def uninstall() -> None:
    """Brings back Numba's own."""
    for name, registry, _ in _registries():
        made, on_demand = _before.pop(name, (None, None))
        dict.pop(registry, "cuda", None)
        if made is not None:
            dict.__setitem__(registry, "cuda", made)
        if on_demand is not None:
            registry.ondemand["cuda"] = on_demand

"""The library names that host code of a submission may use, and what each does; everything else is refused."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.language.host_limits import MOST_BITS, check_bits, described, holds, number, numbers, short, to_list
from autograder.language.program import Function, Reference

ARRAY_ATTRIBUTES = frozenset({"shape", "dtype", "size", "ndim", "nbytes", "strides", "T", "itemsize"})
METHODS: dict[str, frozenset[str]] = {
    "device array": frozenset({"copy_to_host", "copy_to_device", "reshape", "ravel", "transpose", "is_c_contiguous"}),
    "ndarray": frozenset({"copy", "reshape", "ravel", "astype", "item", "max", "min", "sum", "fill", "transpose"}),
    "list": frozenset({"append", "pop", "reverse", "copy", "index"}),
    "FixedList": frozenset({"copy", "index"}),
    "int": frozenset({"bit_length"}),
    "NoStream": frozenset({"synchronize"}),
}
# Library functions that read no element of a device array which they are given: they ask for its shape, or refuse it.
READS_NOTHING = frozenset(
    "numpy.zeros_like numpy.empty_like numpy.ones_like numpy.dtype builtins.len builtins.isinstance builtins.bool "
    "builtins.int builtins.float builtins.print builtins.str".split()
)
# Those that go over what they are given: rows of a device array are parts of it, elements are read one by one.
GOES_OVER = frozenset(
    "builtins.all builtins.any builtins.enumerate builtins.list builtins.max builtins.min builtins.reversed "
    "builtins.sorted builtins.sum builtins.tuple builtins.zip math.prod".split()
)
TAKES_ANYTHING = frozenset(("builtins.isinstance", "builtins.bool", "builtins.print", "builtins.str"))
METHOD_KEYWORDS = frozenset({"dtype", "stream"})
REDUCTIONS = frozenset({"max", "min", "sum"})  # of a whole array, to one number
GOES_THROUGH = frozenset({"astype", "copy", "fill", *REDUCTIONS})  # methods that take as long as the array is large
# Calls that go through the whole array that they return; to make one of zeros takes next to nothing.
FILLING_CALLS = frozenset(
    "numpy.arange numpy.array numpy.ascontiguousarray numpy.full numpy.ones numpy.ones_like".split()
)
MOST_ELEMENTS = 2**28  # of an array on the device
MOST_HOST_ELEMENTS = 2**24
MOST_ROUNDED_DIGITS = 400
SHOWN = (int, float, complex, str, tuple, list, range, np.generic, np.dtype, type(None))  # what has a text of its own


class NoStream:
    """A stream of host code in a submission: work is in order anyway."""

    in_words = "a stream"

    def synchronize(self) -> None:
        """Everything before has finished."""


OF_A_THREAD = ("numba.cuda.shared.", "numba.cuda.local.", "numba.cuda.grid", "numba.cuda.syncthreads")


def library_value(path: str) -> Any:
    """What a dotted library name stands for in host code: a number for constants, a `Reference` otherwise."""
    from autograder.language.modules import INSTEAD_OF_MISSING, MISSING_NAMES, reference

    if path in MISSING_NAMES:
        raise KernelFault(MISSING_NAMES[path], remedy=INSTEAD_OF_MISSING)
    if path in ("math.pi", "numpy.pi"):
        return math.pi
    if path in ("math.e", "numpy.e"):
        return math.e
    if path in ("math.inf", "numpy.inf"):
        return math.inf
    if path in ("math.nan", "numpy.nan"):
        return math.nan
    return reference(path)


def call_library(function: Reference, backend: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Calls a library function that is in the vocabulary; raises `KernelFault` where it is not."""
    path = function.path
    dtype = getattr(function, "dtype", None)
    if dtype is not None:
        return dtype.type(*map(number, arguments))
    keywords = {name: value for name, value in keywords.items() if name != "stream"}
    if path not in TAKES_ANYTHING:
        arguments = [as_dtype(value) for value in arguments]
        keywords = {name: as_dtype(value) for name, value in keywords.items()}
    if path in DEVICE_CALLS:
        if backend is None:
            raise KernelFault(f"`{path.removeprefix('numba.')}` cannot be used at module level of a submission.")
        _check_call(path, DEVICE_CALLS[path], [backend, *arguments], keywords)
        return DEVICE_CALLS[path](backend, *arguments, **keywords)
    if path in CALLS:
        _check_call(path, CALLS[path], arguments, keywords)
        return CALLS[path](*arguments, **keywords)
    shown = path.removeprefix("builtins.").removeprefix("numba.")
    remedy = "Use arithmetic, math, cuda.to_device, cuda.device_array and launches; work on arrays belongs in kernels."
    if path.startswith(OF_A_THREAD):
        remedy = "It belongs to the threads of a launch: use it inside a kernel."
    raise KernelFault(f"`{shown}` cannot be used in host code of a submission.", remedy=remedy)


def _check_call(path: str, function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any]) -> None:
    """Refuses arguments that the vocabulary's function does not have, in words of the function that was meant."""
    name = short(path)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some of Python's own do not say; they complain in their own name
        signature = None
    parameters = signature.parameters if signature is not None else {}
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    unknown = [key for key in keywords if key not in parameters and not takes_any]
    if signature is not None and unknown:
        raise KernelFault(
            f"`{name}` takes no `{unknown[0]}` in host code of a submission.",
            remedy="Leave it out, or write a loop over the numbers.",
        )
    if path not in TAKES_ANYTHING:
        check_no_names(name, (*arguments, *keywords.values()))
    try:
        if signature is not None:
            signature.bind(*arguments, **keywords)
    except TypeError:
        raise KernelFault(
            f"`{name}` cannot be called with these arguments in host code of a submission.",
            remedy="Look at how many it takes, and which of them it needs.",
        ) from None


def check_no_names(name: str, values: Iterable[Any]) -> None:
    """Refuses functions and names of libraries where numbers, arrays or types are asked for."""
    for each in values:
        if isinstance(each, (Function, Reference)):
            wants_a_type = isinstance(each, Reference) and each.path.startswith("numpy.")
            raise KernelFault(
                f"`{name}` is given {described(each)}, which it cannot take in host code of a submission.",
                remedy="Types are np.float32, np.int32 and the like." if wants_a_type else "Did you mean to call it?",
            )


def as_dtype(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and holds(value, lambda each: isinstance(each, Reference)):
        return type(value)(as_dtype(each) for each in value)  # the fields of a structured dtype
    if isinstance(value, Reference):
        dtype = getattr(value, "dtype", None)
        if dtype is not None and value.path.startswith("numba."):  # NumPy, and so Numba's device_array, cannot read it
            raise KernelFault(
                f"`{value.path.rpartition('.')[2]}` is Numba's type here, which NumPy cannot interpret as a data type.",
                remedy=f"Write np.{dtype.name}.",
            )
        if dtype is not None:
            return dtype
        named = {"builtins.int": np.int64, "builtins.float": np.float64, "builtins.bool": np.bool_}.get(value.path)
        return np.dtype(named) if named is not None else value
    return value


def no_text(dtype: Any) -> Any:
    """The dtype, where it is not one of text: to write numbers out takes minutes and serves nobody."""
    if dtype is not None and np.dtype(dtype).kind in "SU":
        raise KernelFault("Host code does not turn arrays into text.", remedy="Use a type such as np.float32.")
    return dtype


def element_type(dtype: Any) -> np.dtype:
    """What a device array's elements are, by a dtype of NumPy's; a fault for one that stands for several elements."""
    found: np.dtype = np.dtype(dtype)
    if found.subdtype is not None:
        raise KernelFault(f"An element of a device array is one number, not {found!s:.60}.", remedy="Give it a shape.")
    check_bits(found)
    return found


def _small(shape: Any, most: int = MOST_HOST_ELEMENTS) -> Any:
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    size = 1
    for extent in extents:
        size *= int(extent)
        if size > most:
            raise KernelFault(f"An array of shape {shape} is too large.")
    return shape


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        if max(1, base.bit_length()) * exponent > MOST_BITS:
            raise KernelFault("This number is too large.")
        return base**exponent
    return math.pow(base, exponent)


def _product(items: Any) -> Any:
    factors = numbers(items)
    if sum(each.bit_length() for each in factors if isinstance(each, int)) > MOST_BITS:
        raise KernelFault("This number is too large.")
    return math.prod(factors)


def _rounded(value: Any, ndigits: int | None = None) -> Any:
    if ndigits is not None and abs(ndigits) > MOST_ROUNDED_DIGITS:
        raise KernelFault(f"Host code rounds to at most {MOST_ROUNDED_DIGITS} digits.")
    return round(number(value), ndigits)


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def chosen(*values: Any) -> Any:
        return choose(numbers(values[0] if len(values) == 1 else values))

    return chosen


def _on_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*values: Any) -> Any:
        return function(*map(number, values))

    return computed


def _to_device(backend: Any, array: Any, stream: Any = 0, copy: Any = True, to: Any = None) -> Any:
    """As Numba does it: an array that is on the device already stays the one that it is, and `to` is filled."""
    if to is not None:
        to.copy_to_device(array)
        return to
    return array if hasattr(type(array), "copy_to_host") else backend.to_device(np.asarray(array))


def _array_like(backend: Any, array: Any, **options: Any) -> Any:
    return backend.device_array(array.shape, element_type(options.get("dtype", array.dtype)))


def _is_instance(value: Any, kind: Any) -> bool:
    kinds = {"int": int, "float": float, "tuple": tuple, "list": list, "str": str, "bool": bool}
    named = kind if isinstance(kind, tuple) else (kind,)
    return any(isinstance(value, kinds.get(getattr(k, "path", "").removeprefix("builtins."), ())) for k in named)


DEVICE_CALLS: dict[str, Callable[..., Any]] = {
    "numba.cuda.to_device": _to_device,
    "numba.cuda.device_array": lambda backend, shape, dtype=np.float64, **_: backend.device_array(
        _small(shape, MOST_ELEMENTS), element_type(dtype)
    ),
    "numba.cuda.device_array_like": _array_like,
    "numba.cuda.synchronize": lambda backend: None,
}

CALLS: dict[str, Callable[..., Any]] = {
    "numba.cuda.stream": lambda: NoStream(),
    "numba.cuda.default_stream": lambda: NoStream(),
    "numba.cuda.pinned_array": lambda shape, dtype=np.float64, **_: np.zeros(_small(shape), dtype),
    "builtins.abs": _on_numbers(abs),
    "builtins.all": lambda items: all(numbers(items)),
    "builtins.any": lambda items: any(numbers(items)),
    "builtins.bool": bool,
    "builtins.divmod": _on_numbers(divmod),
    "builtins.enumerate": enumerate,
    "builtins.float": float,
    "builtins.int": int,
    "builtins.isinstance": _is_instance,
    "builtins.len": len,
    "builtins.list": to_list,
    "builtins.max": _extreme(max),
    "builtins.min": _extreme(min),
    "builtins.pow": lambda a, b: _power(number(a), number(b)),
    "builtins.print": lambda *words, **_: None,  # nobody reads it while grading
    "builtins.range": range,
    "builtins.reversed": lambda items: list(reversed(to_list(items))),
    "builtins.round": _rounded,
    "builtins.sorted": lambda items, reverse=False: sorted(numbers(items), reverse=bool(number(reverse))),
    "builtins.str": lambda value="": str(value)[:200] if isinstance(value, SHOWN) else "...",
    "builtins.sum": lambda items, start=0: sum(numbers(items), number(start)),
    "builtins.tuple": lambda items=(): tuple(to_list(items)),
    "builtins.zip": zip,
    **{
        f"math.{name}": _on_numbers(getattr(math, name))
        for name in "ceil floor trunc sqrt log log2 log10 exp pow fabs gcd isqrt hypot fmod copysign".split()
    },
    "math.prod": _product,
    "numpy.ceil": _on_numbers(np.ceil),
    "numpy.floor": _on_numbers(np.floor),
    "numpy.sqrt": _on_numbers(np.sqrt),
    "numpy.log": _on_numbers(np.log),
    "numpy.log2": _on_numbers(np.log2),
    "numpy.maximum": _on_numbers(np.maximum),
    "numpy.minimum": _on_numbers(np.minimum),
    "numpy.zeros": lambda shape, dtype=np.float64: np.zeros(_small(shape), dtype),
    "numpy.ones": lambda shape, dtype=np.float64: np.ones(_small(shape), dtype),
    "numpy.empty": lambda shape, dtype=np.float64: np.zeros(_small(shape), dtype),
    "numpy.full": lambda shape, fill_value, dtype=None: np.full(_small(shape), fill_value, no_text(dtype)),
    "numpy.zeros_like": lambda array, dtype=None: np.zeros(array.shape, dtype or array.dtype),
    "numpy.empty_like": lambda array, dtype=None: np.zeros(array.shape, dtype or array.dtype),
    "numpy.ones_like": lambda array, dtype=None: np.ones(array.shape, dtype or array.dtype),
    "numpy.array": lambda items, dtype=None: np.array(
        items if isinstance(items, np.ndarray) else to_list(items), no_text(dtype)
    ),
    "numpy.asarray": lambda items, dtype=None: np.asarray(items, no_text(dtype)),
    "numpy.ascontiguousarray": np.ascontiguousarray,
    "numpy.arange": lambda *bounds, dtype=None: np.arange(*(_small(b) for b in bounds), dtype=dtype),
    "numpy.prod": lambda items: int(_product(items)),
    "numpy.dtype": np.dtype,
}

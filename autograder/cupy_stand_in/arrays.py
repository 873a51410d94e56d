"""`cupy.ndarray`: an array in the simulated GPU's memory, with which NumPy computes where the elements lie.

Like CuPy's: an element and a sum are arrays without dimensions and stay on the device, slices are views, nothing becomes a
NumPy array by itself, and NumPy arrays are no operands. Launches of numba.cuda take it by `__cuda_array_interface__`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.cupy_stand_in.devices import CupyDevice
from autograder.cupy_stand_in.memory import ArrayMemory, NotForStandIn, lacks

# Methods that compute what NumPy's method of this name does; what they return is wrapped.
METHODS = (
    "all any argmax argmin argsort astype clip conj conjugate copy cumprod cumsum diagonal dot flatten max mean min "
    "nonzero prod ptp ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var view"
).split()
PROPERTIES = "T imag real".split()
FACTS = "dtype flags itemsize nbytes ndim shape size strides".split()


class Arrays:
    """Makes arrays of one memory, and takes those apart that a function is given."""

    def __init__(self, memory: ArrayMemory) -> None:
        self.memory = memory
        self.bytes_in_use = 0  # of arrays that own memory
        self.by_function: dict[Any, Callable[..., Any]] = {}  # NumPy's function: the one of `cupy` that stands for it

    def of_host(self, host: Any) -> CupyArray:
        """An array on the device with the elements of a NumPy array or scalar."""
        host = np.asarray(host)
        lies_together = host.flags.c_contiguous or host.flags.f_contiguous
        array = over(self, self.memory.copied(host if lies_together else np.ascontiguousarray(host)))
        return self._owning(array)

    def uninitialised(self, shape: tuple[int, ...], dtype: np.dtype, order: str = "C") -> CupyArray:
        """An array that nobody has written."""
        backwards = order == "F" and len(shape) > 1
        array = over(self, self.memory.uninitialised(shape[::-1] if backwards else shape, dtype))
        self._owning(array)
        return array.transpose() if backwards else array

    def _owning(self, array: CupyArray) -> CupyArray:
        self.bytes_in_use += array.nbytes
        weakref.finalize(array, self._freed, array.nbytes)
        return array

    def _freed(self, size_bytes: int) -> None:
        self.bytes_in_use -= size_bytes

    def of_interface(self, interface: dict[str, Any], owner: Any) -> CupyArray:
        """An array over the memory of another one, of numba.cuda for one: no copy."""
        return over(self, self.memory.described(interface), keeps=owner)

    def given(self, value: Any) -> Any:
        """An argument as NumPy computes with it; a NumPy array is refused, as by CuPy."""
        if isinstance(value, CupyArray):
            return value.elements
        if isinstance(value, np.ndarray):
            raise NotForStandIn(
                "Unsupported type <class 'numpy.ndarray'>: CuPy does not compute with NumPy arrays.",
                remedy="Write cupy.asarray(...) around it.",
            )
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(map(self.given, value))
        if hasattr(value, "__cuda_array_interface__"):
            return self.of_interface(value.__cuda_array_interface__, value).elements
        return value

    def wrapped(self, result: Any, *sources: CupyArray) -> Any:
        """What a function returns: views of its arguments stay views, all other numbers go to the device."""
        if isinstance(result, np.ndarray):
            for source in sources:
                if np.may_share_memory(result, source.elements):  # other allocations are elsewhere: bounds are enough
                    return over(self, self.memory.part(source.on_device, result), keeps=source)
            return self.of_host(result)
        if isinstance(result, (np.generic, bool, int, float, complex)):
            return self.of_host(result)
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*(self.wrapped(each, *sources) for each in result))
        if isinstance(result, (list, tuple)):
            return type(result)(self.wrapped(each, *sources) for each in result)
        return result

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """A function of NumPy's, carried out on arrays of the device."""
        out = options.get("out")
        target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if target is not None and not isinstance(target, CupyArray):
            raise NotForStandIn("`out` must be a cupy.ndarray.", remedy="Make it with cupy.empty_like(...).")
        sources = list(_arrays_in((arguments, tuple(options.values()))))
        result = function(*self.given(arguments), **{name: self.given(each) for name, each in options.items()})
        if target is not None:
            target.wrote()
            return target
        return self.wrapped(result, *sources)


def _arrays_in(value: Any) -> Iterator[CupyArray]:
    if isinstance(value, CupyArray):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _arrays_in(each)


class CupyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of the device: any shape, and any dtype that numba.cuda's device arrays have.

    Raises `NotForStandIn` (a TypeError) where CuPy would not take an operand,
    `NotInStandIn` (an AttributeError) for what
    the stand-in lacks.
    """

    dtype: np.dtype
    flags: Any
    itemsize: int
    nbytes: int
    ndim: int
    shape: tuple[int, ...]
    size: int
    strides: tuple[int, ...]
    transpose: Callable[..., CupyArray]


    _arrays: Arrays
    on_device: Any
    _keeps: Any  # whoever owns the memory

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C") -> None:
        if memptr is not None or strides is not None:
            raise lacks("cupy.ndarray(memptr=..., strides=...)")
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(map(int, shape))
        made = current().uninitialised(shape, np.dtype(dtype), order)
        self._arrays, self.on_device, self._keeps = made._arrays, made.on_device, made

    # -- where it is ----------------------------------------------------------------------------------------------

    @property
    def elements(self) -> np.ndarray:
        """The elements where they lie, as NumPy sees them."""
        return self._arrays.memory.elements(self.on_device)

    def wrote(self, key: Any = ...) -> None:
        """Tells the memory which elements have been written."""
        self._arrays.memory.wrote(self.on_device, key)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self.on_device.__cuda_array_interface__
        return interface | {"data": (self._arrays.memory.address(self.on_device), False)}

    @property
    def data(self) -> Any:
        """CuPy's memory pointer: `data.ptr` is the address on the device."""
        return SimpleNamespace(ptr=self._arrays.memory.address(self.on_device), mem=SimpleNamespace(size=self.nbytes))

    @property
    def device(self) -> CupyDevice:
        return CupyDevice()

    def get(self, stream: Any = None, order: Any = "C", out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        """A NumPy copy, or the copy made into `out`."""
        if out is None:
            return self.elements.copy(order="K" if order == "A" else order)
        np.copyto(out, self.elements)
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Copies a NumPy array of the same shape here."""
        if np.shape(arr) != self.shape:
            raise NotForStandIn(f"set needs an array of shape {self.shape}; this one has {np.shape(arr)}.")
        self.elements[...] = arr
        self.wrote()

    # -- elements -------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self._arrays.wrapped(self.elements[self._key(key)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise NotForStandIn(
                "Non-scalar numpy.ndarray cannot be used for fill.", remedy="Write cupy.asarray(...) around it."
            )
        key = self._key(key)
        self.elements[key] = value if isinstance(value, np.ndarray) else self._arrays.given(value)
        self.wrote(key)

    def _key(self, key: Any) -> Any:
        """An index as NumPy takes it; arrays of indices may be NumPy's, as in CuPy."""
        if isinstance(key, tuple):
            return tuple(map(self._key, key))
        return key.elements if isinstance(key, CupyArray) else key

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[place] for place in range(len(self)))

    def item(self, *index: Any) -> Any:
        """The element as Python's own number."""
        return self.elements.item(*index)

    def tolist(self) -> Any:
        return self.elements.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return self.elements.tobytes(order)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        self.elements.sort(axis)
        self.wrote()

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'ndarray'")

    def __bool__(self) -> bool:
        return bool(self.elements)

    def __int__(self) -> int:
        return int(self.elements.item())

    def __float__(self) -> float:
        return float(self.elements.item())

    def __complex__(self) -> complex:
        return complex(self.elements.item())

    def __index__(self) -> int:
        return self.elements.__index__()

    def __format__(self, how: str) -> str:
        return format(self.elements[()] if not self.shape else self.elements, how)

    def __repr__(self) -> str:
        return repr(self.elements)

    def __str__(self) -> str:
        return str(self.elements)

    def __copy__(self) -> CupyArray:
        return self._arrays.of_host(self.elements)

    def __deepcopy__(self, memo: Any) -> CupyArray:
        return self._arrays.of_host(self.elements)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.get(),)

    # -- NumPy's functions ----------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise NotForStandIn(
            "Implicit conversion to a NumPy array is not allowed.", remedy="Write .get() or cupy.asnumpy(...)."
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """`np.sqrt(array)` and all operators: computed here, and the result stays on the device."""
        for each in inputs:
            if isinstance(each, (list, tuple)):
                raise NotForStandIn(f"Unsupported type {type(each)}.", remedy="Write cupy.asarray(...) around it.")
        result = self._arrays.call(getattr(ufunc, method), *inputs, **options)
        if method == "at":
            inputs[0].wrote()
        return result

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """`np.concatenate([array, array])` and the like."""
        if function not in self._arrays.by_function:
            raise lacks(f"cupy.{function.__name__}")
        return self._arrays.by_function[function](*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python and other libraries look for
            raise AttributeError(name)
        raise lacks(f"cupy.ndarray.{name}")


def over(arrays: Arrays, on_device: Any, keeps: Any = None) -> CupyArray:
    """An array over memory of the device that is there already; `keeps`: whoever owns it."""
    array = CupyArray.__new__(CupyArray)
    array._arrays, array.on_device, array._keeps = arrays, on_device, keeps
    return array


_current: list[Arrays] = []


def use(arrays: Arrays) -> None:
    """From here on `cupy.ndarray(shape)`, and arrays that were pickled, lie in this memory."""
    _current[:] = [arrays]


def current() -> Arrays:
    """The memory that `cupy` stands for now."""
    if not _current:
        raise NotForStandIn("The stand-in for CuPy is not in use.", remedy="Call autograder.simulate() first.")
    return _current[0]


def _again(host: np.ndarray) -> CupyArray:
    """An array that was pickled."""
    return current().of_host(host)


def _method(name: str) -> Callable[..., Any]:
    def method(self: CupyArray, *arguments: Any, **options: Any) -> Any:
        options.pop("blocking", None)
        if name == "ravel" and not self.flags.c_contiguous:
            return self._arrays.of_host(self.elements.ravel(*arguments, **options))

        def of_numpy(elements: np.ndarray, *given: Any, **also: Any) -> Any:
            if name == "ptp":
                return np.ptp(elements, *given, **also)
            return getattr(elements, name)(*given, **also)

        return self._arrays.call(of_numpy, self, *arguments, **options)

    method.__name__ = name
    return method


def _property(name: str) -> property:
    return property(lambda self: self._arrays.wrapped(getattr(self.elements, name), self))


def _fact(name: str) -> property:
    return property(lambda self: getattr(self.elements, name))


for _name in METHODS:
    setattr(CupyArray, _name, _method(_name))
for _name in PROPERTIES:
    setattr(CupyArray, _name, _property(_name))
for _name in FACTS:
    setattr(CupyArray, _name, _fact(_name))
CupyArray.__name__, CupyArray.__qualname__, CupyArray.__module__ = "ndarray", "ndarray", "cupy"

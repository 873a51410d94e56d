"""Device arrays as host code sees them: shape, dtype, slices, and copies to and from the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.language.live import as_constant
from autograder.language.numeric_types import TypeReference
from autograder.simgpu.values.array_checks import (
    NoSuchAxes,
    NotOneDimension,
    check_contiguous,
    check_copy,
    check_dtype,
    check_shape,
)  # fmt: skip
from autograder.simgpu.values.memory import WRITTEN_BY_HOST, AddressSpace, Buffer, View, contiguous_strides, poison


class NotNumPys(KernelFault, TypeError):
    """A type of Numba's where NumPy's is asked for."""


def numpys_dtype(dtype: Any) -> np.dtype:
    """The dtype that memory is asked for with; NumPy, and so Numba's own `device_array`, knows no type of Numba's."""
    if type(dtype).__module__.startswith(("numba.core.types", "numba.cuda.types")):
        meant = as_constant(dtype)
        instead = (
            f"Write np.{meant.dtype.name}." if isinstance(meant, TypeReference) else "Use a type such as np.float32."
        )
        raise NotNumPys(f"`{dtype}` is Numba's type here, which NumPy cannot interpret as a data type.", remedy=instead)
    return check_dtype(dtype)


class DeviceArray:
    """An array in the simulated GPU's memory; the host reads it with `copy_to_host`, never by index.

    Mirrors numba.cuda's DeviceNDArray: `shape`, `dtype`, `size`, `ndim`, `nbytes`, `strides`, `T`, slicing (a view),
    `reshape`, `ravel`, `view`, `copy_to_host`, `copy_to_device`. Raises `KernelFault` for what a device array cannot do.
    """

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self._buffer = buffer
        self.shape = shape
        self._element_strides = strides
        self._offset = offset

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype:
        return self._buffer.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(step * self.dtype.itemsize for step in self._element_strides)

    @property
    def T(self) -> DeviceArray:  # noqa: N802 (NumPy's name)
        return self.transpose()

    def transpose(self, axes: Any = None) -> DeviceArray:
        """A view with its dimensions in another order."""
        order = tuple(reversed(range(self.ndim))) if axes is None else tuple(int(axis) for axis in axes)
        if sorted(order) != list(range(self.ndim)):
            raise NoSuchAxes(f"invalid axes list {order}")
        shape, strides = (tuple(each[axis] for axis in order) for each in (self.shape, self._element_strides))
        return DeviceArray(self._buffer, shape, strides, self._offset)

    @classmethod
    def contiguous(cls, buffer: Buffer, shape: tuple[int, ...], offset: int = 0) -> DeviceArray:
        return cls(buffer, shape, contiguous_strides(shape), offset)

    @property
    def flags(self) -> Any:
        """NumPy's flags of the same layout."""
        return self._host_view().flags

    @property
    def alloc_size(self) -> int:
        return self._buffer.data.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous() else self.strides,
            "data": (self._buffer.address + self._offset * self.dtype.itemsize if self.size else 0, False),
            "typestr": self.dtype.str,
            "stream": None,
            "version": 3,
        }

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a device array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<device array {self.shape} {self.dtype}>"

    def is_c_contiguous(self) -> bool:
        return self._element_strides == contiguous_strides(self.shape)

    def is_f_contiguous(self) -> bool:
        return self._element_strides[::-1] == contiguous_strides(self.shape[::-1])

    # -- parts and other shapes -----------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """A view for slices; a single element is copied to the host, as Numba does."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, (list, np.ndarray, bool, np.bool_)) for each in keys):  # NumPy would give a copy
            raise KernelFault("A device array is indexed with integers and slices, as Numba's are.")
        host = self._host_view()
        part = host[key]
        if not isinstance(part, np.ndarray):
            self._note_host_read(key)
            return part
        return self._part(part)

    def _part(self, part: np.ndarray) -> DeviceArray:
        """The device's view of a view of the host's copy."""
        start = (
            (part.__array_interface__["data"][0] - self._buffer.data.__array_interface__["data"][0]) if part.size else 0
        )
        steps = tuple(step // self.dtype.itemsize for step in part.strides)
        return DeviceArray(self._buffer, part.shape, steps, start // self.dtype.itemsize)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copies a value or array into a slice, as Numba does on its default stream."""
        target = self[key] if not isinstance(key, (int, np.integer)) or self.ndim > 1 else None
        if isinstance(value, DeviceArray):
            value = value.copy_to_host()
        self._host_view()[key] = value
        self._note_host_write(target)

    def reshape(self, *shape: Any, order: str = "C") -> DeviceArray:
        """The same elements in another shape; one extent may be -1."""
        if len(shape) == 1 and isinstance(shape[0], tuple):
            shape = shape[0]
        if order == "F":
            return self.T.reshape(*reversed(shape)).T
        if not self.is_c_contiguous():
            raise KernelFault("Only a contiguous device array can be reshaped.", remedy="Copy it first.")
        try:
            new = np.empty(self.shape, np.bool_).reshape(shape).shape
        except ValueError:
            raise KernelFault(f"An array of shape {self.shape} cannot be reshaped to {shape}.") from None
        return DeviceArray.contiguous(self._buffer, new, self._offset)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceArray:
        """The same elements in one dimension, in an order in which they lie already; "A" takes the one they have."""
        if order == "A":
            order = "C" if self.is_c_contiguous() or not self.is_f_contiguous() else "F"
        if not (self.is_f_contiguous() if order == "F" else self.is_c_contiguous()):
            raise NotOneDimension(f"This device array does not lie in memory in {order} order: Numba cannot ravel it.")
        return DeviceArray(self._buffer, (self.size,), (1,), self._offset)

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceArray:
        """A view without the dimensions of extent 1."""
        part = self._host_view().squeeze(axis)
        return self._part(part)

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another dtype."""
        wanted = numpys_dtype(dtype)
        if wanted.itemsize == self.dtype.itemsize:
            shape, steps = self.shape, self._element_strides
        else:
            shape = self._host_view().view(wanted).shape  # raises where NumPy would
            steps = contiguous_strides(shape)
        start = self._offset * self.dtype.itemsize // wanted.itemsize
        return DeviceArray(self._buffer.reinterpreted(wanted), shape, steps, start)

    def taken_for(self, dtype: np.dtype, layout: str) -> DeviceArray:
        """What a kernel sees that was compiled for elements of another dtype: this shape, and the bytes that lie here.

        `layout`: that which it was compiled for. "A" goes by this array's strides, "C" and "F" lie packed. Raises
        `KernelFault` where a GPU would read beyond the memory or between its elements.
        """
        if layout == "A":
            if any(step % dtype.itemsize for step in self.strides):
                raise KernelFault(
                    f"A kernel compiled for {dtype} would read elements of {self.dtype} that overlap.",
                    remedy="Convert the array, or change the signature.",
                )
            steps = tuple(step // dtype.itemsize for step in self.strides)
        else:
            steps = contiguous_strides(self.shape)
            if layout == "F":
                steps = contiguous_strides(self.shape[::-1])[::-1]
        start = self._offset * self.itemsize // dtype.itemsize
        buffer = self._buffer.seen_as(dtype)
        last = start + sum((extent - 1) * max(step, 0) for extent, step in zip(self.shape, steps, strict=True))
        if self.size and last >= len(buffer.data):
            raise KernelFault(
                f"A kernel compiled for {dtype} would reach beyond this array's {self.nbytes} bytes of {self.dtype}.",
                remedy="Convert the array, or change the signature.",
            )
        return DeviceArray(buffer, self.shape, steps, start)

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceArray]:
        """Views of `section` elements each, of a one-dimensional array."""
        for start in range(0, self.size, section):
            yield self[start : start + section]

    def bind(self, stream: Any = 0) -> DeviceArray:
        return self

    # -- copies ---------------------------------------------------------------------------------------------------

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """A NumPy copy of the array, or the copy made into `ary`."""
        host = self._host_view()
        self._note_host_read()
        if ary is None:
            return host.copy(order="K")  # in the order that the elements have on the device
        if ary.shape != self.shape:
            raise KernelFault(f"copy_to_host needs an array of shape {self.shape}; this one has {ary.shape}.")
        ary[...] = host
        return ary

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        self[key] = value

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copies a host or device array of the same shape into this one."""
        if isinstance(ary, DeviceArray):
            ary._note_host_read()
        value = ary._host_view() if isinstance(ary, DeviceArray) else np.asarray(ary)
        check_copy(self._host_view(), value, isinstance(ary, DeviceArray))
        self._host_view()[...] = value
        self._note_host_write(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    # -- for the device -------------------------------------------------------------------------------------------

    def _host_view(self) -> np.ndarray:
        strides = tuple(step * self.dtype.itemsize for step in self._element_strides)
        base = self._buffer.data[self._offset :]
        return np.lib.stride_tricks.as_strided(base, self.shape, strides)

    def _note_host_read(self, key: Any = slice(None)) -> None:
        """Tells whoever watches the memory what is read here."""
        if self._buffer.owner.watcher is None:
            return
        buffer = self._buffer
        here = np.lib.stride_tricks.as_strided(
            np.arange(self._offset, len(buffer.data)), self.shape, tuple(8 * step for step in self._element_strides)
        )
        buffer.note_read(np.reshape(here[key], -1), by_host=True)

    def _note_host_write(self, part: DeviceArray | None) -> None:
        self._buffer.owner.version += 1
        if self._buffer.all_set:
            return
        part = part if isinstance(part, DeviceArray) else self
        if part.size == len(self._buffer.data):
            self._buffer.set_by_host(slice(None))
            return
        grids = np.indices(part.shape).reshape(part.ndim, -1)
        steps = np.array(part._element_strides)[:, None]
        self._buffer.set_by_host(part._offset + (grids * steps).sum(axis=0))

    def _view(self, name: str = "") -> View:
        return View(self._buffer, self._offset, self.shape, self._element_strides, self.dtype, name)


def buffer_of(array: DeviceArray) -> Buffer:
    """The memory that an array is in."""
    return array._buffer


def contents(array: DeviceArray) -> np.ndarray:
    """The elements of an array where they are: no copy, and nobody is told that they are read or written."""
    array._buffer.owner.is_seen_by_host = True
    return array._host_view()


def handed_over(array: DeviceArray) -> np.ndarray:
    """The elements of an array that nobody will use any more, for the host to have: no copy."""
    array._note_host_read()
    return array._buffer.data.reshape(array.shape) if array._buffer.data.size == array.size else array.copy_to_host()


def elements_where(array: DeviceArray, flags: np.ndarray) -> np.ndarray:
    """A flag for each element of an array, of those for each element of its buffer."""
    return np.lib.stride_tricks.as_strided(flags[array._offset :], array.shape, array._element_strides).copy()


def written_elements(array: DeviceArray, by_kernels: bool = False) -> np.ndarray:
    """Which elements of an array have been written (by kernels, or by anybody)."""
    buffer = array._buffer
    if buffer.shadow is None or (buffer.all_set and not by_kernels):
        return np.full(array.shape, not by_kernels)
    return elements_where(array, buffer.shadow.written_at > (WRITTEN_BY_HOST if by_kernels else 0))


def to_device(addresses: AddressSpace, host: np.ndarray, may_borrow: bool = False) -> DeviceArray:
    """A copy of a host array in device memory, in its own memory order where it is contiguous.

    `may_borrow`: the elements themselves, where they lie as a copy's would, until `Buffer.own` is called.
    """
    host = np.asarray(host)
    dtype = check_dtype(host.dtype)
    check_shape(host.shape, dtype)
    check_contiguous(host)
    fortran = host.ndim > 1 and host.flags.f_contiguous and not host.flags.c_contiguous
    elements = host.T if fortran else host
    may_borrow = may_borrow and elements.flags.carray  # compiled primitives take aligned, writable memory
    data = np.array(elements, order="C", copy=None if may_borrow else True).reshape(-1)
    strides = contiguous_strides(host.shape[::-1])[::-1] if fortran else contiguous_strides(host.shape)
    buffer = addresses.register(Buffer(data, addresses.reserve(data.nbytes), "global"))
    buffer.is_borrowed = may_borrow
    return DeviceArray(buffer, host.shape, strides)


def device_array(addresses: AddressSpace, shape: Any, dtype: Any) -> DeviceArray:
    """Uninitialised device memory: filled with values that no correct result contains, and watched until written."""
    dtype = numpys_dtype(dtype)
    shape = check_shape(shape, dtype)
    data = np.empty(int(np.prod(shape, dtype=np.int64)), dtype)
    poison(data)
    buffer = Buffer(data, addresses.reserve(data.nbytes), "global", initialised=not addresses.has_shadows)
    return DeviceArray.contiguous(addresses.register(buffer), shape)


def zeros(addresses: AddressSpace, shape: Any, dtype: Any) -> DeviceArray:
    """Device memory that holds zeros."""
    dtype = numpys_dtype(dtype)
    shape = check_shape(shape, dtype)
    data = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype)
    return DeviceArray.contiguous(addresses.register(Buffer(data, addresses.reserve(data.nbytes), "global")), shape)


def described_array(addresses: AddressSpace, desc: dict[str, Any]) -> DeviceArray:
    """The device array that a `__cuda_array_interface__` describes; its memory must be the simulated GPU's."""
    dtype, shape = np.dtype(desc["typestr"]), tuple(desc["shape"])
    view = addresses.view_at(desc["data"][0], dtype)
    steps = desc.get("strides")
    if steps is None:
        return DeviceArray.contiguous(view.buffer, shape, int(view.offset))
    return DeviceArray(view.buffer, shape, tuple(step // dtype.itemsize for step in steps), int(view.offset))


class InOut:
    """`cuda.InOut(array)`: a host array as an argument, copied to the device and back."""

    copies_in, copies_out = True, True

    def __init__(self, value: np.ndarray) -> None:
        self.value = value
        self.device: DeviceArray | None = None
        self.seen: Callable[[DeviceArray], DeviceArray] | None = None  # what the kernel takes it for, if not what it is

    def to_device(self, session: Any) -> DeviceArray:
        """The argument in device memory, for one launch."""
        if self.copies_in:
            self.device = session.to_device(np.asarray(self.value))
        else:
            self.device = session.device_array(self.value.shape, self.value.dtype)
        return self.device if self.seen is None else self.seen(self.device)

    def copy_back(self) -> None:
        if self.copies_out and self.device is not None:
            self.device.copy_to_host(self.value)


class In(InOut):
    """`cuda.In(array)`: what the kernel writes to it stays on the device."""

    copies_out = False


class Out(InOut):
    """`cuda.Out(array)`: the kernel sees uninitialised memory."""

    copies_in = False

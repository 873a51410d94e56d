"""The host's side of `numba.cuda` on the simulated GPU: memory, streams, events, devices and reductions."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.host import driver_side
from autograder.simgpu.host.dispatch import MODEL, Kernel, device
from autograder.simgpu.values.array_checks import MOST_BYTES
from autograder.simgpu.values.arrays import DeviceArray, In, InOut, Out, described_array, numpys_dtype

# -- memory -------------------------------------------------------------------------------------------------------


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """A copy of a host array in device memory."""
    if isinstance(obj, DeviceArray):
        return obj
    if is_cuda_array(obj):  # another library's memory on the device: Numba copies nothing there
        return as_cuda_array(obj)
    if to is not None:
        to.copy_to_device(obj)
        return to
    return device.session.to_device(np.asarray(obj))


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:
    """Uninitialised device memory; reading it before writing is reported."""
    if order == "C" or np.ndim(shape) == 0:
        return device.session.device_array(shape, dtype)
    return device.session.device_array(tuple(shape)[::-1], dtype).T


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """Uninitialised device memory of an array's shape, dtype and order of dimensions."""
    shape, strides = ary.shape, ary.strides
    slowest_first = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    array = device.session.device_array(tuple(shape[axis] for axis in slowest_first), ary.dtype)
    return array.transpose(np.argsort(slowest_first)) if len(shape) > 1 else array


def _host_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Literal["C", "F"] = "C", **_: Any
) -> np.ndarray:
    """Pinned, mapped and managed memory are ordinary host arrays here: the device reads and writes through them."""
    return np.empty(shape, numpys_dtype(dtype), order=order)


pinned_array = mapped_array = managed_array = _host_array


def _host_array_like(array: Any, **_: Any) -> np.ndarray:
    """A host array of another array's shape, dtype and order of dimensions."""
    slowest_first = sorted(range(len(array.shape)), key=lambda axis: -abs(array.strides[axis]))
    made = np.empty(tuple(array.shape[axis] for axis in slowest_first), array.dtype)
    return made.transpose(np.argsort(slowest_first)) if len(slowest_first) > 1 else made


pinned_array_like = mapped_array_like = _host_array_like


@contextmanager
def pinned(*arrays: np.ndarray) -> Iterator[None]:
    yield


@contextmanager
def defer_cleanup() -> Iterator[None]:
    yield


def auto_device(obj: Any, stream: Any = 0, copy: bool = True, user_explicit: bool = False) -> tuple[DeviceArray, bool]:
    """(the argument in device memory, whether it was copied there)."""
    return (obj, False) if isinstance(obj, DeviceArray) else (to_device(obj), True)


def is_cuda_array(obj: Any) -> bool:
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceArray:
    """A device array over another library's memory, found by its `__cuda_array_interface__`."""
    if isinstance(obj, DeviceArray):
        return obj
    if not is_cuda_array(obj):
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj, sync=sync)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceArray:
    """The device array that an interface describes; its memory must be the simulated GPU's."""
    return described_array(device.session.addresses, desc)


# -- streams, events, devices -------------------------------------------------------------------------------------


class Stream:
    """Work is carried out in order, so a stream has nothing to wait for."""

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle

    def __int__(self) -> int:
        return self.handle

    async def async_done(self) -> None:
        """Everything before has finished."""

    def synchronize(self) -> None:
        """Everything before has finished."""

    def auto_synchronize(self) -> Any:
        return _nothing(self)

    def add_callback(self, callback: Callable[..., Any], arg: Any = None) -> None:
        callback(self, 0, arg)

    def __bool__(self) -> bool:
        return False


@contextmanager
def _nothing(value: Any) -> Iterator[Any]:
    yield value


class Event:
    """A point on the device's clock, which the performance model drives: times are estimates, not measurements."""

    def __init__(self, timing: bool = True) -> None:
        self.at_ns: float | None = None

    def record(self, stream: Any = 0) -> None:
        device.keeps_time = True
        self.at_ns = device.estimated_ns

    def synchronize(self) -> None:
        """The device is never behind."""

    def wait(self, stream: Any = 0) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds between two events, as estimated for the modelled GPU."""
        return event_elapsed_time(self, end)


def event_elapsed_time(start: Event, end: Event) -> float:
    if start.at_ns is None or end.at_ns is None:
        raise KernelFault("Both events must be recorded before the time between them is known.")
    return (end.at_ns - start.at_ns) / 1e6


class MemoryInfo(NamedTuple):
    """Device memory in bytes."""

    free: int
    total: int


class Deallocations:
    """The queue of arrays to be freed, which is always empty: Python frees an array that nobody has any more."""

    def clear(self) -> None:
        """Frees what waits."""

    def __len__(self) -> int:
        return 0


class SimulatedContext:
    """What host programs ask of a device or context."""

    name = f"simulated GPU (NVIDIA {MODEL})".encode()
    compute_capability = (9, 0)
    id = 0
    uuid = "GPU-00000000-0000-0000-0000-000000000000"  # as Numba's simulator has it
    supports_float16 = True

    def __getattr__(self, name: str) -> int:
        """A device attribute by the driver's name, such as MULTIPROCESSOR_COUNT."""
        if name.isupper():
            return driver_side.attribute(name)
        raise AttributeError(f"The simulated GPU has no {name!r}.")

    def get_device_identity(self) -> dict[str, int]:
        return {f"pci_{part}_id": driver_side.attribute(f"PCI_{part.upper()}_ID") for part in ("domain", "bus", "device")}

    @property
    def device(self) -> SimulatedContext:
        return self

    @property
    def deallocations(self) -> Deallocations:
        """The arrays that wait to be freed: none does here."""
        return Deallocations()

    def reset(self) -> None:
        device.begin()

    def synchronize(self) -> None:
        """Launches have finished when they return."""

    def get_memory_info(self) -> MemoryInfo:
        """What one array may take: the simulation must fit a laptop."""
        return MemoryInfo(MOST_BYTES, MOST_BYTES)

    def get_primary_context(self) -> SimulatedContext:
        return self

    def pop(self) -> None:
        """One context is always there."""

    push = pop

    def __enter__(self) -> SimulatedContext:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class DeviceList(list[SimulatedContext]):
    """`cuda.gpus`: one simulated GPU."""

    @property
    def current(self) -> SimulatedContext:
        return self[0]

    @property
    def lst(self) -> list[SimulatedContext]:
        return list(self)


class Reduce:
    """`@cuda.reduce`: reduces an array with a binary function, as a tree of launches on the simulated GPU."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = Kernel(function, is_device=True, options={}, signatures=None)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        from autograder.simgpu.wider.reduction import reduce_array

        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        result = reduce_array(device, self.function.__autograder_function__, to_device(arr), size, init)
        if res is not None:
            res[:1] = result
            return None
        return result


context = SimulatedContext()
gpus = DeviceList([context])


def profiling() -> Any:
    """`with cuda.profiling():` marks a region for a profiler of real GPUs; nothing happens here."""
    return _nothing(None)


def detect() -> bool:
    print(f"Found 1 CUDA device: simulated GPU, times estimated for an NVIDIA {MODEL}")
    return True


def names() -> dict[str, Any]:
    """What the host may use of `numba.cuda`, by name."""
    return dict(
        to_device=to_device, device_array=device_array, device_array_like=device_array_like,
        pinned_array=pinned_array, mapped_array=mapped_array, managed_array=managed_array,
        pinned_array_like=pinned_array_like, mapped_array_like=mapped_array_like, pinned=pinned, mapped=_nothing,
        defer_cleanup=defer_cleanup, is_cuda_array=is_cuda_array, as_cuda_array=as_cuda_array,
        from_cuda_array_interface=from_cuda_array_interface, synchronize=lambda: None,
        stream=Stream, default_stream=Stream, per_thread_default_stream=lambda: Stream(2),
        legacy_default_stream=lambda: Stream(1), external_stream=Stream, event=Event,
        event_elapsed_time=event_elapsed_time, is_available=lambda: True, cuda_error=lambda: None,
        get_current_device=lambda: context, current_context=lambda devnum=None: context,
        select_device=_select_device, gpus=gpus, list_devices=lambda: gpus, close=lambda: None, detect=detect,
        is_supported_version=lambda: True, is_float16_supported=lambda: True, profile_start=lambda: None,
        profile_stop=lambda: None, profiling=profiling, reduce=Reduce, Reduce=Reduce, In=In, Out=Out, InOut=InOut,
    )  # fmt: skip


def _select_device(number: int) -> SimulatedContext:
    if number != 0:
        raise KernelFault(f"There is no device {number}: the simulated GPU is device 0, and the only one.")
    return context

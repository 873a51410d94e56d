"""The `cuda` module of the simulated GPU: what `from numba import cuda` gives once it is installed.

Unmodified host code runs on it: `@cuda.jit`, launches, device arrays, streams and events. Names that only mean something
inside a kernel (`cuda.threadIdx`, `cuda.syncthreads`) say so when a host program uses them.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.language.live import from_python
from autograder.language.program import Function, reachable
from autograder.language.validate import validate_kernel
from autograder.simgpu.arrays import DeviceArray
from autograder.simgpu.device import Session, estimate_launch
from autograder.simgpu.hazards import Hazard
from autograder.simgpu.intrinsics import CALLS, CUDA, TYPES, VALUES
from autograder.simgpu.launch import LaunchRecord
from autograder.simgpu.numba_types import scalar

MODEL = "H200"  # whose times events report
FORALL_THREADS = 256


class LiveDevice:
    """The simulated GPU as a notebook or script sees it: one memory, launches in order, hazards told after each."""

    def __init__(self) -> None:
        self.session = Session(keep_records=False)
        self.listeners: list[Callable[[LaunchRecord, Function, tuple], None]] = []
        self.tell: Callable[[Sequence[Hazard]], None] = tell_on_stderr
        self.estimated_ns = 0.0  # of everything launched so far: the device's clock

    def launch(self, kernel: Function, configuration: tuple, arguments: tuple) -> LaunchRecord:
        grid, block, *rest = configuration
        shared = int(rest[1]) if len(rest) > 1 else 0
        for function in reachable(kernel):
            if function.kind != "host":
                validate_kernel(function)
        record = self.session.launch(kernel, grid, block, arguments, shared)
        self.estimated_ns += estimate_launch(record, MODEL).ns
        for listener in self.listeners:
            listener(record, kernel, arguments)
        serious = [hazard for hazard in record.hazards if hazard.severity == "error"]
        if serious:
            self.tell(serious)
        return record


def tell_on_stderr(hazards: Sequence[Hazard]) -> None:
    for hazard in hazards:
        print(f"simulated GPU: {hazard.kind.replace('_', ' ')}: {hazard}", file=sys.stderr)


device = LiveDevice()


class Kernel:
    """What `@cuda.jit` makes of a function here: `kernel[grid, block](...)` runs it on the simulated GPU."""

    def __init__(
        self, py_func: Callable, *, is_device: bool, options: dict[str, Any], parameters: tuple | None
    ) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.is_device = is_device
        self.options = options
        self._scalar_types = parameters

    @property
    def __autograder_function__(self) -> Function:
        kind = "device" if self.is_device else "kernel"
        return from_python(self.py_func, kind, self.options.get("max_registers"))

    def __getitem__(self, configuration: Any) -> Configured:
        if self.is_device:
            raise KernelFault(f"`{self.__name__}` is a device function: kernels call it, the host cannot launch it.")
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise KernelFault("A launch needs a grid and a block.", remedy=f"Write {self.__name__}[grid, block](...).")
        return Configured(self, configuration)

    def __call__(self, *arguments: Any) -> None:
        if self.is_device:
            raise KernelFault(f"`{self.__name__}` is a device function: only kernels can call it.")
        raise KernelFault(
            f"`{self.__name__}` is a kernel: it needs a grid and a block.",
            remedy=f"Write {self.__name__}[grid, block](...).",
        )

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured:
        """A one-dimensional launch with at least `ntasks` threads."""
        threads = tpb or FORALL_THREADS
        return Configured(self, (max(1, -(-int(ntasks) // threads)), threads, stream, sharedmem))

    configure = __getitem__

    def converted(self, arguments: tuple) -> tuple:
        """Scalars in the types of an explicit signature."""
        if self._scalar_types is None:
            return arguments
        if len(arguments) != len(self._scalar_types):
            raise KernelFault(
                f"`{self.__name__}` was compiled for {len(self._scalar_types)} arguments, but {len(arguments)} are given."
            )
        return tuple(
            value if wanted is None or isinstance(value, (DeviceArray, np.ndarray, tuple)) else wanted.type(value)
            for value, wanted in zip(arguments, self._scalar_types, strict=True)
        )

    def inspect_types(self, *_: Any, **__: Any) -> None:
        raise KernelFault("The simulated GPU interprets kernels; there is no compiled code to inspect.")

    def compile(self, signature: Any = None) -> Kernel:
        return self


class Configured:
    """A kernel with its grid and block, ready to be called."""

    def __init__(self, kernel: Kernel, configuration: tuple) -> None:
        self.kernel, self.configuration = kernel, configuration

    def __call__(self, *arguments: Any) -> None:
        device.launch(self.kernel.__autograder_function__, self.configuration, self.kernel.converted(arguments))


def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:  # noqa: A002 (Numba's own name)
    """Numba's decorator: bare, with options, or with one or several signatures."""
    if isinstance(func_or_sig, Kernel):
        return func_or_sig
    if isinstance(func_or_sig, types.FunctionType):
        return Kernel(func_or_sig, is_device=device, options=options, parameters=None)
    parameters = _signature_types(func_or_sig) if func_or_sig is not None and not device else None

    def decorate(function: Callable) -> Kernel:
        if isinstance(function, Kernel):
            function = function.py_func
        return Kernel(function, is_device=device, options=options, parameters=parameters)

    return decorate


def _signature_types(signature: Any) -> tuple | None:
    """The scalar dtypes of a signature, None for arrays; None where several signatures leave the choice open."""
    if isinstance(signature, list):
        if len(signature) != 1:
            return None
        signature = signature[0]
    from numba.core import sigutils

    try:
        arguments, returned = sigutils.normalize_signature(signature)
    except Exception as error:
        raise KernelFault(f"The signature {signature!r:.80} cannot be read: {error}.") from None
    if returned is not None and str(returned) not in ("none", "void"):
        raise KernelFault("A kernel returns nothing: its signature must be void(...).")
    return tuple(TYPES.get(f"numba.{argument}") for argument in arguments)


# -- memory -------------------------------------------------------------------------------------------------------


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """A copy of a host array in device memory."""
    if isinstance(obj, DeviceArray):
        return obj
    if to is not None:
        to.copy_to_device(obj)
        return to
    return device.session.to_device(np.asarray(obj))


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:  # noqa: E501
    """Uninitialised device memory; reading it before writing is reported."""
    array = device.session.device_array(shape if order == "C" else tuple(shape)[::-1], dtype)
    return array if order == "C" else array.T


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    return device_array(ary.shape, ary.dtype)


def _host_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", **_: Any) -> np.ndarray:
    """Pinned, mapped and managed memory are ordinary host arrays here: the device reads and writes through them."""
    return np.empty(shape, dtype, order=order)


@contextmanager
def pinned(*arrays: np.ndarray) -> Iterator[None]:
    yield


@contextmanager
def defer_cleanup() -> Iterator[None]:
    yield


def is_cuda_array(obj: Any) -> bool:
    return isinstance(obj, DeviceArray)


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceArray:
    return to_device(obj)


# -- streams, events, devices -------------------------------------------------------------------------------------


class Stream:
    """Work is carried out in order, so a stream has nothing to wait for."""

    handle = 0

    def synchronize(self) -> None:
        """Everything before has finished."""

    def auto_synchronize(self) -> Any:
        return _nothing(self)

    def add_callback(self, callback: Callable, arg: Any = None) -> None:
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


class SimulatedContext:
    """What host programs ask of a device or context."""

    name = f"simulated GPU (NVIDIA {MODEL})".encode()
    compute_capability = (9, 0)
    id = 0
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024

    @property
    def MULTIPROCESSOR_COUNT(self) -> int:  # noqa: N802 (the driver's name)
        from autograder.perfmodel import SPECIFICATIONS

        return SPECIFICATIONS[MODEL].multiprocessors

    @property
    def device(self) -> SimulatedContext:
        return self

    def reset(self) -> None:
        device.session = Session(keep_records=False)

    def synchronize(self) -> None:
        """Launches have finished when they return."""

    def get_memory_info(self) -> tuple[int, int]:
        return 2 * 1024**3, 2 * 1024**3

    def __enter__(self) -> SimulatedContext:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class DeviceList(list):
    """`cuda.gpus`: one simulated GPU."""

    @property
    def current(self) -> SimulatedContext:
        return self[0]


class Reduce:
    """`@cuda.reduce`: reduces an array with a binary function, as a tree of launches on the simulated GPU."""

    def __init__(self, function: Callable) -> None:
        self.function = Kernel(function, is_device=True, options={}, parameters=None)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        from autograder.simgpu.reduction import reduce_array

        result = reduce_array(device, self.function.__autograder_function__, to_device(arr), size, init)
        if res is not None:
            res[:1] = result
            return None
        return result


# -- the module ---------------------------------------------------------------------------------------------------


class KernelName:
    """A name that only means something inside a kernel; using it on the host says so."""

    def __init__(self, path: str) -> None:
        self.__autograder_path__ = path

    def _complain(self) -> KernelFault:
        name = self.__autograder_path__.removeprefix("numba.")
        return KernelFault(f"`{name}` can only be used inside a kernel.", remedy="Put it in a @cuda.jit function.")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self._complain()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__autograder_path__}.{name}"
        if path in CALLS or path in VALUES or any(known.startswith(path + ".") for known in CALLS):
            return KernelName(path)
        raise AttributeError(f"{self.__autograder_path__.removeprefix('numba.')} has no attribute {name}")

    def __repr__(self) -> str:
        return f"<{self.__autograder_path__.removeprefix('numba.')}, for use in kernels>"


def build_module() -> types.ModuleType:
    """A fresh `numba.cuda` module backed by the simulated GPU."""
    module = types.ModuleType("numba.cuda", "numba.cuda on the simulated GPU")
    module.__path__ = []  # a package: `from numba.cuda import random` works
    context = SimulatedContext()
    module.__dict__.update(
        jit=jit, to_device=to_device, device_array=device_array, device_array_like=device_array_like,
        pinned_array=_host_array, mapped_array=_host_array, managed_array=_host_array, pinned_array_like=np.empty_like,
        mapped_array_like=np.empty_like, pinned=pinned, mapped=_nothing, defer_cleanup=defer_cleanup,
        is_cuda_array=is_cuda_array, as_cuda_array=as_cuda_array, synchronize=lambda: None,
        stream=Stream, default_stream=Stream, per_thread_default_stream=Stream, legacy_default_stream=Stream,
        event=Event, event_elapsed_time=event_elapsed_time, is_available=lambda: True, cuda_error=lambda: None,
        get_current_device=lambda: context, current_context=lambda devnum=None: context, select_device=lambda n: context,
        gpus=DeviceList([context]), list_devices=lambda: DeviceList([context]), close=lambda: None,
        detect=_detect, is_supported_version=lambda: True, declare_device=_unsupported("declare_device"),
        profile_start=lambda: None, profile_stop=lambda: None, reduce=Reduce, Reduce=Reduce,
        simulated=True,
    )  # fmt: skip
    for path in {*CALLS, *VALUES}:
        if path.startswith(CUDA + "."):
            first = path[len(CUDA) + 1 :].split(".")[0]
            module.__dict__.setdefault(first, KernelName(f"{CUDA}.{first}"))
    return module


def _detect() -> bool:
    print(f"Found 1 CUDA device: simulated GPU, times estimated for an NVIDIA {MODEL}")
    return True


def _unsupported(name: str) -> Callable:
    def complain(*_: Any, **__: Any) -> Any:
        raise KernelFault(f"cuda.{name} is not available on the simulated GPU.", remedy="It needs a real GPU.")

    return complain


_replaced: dict[str, Any] = {}


def install() -> types.ModuleType:
    """Puts the simulated module in place of `numba.cuda`; `uninstall` brings the other one back."""
    import numba

    from autograder.simgpu.random_numbers import build_random_module

    if getattr(sys.modules.get("numba.cuda"), "simulated", False):
        return sys.modules["numba.cuda"]
    module = build_module()
    module.random = build_random_module(module)
    for name in [name for name in sys.modules if name == "numba.cuda" or name.startswith("numba.cuda.")]:
        _replaced[name] = sys.modules.pop(name)
    _replaced.setdefault("attribute", getattr(numba, "cuda", None))
    sys.modules["numba.cuda"] = module
    sys.modules["numba.cuda.random"] = module.random
    numba.cuda = module
    return module


def uninstall() -> None:
    """Brings back whatever `numba.cuda` was before `install`."""
    import numba

    if not getattr(sys.modules.get("numba.cuda"), "simulated", False):
        return
    for name in [name for name in sys.modules if name == "numba.cuda" or name.startswith("numba.cuda.")]:
        del sys.modules[name]
    attribute = _replaced.pop("attribute", None)
    sys.modules.update(_replaced)
    _replaced.clear()
    if attribute is None:
        numba.__dict__.pop("cuda", None)
    else:
        numba.cuda = attribute


__all__ = ["Kernel", "build_module", "device", "install", "scalar", "uninstall"]

"""`cupy.cuda`, `cupyx.profiler` and the memory pool: streams, events and the one device, as programs use them for timing.

Work is done when a call returns. The clock is the simulated GPU's: kernels of numba.cuda move it by their estimated time,
and what the stand-in computes with NumPy takes none of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from autograder.cupy_stand_in.memory import NotForStandIn, in_use


class CupyEvent:
    """`cupy.cuda.Event`: a point on the device's clock."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.at_ns: float | None = None
        self.done = True

    def record(self, stream: Any = None) -> None:
        self.at_ns = in_use().clock_ns()

    def synchronize(self) -> None:
        """The device is never behind."""


def elapsed_ms(start: CupyEvent, end: CupyEvent) -> float:
    """`cupy.cuda.get_elapsed_time`: milliseconds, as estimated for the modelled GPU."""
    if start.at_ns is None or end.at_ns is None:
        raise NotForStandIn("Both events must be recorded before the time between them is known.", remedy="Call record().")
    return (end.at_ns - start.at_ns) / 1e6


class CupyStream:
    """`cupy.cuda.Stream`: work is carried out in order, so a stream has nothing to wait for."""

    null: ClassVar[CupyStream]

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None) -> None:
        self.ptr = 0 if null else 3  # as CUDA's own handles: 0, 1 and 2 are streams that are always there
        self.done = True

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)

    def __enter__(self) -> CupyStream:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def use(self) -> CupyStream:
        return self

    def synchronize(self) -> None:
        """Everything before has finished."""

    def record(self, event: CupyEvent | None = None) -> CupyEvent:
        event = CupyEvent() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: CupyEvent) -> None:
        """Nothing to wait for."""

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any) -> None:
        callback(arg)


CupyStream.null = CupyStream(null=True)


class CupyDevice:
    """`cupy.cuda.Device`: the simulated GPU, device 0 and the only one."""

    def __init__(self, device: int | None = None) -> None:
        if device not in (None, 0):
            raise NotForStandIn(f"There is no device {device}: the simulated GPU is device 0, and the only one.")
        self.id = 0

    @property
    def compute_capability(self) -> str:
        return "".join(map(str, in_use().compute_capability))

    @property
    def mem_info(self) -> tuple[int, int]:
        """(free, total) bytes."""
        return in_use().total_bytes, in_use().total_bytes

    @property
    def attributes(self) -> dict[str, int]:
        return in_use().attributes()

    def synchronize(self) -> None:
        """Everything before has finished."""

    def use(self) -> CupyDevice:
        return self

    def __enter__(self) -> CupyDevice:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __int__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CupyDevice)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "<CUDA Device 0>"


@contextmanager
def nothing(*_: Any, **__: Any) -> Iterator[None]:
    """A region that only means something to a profiler of real GPUs."""
    yield


def do_nothing(*_: Any, **__: Any) -> None:
    """A call that only means something to a real GPU."""


def cuda() -> dict[str, Any]:
    """The names of `cupy.cuda` that are no modules."""
    return dict(
        Stream=CupyStream, Event=CupyEvent, Device=CupyDevice, get_elapsed_time=elapsed_ms,
        get_current_stream=lambda: CupyStream.null,
        is_available=lambda: True, get_device_id=lambda: 0, set_allocator=do_nothing,
        set_pinned_memory_allocator=do_nothing,
        profile=nothing,
    )  # fmt: skip


def runtime() -> dict[str, Any]:
    """The names of `cupy.cuda.runtime`."""

    def properties(device: int = 0) -> dict[str, Any]:
        """CUDA's device properties by their names in C, as far as the simulated GPU has them."""
        known = CupyDevice(device).attributes
        memory = in_use()
        major, minor = memory.compute_capability
        return {
            "name": memory.device_name.encode(), "major": major, "minor": minor, "totalGlobalMem": memory.total_bytes,
            "warpSize": known["WarpSize"], "maxThreadsPerBlock": known["MaxThreadsPerBlock"],
            "multiProcessorCount": known["MultiProcessorCount"],
            "sharedMemPerBlock": known["MaxSharedMemoryPerBlock"],
            "maxThreadsDim": tuple(known[f"MaxBlockDim{axis}"] for axis in "XYZ"),
            "maxGridSize": tuple(known[f"MaxGridDim{axis}"] for axis in "XYZ"),
            "maxThreadsPerMultiProcessor": known["MaxThreadsPerMultiProcessor"],
            "totalConstMem": known["TotalConstantMemory"],
            "clockRate": known["ClockRate"],
        }  # fmt: skip

    return dict(
        getDeviceProperties=properties, getDeviceCount=lambda: 1, getDevice=lambda: 0,
        setDevice=lambda device: CupyDevice(device),
        deviceSynchronize=do_nothing, streamSynchronize=do_nothing,
        memGetInfo=lambda: CupyDevice().mem_info,
        profilerStart=do_nothing, profilerStop=do_nothing,
    )  # fmt: skip


def nvtx() -> dict[str, Any]:
    """The names of `cupy.cuda.nvtx`: marks for a profiler of real GPUs."""
    return dict.fromkeys(("RangePush", "RangePop", "Mark", "MarkC", "RangePushC"), do_nothing)


class CupyMemoryPool:
    """`cupy.cuda.MemoryPool`: what arrays take; nothing is kept for later."""

    def __init__(self, in_use: Callable[[], int]) -> None:
        self._in_use = in_use

    def used_bytes(self) -> int:
        return self._in_use()

    total_bytes = used_bytes

    def free_bytes(self) -> int:
        return 0

    def n_free_blocks(self) -> int:
        return 0

    def get_limit(self) -> int:
        return 0

    free_all_blocks = free_all_free = staticmethod(do_nothing)
    set_limit = staticmethod(do_nothing)


class BenchmarkTimes:
    """What `cupyx.profiler.benchmark` returns: seconds a repeat, `cpu_times` by the clock, `gpu_times` as estimated."""

    def __init__(self, name: str, cpu_times: np.ndarray, gpu_times: np.ndarray) -> None:
        self.name, self.cpu_times, self.gpu_times = name, cpu_times, gpu_times

    def to_str(self, show_gpu: bool = False) -> str:
        shown = [("CPU", self.cpu_times), *([("GPU-0", self.gpu_times[0])] if show_gpu else [])]
        parts = [f"{kind}: {times.mean() * 1e6:9.3f} us (min: {times.min() * 1e6:9.3f} / max: {times.max() * 1e6:9.3f})"
                 for kind, times in shown]  # fmt: skip
        return f"{self.name:<20s}: {'   '.join(parts)}"

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)

    __repr__ = __str__


def profiler() -> Mapping[str, Any]:
    """The names of `cupyx.profiler`."""

    def benchmark(
        func: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None,
        n_repeat: int = 10000, *, name: str | None = None, n_warmup: int = 10, max_duration: float = float("inf"),
        devices: Any = None,
    ) -> BenchmarkTimes:  # fmt: skip
        """Calls a function as often as CuPy would, and times each call on both clocks."""
        for _ in range(n_warmup):
            func(*args, **(kwargs or {}))
        cpu: list[float] = []
        gpu: list[float] = []
        while len(cpu) < n_repeat and sum(cpu) <= max_duration:
            start, start_ns = time.perf_counter(), in_use().clock_ns()
            func(*args, **(kwargs or {}))
            cpu.append(time.perf_counter() - start)
            gpu.append((in_use().clock_ns() - start_ns) / 1e9)
        return BenchmarkTimes(name or str(getattr(func, "__name__", "function")), np.array(cpu), np.array([gpu]))

    return SimpleNamespace(benchmark=benchmark, time_range=nothing, profile=nothing).__dict__

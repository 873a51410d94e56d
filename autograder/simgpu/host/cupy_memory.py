"""The simulated GPU's memory as the stand-in for CuPy wants it, and when `import cupy` gives that stand-in."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

import numpy as np

from autograder.cupy_stand_in import modules
from autograder.simgpu.host.dispatch import device
from autograder.simgpu.host.host_side import MemoryInfo, context
from autograder.simgpu.values.arrays import DeviceArray, buffer_of, contents, described_array

DRIVERS = {"win32": ("nvcuda.dll",), "linux": ("libcuda.so.1", "libcuda.so")}


class SimulatedMemory:
    """What `autograder.cupy_stand_in.memory.Memory` asks for: arrays of the live device's session."""

    device_name: str = context.name.decode()
    compute_capability: tuple[int, int] = context.compute_capability

    @property
    def total_bytes(self) -> int:
        found: MemoryInfo = context.get_memory_info()
        return found.total

    def copied(self, host: np.ndarray) -> DeviceArray:
        return device.session.to_device(host)

    def uninitialised(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        return device.session.device_array(shape, dtype)

    def described(self, interface: dict[str, Any]) -> DeviceArray:
        return described_array(device.session.addresses, interface)

    def elements(self, array: DeviceArray) -> np.ndarray:
        return contents(array)

    def part(self, array: DeviceArray, view: np.ndarray) -> DeviceArray:
        """The device's view of NumPy's view of an array's elements, also as another dtype."""
        buffer = buffer_of(array)
        if view.dtype != buffer.data.dtype:
            buffer = buffer.seen_as(view.dtype)
        start = view.__array_interface__["data"][0] - buffer.data.__array_interface__["data"][0]
        steps = tuple(step // view.itemsize for step in view.strides)
        return DeviceArray(buffer, view.shape, steps, start // view.itemsize)

    def wrote(self, array: DeviceArray, key: Any) -> None:
        buffer = buffer_of(array)
        if buffer.all_set:
            return
        steps = tuple(8 * step // array.itemsize for step in array.strides)
        here = np.lib.stride_tricks.as_strided(np.arange(len(buffer.data))[_offset(self, array) :], array.shape, steps)
        written = np.reshape(here[key], -1)
        buffer.set_by_host(slice(None) if len(written) == len(buffer.data) else written)

    def address(self, array: DeviceArray) -> int:
        return buffer_of(array).address + _offset(self, array) * array.itemsize

    def clock_ns(self) -> float:
        device.keeps_time = True
        return device.estimated_ns

    def attributes(self) -> dict[str, int]:
        names = {
            "WarpSize": "WARP_SIZE", "MaxThreadsPerBlock": "MAX_THREADS_PER_BLOCK",
            "MultiProcessorCount": "MULTIPROCESSOR_COUNT",
            "MaxSharedMemoryPerBlock": "MAX_SHARED_MEMORY_PER_BLOCK", "TotalConstantMemory": "TOTAL_CONSTANT_MEMORY",
            "MaxThreadsPerMultiProcessor": "MAX_THREADS_PER_MULTI_PROCESSOR", "ClockRate": "CLOCK_RATE",
        }  # fmt: skip
        for axis in "XYZ":
            names |= {f"MaxBlockDim{axis}": f"MAX_BLOCK_DIM_{axis}", f"MaxGridDim{axis}": f"MAX_GRID_DIM_{axis}"}
        return {theirs: getattr(context, ours) for theirs, ours in names.items()}


def _offset(memory: SimulatedMemory, array: DeviceArray) -> int:
    """Where an array begins in its allocation, in elements."""
    here, whole = memory.elements(array), buffer_of(array).data
    return int(here.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // array.itemsize


@cache
def has_driver() -> bool:
    """Whether a CUDA driver with a device answers here."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    count = ctypes.c_int()
    for name in DRIVERS.get(sys.platform, ()):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    return False


def install() -> None:
    """`import cupy` gives the stand-in from here on, unless CuPy is installed and a GPU is there."""
    if not (modules.is_installed() and has_driver()):
        modules.install(SimulatedMemory())


def uninstall() -> None:
    """`import cupy` gives again what it gave before."""
    modules.uninstall()

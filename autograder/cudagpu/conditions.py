"""The conditions of a timed call: a cold L2, a busy start, clocks watched."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

FLUSH_BYTES = 256 * 2**20  # several times the L2 of every GPU so far (RTX 4090: 72 MB)
THREADS = 256
NAP_NS = 10_000
SHARED_BLOCKS, SHARED_THREADS = 32, 64  # a multiprocessor: no GPU so far holds more blocks, and all fit by their threads
SHARED_WORDS = 7 * 256  # of a block: with the driver's own KiB 8 KiB, so that blocks leave as little over as can be
SHARED_FILL = 0x5C5C5C5C


class Flush:
    """Fills L2 with data of its own: written, then read elsewhere, so that no dirty line is left to pay for."""

    def __init__(self) -> None:
        from numba import cuda

        self.elements = FLUSH_BYTES // 4
        self._written, self._read = _buffers()
        self._kernels = _kernels()
        self._sink = cuda.device_array(1, np.float32)
        self._multiprocessors = cuda.get_current_device().MULTIPROCESSOR_COUNT

    def __call__(self) -> None:
        write, read, *_ = self._kernels
        blocks = 2048
        self.clear_shared_memory()
        write[blocks, THREADS](self._written)
        read[blocks, THREADS](self._read, self._sink)

    def clear_shared_memory(self) -> None:
        """Overwrites what blocks left in shared memory: as many blocks as can be resident at a time, each with a part."""
        clear = self._kernels[3]
        clear[self._multiprocessors * SHARED_BLOCKS, SHARED_THREADS](self._sink)

    def delay(self, ns: float) -> None:
        """Keeps the GPU waiting for about this long; returns at once."""
        naps = int(min(ns, 50e6) / NAP_NS)
        if naps:
            self._kernels[2][1, 1](naps)


@cache
def _buffers() -> tuple[Any, Any]:
    from numba import cuda

    ones = np.ones(FLUSH_BYTES // 4, np.float32)
    return cuda.device_array(ones.size, np.float32), cuda.to_device(ones)


@cache
def _kernels() -> tuple[Any, Any, Any, Any]:
    from numba import cuda

    from autograder.kernels import read

    def write(target: Any) -> None:
        for i in range(cuda.grid(1), target.size, cuda.gridsize(1)):
            target[i] = i

    def wait(naps: int) -> None:
        for _ in range(naps):
            cuda.nanosleep(NAP_NS)

    def clear(sink: Any) -> None:
        words = cuda.shared.array(SHARED_WORDS, np.uint32)
        for i in range(cuda.threadIdx.x, SHARED_WORDS, SHARED_THREADS):
            words[i] = SHARED_FILL
        cuda.syncthreads()
        cuda.nanosleep(NAP_NS)  # until the others are there: no block gets the part of one that has ended
        for i in range(cuda.threadIdx.x, SHARED_WORDS, SHARED_THREADS):
            if words[SHARED_WORDS - 1 - i] != SHARED_FILL:  # never: the stores are not left out
                sink[0] = 1

    return cuda.jit(write), cuda.jit(read), cuda.jit(wait), cuda.jit(clear)


class Clocks:
    """Clock and throttling during a comparison, from the driver's management library where that is installed."""

    def __init__(self) -> None:
        self.mhz: list[int] = []
        self.throttled = False
        self._library: Any = None
        self._handle: Any = None
        try:
            import pynvml
            from numba import cuda

            pynvml.nvmlInit()  # it numbers all GPUs, CUDA only those in CUDA_VISIBLE_DEVICES: names agree, numbers need not
            self._library, self._handle = pynvml, pynvml.nvmlDeviceGetHandleByUUID(cuda.get_current_device().uuid)
        except Exception:  # not installed, or a driver without it: times stand without clocks
            pass

    def read(self) -> None:
        """Notes the clock now, and whether heat or power holds it down."""
        if self._library is None:
            return
        nvml = self._library
        try:
            self.mhz.append(nvml.nvmlDeviceGetClockInfo(self._handle, nvml.NVML_CLOCK_SM))
            reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle)
        except nvml.NVMLError:
            return
        held_down = (
            nvml.nvmlClocksThrottleReasonHwSlowdown
            | nvml.nvmlClocksThrottleReasonSwThermalSlowdown
            | nvml.nvmlClocksThrottleReasonSwPowerCap
        )
        self.throttled |= bool(reasons & held_down)

    def notes(self) -> dict[str, Any]:
        """What a report shows of it."""
        return {"clock_mhz": int(np.median(self.mhz)), "clock_mhz_lowest": min(self.mhz)} if self.mhz else {}


def dram_gb_per_s() -> float:
    """The memory's peak rate from the driver's clock and bus width; 0 where the driver does not say."""
    from numba import cuda

    device = cuda.get_current_device()
    try:
        clock_khz, width_bits = device.MEMORY_CLOCK_RATE, device.GLOBAL_MEMORY_BUS_WIDTH
    except (AttributeError, RuntimeError):
        return 0.0
    return float(2 * clock_khz * width_bits / 8 / 1e6)

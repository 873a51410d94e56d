"""Times `kernels.py` on the GPU at hand and writes microbenchmarks.json: what the model's figures rest on.

    python -m autograder.perfmodel.measurements.microbenchmarks [FILE]

Medians of seven launches between CUDA events, after two launches to warm up. Each stands in line behind a kernel that
keeps the chip busy meanwhile, or the time that Python takes to launch it would lie between the events. Rates are of
the whole GPU unless the name says otherwise; cycles are at the clock that the driver reports while the chip is busy.
"""

from __future__ import annotations

import json
import math
import sys
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32, int32

from autograder.perfmodel.measurements import kernels

REPEATS = 7
WARM_UP = 2


def milliseconds(kernel: Any, grid: Any, block: Any, *arguments: Any) -> float:
    """Median time of one launch, by CUDA events."""
    times = [one_launch(kernel, grid, block, *arguments) for _ in range(WARM_UP + REPEATS)]
    return float(np.median(times[WARM_UP:]))


def one_launch(kernel: Any, grid: Any, block: Any, *arguments: Any) -> float:
    """Milliseconds of one launch that the chip starts as soon as the one before it ends."""
    start, end = cuda.event(), cuda.event()
    keep_busy()
    start.record()
    kernel[grid, block](*arguments)
    end.record()
    end.synchronize()
    return float(cuda.event_elapsed_time(start, end))


@cache
def _busy_work() -> tuple[Any, ...]:
    kernel = kernels.arithmetic(STEPS["float32 multiply-add"][0])
    return kernel, cuda.to_device(np.ones(16, np.float32)), cuda.device_array(1, np.float32)


def keep_busy(repeats: int = 2000) -> None:
    """Half a millisecond of arithmetic that touches no memory; returns at once."""
    kernel, start, out = _busy_work()
    kernel[132 * 2, 1024](start, np.float32(1.0001), np.float32(0.5), repeats, out)


def busy_clock_ghz() -> float:
    """The multiprocessors' clock while they compute, as the driver reports it; NaN without nvidia-ml-py."""
    try:
        import pynvml
    except ImportError:
        return math.nan
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    for _ in range(3):
        keep_busy(400_000)
    time.sleep(0.1)
    clock: float = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) / 1000
    cuda.synchronize()
    return clock


def _device(function: Any) -> Any:
    return cuda.jit(device=True)(function)


# name: (device function, type, source operations in one step)
STEPS: dict[str, tuple[Any, Any, int]] = {
    "float32 multiply-add": (_device(lambda a, x, y: a * x + y), np.float32, 1),
    "float32 add": (_device(lambda a, x, y: a + x), np.float32, 1),
    "float64 multiply-add": (_device(lambda a, x, y: a * x + y), np.float64, 1),
    "int32 multiply-add": (_device(lambda a, x, y: int32(int32(a * x) + y)), np.int32, 1),
    "int32 xor and add": (_device(lambda a, x, y: int32(int32(a ^ x) + y)), np.int32, 2),
    "int64 multiply-add": (_device(lambda a, x, y: a * x + y), np.int64, 1),
    "int64 xor and add": (_device(lambda a, x, y: (a ^ x) + y), np.int64, 2),
    "int64 remainder": (_device(lambda a, x, y: (a + y) % x), np.int64, 1),
    "int32 remainder": (_device(lambda a, x, y: int32(int32(a + y) % x)), np.int32, 1),
    "float32 square root": (_device(lambda a, x, y: math.sqrt(a + x)), np.float32, 1),
    "float32 division": (_device(lambda a, x, y: x / (a + y)), np.float32, 1),
    "float32 exponential": (_device(lambda a, x, y: math.exp(-a * x)), np.float32, 1),
    "float32 sine": (_device(lambda a, x, y: math.sin(a + x)), np.float32, 1),
    "float64 square root": (_device(lambda a, x, y: math.sqrt(a + x)), np.float64, 1),
    "float64 division": (_device(lambda a, x, y: x / (a + y)), np.float64, 1),
    "conversion float32 to int32 and back": (_device(lambda a, x, y: float32(int32(a + x))), np.float32, 2),
}


def arithmetic_rates(sms: int, clock_ghz: float) -> dict[str, float]:
    """Source operations per multiprocessor and cycle, per lane."""
    rates = {}
    for name, (step, dtype, operations) in STEPS.items():
        integer = np.issubdtype(dtype, np.integer)
        repeats = 256
        start = cuda.to_device(np.arange(1, 17).astype(dtype))
        x, y = (dtype(1103515), dtype(12345)) if integer else (dtype(0.999), dtype(0.001))
        out = cuda.device_array(1, dtype)
        elapsed = milliseconds(kernels.arithmetic(step), sms * 2, 1024, start, x, y, repeats, out)
        work = sms * 2 * 1024 * repeats * kernels.CHAINS * kernels.STEPS * operations
        rates[name] = work / (elapsed * 1e6 * clock_ghz) / sms
    return rates


def memory_rates() -> dict[str, float]:
    """Bytes and sectors per second of DRAM and L2, streamed and scattered."""
    big = cuda.to_device(np.ones(1 << 28, np.float32))
    other = cuda.device_array_like(big)
    small = big[: 1 << 22]
    out = cuda.device_array(1, np.float32)
    copied = milliseconds(kernels.copy, big.size // 256, 256, big, other)
    copied_four = milliseconds(kernels.copy_four, big.size // 1024, 256, big, other)
    filled = milliseconds(kernels.fill, big.size // 256, 256, other)
    l2 = milliseconds(kernels.gather_lines, 132 * 8, 256, small, np.uint64(small.size // 32 - 1), 64, out)
    rates = {
        "DRAM copy, an element a thread, GB/s": 2 * big.nbytes / copied / 1e6,
        "DRAM copy, four elements a thread, GB/s": 2 * big.nbytes / copied_four / 1e6,
        "DRAM fill, GB/s": big.nbytes / filled / 1e6,
        "L2, whole lines of 16 MiB, GB/s": 132 * 8 * 256 * 64 * 4 * 4 / l2 / 1e6,
    }
    for name, array in (("16 MiB", small), ("1 GiB", big)):
        mask = np.uint64(array.size - 1)
        loads = milliseconds(kernels.gather, 132 * 8, 256, array, mask, 16, out)
        stores = milliseconds(kernels.scatter, 132 * 8, 256, array, mask, 64)
        rates[f"gather from {name}, G sectors/s"] = 132 * 8 * 256 * 64 / loads / 1e6
        rates[f"scatter to {name}, G sectors/s"] = 132 * 8 * 256 * 64 / stores / 1e6
    return rates


def request_cycles(sms: int, clock_ghz: float) -> dict[str, float]:
    """Cycles of a multiprocessor per load request: by lines and sectors in L1, by stride in shared memory."""
    source, out = cuda.to_device(np.ones(1 << 17, np.float32)), cuda.device_array(1, np.float32)
    cycles = {}
    patterns = [(stride, 1) for stride in (0, 1, 2, 4, 8, 16, 32, 33, 34, 36, 40, 44, 48, 64, 65, 275, 1024, 1025)]
    patterns += [(stride, group) for group in (2, 4, 8, 16) for stride in (group, 32, 32 + group, 1024, 1100)]
    for stride, group in patterns:
        elapsed = milliseconds(
            kernels.load_strided, sms * 2, 1024, source, np.uint64(stride), np.uint64(group), 512, out
        )
        name = f"L1 load, groups of {group} lanes {stride} words apart"
        cycles[name] = elapsed * 1e6 * clock_ghz / (2 * 32 * 512 * 8)
    for stride in (0, 1, 2, 4, 8, 16, 32):
        elapsed = milliseconds(kernels.load_shared, sms * 2, 1024, np.uint64(stride), 512, out)
        cycles[f"shared load, stride {stride}"] = elapsed * 1e6 * clock_ghz / (2 * 32 * 512 * 4)
    for blocks in (1, 8):
        elapsed = milliseconds(kernels.barriers, sms * blocks, 256, 4096, out)
        cycles[f"barrier, {blocks} blocks of 256"] = elapsed * 1e6 * clock_ghz / 4096
    return cycles


def atomic_rates(sms: int, clock_ghz: float) -> dict[str, float]:
    """Lanes per nanosecond in global memory (whole GPU), lanes per multiprocessor and cycle in shared memory."""
    target = cuda.to_device(np.zeros(1 << 24, np.int32))
    rates = {}
    for places in (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 1 << 14, 1 << 16, 1 << 20, 1 << 24):
        elapsed = milliseconds(kernels.atomic_global, sms * 8, 256, target, np.uint64(places - 1), np.uint64(1), 16)
        rates[f"global, {places} places, lanes/ns"] = sms * 8 * 256 * 16 / elapsed / 1e6
    for multiplicity in (2, 4, 8, 16, 32):
        elapsed = milliseconds(
            kernels.atomic_global, sms * 8, 256, target, np.uint64((1 << 20) - 1), np.uint64(multiplicity), 16
        )
        rates[f"global, {1 << 20} places, {multiplicity} lanes together, lanes/ns"] = sms * 8 * 256 * 16 / elapsed / 1e6
    out = cuda.device_array(1, np.int32)
    for kernel, adding in ((kernels.atomic_shared, "one"), (kernels.atomic_shared_varied, "its own number")):
        for places, together in ((4096, 1), (256, 1), (32, 1), (1, 1), (4096, 2), (4096, 8), (4096, 32)):
            elapsed = milliseconds(kernel, sms * 2, 1024, np.uint64(places - 1), np.uint64(together), 256, out)
            name = f"shared, each adding {adding}, {places} places, {together} lanes together, lanes/cycle"
            rates[name] = 2 * 1024 * 256 / (elapsed * 1e6 * clock_ghz)
    return rates


def index_cycles(sms: int, clock_ghz: float) -> dict[str, float]:
    """Cycles per warp and iteration of loops with one signed access from L1: many warps (throughput), one (latency)."""
    n, cycles = 1024, {}
    out = cuda.device_array(64, np.float32)
    arrays = {
        "vector": [cuda.to_device(np.ones(n, np.float32)) for _ in range(3)],
        "row": [cuda.to_device(np.ones((8, n), np.float32)) for _ in range(3)],
        "column": [cuda.to_device(np.ones((n, 32), np.float32)) for _ in range(3)],
    }
    for kind, operands in arrays.items():
        for count in ("one", "three"):
            kernel = getattr(kernels, f"{kind}_{count}")
            full = milliseconds(kernel, sms * 8, (32, 8), *operands, n, out) * 1e6 * clock_ghz
            alone = milliseconds(kernel, sms, 32, *operands, n, out) * 1e6 * clock_ghz
            cycles[f"{kind}, {count}, 64 warps, per warp"] = full / (64 * n)
            cycles[f"{kind}, {count}, one warp"] = alone / n
    return cycles


def latencies(clock_ghz: float) -> dict[str, float]:
    """Cycles from one dependent load to the next."""
    out, steps = cuda.device_array(1, np.uint64), 20000

    def per_step(kernel: Any, following: Any, *start: Any) -> float:
        """Twice the steps less the steps, so that what happens once drops out."""
        twice = milliseconds(kernel, 1, 1, following, *start, 2 * steps, out)
        return (twice - milliseconds(kernel, 1, 1, following, *start, steps, out)) * 1e6 * clock_ghz / steps

    shared = cuda.to_device(np.roll(np.arange(1024, dtype=np.uint64), -17))
    small, _ = random_chain(64)
    medium, order = random_chain(1 << 17)
    for place in range(0, order.size, steps):  # laps that bring all of it into L2
        kernels.chase[1, 1](medium, order[place], steps, out)
    cycles = {
        "shared load": per_step(kernels.chase_shared, shared),
        "L1 load": per_step(kernels.chase, small, np.uint64(0)),
        "L2 load": per_step(kernels.chase, medium, order[0]),
    }
    large, order = random_chain(1 << 23)
    times = []
    for place in range(1, 1 + REPEATS):  # each launch elsewhere, or it would find in L2 what the last one read
        times.append(one_launch(kernels.chase, 1, 1, large, order[place * 4 * steps], steps, out))
    return cycles | {"DRAM load": float(np.median(times)) * 1e6 * clock_ghz / steps}


def random_chain(lines: int) -> tuple[Any, np.ndarray]:
    """One cycle through the first word of every 128-byte line, on the device, and the order of its places."""
    order = np.random.default_rng(1).permutation(lines).astype(np.uint64) * np.uint64(16)
    chain = np.zeros(lines * 16, np.uint64)
    chain[order] = np.roll(order, -1)
    return cuda.to_device(chain), order


def launch_overheads() -> dict[str, float]:
    """Nanoseconds of an empty launch: between events, and by the wall clock in a long row of them."""
    out = cuda.device_array(1, np.float32)
    between_events = milliseconds(kernels.nothing, 1, 32, out) * 1e6
    cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(1000):
        kernels.nothing[1, 32](out)
    cuda.synchronize()
    row = (time.perf_counter_ns() - start) / 1000
    overheads = {"between events": between_events, "in a row of 1000 from Python": row}
    for block in (32, 256, 1024):
        many = milliseconds(kernels.nothing, 132 * 512, block, out) * 1e6
        overheads[f"one more block of {block} on each multiprocessor"] = (many - between_events) / 512
    return overheads


def measure() -> dict[str, Any]:
    """Everything, as plain data."""
    gpu = cuda.get_current_device()
    sms, clock_ghz = gpu.MULTIPROCESSOR_COUNT, busy_clock_ghz()
    if math.isnan(clock_ghz):
        clock_ghz = gpu.CLOCK_RATE / 1e6
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else gpu.name
    return {
        "gpu": name,
        "multiprocessors": sms,
        "l2_bytes": gpu.L2_CACHE_SIZE,
        "clock_ghz": clock_ghz,
        "versions": {package: version(package) for package in ("numba", "numba-cuda", "numpy")},
        "memory": memory_rates(),
        "cycles per request": request_cycles(sms, clock_ghz),
        "cycles per indexed iteration": index_cycles(sms, clock_ghz),
        "latency in cycles": latencies(clock_ghz),
        "atomics": atomic_rates(sms, clock_ghz),
        "operations per multiprocessor and cycle": arithmetic_rates(sms, clock_ghz),
        "launch in ns": launch_overheads(),
    }


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".json")
    target.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")

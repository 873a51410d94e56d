"""What stands for the driver's and the runtime's modules of `numba.cuda`: names that programs import and ask.

Nothing is driven here: the modules hold errors for `except`, the one device, and what its attributes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

from autograder.simgpu.values.arrays import In, InOut, Out

CUDA_VERSION = (13, 0)  # of the compiler whose rules the compiled counts follow: measurements/
MODEL = "H200"


@cache
def attributes() -> dict[str, int]:
    """Attributes of the device by the driver's names, those that this kit has a source for."""
    from autograder.perfmodel import SPECIFICATIONS

    gpu = SPECIFICATIONS[MODEL]
    return {
        "WARP_SIZE": 32,
        "MAX_THREADS_PER_BLOCK": 1024,
        "MAX_BLOCK_DIM_X": 1024,
        "MAX_BLOCK_DIM_Y": 1024,
        "MAX_BLOCK_DIM_Z": 64,
        "MAX_GRID_DIM_X": 2**31 - 1,
        "MAX_GRID_DIM_Y": 65535,
        "MAX_GRID_DIM_Z": 65535,
        "MAX_SHARED_MEMORY_PER_BLOCK": 48 * 1024,
        "TOTAL_CONSTANT_MEMORY": 64 * 1024,
        "COMPUTE_CAPABILITY_MAJOR": gpu.compute_capability[0],
        "COMPUTE_CAPABILITY_MINOR": gpu.compute_capability[1],
        "MULTIPROCESSOR_COUNT": gpu.multiprocessors,
        "CLOCK_RATE": round(gpu.clock_ghz * 1e6),  # kHz
        "MAX_THREADS_PER_MULTI_PROCESSOR": gpu.max_threads,
        "MAX_THREADS_PER_MULTIPROCESSOR": gpu.max_threads,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": gpu.max_blocks,
        "MAX_REGISTERS_PER_BLOCK": gpu.registers,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": gpu.registers,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": gpu.shared_bytes,
        "L2_CACHE_SIZE": gpu.l2_bytes,
        "COOPERATIVE_LAUNCH": 1,
        "PCI_DOMAIN_ID": 0,
        "PCI_BUS_ID": 0,
        "PCI_DEVICE_ID": 0,
    }


def attribute(name: str) -> int:
    """A device attribute by the driver's name; raises AttributeError where it is not known."""
    if name not in attributes():
        raise AttributeError(f"The simulated GPU does not know the device attribute {name!r}.")
    return attributes()[name]


# -- errors: for programs that catch them ---------------------------------------------------------------------------


class CudaDriverError(Exception):
    """Raised by nobody here."""


class CudaRuntimeError(Exception):
    """Raised by nobody here."""


class CudaAPIError(CudaDriverError):
    """Raised by nobody here."""


class CudaRuntimeAPIError(CudaRuntimeError):
    """Raised by nobody here."""


class CudaSupportError(ImportError):
    """Raised by nobody here: there always is a device."""


class LinkerError(RuntimeError):
    """Raised by nobody here: nothing is linked."""


class NvrtcError(Exception):
    """Raised by nobody here: no C++ is compiled."""


class NvvmError(Exception):
    """Raised by nobody here: no compiler is called."""


class NvvmSupportError(ImportError):
    """Raised by nobody here."""


# -- the driver and the runtime ---------------------------------------------------------------------------------------


class Driver:
    """`numba.cuda.cudadrv.driver.driver`."""

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = devices

    is_initialized = True
    initialization_error = None

    def get_version(self) -> tuple[int, int]:
        return CUDA_VERSION

    def get_device_count(self) -> int:
        return len(self.devices)

    def get_device(self, devnum: int = 0) -> Any:
        return self.devices[devnum]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"The simulated GPU has no driver, and no {name}: that needs a real GPU.")


class Runtime:
    """`numba.cuda.cudadrv.runtime.runtime`."""

    supported_versions = (CUDA_VERSION,)

    def get_version(self) -> tuple[int, int]:
        return CUDA_VERSION

    def is_supported_version(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"The simulated GPU has no CUDA runtime, and no {name}: that needs a real GPU.")


def modules(cuda: ModuleType) -> dict[str, ModuleType]:
    """The modules below `numba.cuda`, by their names in `sys.modules`; the package `cudadrv` first."""
    errors = {
        each.__name__: each
        for each in (
            CudaDriverError, CudaRuntimeError, CudaAPIError, CudaRuntimeAPIError, CudaSupportError, LinkerError,
            NvrtcError, NvvmError, NvvmSupportError,
        )
    }  # fmt: skip
    host = cuda.__dict__
    driver, runtime = Driver(host["gpus"]), Runtime()
    inside: dict[str, dict[str, Any]] = {
        "driver": {**errors, "driver": driver, "_have_nvjitlink": lambda: False},
        "runtime": {**errors, "runtime": runtime},
        "error": errors,
        "nvvm": {name: errors[name] for name in ("NvvmError", "NvvmSupportError")},
        "devices": {
            "gpus": host["gpus"], "get_context": host["current_context"], "reset": host["close"],
            "require_context": lambda function: function,
        },
        "devicearray": vars(host["devicearray"]),
    }  # fmt: skip
    below = {
        "cudadrv": {"__path__": []},
        **{f"cudadrv.{name}": names for name, names in inside.items()},
        "args": {"In": In, "Out": Out, "InOut": InOut},
        "decorators": {"jit": host["jit"]},
        "compiler": {name: value for name, value in host.items() if name.startswith("compile")},
        "api": {name: value for name, value in host.items() if not name.startswith("_")},
    }
    made = {}
    for name, names in below.items():
        made[name] = ModuleType(f"numba.cuda.{name}", "A part of numba.cuda on the simulated GPU.")
        made[name].__dict__.update(names)
    for name in inside:
        setattr(made["cudadrv"], name, made[f"cudadrv.{name}"])
    return made

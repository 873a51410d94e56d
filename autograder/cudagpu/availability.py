"""Whether a CUDA GPU can be used here, and if not, why not: asked of the driver itself, without importing numba."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

DRIVER_NAMES = {"win32": ("nvcuda.dll",), "linux": ("libcuda.so.1", "libcuda.so")}
OLDEST_CAPABILITY = (5, 0)  # Maxwell: what CUDA 12 still compiles for


@dataclass(frozen=True)
class GpuFinding:
    """What was found: `usable`, or the reason why not and what to do about it."""

    usable: bool
    name: str = ""
    reason: str = ""
    remedy: str = ""


@cache
def find_gpu() -> GpuFinding:
    """Looks for a CUDA GPU that numba-cuda can use; takes well under a second and is done once a process."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return GpuFinding(False, "", "CUDA_VISIBLE_DEVICES hides every GPU", "Unset it to use one.")
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return GpuFinding(False, "", "NUMBA_ENABLE_CUDASIM puts Numba's own simulator in the GPU's place", "Unset it.")
    driver = _load_driver()
    if driver is None:
        return GpuFinding(False, "", "no NVIDIA driver on this machine", "")
    name, capability, problem = _first_device(driver)
    if problem:
        return GpuFinding(False, name, problem, "Look at what `nvidia-smi` says.")
    if capability < OLDEST_CAPABILITY:
        found = ".".join(map(str, capability))
        return GpuFinding(False, name, f"its compute capability {found} is older than numba-cuda supports")
    return _software(name)


def is_available() -> bool:
    """Whether `GpuDevice()` will work."""
    return find_gpu().usable


def names_of_gpus() -> tuple[str, ...]:
    """The names of all GPUs that CUDA shows to this process, in its order; none where there is no driver."""
    driver = _load_driver()
    count, device, text = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    names = []
    for number in range(count.value):
        if driver.cuDeviceGet(ctypes.byref(device), number) or driver.cuDeviceGetName(text, len(text), device):
            break  # those that come after it have other numbers than we would give them
        names.append(text.value.decode(errors="replace"))
    return tuple(names)


def _software(name: str) -> GpuFinding:
    try:
        version("numba-cuda")
    except PackageNotFoundError:
        remedy = 'Install it: pip install "numba-cuda[cu13]" (driver 580 or newer) or "numba-cuda[cu12]".'
        return GpuFinding(False, name, "numba-cuda is not installed", remedy)
    numpy_version = version("numpy")
    if tuple(int(part) for part in numpy_version.split(".")[:2]) >= (2, 5):
        reason = f"numba-cuda does not work with NumPy {numpy_version}"
        return GpuFinding(False, name, reason, 'Install an older one: pip install "numpy<2.5".')
    return GpuFinding(True, name)


def _load_driver() -> ctypes.CDLL | None:
    for name in DRIVER_NAMES.get(sys.platform, ()):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _first_device(driver: ctypes.CDLL) -> tuple[str, tuple[int, int], str]:
    """Name and compute capability of device 0, or the driver's reason for having none."""
    count, device, text = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if code := driver.cuInit(0):
        return "", (0, 0), f"the NVIDIA driver does not start (error {code})"
    if driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "", (0, 0), "the NVIDIA driver sees no GPU"
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(text, len(text), device)
    capability = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ..._MINOR
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(value.value)
    return text.value.decode(errors="replace"), (capability[0], capability[1]), ""

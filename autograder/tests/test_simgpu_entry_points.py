"""The names at the top of the package stay what they are; and what a kernel on the host is asked for is as in Numba."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numba import float32, int32, int64, typeof, types, void

import autograder
from autograder.errors import KernelFault
from autograder.simgpu.host import cuda_module

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()


def test_no_module_of_the_package_hides_a_public_name():
    modules = {each.name for each in pkgutil.iter_modules(autograder.__path__)}
    assert not modules & set(autograder.__all__)


def test_devices_is_a_function_also_after_everything_is_imported():
    importlib.import_module("autograder.device")
    importlib.import_module("autograder.simulated_device")
    assert any("simulated" in name for name in autograder.devices())


def fills(a, value):
    if cuda.grid(1) < a.size:
        a[cuda.grid(1)] = value


def test_overloads_are_what_a_kernel_was_launched_with():
    kernel = cuda.jit(fills)
    assert dict(kernel.overloads) == {} and len(kernel.overloads) == 0
    for dtype in (np.int32, np.float32, np.int32):
        kernel[1, 32](np.zeros(8, dtype), 3)
    kernel[1, 32](cuda.to_device(np.zeros(8, np.float64)), np.float32(3))
    found = list(islice(kernel.overloads, 10))
    assert found == [
        (int32[::1], int64),
        (float32[::1], int64),
        (types.float64[::1], float32),
    ]
    assert (typeof(np.zeros(8, np.int32)), int64) in kernel.overloads
    assert (float32[:, ::1], int64) not in kernel.overloads and kernel.overloads.get("nothing") is None


@pytest.mark.parametrize("signature", [void(int32[:], int32), (int32[:], int32), "void(int32[:], int32)"])
def test_overloads_of_a_kernel_with_a_signature_are_there_before_it_is_launched(signature):
    kernel = cuda.jit(signature)(fills)
    assert list(islice(kernel.overloads, 10)) == [(int32[:], int32)]
    assert next(iter(kernel.overloads.values())).max_cooperative_grid_blocks(64) == 132 * 32
    assert kernel.overloads[(int32[:], int32)].max_cooperative_grid_blocks((8, 8)) == 132 * 32
    assert kernel.overloads[(int32[:], int32)].max_cooperative_grid_blocks(1024, 48 * 1024) == 132 * 2


def test_an_overload_that_is_not_there_is_a_key_error_with_a_sentence():
    with pytest.raises(KeyError) as caught:
        cuda.jit(fills).overloads[(int32,)]
    assert isinstance(caught.value, KernelFault)
    assert "`fills` was not compiled for (int32,)" in str(caught.value) and "list(kernel.overloads)" in str(caught.value)


# -- the device, the driver and the runtime -----------------------------------------------------------------------


def test_device_attributes_are_those_of_the_modelled_gpu():
    device = cuda.get_current_device()
    assert (device.COMPUTE_CAPABILITY_MAJOR, device.COMPUTE_CAPABILITY_MINOR) == device.compute_capability == (9, 0)
    assert device.MULTIPROCESSOR_COUNT == 132 and device.MAX_THREADS_PER_MULTI_PROCESSOR == 2048
    assert device.MAX_SHARED_MEMORY_PER_BLOCK == 49152 and device.TOTAL_CONSTANT_MEMORY == 65536
    assert device.CLOCK_RATE > 1_000_000 and device.uuid.startswith("GPU-") and device.supports_float16
    assert set(device.get_device_identity()) == {"pci_domain_id", "pci_bus_id", "pci_device_id"}
    with pytest.raises(AttributeError, match="does not know the device attribute 'TEXTURE_ALIGNMENT'"):
        _ = device.TEXTURE_ALIGNMENT
    assert not hasattr(device, "nothing_of_the_kind")
    cuda.current_context().deallocations.clear()


IMPORTS = """
from numba.cuda.cudadrv import driver, error, nvvm, devicearray
from numba.cuda.cudadrv.driver import driver, CudaAPIError, LinkerError
from numba.cuda.cudadrv.error import CudaSupportError, NvvmSupportError
from numba.cuda.cudadrv.runtime import runtime
from numba.cuda.cudadrv.devices import gpus, get_context
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numba.cuda.args import In, Out, InOut
from numba.cuda.api import to_device
from numba.cuda.decorators import jit
from numba.cuda.compiler import compile_ptx
from numba.cuda.libdevice import sqrtf
import numba.cuda.cudadrv.driver
import numba.cuda.libdevice
"""


def test_modules_below_numba_cuda_are_imported_as_they_are_in_numba():
    before = sys.modules.get("numba.cuda.cudadrv")
    installed = cuda_module.install()
    try:
        names: dict[str, Any] = {}
        exec(IMPORTS, names)
        assert names["driver"].get_device_count() == 1 and names["driver"].get_device(0) is installed.gpus[0]
        assert names["runtime"] is installed.runtime and names["runtime"].get_version() >= (12, 0)
        assert isinstance(installed.to_device(np.zeros(2)), names["DeviceNDArray"])
        assert issubclass(names["CudaSupportError"], ImportError) and installed.CudaSupportError is names["CudaSupportError"]
        with pytest.raises(AttributeError, match="no cuMemAlloc: that needs a real GPU"):
            names["driver"].cuMemAlloc(1)
        with pytest.raises(KernelFault, match="compile_ptx is not available"):
            names["compile_ptx"](fills, ())
        root = names["sqrtf"]

        @installed.jit
        def roots(a):
            a[cuda.grid(1)] = root(a[cuda.grid(1)])

        a = np.array([4, 9], np.float32)
        roots[1, 2](a)
        assert a.tolist() == [2, 3]
    finally:
        cuda_module.uninstall()
    assert sys.modules.get("numba.cuda.cudadrv") is before

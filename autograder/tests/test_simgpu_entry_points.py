"""The names at the top of the package stay what they are; and what a kernel on the host is asked for is as in Numba."""

from __future__ import annotations

import importlib
import pkgutil
from itertools import islice

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
    assert next(iter(kernel.overloads.values())).max_cooperative_grid_blocks(64) > 0
    assert kernel.overloads[(int32[:], int32)].max_cooperative_grid_blocks((8, 8)) > 0


def test_an_overload_that_is_not_there_is_a_key_error_with_a_sentence():
    with pytest.raises(KeyError) as caught:
        cuda.jit(fills).overloads[(int32,)]
    assert isinstance(caught.value, KernelFault)
    assert "`fills` was not compiled for (int32,)" in str(caught.value) and "list(kernel.overloads)" in str(caught.value)

"""Memory is asked for with NumPy's types: Numba's own are refused as Numba refuses them, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from autograder.errors import KernelFault
from autograder.simgpu.host import cuda_module

cuda = cuda_module.build_module()
MAKES: dict[str, Callable[[Any], Any]] = {
    "device_array": lambda dtype: cuda.device_array(3, dtype),
    "pinned_array": lambda dtype: cuda.pinned_array(3, dtype),
    "view": lambda dtype: cuda.to_device(np.zeros(4, np.float32)).view(dtype),
}
TYPES = [(numba.float32, "np.float32"), (numba.int64, "np.int64"), (numba.types.boolean, "np.bool")]


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(("dtype", "instead"), TYPES, ids=lambda each: str(each))
def test_a_type_of_numbas_is_refused_with_numpys_name(make: str, dtype: Any, instead: str) -> None:
    with pytest.raises(TypeError):
        np.dtype(dtype)  # what Numba's device_array begins with
    with pytest.raises(KernelFault) as told:
        MAKES[make](dtype)
    assert isinstance(told.value, TypeError) and f"Write {instead}" in told.value.remedy, told.value


@pytest.mark.parametrize("make", MAKES)
def test_types_of_numpys_are_taken(make: str) -> None:
    for dtype in (np.float32, "float32", np.dtype(np.float32)):
        assert MAKES[make](dtype).dtype == np.float32

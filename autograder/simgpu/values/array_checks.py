"""What a device array can be and be copied from; what cannot be is refused in Numba's error classes, with a remedy."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.errors import KernelFault

MOST_TEXT_BYTES = 64  # of one element: what the counting of sectors has room for
MOST_BYTES = 2 * 1024**3  # of simulated device memory in one array: the simulation must fit a laptop


class NotContiguous(KernelFault, ValueError):
    """Elements that do not lie in one piece, which is how Numba copies between host and device."""


class NotAlike(KernelFault, ValueError):
    """Two arrays of different shape or order in memory, of which one was to be copied onto the other."""


class OtherType(KernelFault, TypeError):
    """Something of another dtype than is asked for: an array to be copied onto another one, an argument."""


class NotAShape(KernelFault, TypeError):
    """A shape that is not made of integers."""


class NoSuchAxes(KernelFault, ValueError):
    """Axes that are missing, or named twice."""


class NotOneDimension(KernelFault, NotImplementedError):
    """Elements that cannot be seen as one dimension where they lie."""


def check_dtype(dtype: Any) -> np.dtype:
    """A dtype that a device array can have; raises `KernelFault` otherwise."""
    try:
        result = np.dtype(getattr(dtype, "dtype", dtype)) if not isinstance(dtype, type) else np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # NumPy reads the text of a data type as Python
        raise KernelFault(f"{dtype!r:.60} is not a dtype.") from None
    if result.kind in "SU" and result.itemsize > MOST_TEXT_BYTES:
        raise KernelFault(f"An element of {result} takes {result.itemsize} bytes; {MOST_TEXT_BYTES} can be simulated.")
    if result.kind not in "biufcVmMSU" or result.hasobject or result.subdtype is not None:
        raise KernelFault(f"A device array cannot hold {result}.", remedy="Use a numeric dtype such as np.float32.")
    return result


def check_shape(shape: Any, dtype: np.dtype) -> tuple[int, ...]:
    """A shape as a tuple of ints, small enough to simulate; raises `KernelFault` otherwise."""
    parts = tuple(shape) if isinstance(shape, (tuple, list)) or np.ndim(shape) == 1 else (shape,)
    for part in parts:
        if isinstance(part, (bool, np.bool_)) or not isinstance(part, (int, np.integer)):
            raise NotAShape(f"A shape is made of integers; {part!r:.40} is a {type(part).__name__}.")
        if part < 0:
            raise KernelFault(f"A shape cannot be negative: {parts}.")
    result = tuple(int(part) for part in parts)
    size = dtype.itemsize
    for part in result:
        size *= part
    if size > MOST_BYTES:
        raise KernelFault(
            f"An array of shape {result} ({dtype}) takes {size / 1024**3:.1f} GiB; the simulated GPU allows "
            f"{MOST_BYTES // 1024**3} GiB in one array.",
            remedy="Use a smaller problem.",
        )
    return result


def core_of(array: np.ndarray) -> np.ndarray:
    """An array without the dimensions that repeat the same elements, as in a broadcast one."""
    return array[tuple(0 if step == 0 else slice(None) for step in array.strides)] if array.size else array


def check_contiguous(array: np.ndarray) -> None:
    """Refuses every other element of an array and the like; the order of dimensions does not matter."""
    core = core_of(array)
    slowest_first = sorted(range(core.ndim), key=lambda axis: -core.strides[axis])
    if not core.transpose(slowest_first).flags.c_contiguous:
        raise NotContiguous(
            "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
            "Please ensure contiguous buffer with numpy .ascontiguousarray()"
        )


def check_copy(target: np.ndarray, source: np.ndarray, on_device: bool) -> None:
    """Refuses what Numba does not copy onto a device array: another shape or dtype, or another order on the device."""
    check_contiguous(target)
    if on_device:
        check_contiguous(source)
    if source.shape != target.shape:
        raise NotAlike(f"copy_to_device needs an array of shape {target.shape}; this one has {source.shape}.")
    if not on_device:
        return
    if source.dtype != target.dtype:
        raise OtherType(f"incompatible dtype: {target.dtype} vs. {source.dtype}")
    if source.strides != target.strides:
        raise NotAlike(f"incompatible strides: {target.strides} vs. {source.strides}")

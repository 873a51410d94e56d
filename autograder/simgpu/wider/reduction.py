"""`cuda.reduce` on the simulated GPU: halves the array launch by launch with the user's binary function."""

from __future__ import annotations

from typing import Any

from autograder.language.program import Function, Reference
from autograder.simgpu.values.arrays import DeviceArray

THREADS = 256

_TEXT = """\
def halve(values, count, half):
    i = cuda.grid(1)
    if i + half < count:
        values[i] = combine(values[i], values[i + half])
"""


def reduce_array(device: Any, combine: Function, values: DeviceArray, size: int | None, init: Any) -> Any:
    """The reduction of the first `size` elements, starting from `init`; `combine` must be associative."""
    count = len(values) if size is None else int(size)
    if count == 0:
        return init
    scratch = device.session.to_device(values.copy_to_host()[:count])
    kernel = combine.notes.get(reduce_array)  # made ready once for each kind of numbers
    if kernel is None:
        names = {"cuda": Reference("numba.cuda"), "combine": combine}
        kernel = combine.notes[reduce_array] = Function.from_text(_TEXT, "cuda.reduce", names)
    while count > 1:
        half = (count + 1) // 2
        device.launch(kernel, (-(-half // THREADS), THREADS), (scratch, count, half))
        count = half
    first = scratch.copy_to_host()[0]
    return first if not init else _with_init(device, combine, first, init, scratch)


def _with_init(device: Any, combine: Function, value: Any, init: Any, scratch: DeviceArray) -> Any:
    pair = device.session.device_array((2,), scratch.dtype)
    pair[:] = [init, value]
    return reduce_array(device, combine, pair, 2, 0)

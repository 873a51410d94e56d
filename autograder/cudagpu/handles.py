"""What host code of a submission holds of a device array: Numba's array underneath, driver errors translated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.cudagpu.memory import GuardedArray

Checked = Callable[..., Any]


@dataclass(eq=False)
class GpuArray:
    """A device array or a view of one; the host reads it with `copy_to_host`.

    Mirrors numba.cuda's DeviceNDArray as far as host code may use it (autograder.language.host_names).
    """

    owner: GuardedArray
    view: Any  # numba.cuda device array
    checked: Checked
    waiting: Checked | None = None  # the same of what may wait for the GPU; None: nobody asks

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.view.shape)

    @property
    def dtype(self) -> np.dtype:
        dtype: np.dtype = self.view.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return int(self.view.ndim)

    @property
    def size(self) -> int:
        return int(self.view.size)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.view.strides)

    @property
    def T(self) -> GpuArray:  # noqa: N802 (NumPy's name)
        return self.transpose()

    def __len__(self) -> int:
        return len(self.view)

    def __getitem__(self, key: Any) -> Any:
        found = self.checked(lambda: self.view[key])
        if hasattr(found, "copy_to_host"):
            return self._part(found)
        return self._waiting(lambda: found)  # a number has come to the host

    def __setitem__(self, key: Any, value: Any) -> None:
        value = value.view if isinstance(value, GpuArray) else value
        self._waiting(lambda: self.view.__setitem__(key, value))

    def copy_to_host(self) -> np.ndarray:
        return np.asarray(self._waiting(self.view.copy_to_host))

    def copy_to_device(self, source: Any) -> None:
        source = source.view if isinstance(source, GpuArray) else source
        self._waiting(lambda: self.view.copy_to_device(source))

    def reshape(self, *shape: Any) -> GpuArray:
        return self._part(self.view.reshape(*shape))

    def ravel(self) -> GpuArray:
        return self._part(self.view.ravel())

    def transpose(self) -> GpuArray:
        return self._part(self.checked(self.view.transpose))

    def is_c_contiguous(self) -> bool:
        return bool(self.view.is_c_contiguous())

    def _part(self, view: Any) -> GpuArray:
        return GpuArray(self.owner, view, self.checked, self.waiting)

    @property
    def _waiting(self) -> Checked:
        return self.waiting or self.checked

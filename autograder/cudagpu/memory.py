"""Device arrays with guard zones on both sides, filled with what nobody would write by accident."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

ALIGNMENT_BYTES = 256  # of the driver's own allocations; kept, or coalescing would change
GUARD_BYTES = 64 * 1024
FILL_BLOCKS, FILL_THREADS = 1024, 256
NARROW_BYTES = 2  # integers this small may hold the poison by chance: they are run twice, with other poison
# Quiet NaNs whose payload no arithmetic yields, by item size.
NAN_BITS = {2: 0x7E5A, 4: 0x7FC5A5A5, 8: 0x7FF85A5A_A5A5A5A5}
OTHER_BYTE = (0xA5, 0x5C)


def poison_item(dtype: np.dtype, variant: int = 0) -> np.ndarray:
    """The bytes of one poisoned element: a marked NaN for floats, a fixed pattern for everything else."""
    if dtype.kind == "c":
        half = poison_item(np.dtype(f"f{dtype.itemsize // 2}"), variant)
        return np.concatenate([half, half])
    if dtype.kind == "f" and dtype.itemsize in NAN_BITS:
        return np.array([NAN_BITS[dtype.itemsize]], f"u{dtype.itemsize}").view(np.uint8)
    return np.full(dtype.itemsize, OTHER_BYTE[variant], np.uint8)


def poisoned(shape: tuple[int, ...], dtype: Any, variant: int = 0) -> np.ndarray:
    """An array in which every element is poison."""
    dtype = np.dtype(dtype)
    array = np.empty(shape, dtype)
    array.reshape(-1).view(_lanes(dtype))[...] = poison_item(dtype, variant).view(_lanes(dtype))[0]
    return array


def written_mask(array: np.ndarray, variant: int = 0) -> np.ndarray:
    """Where an array no longer holds the poison that it was filled with, element by element."""
    lanes = _lanes(array.dtype)
    differs = np.ascontiguousarray(array).reshape(-1).view(lanes) != poison_item(array.dtype, variant).view(lanes)[0]
    return np.asarray(differs.reshape(*array.shape, array.dtype.itemsize // lanes.itemsize).any(axis=-1))


def _lanes(dtype: np.dtype) -> np.dtype:
    """The widest unsigned integers that make up an element: comparing them is faster than comparing bytes."""
    return np.dtype(f"u{next(size for size in (8, 4, 2, 1) if dtype.itemsize % size == 0)}")


def is_ambiguous(dtype: Any) -> bool:
    """Whether an element may equal the poison by chance."""
    dtype = np.dtype(dtype)
    return bool(dtype.itemsize <= NARROW_BYTES and dtype.kind != "f")


@dataclass(eq=False)
class GuardedArray:
    """A device array inside a larger allocation; `view` is what kernels get."""

    raw: Any  # uint8 device array: guard, data, guard
    view: Any
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    before: bytes  # what the guards held at first
    after: bytes

    @property
    def size_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def read(self) -> tuple[np.ndarray, int, int]:
        """The data, and how many guard bytes before and after it were changed."""
        whole = self.raw.copy_to_host()
        end = GUARD_BYTES + self.size_bytes
        data = whole[GUARD_BYTES:end].copy().view(self.dtype).reshape(self.shape)
        return data, _changed(whole[:GUARD_BYTES], self.before), _changed(whole[end : end + GUARD_BYTES], self.after)

    def read_guards(self) -> tuple[int, int]:
        """How many guard bytes before and after the data were changed; the data stay where they are."""
        end = GUARD_BYTES + self.size_bytes
        before, after = self.raw[:GUARD_BYTES], self.raw[end : end + GUARD_BYTES]
        return _changed(before.copy_to_host(), self.before), _changed(after.copy_to_host(), self.after)

    def overwrite(self) -> None:
        """Fills the whole allocation with poison, guard zones as well; returns before that is done."""
        if self.raw.size:
            _fill()[FILL_BLOCKS, FILL_THREADS](self.raw, np.uint8(OTHER_BYTE[0]))


def _changed(found: np.ndarray, expected: bytes) -> int:
    return int(np.count_nonzero(found != np.frombuffer(expected, np.uint8)))


def guarded(data: np.ndarray, name: str, rng: np.random.Generator, shift_bytes: int = 0) -> GuardedArray:
    """Copies an array to the device between two zones of random bytes.

    `shift_bytes` (a multiple of 256) moves the data within the allocation, so that pointers differ between calls.
    """
    from numba import cuda

    data = np.ascontiguousarray(data)
    tail = -data.nbytes % ALIGNMENT_BYTES
    guards = rng.integers(0, 256, 2 * GUARD_BYTES + tail + shift_bytes, dtype=np.uint8)
    before, after = guards[:GUARD_BYTES], guards[GUARD_BYTES : 2 * GUARD_BYTES]
    whole = np.concatenate([before, data.reshape(-1).view(np.uint8), after])
    room = cuda.device_array(max(1, whole.size + tail + shift_bytes), np.uint8)
    raw = room[shift_bytes : shift_bytes + whole.size]
    raw.copy_to_device(whole)
    middle = raw[GUARD_BYTES : GUARD_BYTES + data.nbytes]
    view = middle.view(data.dtype).reshape(data.shape) if data.size else cuda.device_array(data.shape, data.dtype)
    return GuardedArray(raw, view, name, data.shape, data.dtype, before.tobytes(), after.tobytes())


def lent(shape: tuple[int, ...], dtype: Any, rng: np.random.Generator, name: str, shift_bytes: int = 0) -> GuardedArray:
    """Poisoned memory between two zones of random bytes, which the device itself fills; items are of 4 bytes.

    As `guarded` with `poisoned`, without the way through the host's memory: scratch memory is large.
    """
    from numba import cuda

    dtype = np.dtype(dtype)
    size_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    tail = -size_bytes % ALIGNMENT_BYTES
    guards = rng.integers(0, 256, 2 * GUARD_BYTES, dtype=np.uint8)
    before, after = guards[:GUARD_BYTES], guards[GUARD_BYTES:]
    room = cuda.device_array(2 * GUARD_BYTES + size_bytes + tail + shift_bytes, np.uint8)
    raw = room[shift_bytes : shift_bytes + 2 * GUARD_BYTES + size_bytes]
    raw[:GUARD_BYTES].copy_to_device(before)
    raw[GUARD_BYTES + size_bytes :].copy_to_device(after)
    middle = raw[GUARD_BYTES : GUARD_BYTES + size_bytes]
    _fill()[FILL_BLOCKS, FILL_THREADS](middle.view(np.uint32), poison_item(dtype).view(np.uint32)[0])
    return GuardedArray(raw, middle.view(dtype).reshape(shape), name, shape, dtype, before.tobytes(), after.tobytes())


@cache
def _fill() -> Any:
    from numba import cuda

    def fill(target: Any, value: Any) -> None:
        for i in range(cuda.grid(1), target.size, cuda.gridsize(1)):
            target[i] = value

    return cuda.jit(fill)

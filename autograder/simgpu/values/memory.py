"""The memories of the simulated GPU: buffers with device addresses, views into them, and the shadow of past accesses."""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import psutil

from autograder.errors import GraderFault, KernelFault
from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES
from autograder.simgpu.values.values import Lanes

Space = Literal["global", "shared", "local", "constant"]

SHADOW = "AUTOGRADER_SHADOW"  # off: live kernels run without shadow memory
MUCH_BYTES = 256 * 1024**2  # from which on the machine is asked for its free memory first
FROM_SYSTEM_BYTES = 1024**2  # from which on zeros that are not touched are asked of the system
LENT = 2**62  # later than any stamp
SECTORS_OF_A_PAGE = 128  # 4 KiB: what is alone there comes neither with neighbours nor soon after them
WRITTEN_BY_HOST = 1  # a shadow's stamp; 0 is never, and kernels' stamps are larger
ALIGNMENT_BYTES = 256  # cudaMalloc aligns to at least 256 bytes (CUDA C++ Programming Guide, device memory accesses)


class AddressSpace:
    """Hands out device addresses, so that sectors and lines fall where a real allocator would put them."""

    def __init__(self) -> None:
        self.has_shadows = True  # of memory that nobody has written yet
        self._next = ALIGNMENT_BYTES
        self._buffers: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()

    def reserve(self, size_bytes: int) -> int:
        address = self._next
        self._next += -(-max(size_bytes, 1) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return address

    def register(self, buffer: Buffer) -> Buffer:
        """Remembers who lives at an address, for kernels that are given a bare pointer."""
        self._buffers[buffer.address] = buffer
        return buffer

    def view_at(self, address: int, dtype: np.dtype) -> View:
        """What a pointer points to: from there to the end of its allocation, as one dimension."""
        for start, buffer in self._buffers.items():
            if start <= address < start + max(1, buffer.data.nbytes):
                if buffer.data.dtype != dtype:
                    buffer = buffer.reinterpreted(dtype)
                offset = (address - start) // dtype.itemsize
                return View(buffer, offset, (len(buffer.data) - offset,), (1,), dtype, "")
        raise KernelFault(
            f"There is no device array at the address {address:#x}.",
            remedy="Take pointers from a device array's __cuda_array_interface__, and keep the array alive.",
        )


class Watcher(Protocol):
    """Who is told what is read of a device array, elements of the allocation each time."""

    def read(self, elements: np.ndarray | slice) -> None:
        """A launch reads these."""

    def read_by_host(self, elements: np.ndarray | slice) -> None:
        """The host reads these."""


class NoRoomForShadow(GraderFault, MemoryError):
    """The machine lacks the memory that goes with an array for finding races: no fault of the kernel."""


class Accesses(NamedTuple):
    """Of each element one access, or several that are as good as one: a row of its shadow."""

    stamps: np.ndarray  # int32: the clock of barriers
    threads: np.ndarray  # int32: by their numbers in the launch; negative where they were atomics
    places: np.ndarray  # int16: the number of the source line * 4 + how far apart the threads are

    @classmethod
    def none(cls, elements: int) -> Accesses:
        return cls(*(untouched_zeros(elements, np.dtype(each)) for each in (np.int32, np.int32, np.int16)))


ACCESS_BYTES = 10  # of `Accesses`, an element
MOST_SITES = 2**13  # source lines of a launch that `Accesses.places` tells apart


class Shadow:
    """What is known of past accesses to each element, as in `order_primitives.check_order`.

    Each row takes memory only for the pages that something was recorded in (the system hands them out on first use), so an
    array that is only written costs 10 bytes an element, one that is read too 20, atomics after plain writes 30.
    """

    def __init__(self, elements: int, name: str = "") -> None:
        least = ACCESS_BYTES * elements
        free = psutil.virtual_memory().available if least >= MUCH_BYTES else least
        try:
            if free < least:  # else the system would end the program where the memory is first used
                raise MemoryError
            self.writes, self.reads, self.plain_writes = (Accesses.none(elements) for _ in range(3))
            self.last_read = 0  # the stamp of the latest read of any element; `LENT` where somebody else records them
        except MemoryError:
            raise NoRoomForShadow(
                f"{f'`{name}`' if name else 'A device array'} has {elements:,} elements, and beside each one the simulated "
                "GPU keeps who wrote and read it last, to find races and reads of memory that nobody wrote. That takes "
                f"{least / 1024**3:.1f} to {3 * least / 1024**3:.1f} GiB, more than there is.",
                remedy=f"Use a smaller array, or do without: {SHADOW}=off in the environment, or `run --no-shadow`.",
            ) from None

    def lend(self) -> tuple[Accesses, Accesses]:
        """The rows of writes and of reads, for who records there without a word each time."""
        self.last_read = LENT
        return self.writes, self.reads

    @property
    def written_at(self) -> np.ndarray:
        """The stamp of each element's last write: 0 for never, then `WRITTEN_BY_HOST`, then those of kernels."""
        return self.writes.stamps

    def is_added_to(self, elements: np.ndarray | slice) -> np.ndarray:
        """Of each of these elements, whether an atomic wrote to it last."""
        is_added_to: np.ndarray = self.writes.threads[elements] < 0
        return is_added_to


class LocalRegisters:
    """A local array as what lies in registers: a row for each thread, whose own array begins at `begins`."""

    __slots__ = ("begins", "rows", "view")

    def __init__(self, begins: np.ndarray, rows: np.ndarray) -> None:
        self.begins, self.rows = begins, rows
        self.view: View | None = None  # the last one that was found to be of the whole array

    def is_whole(self, view: View) -> bool:
        """Whether a view is of the whole array of each thread, as it was made."""
        if view is self.view:
            return True
        if view.offset is self.begins and view.lengths is None and view.field is None and view.outside is None:
            self.view = view
            return True
        return False


class Buffer:
    """One allocation: its elements, its device address, and what is known about past accesses.

    `shadow` exists only where accesses need checking: shared memory always, global memory once a kernel writes it or
    while parts of it are uninitialised.
    """

    def __init__(
        self, data: np.ndarray, address: int, space: Space, name: str = "", *, initialised: bool = True
    ) -> None:
        assert data.ndim == 1
        self.data = data
        self.address = address
        self.space: Space = space
        self.name = name
        self._owner: Buffer | None = None
        self.shadow: Shadow | None = None
        self.all_set = initialised
        self._touched: np.ndarray | None = None
        self._seen_as: dict[np.dtype, Buffer] = {}
        self.loaded_by_blocks = self.pages_of_blocks = 0  # summed over blocks: distinct sectors that each loads, and pages
        self._stamps: np.ndarray | None = None
        self._store_stamps: np.ndarray | None = None
        self._atomic_stamps: np.ndarray | None = None
        self._atomics: np.ndarray | None = None
        self.stores_of_warps: dict[int, int] = {}  # by sector: stores of warps to one element, since `forget_touched`
        self.watcher: Watcher | None = None  # of the allocation, not of other ways to see it
        self.version = 0  # of the allocation: another one after each time that somebody may have written to it
        self.marks = 0  # likewise: after each time that elements may have been written for the first time
        self.is_seen_by_host = False  # so that the host may write to the allocation without a word
        self.is_borrowed = False  # the elements are the host's own, for a launch that only reads them
        self.registers: LocalRegisters | None = None  # of local arrays
        if not initialised:
            self.need_shadow()

    @property
    def itemsize(self) -> int:
        return self.data.itemsize

    @property
    def owner(self) -> Buffer:
        """The allocation, of which this may be another way to see it."""
        return self if self._owner is None else self._owner

    def seen_as(self, dtype: np.dtype) -> Buffer:
        """This memory as elements of another dtype, the same buffer each time (so that its accesses are followed)."""
        if dtype not in self._seen_as:
            self._seen_as[dtype] = self.reinterpreted(dtype)
        return self._seen_as[dtype]

    def reinterpreted(self, dtype: np.dtype) -> Buffer:
        """The same memory seen as elements of another dtype (its accesses are then checked on their own)."""
        whole = self.data.nbytes // dtype.itemsize * dtype.itemsize
        other = Buffer(self.data.view(np.uint8)[:whole].view(dtype), self.address, self.space, self.name)
        other._owner = self.owner  # which also keeps the registered buffer alive
        return other

    @property
    def sectors(self) -> int:
        """The number of sectors that it lies in."""
        first = self.address // SECTOR_BYTES
        return (self.address + max(self.data.nbytes, 1) - 1) // SECTOR_BYTES - first + 1

    @property
    def touched(self) -> np.ndarray:
        """A byte per sector: bit 0 read, bit 1 written, since `forget_touched`."""
        if self._touched is None:
            self._touched = np.zeros(self.sectors, np.uint8)
        return self._touched

    @property
    def stamps(self) -> np.ndarray:
        """An int64 per sector: the last batch whose first block read it, since `forget_touched`."""
        if self._stamps is None:
            self._stamps = np.zeros(len(self.touched), np.int64)
        return self._stamps

    @property
    def store_stamps(self) -> np.ndarray:
        """An int64 per sector: the last batch whose first block stored to it, since `forget_touched`."""
        if self._store_stamps is None:
            self._store_stamps = np.zeros(len(self.touched), np.int64)
        return self._store_stamps

    @property
    def atomic_stamps(self) -> np.ndarray:
        """An int64 per sector: the last batch whose first block carried out an atomic there, since `forget_touched`."""
        if self._atomic_stamps is None:
            self._atomic_stamps = np.zeros(len(self.touched), np.int64)
        return self._atomic_stamps

    @property
    def atomics(self) -> np.ndarray:
        """An int64 per sector: the atomics that went there as the hardware counts them, since `forget_touched`."""
        if self._atomics is None:
            self._atomics = np.zeros(len(self.touched), np.int64)
        return self._atomics

    @property
    def hottest_atomics(self) -> int:
        """The atomics at the sector that has most of them."""
        return 0 if self._atomics is None else int(self._atomics.max())

    @property
    def hottest_stores(self) -> int:
        """The stores of warps to one element at the sector that has most of them."""
        return max(self.stores_of_warps.values(), default=0)

    @property
    def atomic_sectors(self) -> int:
        """The distinct sectors that atomics went to, since `forget_touched`."""
        return 0 if self._atomics is None else int(np.count_nonzero(self._atomics))

    def note_first_block(self, stamp: int, blocks: int) -> None:
        """Notes what the first block of a batch, which has ended, has loaded; it stands for so many blocks."""
        if self._stamps is None:
            return
        sectors = np.flatnonzero(self._stamps == stamp)
        self.loaded_by_blocks += blocks * sectors.size
        self.pages_of_blocks += blocks * int(np.count_nonzero(np.diff(sectors // SECTORS_OF_A_PAGE, prepend=-1)))

    def forget_touched(self) -> None:
        self.loaded_by_blocks = self.pages_of_blocks = 0
        self._touched = self._stamps = self._store_stamps = self._atomic_stamps = self._atomics = None
        self.stores_of_warps = {}

    def touched_sectors(self) -> tuple[int, int]:
        """(distinct sectors read, distinct sectors written)."""
        if self._touched is None:
            return 0, 0
        return int(np.count_nonzero(self._touched & 1)), int(np.count_nonzero(self._touched & 2))

    def loaded_sectors(self) -> np.ndarray:
        """A flag for each sector: read since `forget_touched`."""
        return np.zeros(len(self.touched), bool) if self._touched is None else self._touched & 1 > 0

    def written_sectors(self) -> np.ndarray:
        """Which sectors were written since `forget_touched`, from 0 for the first (an int64 each, ascending)."""
        if self._touched is None:
            return np.zeros(0, np.int64)
        whole = len(self._touched) // 8 * 8
        eights = np.flatnonzero(self._touched[:whole].view(np.int64))  # most of a large array is not touched
        near: np.ndarray = np.concatenate(
            [(8 * eights[:, None] + np.arange(8)).ravel(), np.arange(whole, len(self._touched))]
        )
        written: np.ndarray = near[self._touched[near] & 2 > 0]
        return written

    def note_read(self, elements: slice | np.ndarray, by_host: bool = False) -> None:
        """Tells the watcher, if there is one, that a launch or the host reads these elements."""
        watcher = self.owner.watcher
        if watcher is None:
            return
        elements = elements if self._owner is None else slice(None)
        if by_host:
            watcher.read_by_host(elements)
        else:
            watcher.read(elements)

    def written_by_kernels(self) -> int:
        """How many elements kernels have written; what the host put there before is no work of theirs."""
        return 0 if self.shadow is None else int(np.count_nonzero(self.shadow.written_at > WRITTEN_BY_HOST))

    def written_since(self, stamp: int) -> np.ndarray:
        """Which elements kernels have written from this stamp on; no flags where nothing is known of any."""
        return np.zeros(0, bool) if self.shadow is None else self.shadow.written_at >= stamp

    def need_shadow(self) -> Shadow:
        if self.shadow is None:
            self.shadow = Shadow(len(self.data), self.name)
        return self.shadow

    def let_large_shadow_go(self) -> None:
        """Between launches, which order all accesses: a shadow then tells what has been written, and here that is all."""
        if self.shadow is not None and len(self.data) * ACCESS_BYTES >= MUCH_BYTES:
            if self.all_set or self.shadow.written_at.all():
                self.all_set, self.shadow = True, None

    def own(self) -> None:
        """From here on the elements are no longer the host's, if they were."""
        if self.is_borrowed:
            self.data, self.is_borrowed = self.data.copy(), False

    def set_by_host(self, elements: slice | np.ndarray) -> None:
        """The host wrote these elements: they are initialised from here on."""
        self.owner.marks += 1
        if isinstance(elements, slice) and elements == slice(None):
            self.all_set = True
        elif not self.all_set and self.shadow is not None:
            stamps = self.shadow.written_at
            stamps[elements] = np.maximum(stamps[elements], WRITTEN_BY_HOST)
            self.all_set = bool(np.all(stamps > 0))


Extent: TypeAlias = int | np.integer[Any] | Lanes
Axis: TypeAlias = Extent | tuple[Extent, Extent]  # an index, or (start, step) of a part that goes along a dimension
ALONG = (0, 1)  # the (start, step) of a part that goes along a whole dimension


@dataclass(frozen=True)
class Origin:
    """Where a part of an array was taken from: of each dimension of the whole its index, or (start, step) where the part
    goes along it; all of them numbers or lane vectors, as the kernel gave them."""

    whole: View
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, view: View) -> Origin:
        """The origin of an array that was taken from itself."""
        return view.origin or cls(view, (ALONG,) * view.ndim)

    def part(self, indices: Sequence[Axis]) -> Origin:
        """That of a part of the part, by an index or a (start, step) for each dimension of the part."""
        given = iter(indices)
        return replace(
            self, axes=tuple(_within(axis, next(given)) if type(axis) is tuple else axis for axis in self.axes)
        )

    def index(self, indices: Sequence[Extent]) -> tuple[Extent, ...]:
        """Indices into the part, one for each dimension, as indices into the whole."""
        return tuple(each for each in self.part(indices).axes if not isinstance(each, tuple))


def _within(axis: tuple[Extent, Extent], given: Axis) -> Axis:
    """An index, or a (start, step), of a part that goes along a dimension, as one of the dimension itself."""
    if axis is ALONG:
        return given
    start, step = axis
    if isinstance(given, tuple):
        return start + step * given[0], step * given[1]
    return start + step * given


@dataclass(frozen=True)
class View:
    """An array as a kernel sees it: a buffer, where it starts, its shape and its strides, both in elements.

    `offset` may differ by lane (an int64 lane vector): the view of a row that each thread picked, or a block's own
    shared array. `whole` is what the array is called in messages.
    """

    buffer: Buffer
    offset: int | np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    name: str
    field: str | None = None  # of a structured element
    lengths: tuple[np.ndarray | None, ...] | None = None  # by dimension, where lanes see parts of different length
    read_only: bool = False
    origin: Origin | None = None  # of a part that a kernel took
    outside: np.ndarray | None = None  # bool by lane: whose part lies outside the array, and must not be touched

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def data(self) -> np.ndarray:
        """The elements of the whole buffer, or their field that this is a view of."""
        return self.buffer.data if self.field is None else self.buffer.data[self.field]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def renamed(self, name: str) -> View:
        return replace(self, name=name)

    def called(self, name: str) -> View:
        """The array under the name that it has in a kernel; its memory is called so too, if it has no name yet."""
        if not self.buffer.name:
            self.buffer.name = name
        return self.renamed(name)


def cannot_be_written(view: View) -> tuple[str, str]:
    """(what to say of a store to an array that is only to be read, what to do instead)."""
    if view.buffer.space == "constant":
        return f"`{view.name}` is a constant array: a kernel cannot write to it.", ""
    return (
        f"`{view.name}` is read-only on the host, and Numba compiles no kernel that writes to it "
        "(Cannot modify readonly array).",
        f"Pass {view.name}.copy() or cuda.to_device({view.name}), or set its flags.writeable.",
    )


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def untouched_zeros(elements: int, dtype: np.dtype) -> np.ndarray:
    """Zeros that take no memory, and no time to write them, until somebody goes there.

    Large ones come from the system: the C library clears memory that was freed before.
    """
    nbytes = elements * dtype.itemsize
    if nbytes < FROM_SYSTEM_BYTES or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(elements, dtype)
    try:
        return np.frombuffer(mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype)
    except OSError:
        raise MemoryError from None


def poison(data: np.ndarray) -> None:
    """Fills memory that nobody has written with values that no correct result contains."""
    if data.dtype.kind in "fc":
        data[:] = np.nan
    elif data.dtype.kind in "iu":
        data[:] = np.array(0x5A5A5A5A5A5A5A5A, np.uint64).astype(data.dtype)
    elif data.dtype.kind == "U":
        data[:] = "?" * (data.itemsize // 4)  # not every pattern of bits is a character
    else:
        data.view(np.uint8)[:] = 0x5A

"""Loads and stores of one thread that is alone, at an element of global memory that is one number.

A kernel of one thread goes through an array round by round, and each access does what the one before did, at another
element. What is the same for all of them is found out once, and what they count is added up when the batch ends; whatever
needs a closer look (an index outside, a race, a value to be cast) is left to access.py, which looks from the start.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np

from autograder.simgpu.counting.counting import Counting
from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES, SECTOR_SHIFT
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.access_reports import AccessReports
from autograder.simgpu.ordering.ordering import Ordering
from autograder.simgpu.ordering.tickets import Tickets
from autograder.simgpu.primitives import READ
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import Accesses, View
from autograder.simgpu.values.values import Indices

SIMPLE = "iufb"  # kinds of dtype whose elements one instruction moves
BREADTH = 3  # of a row of the shadow: the bits that tell of more threads than one, see order_primitives.py
NAMES = {0: "load", 1: "store"}
Rows: TypeAlias = tuple[memoryview, memoryview, memoryview]
"""Of the shadow: stamps, threads and places."""


class AccessedMemory(Protocol):
    """What is asked of the memory that the thread accesses (access.Memory)."""

    batch: Batch
    counting: Counting
    ordering: Ordering
    tickets: Tickets | None
    reports: AccessReports


def may_be_alone(
    memory: AccessedMemory, view: View, mask: Mask, op: Operation, kind: int, *, is_written: bool = False
) -> bool:
    """Whether the accesses of this operation to this array are so simple that `LoneAccess` can carry them out.

    `is_written`: that a loop which is written out (one_thread) can. It also counts accesses that the compiler removes, and
    takes a part of an array that begins elsewhere for each lane.
    """
    buffer, size = view.buffer, view.data.itemsize
    return (
        mask.active == 1
        and buffer.space == "global"
        and view.data.dtype.kind in SIMPLE
        and view.field is None
        and view.lengths is None
        and view.outside is None
        and (is_written or isinstance(view.offset, int))
        and size <= SECTOR_BYTES
        and buffer.address % size == 0
        and buffer.owner.watcher is None
        and memory.tickets is None
        and memory.counting.trace is None
        and memory.reports.launch.debug is None
        and not (kind != READ and view.read_only)
        and op.by_round is None
        and (is_written or not memory.counting.is_left_out(op, kind))
    )


class LoneAccess:
    """The loads, or the stores, of one operation by one thread in one array."""

    __slots__ = (
        "memory", "view", "mask", "op", "kind", "data", "type", "buffer", "shadow", "rows", "me", "site",
        "shape", "strides", "offset", "address", "itemsize", "origin", "sector", "stamp", "is_first", "times", "new",
        "again", "order", "batch", "launch", "held", "books", "issued",
    )  # fmt: skip

    def __init__(self, memory: AccessedMemory, view: View, mask: Mask, op: Operation, kind: int) -> None:
        self.memory, self.view, self.mask, self.op, self.kind = memory, view, mask, op, kind
        ordering, buffer = memory.ordering, view.buffer
        self.batch, self.order, self.launch = memory.batch, ordering.order, ordering.launch
        self.books = memory.counting.books
        self.held = memory.counting.held_loads if kind == READ else memory.counting.held_stores
        self.data, self.type, self.buffer = view.data, view.data.dtype.type, buffer
        self.shape, self.strides, self.offset = view.shape, view.strides, int(view.offset)
        self.address, self.itemsize = buffer.address, view.data.itemsize
        self.origin = buffer.address >> SECTOR_SHIFT
        self.sector = -1  # that it was in last
        lane = int(mask.where[0])
        self.me, self.stamp = self.batch.first_thread + lane, self.batch.first_thread + 1
        self.is_first = kind == READ and lane < self.batch.geometry.padded
        self.times = self.new = 0  # accesses, and sectors that the first block loaded first, not yet in the books
        self.issued = 0  # and the machine instructions of those accesses
        self.again = 0  # and the sectors that a round of the innermost loop stored to before
        self.shadow = buffer.shadow
        self.rows: tuple[Rows, Rows] | None = None  # of the shadow: the writes, the reads
        if self.shadow is not None and self.launch.checks_order:
            self.site = self.launch.site(op.line) << 2
            writes, reads = self.shadow.lend()
            self.rows = _flat(writes), _flat(reads)

    def element(self, indices: Indices) -> int:
        """The element that is meant, counted and in order; -1 where it takes a closer look."""
        linear = self.offset
        if len(indices) == 1:
            index = indices[0]
            if index.__class__ is np.ndarray:
                return -1
            i = int(index)
            if not 0 <= i < self.shape[0]:
                return -1
            linear += i * self.strides[0]
        else:
            for index, extent, stride in zip(indices, self.shape, self.strides, strict=True):
                if index.__class__ is np.ndarray:
                    return -1
                i = int(index)
                if not 0 <= i < extent:
                    return -1
                linear += i * stride
        if self.buffer.shadow is not self.shadow or self.held or self.batch.has_raised:
            return -1
        if self.rows is not None and not self.is_in_order(*self.rows, linear):
            return -1
        sector = (self.address + linear * self.itemsize) >> SECTOR_SHIFT
        if sector != self.sector:
            self.enter(sector)
        if self.kind != READ:
            self.again += self.memory.counting.stored_again(self.buffer, linear * self.itemsize, 1)
        self.times += 1
        self.issued += self.books.slots(self.op)
        self.launch.work += 1
        return linear

    def is_in_order(self, writes: Rows, reads: Rows, element: int) -> bool:
        """Records the access in the shadow where no other thread has been at the element; see `check_order`."""
        grid_sync = self.order.grid_sync
        (write_stamps, writers, write_places), (read_stamps, readers, read_places) = writes, reads
        wrote_at, read_at = write_stamps[element], read_stamps[element]
        if wrote_at >= grid_sync and wrote_at and (writers[element] != self.me or write_places[element] & BREADTH):
            return False
        if read_at >= grid_sync and read_at and (readers[element] != self.me or read_places[element] & BREADTH):
            return False
        if self.kind == READ:
            if not wrote_at and not self.buffer.all_set:
                return False
            write_stamps, writers, write_places = reads
        write_stamps[element] = self.order.now
        writers[element] = self.me
        write_places[element] = self.site
        return True

    def enter(self, sector: int) -> None:
        """Marks a sector as touched, and as loaded by the first block."""
        self.sector = sector
        at = sector - self.origin
        self.buffer.touched[at] |= 1 if self.kind == READ else 2
        if self.is_first and self.buffer.stamps[at] != self.stamp:
            self.buffer.stamps[at] = self.stamp
            self.new += 1

    def settle(self) -> None:
        """Puts into the books what has been counted since the last time: one request of one lane each."""
        times, books = self.times, self.books
        if not times:
            return
        name, row = NAMES[self.kind], books.row(self.op)
        books.instructions(row, self.mask, times, self.issued)
        if not self.op.has_cheap_address:
            row[SLOT["global_addresses"]] += times
            row[SLOT["global_index_terms"]] += times * self.view.ndim
        for what in ("requests", "sectors", "lines"):
            row[SLOT[f"global_{name}_{what}"]] += times
        row[SLOT[f"global_{name}_useful_bytes"]] += times * self.itemsize
        if self.kind == READ:
            books.warp_loads.step(self.mask, times)
            row[SLOT["global_load_wavefronts"]] += times
            row[SLOT["block_load_sectors"]] += self.new * len(self.batch.blocks)
        elif self.op.follows_a_store:
            row[SLOT["global_store_sectors_again"]] += self.again
        self.times = self.new = self.issued = self.again = 0


def _flat(rows: Accesses) -> Rows:
    stamps, threads, places = (row.data for row in rows)
    return stamps, threads, places

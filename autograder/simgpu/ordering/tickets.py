"""Tickets and locks: what fences and atomics on one word put in order between threads that no barrier holds together.

    sums[block] = total                                   # each block leaves its result,
    cuda.threadfence()                                    # makes it visible to all others,
    if cuda.atomic.add(taken, 0, 1) == blocks - 1:        # and takes a ticket: who gets the last one comes after all
        ...                                               # reads every block's result

    if cuda.atomic.cas(lock, 0, 0, 1) == 0:               # one thread at a time takes the lock,
        cuda.threadfence()                                # so that it meets no older copy of what others left,
        total[0] += 1
        cuda.threadfence()                                # makes its own visible,
        cuda.atomic.exch(lock, 0, 0)                      # and gives the lock back

It is one rule. An atomic *releases* by its word what its thread did before its last fence, and what the thread's warp or
block did before a barrier that the fence came after (or before fences of their own, and then a barrier). An atomic on the
same word that comes later *sees* this, if its thread (or, behind a barrier, its warp or block) makes a condition of what it
found: then an access under that condition comes after all that was released. An element that had been read before it was
written may lie in a cache as it was, so to read it again takes a fence after the atomic, too. A plain store behind a fence
gives back a word that an atomic has taken. Without one of these the accesses are told as a race.
Source: CUDA C++ Programming Guide, "Memory Fence Functions", whose example is the first pattern; the PTX manual's memory
consistency model, of which these are the release and acquire patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autograder.simgpu.ordering import order_primitives as order_prim
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.memory import Buffer

if TYPE_CHECKING:
    from autograder.simgpu.ordering.order import Order
    from autograder.simgpu.values.lanes import Batch, Mask

MOST_SEEN = 4  # words that a lane remembers to have looked at: two locks at a time, and a ticket


class Words:
    """The words of a launch that somebody looks at atomically, numbered, and what was released by them."""

    def __init__(self) -> None:
        self.turn = 0  # atomics so far
        self.count = 0  # releases so far
        self.releases = np.zeros((0, order_prim.RELEASE_COLUMNS), np.int64)
        self.newest = np.full((3, 0), -1, np.int64)  # the number of the last release of each thread, warp and block
        self.earlier_fences = np.zeros((3, 0), np.int32)  # of each thread before the last barrier of its block
        self._first: dict[int, int] = {}
        self._buffers: list[Buffer] = []  # kept, so that no other one gets their ids
        self._next = 0

    def first_of(self, buffer: Buffer) -> int:
        """The number of the word that is a buffer's element 0; -1 if nobody has looked at any of its elements yet."""
        return self._first.get(id(buffer), -1)

    def number(self, buffer: Buffer) -> None:
        """Gives the elements of a buffer their numbers."""
        if id(buffer) not in self._first:
            self._first[id(buffer)], self._next = self._next, self._next + len(buffer.data)
            self._buffers.append(buffer)

    def make_room(self, threads: int) -> None:
        """Room for so many threads, and for more releases where there is none left."""
        if (known := self.newest.shape[1]) < threads:
            more = max(threads, 2 * known) - known
            self.newest = np.concatenate([self.newest, np.full((3, more), -1, np.int64)], axis=1)
            self.earlier_fences = np.concatenate([self.earlier_fences, np.zeros((3, more), np.int32)], axis=1)
        if self.count >= (known := len(self.releases)) and known < order_prim.MOST_RELEASES:
            unused = np.full((max(known, 1024), order_prim.RELEASE_COLUMNS), -1, np.int64)
            self.releases = np.concatenate([self.releases, unused])


class Tickets:
    """The fences of one batch of blocks, and what its lanes saw in words."""

    def __init__(self, words: Words, batch: Batch, order: Order) -> None:
        self.words, self.batch, self.order = words, batch, order
        groups = len(batch.blocks) + batch.warps
        self.fenced = np.zeros((2, batch.size), np.int32)  # each lane's last fence: for all threads, and for its block
        self.seen, self.seen_by_group = (
            np.zeros((size, MOST_SEEN, order_prim.SEEN_COLUMNS), np.int64) for size in (batch.size, groups)
        )
        self.seen[..., order_prim.SEEN_WORD] = self.seen_by_group[..., order_prim.SEEN_WORD] = -1

    def fence(self, mask: Mask, wide: bool) -> None:
        """These lanes have a fence: for all threads, or for those of their block."""
        self.fenced[order_prim.WIDE if wide else order_prim.NARROW :, mask.where] = self.order.now

    def take(self, buffer: Buffer, linear: np.ndarray, lanes: np.ndarray, wrote: np.ndarray, looks: bool) -> None:
        """These lanes have updated elements atomically, in this order: who wrote there at all, and whether they look at
        what they found. A word that nobody has looked at yet tells nobody anything."""
        batch, order, words = self.batch, self.order, self.words
        if looks:
            words.number(buffer)
        if (first := words.first_of(buffer)) < 0:
            return
        words.make_room(batch.first_thread + batch.size)
        self._keep_earlier_fences(lanes)
        done = 0
        while done < len(lanes):
            words.make_room(batch.first_thread + batch.size)
            done, words.count = order_prim.note_atomics(
                done, words.count, lanes, linear + first, wrote, looks, words.turn, order.now, batch.first_thread,
                batch.geometry.padded, order.block_sync, order.warp_sync, self.fenced, words.earlier_fences, self.seen,
                self.seen_by_group, words.releases, words.newest,
            )  # fmt: skip
        words.turn += len(lanes)
        order.now += 1

    def _keep_earlier_fences(self, lanes: np.ndarray) -> None:
        """Keeps the fences that threads had before the last barrier of their block, where an atomic relies on those."""
        padded, barriers = self.batch.geometry.padded, self.order.block_sync
        slots = np.unique(lanes[self.fenced[order_prim.NARROW, lanes] <= barriers[lanes // padded]] // padded)
        first, last = self.batch.first_thread, self.batch.first_thread + self.batch.size
        kept = self.words.earlier_fences[:, first:last].reshape(3, len(barriers), padded)
        slots = slots[kept[order_prim.BARRIER, slots, 0] < barriers[slots]]
        before = self.fenced.reshape(2, len(barriers), padded)[:, slots]
        before = np.where(before < barriers[slots, None], before, 0)
        any_fence = before.any(axis=(0, 2))
        slots, before = slots[any_fence], before[:, any_fence]
        kept[:2, slots] = before
        kept[order_prim.BARRIER, slots] = barriers[slots, None]

    def give_back(self, buffer: Buffer, linear: np.ndarray, lanes: np.ndarray) -> None:
        """Lanes store plainly, under a condition on what an atomic found: a release where they had taken that word."""
        first = self.words.first_of(buffer)
        if first < 0:
            return
        numbers, blocks = linear[lanes] + first, lanes // self.batch.geometry.padded
        warps = len(self.batch.blocks) + lanes // WARP
        held = np.zeros(len(lanes), np.bool_)
        for seen in (self.seen[lanes], self.seen_by_group[blocks], self.seen_by_group[warps]):
            is_word = seen[..., order_prim.SEEN_WORD] == numbers[:, None]
            is_fenced = self.fenced[order_prim.NARROW, lanes][:, None] > seen[..., order_prim.SEEN_AT]
            held |= np.any(is_word & is_fenced, axis=1)
        if held.any():
            self.take(buffer, linear[lanes[held]], lanes[held], np.ones(np.count_nonzero(held), np.bool_), looks=False)

"""The accesses of rounds that are gone at once (side_by_side.py): whether they are what rounds one by one would do, and
what they leave in memory, in shadows, among the sectors and in the books.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from autograder.simgpu.counting.counting import AGAIN, BLOCK_SECTORS
from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES, SECTOR_SHIFT
from autograder.simgpu.machine.access import Memory
from autograder.simgpu.one_thread.going import Going
from autograder.simgpu.one_thread.rehearsal import NotOfNumbers
from autograder.simgpu.one_thread.source import FAR, AccessSite
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.order_primitives import BETWEEN_BLOCKS
from autograder.simgpu.primitives import READ, WRITE
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Accesses, View
from autograder.simgpu.values.values import Indices, Value
from autograder.simgpu.values.values import Number as Boxed


class NotAtOnce(Exception):  # noqa: N818 (it says that rounds go one by one, and is no error)
    """These rounds need a closer look."""


class MemoryOfRounds:
    """The accesses of some rounds: loads give what was there before the first of them, stores wait."""

    def __init__(self, going: Going, sites: Mapping[tuple[Operation, int], AccessSite], rounds: int) -> None:
        self.going, self.sites, self.rounds = going, sites, rounds
        self.made: list[tuple[AccessSite, np.ndarray]] = []  # in the order of a round, the elements by round
        self.waiting: list[tuple[View, np.ndarray, Boxed]] = []
        self.reports = _NoReports()

    def load(self, view: View, indices: Indices, mask: Mask, op: Operation) -> Boxed:
        """The elements, by round."""
        elements = self._elements(view, indices, op, READ)
        loaded = np.empty(len(mask.lanes), view.data.dtype)
        loaded[: len(elements)] = _at(view.data, elements)
        loaded[len(elements) :] = loaded[len(elements) - 1]
        return loaded

    def store(self, view: View, indices: Indices, value: Value, mask: Mask, op: Operation) -> None:
        elements = self._elements(view, indices, op, WRITE)
        with np.errstate(all="ignore"):
            cast_value = Memory.cast(cast(Memory, self), value, view.data.dtype, mask, view, op)
        self.waiting.append((view, elements, cast_value))

    def _elements(self, view: View, indices: Indices, op: Operation, kind: int) -> np.ndarray:
        going = self.going
        site = self.sites.get((op, kind))
        if site is None or len(indices) != view.ndim:
            raise NotOfNumbers("an access of another kind")
        own = going.arrays[site.view]
        if own.buffer is not view.buffer or own.offset is not view.offset or own.shape != view.shape:
            raise NotOfNumbers("an access of another kind")
        offset = view.offset if isinstance(view.offset, int) else int(view.offset[going.lane])
        elements = np.full(self.rounds, offset, np.int64)
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            one = index[: self.rounds] if isinstance(index, np.ndarray) else index
            if not (np.all(np.greater_equal(one, 0)) and np.all(np.less(one, extent))):
                raise NotAtOnce
            elements += one.astype(np.int64) * stride
        self.made.append((site, elements))
        return elements

    # -- whether it is what rounds one by one would do ----------------------------------------------------------------

    def check(self) -> None:
        """Raises `NotAtOnce` where one of these accesses needs a closer look, or a round what another one stores."""
        for site, elements in self.made:
            kind = self.going.written.views[site.view][1]
            if kind.has_shadow and not self._are_settled(site, elements, kind.all_set and kind.space == "global"):
                raise NotAtOnce
        by_group: dict[int, list[tuple[AccessSite, np.ndarray]]] = defaultdict(list)
        for each in self.made:
            by_group[each[0].group].append(each)
        for accesses in by_group.values():
            self._check_apart(accesses)

    def _are_settled(self, site: AccessSite, elements: np.ndarray, is_set: bool) -> bool:
        """`is_settled` of ordering/order_primitives.py, of all elements; reads ask whether somebody wrote there."""
        shadow = self.going.arrays[site.view].buffer.need_shadow()
        _, grid_sync, in_block = self.going.order
        first, last = self.going.block
        for row in (shadow.writes, shadow.reads):
            stamps = _at(row.stamps, elements)
            if row is shadow.writes and site.kind == READ and not is_set and not stamps.all():
                return False
            if (stamps < grid_sync).all():
                continue
            threads, breadths = _at(row.threads, elements), _at(row.places, elements) & 3
            is_own = (threads == self.going.me) & (breadths == 0)
            is_over = (stamps < in_block) & (breadths != BETWEEN_BLOCKS) & (first <= threads) & (threads <= last)
            if not ((stamps < grid_sync) | is_own | is_over).all():
                return False
        return True

    def _check_apart(self, accesses: Sequence[tuple[AccessSite, np.ndarray]]) -> None:
        """Whether no round touches in an allocation what another one stores there, nor loads what it has stored itself."""
        stores = [(i, site, elements) for i, (site, elements) in enumerate(accesses) if site.kind == WRITE]
        if not stores:
            return
        if len({id(self.going.arrays[site.view].buffer) for site, _ in accesses}) > 1:
            raise NotAtOnce  # the same memory in two forms: elements cannot be compared
        for i, _, stored in stores:
            low, high = int(stored.min()), int(stored.max())
            if not _are_distinct(stored):
                raise NotAtOnce
            for j, (site, elements) in enumerate(accesses):
                if j == i or elements is stored:
                    continue
                if np.array_equal(elements, stored):
                    if site.kind == READ and j > i:
                        raise NotAtOnce
                elif int(elements.max()) >= low and int(elements.min()) <= high:
                    if np.intersect1d(elements, stored).size:
                        raise NotAtOnce

    # -- what it leaves ---------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Does the stores, and leaves in shadows, among sectors and in the books what the rounds would."""
        for view, elements, value in self.waiting:
            _put(view.data, elements, value[: len(elements)] if isinstance(value, np.ndarray) else value)
        self._leave_in_shadows()
        self._leave_among_sectors()
        self._leave_stored()

    def _leave_in_shadows(self) -> None:
        going, now = self.going, self.going.order[0]
        lines = {site: number for site, number in zip(going.written.accesses, going.sites_of_lines(), strict=True)}
        rows: dict[tuple[int, int], list[tuple[np.ndarray, int]]] = defaultdict(list)
        of: dict[tuple[int, int], Accesses] = {}
        for site, elements in self.made:
            if going.written.views[site.view][1].has_shadow:
                buffer = going.arrays[site.view].buffer
                key = id(buffer), site.kind
                of[key] = buffer.need_shadow().lend()[site.kind == READ]
                rows[key].append((elements, lines[site]))
        for key, accesses in rows.items():
            stamps, threads, places = of[key]
            for elements, place in accesses:
                _put(stamps, elements, now)
                _put(threads, elements, going.me)
                _put(places, elements, place)
            if len({place for _, place in accesses}) > 1:  # the last one in time is kept
                every = np.stack([elements for elements, _ in accesses], axis=1).ravel()
                places[every] = np.tile(np.array([place for _, place in accesses], places.dtype), self.rounds)

    def _leave_among_sectors(self) -> None:
        going = self.going
        tally, blocks = going.machine.launch.tally, len(going.batch.blocks)
        loads: dict[int, list[tuple[AccessSite, np.ndarray]]] = defaultdict(list)
        for site, elements in self.made:
            view, kind = going.arrays[site.view], going.written.views[site.view][1]
            if kind.space != "global":
                continue
            sectors = elements >> (SECTOR_SHIFT - (kind.dtype.itemsize.bit_length() - 1))
            buffer = view.buffer
            buffer.touched[_distinct(sectors)] |= 1 if site.kind == READ else 2
            if site.kind == READ and going.is_first:
                loads[id(buffer)].append((site, sectors))
        for accesses in loads.values():
            stamps = going.arrays[accesses[0][0].view].buffer.stamps
            if len(accesses) == 1:
                new = _distinct(accesses[0][1])
                first = np.zeros(len(new), np.int64)
            else:
                every = np.stack([sectors for _, sectors in accesses], axis=1).ravel()
                new, first = np.unique(every, return_index=True)
            is_new = stamps[new] != going.stamp
            stamps[new[is_new]] = going.stamp
            which = first[is_new] % len(accesses)  # by whom it was first
            for i, (site, _) in enumerate(accesses):
                found = int(np.count_nonzero(which == i))
                of = tally.source_row if site.is_left_out else tally.row
                if found:
                    of(site.op.line)[BLOCK_SECTORS] += found * blocks

    def _leave_stored(self) -> None:
        """Stores to a sector that the same round has stored to before, and what the last round has stored to last."""
        going, machine = self.going, self.going.machine
        last: dict[int, np.ndarray] = {}  # by group, the bytes
        for site, elements in self.made:
            kind = going.written.views[site.view][1]
            if site.kind != WRITE or kind.space != "global":
                continue
            stored = elements * kind.dtype.itemsize
            before = last.get(site.group)
            again = 0 if before is None else int(np.count_nonzero(np.abs(stored - before) < SECTOR_BYTES))
            last[site.group] = stored
            if again and site.op.follows_a_store:
                of = machine.launch.tally.source_row if site.is_left_out else machine.launch.tally.row
                of(site.op.line)[AGAIN] += again
        machine.counting.stored.clear()
        for group in going.groups:
            going.set_stored(group, int(last[group][-1]) if group in last else FAR)


class _NoReports:
    """Nothing is told while rounds go at once: who has something to tell has them go one by one."""

    def report_overflow(self, *_: object) -> None:
        raise NotAtOnce


def _run(elements: np.ndarray) -> slice | None:
    """The elements as a slice, where they follow each other at one distance."""
    if len(elements) < 2:
        return None
    first, second, last = int(elements[0]), int(elements[1]), int(elements[-1])
    step = second - first
    if step <= 0 or last - first != step * (len(elements) - 1) or not (np.diff(elements) == step).all():
        return None
    return slice(first, last + 1, step)


def _at(data: np.ndarray, elements: np.ndarray) -> np.ndarray:
    run = _run(elements)
    found: np.ndarray = data[elements] if run is None else data[run]
    return found


def _put(data: np.ndarray, elements: np.ndarray, value: object) -> None:
    run = _run(elements)
    data[elements if run is None else run] = value


def _distinct(ascending_or_not: np.ndarray) -> np.ndarray:
    """Each number once."""
    steps = np.diff(ascending_or_not)
    if (steps >= 0).all():
        return np.concatenate([ascending_or_not[:1], ascending_or_not[1:][steps > 0]])
    return np.unique(ascending_or_not)


def _are_distinct(elements: np.ndarray) -> bool:
    return _run(elements) is not None or len(np.unique(elements)) == len(elements)

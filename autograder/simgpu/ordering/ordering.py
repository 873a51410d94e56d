"""Races and uninitialised reads: each access is held against the shadow of earlier ones, and then recorded there."""

from __future__ import annotations

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.counting.place import Pattern, Place, Readers
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering import order_primitives as order_prim
from autograder.simgpu.ordering.access_reports import AccessReports
from autograder.simgpu.ordering.order import Order
from autograder.simgpu.ordering.tickets import Tickets
from autograder.simgpu.values.lanes import Batch
from autograder.simgpu.values.memory import Shadow, View
from autograder.simgpu.values.values import Number

READ, WRITE = prim.READ, prim.WRITE
NO_FENCES = np.zeros((2, 0), np.int32)
NOTHING_SEEN = np.zeros((0, 0, order_prim.SEEN_COLUMNS), np.int64)
NO_RELEASES, NO_NEWEST = np.zeros((0, order_prim.RELEASE_COLUMNS), np.int64), np.zeros((3, 0), np.int64)
NO_TICKETS = -1, NO_FENCES, NOTHING_SEEN, NOTHING_SEEN, NO_RELEASES, NO_NEWEST, np.zeros((3, 0), np.int32)


class Ordering:
    """Holds the accesses of one batch against what came before them."""

    def __init__(
        self, launch: LaunchState, batch: Batch, order: Order, tickets: Tickets | None, reports: AccessReports
    ) -> None:
        self.launch = launch
        self.batch = batch
        self.order = order
        self.tickets = tickets
        self.reports = reports
        self._padded = batch.geometry.padded
        self._sites: dict[Operation, int] = {}
        self._findings = np.zeros(order_prim.FINDINGS, np.int64)  # of an access; of nearly all there are none

    def check(
        self, view: View, place: Place, op: Operation, kind: int, value: Number | None = None, reads: bool = True
    ) -> None:
        """Looks for races and uninitialised reads by the shadow of earlier accesses, and records this one.

        An atomic that does not build on what it finds says `reads=False`.
        """
        buffer = view.buffer
        if buffer.owner.watcher is not None and kind != WRITE and reads:
            buffer.note_read(place.by_lane[place.mask.where])
        if buffer.space in ("constant", "local") or not place.mask.active or not self.launch.checks_order:
            return
        if kind == READ and buffer.space == "global" and not self.launch.is_written(buffer):
            if buffer.shadow is None or buffer.all_set:
                return
            if order_prim.are_all_set(place.mask.lanes, place.by_lane, buffer.shadow.written_at):
                return  # nobody writes it in this launch: no race can come of it
        order, site, shadow = self.order, self._sites.get(op), buffer.need_shadow()
        if site is None:
            site = self._sites[op] = self.launch.site(op.line)
        if kind == READ:
            shadow.last_read = max(shadow.last_read, order.now)
        if kind == READ and buffer.space == "shared" and place.pattern is not None and place.pattern.is_read_together:
            if self._check_by_element(place, place.pattern, site, shadow):
                return
        tickets, seen, linear = self.tickets, NO_TICKETS, place.by_lane
        is_under_atomic = op.is_under_atomic or order.calls_under_atomic > 0
        if tickets is not None and is_under_atomic:
            words = tickets.words
            seen = (
                words.first_of(buffer), tickets.fenced, tickets.seen, tickets.seen_by_group, words.releases, words.newest,
                words.earlier_fences,
            )  # fmt: skip
        accesses, findings = (*shadow.writes, *shadow.reads, *shadow.plain_writes, *seen), self._findings
        has_found = order_prim.check_order(
            place.mask.lanes, linear, kind, self.batch.first_thread,
            self._padded, order.now, reads and (buffer.space == "shared" or not buffer.all_set),
            site, order.grid_sync, shadow.last_read >= order.grid_sync, order.block_sync, order.warp_sync,
            *accesses, findings,
        )  # fmt: skip
        if tickets is not None and seen is not NO_TICKETS and kind == WRITE:
            tickets.give_back(buffer, linear, place.mask.where)
        if not has_found:
            return
        self._findings = np.zeros_like(findings)
        if findings[order_prim.UNSET_COUNT]:
            self.reports.report_unset(view, place, findings, op, kind)
        if findings[order_prim.RACE_COUNT]:
            self.reports.report_race(view, place, findings, op, kind, value, is_under_atomic)

    def _check_by_element(self, place: Place, pattern: Pattern, site: int, shadow: Shadow) -> bool:
        """The same check over the elements instead of the lanes; False where it takes a closer look."""
        if pattern.readers is None:
            pattern.readers = readers_of(pattern)
        readers = pattern.readers
        order = self.order
        return order_prim.check_reads_by_element(
            readers.elements, place.base, readers.lanes, readers.ends, readers.breadth, self.batch.first_thread,
            self._padded, order.now, site, order.block_sync, order.warp_sync, *shadow.writes[:2], *shadow.reads,
        )  # fmt: skip


def readers_of(pattern: Pattern) -> Readers:
    """Who reads each element of an access that repeats itself."""
    where = pattern.mask.where
    offsets = pattern.offsets[where]
    by_element = np.lexsort((where, offsets))
    sorted_offsets, sorted_lanes = offsets[by_element], where[by_element]
    first = np.flatnonzero(np.r_[True, sorted_offsets[1:] != sorted_offsets[:-1]])
    last = np.r_[first[1:], len(sorted_offsets)] - 1
    lanes, last_lanes = sorted_lanes[first], sorted_lanes[last]
    breadth = np.where(last == first, 0, np.where(lanes // prim.WARP == last_lanes // prim.WARP, 1, 2))
    in_first_warp = sorted_lanes // prim.WARP == np.repeat(lanes // prim.WARP, last - first + 1)
    second = first + np.add.reduceat(in_first_warp, first, dtype=np.int64)  # lanes are in order: its warp comes first
    ends = np.where(breadth == 2, sorted_lanes[np.minimum(second, last)], last_lanes)
    return Readers(sorted_offsets[first], lanes.astype(np.int64), ends.astype(np.int64), breadth.astype(np.int32))

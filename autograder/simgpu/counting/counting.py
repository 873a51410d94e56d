"""Counts what each access moves, as the hardware does: sectors and lines of global memory, wavefronts of shared memory.

START HERE for sectors and bank conflicts: `Counting.count`. The inner loops are in counting_primitives.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.counting import counting_primitives as count_prim
from autograder.simgpu.counting.books import Books
from autograder.simgpu.counting.place import LINE_BYTES, GlobalCount, Pattern, Place
from autograder.simgpu.counting.regrouping import TOGETHER, ArrayPart, Meeting, Regrouping
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.counting.tracing import ACCESS_KINDS, Trace
from autograder.simgpu.operations.operation import ByRound, Operation, Rounds
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import Buffer, View

READ, ATOMIC = prim.READ, prim.ATOMIC
LINES_PER_PASS = 4  # tags that L1 looks up in one pass: measured on an H200, perfmodel/measurements/microbenchmarks.json

GLOBAL_WORST = SLOT["global_atomic_worst_multiplicity"]
ATOMICS = SLOT["global_atomic_requests"], SLOT["global_atomic_sectors"]
FLOATS, USED = SLOT["float_atomic_sectors"], SLOT["used_atomic_sectors"]

BANK_BYTES = 4
WORD_BYTES = 4  # local memory has a word of every lane in a line
ADDRESSES, INDEX_TERMS = SLOT["global_addresses"], SLOT["global_index_terms"]
_LOCAL = {kind: SLOT[f"local_{'load' if kind == READ else 'store'}_requests"] for kind in (READ, prim.WRITE, ATOMIC)}
WAVEFRONTS, BLOCK_SECTORS = SLOT["global_load_wavefronts"], SLOT["block_load_sectors"]
BLOCK_STORES, BLOCK_ATOMICS = SLOT["block_store_sectors"], SLOT["block_atomic_sectors"]
AHEAD = SLOT["global_loads_ahead"]
AGAIN = SLOT["global_store_sectors_again"]
BYTES_TOGETHER = 5  # of eight single bytes of a number; by lesson 3's packed records on an H200, 0.37 and 2.11 ms
MARK = {READ: np.uint8(1), prim.WRITE: np.uint8(2)}  # bits of `Buffer.touched`
_NAMES = {READ: "load", prim.WRITE: "store"}
GLOBAL = {
    kind: tuple(SLOT[f"global_{name}_{what}"] for what in ("requests", "sectors", "lines", "useful_bytes"))
    for kind, name in _NAMES.items()
}
SHARED = {
    kind: tuple(SLOT[f"shared_{name}_{what}"] for what in ("requests", "wavefronts", "bank_conflicts"))
    for kind, name in _NAMES.items()
}


NO_SECTORS = np.zeros(0, np.uint8), np.zeros(0, np.int64)  # shared memory has none
EXCHANGES = ("exch", "cas")  # what shared memory does with words of any type
ORDERS = ("min", "max", "nanmin", "nanmax")
# Machine instructions of a try: load, compute, compare and swap, look whether that succeeded, go back.
IN_SHARED = {("f", 4): 5, ("f", 8): 6, ("i", 8): 7, ("u", 8): 7}
IN_GLOBAL = 6
OF_A_TRY = 4  # swap, compare, go back, and give way to other warps; before the first one the old value is copied
LOOKS = 3  # of one that loads first, and goes on only where it would change something


def _is_word(dtype: np.dtype) -> bool:
    """Whether shared memory adds such numbers by itself: of others an atomic is a loop of loads and compare-and-swaps."""
    return dtype.kind in "iu" and dtype.itemsize == BANK_BYTES


def is_a_loop_in_global_memory(view: View, atomic: str) -> bool:
    """Likewise of global memory, which only adds floats by itself."""
    return view.data.dtype.kind == "f" and atomic in ("sub", *ORDERS)


class Counting:
    """Counts what the accesses of one batch move."""

    def __init__(self, batch: Batch, books: Books, trace: Trace | None) -> None:
        self.batch = batch
        self.books = books
        self.trace = trace
        self.period = batch.geometry.warps_per_block
        self.held_loads: set[Operation] = set()  # accesses whose element a loop around keeps in a register
        self.held_stores: set[Operation] = set()  # accesses whose element is stored after the loop
        self.rounds: dict[Operation, int] = {}  # by loop: its present round, if accesses depend on that
        self.meeting = Meeting()  # accesses that the compiler merges from both arms of a branch
        self.sunk: dict[Operation, ArrayPart] = {}  # loads that the compiler makes later: of which lanes
        self.stored: dict[Buffer, tuple[int, int]] = {}  # this round's stores, by array: the first lane's byte, and sectors
        self.regrouping: Regrouping | None = None  # of the innermost loop, if lanes meet there otherwise than in the source

    def count(
        self, view: View, place: Place, op: Operation, kind: int, atomic: str = "",
        tries: Sequence[np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        """Adds an access and what it moves to the row of its source line.

        `atomic`: which one it is; `tries`: of one that looks first (`tries_of_order`), the lanes that try, by round.
        """
        space = view.buffer.space
        is_left_out = self.is_left_out(op, kind) or space == "local" and not op.is_of_local_memory  # in registers
        joined = op.store_joined if kind == prim.WRITE else op.joined
        is_sunk = op.is_sunk and not is_left_out
        if kind == ATOMIC and (space != "global" or is_a_loop_in_global_memory(view, atomic)):
            joined = None
        is_met = joined is not None and self.regrouping is None  # one with the other arm's access
        if is_left_out:
            row = self.books.left_out(op, place.mask)
            if op.chosen_of:
                self.books.issued(op, place.mask, op.slots)
        else:
            row = self.books.instruction(op, place.mask, not (is_met or is_sunk or op.has_own_accesses))
        if is_met and not is_left_out:
            self.books.issued(op, place.mask, op.slots_in_arm)
        if not place.mask.active:
            return
        if self.trace is not None:
            self.keep(self.trace, view, place, op, kind)
        moves = row
        if kind != ATOMIC and not is_left_out and space in ("global", "shared"):
            if self.regrouping is not None:
                self.regrouping.take(joined or op, view, place, kind)
                moves = self.books.tally.source_row(op.line)
            elif is_sunk:
                self.sunk[op] = ArrayPart(view, place.mask.lanes, place.by_lane)
                moves = self.books.tally.source_row(op.line)
            elif joined is not None:
                self.meeting.add(joined, view, place.by_lane, place.mask.lanes, kind, TOGETHER)
                moves = self.books.tally.source_row(op.line)
        if space == "global":
            if kind != prim.WRITE:
                self.books.warp_loads.step(place.mask)
            if not op.has_cheap_address:
                row[ADDRESSES] += place.mask.warps
                row[INDEX_TERMS] += view.ndim * place.mask.warps
            if kind == ATOMIC:
                self._count_global_atomic(row, view, place, op, atomic, joined, tries)
            else:
                is_made = moves is row and not is_left_out
                self._count_global(moves, view, place, op, kind, of_block=row, is_made=is_made)
        elif space == "shared":
            if kind == ATOMIC:
                is_a_loop = atomic not in EXCHANGES and not _is_word(view.data.dtype)
                self._count_shared_atomic(row, view, place, op, is_a_loop, is_of_order=atomic in ORDERS)
            elif op.by_round is not None and not is_left_out:
                self._count_wide(row, view, place, op, kind)
            else:
                self._count_shared(moves, view, place, kind)
        elif space == "local":
            row[_LOCAL[kind]] += place.mask.warps
            if op.is_of_local_memory:
                self._count_local(row, view, place, kind)
        else:
            row[SLOT["constant_load_requests"]] += place.mask.warps

    def is_left_out(self, op: Operation, kind: int) -> bool:
        """Whether the compiler removes an access."""
        if kind == ATOMIC:
            return False
        is_read = kind == READ
        if (op.leaves_no_load or op in self.held_loads) if is_read else (op.leaves_no_store or op in self.held_stores):
            return True
        by_round = op.by_round
        if by_round is None:
            return False
        return self._round_of(by_round) in (by_round.no_load if is_read else by_round.no_store)

    def begin_regrouping(self, loop: Operation, start: np.ndarray, stop: np.ndarray, step: np.ndarray, mask: Mask) -> None:
        """Before a loop that is done four rounds at a time: its accesses are regrouped where lanes' rounds differ."""
        self.regrouping = Regrouping.of(loop, start, stop, step, mask)
        if self.regrouping is not None:
            self.books.begin_regrouping(loop, self.regrouping.warps_more, self.regrouping.waits)

    def next_round(self, loop: Operation, number: int) -> None:
        """Begins the next round of a loop, if its accesses are regrouped."""
        if self.regrouping is not None and self.regrouping.loop is loop:
            self.regrouping.round = number
            self.regrouping.count_finished(self._count_instead)

    def is_regrouped(self, loop: Operation) -> bool:
        """Whether lanes meet in a loop otherwise than in the source."""
        return self.regrouping is not None and self.regrouping.loop is loop

    def end_regrouping(self, loop: Operation) -> None:
        """Counts the accesses that are left after a regrouped loop."""
        if self.regrouping is not None and self.regrouping.loop is loop:
            self.regrouping.count_finished(self._count_instead, is_over=True)
            self.regrouping = None
            self.books.end_regrouping(loop)

    def end_arms(self, joined: frozenset[Operation]) -> None:
        """Counts the accesses that the arms of a branch share, once both arms are carried out."""
        self.meeting.count(self._count_met, lambda key: key[0] in joined)

    def make_sunk(self, loads: frozenset[Operation], mask: Mask) -> None:
        """Counts loads that the compiler makes on one side of a branch, for the lanes that get there."""
        for op in loads & self.sunk.keys():
            part = self.sunk.pop(op)
            lanes = part.lanes & mask.lanes
            if lanes.any():
                self._count_instead(op, [ArrayPart(part.view, lanes, part.linear)], READ)
                self.books.issued(op, Mask(lanes, None), self.books.slots(op))

    def _count_met(self, op: Operation, parts: Sequence[ArrayPart], kind: int) -> None:
        """Counts one access that both arms of a branch share, and its instructions."""
        self._count_instead(op, parts, kind)
        lanes = np.logical_or.reduce([part.lanes for part in parts])
        self.books.issued(op, Mask(lanes, None), self.books.slots(op) - op.slots_in_arm)

    def _count_instead(self, op: Operation, parts: Sequence[ArrayPart], kind: int) -> None:
        """Counts an access for the compiler only; to several arrays, if one instruction goes to them."""
        row = self.books.made_instead(op)
        slots = {ATOMIC: ATOMICS} if kind == ATOMIC else GLOBAL if parts[0].view.buffer.space == "global" else SHARED
        requests = slots[kind][0]
        before = row[requests]
        for part in parts:
            place = Place(part.linear, Mask(part.lanes, None))
            if kind == ATOMIC:
                self._make_atomic(op, part.view, place)
            elif part.view.buffer.space == "global":
                self._count_global(row, part.view, place, op, kind, of_block=[0] * len(row))
            else:
                self._count_shared(row, part.view, place, kind)
        if len(parts) > 1:
            lanes = np.logical_or.reduce([part.lanes for part in parts])
            row[requests] = before + int(np.count_nonzero(lanes.reshape(-1, WARP).any(axis=1)))

    def _round_of(self, by_round: ByRound) -> Rounds:
        return tuple(self.rounds.get(loop, 0) for loop in by_round.loops)

    def count_register(self, mask: Mask, op: Operation, kind: int) -> None:
        """Counts an access to a local array that lies in registers."""
        self.books.left_out(op, mask)[_LOCAL[kind]] += mask.warps
        if op.chosen_of:
            self.books.issued(op, mask, op.slots)

    def keep(self, trace: Trace, view: View, place: Place, op: Operation, kind: int) -> None:
        """Keeps the first accesses of a source line, warp by warp, for pictures."""
        if not (trace.wants(op.line) and trace.has_room(op.line, ACCESS_KINDS[kind], view.name)):
            return
        batch, linear = self.batch, place.by_lane
        origin = view.offset if isinstance(view.offset, np.ndarray) else None
        for warp in np.unique(place.mask.where // WARP):
            if not trace.has_room(op.line, ACCESS_KINDS[kind], view.name):
                return
            lanes = slice(warp * WARP, (warp + 1) * WARP)
            start = origin[lanes] if origin is not None and view.buffer.space != "global" else 0
            offsets = np.where(place.mask.lanes[lanes], (linear[lanes] - start) * view.buffer.itemsize, -1)
            slot, in_block = divmod(int(warp), batch.geometry.warps_per_block)
            block = batch.geometry.block_index(int(batch.blocks[slot]))
            trace.add_access(
                op.line, ACCESS_KINDS[kind], view.buffer.space, view.name, view.buffer.itemsize, view.shape, block, in_block,
                offsets,
            )  # fmt: skip

    # -- global memory --------------------------------------------------------------------------------------------

    def _count_global(
        self, row: list[int], view: View, place: Place, op: Operation, kind: int, of_block: list[int], is_made: bool = True
    ) -> None:
        """`is_made`: machine code has the access as it stands in the source."""
        buffer, itemsize = view.buffer, view.data.itemsize
        new_to_first_block = 0
        is_one = view.field is None and view.dtype.kind != "c"
        parts = [(0, itemsize)] if is_one else _parts(view, itemsize)
        if len(parts) > 1:
            counted = self._count_parts(buffer, place, parts, kind)
        elif place.is_shared_by_all:
            counted = self._count_one_element(view, place, itemsize, kind)
            if kind == prim.WRITE and is_made and counted.requests > 1:
                self._note_hot_store(view, place, counted.requests)
        elif place.pattern is not None and view.field is None:
            counted, new_to_first_block = self._count_pattern(buffer, place, place.pattern, itemsize, kind)
        else:
            linear, origin, unit = _units(view, place.by_lane, itemsize)
            counted = _count_lanes(buffer, place, linear, origin, unit, kind, self.period)
        requests, sectors, lines, useful_bytes = GLOBAL[kind]
        row[requests] += counted.requests
        row[sectors] += counted.sectors
        row[lines] += counted.lines
        row[useful_bytes] += counted.elements * itemsize
        if counted.marked_at < 0 and (kind == READ or place.mask.active > 1):
            new_to_first_block = self._count_first_block(view, place, itemsize, kind)
        if kind == READ:
            row[WAVEFRONTS] += counted.wavefronts
            if op.is_ahead:
                row[AHEAD] += counted.requests
            of_block[BLOCK_SECTORS] += new_to_first_block * len(self.batch.blocks)
            return
        if place.mask.active > 1:  # a lane that stores alone is counted elsewhere, if it loops: one_thread
            row[BLOCK_STORES] += new_to_first_block * len(self.batch.blocks)
        if len(parts) > 1:
            again = counted.sectors * (len(parts) - 1) // len(parts)
            row[AGAIN] += again * BYTES_TOGETHER // 8 if parts[0][1] == 1 else again
        else:
            first = place.first_element * itemsize + _field_offset(view)
            again = self.stored_again(buffer, first, counted.sectors)
            if op.follows_a_store:
                row[AGAIN] += again

    def stored_again(self, buffer: Buffer, first: int, sectors: int) -> int:
        """The sectors of a store to which the same lanes have stored in this round of the innermost loop.

        `first`: the byte of the array that the first lane stores to.
        """
        before = self.stored.get(buffer.owner)
        self.stored[buffer.owner] = first, sectors
        if before is None or abs(first - before[0]) >= count_prim.SECTOR_BYTES:
            return 0
        return min(sectors, before[1])

    def _count_one_element(self, view: View, place: Place, itemsize: int, kind: int) -> GlobalCount:
        """All lanes access the same element: a warp moves the one or two sectors that it lies in."""
        buffer = view.buffer
        assert isinstance(place.linear, int)
        begin = buffer.address + place.linear * buffer.itemsize + _field_offset(view)
        first, last = begin >> count_prim.SECTOR_SHIFT, (begin + itemsize - 1) >> count_prim.SECTOR_SHIFT
        start = buffer.address >> count_prim.SECTOR_SHIFT
        buffer.touched[first - start : last - start + 1] |= MARK[kind]
        return moved_by_all(place.mask, last - first + 1)

    def _note_hot_store(self, view: View, place: Place, requests: int) -> None:
        """Notes stores of several warps to one element, such as a flag: they queue in L2."""
        assert isinstance(place.linear, int)
        buffer = view.buffer
        sector = buffer.address + place.linear * buffer.itemsize + _field_offset(view) >> count_prim.SECTOR_SHIFT
        stores = buffer.stores_of_warps
        stores[sector] = stores.get(sector, 0) + requests

    def _count_parts(
        self, buffer: Buffer, place: Place, parts: list[tuple[int, int]], kind: int
    ) -> GlobalCount:
        """An access of several instructions: each moves its own sectors, even if another has moved them before."""
        linear = place.by_lane
        counted = [
            _count_lanes(
                buffer, place, linear * (buffer.itemsize // size) + offset // size, buffer.address, size, kind, self.period
            )
            for offset, size in parts
        ]  # fmt: skip
        return GlobalCount(
            requests=sum(each.requests for each in counted),
            sectors=sum(each.sectors for each in counted),
            lines=sum(each.lines for each in counted),
            elements=counted[0].elements,
            wavefronts=sum(each.wavefronts for each in counted),
        )

    def _count_pattern(
        self, buffer: Buffer, place: Place, pattern: Pattern, itemsize: int, kind: int
    ) -> tuple[GlobalCount, int]:
        """A repeated access costs what it cost the last time at the same place within a line.

        Also gives how many of the sectors that it loads the first block of the batch had not loaded yet.
        """
        begin = buffer.address + place.base * itemsize
        start = (begin >> count_prim.SECTOR_SHIFT) - (buffer.address >> count_prim.SECTOR_SHIFT)
        counted = self.moved(buffer, place, pattern, itemsize, kind)
        if counted.marked_at == start:  # the same sectors as last time
            return counted, 0
        counted.marked_at = start
        return counted, count_prim.mark_sectors(
            counted.touched, counted.of_first_block, start, MARK[kind], buffer.touched, _stamps_of(buffer, kind),
            self.batch.first_thread + 1,
        )  # fmt: skip

    def moved(self, buffer: Buffer, place: Place, pattern: Pattern, itemsize: int, kind: int) -> GlobalCount:
        """What a repeated access moves where it is now."""
        begin = buffer.address + place.base * itemsize
        phase = (pattern.phase(begin, itemsize), kind)
        counted = pattern.moved.get(phase)
        if counted is None:
            lanes, linear = place.mask.lanes, place.by_lane
            start = (begin >> count_prim.SECTOR_SHIFT) - (buffer.address >> count_prim.SECTOR_SHIFT)
            counted = _count_lanes(buffer, place, linear, buffer.address, itemsize, kind, self.period)
            counted.touched = _listed(buffer, lanes, linear, itemsize, start)
            padded = self.batch.geometry.padded
            counted.of_first_block = _listed(buffer, lanes[:padded], linear[:padded], itemsize, start)
            pattern.moved[phase] = counted
        return counted

    def _count_first_block(self, view: View, place: Place, itemsize: int, kind: int) -> int:
        """The sectors that the first block of the batch had not come to yet; it stands for all blocks of the batch."""
        batch, buffer = self.batch, view.buffer
        lanes = place.mask.lanes[: batch.geometry.padded]
        if place.is_shared_by_all:
            lanes = np.any(lanes, keepdims=True)
            linear = np.full(1, place.linear, np.int64)
        else:
            linear = place.by_lane[: lanes.size]
        linear, origin, unit = _units(view, linear, itemsize)
        stamp = batch.first_thread + 1
        stamps = _stamps_of(buffer, kind)
        others = buffer.stamps if kind == ATOMIC else stamps  # what the block has loaded is in L2 for its atomics
        return count_prim.count_new_sectors(lanes, linear, origin, unit, stamps, others, stamp)

    def _count_global_atomic(
        self, row: list[int], view: View, place: Place, op: Operation, atomic: str, joined: Operation | None,
        tries: Sequence[np.ndarray] | None,
    ) -> None:  # fmt: skip
        buffer, lanes = view.buffer, place.mask.lanes
        if is_a_loop_in_global_memory(view, atomic):  # it begins with a load
            made = self.books.made_instead(op)
            before = made[GLOBAL[READ][2]]
            self._count_global(made, view, place, op, READ, of_block=made)
            made[SLOT["look_lines"]] += made[GLOBAL[READ][2]] - before
            if tries is None:
                met = self._count_atomics(row, view, place, lanes, buffer.touched, buffer.atomics, True, is_a_loop=True)
                self.books.issued(op, place.mask, 1)
                self._issue_tries(row, place.mask, IN_GLOBAL, met)
            else:
                self.books.issued(op, place.mask, LOOKS)
                self._count_ordered(row, view, place, op, tries)
            return
        is_used = not op.is_ignored
        if self.regrouping is None and joined is None and not op.is_added_up_by_the_warp:
            self._count_atomics(row, view, place, lanes, buffer.touched, buffer.atomics, is_used)
            return
        unseen = _unseen(buffer)
        self._count_atomics(self.books.tally.source_row(op.line), view, place, lanes, *unseen, is_used)
        if self.regrouping is not None:
            self.regrouping.take(joined or op, view, place, ATOMIC)
        elif joined is not None:
            self.meeting.add(joined, view, place.by_lane, lanes, ATOMIC, TOGETHER)
        else:
            self._make_atomic(op, view, place)

    def _count_ordered(
        self, row: list[int], view: View, place: Place, op: Operation, tries: Sequence[np.ndarray]
    ) -> None:
        """A maximum or minimum that looks first: only lanes that found less, or more, go on, and try until they do not.

        In the source it is an atomic of all lanes.
        """
        buffer, unseen = view.buffer, _unseen(view.buffer)
        address = buffer.address + _field_offset(view)
        looked = count_prim.count_atomics(
            place.mask.lanes, place.by_lane, address, buffer.itemsize, unseen[0], buffer.atomics
        )
        source, made = self.books.tally.source_row(op.line), self.books.made_instead(op)
        for slot, count in zip((*ATOMICS, USED), (looked[0], looked[1], looked[1]), strict=True):
            source[slot] += count
        source[GLOBAL_WORST] = max(source[GLOBAL_WORST], looked[2])
        made[SLOT["looked_atomic_sectors"]] += looked[1]
        before = made[ATOMICS[1]]
        for number, where in enumerate(tries):
            lanes = np.zeros(self.batch.size, np.bool_)
            lanes[where] = True
            tried = Place(place.linear, Mask(lanes, None))
            self._count_atomics(made, view, tried, lanes, buffer.touched, unseen[1], True, is_a_loop=True)
            instructions = OF_A_TRY if number else OF_A_TRY + 1
            self.books.issued_by_some(row, instructions * tried.mask.warps, instructions * len(where))
        made[SLOT["ordered_atomic_sectors"]] += made[ATOMICS[1]] - before

    def _make_atomic(self, op: Operation, view: View, place: Place) -> None:
        """Counts an atomic on global memory for the compiler only: of the lanes that carry it out, one for all or each."""
        buffer, lanes, made = view.buffer, place.mask.lanes, self.books.made_instead(op)
        if op.is_added_up_by_the_warp:
            by_warp = lanes.reshape(-1, WARP)
            made[GLOBAL_WORST] = max(made[GLOBAL_WORST], int(by_warp.sum(axis=1).max()))
            lanes = (by_warp & (by_warp.cumsum(axis=1) == 1)).reshape(-1)  # the first lane stands for the warp
        self._count_atomics(made, view, place, lanes, buffer.touched, buffer.atomics, not op.is_ignored)

    def _count_atomics(
        self, row: list[int], view: View, place: Place, lanes: np.ndarray, touched: np.ndarray, atomics: np.ndarray,
        is_used: bool, is_a_loop: bool = False,
    ) -> tuple[int, int]:  # fmt: skip
        """Counts them; how often warps and lanes would try, where that is a loop."""
        buffer = view.buffer
        address = buffer.address + _field_offset(view)
        counted = count_prim.count_atomics(lanes, place.by_lane, address, buffer.itemsize, touched, atomics)
        for slot, count in zip(ATOMICS, counted, strict=False):
            row[slot] += count
        if touched is buffer.touched:
            row[BLOCK_ATOMICS] += self._count_first_block(view, place, view.data.itemsize, ATOMIC) * len(self.batch.blocks)
        if view.data.dtype.kind == "f" and not is_a_loop:
            row[FLOATS] += counted[1]
        if is_used:
            row[USED] += counted[1]
        row[GLOBAL_WORST] = max(row[GLOBAL_WORST], counted[2])
        return counted[3], counted[4]

    def _issue_tries(self, row: list[int], mask: Mask, instructions: int, tries: tuple[int, int]) -> None:
        """A loop of tries: of a warp's lanes on one address one succeeds each time, and the others go round again.

        The access itself counts as an instruction already: as the one that each lane waits with for the rest.
        """
        warps, lanes = instructions * tries[0] + tries[0] - mask.warps, instructions * tries[1]
        self.books.issued_by_some(row, warps, lanes)

    # -- shared memory --------------------------------------------------------------------------------------------

    def _count_shared(self, row: list[int], view: View, place: Place, kind: int) -> None:
        itemsize = view.data.itemsize
        pattern = place.pattern
        phase = place.base * itemsize & (BANK_BYTES - 1)  # moving all lanes by whole words changes no conflict
        counted = pattern.wavefronts.get(phase) if pattern is not None else None
        if counted is None:
            counted = count_prim.count_wavefronts(
                place.mask.lanes, place.by_lane, view.buffer.address, itemsize
            )
            if pattern is not None:
                pattern.wavefronts[phase] = counted
        requests, wavefronts, conflicts = SHARED[kind]
        row[requests] += counted[0]
        row[wavefronts] += counted[1]
        row[conflicts] += counted[2]

    def _count_wide(self, row: list[int], view: View, place: Place, op: Operation, kind: int) -> None:
        """Neighbours that one access moves: in the source an access for each, for the compiler one for all."""
        by_round = op.by_round
        assert by_round is not None
        roles = by_round.wide_loads if kind == READ else by_round.wide_stores
        elements, before = roles.get(self._round_of(by_round), (1, 0))
        if elements == 1:
            self._count_shared(row, view, place, kind)
            return
        self._count_shared(self.books.tally.source_row(op.line), view, place, kind)
        if not elements:
            self.books.issued(op, place.mask, -1)
            return
        self._count_neighbours(self.books.made_instead(op), view, place, elements, before, kind)

    def _count_neighbours(
        self, row: list[int], view: View, place: Place, elements: int, before: int, kind: int
    ) -> None:
        """One access to so many neighbours, the first of which lies so many before the element."""
        counted = wavefronts_of_neighbours(view, place, elements, before)
        for slot, count in zip(SHARED[kind], counted, strict=True):
            row[slot] += count

    def _count_shared_atomic(
        self, row: list[int], view: View, place: Place, op: Operation, is_a_loop: bool, is_of_order: bool
    ) -> None:
        """One that finds the place in order already has no more to do: whoever wants a maximum seldom finds it lower."""
        itemsize = view.data.itemsize
        counted = count_prim.count_atomics(place.mask.lanes, place.by_lane, 0, itemsize, *NO_SECTORS)
        row[SLOT["shared_atomic_requests"]] += counted[0]
        if is_a_loop:
            row[SLOT["shared_atomic_tries"]] += counted[0] if is_of_order else counted[3]
            if is_of_order:
                self.books.issued(op, place.mask, LOOKS)
            else:
                self._issue_tries(row, place.mask, IN_SHARED.get((view.data.dtype.kind, itemsize), 5), counted[3:])
        worst = SLOT["shared_atomic_worst_multiplicity"]
        row[worst] = max(row[worst], counted[2])

    # -- local memory ---------------------------------------------------------------------------------------------

    def count_clearing(self, op: Operation, size_bytes: int) -> None:
        """Counts the stores with which Numba clears a new local array, word by word: an H200's counters show them."""
        row = self.books.row(op)
        words = -(-size_bytes // 4) * self.batch.warps
        row[SLOT["local_store_requests"]] += words
        row[SLOT["local_store_sectors"]] += words * LINE_BYTES // count_prim.SECTOR_BYTES
        row[SLOT["local_store_lines"]] += words
        row[SLOT["local_wavefronts"]] += words

    def _count_local(self, row: list[int], view: View, place: Place, kind: int) -> None:
        """Local memory interleaves a warp's threads word by word: a line holds a word of every lane.

        So accesses are coalesced if all lanes use the same index, and eight bytes of a lane lie in two lines.
        """
        itemsize, lanes = view.data.itemsize, np.arange(place.mask.lanes.size, dtype=np.int64)
        size = view.buffer.data.size // self.batch.size
        begin = (place.by_lane - lanes * size) * itemsize
        scratch = np.zeros(size * itemsize + 4, np.uint8)
        sectors = lines = 0
        for byte in range(0, itemsize, WORD_BYTES):
            word, rest = np.divmod(begin + byte, WORD_BYTES)
            linear = word * LINE_BYTES + lanes % WARP * WORD_BYTES + rest
            _, in_sectors, in_lines, _ = count_prim.count_sectors(
                place.mask.lanes, linear, 0, 1, self.period, scratch, MARK[READ]
            )
            sectors, lines = sectors + in_sectors, lines + in_lines
        row[SLOT["local_load_sectors" if kind == READ else "local_store_sectors"]] += sectors
        if kind != READ:
            row[SLOT["local_store_lines"]] += lines
        row[SLOT["local_wavefronts"]] += max(place.mask.warps, -(-lines // LINES_PER_PASS))


def _unseen(buffer: Buffer) -> tuple[np.ndarray, np.ndarray]:
    """For an atomic that leaves no trace: nobody reads these."""
    return np.empty(len(buffer.touched), np.uint8), np.empty(len(buffer.touched), np.int64)


def _stamps_of(buffer: Buffer, kind: int) -> np.ndarray:
    """By sector: the last batch whose first block came to it."""
    return buffer.atomic_stamps if kind == ATOMIC else buffer.stamps if kind == READ else buffer.store_stamps


def moved_by_all(mask: Mask, sectors: int) -> GlobalCount:
    """What an access moves by which all lanes want one element, which lies in so many sectors."""
    warps = mask.warps
    return GlobalCount(warps, warps * sectors, warps, warps, warps)


def wavefronts_of_neighbours(view: View, place: Place, elements: int, before: int) -> tuple[int, int, int]:
    """Requests, wavefronts and bank conflicts of an access to so many neighbours in shared memory."""
    offsets = np.where(place.mask.lanes, place.by_lane - before, 0) // elements
    return count_prim.count_wavefronts(place.mask.lanes, offsets, view.buffer.address, view.data.itemsize * elements)


def _count_lanes(
    buffer: Buffer, place: Place, linear: np.ndarray, origin: int, unit: int, kind: int, period: int
) -> GlobalCount:
    """Counts lane by lane, blocks of `period` warps; `linear` is in units of `unit` bytes from the address `origin`."""
    requests, sectors, lines, elements = count_prim.count_sectors(
        place.mask.lanes, linear, origin, unit, period, buffer.touched, MARK[kind]
    )
    wavefronts = 0
    if kind == READ:
        wavefronts = requests
        if lines != requests or unit > 4:  # within one line, words lie in different banks
            banked = count_prim.count_wavefronts(place.mask.lanes, linear, origin, unit)[1]
            wavefronts = max(banked, -(-lines // LINES_PER_PASS))
    return GlobalCount(requests, sectors, lines, elements, wavefronts)


def _listed(buffer: Buffer, lanes: np.ndarray, linear: np.ndarray, itemsize: int, start: int) -> np.ndarray:
    """The sectors of an array that these lanes touch, int64, counted from its sector `start`."""
    listed = np.empty(lanes.size * (2 + (itemsize - 1) // count_prim.SECTOR_BYTES), np.int64)
    start += buffer.address >> count_prim.SECTOR_SHIFT
    found = count_prim.list_sectors(lanes, linear, buffer.address, itemsize, start, listed)
    return listed[:found].copy()


def _parts(view: View, itemsize: int) -> list[tuple[int, int]]:
    """(offset, bytes) of each instruction into which an access to one element is split.

    Numba moves the two halves of a complex number separately, and a field of a structure byte by byte unless the dtype was
    made with align=True: both seen in its machine code and in an H200's counters.
    """
    offset, dtype = _field_offset(view), view.buffer.data.dtype
    if view.field is not None and not dtype.isalignedstruct:
        return [(offset + byte, 1) for byte in range(itemsize)]
    if view.dtype.kind == "c":
        return [(offset, itemsize // 2), (offset + itemsize // 2, itemsize // 2)]
    return [(offset, itemsize)]


def _units(view: View, linear: np.ndarray, itemsize: int) -> tuple[np.ndarray, int, int]:
    """(offsets, the address they count from, the unit in bytes): fields of structures lie a whole structure apart."""
    buffer = view.buffer
    if view.field is None:
        return linear, buffer.address, itemsize
    unit = int(np.gcd(np.gcd(buffer.itemsize, itemsize), _field_offset(view) or itemsize))
    return linear * (buffer.itemsize // unit) + _field_offset(view) // unit, buffer.address, unit


def _field_offset(view: View) -> int:
    fields = view.buffer.data.dtype.fields
    return 0 if view.field is None or fields is None else fields[view.field][1]

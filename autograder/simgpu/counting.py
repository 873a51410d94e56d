"""What an access moves, as the hardware counts it: sectors and lines of global memory, wavefronts of shared memory.

START HERE to see where sectors and bank conflicts are counted; the inner loops are in counting_primitives.py.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autograder.simgpu import counting_primitives as count_prim
from autograder.simgpu import primitives as prim
from autograder.simgpu.loops import arrays_in_local_memory, cheap_addresses
from autograder.simgpu.memory import Buffer, View
from autograder.simgpu.primitives import WARP
from autograder.simgpu.tally import SLOT
from autograder.simgpu.uniform import ADDED_UP, added_up_by_the_warp

if TYPE_CHECKING:
    from autograder.simgpu.access import Memory
    from autograder.simgpu.addressing import Place

READ, ATOMIC = prim.READ, prim.ATOMIC
LINES_PER_PASS = 4  # tags that L1 looks up at once: measured on an H200, perfmodel/measurements/microbenchmarks.json
LINE_BYTES = 128  # also one row of the 32 banks: an access moved by a multiple of this costs the same

_MARK = {READ: np.uint8(1), prim.WRITE: np.uint8(2)}  # bits of `Buffer.touched`
_NAMES = {READ: "load", prim.WRITE: "store"}
_GLOBAL = {
    kind: tuple(SLOT[f"global_{name}_{what}"] for what in ("requests", "sectors", "lines", "useful_bytes"))
    for kind, name in _NAMES.items()
}
_SHARED = {
    kind: tuple(SLOT[f"shared_{name}_{what}"] for what in ("requests", "wavefronts", "bank_conflicts"))
    for kind, name in _NAMES.items()
}


@dataclass(frozen=True)
class GlobalCount:
    """One warp-wide access to global memory over the batch; `touched` are its sectors from the first it could touch."""

    requests: int
    sectors: int
    lines: int
    elements: int
    wavefronts: int  # passes through L1, of loads
    touched: np.ndarray | None = None


class Counting:
    """The counting half of `Memory`."""

    def count(self: Memory, view: View, place: Place, node: ast.AST, kind: int) -> None:
        """Adds what the access moves to the row of its source line."""
        row = self.interpreter.count_instruction(node, place.mask)
        if not place.mask.active:
            return
        if self.interpreter.trace is not None:
            self.trace(view, place, node, kind)
        space = view.buffer.space
        if space == "global":
            if id(node) in self.interpreter.held:
                return
            if id(node) not in cheap_addresses(self.interpreter.frame.function):
                row[SLOT["global_addresses"]] += place.mask.warps
                row[SLOT["global_index_terms"]] += view.ndim * place.mask.warps
            if kind == ATOMIC:
                self._count_global_atomic(row, view, place, node)
            else:
                self._count_global(row, view, place, kind)
        elif space == "shared":
            if kind == ATOMIC:
                self._count_shared_atomic(row, view, place)
            else:
                self._count_shared(row, view, place, kind)
        elif space == "local":
            row[SLOT["local_load_requests" if kind == READ else "local_store_requests"]] += place.mask.warps
            if _name_of(node) in arrays_in_local_memory(self.interpreter.frame.function):
                self._count_local(row, view, place, kind)
        else:
            row[SLOT["constant_load_requests"]] += place.mask.warps

    # -- global memory --------------------------------------------------------------------------------------------

    def _count_global(self: Memory, row: list[int], view: View, place: Place, kind: int) -> None:
        buffer, itemsize = view.buffer, self.data_of(view).itemsize
        parts = _parts(view, itemsize)
        if len(parts) > 1:
            counted = self._count_parts(buffer, place, parts, kind)
        elif place.is_shared_by_all:
            counted = self._count_one_element(view, place, itemsize, kind)
        elif place.pattern is not None and view.field is None:
            counted = self._count_pattern(buffer, place, itemsize, kind)
        else:
            linear, origin, unit = _units(view, place.linear, itemsize)
            counted = _count_lanes(buffer, place, linear, origin, unit, kind, buffer.touched)
        requests, sectors, lines, useful_bytes = _GLOBAL[kind]
        row[requests] += counted.requests
        row[sectors] += counted.sectors
        row[lines] += counted.lines
        row[useful_bytes] += counted.elements * itemsize
        if kind == READ:
            row[SLOT["global_load_wavefronts"]] += counted.wavefronts
            row[SLOT["block_load_sectors"]] += self._count_first_block(view, place, itemsize)

    def _count_one_element(self: Memory, view: View, place: Place, itemsize: int, kind: int) -> GlobalCount:
        """Every lane at the same element: a warp moves the one or two sectors that it lies in."""
        buffer = view.buffer
        begin = buffer.address + place.linear * buffer.itemsize + _field_offset(view)
        first, last = begin >> count_prim.SECTOR_SHIFT, (begin + itemsize - 1) >> count_prim.SECTOR_SHIFT
        start = buffer.address >> count_prim.SECTOR_SHIFT
        buffer.touched[first - start : last - start + 1] |= _MARK[kind]
        warps = place.mask.warps
        return GlobalCount(warps, warps * (last - first + 1), warps, warps, warps)

    def _count_parts(
        self: Memory, buffer: Buffer, place: Place, parts: list[tuple[int, int]], kind: int
    ) -> GlobalCount:
        """An access that takes several instructions: each moves its own sectors, even where another has been there."""
        linear = self.as_vector(place)
        counted = [
            _count_lanes(
                buffer, place, linear * (buffer.itemsize // size) + offset // size, buffer.address, size, kind,
                buffer.touched,
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

    def _count_pattern(self: Memory, buffer: Buffer, place: Place, itemsize: int, kind: int) -> GlobalCount:
        """A repeated access costs what it cost the last time that it lay at this place within a line."""
        begin = buffer.address + place.base * itemsize
        phase = (begin & (LINE_BYTES - 1), kind)
        counted = place.pattern.counts.get(phase)
        start = (begin >> count_prim.SECTOR_SHIFT) - (buffer.address >> count_prim.SECTOR_SHIFT)
        if counted is None:
            touched = np.zeros(len(buffer.touched), np.uint8)
            counted = _count_lanes(buffer, place, place.linear, buffer.address, itemsize, kind, touched)
            counted = GlobalCount(
                counted.requests, counted.sectors, counted.lines, counted.elements, counted.wavefronts,
                np.flatnonzero(touched) - start,
            )  # fmt: skip
            place.pattern.counts[phase] = counted
        buffer.touched[counted.touched + start] |= _MARK[kind]
        return counted

    def _count_first_block(self: Memory, view: View, place: Place, itemsize: int) -> int:
        """Sectors that the first block of the batch had not loaded yet, taken for all its blocks."""
        batch, buffer = self.interpreter.batch, view.buffer
        lanes = place.mask.lanes[: batch.geometry.padded]
        if place.is_shared_by_all:
            lanes = lanes.any(keepdims=True)
            linear = np.full(1, place.linear, np.int64)
        elif place.pattern is not None:
            linear = place.pattern.offsets[: lanes.size] + place.base
        else:
            linear = place.linear[: lanes.size]
        linear, origin, unit = _units(view, linear, itemsize)
        stamp = batch.first_thread + 1
        return count_prim.count_new_sectors(lanes, linear, origin, unit, buffer.stamps, stamp) * len(batch.blocks)

    def _count_global_atomic(self: Memory, row: list[int], view: View, place: Place, node: ast.AST) -> None:
        buffer, lanes, together = view.buffer, place.mask.lanes, 0
        if view.dtype.name in ADDED_UP and id(node) in added_up_by_the_warp(self.interpreter.frame.function):
            by_warp = lanes.reshape(-1, WARP)  # the first lane goes for all of them
            together = int(by_warp.sum(axis=1).max())
            lanes = (by_warp & (by_warp.cumsum(axis=1) == 1)).reshape(-1)
        address = buffer.address + _field_offset(view)
        counted = count_prim.count_atomics(
            lanes, self.as_vector(place), address, buffer.itemsize, buffer.touched, buffer.atomics
        )
        row[SLOT["global_atomic_requests"]] += counted[0]
        row[SLOT["global_atomic_sectors"]] += counted[1]
        worst = SLOT["global_atomic_worst_multiplicity"]
        row[worst] = max(row[worst], counted[2], together)

    # -- shared memory --------------------------------------------------------------------------------------------

    def _count_shared(self: Memory, row: list[int], view: View, place: Place, kind: int) -> None:
        itemsize = self.data_of(view).itemsize
        pattern = place.pattern
        phase = (place.base * itemsize & (LINE_BYTES - 1), "shared")
        counted = pattern.counts.get(phase) if pattern is not None else None
        if counted is None:
            counted = count_prim.count_wavefronts(
                place.mask.lanes, self.as_vector(place), view.buffer.address, itemsize
            )
            if pattern is not None:
                pattern.counts[phase] = counted
        for slot, count in zip(_SHARED[kind], counted, strict=True):
            row[slot] += count

    def _count_shared_atomic(self: Memory, row: list[int], view: View, place: Place) -> None:
        scratch = np.zeros(view.buffer.data.nbytes // count_prim.SECTOR_BYTES + 2, np.uint8)
        itemsize = self.data_of(view).itemsize
        counted = count_prim.count_atomics(
            place.mask.lanes, self.as_vector(place), 0, itemsize, scratch, np.zeros(len(scratch), np.int64)
        )
        row[SLOT["shared_atomic_requests"]] += counted[0]
        worst = SLOT["shared_atomic_worst_multiplicity"]
        row[worst] = max(row[worst], counted[2])


    # -- local memory ---------------------------------------------------------------------------------------------

    def count_clearing(self: Memory, node: ast.AST, size_bytes: int) -> None:
        """Numba clears a local array, word by word, where it is made: an H200's counters show the stores."""
        row = self.interpreter.tally.row(self.interpreter.line(node))
        words = -(-size_bytes // 4) * self.interpreter.batch.warps
        row[SLOT["local_store_requests"]] += words
        row[SLOT["local_store_sectors"]] += words * LINE_BYTES // count_prim.SECTOR_BYTES
        row[SLOT["local_wavefronts"]] += words

    def _count_local(self: Memory, row: list[int], view: View, place: Place, kind: int) -> None:
        """Local memory keeps the same element of a warp's 32 threads side by side: lanes at one index are coalesced."""
        itemsize, lanes = self.data_of(view).itemsize, np.arange(place.mask.lanes.size, dtype=np.int64)
        size = view.buffer.data.size // self.interpreter.batch.size
        linear = (self.as_vector(place) - lanes * size) * WARP + lanes % WARP
        totals = np.zeros(count_prim.TOTALS, np.int64)
        scratch = np.zeros(size * itemsize + 2, np.uint8)
        count_prim.count_sectors(place.mask.lanes, linear, 0, itemsize, scratch, _MARK[kind], totals)
        requests, sectors, lines = (int(n) for n in totals[:3])
        row[SLOT["local_load_sectors" if kind == READ else "local_store_sectors"]] += sectors
        row[SLOT["local_wavefronts"]] += max(requests, -(-lines // LINES_PER_PASS))


def _name_of(node: ast.AST) -> str:
    value = getattr(node, "value", None)
    return value.id if isinstance(value, ast.Name) else ""


def _count_lanes(
    buffer: Buffer, place: Place, linear: np.ndarray, origin: int, unit: int, kind: int, touched: np.ndarray
) -> GlobalCount:
    """Counts lane by lane; `linear` counts units of `unit` bytes from the address `origin`."""
    totals = np.zeros(count_prim.TOTALS, np.int64)
    count_prim.count_sectors(place.mask.lanes, linear, origin, unit, touched, _MARK[kind], totals)
    requests, sectors, lines, elements = (int(n) for n in totals[:4])
    wavefronts = 0
    if kind == READ:
        wavefronts = requests
        if lines != requests or unit > 4:  # within one line the words lie in different banks
            banked = count_prim.count_wavefronts(place.mask.lanes, linear, origin, unit)[1]
            wavefronts = max(banked, -(-lines // LINES_PER_PASS))
    return GlobalCount(requests, sectors, lines, elements, wavefronts)


def _parts(view: View, itemsize: int) -> list[tuple[int, int]]:
    """(offset, bytes) of each instruction that an access to one element becomes.

    Numba moves the halves of a complex number one by one, and a field of a structure byte by byte unless the dtype was
    made with align=True: both seen in its machine code and in an H200's counters.
    """
    offset, dtype = _field_offset(view), view.buffer.data.dtype
    if view.field is not None and not dtype.isalignedstruct:
        return [(offset + byte, 1) for byte in range(itemsize)]
    if view.dtype.kind == "c":
        return [(offset, itemsize // 2), (offset + itemsize // 2, itemsize // 2)]
    return [(offset, itemsize)]


def _units(view: View, linear: np.ndarray, itemsize: int) -> tuple[np.ndarray, int, int]:
    """(offsets, the address they count from, bytes of each): the fields of structures lie a whole structure apart."""
    buffer = view.buffer
    if view.field is None:
        return linear, buffer.address, itemsize
    unit = int(np.gcd(np.gcd(buffer.itemsize, itemsize), _field_offset(view) or itemsize))
    return linear * (buffer.itemsize // unit) + _field_offset(view) // unit, buffer.address, unit


def _field_offset(view: View) -> int:
    return 0 if view.field is None else view.buffer.data.dtype.fields[view.field][1]

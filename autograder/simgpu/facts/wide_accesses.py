"""Which accesses to neighbouring elements of shared arrays the compiler merges into one wide access.

The rule is the assembler's, read off machine code (CUDA 13.0, compute capability 9.0, some 210 small kernels) and held
against an H200's counters:

- Loads in one straight piece of code are merged if they use one address register, differ by a constant, and fill an aligned
  8 bytes (two elements of 4) or the greater part of an aligned 16 bytes (three or four elements of 4, or two of 8).
- A register is aligned to whatever divides everything in its sum: the place of its array, and the factor of each atom. The
  counters of unrolled loops are constants.
- In a one-dimensional array only loads of one expression are merged, and only at places below the factor of what varies.
- Indices of unsigned types are not wrapped: whatever differs by a constant has one register then, in all expressions.
- Where a loop changes the row, and the column is a sum of signed integers that it leaves alone, each column is wrapped
  before the loop and has a register of its own: nothing is merged.
- Stores are merged likewise, if they fill all of the bytes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import ZERO, Form
from autograder.simgpu.facts.known import KnownArray
from autograder.simgpu.facts.pieces import Moved
from autograder.simgpu.facts.registers import watch
from autograder.simgpu.facts.scope import Placed
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operation import ByRound, Operation, Rounds

WIDEST_BYTES = 16
Role = tuple[int, int]
"""(elements that an access moves, how many of them lie before its own); (0, 0) if another access moves its element."""


@dataclass(frozen=True)
class PlacedAccess:
    """One load or store in a round: its place in the array, as an address register plus a constant."""

    placed: Placed
    array: KnownArray
    register: Form
    place: int
    is_alone: bool  # merged only with accesses of the same expression
    has_own_start: bool  # the compiler keeps the address of its first element in a register of its own


class WideAccesses:
    """Decides which accesses of one kernel are merged."""

    def __init__(self, expanded: Expanded) -> None:
        self.expanded = expanded
        self.starts: dict[Hashable, int] = {}  # where each shared array begins in its block's memory, in bytes
        self.loads: dict[Operation, dict[Rounds, Role]] = defaultdict(dict)
        self.stores: dict[Operation, dict[Rounds, Role]] = defaultdict(dict)

    def conclude(self, body: Operation) -> None:
        """Notes on each access of a kernel what becomes of it."""
        self._lay_out(body)
        for piece in self.expanded.pieces.all:
            self._merge_all(piece.loads, self.loads, _load_roles)
            self._merge_all(piece.stores, self.stores, _store_roles)
        for op in {*self.loads, *self.stores}:
            known = op.by_round or ByRound(self.expanded.pieces.loops_around[op])
            op.by_round = replace(known, wide_loads=self.loads.get(op, {}), wide_stores=self.stores.get(op, {}))
            watch(op.by_round)

    def _lay_out(self, body: Operation) -> None:
        """Shared arrays lie in the order in which they are made, each aligned to its element size."""
        end = 0
        for call in _calls_in(body):
            known = self.expanded.found.values.get(call)
            if isinstance(known, KnownArray) and known.space == "shared" and known.identity not in self.starts:
                itemsize = known.dtype.itemsize
                start = self.starts[known.identity] = -(-end // itemsize) * itemsize
                end = start + math.prod(each or 0 for each in known.extents) * itemsize

    # -- one straight piece of code -------------------------------------------------------------------------------

    def _merge_all(self, moved: Sequence[Moved], made: dict[Operation, dict[Rounds, Role]], roles_of: RolesOf) -> None:
        groups: dict[Hashable, list[PlacedAccess]] = defaultdict(list)
        for each in moved:
            access = self._taken_apart(each)
            if access is not None:
                alone = access.placed[0] if access.is_alone else None
                groups[access.array.identity, access.register, alone].append(access)
        for group in groups.values():
            self._merge(group, made, roles_of)

    def _taken_apart(self, moved: Moved) -> PlacedAccess | None:
        array, indices = moved.array, moved.indices
        if array.dtype.itemsize not in (4, 8) or not array.is_whole or len(indices) != len(array.extents):
            return None
        if any(each is None for each in array.extents[1:]):
            return None
        forms = self.expanded.forms
        whole, stride = ZERO, 1
        for index, extent in zip(reversed(indices), reversed(array.extents), strict=True):
            whole, stride = forms.add(whole, index, stride), stride * (extent or 1)
        if moved.are_unsigned:
            return PlacedAccess(moved.placed, array, (0, whole[1]), whole[0], is_alone=False, has_own_start=False)
        if self._has_own_registers(moved):
            return None
        column_varies, rows_vary, is_flat = (
            bool(indices[-1][1]),
            any(each[1] for each in indices[:-1]),
            len(indices) == 1,
        )
        return PlacedAccess(
            moved.placed, array, (0, whole[1]), whole[0], is_alone=column_varies,
            has_own_start=column_varies and rows_vary and not is_flat,
        )  # fmt: skip

    def _has_own_registers(self, moved: Moved) -> bool:
        """Whether the innermost loop changes the row, and not the column, which depends on more than constants."""
        forms, (*rows, column) = self.expanded.forms, moved.indices
        if moved.loop is None or not column[1] or moved.loop in forms.loops_of(column):
            return False
        return any(moved.loop in forms.loops_of(row) for row in rows)

    def _merge(self, group: Sequence[PlacedAccess], made: dict[Operation, dict[Rounds, Role]], roles_of: RolesOf) -> None:
        """Decides about the accesses that use one register."""
        array, size = group[0].array, group[0].array.dtype.itemsize
        start = self.starts.get(array.identity, 0)
        varying = [abs(factor) for _, factor in group[0].register[1]]
        aligned = math.gcd(WIDEST_BYTES, start, *(factor * size for factor in varying)) if varying else WIDEST_BYTES
        if 0 in array.extents:  # dynamic shared memory: the compiler does not know where it begins
            return
        used = sorted({each.place for each in group})
        if aligned < 2 * size or len(used) < 2:
            return
        if any(each.is_alone for each in group) and len(array.extents) == 1 and varying:
            used = [place for place in used if 0 <= place < min(varying)]
        if any(each.has_own_start for each in group):
            used = [place for place in used if place % (aligned // size)]
        roles = roles_of(used, aligned // size, start // size if not varying else 0)
        for each in group:
            role = roles.get(each.place)
            if role is not None:
                op, rounds = each.placed
                made[op][rounds] = role
                roles[each.place] = (0, 0)


def _windows(used: Sequence[int], elements: int, shift: int) -> Iterator[tuple[int, list[int]]]:
    """Each aligned piece of memory: where it begins, and the places in it. `shift` is where the array begins."""
    windows: dict[int, list[int]] = defaultdict(list)
    for place in used:
        windows[(place + shift) // elements].append(place)
    for window, places in windows.items():
        yield window * elements - shift, places


def _load_roles(used: Sequence[int], elements: int, shift: int) -> dict[int, Role]:
    """The role of each place, for loads; `elements`: how many an aligned piece of memory holds."""
    roles: dict[int, Role] = {}
    for begin, places in _windows(used, elements, shift):
        if len(places) > 2 or len(places) == elements:
            roles |= dict.fromkeys(places, (0, 0)) | {places[0]: (elements, places[0] - begin)}
        elif len(places) == 2 and (places[0] - begin) % 2 == 0 and places[1] == places[0] + 1:
            roles |= {places[0]: (2, 0), places[1]: (0, 0)}
    return roles


def _store_roles(used: Sequence[int], elements: int, shift: int) -> dict[int, Role]:
    """The role of each place, for stores: these may not touch places between."""
    roles: dict[int, Role] = {}
    for begin, places in _windows(used, elements, shift):
        if len(places) == elements:
            roles |= dict.fromkeys(places, (0, 0)) | {places[0]: (elements, 0)}
        else:
            pairs = [place for place in places if (place - begin) % 2 == 0 and place + 1 in places]
            for place in pairs:
                roles |= {place: (2, 0), place + 1: (0, 0)}
    return roles


RolesOf = Callable[[Sequence[int], int, int], dict[int, Role]]


def _calls_in(body: Operation) -> Iterator[FunctionCall]:
    """The calls of a kernel in the order of its source, those in device functions where the function is called."""
    if isinstance(body, FunctionCall):
        for each in body.parts():
            yield from _calls_in(each)
        yield body
        for callee in body.bodies.values():
            yield from _calls_in(callee.body)
        return
    for each in body.parts():
        yield from _calls_in(each)

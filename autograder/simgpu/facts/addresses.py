"""The machine instructions of an access: the access itself, its address, and the signs of its indices.

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0), and counted by measurements/instruction_costs.py: an index
of unknown sign takes a comparison and a selection of the length to add. Each dimension but the first takes a 64-bit
product, in shared memory a 32-bit one. The load and the store of an update share one address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation

WIDE = 2  # a 64-bit sum
WRAP = 4  # an index that may be negative: the length, or 0, is added
SIGN = 2  # its sign, once for all arrays that it indexes
ADDRESS = 4  # an element of global memory: the array's address, and a sum in two halves
ARRAY = 2  # of these the array's own address, once for all of its elements
BYTE_ADDRESS = 2  # of elements of one byte: nothing has to be shifted
FIXED_ADDRESS = 1  # of an element by constants alone: the array's address is a parameter, and the rest an offset
UNSIGNED_ADDRESS, UNSIGNED_ROW = 2, 4  # by indices of unsigned types; in shared memory their rows cost nothing
STRIDED = 2  # an element of global memory by an unsigned index, a multiple of a stride away from another one
ROW = 5  # each further dimension: a 64-bit product
SHARED_BASE = 3  # the address of the block's shared memory, for each array
CROWDED = 48  # sums and the like in registers: with 32 of them wrapped columns are kept there too, with 64 they are not
UNSIGNED_ANEW = 2  # the address of a place by unsigned indices, which is not kept for each round of an unrolled loop then
WRAPPED_ANEW = 6  # such a column: a sum of 64 bits, its sign, the length or 0, and the address
SHARED_WRAP, SHARED_ADDRESS, SHARED_ROW = 3, 1, 1  # addresses of shared memory have 32 bits


class Addresses:
    """The accesses of one kernel."""

    def __init__(self, found: Found, integers: Integers, placing: Placing) -> None:
        self.found = found
        self.integers = integers
        self.placing = placing
        self._in_registers: int | None = None  # elements of local arrays
        self.updates: dict[Operation, Operation] = {}  # by access: the update (`a[i] += x`) that it belongs to

    def of_access(self, op: Operation, reached: Reached, way: Way) -> None:
        """Notes the instructions of an access and its address; in an update, the address counts for the update."""
        op.slots, op.once = 1, 0
        space = reached.array.space
        if op.leaves_no_load and op not in self.found.stores or space == "local" and not op.is_of_local_memory:
            op.slots = 0
            return
        self.of_element(self.updates.get(op, op), reached, way, op.has_cheap_address)

    def of_element(self, at: Operation, reached: Reached, way: Way, is_cheap: bool = False) -> None:
        """Adds the instructions of an element's address to an operation, without those parts that are in registers."""
        space = reached.array.space
        is_small = space in ("shared", "local")
        if space == "shared":
            self.placing.needed(at, SHARED_BASE, ("base", reached.array.identity), [], way)
        if self._is_wrapped_anew(reached):
            at.slots += WRAPPED_ANEW
            at.wraps = True
            return
        if is_cheap and self.placing.is_counted_on(reached) and self._is_advanced(reached, way):
            key = ("address", reached.array.identity, reached.array.part, reached.indices)
            step = 1 if is_small else WIDE
            if key not in way.done and not (self._is_an_offset(reached, is_small) and self.placing.in_common(step)):
                at.slots += step
            way.done.add(key)
            return
        unsigned = reached.unsigned if len(reached.unsigned) == len(reached.indices) else (False,) * len(reached.indices)
        signed = [
            each is not None and (has_no_sign or self.integers.is_positive(each, way))
            for each, has_no_sign in zip(reached.indices, unsigned, strict=True)
        ]
        for place, (index, is_known) in enumerate(zip(reached.indices, signed, strict=True)):
            if is_known or index is not None and not self.integers.without_counters(index)[1]:
                continue
            if not is_small:
                self.placing.needed(at, SIGN, ("sign", index), [index], way)
            extent = reached.array.extents[place] if place < len(reached.array.extents) else None
            wrapped = ("wrap", extent or (reached.array.identity, place), index)  # once for each length
            before = at.slots
            self.placing.needed(at, SHARED_WRAP if is_small else WRAP, wrapped, [index], way)
            at.wraps = at.wraps or at.slots > before
        if self.is_strided(reached):
            (index,) = reached.indices
            base = self.integers.without_constant(self.integers.without_strides(index)) if index is not None else None
            self.placing.needed(at, STRIDED, ("address", reached.array.identity, reached.array.part, base), [base], way)
            at.slots += 1
            return
        own = SHARED_ADDRESS if is_small else BYTE_ADDRESS if reached.array.dtype.itemsize == 1 else ADDRESS
        row = SHARED_ROW if is_small else ROW
        if reached.are_unsigned:
            own, row = (own, 0) if is_small else (UNSIGNED_ADDRESS, UNSIGNED_ROW) if len(reached.indices) > 1 else (own, row)
        if all(signed):
            self._simple_address(at, reached, own, row, is_small, way)
            return
        kept: list[Form | None] = []
        for place, (index, is_known) in enumerate(zip(reached.indices, signed, strict=True)):
            is_last = place == len(reached.indices) - 1
            is_bare = index is not None and is_known and (is_last or is_small)
            kept.append(self.integers.without_constant(index) if index is not None and is_bare else index)
        known = ("address", reached.array.identity, reached.array.part, tuple(kept))
        if all(each is not None and not self.integers.without_counters(each)[1] for each in kept):
            own = 0 if is_small else own
        if not is_small and own > ARRAY and self._is_walked(reached):
            own -= ARRAY
            self.placing.needed(at, ARRAY, ("array", reached.array.identity, reached.array.part), [], way)
        whole = own + row * (len(kept) - 1)
        if self._goes_along_a_row(kept):  # the beginning of the row is computed before the loop
            rows = ("rows", reached.array.identity, reached.array.part, tuple(kept[:-1]))
            self.placing.needed(at, whole - own, rows, kept[:-1], way)
            whole = own
        self.placing.needed(at, whole, known, kept, way)

    def _is_walked(self, reached: Reached) -> bool:
        loop = self.placing.loops[-1] if self.placing.loops else None
        if not isinstance(loop, For) or len(reached.indices) > 1:
            return False
        return not self.integers.is_written_out(loop) and self.placing.is_counted_on(reached)

    def _is_wrapped_anew(self, reached: Reached) -> bool:
        """Whether a column of a shared array is wrapped in each round of a loop that changes only its row.

        It could be done once, before the loop, if there were registers for all columns.
        """
        if reached.array.space != "shared" or len(reached.indices) < 2 or reached.are_unsigned:
            return False
        *rows, column = reached.indices
        loop = next((each for each in reversed(self.placing.loops) if not self.integers.is_written_out(each)), None)
        if column is None or loop is None or not self.placing.stays([column], loop) or self.placing.stays(rows, loop):
            return False
        bare = self.integers.without_counters(column)
        return bare != column and bool(bare[1]) and self.elements_in_registers > CROWDED

    @property
    def elements_in_registers(self) -> int:
        """The elements of the kernel's local arrays, which mostly lie in registers."""
        if self._in_registers is None:
            arrays = [each.array for each in self.found.reached.values() if each.array.space == "local"]
            sizes = {each.identity: math.prod(extent or 0 for extent in each.extents) for each in arrays}
            self._in_registers = sum(sizes.values())
        return self._in_registers

    def is_strided(self, reached: Reached) -> bool:
        """Whether an unrolled loop goes through a vector in global memory by a stride that is known at run time only.

        Each address is then the one before and the stride, one instruction, as long as no index can be negative.
        """
        if reached.array.space != "global" or len(reached.indices) != 1 or not reached.are_unsigned:
            return False
        index = reached.indices[0]
        return index is not None and self.integers.without_strides(index) != index

    def _goes_along_a_row(self, indices: Sequence[Form | None]) -> bool:
        """Whether the innermost loop changes only the last index."""
        loops = self.placing.loops
        return bool(loops) and not self.placing.stays(indices, loops[-1]) and self.placing.stays(indices[:-1], loops[-1])

    def _is_an_offset(self, reached: Reached, is_small: bool) -> bool:
        """Whether the next round's element lies a fixed number of bytes further, known at compile time."""
        loop = self.placing.loops[-1]
        moving = [each for each in reached.indices if each is None or not self.placing.stays([each], loop)]
        if not is_small and (len(moving) > 1 or moving[0] is not reached.indices[-1]):
            return False
        amounts = [None if each is None else self.integers.goes_on_by(loop, each) for each in moving]
        return all(each is not None and not each[1] for each in amounts)

    def _is_advanced(self, reached: Reached, way: Way) -> bool:
        """Whether one addition gives the address of the next round: no index has to be wrapped."""
        return all(
            index is None or self.placing.stays([index], self.placing.loops[-1]) or self.integers.is_positive(index, way)
            for index in reached.indices
        )

    def _simple_address(
        self, op: Operation, reached: Reached, own: int, row: int, is_small: bool, way: Way
    ) -> None:
        """An address whose indices are known not to be negative: neighbours share it, another row is one sum away."""
        bare = [self.integers.without_constant(each) for each in reached.indices if each is not None]
        if is_small and not any(each[1] for each in bare):
            return
        place = reached.array.identity, reached.array.part
        if is_small and reached.are_unsigned and self.placing.is_unrolled(bare) and self.elements_in_registers > CROWDED:
            op.slots += UNSIGNED_ANEW
            return
        is_fixed = not is_small and len(bare) == len(reached.indices) and not any(each[1] for each in bare)
        whole = FIXED_ADDRESS if is_fixed else own + row * (len(bare) - 1)
        self.placing.needed(op, whole, ("address", *place, tuple(bare)), bare, way)
        rows = [each for each in reached.indices[:-1] if each is not None]
        if rows and not is_small:
            first = ("row", *place, tuple(map(self.integers.bare, rows)), bare[-1])
            if first in way.done or any(self.integers.without_counters(each) != each for each in rows):
                self.placing.needed(op, WIDE, ("row", *place, tuple(rows), bare[-1]), rows, way)
            way.done |= {first, ("row", *place, tuple(rows), bare[-1])}

"""The machine instructions of an access: the access itself, its address, and the signs of its indices.

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0), and counted by measurements/instruction_costs.py: an index
of unknown sign takes a comparison and a selection of the length to add. Each dimension but the first takes a 64-bit
product, in shared memory a 32-bit one. The load and the store of an update share one address.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.placing import READ, Placing
from autograder.simgpu.operations.operation import Operation

WIDE = 2  # a 64-bit sum
WRAP = 4  # an index that may be negative: the length, or 0, is added
SIGN = 2  # its sign, once for all arrays that it indexes
SIGN_OF_PLACE = 1  # of a thread's place, whose half says it
EXTENDED = 1  # a loaded index of 32 bits, before its sign
ADDRESS = 2  # an element of global memory: a shift and a sum, in two halves
DESCRIPTOR = 1  # of global memory, where a kernel begins
NATURAL_ADDRESS = 1  # by an unsigned index of 32 bits: a product and a sum in one instruction
FIXED_ADDRESS = 1  # of an element by constants alone: the array's address is a parameter, and the rest an offset
UNSIGNED_ROW = 4  # by indices of unsigned types; in shared memory their rows cost nothing
STRIDED = 2  # an element of global memory by an unsigned index, a multiple of a stride away from another one
ALONG_A_ROW = 2  # of an element that a loop reaches by its last index: the row's beginning is added with each
ROW = 4  # each further dimension: a 64-bit product
SHARED_BASE = 3  # the address of the block's shared memory, for each array
CROWDED = 48  # sums and the like in registers: with 32 of them wrapped columns are kept there too, with 64 they are not
UNSIGNED_ANEW = 2  # the address of a place by unsigned indices, which is not kept for each round of an unrolled loop then
WRAPPED_ANEW = 6  # such a column: a sum of 64 bits, its sign, the length or 0, and the address
CHOSEN_LOAD, CHOSEN_STORE = 2, 2  # for each element of a local array in registers: a comparison and a select
SHARED_WRAP, SHARED_ADDRESS, SHARED_ROW = 3, 1, 1  # addresses of shared memory have 32 bits


class Addresses:
    """The accesses of one kernel."""

    def __init__(self, found: Found, integers: Integers, placing: Placing) -> None:
        self.found = found
        self.integers = integers
        self.placing = placing
        self.describes = 0  # instructions at the kernel's beginning
        self._in_registers: int | None = None  # elements of local arrays
        self.updates: dict[Operation, Operation] = {}  # by access: the update (`a[i] += x`) that it belongs to

    def of_access(self, op: Operation, reached: Reached, way: Way) -> None:
        """Notes the instructions of an access and its address; in an update, the address counts for the update."""
        op.slots, op.once = 1, 0
        space = reached.array.space
        if op.leaves_no_load and op not in self.found.stores or space == "local" and not op.is_of_local_memory:
            op.slots = 0
            if op.chosen_of and not op.leaves_no_load:
                self.of_element(self.updates.get(op, op), reached, way, op.has_cheap_address)
                op.slots += (CHOSEN_STORE if op in self.found.stores else CHOSEN_LOAD) * op.chosen_of
            return
        if space == "constant" and self._is_fixed(reached):
            op.slots = 0  # a number in the instruction that uses it
            return
        self.placing.is_of_round = bool(self.placing.loops) and any(
            index is not None and self.integers.without_counters(index) != index for index in reached.indices
        )
        self.of_element(self.updates.get(op, op), reached, way, op.has_cheap_address)
        self.placing.is_of_round = False

    def of_element(self, at: Operation, reached: Reached, way: Way, is_cheap: bool = False) -> None:
        """Adds the instructions of an element's address to an operation, without those parts that are in registers."""
        space = reached.array.space
        is_small = space in ("shared", "local", "constant")
        if space == "shared":
            self.placing.needed(at, SHARED_BASE, ("base", reached.array.identity), [], way)
        elif not is_small:
            self._read(at, reached, way)
        for index in reached.indices:
            self.placing.read(at, index, way)
        if self._is_wrapped_anew(reached):
            at.slots += WRAPPED_ANEW
            at.wraps = True
            return
        if is_cheap and self.placing.is_counted_on(reached) and self._is_advanced(reached, way):
            key = ("address", reached.array.identity, reached.array.base, reached.indices)
            step = 1 if is_small else WIDE
            if key not in way.done and not (self._is_an_offset(reached, is_small) and self.placing.in_common(step)):
                at.slots += step
            way.done.add(key)
            return
        unsigned = reached.unsigned if len(reached.unsigned) == len(reached.indices) else (False,) * len(reached.indices)
        indices = tuple(None if each is None else self.integers.beginning(each) for each in reached.indices)
        signed = [
            each is not None and (has_no_sign or self.integers.is_positive(each, way, is_folded=is_small))
            for each, has_no_sign in zip(indices, unsigned, strict=True)
        ]
        small = reached.small if len(reached.small) == len(indices) else (False,) * len(indices)
        for place, (index, is_known, is_small_type) in enumerate(zip(indices, signed, small, strict=True)):
            if is_known or index is not None and not self.integers.without_counters(index)[1]:
                continue
            if not is_small:
                self._sign(at, index, is_small_type, way)
            extent = reached.array.extents[place] if place < len(reached.array.extents) else None
            wrapped = ("wrap", extent or (reached.array.identity, place), index)  # once for each length
            if not is_small and extent is None:
                length = self.placing.read_of(("extent", reached.array.identity, reached.array.base, place))
                self.placing.needed(at, READ, length, [], way)
            before = at.slots
            anew = space == "shared" and index is not None and self.integers.adds_in_each_round(index)
            self.placing.needed(at, SHARED_WRAP + anew if is_small else WRAP, wrapped, [index], way)
            at.wraps = at.wraps or at.slots > before
        if self.is_strided(reached):
            (index,) = reached.indices
            base = self.integers.without_constant(self.integers.without_strides(index)) if index is not None else None
            self.placing.needed(at, STRIDED, ("address", reached.array.identity, reached.array.base, base), [base], way)
            at.slots += 1
            return
        own = SHARED_ADDRESS if is_small else ADDRESS
        row = SHARED_ROW if is_small else ROW
        if reached.are_unsigned:
            own, row = (own, 0) if is_small else (own, UNSIGNED_ROW)
        if all(signed):
            self._simple_address(at, reached, own, row, is_small, way)
            return
        if not is_small and reached.array.dtype.itemsize == 1 and not signed[-1]:
            own = 0  # the sum that wraps the index adds the array's address too
        kept: list[Form | None] = []
        for place, (index, is_known) in enumerate(zip(indices, signed, strict=True)):
            is_last = place == len(indices) - 1
            is_bare = index is not None and is_known and (is_last or is_small)
            whole_index = index if is_last or is_small else reached.indices[place]
            kept.append(self.integers.without_constant(index) if index is not None and is_bare else whole_index)
        known: Hashable = ("wrapped", reached.array.identity, reached.array.base, tuple(kept), tuple(signed))
        if all(each is not None and not self.integers.without_counters(each)[1] for each in kept):
            own = 0 if is_small else own
        whole = own + row * (len(kept) - 1)
        if not is_small and (fixed := self._fixed_rows(kept)):
            whole -= self._of_the_first_row(at, reached, kept, fixed, row, way)
            kept = [each for place, each in enumerate(kept) if place not in fixed]
            known = ("first row", reached.array.identity, reached.array.base, tuple(fixed), tuple(kept))
        if self._goes_along_a_row(kept):  # the beginning of the row is computed before the loop
            rows = ("rows", reached.array.identity, reached.array.base, tuple(kept[:-1]))
            self.placing.needed(at, whole - own, rows, kept[:-1], way)
            whole = own + (0 if len(kept) == 1 else SHARED_ADDRESS if is_small else ALONG_A_ROW)
        elif not is_small and len(kept) > 1:
            whole -= self._beginning_of_a_row(at, reached, kept[:-1], way)
        self.placing.needed(at, whole, known, kept, way, is_of_all=space == "shared" and len(kept) == 1)

    def _beginning_of_a_row(self, at: Operation, reached: Reached, rows: Sequence[Form | None], way: Way) -> int:
        """Adds what all columns of a row have in common, and gives how many instructions that is."""
        names = reached.array.identity, reached.array.base
        self.placing.needed(at, WIDE, ("beginning of a row", *names, tuple(rows)), rows, way)
        return WIDE

    def _read_lengths(self, at: Operation, reached: Reached, way: Way) -> None:
        """Adds the reads of the lengths that its rows are multiplied by."""
        for place in range(1, len(reached.indices)):
            key = self.placing.read_of(("extent", reached.array.identity, reached.array.base, place))
            self.placing.needed(at, READ, key, [], way)

    def _sign(self, at: Operation, index: Form | None, is_small_type: bool, way: Way) -> None:
        """Adds what says whether an index is negative; a multiple by a power of two has the sign of what it is made from."""
        slots = SIGN
        if index is not None and is_small_type:
            is_place = all(self.placing.is_place(number) for number, _ in index[1])
            slots = SIGN_OF_PLACE if is_place else SIGN + EXTENDED
        if index is not None and not index[0] and index[1]:
            multiple = min(factor & -factor for _, factor in index[1])
            index = 0, tuple((number, factor // multiple) for number, factor in index[1])
        self.placing.needed(at, slots, ("sign", index), [index], way)

    def _is_fixed(self, reached: Reached) -> bool:
        """Whether an element's indices are known at compile time."""
        return all(each is not None and not self.integers.without_counters(each)[1] for each in reached.indices)

    def _fixed_rows(self, indices: Sequence[Form | None]) -> list[int]:
        """Indices before the last that are constants: such rows lie at fixed multiples of a length from the first one."""
        return [
            place
            for place, each in enumerate(indices[:-1])
            if each is not None and not self.integers.without_counters(each)[1]
        ]

    def _of_the_first_row(
        self, at: Operation, reached: Reached, kept: Sequence[Form | None], fixed: Sequence[int], row: int, way: Way
    ) -> int:
        """Adds the distance of an element from that in the first row; gives the instructions that the first does without."""
        names = reached.array.identity, reached.array.base
        forms = [kept[place] for place in fixed]
        products = sum(place == n for n, place in enumerate(fixed))
        if any(each != (0, ()) for each in forms):
            for place in fixed:
                length = WIDE if place == len(kept) - 2 else WIDE + row  # the product of several lengths
                self.placing.needed(at, length, ("length of a row", *names, place), [], way)
            self.placing.needed(at, WIDE, ("row", *names, tuple(kept), tuple(fixed)), kept, way)
        return row * products + WIDE * any(each is not None and each[1] for each in forms)

    def _read(self, at: Operation, reached: Reached, way: Way) -> None:
        """Adds what a kernel reads once before it can reach elements of an array in global memory."""
        self.describes = DESCRIPTOR
        self.placing.needed(at, READ, self.placing.read_of(("array", reached.array.identity, reached.array.base)), [], way)

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
        if not is_small:
            self._read_lengths(op, reached, way)
        if is_small and not any(each[1] for each in bare):
            return
        place = reached.array.identity, reached.array.base
        if is_small and reached.are_unsigned and self.placing.is_unrolled(bare) and self.elements_in_registers > CROWDED:
            op.slots += UNSIGNED_ANEW
            return
        is_fixed = not is_small and len(bare) == len(reached.indices) and not any(each[1] for each in bare)
        whole = FIXED_ADDRESS if is_fixed else own + row * (len(bare) - 1)
        if not is_small and len(bare) == 1 and self._is_natural(reached, bare[0]):
            whole = NATURAL_ADDRESS
        rows = [] if is_small else [each for each in reached.indices[:-1] if each is not None]
        changed = sum(self.integers.without_counters(each) != each for each in rows)
        if changed < 2:  # one row of an unrolled loop is this one
            key = ("address", *place, tuple(bare))
            self.placing.needed(op, whole - WIDE * changed, key, bare, way, is_of_all=not is_small)
        if rows:
            self._another_row(op, place, rows, bare[-1], row + own, changed, way)

    def _is_natural(self, reached: Reached, index: Form) -> bool:
        """Whether an element of several bytes is reached by an unsigned index of 32 bits."""
        is_so_by_type = reached.are_unsigned and len(reached.small) == 1 and reached.small[0]
        return reached.array.dtype.itemsize > 1 and (is_so_by_type or self.integers.is_natural(index))

    def _another_row(
        self, op: Operation, place: tuple[Hashable, Hashable], rows: Sequence[Form], column: Form, anew: int, changed: int,
        way: Way,
    ) -> None:
        """Adds what leads from the first row of a column to this one: a sum, if it lies behind it; else a product.

        `changed`: how many of the rows' indices unrolled loops change. No single sum can follow more than one.
        """
        group = ("rows", *place, tuple(map(self.integers.bare, rows)), column)
        key = ("row", *place, tuple(rows), column)
        if changed > 1:
            self.placing.needed(op, WIDE + anew, key, rows, way)
        elif changed or group in way.done and all(each[0] >= 0 for each in rows) and any(each[0] for each in rows):
            self.placing.needed(op, WIDE, ("length of a row", *place), [], way)
            self.placing.needed(op, WIDE, key, rows, way)
        elif group in way.done:
            self.placing.needed(op, anew, key, rows, way)
        way.done |= {group, key}

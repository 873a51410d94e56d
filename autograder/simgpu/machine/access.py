"""Loads, stores and atomics: locate the elements, count what moves, check the order, then move the data.

START HERE: `Memory.load` and `Memory.store` read top-down; addressing.py locates, counting.py counts, ordering.py checks.
"""

from __future__ import annotations

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.counting.counting import ORDERS, Counting, is_a_loop_in_global_memory
from autograder.simgpu.counting.place import Place
from autograder.simgpu.machine.addressing import Addressing
from autograder.simgpu.machine.atomics import apply_atomic, tries_of_order
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.access_reports import AccessReports
from autograder.simgpu.ordering.lone_access import LoneAccess, may_be_alone
from autograder.simgpu.ordering.ordering import Ordering
from autograder.simgpu.ordering.tickets import Tickets
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import View, cannot_be_written
from autograder.simgpu.values.numba_types import scalar
from autograder.simgpu.values.values import NUMBERS, Indices, Number, Value

MANY = 4096  # lanes from which on a loop of our own beats NumPy's `take`
LOOKS_AT_VALUES = False  # whether `store` looks at what is stored: then no loop of one thread stores but by it
READ, WRITE, ATOMIC, WARP = prim.READ, prim.WRITE, prim.ATOMIC, prim.WARP
MAY_CHANGE_NOTHING = {"cas", "exch", "max", "min", "nanmax", "nanmin", "and_", "or_"}  # a loop around one may stand still


class Memory:
    """Carries out the accesses of one batch of blocks."""

    def __init__(
        self, batch: Batch, addressing: Addressing, counting: Counting, ordering: Ordering, tickets: Tickets | None,
        reports: AccessReports,
    ) -> None:  # fmt: skip
        self.batch = batch
        self.addressing = addressing
        self.counting = counting
        self.ordering = ordering
        self.tickets = tickets
        self.reports = reports
        self._loaded_alone: dict[Operation, LoneAccess] = {}
        self._stored_alone: dict[Operation, LoneAccess] = {}  # `a[i] += 1` is one operation that does both
        self._was_alone: dict[tuple[Operation, int], Mask] = {}  # who made the last such access at one element
        self.changes = 0  # stores so far: a loop that changes nothing can never end

    def load(self, view: View, indices: Indices, mask: Mask, op: Operation) -> Number:
        """The elements at `indices` as a lane vector, or one scalar where every lane reads the same element."""
        alone = self._loaded_alone.get(op)
        if alone is not None and alone.mask is mask and alone.view is view:
            element = alone.element(indices)
            if element >= 0:
                found: Number = alone.data[element]
                return found
        registers = view.buffer.registers
        if registers is not None and not op.is_of_local_memory and registers.is_whole(view):
            element = self._register(view, indices)
            if element >= 0:
                self.counting.count_register(mask, op, READ)
                register: Number = registers.rows[:, element].copy()
                return register
        place = self.addressing.locate(view, indices, mask, op, READ)
        data, pattern = view.data, place.pattern
        if view.buffer.space == "local" and not op.is_of_local_memory and self.counting.trace is None:
            self.counting.count_register(place.mask, op, READ)
        else:
            self.counting.count(view, place, op, READ)
            self.ordering.check(view, place, op, READ)
        if pattern is not None and pattern.step:
            begin = place.base
            return data[begin : begin + pattern.span : pattern.step].copy()
        if pattern is not None:
            value = _gather(data, pattern.offsets, place.base)
        elif place.is_shared_by_all:
            if alone is None or alone.mask is not mask or alone.view is not view:
                self._note_alone(view, place, op, READ)
            return data[place.linear] if place.mask.active else _garbage(data.dtype)
        elif not len(data):
            return np.full(self.batch.size, _garbage(data.dtype), data.dtype)
        else:
            value = _gather(data, place.by_lane, 0)
        if place.mask is not mask:  # outside its array a lane reads what a sum must not survive unnoticed
            value[mask.lanes & ~place.mask.lanes] = _garbage(data.dtype)
        return value

    def store(self, view: View, indices: Indices, value: Value, mask: Mask, op: Operation) -> None:
        """Writes `value` (cast to the array's dtype, as Numba does); where lanes collide the last one wins."""
        alone = self._stored_alone.get(op)
        if alone is not None and alone.mask is mask and alone.view is view and value.__class__ is alone.type:
            element = alone.element(indices)
            if element >= 0:
                alone.data[element] = value
                self.changes += 1
                return
        registers = view.buffer.registers
        if registers is not None and not op.is_of_local_memory and registers.is_whole(view):
            element = self._register(view, indices)
            if element >= 0:
                self.counting.count_register(mask, op, WRITE)
                if not isinstance(value, NUMBERS) or value.dtype is not view.data.dtype:
                    value = self.cast(value, view.data.dtype, mask, view, op)
                if mask.active == self.batch.size:
                    registers.rows[:, element] = value
                else:
                    np.copyto(registers.rows[:, element], value, where=mask.lanes)
                self.changes += 1
                return
        if view.read_only:
            raise op.fault(*cannot_be_written(view))
        place = self.addressing.locate(view, indices, mask, op, WRITE)
        data, storing, pattern = view.data, place.mask, place.pattern
        if view.buffer.space == "local" and not op.is_of_local_memory and self.counting.trace is None:
            self.counting.count_register(storing, op, WRITE)
            value = self.cast(value, data.dtype, storing, view, op)
        else:
            self.counting.count(view, place, op, WRITE)
            value = self.cast(value, data.dtype, storing, view, op)
            self.ordering.check(view, place, op, WRITE, value)
        if not storing.active:
            return
        if pattern is not None and pattern.step:
            data[place.base : place.base + pattern.span : pattern.step] = value
        elif place.is_shared_by_all:
            if alone is None or alone.mask is not mask or alone.view is not view:
                self._note_alone(view, place, op, WRITE)
            data[place.linear] = value[storing.where[-1]] if isinstance(value, np.ndarray) else value
        elif isinstance(value, np.ndarray) and _are_words(data) and _are_words(value) and value.flags.writeable:
            prim.put_words(storing.lanes, place.by_lane, value.view(np.uint32), data.view(np.uint32))
        elif storing.active == self.batch.size:
            data[place.by_lane] = value
        else:
            where = storing.where
            data[place.by_lane[where]] = value[where] if isinstance(value, np.ndarray) else value
        self.changes += 1

    def _register(self, view: View, indices: Indices) -> int:
        """The element of each thread's own array that all of them mean; -1 where it takes a closer look."""
        if self.batch.has_raised or self.counting.trace is not None:
            return -1
        element = 0
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            if index.__class__ is np.ndarray:
                return -1
            i = int(index)
            if not 0 <= i < extent:
                return -1
            element += i * stride
        return element

    def _note_alone(self, view: View, place: Place, op: Operation, kind: int) -> None:
        """The next access like this one may be quicker, if one thread made it."""
        if place.mask.active != 1 or self._was_alone.get((op, kind)) is not place.mask:
            self._was_alone[op, kind] = place.mask
        elif may_be_alone(self, view, place.mask, op, kind):
            known = self._loaded_alone if kind == READ else self._stored_alone
            if op in known:
                known[op].settle()
            known[op] = LoneAccess(self, view, place.mask, op, kind)

    def settle(self) -> None:
        """Puts what accesses of threads alone have counted into the books."""
        for each in (*self._loaded_alone.values(), *self._stored_alone.values()):
            each.settle()

    def atomic(
        self, operation: str, view: View, indices: Indices, values: tuple[Number, ...], mask: Mask, op: Operation,
        want_old: bool,
    ) -> Number | None:  # fmt: skip
        """An atomic update in lane order; returns the old values where `want_old`."""
        if view.read_only:
            raise op.fault(*cannot_be_written(view))
        place = self.addressing.locate(view, indices, mask, op, ATOMIC)
        data, active = view.data, place.mask.active
        where = slice(None) if active == self.batch.size else place.mask.where
        cast = [self.cast(v, data.dtype, place.mask, view, op) for v in values] if active else []
        operands = [v[where] if isinstance(v, np.ndarray) else np.full(active, v) for v in cast]
        elements = place.by_lane[where]
        tries = None
        if active and operation in ORDERS and is_a_loop_in_global_memory(view, operation):
            lanes = place.mask.where
            tries = [
                lanes[each] for each in tries_of_order(operation, data[elements], operands[0], elements, lanes // WARP)
            ]  # fmt: skip
        self.counting.count(view, place, op, ATOMIC, operation, tries)
        self.ordering.check(view, place, op, ATOMIC, reads=operation != "exch" or want_old)
        old = np.zeros(self.batch.size, data.dtype) if want_old else None
        if active:
            held = data[elements] if operation in MAY_CHANGE_NOTHING else None
            tickets = self.tickets
            before = apply_atomic(operation, data, elements, operands, want_old or tickets is not None)
            if old is not None:
                old[where] = before
            if tickets is not None and view.buffer.space != "local":
                wrote = np.ones(active, np.bool_)
                if operation == "cas" and before is not None:
                    wrote = np.equal(before, operands[0])
                tickets.take(view.buffer, elements, place.mask.where, wrote, want_old)
            if held is None or not np.array_equal(held, data[elements]):
                self.changes += 1
        return old

    def cast(self, value: Value, dtype: np.dtype, mask: Mask, view: View, op: Operation) -> Number:
        """`value` in the array's dtype; integers of these lanes that do not fit wrap around and are reported."""
        if isinstance(value, (str, bytes)):
            if dtype.kind != ("U" if isinstance(value, str) else "S"):
                raise op.fault(f"A text cannot be stored in `{view.name}` ({dtype}).")
            return _one(np.array(value, dtype))
        number = value if isinstance(value, (np.ndarray, np.generic)) else scalar(value)
        if number.dtype == dtype:
            return number
        if dtype.kind in "iu" and number.dtype.kind in "iu" and mask.active:
            wrapped = number.astype(dtype)
            if number.dtype.kind == dtype.kind and (wrapped == number).all():
                return wrapped
            limits = np.iinfo(dtype)
            active = number[mask.where] if isinstance(number, np.ndarray) else np.asarray(number)
            if np.any(np.less(active, limits.min)) or np.any(np.greater(active, limits.max)):
                self.reports.report_overflow(view, active, dtype, mask.where, op)
            return wrapped
        if dtype.kind in "iu" and number.dtype.kind == "f":
            return np.nan_to_num(number, nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64).astype(dtype)
        if number.dtype.kind == "c" and dtype.kind != "c":
            raise op.fault(f"A complex value cannot be stored in `{view.name}` ({dtype}).")
        return number.astype(dtype)


def _gather(data: np.ndarray, offsets: np.ndarray, base: int) -> np.ndarray:
    """The elements this far behind `base`, all of them inside the array."""
    if len(offsets) < MANY or not _are_words(data):
        return data[base:].take(offsets, mode="clip")
    taken = np.empty(len(offsets), data.dtype)
    prim.take_words(data.view(np.uint32), offsets.view(np.uint64), base, taken.view(np.uint32))
    return taken


def _are_words(data: np.ndarray) -> bool:
    """Whether elements are numbers of four bytes, one behind the other."""
    return data.itemsize == 4 and data.dtype.kind in "iuf" and data.flags.c_contiguous


def _garbage(dtype: np.dtype) -> np.generic:
    return _one(np.full((), np.nan if dtype.kind in "fc" else 0, dtype))


def _one(array: np.ndarray) -> np.generic:
    """The element of an array of no dimensions."""
    element = array[()]
    assert isinstance(element, np.generic)
    return element

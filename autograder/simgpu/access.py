"""Loads, stores and atomics: locate the elements, count what moves, check the order, then move the data.

START HERE: `Memory.load` and `Memory.store` read top-down; addressing.py locates, counting.py counts, ordering.py checks.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.access_reports import AccessReports
from autograder.simgpu.addressing import Addressing, Place
from autograder.simgpu.atomics import apply_atomic
from autograder.simgpu.counting import Counting
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.numba_types import scalar
from autograder.simgpu.ordering import Ordering

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

READ, WRITE, ATOMIC = prim.READ, prim.WRITE, prim.ATOMIC
MAY_CHANGE_NOTHING = {"cas", "exch", "max", "min", "nanmax", "nanmin", "and_", "or_"}  # a loop around one may stand still


class Memory(Addressing, Counting, Ordering, AccessReports):
    """Carries out the accesses of one batch on behalf of the interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        super().__init__()

    def load(self, view: View, indices: tuple, mask: Mask, node: ast.AST) -> Any:
        """The elements at `indices` as a lane vector, or one scalar where every lane reads the same element."""
        place = self.locate(view, indices, mask, node, READ)
        if self.interpreter.recording is not None:
            self.interpreter.recording.add(READ, node, view, place, indices)
        self.count(view, place, node, READ)
        self.check(view, place, node, READ)
        data, pattern = self.data_of(view), place.pattern
        if pattern is not None and pattern.step:
            return data[pattern.elements(place.base)].copy()
        if pattern is not None:
            value = data[place.base :].take(pattern.offsets, mode="clip")
        elif place.is_shared_by_all:
            return data[place.linear] if place.mask.active else _garbage(data.dtype)
        elif not len(data):
            return np.full(self.interpreter.batch.size, _garbage(data.dtype), data.dtype)
        else:
            value = data.take(place.linear, mode="clip")
        if place.mask is not mask:  # outside its array a lane reads what a sum must not survive unnoticed
            value[mask.lanes & ~place.mask.lanes] = _garbage(data.dtype)
        return value

    def store(self, view: View, indices: tuple, value: Any, mask: Mask, node: ast.AST) -> None:
        """Writes `value` (cast to the array's dtype, as Numba does); where lanes collide the last one wins."""
        if view.read_only:
            raise self.interpreter.fault(node, f"`{view.name}` is a constant array: a kernel cannot write to it.")
        place = self.locate(view, indices, mask, node, WRITE)
        if self.interpreter.recording is not None:
            self.interpreter.recording.add(WRITE, node, view, place, indices)
        self.count(view, place, node, WRITE)
        data, where = self.data_of(view), place.mask.where
        value = self.cast(value, data.dtype, where, view, node)
        self.check(view, place, node, WRITE, value)
        if not len(where):
            return
        if place.pattern is not None and place.pattern.step:
            data[place.pattern.elements(place.base)] = value
        elif place.is_shared_by_all:
            data[place.linear] = value[where[-1]] if isinstance(value, np.ndarray) else value
        else:
            data[place.linear[where]] = value[where] if isinstance(value, np.ndarray) else value
        self.interpreter.memory_changed()

    def atomic(
        self, operation: str, view: View, indices: tuple, values: tuple, mask: Mask, node: ast.AST, want_old: bool
    ) -> Any:
        """An atomic update in lane order; returns the old values where `want_old`."""
        place = self.locate(view, indices, mask, node, ATOMIC)
        self.count(view, place, node, ATOMIC)
        self.check(view, place, node, ATOMIC, reads=operation != "exch" or want_old)
        data = self.data_of(view)
        where = place.mask.where
        old = np.zeros(self.interpreter.batch.size, data.dtype) if want_old else None
        if len(where):
            operands = [self.cast(v, data.dtype, where, view, node) for v in values]
            operands = [v[where] if isinstance(v, np.ndarray) else np.full(len(where), v) for v in operands]
            elements = self.as_vector(place)[where]
            held = data[elements] if operation in MAY_CHANGE_NOTHING else None
            tickets = self.interpreter.tickets
            before = apply_atomic(operation, data, elements, operands, want_old or tickets is not None)
            if old is not None:
                old[where] = before
            if tickets is not None and view.buffer.space != "local":
                wrote = before == operands[0] if operation == "cas" else np.ones(len(where), np.bool_)
                tickets.take(view.buffer, elements, where, wrote, want_old)
            if held is None or not np.array_equal(held, data[elements]):
                self.interpreter.memory_changed()
        return old

    def data_of(self, view: View) -> np.ndarray:
        return view.buffer.data if view.field is None else view.buffer.data[view.field]

    def as_vector(self, place: Place) -> np.ndarray:
        """Element offsets by lane, even where all lanes share one."""
        if place.is_shared_by_all:
            return np.full(self.interpreter.batch.size, place.linear, np.int64)
        return place.linear

    def cast(self, value: Any, dtype: np.dtype, where: np.ndarray, view: View, node: ast.AST) -> Any:
        """`value` in the array's dtype; integers that do not fit wrap around and are reported."""
        if isinstance(value, (str, bytes)):
            if dtype.kind != ("U" if isinstance(value, str) else "S"):
                raise self.interpreter.fault(node, f"A text cannot be stored in `{view.name}` ({dtype}).")
            return np.array(value, dtype)[()]
        if not isinstance(value, (np.ndarray, np.generic)):
            value = scalar(value)
        if value.dtype == dtype:
            return value
        if dtype.kind in "iu" and value.dtype.kind in "iu" and len(where):
            limits = np.iinfo(dtype)
            active = value[where] if isinstance(value, np.ndarray) else value
            if np.any(active < limits.min) or np.any(active > limits.max):
                self.report_overflow(view, active, dtype, where, node)
        if dtype.kind in "iu" and value.dtype.kind == "f":
            return np.nan_to_num(value, nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64).astype(dtype)
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise self.interpreter.fault(node, f"A complex value cannot be stored in `{view.name}` ({dtype}).")
        return value.astype(dtype)

    def trace(self, view: View, place: Place, node: ast.AST, kind: int) -> None:
        """Keeps the first accesses of each line, warp by warp, for pictures."""
        interpreter = self.interpreter
        batch = interpreter.batch
        line = interpreter.line(node)
        if not interpreter.trace.wants(line):
            return
        linear = self.as_vector(place)
        name = ("load", "store", "atomic")[kind]
        origin = view.offset if isinstance(view.offset, np.ndarray) else None
        for warp in np.unique(place.mask.where // prim.WARP):
            lanes = slice(warp * prim.WARP, (warp + 1) * prim.WARP)
            start = origin[lanes] if origin is not None and view.buffer.space != "global" else 0
            offsets = np.where(place.mask.lanes[lanes], (linear[lanes] - start) * view.buffer.itemsize, -1)
            slot, in_block = divmod(int(warp), batch.geometry.warps_per_block)
            block = batch.geometry.block_index(int(batch.blocks[slot]))
            interpreter.trace.add_access(
                line, name, view.buffer.space, view.name, view.buffer.itemsize, view.shape, block, in_block, offsets,
            )  # fmt: skip


def _garbage(dtype: np.dtype) -> Any:
    return np.full((), np.nan if dtype.kind in "fc" else 0, dtype)[()]

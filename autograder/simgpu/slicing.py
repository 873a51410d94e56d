"""Parts of arrays: rows and slices, whose bounds may differ from thread to thread.

A part never touches memory: it is another view of the same buffer. Where each thread has its own bounds the view's offset is
a lane vector; where the lengths differ too, `View.shape` holds the longest and `View.lengths` each thread's own.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import Origin, View
from autograder.simgpu.records import Record, as_record

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter


def lengths_of(view: View) -> tuple[Any, ...]:
    """The shape that each thread sees: int64 scalars, and lane vectors where threads see different ones."""
    own = view.lengths or (None,) * view.ndim
    return tuple(np.int64(extent) if each is None else each for extent, each in zip(view.shape, own, strict=True))


def size_of(view: View) -> Any:
    """The number of elements that each thread sees."""
    size: Any = np.int64(1)
    for extent in lengths_of(view):
        size = size * extent
    return size


class Slicing:
    """Parts of arrays, and assignments to them; part of `Interpreter`."""

    def part_of(self: Interpreter, view: View, indices: tuple, mask: Mask, node: ast.AST) -> View:
        """A row, a slice or any other part of an array, without touching memory."""
        offset, shape, strides, lengths, taken = view.offset, [], [], [], []
        outside = np.False_ if view.outside is None else view.outside
        for axis, (extent, stride) in enumerate(zip(lengths_of(view), view.strides, strict=True)):
            index = indices[axis] if axis < len(indices) else slice(None)
            if isinstance(index, slice):
                start, step, length = self.slice_bounds(index, extent, node)
                offset = offset + start * stride
                strides.append(stride * step)
                longest, own = _shared(length, mask)
                shape.append(longest)
                lengths.append(own)
                taken.append((start, step))
                continue
            wrapped = np.where(index < 0, index + extent, index).astype(np.int64)
            beyond = (wrapped < 0) | (wrapped >= extent)
            if np.any(beyond & mask.lanes):  # told as soon as an element of this part is wanted
                outside = outside | beyond
                wrapped = np.where(beyond, 0, wrapped)
            taken.append(index)
            offset = offset + (wrapped if wrapped.ndim else int(wrapped)) * stride
        if not isinstance(offset, np.ndarray):
            offset = int(offset)
        own = tuple(lengths) if any(each is not None for each in lengths) else None
        return replace(
            view, offset=offset, shape=tuple(shape), strides=tuple(strides), lengths=own,
            origin=Origin.of(view).part(taken),
            outside=np.broadcast_to(outside, mask.lanes.shape) if np.any(outside) else None,
        )  # fmt: skip

    def slice_bounds(self: Interpreter, index: slice, extent: Any, node: ast.AST) -> tuple[Any, int, Any]:
        """(start, step, length) of a slice of a dimension, as Python works them out; lane vectors where threads differ."""
        bounds = (index.start, index.stop, index.step)
        for each in bounds:
            if each is not None and self.number(each, node).dtype.kind not in "iub":
                raise self.fault(node, f"A slice needs integers, not {each.dtype}.", "Use // instead of /, or int().")
        if index.step is not None and np.any(index.step == 0):
            raise self.fault(node, "A slice with a step of 0 has no end.", "Leave the step out, or make it 1 or more.")
        if not any(isinstance(each, np.ndarray) for each in (extent, *bounds)):
            start, stop, step = slice(*(None if b is None else int(b) for b in bounds)).indices(int(extent))
            return start, step, len(range(start, stop, step))
        if isinstance(index.step, np.ndarray) or index.step is not None and int(index.step) < 1:
            raise self.fault(
                node, "Where its bounds differ from thread to thread, a slice needs a constant step of at least 1.",
                "Pass the array, and compute the index.",
            )  # fmt: skip
        step = 1 if index.step is None else int(index.step)
        start, stop = (
            default if bound is None else np.clip(np.where(bound < 0, bound + extent, bound), 0, extent)
            for bound, default in ((index.start, np.int64(0)), (index.stop, extent))
        )
        return start, step, np.maximum(0, -((start - stop) // step))

    def check_one_length(self: Interpreter, view: Any, node: ast.AST) -> None:
        """Refuses what needs one shape for all threads where a slice's length differs."""
        if isinstance(view, View) and view.lengths is not None:
            raise self.fault(
                node, f"This part of `{view.name}` has another length for each thread: it is no array for all.",
                "Loop over range(len(...)) and index it.",
            )  # fmt: skip

    def lanes_within(self: Interpreter, view: View, position: tuple, mask: Mask) -> Mask:
        """The lanes whose part of an array has this position."""
        lanes = mask.lanes
        for index, own in zip(position, view.lengths or (), strict=False):
            if own is not None:
                lanes = lanes & (own > index)
        return mask if lanes is mask.lanes else mask.only(lanes)

    def store_into(self: Interpreter, view: View, indices: tuple, value: Any, mask: Mask, node: ast.AST) -> None:
        """Assigns to an element, a record, or element by element to a slice."""
        value = as_record(value)
        whole = len(indices) == len(view.shape) and slice not in map(type, indices)
        if whole and view.dtype.fields and view.field is None:
            self.copy_record(Record(view, indices), value, mask, node)
        elif whole:
            if isinstance(value, (View, tuple)) or value is None:
                raise self.fault(node, f"Only one number can be stored in an element of `{view.name}`.")
            if not isinstance(value, (np.ndarray, str, bytes)):
                value = self.number(value, node)
            self.memory.store(view, indices, value, mask, node)
        else:
            part = self.part_of(view, indices, mask, node)
            for position in np.ndindex(part.shape):
                here = self.lanes_within(part, position, mask)
                if here.active:
                    where = tuple(np.int64(i) for i in position)
                    self.store_into(part, where, self.item_for(part, position, value, here, node), here, node)


def _shared(length: Any, mask: Mask) -> tuple[int, np.ndarray | None]:
    """(the longest of the active lanes' lengths, each lane's own where they differ)."""
    if not isinstance(length, np.ndarray):
        return int(length), None
    active = length[mask.where]
    longest = int(active.max(initial=0))
    return longest, None if np.all(active == longest) else length

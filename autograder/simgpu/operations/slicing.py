"""Parts of arrays: rows and slices, whose bounds may differ from thread to thread.

A part never touches memory: it is another view of the same buffer. Where each thread has its own bounds the view's offset is
a lane vector; where the lengths differ too, `View.shape` holds the longest and `View.lengths` each thread's own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.number_values import number
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Axis, Extent, Origin, View
from autograder.simgpu.values.numba_types import INT64, to_dtype
from autograder.simgpu.values.records import Record, as_record
from autograder.simgpu.values.values import AnyIndices, Indices, Lanes, Number, Value


def lengths_of(view: View) -> tuple[np.int64 | Lanes, ...]:
    """The shape that each thread sees: int64 scalars, and lane vectors where threads see different ones."""
    own = view.lengths or (None,) * view.ndim
    return tuple(np.int64(extent) if each is None else each for extent, each in zip(view.shape, own, strict=True))


def size_of(view: View) -> np.int64 | Lanes:
    """The number of elements that each thread sees."""
    size: np.int64 | Lanes = np.int64(1)
    for extent in lengths_of(view):
        size = size * extent
    return size


def of_element(indices: AnyIndices) -> Indices:
    """Indices that mean one element: no slice is among them."""
    return cast("tuple[Number, ...]", indices)


def part_of(view: View, indices: AnyIndices, mask: Mask, op: Operation) -> View:
    """A row, a slice or any other part of an array, without touching memory."""
    offset: Extent = view.offset
    shape: list[int] = []
    strides: list[int] = []
    lengths: list[Lanes | None] = []
    taken: list[Axis] = []
    outside = np.False_ if view.outside is None else view.outside
    for axis, (extent, stride) in enumerate(zip(lengths_of(view), view.strides, strict=True)):
        index = indices[axis] if axis < len(indices) else slice(None)
        if isinstance(index, slice):
            start, step, length = slice_bounds(index, extent, op)
            offset = offset + start * stride
            strides.append(stride * step)
            longest, own = _shared(length, mask)
            shape.append(longest)
            lengths.append(own)
            taken.append((start, step))
            continue
        position = number(index, op)
        wrapped = np.where(np.less(position, 0), np.add(position, extent), position).astype(np.int64)
        beyond = (wrapped < 0) | (wrapped >= extent)
        if np.any(beyond & mask.lanes):  # told as soon as an element of this part is wanted
            outside = outside | beyond
            wrapped = np.where(beyond, 0, wrapped)
        taken.append(position if isinstance(position, np.ndarray) else int(position))
        offset = offset + (wrapped if wrapped.ndim else int(wrapped)) * stride
    if not isinstance(offset, np.ndarray):
        offset = int(offset)
    return replace(
        view, offset=offset, shape=tuple(shape), strides=tuple(strides),
        lengths=tuple(lengths) if any(each is not None for each in lengths) else None,
        origin=Origin.of(view).part(taken),
        outside=np.broadcast_to(outside, mask.lanes.shape) if np.any(outside) else None,
    )  # fmt: skip


def slice_bounds(index: slice, extent: np.int64 | Lanes, op: Operation) -> tuple[Extent, int, Extent]:
    """(start, step, length) of a slice of a dimension, as Python works them out; lane vectors where threads differ."""
    index = slice(*(_whole(each, op) for each in (index.start, index.stop, index.step)))
    bounds = (index.start, index.stop, index.step)
    if index.step is not None and np.any(index.step == 0):
        raise op.fault("A slice with a step of 0 has no end.", "Leave the step out, or make it 1 or more.")
    if not any(isinstance(each, np.ndarray) for each in (extent, *bounds)):
        start, stop, step = slice(*(None if b is None else int(b) for b in bounds)).indices(int(extent))
        return start, step, len(range(start, stop, step))
    if isinstance(index.step, np.ndarray) or index.step is not None and int(index.step) < 1:
        raise op.fault(
            "Where its bounds differ from thread to thread, a slice needs a constant step of at least 1.",
            "Pass the array, and compute the index.",
        )  # fmt: skip
    step = 1 if index.step is None else int(index.step)
    first, last = (
        default if bound is None else np.clip(np.where(bound < 0, bound + extent, bound), 0, extent)
        for bound, default in ((index.start, np.int64(0)), (index.stop, extent))
    )
    return first, step, np.maximum(0, -((first - last) // step))


def _whole(bound: Value, op: Operation) -> Number | None:
    """A slice's bound as an integer: Numba cuts the fraction off a float."""
    if bound is None:
        return None
    found = number(bound, op)
    if found.dtype.kind not in "biuf":
        raise op.fault(f"A slice needs integers, not {found.dtype}.", "Use // instead of /, or int().")
    return to_dtype(found, INT64) if found.dtype.kind == "f" else found


def check_one_length(view: Value, op: Operation) -> None:
    """Refuses what needs one shape for all threads where a slice's length differs."""
    if isinstance(view, View) and view.lengths is not None:
        raise op.fault(
            f"This part of `{view.name}` has another length for each thread: it is no array for all.",
            "Loop over range(len(...)) and index it.",
        )  # fmt: skip


def lanes_within(view: View, position: tuple[int, ...], mask: Mask) -> Mask:
    """The lanes whose part of an array has this position."""
    lanes = mask.lanes
    for index, own in zip(position, view.lengths or (), strict=False):
        if own is not None:
            lanes = lanes & (own > index)
    return mask if lanes is mask.lanes else mask.only(lanes)


def store_into(machine: Machine, view: View, indices: AnyIndices, value: Value, mask: Mask, op: Operation) -> None:
    """Assigns to an element, a record, or element by element to a slice."""
    value = as_record(value)
    whole = len(indices) == len(view.shape) and slice not in map(type, indices)
    if whole and view.dtype.fields and view.field is None:
        copy_record(machine, Record(view, of_element(indices)), value, mask, op)
    elif whole:
        if isinstance(value, (View, tuple)) or value is None:
            raise op.fault(f"Only one number can be stored in an element of `{view.name}`.")
        if not isinstance(value, (np.ndarray, str, bytes)):
            value = number(value, op)
        machine.memory.store(view, of_element(indices), value, mask, op)
    else:
        part = part_of(view, indices, mask, op)
        for position in np.ndindex(part.shape):
            here = lanes_within(part, position, mask)
            if here.active:
                where = tuple(np.int64(i) for i in position)
                store_into(machine, part, where, item_for(machine, part, position, value, here, op), here, op)


def item_for(machine: Machine, part: View, position: tuple[int, ...], value: Value, mask: Mask, op: Operation) -> Value:
    """What an assignment to a slice puts at one position: the same number everywhere, or an array's element."""
    if isinstance(value, tuple) and part.ndim == 1 and len(value) == part.shape[0]:
        return value[position[0]]
    if not isinstance(value, View):
        return value
    check_one_length(part, op)
    check_one_length(value, op)
    own = position[len(position) - value.ndim :]
    if value.ndim > part.ndim or any(
        have not in (1, want) for have, want in zip(value.shape, part.shape[part.ndim - value.ndim :], strict=True)
    ):
        raise op.fault(
            f"An array of shape {value.shape} cannot be assigned to a part of shape {part.shape}."
        )
    index = tuple(np.int64(0 if extent == 1 else i) for i, extent in zip(own, value.shape, strict=True))
    if value.dtype.fields and value.field is None:
        return Record(value, index)
    return machine.memory.load(value, index, mask, op)


def copy_record(machine: Machine, target: Record, value: Value, mask: Mask, op: Operation) -> None:
    if not isinstance(value, Record):
        raise op.fault(f"Only a record can be stored in an element of `{target.view.name}`.")
    for name in target.view.dtype.names or ():
        view, indices = target.field(name, op)
        store_into(machine, view, indices, field_value(machine, value, name, mask, op), mask, op)


def field_value(machine: Machine, record: Record, name: str, mask: Mask, op: Operation) -> Value:
    """A record's field: a number, or the array or record that lies within it."""
    view, indices = record.field(name, op)
    if view.ndim > len(indices) or view.field is None:
        return as_record(part_of(view, indices, mask, op))
    return machine.memory.load(view, indices, mask, op)


def _shared(length: Extent, mask: Mask) -> tuple[int, np.ndarray | None]:
    """(the longest of the active lanes' lengths, each lane's own where they differ)."""
    if not isinstance(length, np.ndarray):
        return int(length), None
    active = length[mask.where]
    longest = int(active.max(initial=0))
    return longest, None if np.all(active == longest) else length

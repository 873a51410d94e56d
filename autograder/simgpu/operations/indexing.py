"""Arrays in expressions: elements, rows and slices, attributes and fields, and what is assigned to."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import EllipsisType
from typing import TypeGuard

import numpy as np

from autograder.language import overloads
from autograder.language.live import EnumNames
from autograder.language.modules import ALLOWED_MODULES, INSTEAD_OF_MISSING, MISSING_NAMES
from autograder.language.numeric_types import TypeReference, type_of
from autograder.language.program import Function, Namespace, Reference
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations import structured
from autograder.simgpu.operations.callables import Method
from autograder.simgpu.operations.expressions import frozen
from autograder.simgpu.operations.number_values import advice_instead_of, as_index, merged, number
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import CALLS, METHODS, VALUES
from autograder.simgpu.operations.slicing import check_one_length, field_value, lengths_of, of_element, part_of, size_of
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.records import Record, as_record
from autograder.simgpu.values.structures import Structure
from autograder.simgpu.values.values import NUMBERS, AnyIndices, Cut, Number, Value
from autograder.simgpu.values.variables import NamedItems

ELLIPSIS = EllipsisType
SLICE = slice


class Slice(Expression):
    """`lower:upper:step` in an index."""

    __slots__ = ("bounds",)

    def __init__(self, node: ast.AST, function: Function, bounds: Sequence[Expression | None]) -> None:
        super().__init__(node, function)
        self.bounds = bounds

    def value(self, machine: Machine, mask: Mask) -> Value:
        return slice(*(None if each is None else each.value(machine, mask) for each in self.bounds))


class Subscript(Expression):
    """`array[index]`, of which an element, a part, an item of a tuple or a field of a record is meant."""

    __slots__ = ("owner", "indices", "is_tuple", "field")

    def __init__(
        self, node: ast.AST, function: Function, owner: Expression, indices: Sequence[Expression], is_tuple: bool,
        field: str | None,
    ) -> None:  # fmt: skip
        """`field`: the name that stands in its place, written as a text; `is_tuple`: several indices with a comma."""
        super().__init__(node, function)
        self.owner, self.indices, self.is_tuple, self.field = owner, indices, is_tuple, field

    def value(self, machine: Machine, mask: Mask) -> Value:
        owner = self.owner.value(machine, mask)
        if type(owner) is View and self.field is None and (owner.shape or not owner.dtype.fields):
            found = [each.value(machine, mask) for each in self.indices]
            if len(found) == len(owner.shape) and not owner.dtype.fields and _are_indices(found):
                return machine.memory.load(owner, tuple(found), mask, self)
            return self._of_array(machine, owner, mask, found)
        owner = as_record(owner)
        if isinstance(owner, Structure):
            own = structured.operated(machine, self, ast.Subscript, (owner, self.key(machine, mask)), mask)
            if own is not None:
                return own[0]
        if isinstance(owner, tuple):
            return self._item(machine, owner, mask)
        if isinstance(owner, Record):
            return field_value(machine, owner, self._field_of(machine, owner, mask), mask, self)
        if isinstance(owner, EnumNames):
            return frozen(machine, self, owner.members[self._name(machine, mask)])
        if isinstance(owner, View) and self.field is not None:
            return Record(owner, ()).field(self.field, self)[0]
        return self._of_array(machine, owner, mask)

    def _of_array(self, machine: Machine, owner: Value, mask: Mask, found: list[Value] | None = None) -> Value:
        view, indices = self.element(machine, owner, mask, found)
        if len(indices) == len(view.shape) and SLICE not in map(type, indices):
            element = of_element(indices)
            if view.dtype.fields and view.field is None:
                return Record(view, element)
            return machine.memory.load(view, element, mask, self)
        return part_of(view, indices, mask, self)

    def key(self, machine: Machine, mask: Mask) -> Value:
        """What stands between the brackets, as one value."""
        if self.field is not None:
            return self.field
        values = [each.value(machine, mask) for each in self.indices]
        return tuple(values) if self.is_tuple else values[0]

    def _field_of(self, machine: Machine, owner: Record, mask: Mask) -> str:
        key = self.key(machine, mask)
        if not isinstance(key, (str, np.generic)):
            raise self.fault(f"`{self.text}` needs a field's name, or its number.")
        return owner.name_of(key)

    def _name(self, machine: Machine, mask: Mask) -> str:
        key = self.key(machine, mask)
        if not isinstance(key, str):
            raise self.fault(f"`{self.text}` needs a member's name.")
        return key

    def place(self, machine: Machine, mask: Mask) -> tuple[View, AnyIndices]:
        """The array and the indices that are meant where something is assigned."""
        owner = self.owner.value(machine, mask)
        if type(owner) is View and self.field is None:
            found = [each.value(machine, mask) for each in self.indices]
            if len(found) == len(owner.shape) and _are_indices(found):
                return owner, tuple(found)
            return self.element(machine, owner, mask, found)
        owner = as_record(owner)
        if isinstance(owner, Record):
            return owner.field(self._field_of(machine, owner, mask), self)
        return self.element(machine, owner, mask)

    def element(
        self, machine: Machine, owner: Value, mask: Mask, found: list[Value] | None = None
    ) -> tuple[View, AnyIndices]:
        """The array and the indices (lane vectors, scalars or slices) of `array[...]`; `found`: their values, if known."""
        if not isinstance(owner, View):
            raise self.fault(f"`{self.owner.text}` is not an array, so it cannot be indexed.")
        indices: list[Number | Cut | None] = []
        values = [each.value(machine, mask) for each in self.indices] if found is None else found
        for part, index in zip(self.indices, values, strict=True):
            if isinstance(index, NUMBERS) and index.dtype.kind in "iub":
                indices.append(index)
            elif isinstance(index, tuple):
                indices.extend([as_index(each, part) for each in index])
            elif index is None or isinstance(index, (SLICE, ELLIPSIS)):
                indices.append(index)
            else:
                indices.append(as_index(index, part))
        if ELLIPSIS in map(type, indices):
            at = next(i for i, index in enumerate(indices) if index is Ellipsis)
            own = [index for index in indices if index is not None]
            indices[at : at + 1] = [slice(None)] * (owner.ndim - len(own) + 1)
        owner = _with_new_axes(owner, indices, self)
        if len(indices) > len(owner.shape):
            dimensions = "1 dimension" if owner.ndim == 1 else f"{owner.ndim} dimensions"
            raise self.fault(f"`{owner.name}` has {dimensions}, but {len(indices)} indices are given.")
        return owner, tuple([slice(None) if index is None else index for index in indices])

    def _item(self, machine: Machine, owner: tuple[Value, ...], mask: Mask) -> Value:
        """An item of a tuple, by a number or one per lane; or some of them, by a slice."""
        index = self.key(machine, mask)
        if isinstance(index, SLICE):
            bounds = (index.start, index.stop)
            return owner[slice(*(None if each is None else int(each) for each in bounds))]
        if isinstance(index, np.ndarray):
            if not owner:
                raise self.fault("An empty tuple has no items.")
            index = np.where(index < 0, index + len(owner), index)
            outside = (index < 0) | (index >= len(owner))
            machine.raise_in_debug(self, outside, mask, IndexError, "tuple index out of range")
            chosen = owner[0]
            for position, each in enumerate(owner[1:], 1):
                chosen = merged(self, index == position, each, chosen)
            return chosen
        try:
            return owner[int(number(index, self))]
        except (IndexError, TypeError):
            raise self.fault(f"This tuple has {len(owner)} items; there is no item {self.text}.") from None


def _are_indices(values: list[Value]) -> TypeGuard[list[Number]]:
    """Whether values are plainly integers, each one or a lane vector."""
    for value in values:
        if type(value) is not np.int64 and not (isinstance(value, NUMBERS) and value.dtype.kind in "iub"):
            return False
    return True


class Attribute(Expression):
    """`value.name`."""

    __slots__ = ("owner", "name", "of_library", "built_in")

    def __init__(self, node: ast.AST, function: Function, owner: Expression, name: str) -> None:
        super().__init__(node, function)
        self.owner, self.name = owner, name
        self.of_library: tuple[Value, Value] | None = None  # a name of the library, and what it was found to stand for
        self.built_in: tuple[Value, Callable[[Batch], Value]] | None = None  # likewise, of one with a value in each batch

    def value(self, machine: Machine, mask: Mask) -> Value:
        owner, name = self.owner.value(machine, mask), self.name
        if isinstance(owner, Reference):
            if self.of_library is not None and self.of_library[0] is owner:
                return self.of_library[1]
            if self.built_in is not None and self.built_in[0] is owner:
                return self.built_in[1](machine.batch)
            path = f"{owner.path}.{name}"
            if isinstance(owner, TypeReference) and name == "type":
                return owner
            if path in VALUES:
                self.built_in = owner, VALUES[path]
                return VALUES[path](machine.batch)
            if path in MISSING_NAMES:
                raise self.fault(MISSING_NAMES[path], INSTEAD_OF_MISSING)
            meant = type_of(path) or Reference(path)
            self.of_library = owner, meant
            return meant
        if isinstance(owner, Structure) or overloads.has_member(name):
            own = structured.attribute(machine, self, owner, name, mask)
            if own is not None:
                return own[0]
        owner = as_record(owner)
        if isinstance(owner, View):
            return self._of_array(owner)
        if isinstance(owner, Record):
            return field_value(machine, owner, name, mask, self)
        if isinstance(owner, NamedItems) and name in owner.names:
            return owner[owner.names.index(name)]
        if isinstance(owner, EnumNames):
            if name not in owner.members:
                raise self.fault(f"`{owner.name}` has no member `{name}`.")
            return frozen(machine, self, owner.members[name])
        if isinstance(owner, Namespace):
            try:
                return frozen(machine, self, owner.member(name))
            except AttributeError:
                raise self.fault(f"The module `{owner.name}` has no `{name}`.") from None
        if isinstance(owner, NUMBERS) and name in ("real", "imag"):
            return np.real(owner) if name == "real" else np.imag(owner)
        if isinstance(owner, NUMBERS) and name in ("conjugate", "bit_count"):
            return Method(owner, name)
        raise self.fault(f"`{self.text}` has no meaning in a kernel.")

    def place(self, machine: Machine, mask: Mask) -> tuple[View, AnyIndices]:
        """The array and the indices of a record's field that is assigned to."""
        owner = as_record(self.owner.value(machine, mask))
        if isinstance(owner, Record):
            return owner.field(self.name, self)
        raise self.fault(f"`{self.text}` cannot be assigned to in a kernel.")

    def _of_array(self, view: View) -> Value:
        name = self.name
        if name == "shape":
            return lengths_of(view)
        if name == "size":
            return size_of(view)
        if name == "ndim":
            return np.int64(view.ndim)
        if name == "itemsize":
            return np.int64(view.dtype.itemsize)
        if name == "nbytes":
            return size_of(view) * np.int64(view.dtype.itemsize)
        if name == "strides":
            return tuple(np.int64(s * view.dtype.itemsize) for s in view.strides)
        if name == "dtype":
            return TypeReference(f"numpy.{view.dtype.name}", view.dtype)
        if name in ("real", "imag") and view.dtype.kind == "c":
            return _half(view, name)
        if name == "T":
            check_one_length(view, self)
            return replace(view, shape=view.shape[::-1], strides=view.strides[::-1], origin=None)
        if view.dtype.fields and view.field is None and name in view.dtype.fields:
            return Record(view, ()).field(name, self)[0]
        if name in METHODS:
            return Method(view, name)
        raise self.fault(
            f"Arrays in a kernel have no `.{name}`.", "Available: shape, size, ndim, dtype, strides, T."
        )


def _with_new_axes(view: View, indices: Sequence[Number | Cut | None], op: Operation) -> View:
    """The array with a dimension of extent 1 for each `None` among the indices."""
    if not any(index is None for index in indices):
        return view
    check_one_length(view, op)
    shape, strides = list(view.shape), list(view.strides)
    for axis, index in enumerate(indices):
        if index is None:
            shape.insert(axis, 1)
            strides.insert(axis, 0)
    return replace(view, shape=tuple(shape), strides=tuple(strides), origin=None)


def _half(view: View, name: str) -> View:
    """The real or the imaginary parts of complex elements, which lie side by side in memory."""
    half = view.dtype.type(0).real.dtype
    return replace(
        view, buffer=view.buffer.seen_as(half), offset=view.offset * 2 + (name == "imag"), dtype=half,
        strides=tuple(2 * step for step in view.strides),
    )  # fmt: skip


def no_such_name(op: Operation, path: str) -> None:
    """Refuses a name that a library lacks, or that is for the host alone."""
    if path in MISSING_NAMES:
        raise op.fault(MISSING_NAMES[path], INSTEAD_OF_MISSING)
    if path in VALUES or path in CALLS or type_of(path) is not None:
        return
    if any(each.startswith(f"{path}.") for each in (*CALLS, *VALUES, *ALLOWED_MODULES)):
        return  # a module, or a name such as cuda.threadIdx that stands for several
    library = {"numpy": np, "math": math}.get(path.partition(".")[0])
    if library is not None and hasattr(library, path.partition(".")[2].partition(".")[0]):
        return  # a function that kernels may not call, which is told where it is called
    raise op.fault(f"`{op.text}` cannot be used in a kernel on this device.", advice_instead_of(path))

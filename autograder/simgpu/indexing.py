"""Arrays in expressions: elements, rows and slices, attributes, fields, and the arrays that a kernel declares."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.live import EnumNames
from autograder.language.modules import INSTEAD_OF_MISSING, MISSING_NAMES
from autograder.language.numeric_types import TypeReference, type_of
from autograder.language.program import Namespace, Reference
from autograder.simgpu.intrinsics import VALUES
from autograder.simgpu.lanes import Mask
from autograder.simgpu.loops import calls_of_arrays_in_local_memory
from autograder.simgpu.memory import Buffer, View, contiguous_strides, poison
from autograder.simgpu.records import Record, as_record
from autograder.simgpu.slicing import Slicing, lengths_of, size_of
from autograder.simgpu.variables import Named

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

ELLIPSIS = type(...)
METHODS: dict[str, Any] = {}  # methods of arrays; see array_methods.py


@dataclass(frozen=True)
class Method:
    """An array's method, before it is called."""

    view: View
    name: str


class Indexing(Slicing):
    """The arrays of expressions; part of `Interpreter`."""

    def subscript(self: Interpreter, node: ast.Subscript, mask: Mask) -> Any:
        value = as_record(self.evaluate(node.value, mask))
        if isinstance(value, tuple):
            return self.tuple_item(node, value, mask)
        if isinstance(value, Record):
            field = value.name_of(self.evaluate(node.slice, mask))
            return self.field_value(value, field, mask, node)
        if isinstance(value, EnumNames):
            return self.freeze(value.members[self.evaluate(node.slice, mask)], node)
        if isinstance(value, View) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return Record(value, ()).field(node.slice.value, self, node)[0]
        view, indices = self.element_of(node, mask, value)
        if len(indices) == len(view.shape) and slice not in map(type, indices):
            if view.dtype.fields and view.field is None:
                return Record(view, indices)
            return self.memory.load(view, indices, mask, node)
        return self.part_of(view, indices, mask, node)

    def tuple_item(self: Interpreter, node: ast.Subscript, value: tuple, mask: Mask) -> Any:
        if isinstance(node.slice, ast.Slice):
            bounds = [self.evaluate(b, mask) if b else None for b in (node.slice.lower, node.slice.upper)]
            return value[slice(*(int(b) if b is not None else None for b in bounds))]
        index = self.evaluate(node.slice, mask)
        if isinstance(index, np.ndarray):
            if not value:
                raise self.fault(node, "An empty tuple has no items.")
            index = np.where(index < 0, index + len(value), index)
            self.raise_in_debug(node, (index < 0) | (index >= len(value)), mask, IndexError, "tuple index out of range")
            chosen = value[0]
            for position, each in enumerate(value[1:], 1):
                chosen = self.merged(node, index == position, each, chosen)
            return chosen
        try:
            return value[int(index)]
        except (IndexError, TypeError):
            raise self.fault(node, f"This tuple has {len(value)} items; there is no item {index}.") from None

    def element_of(self: Interpreter, node: ast.Subscript, mask: Mask, value: Any = None) -> tuple[View, tuple]:
        """The array and the indices (lane vectors, scalars or slices) of `array[...]`."""
        if value is None:
            value = as_record(self.evaluate(node.value, mask))
        if isinstance(value, Record):
            return value.field(value.name_of(self.evaluate(node.slice, mask)), self, node)
        if not isinstance(value, View):
            what = ast.unparse(node.value)
            raise self.fault(node, f"`{what}` is not an array, so it cannot be indexed.")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices: list[Any] = []
        for part in parts:
            index = self.index(part, mask)
            if isinstance(index, tuple):
                indices.extend(index)
            else:
                indices.append(index)
        if ELLIPSIS in map(type, indices):
            at = next(i for i, index in enumerate(indices) if index is Ellipsis)
            indices[at : at + 1] = [slice(None)] * (value.ndim - len(indices) + 1)
        if len(indices) > len(value.shape):
            dimensions = "1 dimension" if value.ndim == 1 else f"{value.ndim} dimensions"
            raise self.fault(node, f"`{value.name}` has {dimensions}, but {len(indices)} indices are given.")
        return value, tuple(indices)

    def index(self: Interpreter, node: ast.expr, mask: Mask) -> Any:
        if isinstance(node, ast.Slice):
            parts = [self.evaluate(p, mask) if p is not None else None for p in (node.lower, node.upper, node.step)]
            return slice(*parts)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return Ellipsis
        value = self.evaluate(node, mask)
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iub":
            return value
        if isinstance(value, tuple):
            return tuple(self.as_index(v, node) for v in value)
        return self.as_index(value, node)

    def as_index(self: Interpreter, value: Any, node: ast.AST) -> Any:
        value = self.number(value, node)
        if value.dtype.kind not in "iub":
            text = ast.unparse(node)
            raise self.fault(
                node,
                f"The index `{text}` is {value.dtype}; an index must be an integer.",
                "Use // instead of /, or int().",
            )
        return value

    def item_for(self: Interpreter, part: View, position: tuple, value: Any, mask: Mask, node: ast.AST) -> Any:
        """What an assignment to a slice puts at one position: the same number everywhere, or an array's element."""
        if isinstance(value, tuple) and part.ndim == 1 and len(value) == part.shape[0]:
            return value[position[0]]
        if not isinstance(value, View):
            return value
        self.check_one_length(part, node)
        self.check_one_length(value, node)
        own = position[len(position) - value.ndim :]
        if value.ndim > part.ndim or any(
            have not in (1, want) for have, want in zip(value.shape, part.shape[part.ndim - value.ndim :], strict=True)
        ):
            raise self.fault(
                node, f"An array of shape {value.shape} cannot be assigned to a part of shape {part.shape}."
            )
        index = tuple(np.int64(0 if extent == 1 else i) for i, extent in zip(own, value.shape, strict=True))
        if value.dtype.fields and value.field is None:
            return Record(value, index)
        return self.memory.load(value, index, mask, node)

    def copy_record(self: Interpreter, target: Record, value: Any, mask: Mask, node: ast.AST) -> None:
        if not isinstance(value, Record):
            raise self.fault(node, f"Only a record can be stored in an element of `{target.view.name}`.")
        for name in target.view.dtype.fields:
            view, indices = target.field(name, self, node)
            self.store_into(view, indices, self.field_value(value, name, mask, node), mask, node)

    def attribute(self: Interpreter, node: ast.Attribute, mask: Mask) -> Any:
        value = as_record(self.evaluate(node.value, mask))
        name = node.attr
        if isinstance(value, Named) and name in value.names:
            return value[value.names.index(name)]
        if isinstance(value, EnumNames):
            if name not in value.members:
                raise self.fault(node, f"`{value.name}` has no member `{name}`.")
            return self.freeze(value.members[name], node)
        if isinstance(value, Namespace):
            try:
                return self.freeze(value.member(name), node)
            except AttributeError:
                raise self.fault(node, f"The module `{value.name}` has no `{name}`.") from None
        if isinstance(value, Reference):
            path = f"{value.path}.{name}"
            if path in MISSING_NAMES:
                raise self.fault(node, MISSING_NAMES[path], INSTEAD_OF_MISSING)
            if path in VALUES:
                return VALUES[path](self)
            return type_of(path) or Reference(path)
        if isinstance(value, Record):
            return self.field_value(value, name, mask, node)
        if isinstance(value, View):
            return self.array_attribute(node, value, name)
        if isinstance(value, (np.ndarray, np.generic)) and name in ("real", "imag"):
            return getattr(value, name)
        if isinstance(value, (np.ndarray, np.generic)) and name in ("conjugate", "bit_count"):
            return Method(value, name)
        raise self.fault(node, f"`{ast.unparse(node)}` has no meaning in a kernel.")

    def field_value(self: Interpreter, record: Record, name: str, mask: Mask, node: ast.AST) -> Any:
        """A record's field: a number, or the array or record that lies within it."""
        view, indices = record.field(name, self, node)
        if view.ndim > len(indices) or view.field is None:
            return as_record(self.part_of(view, indices, mask, node))
        return self.memory.load(view, indices, mask, node)

    def array_attribute(self: Interpreter, node: ast.Attribute, view: View, name: str) -> Any:
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
            half = view.dtype.type(0).real.dtype
            return replace(
                view, buffer=view.buffer.seen_as(half), offset=view.offset * 2 + (name == "imag"), dtype=half,
                strides=tuple(2 * step for step in view.strides),
            )  # fmt: skip
        if name == "T":
            self.check_one_length(view, node)
            return replace(view, shape=view.shape[::-1], strides=view.strides[::-1], origin=None)
        if view.dtype.fields and view.field is None and name in view.dtype.fields:
            return Record(view, ()).field(name, self, node)[0]
        if name in METHODS:
            return Method(view, name)
        raise self.fault(
            node, f"Arrays in a kernel have no `.{name}`.", "Available: shape, size, ndim, dtype, strides, T."
        )

    def field_of(self: Interpreter, node: ast.Attribute, mask: Mask) -> tuple[View, tuple]:
        value = as_record(self.evaluate(node.value, mask))
        if isinstance(value, Record):
            return value.field(node.attr, self, node)
        raise self.fault(node, f"`{ast.unparse(node)}` cannot be assigned to in a kernel.")

    def unpack(self: Interpreter, value: Any, target: ast.Tuple | ast.List, mask: Mask) -> tuple:
        if isinstance(value, View):
            self.check_one_length(value, target)
            if value.ndim != 1 or value.shape[0] != len(target.elts):
                raise self.fault(target, f"`{value.name}` cannot be unpacked into {len(target.elts)} variables.")
            return tuple(self.memory.load(value, (np.int64(i),), mask, target) for i in range(value.shape[0]))
        if not isinstance(value, tuple):
            raise self.fault(
                target, f"One value cannot be unpacked into {len(target.elts)} variables.",
                "cuda.grid(2) gives two values; cuda.grid(1) gives one.",
            )  # fmt: skip
        if len(value) != len(target.elts):
            raise self.fault(target, f"{len(value)} values cannot be unpacked into {len(target.elts)} variables.")
        return value

    def new_array(
        self: Interpreter, node: ast.AST, space: str, shape: Any, dtype: np.dtype, dynamic_bytes: int | None = None
    ) -> View:
        """The shared or local array that this line declares: made once a launch, the same one each time it is reached."""
        known = self.shared if space == "shared" else self.local
        if node in known:
            return known[node]
        extents = tuple(int(e) for e in (shape if isinstance(shape, tuple) else (shape,)))
        size = int(np.prod(extents, dtype=np.int64))
        if space == "shared":
            unit = max(1, 128 // np.gcd(128, dtype.itemsize))  # blocks stay 128 bytes apart, so that banks line up
            room = max(unit, -(-size // unit) * unit)
            start = -(-self.shared_bytes // 16) * 16
            buffer = Buffer(np.empty(room * len(self.batch.blocks), dtype), start, "shared", initialised=False)
            self.shared_bytes = start + (size * dtype.itemsize if dynamic_bytes is None else 0)
            self.launch.note_shared(self, node)
            offset = self.batch.block_slot() * room
        else:
            buffer = Buffer(np.empty(max(1, size) * self.batch.size, dtype), 0, "local")
            if id(node) in calls_of_arrays_in_local_memory(self.frame.function):
                self.local_bytes += size * dtype.itemsize
                self.memory.count_clearing(node, size * dtype.itemsize)
            offset = np.arange(self.batch.size, dtype=np.int64) * max(1, size)
        poison(buffer.data)
        view = View(buffer, offset, extents, contiguous_strides(extents), dtype, "")
        known[node] = view
        return view

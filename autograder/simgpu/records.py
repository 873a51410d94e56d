"""Elements of structured arrays, whose fields are read and written one by one."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu.memory import View, contiguous_strides

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter


class Record:
    """One element of a structured array; its fields are read and written one by one."""

    def __init__(self, view: View, indices: tuple) -> None:
        self.view = view
        self.indices = indices

    def name_of(self, key: Any) -> str:
        """The field that `record[key]` means: by name, or by number."""
        return key if isinstance(key, str) else self.view.dtype.names[int(key)]

    def field(self, name: str, interpreter: Interpreter, node: ast.AST) -> tuple[View, tuple]:
        """Where a field lies: the array of that field over all records, and this record's indices."""
        fields = self.view.dtype.fields
        if name not in fields:
            raise interpreter.fault(node, f"`{self.view.name}` has no field `{name}`; it has {', '.join(fields)}.")
        dtype, start = fields[name][:2]
        if dtype.subdtype is None and dtype.fields is None and self.view.buffer.data.dtype.fields:
            return replace(self.view, field=name, dtype=dtype), self.indices
        return self.within(dtype, start, interpreter, node), self.indices

    def within(self, dtype: np.dtype, start: int, interpreter: Interpreter, node: ast.AST) -> View:
        """The arrays or records that lie inside the records, as a view with more dimensions over the same memory."""
        unit, inner = dtype.subdtype or (dtype, ())
        size, view = self.view.buffer.data.dtype.itemsize, self.view
        if size % unit.itemsize or start % unit.itemsize:
            raise interpreter.fault(
                node, f"A field of {unit} that does not lie at a multiple of its size cannot be simulated.",
                "Use np.dtype(..., align=True).",
            )  # fmt: skip
        step = size // unit.itemsize
        return replace(
            view, buffer=view.buffer.seen_as(unit), offset=view.offset * step + start // unit.itemsize,
            shape=view.shape + inner, strides=tuple(s * step for s in view.strides) + contiguous_strides(inner),
            dtype=unit, field=None,
        )  # fmt: skip


def as_record(value: Any) -> Any:
    """A single record that came as an array without dimensions, as a record."""
    if isinstance(value, View) and not value.shape and value.dtype.fields and value.field is None:
        return Record(value, ())
    return value

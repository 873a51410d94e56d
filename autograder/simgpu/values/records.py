"""Elements of structured arrays, whose fields are read and written one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.memory import View, contiguous_strides
from autograder.simgpu.values.values import Indices, Scalar, Value


class Record:
    """One element of a structured array; its fields are read and written one by one."""

    def __init__(self, view: View, indices: Indices) -> None:
        self.view = view
        self.indices = indices

    def name_of(self, key: str | Scalar) -> str:
        """The field that `record[key]` means: by name, or by number."""
        return key if isinstance(key, str) else (self.view.dtype.names or ())[int(key)]

    def field(self, name: str, op: Operation) -> tuple[View, Indices]:
        """Where a field lies: the array of that field over all records, and this record's indices."""
        fields: Mapping[str, Any] = self.view.dtype.fields or {}
        if name not in fields:
            raise op.fault(f"`{self.view.name}` has no field `{name}`; it has {', '.join(fields)}.")
        dtype, start = fields[name][:2]
        if dtype.subdtype is None and dtype.fields is None and self.view.buffer.data.dtype.fields:
            return replace(self.view, field=name, dtype=dtype), self.indices
        return self.within(dtype, start, op), self.indices

    def within(self, dtype: np.dtype, start: int, op: Operation) -> View:
        """The arrays or records that lie inside the records, as a view with more dimensions over the same memory."""
        unit, inner = dtype.subdtype or (dtype, ())
        size, view = self.view.buffer.data.dtype.itemsize, self.view
        if size % unit.itemsize or start % unit.itemsize:
            raise op.fault(
                f"A field of {unit} that does not lie at a multiple of its size cannot be simulated.",
                "Use np.dtype(..., align=True).",
            )  # fmt: skip
        step = size // unit.itemsize
        return replace(
            view, buffer=view.buffer.seen_as(unit), offset=view.offset * step + start // unit.itemsize,
            shape=view.shape + inner, strides=tuple(s * step for s in view.strides) + contiguous_strides(inner),
            dtype=unit, field=None,
        )  # fmt: skip


def as_record(value: Value) -> Value:
    """A single record that came as an array without dimensions, as a record."""
    if isinstance(value, View) and not value.shape and value.dtype.fields and value.field is None:
        return Record(value, ())
    return value

"""What is known of a value before a kernel runs: its kind, its type, and whether all threads of a block have the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from autograder.language.program import Function, Reference
from autograder.simgpu.facts.forms import Form
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.memory import Space

FIELD = "field"  # begins the `part` of an array that is one field of records


@dataclass(frozen=True)
class KnownNumber:
    """A number: its dtype if known, the form of its value, and whether it may differ from thread to thread."""

    dtype: np.dtype | None
    form: Form
    varies: bool
    made_by: tuple[Operation, ...] = ()  # the integer operations that computed it
    is_product: bool = False  # of floats: an addition to it is fused, one instruction with the product

    @property
    def constant(self) -> int | None:
        """Its value, if that is the same integer in every run."""
        if self.form[1]:
            return None
        is_unsigned = self.dtype is not None and self.dtype.kind == "u"
        return self.form[0] % 2**64 if is_unsigned else self.form[0]


@dataclass(frozen=True)
class KnownArray:
    """An array or part of one: which memory it lies in, and where it comes from.

    `identity` tells it from other arrays. An array made in the kernel overlaps with no other; two arguments may be the same
    array. `extents` are the sizes of its dimensions, as far as the source fixes them.
    """

    dtype: np.dtype
    ndim: int
    space: Space
    identity: Hashable
    extents: tuple[int | None, ...]
    prefix: tuple[Form, ...] = ()  # of a row or another part picked by whole numbers: those numbers
    part: Hashable = None  # of any other part: what identifies it
    unsigned_prefix: tuple[bool, ...] = ()  # which numbers of `prefix` cannot be negative, by their types

    @property
    def is_whole(self) -> bool:
        """Whether an index counts from the beginning of the whole array: not so for a slice."""
        return self.part is None

    @property
    def base(self) -> Hashable:
        """The part that addresses are computed from: the fields of a record lie at fixed distances from its beginning."""
        return self.part[2] if isinstance(self.part, tuple) and self.part[0] == FIELD else self.part

    def field(self, name: object) -> KnownArray | None:
        """The array of one field of its records; None unless that is a number."""
        fields: Mapping[Any, Any] = self.dtype.fields or {}
        dtype: np.dtype | None = fields[name][0] if name in fields else None
        if dtype is None or dtype.fields or dtype.subdtype:
            return None
        return replace(self, dtype=dtype, part=(FIELD, name, self.part))


@dataclass(frozen=True)
class KnownTuple:
    """A tuple."""

    items: tuple[Known, ...]


@dataclass(frozen=True)
class KnownName:
    """A library name, a type, a function, None or a text: something that is no number, array, tuple or range."""

    value: object


@dataclass(frozen=True)
class KnownRange:
    """A range(), and the type of its numbers."""

    start: KnownNumber
    stop: KnownNumber
    step: KnownNumber
    dtype: np.dtype


@dataclass(frozen=True, eq=False)
class Inner:
    """A function defined inside a kernel, with the variables that it sees."""

    function: object
    variables: Mapping[str, Known]


@dataclass(frozen=True)
class Unknown:
    """Any value; `arrays`: the arrays that it may be or contain."""

    arrays: frozenset[Hashable] = frozenset()


@dataclass(frozen=True, kw_only=True)
class KnownRecord(Unknown):
    """An element of an array of records; its fields are loaded and stored one by one."""

    array: KnownArray
    indices: tuple[Form, ...]
    varies: bool
    unsigned: tuple[bool, ...]


@dataclass(frozen=True)
class Conflicting(Unknown):
    """Different kinds of value on different paths, for which there is no common type."""


Known: TypeAlias = KnownNumber | KnownArray | KnownTuple | KnownName | KnownRange | Inner | Unknown


def arrays_in(known: Known) -> frozenset[Hashable]:
    """The identities of the arrays that a value may be or contain."""
    if isinstance(known, KnownArray):
        return frozenset([known.identity])
    if isinstance(known, KnownTuple):
        return frozenset().union(*map(arrays_in, known.items))
    return known.arrays if isinstance(known, Unknown) else frozenset()


def conflict(a: Known, b: Known) -> bool:
    """Whether Numba surely has no common type for two values; an unknown value conflicts with none.

    Neither does None: Numba makes an optional type of it.
    """
    if isinstance(a, KnownTuple) and isinstance(b, KnownTuple):
        return len(a.items) != len(b.items) or any(map(conflict, a.items, b.items))
    if isinstance(a, KnownArray) and isinstance(b, KnownArray):
        return (a.dtype, a.ndim) != (b.dtype, b.ndim)
    one, other = _family(a), _family(b)
    return None not in (one, other) and one != other


def _family(known: Known) -> Hashable:
    """What two values need in common to be held by the same variable; None if anything goes."""
    if isinstance(known, KnownNumber):
        return "number" if known.dtype is not None and known.dtype.kind in "biufc" else None
    if isinstance(known, (KnownArray, KnownTuple, KnownRange)):
        return type(known).__name__
    if not isinstance(known, KnownName) or known.value is None:
        return None
    if isinstance(known.value, str):
        return "text"
    return known.value if isinstance(known.value, (Reference, Function)) else None


def varies(known: Known) -> bool:
    """Whether a value may differ between the threads of a block."""
    if isinstance(known, KnownNumber):
        return known.varies
    if isinstance(known, KnownTuple):
        return any(map(varies, known.items))
    return isinstance(known, Unknown)

"""What is known of a value before a kernel runs: its kind, its type, and whether all threads of a block have the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from autograder.language.program import Function, Reference
from autograder.simgpu.facts.forms import Form
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.memory import Space


@dataclass(frozen=True)
class KnownNumber:
    """A number: its dtype where that is known, which value it is, and whether it may differ from thread to thread."""

    dtype: np.dtype | None
    form: Form
    varies: bool
    made_by: tuple[Operation, ...] = ()  # the integer arithmetic that it comes from
    is_product: bool = False  # of floats: an addition that uses it is one instruction with it

    @property
    def constant(self) -> int | None:
        """The integer that it is in every run."""
        if self.form[1]:
            return None
        is_unsigned = self.dtype is not None and self.dtype.kind == "u"
        return self.form[0] % 2**64 if is_unsigned else self.form[0]


@dataclass(frozen=True)
class KnownArray:
    """An array or a part of one: the memory that it lies in and what it was made or given as.

    `identity` tells it from other arrays: what is made in a kernel overlaps with nothing, two arguments may be one array.
    `extents` are the sizes of its dimensions, where they are written down.
    """

    dtype: np.dtype
    ndim: int
    space: Space
    identity: Hashable
    extents: tuple[int | None, ...]
    prefix: tuple[Form, ...] = ()  # of a row or a part that whole numbers picked: those
    part: Hashable = None  # of any other part: what tells it from others

    @property
    def is_whole(self) -> bool:
        """Whether it is no slice or the like: an index then says which element of the whole is meant."""
        return self.part is None


@dataclass(frozen=True)
class KnownTuple:
    """A tuple."""

    items: tuple[Known, ...]


@dataclass(frozen=True)
class KnownName:
    """What a name of the library, a type or a function stands for."""

    value: object


@dataclass(frozen=True)
class KnownRange:
    """A range(): what it begins with, ends before and adds each round."""

    start: KnownNumber
    stop: KnownNumber
    step: KnownNumber


@dataclass(frozen=True, eq=False)
class Inner:
    """A function that is defined in a kernel, with the variables that it sees."""

    function: object
    variables: Mapping[str, Known]


@dataclass(frozen=True)
class Unknown:
    """Anything; `arrays` are those that may be in it."""

    arrays: frozenset[Hashable] = frozenset()


@dataclass(frozen=True)
class Conflicting(Unknown):
    """Things of two kinds, the one on one path and the other on another, that no one type is for."""


Known: TypeAlias = KnownNumber | KnownArray | KnownTuple | KnownName | KnownRange | Inner | Unknown


def arrays_in(known: Known) -> frozenset[Hashable]:
    """The identities of the arrays that a value may lead to."""
    if isinstance(known, KnownArray):
        return frozenset([known.identity])
    if isinstance(known, KnownTuple):
        return frozenset().union(*map(arrays_in, known.items))
    return known.arrays if isinstance(known, Unknown) else frozenset()


def conflict(a: Known, b: Known) -> bool:
    """Whether two values are surely of kinds that Numba has no one type for; what is not known is in no conflict.

    None goes with anything: Numba makes an optional value of the two.
    """
    if isinstance(a, KnownTuple) and isinstance(b, KnownTuple):
        return len(a.items) != len(b.items) or any(map(conflict, a.items, b.items))
    if isinstance(a, KnownArray) and isinstance(b, KnownArray):
        return (a.dtype, a.ndim) != (b.dtype, b.ndim)
    one, other = _family(a), _family(b)
    return None not in (one, other) and one != other


def _family(known: Known) -> Hashable:
    """What a value has to have in common with another one, to be held by the same variable; None where anything goes."""
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

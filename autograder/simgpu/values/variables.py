"""A kernel's local variables: one value per lane, though different lanes may have been assigned at different times."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from autograder.language.program import Function
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Axis, Origin, View
from autograder.simgpu.values.numba_types import unify
from autograder.simgpu.values.structures import Structure
from autograder.simgpu.values.values import Value

MOST_LAYERS = 3
NUMERIC = "biufc"  # kinds of dtype that unify with each other


class Unmergeable(Exception):
    """Two paths left different kinds of thing in one variable, or different arrays of one type."""

    def __init__(self, *, of_one_type: bool = False) -> None:
        super().__init__()
        self.of_one_type = of_one_type  # to Numba: it is this engine that cannot hold both

    def said(self, what: str, remedy: str = "Numba needs one type.") -> tuple[str, str]:
        """What is wrong, in words, and a remedy; `what`: who holds, or returns, the two."""
        if not self.of_one_type:
            return f"{what} different kinds of thing on different paths.", remedy
        return (
            f"{what} one array in some threads and another in others. A GPU can do that; the simulated GPU cannot.",
            "Use each array under its own name, in a branch of its own.",
        )


class NamedItems(tuple["Value", ...]):
    """A tuple whose items also have names: a named tuple, or a vector type's x, y, z and w."""

    names: tuple[str, ...]

    def __new__(cls, items: Iterable[Value], names: tuple[str, ...]) -> NamedItems:
        made = super().__new__(cls, items)
        made.names = names
        return made


def packed(function: Function, arguments: Sequence[Value]) -> dict[str, Value] | None:
    """Arguments by parameter, those beyond the parameters as the tuple `*args`; None where the number is wrong."""
    named, rest = arguments[: len(function.parameters)], arguments[len(function.parameters) :]
    if len(named) < len(function.parameters) or rest and function.star is None:
        return None
    bound = dict(zip(function.parameters, named, strict=True))
    return bound if function.star is None else {**bound, function.star: tuple(rest)}


class Variable:
    """Layers of (mask, value), the latest on top: what each lane sees is the topmost layer that covers it.

    Assigning under a mask that covers the layers below replaces them without copying; a copy (`np.where`) is made only
    when a value is wanted by more lanes than the top layer covers. Values are never changed in place.
    """

    __slots__ = ("layers",)

    def __init__(self) -> None:
        self.layers: list[tuple[Mask, Value]] = []

    def write(self, mask: Mask, value: Value) -> None:
        layers = self.layers
        if len(layers) == 1 and layers[0][0] is mask:
            layers[0] = (mask, value)
            return
        while layers and layers[-1][0].is_within(mask):
            layers.pop()
        layers.append((mask, value))
        if len(layers) > MOST_LAYERS:
            self._drop_lowest()

    def _drop_lowest(self) -> None:
        """Makes one layer of the lowest two, or leaves out the lowest where those above cover it."""
        layers = self.layers
        (bottom, old), (upper, new) = layers[:2]
        covered = upper.lanes
        for above, _ in layers[2:]:
            covered = covered | above.lanes
        if not (bottom.lanes & ~covered).any():
            del layers[0]
            return
        with contextlib.suppress(Unmergeable):  # two arrays: nobody may ever want one for the lanes of both
            layers[:2] = [(bottom.joined(upper), merge(upper.lanes, new, old))]

    def seen_by(self, mask: Mask) -> Value:
        """The value for the lanes of `mask`, where they all got it at once; else None."""
        top, value = self.layers[-1]
        return value if mask is top or mask.is_within(top) else None

    def read(self, mask: Mask) -> tuple[Value, np.ndarray | None]:
        """(the value for the lanes of `mask`, lanes of it that were never assigned or None)."""
        value = self.seen_by(mask)
        if value is not None:
            return value, None
        base = next((n for n in range(len(self.layers) - 1, 0, -1) if mask.is_within(self.layers[n][0])), 0)
        if base:  # what lies below is of other lanes, and may be of another kind
            return self._read_above(base, mask), None
        try:
            return self._read_all(mask)
        except Unmergeable:
            return self._read_own(mask)

    def _read_all(self, mask: Mask) -> tuple[Value, np.ndarray | None]:
        """What `read` gives, of all layers together, which are one from then on."""
        covered = self.layers[0][0].lanes
        value = self.layers[0][1]
        for upper, new in self.layers[1:]:
            value = merge(upper.lanes, new, value)
            covered = covered | upper.lanes
        missing = mask.lanes & ~covered
        unset = missing if missing.any() else None
        if all(upper.is_within(self.layers[0][0]) for upper, _ in self.layers[1:]):
            self.layers = [(self.layers[0][0], value)]
        else:
            together = functools.reduce(Mask.joined, (each for each, _ in self.layers))
            self.layers = [(together, value)]
        if unset is None and not mask.is_within(self.layers[0][0]):
            self.layers.append((mask, value))
        return value, unset

    def _read_own(self, mask: Mask) -> tuple[Value, np.ndarray | None]:
        """The same, of those layers alone that hold something for the lanes of `mask`: the others are of another kind."""
        value, covered = None, np.zeros_like(mask.lanes)
        for layer, new in self.layers:
            here = layer.lanes & mask.lanes
            if here.any():
                value = new if (here | ~covered | ~mask.lanes).all() else merge(layer.lanes, new, value)
                covered = covered | here
        missing = mask.lanes & ~covered
        return value, missing if missing.any() else None

    def _read_above(self, base: int, mask: Mask) -> Value:
        """The value for the lanes of `mask`, all of which a layer that is not the lowest covers."""
        whole, value = self.layers[base]
        above = self.layers[base + 1 :]
        for upper, new in above:
            value = merge(upper.lanes, new, value)
        if all(upper.is_within(whole) for upper, _ in above):
            self.layers[base:] = [(whole, value)]
        else:
            self.layers.append((mask, value))
        return value


def merge(choose: np.ndarray, new: Value, old: Value) -> Value:
    """`new` in the lanes chosen, `old` elsewhere, in the dtype that Numba would give the variable."""
    if new is old:
        return old
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        items = [merge(choose, n, o) for n, o in zip(new, old, strict=True)]
        return NamedItems(items, new.names) if isinstance(new, NamedItems) else tuple(items)
    if isinstance(new, Structure) and isinstance(old, Structure) and new.type == old.type:
        return Structure(new.type, tuple(merge(choose, n, o) for n, o in zip(new.parts, old.parts, strict=True)))
    if isinstance(new, View) and isinstance(old, View):
        alike = (
            new.lengths is old.lengths
            and new.buffer is old.buffer
            and (new.shape, new.strides, new.field) == (old.shape, old.strides, old.field)
        )
        if alike:
            return replace(
                new, offset=np.where(choose, new.offset, old.offset), origin=_merged_origin(choose, new, old),
                outside=_chosen_outside(choose, new.outside, old.outside),
            )  # fmt: skip
        raise Unmergeable(of_one_type=(new.dtype, new.ndim) == (old.dtype, old.ndim))
    if not isinstance(new, (np.ndarray, np.generic)) or not isinstance(old, (np.ndarray, np.generic)):
        if type(new) is type(old) and _are_same(new, old):
            return old
        raise Unmergeable
    dtype = new.dtype if new.dtype == old.dtype else _common(new.dtype, old.dtype)
    if isinstance(new, np.generic) and isinstance(old, np.generic) and new.dtype == old.dtype and new == old:
        return old
    if new.dtype != dtype:
        new = new.astype(dtype)
    if old.dtype != dtype:
        old = old.astype(dtype)
    return np.where(choose, new, old)


def _merged_origin(choose: np.ndarray, new: View, old: View) -> Origin | None:
    """Where threads that hold different parts of an array took them from; None where there is no one rule for all."""
    one, two = Origin.of(new), Origin.of(old)
    if one.whole is not two.whole or any(
        isinstance(a, tuple) != isinstance(b, tuple) for a, b in zip(one.axes, two.axes, strict=True)
    ):
        return None
    return replace(one, axes=tuple(_chosen(choose, a, b) for a, b in zip(one.axes, two.axes, strict=True)))


def _chosen_outside(choose: np.ndarray, new: np.ndarray | None, old: np.ndarray | None) -> np.ndarray | None:
    if new is None and old is None:
        return None
    return np.where(choose, np.False_ if new is None else new, np.False_ if old is None else old)


def _chosen(choose: np.ndarray, new: Axis, old: Axis) -> Axis:
    if isinstance(new, tuple) and isinstance(old, tuple):
        return new if new is old else (np.where(choose, new[0], old[0]), np.where(choose, new[1], old[1]))
    if isinstance(new, tuple) or isinstance(old, tuple):
        raise Unmergeable
    return np.where(choose, new, old)


def _are_same(new: Value, old: Value) -> bool:
    """Whether two values of one kind that are no numbers are equal: two texts, functions, ranges."""
    if isinstance(new, tuple):
        return False  # of one length they were merged item by item
    try:
        return bool(new == old)
    except ValueError:  # what they hold differs from lane to lane
        return False


def _common(new: np.dtype, old: np.dtype) -> np.dtype:
    """The dtype of a variable that holds the one on some paths and the other on others; texts and dates mix with none."""
    if new.kind in NUMERIC and old.kind in NUMERIC:
        return unify(new, old)
    raise Unmergeable

"""From indices to element offsets: bounds, negative indices, and patterns of access that repeat.

In a loop like `for k: total += a[row, k] * b[k, column]` each access repeats itself: the index vectors stay the very same
objects and only a scalar moves on. Such an access is recognised (`Pattern`), and what was worked out for it once (offsets,
bounds, sectors by alignment, readers of each element) serves every later round.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu import primitives as prim
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View

if TYPE_CHECKING:
    from autograder.simgpu.access import Memory

NO_INDEX = np.zeros(1, np.int64)


@dataclass
class Pattern:
    """An access whose index vectors repeat: its offsets, but for the part that all lanes share."""

    mask: Mask
    view: View
    vectors: tuple[np.ndarray, ...]
    start: int  # from what all lanes share to the lowest element of an active lane: below 0 where they count backwards
    offsets: np.ndarray  # int64 by lane, from the lowest element; 0 in inactive lanes
    lowest: tuple[int, ...]  # of each index vector, over the active lanes
    highest: tuple[int, ...]
    axes: list[int]  # of those vectors
    step: int  # where every lane is active and each wants the element that many behind the lane before it; or 0
    counts: dict[Any, Any] = field(default_factory=dict)  # by alignment, kept by the counting half of `Memory`
    readers: Any = None  # kept by the ordering half

    def reaches(self, axes: list[int], vectors: list[np.ndarray], shifts: list[int]) -> bool:
        """Whether these are its vectors, moved by so much, and no lane leaves the array."""
        if axes != self.axes:
            return False
        for which, shift in enumerate(shifts):
            if vectors[which] is not self.vectors[which]:
                return False
            extent = self.view.shape[axes[which]]
            if self.lowest[which] + shift < 0 or self.highest[which] + shift >= extent:
                return False
        return True

    def elements(self, base: int) -> slice:
        """The elements of all lanes, in order, where there is a `step`."""
        return slice(base, base + self.step * (len(self.offsets) - 1) + 1, self.step)


class Place:
    """Where an access lands: one element for all lanes (`linear` an int) or one for each, and the lanes inside the array.

    Of a pattern, `base` is the lowest element that an active lane wants.
    """

    __slots__ = ("mask", "pattern", "base", "_linear")

    def __init__(
        self, linear: np.ndarray | int | None, mask: Mask, pattern: Pattern | None = None, base: int = 0
    ) -> None:
        self._linear = linear
        self.mask = mask
        self.pattern = pattern
        self.base = base

    @property
    def linear(self) -> np.ndarray | int:
        """Element offsets by lane, or the one that all lanes share; 0 where a lane has no access."""
        if self._linear is None:
            self._linear = self.pattern.offsets + self.base
            if self.mask.active < len(self._linear):
                self._linear *= self.mask.lanes
        return self._linear

    @property
    def is_shared_by_all(self) -> bool:
        return isinstance(self._linear, int)


class Addressing:
    """The locating half of `Memory`."""

    def __init__(self) -> None:
        self._inside = np.empty(self.interpreter.batch.size, np.bool_)
        self._patterns: dict[ast.AST, Pattern] = {}
        self._seen: dict[ast.AST, tuple] = {}

    def locate(self: Memory, view: View, indices: tuple, mask: Mask, node: ast.AST, kind: int) -> Place:
        """Checks indices against the shape and turns them into element offsets; what is outside is reported."""
        if self.interpreter.has_raised:
            mask = mask.without(self.interpreter.exited)
        if view.outside is not None:
            self.report_no_such_part(view, indices, mask, np.flatnonzero(mask.lanes & view.outside), node, kind)
            mask = mask.without(view.outside)
        if view.lengths is not None:
            indices, mask = self._within_lengths(view, indices, mask, node, kind)
        base = 0
        axes: list[int] = []
        vectors: list[np.ndarray] = []
        shifts: list[int] = []
        for axis, index in enumerate(indices):
            if isinstance(index, np.ndarray):
                vector, shift = self.interpreter.origin_of(index)
                axes.append(axis)
                vectors.append(vector)
                shifts.append(shift)
                base += shift * view.strides[axis]
                continue
            i = int(index)
            if i < 0:
                i += view.shape[axis]
                self.report_negative(view, indices, mask, mask.where[:1], node, kind)
            if not 0 <= i < view.shape[axis]:
                self.report_outside(view, indices, mask, mask.where, node, kind)
                return Place(0, Mask(np.zeros_like(mask.lanes), mask, 0, 0))
            base += i * view.strides[axis]
        by_lane = isinstance(view.offset, np.ndarray)
        if not by_lane:
            base += view.offset
            if not vectors:
                return Place(base, mask)
        pattern = self._patterns.get(node)
        if pattern is not None and pattern.mask is mask and pattern.view is view:
            if pattern.reaches(axes, vectors, shifts):
                return Place(None, mask, pattern, base + pattern.start)
        return self._locate_each(view, indices, mask, node, kind, axes, tuple(vectors), base)

    def _within_lengths(
        self: Memory, view: View, indices: tuple, mask: Mask, node: ast.AST, kind: int
    ) -> tuple[tuple, Mask]:
        """Indices into parts whose length differs by lane, counted from the start, and the lanes that stay inside."""
        wrapped, outside, negative = list(indices), np.zeros_like(mask.lanes), np.zeros_like(mask.lanes)
        for axis, length in enumerate(view.lengths):
            if length is not None:
                wrapped[axis] = np.where(indices[axis] < 0, indices[axis] + length, indices[axis]).astype(np.int64)
                negative |= indices[axis] < 0
                outside |= (wrapped[axis] < 0) | (wrapped[axis] >= length)
        for report, lanes in ((self.report_outside, outside), (self.report_negative, negative & ~outside)):
            found = np.flatnonzero(lanes & mask.lanes)
            if len(found):
                own = (
                    n if each is None else int(each[found[0]]) for n, each in zip(view.shape, view.lengths, strict=True)
                )
                report(replace(view, shape=tuple(own)), indices, mask, found, node, kind)
        return tuple(wrapped), mask.only(~outside)

    def _locate_each(
        self: Memory, view: View, indices: tuple, mask: Mask, node: ast.AST, kind: int, axes: list[int],
        vectors: tuple, base: int,
    ) -> Place:  # fmt: skip
        """The long way, lane by lane; the second time that the same vectors come by, they become a pattern."""
        linear, inside = self._offsets(view, indices, mask, node, kind)
        if isinstance(view.offset, np.ndarray):
            linear += view.offset
        if inside is not mask or not mask.active:
            linear[~inside.lanes] = 0
            return Place(linear, inside)
        seen = self._seen.get(node)
        if seen is not None and seen[0] is mask and seen[1] is view and _same(seen[2], vectors):
            where = mask.where
            if any(isinstance(index, np.ndarray) and index[where].min() < 0 for index in indices):
                return Place(linear, mask)  # a lane that wraps round now will not when all move on
            lowest = tuple(int(vector[where].min()) for vector in vectors)
            highest = tuple(int(vector[where].max()) for vector in vectors)
            first = int(linear[where].min())
            offsets = np.where(mask.lanes, linear - first, 0)
            step = _step(offsets) if mask.active == len(offsets) else 0
            self._patterns[node] = Pattern(mask, view, vectors, first - base, offsets, lowest, highest, axes, step)
        else:
            self._seen[node] = (mask, view, vectors)
        return Place(linear, mask)

    def _offsets(
        self: Memory, view: View, indices: tuple, mask: Mask, node: ast.AST, kind: int
    ) -> tuple[np.ndarray, Mask]:
        """Element offsets within the view, and the mask of the lanes that stay inside it."""
        linear = np.zeros(self.interpreter.batch.size, np.int64)
        varying = [(axis, index) for axis, index in enumerate(indices) if isinstance(index, np.ndarray)]
        shared = sum(
            (int(i) + (view.shape[axis] if i < 0 else 0)) * view.strides[axis]
            for axis, i in enumerate(indices)
            if not isinstance(i, np.ndarray)
        )
        if not isinstance(view.offset, np.ndarray):
            shared += view.offset
        if not varying:
            linear += shared
            return linear, mask
        totals = np.zeros(prim.TOTALS, np.int64)
        lanes = mask.lanes
        for pair in range(0, len(varying), 2):
            (axis0, index0), *second = varying[pair : pair + 2]
            axis1, index1 = second[0] if second else (0, NO_INDEX)
            part = linear if pair == 0 else np.empty_like(linear)
            prim.locate(
                lanes, _int64(index0), view.shape[axis0], view.strides[axis0], bool(second), _int64(index1),
                view.shape[axis1], view.strides[axis1], shared if pair == 0 else 0, part, self._inside, totals,
            )  # fmt: skip
            if pair:
                linear += part
            if totals[prim.BAD_COUNT] or len(varying) > 2:
                lanes = lanes & self._inside
        if totals[prim.WRAPPED_COUNT]:
            self.report_negative(view, indices, mask, totals[prim.WRAPPED_LANE : prim.WRAPPED_LANE + 1], node, kind)
        if totals[prim.BAD_COUNT]:
            self.report_outside(view, indices, mask, np.flatnonzero(mask.lanes & ~lanes), node, kind)
            mask = mask.only(lanes)
        return linear, mask


def _step(offsets: np.ndarray) -> int:
    step = int(offsets[1] - offsets[0])
    return step if step > 0 and np.all(np.diff(offsets) == step) else 0


def _same(one: tuple, other: tuple) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _int64(index: np.ndarray) -> np.ndarray:
    if index.dtype.kind not in "iub":
        raise KernelFault(f"An index must be an integer; here it is {index.dtype}.", remedy="Use // or int().")
    return np.ascontiguousarray(index, dtype=np.int64)

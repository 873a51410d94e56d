"""From indices to element offsets: bounds, negative indices, and patterns of access that repeat.

In a loop like `for k: total += a[row, k] * b[k, column]` each access repeats itself: the index vectors stay the very same
objects and only a scalar moves on. Such an access is recognised (`Pattern`), and what was worked out for it once (offsets,
bounds, sectors by alignment, readers of each element) serves every later round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.counting.place import LINE_BYTES, Pattern, Place
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.access_reports import AccessReports
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Indices

INT64 = np.dtype(np.int64)
MOST_WIDE = 8  # index vectors that are kept as int64 too
NO_INDEX = np.zeros(1, np.int64)
TOO_LARGE = np.uint64(1 << 62)
NO_ORIGIN = np.zeros(0, np.int64)


class Sums:
    """Which lane vectors are the sum of another one and a scalar, and of which: an access that moves along shows by it."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[np.ndarray, int]] = {}

    def note(self, made: np.ndarray, vector: np.ndarray, shift: np.generic, is_less: bool = False) -> None:
        """`made` is `vector` and a whole number, added or (`is_less`) taken away; it stays alive for as long as it is not
        forgotten."""
        vector, earlier = self.of(vector)
        far = int(cast(np.integer[Any], shift))
        self._made[id(made)] = vector, earlier - far if is_less else earlier + far

    def forget(self, made: np.ndarray) -> None:
        self._made.pop(id(made), None)

    def of(self, index: np.ndarray) -> tuple[np.ndarray, int]:
        """(vector, scalar) that an index is the sum of; itself and 0 where it was not made by adding a scalar."""
        return self._made.get(id(index), (index, 0))


class Addressing:
    """Locates the elements that an access wants, for one batch of blocks."""

    def __init__(self, batch: Batch, sums: Sums, reports: AccessReports) -> None:
        self.batch = batch
        self.sums = sums
        self.reports = reports
        self._inside = np.empty(batch.size, np.bool_)
        self._totals = np.zeros(prim.TOTALS, np.int64)  # of an access; of nearly all they stay 0
        self._wide: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by id: index vectors, and they as int64
        self._patterns: dict[Operation, Pattern] = {}
        self._last: tuple[Operation, Mask, View, Indices, Place] | None = None  # the last access that took the long way
        self._seen: dict[Operation, tuple[Mask, View, tuple[np.ndarray, ...]]] = {}

    def locate(self, view: View, indices: Indices, mask: Mask, op: Operation, kind: int) -> Place:
        """Checks indices against the shape and turns them into element offsets; what is outside is reported."""
        pattern = self._patterns.get(op)
        if pattern is not None and pattern.mask is mask and pattern.view is view and not self.batch.has_raised:
            base = self._moved(pattern, indices)
            if base is not None:
                return Place(None, mask, pattern, base)
        if self.batch.has_raised:
            mask = mask.without(self.batch.exited)
        if view.outside is not None:
            self.reports.report_no_such_part(view, indices, mask, np.flatnonzero(mask.lanes & view.outside), op, kind)
            mask = mask.without(view.outside)
        if view.lengths is not None:
            indices, mask = self._within_lengths(view, indices, mask, op, kind)
        base = 0
        vectors: list[np.ndarray] = []
        for axis, index in enumerate(indices):
            if isinstance(index, np.ndarray):
                vector, shift = self.sums.of(index)
                vectors.append(vector)
                base += shift * view.strides[axis]
                continue
            i = int(index)
            if i < 0:
                i += view.shape[axis]
                self.reports.report_negative(view, indices, mask, mask.where[:1], op, kind)
            if not 0 <= i < view.shape[axis]:
                self.reports.report_outside(view, indices, mask, mask.where, op, kind)
                return Place(0, Mask(np.zeros_like(mask.lanes), mask, 0, 0))
            base += i * view.strides[axis]
        if not isinstance(view.offset, np.ndarray):
            base += view.offset
            if not vectors:
                return Place(base, mask)
        return self._locate_each(view, indices, mask, op, kind, tuple(vectors), base)

    def _moved(self, pattern: Pattern, indices: Indices) -> int | None:
        """The lowest element that is wanted, where these are the pattern's vectors, moved, and no lane leaves the array."""
        base, view, which = pattern.start, pattern.view, 0
        for index, extent, stride, varies in zip(indices, view.shape, view.strides, pattern.varies, strict=True):
            if isinstance(index, np.ndarray) is not varies:
                return None
            if isinstance(index, np.ndarray):
                vector, shift = self.sums.of(index)
                if vector is not pattern.vectors[which]:
                    return None
                if pattern.lowest[which] + shift < 0 or pattern.highest[which] + shift >= extent:
                    return None
                which += 1
            else:
                shift = int(index)
                if not 0 <= shift < extent:
                    return None
            base += shift * stride
        return base

    def _within_lengths(
        self, view: View, indices: Indices, mask: Mask, op: Operation, kind: int
    ) -> tuple[Indices, Mask]:
        """Indices into parts whose length differs by lane, counted from the start, and the lanes that stay inside."""
        wrapped, outside, negative = list(indices), np.zeros_like(mask.lanes), np.zeros_like(mask.lanes)
        lengths = view.lengths or (None,) * view.ndim
        for axis, length in enumerate(lengths):
            if length is not None:
                backwards = np.less(indices[axis], 0)
                wrapped[axis] = np.where(backwards, np.add(indices[axis], length), indices[axis]).astype(np.int64)
                negative |= backwards
                outside |= np.less(wrapped[axis], 0) | np.greater_equal(wrapped[axis], length)
        for report, lanes in ((self.reports.report_outside, outside), (self.reports.report_negative, negative & ~outside)):
            found = np.flatnonzero(lanes & mask.lanes)
            if len(found):
                own = (
                    n if each is None else int(each[found[0]]) for n, each in zip(view.shape, lengths, strict=True)
                )
                report(replace(view, shape=tuple(own)), indices, mask, found, op, kind)
        return tuple(wrapped), mask.only(~outside)

    def _locate_each(
        self, view: View, indices: Indices, mask: Mask, op: Operation, kind: int,
        vectors: tuple[np.ndarray, ...], base: int,
    ) -> Place:  # fmt: skip
        """The long way, lane by lane; the second time that the same vectors come by, they become a pattern."""
        last = self._last
        if last is not None and last[0] is op and last[1] is mask and last[2] is view and _same(last[3], indices):
            return last[4]  # `a[i] += 1`: stored where it was just loaded
        linear, inside, are_plain = self._offsets(view, indices, mask, op, kind)
        if inside is not mask or not mask.active:
            linear[~inside.lanes] = 0
            return Place(linear, inside)
        place = Place(linear, mask)
        if not are_plain:
            return place  # a lane that wraps round now will not when all move on
        self._last = op, mask, view, indices, place
        seen = self._seen.get(op)
        if seen is not None and seen[0] is mask and seen[1] is view and _same(seen[2], vectors):
            varies = tuple(isinstance(index, np.ndarray) for index in indices)
            if view.outside is None and view.lengths is None:
                moved_by = base - (view.offset if isinstance(view.offset, int) else 0)
                self._patterns[op] = pattern_of(view, mask, vectors, varies, linear, moved_by)
        else:
            self._seen[op] = (mask, view, vectors)
        return place

    def _offsets(
        self, view: View, indices: Indices, mask: Mask, op: Operation, kind: int
    ) -> tuple[np.ndarray, Mask, bool]:
        """Element offsets, the mask of the lanes that stay inside the array, and whether no index counts from its end."""
        linear = np.empty(self.batch.size, np.int64)
        origin, shared = (view.offset, 0) if isinstance(view.offset, np.ndarray) else (NO_ORIGIN, view.offset)
        varying: list[tuple[int, np.ndarray]] = []
        for axis, index in enumerate(indices):
            if isinstance(index, np.ndarray):
                varying.append((axis, index))
            else:
                i = int(index)
                shared += (i + view.shape[axis] if i < 0 else i) * view.strides[axis]
        if not varying:
            linear[:] = shared
            if origin is not NO_ORIGIN:
                linear += origin
            return linear, mask, True
        totals, lanes = self._totals, mask.lanes
        is_plain = True
        for pair in range(0, len(varying), 2):
            (axis0, index0), *second = varying[pair : pair + 2]
            axis1, index1 = second[0] if second else (0, NO_INDEX)
            part = linear if pair == 0 else np.empty_like(linear)
            is_plain &= prim.locate(
                lanes, self._as_int64(index0), view.shape[axis0], view.strides[axis0], bool(second), self._as_int64(index1),
                view.shape[axis1], view.strides[axis1], shared if pair == 0 else 0, origin if pair == 0 else NO_ORIGIN, part,
                self._inside, totals,
            )  # fmt: skip
            if pair:
                linear += part
            if not is_plain or len(varying) > 2:
                lanes = lanes & self._inside
        if is_plain:
            return linear, mask, True
        self._totals = np.zeros(prim.TOTALS, np.int64)
        if totals[prim.WRAPPED_COUNT]:
            self.reports.report_negative(view, indices, mask, totals[prim.WRAPPED_LANE : prim.WRAPPED_LANE + 1], op, kind)
        if totals[prim.BAD_COUNT]:
            self.reports.report_outside(view, indices, mask, np.flatnonzero(mask.lanes & ~lanes), op, kind)
            mask = mask.only(lanes)
        return linear, mask, not totals[prim.WRAPPED_COUNT]


    def _as_int64(self, index: np.ndarray) -> np.ndarray:
        """`_int64`; kept for the next access by the same vector, as of `threadIdx`, which is int32."""
        if index.dtype is INT64:
            return np.ascontiguousarray(index)
        known = self._wide.get(id(index))
        if known is None:
            if len(self._wide) >= MOST_WIDE:
                self._wide.clear()
            known = self._wide[id(index)] = index, _int64(index)
        return known[1]


def pattern_of(
    view: View, mask: Mask, vectors: tuple[np.ndarray, ...], varies: tuple[bool, ...], linear: np.ndarray, moved_by: int = 0
) -> Pattern:
    """The access at these elements, by lane; `moved_by`: how far the scalars in its indices have moved it."""
    extents = [prim.extent(mask.lanes, _int64(vector)) for vector in vectors]
    lowest, highest = tuple(low for low, _ in extents), tuple(high for _, high in extents)
    first = prim.extent(mask.lanes, linear)[0]
    offsets = np.where(mask.lanes, linear - first, 0)
    step = _step(offsets) if mask.active == len(offsets) else 0
    unit = _unit(offsets * view.data.itemsize)
    return Pattern(mask, view, vectors, first - moved_by, offsets, lowest, highest, varies, step, unit)


def _step(offsets: np.ndarray) -> int:
    step = int(offsets[1] - offsets[0])
    return step if step > 0 and np.all(np.diff(offsets) == step) else 0


def _unit(distances: np.ndarray) -> int:
    """The largest power of 2, up to the bytes of a line, that divides all of these."""
    all_bits = int(np.bitwise_or.reduce(distances)) | LINE_BYTES
    return all_bits & -all_bits


def _same(one: Indices, other: Indices) -> bool:
    if len(one) != len(other):
        return False
    for mine, theirs in zip(one, other, strict=True):  # noqa: SIM110  a generator costs more than what it goes through
        if mine is not theirs:
            return False
    return True


def _int64(index: np.ndarray) -> np.ndarray:
    """An unsigned index that went below 0 is a large number, outside of any array: only signed ones count from the end."""
    if index.dtype == np.uint64:
        index = np.minimum(index, TOO_LARGE)
    return np.ascontiguousarray(index, dtype=np.int64)

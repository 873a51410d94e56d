"""The sentences about an access that went wrong: which thread, which element, what else touched it, and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.counting.place import Place
from autograder.simgpu.counting.tracing import ACCESS_KINDS
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.machine.reports import Reports
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering import order_primitives as order_prim
from autograder.simgpu.ordering.order import Order
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import Extent, View
from autograder.simgpu.values.values import Indices, Number

READ, WRITE, ATOMIC = prim.READ, prim.WRITE, prim.ATOMIC
VERB = {READ: "reads", WRITE: "writes", ATOMIC: "updates"}


class AccessReports:
    """Tells of accesses that leave their array, race, or read what nobody wrote."""

    def __init__(self, launch: LaunchState, batch: Batch, order: Order, reports: Reports) -> None:
        self.launch = launch
        self.batch = batch
        self.order = order
        self.reports = reports

    def index_at(self, indices: Sequence[Number | Extent], lane: int) -> tuple[int, ...]:
        return tuple(int(i[lane]) if isinstance(i, np.ndarray) else int(i) for i in indices)

    def report_outside(
        self, view: View, indices: Indices, mask: Mask, bad: np.ndarray, op: Operation, kind: int
    ) -> None:
        if not len(bad):
            return
        index = self.index_at(indices, int(bad[0]))
        if view.origin is not None:
            whole, own = view.origin.whole, self.index_at(view.origin.index(index), int(bad[0]))
            if _is_outside(own, whole.shape):  # or the end of a slice is meant, which is no end of the array
                view, index = replace(whole, name=view.name), own
        self._report_outside(view, index, bad, op, kind)

    def report_no_such_part(
        self, view: View, indices: Indices, mask: Mask, bad: np.ndarray, op: Operation, kind: int
    ) -> None:
        """An element is wanted of a part that lies outside its array."""
        if not len(bad):
            return
        index = self.index_at(indices, int(bad[0]))
        if view.origin is not None:
            index = self.index_at(view.origin.index(index), int(bad[0]))
            view = replace(view.origin.whole, name=view.name)
        self._report_outside(view, index, bad, op, kind)

    def _report_outside(
        self, view: View, index: tuple[int, ...], bad: np.ndarray, op: Operation, kind: int
    ) -> None:
        what = f"`{view.name}{list(index)}`, outside its shape {view.shape}"
        limits = [f"{axis} must be below {size}" for axis, size in zip(_axes(view.ndim), view.shape, strict=True)]
        guard = " and ".join(limits)
        if view.outside is not None and not _is_outside(index, view.shape):  # transposed or reshaped since it was taken
            what = f"an element of a part of `{view.name}` that lies outside the array"
            guard = "before the part is taken"
        self.reports.report(
            "out_of_bounds",
            op,
            lane=int(bad[0]),
            array=view.name,
            space=view.buffer.space,
            access=ACCESS_KINDS[kind],
            index=index,
            shape=view.shape,
            occurrences=len(bad),
            message=f"{VERB[kind].capitalize()} {what}.",
            remedy=(
                f"Let only threads inside the array get here, for example with a guard ({guard})."
                if view.shape != (0,)
                else "It has no element. (A shared array of shape 0 has as many as the launch asks for in bytes: "
                "kernel[grid, block, stream, bytes].)"
            ),
        )

    def report_negative(
        self, view: View, indices: Indices, mask: Mask, lanes: np.ndarray, op: Operation, kind: int
    ) -> None:
        if not len(lanes):
            return
        index = self.index_at(indices, int(lanes[0]))
        if any(i + size < 0 for i, size in zip(index, view.shape, strict=True)):
            return  # outside either way: reported as that
        self.reports.report(
            "negative_index",
            op,
            lane=int(lanes[0]),
            array=view.name,
            space=view.buffer.space,
            access=ACCESS_KINDS[kind],
            index=index,
            shape=view.shape,
            severity="warning",
            message=f"{VERB[kind].capitalize()} `{view.name}{list(index)}`: a negative index counts from the end.",
            remedy="On the GPU it wraps silently to the end of the array; guard the index if that is not meant.",
        )

    def report_overflow(
        self, view: View, active: np.ndarray, dtype: np.dtype, where: np.ndarray, op: Operation
    ) -> None:
        limits = np.iinfo(dtype)
        outside = np.flatnonzero((active < limits.min) | (active > limits.max)) if np.ndim(active) else [0]
        shown = active[outside[0]] if np.ndim(active) else active
        self.reports.report(
            "overflow_on_store",
            op,
            lane=int(where[outside[0]]),
            array=view.name,
            space=view.buffer.space,
            access="store",
            shape=_whole(view).shape,
            severity="warning",
            occurrences=len(outside),
            message=f"Stores {int(shown)} in `{view.name}`, whose {dtype} holds {limits.min} to {limits.max}: it wraps.",
            remedy="Use a wider dtype for the array, or reduce the value before you store it.",
        )

    def report_unset(self, view: View, place: Place, findings: np.ndarray, op: Operation, kind: int) -> None:
        lane = int(findings[order_prim.UNSET_LANE])
        index = self.element(view, place, lane)
        self.reports.report(
            "uninitialised_read",
            op,
            lane=lane,
            array=view.name,
            space=view.buffer.space,
            access=ACCESS_KINDS[kind],
            index=index,
            shape=_whole(view).shape,
            occurrences=int(findings[order_prim.UNSET_COUNT]),
            message=f"Reads `{view.name}{list(index)}` before anything was written there.",
            remedy=(
                "Shared memory starts with whatever was there before: write it first, then wait at a barrier."
                if view.buffer.space == "shared"
                else "Memory from cuda.device_array starts with whatever was there before: write it first."
            ),
        )

    def report_race(
        self, view: View, place: Place, findings: np.ndarray, op: Operation, kind: int, value: Number | None,
        is_under_atomic: bool,
    ) -> None:
        lane = int(findings[order_prim.RACE_LANE])
        other = int(findings[order_prim.RACE_OTHER])
        wrote = bool(findings[order_prim.RACE_OTHER_WROTE])
        other_line = self.launch.line_of_site(int(findings[order_prim.RACE_OTHER_SITE]))
        index = self.element(view, place, lane)
        same_line = other_line == op.line
        scope = int(findings[order_prim.RACE_SCOPE])
        changes_too = kind == WRITE and self._both_change(place, lane, other)
        if is_under_atomic and not changes_too:
            remedy = (
                "A lock or a ticket orders other accesses only with fences: put cuda.threadfence() between the access and "
                "the atomic that lets others go on, and after the atomic by which a thread's turn comes."
            )
        elif same_line and kind == WRITE and wrote:
            remedy = "Give each thread an element of its own, or use an atomic."
        elif same_line and changes_too:
            remedy = "Both change this element at once, and one change is lost: use an atomic (cuda.atomic.add)."
        elif scope == order_prim.BETWEEN_BLOCKS:
            remedy = (
                "Blocks run in any order and cannot wait for each other: "
                "read in a second launch, or, where both only add, use an atomic."
            )
        elif same_line and kind == WRITE:
            barrier = "cuda.syncwarp() or cuda.syncthreads()" if scope == order_prim.WITHIN_WARP else "cuda.syncthreads()"
            remedy = f"One statement cannot wait in between: read into a variable, wait at {barrier}, then write."
        elif scope == order_prim.WITHIN_WARP:
            remedy = "Threads of one warp need cuda.syncwarp() or cuda.syncthreads() between the two accesses."
            exchanged = self.order.exchanged
            if exchanged is not None and exchanged[lane // prim.WARP] > findings[order_prim.RACE_OTHER_AT]:
                remedy += " A shuffle or a vote in between makes lanes wait, and orders no memory."
        else:
            remedy = "Put cuda.syncthreads() between the two accesses, where every thread of the block reaches it."
        severity = "error"
        if kind == WRITE and wrote and isinstance(value, np.generic):
            linear = place.linear if isinstance(place.linear, int) else int(place.linear[lane])
            if same_line or view.data[linear] == value:
                severity = "warning"  # every thread writes the same value: untidy, but the result is known
        other_block, other_thread = self.launch.who(other)
        elsewhere = "the same line" if same_line else f"line {other_line.number}" if other_line else "another line"
        whose = "" if other_block == self.batch.who(lane)[0] else f" of block {other_block}"
        self.reports.report(
            "race",
            op,
            lane=lane,
            array=view.name,
            space=view.buffer.space,
            access=ACCESS_KINDS[kind],
            other_writes=wrote,
            index=index,
            shape=_whole(view).shape,
            occurrences=int(findings[order_prim.RACE_COUNT]),
            other_line=other_line,
            other_thread=other_thread,
            severity=severity,
            message=(
                f"Race on `{view.name}{list(index)}`: this thread {VERB[kind]} it while thread {other_thread}{whose} "
                f"{'writes' if wrote else 'reads'} it at {elsewhere}, with nothing in between to order them."
            ),
            remedy=remedy,
        )

    def _both_change(self, place: Place, lane: int, other: int) -> bool:
        """Whether another thread is about to write the element that this lane writes, in the same step."""
        other_lane, lanes = other - self.batch.first_thread, place.mask.lanes
        if not (0 <= other_lane < lanes.size and lanes[other_lane]):
            return False
        return isinstance(place.linear, int) or bool(place.linear[other_lane] == place.linear[lane])

    def element(self, view: View, place: Place, lane: int) -> tuple[int, ...]:
        """The index, within the array that the view is a part of, of the element that a lane accesses."""
        linear = place.linear if isinstance(place.linear, int) else int(place.linear[lane])
        offset = int(view.offset[lane]) if isinstance(view.offset, np.ndarray) else view.offset
        rest, index = linear - offset, []
        for stride in view.strides:
            step, rest = divmod(rest, stride) if stride else (0, rest)
            index.append(int(step))
        if view.origin is None:
            return tuple(index)
        given = self.index_at(view.origin.index(index), lane)
        return tuple(i + size if i < 0 else i for i, size in zip(given, _whole(view).shape, strict=True))


def _whole(view: View) -> View:
    """The array that the view is a part of, which is itself where it is no part."""
    return view if view.origin is None else view.origin.whole


def _is_outside(index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return any(not -size <= i < size for i, size in zip(index, shape, strict=True))


def _axes(ndim: int) -> tuple[str, ...]:
    return ("the index",) if ndim == 1 else tuple(f"index {axis}" for axis in range(ndim))

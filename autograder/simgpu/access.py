"""Where loads, stores and atomics happen: locate the elements, count what moves, check the order, then move the data.

START HERE to see where sectors and bank conflicts are counted: `Memory.load` and `Memory.store` read top-down.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu import primitives as prim
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import Buffer, View
from autograder.simgpu.numba_types import scalar
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

READ, WRITE, ATOMIC = prim.READ, prim.WRITE, prim.ATOMIC
VERB = {READ: "reads", WRITE: "writes", ATOMIC: "updates"}
NO_INDEX = np.zeros(1, np.int64)
LINES_PER_PASS = 4  # tags that L1 looks up at once: measured on an H200, perfmodel/measurements/microbenchmarks.json


@dataclass(frozen=True)
class Access:
    """One warp's memory instruction, kept for pictures: byte offsets from the array's start, -1 for an inactive lane."""

    kind: str  # load, store or atomic
    space: str
    array: str
    itemsize: int
    shape: tuple[int, ...]
    block: tuple[int, int, int]
    warp: int  # within the block
    addresses: np.ndarray  # int64[32]
    step: int  # how many times this line had run before, for this warp


@dataclass(frozen=True)
class Place:
    """Where an access lands: element offsets by lane (or one for all), and the lanes that stay inside the array."""

    linear: np.ndarray | int
    mask: Mask


class Memory:
    """Carries out the accesses of one batch on behalf of the interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.scratch_inside = np.empty(interpreter.batch.size, np.bool_)

    # -- the three kinds of access ------------------------------------------------------------------------------

    def load(self, view: View, indices: tuple, mask: Mask, node: ast.AST) -> Any:
        """The elements at `indices` as a lane vector, or one scalar where every lane reads the same element."""
        place = self.locate(view, indices, mask, node, READ)
        self.count(view, place, node, READ)
        self.check(view, place, node, READ)
        data = self.data_of(view)
        if isinstance(place.linear, int):
            return data[place.linear] if place.mask.active else data.dtype.type(0)
        if not len(data):
            return np.zeros(len(place.linear), data.dtype)
        return data.take(place.linear, mode="clip")

    def store(self, view: View, indices: tuple, value: Any, mask: Mask, node: ast.AST) -> None:
        """Writes `value` (cast to the array's dtype, as Numba does); where lanes collide the last one wins."""
        if view.read_only:
            raise self.interpreter.fault(node, f"`{view.name}` is a constant array: a kernel cannot write to it.")
        place = self.locate(view, indices, mask, node, WRITE)
        self.count(view, place, node, WRITE)
        where = place.mask.where
        value = self.cast(value, self.data_of(view).dtype, where, view, node)
        self.check(view, place, node, WRITE, value)
        if not len(where):
            return
        linear = place.linear if isinstance(place.linear, int) else place.linear[where]
        data = self.data_of(view)
        if isinstance(value, np.ndarray):
            value = value[where] if not isinstance(linear, int) else value[where[-1]]
        data[linear] = value
        self.interpreter.memory_changed()

    def atomic(
        self, operation: str, view: View, indices: tuple, values: tuple, mask: Mask, node: ast.AST, want_old: bool
    ) -> Any:
        """An atomic update in lane order; returns the old values where `want_old`."""
        from autograder.simgpu.atomics import apply_atomic

        place = self.locate(view, indices, mask, node, ATOMIC)
        self.count(view, place, node, ATOMIC)
        self.check(view, place, node, ATOMIC)
        data = self.data_of(view)
        where = place.mask.where
        size = self.interpreter.batch.size
        old = np.zeros(size, data.dtype) if want_old else None
        if len(where):
            linear = np.full(len(where), place.linear) if isinstance(place.linear, int) else place.linear[where]
            operands = [self.cast(v, data.dtype, where, view, node) for v in values]
            operands = [v[where] if isinstance(v, np.ndarray) else np.full(len(where), v) for v in operands]
            before = apply_atomic(operation, data, linear, operands, want_old)
            if old is not None:
                old[where] = before
            self.interpreter.memory_changed()
        return old

    # -- locating -----------------------------------------------------------------------------------------------

    def locate(self, view: View, indices: tuple, mask: Mask, node: ast.AST, kind: int) -> Place:
        """Checks indices against the shape and turns them into element offsets; what is outside is reported."""
        base = 0
        vectors = []
        for axis, index in enumerate(indices):
            if isinstance(index, np.ndarray):
                vectors.append((axis, index))
                continue
            i = int(index)
            if i < 0:
                i += view.shape[axis]
                self.report_negative(view, indices, mask, mask.where[:1], node, kind)
            if not 0 <= i < view.shape[axis]:
                self.report_outside(view, indices, mask, mask.where, node, kind)
                return Place(0, Mask(np.zeros_like(mask.lanes), mask, 0, 0))
            base += i * view.strides[axis]
        if not vectors and not isinstance(view.offset, np.ndarray):
            return Place(base + view.offset, mask)
        if not isinstance(view.offset, np.ndarray):
            base += view.offset
        linear = np.empty(self.interpreter.batch.size, np.int64)
        if not vectors:
            np.add(view.offset, base, out=linear)
            return Place(linear, mask)
        inside = self.scratch_inside
        totals = np.zeros(prim.TOTALS, np.int64)
        lanes = mask.lanes
        for pair in range(0, len(vectors), 2):
            (axis0, index0), *second = vectors[pair : pair + 2]
            axis1, index1 = second[0] if second else (0, NO_INDEX)
            part = linear if pair == 0 else np.empty_like(linear)
            prim.locate(
                lanes, _int64(index0), view.shape[axis0], view.strides[axis0], bool(second), _int64(index1),
                view.shape[axis1], view.strides[axis1], base if pair == 0 else 0, part, inside, totals,
            )  # fmt: skip
            if pair:
                linear += part
                lanes = lanes & inside
            elif len(vectors) > 2:
                lanes = inside.copy()
        if totals[prim.WRAPPED_COUNT]:
            self.report_negative(view, indices, mask, totals[prim.WRAPPED_LANE : prim.WRAPPED_LANE + 1], node, kind)
        if totals[prim.BAD_COUNT]:
            if len(vectors) <= 2:
                lanes = inside.copy()
            bad = np.flatnonzero(mask.lanes & ~lanes)
            self.report_outside(view, indices, mask, bad, node, kind)
            mask = mask.only(lanes)
            linear[~mask.lanes] = 0
        if isinstance(view.offset, np.ndarray):
            linear += view.offset
        return Place(linear, mask)

    def data_of(self, view: View) -> np.ndarray:
        return view.buffer.data if view.field is None else view.buffer.data[view.field]

    def cast(self, value: Any, dtype: np.dtype, where: np.ndarray, view: View, node: ast.AST) -> Any:
        """`value` in the array's dtype; integers that do not fit wrap around and are reported."""
        if not isinstance(value, (np.ndarray, np.generic)):
            value = scalar(value)
        if value.dtype == dtype:
            return value
        if dtype.kind in "iu" and value.dtype.kind in "iu" and len(where):
            limits = np.iinfo(dtype)
            active = value[where] if isinstance(value, np.ndarray) else value
            if np.any(active < limits.min) or np.any(active > limits.max):
                self.report_overflow(view, active, dtype, where, node)
        if dtype.kind in "iu" and value.dtype.kind == "f":
            return np.nan_to_num(value, nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64).astype(dtype)
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise self.interpreter.fault(node, f"A complex value cannot be stored in `{view.name}` ({dtype}).")
        return value.astype(dtype)

    # -- counting -----------------------------------------------------------------------------------------------

    def count(self, view: View, place: Place, node: ast.AST, kind: int) -> None:
        """Adds what the access moves to the row of its source line."""
        row = self.interpreter.count_instruction(node, place.mask)
        if not place.mask.active:
            return
        if self.interpreter.trace is not None:
            self.trace(view, place, node, kind)
        space = view.buffer.space
        if space == "global":
            row[SLOT["global_index_terms"]] += view.ndim * place.mask.warps
            self._count_global(row, view, place, kind)
        elif space == "shared":
            self._count_shared(row, view, place, kind)
        elif space == "local":
            row[SLOT["local_load_requests" if kind == READ else "local_store_requests"]] += place.mask.warps
        else:
            row[SLOT["constant_load_requests"]] += place.mask.warps

    def _count_global(self, row: list[int], view: View, place: Place, kind: int) -> None:
        buffer, itemsize = view.buffer, self.data_of(view).itemsize
        address = buffer.address
        stride = buffer.itemsize
        if view.field is not None:
            address += buffer.data.dtype.fields[view.field][1]
        if kind == ATOMIC:
            linear = self.as_vector(place)
            counted = prim.count_atomics(place.mask.lanes, linear, address, stride, buffer.touched)
            row[SLOT["global_atomic_requests"]] += counted[0]
            row[SLOT["global_atomic_sectors"]] += counted[1]
            worst = SLOT["global_atomic_worst_multiplicity"]
            row[worst] = max(row[worst], counted[2])
            return
        name = "load" if kind == READ else "store"
        origin, unit = address, itemsize
        if isinstance(place.linear, int):
            begin = address + place.linear * stride
            first, last = begin // prim.SECTOR_BYTES, (begin + itemsize - 1) // prim.SECTOR_BYTES
            buffer.touched[first - buffer.address // prim.SECTOR_BYTES] |= 1 if kind == READ else 2
            requests, sectors = place.mask.warps, place.mask.warps * (last - first + 1)
            lines, elements = requests, requests
            linear = None
        else:
            totals = np.zeros(prim.TOTALS, np.int64)
            linear = place.linear
            if view.field is not None:  # elements of a structure lie `stride` apart but only `itemsize` bytes are moved
                unit = int(np.gcd(stride, itemsize))
                linear = linear * (stride // unit) + (address - buffer.address) // unit
                origin = buffer.address
            mark = np.uint8(1 + (kind != READ))
            prim.count_sectors(place.mask.lanes, linear, origin, unit, buffer.touched, mark, totals)
            requests, sectors, lines, elements = (int(n) for n in totals[:4])
        if kind == READ:
            self._count_first_level(row, buffer, place, linear, origin, unit, requests, lines)
        row[SLOT[f"global_{name}_requests"]] += requests
        row[SLOT[f"global_{name}_sectors"]] += sectors
        row[SLOT[f"global_{name}_lines"]] += lines
        row[SLOT[f"global_{name}_useful_bytes"]] += elements * itemsize

    def _count_first_level(
        self, row: list[int], buffer: Buffer, place: Place, linear: np.ndarray | None, origin: int, unit: int,
        requests: int, lines: int,
    ) -> None:  # fmt: skip
        """Adds the passes of a load through L1, and what the first block of the batch must fetch into it."""
        batch = self.interpreter.batch
        lanes, stamp = place.mask.lanes[: batch.geometry.padded], batch.first_thread + 1
        if linear is None:
            wavefronts = requests
            linear = np.full(1, place.linear, np.int64)
            lanes = np.array([bool(lanes.any())])
            origin, unit = buffer.address, buffer.itemsize
        elif lines == requests and unit <= 4:  # the words of a line lie in different banks
            wavefronts = requests
        else:
            banked = prim.count_wavefronts(place.mask.lanes, linear, origin, unit)[1]
            wavefronts = max(banked, -(-lines // LINES_PER_PASS))
        row[SLOT["global_load_wavefronts"]] += wavefronts
        new = prim.count_new_sectors(lanes, linear[: lanes.size], origin, unit, buffer.stamps, stamp)
        row[SLOT["block_load_sectors"]] += new * len(batch.blocks)

    def _count_shared(self, row: list[int], view: View, place: Place, kind: int) -> None:
        itemsize = self.data_of(view).itemsize
        if kind == ATOMIC:
            scratch = np.zeros(view.buffer.data.nbytes // 32 + 2, np.uint8)
            counted = prim.count_atomics(place.mask.lanes, self.as_vector(place), 0, itemsize, scratch)
            row[SLOT["shared_atomic_requests"]] += counted[0]
            worst = SLOT["shared_atomic_worst_multiplicity"]
            row[worst] = max(row[worst], counted[2])
            return
        name = "load" if kind == READ else "store"
        counted = prim.count_wavefronts(place.mask.lanes, self.as_vector(place), view.buffer.address, itemsize)
        row[SLOT[f"shared_{name}_requests"]] += counted[0]
        row[SLOT[f"shared_{name}_wavefronts"]] += counted[1]
        row[SLOT[f"shared_{name}_bank_conflicts"]] += counted[2]

    def as_vector(self, place: Place) -> np.ndarray:
        if isinstance(place.linear, int):
            return np.full(self.interpreter.batch.size, place.linear, np.int64)
        return place.linear

    def trace(self, view: View, place: Place, node: ast.AST, kind: int) -> None:
        """Keeps the first accesses of each line, warp by warp, for pictures."""
        interpreter = self.interpreter
        batch = interpreter.batch
        linear = self.as_vector(place)
        name = ("load", "store", "atomic")[kind]
        origin = view.offset if isinstance(view.offset, np.ndarray) else None
        for warp in np.unique(place.mask.where // prim.WARP):
            lanes = slice(warp * prim.WARP, (warp + 1) * prim.WARP)
            start = origin[lanes] if origin is not None and view.buffer.space != "global" else 0
            offsets = np.where(place.mask.lanes[lanes], (linear[lanes] - start) * view.buffer.itemsize, -1)
            slot, in_block = divmod(int(warp), batch.geometry.warps_per_block)
            block = batch.geometry.block_index(int(batch.blocks[slot]))
            interpreter.trace.add_access(
                interpreter.line(node), name, view.buffer.space, view.name, view.buffer.itemsize, view.shape, block,
                in_block, offsets,
            )  # fmt: skip

    # -- checking the order -------------------------------------------------------------------------------------

    def check(self, view: View, place: Place, node: ast.AST, kind: int, value: Any = None) -> None:
        """Looks for races and uninitialised reads by the shadow of earlier accesses, and records this one."""
        buffer = view.buffer
        if buffer.space == "constant" or not place.mask.active:
            return
        if buffer.space == "local":
            return
        if buffer.shadow is None:
            if kind == READ and not self.interpreter.is_written(buffer):
                return
            buffer.need_shadow()
        interpreter = self.interpreter
        order = interpreter.order
        findings = np.zeros(prim.FINDINGS, np.int64)
        prim.check_order(
            place.mask.lanes, self.as_vector(place), kind, interpreter.batch.first_thread,
            interpreter.batch.geometry.padded, order.now, buffer.space == "shared" or not buffer.all_set,
            interpreter.site(node), order.grid_sync, order.block_sync, order.warp_sync, buffer.shadow, findings,
        )  # fmt: skip
        if findings[prim.UNSET_COUNT]:
            self.report_unset(view, place, findings, node)
        if findings[prim.RACE_COUNT]:
            self.report_race(view, place, findings, node, kind, value)

    # -- reports ------------------------------------------------------------------------------------------------

    def index_at(self, indices: tuple, lane: int) -> tuple[int, ...]:
        return tuple(int(i[lane]) if isinstance(i, np.ndarray) else int(i) for i in indices)

    def report_outside(self, view: View, indices: tuple, mask: Mask, bad: np.ndarray, node: ast.AST, kind: int) -> None:
        if not len(bad):
            return
        index = self.index_at(indices, int(bad[0]))
        limits = [f"{axis} must be below {size}" for axis, size in zip(_axes(view.ndim), view.shape, strict=True)]
        self.interpreter.report(
            "out_of_bounds",
            node,
            lane=int(bad[0]),
            array=view.name,
            index=index,
            occurrences=len(bad),
            message=f"{VERB[kind].capitalize()} `{view.name}{list(index)}`, outside its shape {view.shape}.",
            remedy=f"Let only threads inside the array get here, for example with a guard ({' and '.join(limits)}).",
        )

    def report_negative(
        self, view: View, indices: tuple, mask: Mask, lanes: np.ndarray, node: ast.AST, kind: int
    ) -> None:
        if not len(lanes):
            return
        index = self.index_at(indices, int(lanes[0]))
        if any(i + size < 0 for i, size in zip(index, view.shape, strict=True)):
            return  # outside either way: reported as that
        self.interpreter.report(
            "negative_index",
            node,
            lane=int(lanes[0]),
            array=view.name,
            index=index,
            severity="warning",
            message=f"{VERB[kind].capitalize()} `{view.name}{list(index)}`: a negative index counts from the end.",
            remedy="On the GPU it wraps silently to the end of the array; guard the index if that is not meant.",
        )

    def report_overflow(
        self, view: View, active: np.ndarray, dtype: np.dtype, where: np.ndarray, node: ast.AST
    ) -> None:
        limits = np.iinfo(dtype)
        outside = np.flatnonzero((active < limits.min) | (active > limits.max)) if np.ndim(active) else [0]
        shown = active[outside[0]] if np.ndim(active) else active
        self.interpreter.report(
            "overflow_on_store",
            node,
            lane=int(where[outside[0]]),
            array=view.name,
            severity="warning",
            occurrences=len(outside),
            message=f"Stores {int(shown)} in `{view.name}`, whose {dtype} holds {limits.min} to {limits.max}: it wraps.",
            remedy="Use a wider dtype for the array, or reduce the value before you store it.",
        )

    def report_unset(self, view: View, place: Place, findings: np.ndarray, node: ast.AST) -> None:
        lane = int(findings[prim.UNSET_LANE])
        index = self.element(view, place, lane)
        self.interpreter.report(
            "uninitialised_read",
            node,
            lane=lane,
            array=view.name,
            index=index,
            occurrences=int(findings[prim.UNSET_COUNT]),
            message=f"Reads `{view.name}{list(index)}` before anything was written there.",
            remedy=(
                "Shared memory starts with whatever was there before: write it first, then wait at a barrier."
                if view.buffer.space == "shared"
                else "Memory from cuda.device_array starts with whatever was there before: write it first."
            ),
        )

    def report_race(self, view: View, place: Place, findings: np.ndarray, node: ast.AST, kind: int, value: Any) -> None:
        interpreter = self.interpreter
        lane = int(findings[prim.RACE_LANE])
        other = int(findings[prim.RACE_OTHER])
        wrote = bool(findings[prim.RACE_OTHER_WROTE])
        other_line = interpreter.line_of_site(int(findings[prim.RACE_OTHER_SITE]))
        index = self.element(view, place, lane)
        same_line = other_line == interpreter.line(node)
        geometry = interpreter.batch.geometry
        me = interpreter.batch.first_thread + lane
        if me // geometry.padded != other // geometry.padded:
            remedy = "Blocks run in any order and cannot wait for each other here: use an atomic, or a second launch."
            if same_line and kind == WRITE and wrote:
                remedy = "Give each thread an element of its own, or use an atomic."
        elif same_line and kind == WRITE and wrote:
            remedy = "Give each thread an element of its own, or use an atomic."
        elif me // prim.WARP == other // prim.WARP:
            remedy = "Threads of one warp need cuda.syncwarp() or cuda.syncthreads() between the two accesses."
        else:
            remedy = "Put cuda.syncthreads() between the two accesses, where every thread of the block reaches it."
        severity = "error"
        if kind == WRITE and wrote and isinstance(value, np.generic):
            linear = place.linear if isinstance(place.linear, int) else int(place.linear[lane])
            if same_line or self.data_of(view)[linear] == value:
                severity = "warning"  # every thread writes the same value: untidy, but the result is known
        other_block, other_thread = interpreter.who(other)
        elsewhere = "the same line" if same_line else f"line {other_line.number}" if other_line else "another line"
        whose = "" if other_block == interpreter.batch.who(lane)[0] else f" of block {other_block}"
        interpreter.report(
            "race",
            node,
            lane=lane,
            array=view.name,
            index=index,
            occurrences=int(findings[prim.RACE_COUNT]),
            other_line=other_line,
            other_thread=other_thread,
            severity=severity,
            message=(
                f"Race on `{view.name}{list(index)}`: this thread {VERB[kind]} it while thread {other_thread}{whose} "
                f"{'writes' if wrote else 'reads'} it at {elsewhere}, with nothing in between to order them."
            ),
            remedy=remedy,
        )

    def element(self, view: View, place: Place, lane: int) -> tuple[int, ...]:
        """The index, within the view, of the element that a lane accesses."""
        linear = place.linear if isinstance(place.linear, int) else int(place.linear[lane])
        offset = int(view.offset[lane]) if isinstance(view.offset, np.ndarray) else view.offset
        rest, index = linear - offset, []
        for stride in view.strides:
            step, rest = divmod(rest, stride) if stride else (0, rest)
            index.append(int(step))
        return tuple(index)


def _int64(index: np.ndarray) -> np.ndarray:
    if index.dtype.kind not in "iub":
        raise KernelFault(f"An index must be an integer; here it is {index.dtype}.", remedy="Use // or int().")
    return np.ascontiguousarray(index, dtype=np.int64)


def _axes(ndim: int) -> tuple[str, ...]:
    return ("the index",) if ndim == 1 else tuple(f"index {axis}" for axis in range(ndim))

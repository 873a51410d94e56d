"""A call of a function of the library by the lanes of a mask: what every such function is written against.

To add a function that kernels may call, write it in Python with a signature, and add a row to the table in
tests/test_simgpu_language.py:

    @intrinsic("numba.cuda.lanes_after")
    def lanes_after(call: Call, distance: Integer, /) -> Whole:
        "How many lanes of the warp have a higher number than the one that is `distance` after this one."
        call.count("integer_operations")
        return (31 - call.lane_numbers() - distance).astype(np.int32)

The first parameter is the `Call`: who calls, what is counted, memory, barriers, and what is refused. The others are the
function's own, annotated with their kinds (kinds.py): numbers come as an array with an element per lane, or as one scalar
that all lanes share. `/` behind a parameter says that it has no name, as in most of Numba's functions. Whatever does not
fit is refused before the function is called; an exception in it is a mistake of ours, not of the kernel's author.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from autograder.errors import FaultKind, KernelFault
from autograder.records.hazards import HazardKind
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.arithmetic import binary
from autograder.simgpu.operations.comparisons import compare
from autograder.simgpu.operations.constant_shapes import varying_in
from autograder.simgpu.operations.kinds import ArgumentPlace, Shape
from autograder.simgpu.operations.number_values import number, truth
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import CALLS, VALUES, Handler, Intrinsic
from autograder.simgpu.operations.slicing import check_one_length, part_of, store_into
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import NUMBERS, AnyIndices, Arithmetic, Indices, Lanes, Number, Value

_OPERATION_OF_BYTES = {2: "float16_operations", 4: "float32_operations", 8: "float64_operations"}


class Call:
    """One call of a function of the library by the lanes of `mask`.

    `machine` is who carries the kernel out and `op` where in it we are: only this class knows of either.
    `discards` says that nobody uses the result.
    """

    __slots__ = ("machine", "op", "mask", "discards", "name")

    def __init__(self, machine: Machine, op: Operation, mask: Mask, discards: bool = False) -> None:
        self.machine, self.op, self.mask, self.discards, self.name = machine, op, mask, discards, ""

    # -- who calls ------------------------------------------------------------------------------------------------

    @property
    def batch(self) -> Batch:
        """The blocks that run together, and their geometry."""
        return self.machine.batch

    @property
    def size(self) -> int:
        """The lanes of the batch, padding included."""
        return self.machine.batch.size

    @property
    def live(self) -> np.ndarray:
        """The lanes (bool) that have a thread which has not returned."""
        return self.machine.batch.everyone.lanes & ~self.machine.batch.exited

    # -- what it costs --------------------------------------------------------------------------------------------

    def count(self, counter: str | None = None, each: int = 1) -> None:
        """One instruction, and `each` of a counter for every active lane."""
        row = self.machine.books.instruction(self.op, self.mask)
        if counter is not None:
            row[SLOT[counter]] += each * self.mask.active

    def count_left_out(self, counter: str) -> None:
        """One instruction that the source has and the compiler leaves out, and one of a counter for every active lane."""
        self.machine.books.left_out(self.op, self.mask)[SLOT[counter]] += self.mask.active

    def count_warps(self, counter: str) -> None:
        """One instruction, and one of a counter for every warp with an active lane."""
        self.machine.books.instruction(self.op, self.mask)[SLOT[counter]] += self.mask.warps

    def count_arithmetic(self, dtype: np.dtype, special: bool = False) -> None:
        """One instruction of arithmetic in a dtype; `special` where special-function units or software compute it."""
        row = self.machine.books.instruction(self.op, self.mask)
        size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
        row[SLOT[_OPERATION_OF_BYTES[size] if dtype.kind in "fc" else "integer_operations"]] += self.mask.active
        if special:
            row[SLOT["special_operations"]] += self.mask.active

    def count_table(self, half: Arithmetic, loads: int) -> None:
        """Loads that the compiler makes from a table in global memory, of 16 bytes for each lane.

        `half`: which of two parts of the table a lane needs (bool); each part has one sector for each of the loads.
        """
        books = self.machine.books
        if not books.slots(self.op):  # the value is in a register
            return
        by_warp = self.mask.lanes.reshape(-1, WARP)
        first = (by_warp & self.on_lanes(half).reshape(-1, WARP)).any(axis=1)
        second = (by_warp & ~self.on_lanes(half).reshape(-1, WARP)).any(axis=1)
        row = books.made_instead(self.op)
        row[SLOT["global_load_requests"]] += loads * self.mask.warps
        row[SLOT["global_load_sectors"]] += loads * int(np.count_nonzero(first) + np.count_nonzero(second))
        row[SLOT["global_load_lines"]] += loads * self.mask.warps

    # -- values ---------------------------------------------------------------------------------------------------

    def number(self, value: Value) -> Arithmetic:
        """The value as a number; arrays, tuples and library names are none."""
        return cast("Arithmetic", number(value, self.op))

    def truth(self, value: Value) -> Lanes | np.bool_:
        """The value as a condition: one bool for all, or a bool per lane."""
        return cast("Lanes | np.bool_", truth(value, self.op))

    def on_lanes(self, value: Number) -> np.ndarray:
        """A number as a lane vector, even where all lanes share it."""
        return value if isinstance(value, np.ndarray) else np.full(self.size, value)

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """`left op right`, as the operator computes and counts it."""
        return binary(self.machine, self.op, type(op), left, right, self.mask)

    def compare(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        """`left op right` of a comparison."""
        return compare(self.machine, self.op, type(op), left, right, self.mask)

    def lane_numbers(self) -> np.ndarray:
        """Each lane's number within its warp (int64)."""
        return np.arange(self.size, dtype=np.int64) & 31

    @property
    def is_of_a_literal(self) -> bool:
        """Whether the first argument is written out as a number, so that the compiler works out the result."""
        return isinstance(self._argument_node(ArgumentPlace("", 0)), ast.Constant)

    def varying(self, place: ArgumentPlace) -> str:
        """What in an argument is no constant to the compiler; empty where all of it is."""
        written = self._argument_node(place)
        return "" if written is None else varying_in(self.machine.current, written)

    def _argument_node(self, place: ArgumentPlace) -> ast.AST | None:
        """An argument as the kernel has it; None where it came out of a tuple."""
        if place.position is None:
            return next((each.value for each in getattr(self.op.node, "keywords", ()) if each.arg == place.parameter), None)
        before = getattr(self.op.node, "args", [])[: place.position + 1]
        has_come_out = len(before) <= place.position or any(isinstance(each, ast.Starred) for each in before)
        return None if has_come_out else before[place.position]

    # -- memory ---------------------------------------------------------------------------------------------------

    def load(self, view: View, indices: Indices) -> Arithmetic:
        """The elements at `indices`."""
        return cast("Arithmetic", self.machine.memory.load(view, indices, self.mask, self.op))

    def store(self, view: View, indices: Indices, value: Value) -> None:
        """Writes `value` to the elements at `indices`."""
        self.machine.memory.store(view, indices, value, self.mask, self.op)

    def store_into(self, view: View, indices: AnyIndices, value: Value) -> None:
        """Assigns to an element, or element by element to a part of an array."""
        store_into(self.machine, view, indices, value, self.mask, self.op)

    def part(self, view: View, indices: AnyIndices) -> View:
        """A row or another part of an array, without touching memory."""
        return part_of(view, indices, self.mask, self.op)

    def atomic(self, operation: str, view: View, indices: Indices, values: tuple[Number, ...]) -> Number | None:
        """An atomic update; what was there before, or None where nobody wants it."""
        return self.machine.memory.atomic(operation, view, indices, values, self.mask, self.op, not self.discards)

    def new_array(self, space: str, shape: Shape, dtype: np.dtype, dynamic_bytes: int | None = None) -> View:
        """The "shared" or "local" array that this call declares: the same one each time."""
        extents = tuple(int(each) for each in (shape if isinstance(shape, tuple) else (shape,)))
        if space == "shared":
            return self.machine.shared_array(self.op, extents, dtype, dynamic_bytes)
        return self.machine.local_array(self.op, extents, dtype)

    @property
    def dynamic_shared_bytes(self) -> int:
        """The shared memory that the launch configuration asks for, in bytes."""
        return self.machine.launch.dynamic_shared_bytes

    def check_one_length(self, view: Value) -> None:
        """Refuses an array whose length differs from thread to thread."""
        check_one_length(view, self.op)

    # -- order ----------------------------------------------------------------------------------------------------

    def barrier(self) -> None:
        """The barrier of the block."""
        self.machine.barriers.barrier(self.mask, self.op)

    def grid_barrier(self) -> None:
        """The barrier of a cooperative grid."""
        self.machine.barriers.grid_barrier(self.mask, self.op)

    def warp_barrier(self) -> None:
        """The barrier of the warp."""
        self.machine.barriers.warp_barrier(self.mask)

    def exchange(self) -> None:
        """Lanes of a warp read each other's registers, which orders no memory."""
        self.machine.barriers.exchange(self.mask)

    def fence(self, wide: bool = True) -> None:
        """A memory fence: for all threads, or for those of the block where it is not `wide`."""
        self.machine.barriers.fence(self.mask, wide)

    # -- what is said ---------------------------------------------------------------------------------------------

    def fault(self, message: str, remedy: str = "", kind: FaultKind = "") -> KernelFault:
        """What to raise where the call is refused."""
        return self.op.fault(message, remedy, kind)

    def report(self, kind: HazardKind, *, lane: int, message: str, remedy: str, **more: Any) -> None:
        """Records a hazard, described for one lane."""
        self.machine.reports.report(kind, self.op, lane=lane, message=message, remedy=remedy, **more)

    def described(self, value: Value) -> str:
        """A value of a wrong kind, in words."""
        if isinstance(value, View):
            return f"the whole array `{value.name}`"
        if isinstance(value, NUMBERS):
            return value.dtype.name if value.dtype.kind not in "SU" else "a text"
        if isinstance(value, (str, bytes)):
            return "a text"
        return "None" if value is None else f"a {type(value).__name__.lower()}"

    def value_of(self, path: str) -> Value:
        """What a name of the library stands for, such as `numba.cuda.threadIdx.x`."""
        return VALUES[path](self.machine.batch)

    @property
    def is_silent(self) -> bool:
        """Whether nobody sees what the launch prints."""
        return self.machine.launch.is_silent

    def print_line(self, text: str) -> None:
        """A line of the launch's output."""
        self.machine.launch.print_line(text)


H = TypeVar("H", bound=Handler)


def intrinsic(*paths: str) -> Callable[[H], H]:
    """Registers a function under one or more canonical dotted paths."""

    def register(handler: H) -> H:
        for path in paths:
            CALLS[path] = Intrinsic(path, handler)
        return handler

    return register

"""The machine that steps through a lowered kernel for one batch of blocks: its memory, its barriers, its books, its frames.

START HERE to see what a run is made of: `Machine.run` takes a lowered kernel and the lanes of a batch. What the lanes do
is in statements.py and expressions.py, memory in access.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Protocol

import numpy as np

from autograder.errors import KernelFault, NotCarriedOut, WorkLimit
from autograder.language.program import Function, wrong_number
from autograder.simgpu.counting.books import Books
from autograder.simgpu.counting.counting import Counting
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.exceptions import Raised, Stopped
from autograder.simgpu.machine.access import Memory
from autograder.simgpu.machine.addressing import Addressing, Sums
from autograder.simgpu.machine.barriers import Barriers
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.machine.reports import Reports
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.access_reports import AccessReports
from autograder.simgpu.ordering.order import Order
from autograder.simgpu.ordering.ordering import Ordering
from autograder.simgpu.ordering.tickets import Tickets
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import Buffer, LocalRegisters, View, contiguous_strides, poison
from autograder.simgpu.values.numba_types import to_dtype
from autograder.simgpu.values.values import NUMBERS, Lanes, Number, Value
from autograder.simgpu.values.variables import Unmergeable, Variable, packed

# What Python raises for values of a kind that an operation does not have; anything else is a mistake of ours.
SURPRISES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, StopIteration, Unmergeable)
MOST_CALLS = 64  # device functions calling each other, deepest
MOST_LOCAL_BYTES = 512 * 1024  # of a thread (CUDA C++ Programming Guide, technical specifications)


class Body(Protocol):
    """What a function's statements do, one after the other."""

    slots: int  # machine instructions before the first statement
    once: int  # those behind the last, by the lanes that get there

    def carry_out(self, machine: Machine, mask: Mask) -> Mask | None: ...


class Default(Protocol):
    """A parameter's own value."""

    def value(self, machine: Machine, mask: Mask) -> Value: ...


class Runnable(Protocol):
    """A function that was read into operations, as far as a machine asks (steps.Lowered)."""

    @property
    def function(self) -> Function: ...

    @property
    def body(self) -> Body: ...

    @property
    def defaults(self) -> Mapping[str, Default]: ...

    @property
    def first_return(self) -> Operation: ...


class WrittenLoops(Protocol):
    """Loops that one lane goes through, by a quicker way than step by step (one_thread/loops.py)."""

    def go_on(
        self, machine: Machine, loop: Operation, mask: Mask, rounds: int, numbers: range | None, before: Standstill | None
    ) -> tuple[int, Mask | None] | None: ...


class CompiledLoops(Protocol):
    """Loops that store nothing, by compiled code (in_registers/loops.py)."""

    def go_on(
        self, machine: Machine, loop: Operation, mask: Mask, rounds: int, work: int, numbers: object, broken: list[Mask]
    ) -> tuple[int, Mask | None] | None: ...  # fmt: skip


class WatchedRounds(Protocol):
    """A loop that is watched while many lanes go through it."""

    def skip(self, number: int, running: Mask) -> int: ...


class LoopsOnTape(Protocol):
    """Loops that were recorded, and are played (tapes/playing.py)."""

    def play(self, loop: Operation, mask: Mask) -> bool: ...

    def go_on(self, loop: Operation, running: Mask, numbers: range) -> tuple[int, Mask | None] | None: ...


class LoopsThatAreWatched(Protocol):
    """Loops whose rounds all go the same way (host/steady_rounds.py)."""

    def watch(self, machine: Machine, loop: Operation, mask: Mask, rounds: int) -> WatchedRounds | None: ...


@dataclass
class Frame:
    """One function being carried out: its variables, and the lanes that have returned from it."""

    function: Function
    variables: dict[str, Variable] = field(default_factory=dict)
    returned: list[Mask] = field(default_factory=list)
    result: Variable | None = None
    loops: list[list[Mask]] = field(default_factory=list)  # per enclosing loop, the masks that broke out of it
    depth: int = 0

    def write(self, name: str, value: Value, mask: Mask) -> None:
        variable = self.variables.get(name)
        if variable is None:
            variable = self.variables[name] = Variable()
        variable.write(mask, value)


@dataclass(frozen=True)
class Standstill:
    """How a loop stood at some round: its lanes, the stores so far, and the values of the variables."""

    running: Mask
    changes: int
    state: dict[str, Value]

    def is_like(self, other: Standstill) -> bool:
        return (
            self.running is other.running and self.changes == other.changes and _are_same(self.state, other.state)
        )  # fmt: skip


class Machine:
    """Carries out one lowered kernel for one batch of blocks."""

    def __init__(
        self, launch: LaunchState, batch: Batch, lower: Callable[[Function], Runnable], written: WrittenLoops
    ) -> None:
        self.launch = launch
        self.batch = batch
        self.lower = lower
        self.written = written
        start, blocks = launch.clock, len(batch.blocks)
        self.order = Order(start, launch.grid_sync, np.full(blocks, start, np.int32), np.full(batch.warps, start, np.int32))
        self.tickets = None if launch.words is None else Tickets(launch.words, batch, self.order)
        self.books = Books(launch, batch)
        self.reports = Reports(launch, batch)
        self.sums = Sums()
        of_accesses = AccessReports(launch, batch, self.order, self.reports)
        self.counting = Counting(batch, self.books, launch.trace)
        self.memory = Memory(
            batch,
            Addressing(batch, self.sums, of_accesses),
            self.counting,
            Ordering(launch, batch, self.order, self.tickets, of_accesses),
            self.tickets,
            of_accesses,
        )
        self.barriers = Barriers(launch, batch, self.order, self.tickets, self.books, self.reports)
        self.frame: Frame | None = None
        self.registers: CompiledLoops | None = None
        self.steady: LoopsThatAreWatched | None = None  # where rounds that go the same way need not be stepped through
        self.tapes: LoopsOnTape | None = None
        # by operation and operator: the last operands and result of integer arithmetic, which keeps the results alive
        self.integers: dict[tuple[Operation, type], tuple[Number, Number, Lanes]] = {}
        self.arrays: dict[ast.AST, View] = {}  # shared and local ones, by the piece of source that makes them
        self.shared_bytes = 0
        self.local_bytes = 0  # of each thread's local arrays that lie in memory
        self.at: Operation | None = None  # the statement that is being carried out

    # -- functions ------------------------------------------------------------------------------------------------

    def run(self, kernel: Runnable, arguments: dict[str, Value]) -> None:
        """Carries out the kernel's body for every lane of the batch, with arguments by parameter."""
        self.frame = Frame(kernel.function)
        everyone = self.batch.everyone
        for name, value in arguments.items():
            self.frame.write(name, value, everyone)
        self.books.issued(kernel.first_return, everyone, kernel.body.slots)
        try:
            after = kernel.body.carry_out(self, everyone)
            if after is not None:
                self.books.issued(kernel.first_return, after, kernel.body.once)
        except SURPRISES as problem:
            raise self.surprised(problem) from problem
        finally:
            self.memory.settle()
            # the next launch's accesses come after all of this one's, also where it was stopped
            self.launch.clock = self.order.now + 1

    def surprised(self, problem: Exception) -> KernelFault:
        """What to say where Python complains of a value that nobody here had foreseen."""
        at = self.at
        return NotCarriedOut(
            f"The simulated GPU cannot carry out `{at.text if at else self.launch.kernel.name:.80}` "
            f"({type(problem).__name__}).",
            line=None if at is None else at.line,
            remedy="Look at the kinds of value in it, and write it in smaller steps; if Numba takes it, tell your teachers.",
        )

    def call_function(
        self, lowered: Runnable, arguments: list[Value], mask: Mask, op: Operation, around: Frame | None = None
    ) -> Value:
        """Carries out a device function for the lanes of `mask`; what it returns, lane by lane.

        `around` is the frame in which a nested function was defined: it reads that frame's variables.
        """
        caller, function = self.current, lowered.function
        if caller.depth >= MOST_CALLS:
            raise op.fault(f"`{function.name}` calls itself too deeply.", "Write it as a loop.")
        bound = packed(function, arguments)
        if bound is None:
            raise op.fault(wrong_number(function, len(arguments)))
        frame = self.frame = Frame(function, depth=caller.depth + 1)
        if around is not None:
            frame.variables.update({k: v for k, v in around.variables.items() if k not in function.local_names})
        if function.casts is not None:
            for (name, value), dtype in zip(list(bound.items()), function.casts.arguments, strict=False):
                bound[name] = self.cast_to(value, dtype, op, mask)
        for name, value in bound.items():
            frame.write(name, value, mask)
        self.order.calls_under_atomic += op.is_under_atomic
        lowered.body.carry_out(self, mask)
        self.order.calls_under_atomic -= op.is_under_atomic
        self.frame = caller
        if frame.result is None:
            return None
        try:
            value = frame.result.read(mask)[0]
        except Unmergeable as problem:
            remedy = "Numba needs one type: return a number everywhere, or tuples of one length."
            raise lowered.first_return.fault(*problem.said(f"`{function.name}` returns", remedy)) from None
        return value if function.casts is None else self.cast_to(value, function.casts.result, op, mask)

    @property
    def current(self) -> Frame:
        """The function that is being carried out."""
        assert self.frame is not None
        return self.frame

    def cast_to(self, value: Value, dtype: np.dtype | None, op: Operation, mask: Mask) -> Value:
        """A number in the dtype that a device function's signature asks for."""
        if dtype is None or not isinstance(value, (np.ndarray, np.generic)) or value.dtype == dtype:
            return value
        self.books.instruction(op, mask)[SLOT["conversions"]] += mask.active
        return to_dtype(value, dtype)

    # -- who goes on ----------------------------------------------------------------------------------------------

    def leave_by_exception(self, op: Operation, mask: Mask, kind: type[Exception], values: tuple[object, ...]) -> None:
        """These lanes raise: they stop, silently, and only kernels compiled with debug=True tell the host."""
        self.note_exception(op, mask, kind, values)
        self.reports.report(
            "launch", op, lane=int(mask.where[0]), severity="warning", occurrences=mask.active,
            message="An exception is raised here: on a GPU the thread just stops, and the host is not told.",
            remedy="Write an error code into an array, or compile with @cuda.jit(debug=True, opt=False).",
        )  # fmt: skip
        self.current.returned.append(mask)
        self.batch.exited |= mask.lanes
        self.batch.has_raised = True

    def note_exception(self, op: Operation, lanes: Mask, kind: type[Exception], values: tuple[object, ...]) -> None:
        """Keeps the first exception of a launch, with the first thread that raised it."""
        if self.launch.raised is None:
            who = self.batch.who(int(lanes.where[0]))
            self.launch.raised = Raised(kind, values, self.current.function.name, op.line, *who)

    def raise_in_debug(self, op: Operation, bad: Number, mask: Mask, kind: type[Exception], message: str) -> None:
        """Ends a launch of a kernel compiled with debug=True where an operation is `bad` in one of its lanes."""
        if self.launch.debug is not None and self.launch.debug.tells(kind):
            raising = mask.only(np.broadcast_to(bad, mask.lanes.shape))
            if raising.active:
                self.note_exception(op, raising, kind, (message,))
                raise Stopped

    def standstill(self, op: Operation, running: Mask, before: Standstill | None) -> Standstill:
        """How a loop stands; raises where it stood just so `before`: it can never end."""
        variables = self.current.variables
        state = {name: variable.layers[-1][1] for name, variable in variables.items() if variable.layers}
        now = Standstill(running, self.memory.changes, state)
        if before is not None and before.is_like(now):
            raise self.never_ends(op, running, "it goes round without anything changing")
        return now

    def never_ends(self, op: Operation, running: Mask, why: str) -> WorkLimit:
        block, thread = self.batch.who(int(running.where[0]))
        return WorkLimit(
            f"This loop never ends for block {block}, thread {thread}: {why}.",
            line=op.line,
            remedy="Change what the condition tests inside the loop; do not wait for another thread in a loop.",
        )

    # -- arrays of a kernel ---------------------------------------------------------------------------------------

    def shared_array(
        self, op: Operation, extents: tuple[int, ...], dtype: np.dtype, dynamic_bytes: int | None = None
    ) -> View:
        """The array of each block that this operation makes: the same one each time it is reached."""
        if op.node in self.arrays:
            return self.arrays[op.node]
        size = prod(extents)
        unit = max(1, 128 // int(np.gcd(128, dtype.itemsize)))  # blocks stay 128 bytes apart, so that banks line up
        room = max(unit, -(-size // unit) * unit)
        start = -(-self.shared_bytes // 16) * 16
        self.shared_bytes = start + (size * dtype.itemsize if dynamic_bytes is None else 0)
        self.launch.note_shared(self.shared_bytes, op)
        buffer = Buffer(np.empty(room * len(self.batch.blocks), dtype), start, "shared", initialised=False)
        return self._make_view(op, buffer, self.batch.block_slot() * room, extents, dtype)

    def local_array(self, op: Operation, extents: tuple[int, ...], dtype: np.dtype) -> View:
        """The array of each thread that this operation makes."""
        if op.node in self.arrays:
            return self.arrays[op.node]
        size = prod(extents)
        if size * dtype.itemsize > MOST_LOCAL_BYTES:
            raise op.fault(
                f"This local array takes {size * dtype.itemsize:,} bytes for each thread; a GPU has "
                f"{MOST_LOCAL_BYTES:,} (512 KiB).",
                "Use an array in global memory, with a part for each thread.",
            )
        buffer = Buffer(np.empty(max(1, size) * self.batch.size, dtype), 0, "local")
        if op.is_of_local_memory:
            self.local_bytes += size * dtype.itemsize
            if not op.leaves_no_store:
                self.counting.count_clearing(op, size * dtype.itemsize)
        offset = np.arange(self.batch.size, dtype=np.int64) * max(1, size)
        buffer.registers = LocalRegisters(offset, buffer.data.reshape(self.batch.size, -1))
        return self._make_view(op, buffer, offset, extents, dtype)

    def _make_view(self, op: Operation, buffer: Buffer, offset: Lanes, extents: tuple[int, ...], dtype: np.dtype) -> View:
        poison(buffer.data)
        view = self.arrays[op.node] = View(buffer, offset, extents, contiguous_strides(extents), dtype, "")
        return view


def _are_same(before: dict[str, Value], after: dict[str, Value]) -> bool:
    for name, value in after.items():
        old = before.get(name)
        if old is value:
            continue
        if type(old) is not type(value) or not isinstance(value, NUMBERS) or not isinstance(old, NUMBERS):
            return False
        if not np.array_equal(old, value, equal_nan=value.dtype.kind == "f"):
            return False
    return True

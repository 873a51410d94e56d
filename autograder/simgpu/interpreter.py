"""Carries out a kernel for a batch of blocks: calls and their variables, exceptions, and the books that are kept.

START HERE to see what a run is made of: `Interpreter.run` takes a kernel and the lanes of a batch. What the lanes do is
in statements.py and expressions.py, memory in access.py, library calls in intrinsics.py.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.errors import KernelFault, Line, NotCarriedOut
from autograder.language.program import Function, wrong_number
from autograder.simgpu.access import Memory
from autograder.simgpu.barriers import Barriers, Order
from autograder.simgpu.exceptions import Raised, Stopped, named_in
from autograder.simgpu.expressions import Expressions
from autograder.simgpu.hazards import Hazard
from autograder.simgpu.lanes import Batch, Mask
from autograder.simgpu.memory import Buffer, View
from autograder.simgpu.numba_types import to_dtype
from autograder.simgpu.replay import Replays
from autograder.simgpu.statements import Statements
from autograder.simgpu.tally import SLOT, THREAD_INSTRUCTIONS, WARP_INSTRUCTIONS, Tally, WarpWork
from autograder.simgpu.tickets import Tickets, told_by_ticket
from autograder.simgpu.variables import Unmergeable, Variable, packed

# What Python raises for values of a kind that an operation does not have; anything else is a mistake of ours.
SURPRISES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, StopIteration, Unmergeable)
MOST_CALLS = 64  # device functions calling each other, deepest


@dataclass
class Frame:
    """One function being carried out: its variables, and the lanes that have returned from it."""

    function: Function
    variables: dict[str, Variable] = field(default_factory=dict)
    returned: list[Mask] = field(default_factory=list)
    result: Variable | None = None
    loops: list[list[Mask]] = field(default_factory=list)  # per enclosing loop, the masks that broke out of it
    depth: int = 0
    is_told: bool = False  # called where a condition on a ticket held; see tickets.py


class WorkLimit(KernelFault):
    """The launch did more work than it was allowed."""


class Interpreter(Statements, Replays, Expressions, Barriers):
    """Carries out one kernel for one batch of blocks."""

    def __init__(self, launch: Any, batch: Batch) -> None:
        self.launch = launch
        self.batch = batch
        self.tally = Tally()
        self.warp_work = WarpWork(batch.warps)
        self.trace = launch.trace
        self.frame: Frame | None = None
        self.memory = Memory(self)
        start = launch.clock
        warps, blocks = batch.warps, len(batch.blocks)
        self.order = Order(start, launch.grid_sync, np.full(blocks, start, np.int32), np.full(warps, start, np.int32))
        self.tickets = None if launch.words is None else Tickets(launch.words, batch, self.order)
        self.exited = np.zeros(batch.size, np.bool_)
        self.has_raised = False  # whether any lane has left by an exception, maybe out of a device function
        self.diverged = np.zeros(warps, np.bool_)
        self.shared: dict[ast.AST, View] = {}
        self.local: dict[ast.AST, View] = {}
        self.shared_bytes = 0
        self.local_bytes = 0  # of each thread's local arrays that lie in memory
        self.held: set[int] = set()  # ids of subscripts whose element is in a register by now
        self.changes = 0  # stores so far: a loop that changes nothing can never end
        self._rows: dict[ast.AST, list[int]] = {}
        super().__init__()

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, kernel: Function, arguments: dict[str, Any]) -> None:
        """Carries out the kernel's body for every lane of the batch, with arguments by parameter."""
        self.frame = Frame(kernel)
        everyone = self.batch.everyone
        for name, value in arguments.items():
            self.write_variable(name, value, everyone)
        try:
            self.do_body(kernel.node.body, everyone)
        except SURPRISES as problem:
            raise self.surprised(problem) from problem
        finally:  # also where it was stopped: the next launch's accesses come after all of this one's
            self.launch.clock = self.order.now + 1

    def surprised(self, problem: Exception) -> KernelFault:
        """What to say where Python complains of a value that nobody here had foreseen: the innermost piece of the kernel."""
        node: ast.AST = self.frame.function.node
        here = problem.__traceback__
        while here is not None:
            found = here.tb_frame.f_locals.get("node")
            node = found if isinstance(found, (ast.stmt, ast.expr)) else node
            here = here.tb_next
        return NotCarriedOut(
            f"The simulated GPU cannot carry out `{ast.unparse(node):.80}` ({type(problem).__name__}).",
            line=self.line(node),
            remedy="Look at the kinds of value in it, and write it in smaller steps; if Numba takes it, tell your teachers.",
        )

    def call_function(
        self, function: Function, arguments: list, mask: Mask, node: ast.AST, around: Frame | None = None
    ) -> Any:
        """Carries out a device function for the lanes of `mask`; what it returns, lane by lane.

        `around` is the frame in which a nested function was defined: it reads that frame's variables.
        """
        caller, given = self.frame, len(arguments)
        if caller.depth >= MOST_CALLS:
            raise self.fault(node, f"`{function.name}` calls itself too deeply.", "Write it as a loop.")
        arguments = packed(function, arguments)
        if arguments is None:
            raise self.fault(node, wrong_number(function, given))
        self.frame = Frame(function, depth=caller.depth + 1, is_told=self.is_told(node))
        if around is not None:
            self.frame.variables.update({k: v for k, v in around.variables.items() if k not in function.local_names})
        if function.casts is not None:
            arguments = {
                name: self.cast_to(value, dtype, node, mask)
                for (name, value), dtype in zip(arguments.items(), function.casts.arguments, strict=False)
            }
        for name, value in arguments.items():
            self.write_variable(name, value, mask)
        self.do_body(function.node.body, mask)
        result = self.frame.result
        self.frame = caller
        if result is None:
            return None
        try:
            value = result.read(mask)[0]
        except Unmergeable:
            raise KernelFault(
                f"`{function.name}` returns different kinds of thing on different paths.",
                line=function.line(_first_return(function)),
                remedy="Numba needs one type: return a number everywhere, or tuples of one length.",
            ) from None
        return value if function.casts is None else self.cast_to(value, function.casts.result, node, mask)

    def cast_to(self, value: Any, dtype: np.dtype | None, node: ast.AST, mask: Mask) -> Any:
        """A number in the dtype that a device function's signature asks for."""
        if dtype is None or not isinstance(value, (np.ndarray, np.generic)) or value.dtype == dtype:
            return value
        self.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
        return to_dtype(value, dtype)

    # -- variables ------------------------------------------------------------------------------------------------

    def write_variable(self, name: str, value: Any, mask: Mask) -> None:
        variable = self.frame.variables.get(name)
        if variable is None:
            variable = self.frame.variables[name] = Variable()
        variable.write(mask, value)

    def read_variable(self, node: ast.Name, mask: Mask) -> Any:
        variable = self.frame.variables.get(node.id)
        if variable is None:
            raise self.fault(node, f"`{node.id}` is used before it has a value.", "Assign it first.")
        try:
            value, unset = variable.read(mask)
        except Unmergeable:
            raise self.fault(
                node, f"`{node.id}` holds different kinds of thing on different paths.", "Numba needs one type."
            ) from None
        if unset is not None:
            self.report(
                "unset_variable",
                node,
                lane=int(np.flatnonzero(unset)[0]),
                occurrences=int(np.count_nonzero(unset)),
                message=f"`{node.id}` has no value here for some threads: they took a path that never assigns it.",
                remedy="Assign it before the branch, so that every thread has a value.",
            )
        return value

    # -- exceptions -----------------------------------------------------------------------------------------------

    def do_raise(self, node: ast.Raise, mask: Mask) -> None:
        """A thread that raises stops, silently: only kernels compiled with debug=True tell the host."""
        self.note_exception(node, mask, *named_in(self.frame.function, node))
        self.report(
            "launch", node, lane=int(mask.where[0]), severity="warning", occurrences=mask.active,
            message="An exception is raised here: on a GPU the thread just stops, and the host is not told.",
            remedy="Write an error code into an array, or compile with @cuda.jit(debug=True, opt=False).",
        )  # fmt: skip
        self.frame.returned.append(mask)
        self.exited |= mask.lanes
        self.has_raised = True

    def note_exception(self, node: ast.AST, lanes: Mask, kind: type[Exception], values: tuple) -> None:
        """Keeps the first exception of a launch, with the first thread that raised it."""
        if self.launch.raised is None:
            who = self.batch.who(int(lanes.where[0]))
            self.launch.raised = Raised(kind, values, self.frame.function.name, self.line(node), *who)

    def raise_in_debug(self, node: ast.AST, bad: Any, mask: Mask, kind: type[Exception], message: str) -> None:
        """Ends a launch of a kernel compiled with debug=True where an operation is `bad` in one of its lanes."""
        if self.launch.debug is not None and self.launch.debug.tells(kind):
            raising = mask.only(np.broadcast_to(bad, mask.lanes.shape))
            if raising.active:
                self.note_exception(node, raising, kind, (message,))
                raise Stopped

    def is_told(self, node: ast.AST) -> bool:
        """Whether a node is reached only where a condition on what an atomic found said so; see tickets.py."""
        return self.frame.is_told or id(node) in told_by_ticket(self.frame.function)

    # -- bookkeeping ----------------------------------------------------------------------------------------------

    def count_instruction(self, node: ast.AST, mask: Mask) -> list[int]:
        """Adds one instruction for the active warps to the node's source line; returns the line's row of counts."""
        row = self._rows.get(node)
        if row is None:
            row = self._rows[node] = self.tally.row(self.line(node))
        row[WARP_INSTRUCTIONS] += mask.warps
        row[THREAD_INSTRUCTIONS] += mask.active
        self.warp_work.step(mask)
        self.launch.work += mask.warps
        return row

    def memory_changed(self) -> None:
        self.changes += 1

    def is_written(self, buffer: Buffer) -> bool:
        """Whether this launch may write to the buffer at all (known from the kernel's text)."""
        return id(buffer.owner) in self.launch.written

    def check_progress(self, node: ast.While, running: Mask, before: Any) -> Any:
        """Reports a loop whose lanes, variables and memory all stayed as they were: it can never end."""
        state = {name: variable.layers[-1][1] for name, variable in self.frame.variables.items() if variable.layers}
        now = (running, self.changes, state)
        if before is not None and before[0] is running and before[1] == self.changes and _same(before[2], state):
            raise self.never_ends(node, running, "it goes round without anything changing")
        return now

    def never_ends(self, node: ast.While, running: Mask, why: str) -> WorkLimit:
        block, thread = self.batch.who(int(running.where[0]))
        return WorkLimit(
            f"This loop never ends for block {block}, thread {thread}: {why}.",
            line=self.line(node),
            remedy="Change what the condition tests inside the loop; do not wait for another thread in a loop.",
        )

    def line(self, node: ast.AST) -> Line:
        return Line(self.frame.function.file, getattr(node, "lineno", self.frame.function.node.lineno))

    def site(self, node: ast.AST) -> int:
        return self.launch.site(self.line(node))

    def line_of_site(self, site: int) -> Line | None:
        return self.launch.line_of_site(site)

    def who(self, thread: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """(blockIdx, threadIdx) of a thread by its number within the launch."""
        return self.launch.who(thread)

    def fault(self, node: ast.AST, message: str, remedy: str = "") -> KernelFault:
        return KernelFault(message, line=self.line(node), remedy=remedy)

    def report(self, kind: str, node: ast.AST, *, lane: int, message: str, remedy: str, **more: Any) -> None:
        """Records a hazard at a node's source line, described at its first occurrence."""
        block, thread = self.batch.who(lane)
        line = self.line(node)
        self.launch.add_hazard(
            Hazard(
                kind=kind,
                message=message,
                remedy=remedy,
                line=line,
                text=self.frame.function.line_text(line.number).strip(),
                kernel=self.launch.kernel.name,
                block=block,
                thread=thread,
                **more,
            )
        )


def _first_return(function: Function) -> ast.AST:
    """The first `return` of a function that gives something back."""
    returns = (each for each in ast.walk(function.node) if isinstance(each, ast.Return) and each.value is not None)
    return min(returns, key=lambda each: each.lineno, default=function.node)


def _same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    for name, value in after.items():
        old = before.get(name)
        if old is value:
            continue
        if type(old) is not type(value) or not isinstance(value, (np.ndarray, np.generic)):
            return False
        if not np.array_equal(old, value, equal_nan=value.dtype.kind == "f"):
            return False
    return True

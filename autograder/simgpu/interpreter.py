"""How a statement becomes masked operations on all lanes at once.

START HERE to see the engine: `Interpreter.run` takes a kernel and a batch of blocks; each `do_...` method is one kind
of statement. A statement is carried out for every active lane together, and returns the mask of lanes that go on to
the next one (None: nobody does). Expressions are in expressions.py, memory in access.py, library calls in intrinsics.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.errors import KernelFault, Line
from autograder.language.program import Function
from autograder.simgpu import primitives as prim
from autograder.simgpu.access import Memory
from autograder.simgpu.barriers import Barriers, Order
from autograder.simgpu.exceptions import Raised, Stopped, named_in
from autograder.simgpu.expressions import Closure, Expressions
from autograder.simgpu.hazards import Hazard
from autograder.simgpu.lanes import Batch, Mask
from autograder.simgpu.loops import cheap_loops, hopeless_loops
from autograder.simgpu.memory import Buffer, View
from autograder.simgpu.numba_types import to_dtype
from autograder.simgpu.tally import SLOT, THREAD_INSTRUCTIONS, WARP_INSTRUCTIONS, Tally, WarpWork
from autograder.simgpu.tickets import told_by_ticket
from autograder.simgpu.variables import Unmergeable, Variable, packed, wrong_number

STATEMENT_COST = 400  # work units of stepping one statement for however few lanes: what 400 warp instructions take
STUCK_AFTER = 256  # loop rounds after which a loop is examined for standing still
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


class Interpreter(Expressions, Barriers):
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
        self.exited = np.zeros(batch.size, np.bool_)
        self.has_raised = False  # whether any lane has left by an exception, maybe out of a device function
        self.diverged = np.zeros(warps, np.bool_)
        self.shared: dict[ast.AST, View] = {}
        self.local: dict[ast.AST, View] = {}
        self.shared_bytes = 0
        self.changes = 0  # stores so far: a loop that changes nothing can never end
        self._rows: dict[ast.AST, list[int]] = {}
        self._statements: dict[type, Callable[[Any, Mask], Mask | None]] = {
            ast.Assign: self.do_assign,
            ast.AugAssign: self.do_augmented_assign,
            ast.AnnAssign: self.do_annotated_assign,
            ast.Expr: self.do_expression,
            ast.If: self.do_if,
            ast.For: self.do_for,
            ast.While: self.do_while,
            ast.Return: self.do_return,
            ast.Break: self.do_break,
            ast.Continue: self.do_continue,
            ast.Pass: lambda node, mask: mask,
            ast.FunctionDef: self.do_function,
            ast.Raise: self.do_raise,
            ast.Assert: lambda node, mask: mask,  # Numba drops assertions in kernels unless debug=True
        }
        super().__init__()

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, kernel: Function, arguments: dict[str, Any]) -> None:
        """Carries out the kernel's body for every lane of the batch, with arguments by parameter."""
        self.frame = Frame(kernel)
        everyone = self.batch.everyone
        for name, value in arguments.items():
            self.write_variable(name, value, everyone)
        self.do_body(kernel.node.body, everyone)
        self.launch.clock = self.order.now + 1

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
        is_told = caller.is_told or self.launch.tickets.holder >= 0 and id(node) in told_by_ticket(caller.function)
        self.frame = Frame(function, depth=caller.depth + 1, is_told=is_told)
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
        value = result.read(mask)[0]
        return value if function.casts is None else self.cast_to(value, function.casts.result, node, mask)

    def cast_to(self, value: Any, dtype: np.dtype | None, node: ast.AST, mask: Mask) -> Any:
        """A number in the dtype that a device function's signature asks for."""
        if dtype is None or not isinstance(value, (np.ndarray, np.generic)) or value.dtype == dtype:
            return value
        self.count_instruction(node, mask)[SLOT["conversions"]] += mask.active
        return to_dtype(value, dtype)

    def do_body(self, body: list[ast.stmt], mask: Mask | None) -> Mask | None:
        for statement in body:
            if mask is not None and self.has_raised:
                mask = self.left_of(mask)
            if mask is None:
                break
            self.spend(STATEMENT_COST, statement)
            method = self._statements.get(type(statement))
            if method is None:
                raise self.fault(statement, f"A kernel cannot contain `{type(statement).__name__.lower()}` statements.")
            mask = method(statement, mask)
        return self.left_of(mask) if mask is not None and self.has_raised else mask

    def left_of(self, mask: Mask) -> Mask | None:
        """The lanes of `mask` that no exception has ended."""
        left = mask.without(self.exited)
        return left if left.active else None

    # -- assignment -----------------------------------------------------------------------------------------------

    def do_assign(self, node: ast.Assign, mask: Mask) -> Mask:
        value = self.evaluate(node.value, mask)
        for target in node.targets:
            self.assign(target, value, mask)
        return mask

    def do_annotated_assign(self, node: ast.AnnAssign, mask: Mask) -> Mask:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, mask), mask)
        return mask

    def do_augmented_assign(self, node: ast.AugAssign, mask: Mask) -> Mask:
        """`x += y`, `a[i] += y`: a read, an operation and a write; in memory they are three separate steps."""
        target = node.target
        if isinstance(target, ast.Name):
            new = self.binary(node, node.op, self.read_variable(target, mask), self.evaluate(node.value, mask), mask)
            self.write_variable(target.id, new, mask)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            at = self.element_of(target, mask) if isinstance(target, ast.Subscript) else self.field_of(target, mask)
            old = self.memory.load(*at, mask, target)
            new = self.binary(node, node.op, old, self.evaluate(node.value, mask), mask)
            self.memory.store(*at, new, mask, target)
        else:
            raise self.fault(node, "Only variables and array elements can be updated like this.")
        return mask

    def assign(self, target: ast.expr, value: Any, mask: Mask) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, View) and value.buffer.space in ("shared", "local") and not value.name:
                value = value.renamed(target.id)
            self.write_variable(target.id, value, mask)
        elif isinstance(target, ast.Subscript):
            view, indices = self.element_of(target, mask)
            self.store_into(view, indices, value, mask, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = self.unpack(value, target, mask)
            for each, part in zip(target.elts, parts, strict=True):
                self.assign(each, part, mask)
        elif isinstance(target, ast.Attribute):
            view, indices = self.field_of(target, mask)
            self.store_into(view, indices, value, mask, target)
        else:
            raise self.fault(target, "This cannot be assigned to in a kernel.")

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

    # -- control flow ---------------------------------------------------------------------------------------------

    def do_expression(self, node: ast.Expr, mask: Mask) -> Mask:
        if not isinstance(node.value, ast.Constant):  # a docstring costs nothing
            self.evaluate(node.value, mask, discard=True)
        return mask

    def do_if(self, node: ast.If, mask: Mask) -> Mask | None:
        condition = self.truth(self.evaluate(node.test, mask), node.test)
        taken, other = self.split(node, condition, mask)
        after_taken = self.do_body(node.body, taken) if taken is not None else None
        after_other = self.do_body(node.orelse, other) if other is not None else None
        if after_taken is taken and after_other is other:
            return mask
        return self.join(mask, after_taken, after_other)

    def do_while(self, node: ast.While, mask: Mask) -> Mask | None:
        frame = self.frame
        broken: list[Mask] = []
        frame.loops.append(broken)
        returned_before = len(frame.returned)
        running: Mask | None = mask
        rounds = 0
        snapshot = None
        hopeless = id(node) in hopeless_loops(frame.function)
        while running is not None:
            condition = self.truth(self.evaluate(node.test, running), node.test)
            running, _ = self.split(node, condition, running)
            if running is None:
                break
            running = self.one_round(node.body, running, broken)
            rounds += 1
            if hopeless and running is not None:
                raise self.never_ends(node, running, "nothing in the loop changes its condition")
            if rounds % STUCK_AFTER == 0 and running is not None:
                snapshot = self.check_progress(node, running, snapshot)
        frame.loops.pop()
        return self.after_loop(node, mask, broken, returned_before)

    def do_for(self, node: ast.For, mask: Mask) -> Mask | None:
        frame = self.frame
        broken: list[Mask] = []
        frame.loops.append(broken)
        returned_before = len(frame.returned)
        running: Mask | None = mask
        is_cheap = id(node) in cheap_loops(frame.function)
        for value, still in self.iterate(node, mask):
            if still is not None:  # lanes that have rounds left
                running = self.narrowed(node, running, still)
            if running is None:
                break
            self.count_instruction(node, running)
            if not is_cheap:
                self.count_round(node, running)
            self.assign(node.target, self.fetched(value, running, node.iter), running)
            running = self.one_round(node.body, running, broken)
            if running is None:
                break
        frame.loops.pop()
        return self.after_loop(node, mask, broken, returned_before)

    def count_round(self, node: ast.AST, running: Mask) -> None:
        self.tally.row(self.line(node))[SLOT["loop_rounds"]] += running.warps
        self.warp_work.step(running, WarpWork.ROUNDS)

    def one_round(self, body: list[ast.stmt], running: Mask, broken: list[Mask]) -> Mask | None:
        """One trip through a loop's body; the lanes that go on to the next (those at `continue` among them)."""
        gone_before = len(broken), len(self.frame.returned)
        after = self.do_body(body, running)
        if after is running:
            return running
        gone = broken[gone_before[0] :] + self.frame.returned[gone_before[1] :]
        if not gone and not self.has_raised:
            return running
        lanes = running.lanes & ~self.exited if self.has_raised else running.lanes.copy()
        for mask in gone:
            lanes &= ~mask.lanes
        left = running.only(lanes)
        return left if left.active else None

    def after_loop(
        self, node: ast.For | ast.While, mask: Mask, broken: list[Mask], returned_before: int
    ) -> Mask | None:
        returned = self.frame.returned[returned_before:]
        lanes = mask.lanes
        for each in returned:
            lanes = lanes & ~each.lanes
        after = mask if not returned else mask.only(lanes)
        if not after.active:
            return None
        if node.orelse:
            finished = after.lanes
            for each in broken:
                finished = finished & ~each.lanes
            ends = after.only(finished)
            if ends.active:
                left = self.do_body(node.orelse, ends)
                if left is not ends:
                    after = after.only(~ends.lanes | left.lanes if left is not None else ~ends.lanes)
        return after if after.active else None

    def narrowed(self, node: ast.AST, running: Mask | None, still: np.ndarray) -> Mask | None:
        if running is None:
            return None
        left, _ = self.split(node, still, running)
        return left

    def do_return(self, node: ast.Return, mask: Mask) -> None:
        frame = self.frame
        if node.value is not None:
            value = self.evaluate(node.value, mask)
            if frame.depth == 0:
                if value is not None:
                    raise self.fault(node, "A kernel cannot return a value.", "Write results into an array argument.")
            else:
                if frame.result is None:
                    frame.result = Variable()
                frame.result.write(mask, value)
        frame.returned.append(mask)
        if frame.depth == 0:
            self.exited |= mask.lanes

    def do_function(self, node: ast.FunctionDef, mask: Mask) -> Mask:
        """A function defined inside a kernel: called like a device function, it sees the variables around it."""
        around = self.frame.function
        inner = Function(node.name, "device", node, around.file, around.text, around.names)
        self.write_variable(node.name, Closure(inner, self.frame), mask)
        return mask

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

    def do_break(self, node: ast.Break, mask: Mask) -> None:
        self.frame.loops[-1].append(mask)

    def do_continue(self, node: ast.Continue, mask: Mask) -> None:
        return None

    def split(self, node: ast.AST, condition: Any, mask: Mask) -> tuple[Mask | None, Mask | None]:
        """Divides the active lanes by a condition, and counts the branch and the warps that it divides."""
        row = self.count_instruction(node, mask)
        row[SLOT["branches"]] += mask.warps
        if not isinstance(condition, np.ndarray):
            return (mask, None) if condition else (None, mask)
        taken, other = np.empty_like(mask.lanes), np.empty_like(mask.lanes)
        counts = prim.split(mask.lanes, condition, taken, other, self.diverged)
        row[SLOT["divergent_branches"]] += counts[4]
        if self.trace is not None and self.trace.wants(self.line(node)):
            self.trace.add_branch(self.line(node), mask, taken, self.batch)
        if counts[2] == 0:
            return mask, None
        if counts[0] == 0:
            return None, mask
        return Mask(taken, mask, counts[0], counts[1]), Mask(other, mask, counts[2], counts[3])

    def join(self, mask: Mask, one: Mask | None, two: Mask | None) -> Mask | None:
        """The lanes of either, as a narrowing of `mask`."""
        if one is None and two is None:
            return None
        lanes = one.lanes if two is None else two.lanes if one is None else one.lanes | two.lanes
        return mask.only(lanes)

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

    def spend(self, work: int, node: ast.AST) -> None:
        self.launch.work += work
        if self.launch.work > self.launch.work_limit:
            raise self.launch.over_limit(self, node)

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

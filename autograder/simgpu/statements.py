"""How a statement becomes masked operations on all lanes at once.

START HERE to see the engine: each `do_...` method carries out one kind of statement for every active lane together, and
returns the mask of the lanes that go on to the next one (None: nobody does). `do_if` shows the idea, `split` divides a mask.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.program import Function
from autograder.simgpu import primitives as prim
from autograder.simgpu.expressions import Closure
from autograder.simgpu.lanes import Mask
from autograder.simgpu.loops import cheap_loops, held_in_registers, hopeless_loops
from autograder.simgpu.memory import View
from autograder.simgpu.tally import SLOT
from autograder.simgpu.variables import Variable

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

STATEMENT_COST = 400  # work units of stepping one statement for however few lanes: what 400 warp instructions take
STUCK_AFTER = 256  # loop rounds after which a loop is examined for standing still


class Statements:
    """The statement half of the interpreter."""

    def __init__(self) -> None:
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

    def do_body(self: Interpreter, body: list[ast.stmt], mask: Mask | None) -> Mask | None:
        """Statement after statement, each for the lanes that the one before let go on."""
        launch, methods = self.launch, self._statements
        for statement in body:
            if mask is not None and self.has_raised:
                mask = self.left_of(mask)
            if mask is None:
                break
            launch.work += STATEMENT_COST
            if launch.work > launch.work_limit:
                raise launch.over_limit(self, statement)
            method = methods.get(type(statement))
            if method is None:
                raise self.fault(statement, f"A kernel cannot contain `{type(statement).__name__.lower()}` statements.")
            mask = method(statement, mask)
        return self.left_of(mask) if mask is not None and self.has_raised else mask

    def left_of(self: Interpreter, mask: Mask) -> Mask | None:
        """The lanes of `mask` that no exception has ended."""
        left = mask.without(self.exited)
        return left if left.active else None

    # -- branches -------------------------------------------------------------------------------------------------

    def do_if(self: Interpreter, node: ast.If, mask: Mask) -> Mask | None:
        """One side for the lanes whose condition holds, then the other for the rest; then all go on together."""
        condition = self.truth(self.evaluate(node.test, mask), node.test)
        taken, other = self.split(node, condition, mask)
        after_taken = self.do_body(node.body, taken) if taken is not None else None
        after_other = self.do_body(node.orelse, other) if other is not None else None
        if after_taken is taken and after_other is other:
            return mask
        return self.join(mask, after_taken, after_other)

    def split(self: Interpreter, node: ast.AST, condition: Any, mask: Mask) -> tuple[Mask | None, Mask | None]:
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

    def join(self: Interpreter, mask: Mask, one: Mask | None, two: Mask | None) -> Mask | None:
        """The lanes of either, as a narrowing of `mask`."""
        if one is None and two is None:
            return None
        lanes = one.lanes if two is None else two.lanes if one is None else one.lanes | two.lanes
        return mask.only(lanes)

    # -- loops, and how lanes leave them --------------------------------------------------------------------------

    def do_while(self: Interpreter, node: ast.While, mask: Mask) -> Mask | None:
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

    def do_for(self: Interpreter, node: ast.For, mask: Mask) -> Mask | None:
        plain = self.plain_loop(node, mask)
        return self.step_through(node, mask) if plain is None else self.do_plain_for(node, mask, plain)

    def step_through(self: Interpreter, node: ast.For, mask: Mask) -> Mask | None:
        """A `for` loop round by round."""
        frame = self.frame
        broken: list[Mask] = []
        frame.loops.append(broken)
        returned_before = len(frame.returned)
        running: Mask | None = mask
        is_cheap = id(node) in cheap_loops(frame.function)
        held = held_in_registers(frame.function).get(id(node), frozenset())
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
            self.held |= held  # loaded in the first round, stored in the last: one of each is counted
            if running is None:
                break
        self.held -= held
        frame.loops.pop()
        return self.after_loop(node, mask, broken, returned_before)

    def count_round(self: Interpreter, node: ast.AST, running: Mask) -> None:
        self.tally.row(self.line(node))[SLOT["loop_rounds"]] += running.warps

    def one_round(self: Interpreter, body: list[ast.stmt], running: Mask, broken: list[Mask]) -> Mask | None:
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

    def narrowed(self: Interpreter, node: ast.AST, running: Mask | None, still: np.ndarray) -> Mask | None:
        """The lanes in a `for` loop that have a round left."""
        if running is None:
            return None
        left, _ = self.split(node, still, running)
        return left

    def after_loop(
        self: Interpreter, node: ast.For | ast.While, mask: Mask, broken: list[Mask], returned_before: int
    ) -> Mask | None:
        """The lanes that go on behind the loop: all but those that returned in it; `else` is for who did not break."""
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

    def do_break(self: Interpreter, node: ast.Break, mask: Mask) -> None:
        self.frame.loops[-1].append(mask)

    def do_continue(self: Interpreter, node: ast.Continue, mask: Mask) -> None:
        return None

    def do_return(self: Interpreter, node: ast.Return, mask: Mask) -> None:
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

    def do_function(self: Interpreter, node: ast.FunctionDef, mask: Mask) -> Mask:
        """A function defined inside a kernel: called like a device function, it sees the variables around it."""
        around = self.frame.function
        inner = Function(node.name, "device", node, around.file, around.text, around.names)
        self.write_variable(node.name, Closure(inner, self.frame), mask)
        return mask

    # -- assignment -----------------------------------------------------------------------------------------------

    def do_assign(self: Interpreter, node: ast.Assign, mask: Mask) -> Mask:
        value = self.evaluate(node.value, mask)
        for target in node.targets:
            self.assign(target, value, mask)
        return mask

    def do_annotated_assign(self: Interpreter, node: ast.AnnAssign, mask: Mask) -> Mask:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, mask), mask)
        return mask

    def do_augmented_assign(self: Interpreter, node: ast.AugAssign, mask: Mask) -> Mask:
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

    def assign(self: Interpreter, target: ast.expr, value: Any, mask: Mask) -> None:
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

    def do_expression(self: Interpreter, node: ast.Expr, mask: Mask) -> Mask:
        if not isinstance(node.value, ast.Constant):  # a docstring costs nothing
            self.evaluate(node.value, mask, discard=True)
        return mask

"""How a statement becomes masked operations on all lanes at once.

START HERE to see the engine: `carry_out` of each kind of statement does it for every active lane together, and returns the
mask of the lanes that go on to the next one (None: nobody does). `If` shows the idea, `split` divides a mask; loops are in
loops.py.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from autograder.language.program import Function
from autograder.simgpu import primitives as prim
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.arithmetic import Rule, by_rule
from autograder.simgpu.operations.callables import Closure
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.number_values import truth
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.slicing import check_one_length, of_element, store_into
from autograder.simgpu.operations.steps import Block, Expression, Statement
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Number, Value
from autograder.simgpu.values.variables import Variable

BRANCHES, DIVERGENT_BRANCHES = SLOT["branches"], SLOT["divergent_branches"]


# -- branches ---------------------------------------------------------------------------------------------------------


class If(Statement):
    """One side for the lanes whose condition holds, then the other for the rest; then all go on together."""

    __slots__ = ("condition", "body", "orelse", "joins", "short_arms", "is_short_for_else", "behind_body", "behind_orelse")

    def __init__(self, node: ast.AST, function: Function, condition: Expression, body: Block, orelse: Block) -> None:
        super().__init__(node, function)
        self.condition, self.body, self.orelse = condition, body, orelse
        self.joins: frozenset[Operation] = frozenset()  # accesses that the compiler has once for both arms
        self.is_short_for_else = False  # all lanes go through what is behind `else`, and those of the body go on to that
        self.behind_body = self.behind_orelse = 0  # instructions that end a side: a jump, to wait for the other, to exit
        self.short_arms = 0  # instructions in arms so short that all lanes go through both; 0 where there is a branch

    def carry_out(self, machine: Machine, mask: Mask) -> Mask | None:
        condition = truth(self.condition.value(machine, mask), self.condition)
        taken, other = split(machine, self, condition, mask)
        if self.short_arms:
            machine.books.issued(self, mask, self.short_arms)
            machine.books.in_short_arms += not self.is_short_for_else
        after_taken = self.body.carry_out(machine, taken) if taken is not None else None
        if self.short_arms:
            machine.books.in_short_arms += self.is_short_for_else
        after_other = self.orelse.carry_out(machine, other) if other is not None else None
        if self.behind_body or self.behind_orelse:
            self._issue_ends(machine, taken, other)
        if self.short_arms:
            machine.books.in_short_arms -= 1
        if self.joins:
            machine.counting.end_arms(self.joins)
        if after_taken is taken and after_other is other:
            return mask
        return _join(mask, after_taken, after_other)

    def _issue_ends(self, machine: Machine, taken: Mask | None, other: Mask | None) -> None:
        """The instructions that end each side: those who took the other way do not take part in them."""
        if taken is not None:
            machine.books.issued(self, taken, self.behind_body)
        if other is not None:
            machine.books.issued(self, other, self.behind_orelse)


def split(
    machine: Machine, op: Operation, condition: Number, mask: Mask, is_issued: bool = True
) -> tuple[Mask | None, Mask | None]:
    """Divides the active lanes by a condition, and counts the branch and the warps that it divides."""
    row = machine.books.instruction(op, mask, is_issued)
    row[BRANCHES] += mask.warps
    if not isinstance(condition, np.ndarray):
        return (mask, None) if condition else (None, mask)
    taken, other = np.empty_like(mask.lanes), np.empty_like(mask.lanes)
    counts = prim.split(mask.lanes, condition, taken, other, machine.batch.diverged)
    row[DIVERGENT_BRANCHES] += counts[4]
    trace = machine.launch.trace
    if trace is not None and trace.wants(op.line):
        trace.add_branch(op.line, mask, taken, machine.batch)
    if counts[2] == 0:
        return mask, None
    if counts[0] == 0:
        return None, mask
    return Mask(taken, mask, counts[0], counts[1]), Mask(other, mask, counts[2], counts[3])


def _join(mask: Mask, one: Mask | None, two: Mask | None) -> Mask | None:
    """The lanes of either, as a narrowing of `mask`."""
    if one is None:
        return None if two is None else mask.only(two.lanes)
    return mask.only(one.lanes if two is None else one.lanes | two.lanes)


class Break(Statement):
    """Leaves the innermost loop."""

    __slots__ = ()

    def carry_out(self, machine: Machine, mask: Mask) -> None:
        machine.books.issued(self, mask, self.slots)
        machine.current.loops[-1].append(mask)


class Continue(Statement):
    """Goes on with the next round of the innermost loop."""

    __slots__ = ()

    def carry_out(self, machine: Machine, mask: Mask) -> None:
        return None


class Return(Statement):
    """Leaves the function, with a value or without."""

    __slots__ = ("result",)

    def __init__(self, node: ast.AST, function: Function, result: Expression | None) -> None:
        super().__init__(node, function)
        self.result = result

    def carry_out(self, machine: Machine, mask: Mask) -> None:
        frame = machine.current
        if self.result is not None:
            value = self.result.value(machine, mask)
            if frame.depth == 0:
                if value is not None:
                    raise self.fault("A kernel cannot return a value.", "Write results into an array argument.")
            else:
                if frame.result is None:
                    frame.result = Variable()
                frame.result.write(mask, value)
        frame.returned.append(mask)
        machine.books.issued(self, mask, self.slots)
        if frame.depth == 0:
            machine.batch.exited |= mask.lanes


class Raise(Statement):
    """Ends the threads that get here: silently, unless the kernel was compiled with debug=True."""

    __slots__ = ("kind", "values")

    def __init__(
        self, node: ast.AST, function: Function, kind: type[Exception], values: tuple[object, ...]
    ) -> None:
        super().__init__(node, function)
        self.kind, self.values = kind, values

    def carry_out(self, machine: Machine, mask: Mask) -> None:
        machine.leave_by_exception(self, mask, self.kind, self.values)


class Nothing(Statement):
    """`pass`, a docstring, an assertion: Numba drops assertions in kernels unless debug=True."""

    __slots__ = ()

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        return mask


class Refused(Statement):
    """A statement that no kernel can contain; told when it is reached."""

    __slots__ = ()

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        raise self.fault(f"A kernel cannot contain `{type(self.node).__name__.lower()}` statements.")


class Definition(Statement):
    """A function defined inside a kernel: called like a device function, it sees the variables around it."""

    __slots__ = ("inner",)

    def __init__(self, node: ast.AST, function: Function, inner: Function) -> None:
        super().__init__(node, function)
        self.inner = inner

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        machine.current.write(self.inner.name, Closure(self.inner, machine.current), mask)
        return mask


class Nameless(Expression):
    """`lambda x: ...`: a function defined inside a kernel, as a value."""

    __slots__ = ("inner",)

    def __init__(self, node: ast.AST, function: Function, inner: Function) -> None:
        super().__init__(node, function)
        self.inner = inner

    def value(self, machine: Machine, mask: Mask) -> Value:
        return Closure(self.inner, machine.current)


# -- assignment -------------------------------------------------------------------------------------------------------


class Target(Operation):
    """What is assigned to."""

    __slots__ = ()

    @abstractmethod
    def assign(self, machine: Machine, value: Value, mask: Mask) -> None:
        """Gives it the value, for the lanes of `mask`."""


class Name(Target):
    """A variable."""

    __slots__ = ("name",)

    def __init__(self, node: ast.AST, function: Function, name: str) -> None:
        super().__init__(node, function)
        self.name = name

    def assign(self, machine: Machine, value: Value, mask: Mask) -> None:
        if isinstance(value, View) and value.buffer.space in ("shared", "local") and not value.name:
            value = value.renamed(self.name)
        machine.current.write(self.name, value, mask)


class Element(Target):
    """An element or a part of an array, or a record's field."""

    __slots__ = ("reached",)

    def __init__(self, node: ast.AST, function: Function, reached: Subscript | Attribute) -> None:
        super().__init__(node, function)
        self.reached = reached

    def assign(self, machine: Machine, value: Value, mask: Mask) -> None:
        view, indices = self.reached.place(machine, mask)
        if isinstance(value, (np.ndarray, np.number)) and len(indices) == len(view.shape) and view.dtype.fields is None:
            if not any(isinstance(each, slice) for each in indices):
                machine.memory.store(view, of_element(indices), value, mask, self.reached)
                return
        store_into(machine, view, indices, value, mask, self.reached)


class TupleTarget(Target):
    """`a, b = ...`: each gets a part."""

    __slots__ = ("targets",)

    def __init__(self, node: ast.AST, function: Function, targets: Sequence[Target]) -> None:
        super().__init__(node, function)
        self.targets = targets

    def assign(self, machine: Machine, value: Value, mask: Mask) -> None:
        for target, part in zip(self.targets, self._parts(machine, value, mask), strict=True):
            target.assign(machine, part, mask)

    def _parts(self, machine: Machine, value: Value, mask: Mask) -> tuple[Value, ...]:
        wanted = len(self.targets)
        if isinstance(value, View):
            check_one_length(value, self)
            if value.ndim != 1 or value.shape[0] != wanted:
                raise self.fault(f"`{value.name}` cannot be unpacked into {wanted} variables.")
            return tuple(machine.memory.load(value, (np.int64(i),), mask, self) for i in range(value.shape[0]))
        if not isinstance(value, tuple):
            raise self.fault(
                f"One value cannot be unpacked into {wanted} variables.",
                "cuda.grid(2) gives two values; cuda.grid(1) gives one.",
            )
        if len(value) != wanted:
            raise self.fault(f"{len(value)} values cannot be unpacked into {wanted} variables.")
        return value


class Untargetable(Target):
    """What nothing can be assigned to in a kernel."""

    __slots__ = ()

    def assign(self, machine: Machine, value: Value, mask: Mask) -> None:
        raise self.fault("This cannot be assigned to in a kernel.")


class Assign(Statement):
    """`target = value`, to one target or to several."""

    __slots__ = ("targets", "operand")

    def __init__(self, node: ast.AST, function: Function, targets: Sequence[Target], operand: Expression) -> None:
        super().__init__(node, function)
        self.targets, self.operand = targets, operand

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        value = self.operand.value(machine, mask)
        for target in self.targets:
            target.assign(machine, value, mask)
        return mask


class UpdateName(Statement):
    """`x += y`."""

    __slots__ = ("name", "kind", "read", "operand", "rule")

    def __init__(
        self, node: ast.AST, function: Function, name: str, kind: type[ast.operator], read: Expression,
        operand: Expression,
    ) -> None:  # fmt: skip
        super().__init__(node, function)
        self.name, self.kind, self.read, self.operand = name, kind, read, operand
        self.rule: Rule | None = None

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        old = self.read.value(machine, mask)
        new = by_rule(machine, self, self.kind, self.rule, old, self.operand.value(machine, mask), mask)
        machine.current.write(self.name, new, mask)
        return mask


class UpdateElement(Statement):
    """`a[i] += y`: a read, an operation and a write; in memory they are three separate steps."""

    __slots__ = ("reached", "kind", "operand", "rule")

    def __init__(
        self, node: ast.AST, function: Function, reached: Subscript | Attribute, kind: type[ast.operator],
        operand: Expression,
    ) -> None:  # fmt: skip
        super().__init__(node, function)
        self.reached, self.kind, self.operand = reached, kind, operand
        self.rule: Rule | None = None

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        view, indices = self.reached.place(machine, mask)
        at = of_element(indices)
        old = machine.memory.load(view, at, mask, self.reached)
        new = by_rule(machine, self, self.kind, self.rule, old, self.operand.value(machine, mask), mask)
        machine.memory.store(view, at, new, mask, self.reached)
        return mask


class Evaluate(Statement):
    """An expression for what it does: a call, mostly."""

    __slots__ = ("operand",)

    def __init__(self, node: ast.AST, function: Function, operand: Expression) -> None:
        super().__init__(node, function)
        self.operand = operand

    def carry_out(self, machine: Machine, mask: Mask) -> Mask:
        self.operand.value(machine, mask)
        return mask

"""Operators and conditions: expressions that compute with lane vectors."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from autograder.language.program import Function
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations import structured
from autograder.simgpu.operations.arithmetic import Rule, by_rule, count_arithmetic
from autograder.simgpu.operations.comparisons import compare
from autograder.simgpu.operations.number_values import merged, number, truth
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.shared_numbers import ComputedExpression
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.structures import Structure
from autograder.simgpu.values.values import Number, Value

# Of two whole numbers, whatever they are, always the same work; a divisor has to be written there as well.
OF_WHOLE_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
DIVISIONS = (ast.FloorDiv, ast.Mod)


class Binary(ComputedExpression):
    """`left op right`."""

    __slots__ = ("kind", "left", "right", "rule")

    def __init__(
        self, node: ast.AST, function: Function, kind: type[ast.operator], left: Expression, right: Expression
    ) -> None:
        super().__init__(node, function)
        self.kind, self.left, self.right = kind, left, right
        self.rule: Rule | None = None

    def work_out(self, machine: Machine, mask: Mask) -> Value:
        left = self.left.value(machine, mask)
        return by_rule(machine, self, self.kind, self.rule, left, self.right.value(machine, mask), mask)

    def shared_names(self) -> frozenset[str] | None:
        if self.kind in DIVISIONS and (self.divides_in_parts or (self.right.written_number() or 0) <= 0):
            return None
        if self.kind not in (*OF_WHOLE_NUMBERS, *DIVISIONS):
            return None
        left, right = self.left.shared_names(), self.right.shared_names()
        return None if left is None or right is None else left | right


class Unary(Expression):
    """`-x`, `+x`, `~x` or `not x`."""

    __slots__ = ("kind", "operand")

    def __init__(self, node: ast.AST, function: Function, kind: type[ast.unaryop], operand: Expression) -> None:
        super().__init__(node, function)
        self.kind, self.operand = kind, operand

    def value(self, machine: Machine, mask: Mask) -> Value:
        return self.of(machine, self.operand.value(machine, mask), mask)

    def of(self, machine: Machine, operand: Value, mask: Mask) -> Value:
        """The result for this operand, counted."""
        if isinstance(operand, Structure):
            own = structured.operated(machine, self, self.kind, (operand,), mask)
            if own is not None:
                return own[0]
        if self.kind is ast.Not:
            machine.books.left_out(self, mask)  # the compiler asks for the opposite instead
            return np.logical_not(truth(operand, self))
        value = number(operand, self)
        row = machine.books.instruction(self, mask)
        if value.dtype == nt.BOOL:
            value = value.astype(nt.INT64)
        count_arithmetic(row, value.dtype, mask)
        if self.kind is ast.USub:
            value = np.negative(value)
        elif self.kind is ast.Invert:
            if value.dtype.kind not in "iu":
                raise self.fault(f"`~` needs an integer, not {value.dtype}.")
            value = np.invert(value)
        if value.dtype.kind in "iu":  # Numba widens the result, not the operand: -uint8(9) is 247
            value = value.astype(nt.UINT64 if value.dtype.kind == "u" else nt.INT64)
        return value


class Compare(Expression):
    """A comparison, chained ones included: `0 <= i < a[i]` evaluates `a[i]` only where `0 <= i`."""

    __slots__ = ("kinds", "left", "others", "are_plain")

    def __init__(
        self, node: ast.AST, function: Function, left: Expression, kinds: Sequence[type[ast.cmpop]],
        others: Sequence[Expression], are_plain: Sequence[bool],
    ) -> None:  # fmt: skip
        """`are_plain`: of which of the `others` it makes no difference who works them out: names and constants."""
        super().__init__(node, function)
        self.left, self.kinds, self.others, self.are_plain = left, kinds, others, are_plain

    def value(self, machine: Machine, mask: Mask) -> Value:
        left = self.left.value(machine, mask)
        result: Number | None = None
        asking = mask
        for kind, other, is_plain in zip(self.kinds, self.others, self.are_plain, strict=True):
            if result is not None and not is_plain:
                asking = asking.only(np.broadcast_to(result, mask.lanes.shape))
                if not asking.active:
                    return result
            right = other.value(machine, asking)
            one = compare(machine, self, kind, left, right, mask)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result


class Junction(Expression):
    """`and` / `or`: what stands further right is evaluated only by the lanes that still need it."""

    __slots__ = ("is_and", "operands", "plain", "plain_slots", "part_slots", "is_met_behind")

    def __init__(self, node: ast.AST, function: Function, is_and: bool, operands: Sequence[Expression]) -> None:
        super().__init__(node, function)
        self.is_and, self.operands = is_and, operands
        self.plain = 0  # operands behind the first that all lanes work out, since that is no more than arithmetic
        self.is_met_behind = False  # lanes that need no more operands wait for the others
        self.part_slots = 0  # machine instructions with which the others go on asking
        self.plain_slots = 0  # and the machine instructions that they take

    def value(self, machine: Machine, mask: Mask) -> Value:
        value = self.operands[0].value(machine, mask)
        asking = mask
        if self.plain_slots:
            machine.books.issued(self, mask, self.plain_slots)
        for place, each in enumerate(self.operands[1:]):
            holds = truth(value, self)
            if not isinstance(holds, np.ndarray):
                if bool(holds) != self.is_and:
                    return value
                value = self._next(machine, asking, each, place)
                continue
            asked = asking
            asking = asking.only(holds if self.is_and else ~holds)
            if self.is_met_behind and place >= self.plain and asking is not asked:
                machine.books.issued(self, asked.without(asking.lanes))
            if not asking.active:
                return value
            if place >= self.plain and self.part_slots:
                machine.books.issued(self, asking, self.part_slots)
            value = merged(self, asking.lanes, self._next(machine, asking, each, place), value)
        return value

    def _next(self, machine: Machine, asking: Mask, operand: Expression, place: int) -> Value:
        if place >= self.plain:
            return operand.value(machine, asking)
        machine.books.in_short_arms += 1
        value = operand.value(machine, asking)
        machine.books.in_short_arms -= 1
        return value


class Selection(Expression):
    """`yes if condition else no`."""

    __slots__ = ("condition", "yes", "no", "joins", "short_arms")

    def __init__(
        self, node: ast.AST, function: Function, condition: Expression, yes: Expression, no: Expression
    ) -> None:
        super().__init__(node, function)
        self.condition, self.yes, self.no = condition, yes, no
        self.joins: frozenset[Operation] = frozenset()  # accesses that the compiler has once for both sides
        self.short_arms = 0  # instructions of sides so short that all lanes go through both; 0 where there is a branch

    def value(self, machine: Machine, mask: Mask) -> Value:
        holds = truth(self.condition.value(machine, mask), self)
        machine.books.instruction(self, mask)
        if self.short_arms:
            machine.books.issued(self, mask, self.short_arms)
            machine.books.in_short_arms += 1
        value = self._selected(machine, holds, mask)
        if self.short_arms:
            machine.books.in_short_arms -= 1
        if self.joins:
            machine.counting.end_arms(self.joins)
        return value

    def _selected(self, machine: Machine, holds: Number, mask: Mask) -> Value:
        if not isinstance(holds, np.ndarray):
            return (self.yes if holds else self.no).value(machine, mask)
        yes, no = mask.only(holds), mask.only(~holds)
        if not no.active:
            return self.yes.value(machine, yes)
        if not yes.active:
            return self.no.value(machine, no)
        return merged(self, yes.lanes, self.yes.value(machine, yes), self.no.value(machine, no))

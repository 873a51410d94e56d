"""Which arms of a branch are so short that the compiler makes no jump: all lanes go through, under a predicate.

Read off machine code of small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Hashable, Iterator
from functools import cached_property

import numpy as np

from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.integers import Integers
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.facts.literals import is_literal, literal_value
from autograder.simgpu.facts.loop_costs import APART
from autograder.simgpu.facts.placing import MADE_ANEW, Placing
from autograder.simgpu.operations.expressions import Constant, Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall, everything_of
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary, Compare, Selection, Unary
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    If,
    Name,
    Nothing,
    Raise,
    Return,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block

SHORT_ARM = 8  # instructions, at the most
SPECULATED = 4  # likewise, of arms that are both carried out before one of their results is selected


class ShortArms:
    """The branches of one kernel."""

    def __init__(self, found: Found, forms: Forms, integers: Integers, placing: Placing) -> None:
        self.found = found
        self.forms = forms
        self.integers = integers
        self.placing = placing

    def size(self, part: Operation) -> int:
        """The instructions of an operation and its parts, without those that are computed before a loop around."""
        size, waiting = 0, [part]
        while waiting:
            each = waiting.pop()
            if each.joined is None and each.store_joined is None:
                size += each.slots
                if not any(each in loop.hoisted for loop in self.placing.loops) or self._is_made_anew(each):
                    size += each.once
                if isinstance(each, UpdateElement):
                    size += each.reached.slots  # it is loaded and stored
            else:
                size += each.slots_in_arm
            if isinstance(each, (If, Selection)) and each.short_arms:
                size += each.short_arms
                waiting.append(each.condition)
                continue
            waiting.extend(each.parts())
            if isinstance(each, Block):
                size += sum(load.slots + load.once for load in each.sunk)
            if isinstance(each, FunctionCall):
                waiting.extend(body.body for body in each.bodies.values())
        return size

    def numbers_apart(self, one: Block, other: Block) -> int:
        """How many numbers of the source two arms of one statement differ by, if by nothing else; 0 if they are not so.

        The compiler selects the numbers, and carries the statement out once: `t += 4 * x` or `t += 2 * x`.
        """
        if len(one.statements) != 1 or len(other.statements) != 1:
            return 0
        (ours,), (theirs,) = one.statements, other.statements
        if isinstance(ours, UpdateName) and isinstance(theirs, UpdateName):
            is_same = (ours.name, ours.kind) == (theirs.name, theirs.kind)
            return self._apart(ours.operand, theirs.operand) or 0 if is_same else 0
        if not isinstance(ours, Assign) or not isinstance(theirs, Assign):
            return 0
        names = [[each.name for each in part.targets if isinstance(each, Name)] for part in (ours, theirs)]
        if names[0] != names[1] or len(names[0]) != len(ours.targets):
            return 0
        return self._apart(ours.operand, theirs.operand) or 0

    def _apart(self, one: Operation, other: Operation) -> int | None:
        """How many numbers of the source two expressions differ by; None if by anything else."""
        if is_literal(one, self.found) and is_literal(other, self.found):
            return int(literal_value(one, self.found) != literal_value(other, self.found))
        match one, other:
            case Local(), Local():
                return 0 if (one.function, one.name) == (other.function, other.name) else None
            case Binary(), Binary():
                is_same = one.kind is other.kind
            case Unary(), Unary():
                is_same = one.kind is other.kind
            case Attribute(), Attribute():
                is_same = one.name == other.name
            case FunctionCall(), FunctionCall():
                paths = [self.found.callees.get(each, "") for each in (one, other)]
                is_same = paths[0] == paths[1] and paths[0].startswith("math.")
            case Subscript(), Subscript():
                is_same = True
            case _:
                return None
        parts, others = (
            list(each.arguments if isinstance(each, FunctionCall) else each.parts()) for each in (one, other)
        )
        if not is_same or len(parts) != len(others):
            return None
        apart = [self._apart(*pair) for pair in zip(parts, others, strict=True)]
        return None if None in apart else sum(each for each in apart if each is not None)

    def selected(self, *arms: Block) -> int:
        """The instructions that select numbers of float64, half by half, behind arms which do no more than compute them.

        Both ways are then carried out; longer arms, and those that look at memory, are carried out under a predicate.
        """
        selected: dict[str, int] = {}
        for arm in arms:
            for each in arm.statements:
                if isinstance(each, UpdateName):
                    value: Operation = each
                    names = [each.name]
                elif isinstance(each, Assign) and all(isinstance(target, Name) for target in each.targets):
                    value = each.operand
                    names = [target.name for target in each.targets if isinstance(target, Name)]
                elif isinstance(each, Nothing):
                    continue
                else:
                    return 0
                known = self.found.values.get(value)
                if isinstance(known, KnownNumber) and known.dtype == np.float64 and not isinstance(value, Local):
                    selected.update((name, max(selected.get(name, 0), 2 - isinstance(value, Constant))) for name in names)
        if sum(map(self.size, arms)) > SPECULATED or any(map(self._looks_at_memory, arms)):
            return 0
        return sum(selected.values())

    def moved(self, *arms: Block) -> int:
        """The instructions that give variables in arms the values of others, which are there: `best = x`, `at = j`.

        Each takes one for every register. In a loop that does four rounds at once, one for its counter: these numbers differ
        in their last bits alone. Where it is unrolled they are constants, which take what arms take at the least.
        """
        found: dict[str, int] = {}
        for arm in arms:
            for each in arm.statements:
                if not isinstance(each, Assign):
                    continue
                for name, value in renamed(each):
                    known = self.found.values.get(value)
                    if isinstance(known, KnownNumber) and known.dtype is not None and known.constant is None:
                        found[name] = max(found.get(name, 0), self._registers(known))
        return sum(found.values())

    def is_extreme(self, branch: If) -> bool:
        """Whether a branch is the larger or the smaller of two integers of 32 bits: `if x > best: best = x`."""
        condition, statements = branch.condition, branch.body.statements
        if not isinstance(condition, Compare) or len(condition.kinds) != 1 or not is_empty(branch.orelse):
            return False
        if condition.kinds[0] not in (ast.Lt, ast.LtE, ast.Gt, ast.GtE) or len(statements) != 1:
            return False
        given = list(renamed(statements[0])) if isinstance(statements[0], Assign) else []
        asked = [each for each in (condition.left, condition.others[0]) if isinstance(each, Local)]
        known = [self.found.values.get(each) for each in asked]
        if any(not isinstance(each, KnownNumber) or each.dtype not in (np.int32, np.uint32) for each in known):
            return False
        return [{name, value.name} for name, value in given] == [{each.name for each in asked}]

    def _registers(self, known: KnownNumber) -> int:
        """How many of them a value takes that another variable is given."""
        assert known.dtype is not None
        loop = self.placing.loops[-1] if self.placing.loops else None
        if known.dtype.itemsize <= 4 or loop is None or loop not in self.forms.loops_of(known.form):
            return 1 + (known.dtype.itemsize > 4)
        if self.integers.is_written_out(loop):
            return 1 if known.dtype.kind in "iu" else 2
        is_four_at_once = loop in self.placing.fours or isinstance(loop, For) and loop.is_four_at_once
        advances = self.integers.goes_on_by(loop, known.form) is not None
        return 1 if is_four_at_once and advances else 2

    def is_short(self, arm: Operation, other: Operation) -> bool:
        """Whether all lanes go through an arm; a predicate says which of them each instruction is for.

        The address of one load from global memory, or of an element that is updated there, does not count towards its size.
        """
        size, chain = self.size(arm), 0
        waiting: list[Operation] = [arm]
        while waiting:
            each = waiting.pop()
            if isinstance(each, (For, While, Return, Break, Continue, Raise)):
                return False
            if isinstance(each, If) and not (each.short_arms and is_empty(each.orelse)):
                return False
            if isinstance(each, FunctionCall) and not self._is_straight(each):
                return False
            if isinstance(each, Selection) and not each.joins and self._looks_at_memory(each.yes, each.no):
                return False
            if each in self.found.reached and each.joined is None and each.store_joined is None:
                own = each.slots + (0 if any(each in loop.hoisted for loop in self.placing.loops) else each.once)
                if self.found.reached[each].array.space == "global" and each not in self.found.stores:
                    chain = max(chain, own)
            if isinstance(each, Block):
                loads = [load for load in each.sunk if self._is_of_global_memory(load)]
                chain = max(chain, *(load.slots + load.once for load in loads), 0)
            if isinstance(each, UpdateElement) and self._is_of_global_memory(each.reached):
                own = each.slots + (0 if any(each in loop.hoisted for loop in self.placing.loops) else each.once)
                chain = max(chain, own - 1)  # all but the operation
            waiting.extend(each.parts())
            if isinstance(each, FunctionCall):
                waiting.extend(body.body for body in each.bodies.values())
        both = isinstance(arm, Block) and isinstance(other, Block) and not is_empty(arm) and not is_empty(other)
        return size - chain + both <= SHORT_ARM

    def _is_made_anew(self, op: Operation) -> bool:
        """Whether each round of an unrolled loop has a value of its own, made from the counter in a few instructions.

        Not so where more accesses go through that array: their addresses may be the same, and are computed once; nor where
        a loop around goes round with the values in registers.
        """
        known = self.found.values.get(op)
        if not isinstance(known, KnownNumber) or op.once > MADE_ANEW:
            return False
        if self.integers.without_counters(known.form) == known.form:
            return False
        if any(op in loop.hoisted and not self.integers.is_written_out(loop) for loop in self.placing.loops):
            return False
        mine = {each.array.identity for each in self.found.reached.values() if op in each.made_by}
        return all(self._moving[each] == 1 for each in mine)

    @cached_property
    def _moving(self) -> Counter[Hashable]:
        """By array: how many operations access elements of it by an index that a loop changes."""
        return Counter(
            each.array.identity
            for each in self.found.reached.values()
            if any(index is not None and self.forms.loops_of(index) for index in each.indices)
        )

    def _is_of_global_memory(self, op: Operation) -> bool:
        return op in self.found.reached and self.found.reached[op].array.space == "global"

    def _looks_at_memory(self, *parts: Operation) -> bool:
        return any(
            each in self.found.reached and not each.leaves_no_load for part in parts for each in everything_of(part)
        )

    def _is_straight(self, call: FunctionCall) -> bool:
        """Whether a call is a few instructions without a branch that concern the lane alone."""
        path = self.found.callees.get(call, "")
        return bool(call.bodies) or not path.startswith(APART)


def renamed(statement: Assign) -> Iterator[tuple[str, Local]]:
    """The variables that a statement gives values of others: `a = b`, `a, b = b, a`."""
    operand = statement.operand
    for target in statement.targets:
        if isinstance(target, Name) and isinstance(operand, Local):
            yield target.name, operand
        elif isinstance(target, TupleTarget) and isinstance(operand, TupleOf) and len(target.targets) == len(operand.items):
            for into, value in zip(target.targets, operand.items, strict=True):
                if isinstance(into, Name) and isinstance(value, Local):
                    yield into.name, value


def is_empty(block: Block) -> bool:
    """Whether a block does nothing."""
    return all(isinstance(each, Nothing) for each in block.statements)

"""Writes what one lane does in one round of a loop, for Numba to compile.

START HERE: `LaneWriter.statement` goes by the kind of operation, as operations do themselves where they are stepped through.
What they compute is written out; what they count they tell themselves, on small masks (counts.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.simgpu.counting.regrouping import AT_ONCE
from autograder.simgpu.in_registers.counts import Amount, CountShare, samples
from autograder.simgpu.in_registers.desk import BROKE, CONTINUES, LEFT, LEFT_FOR, RETURNED, Meaning, Variables, WayOut
from autograder.simgpu.in_registers.expressions import LaneExpressions
from autograder.simgpu.in_registers.figures import LaneNumber, Sharing, either
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.operations.expressions import NamedExpression
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, InFours, While
from autograder.simgpu.operations.operation import everything_in
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    Element,
    If,
    Name,
    Nothing,
    Raise,
    Return,
    Target,
    TupleTarget,
    UpdateName,
    split,
)
from autograder.simgpu.operations.steps import STATEMENT_COST, Block, Statement
from autograder.simgpu.values.numba_types import BOOL, INT64, UINT64

OF_A_STATEMENT = CountShare({}, Amount(STATEMENT_COST))
MOST_TRIES = 4  # until it is known which variables lanes share


class LaneWriter(LaneExpressions):
    """Writes one loop for variables of some types."""

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, block: Block, flag: str) -> bool:
        """Statement after statement; whether a lane may come to the end."""
        if block.sunk:
            raise NotWritten("loads that the compiler makes later")
        return self.statements(block.statements, flag)

    def statements(self, statements: Sequence[Statement], flag: str) -> bool:
        for place, statement in enumerate(statements):
            self.at = statement
            self.source.count(OF_A_STATEMENT)
            goes_on, may_leave = self.statement(statement, flag)
            if not goes_on:
                return False
            rest = statements[place + 1 :]
            if may_leave and rest:
                self.source.here = None
                with self.source.inside(f"if {flag} == 0:"):
                    return self.statements(rest, flag)
        return True

    def statement(self, op: Statement, flag: str) -> tuple[bool, bool]:
        """One statement; whether a lane may go on behind it, and whether one may have left."""
        match op:
            case Nothing():
                return True, False
            case Continue() if not self.scopes:
                self.check_types()
                self.to_next.append(dict(self.variables))
                self.go(flag, CONTINUES)
                return False, True
            case Break() if not self.scopes:
                self.leaving(op)
                self.check_types()
                self.go(flag, BROKE)
                return False, True
            case Return() if self.scopes:
                self.give(op, flag)
                return False, True
            case Return():
                self.leave(op, flag)
                return False, True
            case Assign():
                value = self.meaning(op.operand)
                for target in op.targets:
                    self.assign(target, value)
            case UpdateName():
                old = self.apart(self.number(op.read))
                assert isinstance(old, LaneNumber)
                self.set(op.name, self.binary(op, op.kind, old, self.number(op.operand)))
            case If():
                return self.branch(op, flag)
            case For() | While():
                raise NotWritten("a loop within the loop")
            case _:
                raise NotWritten(type(op).__name__)
        return True, False

    def assign(self, target: Target, value: Meaning) -> None:
        if isinstance(target, Name) and isinstance(value, LaneNumber):
            self.set(target.name, value)
        elif isinstance(target, TupleTarget) and isinstance(value, tuple) and len(value) == len(target.targets):
            for each, part in zip(target.targets, [self.apart(each) for each in value], strict=True):
                self.assign(each, part)
        else:
            raise NotWritten(f"an assignment to {type(target).__name__}")

    def leave(self, op: Return, flag: str) -> None:
        """Leaves the function that the loop is in, with a number or without."""
        result = None if op.result is None else self.apart(self.number(op.result))
        if result is not None and (not isinstance(result, LaneNumber) or self.machine.current.depth == 0):
            raise NotWritten("a return of something else than a number")
        self.leaving(op)
        self.check_types()
        if result is not None:
            self.source.write(f"x{len(self.returns)} = {result.code}")
        self.go(flag, RETURNED + len(self.returns))
        self.returns.append((op, result))

    def branch(self, op: If, flag: str) -> tuple[bool, bool]:
        if op.joins:
            raise NotWritten("accesses that both sides share")
        source = self.source
        condition = self.condition(op.condition)
        sample = self.sample(condition)
        self.count(lambda machine, mask: split(machine, op, sample, mask))
        self.issued(op, op.short_arms)
        before, run = dict(self.variables), source.run()
        division = source.divide(op) if condition.sharing != Sharing.SHARED else ""
        ends: list[Variables] = []
        may_leave = False
        in_short = bool(op.short_arms)
        if division:
            condition = self.kept(condition.code, BOOL, condition.sharing)
            source.write(f"{division} += {condition.code}")
        for arm, head, behind, is_short in (
            (op.body, f"if {condition.code}:", op.behind_body, in_short and not op.is_short_for_else),
            (op.orelse, "else:", op.behind_orelse, in_short),
        ):
            source.here, self.variables = None, dict(before)
            with source.inside(head):
                with self.in_short_arms(in_short):
                    self.issued(op, behind)
                with self.in_short_arms(is_short):
                    gone = self.gone
                    if self.arm(arm, flag):
                        ends.append(self.variables)
                    may_leave = may_leave or self.gone > gone
        source.here = run
        if ends:
            self.variables = joined(ends, is_divided=condition.sharing != Sharing.SHARED)
        return bool(ends), may_leave

    def arm(self, block: Block, flag: str) -> bool:
        """One side of a branch; where it leaves the loop after something that is not written, that is left for later."""
        place, variables, around = self.source.mark(), self.variables, self.around
        known = len(self.draws), len(self.returns), len(self.ways_out), len(self.loads), len(self.asked_by), self.gone
        try:
            return self.block(block, flag)
        except NotWritten:
            if self.scopes or flag != "g" or not block.statements or not isinstance(block.statements[-1], (Break, Return)):
                raise
            if any(isinstance(each, Raise) for each in everything_in(block)):
                raise
        self.source.back_to(place)
        self.variables, self.around = dict(variables), around
        del self.draws[known[0] :], self.returns[known[1] :], self.ways_out[known[2] :], self.loads[known[3] :]
        del self.asked_by[known[4] :]
        self.gone = known[5]
        self.check_types()
        self.source.write("left_at = number")
        self.go(flag, LEFT_FOR + len(self.ways_out))
        self.ways_out.append(WayOut(block, around))
        return False

    # -- the round ----------------------------------------------------------------------------------------------------

    def check_types(self) -> None:
        """A lane that leaves here must have its variables in the types that they are kept in."""
        for name in self.assigned & self.kinds.keys():
            if name not in self.variables or self.variables[name].dtype != self.kinds[name][0]:
                raise NotWritten("a variable of two types")

    def round(self) -> None:
        """One round, from one on that is not the first."""
        loop = self.loop
        if any(isinstance(each, NamedExpression) for each in everything_in(loop)):
            raise NotWritten("an assignment in an expression")
        if isinstance(loop, For):
            if self.is_by_lane:
                self.head_by_lane(loop)
        elif isinstance(loop, While):
            self.head_of_while(loop)
        with self.source.inside("if g == 0:"):
            if isinstance(loop, For):
                self.head_of_for(loop)
            if self.block(loop.body, "g"):
                self.check_types()
                self.to_next.append(self.variables)
        if self.draws and self.ways_out:
            raise NotWritten("random numbers, and accesses to memory before the loop is left")
        if self.loads and any(loads_in(each.block) for each in self.ways_out):
            raise NotWritten("loads, and others before the loop is left")
        if not self.to_next:
            raise NotWritten("a loop of one round")
        if self.is_by_lane:
            with self.source.inside(f"if g <= {CONTINUES}:"):
                self.source.write("current = np.int64(np.uint64(current) + np.uint64(step_of))")

    def head_of_for(self, op: For) -> None:
        if op.is_watched:
            raise NotWritten("a loop whose rounds count in different ways")
        if not isinstance(op.target, Name) or op.target.name in self.others:
            raise NotWritten("a loop over several things")
        name = op.target.name
        dtype, sharing = self.kinds[name]
        counter = LaneNumber("counter", INT64, Sharing.SHARED)
        if self.is_by_lane:
            counter = LaneNumber("np.uint64(current)" if dtype == UINT64 else "current", dtype, Sharing.BY_LANE)
        if dtype not in (INT64, UINT64) or (dtype, sharing) != counter.kind:
            raise NotWritten("a loop over numbers of another type")
        self.count(lambda machine, mask: machine.books.instruction(op, mask))
        if not op.is_cheap:
            self.count(lambda machine, mask: machine.books.loop_round(op, mask))
        self.set(name, counter)

    def head_by_lane(self, op: For) -> None:
        """Who has a round left, where the bounds of a range differ by lane."""
        source = self.source
        sample = samples(BOOL, True)
        self.count(lambda machine, mask: split(machine, op, sample, mask, is_issued=False))
        source.write("still = current < stop_of if step_of > 0 else current > stop_of")
        source.write(f"{source.divide(op)} += still")
        self.way_out("still", op)

    def way_out(self, condition: str, op: For | While) -> None:
        """Lanes leave whose condition does not hold."""
        source = self.source
        with source.inside(f"if not {condition}:"):
            source.here = None
            if op.is_met_behind and not self.is_regrouped:
                self.issued(op, 1)
            source.write(f"g = {LEFT}")
        source.here = None

    def head_of_while(self, op: While) -> None:
        source = self.source
        if op.is_hopeless or op.waits:
            raise NotWritten("a loop that waits")
        condition = self.condition(op.condition)
        sample = self.sample(condition)
        self.count(lambda machine, mask: split(machine, op, sample, mask))
        if condition.sharing != Sharing.SHARED:
            condition = self.kept(condition.code, BOOL, condition.sharing)
            source.write(f"{source.divide(op)} += {condition.code}")
        self.way_out(condition.code, op)
        if op.fours is not None and not self.is_regrouped:
            self.in_fours(op, op.fours)

    def in_fours(self, op: While, fours: InFours) -> None:
        """What a round takes of a loop that is done four rounds at a time."""
        for condition, times in (
            *((f"(number & {AT_ONCE - 1}) == {place}", fours.of_round(AT_ONCE + place)) for place in range(AT_ONCE)),
            (f"number == {AT_ONCE - 1}", fours.first),
        ):  # fmt: skip
            if times:
                self.source.here = None
                with self.source.inside(f"if g == 0 and {condition}:"):
                    self.issued(op, times)
                self.source.here = None


def loads_in(block: Block) -> bool:
    """Whether anything in it may load an element of an array."""
    everything = everything_in(block)
    stored = {each.reached for each in everything if isinstance(each, Element)}
    return any(isinstance(each, (Subscript, FunctionCall)) and each not in stored for each in everything)


def joined(paths: Sequence[Variables], *, is_divided: bool) -> Variables:
    """The variables where paths meet; those that only some of them have are of no use behind."""
    first, *others = paths
    result = dict(first)
    for other in others:
        for name in [*result]:
            one, two = result[name], other.get(name)
            if two is None or one.dtype != two.dtype:
                del result[name]
            elif one is not two:
                result[name] = LaneNumber(one.code, one.dtype, either(one.sharing, two.sharing, is_divided=is_divided))
    return result


def widened(writer: LaneWriter) -> dict[str, tuple[np.dtype, Sharing]]:
    """Who has each variable where a round begins, after what the rounds before have made of it."""
    kinds = dict(writer.kinds)
    for name in writer.assigned & kinds.keys():
        ends = [each[name].sharing for each in writer.to_next]
        for sharing in ends:
            is_divided = len(set(ends)) > 1
            kinds[name] = kinds[name][0], either(kinds[name][1], sharing, is_divided=is_divided)
    return kinds



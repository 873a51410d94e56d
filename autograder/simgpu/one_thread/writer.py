"""Writes a loop of one thread as a Python function.

START HERE: `Writer.statement` goes by the kind of operation, as operations do themselves where they are stepped through.
What they compute is written out; what they count they tell themselves (rehearsal.py); and what needs a closer look (an
index outside, a race, a division by zero) is left to them where it happens.
"""

from __future__ import annotations

from dataclasses import replace

from autograder.language.program import Reference
from autograder.simgpu.counting.regrouping import AT_ONCE
from autograder.simgpu.one_thread import numbers
from autograder.simgpu.one_thread.desk import Fixed, Meaning
from autograder.simgpu.one_thread.expressions import Expressions
from autograder.simgpu.one_thread.numbers import Number, limits
from autograder.simgpu.one_thread.rehearsal import RunCount, sample
from autograder.simgpu.one_thread.source import (
    ALL,
    COUNTERS,
    END,
    GONE,
    GROUPS,
    HAND_OVER,
    LEAVES_ALL,
    LEAVES_LOOP,
    RESET,
    STAYS,
    NotWritten,
)
from autograder.simgpu.one_thread.variables import (
    Unsteady,
    Variables,
    assigned_in,
    changes_after_first_round,
    inner_number,
    joined,
    name_of,
    types,
    widened,
)
from autograder.simgpu.operations.expressions import Constant, Local, NamedExpression
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import STUCK_AFTER, For, InFours, Loop, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    Element,
    Evaluate,
    If,
    Name,
    Nothing,
    Raise,
    Return,
    Target,
    TupleTarget,
    UpdateElement,
    UpdateName,
    split,
)
from autograder.simgpu.operations.steps import STATEMENT_COST, Block, Statement
from autograder.simgpu.values.numba_types import BOOL, INT64, of_range


class Writer(Expressions):
    """Writes one loop for variables of some types."""

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, block: Block) -> bool:
        """Statement after statement; whether control comes to the end."""
        for statement in block.statements:
            self.at = statement
            self.source.count(RunCount(work=STATEMENT_COST))
            if not self.statement(statement):
                return False
        return True

    def statement(self, op: Statement) -> bool:
        """One statement; whether control goes on behind it."""
        match op:
            case Nothing():
                return True
            case Continue():
                self.to_next[-1].append(dict(self.variables))
                self.leave("continue", LEAVES_LOOP)
                return False
            case Break() if len(self.loops) > 1:
                self.count(lambda machine: machine.books.issued(op, self.mask, op.slots))
                self.ways_out[-1].append(dict(self.variables))
                self.leave("break", LEAVES_LOOP)
                return False
            case Return() if self.scopes:
                self.give(op)
                return False
            case Break() | Return() | Raise():
                if self.scopes:
                    raise NotWritten("an exception in a function")
                site = self.site(op)
                self.exits[site.number] = dict(self.variables)
                self.leave(f"return {site.number}", LEAVES_ALL)
                return False
            case Assign():
                value = self.meaning(op.operand)
                for target in op.targets:
                    self.assign(target, value)
            case UpdateName():
                old = self.number(op.read)
                self.set(op.name, self.binary(op, op.kind, old, self.number(op.operand)))
            case UpdateElement():
                self.update_element(op)
            case Evaluate():
                self.evaluate(op)
            case If():
                return self.branch(op)
            case For() | While():
                self.inner(op)
            case _:
                raise NotWritten(type(op).__name__)
        return True

    def assign(self, target: Target, value: Meaning) -> None:
        if isinstance(target, Name) and isinstance(value, Number):
            self.set(target.name, value)
        elif isinstance(target, TupleTarget) and isinstance(value, tuple) and len(value) == len(target.targets):
            for each, part in zip(target.targets, [self.apart(each) for each in value], strict=True):
                self.assign(each, part)
        elif isinstance(target, Element) and isinstance(target.reached, Subscript) and isinstance(value, Number):
            view, indices = self.place(target.reached)
            self.store(target.reached, view, indices, value)
        else:
            raise NotWritten(f"assignment to {type(target).__name__}")

    def update_element(self, op: UpdateElement) -> None:
        if not isinstance(op.reached, Subscript):
            raise NotWritten("a field")
        view, indices = self.place(op.reached)
        old = self.load(op.reached, view, indices)
        new = self.binary(op, op.kind, old, self.number(op.operand))
        self.store(op.reached, view, indices, new)

    def evaluate(self, op: Evaluate) -> None:
        """A call for what it does: carried out by itself, with the variables that it may look at."""
        source, inside = self.source, everything_in(op)
        if self.scopes:
            raise NotWritten("a call for what it does, in a function")
        if any(isinstance(each, NamedExpression) for each in inside):
            raise NotWritten("an assignment in a call")
        calls = [each for each in inside if isinstance(each, FunctionCall)]
        sees_all = not all(isinstance(each.callee, (Constant, Attribute)) and not each.bodies for each in calls)
        named = {each.name for each in inside if isinstance(each, Local)}
        wanted = [name for name in sorted(self.assigned & self.variables.keys()) if sees_all or name in named]
        if any(name in self.assigned and not isinstance(self.variables.get(name), Number) for name in named):
            raise NotWritten("a variable without a value on some paths")
        site = self.site(op, operands=tuple(inner_number(self.variables[name]) for name in wanted))
        values = "".join(f"({name!r}, {name_of(name)}), " for name in wanted)
        source.write(f"(now, gs, in_block, {GROUPS}) = x.statement({site.number}, ({values}), ({GROUPS}))")
        with source.inside("if x.batch.has_raised:"):
            source.write(f"return {GONE}")
        source.write("fuel = 0")
        source.here, source.leaves = None, LEAVES_ALL

    def branch(self, op: If) -> bool:
        source = self.source
        condition = self.condition(op.condition)
        self.count(lambda machine: split(machine, op, sample(self.mask, BOOL, condition.by_lane), self.mask))
        self.issued(op, op.short_arms)
        before, run, leaves = dict(self.variables), source.here, source.leaves
        source.leaves = STAYS
        ends: list[Variables] = []
        in_short = bool(op.short_arms)
        for arm, head, behind, is_short in (
            (op.body, f"if {condition.code}:", op.behind_body, in_short and not op.is_short_for_else),
            (op.orelse, "else:", op.behind_orelse, in_short),
        ):
            source.here, self.variables = None, dict(before)
            if not arm.statements and not behind:
                ends.append(self.variables)
                continue
            with source.inside(head):
                with self.in_short_arms(in_short):
                    self.issued(op, behind)
                with self.in_short_arms(is_short):
                    if self.block(arm):
                        ends.append(self.variables)
        source.here = run if source.leaves == STAYS else None
        source.leaves = max(source.leaves, leaves)
        if ends:
            self.variables = joined(ends)
        return bool(ends)

    # -- loops ----------------------------------------------------------------------------------------------------

    def outermost(self) -> None:
        """The rounds of the loop that is written, from one on that is not its first."""
        loop = self.loop
        if loop.is_written_out:
            raise NotWritten("a loop that is written out")
        if isinstance(loop, For):
            if loop.is_watched:
                raise NotWritten("a loop whose rounds count in different ways")
            self.counters[loop] = limits(INT64)
        self.steady(loop, "rest" if isinstance(loop, For) else "c", is_outermost=True)
        self.exits[END] = self.variables

    def inner(self, op: For | While) -> None:
        source = self.source
        if op.orelse.statements:
            raise NotWritten("else of a loop")
        rounds = source.name("c")
        if isinstance(op, For):
            source.write(f"{rounds} = {self.range_of(op)}")
            self.begin_for(op, f"len({rounds})")
        else:
            self.issued(op, op.arriving)
            source.write(f"{rounds} = 0")
            source.write(f"b{rounds} = None")
        run, leaves = source.here, source.leaves
        source.leaves = STAYS
        before, mark, around = dict(self.variables), source.mark(), self.around
        depth = len(self.loops)
        try:
            if changes_after_first_round(op):
                raise Unsteady
            self.steady(op, rounds, is_outermost=False)
        except Unsteady:
            del self.loops[depth:], self.to_next[depth:], self.ways_out[depth:]
            source.back_to(mark)
            self.variables, self.around = before, around
            self.first_apart(op, rounds)
        source.here = None if source.leaves == LEAVES_ALL else run
        source.leaves = max(leaves, LEAVES_ALL if source.leaves == LEAVES_ALL else STAYS)

    def begin_for(self, op: For, many: str) -> None:
        """What is done before the first round, and what the number of rounds decides."""
        self.issued(op, op.arriving)
        self.issued_if(f"if {many}:", op, op.before)
        if op.fours is not None:
            self.issued_if(f"for _ in range({many} // {AT_ONCE}):", op, op.fours.shared)
            self.issued_if(f"if {many} >= {AT_ONCE}:", op, op.fours.first)
            self.issued_if(f"if {many} % {AT_ONCE}:", op, op.fours.left)
            self.issued_if(f"for _ in range({many} % {AT_ONCE}):", op, op.fours.single)
            self.issued_if(f"if {many} % {AT_ONCE} == 2:", op, op.fours.two)
            self.issued_if(f"if {many} % {AT_ONCE} == 3:", op, op.fours.three)

    def issued_if(self, head: str, op: Operation, times: int) -> None:
        """Counts machine instructions under a condition, or as often as a loop comes by."""
        if times:
            run, self.source.here = self.source.here, None
            with self.source.inside(head):
                self.issued(op, times)
            self.source.here = run

    def range_of(self, op: For) -> str:
        """The range that a loop goes over, as Python writes it."""
        call = op.source
        if op.is_watched or not isinstance(call, FunctionCall) or call.keywords:
            raise NotWritten("a loop over something else than a range, or whose rounds count in different ways")
        callee = self.meaning(call.callee)
        path = callee.value.path if isinstance(callee, Fixed) and isinstance(callee.value, Reference) else ""
        if path != "builtins.range":
            raise NotWritten("a loop over something else than a range")
        bounds = [self.number(each) for each in call.arguments]
        if not 1 <= len(bounds) <= 3 or any(each.by_lane or not numbers.is_whole(each.dtype) for each in bounds):
            raise NotWritten("bounds that differ by lane, or are no integers")
        if of_range(each.dtype for each in bounds) != INT64:
            raise NotWritten("a loop over unsigned numbers")
        if len(bounds) == 3 and bounds[2].low <= 0 <= bounds[2].high:
            raise NotWritten("a step that may be 0")
        low = min(bounds[0].low, bounds[1].low) if len(bounds) > 1 else 0
        high = max(each.high for each in bounds[:2])
        if len(bounds) < 3 or bounds[2].low > 0:
            if (bounds[0].high if len(bounds) > 1 else 0) < bounds[len(bounds) > 1].low:
                self.has_rounds.add(op)
            low, high = bounds[0].low if len(bounds) > 1 else 0, bounds[len(bounds) > 1].high - 1
        self.counters[op] = max(low, limits(INT64)[0]), min(max(high, low), limits(INT64)[1])
        return f"range({', '.join(each.code for each in bounds)})"

    def first_apart(self, op: For | While, rounds: str) -> None:
        """The first round by itself: what it counts, or the types of its variables, are not those of the others."""
        source, around, before = self.source, self.around, dict(self.variables)
        self.begin(op)
        with source.inside(f"for {self.counter_of(op)} in {rounds}[:1]:" if isinstance(op, For) else "for _ in (0,):"):
            self.round(op, rounds, is_outermost=False, is_first=True)
        to_next, ways_out = self.end()
        if to_next:
            with source.inside("else:"):
                self.variables = joined(to_next)
                self.around = replace(
                    around,
                    hoisted=around.hoisted | op.hoisted,
                    held_loads=around.held_loads | op.held_loads,
                    held_stores=around.held_stores | op.held_stores,
                )
                self.steady(op, f"{rounds}[1:]" if isinstance(op, For) else rounds, is_outermost=False)
                self.around = around
            ways_out.append(self.variables)
        self.variables = joined([*ways_out, before] if isinstance(op, For) and op not in self.has_rounds else ways_out)

    def steady(self, op: Loop, rounds: str, *, is_outermost: bool) -> None:
        """All rounds by one body: at the start of each, the variables are of the same types."""
        source = self.source
        head = dict(self.variables)
        for _ in range(3):
            mark = source.mark()
            begun = widened(head, assigned_in(op))
            self.variables = dict(begun)
            self.begin(op)
            with source.inside(f"for {self.counter_of(op)} in {rounds}:" if isinstance(op, For) else "while True:"):
                self.round(op, rounds, is_outermost=is_outermost, is_first=False)
            to_next, ways_out = self.end()
            after = joined([begun, *to_next])
            if types(after) == types(begun):
                source.here = None
                if isinstance(op, For) and op.is_met_behind and not is_outermost:
                    with source.inside("else:"):
                        self.issued(op, 1)
                    source.here = None
                self.variables = joined([after, *ways_out] if isinstance(op, For) else ways_out)
                return
            source.back_to(mark)
            head = after
        raise Unsteady

    def begin(self, op: Loop) -> None:
        self.loops.append(op)
        self.to_next.append([])
        self.ways_out.append([])
        self.source.here = None

    def end(self) -> tuple[list[Variables], list[Variables]]:
        self.loops.pop()
        self.source.here = None
        return self.to_next.pop(), self.ways_out.pop()

    def round(self, op: Loop, rounds: str, *, is_outermost: bool, is_first: bool) -> None:
        """One round of a loop."""
        source = self.source
        source.write("fuel -= 1")
        with source.inside("if fuel < 0:"):
            site = self.site(op, statement=op.body.statements[0])
            source.write(f"fuel = x.refuel({site.number}, {COUNTERS}, {is_outermost})")
            if is_outermost:
                with source.inside("if fuel < 0:"):
                    source.write(f"return {HAND_OVER}")
        if isinstance(op, For):
            self.head_of_for(op)
        elif isinstance(op, While):
            self.head_of_while(op, rounds, "begun" if is_outermost else "0", is_first)
        if not op.is_written_out:
            source.write(RESET)
        if self.block(op.body):
            self.to_next[-1].append(dict(self.variables))

    def counter_of(self, loop: For) -> str:
        """What a loop's counter is called."""
        if not isinstance(loop.target, Name) or loop.target.name in self.others:
            raise NotWritten("a loop over several things")
        return self.name_of(loop.target.name)

    def head_of_for(self, op: For) -> None:
        counter = self.counter_of(op)
        if len(self.loops) == 1:
            self.source.write("c += 1")
        self.count(lambda machine: machine.books.instruction(op, self.mask))
        if not op.is_cheap:
            self.count(lambda machine: machine.books.loop_round(op, self.mask))
        assert isinstance(op.target, Name)
        self.variables[op.target.name] = Number(counter, INT64, False, *self.counters[op])

    def in_fours(self, op: While, fours: InFours, rounds: str) -> None:
        """What a round takes of a loop that is done four rounds at a time."""
        for place in range(AT_ONCE):
            self.issued_if(f"if {rounds} % {AT_ONCE} == {place}:", op, fours.of_round(AT_ONCE + place))
        self.issued_if(f"if {rounds} == {AT_ONCE - 1}:", op, fours.first)

    def head_of_while(self, op: While, rounds: str, begun: str, is_first: bool) -> None:
        source = self.source
        if not is_first:
            site = self.site(op)
            if op.is_hopeless:
                with source.inside(f"if {rounds}:"):
                    source.write(f"x.never_ends({site.number})")
            with source.inside(f"if not {rounds} & {STUCK_AFTER - 1} and {rounds} != {begun}:"):
                source.write(f"b{rounds} = x.standstill({site.number}, b{rounds}, {COUNTERS}, {ALL})")
        condition = self.condition(op.condition)
        self.count(lambda machine: split(machine, op, sample(self.mask, BOOL, condition.by_lane), self.mask))
        with source.inside(f"if not {condition.code}:"):
            if op.is_met_behind:
                source.here = None
                self.issued(op, 1)
            self.ways_out[-1].append(dict(self.variables))
            source.write("break")
        source.here = None
        if begun == "0":
            self.issued_if(f"if not {rounds}:", op, op.before)
        if op.fours is not None:
            self.in_fours(op, op.fours, rounds)
        source.here = None
        source.write(f"{rounds} += 1")


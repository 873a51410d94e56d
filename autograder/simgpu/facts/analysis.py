"""Walks through a lowered kernel before it runs, on every path that a thread may take, and records what it learns.

What is learned of a value is recorded for the operation that computes it. Each call of a device function is followed with
operations of its own, because its arguments differ from those of other calls. A variable that a loop changes becomes an
atom (`Forms.atom`): one unknown number, the same throughout a round. So does a value that differs between two paths, behind
the place where they meet. Source text plays no part. A value that the analysis cannot follow is `Unknown`. That costs
precision but makes no conclusion wrong, because rules conclude only from what is known.

START HERE: `Analysis.of_kernel`. This file follows statements, branches, loops and device functions. Expressions are in
evaluation.py, memory is in known_memory.py, and merging.py combines two paths.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence, Set

from autograder.language.program import Function
from autograder.simgpu.facts.atomic_results import AtomicResults
from autograder.simgpu.facts.evaluation import Evaluation
from autograder.simgpu.facts.exits import Exits, Leaving
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import Inner, Known, KnownArray, KnownName, KnownNumber, KnownTuple, varies
from autograder.simgpu.facts.known_memory import KnownMemory, forget
from autograder.simgpu.facts.known_results import ANYTHING, KnownResults
from autograder.simgpu.facts.library_calls import Given
from autograder.simgpu.facts.loop_elements import LoopElements
from autograder.simgpu.facts.loop_variables import LoopVariables, assigned_in, goes_apart
from autograder.simgpu.facts.merging import Merging
from autograder.simgpu.facts.observer import Observer
from autograder.simgpu.facts.pruning import may_be_decided
from autograder.simgpu.facts.scope import Element as ElementKey
from autograder.simgpu.facts.scope import InRegister, Scope
from autograder.simgpu.facts.unused import ignored_in, unused_in
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    Definition,
    Element,
    Evaluate,
    If,
    Name,
    Raise,
    Return,
    Target,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block, Lowered, Statement

MOST_BODIES = 400  # calls of device functions that are followed
MOST_DEPTH = 24  # of calls within calls
MOST_ROUNDS = 5  # tries at a loop, until a round leaves what is known of its variables unchanged
MOST_TRIES = 3  # at the kernel, until no further array turns out to hold values that depend on an atomic's result


class Analysis:
    """The analysis of one kernel, for arguments of known kinds.

    `observer` is told of accesses and calls, `here` says where they are. `decides`: the side of a condition that is known
    never to be taken is left out.
    """

    def __init__(
        self,
        lower: Callable[[Function], Lowered],
        here: Here | None = None,
        observer: Observer | None = None,
        *,
        decides: bool = False,
        most_bodies: int = MOST_BODIES,
    ) -> None:
        self.lower = lower
        self.here = here or Here(Forms())
        self.forms = self.here.forms
        self.observer = observer or Observer()
        self.most_bodies = most_bodies
        self.results = KnownResults(self.here)
        self.merging = Merging(self.here)
        self.atomics = AtomicResults(self.here)
        self.memory = KnownMemory(self.here, self.atomics, self.observer)
        self.loop_variables = LoopVariables(self.here, self.memory, self.merging)
        self.loop_elements = LoopElements(self.here)
        self.evaluation = Evaluation(
            self.here, self.results, self.memory, self.atomics, self.merging, self.observer, self.follow, decides=decides
        )
        self.exits = Exits()
        self._asked_last: dict[Operation, dict[ElementKey, InRegister]] = {}  # by loop: what the test at its end loads
        self._bodies = 0
        self._stack: list[Function] = []
        self._returned: list[list[Known]] = []

    def of_kernel(self, kernel: Lowered, arguments: Mapping[str, Known]) -> Found:
        """Everything found about the kernel's operations."""
        self.memory.unused = self._unused(kernel.body)
        for _ in range(MOST_TRIES):
            before = len(self.atomics.arrays)
            self.begin()
            self._body(kernel.function, kernel.body, Scope(dict(arguments)))
            if len(self.atomics.arrays) == before:
                break
        return self.here.found

    @staticmethod
    def _unused(body: Block) -> set[Operation]:
        """What ends in variables that nothing reads; calls of which only that is true are marked."""
        unused = unused_in(body)
        for call in ignored_in(body, unused):
            call.is_ignored = True
        return unused

    def begin(self) -> None:
        """Forgets what an earlier try has found."""
        self.here.found = Found()
        self._bodies, self.memory.epochs = 0, {}

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, block: Block, scope: Scope | None) -> Scope | None:
        """Carries out one statement after another; what is known after them, None if no thread gets there."""
        statements = block.statements
        for place, statement in enumerate(statements):
            if scope is None:
                break
            scope = self.carry_out(statement, scope)
            if isinstance(statement, If) and self.atomics.is_in(self.here.found.values.get(statement.condition)):
                if statement.body.statements and isinstance(statement.body.statements[-1], Return):
                    self.atomics.mark(statements[place + 1 :])
        return scope

    def carry_out(self, op: Statement, scope: Scope) -> Scope | None:
        """Carries out one statement; what is known after it, None if no thread gets there."""
        value = self.evaluation.value
        match op:
            case Assign():
                known = value(op.operand, scope)
                for target in op.targets:
                    self.assign(target, known, scope)
            case UpdateName():
                left, right = value(op.read, scope), value(op.operand, scope)
                self.here.found.values[op] = known = self.results.binary(op, op.kind, left, right)
                self.evaluation.assign(op.name, known, scope)
            case UpdateElement():
                self.evaluation.reach(op.reached, scope)
                old = self.memory.load(op.reached, scope)
                self.here.found.values[op] = known = self.results.binary(op, op.kind, old, value(op.operand, scope))
                self.memory.store(op.reached, known, scope)
            case Evaluate():
                value(op.operand, scope)
            case If():
                return self.branch(op, scope)
            case For() | While():
                return self.loop(op, scope)
            case Return():
                if op.result is not None:
                    self._returned[-1].append(value(op.result, scope))
                self.exits.leave_function(scope)
                return None
            case Break():
                self.exits.leave_loop(scope)
                return None
            case Continue() | Raise():
                self.exits.leave_round()
                return None
            case Definition():
                later = _seen_by(op.inner) & op.function.local_names - scope.variables.keys()
                if later:
                    self.here.found.early[op] = min(later)
                scope.variables[op.inner.name] = Inner(op.inner, scope.variables)
        return scope

    def assign(self, target: Target, known: Known, scope: Scope) -> None:
        match target:
            case Name():
                self.evaluation.assign(target.name, known, scope)
            case Element():
                self.evaluation.reach(target.reached, scope)
                self.memory.store(target.reached, known, scope)
            case TupleTarget():
                items: Sequence[Known] = [ANYTHING] * len(target.targets)
                if isinstance(known, KnownTuple) and len(known.items) == len(target.targets):
                    items = known.items
                elif isinstance(known, KnownArray) and known.ndim == 1:
                    places = [(*known.prefix, self.forms.constant(i)) for i in range(len(target.targets))]
                    items = [self.memory.loaded(known, place, False) for place in places]
                for each, item in zip(target.targets, items, strict=True):
                    self.assign(each, item, scope)

    # -- branches -------------------------------------------------------------------------------------------------

    def branch(self, op: If, scope: Scope) -> Scope | None:
        condition = self.evaluation.value(op.condition, scope)
        decided = self.evaluation.decided(condition)
        if decided is not None:
            return self.block(op.body if decided else op.orelse, scope)
        apart, looks = varies(condition), self.atomics.is_in(condition)
        may_be_dropped = may_be_decided(op.condition, self.here.found)
        if may_be_dropped:
            self.here.found.dropped |= {op.body, op.orelse}
        if looks:
            self.atomics.mark([*op.body.statements, *op.orelse.statements])
        self.exits.divergent_conditions += apart
        self.atomics.conditions += looks
        scope.unread.clear()
        scope.ahead.clear()
        one, other = self._arms(op, *self.evaluation.where(op.condition, scope))
        self.exits.divergent_conditions -= apart
        self.atomics.conditions -= looks
        if one is None or other is None:
            return other if one is None else one
        self.evaluation.note_both(op, one, other)
        self.here.found.numbers_kept[op] = self._numbers_kept(scope, one, other)
        after = self.merging.of_scopes(op, one, other, apart, may_be_dropped=may_be_dropped)
        after.loaded |= scope.loaded
        return after

    def _numbers_kept(self, before: Scope, one: Scope, other: Scope) -> int:
        """How many variables hold a number of the source before a branch, and after it that or what one side assigns."""
        return sum(
            isinstance(known, KnownNumber)
            and self.here.forms.is_of_numbers(known.form)
            and (one.variables.get(name) == known) != (other.variables.get(name) == known)
            for name, known in before.variables.items()
        )

    def _arms(self, op: If, one_way: Scope, other_way: Scope) -> tuple[Scope | None, Scope | None]:
        """What is known at the end of each side. Neither side sees what the other does to memory."""
        before = self.memory.epochs
        self.memory.epochs = dict(before)
        with self.observer.arm():
            one = self.block(op.body, one_way)
        changed, self.memory.epochs = self.memory.epochs, dict(before)
        with self.observer.arm():
            other = self.block(op.orelse, other_way)
        self.memory.meet(before, changed)
        return one, other

    # -- loops ----------------------------------------------------------------------------------------------------

    def loop(self, op: For | While, scope: Scope) -> Scope | None:
        """Goes through one round that stands for all; what is known after the loop."""
        found = self.here.found
        source = self.evaluation.value(op.source, scope) if isinstance(op, For) else None
        changed = assigned_in(op)
        kills = found.kills.setdefault(op, set())
        found.at_entry[op] = set(scope.elements)
        found.begins[op] = {name: known for name, known in scope.variables.items()}
        variables = self.loop_variables.at_a_round(op, scope, changed)
        kept = self.loop_elements.kept_by(op, scope)
        after: Scope | None = None
        for _ in range(MOST_ROUNDS):
            known_kills = len(kills)
            header = Scope(variables, dict(scope.elements))
            for each in kills:
                forget(each, header)
            header.elements.update((key, held) for key, held in kept.items() if key not in header.elements)
            header.killed.clear()
            after, end, is_apart = self.one_round(op, header.copy(), source)
            widened = self.loop_variables.widened(op, scope, header, end, changed, is_apart)
            lost = kept.keys() - end.elements.keys() if end is not None else set()
            kept = {key: held for key, held in kept.items() if key not in lost}
            if widened is None and len(kills) == known_kills and not lost:
                self.loop_variables.note_steps(op, header, end, changed)
                self.loop_variables.note_carried(op, end)
                break
            variables = variables if widened is None else widened
        else:
            kept = {}
        for each in kills:
            self.memory.kill(each, after)
        if after is not None:
            after.elements.update(self._left_by_the_test(op))
            after.elements.update(self.loop_elements.left_by(op, kept, kills))
        if after is not None:
            after.killed |= scope.killed
            after.fresh = scope.fresh
        return self.behind(op, after)

    def behind(self, op: For | While, after: Scope | None) -> Scope | None:
        """Carries out the `else` of a loop; `after`: what is known where the loop ends."""
        return self.block(op.orelse, after) if op.orelse.statements and after is not None else after

    def one_round(
        self, op: For | While, scope: Scope, source: Known | None
    ) -> tuple[Scope | None, Scope | None, bool]:
        """What is known where the loop ends and at the end of a round, and whether threads may leave in different rounds."""
        with self.exits.of_loop() as leaving:
            self.here.loops.append(op)
            if isinstance(op, While):
                before = scope.elements.keys() | set()
                condition = self.evaluation.value(op.condition, scope)
                apart = varies(condition)
                exit_scope = scope.copy()
                scope = self.evaluation.where(op.condition, scope)[0]
                self._asked_twice(op, before, scope)
                new = exit_scope.elements.keys() - before
                self._asked_last[op] = {key: exit_scope.elements[key] for key in new}
                self._asked_twice(op, before, exit_scope)
            else:
                apart = source is None or goes_apart(source)
                self.assign(op.target, self.loop_variables.counter(op, source), scope)
                exit_scope = scope.copy()
            self.exits.divergent_conditions += apart
            end = self.block(op.body, scope)
            self.exits.divergent_conditions -= apart
            self.here.loops.pop()
        is_apart = apart or leaving.is_divergent
        return self.with_exits(op, exit_scope, leaving, is_apart), end, is_apart

    def with_exits(self, op: For | While, after: Scope | None, leaving: Leaving, is_apart: bool) -> Scope | None:
        """What is known after a loop, from its regular end (`after`) and from where threads leave it early."""
        for each in leaving.scopes:
            after = each if after is None else self.merging.of_scopes(op, after, each, is_apart)
        return after

    def _left_by_the_test(self, op: For | While) -> dict[ElementKey, InRegister]:
        """Of a `while` loop that its condition alone ends: what that loads, behind all that a round stores."""
        asked = self._asked_last.pop(op, {})
        if not isinstance(op, While) or any(isinstance(each, (Break, Return)) for each in everything_in(op.body)):
            return {}
        return {key: held for key, held in asked.items() if not self._goes_on_by_a_constant(op, key)}

    def _goes_on_by_a_constant(self, op: While, key: ElementKey) -> bool:
        """Whether the next round's element lies a constant further: it is then found from this one's, and not kept."""
        ends = self.here.found.ends.get(op, {})
        amounts = [
            self.forms.add(ends[number], (0, ((number, 1),)), -1)
            for index in key[2]
            for number, _ in index[1]
            if number in ends
        ]
        return any(not amount[1] for amount in amounts)

    def _asked_twice(self, op: While, before: Set[ElementKey], scope: Scope) -> None:
        """Forgets elements that the condition has loaded, if each round loads another one: the body loads them again.

        The condition stands in two places of the machine code, before the first round and at the end of each. The
        compiler does not see that the body has the element in a register whichever of the two it came from.
        """
        for key in scope.elements.keys() - before:
            if any(op in self.forms.loops_of(index) for index in key[2]):
                del scope.elements[key]

    # -- device functions -----------------------------------------------------------------------------------------

    def follow(
        self, op: FunctionCall, function: Function, given: Given, around: Mapping[str, Known], scope: Scope
    ) -> Known:
        """Follows a call into a device function, which gets operations of its own for this call."""
        self._bodies += 1
        if function in self._stack or len(self._stack) > MOST_DEPTH or self._bodies > self.most_bodies:
            return self.evaluation.library_calls.anything_done(given.all, scope)
        lowered = op.bodies.get(function)
        if lowered is None:
            lowered = op.bodies[function] = self.lower(function)
        self.memory.unused |= self._unused(lowered.body)
        inner = Scope(self._bound(function, lowered, given, around), dict(scope.elements))
        inner.unread = scope.unread  # a call is no more than the statements in it
        ends, returned, leaving = self._body(function, lowered.body, inner)
        scope.elements = {
            key: held
            for key, held in (ends[0].elements.items() if ends else ())
            if all(each.elements.get(key) == held for each in ends)
        }
        if not returned:
            return KnownName(None)
        result = returned[0]
        for place, each in enumerate(returned[1:]):
            result = self.merging.of_values((op, "result", place), result, each, leaving.is_divergent)
        return result if function.casts is None else self.results.cast(function.casts.result, result)

    def _body(self, function: Function, body: Block, scope: Scope) -> tuple[list[Scope], list[Known], Leaving]:
        """Goes through a function's statements: what is known at each of its ends, and what it returns there."""
        self._stack.append(function)
        self._returned.append([])
        with self.exits.of_function() as leaving:
            end = self.block(body, scope)
        self._stack.pop()
        ends = [each for each in (end, *leaving.scopes) if each is not None]
        return ends, self._returned.pop(), leaving

    def _bound(
        self, function: Function, lowered: Lowered, given: Given, around: Mapping[str, Known]
    ) -> dict[str, Known]:
        """The variables of a function when a call begins."""
        variables = dict(around)
        names, arguments = function.parameters, given.arguments
        bound = dict(zip(names, arguments, strict=False)) | {k: v for k, v in given.keywords.items() if k in names}
        for name in names:
            if name not in bound and name in lowered.defaults:
                bound[name] = self.evaluation.value(lowered.defaults[name], Scope(variables))
        if function.star is not None:
            bound[function.star] = KnownTuple(tuple(arguments[len(names) :]))
        if function.casts is not None:
            for name, dtype in zip(names, function.casts.arguments, strict=False):
                bound[name] = self.results.cast(dtype, bound.get(name, ANYTHING))
        for name in function.local_names - bound.keys():
            variables.pop(name, None)
        return {**variables, **bound}


def _seen_by(inner: Function) -> frozenset[str]:
    """The names that an inner function takes from the function around it."""
    used = {each.id for each in ast.walk(inner.node) if isinstance(each, ast.Name)}
    return frozenset(used - inner.local_names)

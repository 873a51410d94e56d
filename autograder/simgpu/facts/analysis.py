"""Goes through a lowered kernel once, as all threads will, and notes on its operations what is known of their values.

Device functions are followed into: each call gets operations of its own, for what is known of its arguments. Of a loop the
variables that it changes are something new (`Forms.atom`), which stays the same value within a round; where ways meet,
so is what differs between them. Nothing here knows of text, and whatever is not understood is `Unknown`: it costs
precision, never a wrong word, since rules conclude from what is known only.

START HERE: `Analysis.of_kernel`; `value` and `carry_out` lead to what is done for each kind of operation.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from autograder.language.modules import MISSING_NAMES
from autograder.language.numeric_types import TypeReference, type_of
from autograder.language.program import Function, Reference
from autograder.simgpu.facts import known as kn
from autograder.simgpu.facts import library
from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.known import (
    Conflicting,
    Inner,
    Known,
    KnownArray,
    KnownNumber,
    KnownRange,
    KnownTuple,
    Unknown,
    arrays_in,
    conflict,
    varies,
)
from autograder.simgpu.facts.scope import Element as ElementKey
from autograder.simgpu.facts.scope import InRegister, Placed, Scope
from autograder.simgpu.facts.unused import unused_in
from autograder.simgpu.operations.expressions import Captured, Constant, Impossible, Local, NamedExpression, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall, Unpacked
from autograder.simgpu.operations.indexing import Attribute, Slice, Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import MOST_ITEMS, Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.registry import VALUES
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    Definition,
    Element,
    Evaluate,
    If,
    Name,
    Nameless,
    Raise,
    Return,
    Target,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block, Expression, Lowered, Statement
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View

MOST_BODIES = 400  # device functions followed into, each call counted
MOST_DEPTH = 24  # of calls within calls
MOST_ROUNDS = 5  # of a loop, until what is known of its variables stays as it is
ANYTHING = Unknown()
COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
ALL, GLOBAL = "all memory that threads share", "global memory"  # what may change: these, or one shared or local array
SYNCHRONISES = ("numba.cuda.sync", "numba.cuda.cg.grid_group.sync", "numba.cuda.threadfence")


@dataclass
class Reached:
    """Where an access goes, as far as that is known: an array, and a form for each index; None for a slice or the like."""

    array: KnownArray
    indices: tuple[Form | None, ...]
    varies: bool
    made_by: tuple[Operation, ...] = ()


@dataclass
class Found:
    """What a kernel does with its arrays, and which of the library's functions it calls."""

    written: set[Hashable] = field(default_factory=set)  # identities of arrays
    stores: dict[Operation, Reached] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    reached: dict[Operation, Reached] = field(default_factory=dict)
    values: dict[Operation, Known] = field(default_factory=dict)
    callees: dict[FunctionCall, str] = field(default_factory=dict)  # of the library, by path
    told: set[Operation] = field(default_factory=set)
    steps: set[int] = field(default_factory=set)  # atoms of variables that a loop advances by the same amount each round
    again: set[Placed] = field(default_factory=set)  # loads of elements that are in a register already
    overwritten: set[Placed] = field(default_factory=set)  # stores of elements that are stored anew before any load
    kills: dict[Operation, set[Hashable]] = field(default_factory=dict)  # of each loop, memory that it may change
    begins: dict[Operation, dict[Hashable, Known]] = field(default_factory=dict)  # of each loop: variables before it
    ends: dict[Operation, dict[int, Form]] = field(default_factory=dict)  # by its atom, what a round makes of a variable
    carried: dict[Operation, set[Operation]] = field(default_factory=dict)  # of each loop: loads of the first round alone
    at_entry: dict[Operation, set[Hashable]] = field(default_factory=dict)  # of each loop, elements in registers before it
    untracked: set[Hashable] = field(default_factory=set)  # arrays that are written where it is not known
    dropped: set[Block] = field(default_factory=set)  # what the compiler may drop before it looks at types
    early: dict[Definition, str] = field(default_factory=dict)  # functions that see a variable which is assigned later
    may_write_anything: bool = False  # a store goes to something of which nothing is known


class Leaving:
    """Where lanes leave a loop or a function early: what is known of the variables there."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.is_divergent = False


class Analysis:
    """Of one kernel, for what is known of its arguments."""

    most_bodies = MOST_BODIES

    def __init__(self, lower: Callable[[Function], Lowered]) -> None:
        self.lower = lower
        self.forms = Forms()
        self.found = Found()
        self.looked_at: set[Hashable] = set()  # arrays that may hold what depends on what an atomic found
        self._bodies = 0
        self._stack: list[Function] = []
        self._loops: list[Operation] = []
        self._leaving: list[Leaving] = []
        self._functions = [0]  # of each function that is followed into, where its own `Leaving` stands
        self._results: list[list[Known]] = []
        self._epochs: dict[Hashable, int] = {}  # how often memory of a kind may have changed by now
        self._epoch = 0
        self._apart = 0  # conditions around this place that may differ from thread to thread
        self._undecided = 0  # conditions around this place that the compiler may decide, so that it drops one side
        self.unused: set[Operation] = set()  # what goes into assignments that nobody reads
        self._told = 0  # conditions around this place on what an atomic found
        self._where_all: dict[Operation, Scope] = {}  # of conditions with `and` or `or`: where all operands were asked for
        self.in_both_arms: dict[Operation, list[tuple[Operation, Operation]]] = {}  # of branches: loads of one element
        self._rounds: tuple[int, ...] = ()  # of loops that are gone through round by round: see expanded.py

    def of_kernel(self, kernel: Lowered, arguments: Mapping[str, Known]) -> Found:
        """What is known of the kernel's operations."""
        self.unused = unused_in(kernel.body)
        for _ in range(3):  # until no more arrays turn out to hold what depends on what an atomic found
            before = len(self.looked_at)
            self.begin()
            self._leaving.append(Leaving())
            self._results.append([])
            self._stack.append(kernel.function)
            self.block(kernel.body, Scope(dict(arguments)))
            self._stack.pop()
            self._results.pop()
            self._leaving.pop()
            if len(self.looked_at) == before:
                break
        return self.found

    def begin(self) -> None:
        """Forgets what another try has found."""
        self.found = Found()
        self._bodies, self._epochs = 0, {}

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, block: Block, scope: Scope | None) -> Scope | None:
        """Statement after statement; what is known behind them, None where nobody gets there."""
        statements = block.statements
        for place, statement in enumerate(statements):
            if scope is None:
                break
            scope = self.carry_out(statement, scope)
            if isinstance(statement, If) and self._looks(self.found.values.get(statement.condition)):
                if statement.body.statements and isinstance(statement.body.statements[-1], Return):
                    self._tell(statements[place + 1 :])
        return scope

    def carry_out(self, op: Statement, scope: Scope) -> Scope | None:
        match op:
            case Assign():
                known = self.value(op.operand, scope)
                for target in op.targets:
                    self.assign(target, known, scope)
            case UpdateName():
                left, right = self.value(op.read, scope), self.value(op.operand, scope)
                self.found.values[op] = self.binary(op, op.kind, left, right)
                self.write(op.name, self.found.values[op], scope)
            case UpdateElement():
                self.reach(op.reached, scope)
                old = self.load(op.reached, scope)
                self.found.values[op] = self.binary(op, op.kind, old, self.value(op.operand, scope))
                self.store(op.reached, self.found.values[op], scope)
            case Evaluate():
                self.value(op.operand, scope)
            case If():
                return self.branch(op, scope)
            case For() | While():
                return self.loop(op, scope)
            case Return():
                if op.result is not None:
                    self._results[-1].append(self.value(op.result, scope))
                self._leave(0, scope)
                return None
            case Break():
                self._leave(-1, scope)
                return None
            case Continue() | Raise():
                self._leave(-1)
                return None
            case Definition():
                later = _seen_by(op.inner) & op.function.local_names - scope.variables.keys()
                if later:
                    self.found.early[op] = min(later)
                scope.variables[op.inner.name] = Inner(op.inner, scope.variables)
        return scope

    def branch(self, op: If, scope: Scope) -> Scope | None:
        condition = self.value(op.condition, scope)
        self.found.values[op.condition] = condition
        decided = self.decided(condition)
        if decided is not None:
            return self.block(op.body if decided else op.orelse, scope)
        apart, looks = varies(condition), self._looks(condition)
        may_be_dropped = may_be_decided(op.condition, self.found)
        if may_be_dropped:
            self.found.dropped |= {op.body, op.orelse}
        if looks:
            self._tell([*op.body.statements, *op.orelse.statements])
        self._apart += apart
        self._told += looks
        scope.unread.clear()
        scope.ahead.clear()
        one, other = self._arms(op, scope, *self._ways(op.condition, scope))
        self._apart -= apart
        self._told -= looks
        if one is None or other is None:
            return other if one is None else one
        self._note_both(op, one, other)
        self._undecided += may_be_dropped
        joined = self._join(op, one, other, apart)
        self._undecided -= may_be_dropped
        return joined

    def _ways(self, condition: Expression, scope: Scope) -> tuple[Scope, Scope]:
        """What is known where a condition holds, and where it does not."""
        if isinstance(condition, Unary) and condition.kind is ast.Not:
            return self._ways(condition.operand, scope)[::-1]
        all_asked = self._where_all.get(condition)
        if not isinstance(condition, Junction) or all_asked is None:
            return scope.copy(), scope.copy()
        decided_early = scope.copy()
        decided_early.ahead = {
            key: place for key, place in all_asked.first.items() if key in all_asked.elements and key not in scope.elements
        }
        return (all_asked.copy(), decided_early) if condition.is_and else (decided_early, all_asked.copy())

    def _arms(self, op: If, scope: Scope, one_way: Scope, other_way: Scope) -> tuple[Scope | None, Scope | None]:
        """What is known at the end of either side: what one of them does to memory is nothing to the other."""
        before = self._epochs
        self._epochs = dict(before)
        one = self.arm(op.body, one_way)
        changed, self._epochs = self._epochs, dict(before)
        other = self.arm(op.orelse, other_way)
        for kind in changed.keys() | self._epochs.keys():
            if not changed.get(kind) == self._epochs.get(kind) == before.get(kind):
                self._epoch += 1
                self._epochs[kind] = self._epoch
        return one, other

    def _note_both(self, op: Operation, one: Scope, other: Scope) -> None:
        """Notes the loads of elements that both arms of a branch load."""
        self.in_both_arms[op] = [
            (by, other.loaded[key][1])
            for key, (known, by) in one.loaded.items()
            if key in other.loaded and other.loaded[key][0] == known
        ]

    def decided(self, condition: Known) -> bool | None:
        """Whether a condition always holds (True) or never does; None where that is open, or is not to be looked at."""
        return None

    def arm(self, block: Block, scope: Scope) -> Scope | None:
        """One side of a branch."""
        return self.block(block, scope)

    def _join(self, op: Operation, one: Scope, other: Scope, apart: bool) -> Scope:
        joined: dict[str, Known] = {}
        for name in {**one.variables, **other.variables}:
            a, b = one.variables.get(name), other.variables.get(name)
            if a is None or b is None:
                known = a or b
                assert known is not None
                joined[name] = _varying(known) if apart else known
            else:
                joined[name] = a if a == b else self._merge((op, name), a, b, apart)
        both = {
            key: held if other.elements[key] == held else self._of_either(op, key, held, other.elements[key])
            for key, held in one.elements.items()
            if key in other.elements
        }
        made = Scope(joined, both)
        made.killed = one.killed | other.killed
        made.fresh = {key: place for key, place in one.fresh.items() if other.fresh.get(key) == place}
        if isinstance(op, If):
            for ours, theirs in ((one, other), (other, one)):
                made.ahead |= {
                    key: place
                    for key, place in ours.first.items()
                    if key in ours.elements and key not in both and key not in theirs.elements
                }
        return made

    def _of_either(self, op: Operation, key: ElementKey, one: InRegister, other: InRegister) -> InRegister:
        """An element that is in a register on both ways here, in another one on each."""
        number, another = one.known, other.known
        form = number.form
        if form != another.form:
            form = self.forms.atom(("either", (op, key), self._rounds), self._around, (form, another.form))
        return InRegister(KnownNumber(number.dtype, form, True), one.space)

    def _merge(self, key: Hashable, a: Known, b: Known, apart: bool) -> Known:
        """What is known of a value that is the one or the other."""
        if isinstance(a, KnownNumber) and isinstance(b, KnownNumber):
            dtype = None
            if a.dtype is not None and b.dtype is not None and a.dtype.kind in "biufc" and b.dtype.kind in "biufc":
                dtype = nt.unify(a.dtype, b.dtype)
            form = a.form
            if a.form != b.form:
                form = self.forms.atom(("either", key, self._rounds), self._around, (a.form, b.form))
            return KnownNumber(dtype, form, a.varies or b.varies or apart)
        if isinstance(a, KnownTuple) and isinstance(b, KnownTuple) and len(a.items) == len(b.items):
            items = (self._merge((key, i), x, y, apart) for i, (x, y) in enumerate(zip(a.items, b.items, strict=True)))
            return KnownTuple(tuple(items))
        if a == b:
            return a
        return self._either(a, b)

    def _either(self, a: Known, b: Known) -> Unknown:
        """Things of different kinds."""
        in_conflict = conflict(a, b) or isinstance(a, Conflicting) or isinstance(b, Conflicting)
        return (Conflicting if in_conflict and not self._undecided else Unknown)(arrays_in(a) | arrays_in(b))

    # -- loops ----------------------------------------------------------------------------------------------------

    def loop(self, op: For | While, scope: Scope) -> Scope | None:
        source = self._source(op, scope) if isinstance(op, For) else None
        changed = _assigned_in(op)
        kills = self.found.kills.setdefault(op, set())
        self.found.at_entry[op] = set(scope.elements)
        self.found.begins[op] = {name: known for name, known in scope.variables.items()}
        variables = self._at_a_round(op, scope, changed)
        after: Scope | None = None
        for _ in range(MOST_ROUNDS):
            known_kills = len(kills)
            header = Scope(variables, dict(scope.elements))
            for each in kills:
                self._forget(each, header)
            header.killed.clear()
            after, end, is_apart = self._round(op, header.copy(), source)
            widened = self._widened(op, scope, header, end, changed, is_apart)
            if widened is None and len(kills) == known_kills:
                self._note_steps(op, header, end, changed)
                self._note_carried(op, end)
                break
            variables = variables if widened is None else widened
        for each in kills:
            self._kill(each, after)
        if after is not None:
            after.killed |= scope.killed
            after.fresh = scope.fresh
        if op.orelse.statements and after is not None:
            after = self.block(op.orelse, after)
        return after

    def _at_a_round(self, op: Operation, scope: Scope, changed: frozenset[str]) -> dict[str, Known]:
        """The variables at the beginning of some round."""
        made = dict(scope.variables)
        for name in changed & made.keys():
            made[name] = self._of_a_round(op, name, made[name])
        return made

    def _of_a_round(self, op: Operation, name: Hashable, known: Known) -> Known:
        """The value of a variable that a loop changes, in some round."""
        if isinstance(known, KnownNumber):
            form = self.forms.atom(("round", op, name, self._rounds), frozenset([op]) | self._around)
            return KnownNumber(known.dtype, form, known.varies)
        if isinstance(known, KnownTuple):
            return KnownTuple(tuple(self._of_a_round(op, (name, i), each) for i, each in enumerate(known.items)))
        return known

    def _round(
        self, op: For | While, scope: Scope, source: Known | None
    ) -> tuple[Scope | None, Scope | None, bool]:
        """What is known where the loop ends, at the end of a round, and whether threads may leave it at different times."""
        leaving = Leaving()
        self._leaving.append(leaving)
        self._loops.append(op)
        if isinstance(op, While):
            before = scope.elements.keys() | set()
            condition = self.value(op.condition, scope)
            self.found.values[op.condition] = condition
            apart = varies(condition)
            exit_scope = scope.copy()
            scope = self._ways(op.condition, scope)[0]
            self._asked_twice(op, before, scope)
            self._asked_twice(op, before, exit_scope)
        else:
            apart = source is None or _differs(source)
            self.assign(op.target, self._item(op, source), scope)
            exit_scope = scope.copy()
        self._apart += apart
        end = self.block(op.body, scope)
        self._apart -= apart
        self._loops.pop()
        self._leaving.pop()
        is_apart = apart or leaving.is_divergent
        after = exit_scope
        for each in leaving.scopes:
            after = self._join(op, after, each, is_apart)
        return after, end, is_apart

    def _asked_twice(self, op: While, before: Set[ElementKey], scope: Scope) -> None:
        """What the condition has loaded, and the loop makes another in each round, is no help to its body.

        Python asks for the condition in two places, before the first round and behind each one, and the compiler does not
        see that the body has the element from either.
        """
        for key in scope.elements.keys() - before:
            if any(op in self.forms.loops_of(index) for index in key[2]):
                del scope.elements[key]

    def _widened(
        self, op: Operation, entry: Scope, header: Scope, end: Scope | None, changed: frozenset[str], is_apart: bool
    ) -> dict[str, Known] | None:
        """Variables for another try; None where what was taken for known held to the end of the round."""
        if end is None:
            return None
        made, is_wider = dict(header.variables), False
        for name in changed:
            known, then = header.variables.get(name), end.variables.get(name)
            if known is None or then is None:
                if known is None and then is not None and name not in entry.variables:
                    made[name] = self._of_a_round(op, name, then)
                    is_wider = True
                continue
            wide = self._wide(op, name, known, then, is_apart)
            if wide != known:
                made[name], is_wider = wide, True
        return made if is_wider else None

    def _note_steps(self, op: Operation, header: Scope, end: Scope | None, changed: frozenset[str]) -> None:
        """Notes what a round makes of variables; and those that go on by an amount that the loop leaves as it is."""
        if end is None:
            return
        for name in changed:
            known, then = header.variables.get(name), end.variables.get(name)
            if isinstance(known, KnownNumber) and isinstance(then, KnownNumber) and len(known.form[1]) == 1:
                amount = self.forms.add(then.form, known.form, -1)
                ((number, _),) = known.form[1]
                if op not in self.forms.loops_of(amount):
                    self.found.steps.add(number)
                if self._is_of_a_round(op, number):
                    self.found.ends.setdefault(op, {})[number] = then.form

    def _note_carried(self, op: For | While, end: Scope | None) -> None:
        """Notes loads of elements that each round but the first one finds in a register, from the round before."""
        carried: set[Operation] = set()
        self.found.carried[op] = carried
        if end is None or any(isinstance(each, Continue) for each in everything_in(op)):
            return
        for key, (load, _) in end.fresh.items():
            if key in end.elements and not any(op in self.forms.loops_of(index) for index in key[2]):
                carried.add(load)

    def _is_of_a_round(self, op: Operation, number: int) -> bool:
        """Whether an atom stands for a variable that this loop changes."""
        key = self.forms.key_of(number)
        return isinstance(key, tuple) and key[:2] == ("round", op)

    def _wide(self, op: Operation, name: Hashable, known: Known, then: Known, is_apart: bool) -> Known:
        if isinstance(known, KnownNumber) and isinstance(then, KnownNumber):
            dtype = known.dtype
            if dtype is not None and then.dtype != dtype:
                fits = then.dtype is not None and then.dtype.kind in "biufc" and dtype.kind in "biufc"
                dtype = nt.unify(dtype, then.dtype) if fits and then.dtype is not None else None
            return KnownNumber(dtype, known.form, known.varies or then.varies or is_apart)
        if isinstance(known, KnownTuple) and isinstance(then, KnownTuple) and len(known.items) == len(then.items):
            return KnownTuple(
                tuple(
                    self._wide(op, (name, i), a, b, is_apart)
                    for i, (a, b) in enumerate(zip(known.items, then.items, strict=True))
                )
            )
        if known == then:
            return known
        return self._either(known, then)

    def _source(self, op: For, scope: Scope) -> Known:
        """What a `for` loop goes over."""
        return self.value(op.source, scope)

    def _item(self, op: For, source: Known | None) -> Known:
        """The loop variable in some round."""
        key = ("counter", op, self._rounds) if self._rounds else ("counter", op)
        form = self.forms.atom(key, frozenset([op]) | (frozenset() if _is_fixed(source) else self._around))
        match source:
            case KnownRange(start, stop, step):
                return KnownNumber(nt.INT64, form, start.varies or stop.varies or step.varies)
            case KnownTuple(items) if items and all(isinstance(each, KnownNumber) for each in items):
                merged = items[0]
                for each in items[1:]:
                    merged = self._merge(("item", op), merged, each, False)
                return replace(merged, form=form) if isinstance(merged, KnownNumber) else merged
            case KnownArray():
                if source.ndim == 1:
                    return self._loaded(source, (*source.prefix, form), False)
                return replace(source, ndim=source.ndim - 1, prefix=(*source.prefix, form))
        return Unknown(arrays_in(source) if source is not None else frozenset())

    @property
    def _around(self) -> frozenset[Operation]:
        return frozenset(self._loops)

    def _leave(self, depth: int, scope: Scope | None = None) -> None:
        """Lanes leave the innermost loop (-1), or everything up to the function (0)."""
        if self._apart:
            for each in self._leaving:
                each.is_divergent = True
        if scope is not None:
            leaving = self._leaving[-1] if depth else self._leaving[self._functions[-1]]
            leaving.scopes.append(scope.copy())

    # -- assignment -----------------------------------------------------------------------------------------------

    def assign(self, target: Target, known: Known, scope: Scope) -> None:
        match target:
            case Name():
                self.write(target.name, known, scope)
            case Element():
                self.reach(target.reached, scope)
                self.store(target.reached, known, scope)
            case TupleTarget():
                items: Sequence[Known] = [ANYTHING] * len(target.targets)
                if isinstance(known, KnownTuple) and len(known.items) == len(target.targets):
                    items = known.items
                elif isinstance(known, KnownArray) and known.ndim == 1:
                    places = [(*known.prefix, self.forms.constant(i)) for i in range(len(target.targets))]
                    items = [self._loaded(known, place, False) for place in places]
                for each, item in zip(target.targets, items, strict=True):
                    self.assign(each, item, scope)

    def write(self, name: str, known: Known, scope: Scope) -> None:
        if self._told and isinstance(known, KnownNumber):
            known = replace(known, form=self.forms.add(known.form, self._found_by_atomic("told")))
        scope.variables[name] = known

    def _found_by_atomic(self, key: Hashable) -> Form:
        return self.forms.atom(("atomic", key, self._rounds), self._around)

    def _looks(self, known: Known | None) -> bool:
        """Whether a value depends on what an atomic found."""
        if isinstance(known, KnownTuple):
            return any(map(self._looks, known.items))
        if not isinstance(known, KnownNumber):
            return False
        return self.forms.is_made_of(known.form, "atomic")

    def _tell(self, statements: Sequence[Statement]) -> None:
        """These statements are reached only where a condition on what an atomic found said so."""
        for statement in statements:
            for op in everything_in(statement):
                self.found.told.add(op)

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, op: Expression, scope: Scope) -> Known:
        """What is known of an expression's value."""
        known = self._value(op, scope)
        self.found.values[op] = known
        return known

    def _value(self, op: Expression, scope: Scope) -> Known:
        match op:
            case Local():
                return scope.variables.get(op.name, ANYTHING)
            case Constant():
                return self.constant(op.constant)
            case Captured():
                return self.captured(op, op.found)
            case Binary():
                return self.binary(op, op.kind, self.value(op.left, scope), self.value(op.right, scope))
            case Subscript():
                return self.subscript(op, scope)
            case Attribute():
                return self.attribute(op, scope)
            case FunctionCall():
                return self.call(op, scope)
            case TupleOf():
                return self._tuple(op, scope)
            case Nameless():
                return Inner(op.inner, scope.variables)
            case Unary():
                return self.unary(op, self.value(op.operand, scope))
            case Compare():
                sides = [self.value(each, scope) for each in (op.left, *op.others)]
                return self._compared(op, sides)
            case Junction():
                sides = self._junction(op, scope)
                same = {each.dtype for each in sides if isinstance(each, KnownNumber)}
                if len(sides) == 1:
                    return sides[0]
                return self.pure_result(("and" if op.is_and else "or",), sides, same.pop() if len(same) == 1 else None)
            case Selection():
                condition = self.value(op.condition, scope)
                decided = self.decided(condition)
                if decided is not None:
                    return self.value(op.yes if decided else op.no, scope)
                one, other = scope.copy(), scope.copy()
                yes, no = self.of_arm(op.yes, one), self.of_arm(op.no, other)
                self._note_both(op, one, other)
                scope.take_over(self._join(op, one, other, varies(condition)))
                may_be_dropped = may_be_decided(op.condition, self.found)
                self._undecided += may_be_dropped
                known = self._merge((op, "selected"), yes, no, varies(condition))
                self._undecided -= may_be_dropped
                return known
            case NamedExpression():
                known = self.value(op.operand, scope)
                self.write(op.name, known, scope)
                return known
            case Unpacked():
                return self.value(op.operand, scope)
            case Slice():
                for each in op.bounds:
                    if each is not None:
                        self.value(each, scope)
                return ANYTHING
            case Impossible():
                return ANYTHING
        return ANYTHING

    def _tuple(self, op: TupleOf, scope: Scope) -> Known:
        items: list[Known] = []
        is_whole = True
        for each in op.items:
            known = self.value(each, scope)
            is_whole &= not isinstance(each, Unpacked) or isinstance(known, KnownTuple)
            items.extend(known.items if isinstance(each, Unpacked) and isinstance(known, KnownTuple) else [known])
        return KnownTuple(tuple(items)) if is_whole else Unknown(frozenset().union(*map(arrays_in, items)))

    def of_arm(self, op: Expression, scope: Scope) -> Known:
        """One side of a selection, or what stands further right in `and` and `or`."""
        return self.value(op, scope)

    def _compared(self, op: Compare, sides: Sequence[Known]) -> Known:
        """A comparison; of constants its outcome is one."""
        constants = [each.constant if isinstance(each, KnownNumber) else None for each in sides]
        known = [each for each in constants if each is not None]
        if len(known) == len(constants) and all(kind in COMPARED for kind in op.kinds):
            pairs = zip(op.kinds, known, known[1:], strict=False)
            holds = all(COMPARED[kind](left, right) for kind, left, right in pairs)
            return KnownNumber(nt.BOOL, self.forms.constant(int(holds)), False)
        return self.pure_result(("compare", tuple(op.kinds)), sides, nt.BOOL)

    def _junction(self, op: Junction, scope: Scope) -> list[Known]:
        """The operands of `and` and `or`, up to one that decides it; those that change nothing are left out."""
        sides: list[Known] = []
        inner = scope
        for place, each in enumerate(op.operands):
            if place:
                inner = inner.copy()
            known = self.of_arm(each, inner) if place else self.value(each, inner)
            scope.variables, scope.killed = inner.variables, inner.killed
            self._where_all[op] = inner
            decided = self.decided(known)
            if decided is None or decided != op.is_and or place == len(op.operands) - 1:
                sides.append(known)
            if decided is not None and decided != op.is_and:
                return [known]
        return sides

    def constant(self, value: object) -> Known:
        if isinstance(value, np.generic) and value.dtype.kind in "iub":
            return KnownNumber(value.dtype, self.forms.constant(int(value)), False)
        if isinstance(value, np.generic):
            return KnownNumber(value.dtype, self.forms.atom(("literal", value.dtype, value.tobytes())), False)
        return kn.KnownName(value)

    def captured(self, op: Captured, value: object) -> Known:
        """A module-level value: device arrays are themselves, others constants."""
        if isinstance(value, View):
            return KnownArray(value.dtype, value.ndim, value.buffer.space, ("buffer", id(value.buffer.owner)), value.shape)
        if isinstance(value, np.ndarray):
            return KnownArray(value.dtype, value.ndim, "constant", ("constant", id(value)), value.shape)
        if isinstance(value, (tuple, list)):
            return KnownTuple(tuple(self.captured(op, each) for each in value))
        try:
            return self.constant(nt.scalar(value))
        except (TypeError, OverflowError):
            return kn.KnownName(value)

    def pure_result(
        self, key: Hashable, operands: Sequence[Known], dtype: np.dtype | None, *, differs: bool = False
    ) -> KnownNumber:
        """What an operation without side effects gives: the same for the same operands."""
        numbers = [each for each in operands if isinstance(each, KnownNumber)]
        around = self._around
        if len(numbers) < len(operands):
            key = (key, object())
        else:
            around = frozenset()
        forms = tuple(each.form for each in numbers)
        form = self.forms.atom((key, forms), around, forms)
        return KnownNumber(dtype, form, differs or any(map(varies, operands)))

    def binary(self, op: Operation, kind: type[ast.operator], left: Known, right: Known) -> Known:
        if isinstance(left, KnownTuple) and isinstance(right, KnownTuple) and kind is ast.Add:
            too_many = len(left.items) + len(right.items) > MOST_ITEMS  # refused when it is reached
            return ANYTHING if too_many else KnownTuple(left.items + right.items)
        if not isinstance(left, KnownNumber) or not isinstance(right, KnownNumber):
            return self.pure_result((kind, op), [left, right], None)
        dtype = None
        if left.dtype is not None and right.dtype is not None:
            if left.dtype.kind not in "biufc" or right.dtype.kind not in "biufc":
                return ANYTHING
            try:
                dtype = nt.operator_types(kind, left.dtype, right.dtype)[1]
            except (TypeError, KeyError):
                return ANYTHING
        is_whole = dtype is not None and dtype.kind in "iu"
        apart = left.varies or right.varies
        if is_whole:
            made_by = (*left.made_by, *right.made_by, op)[-32:]
            form = self._whole(kind, left.form, right.form)
            return KnownNumber(dtype, form, apart, made_by)
        op.multiplies = left.is_product or right.is_product
        operands = sorted([left, right], key=lambda n: n.form) if kind in (ast.Add, ast.Mult) else [left, right]
        made = self.pure_result((kind, dtype), operands, dtype)
        return replace(made, is_product=kind is ast.Mult and dtype is not None and dtype.kind == "f")

    def _whole(self, kind: type[ast.operator], left: Form, right: Form) -> Form:
        """The form of integer arithmetic."""
        if kind in (ast.Add, ast.Sub):
            return self.forms.add(left, right, 1 if kind is ast.Add else -1)
        if kind is ast.Mult:
            return self.forms.multiply(left, right)
        if not left[1] and not right[1]:
            a, b = left[0], right[0]
            if kind in (ast.FloorDiv, ast.Mod) and b:
                return self.forms.constant(a // b if kind is ast.FloorDiv else a % b)
            if kind in (ast.LShift, ast.RShift) and 0 <= b < 64:
                return self.forms.constant(a << b if kind is ast.LShift else a >> b)
            if kind is ast.Pow and 0 <= b < 64 and abs(a) < 2**16:
                return self.forms.constant(a**b)
        if kind is ast.LShift and not right[1] and 0 <= right[0] < 63:
            return self.forms.multiply(left, self.forms.constant(1 << right[0]))
        return self.forms.atom((kind, left, right), made_of=(left, right))

    def unary(self, op: Unary, operand: Known) -> Known:
        if not isinstance(operand, KnownNumber):
            return self.pure_result((op.kind, op), [operand], nt.BOOL if op.kind is ast.Not else None)
        if op.kind is ast.Not:
            if operand.constant is not None:
                return KnownNumber(nt.BOOL, self.forms.constant(int(not operand.constant)), False)
            return self.pure_result((ast.Not,), [operand], nt.BOOL)
        dtype = operand.dtype
        if dtype is not None and dtype.kind in "iub" and op.kind in (ast.USub, ast.UAdd):
            form = self.forms.add(self.forms.constant(0), operand.form, -1 if op.kind is ast.USub else 1)
            wide = nt.UINT64 if dtype.kind == "u" else nt.INT64
            return KnownNumber(wide, form, operand.varies, (*operand.made_by, op)[-32:])
        return self.pure_result((op.kind,), [operand], dtype)

    # -- arrays ---------------------------------------------------------------------------------------------------

    def subscript(self, op: Subscript, scope: Scope) -> Known:
        owner = self.value(op.owner, scope)
        if isinstance(owner, KnownTuple):
            return self._tuple_item(op, owner, scope)
        if not isinstance(owner, KnownArray):
            for each in op.indices:
                self.value(each, scope)
            return Unknown(arrays_in(owner))
        self.reach(op, scope, owner)
        return self.load(op, scope, owner)

    def _tuple_item(self, op: Subscript, owner: KnownTuple, scope: Scope) -> Known:
        part = op.indices[0]
        index = self.value(part, scope) if len(op.indices) == 1 else ANYTHING
        if isinstance(part, Slice) and len(op.indices) == 1:
            constants = [self._constant(each, scope) for each in part.bounds]
            if all(each is not None for each in constants):
                start, stop, step = (each[0] for each in constants if each is not None)
                return KnownTuple(owner.items[start:stop:step])
        if isinstance(index, KnownNumber) and index.constant is not None and owner.items:
            if -len(owner.items) <= index.constant < len(owner.items):
                return owner.items[index.constant]
        if isinstance(index, KnownNumber) and owner.items:
            merged = owner.items[0]
            for place, each in enumerate(owner.items[1:]):
                merged = self._merge((op, "item", place), merged, each, index.varies)
            return merged
        return Unknown(arrays_in(owner))

    def _constant(self, bound: Expression | None, scope: Scope) -> tuple[int | None] | None:
        """A slice's bound, which may be None; without the tuple where it is not known."""
        known = None if bound is None else self.value(bound, scope)
        if known is None or known == kn.KnownName(None):
            return (None,)
        return (known.constant,) if isinstance(known, KnownNumber) and known.constant is not None else None

    def reach(self, op: Subscript | Attribute, scope: Scope, owner: Known | None = None) -> None:
        """Notes which element or part of which array an access goes to."""
        self.found.reached.pop(op, None)
        if owner is None:
            owner = self.value(op.owner, scope)
        if not isinstance(owner, KnownArray) or isinstance(op, Attribute) or op.field is not None:
            self.found.values[op.owner] = owner
            return
        indices: list[Form | None] = list(owner.prefix)
        made_by: tuple[Operation, ...] = ()
        apart = False
        for each in op.indices:
            known = self.value(each, scope)
            parts: Sequence[Known] = known.items if isinstance(known, KnownTuple) else [known]
            for part in parts:
                is_number = isinstance(part, KnownNumber) and (part.dtype is None or part.dtype.kind in "iub")
                indices.append(part.form if is_number and isinstance(part, KnownNumber) else None)
                apart |= varies(part)
                made_by += part.made_by if isinstance(part, KnownNumber) else ()
        self.found.reached[op] = Reached(owner, tuple(indices), apart, made_by)

    def load(self, op: Subscript | Attribute, scope: Scope, owner: Known | None = None) -> Known:
        """What is known of an element, a part or a field."""
        reached = self.found.reached.get(op)
        if reached is None:
            return Unknown(arrays_in(owner if owner is not None else self.found.values.get(op.owner, ANYTHING)))
        array, indices = reached.array, reached.indices
        given = [(each, self.found.values.get(each)) for each in op.indices] if isinstance(op, Subscript) else []
        if any(_may_be_unknown(value) and not isinstance(each, Slice) for each, value in given):
            return Unknown(frozenset([array.identity]))
        new_axes = sum(value == kn.KnownName(None) for _, value in given)
        whole = len(array.prefix) + array.ndim
        known = tuple(each for each in indices if each is not None)
        if len(known) < len(indices) or array.dtype.fields:
            return self._part(op, array, max(0, whole + new_axes - len(known)))
        if len(indices) < whole:
            if not array.is_whole:
                return self._part(op, array, whole - len(known))
            rest = whole - len(known)
            return replace(array, ndim=rest, prefix=known)
        return self._element(op, array, known, reached.varies, scope)

    def _element(
        self, op: Operation, array: KnownArray, indices: tuple[Form, ...], apart: bool, scope: Scope
    ) -> KnownNumber:
        """An element that is loaded, or that is in a register since it was loaded or stored before."""
        key = (array.identity, array.part, indices)
        held = scope.elements.get(key)
        if op in self.unused:
            self.found.again.add((op, self._rounds))
            return held.known if held is not None else self._loaded(array, indices, apart)
        if held is not None:
            self.found.again.add((op, self._rounds))
            return held.known
        self.found.again.discard((op, self._rounds))
        if not kinds_of_memory(array) & scope.killed:
            scope.fresh.setdefault(key, (op, self._rounds))
        self._read(array, scope)
        known = self._loaded(array, indices, apart)
        if key in scope.ahead:  # it is loaded before the branch, for both
            self.found.again.add(scope.ahead.pop(key))
        scope.first.setdefault(key, (op, self._rounds))
        scope.elements[key] = InRegister(known, array.space)
        scope.loaded.setdefault(key, (known, op))
        return known

    def _read(self, array: KnownArray, scope: Scope) -> None:
        """Memory is read, in which stores may be waiting to be overwritten."""
        for key in [*scope.unread]:
            if key[0] == array.identity or array.space not in ("shared", "local") and _is_of_others(key[0]):
                del scope.unread[key]

    def _loaded(self, array: KnownArray, indices: tuple[Form, ...], apart: bool) -> KnownNumber:
        kinds = kinds_of_memory(array)
        loops = frozenset(each for each in self._loops if kinds & self.found.kills.get(each, set()))
        epochs = tuple(self._epochs.get(each, 0) for each in sorted(kinds, key=repr))
        form = self.forms.atom(("load", array.identity, array.part, indices, epochs), loops, indices)
        if array.identity in self.looked_at:
            form = self.forms.add(form, self._found_by_atomic(array.identity))
        return KnownNumber(array.dtype, form, apart or array.space != "constant")

    def _part(self, op: Operation, array: KnownArray, ndim: int) -> Known:
        if array.dtype.fields:
            return Unknown(frozenset([array.identity]))
        return replace(array, ndim=max(0, ndim), extents=(None,) * max(0, ndim), prefix=(), part=op)

    def store(self, op: Subscript | Attribute, known: Known, scope: Scope) -> None:
        """An element or a part is written."""
        reached = self.found.reached.get(op)
        owner = reached.array if reached is not None else self.found.values.get(op.owner, ANYTHING)
        if reached is None:
            self._change(owner, scope)
            self.found.untracked |= arrays_in(owner)
        else:
            self.found.stores[op] = reached
            self._change(owner, scope, reached.indices)
            self._keep(op, reached, known, scope)
        if self._told or self._looks(known):
            self.looked_at |= arrays_in(owner)

    def _keep(self, op: Operation, reached: Reached, known: Known, scope: Scope) -> None:
        """The element that was stored is in a register, if it is stored as it is."""
        array = reached.array
        indices = tuple(each for each in reached.indices if each is not None)
        if len(indices) != len(array.prefix) + array.ndim or len(indices) < len(reached.indices) or array.dtype.fields:
            return
        key = (array.identity, array.part, indices)
        before = scope.unread.get(key)
        here = op, self._rounds
        if before is not None and before != here:
            self.found.overwritten.add(before)
        self.found.overwritten.discard(here)
        scope.unread[key] = here
        if isinstance(known, KnownNumber) and known.dtype == array.dtype:
            scope.elements[key] = InRegister(replace(known, made_by=(), is_product=False), array.space)
        else:
            form = self.forms.atom(("stored", op, self._rounds), self._around)
            scope.elements[key] = InRegister(KnownNumber(array.dtype, form, True), array.space)

    def _write(self, known: Known, scope: Scope) -> None:
        """A value's arrays are written to, nobody knows where."""
        self.found.untracked |= arrays_in(known)
        self._change(known, scope)

    def _change(self, known: Known, scope: Scope, indices: tuple[Form | None, ...] = ()) -> None:
        """A value's arrays are written to: what was loaded before may have changed."""
        identities = arrays_in(known)
        self.found.written |= identities
        self.found.may_write_anything |= not identities and isinstance(known, Unknown)
        if isinstance(known, KnownArray):
            kinds = {known.identity} if known.space in ("shared", "local") else {GLOBAL}
        else:
            kinds = {*identities, GLOBAL}
        for kind in kinds:
            self._kill(kind, scope, known.identity if isinstance(known, KnownArray) else None, indices)

    def _kill(
        self, kind: Hashable, scope: Scope | None, identity: Hashable = None, indices: tuple[Form | None, ...] = ()
    ) -> None:
        """Memory of a kind (`GLOBAL`, `ALL` at a barrier, or one shared or local array) may have changed."""
        self._epoch += 1
        self._epochs[kind] = self._epoch
        for loop in self._loops:
            self.found.kills.setdefault(loop, set()).add(kind)
        if scope is not None:
            self._forget(kind, scope, identity, indices)

    def _forget(
        self, kind: Hashable, scope: Scope, identity: Hashable = None, indices: tuple[Form | None, ...] = ()
    ) -> None:
        """Elements that may have changed are in no register any more; an element that is provably another one stays."""
        scope.killed.add(kind)
        for key, held in [*scope.elements.items()]:
            if kind == ALL:
                is_hit = held.space in ("shared", "global")
            elif kind == GLOBAL:
                is_hit = held.space == "global"
            else:
                is_hit = key[0] == kind
            if is_hit and not (key[0] == identity and _are_different(key[2], indices)):
                del scope.elements[key]
        scope.ahead.clear()
        if kind == ALL:
            scope.unread.clear()

    def attribute(self, op: Attribute, scope: Scope) -> Known:
        owner, name = self.value(op.owner, scope), op.name
        if isinstance(owner, kn.KnownName) and isinstance(owner.value, Reference):
            path = f"{owner.value.path}.{name}"
            self.found.paths.add(path)
            if path in MISSING_NAMES:
                return ANYTHING
            if path in VALUES:
                return self.builtin(path)
            if isinstance(owner.value, TypeReference) and name == "type":
                return owner
            return kn.KnownName(type_of(path) or Reference(path))
        if isinstance(owner, kn.KnownName) and hasattr(owner.value, "member"):
            try:
                return self.captured_member(op, owner.value.member(name))
            except AttributeError:
                return ANYTHING
        if isinstance(owner, KnownArray):
            return self._array_attribute(owner, name)
        if isinstance(owner, KnownNumber) and name in ("real", "imag"):
            return self.pure_result((name,), [owner], None)
        return Unknown(arrays_in(owner))

    def captured_member(self, op: Operation, value: object) -> Known:
        if isinstance(value, (np.ndarray, View, tuple, list, int, float, complex, np.generic)):
            return self.captured(Captured(op.node, op.function, value), value)
        return kn.KnownName(value)

    def _array_attribute(self, owner: KnownArray, name: str) -> Known:
        if name == "shape":
            return KnownTuple(tuple(self.extent(owner, axis) for axis in range(owner.ndim)))
        if name in ("size", "nbytes"):
            extents = [self.extent(owner, axis) for axis in range(owner.ndim)]
            form = self.forms.constant(1 if name == "size" else owner.dtype.itemsize)
            for each in extents:
                form = self.forms.multiply(form, each.form)
            return KnownNumber(nt.INT64, form, any(each.varies for each in extents))
        if name in ("ndim", "itemsize"):
            return KnownNumber(nt.INT64, self.forms.constant(owner.ndim if name == "ndim" else owner.dtype.itemsize), False)
        if name == "dtype":
            return kn.KnownName(TypeReference(f"numpy.{owner.dtype.name}", owner.dtype))
        if name == "T":
            return replace(owner, extents=owner.extents[::-1], prefix=(), part=("T", owner.part, owner.prefix))
        if owner.dtype.fields or name in ("real", "imag"):
            return Unknown(frozenset([owner.identity]))
        return kn.KnownName(library.OfArray(owner, name))

    def extent(self, array: KnownArray, axis: int) -> KnownNumber:
        """The size of a dimension."""
        whole = len(array.prefix) + axis
        if whole < len(array.extents) and array.extents[whole] is not None and array.space != "global":
            return KnownNumber(nt.INT64, self.forms.constant(array.extents[whole] or 0), False)
        form = self.forms.atom(("extent", array.identity, array.part, len(array.prefix) + axis))
        return KnownNumber(nt.INT64, form, not array.is_whole)

    def builtin(self, path: str) -> Known:
        """A name of the library that stands for a value."""
        rule = library.BUILTIN_VALUES.get(path)
        if rule is None:
            return KnownNumber(nt.FLOAT64, self.forms.atom(("name", path)), False)
        return KnownNumber(rule.dtype, self.forms.atom(("name", path)), rule.varies)

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self, op: FunctionCall, scope: Scope) -> Known:
        callee = self.value(op.callee, scope)
        arguments: list[Known] = []
        for each in op.arguments:
            known = self.value(each, scope)
            if isinstance(each, Unpacked) and isinstance(known, KnownTuple):
                arguments.extend(known.items)
            else:
                arguments.append(known)
        keywords = {name: self.value(each, scope) for name, each in op.keywords.items()}
        self.found.callees.pop(op, None)
        if isinstance(callee, Inner) and isinstance(callee.function, Function):
            return self.follow(op, callee.function, arguments, keywords, callee.variables, scope)
        if isinstance(callee, kn.KnownName):
            if isinstance(callee.value, Function) and callee.value.kind != "host":
                return self.follow(op, callee.value, arguments, keywords, None, scope)
            if isinstance(callee.value, TypeReference):
                return self.converted(callee.value.dtype, arguments)
            if isinstance(callee.value, library.OfArray):
                return self.of_array(op, callee.value, arguments)
            if isinstance(callee.value, Reference):
                self.found.paths.add(callee.value.path)
                self.found.callees[op] = callee.value.path
                return self.of_library(op, callee.value.path, arguments, keywords, scope)
        return self.anything_done(op, [callee, *arguments, *keywords.values()], scope)

    def anything_done(self, op: FunctionCall, given: Sequence[Known], scope: Scope) -> Known:
        """A call that cannot be followed: it may do anything with what it is given."""
        self._kill(ALL, scope)
        for each in given:
            self._write(each, scope)
        return Unknown(frozenset().union(*map(arrays_in, given)))

    def follow(
        self, op: FunctionCall, function: Function, arguments: Sequence[Known], keywords: Mapping[str, Known],
        around: Mapping[str, Known] | None, scope: Scope,
    ) -> Known:  # fmt: skip
        """Into a device function, which gets operations of its own for this call."""
        self._bodies += 1
        if function in self._stack or len(self._stack) > MOST_DEPTH or self._bodies > self.most_bodies:
            return self.anything_done(op, [*arguments, *keywords.values()], scope)
        body = op.bodies.get(function)
        if body is None:
            body = op.bodies[function] = self.lower(function)
        self.unused |= unused_in(body.body)
        variables = dict(around or {})
        names = function.parameters
        bound = dict(zip(names, arguments, strict=False)) | {k: v for k, v in keywords.items() if k in names}
        for name in names:
            if name not in bound and name in body.defaults:
                bound[name] = self.value(body.defaults[name], Scope(variables))
        if function.star is not None:
            bound[function.star] = KnownTuple(tuple(arguments[len(names) :]))
        if function.casts is not None:
            for name, dtype in zip(names, function.casts.arguments, strict=False):
                bound[name] = self._cast(dtype, bound.get(name, ANYTHING))
        for name in function.local_names - bound.keys():
            variables.pop(name, None)
        self._stack.append(function)
        self._functions.append(len(self._leaving))
        self._leaving.append(Leaving())
        self._results.append([])
        before, self._apart = self._apart, self._apart
        inner = Scope({**variables, **bound}, dict(scope.elements))
        inner.unread = scope.unread  # a call is no more than the statements in it
        end = self.block(body.body, inner)
        ends = [each for each in (end, *self._leaving[-1].scopes) if each is not None]
        scope.elements = {
            key: held
            for key, held in (ends[0].elements.items() if ends else ())
            if all(each.elements.get(key) == held for each in ends)
        }
        self._apart = before
        results = self._results.pop()
        leaving = self._leaving.pop()
        self._functions.pop()
        self._stack.pop()
        if not results:
            return kn.KnownName(None)
        result = results[0]
        for place, each in enumerate(results[1:]):
            result = self._merge((op, "result", place), result, each, leaving.is_divergent)
        return result if function.casts is None else self._cast(function.casts.result, result)

    def _cast(self, dtype: np.dtype | None, known: Known) -> Known:
        """What a signature makes of an argument or a result."""
        return self.converted(dtype, [known]) if dtype is not None and isinstance(known, KnownNumber) else known

    def converted(self, dtype: np.dtype, arguments: Sequence[Known]) -> Known:
        """`np.int32(x)`: of integers it keeps which value it is."""
        if len(arguments) != 1 or not isinstance(arguments[0], KnownNumber):
            return self.pure_result(("convert", dtype), arguments, dtype)
        given = arguments[0]
        if given.dtype == dtype:
            return given
        if dtype.kind in "iu" and given.dtype is not None and given.dtype.kind in "iub":
            return replace(given, dtype=dtype)
        return self.pure_result(("convert", dtype), arguments, dtype)

    def of_array(self, op: FunctionCall, method: library.OfArray, arguments: Sequence[Known]) -> Known:
        """An array's method: other shapes of the same memory, or a reduction."""
        if method.name in library.RESHAPING:
            return Unknown(frozenset([method.array.identity]))
        return KnownNumber(None, self.forms.atom(("method", op, self._epoch, self._rounds), self._around), True)

    def of_library(
        self, op: FunctionCall, path: str, arguments: list[Known], keywords: Mapping[str, Known], scope: Scope
    ) -> Known:
        """What a function of the library gives, and what it does to memory."""
        if path in library.ARRAY_MAKERS:
            return library.array_made(op, path, arguments, keywords) or ANYTHING
        if path == "builtins.range":
            return self._range(arguments)
        if path == "builtins.slice":
            return ANYTHING
        if path == "builtins.divmod" and len(arguments) == 2:
            return KnownTuple(tuple(self.binary(op, kind, *arguments) for kind in (ast.FloorDiv, ast.Mod)))
        if path == "numba.cuda.grid":
            return self._grid(arguments)
        if path == "numba.cuda.gridsize":
            return self._grid_size(arguments)
        if path == "numba.cuda.const.array_like" and arguments:
            return arguments[0]
        if path in ("numba.literal_unroll", "numba.cuda.literal_unroll", "builtins.tuple") and arguments:
            return arguments[0]
        if path == "builtins.len" and arguments:
            if isinstance(arguments[0], KnownTuple):
                return self.constant(np.int64(len(arguments[0].items)))
            if isinstance(arguments[0], KnownArray):
                return self.extent(arguments[0], 0)
        if path.startswith("numba.cuda.atomic."):
            self._reach_by_call(op, arguments)
            if arguments:
                (self._change if op in self.found.reached else self._write)(arguments[0], scope)
            return KnownNumber(None, self._found_by_atomic(op), True)
        if path.startswith(SYNCHRONISES):
            self._kill(ALL, scope)
            if not path.startswith("numba.cuda.syncthreads_"):
                return kn.KnownName(None)
            return KnownNumber(nt.INT32, self.forms.atom(("vote", op, self._rounds), self._around), False)
        if path in library.STORES:
            for each in (*arguments, *keywords.values()):
                self._write(each, scope)
            return KnownNumber(None, self.forms.atom(("stored", op, self._epoch, self._rounds), self._around), True)
        if path in ("builtins.int", "builtins.float", "builtins.bool") and len(arguments) == 1:
            return self._to_python(path, arguments[0])
        rule = library.PURE.get(path)
        if rule is not None and arguments and not keywords and all(isinstance(each, KnownNumber) for each in arguments):
            dtypes = [each.dtype for each in arguments if isinstance(each, KnownNumber)]
            return self.pure_result(("call", path), arguments, rule(dtypes), differs=path in library.BY_LANE)
        key = ("call", path, op, self._epoch, self._rounds)
        known = self.pure_result(key, [*arguments, *keywords.values()], None, differs=True)
        arrays = frozenset().union(*map(arrays_in, arguments), *map(arrays_in, keywords.values()))
        if path.startswith(library.READ_ONLY) or not arrays:
            return known if not arrays else Unknown(arrays) if path.startswith("builtins.") else known
        return self.anything_done(op, [*arguments, *keywords.values()], scope)

    def _to_python(self, path: str, given: Known) -> Known:
        if isinstance(given, KnownNumber) and given.dtype is not None:
            if path == "builtins.int":
                return given if given.dtype.kind in "iu" else self.converted(nt.INT64, [given])
            if path == "builtins.float" and given.dtype.kind == "f":
                return given
        made = {"builtins.int": nt.INT64, "builtins.float": nt.FLOAT64}
        return self.pure_result(("call", path), [given], made.get(path, nt.BOOL))

    def _range(self, arguments: Sequence[Known]) -> Known:
        numbers = [each for each in arguments if isinstance(each, KnownNumber)]
        if len(numbers) != len(arguments) or not 1 <= len(numbers) <= 3:
            return ANYTHING
        zero, one = (KnownNumber(nt.INT64, self.forms.constant(n), False) for n in (0, 1))
        if len(numbers) == 1:
            return KnownRange(zero, numbers[0], one)
        return KnownRange(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else one)

    def _grid(self, arguments: Sequence[Known]) -> Known:
        """cuda.grid(n), as the sum that it is."""
        wanted = arguments[0].constant if arguments and isinstance(arguments[0], KnownNumber) else None
        if wanted not in (1, 2, 3):
            return ANYTHING
        found: list[Known] = []
        for letter in "xyz"[:wanted]:
            thread, block, size = (
                self.forms.atom(("name", f"numba.cuda.{name}.{letter}")) for name in ("threadIdx", "blockIdx", "blockDim")
            )
            form = self.forms.add(thread, self.forms.multiply(block, size))
            found.append(KnownNumber(nt.INT64, form, True))
        return found[0] if wanted == 1 else KnownTuple(tuple(found))

    def _grid_size(self, arguments: Sequence[Known]) -> Known:
        """cuda.gridsize(n): one number for all threads, or one for each axis."""
        wanted = arguments[0].constant if arguments and isinstance(arguments[0], KnownNumber) else None
        if wanted not in (1, 2, 3):
            return ANYTHING
        sizes = [
            KnownNumber(nt.INT64, self.forms.atom(("name", f"numba.cuda.gridsize.{letter}")), False)
            for letter in "xyz"[:wanted]
        ]
        return sizes[0] if wanted == 1 else KnownTuple(tuple(sizes))

    def _reach_by_call(self, op: FunctionCall, arguments: Sequence[Known]) -> None:
        """Notes the element that an atomic goes to."""
        self.found.reached.pop(op, None)
        if len(arguments) < 2 or not isinstance(arguments[0], KnownArray):
            return
        parts = arguments[1].items if isinstance(arguments[1], KnownTuple) else (arguments[1],)
        forms = tuple(part.form if isinstance(part, KnownNumber) else None for part in parts)
        self.found.reached[op] = self.found.stores[op] = Reached(arguments[0], forms, any(map(varies, parts)))


def may_be_decided(op: Expression, found: Found) -> bool:
    """Whether the compiler may know a condition before it works out types, and drop what is then never reached.

    Numba does so for literals, names of the module, arguments that are None, and what an array's or a tuple's type says.
    """
    if isinstance(op, Junction):
        return any(may_be_decided(each, found) for each in op.operands)
    if isinstance(op, Unary):
        return may_be_decided(op.operand, found)
    if isinstance(op, FunctionCall):
        return found.callees.get(op) in ("builtins.isinstance", "builtins.hasattr")
    if isinstance(op, Compare):
        return all(_is_settled(found.values.get(each)) for each in (op.left, *op.others)) or any(
            found.values.get(each) == kn.KnownName(None) for each in (op.left, *op.others)
        )
    return isinstance(op, Constant) or _is_settled(found.values.get(op))


def _may_be_unknown(known: Known | None) -> bool:
    """Whether nothing is known of a value, or of one of its items."""
    return isinstance(known, Unknown) or isinstance(known, KnownTuple) and any(map(_may_be_unknown, known.items))


def _is_settled(known: Known | None) -> bool:
    if isinstance(known, KnownNumber):
        return known.constant is not None
    return known is None or isinstance(known, (kn.KnownName, Unknown))


def _seen_by(inner: Function) -> frozenset[str]:
    """The names that a function takes from around it."""
    used = {each.id for each in ast.walk(inner.node) if isinstance(each, ast.Name)}
    return frozenset(used - inner.local_names)


def _varying(known: Known) -> Known:
    """The same value, which some threads may not have."""
    if isinstance(known, KnownNumber):
        return replace(known, varies=True)
    return KnownTuple(tuple(map(_varying, known.items))) if isinstance(known, KnownTuple) else known


def _is_fixed(source: Known | None) -> bool:
    """Whether a loop over this is the same each time that it is begun."""
    if isinstance(source, KnownRange):
        return all(each.constant is not None for each in (source.start, source.stop, source.step))
    return False


def _differs(source: Known) -> bool:
    """Whether threads may go round a loop over this a different number of times."""
    if isinstance(source, KnownRange):
        return source.start.varies or source.stop.varies or source.step.varies
    return not isinstance(source, (KnownTuple, KnownArray))


def _assigned_in(op: For | While) -> frozenset[str]:
    """The variables that a loop changes."""
    names: set[str] = set()
    for each in everything_in(op):
        if isinstance(each, (Name, UpdateName, NamedExpression)):
            names.add(each.name)
        elif isinstance(each, Definition):
            names.add(each.inner.name)
    return frozenset(names)


def kinds_of_memory(array: KnownArray) -> set[Hashable]:
    """What has to stay as it is for an element of an array to stay what it is."""
    if array.space == "constant":
        return set()
    if array.space == "local":
        return {array.identity}
    return {ALL, array.identity if array.space == "shared" else GLOBAL}


def _is_of_others(identity: Hashable) -> bool:
    """Whether an array was given to the kernel or captured, so that others may be the same memory."""
    return not (isinstance(identity, tuple) and identity[0] in ("shared", "local"))


def _are_different(one: tuple[Form, ...], other: tuple[Form | None, ...]) -> bool:
    """Whether two elements of one array are provably not the same: both have constants, and not the same, in one place.

    `a[i]` and `a[i + 1]` may be the same to the compiler, since a negative index wraps round.
    """
    return any(
        b is not None and not a[1] and not b[1] and a[0] != b[0] for a, b in zip(one, other, strict=False)
    )

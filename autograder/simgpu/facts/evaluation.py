"""What is known of an expression's value.

START HERE: `Evaluation.value`, which has a case for each kind of expression.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Protocol

from autograder.language import overloads
from autograder.language.modules import MISSING_NAMES
from autograder.language.numeric_types import TypeReference, type_of
from autograder.language.program import Function, Reference
from autograder.simgpu.facts import library
from autograder.simgpu.facts.atomic_results import AtomicResults
from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Reached
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import (
    Inner,
    Known,
    KnownArray,
    KnownName,
    KnownNumber,
    KnownRecord,
    KnownTuple,
    Unknown,
    arrays_in,
    varies,
)
from autograder.simgpu.facts.known_memory import KnownMemory
from autograder.simgpu.facts.known_results import ANYTHING, KnownResults
from autograder.simgpu.facts.library import part_of_a_complex_number
from autograder.simgpu.facts.library_calls import Given, LibraryCalls
from autograder.simgpu.facts.merging import Merging
from autograder.simgpu.facts.observer import Observer
from autograder.simgpu.facts.pruning import may_be_decided
from autograder.simgpu.facts.scope import Scope
from autograder.simgpu.operations.expressions import Captured, Constant, Local, NamedExpression, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall, Unpacked
from autograder.simgpu.operations.indexing import Attribute, Slice, Subscript
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.registry import VALUES
from autograder.simgpu.operations.statements import Nameless
from autograder.simgpu.operations.steps import Expression


class Follow(Protocol):
    """Follows a call into a device function; gives what is known of the result."""

    def __call__(
        self, op: FunctionCall, function: Function, given: Given, around: Mapping[str, Known], scope: Scope
    ) -> Known:
        """`around`: the variables that a function defined inside a kernel sees."""


class Evaluation:
    """Evaluates the expressions of one kernel.

    `follow` is handed in for calls of device functions. `decides`: if a condition is known to hold, or not to, only the
    side that is taken is evaluated.
    """

    def __init__(
        self,
        here: Here,
        results: KnownResults,
        memory: KnownMemory,
        atomics: AtomicResults,
        merging: Merging,
        observer: Observer,
        follow: Follow,
        *,
        decides: bool,
    ) -> None:
        self.here = here
        self.results = results
        self.memory = memory
        self.atomics = atomics
        self.merging = merging
        self.observer = observer
        self.follow = follow
        self.decides = decides
        self.library_calls = LibraryCalls(here, results, memory, atomics, observer)
        # by branch: pairs of loads of the same element, one in each arm
        self.in_both_arms: dict[Operation, list[tuple[Operation, Operation]]] = {}
        self._constants: dict[Operation, Known] = {}
        self._where_all: dict[Operation, Scope] = {}  # by `and` or `or`: where all operands were evaluated

    def value(self, op: Expression, scope: Scope) -> Known:
        """What is known of an expression's value; recorded for its operation too."""
        known = self._value(op, scope)
        self.here.found.values[op] = known
        return known

    def _value(self, op: Expression, scope: Scope) -> Known:
        match op:
            case Local():
                return scope.variables.get(op.name, ANYTHING)
            case Constant():
                known = self._constants.get(op)
                if known is None:
                    known = self._constants[op] = self.results.constant(op.constant)
                return known
            case Captured():
                return self.results.captured(op.found)
            case Binary():
                return self.results.binary(op, op.kind, self.value(op.left, scope), self.value(op.right, scope))
            case Subscript():
                return self._subscript(op, scope)
            case Attribute():
                return self._attribute(op, scope)
            case FunctionCall():
                return self._call(op, scope)
            case TupleOf():
                return self._tuple(op, scope)
            case Nameless():
                return Inner(op.inner, scope.variables)
            case Unary():
                return self.results.unary(op, self.value(op.operand, scope))
            case Compare():
                return self.results.compared(op, [self.value(each, scope) for each in (op.left, *op.others)])
            case Junction():
                return self.results.junction(op.is_and, self._sides(op, scope))
            case Selection():
                return self._selection(op, scope)
            case NamedExpression():
                known = self.value(op.operand, scope)
                self.assign(op.name, known, scope)
                return known
            case Unpacked():
                return self.value(op.operand, scope)
            case Slice():
                for each in op.bounds:
                    if each is not None:
                        self.value(each, scope)
        return ANYTHING

    def assign(self, name: str, known: Known, scope: Scope) -> None:
        """Assigns a value to a variable."""
        scope.variables[name] = self.atomics.assigned(known)

    def _tuple(self, op: TupleOf, scope: Scope) -> Known:
        items: list[Known] = []
        is_whole = True
        for each in op.items:
            known = self.value(each, scope)
            is_whole &= not isinstance(each, Unpacked) or isinstance(known, KnownTuple)
            items.extend(known.items if isinstance(each, Unpacked) and isinstance(known, KnownTuple) else [known])
        return KnownTuple(tuple(items)) if is_whole else Unknown(frozenset().union(*map(arrays_in, items)))

    # -- conditions -----------------------------------------------------------------------------------------------

    def decided(self, condition: Known) -> bool | None:
        """Whether a condition always holds (True) or never does (False); None if that is open or not to be decided here."""
        if not self.decides or not isinstance(condition, KnownNumber) or condition.constant is None:
            return None
        return bool(condition.constant)

    def where(self, condition: Expression, scope: Scope) -> tuple[Scope, Scope]:
        """What is known where a condition holds, and where it does not; it was evaluated before."""
        if isinstance(condition, Unary) and condition.kind is ast.Not:
            return self.where(condition.operand, scope)[::-1]
        all_asked = self._where_all.get(condition)
        if not isinstance(condition, Junction) or all_asked is None:
            return scope.copy(), scope.copy()
        decided_early = scope.copy()
        decided_early.ahead = {
            key: place for key, place in all_asked.first.items() if key in all_asked.elements and key not in scope.elements
        }
        return (all_asked.copy(), decided_early) if condition.is_and else (decided_early, all_asked.copy())

    def note_both(self, op: Operation, one: Scope, other: Scope) -> None:
        """Records the loads of elements that both arms of a branch load."""
        self.in_both_arms[op] = [
            (by, other.loaded[key][1])
            for key, (known, by) in one.loaded.items()
            if key in other.loaded and other.loaded[key][0] == known
        ]

    def _sides(self, op: Junction, scope: Scope) -> list[Known]:
        """The operands of `and` or `or` up to one that decides the outcome, without those that cannot change it."""
        sides: list[Known] = []
        inner = scope
        for place, each in enumerate(op.operands):
            if place:
                inner = inner.copy()
            known = self._arm(each, inner) if place else self.value(each, inner)
            scope.variables, scope.killed = inner.variables, inner.killed
            self._where_all[op] = inner
            decided = self.decided(known)
            if decided is None or decided != op.is_and or place == len(op.operands) - 1:
                sides.append(known)
            if decided is not None and decided != op.is_and:
                return [known]
        return sides

    def _selection(self, op: Selection, scope: Scope) -> Known:
        condition = self.value(op.condition, scope)
        decided = self.decided(condition)
        if decided is not None:
            return self.value(op.yes if decided else op.no, scope)
        one, other = scope.copy(), scope.copy()
        yes, no = self._arm(op.yes, one), self._arm(op.no, other)
        self.note_both(op, one, other)
        apart = varies(condition)
        scope.take_over(self.merging.of_scopes(op, one, other, apart))
        may_be_dropped = may_be_decided(op.condition, self.here.found)
        merged = self.merging.of_values((op, "selected"), yes, no, apart, may_be_dropped=may_be_dropped)
        return _selected(condition, yes, no, merged)

    def _arm(self, op: Expression, scope: Scope) -> Known:
        """One side of a selection, or an operand of `and` or `or` after the first."""
        with self.observer.arm():
            return self.value(op, scope)

    # -- elements and attributes ----------------------------------------------------------------------------------

    def _subscript(self, op: Subscript, scope: Scope) -> Known:
        owner = self.value(op.owner, scope)
        if isinstance(owner, KnownTuple):
            return self._tuple_item(op, owner, scope)
        if isinstance(owner, KnownRecord) and owner.array.field(op.field) is not None:
            self._reach_in(op, owner, scope)
            return self.memory.load(op, scope, owner)
        if isinstance(owner, KnownArray) and (field := owner.field(op.field)) is not None:
            return field
        if not isinstance(owner, KnownArray):
            for each in op.indices:
                self.value(each, scope)
            self.here.found.at_one_of[op] = arrays_in(owner)
            return Unknown(arrays_in(owner))
        self._reach_in(op, owner, scope)
        return self.memory.load(op, scope, owner)

    def _tuple_item(self, op: Subscript, owner: KnownTuple, scope: Scope) -> Known:
        part = op.indices[0]
        index = self.value(part, scope) if len(op.indices) == 1 else ANYTHING
        if isinstance(part, Slice) and len(op.indices) == 1:
            constants = [self._bound(each, scope) for each in part.bounds]
            if all(each is not None for each in constants):
                start, stop, step = (each[0] for each in constants if each is not None)
                return KnownTuple(owner.items[start:stop:step])
        if not isinstance(index, KnownNumber) or not owner.items:
            return Unknown(arrays_in(owner))
        if index.constant is not None and -len(owner.items) <= index.constant < len(owner.items):
            return owner.items[index.constant]
        merged = owner.items[0]
        for place, each in enumerate(owner.items[1:]):
            merged = self.merging.of_values((op, "item", place), merged, each, index.varies)
        return merged

    def _bound(self, bound: Expression | None, scope: Scope) -> tuple[int | None] | None:
        """A slice's bound in a tuple of one, since it may be None; None if it is not known."""
        known = None if bound is None else self.value(bound, scope)
        if known is None or known == KnownName(None):
            return (None,)
        return (known.constant,) if isinstance(known, KnownNumber) and known.constant is not None else None

    def reach(self, op: Subscript | Attribute, scope: Scope) -> None:
        """Records which element or part of which array a store goes to."""
        self._reach_in(op, self.value(op.owner, scope), scope)

    def _reach_in(self, op: Subscript | Attribute, owner: Known, scope: Scope) -> None:
        found = self.here.found
        found.reached.pop(op, None)
        if isinstance(owner, KnownRecord):
            self._reach_field(op, owner)
        if not isinstance(owner, KnownArray) or isinstance(op, Attribute) or op.field is not None:
            found.values[op.owner] = owner
            return
        indices: list[Form | None] = list(owner.prefix)
        unsigned = [*owner.unsigned_prefix] if len(owner.unsigned_prefix) == len(indices) else [False] * len(indices)
        small, last = [False] * len(indices), tuple[Operation, ...]()
        made_by: tuple[Operation, ...] = ()
        apart = False
        for each in op.indices:
            known = self.value(each, scope)
            parts: Sequence[Known] = known.items if isinstance(known, KnownTuple) else [known]
            for part in parts:
                is_number = isinstance(part, KnownNumber) and (part.dtype is None or part.dtype.kind in "iub")
                indices.append(part.form if is_number and isinstance(part, KnownNumber) else None)
                unsigned.append(isinstance(part, KnownNumber) and part.dtype is not None and part.dtype.kind in "ub")
                small.append(isinstance(part, KnownNumber) and part.dtype is not None and part.dtype.itemsize <= 4)
                apart |= varies(part)
                last = part.made_by if isinstance(part, KnownNumber) else ()
                made_by += last
        found.reached[op] = Reached(owner, tuple(indices), apart, made_by, tuple(unsigned), tuple(small), last)

    def _reach_field(self, op: Subscript | Attribute, record: KnownRecord) -> None:
        """Records which field of a record is meant, where it is a number."""
        field = record.array.field(op.name if isinstance(op, Attribute) else op.field)
        if field is not None:
            self.here.found.reached[op] = Reached(field, record.indices, record.varies, (), record.unsigned)

    def _attribute(self, op: Attribute, scope: Scope) -> Known:
        owner, name = self.value(op.owner, scope), op.name
        if isinstance(owner, KnownName) and isinstance(owner.value, Reference):
            path = f"{owner.value.path}.{name}"
            self.here.found.paths.add(path)
            if path in MISSING_NAMES:
                return ANYTHING
            if path in VALUES:
                return self.results.builtin(path)
            if isinstance(owner.value, TypeReference) and name == "type":
                return owner
            return KnownName(type_of(path) or Reference(path))
        if isinstance(owner, KnownName) and hasattr(owner.value, "member"):
            try:
                return self.results.captured_member(owner.value.member(name))
            except AttributeError:
                return ANYTHING
        if overloads.has_member(name):
            return self.library_calls.anything_done([owner], scope)
        if isinstance(owner, KnownArray):
            return self.results.array_attribute(owner, name)
        if isinstance(owner, KnownRecord):
            self._reach_in(op, owner, scope)
            return self.memory.load(op, scope, owner)
        if isinstance(owner, KnownNumber) and name in ("real", "imag"):
            return self.results.of_pure((name,), [owner], part_of_a_complex_number(owner.dtype))
        return Unknown(arrays_in(owner))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, op: FunctionCall, scope: Scope) -> Known:
        found = self.here.found
        callee = self.value(op.callee, scope)
        given = self._given(op, scope)
        found.callees.pop(op, None)
        if isinstance(callee, Inner) and isinstance(callee.function, Function):
            return self.follow(op, callee.function, given, callee.variables, scope)
        if isinstance(callee, KnownName):
            if isinstance(callee.value, Function) and callee.value.kind != "host":
                return self.follow(op, callee.value, given, {}, scope)
            if isinstance(callee.value, TypeReference):
                return self.results.converted(callee.value.dtype, given.arguments)
            if isinstance(callee.value, library.OfArray):
                return self.library_calls.of_array(op, callee.value)
            if isinstance(callee.value, Reference):
                found.paths.add(callee.value.path)
                if overloads.of_library(callee.value.path) is not None:
                    return self.library_calls.anything_done([*given.all], scope)
                found.callees[op] = callee.value.path
                return self.library_calls.call(op, callee.value.path, given, scope)
        return self.library_calls.anything_done([callee, *given.all], scope)

    def _given(self, op: FunctionCall, scope: Scope) -> Given:
        arguments: list[Known] = []
        for each in op.arguments:
            known = self.value(each, scope)
            if isinstance(each, Unpacked) and isinstance(known, KnownTuple):
                arguments.extend(known.items)
            else:
                arguments.append(known)
        return Given(arguments, {name: self.value(each, scope) for name, each in op.keywords.items()})


def _selected(condition: Known, yes: Known, no: Known, merged: Known) -> Known:
    """`merged` with the value of the side that a constant condition always takes, if both sides are of one type."""
    if not isinstance(condition, KnownNumber) or condition.constant is None or not isinstance(merged, KnownNumber):
        return merged
    taken = yes if condition.constant else no
    return taken if isinstance(taken, KnownNumber) and taken.dtype == merged.dtype else merged

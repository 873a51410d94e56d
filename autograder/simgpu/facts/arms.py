"""Which accesses in the two arms of a branch the compiler merges into one, in which lanes of both arms take part.

Seen in machine code of some 140 small kernels (numba-cuda 0.30.4, compute capability 9.0), a part of which
measurements/machine_code_emulator/merged_arms.json keeps:

- Both arms begin with a load of the same element: one load before the branch. Not so if the arms store to different arrays,
  or if the kernel ends after the branch and one of the arms loads more.
- All arms, those of `elif` too, leave a loaded value in the same variable, or what one operation makes of it and of what all
  arms have: one load from a selected address.
- Both arms end with a store to the same element, and the kernel does not end there: one store of a selected value. Not so if
  one arm alone loads its value and the other stores 0 or, outside of loops, an argument; nor where a further arm meets them,
  as in `elif`. In a loop that does not change the place, this holds for any values.
- Both arms begin with the same arithmetic, or call the same function of numbers: it is done once, before the branch.
- Both arms end with a store of the same value, or the same update, to different elements of one array: one store as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.operations.expressions import Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Selection, Unary
from autograder.simgpu.operations.statements import (
    Assign,
    Element,
    If,
    Name,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block


class Arms:
    """Decides which accesses in the branches of one kernel are merged."""

    def __init__(self, found: Found, forms: Forms, expanded: Expanded) -> None:
        self.found = found
        self.forms = forms
        self.expanded = expanded

    def note(self, branch: If | Selection, loops: Sequence[Operation], is_last: bool, meets_others: bool) -> None:
        """Notes the accesses that are merged.

        `is_last`: the kernel ends after the branch. `meets_others`: it ends an arm of a branch around.
        """
        joins = set[Operation]()
        groups = list(self._same_loads(branch, is_last))
        if not is_last or isinstance(branch, Selection):
            groups += self._selected(branch)
        if isinstance(branch, If) and not is_last and not meets_others:
            for ends, stores in self._stores(branch, loops):
                if any(op.store_joined is not None for op in stores):
                    break  # they are made behind a loop
                for op in stores:
                    op.store_joined = stores[0]
                joins.add(stores[0])
                groups += self._folded([end.operand for end in ends])
                if len(set(map(self._element_of, stores))) > 1 and isinstance(ends[0], UpdateElement):
                    groups.append(stores)  # of one place or the other each loads, too
        for group in groups:
            if all(each.joined is None or each.joined in group for each in group):
                for op in group:
                    op.joined = group[0]
                    op.is_selected = len(set(map(self._element_of, group))) > 1
                joins.add(group[0])
        branch.joins = frozenset(joins)

    # -- loads of the same element --------------------------------------------------------------------------------

    def _same_loads(self, branch: If | Selection, is_last: bool) -> Iterator[Sequence[Operation]]:
        """Loads of the same element: of global memory if both arms begin with them, of shared memory wherever they are."""
        pairs = self.expanded.in_both_arms.get(branch, ())
        arms = (branch.body, branch.orelse) if isinstance(branch, If) else (branch.yes, branch.no)
        begins = self._common_begin(arms)
        counts = [len({self._element_of(each) for each in self._loads_in(arm)}) for arm in arms]
        stored = [
            {self.found.stores[each].array.identity for each in everything_in(arm) if each in self.found.stores}
            for arm in arms
        ]
        for one, other in pairs:
            ours = self._element_of(one)
            if self.found.reached[one].array.space == "global":
                if ours not in begins or all(stored) and stored[0] != stored[1] or is_last and counts[0] != counts[1]:
                    continue
            yield one, other

    def _common_begin(self, arms: Sequence[Operation]) -> set[object]:
        """The elements that both arms load before they first do different things."""
        return {step for step, _, _ in self._alike(arms)}

    def _alike(self, arms: Sequence[Operation]) -> Iterator[tuple[object, Operation, Operation]]:
        """What both arms do before they first do different things, and by which operation each."""
        for (one, ours), (other, theirs) in zip(*map(self._steps_of, arms), strict=False):
            if one != other:
                break
            yield one, ours, theirs

    def done_before(self, branch: If) -> Iterator[tuple[Operation, Operation]]:
        """The arithmetic with which both arms begin: it is done once, before the branch, if so are the loads before it."""
        for _, one, other in self._alike((branch.body, branch.orelse)):
            if one in self.found.reached and one.joined is None and not one.leaves_no_load:
                break
            if all(isinstance(each, Binary) or self._is_of_numbers(each) for each in (one, other)):
                yield one, other

    def _is_of_numbers(self, op: Operation) -> bool:
        """Whether this is a call of a function that computes with numbers and does nothing else."""
        return isinstance(op, FunctionCall) and self.found.callees.get(op, "").startswith("math.")

    def _steps_of(self, op: Operation) -> Iterator[tuple[object, Operation]]:
        """What an arm does, in order: the elements that it loads, and the values that it computes."""
        if isinstance(op, Block):
            for each in op.statements:
                yield from self._steps_of(each)
            return
        if isinstance(op, Assign):
            yield from self._steps_of(op.operand)
            for target in op.targets:
                if not isinstance(target, Name):
                    yield target, target
            return
        if isinstance(op, (If, Selection)):
            yield from self._steps_of(op.condition)
        if isinstance(op, (If, For, While, Selection)):
            yield op, op
            return
        for part in op.parts():
            yield from self._steps_of(part)
        if op in self.found.reached:
            if not op.leaves_no_load or op in self.found.stores:
                yield self._element_of(op), op
        elif isinstance(op, (Binary, Compare, Unary, FunctionCall)):
            known = self.found.values.get(op)
            is_index = isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind in "iu"
            if not is_index:
                yield (known.form if isinstance(known, KnownNumber) else op), op
        elif isinstance(op, (UpdateName, UpdateElement)):
            yield op, op

    def _loads_in(self, arm: Operation) -> Iterator[Operation]:
        for each in everything_in(arm):
            reached = self.found.reached.get(each)
            if reached is not None and each not in self.found.stores and not each.leaves_no_load:
                if reached.array.space == "global" and not isinstance(each, FunctionCall):
                    yield each

    def _element_of(self, op: Operation) -> object:
        reached = self.found.reached[op]
        return reached.array.identity, reached.array.part, reached.indices

    # -- loads of a selected address ------------------------------------------------------------------------------

    def _selected(self, branch: If | Selection) -> Iterator[Sequence[Operation]]:
        if isinstance(branch, Selection):
            yield from self._folded([branch])
            return
        one, other = self._left_by(branch.body), self._left_by(branch.orelse)
        for name in one.keys() & other.keys():
            yield from self._folded([*one[name], *other[name]])

    def _left_by(self, arm: Block) -> Mapping[str, Sequence[Operation]]:
        """The values that an arm leaves in its variables; several of one where it ends with a branch."""
        found: dict[str, Sequence[Operation]] = {}
        for statement in arm.statements:
            if self._writes(statement):
                found.clear()  # no load moves past a store
            read = {each.name for each in everything_in(statement) if isinstance(each, Local)}
            for name in read & found.keys():
                del found[name]  # a value that is used elsewhere, too
            if isinstance(statement, If):
                one, other = self._left_by(statement.body), self._left_by(statement.orelse)
                found = {name: [*one[name], *other[name]] for name in one.keys() & other.keys()}
            elif isinstance(statement, (For, While)):
                found.clear()
            elif isinstance(statement, UpdateName):
                found[statement.name] = [statement]
            elif isinstance(statement, Assign) and len(statement.targets) == 1:
                found |= {name: [value] for name, value in assigned(statement.targets[0], statement.operand)}
        return found

    def _writes(self, statement: Operation) -> bool:
        return any(
            each in self.found.stores or isinstance(each, FunctionCall) and (each.bodies or each in self.found.reached)
            for each in everything_in(statement)
        )

    def _folded(self, values: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
        """The loads that become one where one of these values is selected."""
        values = [each for value in values for each in _selected_in(value)]
        if len(values) < 2:
            return
        if all(self._is_a_load(each) for each in values):
            if self._are_alike(values):
                yield values
            return
        parts = [_operands(each) for each in values]
        whole = [each for each in parts if each is not None]
        if len(whole) < len(parts) or len({each.kind for each in whole}) > 1:
            return
        left, right = [each.left for each in whole], [each.right for each in whole]
        if self._are_equal(right):
            yield from self._folded(left)
        elif self._are_equal(left):
            yield from self._folded(right)

    def _is_a_load(self, op: Operation) -> bool:
        return isinstance(op, Subscript) and op in self.found.reached and not op.leaves_no_load

    def _are_equal(self, operands: Sequence[Operation]) -> bool:
        """Whether operands of all arms are one value, which is there before the branch."""
        known = [self.found.values.get(each) for each in operands]
        numbers = [each for each in known if isinstance(each, KnownNumber)]
        if any(self._is_a_load(part) for each in operands for part in everything_in(each)):
            return False
        return len(numbers) == len(known) and len({(each.dtype, each.form) for each in numbers}) == 1

    def _are_alike(self, group: Sequence[Operation]) -> bool:
        return len({(self._reached(each).array.space, self._reached(each).array.dtype) for each in group}) == 1

    def _reached(self, op: Operation) -> Reached:
        return self.found.reached[op]

    # -- stores ---------------------------------------------------------------------------------------------------

    def _stores(
        self, branch: If, loops: Sequence[Operation]
    ) -> Iterator[tuple[Sequence[Assign | UpdateElement], Sequence[Operation]]]:
        """The statements at the end of both arms, and the accesses to elements by which they store."""
        begun = {self._element_of(each) for each in everything_in(branch.condition) if each in self.found.reached}
        for pair in zip(reversed(branch.body.statements), reversed(branch.orelse.statements), strict=False):
            ends = [each for each in pair if isinstance(each, (Assign, UpdateElement))]
            stores = [store for end in ends if (store := self._stored_by(end)) is not None]
            is_known = bool(stores) and self._element_of(stores[0]) in begun
            if len(stores) < len(pair) or not self._become_one(ends, stores, loops, is_known):
                return
            yield ends, stores
            if any(self._loads(end.operand) for end in ends):
                return

    def _become_one(
        self, ends: Sequence[Assign | UpdateElement], stores: Sequence[Operation], loops: Sequence[Operation], is_known: bool
    ) -> bool:
        """Whether the last stores of both arms are one; `is_known`: the address is worked out before the branch."""
        values = [end.operand for end in ends]
        one, other = map(self._reached, stores)
        if self._element_of(stores[0]) != self._element_of(stores[1]):
            kinds = {(type(end), end.kind if isinstance(end, UpdateElement) else None) for end in ends}
            if (one.array.identity, one.array.part) != (other.array.identity, other.array.part):
                return False
            return None not in (*one.indices, *other.indices) and len(kinds) == 1 and self._are_equal(values)
        loads = [self._loads(value) for value in values]
        if loads[0] == loads[1] or is_known or any(isinstance(end, UpdateElement) for end in ends):
            return True
        stays = bool(loops) and all(each is not None and loops[-1] not in self.forms.loops_of(each) for each in one.indices)
        return stays and one.array.space == "shared" or not self._is_there_early(values[loads.index(False)], bool(loops))

    def _is_there_early(self, value: Operation, is_in_loop: bool) -> bool:
        """Whether a value is 0 or, outside of loops, an argument: the other arm's load then keeps its store."""
        known = self.found.values.get(value)
        if not isinstance(known, KnownNumber):
            return True
        if known.constant == 0 or not known.form[1] and not known.form[0]:
            return True
        keys = [self.forms.key_of(number) for number, _ in known.form[1]]
        is_argument = isinstance(value, Local) and len(keys) == 1 and isinstance(keys[0], tuple) and keys[0][0] == "argument"
        return is_argument and not is_in_loop

    def _loads(self, op: Operation) -> bool:
        return any(isinstance(each, Subscript) and self._is_loaded(each) for each in everything_in(op))

    def _stored_by(self, statement: Assign | UpdateElement) -> Operation | None:
        """The access of a statement that stores to one element."""
        if isinstance(statement, UpdateElement):
            target: Operation = statement.reached
        elif len(statement.targets) == 1 and isinstance(statement.targets[0], Element):
            target = statement.targets[0].reached
        else:
            return None
        reached = self.found.reached.get(target)
        return target if reached is not None and reached.array.space in ("global", "shared") else None

    def _is_loaded(self, op: Operation) -> bool:
        reached = self.found.reached.get(op)
        if reached is None or op in self.found.stores:
            return False
        return reached.array.space in ("global", "shared") and not op.leaves_no_load


@dataclass(frozen=True)
class Operands:
    """What an operator is applied to."""

    kind: type[ast.operator]
    left: Operation
    right: Operation


def _operands(value: Operation) -> Operands | None:
    if isinstance(value, Binary):
        return Operands(value.kind, value.left, value.right)
    return Operands(value.kind, value.read, value.operand) if isinstance(value, UpdateName) else None


def _selected_in(value: Operation) -> Iterator[Operation]:
    """The values between which conditional expressions choose."""
    if isinstance(value, Selection):
        yield from _selected_in(value.yes)
        yield from _selected_in(value.no)
    else:
        yield value


def assigned(target: Operation, value: Operation) -> Iterator[tuple[str, Operation]]:
    """The variables that an assignment gives a value each."""
    if isinstance(target, Name):
        yield target.name, value
    elif isinstance(target, TupleTarget) and isinstance(value, TupleOf) and len(target.targets) == len(value.items):
        for one, part in zip(target.targets, value.items, strict=True):
            yield from assigned(one, part)

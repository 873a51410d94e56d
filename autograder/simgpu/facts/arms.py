"""Which accesses in the two arms of a branch the compiler merges into one, in which lanes of both arms take part.

Seen in machine code of some 40 small kernels (numba-cuda 0.30.4, compute capability 9.0):

- Both arms begin with a load of the same element: one load before the branch. Not so if the arms store to different arrays,
  or if the kernel ends after the branch and one of the arms loads more.
- Both arms only assign a loaded value to the same variable or element: one load from a selected address.
- Both arms end with a store to the same element, and the kernel does not end there: one store of a selected value, if both
  arms load what they store or neither does. In a loop that does not change the place, this holds for any values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.known import KnownNumber
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

    def note(self, branch: If | Selection, loops: Sequence[Operation], is_last: bool) -> None:
        """Notes the accesses that are merged; `is_last`: the kernel ends after the branch."""
        groups = list(self._same_loads(branch, is_last))
        if not is_last or isinstance(branch, Selection):
            groups += self._selected(branch)
        if isinstance(branch, If) and not is_last:
            groups += self._stores(branch, loops)
        for group in groups:
            for op in group:
                op.joined = group[0]
        branch.joins = frozenset(group[0] for group in groups if group[0].joined is group[0])

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
        found: set[object] = set()
        for one, other in zip(*map(self._steps_of, arms), strict=False):
            if one != other:
                break
            found.add(one)
        return found

    def _steps_of(self, op: Operation) -> Iterator[object]:
        """What an arm does, in order: the elements that it loads, and the values that it computes."""
        if isinstance(op, Block):
            for each in op.statements:
                yield from self._steps_of(each)
            return
        if isinstance(op, Assign):
            yield from self._steps_of(op.operand)
            for target in op.targets:
                if not isinstance(target, Name):
                    yield target
            return
        if isinstance(op, (If, For, While, Selection)):
            yield op
            return
        for part in op.parts():
            yield from self._steps_of(part)
        if op in self.found.reached:
            if not op.leaves_no_load or op in self.found.stores:
                yield self._element_of(op)
        elif isinstance(op, (Binary, Compare, Unary, FunctionCall)):
            known = self.found.values.get(op)
            is_index = isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind in "iu"
            if not is_index:
                yield known.form if isinstance(known, KnownNumber) else op
        elif isinstance(op, (UpdateName, UpdateElement)):
            yield op

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
            group = self._values_of(branch)
        else:
            targets: set[object] = set()
            group = self._loads_of_one_target(branch, targets)
            if len(targets) != 1:
                group = None
        if group is not None and not any(each.leaves_no_load for each in group) and self._are_alike(group):
            yield group

    def _values_of(self, value: Operation) -> list[Operation] | None:
        """The loads between which a value is selected; None if it may be anything but a load."""
        if isinstance(value, Selection):
            yes, no = self._values_of(value.yes), self._values_of(value.no)
            return None if yes is None or no is None else yes + no
        return [value] if isinstance(value, Subscript) and value in self.found.reached else None

    def _loads_of_one_target(self, branch: If, targets: set[object]) -> list[Operation] | None:
        group: list[Operation] = []
        for arm in (branch.body, branch.orelse):
            statement = _only(arm)
            if isinstance(statement, If):
                more = self._loads_of_one_target(statement, targets)
            elif isinstance(statement, Assign) and len(statement.targets) == 1:
                targets.add(self._target_of(statement))
                more = self._values_of(statement.operand)
            else:
                more = None
            if more is None:
                return None
            group += more
        return group

    def _target_of(self, statement: Assign) -> object:
        (target,) = statement.targets
        if isinstance(target, Name):
            return target.name
        if isinstance(target, Element) and target.reached in self.found.reached:
            return self._element_of(target.reached)
        return target

    def _are_alike(self, group: Sequence[Operation]) -> bool:
        return len({(self._reached(each).array.space, self._reached(each).array.dtype) for each in group}) == 1

    def _reached(self, op: Operation) -> Reached:
        return self.found.reached[op]

    # -- stores ---------------------------------------------------------------------------------------------------

    def _stores(self, branch: If, loops: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
        ends = [arm.statements[-1] if arm.statements else None for arm in (branch.body, branch.orelse)]
        assigned = [end for end in ends if isinstance(end, Assign)]
        stores = [store for end in assigned if (store := self._stored_by(end)) is not None]
        if len(stores) < len(ends) or self._element_of(stores[0]) != self._element_of(stores[1]):
            return
        loads = [
            any(True for each in everything_in(end.operand) if isinstance(each, Subscript) and self._is_loaded(each))
            for end in assigned
        ]
        reached = self._reached(stores[0])
        stays = bool(loops) and all(
            each is not None and loops[-1] not in self.forms.loops_of(each) for each in reached.indices
        )
        if loads[0] == loads[1] or stays and reached.array.space == "shared":
            yield stores

    def _stored_by(self, statement: Operation | None) -> Operation | None:
        if not isinstance(statement, Assign) or len(statement.targets) != 1:
            return None
        (target,) = statement.targets
        if not isinstance(target, Element) or target.reached not in self.found.reached:
            return None
        return target.reached if self._reached(target.reached).array.space in ("global", "shared") else None

    def _is_loaded(self, op: Operation) -> bool:
        reached = self.found.reached.get(op)
        return reached is not None and reached.array.space in ("global", "shared") and not op.leaves_no_load


def _only(block: Block) -> Operation | None:
    return block.statements[0] if len(block.statements) == 1 else None

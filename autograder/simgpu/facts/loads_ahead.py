"""Loads from global memory whose value is asked for only after much other work: no warp waits for them.

The compiler keeps the order of such loads and of what uses them where barriers or loops lie between, so the source's order
stands: a value that is loaded into a variable or into a local array before a loop over a tile, and used behind it, has
arrived by then. Measured on an H200 by lesson 8's kernels `spread` and `ahead`, which differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.integers import Integers
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Selection
from autograder.simgpu.operations.statements import Assign, Element, Name, UpdateElement, UpdateName
from autograder.simgpu.operations.steps import Block

FAR = 200  # instructions of a warp, which take longer than L2 takes to answer
Place = tuple[str, object]
"""Where a loaded value is kept: ("name", a variable) or ("array", the identity of a local array)."""


class LoadsAhead:
    """The loads of one kernel."""

    def __init__(self, found: Found, integers: Integers) -> None:
        self.found = found
        self.integers = integers
        self._all: dict[Operation, tuple[Operation, ...]] = {}  # by operation: what `_all_in` gives
        self._used: dict[Operation, frozenset[Place]] = {}  # by statement: what it uses
        self._costs: dict[Operation, float] = {}  # by operation: its instructions

    def conclude(self, part: Operation) -> None:
        """Notes on each load of an operation whether it is asked for long before its value is used."""
        for each in self._all_in(part):
            if isinstance(each, (For, While)):
                self._block(each.body, is_repeated=True)
            elif isinstance(each, Block):
                self._block(each, is_repeated=False)

    def _block(self, block: Block, is_repeated: bool) -> None:
        for number, statement in enumerate(block.statements):
            for place, loads in self._kept_in(statement):
                between = self._before_use(block.statements, number, place, is_repeated)
                for each in loads:
                    each.is_ahead |= between is not None and between >= FAR

    def _kept_in(self, statement: Operation) -> Iterator[tuple[Place, Sequence[Operation]]]:
        """The loads of a statement whose value goes to a variable or a local array, and where it goes."""
        for each in self._all_in(statement):
            if not isinstance(each, Assign) or len(each.targets) != 1:
                continue
            loads = [load for load in self._values_of(each.operand) if self._is_global_load(load)]
            (target,) = each.targets
            if loads and isinstance(target, Name):
                yield ("name", target.name), loads
            elif loads and isinstance(target, Element):
                reached = self.found.reached.get(target.reached)
                if reached is not None and reached.array.space == "local":
                    yield ("array", reached.array.identity), loads

    def _values_of(self, operand: Operation) -> list[Operation]:
        """What a value may be: of a selection, either side."""
        if isinstance(operand, Selection):
            return self._values_of(operand.yes) + self._values_of(operand.no)
        return [operand]

    def _is_global_load(self, op: Operation) -> bool:
        reached = self.found.reached.get(op)
        return isinstance(op, Subscript) and reached is not None and reached.array.space == "global"

    def _before_use(
        self, statements: Sequence[Operation], number: int, place: Place, is_repeated: bool
    ) -> float | None:
        """The instructions between a statement and the next one that uses a place; None if none of these does."""
        if self._uses(statements[number], place):
            return None
        between = 0.0
        following = [*statements[number + 1 :], *(statements[:number] if is_repeated else ())]
        for each in following:
            if self._uses(each, place):
                return between
            between += self._instructions(each)
        return None

    def _uses(self, statement: Operation, place: Place) -> bool:
        used = self._used.get(statement)
        if used is None:
            used = self._used[statement] = frozenset(self._uses_of(statement))
        return place in used

    def _uses_of(self, statement: Operation) -> Iterator[Place]:
        """The places whose value a statement uses."""
        for each in self._all_in(statement):
            if isinstance(each, (Local, UpdateName)):
                yield "name", each.name
            reached = self.found.reached.get(each)
            if reached is not None and isinstance(each, Subscript) and each not in self.found.stores:
                yield "array", reached.array.identity
            if isinstance(each, UpdateElement):
                updated = self.found.reached.get(each.reached)
                if updated is not None:
                    yield "array", updated.array.identity

    def _instructions(self, op: Operation) -> float:
        """The instructions of an operation, of a loop of known length those of all rounds, of others those of one."""
        known = self._costs.get(op)
        if known is None:
            known = float(op.slots) + sum(map(self._instructions, _parts_of(op)))
            if isinstance(op, For):
                known *= max(1, len(self.integers.values_of(op) or ()))
            self._costs[op] = known
        return known

    def _all_in(self, op: Operation) -> tuple[Operation, ...]:
        """An operation and everything in it, device functions included."""
        known = self._all.get(op)
        if known is None:
            inside = [part for each in _parts_of(op) for part in self._all_in(each)]
            known = self._all[op] = (op, *inside)
        return known


def _parts_of(op: Operation) -> Iterator[Operation]:
    yield from op.parts()
    if isinstance(op, FunctionCall):
        for body in op.bodies.values():
            yield body.body

"""Elements that are in a register in each round of a loop, although the loop stores to memory.

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0): an element that was stored or loaded before the loop, and
that is in a register at the end of each round, stays in one from round to round: `out[i] = 0` before a loop with
`if p: out[i] += x` needs no load at all. So does the sum that a loop keeps in a register (`Registers`): what stands behind
the loop does not load it again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set

from autograder.simgpu.facts.found import ALL, Reached, kinds_of_memory
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.facts.scope import Element, InRegister, Scope
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Assign, Break, Continue, Return, UpdateElement
from autograder.simgpu.operations.statements import Element as Target


class LoopElements:
    """The elements in registers around the loops of one kernel."""

    def __init__(self, here: Here) -> None:
        self.here = here

    def kept_by(self, op: For | While, scope: Scope) -> dict[Element, InRegister]:
        """What may be in a register in each round: what is before the loop. A value is another one in each round."""
        if any(isinstance(each, (Break, Continue, Return)) for each in everything_in(op)):
            return {}
        return {
            key: InRegister(self._in_a_round(op, key, held.known), held.space)
            for key, held in scope.elements.items()
            if self._stays(op, key)
        }

    def _stays(self, op: Operation, key: Element) -> bool:
        return not any(op in self.here.forms.loops_of(index) for index in key[2])

    def _in_a_round(self, op: Operation, key: Element, known: KnownNumber) -> KnownNumber:
        form = self.here.forms.atom(("held", op, key, self.here.rounds), frozenset([op]) | self.here.around)
        return KnownNumber(known.dtype, form, True)

    def left_by(
        self, op: For | While, kept: Mapping[Element, InRegister], kills: Set[Hashable]
    ) -> Iterator[tuple[Element, InRegister]]:
        """The elements that are in a register behind a loop: those of each round, and the sum that it keeps in one."""
        yield from kept.items()
        found = self.here.found
        inside = list(everything_in(op))
        if ALL in kills or any(isinstance(each, (Break, Continue, Return)) for each in inside):
            return
        if any(isinstance(each, FunctionCall) and each.bodies for each in inside):
            return
        stored = [found.stores[each] for each in inside if each in found.stores]
        for reached in filter(None, map(self._always_stored, op.body.statements)):
            indices = tuple(each for each in reached.indices if each is not None)
            key = (reached.array.identity, reached.array.part, indices)
            kinds = kinds_of_memory(reached.array)
            others = [each for each in stored if kinds_of_memory(each.array) & kinds]
            is_alone = all((each.array.identity, each.array.part, each.indices) == key for each in others)
            if is_alone and len(indices) == len(reached.indices) and self._stays(op, key):
                known = KnownNumber(reached.array.dtype, (0, ()), True)
                yield key, InRegister(self._in_a_round(op, key, known), reached.array.space)

    def _always_stored(self, statement: Operation) -> Reached | None:
        """The element that a statement of a loop's body stores to in each round."""
        if isinstance(statement, UpdateElement):
            return self.here.found.stores.get(statement.reached)
        if isinstance(statement, Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], Target):
            return self.here.found.stores.get(statement.targets[0].reached)
        return None

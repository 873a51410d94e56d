"""Loads that stand before a branch and whose values only one side of it uses: the compiler makes them there.

`x = a[i]`, then `if p[i] == 0: c[i] = x`: the load stands in the arm, and only lanes that get there make it. Not so where
something between the two may change memory, where a side is so plain that it becomes a selection, or where a value is
computed of what was loaded. The side that stands behind `if ...: return` counts as one. Seen in machine code of some twenty
small kernels (numba-cuda 0.30.4, compute capability 9.0): measurements/machine_code_emulator/merged_arms.json has some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from autograder.simgpu.facts.arms import assigned
from autograder.simgpu.facts.found import Found
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Assign, If, Name, Return, UpdateElement, UpdateName
from autograder.simgpu.operations.steps import Block

HARMLESS = ("math.", "builtins.", "numpy.", "numba.cuda.grid")  # calls that leave memory alone


class SunkLoads:
    """The loads of one kernel, outside of its loops."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.body: Sequence[Operation] = ()  # everything in the kernel

    def conclude(self, body: Block) -> None:
        """Notes on loads that they are made later, and on blocks which loads they begin with."""
        self.body = list(everything_in(body))
        if not any(isinstance(each, FunctionCall) and each.bodies for each in self.body):
            self._in(body)

    def _in(self, block: Block) -> None:
        for number, statement in enumerate(block.statements):
            if isinstance(statement, If):
                for load, name in self._before(block.statements[:number]):
                    side = self._side_for(load, name, statement, block.statements[number + 1 :])
                    if side is not None:
                        load.is_sunk = True
                        side.sunk |= {load}
                self._in(statement.body)
                self._in(statement.orelse)

    def _before(self, statements: Sequence[Operation]) -> Iterator[tuple[Subscript, str]]:
        """The loads into variables before a branch that nothing follows which may change memory."""
        for each in reversed(statements):
            if isinstance(each, Assign) and len(each.targets) == 1:
                for name, load in assigned(each.targets[0], each.operand):
                    if isinstance(load, Subscript) and self._is_made(load):
                        yield load, name
            if not isinstance(each, (Assign, UpdateName)) or self._changes_memory(each):
                return

    def _is_made(self, load: Subscript) -> bool:
        reached = self.found.reached.get(load)
        if reached is None or reached.array.space not in ("global", "shared") or load.leaves_no_load:
            return False
        element = (reached.array.identity, reached.array.part, reached.indices)
        again = [
            each
            for each, other in self.found.reached.items()
            if each is not load and (other.array.identity, other.array.part, other.indices) == element
        ]
        return load.joined is None and load.by_round is None and not any(each.leaves_no_load for each in again)

    def _changes_memory(self, part: Operation) -> bool:
        for each in everything_in(part):
            if each in self.found.stores:
                return True
            if isinstance(each, FunctionCall) and not self.found.callees.get(each, "builtins.").startswith(HARMLESS):
                return True
        return False

    def _side_for(self, load: Subscript, name: str, branch: If, behind: Sequence[Operation]) -> Block | None:
        """The block that alone uses a variable, one of the branch's sides or of the branches in it; None if several do."""
        if sum(isinstance(each, Name) and each.name == name for each in self.body) > 1:
            return None
        uses = [each for each in self.body if isinstance(each, Local) and each.name == name]
        if any(isinstance(each, UpdateName) and each.name == name for each in self.body) or not uses:
            return None
        sides = [(side, set(everything_in(side))) for side in (branch.body, branch.orelse)]
        if branch.body.statements and isinstance(branch.body.statements[-1], Return) and not branch.orelse.statements:
            sides[1] = branch.orelse, {part for each in behind for part in everything_in(each)}
        if self._changes_memory(branch.condition):
            return None
        for side, inside in sides:
            if inside.issuperset(uses) and self._is_a_side(inside):
                return self._further(load, name, side)
        return None

    def _further(self, load: Subscript, name: str, side: Block) -> Block:
        """A block within a block, where only that uses the variable."""
        for number, each in enumerate(side.statements):
            if isinstance(each, If):
                return self._side_for(load, name, each, side.statements[number + 1 :]) or side
            if self._changes_memory(each) or isinstance(each, (For, While)):
                return side
        return side

    def _is_a_side(self, inside: Set[Operation]) -> bool:
        """Whether lanes branch to what is in a block, since it is more than plain arithmetic."""
        return any(
            each in self.found.reached and not each.leaves_no_load
            or isinstance(each, (For, While, UpdateElement))
            or isinstance(each, FunctionCall) and not self.found.callees.get(each, "").startswith(HARMLESS)
            for each in inside
        )

"""Which stores to global memory follow another one to the same array at once: what they share of a sector is one packet.

L2 of an H200 sees as many sectors as a warp stores to, each time, if anything that takes a while stands between two stores
to neighbours: a load, a quotient, a function (69 kernels that store to a sector more than once, by `l2_write_sectors`:
three components of a vector that were computed before go out as one packet in ten kernels of eleven; with a load or a
quotient before each, they do in none of thirty). What is loaded from the same array, a fixed distance away, is loaded before
both.
"""

from __future__ import annotations

from collections.abc import Hashable

from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import KnownRecord
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Assign, Element, If, UpdateElement
from autograder.simgpu.operations.steps import Block

SHORT = 8  # machine instructions between two stores: a quotient of float32 takes more


class StoresInARow:
    """The blocks of one kernel, once its machine instructions are known."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def conclude(self, part: Operation) -> None:
        """Notes it on the accesses of an operation and of everything in it."""
        for each in everything_in(part):
            if isinstance(each, Block):
                self._block(each)
            elif isinstance(each, For) and each.is_written_out and len(each.body.statements) == 1:
                self._round(each.body.statements[0])
            elif isinstance(each, FunctionCall):
                for body in each.bodies.values():
                    self.conclude(body.body)

    def _block(self, block: Block) -> None:
        before: Hashable = None
        for statement in block.statements:
            store = self._store_of(statement)
            takes_time = self._takes_time(statement)
            if store is None:
                before = None if takes_time else before
                continue
            array = self.found.reached[store].array.identity
            store.follows_a_store |= array == before and not takes_time
            before = array

    def _round(self, statement: Operation) -> None:
        """Of a loop that is written out: its rounds are statements that follow each other, and what they load from shared
        memory is loaded before them."""
        store = self._store_of(statement)
        if store is not None:
            store.follows_a_store = not self._takes_time(statement, may_load="shared")

    def _store_of(self, statement: Operation) -> Operation | None:
        """The access by which a statement stores one element of global memory."""
        stored: Operation | None = None
        if isinstance(statement, UpdateElement):
            stored = statement.reached
        elif isinstance(statement, Assign) and len(statement.targets) == 1:
            (target,) = statement.targets
            stored = target.reached if isinstance(target, Element) else None
        reached = None if stored is None else self.found.reached.get(stored)
        return stored if reached is not None and reached.array.space == "global" else None

    def _is_beside(self, op: Operation, store: Operation | None) -> bool:
        """Whether an access goes to the stored element's array, at a fixed distance: what it loads is loaded before."""
        one, other = self.found.reached.get(op), self.found.reached.get(store) if store is not None else None
        if one is None or other is None or one.array.identity != other.array.identity:
            return False
        pairs = list(zip(one.indices, other.indices, strict=False))
        return all(a is not None and b is not None and a[1] == b[1] for a, b in pairs)

    def _loads(self, op: Operation, may_load: str) -> bool:
        """Whether an access loads from memory: not what is in a register, and not the record whose field is stored to."""
        reached = self.found.reached.get(op)
        if reached is None or op.leaves_no_load or isinstance(self.found.values.get(op), KnownRecord):
            return False
        return reached.array.space != may_load and (reached.array.space != "local" or op.is_of_local_memory)

    def _takes_time(self, statement: Operation, may_load: str = "") -> bool:
        """Whether a statement branches, loads, or computes for long."""
        store, slots = self._store_of(statement), 0
        for each in everything_in(statement):
            if isinstance(each, (If, For, While)):
                return True
            if each is not store and self._loads(each, may_load) and not self._is_beside(each, store):
                return True
            if each is not store:
                slots += each.slots
        return slots > SHORT

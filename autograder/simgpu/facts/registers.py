"""Elements that the compiler keeps in registers: those loaded or stored before, and those that a loop does not change.

Found in machine code of some 160 small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0) and in
an H200's counters of the kernels in `measurements/`:

- Loading an element again, after a load of it or a store to it, costs nothing until it may have changed. An element of
  global memory may be changed by any store to or atomic on global memory (Numba never says that two arrays are different
  ones) and by any barrier or fence; an element of a shared array by a store to or an atomic on that array, and by a
  barrier. Shuffles and votes change nothing.
- Of two stores to an element, only the second is left if no load between them might read it.
- An element that a loop does not change is loaded once, before the loop. So is the sum in `c[i] += ...`, if the loop stores
  nowhere else in global memory. It is stored once, after the loop, if the loop also loads nothing else from there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import ALL, GLOBAL, Found, Reached, kinds_of_memory
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.facts.written_out import WrittenOut, is_left_at_the_end
from autograder.simgpu.operations.function_calls import FunctionCall, everything_of
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import ByRound, Operation, everything_in
from autograder.simgpu.operations.operators import Junction, Selection
from autograder.simgpu.operations.statements import Break, Continue, If, Return
from autograder.simgpu.operations.steps import Block


class Registers:
    """Decides which accesses of one kernel are left."""

    def __init__(self, found: Found, forms: Forms, written_out: WrittenOut, expanded: Expanded) -> None:
        self.found = found
        self.expanded = expanded
        self.forms = forms
        self.written_out = written_out

    def note(self, op: Operation) -> None:
        """Notes whether an access is left, in each round of the unrolled loops around it."""
        rounds = self.expanded.pieces.rounds.get(op, set())
        again = {each for each in rounds if (op, each) in self.expanded.found.needless_loads}
        overwritten = {each for each in rounds if (op, each) in self.expanded.found.needless_stores}
        op.leaves_no_load = bool(rounds) and again == rounds
        op.leaves_no_store = bool(rounds) and overwritten == rounds
        if again and again != rounds or overwritten and overwritten != rounds:
            op.by_round = ByRound(self.expanded.pieces.loops_around[op], frozenset(again), frozenset(overwritten))
            watch(op.by_round)

    def note_loop(self, loop: For | While) -> None:
        """Notes which accesses of a loop go to elements that it keeps in registers.

        In an unrolled loop every access is decided round by round, by `note`. The exception is an access under a condition
        that is the same in all rounds: the compiler tests it once, before the loop.
        """
        every_round = [each for each in self._every_round(loop) if each in self.found.reached]
        kills = self.found.kills.get(loop, set())
        loads, stores = set[Operation](), set[Operation]()
        for each in every_round:
            reached = self.found.reached[each]
            if (
                each not in self.found.stores
                and self._stays(reached, loop)
                and not kinds_of_memory(reached.array) & kills
            ):
                loads.add(each)
        if ALL not in kills:
            for kind in kills:
                self._sums(loop, kind, every_round, loads, stores)
        known = self.found.at_entry.get(loop, set())
        for each in self.found.carried.get(loop, set()):
            each.leaves_no_load |= _element(self.found.reached[each]) in known
            loads.add(each)
        if isinstance(loop, For) and is_left_at_the_end(loop.body):
            loads, stores = set(), set()
        if self.written_out.includes(loop):
            loads, stores = ({each for each in ours if each.by_round is None} for ours in (loads, stores))
            loads -= {each for each in loads if each.leaves_no_load}
        loop.held_loads, loop.held_stores = frozenset(loads), frozenset(stores)

    def _sums(
        self,
        loop: For | While,
        kind: Hashable,
        every_round: list[Operation],
        loads: set[Operation],
        stores: set[Operation],
    ) -> None:
        """Adds the accesses to an element, if it is the only one of its kind of memory that the loop stores to."""
        parts = (loop.body, loop.condition) if isinstance(loop, While) else (loop.body,)
        everything = (each for part in parts for each in everything_of(part))
        inside = [each for each in everything if each in self.found.reached and self._is_of(each, kind)]
        written = [each for each in inside if each in self.found.stores]
        elements = {_element(self.found.reached[each]) for each in written}
        if len(elements) != 1 or any(isinstance(each, FunctionCall) and each not in self.found.draws for each in written):
            return
        (element,) = elements
        if not self._stays(self.found.reached[written[0]], loop) or not all(each in every_round for each in written):
            return
        ours = [each for each in inside if _element(self.found.reached[each]) == element]
        is_known = element in self.found.at_entry.get(loop, set())
        for each in ours:
            if is_known:
                each.leaves_no_load = True
            loads.add(each)
        if len(ours) == len(inside):
            stores.update(each for each in written if each not in self.found.draws or self.found.draws[each].draws == 1)

    def _stays(self, reached: Reached, loop: Operation) -> bool:
        """Whether an access goes to the same element in each round."""
        return all(index is not None and loop not in self.forms.loops_of(index) for index in reached.indices)

    def _is_of(self, op: Operation, kind: Hashable) -> bool:
        array = self.found.reached[op].array
        return array.space not in ("shared", "local", "constant") if kind == GLOBAL else array.identity == kind

    def _is_decided(self, op: If | Selection, loop: Operation) -> bool:
        """Whether a condition is the same in all rounds: the compiler then tests it before the loop."""
        known = self.found.values.get(op.condition)
        return isinstance(known, KnownNumber) and loop not in self.forms.loops_of(known.form)

    def _every_round(self, loop: For | While) -> Iterator[Operation]:
        """The operations that every round carries out: none under a changing condition or in a loop not unrolled."""
        if isinstance(loop, While):
            yield from self._always(loop.condition, loop, is_left_otherwise=True)
        yield from self._always(loop.body, loop)

    def _always(self, op: Operation, loop: Operation, is_left_otherwise: bool = False) -> Iterator[Operation]:
        """The operations of `op` that each round carries out; `is_left_otherwise`: threads for which `op` is false leave."""
        if isinstance(op, (If, Selection)):
            for each in op.parts() if self._is_decided(op, loop) else [op.condition]:
                yield from self._always(each, loop)
        elif isinstance(op, Junction):
            for each in op.operands if is_left_otherwise and op.is_and else op.operands[:1]:
                yield from self._always(each, loop, is_left_otherwise)
        elif isinstance(op, Block):
            for each in op.statements:
                yield from self._always(each, loop)
                if _may_leave(each):
                    return
        elif not isinstance(op, (For, While)) or self.written_out.includes(op):
            yield op
            for part in op.parts():
                yield from self._always(part, loop)
            if isinstance(op, FunctionCall):
                for body in op.bodies.values():
                    yield from self._always(body.body, loop)


def _may_leave(statement: Operation) -> bool:
    """Whether some threads may not get from a statement to the next one."""
    return any(isinstance(each, (Break, Continue, Return)) for each in everything_in(statement))


def _element(reached: Reached) -> Hashable:
    return reached.array.identity, reached.array.part, reached.indices


def watch(by_round: ByRound) -> None:
    """Makes these loops keep track of the round that they are in."""
    for loop in by_round.loops:
        assert isinstance(loop, For)
        loop.is_watched = True

"""Copies of variables from one round of a loop to the next: instructions that no piece of source stands for.

A variable that a loop changes has a register. Its next value goes there straight away, unless the old one is still
needed: then it waits in another register, and is copied when the round ends. So it is in `old = new`, in `a, b = b, a + b`,
and where the distance between both is asked for. Loops that do four rounds at once, and those that are unrolled, give
each value a register of its own.

Held to machine code of 130 loops (measurements/machine_code_emulator/variables_of_loops.py; numba-cuda 0.30.4, NVVM and
ptxas 13.0, compute capability 9.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from operator import or_

from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.facts.liveness import Liveness, named, reads
from autograder.simgpu.facts.loop_costs import own_statements
from autograder.simgpu.facts.loop_variables import assigned_in
from autograder.simgpu.operations.expressions import Local, TupleOf
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Junction
from autograder.simgpu.operations.statements import Assign, Break, If, Nothing, Return, TupleTarget, UpdateName
from autograder.simgpu.operations.steps import Block


@dataclass(eq=False)
class OldValue:
    """What a variable holds when a round begins."""

    name: str


@dataclass(eq=False)
class NewValue:
    """What a round computes."""

    bit: int  # by which it is known in `of`
    stretch: int  # of statements between which nobody leaves the loop
    of: int = 0  # the bits of itself and of all new values that it follows from
    selected: frozenset[OldValue] = frozenset()  # what it is one of


Held = dict[str, "OldValue | NewValue"]


@dataclass
class FollowedRound:
    """One round of a loop, followed from its beginning to its end."""

    held: Held = field(default_factory=dict)  # by variable
    uses: list[tuple[OldValue, NewValue]] = field(default_factory=list)  # an old value, and what is computed of it there
    stretch: int = 0
    made: int = 0  # new values

    def follow(self, block: Block) -> None:
        for each in block.statements:
            self._statement(each)

    def _statement(self, op: Operation) -> None:
        if isinstance(op, If):
            self._computed(op.condition)
            self._arms(op)
        elif isinstance(op, (For, While)):
            self._loop(op)
        elif isinstance(op, Assign):
            if not isinstance(op.operand, (Local, TupleOf)):
                value: OldValue | NewValue = self._computed(op)
                self.held.update(dict.fromkeys(named(op.targets), value))
            else:
                self._renamed(op)
        elif isinstance(op, UpdateName):
            self.held[op.name] = self._computed(op)
        elif not isinstance(op, Nothing):
            self._computed(op)

    def _renamed(self, op: Assign) -> None:
        """`a = b`, `a, b = b, a + b`."""
        given = op.operand.items if isinstance(op.operand, TupleOf) else [op.operand]
        values = [self.held.get(each.name) if isinstance(each, Local) else None for each in given]
        made = [value or self._computed(each) for each, value in zip(given, values, strict=True)]
        for target in op.targets:
            into = target.targets if isinstance(target, TupleTarget) else [target]
            if len(into) != len(made):
                self.held.update(dict.fromkeys(named([target]), self._computed(op)))
                continue
            for each, value in zip(into, made, strict=True):
                self.held.update(dict.fromkeys(named([each]), value))

    def _computed(self, op: Operation) -> NewValue:
        """A value that an operation computes of those it reads."""
        values = [self.held[name] for name in sorted(reads(op)) if name in self.held]
        made = self._new(values)
        self.uses.extend((each, made) for each in values if isinstance(each, OldValue))
        return made

    def _new(self, values: Sequence[OldValue | NewValue], selected: frozenset[OldValue] = frozenset()) -> NewValue:
        bit = 1 << self.made
        self.made += 1
        of = reduce(or_, (each.of for each in values if isinstance(each, NewValue)), bit)
        return NewValue(bit, self.stretch, of, selected)

    def _arms(self, op: If) -> None:
        """Behind a branch, what only one arm gave a value is one of both."""
        before = self.held
        ends: list[Held] = []
        for arm in (op.body, op.orelse):
            self.held = dict(before)
            self.follow(arm)
            ends.append(self.held)
        leaves = [bool(arm.statements) and isinstance(arm.statements[-1], (Break, Return)) for arm in (op.body, op.orelse)]
        if any(leaves):
            self.stretch += 1
            self.held = ends[leaves.index(False)] if False in leaves else before
            return
        self.held = dict(before)
        for name in ends[0].keys() | ends[1].keys():
            one, other = (each.get(name) for each in ends)
            if one is other and one is not None:
                self.held[name] = one
                continue
            both = [each for each in (one, other) if each is not None]
            self.held[name] = self._new(both, frozenset(each for each in both if isinstance(each, OldValue)))

    def _loop(self, op: For | While) -> None:
        self.stretch += 1
        made = self._computed(op)
        self.held.update(dict.fromkeys(assigned_in(op), made))
        self.stretch += 1

    def is_asked_for_behind(self, name: str, value: NewValue) -> bool:
        """Whether what a variable held is used where its next value must be there: to compute of both, or later."""
        return any(
            use.name == name and (made.of & value.bit and made is not value or made.stretch > value.stretch)
            for use, made in self.uses
        )


class Copies:
    """The copies that the loops of one kernel make."""

    def __init__(self, found: Found, liveness: Liveness) -> None:
        self.found = found
        self.liveness = liveness

    def of_round(self, loop: For | While) -> int:
        """The instructions that copy variables in each round of a loop that is left as one."""
        changed = assigned_in(loop)
        read_in, read_behind = self.liveness.in_a_round.get(loop), self.liveness.behind.get(loop)
        if read_in is None or read_behind is None:
            return 0
        carried = changed & read_in
        followed = FollowedRound({name: OldValue(name) for name in carried})
        followed.follow(loop.body)
        ends = followed.held
        old = {name: value.name for name, value in ends.items() if isinstance(value, OldValue) and value.name != name}
        new = {name: value for name, value in ends.items() if isinstance(value, NewValue) and name in carried}
        copied = [name for name in old if name in carried]
        taken = {old[name] for name in copied}
        used = {use.name for use, _ in followed.uses}
        behind = [name for name in old if name in read_behind and (name not in carried or name in used)]
        if _is_left_in_places(loop):  # its last values go to registers of their own, on each way out
            copied += behind
            taken |= {old[name] for name in behind}
        else:
            copied += [name for name in behind if name not in carried]
        copied += [name for name, value in new.items() if name in taken or followed.is_asked_for_behind(name, value)]
        copied += _exchanged(new)
        widths = self._widths(loop)
        return sum(widths.get(name, 0) for name in copied)

    def _widths(self, loop: For | While) -> dict[str, int]:
        """The registers of each variable that is a number."""
        found: dict[str, int] = {}
        for each in everything_in(loop):
            known = self.found.values.get(each)
            if isinstance(each, Local) and isinstance(known, KnownNumber) and known.dtype is not None:
                found[each.name] = 0 if known.dtype.kind == "b" else 1 + (known.dtype.itemsize > 4)
        return found


def _exchanged(new: dict[str, NewValue]) -> Iterator[str]:
    """One of two variables that are both selected of both."""
    of = {name: {each.name for each in value.selected} for name, value in new.items()}
    for one, other in combinations(sorted(new), 2):
        if other in of[one] and one in of[other]:
            yield one


def _is_left_in_places(loop: For | While) -> bool:
    """Whether a round may be the last for more than one reason."""
    if isinstance(loop, While) and isinstance(loop.condition, Junction):
        return True
    return any(isinstance(each, Break) for each in own_statements(loop.body))


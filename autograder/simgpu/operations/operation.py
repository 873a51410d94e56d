"""What all operations of a lowered kernel have in common: where they stand in the source."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from autograder.errors import FaultKind, KernelFault, Line
from autograder.language.program import Function

SELECTED_LOAD = 3  # machine instructions of a load from a selected place: two to add the offset, and the load

Rounds: TypeAlias = tuple[int, ...]
"""Which round each of some loops is in, from 0."""


@dataclass(frozen=True)
class ByRound:
    """What the compiler leaves of an access in loops written out, where rounds differ.

    `loops` are those around the access, outermost first. In the rounds of `no_load` and `no_store` nothing is left of a load
    or a store. `wide` says of a round how many neighbours a load or a store there moves, beginning how many before its
    own: (0, 0) if another one does it; rounds that are not in it move their own element.
    """

    loops: tuple[Operation, ...]
    no_load: frozenset[Rounds] = frozenset()
    no_store: frozenset[Rounds] = frozenset()
    wide_loads: Mapping[Rounds, tuple[int, int]] = field(default_factory=dict)
    wide_stores: Mapping[Rounds, tuple[int, int]] = field(default_factory=dict)


class Operation:
    """One operation of a lowered kernel.

    `node` is the piece of source that it was read from, for messages only: nothing is decided by its text.
    """

    __slots__ = (
        "node", "function", "line", "is_under_atomic", "has_cheap_address", "is_of_local_memory", "chosen_of",
        "is_added_up_by_the_warp", "is_ahead", "is_ignored", "follows_a_store", "is_folded", "wraps", "multiplies",
        "divides_in_parts", "leaves_no_load", "leaves_no_store", "has_own_accesses", "by_round", "joined",
        "store_joined", "is_selected", "is_sunk", "slots", "once", "double_slots", "_made_of", "_everything",
    )  # fmt: skip

    def __init__(self, node: ast.AST, function: Function) -> None:
        self.node = node
        self.function = function
        self.line = Line(function.file, getattr(node, "lineno", function.node.lineno))
        self._made_of: tuple[Operation, ...] | None = None
        self._everything: tuple[Operation, ...] | None = None  # see `everything_in`
        # facts, which `facts` works out before a launch:
        self.is_under_atomic = False  # reached only if a condition on an atomic's result allows it: see tickets.py
        self.has_cheap_address = False  # of an access in a loop: the compiler keeps it, or advances it by one addition
        self.is_of_local_memory = False  # of an access: to a local array that no registers can hold
        self.chosen_of = 0  # of an access to an array in registers: of so many one is chosen at run time
        self.is_added_up_by_the_warp = False  # of an atomic: one lane carries it out for its whole warp
        self.is_ahead = False  # of a load from global memory: its value is used only after much other work
        self.is_ignored = False  # of a call: nothing takes what it gives, or a variable that nothing reads
        self.follows_a_store = False  # of a store to global memory: nothing but short arithmetic after another to its array
        self.is_folded = False  # of arithmetic: the compiler works it out with an address, or before a loop
        self.multiplies = False  # of an addition: one of its operands is a product
        self.wraps = False  # of an access: an index may be negative, and instructions see to that each time
        self.leaves_no_load = False  # of an access: the element is in a register already
        self.has_own_accesses = False  # of a call: `slots` has the instructions of its accesses, each time
        self.leaves_no_store = False  # of an access: the element is stored anew before anybody can read it
        self.by_round: ByRound | None = None  # of an access in loops written out: where not all rounds are the same
        self.divides_in_parts = False  # a quotient that lanes with numbers out of the ordinary work out apart
        self.slots = 1  # machine instructions that it takes each time
        self.once = 0  # and those that it takes but once where a loop leaves alone what they are made of
        self.double_slots = 0  # of these, those that the pipe of float64 carries out; no more than are left of them
        self.joined: Operation | None = None  # of a load in one arm: what stands for it and its like in the other arm
        self.store_joined: Operation | None = None  # likewise of a store
        self.is_sunk = False  # of a load: it is made later, on the one side of a branch that uses its value: `Block.sunk`
        self.is_selected = False  # of a joined load: its like goes to other elements, so each arm has its own address

    @property
    def slots_in_arm(self) -> int:
        """Of a joined access: the machine instructions that stay in its arm, for an address of its own."""
        return max(0, self.slots - SELECTED_LOAD) if self.is_selected else 0

    def stands_for(self, is_store: bool) -> Operation | None:
        """What stands for a load or a store of this access and for its like in another arm, if anything does."""
        return self.store_joined if is_store else self.joined

    def parts(self) -> tuple[Operation, ...]:
        """The operations that this one is made of: those that it was made with, for good."""
        if self._made_of is None:
            found: list[Operation] = []
            kind: type = type(self)
            for name in _slots_of(kind):
                value = getattr(self, name)
                if isinstance(value, Operation):
                    found.append(value)
                elif value.__class__ in SEVERAL:
                    _add_operations(found, value)
            self._made_of = tuple(found)
        return self._made_of

    @property
    def text(self) -> str:
        """The piece of source, as Python would write it."""
        return ast.unparse(self.node)

    @property
    def line_text(self) -> str:
        """The source line, without what it is indented by."""
        return self.function.line_text(self.line.number).strip()

    def fault(self, message: str, remedy: str = "", kind: FaultKind = "") -> KernelFault:
        """What is to be raised where a kernel cannot go on here."""
        return KernelFault(message, line=self.line, remedy=remedy, kind=kind)


@cache
def _slots_of(kind: type) -> tuple[str, ...]:
    """Where operations of a kind keep what is their own."""
    own = [each for each in kind.__mro__ if issubclass(each, Operation) and each is not Operation]
    return tuple(name for each in own for name in each.__slots__)


SEVERAL = (list, tuple, dict)


def _add_operations(found: list[Operation], several: Any) -> None:
    """Adds the operations in a list, a tuple or a dictionary."""
    for value in several.values() if isinstance(several, dict) else several:
        if isinstance(value, Operation):
            found.append(value)
        elif value.__class__ in SEVERAL:
            _add_operations(found, value)


def everything_in(op: Operation) -> tuple[Operation, ...]:
    """An operation and all that it is made of; kept with it, since many ask."""
    if op._everything is None:
        found: list[Operation] = []
        waiting: list[Operation] = [op]
        while waiting:
            each = waiting.pop()
            if each._everything is not None:
                found.extend(each._everything)
                continue
            found.append(each)
            waiting.extend(each.parts())
        op._everything = tuple(found)
    return op._everything

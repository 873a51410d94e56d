"""What is known at one place in a function: its variables, and which elements are in registers already."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.known import Known, KnownNumber
from autograder.simgpu.operations.operation import Operation

Element: TypeAlias = tuple[Hashable, Hashable, tuple[Form, ...]]
"""(identity of an array, part of it or None, an index for each dimension): elements of equal keys are one and the same."""

Placed: TypeAlias = tuple[Operation, tuple[int, ...]]
"""An operation, and the rounds of the loops around it that are gone through round by round (see expanded.py)."""


@dataclass
class InRegister:
    """An element that was loaded or stored before, and nothing can have changed since."""

    known: KnownNumber
    space: str


class Scope:
    """Variables and elements; a copy goes each way where ways part."""

    def __init__(self, variables: dict[str, Known], elements: dict[Element, InRegister] | None = None) -> None:
        self.variables = variables
        self.elements = {} if elements is None else elements
        self.unread: dict[Element, Placed] = {}  # stores that nobody has had a chance to read, along a straight way
        self.first: dict[Element, Placed] = {}  # along this way: loads that found nothing in a register
        self.ahead: dict[Element, Placed] = {}  # loads of one arm of the branch just behind, not of the other
        self.killed: set[Hashable] = set()  # kinds of memory that may have changed since the loop around began its round
        self.fresh: dict[Element, Placed] = {}  # on all ways here: first loads in this round, before such a change
        self.loaded: dict[Element, tuple[Known, Operation]] = {}  # along this way: first loads, whatever happened since

    def copy(self) -> Scope:
        made = Scope(dict(self.variables), dict(self.elements))
        made.killed, made.fresh = set(self.killed), dict(self.fresh)
        return made

    def take_over(self, other: Scope) -> None:
        """Goes on as another scope."""
        vars(self).update(vars(other))

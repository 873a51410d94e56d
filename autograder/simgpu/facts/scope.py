"""What is known at one place in a function: its variables, and which elements are in registers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.known import Known, KnownNumber
from autograder.simgpu.operations.operation import Operation

Element: TypeAlias = tuple[Hashable, Hashable, tuple[Form, ...]]
"""(an array's identity, part of it or None, an index for each dimension): equal keys mean the same element."""

Placed: TypeAlias = tuple[Operation, tuple[int, ...]]
"""An operation, and the present round of each loop around it that is gone through round by round (see expanded.py)."""


@dataclass
class InRegister:
    """An element that was loaded or stored before, and cannot have changed since."""

    known: KnownNumber
    space: str


class Scope:
    """Variables and elements. Where a path divides, each branch goes on with a copy.

    `unread`, `first`, `ahead` and `loaded` hold for a straight path only: a copy begins without them.
    """

    def __init__(self, variables: dict[str, Known], elements: dict[Element, InRegister] | None = None) -> None:
        self.variables = variables
        self.elements = {} if elements is None else elements
        self.unread: dict[Element, Placed] = {}  # stores that nothing can have read yet
        self.first: dict[Element, Placed] = {}  # the first load of each element that was in no register
        self.ahead: dict[Element, Placed] = {}  # just after a branch: loads in one of its arms only
        self.killed: set[Hashable] = set()  # kinds of memory that may have changed in this round of the loop around
        self.fresh: dict[Element, Placed] = {}  # on all paths to here: first loads in this round, before such a change
        self.loaded: dict[Element, tuple[Known, Operation]] = {}  # first loads, whatever has happened since

    def copy(self) -> Scope:
        made = Scope(dict(self.variables), dict(self.elements))
        made.killed, made.fresh = set(self.killed), dict(self.fresh)
        return made

    def take_over(self, other: Scope) -> None:
        """Becomes the other scope."""
        vars(self).update(vars(other))

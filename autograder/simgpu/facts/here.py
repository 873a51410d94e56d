"""Where an analysis stands in its kernel, for all that take part in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, Rounds


@dataclass
class Here:
    """The loops around the present place, and what has been found on the way to it."""

    forms: Forms
    found: Found = field(default_factory=Found)
    loops: list[Operation] = field(default_factory=list)  # those that one round stands for
    written_out: list[For] = field(default_factory=list)  # those that are gone through round by round: see expanded.py
    rounds: Rounds = ()  # and which round each of these is in

    @property
    def around(self) -> frozenset[Operation]:
        return frozenset(self.loops)

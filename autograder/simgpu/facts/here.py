"""The present place of an analysis in its kernel, shared by all objects that take part in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, Rounds


@dataclass
class Here:
    """The loops around the present place, and what has been found so far."""

    forms: Forms
    found: Found = field(default_factory=Found)
    loops: list[Operation] = field(default_factory=list)  # one round of each stands for all of its rounds
    written_out: list[For] = field(default_factory=list)  # gone through round by round: see expanded.py
    rounds: Rounds = ()  # the present round of each loop in `written_out`

    @property
    def around(self) -> frozenset[Operation]:
        return frozenset(self.loops)

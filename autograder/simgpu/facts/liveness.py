"""Which variables somebody may still read: behind a loop, and when a round of it begins.

Worked out backwards over the statements of one function, as in any compiler's textbook (Aho, Lam, Sethi and Ullman,
Compilers, 9.2.5).
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    If,
    Name,
    Raise,
    Return,
    TupleTarget,
)  # fmt: skip
from autograder.simgpu.operations.steps import Block

Names = frozenset[str]
NOTHING: Names = frozenset()


class Liveness:
    """The variables that are read later, by loop."""

    def __init__(self) -> None:
        self.behind: dict[For | While, Names] = {}  # the loop, from wherever it is left
        self.in_a_round: dict[For | While, Names] = {}  # at the beginning of one, behind the condition
        self._loops: list[tuple[Names, Names]] = []  # around the present place: what is read at `break`, at `continue`

    def of_function(self, body: Block) -> None:
        """Works it out for all loops of one function."""
        self._block(body, NOTHING)

    def _block(self, block: Block, live: Names) -> Names:
        for statement in reversed(block.statements):
            live = self._statement(statement, live)
        return live

    def _statement(self, op: Operation, live: Names) -> Names:
        """What is read at a statement or later; `live`: what is read later."""
        if isinstance(op, If):
            return reads(op.condition) | self._block(op.body, live) | self._block(op.orelse, live)
        if isinstance(op, (For, While)):
            return self._loop(op, live)
        if isinstance(op, Break):
            return self._loops[-1][0]
        if isinstance(op, Continue):
            return self._loops[-1][1]
        if isinstance(op, (Return, Raise)):
            return reads(op)
        if isinstance(op, Assign):
            return live - named(op.targets) | reads(op)
        return live | reads(op)

    def _loop(self, op: For | While, live: Names) -> Names:
        end = self._block(op.orelse, live)
        asked = reads(op.condition) if isinstance(op, While) else NOTHING
        before = end | asked
        while True:
            self._loops.append((live, before))
            inside = self._block(op.body, before)
            self._loops.pop()
            if isinstance(op, For):
                inside -= named([op.target])
            if inside <= before:
                break
            before |= inside
        self.behind[op] = live | end
        self.in_a_round[op] = inside
        return before | (reads(op.source) if isinstance(op, For) else NOTHING)


def reads(op: Operation) -> Names:
    """The variables that an operation reads."""
    return frozenset(each.name for each in everything_in(op) if isinstance(each, Local))


def named(targets: Sequence[Operation]) -> Names:
    """The variables among what is assigned to."""
    found: set[str] = set()
    for each in targets:
        if isinstance(each, Name):
            found.add(each.name)
        elif isinstance(each, TupleTarget):
            found |= named(each.targets)
    return frozenset(found)

"""The two kinds of operation that a machine carries out: expressions, which give a value, and statements."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.language.program import Function
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.values import Value

STATEMENT_COST = 400  # work units of stepping one statement for however few lanes: what 400 warp instructions take


class Expression(Operation):
    """An operation that gives a value."""

    __slots__ = ()
    is_unpacked = False  # whether it is `*value`, which stands for the value's items

    @abstractmethod
    def value(self, machine: Machine, mask: Mask) -> Value:
        """The value for the lanes of `mask`: a lane vector, or one value that all of them share."""

    def shared_names(self) -> frozenset[str] | None:
        """The variables that a whole number is made of, where it is made of nothing else and its kind of work does not
        depend on their values; None for all other expressions."""
        return None

    def written_number(self) -> int | None:
        """The whole number that is written here, if one is."""
        return None


class Statement(Operation):
    """An operation that is carried out for what it does."""

    __slots__ = ()

    @abstractmethod
    def carry_out(self, machine: Machine, mask: Mask) -> Mask | None:
        """Does it for the lanes of `mask`; the lanes that go on to the next statement (None: nobody does)."""


class Block(Operation):
    """Statements, one after the other."""

    __slots__ = ("statements", "sunk")

    def __init__(self, node: ast.AST, function: Function, statements: Sequence[Statement]) -> None:
        super().__init__(node, function)
        self.statements = statements
        self.sunk: frozenset[Operation] = frozenset()  # loads before a branch that the compiler makes here

    def __bool__(self) -> bool:
        return bool(self.statements)

    def carry_out(self, machine: Machine, mask: Mask | None) -> Mask | None:
        """Statement after statement, each for the lanes that the one before let go on."""
        launch, batch = machine.launch, machine.batch
        if self.sunk and mask is not None:
            machine.counting.make_sunk(self.sunk, mask)
        for statement in self.statements:
            if mask is not None and batch.has_raised:
                mask = batch.left_of(mask)
            if mask is None:
                break
            launch.work += STATEMENT_COST
            if launch.work > launch.next_look:
                launch.look(statement)
            machine.at = statement
            mask = statement.carry_out(machine, mask)
        return batch.left_of(mask) if mask is not None and batch.has_raised else mask


@dataclass(frozen=True)
class Lowered:
    """A function as operations; `defaults` are the parameters' own values, where they have one."""

    function: Function
    body: Block
    defaults: dict[str, Expression]
    first_return: Operation

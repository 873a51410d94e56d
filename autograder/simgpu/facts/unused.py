"""Assignments whose value is never read: the compiler drops them, with the loads in them.

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0): nothing is left of `x = a[i]` if `x` is never read, or if
it is assigned again first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Assign, Definition, Name, Nameless, UpdateName
from autograder.simgpu.operations.steps import Block


def unused_in(body: Block) -> set[Operation]:
    """All operations in the unused assignments of a function."""
    parts = everything_in(body)
    if any(isinstance(each, (Definition, Nameless)) for each in parts):
        return set()  # a function inside may read anything
    blocks = [each for each in parts if isinstance(each, Block)]
    dropped: set[Operation] = set()
    while True:
        read = {each.name for each in parts if isinstance(each, Local) and each not in dropped}
        found = {each for block in blocks for each in _unused(block.statements, read, dropped)} - dropped
        if not found:
            return dropped
        for each in found:
            dropped.update(everything_in(each))


def ignored_in(body: Block, unused: set[Operation]) -> set[FunctionCall]:
    """The calls of a function whose value goes to a variable that nothing reads, such as the old value of an atomic.

    They are carried out all the same. `unused`: what `unused_in` gives.
    """
    parts = everything_in(body)
    if any(isinstance(each, (Definition, Nameless)) for each in parts):
        return set()
    read = {each.name for each in parts if isinstance(each, Local) and each not in unused}
    found = set()
    for block in (each for each in parts if isinstance(each, Block)):
        for place, statement in enumerate(block.statements):
            name = _name_of(statement)
            if name is not None and (name not in read or _is_replaced(name, block.statements[place + 1 :], unused)):
                assert isinstance(statement, Assign)
                if isinstance(statement.operand, FunctionCall):
                    found.add(statement.operand)
    return found


def _unused(statements: Sequence[Operation], read: set[str], dropped: set[Operation]) -> Iterator[Operation]:
    for place, statement in enumerate(statements):
        name = _assigned(statement)
        if name is not None and (name not in read or _is_replaced(name, statements[place + 1 :], dropped)):
            yield statement


def _assigned(statement: Operation) -> str | None:
    """The variable to which a statement assigns, if it does nothing else."""
    name = _name_of(statement)
    if name is not None and any(isinstance(each, FunctionCall) for each in everything_in(statement)):
        return None  # it may do more than compute
    return name


def _name_of(statement: Operation) -> str | None:
    """The variable to which a statement assigns, if that is all it assigns to."""
    if not isinstance(statement, Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], Name):
        return None
    return statement.targets[0].name


def _is_replaced(name: str, behind: Sequence[Operation], dropped: set[Operation]) -> bool:
    """Whether the statements that follow assign to a variable again before anything can read it."""
    for statement in behind:
        parts = [each for each in everything_in(statement) if each not in dropped]
        if any(isinstance(each, (Local, UpdateName)) and each.name == name for each in parts):
            return False
        if isinstance(statement, Assign) and any(isinstance(each, Name) and each.name == name for each in statement.targets):
            return True
        if not isinstance(statement, Assign):
            return False  # threads may leave here
    return False

"""Which loops may be recorded, and the tapes that there are of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.expressions import Constant, Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Unary
from autograder.simgpu.operations.statements import (
    Assign,
    Element,
    Evaluate,
    Name,
    Nothing,
    Return,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block
from autograder.simgpu.tapes.recording import Tape
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import FLOAT32
from autograder.simgpu.values.values import Value

# Without branches: who gets there goes through all of it.
STRAIGHT = (
    Assign, Binary, Block, Constant, Element, Evaluate, For, FunctionCall, Local, Name, Nothing, Return, Subscript, TupleOf,
    Unary, UpdateElement, UpdateName,
)  # fmt: skip
RANGE = "builtins.range"
MOST_FAILURES = 2  # recordings of one nest of loops, before there is any
MOST_KEPT = 32  # circumstances of one nest of loops that are told apart
Key: TypeAlias = tuple[Hashable, ...]


@dataclass(eq=False)
class Nest:
    """A loop, with those in it, that may be recorded."""

    names: tuple[str, ...]  # of the variables that it reads or assigns
    around: tuple[Operation, ...]  # loops whose present round decides what accesses count
    once: frozenset[Operation]  # what is in it and counts by where it is: see `Circumstances`
    accesses: frozenset[Operation]
    inner: tuple[For, ...]  # the loops in it
    read: frozenset[str]  # variables of arrays that it reads, and those that it stores to
    stored: frozenset[str]
    tapes: dict[Key, Tape | int | None] = field(default_factory=dict)  # or how often it came by; None: it cannot be recorded
    failed: int = 0  # recordings

    def may_be_of(self, values: Mapping[str, Value]) -> bool:
        """Whether its arrays are such as a tape may be about: else it never will be."""
        for name in self.read | self.stored:
            view = values.get(name)
            spaces = ("local",) if name in self.stored else ("local", "shared")
            if isinstance(view, View) and (view.dtype != FLOAT32 or view.buffer.space not in spaces):
                return False
        return True


class Tapes:
    """The tapes of one kernel."""

    def __init__(self) -> None:
        self._nests: dict[For, Nest | None] = {}

    def nest(self, loop: For) -> Nest | None:
        """What is known of a loop; None where it cannot be recorded, or is recorded with the one around it."""
        if loop not in self._nests:
            nest = self._nests[loop] = _nest_of(loop)
            if nest is not None:
                self._nests.update(dict.fromkeys(nest.inner))
        return self._nests[loop]

    def give_up(self, loop: For) -> None:
        """It is never twice the same, or nothing for a tape; maybe those in it are."""
        nest, self._nests[loop] = self._nests[loop], None
        if nest is not None:
            for each in nest.inner:
                del self._nests[each]


def _nest_of(loop: For) -> Nest | None:
    everything = list(with_functions(loop))
    if has_branches(everything):
        return None
    loops = [each for each in everything if isinstance(each, For)]
    if any(each.orelse.statements or not isinstance(each.target, Name) for each in loops):
        return None
    if not any(isinstance(each, Subscript) for each in everything):
        return None
    names = assigned_in(loop) | _read(loop)
    if isinstance(loop.target, Name) and loop.target.name not in _read(loop.source):
        names -= {loop.target.name}  # it has a number in each round, whatever it was before
    rounds = [each.by_round for each in everything if each.by_round is not None]
    around = {each: None for by_round in rounds for each in by_round.loops if each not in loops}
    return Nest(
        tuple(sorted(names)), tuple(around), frozenset(each for each in everything if each.once),
        frozenset(each for each in everything if isinstance(each, Subscript)), tuple(loops[1:]),
        _arrays(each for each in everything_in(loop) if isinstance(each, Subscript)),
        _arrays(each.reached for each in everything_in(loop) if isinstance(each, (Element, UpdateElement))),
    )  # fmt: skip


def has_branches(everything: Iterable[Operation]) -> bool:
    """Whether something among these operations is not on the one way that everybody goes, or is of an unforeseen kind."""
    return any(type(each) not in STRAIGHT or isinstance(each, FunctionCall) and not _may_call(each) for each in everything)


def _may_call(op: FunctionCall) -> bool:
    """Whether it is a call of a function of the kernel's own, of a type, or of what loops go over."""
    called = op.callee.constant if isinstance(op.callee, Constant) else None
    return isinstance(called, (Function, TypeReference)) or isinstance(called, Reference) and called.path == RANGE


def _arrays(accesses: Iterable[Operation]) -> frozenset[str]:
    """The variables that accesses reach into."""
    owners = [each.owner for each in accesses if isinstance(each, Subscript)]
    return frozenset(each.name for each in owners if isinstance(each, Local))


def _read(op: Operation) -> frozenset[str]:
    return frozenset(each.name for each in everything_in(op) if isinstance(each, Local))


def with_functions(op: Operation) -> Iterator[Operation]:
    """An operation and all that it is made of, the device functions that it calls among them."""
    for each in everything_in(op):
        yield each
        if isinstance(each, FunctionCall):
            for lowered in each.bodies.values():
                yield from with_functions(lowered.body)

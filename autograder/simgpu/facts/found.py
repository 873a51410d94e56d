"""What the analysis of a kernel finds: the facts that the rules beside it draw their conclusions from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.known import Known, KnownArray
from autograder.simgpu.facts.scope import Placed
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.statements import Definition
from autograder.simgpu.operations.steps import Block

ALL, GLOBAL = "all memory that threads share", "global memory"  # kinds of memory; the others are single arrays


@dataclass
class Reached:
    """Where an access goes, as far as that is known: an array, and a form for each index; None for a slice or the like."""

    array: KnownArray
    indices: tuple[Form | None, ...]
    varies: bool
    made_by: tuple[Operation, ...] = ()


@dataclass
class Found:
    """What a kernel does with its arrays, and which of the library's functions it calls."""

    written: set[Hashable] = field(default_factory=set)  # identities of arrays
    stores: dict[Operation, Reached] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    reached: dict[Operation, Reached] = field(default_factory=dict)
    values: dict[Operation, Known] = field(default_factory=dict)
    callees: dict[FunctionCall, str] = field(default_factory=dict)  # of the library, by path
    told: set[Operation] = field(default_factory=set)  # reached only where a condition on an atomic's result holds
    steps: set[int] = field(default_factory=set)  # atoms of variables that a loop advances by the same amount each round
    again: set[Placed] = field(default_factory=set)  # loads of elements that are in a register already
    overwritten: set[Placed] = field(default_factory=set)  # stores of elements that are stored anew before any load
    kills: dict[Operation, set[Hashable]] = field(default_factory=dict)  # of each loop, memory that it may change
    begins: dict[Operation, dict[Hashable, Known]] = field(default_factory=dict)  # of each loop: variables before it
    ends: dict[Operation, dict[int, Form]] = field(default_factory=dict)  # by its atom, what a round makes of a variable
    carried: dict[Operation, set[Operation]] = field(default_factory=dict)  # of each loop: loads of the first round alone
    at_entry: dict[Operation, set[Hashable]] = field(default_factory=dict)  # of each loop, elements in registers before it
    untracked: set[Hashable] = field(default_factory=set)  # arrays that are written at unknown places
    dropped: set[Block] = field(default_factory=set)  # what the compiler may drop before it looks at types
    early: dict[Definition, str] = field(default_factory=dict)  # functions that see a variable which is assigned later
    may_write_anything: bool = False  # a store goes to something of which nothing is known


def kinds_of_memory(array: KnownArray) -> set[Hashable]:
    """The kinds of memory that must not change for an element of this array to keep its value."""
    if array.space == "constant":
        return set()
    if array.space == "local":
        return {array.identity}
    return {ALL, array.identity if array.space == "shared" else GLOBAL}

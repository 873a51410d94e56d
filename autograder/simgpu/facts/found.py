"""What the analysis of a kernel finds. The rules beside it draw their conclusions from this."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.known import Known, KnownArray
from autograder.simgpu.facts.library import RandomNumber
from autograder.simgpu.facts.scope import Placed
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.statements import Definition
from autograder.simgpu.operations.steps import Block

ALL, GLOBAL = "all memory that threads share", "global memory"  # kinds of memory; the others are single arrays


@dataclass
class Reached:
    """Which element an access reaches, as far as that is known: the array, and the form of each index (None for a slice).

    `unsigned` says which indices cannot be negative by their types: Numba does not wrap these.
    """

    array: KnownArray
    indices: tuple[Form | None, ...]
    varies: bool
    made_by: tuple[Operation, ...] = ()
    unsigned: tuple[bool, ...] = ()
    small: tuple[bool, ...] = ()  # which indices have a type of 32 bits or less
    last_made_by: tuple[Operation, ...] = ()  # of `made_by`, those that computed the last index

    @property
    def are_unsigned(self) -> bool:
        """Whether no index can be negative, by the types of the indices."""
        return len(self.unsigned) == len(self.indices) and all(self.unsigned)


@dataclass
class Found:
    """What a kernel computes, which elements it loads and stores, and which library functions it calls.

    Most fields are by operation; an access in a loop that is gone through round by round is a `Placed`.
    """

    written: set[Hashable] = field(default_factory=set)  # arrays that it may write, by identity
    stores: dict[Operation, Reached] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    reached: dict[Operation, Reached] = field(default_factory=dict)
    values: dict[Operation, Known] = field(default_factory=dict)
    draws: dict[Operation, RandomNumber] = field(default_factory=dict)  # calls that draw a random number
    callees: dict[FunctionCall, str] = field(default_factory=dict)  # the path of the library function that is called
    under_atomic: set[Operation] = field(default_factory=set)  # reached only if a condition on an atomic's result allows it
    natural: set[int] = field(default_factory=set)  # atoms that are loaded as unsigned integers of 32 bits or less
    steps: set[int] = field(default_factory=set)  # atoms of variables to which a loop adds the same amount each round
    needless_loads: set[Placed] = field(default_factory=set)  # loads of an element that is in a register already
    needless_stores: set[Placed] = field(default_factory=set)  # stores to an element that is stored again before any load
    kills: dict[Operation, set[Hashable]] = field(default_factory=dict)  # by loop: kinds of memory that it may change
    begins: dict[Operation, dict[Hashable, Known]] = field(default_factory=dict)  # by loop: its variables before it
    ends: dict[Operation, dict[int, Form]] = field(default_factory=dict)  # by loop and atom: a variable after a round
    carried: dict[Operation, set[Operation]] = field(default_factory=dict)  # by loop: loads that only its first round makes
    at_entry: dict[Operation, set[Hashable]] = field(default_factory=dict)  # by loop: elements in registers before it
    untracked: set[Hashable] = field(default_factory=set)  # arrays that are written, it is not known where
    # Of an access to one of several arrays, which one is known only at run time: those that it may go to.
    at_one_of: dict[Operation, frozenset[Hashable]] = field(default_factory=dict)
    numbers_kept: dict[Operation, int] = field(default_factory=dict)  # by branch: numbers that only one side may replace
    dropped: set[Block] = field(default_factory=set)  # what the compiler may drop before it infers types
    early: dict[Definition, str] = field(default_factory=dict)  # inner functions that use a variable assigned only later
    may_write_anything: bool = False  # some store goes to an unknown array


def kinds_of_memory(array: KnownArray) -> set[Hashable]:
    """The kinds of memory that must not change for an element of this array to keep its value."""
    if array.space == "constant":
        return set()
    if array.space == "local":
        return {array.identity}
    return {ALL, array.identity if array.space == "shared" else GLOBAL}

"""What whoever writes a compiled loop has before them: whom it is written for, the source so far, and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from autograder.simgpu.in_registers.counts import CountShare, Trials, samples
from autograder.simgpu.in_registers.figures import KEPT, LaneNumber, Sharing, Wording
from autograder.simgpu.in_registers.loads import LoadedArray, LoadSite
from autograder.simgpu.in_registers.source import LaneSource
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.desk import Fixed
from autograder.simgpu.one_thread.rehearsal import Circumstances
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.loops import Loop
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import Intrinsic
from autograder.simgpu.operations.steps import Block, Expression
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.values import NUMBERS, Value

CONTINUES, LEFT, BROKE, RETURNED = 1, 2, 3, 4  # why a lane does no more in a round; from RETURNED on: by which return
LEFT_FOR = 1000  # from here on: what it has yet to do, by steps, before it leaves
Meaning: TypeAlias = "LaneNumber | Fixed | tuple[Meaning, ...]"
Variables: TypeAlias = dict[str, LaneNumber]


@dataclass(frozen=True)
class DrawSite:
    """A call that draws a random number from the state of its lane."""

    op: Operation
    intrinsic: Intrinsic
    circumstances: Circumstances
    statement: Operation | None
    run: int
    states_key: object  # what the array of states is known by
    index: object  # the origin of the lane's place among the states


@dataclass(frozen=True)
class WayOut:
    """Statements that touch memory, and the last of which leaves the loop: they are stepped through, behind it."""

    block: Block
    circumstances: Circumstances


@dataclass
class PlacedCall:
    """A device function that is written in place of its call."""

    prefix: str  # of its variables
    result: str  # what it returns is called so
    flag: str  # set where a lane has returned
    results: list[LaneNumber] = field(default_factory=list)
    given: dict[str, Expression] = field(default_factory=dict)  # parameters that are no numbers: what is given for them


class LaneDesk:
    """Where a loop is written for variables of some types."""

    def __init__(
        self, machine: Machine, mask: Mask, loop: Loop, kinds: Mapping[str, tuple[np.dtype, Sharing]],
        others: Mapping[str, Value], is_by_lane: bool,
    ) -> None:  # fmt: skip
        """`kinds`: of the variables that hold numbers where the loop is entered; `others`: what the rest hold.

        `is_by_lane`: it goes over a range whose bounds differ by lane.
        """
        self.machine, self.mask, self.loop, self.others = machine, mask, loop, others
        self.kinds, self.is_by_lane = dict(kinds), is_by_lane
        self.is_regrouped = machine.counting.is_regrouped(loop)
        self.trials = Trials(machine)
        self.around = Circumstances.of(machine)
        self.source = LaneSource()
        self.assigned = assigned_in(loop)
        self.variables: Variables = {
            name: LaneNumber(self.called(name, dtype), dtype, sharing, origin=None if name in self.assigned else name)
            for name, (dtype, sharing) in kinds.items()
        }
        self.to_next: list[Variables] = []  # the variables wherever the next round begins
        self.at: Operation | None = None
        self.given: dict[Expression, LaneNumber] = {}  # what is worked out once, before the first round
        self.draws: list[DrawSite] = []
        self.states: Expression | None = None  # from which random numbers are drawn
        self.returns: list[tuple[Operation, LaneNumber | None]] = []
        self.ways_out: list[WayOut] = []
        self.arrays: dict[object, LoadedArray] = {}  # from which it loads, by the variable that holds it or what gives it
        self.loads: list[LoadSite] = []
        self.asked_by: list[tuple[int, int]] = []  # runs: where nobody in the batch comes by the second, steps go
        self.scopes: list[PlacedCall] = []
        self.gone = 0  # places so far at which a lane leaves what is being written

    # -- counts ---------------------------------------------------------------------------------------------------

    def tried(self, carry_out: Callable[[Machine, Mask], Value | object]) -> tuple[Value | object, CountShare]:
        return self.trials.of(self.around, carry_out)

    def count(self, carry_out: Callable[[Machine, Mask], object]) -> None:
        """Counts what this counts, for the lanes that come by here."""
        self.source.count(self.tried(carry_out)[1])

    def issued(self, op: Operation, times: int) -> None:
        if times:
            self.count(lambda machine, mask: machine.books.issued(op, mask, times))

    def leaving(self, op: Operation) -> None:
        """What a `break` or a `return` counts; where that is nothing its line is counted all the same."""
        self.count(lambda machine, mask: machine.books.issued(op, mask, op.slots))

    @contextmanager
    def in_short_arms(self, is_so: bool) -> Iterator[None]:
        before = self.around
        if is_so:
            self.around = replace(before, in_short_arms=before.in_short_arms + 1)
        yield
        self.around = before

    # -- values ---------------------------------------------------------------------------------------------------

    def called(self, name: str, dtype: np.dtype, prefix: str = "v_") -> str:
        """What a variable is called as long as it has a type."""
        return f"{prefix}{name}_{dtype.name}"

    def kept(self, code: str, dtype: np.dtype, sharing: Sharing, origin: object = None) -> LaneNumber:
        """A value under a name of its own."""
        name = self.source.name()
        self.source.write(f"{name} = {code}")
        return LaneNumber(name, dtype, sharing, origin=origin)

    def spelled(self, spelling: Wording, result: Value | object, sharing: Sharing, share: CountShare) -> LaneNumber:
        """What an operation gives, counted; a lane in trouble has the whole warp looked at more closely."""
        if not isinstance(result, NUMBERS) or result.dtype not in KEPT or np.ndim(result) > 1:
            raise NotWritten("a value that is no number")
        source, dtype = self.source, result.dtype
        source.count(share)
        if not spelling.trouble:
            return self.kept(spelling.code, dtype, sharing)
        name = source.name()
        with source.inside(f"if {spelling.trouble}:"):
            source.write("trouble |= 1")
            source.write(f"{name} = np.{'bool_' if dtype.kind == 'b' else dtype.name}(0)")
        with source.inside("else:"):
            source.write(f"{name} = {spelling.code}")
        return LaneNumber(name, dtype, sharing)

    def apart(self, value: Meaning) -> Meaning:
        """A value that no later assignment changes."""
        if isinstance(value, LaneNumber) and value.code.startswith(("v", "w")):
            return replace(self.kept(value.code, value.dtype, value.sharing, value.origin), literal=value.literal)
        return value

    def set(self, name: str, value: LaneNumber) -> None:
        if name in self.others:
            raise NotWritten("a variable that holds something else than a number")
        called = self.called(name, value.dtype, self.scopes[-1].prefix if self.scopes else "v_")
        self.source.write(f"{called} = {value.code}")
        self.variables[name] = LaneNumber(called, value.dtype, value.sharing, value.literal, value.origin)

    def go(self, flag: str, why: int) -> None:
        """Has a lane do no more of what is being written."""
        self.source.write(f"{flag} = {why}")
        self.gone += 1

    def sample(self, figure: LaneNumber) -> np.ndarray | np.generic:
        """A one of a number's type, for trials."""
        return samples(figure.dtype, figure.sharing != Sharing.SHARED)
